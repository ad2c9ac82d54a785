"""Rewards of the games for several players."""

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

Number = TypeVar("Number", int, float, np.ndarray[Any, Any])

REWARDS = ("points", "margin", "outcome")
"""``points``: what the seat scored. ``margin``: its points less the mean of the others'. ``outcome``: at the end,
(P * share - 1) / (P - 1) with share = 1/W for each of W winners and 0 for the others; +1, 0, -1 for two. The last two
sum to zero over the P seats."""


def step_rewards(reward: str, gains: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Rewards of a step in many games: int64 [n, P] -> float64 [n, P]; those of ``outcome`` come at the end."""
    if reward == "points":
        return gains.astype(np.float64)
    return np.stack(margin(list(gains.T)), axis=1) if reward == "margin" else np.zeros(gains.shape)


def end_rewards(totals: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """``outcome`` rewards of many games that have ended: int64 [n, P] -> float64 [n, P]."""
    return np.stack(outcome(list(totals.T)), axis=1)


def margin(gains: Sequence[Number]) -> list[Any]:
    """``margin`` rewards from the gains of each seat: numbers, or arrays of many games."""
    players, total = len(gains), sum(gains)
    return [(players * gain - total) / (players - 1) for gain in gains]


def outcome(totals: Sequence[Number]) -> list[Any]:
    """``outcome`` rewards from the totals of each seat at the end: numbers, or arrays of many games."""
    players = len(totals)
    wins = np.asarray(totals) == np.max(totals, axis=0)
    shares = wins / wins.sum(axis=0)
    return list((players * shares - 1) / (players - 1))
