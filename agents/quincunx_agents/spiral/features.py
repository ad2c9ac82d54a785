"""Afterstate features of the spiral game, in three parts.

The cells of the spiral are taken in a known order, by the two seats in turn.

- The set of the next cells: the value of each with the cards kept, and to the opponent. Nothing is known of the
  opponent's hand except that it was drawn from the unseen cards.
- The set of the cards kept: their values in these cells, and the kept and unseen cards of ranks near their own.
- The context: the stage of the deal, relations between the cards kept, and the options of the game.

`quincunx_agents.spiral.lines` defines the value of a card, and which line of a cell is the first. The lines are taken
as they are in the afterstate, as if each card came next.

Scales are not tuned: they bring usual values to the order of 1.

Axes: n positions, m actions, K cards, H slots of the hand, U multisets of ranks in a line. A seat's hand holds up to 13
cards, of 13 ranks and 4 suits.
"""

from functools import cache
from math import comb
from typing import Any, NamedTuple

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
    in_chunks,
    num_features,
    observer_for,
    one_hot,
    write_features,
)
from quincunx_agents.spiral.heuristic import action_values
from quincunx_agents.spiral.lines import (
    NUM_LINE_FEATURES,
    NUM_LINES,
    Bytes,
    LineTables,
    line_codes,
    line_tables,
    spiral,
)
from quincunx_env.core.observation import Pieces
from quincunx_env.spiral.cards import CARDS, RANKS, SUITS
from quincunx_env.spiral.rules import HAND, PLAYS, ROWS, SIDE, SPIRAL, Rules

NEXT_CELLS = 8
"""Number of next cells with features. Not tuned."""

MOST_KEPT = HAND - 1
"""The most cards kept: the hand after the first play."""

BEST = 3
"""Number of cards whose value is a feature of a cell. Not tuned."""

LEVELS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 20, 24)
"""Levels for the value of the opponent's best card, from 0 on. The expected level it reaches is a feature. Not tuned.
"""

LEVELS_AT_END = (-4, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16)
"""As many if the full square is scored, from `LOWEST_AT_END` on."""

LOWEST_AT_END = -6

NO_CARD, NO_CARD_AT_END = -1, -40
"""Value of an empty slot: less than any card's."""

SHOWN_LEVELS = (1, 4, 7, 9, 12)
"""Indices of the `LEVELS` whose probability is a feature, too. Not tuned."""


# --- Inputs of the features ------------------------------------------------------------------------------------------
#
# Actions are the last axis of all arrays: it is the longest, and NumPy is fastest along it. Several features of one
# kind are the first axis.


@cache
def _missed() -> Floats:
    """Return the chance that the opponent holds none of some cards, float32 [14, 53].

    The axes are the size of its hand, and the number of these cards.
    """
    face_down = len(CARDS) - 1 - 2 * HAND
    missed = [
        [comb(max(face_down + held - cards, 0), held) / comb(face_down + held, held) for cards in range(len(CARDS) + 1)]
        for held in range(HAND + 1)
    ]
    return np.array(missed, np.float32)


class _Inputs(NamedTuple):
    """Arrays from which the features of m afterstates are computed."""

    # Of the next cells, and of all cards in them.
    there: Bools
    """[NEXT_CELLS, m]: False after the last cell of the spiral."""
    own: Bytes
    """[H, NEXT_CELLS, m]: values of the cards kept; less than any in empty slots."""
    in_turn: Bytes
    """[NEXT_CELLS, m]: values of the cards kept if each own cell takes the best card that earlier ones left."""
    reached: Floats
    """[LEVELS, NEXT_CELLS, m]: probability that the opponent's best card reaches each level."""
    expected_level: Floats
    """[NEXT_CELLS, m]: expected level of the opponent's best card."""
    average: npt.NDArray[np.floating]
    """[NEXT_CELLS, m]: mean value of the unseen cards."""
    flushes: Bytes
    """[4, NEXT_CELLS, m]: value in flushes by suit."""
    ranks: Bytes
    """[13, NEXT_CELLS, m]: value in kinds, runs and fifteens by rank."""
    lines: LineTables
    rank_codes: Ints
    """[2, NEXT_CELLS, m]: multiset of the ranks in the first and the second line."""
    suit_codes: Ints
    """[2, NEXT_CELLS, m]: suits in these lines."""
    # Of the cards kept, in slots.
    filled: Bools
    """[H, m]: which slots hold a card; there are as many slots as any afterstate needs."""
    rank: Ints
    """[H, m]."""
    suit: Ints
    """[H, m]."""
    of_rank: Bytes
    """[13, m]: number of cards kept."""
    of_suit: Bytes
    """[4, m]."""
    unseen_of_rank: Bytes
    """[13, m]: number of unseen cards."""
    # Of the position.
    ply: Ints
    """[m]: cards played, the action's included."""
    at_end: bool
    """Whether the full square is scored."""
    fifteens: bool
    """Whether fifteens score."""
    hands: Ints
    """[2, m]: points of the lines of the mover, and of the other seat, as they are; 0 if plays score at once."""


# --- The features ----------------------------------------------------------------------------------------------------

OPTIONS: tuple[Feature[_Inputs], ...] = (
    Feature("at_end", 1, lambda s: s.at_end, "1 if the full square is scored"),
    Feature("fifteens", 1, lambda s: s.fifteens, "1 if fifteens score"),
)
"""Options of the game, features of every element and of the position."""

CELL_FEATURES: tuple[Feature[_Inputs], ...] = (
    Feature("there", 1, lambda s: s.there, "1 for a cell, 0 for padding"),
    Feature(
        "place",
        1,
        lambda s: np.eye(NEXT_CELLS)[:, :, None],
        "place among the next cells, one-hot",
        NEXT_CELLS,
    ),
    Feature("best", 15, lambda s: -np.sort(-s.own, axis=0)[:BEST], "values of the best cards kept", BEST),
    Feature("in_turn", 15, lambda s: s.in_turn, "points of the best card that earlier own cells left"),
    Feature(
        "expected_level",
        15,
        lambda s: s.expected_level,
        "expected level of the opponent's best card",
    ),
    Feature("average", 5, lambda s: s.average, "mean points of the unseen cards"),
    Feature(
        "reached",
        1,
        lambda s: np.stack([s.reached[level] for level in SHOWN_LEVELS]),
        "probability that the opponent's best card reaches each of `SHOWN_LEVELS`",
        len(SHOWN_LEVELS),
    ),
    Feature("flush", 5, lambda s: np.max(s.flushes, axis=0), "most points for flushes"),
    Feature("ranks", 15, lambda s: np.max(s.ranks, axis=0), "most points for kinds and runs"),
    Feature("first", 1, lambda s: _line_features(s, 0), "features of the first line", NUM_LINE_FEATURES),
    Feature("second", 1, lambda s: _line_features(s, 1), "features of the second line", NUM_LINE_FEATURES),
    *OPTIONS,
)
"""Features of the next cells, [NEXT_CELLS, m] each."""

CARD_FEATURES: tuple[Feature[_Inputs], ...] = (
    Feature("filled", 1, lambda s: s.filled, "1 for a card, 0 for padding"),
    Feature(
        "points",
        10,
        lambda s: np.transpose(s.own * s.there, (1, 0, 2)),
        "points in each of the next cells",
        NEXT_CELLS,
    ),
    Feature(
        "near",
        4,
        lambda s: np.stack(
            [
                s.lines.near.reshape(-1).take(s.rank * s.lines.near.shape[1] + codes)
                for codes in s.rank_codes[:, 1::2].reshape(NEXT_CELLS, -1)
            ]
        ),
        "nearness of the ranks in the lines of the next own cells",
        NEXT_CELLS,
    ),
    Feature(
        "kept_around",
        1,
        lambda s: _around(s.of_rank, s.rank),
        "cards kept of the rank, next to it, one but one",
        3,
    ),
    Feature("kept_suit", 4, lambda s: np.take_along_axis(s.of_suit, s.suit, axis=0), "cards kept of the suit"),
    Feature("unseen_around", 1, lambda s: _around(s.unseen_of_rank, s.rank), "the same of the unseen cards", 3),
    *OPTIONS,
    Feature("middle", 6, lambda s: np.minimum(s.rank, len(RANKS) - 1 - s.rank), "ranks up to the nearest end"),
    Feature("value", 10, lambda s: np.minimum(s.rank + 1, 10), "value in a fifteen"),
)
"""Features of the cards kept, [H, m] each."""

CONTEXT_FEATURES: tuple[Feature[_Inputs], ...] = (
    Feature("ply", 1, lambda s: one_hot(s.ply, 1, PLAYS + 1).T, "cards played, one-hot", PLAYS),
    Feature("size", 12, lambda s: s.filled.sum(axis=0), "cards kept"),
    Feature("pairs", 3, lambda s: (s.of_rank == 2).sum(axis=0), "ranks of two cards"),
    Feature("triples", 1, lambda s: (s.of_rank >= 3).sum(axis=0), "ranks of three cards or more"),
    Feature("neighbours", 5, lambda s: (s.of_rank[1:] * s.of_rank[:-1]).sum(axis=0), "pairs of adjacent ranks"),
    Feature("gaps", 5, lambda s: (s.of_rank[2:] * s.of_rank[:-2]).sum(axis=0), "pairs of ranks with one between"),
    Feature("longest_suit", 5, lambda s: np.max(s.of_suit, axis=0), "cards of the longest suit"),
    Feature("voids", 1, lambda s: (s.of_suit == 0).sum(axis=0), "suits without a card"),
    Feature("in_turn", 30, lambda s: s.in_turn.sum(axis=0), "points in the next own cells, each taking the best card"),
    *OPTIONS,
    Feature("hands", 30, lambda s: s.hands, "points of the lines of each seat if the full square is scored", 2),
)
"""Features of the position as a whole, [m] each."""

LAYOUT = FeatureLayout(
    sets=((NEXT_CELLS, num_features(CELL_FEATURES)), (MOST_KEPT, num_features(CARD_FEATURES))),
    context=num_features(CONTEXT_FEATURES),
)
"""Two sets, the next cells in their order and the cards kept, and the context."""


# --- Afterstates -----------------------------------------------------------------------------------------------------


def afterstates_of(rules: Rules, observation: Pieces, mask: Bools) -> Afterstates:
    """Return the afterstates of all legal actions. Implements `quincunx_agents.afterstates.FeatureModule`."""
    at_end = rules.scoring == "end"
    rows, actions = mask.nonzero()
    counts = observer_for(rules).named_counts(observation)
    ply = counts["ply"].astype(np.int64)
    boards = observation["board"].astype(np.int8, copy=False)
    known_values = np.full((len(rows), SEATS), np.nan, np.float32)
    last = ply[rows] == PLAYS - 1
    known_values[last] = 0
    if at_end and last.any():
        known_values[last, :2] = _final_scores(rules, boards[rows[last]], actions[last])
    points = np.zeros(len(rows), np.float32) if at_end else observation["preview"][rows, actions, 0].astype(np.float32)
    chunks = []
    for at in in_chunks(np.flatnonzero(~last)):
        first = rows[at[0]]
        games = slice(first, rows[at[-1]] + 1)
        hand = observation["hand"][games] > 0
        each = rows[at] - first
        chunks.append((at, _features(boards[games], hand, ply[games], each, actions[at], rules)))
    return Afterstates(rows, actions, points, known_values, tuple(chunks))


def shortlist(rules: Rules, observation: Pieces, mask: Bools, count: int) -> Bools:
    """Return the heuristic's best cards, bool [n, 52]. Implements `quincunx_agents.afterstates.FeatureModule`."""
    if not count:
        return mask
    return ties.highest(action_values(rules, observation, mask), count) & mask


def _final_scores(rules: Rules, board: Bytes, cards: Ints) -> Ints:
    """Return final points of dealer and non-dealer, int64 [m, 2].

    The dealer plays the last card. ``board`` is int8 [m, 25] before the play, ``cards`` int64 [m]; the full square is
    scored.
    """
    tables = line_tables(True, rules.fifteens)
    full = board.copy()
    full[:, SPIRAL[-1]] = cards
    rank_codes, suit_codes = line_codes(full[:, spiral(True).cells].transpose(2, 0, 1))
    points = tables.hand[tables.multiset[rank_codes]] + tables.flush[suit_codes]
    return np.stack([points[:, len(ROWS) :].sum(axis=1), points[:, : len(ROWS)].sum(axis=1)], axis=1)


def _features(
    board: Bytes,
    hand: Bools,
    ply: Ints,
    rows: Ints,
    actions: Ints,
    rules: Rules,
) -> AfterstateFeatures:
    """Compute the features of m afterstates.

    Args:
        board: int8 [n, 25].
        hand: bool [n, 52].
        ply: int64 [n].
        rows: int64 [m], the position of each action.
        actions: int64 [m].
        rules: of the game.
    """
    at_end, m = rules.scoring == "end", len(rows)
    each, ahead = np.arange(m), np.arange(NEXT_CELLS)[:, None]
    lines = _lines_of(board, ply, rows, actions, rules)
    points, ranks, flushes = _values(lines, at_end)

    kept = hand[rows].T
    kept[actions, each] = False
    seen = np.zeros((len(board), len(CARDS) + 1), dtype=np.bool_)  # EMPTY is the extra, last column
    seen[np.arange(len(board))[:, None], board.astype(np.int64)] = True
    unseen = (~seen[:, :-1] & ~hand).T[:, rows]

    # The cards kept, in slots.
    size = kept.view(np.int8).sum(axis=0, dtype=np.int8)
    filled = np.arange(max(int(np.max(size)), BEST), dtype=np.int8)[:, None] < size
    slots = np.zeros(filled.shape, dtype=np.int64)
    slots.T[filled.T] = np.nonzero(kept.T)[1]
    no_card = NO_CARD_AT_END if at_end else NO_CARD
    at_slots = slots[:, None] * (NEXT_CELLS * m) + (ahead * m + each)
    own = np.where(filled[:, None], points.reshape(-1).take(at_slots), no_card)

    ply = ply[rows] + 1  # cards played, the action's included
    there = ply + ahead < PLAYS
    reached, expected_level, average = _opponents_best(points, unseen, ply, at_end)
    by_suit_and_rank, unseen_by_both = (
        each.view(np.int8).reshape(len(SUITS), len(RANKS), m) for each in (kept, unseen)
    )
    inputs = _Inputs(
        there=there,
        own=own,
        in_turn=_in_turn(own, filled, no_card) * there,  # cells after the last one count nothing
        reached=reached,
        expected_level=expected_level,
        average=average,
        flushes=flushes,
        ranks=ranks,
        lines=lines.tables,
        rank_codes=lines.next_ranks,
        suit_codes=lines.next_suits,
        filled=filled,
        rank=slots % len(RANKS),
        suit=slots // len(RANKS),
        of_rank=by_suit_and_rank.sum(axis=0, dtype=np.int8),
        of_suit=by_suit_and_rank.sum(axis=1, dtype=np.int8),
        unseen_of_rank=unseen_by_both.sum(axis=0, dtype=np.int8),
        ply=ply,
        at_end=at_end,
        fifteens=rules.fifteens,
        hands=_hands(lines, ply, rows) if at_end else np.zeros((2, m), dtype=np.int64),
    )
    cells, cards = (
        np.empty((m, most, features), dtype=np.float32)
        for most, (_, features) in zip((NEXT_CELLS, len(slots)), LAYOUT.sets, strict=True)
    )
    context = np.empty((m, LAYOUT.context), dtype=np.float32)
    write_features(CELL_FEATURES, inputs, np.transpose(cells, (2, 1, 0)), axis=0)
    write_features(CARD_FEATURES, inputs, np.transpose(cards, (2, 1, 0)), axis=0)
    write_features(CONTEXT_FEATURES, inputs, context.T, axis=0)
    cells *= there.T[:, :, None]
    cards *= filled.T[:, :, None]
    return AfterstateFeatures((cells, cards), context)


class _Lines(NamedTuple):
    """Lines of n positions, `NUM_LINES` each, then two changed lines for each of m actions."""

    tables: LineTables
    rank_codes: Ints
    """[n * NUM_LINES + 2 * m]: multisets of the ranks."""
    suit_codes: Ints
    """[n * NUM_LINES + 2 * m]: suits."""
    places: Ints
    """[2, NEXT_CELLS, m]: place of each of the next cells in its two lines."""
    next_ranks: Ints
    """[2, NEXT_CELLS, m]: ``rank_codes`` of the two lines of each of the next cells."""
    next_suits: Ints
    """[2, NEXT_CELLS, m]: their ``suit_codes``."""
    old: Ints
    """[m, 2]: the lines that the action changes, before it."""
    new: Ints
    """[m, 2]: the same lines after it."""


def _lines_of(board: Bytes, ply: Ints, rows: Ints, actions: Ints, rules: Rules) -> _Lines:
    """Return the lines of positions and afterstates; see `_features`."""
    at_end, m = rules.scoring == "end", len(rows)
    tables, lines = spiral(at_end), line_tables(at_end, rules.fifteens)
    ply, each, ahead = ply[rows], np.arange(m), np.arange(NEXT_CELLS)[:, None]
    before = np.transpose(board[:, tables.cells], (2, 0, 1)).reshape(SIDE, -1)
    old = rows[:, None] * NUM_LINES + tables.lines[ply]
    changed = before[:, old]
    for side in range(2):
        changed[tables.places[ply, side], each, side] = actions.astype(np.int8)
    rank_codes, suit_codes = line_codes(np.concatenate([before, changed.reshape(SIDE, -1)], axis=1))
    new = before.shape[1] + 2 * each[:, None] + np.arange(2)
    following = tables.lines[ply + 1 + ahead]
    at = rows[:, None] * NUM_LINES + following
    for side in range(2):
        at = np.where(following == tables.lines[ply, side][:, None], new[:, side, None], at)
    at, rank_codes = np.moveaxis(at, 2, 0), lines.multiset[rank_codes].astype(np.int64)
    return _Lines(
        tables=lines,
        rank_codes=rank_codes,
        suit_codes=suit_codes,
        places=np.moveaxis(tables.places[ply + 1 + ahead], 2, 0),
        next_ranks=rank_codes[at],
        next_suits=suit_codes[at],
        old=old,
        new=new,
    )


def _values(lines: _Lines, at_end: bool) -> tuple[Bytes, Bytes, Bytes]:
    """Return values of all cards in the next cells, [K, NEXT_CELLS, m], and their parts by rank and in flushes.

    Also return their parts by rank, [13, NEXT_CELLS, m], and in flushes, [4, NEXT_CELLS, m].
    """
    by_suit = lines.tables.by_suit.reshape(len(SUITS), -1)
    ranks, flushes = (
        _columns(table, first) + (-1 if at_end else 1) * _columns(table, second)
        for table, (first, second) in (
            (lines.tables.by_rank, lines.next_ranks),
            (by_suit, lines.next_suits * SIDE + lines.places),
        )
    )
    return (flushes[:, None] + ranks).reshape(len(CARDS), *ranks.shape[1:]), ranks, flushes


def _opponents_best(
    points: Bytes, unseen: Bools, ply: Ints, at_end: bool
) -> tuple[Floats, Floats, npt.NDArray[np.floating]]:
    """Return ``reached``, ``expected_level`` and ``average`` of `_Inputs`.

    ``points`` are values of all cards in the next cells, [K, NEXT_CELLS, m]; ``unseen`` is [K, m], ``ply`` [m] cards
    played.
    """
    missed, num_unseen = _missed(), unseen.sum(axis=0)
    no_card, levels = (NO_CARD_AT_END, LEVELS_AT_END) if at_end else (NO_CARD, LEVELS)
    held, values = HAND - ply // 2, np.where(unseen[:, None], points, no_card)
    reached = np.empty((len(levels), *values.shape[1:]), dtype=np.float32)
    for number, level in enumerate(levels):
        better = (values >= level).view(np.int8).sum(axis=0, dtype=np.int8)
        reached[number] = 1 - missed[held, better.astype(np.int64)]
    lowest = LOWEST_AT_END if at_end else 0
    steps = np.diff((lowest, *levels)).astype(np.float32)
    average = (values.sum(axis=0, dtype=np.int64) - no_card * (len(CARDS) - num_unseen)) / num_unseen
    return reached, lowest + np.tensordot(steps, reached, axes=1), average


def _hands(lines: _Lines, ply: Ints, rows: Ints) -> Ints:
    """Return points of the mover's lines and of the others, [2, m]. They are used where the full square is scored.

    ``ply`` and ``rows`` are int64 [m].
    """
    values = lines.tables.hand[lines.rank_codes] + lines.tables.flush[lines.suit_codes]
    by_seat = values[: len(values) - 2 * len(rows)].reshape(-1, 2, SIDE).sum(axis=2)[rows].T
    # The first line of the cell just played is in the mover's orientation: rows after an odd number of plays.
    hands: Ints = np.where(ply % 2 == 1, by_seat, np.flip(by_seat, axis=0))
    return hands + (values[lines.new] - values[lines.old]).T


def _columns(table: Bytes | Floats, numbers: Ints) -> Any:
    """Return the columns of a table with these numbers: [r, U], int64 [...] -> [r, ...]."""
    return np.take(table, numbers.reshape(-1), axis=1).reshape(-1, *numbers.shape)


def _line_features(inputs: _Inputs, line: int) -> Floats:
    """Return the features of the next cells' ``line``, float32 [features, NEXT_CELLS, m]. ``line`` is 0 or 1."""
    by_rank = _columns(inputs.lines.features, inputs.rank_codes[line])
    features: Floats = np.concatenate([by_rank, inputs.lines.touching[inputs.suit_codes[line]][None]])
    return features


def _in_turn(own: Bytes, filled: Bools, no_card: int) -> Bytes:
    """Return values in own cells taken in turn, int8 [NEXT_CELLS, m].

    Each cell takes the best card that the cells before it have left. ``own`` is the value of each card in each cell,
    [H, NEXT_CELLS, m]; ``filled``, [H, m], which slots hold a card; ``no_card`` is less than any value.
    """
    each = np.arange(own.shape[2])
    points: Bytes = np.zeros(own.shape[1:], dtype=np.int8)
    free = filled.copy()
    for cell in range(1, NEXT_CELLS, 2):
        offered = np.where(free, own[:, cell], no_card)
        best = np.argmax(offered, axis=0)
        points[cell] = offered[best, each]
        free[best, each] = False
    return points


def _around(count: Bytes, rank: Ints) -> Bytes:
    """Count cards of each rank and of near ranks, int8 [3, H, m].

    They are for the rank itself, adjacent ranks, and ranks two away. ``count`` is cards by rank, [13, m]; ``rank``
    [H, m].
    """
    ranks, size = count.shape
    around = np.zeros((3, ranks, size), dtype=np.int8)
    around[0] = count
    for apart in (1, 2):
        around[apart, apart:] += around[0, :-apart]
        around[apart, :-apart] += around[0, apart:]
    found: Bytes = _columns(around.reshape(3, -1), rank * size + np.arange(size))
    return found
