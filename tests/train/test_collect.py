"""Runs are collected as learning results only if they follow the protocol."""

import csv
import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("tyro")
pytest.importorskip("sb3_contrib")

from quincunx_env.arena import Estimate, evaluate  # noqa: E402
from quincunx_env.arena.benchmark import TASKS  # noqa: E402
from train import collect, ppo  # noqa: E402
from train.common import checkpoint  # noqa: E402
from train.recipes import dqn  # noqa: E402
from train.td_lambda.settings import SETTINGS, Arguments  # noqa: E402

COMMAND = (
    "python -m train.recipes.dqn --name tiny-0 --seed 0 --total-steps 160 --num-envs 16 --buffer 160 --batch-size 8 "
    "--learning-starts 16 --eval-every 16 --eval-deals 4"
)
OPTIONS: dict[str, Any] = {
    **{"total_steps": 160, "num_envs": 16, "buffer": 160, "batch_size": 8, "learning_starts": 16, "eval_every": 16},
    **{"eval_deals": 4, "test_deals": 2, "progress": False},
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of learning curves with a method, ``tiny``; runs are written to ``runs`` beside it."""
    monkeypatch.chdir(tmp_path)
    place = tmp_path / "benchmark"
    place.mkdir()
    methods = {"tiny": {"label": "DQN", "track": "preview", "command": COMMAND}}
    (place / "methods.json").write_text(json.dumps(methods))
    monkeypatch.setattr(collect, "FOLDER", place)
    return place


def train(name: str, seed: int) -> Path:
    """Train for 160 steps."""
    dqn.main(dqn.Arguments(name=name, seed=seed, **OPTIONS))
    return Path("runs") / name


@pytest.mark.slow
def test_runs_are_collected(folder: Path) -> None:
    runs = [train("b", seed=1), train("a", seed=0)]
    collect.collect("tiny", runs, folder, min_seeds=2, deals=20)
    rows = collect.read_curves(folder / "tiny.csv")
    assert [row["seed"] for row in rows] == ["0"] * 12 + ["1"] * 12, "11 evaluations and the final figure"
    for row in rows:
        final = row is rows[11] or row is rows[23]
        expected = ("benchmark", "100000", "20") if final else ("validation", "0", "4")
        assert (row["domain"], row["first"], row["deals"]) == expected
        assert float(row["low"]) <= float(row["mean"]) <= float(row["high"])
    history = json.loads((runs[1] / "a.json").read_text())["validation"]
    assert [[int(row["steps"]), float(row["mean"])] for row in rows[:11]] == [
        [entry["steps"], entry["variants"]["solitaire"]["mean"]] for entry in history
    ]
    scores = json.loads((folder / "scores.json").read_text())
    values = [TASKS["solitaire"].normalised(Estimate(*[float(rows[at]["mean"])] * 3)) for at in (11, 23)]
    assert scores == {"tiny": [[pytest.approx(each.value, abs=1e-5)] for each in values]}, "[runs, tasks]"
    assert (folder / "learning_curves.png").stat().st_size > 1000

    for wrong, message in (((runs[0],), r"2 runs or more with .* needed, got \[1\]"), ((runs[0],) * 2, "seeds")):
        with pytest.raises(collect.RunError, match=message):
            collect.collect("tiny", [*wrong], folder, min_seeds=2, deals=20)
    with pytest.raises(collect.RunError, match="unknown method 'huge'"):
        collect.collect("huge", runs, folder)
    with pytest.raises(collect.RunError, match="not a finished run"):
        collect.collect("tiny", [Path("runs/none")], folder)
    assert collect.read_curves(folder / "tiny.csv") == rows


@pytest.mark.parametrize(
    ("steps", "message"),
    [(range(0, 160, 16), "144 of 160"), (range(64, 225, 16), "224 of 160"), ((0, 160), "2 evaluations, 10 are")],
)
def test_runs_over_or_under_the_budget_are_refused(steps: Any, message: str) -> None:
    arguments = json.loads(json.dumps(dataclasses.asdict(dqn.Arguments(**OPTIONS))))
    curve = [collect.Point(each, Estimate(1, 0, 2), 0.5) for each in steps]
    with pytest.raises(collect.RunError, match=message):
        collect.check_runs([collect.Run(Path("run"), arguments, curve)], COMMAND, min_seeds=1)


def test_runs_with_other_options_are_refused() -> None:
    arguments = json.loads(json.dumps(dataclasses.asdict(dqn.Arguments(**OPTIONS | {"batch_size": 16}))))
    with pytest.raises(collect.RunError, match="run has batch_size=16, the method has 8"):
        collect.check_runs([collect.Run(Path("run"), arguments, [])], COMMAND, min_seeds=1)


def test_runs_of_another_script_are_refused() -> None:
    arguments = json.loads(json.dumps(dataclasses.asdict(ppo.Arguments())))
    with pytest.raises(collect.RunError, match=r"of another script than train.recipes.dqn"):
        collect.check_runs([collect.Run(Path("run"), arguments, [])], COMMAND, min_seeds=1)


def write_run(folder: Path, arguments: dict[str, Any], variant: str = "solitaire") -> Path:
    """A finished run with one evaluation."""
    figures = {"mean": 1.5, "mean_low": 1, "mean_high": 2, "lost": 0.25}
    validation = [{"done": 2, "steps": 700, "variants": {variant: figures}}]
    folder.mkdir(exist_ok=True)
    (folder / "run.json").write_text(json.dumps({"arguments": arguments, "validation": validation}))
    return folder


def test_steps_of_a_run_that_plays_whole_rounds(tmp_path: Path) -> None:
    """12 for each round; other runs count their steps."""
    run = collect.read_run(write_run(tmp_path, {"games": 32, "seed": 3, "iterations": 2}))
    assert (run.seed, run.curve) == (3, [(2 * 32 * 12, (1.5, 1, 2), 0.25)])
    assert collect.read_run(write_run(tmp_path, {})).curve[0].steps == 700
    with pytest.raises(collect.RunError, match="not a finished run of the solitaire: KeyError"):
        collect.read_run(write_run(tmp_path, {}, variant="spiral"))


def test_a_network_without_a_weights_file_comes_from_the_checkpoint(tmp_path: Path) -> None:
    """As ``--policy mlp`` leaves it; nothing is unpickled."""
    arguments = ppo.Arguments(name="plain", policy="mlp", preview=False, num_envs=2)
    learner = ppo.Learner(arguments)
    learner.averaged.update_parameters(learner.model.policy)
    foreign = dataclasses.replace(arguments)
    foreign.against = "quincunx_agents.no_such:policy"  # which is not imported
    checkpoint.save(tmp_path / "checkpoint.pt", foreign, {"learner": learner.get_state()})
    found = collect.policy_of(collect.read_run(write_run(tmp_path, dataclasses.asdict(foreign))))
    assert (evaluate(found, 5).scores == evaluate(learner.agent(), 5).scores).all()


def test_a_named_setting_is_a_command_of_a_method() -> None:
    command = "python -m train.td_lambda solitaire-long --name td-0 --seed 0"
    arguments = json.loads(json.dumps(dataclasses.asdict(Arguments(**SETTINGS["solitaire-long"].options))))
    steps = [434 * 192 * 12 * part // 10 for part in range(1, 11)]
    run = collect.Run(Path("run"), arguments, [collect.Point(each, Estimate(1, 0, 2), 0.5) for each in steps])
    collect.check_runs([run], command, min_seeds=1)


def test_methods_of_the_page_are_complete() -> None:
    methods = json.loads((collect.FOLDER / "methods.json").read_text(encoding="utf-8"))
    for name, method in methods.items():
        assert method.keys() - {"note"} == {"label", "track", "command"}
        path = collect.FOLDER / f"{name}.csv"
        if path.exists():
            with path.open(encoding="utf-8", newline="") as file:
                final = [row for row in csv.DictReader(file) if row["domain"] == "benchmark"]
            assert len({row["seed"] for row in final}) == len(final) >= 5
            assert {(row["first"], row["deals"]) for row in final} == {("100000", "10000")}
