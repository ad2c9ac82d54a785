"""How well a solitaire could go if its pile were known: beam search in many games side by side.

Of every game the search keeps the ``width`` most promising positions, plays all their cards into all cells, and keeps
the best again until the grid is full. What a position promises is its points, what its hand is good for, and the lines
in which one card is missing. The search looks at the pile: give it games dealt anew (`resample`), never the true one.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from quincunx_agents.quincunx.rollout_policy import NOTHING, Floats, Ints, Prices, penalties, play, price
from quincunx_env.core.batch import Words
from quincunx_env.core.cards import EMPTY
from quincunx_env.quincunx.batch import Batch
from quincunx_env.quincunx.cards import CARDS
from quincunx_env.quincunx.rules import Rules
from quincunx_env.quincunx.scoring import line_bonus, rank_order

CARD_NEEDED = 13.0
"""Points that a card in hand promises while there are plays left for it."""

CARD_SPARE = 4.3
"""The same for every further card."""

LAST_CARD = -9.0
"""Added when a single card is left for more than one play."""

KEEP = dict(zip("A23456789CPX", (-1.9, -1.1, 0.1, -2.1, -3.3, -0.1, 0.9, 2.5, 0.1, 3.3, 0.0, 0.0), strict=True))
"""How much better or worse a card of each rank is to hold than the others, when play begins."""

GAP_IN_HAND, GAP_IN_PILE = 0.4, 0.04
"""Share of a bonus that a line promises which lacks one card: where the hand has such a card, and otherwise for each
that is still in the pile."""

CHOICE = 3
"""How many times ``width`` plays are tried before the lines that lack one card are looked at."""


def beam(games: Batch, width: int, lost_value: float = 0.0) -> npt.NDArray[np.float64]:
    """Points at the end of the best line found in each game, float64 [B]; ``lost_value`` where all lines lose.

    Args:
        games: solitaires at the same stage.
        width: positions of each game that are kept.
        lost_value: what a lost round counts.
    """
    rules = games.rules
    best = np.where(games.over & ~games.lost, games.scores[:, 0], -np.inf)
    group = np.flatnonzero(~games.over)
    positions = games.fork(group)
    # Positions with the same cards in the same cells are one: this tells them apart, whatever the order of play.
    marks = np.zeros(len(group), np.int64)
    while len(group):
        prices = price(positions)
        worth = _worth(positions, prices)
        source, slot, cell_slot = _most(worth, group, CHOICE * width)
        cards, cells = prices.cards[source, slot], prices.cells[source, cell_slot]
        worth, group = worth[source, slot, cell_slot], group[source]
        marks = marks[source] + _marks()[cards, cells]
        # The mark of a position holds how many cards were drawn, too: the last draws may be lost.
        drawn = positions.drawn[source] + prices.draws[source, slot, cell_slot].astype(np.int64)
        kept = _first_of_each(group, marks + drawn, worth)
        positions = positions.fork(source[kept])
        group, marks, worth = group[kept], marks[kept], worth[kept]
        play(positions, cards[kept] * rules.num_cells + cells[kept])
        if prices.left == 0:
            np.maximum.at(best, group, positions.scores[:, 0])
            break
        worth += _promise(positions)
        kept = np.flatnonzero(_rank_within(group, worth) < width)
        positions, group, marks = positions.fork(kept), group[kept], marks[kept]
    return np.where(np.isneginf(best), lost_value, best)


def _worth(positions: Batch, prices: Prices) -> Floats:
    """What every play leads to, as far as its points and the hand tell, float32 [n, H, E]."""
    rules, left = positions.rules, prices.left
    in_hand = np.arange(prices.cards.shape[1]) < prices.held[:, None]
    # What a card in hand is good for: while play goes on to be held, at the end to cost nothing.
    value = -penalties(rules) if left == 0 else _keep() * np.float32(left / rules.num_plays)
    values = np.where(in_hand, value[prices.cards], 0)
    kept = values.sum(axis=1, keepdims=True) - values
    worth: Floats = prices.points + (positions.scores + kept)[:, :, None].astype(np.float32)
    if left == 0:
        return worth
    hand = (prices.held - 1)[:, None, None].astype(np.float32) + prices.draws
    needed = np.minimum(hand, left)
    worth += np.float32(CARD_NEEDED) * needed + np.float32(CARD_SPARE) * (hand - needed)
    if left > 1:
        worth += np.float32(LAST_CARD) * (hand == 1)
    worth[hand == 0] = NOTHING
    return worth


def _most(worth: Floats, group: Ints, count: int) -> tuple[Ints, Ints, Ints]:
    """Of each group the ``count`` plays of most worth: position, slot of the card, slot of the cell."""
    n, hand, places = worth.shape
    _, first, sizes = np.unique(group, return_index=True, return_counts=True)
    number = np.repeat(np.arange(len(first)), sizes)
    dense = np.full((len(first), int(sizes.max()), hand * places), NOTHING)
    dense[number, np.arange(n) - first[number]] = worth.reshape(n, -1)
    dense = dense.reshape(len(first), -1)
    count = min(count, dense.shape[1])
    top = np.argpartition(dense, -count, axis=1)[:, -count:]
    top.sort(axis=1)
    groups, at = np.nonzero(np.take_along_axis(dense, top, axis=1) > NOTHING / 2)
    position, play = np.divmod(top[groups, at], hand * places)
    return first[groups] + position, *np.divmod(play, places)


def _first_of_each(group: Ints, marks: Ints, worth: Floats) -> Ints:
    """Which positions to keep so that none comes twice in a group: those of most worth, ascending."""
    order = np.lexsort((-worth, marks, group))
    new = np.ones(len(order), np.bool_)
    new[1:] = (group[order][1:] != group[order][:-1]) | (marks[order][1:] != marks[order][:-1])
    kept: Ints = np.sort(order[new])
    return kept


def _rank_within(group: Ints, worth: Floats) -> Ints:
    """Place of each position in its group by worth, from 0; ``group`` is ascending."""
    order = np.lexsort((-worth, group))
    _, first, sizes = np.unique(group, return_index=True, return_counts=True)
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order)) - np.repeat(first, sizes)
    return ranks


def _promise(positions: Batch) -> Floats:
    """What the lines promise that lack one card, float32 [n]."""
    rules = positions.rules
    tables = _gaps(rules)
    one, two, three = positions.board.T[tables.lines] + 1
    index = ((one.astype(np.int64) * tables.side + two) * tables.side + three).T
    bonus, wanted = tables.bonus.take(index), tables.wanted.take(index)
    held = positions.hands[:, 0]
    pile = ~held & ~np.bitwise_or.reduce(tables.bits[positions.board + 1], axis=1)
    hand, pile = (np.bitwise_count(cards[:, None] & tables.ranks) for cards in (held, pile))
    at = np.arange(len(index))[:, None]
    share = np.where(hand[at, wanted] > 0, np.float32(GAP_IN_HAND), np.float32(GAP_IN_PILE) * pile[at, wanted])
    promise: Floats = (bonus * share).sum(axis=1)
    return promise


class _Gaps(NamedTuple):
    """Three cells in line with two cards, and what a third card would complete."""

    lines: Ints
    """[3, lines]: the cells of every three in line."""
    side: int
    """Cards and `EMPTY`, which comes first: the length of each axis of the tables, flat."""
    bonus: Floats
    """[side ** 3]: what the missing card would score."""
    wanted: Ints
    """[side ** 3]: its rank."""
    ranks: Words
    """[ranks]: the cards of the deck that have each rank."""
    bits: Words
    """[side]: the bit of each card."""


@cache
def _gaps(rules: Rules) -> _Gaps:
    grid, cells = rules.grid, range(rules.num_cells)
    threes = [(cell, *grid.line(cell, line, (1, 2))) for cell in cells for line in range(rules.num_lines)]
    orders = [rank_order(card, rules.pawns) for card in range(rules.num_cards)]
    ranks = range(max(order for order in orders if order is not None) + 1)
    side = rules.num_cards + 1
    # By ranks first: few, and the same for all cards of a rank.
    missing = {}
    for at in range(3):
        for one in ranks:
            for two in ranks:
                bonuses = [line_bonus([*(one, two)[:at], rank, *(one, two)[at:]], at) for rank in ranks]
                missing[at, one, two] = max(bonuses), int(np.argmax(bonuses))
    bonus, wanted = np.zeros((side,) * 3, np.float32), np.zeros((side,) * 3, np.int64)
    for one, first in enumerate(orders):
        for two, second in enumerate(orders):
            if first is not None and second is not None and one != two:
                for at in range(3):
                    place = (*(one + 1, two + 1)[:at], EMPTY + 1, *(one + 1, two + 1)[at:])
                    bonus[place], wanted[place] = missing[at, first, second]
    return _Gaps(
        lines=np.array([three for three in threes if grid.off not in three]).T.copy(),
        side=side,
        bonus=bonus.reshape(-1),
        wanted=wanted.reshape(-1),
        ranks=np.array([sum(1 << card for card in rules.deck if orders[card] == rank) for rank in ranks], np.uint64),
        bits=np.array([0, *(1 << card for card in range(rules.num_cards))], np.uint64),
    )


@cache
def _keep() -> Floats:
    return np.array([KEEP[card.rank] for card in CARDS], np.float32)


@cache
def _marks() -> Ints:
    """[cards, cells]: random numbers whose sum tells positions apart."""
    return np.random.default_rng(0).integers(2**58, size=(len(CARDS), 16))
