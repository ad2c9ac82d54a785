"""Reports of several training runs: figures by hand, intervals by coverage."""

import json

import numpy as np
import pytest

from quincunx_env.arena import report
from quincunx_env.arena.reporting import improvement

stats = pytest.importorskip("scipy.stats")
pytest.importorskip("choix")

RUNS = {
    "a": [[1, 3], [2, 4], [5, 5], [9, 9]],  # means of the runs: 2, 3, 5, 9
    "b": [[0, 0], [3, 3], [1, 1], [4, 6], [1, 1]],  # 0, 3, 1, 5, 1
}


def test_a_report_by_hand() -> None:
    result = report(RUNS, resamples=200)
    assert result.mean["a"].value == pytest.approx(19 / 4)
    assert result.iqm["a"].value == pytest.approx((3 + 5) / 2), "a quarter is left out at either end"
    assert result.mean["b"].value == pytest.approx(2)
    assert result.iqm["b"].value == pytest.approx(5 / 3), "0 and 5 are left out"
    # 2 beats 0 1 1; 3 beats 0 1 1 and ties with 3; 5 beats all but 5, with which it ties; 9 beats all.
    assert result.improvement["a", "b"].value == pytest.approx((3 + 3.5 + 4.5 + 5) / 20)
    assert result.improvement["b", "a"].value == pytest.approx(1 - 16 / 20)
    value, low, high = result.improvement["a", "b"]
    assert result.improvement["b", "a"] == pytest.approx((1 - value, 1 - high, 1 - low))
    assert (result.runs, result.deals) == ({"a": 4, "b": 5}, 2)
    for estimate in (*result.mean.values(), *result.iqm.values(), *result.improvement.values()):
        assert estimate.low <= estimate.value <= estimate.high
    assert report(RUNS, resamples=200) == result, "it repeats"
    assert report(RUNS, resamples=200, seed=1) != result
    assert len(result.table().splitlines()) == 2 + 2 + 1 + 2 + 2
    assert len(report({"a": RUNS["a"]}, resamples=50).table().splitlines()) == 3
    assert json.loads(json.dumps(result.to_json()))["agents"]["a"]["runs"] == 4


def test_probability_of_improvement_is_mann_whitneys() -> None:
    rng = np.random.default_rng(0)
    one, other = rng.integers(6, size=(5, 3)), rng.integers(6, size=(4, 3))
    expected = [stats.mannwhitneyu(one[:, game], other[:, game]).statistic / 20 for game in range(3)]
    assert improvement(one[None].astype(float), other[None].astype(float)) == pytest.approx(np.mean(expected))


def test_the_interval_of_few_runs_has_the_width_of_students_t() -> None:
    """Percentiles without the expanded level would be 5 % closer with ten runs."""
    runs = stats.norm.ppf((np.arange(10) + 0.5) / 10)
    _, low, high = report({"a": np.repeat(runs[:, None], 2, axis=1)}, resamples=50_000).mean["a"]
    assert (high - low) / 2 == pytest.approx(stats.t.ppf(0.975, 9) * stats.sem(runs), rel=0.02)


def test_games_are_strata_of_the_bootstrap() -> None:
    """With nearly identical runs the interval of the mean is short, however different the games are."""
    scores = np.repeat([[[10.0] * 5, [50.0] * 5]], 4, axis=0) + np.arange(4)[:, None, None] / 1e6
    assert report({"a": scores}, resamples=50).mean["a"] == pytest.approx((30, 30, 30))


def test_reports_that_cannot_be_made_are_refused() -> None:
    for scores in ([[1, 2]], [[1], [2]], [1, 2, 3]):
        with pytest.raises(ValueError, match="at least 2 runs and 2 deals"):
            report({"a": scores})
    with pytest.raises(ValueError, match="same games and deals"):
        report({"a": np.zeros((3, 5)), "b": np.zeros((3, 6))})


@pytest.mark.slow
@pytest.mark.parametrize("runs", [5, 10])
@pytest.mark.parametrize("spread", [5, 10])
def test_intervals_of_reports_cover_the_truth(runs: int, spread: float) -> None:
    """Runs (by ``spread`` points), deals (20) and rounds (30) are random: at least 90 % of the intervals contain
    the truth, but hardly more than half of those in which each deal is a stratum.
    """
    rng, deals, times = np.random.default_rng(0), 200, 300
    covered = dict.fromkeys(("mean", "iqm", "single deals"), 0)
    for _ in range(times):
        scores = rng.normal(0, spread, (runs, 1)) + rng.normal(0, 20, deals) + rng.normal(0, 30, (runs, deals))
        result = report({"a": scores}, resamples=500)
        covered["mean"] += result.mean["a"].low <= 0 <= result.mean["a"].high
        covered["iqm"] += result.iqm["a"].low <= 0 <= result.iqm["a"].high
        drawn = scores[rng.integers(runs, size=(300, runs, deals)), np.arange(deals)].mean(axis=(1, 2))
        low, high = np.percentile(drawn, [2.5, 97.5])
        covered["single deals"] += low <= 0 <= high
    print(f"{runs} runs, spread {spread}: { ({name: count / times for name, count in covered.items()}) }")
    assert min(covered["mean"], covered["iqm"]) / times > 0.9
    assert covered["single deals"] / times < 0.65
