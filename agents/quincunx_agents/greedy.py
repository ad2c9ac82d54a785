"""Greedy agent: the legal play with most immediate points."""

import numpy as np
import numpy.typing as npt

from quincunx_env.core.observation import Pieces
from quincunx_env.quincunx.rules import ANNOUNCE_MIN


def greedy(observation: Pieces, mask: npt.NDArray[np.bool_], rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Choose the legal play with most points, ties by the lowest action; see `quincunx_env.core.policy.Policy`.

    With Simpleton it announces the true points of the play.
    """
    points = observation["preview"][..., 0].reshape(len(mask), -1)
    plays = points.shape[1]
    best = np.where(mask[:, :plays], points, np.iinfo(points.dtype).min).argmax(axis=1)
    return with_announcements(observation, best)


def with_announcements(observation: Pieces, chosen: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The chosen plays, int64 [n], and the true points instead where they are to be announced (Simpleton)."""
    if "pending" not in observation:
        return chosen
    # While a seat announces, the preview holds the pending play alone.
    points = observation["preview"][..., 0].reshape(len(chosen), -1)
    announcing = observation["pending"][:, 0] >= 0
    return np.where(announcing, points.shape[1] + points.sum(axis=1) - ANNOUNCE_MIN, chosen)
