"""What networks are told of legal plays: the position after each, in numbers. Common to both games."""

from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from quincunx_env.core.observation import Pieces

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float32]

SEATS = 4
"""The most seats there are."""


class Layout(NamedTuple):
    """What is told of a position after a play: sets of things, such as its empty cells, and numbers of the whole."""

    sets: tuple[tuple[int, int], ...]
    """Of each set, how many things it has at most, and how many numbers are told of each."""
    whole: int
    """How many numbers are told of the whole."""

    @property
    def size(self) -> int:
        """How many numbers that is."""
        return sum(most * numbers for most, numbers in self.sets) + self.whole


class Described(NamedTuple):
    """Positions after a play, j in all."""

    sets: tuple[Floats, ...]
    """[j, e, F] each, e no more than the layout says: the first number is 1 for a thing that is there, and all are 0
    where a row only fills up."""
    whole: Floats
    """[j, G]."""


class Plays(NamedTuple):
    """Legal plays of n positions, m in all, those of a position side by side."""

    rows: Ints
    """[m], ascending: position of each play."""
    actions: Ints
    """[m]."""
    points: Floats
    """[m]: what it scores for the mover."""
    certain: Floats
    """[m, SEATS]: points still to come for each seat from the mover on, where that is known; otherwise nan."""
    judged: tuple[tuple[Ints, Described], ...]
    """The plays where it is not known, some at a time, and the positions after them."""

    def told(self, layout: Layout) -> npt.NDArray[np.float16]:
        """What is told of all these positions, float16 [m, layout.size], in order; zeros where all is known."""
        table = np.zeros((len(self.rows), layout.size), np.float16)
        for at, (sets, whole) in self.judged:
            start = 0
            for things, (most, numbers) in zip(sets, layout.sets, strict=True):
                table[at, start : start + things.shape[1] * numbers] = things.reshape(len(at), -1)
                start += most * numbers
            table[at, start:] = whole
        return table


class Positions(Protocol):
    """What a game's module says: `quincunx_agents.quincunx.features` for Quincunx, `quincunx_agents.spiral.features` for the spiral game."""

    LAYOUT: Layout

    def plays_of(self, rules: Any, observation: Pieces, mask: Bools, certain: bool = True) -> Plays:
        """Describe the position after every legal play.

        Args:
            rules: which game.
            observation: pieces [n, ...] with the preview.
            mask: bool [n, A].
            certain: leave out positions of which the points still to come are known.
        """
        ...

    def shortlist(self, rules: Any, observation: Pieces, mask: Bools, count: int) -> Bools:
        """The plays worth looking at, ``count`` of each position or fewer, bool [n, A]; 0 is all."""
        ...
