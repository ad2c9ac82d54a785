"""Afterstates of both games, and their features as input of a value network.

An afterstate is the position right after an action, before anything random or any reply follows (Sutton & Barto,
Reinforcement Learning, 2nd ed., section 6.8). Here it is known exactly but for the cards still to be drawn and those in
other hands, about which an action gives the acting seat no information.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from quincunx_env.core.observation import Observer, Pieces
from quincunx_env.core.rules import BaseRules
from quincunx_env.registry import make_observer

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float32]

SEATS = 4
"""Length of every axis of seats: the most that a game has."""


@cache
def observer_for(rules: BaseRules) -> Observer:
    """The observer of the observations that policies receive: with the preview."""
    return make_observer(rules, preview=True)


Inputs = TypeVar("Inputs")


class Feature(NamedTuple, Generic[Inputs]):
    """A named feature, or several of one kind side by side."""

    name: str
    scale: float | np.float32
    """Divisor that brings usual values to the order of 1."""
    compute: Callable[[Inputs], npt.NDArray[Any]]
    """From the inputs of a game: one array, or, if there are several features, an array with an axis of them."""
    meaning: str
    size: int = 1
    """Number of features."""


def num_features(features: Sequence[Feature[Any]]) -> int:
    """The number of features of a list."""
    return sum(feature.size for feature in features)


def write_features(features: Sequence[Feature[Inputs]], inputs: Inputs, out: Floats, axis: int = -1) -> None:
    """Compute features.

    Args:
        features: to be computed.
        inputs: of all of them.
        out: float32, with `num_features` entries along ``axis``; receives the features.
        axis: the first or the last axis, in ``out`` and where one `Feature` computes several.
    """
    start = 0
    for feature in features:
        at: Any = slice(start, start + feature.size) if feature.size > 1 else start
        target = out[at] if axis == 0 else out[..., at]
        if feature.scale == 1:
            target[...] = feature.compute(inputs)
        else:
            np.divide(feature.compute(inputs), feature.scale, out=target, casting="same_kind")
        start += feature.size


class FeatureLayout(NamedTuple):
    """Shape of the features of an afterstate: sets of elements, such as its empty cells, and context features."""

    sets: tuple[tuple[int, int], ...]
    """Of each set (E, F): the most elements, and the number of features of each."""
    context: int
    """G: number of features of the position as a whole."""

    @property
    def size(self) -> int:
        """Length of the features as one flat vector."""
        return sum(most * features for most, features in self.sets) + self.context


class AfterstateFeatures(NamedTuple):
    """Features of j afterstates."""

    sets: tuple[Floats, ...]
    """float32 [j, e, F] each, e at most the layout's E. Feature 0 is 1 for an element; rows of padding are all 0."""
    context: Floats
    """float32 [j, G]."""


class Afterstates(NamedTuple):
    """The m legal actions of n positions, in order of their positions, with their points and afterstates."""

    rows: Ints
    """int64 [m], ascending: position of each action."""
    actions: Ints
    """int64 [m]."""
    points: Floats
    """float32 [m]: points that the action scores for the mover."""
    known_values: Floats
    """float32 [m, SEATS]: points still to come for each seat from the mover on where they are known, nan elsewhere."""
    chunks: tuple[tuple[Ints, AfterstateFeatures], ...]
    """The actions whose values are not known, int64 [j] indices into ``rows``, with the features of their afterstates;
    in chunks that fit into the processor's cache."""

    def features(self, layout: FeatureLayout, chosen: Ints | None = None) -> npt.NDArray[np.float16]:
        """Features of afterstates in one table, float16 [k, layout.size]; 0 where the value is known.

        Args:
            layout: of the features.
            chosen: int64 [k], different indices of actions; all by default.
        """
        place: Ints = np.arange(len(self.rows))
        if chosen is not None:
            place = np.full(len(self.rows), -1)
            place[chosen] = np.arange(len(chosen))
        table = np.zeros((len(self.rows) if chosen is None else len(chosen), layout.size), np.float16)
        for at, (sets, context) in self.chunks:
            to = place[at]
            found = np.flatnonzero(to >= 0)
            to, start = to[found], 0
            for elements, (most, features) in zip(sets, layout.sets, strict=True):
                table[to, start : start + elements.shape[1] * features] = elements[found].reshape(
                    len(found), elements.shape[1] * features
                )
                start += most * features
            table[to, start:] = context[found]
        return table


class FeatureModule(Protocol):
    """Interface of `quincunx_agents.quincunx.features` and `quincunx_agents.spiral.features`."""

    LAYOUTS: tuple[FeatureLayout, ...]
    """What networks may read."""

    def layout(self, card_set: bool, replies: bool) -> FeatureLayout:
        """The layout with or without some features, where a game has a choice of them."""
        ...

    def afterstates_of(
        self, rules: Any, observation: Pieces, mask: Bools, use_known_values: bool = True, layout: FeatureLayout = ...
    ) -> Afterstates:
        """The afterstates of all legal actions.

        Args:
            rules: of the game.
            observation: pieces [n, ...] with the preview.
            mask: bool [n, A].
            use_known_values: set ``known_values`` where the points still to come follow from the observation, and
                compute no features there.
            layout: of the features, one of `LAYOUTS`; the last by default.
        """
        ...

    def shortlist(self, rules: Any, observation: Pieces, mask: Bools, count: int) -> Bools:
        """The ``count`` legal actions of each position that the heuristic prefers, and those equal to the last of them,
        bool [n, A]; 0 means all.
        """
        ...
