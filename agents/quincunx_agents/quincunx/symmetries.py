"""The eight rotations and reflections of the square grid. The rules of Quincunx do not distinguish them."""

import math
from collections.abc import Callable
from functools import cache

import numpy as np

from quincunx_agents.afterstates import Floats, Ints
from quincunx_env.core.observation import Pieces

AXIS_OF_CELLS = {"board": 1, "order": 1, "preview": 2}
"""Axis of cells, by name of the observation's pieces that have one."""


@cache
def symmetries(num_cells: int) -> Ints:
    """Return each cell's source by symmetry, int64 [8, num_cells]. A cell receives its source's content."""
    grid = np.arange(num_cells).reshape(math.isqrt(num_cells), -1)
    return np.stack([np.rot90(each, turns).ravel() for each in (grid, grid.T) for turns in range(4)])


def turned(observation: Pieces, cells: Ints) -> Pieces:
    """Return pieces [n, ...] with the content of ``cells``, [num_cells], on the cells; without announcements."""
    return {
        name: piece.take(cells, AXIS_OF_CELLS[name]) if name in AXIS_OF_CELLS else piece
        for name, piece in observation.items()
    }


def mean_over_symmetries(logits: Callable[[Pieces], Floats], observation: Pieces) -> Floats:
    """Average a network's logits over eight views, float32 [n, cards * cells].

    A network that is not invariant errs differently in each view, so that the mean errs less. AlphaGo has such an
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
