"""Estimates and their intervals, against SciPy and by hand."""

import json
import re
import sys

import numpy as np
import pytest

from quincunx_env.arena import Comparison, Evaluation, Tournament, compare, table, tournament
from quincunx_env.arena.matches import Deals, MatchConfig
from quincunx_env.arena.statistics import Estimate
from quincunx_env.quincunx.rules import Rules

stats = pytest.importorskip("scipy.stats")


@pytest.mark.parametrize("count", [2, 3, 10, 1000])
def test_every_mean_has_students_t_interval(count: int) -> None:
    """`Estimate.of_mean` and `Evaluation.ci95`, for few deals and for many."""
    values = np.random.default_rng(count).integers(-20, 250, count).astype(float)
    low, high = stats.t.interval(0.95, df=count - 1, loc=values.mean(), scale=stats.sem(values))
    assert Estimate.of_mean(values) == pytest.approx((values.mean(), low, high))
    assert Evaluation(values, np.zeros(count, np.bool_)).ci95 == pytest.approx((low, high))


@pytest.mark.parametrize("count", [2, 6, 2000])
def test_no_interval_has_zero_width(count: int) -> None:
    """Shares that agree at an end have the exact interval, other constants none."""
    ones = np.ones(count)
    for share in (0, 1):
        exact = stats.binomtest(share * count, count).proportion_ci(method="exact")
        assert Estimate.of_share(share * ones) == pytest.approx((share, *exact))
    constant = Estimate.of_mean(3.5 * ones)
    assert constant == (3.5, -np.inf, np.inf)
    assert constant.cells(".1f") == ("3.5", "-")
    assert constant.to_json() == {"value": 3.5, "low": None, "high": None}
    assert Estimate.of_share(0.5 * ones) == (0.5, 0, 1)
    same = Comparison(("a", "b"), np.array([[0, 1]]), np.full((count, 1, 2), 7), MatchConfig(Rules(2), Deals(count)))
    assert (same.margin(), same.win_rate()) == ((0, 0, 0), (0.5, 0.5, 0.5)), "as of a policy against itself"


def test_results_of_deals_that_agree() -> None:
    """As a user sees them: six deals do not prove that a policy always wins."""
    lost = Evaluation(np.array([7, 9]), np.ones(2, np.bool_))
    assert str(lost) == "Evaluation: 0.0, 100.0 % lost, 2 deals"
    assert "| mine | 2 | 0.0 | - |" in table({"mine": lost})
    assert json.loads(json.dumps(lost.to_json(), allow_nan=False))["ci95"] == [None, None]
    won = compare(["heuristic", "uniform"], 6)
    assert "| 100.0% | 54.1% to 100.0% |" in won.table()
    held = tournament(["heuristic", "uniform"], 6)
    best, worst = held.ratings
    assert 0 < best.low < best.value < best.high == np.inf
    assert (worst.value, worst.low) == (-best.value, -np.inf)
    assert f"| at least +{best.low:.0f} |" in held.table()
    assert f"| at most -{best.low:.0f} |" in held.table()
    json.dumps(held.to_json(), allow_nan=False)
    even = tournament({"one": "greedy", "other": "greedy"}, 2)
    assert "-0 " not in even.table() + str(even)


def test_no_figure_is_minus_zero_or_a_rounded_share() -> None:
    """In tables and reprs. With a loss in 2,500 games a share of wins is not 100.0 %."""
    scores = np.append(np.zeros(2_499, np.int64), -90)
    config = MatchConfig(Rules(2), Deals(2_500))
    held = Comparison(("a", "b"), np.array([[0, 1]]), scores[:, None, None] * [1, -1], config)
    won = Comparison(("a", "b"), np.array([[0, 1]]), np.where(scores[:, None, None] == 0, [1, 0], [0, 1]), config)
    results = (
        *(Evaluation(scores, lost) for lost in (scores > 0, scores == 0, scores < 0)),
        *(held, won, Tournament(("a", "b"), {("a", "b"): won})),
    )
    text = "\n".join([*map(repr, results), *(result.table() for result in results)])  # type: ignore[attr-defined]
    assert not re.findall(r"-0(?:\.0*)?(?![\d.])|[|,a] 100\.0", text)
    assert (text.count(">99.9"), text.count("<0.1")) == (5, 5)


def test_intervals_of_win_rates_are_cut_at_their_bounds() -> None:
    few = compare(["greedy", "heuristic"], 3)
    assert (few.win_rate(0).low, few.win_rate(1).high) == (0, 1)
    assert Estimate.of_mean(few.wins[:, 0]).low < 0


def test_results_introduce_themselves_in_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    scores, lost = np.repeat([150, 90, 40], [600, 389, 11]), np.repeat([False, True], [989, 11])
    evaluation = Evaluation(scores, lost)
    assert str(evaluation) == "Evaluation: 125.0 (123.0 to 127.0), 1.1 % lost, 1,000 deals"
    assert repr([Evaluation(scores[:1], lost[:1])]) == "[Evaluation: 150.0, 0.0 % lost, 1 deals]"
    comparison = compare(["greedy", "uniform"], 20)
    assert str(comparison) == "Comparison, % of wins: greedy 100.0 (83.2 to 100.0), uniform 0.0 (0.0 to 16.8); 20 deals"
    result = tournament(["uniform", "greedy"], 20)
    first, second = (f"{rating.value:+.0f}" for rating in sorted(result.ratings, reverse=True))
    assert repr(result) == f"Tournament: greedy {first}, uniform {second}; 20 deals"
    monkeypatch.setitem(sys.modules, "scipy", None)
    assert str(evaluation) == "Evaluation: 125.0, 1.1 % lost, 1,000 deals"
    assert repr(Tournament(result.names, result.comparisons)) == "Tournament: uniform, greedy; 20 deals"


def test_a_single_value_has_no_interval() -> None:
    with pytest.raises(ValueError, match="at least 2 values, got 1"):
        Estimate.of_mean(np.array([1.0]))


def test_without_scipy_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy", None)
    with pytest.raises(ImportError, match=r'^a confidence interval needs scipy: pip install "quincunx_env\[arena\]"$'):
        Estimate.of_mean(np.array([1.0, 2.0]))
