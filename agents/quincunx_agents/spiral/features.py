"""Afterstate features of the spiral game as a list of named features, in three parts.

The cells of the spiral are taken in a known order, by the two seats in turn.

- The set of the next cells: the points that each offers to the cards kept, and to the opponent, of whose hand nothing
  is known but that it was drawn from the unseen cards.
- The set of the cards kept: their points in these cells, and the kept and unseen cards of ranks near their own.
- The context: the stage of the deal and relations between the cards kept.

Points take the lines as they are in the afterstate, as if each card came next. A line is a cell's *way*, along which
the spiral comes to it, or the one *across*: whether they are rows or columns does not change the points of a play, if
plays score at once. Scoring of the full square is not supported.

Scales are not tuned: they bring usual values to the order of 1.
"""

from functools import cache
from math import comb
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from quincunx_agents import ties
from quincunx_agents.afterstates import (
    SEATS,
    AfterstateFeatures,
    Afterstates,
    Bools,
    Feature,
    FeatureLayout,
    Floats,
    Ints,
    num_features,
    observer_for,
    write_features,
)
from quincunx_agents.spiral.heuristic import action_values
from quincunx_env.core.cards import EMPTY
from quincunx_env.core.observation import Pieces
from quincunx_env.spiral import scoring
from quincunx_env.spiral.cards import CARDS, RANKS, SUITS
from quincunx_env.spiral.rules import COLUMNS, HAND, PLAYS, ROWS, SIDE, SPIRAL, Rules

Bytes = npt.NDArray[np.int8]

NEXT_CELLS = 8
"""Number of next cells with features. Not tuned."""

MOST_KEPT = HAND - 1
"""The most cards kept: those after the first play."""

LEVELS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 20, 24)
"""Points by which the opponent's best card is classified: the expected level it reaches is a feature. Not tuned."""

SHOWN_LEVELS = (1, 4, 7, 9, 12)
"""Indices of `LEVELS` of which the probability is a feature of its own. Not tuned."""

NO_CARD = np.int8(-1)
"""Points of a card that is not there."""

CHUNK_SIZE = 512
"""Afterstates whose features are computed at once: few enough to stay in the processor's cache."""

NUM_LINES = len(ROWS) + len(COLUMNS)


# --- Inputs of the features ------------------------------------------------------------------------------------------
#
# Actions are the last axis of all arrays: it is the longest, and NumPy is fastest along it. Several features of one
# kind are the first axis.


class _Tables(NamedTuple):
    """By ply, the cards played before a cell is taken, and one more; the last cell stands for those after it."""

    lines: Ints
    """[PLAYS + 1 + NEXT_CELLS, 2]: the way and the line across, rows counted first, then columns."""
    places: Ints
    """[PLAYS + 1 + NEXT_CELLS, 2]: place of the cell in these lines."""
    cells: Ints
    """[lines, 5]: the cells of each line."""
    missed: Floats
    """[held, cards]: probability that the opponent, who holds ``held`` cards, has none of ``cards`` unseen ones."""


@cache
def _tables() -> _Tables:
    along = (*SPIRAL, *[SPIRAL[-1]] * NEXT_CELLS)
    lines, places = [], []
    for cell, before in zip(along, (along[0], *along[:-1]), strict=True):
        row, column = divmod(cell, SIDE)
        both = (row, column), (SIDE + column, row)
        way, across = both if before // SIDE == row else both[::-1]
        lines.append((way[0], across[0]))
        places.append((way[1], across[1]))
    face_down = len(CARDS) - 1 - 2 * HAND
    missed = [
        [comb(max(face_down + held - cards, 0), held) / comb(face_down + held, held) for cards in range(len(CARDS) + 1)]
        for held in range(HAND + 1)
    ]
    return _Tables(np.array(lines), np.array(places), np.array([*ROWS, *COLUMNS]), np.array(missed, np.float32))


class _Lines(NamedTuple):
    """Points that L lines offer to one more card, and their features."""

    by_rank: Bytes
    """[13, L]: points for kinds and runs, by the rank of the card."""
    flush: Bytes
    """[5, 4, L]: points for the flush, by its place in the line and its suit."""
    near: Bytes
    """[13, L]: 2 for each card of a rank, 2 if a rank next to it lies in the line, 1 if one but one does."""
    features: Floats
    """[num_features(LINE_FEATURES), L]."""


class _LineInputs(NamedTuple):
    """Arrays from which the features of L lines are computed."""

    there: Bools
    """[5, L]: which places hold a card."""
    suit: Bytes
    """[5, L]."""
    counts: Bytes
    """[13, L]: cards of each rank."""
    present: Bools
    """[13, L]: ranks of which there is a card."""


LINE_FEATURES: tuple[Feature[_LineInputs], ...] = (
    Feature("cards", 4, lambda s: s.there.sum(axis=0), "cards"),
    Feature("kinds", 1, lambda s: (s.counts >= 2).sum(axis=0), "ranks of two cards or more"),
    Feature("neighbours", 2, lambda s: (s.present[1:] & s.present[:-1]).sum(axis=0), "pairs of adjacent ranks"),
    Feature("gaps", 2, lambda s: (s.present[2:] & s.present[:-2]).sum(axis=0), "pairs of ranks with one between"),
    Feature(
        "same_suit", 2, lambda s: ((s.suit[1:] == s.suit[:-1]) & s.there[1:]).sum(axis=0), "adjacent cards of one suit"
    ),
)
"""Features of a line, [L] each."""


def _read_lines(cards: Bytes) -> _Lines:
    """Points and features of lines, given as their cards, int8 [5, L]."""
    size = cards.shape[1]
    there = cards != EMPTY
    rank = np.where(there, cards % len(RANKS), EMPTY).astype(np.int8)
    suit = np.where(there, cards // len(RANKS), EMPTY).astype(np.int8)
    every_rank = np.arange(len(RANKS), dtype=np.int8)[:, None]
    every_suit = np.arange(len(SUITS), dtype=np.int8)[:, None]
    counts = np.zeros((len(RANKS), size), np.int8)
    for place in range(SIDE):
        counts += rank[place] == every_rank
    present = counts > 0

    # A run is the card itself with the unbroken runs on either side of it: their lengths add up, and the numbers of
    # cards of each rank are multiplied (R12).
    length, product = np.ones_like(counts), counts + np.int8(1)
    for order in (range(len(RANKS) - 1), range(len(RANKS) - 1, 0, -1)):
        reach, times = np.zeros(size, np.int8), np.ones(size, np.int8)
        for at in order:
            reach = (reach + np.int8(1)) * present[at]
            times = np.where(present[at], times * counts[at], np.int8(1))
            length[at + order.step] += reach
            product[at + order.step] *= times
    # A full line takes no more cards, and four of a kind no fifth.
    kinds = np.array([*scoring.KINDS[1:], 0, 0], np.int8)
    by_rank = kinds[counts] + length * product * (length >= scoring.LEAST_RUN)

    flush = np.ones((SIDE, len(SUITS), size), np.int8)
    for order in (range(SIDE - 1), range(SIDE - 1, 0, -1)):
        touching = np.zeros((len(SUITS), size), np.int8)
        for at in order:
            touching = (touching + np.int8(1)) * (suit[at] == every_suit)
            flush[at + order.step] += touching
    flush *= flush >= scoring.LEAST_FLUSH

    near = 2 * counts
    for apart, weight in ((1, 2), (2, 1)):
        near[apart:] += np.int8(weight) * present[:-apart]
        near[:-apart] += np.int8(weight) * present[apart:]
    features = np.empty((num_features(LINE_FEATURES), size), np.float32)
    write_features(LINE_FEATURES, _LineInputs(there, suit, counts, present), features, axis=0)
    return _Lines(by_rank, flush, near, features)


class _Inputs(NamedTuple):
    """Arrays from which the features of m afterstates are computed."""

    # Of the next cells, and of all cards in them.
    there: Bools
    """[NEXT_CELLS, m]: False after the last cell of the spiral."""
    own: Bytes
    """[MOST_KEPT, NEXT_CELLS, m]: points of the cards kept, `NO_CARD` in empty slots."""
    in_turn: Bytes
    """[NEXT_CELLS, m]: points of the cards kept if each own cell takes the best card that earlier ones left."""
    reached: Floats
    """[LEVELS, NEXT_CELLS, m]: probability that the opponent's best card reaches each level."""
    average: npt.NDArray[np.float64]
    """[NEXT_CELLS, m]: mean points of the unseen cards."""
    flushes: Bytes
    """[suits, NEXT_CELLS, m]: points for flushes by suit."""
    ranks: Bytes
    """[ranks, NEXT_CELLS, m]: points for kinds and runs by rank."""
    lines: _Lines
    way: Ints
    """[NEXT_CELLS, m]: the line along which the spiral comes to each cell."""
    across: Ints
    """[NEXT_CELLS, m]: the other line."""
    # Of the cards kept, in slots.
    filled: Bools
    """[MOST_KEPT, m]: which slots hold a card."""
    rank: Ints
    """[MOST_KEPT, m]."""
    suit: Ints
    """[MOST_KEPT, m]."""
    of_rank: Ints
    """[ranks, m]: number of cards kept."""
    of_suit: Ints
    """[suits, m]."""
    unseen_of_rank: Ints
    """[ranks, m]: number of unseen cards."""
    # Of the position.
    ply: Ints
    """[m]: cards played, the action's included."""


# --- The features ----------------------------------------------------------------------------------------------------

CELL_FEATURES: tuple[Feature[_Inputs], ...] = (
    Feature("there", 1, lambda s: s.there, "1 for a cell, 0 for padding"),
    Feature(
        "place",
        1,
        lambda s: np.broadcast_to(np.eye(NEXT_CELLS)[:, :, None], (NEXT_CELLS, *s.there.shape)),
        "place among the next cells, one-hot",
        NEXT_CELLS,
    ),
    Feature("best", np.float32(15), lambda s: -np.sort(-s.own, axis=0)[:3], "points of the three best cards kept", 3),
    Feature("in_turn", np.float32(15), lambda s: s.in_turn, "points of the best card that earlier own cells left"),
    Feature(
        "expected_level",
        15,
        lambda s: np.tensordot(np.diff((0, *LEVELS)).astype(np.float32), s.reached, axes=1),
        "expected level of the opponent's best card",
    ),
    Feature("average", 5, lambda s: s.average, "mean points of the unseen cards"),
    Feature(
        "reached",
        1,
        lambda s: s.reached[list(SHOWN_LEVELS)],
        "probability that the opponent's best card reaches each of `SHOWN_LEVELS`",
        len(SHOWN_LEVELS),
    ),
    Feature("flush", np.float32(5), lambda s: s.flushes.max(axis=0), "most points for flushes"),
    Feature("ranks", np.float32(15), lambda s: s.ranks.max(axis=0), "most points for kinds and runs"),
    Feature(
        "way",
        1,
        lambda s: s.lines.features.take(s.way, axis=1),
        "`LINE_FEATURES` of the way",
        num_features(LINE_FEATURES),
    ),
    Feature(
        "across",
        1,
        lambda s: s.lines.features.take(s.across, axis=1),
        "`LINE_FEATURES` of the line across",
        num_features(LINE_FEATURES),
    ),
)
"""Features of the next cells, [NEXT_CELLS, m] each."""

CARD_FEATURES: tuple[Feature[_Inputs], ...] = (
    Feature("filled", 1, lambda s: s.filled, "1 for a card, 0 for padding"),
    Feature(
        "points",
        np.float32(10),
        lambda s: (s.own * s.there).transpose(1, 0, 2),
        "points in each of the next cells",
        NEXT_CELLS,
    ),
    Feature(
        "near",
        np.float32(4),
        lambda s: np.stack(
            [s.lines.near[s.rank, line[number]] for line in (s.way, s.across) for number in range(1, NEXT_CELLS, 2)]
        ),
        "nearness of the ranks in the lines of the next own cells",
        NEXT_CELLS,
    ),
    Feature(
        "kept_around", 1, lambda s: _around(s.of_rank, s.rank), "cards kept of the rank, next to it, one but one", 3
    ),
    Feature("kept_suit", 4, lambda s: s.of_suit[s.suit, np.arange(len(s.ply))], "cards kept of the suit"),
    Feature("unseen_around", 1, lambda s: _around(s.unseen_of_rank, s.rank), "the same of the unseen cards", 3),
)
"""Features of the cards kept, [MOST_KEPT, m] each."""

CONTEXT_FEATURES: tuple[Feature[_Inputs], ...] = (
    Feature("ply", 1, lambda s: np.arange(1, PLAYS + 1)[:, None] == s.ply, "cards played, one-hot", PLAYS),
    Feature("size", 12, lambda s: s.filled.sum(axis=0), "cards kept"),
    Feature("pairs", 3, lambda s: (s.of_rank == 2).sum(axis=0), "ranks of two cards"),
    Feature("triples", 1, lambda s: (s.of_rank >= 3).sum(axis=0), "ranks of three cards or more"),
    Feature("neighbours", 5, lambda s: (s.of_rank[1:] * s.of_rank[:-1]).sum(axis=0), "pairs of adjacent ranks"),
    Feature("gaps", 5, lambda s: (s.of_rank[2:] * s.of_rank[:-2]).sum(axis=0), "pairs of ranks with one between"),
    Feature("longest_suit", 5, lambda s: s.of_suit.max(axis=0), "cards of the longest suit"),
    Feature("voids", 1, lambda s: (s.of_suit == 0).sum(axis=0), "suits without a card"),
    Feature("in_turn", 30, lambda s: s.in_turn.sum(axis=0), "points in the next own cells, each taking the best card"),
)
"""Features of the position as a whole, [m] each."""

LAYOUT = FeatureLayout(
    sets=((NEXT_CELLS, num_features(CELL_FEATURES)), (MOST_KEPT, num_features(CARD_FEATURES))),
    context=num_features(CONTEXT_FEATURES),
)
"""Two sets, the next cells in their order and the cards kept, and the context."""

LAYOUTS = (LAYOUT,)
"""What networks may read."""


def layout(card_set: bool, replies: bool) -> FeatureLayout:
    """The newest layout: both are always described here."""
    return LAYOUTS[-1]


# --- Afterstates -----------------------------------------------------------------------------------------------------


def afterstates_of(
    rules: Rules,
    observation: Pieces,
    mask: Bools,
    use_known_values: bool = True,
    layout: FeatureLayout = LAYOUT,
) -> Afterstates:
    """The afterstates of all legal actions; implements `quincunx_agents.afterstates.FeatureModule`.

    Raises:
        ValueError: if the full square is scored.
    """
    if rules.scoring != "play":
        raise ValueError(f"these features are for scoring 'play', got {rules.scoring!r}")
    rows, actions = mask.nonzero()
    ply = observer_for(rules).named_counts(observation)["ply"].astype(np.int64)
    known_values = np.full((len(rows), SEATS), np.nan, np.float32)
    if use_known_values:
        known_values[ply[rows] == PLAYS - 1] = 0
    points = observation["preview"][rows, actions, 0].astype(np.float32)
    unknown, chunks = np.flatnonzero(np.isnan(known_values[:, 0])), []
    for start in range(0, len(unknown), CHUNK_SIZE):
        at = unknown[start : start + CHUNK_SIZE]
        first = rows[at[0]]
        games = slice(first, rows[at[-1]] + 1)
        board, hand = observation["board"][games].astype(np.int8, copy=False), observation["hand"][games] > 0
        chunks.append((at, _features(board, hand, ply[games], rows[at] - first, actions[at])))
    return Afterstates(rows, actions, points, known_values, tuple(chunks))


def shortlist(rules: Rules, observation: Pieces, mask: Bools, count: int) -> Bools:
    """The ``count`` cards that the heuristic prefers; implements `quincunx_agents.afterstates.FeatureModule`."""
    if not count:
        return mask
    return ties.highest(action_values(rules, observation, mask), count) & mask


def _features(board: Bytes, hand: Bools, ply: Ints, rows: Ints, actions: Ints) -> AfterstateFeatures:
    """Compute the features of m afterstates.

    Args:
        board: int8 [n, 25].
        hand: bool [n, 52].
        ply: int64 [n].
        rows: int64 [m], the position of each action.
        actions: int64 [m].
    """
    tables, m = _tables(), len(rows)
    each, ahead = np.arange(m), np.arange(NEXT_CELLS)[:, None]
    every_suit = np.arange(len(SUITS))[:, None, None]
    ply = ply[rows] + 1  # cards played, the action's included

    # The lines of each position, and then the two that each action changes.
    before = board[:, tables.cells].transpose(2, 0, 1).reshape(SIDE, -1)
    changed = before[:, rows[:, None] * NUM_LINES + tables.lines[ply]]
    for side in range(2):
        changed[tables.places[ply, side], each, side] = actions
    lines = _read_lines(np.concatenate([before, changed.reshape(SIDE, -1)], axis=1))

    # Points of every card in every cell.
    there = ply + ahead < PLAYS
    at = rows[:, None] * NUM_LINES + tables.lines[ply + 1 + ahead]
    for side in range(2):
        same = tables.lines[ply + 1 + ahead] == tables.lines[ply, side][:, None]
        at = np.where(same, before.shape[1] + 2 * each[:, None] + side, at)
    way, across = at[..., 0], at[..., 1]
    places = tables.places[ply + 1 + ahead]
    ranks = lines.by_rank.take(way, axis=1) + lines.by_rank.take(across, axis=1)
    flushes = lines.flush[places[..., 0], every_suit, way] + lines.flush[places[..., 1], every_suit, across]
    points = (flushes[:, None] + ranks).reshape(len(CARDS), NEXT_CELLS, m)

    kept = hand[rows].T
    kept[actions, each] = False
    seen = np.zeros((len(board), len(CARDS) + 1), np.bool_)  # EMPTY is the extra, last column
    np.put_along_axis(seen, board.astype(np.int64), True, axis=1)
    unseen = (~seen[:, :-1] & ~hand).T[:, rows]

    # The cards kept, in slots.
    slots = np.argsort(~kept.T, axis=1, kind="stable")[:, :MOST_KEPT].T
    filled = np.arange(MOST_KEPT)[:, None] < kept.sum(axis=0)
    own = np.where(filled[:, None], points[slots[:, None], ahead, each], NO_CARD)

    # The opponent's best card.
    held = HAND - ply // 2
    theirs = np.where(unseen[:, None], points, NO_CARD)
    reached = np.empty((len(LEVELS), NEXT_CELLS, m), np.float32)
    for number, level in enumerate(LEVELS):
        reached[number] = 1 - tables.missed[held, (theirs >= level).sum(axis=0, dtype=np.int8)]

    by_suit = kept.reshape(len(SUITS), len(RANKS), m)
    inputs = _Inputs(
        there=there,
        own=own,
        in_turn=_in_turn(own, filled),
        reached=reached,
        average=np.where(unseen[:, None], points, np.int8(0)).sum(axis=0, dtype=np.int16) / unseen.sum(axis=0),
        flushes=flushes,
        ranks=ranks,
        lines=lines,
        way=way,
        across=across,
        filled=filled,
        rank=slots % len(RANKS),
        suit=slots // len(RANKS),
        of_rank=by_suit.sum(axis=0),
        of_suit=by_suit.sum(axis=1),
        unseen_of_rank=unseen.reshape(by_suit.shape).sum(axis=0),
        ply=ply,
    )
    cells, cards = (np.empty((m, most, features), np.float32) for most, features in LAYOUT.sets)
    context = np.empty((m, LAYOUT.context), np.float32)
    write_features(CELL_FEATURES, inputs, cells.T, axis=0)
    write_features(CARD_FEATURES, inputs, cards.T, axis=0)
    write_features(CONTEXT_FEATURES, inputs, context.T, axis=0)
    cells *= there.T[:, :, None]
    cards *= filled.T[:, :, None]
    return AfterstateFeatures((cells, cards), context)


def _in_turn(own: Bytes, filled: Bools) -> Bytes:
    """Points in the own cells if each takes the best card that the cells before it have left, int8 [NEXT_CELLS, m].

    Args:
        own: [MOST_KEPT, NEXT_CELLS, m], points of each card in each cell.
        filled: [MOST_KEPT, m], which slots hold a card.
    """
    each = np.arange(own.shape[2])
    points = np.zeros(own.shape[1:], np.int8)
    free = filled.copy()
    for cell in range(1, NEXT_CELLS, 2):
        offered = np.where(free, own[:, cell], NO_CARD)
        best = offered.argmax(axis=0)
        points[cell] = offered[best, each]
        free[best, each] = False
    return points


def _around(count: Ints, rank: Ints) -> Ints:
    """Numbers of cards of each rank, of the ranks next to it, and of those one but one, int64 [3, slots, m].

    Args:
        count: [13, m], cards by rank.
        rank: [slots, m].
    """
    padded = np.pad(count, ((2, 2), (0, 0)))
    middle, each = rank + 2, np.arange(count.shape[1])
    return np.stack(
        [
            padded[middle, each],
            *(padded[middle - apart, each] + padded[middle + apart, each] for apart in (1, 2)),
        ]
    )
