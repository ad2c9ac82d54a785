"""Heuristic of Quincunx: argmax of a linear function of action features.

`FEATURES` describe an action: the cards it draws, the values it opens for hand and unseen cards in adjacent cells, the
opportunities it gives up. Its value is their weighted sum, in points. `WEIGHTS` has a column for each number of players
and start. In the last own play of a round, a draw costs the penalty that it brings. All options of the rules are
supported.

Axes: n positions, m actions, K cards, C cells, H slots of the hand, L lines, A actions of the game. Tables have all 41
cards; an axis of 42 ends with `EMPTY` (-1).
"""

from dataclasses import replace
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from quincunx_agents.afterstates import Bools, Floats, Ints, observer_for
from quincunx_env.core.arrays import unpack
from quincunx_env.core.cards import EMPTY
from quincunx_env.core.observation import Pieces
from quincunx_env.quincunx.batch import Batch
from quincunx_env.quincunx.cards import CARDS, RANKS
from quincunx_env.quincunx.play_values import play_values
from quincunx_env.quincunx.rules import Rules
from quincunx_env.quincunx.scoring import STRAIGHT_BONUS, THREE_BONUS, power, rank_order
from quincunx_env.quincunx.tables import derived_tables

FEATURES = {
    "draws": "cards drawn",
    "draws_needed": "cards drawn that the own plays still to come need",
    "last_card": "solitaire: 1 if a single card remains for more than one play",
    "best_other_cell": "highest value of this card in another cell",
    "best_other_card": "highest value of another card of the hand in this cell",
    "threat": "mean over the unseen cards of their points in this cell, negative points counted 0",
    "opened_value": "gain in value of the best other card of the hand in each adjacent empty cell, summed",
    "opened_value_unseen": "adjacent empty cells times the mean points of unseen cards beside this card",
    "setups": "bonuses of threes and straights that a card of the hand can then complete",
    "setups_unseen": "bonuses that unseen cards can then complete, times their share of all unseen cards",
    "empties": "adjacent empty cells",
    "penalty": "penalty for this card if it were left in hand",
}
"""Features of an action. Each has two weights: one at the end of a round, and an addition that falls linearly from the
beginning of the round (``early``)."""

FEATURE_NAMES = ("points", *FEATURES, *(f"{name} early" for name in FEATURES), *(f"keep {rank}" for rank in RANKS))
"""The columns of `ActionFeatures.features`."""

WEIGHT_COLUMNS = ((1, "corners"), (2, "corners"), (3, "corners"), (4, "corners"), (2, "open"), (3, "open"), (4, "open"))
"""Number of players and start of the columns of `WEIGHTS`."""

WEIGHTS: dict[str, tuple[float, ...]] = {
    "points": (1.00, 1.00, 1.00, 1.00, 1.00, 1.00, 1.00),
    "draws": (4.21, -2.60, -3.87, -3.52, -1.74, -1.90, -3.35),
    "draws_needed": (12.42, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00),
    "last_card": (-3.58, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00),
    "best_other_cell": (-0.27, -0.28, -0.26, -0.19, -0.28, -0.33, -0.26),
    "best_other_card": (-0.12, -0.12, -0.08, -0.04, -0.15, -0.02, -0.05),
    "threat": (-0.69, 1.04, 0.80, 0.67, 1.46, 0.94, 0.72),
    "opened_value": (0.37, 0.19, 0.13, 0.12, 0.22, 0.17, 0.14),
    "opened_value_unseen": (0.54, -0.47, -0.38, -0.24, -0.44, -0.31, -0.30),
    "setups": (0.28, 0.17, 0.18, 0.11, 0.11, 0.07, 0.06),
    "setups_unseen": (0.43, -1.67, -1.15, -0.90, -0.79, -0.45, -0.13),
    "empties": (-0.65, -0.49, 0.66, 0.21, -0.18, 0.73, 0.81),
    "penalty": (0.37, 0.27, 0.12, 0.44, 0.15, 0.28, 0.30),
    "draws early": (8.65, 7.13, 5.48, 2.41, 5.34, 6.44, 7.18),
    "draws_needed early": (9.63, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00),
    "last_card early": (-3.59, 0.00, 0.00, 0.00, 0.00, 0.00, 0.00),
    "best_other_cell early": (-0.16, -0.31, -0.35, -0.32, -0.05, -0.14, 0.03),
    "best_other_card early": (-0.08, -0.02, -0.01, 0.07, 0.14, 0.11, 0.03),
    "threat early": (-0.32, 0.97, 0.97, 0.75, 1.50, 1.16, 0.83),
    "opened_value early": (0.18, 0.07, 0.06, 0.05, 0.15, 0.03, 0.02),
    "opened_value_unseen early": (0.60, -0.41, -0.47, -0.31, -0.52, -0.59, -0.61),
    "setups early": (0.19, 0.19, 0.17, 0.15, 0.13, 0.15, 0.17),
    "setups_unseen early": (1.03, -1.49, -1.56, -1.15, -1.40, -1.13, -1.37),
    "empties early": (-1.01, 0.96, 0.40, 0.99, 0.20, 1.65, 0.22),
    "penalty early": (-0.15, -0.43, -0.33, -0.38, -0.45, -0.37, -0.44),
    "keep A": (-3.36, 0.33, 0.78, 0.34, 0.64, -1.21, 0.29),
    "keep 2": (-1.70, 1.72, 0.96, 3.95, 2.60, 2.70, 1.99),
    "keep 3": (-3.38, 3.79, 2.82, 1.78, 4.49, 1.69, 4.49),
    "keep 4": (-2.82, 4.94, 9.59, 5.53, 4.60, 6.59, 6.59),
    "keep 5": (1.89, 7.55, 5.77, 6.05, 3.12, 2.98, 5.63),
    "keep 6": (3.69, 4.79, 0.71, 3.72, 3.24, 1.20, 3.46),
    "keep 7": (5.22, 3.89, -1.38, 1.04, -1.12, 1.18, 1.34),
    "keep 8": (3.15, -1.66, -3.14, -2.03, -3.00, -0.61, -2.16),
    "keep 9": (0.53, -1.57, -2.59, -1.17, -2.80, -0.74, -1.92),
    "keep P": (-5.67, 2.08, 0.75, 1.38, 0.99, 0.99, 1.60),
    "keep C": (3.87, -4.83, -7.85, -7.16, -3.68, -5.67, -5.48),
    "keep X": (4.10, -8.74, -10.07, -9.43, -9.83, -9.83, -9.22),
}
"""Points for one unit of each feature, by `WEIGHT_COLUMNS`.

Constants: no script makes them. They were found in self-play by REINFORCE (Williams 1992) for a softmax over the
values. The rows of Pawn and Excuse were found with these options, for the solitaire and for two players from corners.
In the solitaire ``draws_needed`` was then raised by 3: on validation deals it lost fewer rounds at the same mean."""

OTHERS_GAINS = ("threat", "opened_value_unseen", "setups_unseen", "empties")
"""Features that still count when the seat has no further play, if other seats have."""

DRAW_VALUE = {True: 8.0, False: 2.0}
"""Points for a draw in the value that `best_other_cell`, `best_other_card` and `opened_value` compare: in the solitaire
(True), with several players (False). Not tuned."""

OPENED_DRAW_VALUE = 4
"""Points for a draw that `opened_value` finds beside the card played. Not tuned."""

UNPLAYABLE = np.float32(-1000.0)
"""Value of an empty slot, or of a cell that is not playable: less than any real one."""

VALUE_FLOOR = -20
"""Least value of `best_other_cell` and `best_other_card`: the card need not be played there. Not tuned."""

LOSS_VALUE = -100.0
"""Added to the value of an action that loses the solitaire: more than any round's gain. Not tuned."""


class ActionFeatures(NamedTuple):
    """Features of the m legal actions of n positions."""

    rows: Ints
    """int64 [m]: position of each action."""
    actions: Ints
    """int64 [m]."""
    features: Floats
    """float32 [m, len(FEATURE_NAMES)]."""
    loses: Bools
    """bool [m]: whether the action loses the solitaire."""
    last: Bools
    """bool [m]: whether the seat has no play after it in the round."""
    drawn_penalty: Floats
    """float32 [m]: expected penalty of the cards drawn, if they were left in hand."""


class _Tables(NamedTuple):
    """Tables of the rules."""

    rank: Ints
    """[41]: index into `RANKS`."""
    points: Floats
    """[41, 41]: basic points and pair of two adjacent cards."""
    neighbor: Floats
    """[41, 41]: the same + `OPENED_DRAW_VALUE` for each of their draws."""
    partner: Ints
    """[41]: the card that makes a power play with this one, -2 if none does."""
    power: Floats
    """[41, 42]: points that a card in the grid adds to a power play of the first."""
    penalty: Floats
    """[41]."""
    complete: Ints
    """[41, 42, 6]: index into `RANKS` of the rank that completes a three or a straight; len(RANKS) for none."""
    bonus: Floats
    """[41, 42, 6]: the bonus for that; the last axis are `PATTERNS`."""


PATTERNS = ((1, -1), (1, 2), (2, 1), (-1, 1), (-1, -2), (-2, -1))
"""On a line, seen from the card played: distances of a second card, and of an empty cell that a third card completes.
"""


@cache
def _tables(rules: Rules) -> _Tables:
    cards, derived = range(len(CARDS)), derived_tables()
    order = [rank_order(card, rules.ranks) for card in cards]
    by_order = {place: RANKS.index(CARDS[card].rank) for card, place in zip(cards, order, strict=True)}
    complete = np.full((len(cards), len(cards) + 1, len(PATTERNS)), len(RANKS))
    bonus = np.zeros(complete.shape, np.float32)
    for card in cards:
        for other in cards:
            for number, (at, gap) in enumerate(PATTERNS):
                here, there = order[card], order[other]
                if here is None or there is None or card == other:
                    continue
                step, rest = divmod(there - here, at)
                third = here + step * gap
                if rest == 0 and abs(step) <= 1 and third in by_order:
                    complete[card, other, number] = by_order[third]
                    bonus[card, other, number] = STRAIGHT_BONUS if step else THREE_BONUS
    partners = [[other for other in cards if power(card, other)] for card in cards]
    return _Tables(
        rank=np.array([RANKS.index(card.rank) for card in CARDS]),
        points=derived.points[:, :-1].astype(np.float32),
        neighbor=(derived.points + OPENED_DRAW_VALUE * derived.draws)[:, :-1].astype(np.float32),
        partner=np.array([found[0] if found else -2 for found in partners]),
        power=derived.power.astype(np.float32),
        penalty=derived.penalty.astype(np.float32),
        complete=complete,
        bonus=bonus,
    )


class _Geometry(NamedTuple):
    """Cells of the grid; C stands for every place off it."""

    adjacent: Ints
    """[C, 4]."""
    second: Ints
    """[C, L * 6]: the cell of the second card, by line and pattern."""
    gap: Ints
    """[C, L * 6]: the cell of the third."""


@cache
def _geometry(rules: Rules) -> _Geometry:
    cells = range(rules.num_cells)

    def reach(which: int) -> Ints:
        distances = tuple(pattern[which] for pattern in PATTERNS)
        lines = [[rules.grid.line(cell, line, distances) for line in range(rules.num_lines)] for cell in cells]
        return np.array(lines).reshape(rules.num_cells, -1)

    return _Geometry(np.array(rules.grid.adjacent), reach(0), reach(1))


@cache
def _without_flush(rules: Rules) -> Rules:
    """Return the rules for `_threat`, which counts no flush. The other options left out do not change the points."""
    return replace(rules, edge_contact=False, flush=False, simpleton=False, match=False)


def action_features(rules: Rules, observation: Pieces, mask: Bools) -> ActionFeatures:
    """Compute the features of all legal actions under any rules.

    The observation is pieces [n, ...] with the preview, the mask bool [n, A].
    """
    tables, geometry = _tables(rules), _geometry(rules)
    n, num_cards, num_cells = len(mask), rules.num_cards, rules.num_cells
    legal = mask[:, : rules.num_plays_encoded].reshape(n, num_cards, num_cells)
    cells_open = np.logical_or.reduce(legal, axis=1)
    rows, actions = np.divmod(np.flatnonzero(legal), num_cards * num_cells)
    cards, cells = np.divmod(actions, num_cells)
    board = np.concatenate([observation["board"], np.full((n, 1), EMPTY, np.int8)], axis=1)
    empty = board == EMPTY
    empty[:, -1] = False
    hand = observation["hand"] > 0
    preview = observation["preview"]
    unseen, hidden = unseen_cards(rules, board, hand)

    # Own plays still to come after this one, and the cards kept for them.
    left = (rules.setup.filled - (~empty[:, :-1]).sum(axis=1) - 1) // rules.num_players
    keeps = hand.sum(axis=1) - 1
    pile = observer_for(rules).named_counts(observation)["pile"].astype(np.int64)
    points, draws = preview.reshape(n, -1, 2)[rows, actions].T
    draws = np.minimum(draws, pile[rows])
    draws_needed = np.minimum(draws, np.maximum(left - keeps, 0)[rows])

    # Cards of the hand in slots, so that not every card of the deck is looked at.
    slots = np.argsort(~hand, axis=1, kind="stable")[:, : max(int(keeps.max()) + 1, 1)]
    filled = np.arange(slots.shape[1]) <= keeps[:, None]
    of_slots = preview[np.arange(n)[:, None], slots]
    values = np.zeros((n, slots.shape[1], num_cells + 1), np.float32)
    values[:, :, :-1] = of_slots[..., 0] + DRAW_VALUE[rules.num_players == 1] * of_slots[..., 1]
    values[~filled] = UNPLAYABLE
    own_slot: Ints = (hand.cumsum(axis=1) - 1)[rows, cards]
    playable = np.where(cells_open[:, None, :], values[:, :, :-1], UNPLAYABLE)
    best_other_cell = best_other(playable, axis=2)[rows, own_slot, cells]
    best_other_card = best_other(playable, axis=1)[rows, own_slot, cells]

    # [4, m]: the adjacent cells of each play, as indices into all boards; sides come first, where NumPy adds fastest.
    around = geometry.adjacent.T.take(cells, axis=1) + rows * board.shape[1]
    free = empty.take(around)
    by_set_up = _set_up(tables, geometry, board, empty, hand, unseen, rows, cards, cells)
    average = (unseen @ np.maximum(tables.points[:num_cards, :num_cards], 0)) / hidden[:, None]
    empties = free.sum(axis=0)
    features = (
        draws,
        draws_needed,
        (rules.num_players == 1) & (left[rows] > 1) & (keeps[rows] + draws == 1),
        best_other_cell,
        best_other_card,
        _threat(_without_flush(rules), board, cells_open, unseen, hidden)[rows, cells],
        _opened_value(tables, board, values, slots, own_slot, rows, cards, around, free),
        average[rows, cards] * empties,
        *by_set_up,
        empties,
        tables.penalty[cards],
    )
    early = (left * rules.num_players / rules.num_plays).astype(np.float32)[rows]
    # One feature after the other, as they are written.
    columns = np.zeros((len(FEATURE_NAMES), len(rows)), np.float32)
    columns[0] = points
    for number, feature in enumerate(features, 1):
        columns[number] = feature
        np.multiply(columns[number], early, out=columns[len(FEATURES) + number])
    columns[1 + 2 * len(FEATURES) + tables.rank[cards], np.arange(len(rows))] = early
    loses = (rules.num_players == 1) & (left[rows] > 0) & (keeps[rows] + draws == 0)
    drawn_penalty = draws * (unseen @ tables.penalty[:num_cards] / hidden)[rows]
    return ActionFeatures(rows, actions, columns.T, loses, left[rows] == 0, drawn_penalty)


def unseen_cards(rules: Rules, board: npt.NDArray[np.int8], hand: Bools) -> tuple[Floats, Floats]:
    """Return 1 for each unseen card, float32 [n, K], and their number, float32 [n]. The number is at least 1.

    The board is int8 [n, C + 1], the hand bool [n, K].
    """
    unseen = np.zeros((len(board), rules.num_cards + 1), np.float32)
    unseen[:, rules.deck] = 1
    np.put_along_axis(unseen, board.astype(np.int64), 0, axis=1)  # EMPTY is the extra, last column
    unseen = unseen[:, :-1] * ~hand
    return unseen, np.maximum(unseen.sum(axis=1), 1)


def best_other(values: Floats, axis: int) -> Floats:
    """Return the largest of the other entries along an axis, float32 [...] -> [...]. It is at least `VALUE_FLOOR`."""
    if values.shape[axis] == 1:
        return np.full_like(values, VALUE_FLOOR)
    at = np.expand_dims(values.argmax(axis=axis), axis)
    others = values.copy()
    np.put_along_axis(others, at, -np.inf, axis=axis)
    best = np.broadcast_to(values.max(axis=axis, keepdims=True), values.shape).copy()
    np.put_along_axis(best, at, others.max(axis=axis, keepdims=True), axis=axis)
    np.maximum(best, VALUE_FLOOR, out=best)
    return best


def _threat(rules: Rules, board: npt.NDArray[np.int8], cells: Bools, unseen: Floats, hidden: Floats) -> Floats:
    """Average the unseen cards' points in each legal cell, float32 [n, C]. Negative points count 0.

    Args:
        rules: of the game.
        board: int8 [n, C + 1].
        cells: bool [n, C], the legal cells.
        unseen: float32 [n, K], see `unseen_cards`.
        hidden: float32 [n], their number.
    """
    rows, places = np.nonzero(cells)
    points = play_values(rules).all_plays(board, rows, places)[..., 0]
    gains = np.maximum(points, 0) * unseen.astype(np.int16).take(rows, axis=0)
    mean = np.zeros(cells.shape, np.float32)
    mean[rows, places] = gains.sum(axis=1, dtype=np.float32) / hidden[rows]
    return mean


def _opened_value(
    tables: _Tables,
    board: npt.NDArray[np.int8],
    values: Floats,
    slots: Ints,
    own_slot: Ints,
    rows: Ints,
    cards: Ints,
    around: Ints,
    free: Bools,
) -> Floats:
    """Sum the gains of the hand in adjacent free cells, [m].

    A gain is in value of the best other card.

    Args:
        tables: of the rules.
        board: int8 [n, C + 1].
        values: float32 [n, H, C + 1], of the cards in the slots of each hand.
        slots: int64 [n, H], the cards.
        own_slot: int64 [m], slot of the card played.
        rows: int64 [m], position of each play.
        cards: int64 [m], the card played.
        around: int64 [4, m], adjacent cells as indices into all boards.
        free: bool [4, m], whether they are empty.
    """
    other = slots.T.take(rows, axis=1)
    gain = tables.neighbor.take(other + cards * tables.neighbor.shape[1])
    slot, play = np.nonzero(other == tables.partner.take(cards))
    gain[slot, play] += tables.power[cards[play, None], board[rows[play]]].sum(axis=1)
    side, play = np.nonzero(free)
    before = values.transpose(1, 0, 2).reshape(len(other), -1).take(around[side, play], axis=1)
    before[own_slot[play], np.arange(len(play))] = UNPLAYABLE
    after = (before + gain.take(play, axis=1)).max(axis=0)
    opened = np.zeros(free.shape, np.float32)
    opened[side, play] = np.where(after > UNPLAYABLE / 2, after - before.max(axis=0), 0)
    total: Floats = opened.sum(axis=0)
    return total


def _set_up(
    tables: _Tables,
    geometry: _Geometry,
    board: npt.NDArray[np.int8],
    empty: Bools,
    hand: Bools,
    unseen: Floats,
    rows: Ints,
    cards: Ints,
    cells: Ints,
) -> tuple[Floats, Floats]:
    """Return ``setups`` and ``setups_unseen``, float32 [m] each. They are bonuses that a third card can complete.

    Args:
        tables: of the rules.
        geometry: of the rules.
        board: int8 [n, C + 1].
        empty: bool [n, C + 1].
        hand: bool [n, K].
        unseen: float32 [n, K], see `unseen_cards`.
        rows: int64 [m], position of each play.
        cards: int64 [m].
        cells: int64 [m].
    """
    num_cards, num_cells = hand.shape[1], len(geometry.second)
    is_rank = np.eye(len(RANKS) + 1, dtype=np.float32)[tables.rank[:num_cards]]
    in_hand, not_seen = hand @ is_rank, unseen @ is_rank / np.maximum(unseen.sum(axis=1), 1)[:, None]
    # The cells played into, and their few patterns with a second card and an empty cell.
    at = rows * num_cells + cells
    played = np.zeros(len(board) * num_cells, np.bool_)
    played[at] = True
    row, cell = np.divmod(np.flatnonzero(played), num_cells)
    seconds = board[row[:, None], geometry.second[cell]].astype(np.int64)
    found, number = np.nonzero((seconds != EMPTY) & empty[row[:, None], geometry.gap[cell]])
    counts = np.bincount(found, minlength=len(row))
    slot = np.arange(len(found)) - (counts.cumsum() - counts)[found]
    # A second card and a pattern; `EMPTY`, the last card of the tables, completes nothing.
    size = tables.complete[0].size
    patterns = np.full((int(counts.max(initial=0)), len(row)), size - len(PATTERNS))
    patterns[slot, found] = seconds[found, number] * len(PATTERNS) + number % len(PATTERNS)
    pattern = patterns.take((played.cumsum() - 1)[at], axis=1) + cards * size
    wanted, bonus = tables.complete.take(pattern), tables.bonus.take(pattern)
    # The card itself leaves the hand.
    by_rank = wanted + rows * is_rank.shape[1]
    held = in_hand.take(by_rank) - (wanted == tables.rank[cards])
    return (bonus * (held > 0)).sum(axis=0), (bonus * not_seen.take(by_rank)).sum(axis=0)


def set_ups(games: Batch, rows: Ints, cards: Ints, cells: Ints) -> tuple[Floats, Floats]:
    """Return ``setups`` and ``setups_unseen`` of plays, int64 [m] each -> float32 [m] each.

    The plays are of the seats to move.
    """
    rules = games.rules
    held = games.hands[np.arange(games.num_games), games.mover]
    hand = unpack(held[:, None], rules.num_cards).view(np.bool_)
    empty = games.board == EMPTY
    empty[:, -1] = False
    unseen, _ = unseen_cards(rules, games.board, hand)
    return _set_up(_tables(rules), _geometry(rules), games.board, empty, hand, unseen, rows, cards, cells)


@cache
def weights_for(rules: Rules, last: bool = False) -> Floats:
    """Return the weights of a game, float32 [len(FEATURE_NAMES)].

    They are a column of `WEIGHTS`. For the ``last`` play of a seat the card counts its points and its penalty, and the
    other seats may still gain.
    """
    column = WEIGHT_COLUMNS.index((rules.num_players, rules.start))
    weights = {name: WEIGHTS[name][column] for name in FEATURE_NAMES}
    if last:
        others = OTHERS_GAINS if rules.num_players > 1 else ()
        weights = {name: weights[name] if name in others else 0.0 for name in FEATURE_NAMES}
        weights |= {"points": 1.0, "penalty": 1.0}
    return np.array(list(weights.values()), np.float32)


def action_values(rules: Rules, observation: Pieces, mask: Bools) -> Floats:
    """Return values of all actions in points, float32 [n, A], under any rules.

    Illegal actions and announcements have -inf. The observation is pieces [n, ...] with the preview, the mask bool
    [n, A].
    """
    found = action_features(rules, observation, mask)
    table = np.full(mask.shape, -np.inf, np.float32)
    table[found.rows, found.actions] = values_of(rules, found)
    return table


def values_of(rules: Rules, found: ActionFeatures) -> Floats:
    """Return values of actions in points, float32 [m]."""
    values: Floats = found.features @ weights_for(rules)
    values[found.loses] += LOSS_VALUE
    if found.last.any():
        last = found.features @ weights_for(rules, last=True) - found.drawn_penalty
        values = np.where(found.last, last, values)
    return values
