"""Greedy agent: the legal play with most immediate points. `HighestValue` is greedy for other values."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from quincunx_agents import ties
from quincunx_agents.afterstates import Bools, Ints
from quincunx_env.core.observation import Pieces
from quincunx_env.quincunx.rules import ANNOUNCE_MIN


def greedy(observation: Pieces, mask: Bools, rng: np.random.Generator) -> Ints:
    """Choose the legal play with most points, ties by the lowest action. With Simpleton announce the true points."""
    points = observation["preview"][..., 0].reshape(len(mask), -1)
    plays = points.shape[1]
    best = np.where(mask[:, :plays], points, np.iinfo(points.dtype).min).argmax(axis=1)
    return with_announcements(observation, best)


def points_of_plays(observation: Pieces, mask: Bools, rng: np.random.Generator) -> npt.NDArray[np.floating[Any]]:
    """Return points of all legal plays, the values of `greedy`. See `quincunx_env.core.policy.ValuedPolicy`."""
    points = observation["preview"][..., 0].reshape(len(mask), -1)
    values = np.full(mask.shape, -np.inf)
    values[:, : points.shape[1]] = np.where(mask[:, : points.shape[1]], points, -np.inf)
    return values


greedy.action_values = points_of_plays  # type: ignore[attr-defined]  # a function, to be called by its name in tables


def with_announcements(observation: Pieces, chosen: Ints) -> Ints:
    """Return the chosen plays, int64 [n], or true points as announcements (Simpleton)."""
    if "pending" not in observation:
        return chosen
    # While a seat announces, the preview holds the pending play alone.
    points = observation["preview"][..., 0].reshape(len(chosen), -1)
    announcing = observation["pending"][:, 0] >= 0
    return np.where(announcing, points.shape[1] + points.sum(axis=1) - ANNOUNCE_MIN, chosen)


@dataclass(frozen=True)
class HighestValue:
    """Policy that takes the action of the highest value. It is a `quincunx_env.core.policy.ValuedPolicy`."""

    values: Callable[[Pieces, Bools], npt.NDArray[np.floating[Any]]]
    """Maps pieces [n, ...] and masks [n, A] to values of all actions, [n, A]; announcements have none."""

    def __call__(self, observation: Pieces, mask: Bools, rng: np.random.Generator) -> Ints:
        """Choose legal actions, int64 [n], of equal ones the lowest. With Simpleton announce the true points."""
        return with_announcements(observation, ties.best(self.values(observation, mask)))

    def action_values(
        self, observation: Pieces, mask: Bools, rng: np.random.Generator
    ) -> npt.NDArray[np.floating[Any]]:
        """Return values of all actions; see `quincunx_env.core.policy.ValuedPolicy`."""
        return self.values(observation, mask)
