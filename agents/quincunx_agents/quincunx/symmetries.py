"""The eight rotations and reflections of the square grid, which the rules of Quincunx do not distinguish."""

import math
from collections.abc import Callable
from functools import cache

import numpy as np

from quincunx_agents.afterstates import Floats, Ints
from quincunx_env.core.observation import Pieces

AXIS_OF_CELLS = {"board": 1, "order": 1, "preview": 2}
"""The axis of cells of those pieces of an observation that have one."""


@cache
def symmetries(num_cells: int) -> Ints:
    """The cell whose content each cell receives, int64 [8, num_cells], by symmetry."""
    grid = np.arange(num_cells).reshape(math.isqrt(num_cells), -1)
    return np.stack([np.rot90(each, turns).ravel() for each in (grid, grid.T) for turns in range(4)])


def turned(observation: Pieces, cells: Ints) -> Pieces:
    """Pieces [n, ...] of a game without announcements, with the content of ``cells``, [num_cells], on the cells."""
    return {
        name: piece.take(cells, AXIS_OF_CELLS[name]) if name in AXIS_OF_CELLS else piece
        for name, piece in observation.items()
    }


def mean_over_symmetries(logits: Callable[[Pieces], Floats], observation: Pieces) -> Floats:
    """The mean of a network's logits over the eight views of each position, float32 [n, cards * cells].

    A network that is not invariant errs differently in each view, so that the mean errs less: AlphaGo's symmetry
    ensemble (Silver et al., Mastering the Game of Go with Deep Neural Networks and Tree Search, Nature 529, 2016).

    Args:
        logits: maps pieces [n, ...] to logits [n, cards * cells].
        observation: pieces [n, ...] of games without announcements.
    """
    num_games, num_cells = observation["board"].shape
    found = [
        logits(turned(observation, cells)).reshape(num_games, -1, num_cells)[..., cells.argsort()]
        for cells in symmetries(num_cells)
    ]
    mean: Floats = np.mean(found, axis=0, dtype=np.float32).reshape(num_games, -1)
    return mean
