"""Model cards: figures as in the results they are made from, metadata as the Hub's own library reads them."""

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
hub = pytest.importorskip("huggingface_hub")

import quincunx_agents.networks  # noqa: E402
from quincunx_agents.networks.value import shipped  # noqa: E402
from quincunx_env.quincunx.rules import Rules  # noqa: E402
from train.common.evaluation import BASELINES, strength  # noqa: E402
from train.common.model_card import model_card, write_model_card  # noqa: E402

WEIGHTS = Path(quincunx_agents.networks.__file__).parent / "weights"


@pytest.mark.parametrize("network", shipped())
def test_the_hub_reads_the_figures_of_the_results(network: str, tmp_path: Path) -> None:
    facts = json.loads((WEIGHTS / f"{network}.json").read_text(encoding="utf-8"))
    facts["arguments"].setdefault("seed", 0)  # `spiral` is the mean of two runs
    write_model_card(tmp_path, "net", facts)
    card: Any = hub.ModelCard.load(tmp_path / "README.md")
    results, teacher = facts["benchmark"].values(), facts["arguments"].get("teacher")
    expected = [figures[name] for figures in results for name in ("mean", "win_rate", "margin") if name in figures]
    assert [result.metric_value for result in card.data.eval_results] == expected
    assert {result.task_type for result in card.data.eval_results} == {"reinforcement-learning"}
    assert (card.data.model_name, card.data.library_name, card.data.license) == ("net", "quincunx_env", None)
    assert facts["command"] in card.text
    assert all(f"| {figures['deals']:,} |" in card.text for figures in results)
    methods = {*card.data.tags} & {"td-lambda", "expert-iteration", "distillation"}
    assert methods == ({"expert-iteration", "distillation"} if teacher else {"td-lambda"})
    assert (f"from `{teacher}`" in card.text) == ("positions searched" in card.text) == (teacher is not None)


def test_the_evaluation_of_a_solitaire_run_is_shown_beside_baselines() -> None:
    results = {name: strength(name, name, Rules(), 10, "benchmark") for name in BASELINES}
    made = {"command": "train", "arguments": {"seed": 0}, "steps": 1000, "machine": "here", "versions": {"numpy": "2"}}
    card: Any = model_card(made | {"benchmark": {"solitaire": results["heuristic"]}, "baselines": results}, "mine")
    for name, result in {"mine": results["heuristic"], **results}.items():
        assert f"| {name} | 10 | {result['mean']:.1f} | {result['mean_low']:.1f} to " in card.text
    assert [result.metric_value for result in card.data.eval_results] == [results["heuristic"]["mean"]]
    several = {"solitaire": results["greedy"], "solitaire-pawns": results["heuristic"]}
    shown: Any = model_card(made | {"benchmark": several}, "mine")
    assert f"| solitaire-pawns | 10 | {results['heuristic']['mean']:.1f} |" in shown.text, "a variant with options"
