"""The spiral game one look ahead: what the position is after each card that may be played.

The cells of the spiral are taken in a known order, by the two players in turn. So a position is told in three parts,
for a network to read:

- cell by cell what the next cells offer: to the cards kept, and to the other player, of whose cards nothing is known
  but that they are unseen;
- card by card what the cards kept would make in these cells, and what lies, is kept or is unseen near their ranks;
- the stage of the deal, and what the cards kept are to each other.

All of it takes the lines as they are after the play, as if each card came next. A line counts for a cell as its *way*,
on which the spiral comes to it, or as the one *across*: whether they are rows or columns makes no difference to what a
play scores, if plays score at once. The other form, in which the full square does, is not told here.
"""

from functools import cache
from math import comb
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from quincunx_agents.afterstates import (
    SEATS,
    AfterstateFeatures,
    Afterstates,
    Bools,
    FeatureLayout,
    Floats,
    Ints,
    observer_for,
)
from quincunx_agents.spiral.heuristic import action_values
from quincunx_env.core.cards import EMPTY
from quincunx_env.core.observation import Pieces
from quincunx_env.spiral import scoring
from quincunx_env.spiral.cards import CARDS, RANKS, SUITS
from quincunx_env.spiral.rules import COLUMNS, HAND, PLAYS, ROWS, SIDE, SPIRAL, Rules

Bytes = npt.NDArray[np.int8]

AHEAD = 8
"""Cells that are told of."""
KEPT = HAND - 1
"""Cards kept after the first play, and so the most."""
LEVELS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 20, 24)
"""Points that a card in a cell may reach; what it makes is told apart no finer."""
SHOWN = (1, 4, 7, 9, 12)
"""Places in `LEVELS`: how likely the other player reaches these is told by itself."""
NOTHING = np.int8(-1)
"""What a card makes that is not there."""
CHUNK = 512
"""Plays described at once: few enough to stay in the cache."""

NUM_LINES = len(ROWS) + len(COLUMNS)
LINE_FEATURES = 5
CELL_FEATURES = 1 + AHEAD + 4 + 2 + len(SHOWN) + 2 + 2 * LINE_FEATURES
CARD_FEATURES = 1 + AHEAD + AHEAD + 7
WHOLE_FEATURES = PLAYS + 8
LAYOUT = FeatureLayout(sets=((AHEAD, CELL_FEATURES), (KEPT, CARD_FEATURES)), context=WHOLE_FEATURES)
"""The next cells; the cards kept; numbers of the whole."""


class _Told(NamedTuple):
    """What is told of m plays."""

    cells: Floats
    """[m, AHEAD, CELL_FEATURES]: the next cells in their order."""
    cards: Floats
    """[m, KEPT, CARD_FEATURES]: the cards kept."""
    whole: Floats
    """[m, WHOLE_FEATURES]."""


class _Tables(NamedTuple):
    """By ply: how many cards were played before the cell is taken, and one more; the last cell stands for those after
    it.
    """

    lines: Ints
    """[PLAYS + 1 + AHEAD, 2]: the way and the line across, rows counted first, then columns."""
    places: Ints
    """[PLAYS + 1 + AHEAD, 2]: where in these lines the cell is."""
    cells: Ints
    """[lines, 5]: the cells of each line."""
    missed: Floats
    """[held, cards]: chance that of so many cards none is among those that the other player holds."""


@cache
def _tables() -> _Tables:
    along = (*SPIRAL, *[SPIRAL[-1]] * AHEAD)
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
    """What lines offer to one more card; L lines."""

    by_rank: Bytes
    """[13, L]: points for kinds and runs, by the rank of the card."""
    flush: Bytes
    """[5, 4, L]: points for the flush, by its place in the line and its suit."""
    near: Bytes
    """[13, L]: how near the ranks that lie there are to each rank, and how many."""
    told: Floats
    """[LINE_FEATURES, L]: what is said of the line itself."""


def _read_lines(cards: Bytes) -> _Lines:
    """Read lines, given as their cards [5, L]."""
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
    told = [
        there.sum(axis=0) / 4,
        (counts >= 2).sum(axis=0),
        (present[1:] & present[:-1]).sum(axis=0) / 2,
        (present[2:] & present[:-2]).sum(axis=0) / 2,
        ((suit[1:] == suit[:-1]) & there[1:]).sum(axis=0) / 2,
    ]
    return _Lines(by_rank, flush, near, np.stack(told, dtype=np.float32))


def afterstates_of(rules: Rules, observation: Pieces, mask: Bools, use_known_values: bool = True) -> Afterstates:
    """The afterstates of all legal actions; see `quincunx_agents.afterstates.FeatureModule.afterstates_of`.

    Raises:
        ValueError: if the full square is scored.
    """
    if rules.scoring != "play":
        raise ValueError(f"positions are described for scoring 'play', got {rules.scoring!r}")
    rows, actions = mask.nonzero()
    ply = observer_for(rules).named_counts(observation)["ply"].astype(np.int64)
    to_come = np.full((len(rows), SEATS), np.nan, np.float32)
    if use_known_values:
        to_come[ply[rows] == PLAYS - 1] = 0
    points = observation["preview"][rows, actions, 0].astype(np.float32)
    unknown, judged = np.flatnonzero(np.isnan(to_come[:, 0])), []
    for start in range(0, len(unknown), CHUNK):
        at = unknown[start : start + CHUNK]
        first = rows[at[0]]
        games = slice(first, rows[at[-1]] + 1)
        board, hand = observation["board"][games].astype(np.int8, copy=False), observation["hand"][games] > 0
        told = _describe(board, hand, ply[games], rows[at] - first, actions[at])
        judged.append((at, AfterstateFeatures((told.cells, told.cards), told.whole)))
    return Afterstates(rows, actions, points, to_come, tuple(judged))


def shortlist(rules: Rules, observation: Pieces, mask: Bools, count: int) -> Bools:
    """See `quincunx_agents.afterstates.FeatureModule.shortlist`: the cards that the heuristic likes best."""
    if not count:
        return mask
    table = action_values(rules, observation, mask)
    best = np.zeros(mask.shape, np.bool_)
    np.put_along_axis(best, np.argpartition(table, -count, axis=1)[:, -count:], True, axis=1)
    return best & mask


def _describe(board: Bytes, hand: Bools, ply: Ints, rows: Ints, actions: Ints) -> _Told:
    """Say of m plays what the network reads.

    Args:
        board: [n, 25].
        hand: [n, 52].
        ply: [n].
        rows: [m], the position of each play.
        actions: [m], its card.
    """
    # Plays are the last axis of all arrays here: it is the longest, and NumPy is fastest along it.
    tables, m = _tables(), len(rows)
    told = _Told(
        cells=np.zeros((m, AHEAD, CELL_FEATURES), np.float32),
        cards=np.zeros((m, KEPT, CARD_FEATURES), np.float32),
        whole=np.zeros((m, WHOLE_FEATURES), np.float32),
    )
    each, ahead = np.arange(m), np.arange(AHEAD)[:, None]
    every_suit = np.arange(len(SUITS))[:, None, None]
    ply = ply[rows] + 1  # cards played, this one included

    # The lines of each position, and then the two that each play changes.
    before = board[:, tables.cells].transpose(2, 0, 1).reshape(SIDE, -1)
    changed = before[:, rows[:, None] * NUM_LINES + tables.lines[ply]]
    for side in range(2):
        changed[tables.places[ply, side], each, side] = actions
    lines = _read_lines(np.concatenate([before, changed.reshape(SIDE, -1)], axis=1))

    # What every card would make in every cell.
    there = ply + ahead < PLAYS
    at = rows[:, None] * NUM_LINES + tables.lines[ply + 1 + ahead]
    for side in range(2):
        same = tables.lines[ply + 1 + ahead] == tables.lines[ply, side][:, None]
        at = np.where(same, before.shape[1] + 2 * each[:, None] + side, at)
    way, across = at[..., 0], at[..., 1]
    places = tables.places[ply + 1 + ahead]
    ranks = lines.by_rank.take(way, axis=1) + lines.by_rank.take(across, axis=1)
    flushes = lines.flush[places[..., 0], every_suit, way] + lines.flush[places[..., 1], every_suit, across]
    made = (flushes[:, None] + ranks).reshape(len(CARDS), AHEAD, m)

    kept = hand[rows].T
    kept[actions, each] = False
    seen = np.zeros((len(board), len(CARDS) + 1), np.bool_)  # EMPTY is the extra, last column
    np.put_along_axis(seen, board.astype(np.int64), True, axis=1)
    unseen = (~seen[:, :-1] & ~hand).T[:, rows]

    # The cards kept, in slots.
    slots = np.argsort(~kept.T, axis=1, kind="stable")[:, :KEPT].T
    filled = np.arange(KEPT)[:, None] < kept.sum(axis=0)
    own = np.where(filled[:, None], made[slots[:, None], ahead, each], NOTHING)
    in_turn = _in_turn(own, filled)

    # The other player's best card, and how likely it reaches each level.
    held = HAND - ply // 2
    theirs = np.where(unseen[:, None], made, NOTHING)
    reached = np.empty((len(LEVELS), AHEAD, m), np.float32)
    for number, level in enumerate(LEVELS):
        reached[number] = 1 - tables.missed[held, (theirs >= level).sum(axis=0, dtype=np.int8)]
    steps = np.diff((0, *LEVELS)).astype(np.float32)
    average = np.where(unseen[:, None], made, np.int8(0)).sum(axis=0, dtype=np.int16) / unseen.sum(axis=0)

    cells = [
        there,
        *np.broadcast_to(np.eye(AHEAD)[:, :, None], (AHEAD, AHEAD, m)),
        # the best cards kept, and the best of those left over by earlier cells
        *-np.sort(-own, axis=0)[:3] / np.float32(15),
        in_turn / np.float32(15),
        np.tensordot(steps, reached, axes=1) / 15,
        average / 5,
        *reached[list(SHOWN)],
        flushes.max(axis=0) / np.float32(5),
        ranks.max(axis=0) / np.float32(15),
        *lines.told.take(way, axis=1),
        *lines.told.take(across, axis=1),
    ]
    for number, feature in enumerate(cells):
        told.cells[:, :, number] = (feature * there).T

    by_suit = kept.reshape(len(SUITS), len(RANKS), m)
    of_rank, of_suit = by_suit.sum(axis=0), by_suit.sum(axis=1)
    unseen_of_rank = unseen.reshape(by_suit.shape).sum(axis=0)
    rank, suit = slots % len(RANKS), slots // len(RANKS)
    cards = [
        filled,
        *(own * there / np.float32(10)).transpose(1, 0, 2),
        # how near the lines of one's own next cells are
        *(lines.near[rank, line[number]] / np.float32(4) for line in (way, across) for number in range(1, AHEAD, 2)),
        *_around(of_rank, rank),
        of_suit[suit, each] / 4,
        *_around(unseen_of_rank, rank),
    ]
    for number, feature in enumerate(cards):
        told.cards[:, :, number] = (feature * filled).T

    told.whole[each, ply - 1] = 1
    whole = [
        filled.sum(axis=0) / 12,
        (of_rank == 2).sum(axis=0) / 3,
        (of_rank >= 3).sum(axis=0),
        (of_rank[1:] * of_rank[:-1]).sum(axis=0) / 5,
        (of_rank[2:] * of_rank[:-2]).sum(axis=0) / 5,
        of_suit.max(axis=0) / 5,
        (of_suit == 0).sum(axis=0),
        in_turn.sum(axis=0) / 30,
    ]
    told.whole[:, PLAYS:] = np.stack(whole, axis=1)
    return told


def _in_turn(own: Bytes, filled: Bools) -> Bytes:
    """What one's own cells bring if each takes the best card that the cells before it have left, [AHEAD, m].

    Args:
        own: [KEPT, AHEAD, m], what each card makes in each cell.
        filled: [KEPT, m], which cards there are.
    """
    each = np.arange(own.shape[2])
    brought = np.zeros(own.shape[1:], np.int8)
    free = filled.copy()
    for cell in range(1, AHEAD, 2):
        offered = np.where(free, own[:, cell], NOTHING)
        best = offered.argmax(axis=0)
        brought[cell] = offered[best, each]
        free[best, each] = False
    return brought


def _around(count: Ints, rank: Ints) -> list[Ints]:
    """How many cards have each rank, one next to it, and one but one, [slots, m] each.

    Args:
        count: [13, m], cards by rank.
        rank: [slots, m].
    """
    padded = np.pad(count, ((2, 2), (0, 0)))
    middle, each = rank + 2, np.arange(count.shape[1])
    return [
        padded[middle, each],
        *(padded[middle - apart, each] + padded[middle + apart, each] for apart in (1, 2)),
    ]
