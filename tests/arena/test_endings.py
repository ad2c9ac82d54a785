"""Points lost in the last three plays of the solitaire."""

import numpy as np
import pytest

from quincunx_agents.exact import action_values
from quincunx_env.arena import Deals, Run, evaluate, table
from quincunx_env.arena.endings import exact_values, points_lost, solves
from quincunx_env.arena.matches import MatchConfig
from quincunx_env.arena.runner import run_lineups
from quincunx_env.quincunx.batch import Batch
from quincunx_env.quincunx.rules import Rules
from quincunx_env.spiral.batch import Batch as SpiralBatch
from quincunx_env.spiral.rules import Rules as SpiralRules


def test_losses_are_those_of_single_positions() -> None:
    config = MatchConfig(Rules(), Deals(8, "validation"), chunk=3)
    [(results, _)] = run_lineups({"greedy": "heuristic"}, [("greedy",)], config).values()
    found, start = points_lost(results, config), 0
    for number, length in enumerate(results.lengths[:, 0]):
        game = Batch(Rules(), 1, "validation")
        game.reset(seed=number)
        for action in results.actions[start : start + length].tolist():
            if solves(Rules(), left := 12 - int(game.ply[0])):
                [values] = action_values(game)
                assert found[number, 3 - left] == pytest.approx(values.max() - values[action])
            game.step([action])
        start += length
    assert (found >= 0).all()
    assert found.any()


def test_lost_rounds_lose_no_further_points() -> None:
    found = evaluate("greedy", 60, endings=True)
    assert found.endings is not None
    assert np.isnan(found.endings[found.lost, -1]).all()
    assert not np.isnan(found.endings[~found.lost]).any()


def test_figures_of_endings() -> None:
    pytest.importorskip("scipy")
    found = evaluate("heuristic", 30, endings=True, run=Run(workers=2, chunk=15))
    assert found.endings is not None
    whole, *plays = found.points_lost
    reached = found.endings[~np.isnan(found.endings[:, 0])]
    assert whole.value == pytest.approx(np.nansum(reached, axis=1).mean())
    assert [play.value for play in plays] == pytest.approx(np.nanmean(found.endings, axis=0))
    assert len(found.to_json()["points_lost"]) == 4
    assert table({"heuristic": found}).splitlines()[-1].startswith(f"| heuristic | {whole.value:.2f} | ")
    with pytest.raises(ValueError, match="the endings were not measured: evaluate with endings=True"):
        _ = evaluate("heuristic", 30).points_lost
    with pytest.raises(ValueError, match="fewer than 2 rounds reach the last play"):
        evaluate("greedy", 2, endings=True).to_json()


def test_rules_without_exact_values_are_refused() -> None:
    assert not solves(Rules(), 4)
    assert not solves(Rules(2), 3)
    games = Batch(Rules(), 1)
    games.reset(seed=0)
    with pytest.raises(ValueError, match="at most 3 plays may be left"):
        exact_values(games)
    with pytest.raises(ValueError, match="install a package with an entry point of"):
        exact_values(SpiralBatch(SpiralRules(), 1))
