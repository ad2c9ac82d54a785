"""Greedy agent: the legal play with most immediate points. `GreedyPolicy` is greedy for other scores."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from quincunx_agents import ties
from quincunx_agents.afterstates import Bools, Ints
from quincunx_env.core.observation import Pieces
from quincunx_env.quincunx.rules import ANNOUNCE_MIN

Scores = npt.NDArray[np.floating[Any]]


def greedy(observation: Pieces, mask: Bools, rng: np.random.Generator) -> Ints:
    """Choose the legal play with most points, ties by the lowest action. With Simpleton announce the true points."""
    points = observation["preview"][..., 0].reshape(len(mask), -1)
    plays = points.shape[1]
    best: Ints = np.where(mask[:, :plays], points, np.iinfo(points.dtype).min).argmax(axis=1)
    if "pending" in observation:
        best = np.where(observation["pending"][:, 0] >= 0, announcements(observation), best)
    return best


def points_of_plays(observation: Pieces, mask: Bools, rng: np.random.Generator) -> Scores:
    """Return points of all legal plays, the values of `greedy`. See `quincunx_env.core.policy.ValuedPolicy`."""
    points = observation["preview"][..., 0].reshape(len(mask), -1)
    values = np.full(mask.shape, -np.inf)
    values[:, : points.shape[1]] = np.where(mask[:, : points.shape[1]], points, -np.inf)
    return values


greedy.action_values = points_of_plays  # type: ignore[attr-defined]  # a function, to be called by its name in tables


def announcements(observation: Pieces) -> Ints:
    """Return announcements of the true points (Simpleton), int64 [n]."""
    points = observation["preview"][..., 0]
    points = points.reshape(len(points), -1)  # of the pending play alone
    found: Ints = points.shape[1] + points.sum(axis=1) - ANNOUNCE_MIN
    return found


class GreedyPolicy:
    """Policy that takes the action of the highest score; a `quincunx_env.core.policy.ValuedPolicy`.

    Args:
        scores: maps observations [n, ...] and masks [n, A] to scores of all actions, [n, A]. Illegal actions have -inf.
            Where all have it, the true points are announced (Simpleton).
        tolerance: largest difference of equal scores; see `quincunx_agents.ties`.
    """

    def __init__(self, scores: Callable[[Any, Bools], Scores], tolerance: float = ties.TOLERANCE) -> None:
        self.scores = scores
        self.tolerance = tolerance

    def __call__(self, observation: Pieces, mask: Bools, rng: np.random.Generator) -> Ints:
        """Choose legal actions, int64 [n], of equal ones the lowest.

        Raises:
            NotFiniteError: if scores are NaN or infinite.
        """
        scores = self.scores(observation, mask)
        chosen = ties.best(scores, self.tolerance)
        announcing = np.isneginf(scores[np.arange(len(scores)), chosen])
        return np.where(announcing, announcements(observation), chosen) if announcing.any() else chosen

    def action_values(self, observation: Pieces, mask: Bools, rng: np.random.Generator) -> Scores:
        """Return the scores of all actions; see `quincunx_env.core.policy.ValuedPolicy`."""
        return self.scores(observation, mask)


def legal_scores(scores: Scores, mask: Bools) -> Scores:
    """Return scores [n, A] with -inf for illegal actions.

    Raises:
        NotFiniteError: if the highest score of a row is NaN or infinite.
    """
    legal: Scores = np.where(mask, scores, -np.inf)
    ties.require_finite(legal.max(axis=1))
    return legal
