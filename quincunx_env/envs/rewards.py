"""Rewards of the games for several players."""

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

Number = TypeVar("Number", int, float, np.ndarray[Any, Any])

REWARDS = ("points", "margin", "outcome")
"""Rewards of a seat among P.

- ``points``: the points it scores.
- ``margin``: its points minus the mean of the other seats' points.
- ``outcome``: 0 until the end, then (P * share - 1) / (P - 1) with share = 1/W for each of W winners and 0 for the
  others; with two players +1, 0 or -1.

``margin`` and ``outcome`` sum to zero over the seats.
"""


def step_rewards(reward: str, gains: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Return the rewards of a step from its gains. int64 [n, P] -> float64 [n, P]; 0 for ``outcome``."""
    if reward == "points":
        return gains.astype(np.float64)
    return np.stack(margin(list(gains.T)), axis=1) if reward == "margin" else np.zeros(gains.shape)


def end_rewards(totals: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Return the ``outcome`` rewards of ended games from their totals. int64 [n, P] -> float64 [n, P]."""
    return np.stack(outcome(list(totals.T)), axis=1)


def margin(gains: Sequence[Number]) -> list[Any]:
    """Return the ``margin`` rewards of each seat from their gains. Both are numbers, or arrays [n] of many games."""
    players, total = len(gains), sum(gains)
    return [(players * gain - total) / (players - 1) for gain in gains]


def outcome(totals: Sequence[Number]) -> list[Any]:
    """Return the ``outcome`` rewards of each seat from their totals. Both are numbers, or arrays [n] of many games."""
    players, shares = len(totals), win_shares(np.asarray(totals).T).T
    return list((players * shares - 1) / (players - 1))


def win_shares(totals: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Return the share of each seat in the win.

    It is 1/W for each of the W seats with most points, otherwise 0.

    Args:
        totals: [..., P].

    Returns:
        float64 [..., P].
    """
    wins = totals == totals.max(axis=-1, keepdims=True)
    shares: npt.NDArray[np.float64] = wins / wins.sum(axis=-1, keepdims=True)
    return shares
