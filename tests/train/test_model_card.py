"""Model cards: figures as in the results they are made from, metadata as the Hub's own library reads them."""

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
hub = pytest.importorskip("huggingface_hub")

import quincunx_agents.networks  # noqa: E402
from quincunx_agents.networks.value import SHIPPED  # noqa: E402
from quincunx_env.arena import evaluate  # noqa: E402
from train.common.model_card import facts_of_evaluation, model_card, write_model_card  # noqa: E402

WEIGHTS = Path(quincunx_agents.networks.__file__).parent / "weights"

MADE = {"command": "python -m train.ppo", "steps": 1000, "machine": "here", "versions": {"numpy": "2"}}
"""How a run was made."""


def loaded(path: Path) -> Any:
    """A card as the Hub's own library reads it from a file."""
    return hub.ModelCard.load(path)


@pytest.mark.parametrize("network", SHIPPED)
def test_the_hub_reads_the_figures_of_the_results(network: str, tmp_path: Path) -> None:
    facts = json.loads((WEIGHTS / f"{network}.json").read_text(encoding="utf-8"))
    model_card(facts, network, license="mit").save(tmp_path / "README.md")
    card, results = loaded(tmp_path / "README.md"), facts["benchmark"]
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
    write_model_card(tmp_path, "net", facts)
    card = loaded(tmp_path / "README.md")
    tags = "td-lambda", "expert-iteration", "distillation"
    assert [tag for tag in card.data.tags or () if tag in tags] == methods
    assert ("those of `earlier`" in card.text) == ("12,345" in card.text) == (teacher is not None)


def test_the_evaluation_of_a_solitaire_run_is_shown_beside_baselines(tmp_path: Path) -> None:
    results = {name: evaluate(name, 10).to_json() for name in ("uniform", "greedy")}
    results |= {"trained": evaluate("heuristic", 10).to_json()}
    card: Any = model_card(MADE | facts_of_evaluation(results), "mine")
    for name in ("trained", "uniform", "greedy"):
        assert f"| {results[name]['mean']:.1f} | {results[name]['ci95'][0]:.1f} to " in card.text
    assert card.data.model_name == "mine"
    assert [result.metric_value for result in card.data.eval_results] == [results["trained"]["mean"]]


def test_a_card_links_the_learning_curve_beside_it(tmp_path: Path) -> None:
    facts = json.loads((WEIGHTS / f"{SHIPPED[0]}.json").read_text(encoding="utf-8"))
    write_model_card(tmp_path, "net", facts)
    assert "![" not in (tmp_path / "README.md").read_text(encoding="utf-8")
    (tmp_path / "learning_curve.png").touch()
    write_model_card(tmp_path, "net", facts)
    written = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert "\n# net\n" in written
    assert "![learning curve](learning_curve.png)" in written
    assert "license" not in written.partition("# net")[0]
