"""Threes in line with one card and two empty cells.

Value networks read the number of ways in which hand and unseen cards can make such threes of a kind or straights
(RULES.md 1.4.2, 1.4.3).

Axes: j afterstates, K cards, C cells, X threes in line.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from quincunx_agents.afterstates import Bools, Floats, Ints
from quincunx_env.core.cards import EMPTY
from quincunx_env.quincunx.rules import Rules
from quincunx_env.quincunx.scoring import rank_order

NO_ORDER = 15
"""Place of the Excuse among the ranks: further than any three in line reaches beyond the last rank."""


class OpenThrees(NamedTuple):
    """Ways to complete threes in line with one card. The other two cells are empty."""

    kind_hand: Floats
    """float32 [j]: threes of a kind, both missing cards from the hand."""
    kind_mixed: Floats
    """float32 [j]: one from the hand and one unseen."""
    kind_unseen: Floats
    """float32 [j]: both unseen."""
    straight_hand: Floats
    """float32 [j]: straights, both missing cards from the hand."""
    straight_mixed: Floats
    """float32 [j]: one from the hand and one unseen."""
    straight_unseen: Floats
    """float32 [j]: both unseen."""
    empty: Ints
    """int64 [j]: threes in line without a card."""


class _Tables(NamedTuple):
    """Tables of the rules."""

    orders: Ints
    """[K]: place of the rank in `Rules.ranks`; `NO_ORDER` for the Excuse."""
    by_order: Floats
    """[K, NO_ORDER + 3]: the same one-hot."""
    windows: Ints
    """[3, X]: the cells of all threes in line."""
    others_from: Ints
    """[2, 3]: by the place of a card in a three, how far from it the two other places are."""


@cache
def _tables(rules: Rules) -> _Tables:
    places = [rank_order(card, rules.ranks) for card in range(rules.num_cards)]
    orders = np.array([NO_ORDER if place is None else place for place in places])
    lines = [(cell, line) for cell in range(rules.num_cells) for line in range(rules.num_lines)]
    threes = [(cell, *rules.grid.line(cell, line, (1, 2))) for cell, line in lines]
    return _Tables(
        orders=orders,
        by_order=np.eye(NO_ORDER + 3, dtype=np.float32)[orders] * (orders != NO_ORDER)[:, None],
        windows=np.array([three for three in threes if rules.grid.off not in three]).T,
        others_from=np.array([[1, -1, -2], [2, 1, -1]]),
    )


def open_threes(
    rules: Rules,
    board: npt.NDArray[np.int8],
    open_cells: Bools,
    hand: Floats,
    unseen: Floats,
) -> OpenThrees:
    """Count the ways to complete the threes in line of j afterstates.

    Args:
        rules: of the game.
        board: int8 [j, C + 1].
        open_cells: bool [j, C + 1], the empty cells where a card may still come.
        hand: float32 [j, K], 1 for each card kept.
        unseen: float32 [j, K], 1 for each card in the pile or another hand.
    """
    tables, j = _tables(rules), len(board)
    windows = tables.windows.reshape(-1)
    lying, gaps = (np.take(each.T, windows, axis=0).reshape(3, -1, j) for each in (board, open_cells.astype(np.int8)))
    occupied = (lying != EMPTY).astype(np.int8)
    num_gaps, num_occupied = (each[0] + each[1] + each[2] for each in (gaps, occupied))
    (found,) = np.nonzero(((num_gaps == 2) & (num_occupied == 1)).reshape(-1))
    at = found % j
    # One of the three is a card, the other two are `EMPTY`.
    card, place = (
        each.reshape(-1).take(found)
        for each in (lying[0] + lying[1] + lying[2] - 2 * EMPTY, occupied[1] + 2 * occupied[2])
    )
    # Beyond the first rank and around `NO_ORDER` there are ranks without a card.
    margin = np.zeros((j, 2), dtype=np.float32)
    own, other = (np.concatenate([margin, cards @ tables.by_order], axis=1) for cards in (hand, unseen))
    rank = at * own.shape[1] + tables.orders[card.astype(np.int64)] + 2
    first, second = tables.others_from[:, place.astype(np.int64)]

    def count(ways: npt.NDArray[np.generic]) -> Floats:
        numbers: Floats = np.bincount(at, ways.astype(np.float32), j).astype(np.float32)
        return numbers

    held, hidden = own.take(rank), other.take(rank)
    hand_ways, mixed_ways, unseen_ways = [], [], []
    for slope in (-1, 1):
        own_one, own_two, other_one, other_two = (
            cards.take(rank + slope * apart) for cards in (own, other) for apart in (first, second)
        )
        has_one, has_two = own_one > 0, own_two > 0
        hand_ways.append(count(has_one & has_two))
        mixed_ways.append(count(has_one * other_two + has_two * other_one))
        unseen_ways.append(count(other_one * other_two))
    return OpenThrees(
        kind_hand=count(held >= 2),
        kind_mixed=count((held >= 1) * hidden),
        kind_unseen=count(hidden * (hidden - 1)),
        straight_hand=hand_ways[0] + hand_ways[1],
        straight_mixed=mixed_ways[0] + mixed_ways[1],
        straight_unseen=unseen_ways[0] + unseen_ways[1],
        empty=(num_gaps == 3).sum(axis=0),
    )
