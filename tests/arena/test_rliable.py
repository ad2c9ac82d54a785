"""The interquartile mean and its interval equal those of rliable (Agarwal et al. 2021) on the same data.

The figures in ``tests/golden/rliable.json`` were computed by rliable 1.2.0: ``python -m tests.arena.test_rliable``
writes them again, where rliable is installed.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from quincunx_env.arena import interquartile_mean

pytest.importorskip("scipy")

GOLDEN = Path(__file__).parents[1] / "golden" / "rliable.json"
SHAPES = ((5, 1), (5, 6), (3, 2), (10, 4))
"""Runs and tasks."""
RESAMPLES = 2000


def scores(runs: int, tasks: int) -> list[list[float]]:
    """Scores [runs, tasks] with few digits, so that JSON holds them exactly."""
    values: list[list[float]] = np.random.default_rng([runs, tasks]).normal(1, 0.3, (runs, tasks)).round(3).tolist()
    return values


def by_rliable(values: list[list[float]], seed: int) -> list[float]:
    """Interquartile mean, lower and upper end of its interval, computed by rliable."""
    from rliable import library, metrics

    np.random.seed(seed)  # noqa: NPY002  rliable draws from the global generator
    point, interval = library.get_interval_estimates(
        {"agent": np.array(values)}, lambda drawn: np.array([metrics.aggregate_iqm(drawn)]), reps=RESAMPLES
    )
    return [*map(float, (*point["agent"], *interval["agent"].ravel()))]


def cases() -> list[dict[str, Any]]:
    """Data, seeds, and what rliable computes from them."""
    return [
        {"scores": values, "seed": seed, "rliable": by_rliable(values, seed)}
        for seed, values in enumerate(scores(*shape) for shape in SHAPES)
    ]


def test_the_interval_is_that_of_rliable() -> None:
    stored = json.loads(GOLDEN.read_text(encoding="utf-8"))
    assert len(stored) == len(SHAPES)
    for case in stored:
        found = interquartile_mean(case["scores"], resamples=RESAMPLES, seed=case["seed"])
        assert found == pytest.approx(case["rliable"], rel=1e-12)
        assert found.low < found.value < found.high


@pytest.mark.slow  # importing rliable takes seconds
def test_rliable_still_computes_the_stored_figures() -> None:
    pytest.importorskip("rliable")
    for stored, case in zip(json.loads(GOLDEN.read_text(encoding="utf-8")), cases(), strict=True):
        assert stored["scores"] == case["scores"]
        assert stored["rliable"] == pytest.approx(case["rliable"], rel=1e-12)


@pytest.mark.parametrize("wrong", [[1.0, 2.0], [[1.0, 2.0]], [[], []], [[[1.0]], [[2.0]]]])
def test_other_shapes_are_refused(wrong: Any) -> None:
    with pytest.raises(ValueError, match=r"scores are \[runs, tasks\] with at least 2 runs, got \["):
        interquartile_mean(wrong)


if __name__ == "__main__":
    GOLDEN.write_text(json.dumps(cases(), indent=1) + "\n", encoding="utf-8")
