"""Value of a card in a line of the spiral game.

The value of a card in a cell is the points that its play scores for the seat whose turn it is there. If the full square
is scored, it is the gain of the hand in this seat's line. The gain in the other seat's line through the cell is
subtracted.

The *first* line of a cell is the one along which the spiral comes to it, the *second* the one across. Whether they are
rows or columns does not change the points of a play. If the full square is scored, the first line belongs to the seat
whose turn it is.

The ranks of a line are a number in base 14, its suits one in base 5; 0 is a cell without a card. Scores by rank do not
depend on the order of the ranks. The last axis is the longest: NumPy is fastest along it.

Axes: n positions, m cards, U multisets of ranks in a line.
"""

from functools import cache
from itertools import combinations_with_replacement
from itertools import product as cartesian_product
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from quincunx_agents.afterstates import Bools, Feature, Floats, Ints, num_features, write_features
from quincunx_env.core.cards import EMPTY
from quincunx_env.spiral import scoring
from quincunx_env.spiral.cards import RANKS, SUITS
from quincunx_env.spiral.rules import COLUMNS, ROWS, SIDE, SPIRAL, Rules

Bytes = npt.NDArray[np.int8]

NUM_LINES = len(ROWS) + len(COLUMNS)

BEYOND = 8
"""Cells after the last one that callers may index; the last one stands for them."""


# --- Points by line --------------------------------------------------------------------------------------------------


class _Ranks(NamedTuple):
    """Every multiset of the ranks in a line, U in all."""

    counts: Bytes
    """[13, U]: cards of each rank."""
    present: Bools
    """[13, U]: ranks of which there is a card."""


RANK_FEATURES: tuple[Feature[_Ranks], ...] = (
    Feature("cards", 4, lambda s: s.counts.sum(axis=0), "cards"),
    Feature("kinds", 1, lambda s: (s.counts >= 2).sum(axis=0), "ranks of two cards or more"),
    Feature("neighbours", 2, lambda s: (s.present[1:] & s.present[:-1]).sum(axis=0), "pairs of adjacent ranks"),
    Feature("gaps", 2, lambda s: (s.present[2:] & s.present[:-2]).sum(axis=0), "pairs of ranks with one between"),
)
"""Features of a line by its ranks."""

NUM_LINE_FEATURES = num_features(RANK_FEATURES) + 1
"""The features by rank, and the number of touching pairs of one suit."""


class LineTables(NamedTuple):
    """Values by the ranks or suits of a line, from tables. They depend on the options of the game."""

    multiset: npt.NDArray[np.int16]
    """[14**5]: number of the multiset, by ranks in base 14."""
    by_rank: Bytes
    """[13, U]: value of one more card in kinds, runs and fifteens, by its rank."""
    by_suit: Bytes
    """[4, 5**5, 5]: value of one more card in flushes, by its suit and its place."""
    hand: Bytes
    """[U]: points of the ranks as a hand of cards, if the full square is scored."""
    flush: Bytes
    """[5**5]: points of the suits as a hand."""
    near: Bytes
    """[13, U]: for each card of the line, 2 if it has the rank; also 2 for an adjacent rank, 1 for a rank two away."""
    features: Floats
    """[num_features(RANK_FEATURES), U]."""
    touching: Floats
    """[5**5]: pairs of touching cards of one suit."""


@cache
def line_tables(at_end: bool, fifteens: bool) -> LineTables:
    """Return the tables of a variant. ``at_end``: the full square is scored; ``fifteens``: fifteens score."""
    base = len(RANKS) + 1
    powers = base ** np.arange(SIDE)
    lines = np.array(list(combinations_with_replacement(range(base), SIDE))).T
    digits = np.sort(np.indices((base,) * SIDE, np.int8).reshape(SIDE, -1), axis=0)[::-1]
    codes = powers @ lines[::-1]
    order = np.argsort(codes)
    multiset = order[np.searchsorted(codes, powers @ digits, sorter=order)].astype(np.int16)
    counts = (lines[:, None] == np.arange(1, base)[:, None]).sum(axis=0, dtype=np.int8)
    present = counts > 0

    # One more card; a full line takes none, and may stand for itself.
    grown = multiset[codes - powers[SIDE - 1] * lines[0] + powers[SIDE - 1] * np.arange(1, base)[:, None]]
    fifteen = np.int8(scoring.FIFTEEN_POINTS) * _fifteens(lines) * np.int8(fifteens)
    hand = np.array([*scoring.KINDS, 0], np.int8)[counts].sum(axis=0, dtype=np.int8) + _longest_run(counts) + fifteen
    by_rank = hand[grown] - hand if at_end else _play_by_rank(counts, present) + fifteen[grown] - fifteen

    near = 2 * counts
    for apart, weight in ((1, 2), (2, 1)):
        near[apart:] += np.int8(weight) * present[:-apart]
        near[:-apart] += np.int8(weight) * present[apart:]
    features = np.empty((num_features(RANK_FEATURES), len(hand)), np.float32)
    write_features(RANK_FEATURES, _Ranks(counts, present), features, axis=0)
    by_suit, flush, touching = _suit_tables(at_end)
    return LineTables(multiset, by_rank, by_suit, hand, flush, near, features, touching)


def _play_by_rank(counts: Bytes, present: Bools) -> Bytes:
    """Return points for kinds and run of one more card, [13, U].

    The first axis is its rank.

    A run is the card itself with the unbroken runs on either side of it. Their lengths add up, and the numbers of cards
    of each rank are multiplied (R12).
    """
    length, product = np.ones_like(counts), counts + np.int8(1)
    for order in (range(len(RANKS) - 1), range(len(RANKS) - 1, 0, -1)):
        reach, times = np.zeros_like(counts[0]), np.ones_like(counts[0])
        for at in order:
            reach = (reach + np.int8(1)) * present[at]
            times = np.where(present[at], times * counts[at], np.int8(1))
            length[at + order.step] += reach
            product[at + order.step] *= times
    # A full line takes no more cards, and four of a kind no fifth.
    kinds = np.array([*scoring.KINDS[1:], 0, 0], np.int8)
    points: Bytes = kinds[counts] + length * product * (length >= scoring.LEAST_RUN)
    return points


def _longest_run(counts: Bytes) -> Bytes:
    """Return points for the run in each multiset, [U]. The whole of a run scores more than any part of it."""
    points: Bytes = np.zeros_like(counts[0])
    for length in range(scoring.LEAST_RUN, SIDE + 1):
        for lowest in range(len(RANKS) - length + 1):
            run = counts[lowest : lowest + length].prod(axis=0, dtype=np.int8)
            np.maximum(points, np.int8(length) * run, out=points)
    return points


def _fifteens(lines: Ints) -> Bytes:
    """Count the sets of cards that add up to 15, [U]. ``lines`` holds ranks + 1, [5, U]."""
    values = np.where(lines > 0, np.minimum(lines, 10), scoring.FIFTEEN + 1)
    members = np.array(list(cartesian_product((0, 1), repeat=SIDE)))
    sets: Bytes = (members @ values == scoring.FIFTEEN).sum(axis=0, dtype=np.int8)
    return sets


def _suit_tables(at_end: bool) -> tuple[Bytes, Bytes, Floats]:
    """Return `LineTables.by_suit`, `LineTables.flush` and `LineTables.touching`."""
    base = len(SUITS) + 1
    powers = base ** np.arange(SIDE)
    codes = np.arange(base**SIDE)
    suits = codes // powers[:, None] % base
    run = (suits > 0).astype(np.int8)
    longest = run.copy()  # touching cards of one suit up to each place
    for place in range(1, SIDE):
        longest[place] += longest[place - 1] * (suits[place] == suits[place - 1]) * run[place]
    flush = longest.max(axis=0)
    flush *= flush >= scoring.LEAST_FLUSH
    by_suit = np.zeros((len(SUITS), base**SIDE, SIDE), np.int8)
    for suit in range(len(SUITS)):
        for place in range(SIDE):
            if at_end:
                by_suit[suit, :, place] = flush[codes + (suit + 1 - suits[place]) * powers[place]] - flush
                continue
            size = np.ones_like(flush)
            for side in (range(place - 1, -1, -1), range(place + 1, SIDE)):
                unbroken = np.ones_like(flush)
                for at in side:
                    unbroken *= suits[at] == suit + 1
                    size += unbroken
            by_suit[suit, :, place] = size * (size >= scoring.LEAST_FLUSH)
    pairs = (suits[1:] == suits[:-1]) & (suits[1:] > 0)
    return by_suit, flush, (pairs.sum(axis=0) / 2).astype(np.float32)


# --- Cells -----------------------------------------------------------------------------------------------------------


class Spiral(NamedTuple):
    """Lines and places of the cells by ply, the cards played before. The last cell stands for the ones after it."""

    lines: Ints
    """[PLAYS + 1 + BEYOND, 2]: the first and the second line, rows counted first, then columns."""
    places: Ints
    """[PLAYS + 1 + BEYOND, 2]: place of the cell in these lines."""
    cells: Ints
    """[NUM_LINES, 5]: the cells of each line."""


@cache
def spiral(at_end: bool) -> Spiral:
    """Return lines and places of the cells. ``at_end`` is whether the full square is scored."""
    along = (*SPIRAL[1:], *[SPIRAL[-1]] * (BEYOND + 1))
    lines, places = [], []
    for ply, (cell, before) in enumerate(zip(along, (SPIRAL[0], *along), strict=False)):
        row, column = divmod(cell, SIDE)
        both = (row, column), (SIDE + column, row)
        # The non-dealer, who makes the first play and every other one, has the rows.
        row_first = ply % 2 == 0 if at_end else before // SIDE == row
        first, second = both if row_first else both[::-1]
        lines.append((first[0], second[0]))
        places.append((first[1], second[1]))
    return Spiral(*map(np.array, (lines, places, [*ROWS, *COLUMNS])))


def line_codes(cards: Bytes) -> tuple[Ints, Ints]:
    """Return the ranks and suits of lines as numbers, int64 [...]. Lines are given as their cards, int8 [5, ...]."""
    there = cards != EMPTY
    ranks, suits = (there * (each + 1) for each in (cards % len(RANKS), cards // len(RANKS)))
    rank_codes, suit_codes = np.zeros((2, *cards.shape[1:]), dtype=np.int64)
    for place in reversed(range(SIDE)):
        rank_codes = rank_codes * (len(RANKS) + 1) + ranks[place]
        suit_codes = suit_codes * (len(SUITS) + 1) + suits[place]
    return rank_codes, suit_codes


def card_values(rules: Rules, boards: Bytes, ply: Ints, rows: Ints, cards: Ints) -> Ints:
    """Return values of cards to the seats to move, int64 [m].

    ``boards`` are int8 [n, 25], ``ply`` int64 [n], less than `PLAYS`; ``rows``, the game of each card, and ``cards``
    int64 [m].
    """
    at_end = rules.scoring == "end"
    cells, tables = spiral(at_end), line_tables(at_end, rules.fifteens)
    places = cells.cells[cells.lines[ply]] + (np.arange(len(boards)) * boards.shape[1])[:, None, None]
    rank_codes, suit_codes = line_codes(boards.reshape(-1).take(places).transpose(2, 1, 0))
    by_rank = cards % len(RANKS) * tables.by_rank.shape[1] + tables.multiset[rank_codes][:, rows]
    by_suit = cards // len(RANKS) * tables.by_suit[0].size + (suit_codes * SIDE + cells.places[ply].T)[:, rows]
    first, second = tables.by_rank.take(by_rank).astype(np.int64) + tables.by_suit.take(by_suit)
    points: Ints = first - second if at_end else first + second
    return points
