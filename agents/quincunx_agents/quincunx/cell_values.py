"""Scores of all cards in the empty cells of Quincunx's afterstates.

Most cells are the same in all afterstates of a position, and are computed once. Points and draws are from the preview,
`quincunx_env.quincunx.play_values`; all options of the rules are supported. `open_cells` finds the cells where a card
may come.

Axes: p positions, j afterstates, e cells of an afterstate, w different cells, K cards, C cells of the grid.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from quincunx_agents.afterstates import Bools, Ints
from quincunx_env.core.cards import EMPTY
from quincunx_env.quincunx import scoring
from quincunx_env.quincunx.cards import CARDS
from quincunx_env.quincunx.play_values import play_values
from quincunx_env.quincunx.rules import OPEN_SPAN, Rules

Boards = npt.NDArray[np.int8]
Scores = npt.NDArray[np.int16]

ABSENT_VALUE = -30
"""Points of all cards in a cell that only pads. Not tuned: below nearly all real scores."""


class CellValues(NamedTuple):
    """Scores of all cards in the cells of j afterstates. The last entry of w only pads."""

    cells: Ints
    """[e, j]: index into w, the last where the column only pads."""
    present: Bools
    """[e, j]: False where the column only pads."""
    points: Scores
    """[w, K]; `ABSENT_VALUE` in the last."""
    draws: Scores
    """[w, K]; 0 in the last."""
    position: Ints
    """[w - 1]: the position of each cell."""
    touching: Ints
    """[w - 1]: adjacent cards."""
    edges: Ints
    """[w - 1]: sides at the edge of the grid."""


class _Geometry(NamedTuple):
    reach: Bools
    """[C, C]: whether a card in the first cell changes what cards score in the second, apart from power plays."""
    adjacent: Ints
    """[C, 4]."""
    edges: Ints
    """[C]: sides at the edge of the grid."""
    suits: npt.NDArray[np.uint8]
    """[K + 1]: suit bits; of an empty cell (`EMPTY`, the last) none."""
    ends: npt.NDArray[np.uint8]
    """[K + 1]: suit bits of Aces and Crowns, beside which a power play may be made, otherwise 0."""


@cache
def _geometry(rules: Rules) -> _Geometry:
    cells, adjacent = range(rules.num_cells), np.array(rules.grid.adjacent)
    reach = [scoring.reach(rules, cell) for cell in cells]
    cards = [*CARDS[: rules.num_cards], None]
    return _Geometry(
        reach=np.array([[cell in places for places in reach] for cell in cells]),
        adjacent=adjacent,
        edges=(adjacent == rules.grid.off).sum(axis=1),
        suits=np.array([card.suits if card else 0 for card in cards], np.uint8),
        ends=np.array([card.suits if card and card.rank in "AC" else 0 for card in cards], np.uint8),
    )


def cell_values(
    rules: Rules, before: Boards, board: Boards, playable: Bools, position: Ints, card: Ints, cell: Ints
) -> CellValues:
    """Score all cards in all cells of afterstates.

    Args:
        rules: of the game.
        before: boards of the positions, int8 [p, C + 1].
        board: boards of the afterstates, int8 [j, C + 1].
        playable: their cells, bool [j, C + 1].
        position: int64 [j], the position before each action, ascending.
        card: int64 [j], the card played.
        cell: int64 [j], the cell it was played into.
    """
    geometry, num_cells = _geometry(rules), rules.num_cells
    owner, at = np.nonzero(playable)
    place = position[owner] * num_cells + at
    # A card that is not in reach still adds to power plays in its suits.
    near: Ints = np.bitwise_or.reduce(geometry.ends.take(before[:, geometry.adjacent], mode="wrap"), axis=2)
    powered = near.reshape(-1).take(place) & geometry.suits.take(card).take(owner) > 0
    changed = geometry.reach[cell[owner], at] | powered
    needed = np.zeros(len(before) * num_cells, np.bool_)
    needed[place[~changed]] = True
    same, anew = np.flatnonzero(needed), np.flatnonzero(changed)
    which: Ints = needed.cumsum() - 1
    which = which.take(place)
    which[anew] = len(same) + np.arange(len(anew))

    boards = np.concatenate([before, board])
    rows = np.concatenate([same // num_cells, len(before) + owner[anew]])
    cells = np.concatenate([same % num_cells, at[anew]])
    made = play_values(rules).all_plays(boards, rows, cells)
    scores = np.zeros((2, len(cells) + 1, rules.num_cards), np.int16)
    scores[:, :-1] = made.transpose(2, 0, 1)
    scores[0, -1] = ABSENT_VALUE

    # The cells of each afterstate, padded to the most.
    number = playable.sum(axis=1)
    present = np.arange(max(int(number.max()), 1)) < number[:, None]
    index = np.full(present.shape, len(cells))
    index[present] = which
    return CellValues(
        cells=np.ascontiguousarray(index.T),
        present=np.ascontiguousarray(present.T),
        points=scores[0],
        draws=scores[1],
        position=np.concatenate([same // num_cells, position[owner[anew]]]),
        touching=(boards.reshape(-1).take(rows * boards.shape[1] + geometry.adjacent[cells].T) != EMPTY).sum(axis=0),
        edges=geometry.edges[cells],
    )


def open_cells(rules: Rules, board: Boards) -> tuple[Bools, Bools]:
    """Mark cells where a card may still, or next, come, bool [j, C + 1] each.

    From corners the two are the same, also with contact.
    """
    empty = board == EMPTY
    empty[:, -1] = False
    if rules.start == "corners":
        return empty, empty
    side = rules.grid.side
    taken = ~empty[:, :-1].reshape(-1, side, side)
    possible = np.ones(taken.shape, np.bool_)
    for axis in (1, 2):
        used = taken.any(axis=3 - axis)
        first, last = used.argmax(axis=1), side - 1 - used[:, ::-1].argmax(axis=1)
        lines = np.arange(side)
        fits = (lines > last[:, None] - OPEN_SPAN) & (lines < first[:, None] + OPEN_SPAN)
        possible &= np.expand_dims(fits, 3 - axis)
    touched = np.zeros_like(taken)
    touched[:, 1:] |= taken[:, :-1]
    touched[:, :-1] |= taken[:, 1:]
    touched[:, :, 1:] |= taken[:, :, :-1]
    touched[:, :, :-1] |= taken[:, :, 1:]
    empty[:, :-1] &= possible.reshape(len(board), -1)
    playable = empty.copy()
    playable[:, :-1] &= touched.reshape(len(board), -1)
    return empty, playable
