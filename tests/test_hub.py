"""Model cards: figures as in the files they are made from, metadata as the Hub reads them, files of users' runs."""

import json
from pathlib import Path
from typing import Any

import pytest

import quincunx_agents.networks
from quincunx_agents.networks.value import SHIPPED
from quincunx_env.arena import evaluate
from quincunx_env.hub import card_of, front_matter, main

ROOT = Path(__file__).parents[1]
WEIGHTS = Path(quincunx_agents.networks.__file__).parent / "weights"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """The folder of a training run at the solitaire that has left its evaluation alone."""
    evaluation = {name: evaluate(name, 10).to_json() for name in ("uniform", "greedy")}
    results = evaluation | {"trained": evaluate("heuristic-v0", 10).to_json()}
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "evaluation.json").write_text(json.dumps(results))
    return folder


def loaded(path: Path) -> Any:
    """A card as the Hub's own library reads it, from a file."""
    return pytest.importorskip("huggingface_hub").ModelCard.load(path)


@pytest.mark.parametrize("network", SHIPPED)
def test_the_hub_reads_the_figures_of_the_results(network: str, tmp_path: Path) -> None:
    """Links are relative to the card."""
    out, picture = tmp_path / "models" / "card.md", tmp_path / "picture.svg"
    picture.touch()
    main([str(WEIGHTS / f"{network}.safetensors"), "--out", str(out), "--picture", str(picture), "--license", "mit"])
    card = loaded(out)
    assert "(../picture.svg)" in card.text
    facts = json.loads((WEIGHTS / f"{network}.json").read_text(encoding="utf-8"))
    assert ("The present scripts do not reproduce this network. At commit" in card.text) == ("commit" in facts)
    results = facts["benchmark"]
    expected = [
        figures[name] for figures in results.values() for name in ("mean", "win_rate", "margin") if name in figures
    ]
    assert [result.metric_value for result in card.data.eval_results] == expected
    assert {result.task_type for result in card.data.eval_results} == {"reinforcement-learning"}
    assert card.data.model_name == network
    assert (card.data.license, card.data.library_name) == ("mit", "quincunx_env")
    for figures in results.values():
        assert figures["command"] in card.text
        assert f"{figures['deals']:,}" in card.text


@pytest.mark.parametrize(
    ("teacher", "methods"), [(None, ["td-lambda"]), ("earlier", ["expert-iteration", "distillation"])]
)
def test_a_card_says_from_what_values_were_learned(teacher: str | None, methods: list[str], tmp_path: Path) -> None:
    facts = json.loads((WEIGHTS / "spiral.json").read_text(encoding="utf-8"))
    facts |= {"positions": 12345} if teacher else {}
    facts["arguments"]["teacher"] = teacher
    (tmp_path / "net.json").write_text(json.dumps(facts), encoding="utf-8")
    (tmp_path / "net.safetensors").touch()
    out = tmp_path / "README.md"
    out.write_text(card_of(tmp_path / "net.safetensors"), encoding="utf-8")
    card = loaded(out)
    tags = "td-lambda", "expert-iteration", "distillation"
    assert [tag for tag in card.data.tags or () if tag in tags] == methods
    assert ("those of `earlier`" in card.text) == ("12,345" in card.text) == (teacher is not None)


def test_metadata_are_yaml() -> None:
    yaml = pytest.importorskip("yaml")
    data = {
        "a": 'colon: "quote"',
        "b": [{"c": [1, 2.5], "d": {"e": None}}, {"c": [], "f": True, "g": {}}],
        "h": ["- ü", "#"],
    }
    text = front_matter(data)
    assert text.startswith("---\n")
    assert text.endswith("\n---\n\n")
    assert yaml.safe_load(text.strip().strip("-")) == data


def test_the_evaluation_of_a_run_is_enough(run: Path) -> None:
    card = card_of(run)
    result = json.loads((run / "evaluation.json").read_text())
    for name in ("trained", "uniform", "greedy"):
        assert f"| {result[name]['mean']:.1f} | {result[name]['ci95'][0]:.1f} to " in card
    assert "hold no record of its training" in card
    assert "![" not in card
    out = run / "README.md"
    out.write_text(card, encoding="utf-8")
    data = loaded(out).data
    assert data.model_name == "mine"
    assert [result.metric_value for result in data.eval_results] == [result["trained"]["mean"]]


def test_a_card_links_the_learning_curve_from_where_it_is(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (run / "learning_curve.png").touch()
    (run / "net.safetensors").touch()
    main([str(run)])
    printed = capsys.readouterr().out
    assert "\n# net\n" in printed
    assert "![learning curve](learning_curve.png)" in printed
    main([str(run), "--out", str(run.parent / "cards" / "README.md")])
    assert "(../mine/learning_curve.png)" in (run.parent / "cards" / "README.md").read_text()


DAMAGED: dict[str, tuple[dict[str, str], str]] = {
    "nothing": ({}, "holds no results"),
    "no JSON": ({"x.json": "{"}, "x.json is damaged or no JSON"),
    "nested": ({"x.json": "[" * 100_000}, "x.json is damaged or no JSON"),
    "a list": ({"x.json": "[]"}, "holds no results"),
    "two networks": ({"x.json": '{"benchmark": {}}', "y.json": '{"benchmark": {}}'}, "several networks, x, y"),
    "no figures": ({"x.json": '{"benchmark": {"solitaire": {"deals": 3}}}'}, "no complete results"),
    "no evaluation": ({"evaluation.json": '{"trained": {}}'}, "no complete results"),
    "another form": ({"x.json": '{"benchmark": [1]}'}, "no complete results"),
}
"""Files of a folder, and part of the message."""


@pytest.mark.parametrize("case", DAMAGED)
def test_files_without_results_are_refused(case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In one line, with exit status 2; no card is written."""
    files, message = DAMAGED[case]
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(SystemExit, match="2"):
        main([str(tmp_path), "--out", str(tmp_path / "README.md")])
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ")
    assert message in line
    assert not (tmp_path / "README.md").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{}/none"], "there is no"),
        (["{}/x.safetensors"], "there is no {}/x.json: a card is written from the results"),
        (["{}", "--picture", "{}/none.png"], "there is no picture"),
    ],
)
def test_missing_files_are_named(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x.safetensors").touch()
    with pytest.raises(SystemExit, match="2"):
        main([argument.format(tmp_path) for argument in arguments])
    (line,) = capsys.readouterr().err.splitlines()
    assert message.format(tmp_path) in line
