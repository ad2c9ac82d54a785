"""Beam search of determinized solitaires, in many games side by side.

In every game the search expands the ``width`` most promising positions by all actions. It keeps the best again until
the grid is full. Positions are ranked by their points, a value of the hand, and a share of the bonuses of lines that
lack one card. The search uses the pile: call it with determinized games (`quincunx_env.core.resample`), never with the
true one.

`quincunx_env.oracle.beam` is the wide search of single games that gives oracle scores. This one is narrow, and fast in
hundreds of games at once.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from quincunx_agents.afterstates import Floats, Ints
from quincunx_agents.quincunx.rollout_policy import ILLEGAL, ImmediateScores, immediate_scores, penalties, step
from quincunx_env.core.arrays import Words
from quincunx_env.core.cards import EMPTY
from quincunx_env.quincunx.batch import Batch
from quincunx_env.quincunx.cards import CARDS
from quincunx_env.quincunx.rules import Rules
from quincunx_env.quincunx.scoring import line_bonus, rank_order

# Constants of the ranking. No record is kept of how they were chosen.

CARD_NEEDED = 13.0
"""Value of a card in hand while there are plays left for it, in points."""

CARD_SPARE = 4.3
"""Value of every further card."""

LAST_CARD = -9.0
"""Added when a single card is left for more than one play."""

KEEP = dict(zip("A23456789CPX", (-1.9, -1.1, 0.1, -2.1, -3.3, -0.1, 0.9, 2.5, 0.1, 3.3, 0.0, 0.0), strict=True))
"""Value of a card of each rank in hand beside the mean of all ranks, at the beginning of a round."""

GAP_IN_HAND, GAP_IN_PILE = 0.4, 0.04
"""Shares of the bonus that are counted for a line that lacks one card. The second one, for each such card in the pile,
counts if the hand has none."""

EXPANSION = 3
"""Multiple of ``width``: number of positions for which lines that lack one card are computed. Not tuned."""


def beam_search(games: Batch, width: int, lost_value: float = 0.0) -> npt.NDArray[np.float64]:
    """Return the points of the best line found in each game, float64 [B].

    Args:
        games: solitaires at the same stage.
        width: positions of each game that are kept.
        lost_value: result of a game of which all lines found lose.
    """
    rules = games.rules
    best = np.where(games.over & ~games.lost, games.scores[:, 0], -np.inf)
    group = np.flatnonzero(~games.over)
    positions = games.fork(group)
    # Zobrist hashing: positions with the same cards in the same cells are one, whatever the order of play.
    hashes = np.zeros(len(group), np.int64)
    while len(group):
        scores = immediate_scores(positions)
        values = _action_values(positions, scores)
        source, slot, cell_slot = _top_actions(values, group, EXPANSION * width)
        cards, cells = scores.cards[source, slot], scores.cells[source, cell_slot]
        values, group = values[source, slot, cell_slot], group[source]
        hashes = hashes[source] + _zobrist_table()[cards, cells]
        # The number of cards drawn distinguishes positions too: the last draws may be lost.
        drawn = positions.drawn[source] + scores.draws[source, slot, cell_slot].astype(np.int64)
        kept = _without_duplicates(group, hashes + drawn, values)
        positions = positions.fork(source[kept])
        group, hashes, values = group[kept], hashes[kept], values[kept]
        step(positions, cards[kept] * rules.num_cells + cells[kept])
        if scores.left == 0:
            np.maximum.at(best, group, positions.scores[:, 0])
            break
        values += _line_potential(positions)
        kept = np.flatnonzero(_rank_in_group(group, values) < width)
        positions, group, hashes = positions.fork(kept), group[kept], hashes[kept]
    return np.where(np.isneginf(best), lost_value, best)


def _action_values(positions: Batch, scores: ImmediateScores) -> Floats:
    """Return points and value of the rest of the hand, float32 [n, H, E]. They are values after every action."""
    rules, left = positions.rules, scores.left
    in_hand = np.arange(scores.cards.shape[1]) < scores.held[:, None]
    # Before the last play cards in hand have the value `KEEP`, then their penalty.
    card_values = -penalties(rules) if left == 0 else _keep() * np.float32(left / rules.num_plays)
    in_slots = np.where(in_hand, card_values[scores.cards], 0)
    kept = in_slots.sum(axis=1, keepdims=True) - in_slots
    values: Floats = scores.points + (positions.scores + kept)[:, :, None].astype(np.float32)
    if left == 0:
        return values
    hand = (scores.held - 1)[:, None, None].astype(np.float32) + scores.draws
    needed = np.minimum(hand, left)
    values += np.float32(CARD_NEEDED) * needed + np.float32(CARD_SPARE) * (hand - needed)
    if left > 1:
        values += np.float32(LAST_CARD) * (hand == 1)
    values[hand == 0] = ILLEGAL
    return values


def _top_actions(values: Floats, group: Ints, count: int) -> tuple[Ints, Ints, Ints]:
    """Return the ``count`` actions of the highest values in each group.

    They are position, slot of the card, slot of the cell.
    """
    n, hand, places = values.shape
    _, first, sizes = np.unique(group, return_index=True, return_counts=True)
    number = np.repeat(np.arange(len(first)), sizes)
    dense = np.full((len(first), int(sizes.max()), hand * places), ILLEGAL)
    dense[number, np.arange(n) - first[number]] = values.reshape(n, -1)
    dense = dense.reshape(len(first), -1)
    count = min(count, dense.shape[1])
    top = np.argpartition(dense, -count, axis=1)[:, -count:]
    top.sort(axis=1)
    groups, at = np.nonzero(np.take_along_axis(dense, top, axis=1) > ILLEGAL / 2)
    position, play = np.divmod(top[groups, at], hand * places)
    return first[groups] + position, *np.divmod(play, places)


def _without_duplicates(group: Ints, hashes: Ints, values: Floats) -> Ints:
    """Return the best position for each hash in a group. The result is indices of positions, ascending."""
    order = np.lexsort((-values, hashes, group))
    new = np.ones(len(order), np.bool_)
    new[1:] = (group[order][1:] != group[order][:-1]) | (hashes[order][1:] != hashes[order][:-1])
    kept: Ints = np.sort(order[new])
    return kept


def _rank_in_group(group: Ints, values: Floats) -> Ints:
    """Rank each position in its group by value, from 0. ``group`` is ascending."""
    order = np.lexsort((-values, group))
    _, first, sizes = np.unique(group, return_index=True, return_counts=True)
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order)) - np.repeat(first, sizes)
    return ranks


def _line_potential(positions: Batch) -> Floats:
    """Sum shares of the bonuses of lines that lack one card, float32 [n]."""
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
    potential: Floats = (bonus * share).sum(axis=1)
    return potential


class _Gaps(NamedTuple):
    """Three cells in line with two cards, and the third's bonus."""

    lines: Ints
    """[3, lines]: the cells of all threes in line."""
    side: int
    """Cards and `EMPTY`, which comes first: the length of each axis of the tables, flat."""
    bonus: Floats
    """[side ** 3]: bonus for the missing card."""
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
    orders = [rank_order(card, rules.ranks) for card in range(rules.num_cards)]
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
def _zobrist_table() -> Ints:
    """Return random numbers whose sum is the hash of a position, int64 [cards, cells]."""
    return np.random.default_rng(0).integers(2**58, size=(len(CARDS), 16))
