"""Results of runs as tables."""

import pytest

pytest.importorskip("torch")

from quincunx_env.arena import Deals
from quincunx_env.quincunx.rules import Rules
from train.common.evaluation import BASELINES, strength
from train.common.tables import results_table


def test_the_evaluation_of_a_solitaire_run_is_shown_beside_baselines() -> None:
    results = {name: strength(name, name, Rules(), Deals(10)) for name in BASELINES}
    table = results_table({"benchmark": {"solitaire": results["heuristic"]}, "baselines": results}, "mine")
    for name, result in {"mine": results["heuristic"], **results}.items():
        assert f"| {name} | 10 | {result['mean']:.1f} | {result['mean_low']:.1f} to " in table
    several = {"solitaire": results["greedy"], "solitaire-pawns": results["heuristic"]}
    shown = results_table({"benchmark": several}, "mine")
    assert f"| solitaire-pawns | 10 | {results['heuristic']['mean']:.1f} |" in shown, "a variant with options"
