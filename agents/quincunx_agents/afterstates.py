"""Afterstates of both games, and their features for value networks.

An afterstate is the position right after an action, before anything random or any reply follows (Sutton & Barto,
Reinforcement Learning, 2nd ed., section 6.8). Here it is known exactly, except for the cards still to be drawn and
other players' cards. An action gives the acting seat no information about these.

Axes: n positions, m actions, j afterstates of a chunk, A actions of the game. A set has e elements, at most E, of F
features each. The context has G features.
"""

from collections.abc import Callable, Iterator, Sequence
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
    """Return the observer of the observations that policies receive: with preview."""
    return make_observer(rules, preview=True)


Inputs = TypeVar("Inputs")


class Feature(NamedTuple, Generic[Inputs]):
    """A named feature, or several of one kind side by side."""

    name: str
    scale: float
    """Divisor that brings usual values to the order of 1."""
    compute: Callable[[Inputs], npt.NDArray[Any] | bool]
    """Maps the inputs of a game to an array [...], or for several features to [..., size] or [size, ...]. The array may
    have fewer axes where values are the same everywhere."""
    meaning: str
    size: int = 1
    """Number of features."""


def num_features(features: Sequence[Feature[Any]]) -> int:
    """Return the number of features in a list."""
    return sum(feature.size for feature in features)


def write_features(features: Sequence[Feature[Inputs]], inputs: Inputs, out: Floats, axis: int = -1) -> None:
    """Compute features into ``out``, float32 [..., F] or, with ``axis`` 0, [F, ...].

    F is their `num_features`. A `Feature` that computes several has this axis, too.
    """
    start = 0
    for feature in features:
        at: Any = slice(start, start + feature.size) if feature.size > 1 else start
        target: Any = out[at] if axis == 0 else out[..., at]
        found: Any = feature.compute(inputs)
        target[...] = found if feature.scale == 1 else found / np.float32(feature.scale)
        start += feature.size


def one_hot(numbers: Ints, first: int, stop: int) -> Bools:
    """Return one-hot numbers [j], bool [j, stop - first]."""
    found: Bools = numbers[:, None] == np.arange(first, stop)
    return found


class FeatureLayout(NamedTuple):
    """Shape of the features of an afterstate: sets of elements and context. A set is, for example, the empty cells."""

    sets: tuple[tuple[int, int], ...]
    """Shapes (E, F) of the sets: the most elements, and the number of features of each."""
    context: int
    """Number G of features of the position as a whole."""
    further: int = 0
    """How many of these, the last, networks of earlier versions may lack."""

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
    """Legal actions of n positions with their points and afterstates. The m actions are in order of their positions."""

    rows: Ints
    """int64 [m], ascending: position of each action."""
    actions: Ints
    """int64 [m]."""
    points: Floats
    """float32 [m]: points that the action scores for the mover."""
    known_values: Floats
    """float32 [m, SEATS]: points still to come for each seat from the mover on where they are known, nan elsewhere."""
    chunks: tuple[tuple[Ints, AfterstateFeatures], ...]
    """Actions of unknown value, int64 [j] indices into ``rows``, and their features; a chunk fits into the cache."""

    def features(self, layout: FeatureLayout, chosen: Ints | None = None) -> npt.NDArray[np.float16]:
        """Return features in one table, float16 [k, layout.size].

        They are 0 where the value is known. ``chosen`` are different indices of actions, int64 [k]; all by default.
        """
        place = np.arange(len(self.rows))
        if chosen is not None:
            place = np.full(len(self.rows), -1)
            place[chosen] = np.arange(len(chosen))
        number = len(self.rows) if chosen is None else len(chosen)
        table: npt.NDArray[np.float16] = np.zeros((number, layout.size), dtype=np.float16)
        for at, (sets, context) in self.chunks:
            to = place[at]
            kept = np.flatnonzero(to >= 0)
            to, start = to[kept], 0
            for elements, (most, features) in zip(sets, layout.sets, strict=True):
                numbers = elements.shape[1] * features
                table[to, start : start + numbers] = elements[kept].reshape(-1, numbers).astype(np.float16)
                start += most * features
            table[to, start:] = context[kept].astype(np.float16)
        return table


CHUNK_SIZE = 512
"""Afterstates whose features are computed at once: few enough for the processor's cache."""


def in_chunks(actions: Ints) -> Iterator[Ints]:
    """Split indices of actions, int64 [m], into chunks [j] whose features are computed together."""
    return (actions[start : start + CHUNK_SIZE] for start in range(0, len(actions), CHUNK_SIZE))


class FeatureModule(Protocol):
    """Interface of `quincunx_agents.quincunx.features` and `quincunx_agents.spiral.features`."""

    LAYOUT: FeatureLayout
    """Shape of the features that the networks of the game read."""

    def afterstates_of(self, rules: Any, observation: Pieces, mask: Bools) -> Afterstates:
        """Return the afterstates of all legal actions.

        Actions whose points still to come follow from the observation have no features.

        Args:
            rules: of the game.
            observation: pieces [n, ...] with the preview.
            mask: bool [n, A].
        """
        ...

    def shortlist(self, rules: Any, observation: Pieces, mask: Bools, count: int) -> Bools:
        """Return the heuristic's ``count`` best legal actions, bool [n, A]. Equals of the last count; 0 means all.

        Other arguments are as for `afterstates_of`.
        """
        ...
