"""Observations as environments encode them, for networks that were trained on them by other libraries."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from quincunx_agents.afterstates import Bools, Ints
from quincunx_env.core.observation import FlatDtype, Observer, Pieces
from quincunx_env.core.policy import Policy
from quincunx_env.core.rules import BaseRules
from quincunx_env.registry import make_observer, spec_of

Encoded = npt.NDArray[Any] | dict[str, npt.NDArray[Any]]
"""Observations [n, size], or by name [n, ...]."""


@dataclass(frozen=True)
class Encoding:
    """The observations of an environment with some options."""

    observer: Observer
    flat: bool
    """One vector, or pieces by name."""
    mask: str = ""
    """Entry of the observation with the mask, or none."""
    vector: str = "observation"
    """Entry with the flat vector beside a mask."""
    dtype: FlatDtype = np.int16
    """Of the flat vector."""

    def space(self) -> spaces.Space[Any]:
        """The space of an observation."""
        space = self.observer.flat_space(self.dtype) if self.flat else self.observer.dict_space()
        if not self.mask:
            return space
        pieces = space.spaces if isinstance(space, spaces.Dict) else {self.vector: space}
        return spaces.Dict({**pieces, self.mask: spaces.Box(0, 1, (self.observer.num_actions,), np.int8)})

    def encode(self, observation: Pieces, mask: Bools) -> Encoded:
        """Encode pieces [n, ...] and their masks [n, A]."""
        if self.flat:
            flat = self.observer.flatten(observation, self.dtype)
            return flat if not self.mask else {self.vector: flat, self.mask: mask.astype(np.int8)}
        pieces: dict[str, npt.NDArray[Any]] = {piece.name: observation[piece.name] for piece in self.observer.pieces}
        return pieces | ({self.mask: mask.astype(np.int8)} if self.mask else {})

    def policy(self, scores: Callable[[Encoded, Bools], npt.NDArray[Any]]) -> Policy:
        """The greedy policy of a network.

        Args:
            scores: maps encoded observations and masks bool [n, A] to logits or Q-values, float [n, A], or, where
                actions are pairs, [n, cards + cells].
        """
        greedy = GreedyScores(self, scores)
        padded = getattr(self.observer, "unpad_policy", None)
        return padded(greedy) if padded is not None else greedy


class GreedyScores:
    """Chooses the legal action of the highest score, the first of several; a `quincunx_env.core.policy.Policy`.

    Unlike `quincunx_agents.ties.best` it distinguishes scores that differ by rounding, because their unit is unknown:
    it plays as the library does that trained the network.
    """

    def __init__(self, encoding: Encoding, scores: Callable[[Encoded, Bools], npt.NDArray[Any]]) -> None:
        self.encoding = encoding
        self.scores = scores

    def __call__(self, observation: Pieces, mask: Bools, rng: np.random.Generator) -> Ints:
        """Choose legal actions, int64 [n].

        Raises:
            ValueError: if the network computes something else than scores.
        """
        scores = self.scores(self.encoding.encode(observation, mask), mask)
        factors = self.encoding.observer.factors
        if factors and scores.shape == (len(mask), sum(factors)):  # the best pair is the best card and the best cell
            cards, cells = np.split(scores, [factors[0]], axis=1)
            pairs = (cards[:, :, None] + cells[:, None, :]).reshape(len(mask), -1)
            scores = np.pad(pairs, [(0, 0), (0, mask.shape[1] - pairs.shape[1])])
        if scores.shape != mask.shape:
            raise ValueError(f"the network computes {list(scores.shape)} numbers, expected {list(mask.shape)}")
        if np.isnan(scores[mask]).any():
            raise ValueError("the network computes numbers that are none (NaN) for legal actions")
        # A network may itself give an illegal action -inf, or a legal one: the lowest number that is not masked.
        least = np.finfo(np.float64).min
        chosen: Ints = np.where(mask, np.maximum(scores.astype(np.float64), least), -np.inf).argmax(axis=1)
        return chosen


def observers(rules: BaseRules) -> Iterator[Observer]:
    """Observers of all encodings of games with these rules: with and without the preview, and padded."""
    for padded in (False, True) if spec_of(rules).PaddedObserver else (False,):
        for preview in (True, False):
            yield make_observer(rules, preview, padded)


def encodings(rules: BaseRules) -> Iterator[Encoding]:
    """Encodings of the environments of games with these rules: options ``observation``, ``mask_in``, ``padded``."""
    for observer in observers(rules):
        for mask in ("", "action_mask"):
            yield Encoding(observer, True, mask)
            yield Encoding(observer, True, mask, dtype=np.float32)
            yield Encoding(observer, False, mask)
