"""Regret of a policy: mean of oracle score minus its value."""

from pathlib import Path

import numpy as np
import numpy.typing as npt

from quincunx_env.arena.statistics import Estimate
from quincunx_env.oracle.store import oracle_scores


def regret(values: npt.ArrayLike, first: int = 0, path: Path | str | None = None) -> Estimate:
    """Average oracle score minus value over deals.

    The interval is Student's t over deals.

    Args:
        values: float64 [deals], the policy's values on benchmark deals by the default rules, as in
            ``Evaluation.values``.
        first: number of the first deal.
        path: file of oracle scores, as `quincunx_env.oracle.store.read` takes it.

    Raises:
        ValueError: for fewer than 2 values, or if a deal has no oracle score.
        ImportError: without SciPy.
    """
    scores = np.asarray(values, np.float64)
    if scores.ndim != 1 or len(scores) < 2:
        raise ValueError(f"an interval needs the values of at least 2 deals, [deals], got shape {scores.shape}")
    return Estimate.of_mean(oracle_scores(first, len(scores), path) - scores)
