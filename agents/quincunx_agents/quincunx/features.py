"""What a player can judge of Quincunx: the position after each legal play, in numbers that a small network reads.

All that is hidden after a play are the cards to be drawn and the other hands. Of each empty cell it is told what the
cards of the hand and the unseen cards would score in it; of the position as a whole, what the hand and the grid
promise, and how far the round has come. Turning or mirroring the grid changes nothing.

The basic deck, two to four players from both starts and the solitaire; matches are played round by round.
"""

from functools import cache
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
from quincunx_agents.quincunx import heuristic
from quincunx_env.core.cards import EMPTY
from quincunx_env.core.observation import Pieces
from quincunx_env.quincunx import scoring
from quincunx_env.quincunx.cards import BASIC_DECK, CARDS, SUITS
from quincunx_env.quincunx.rules import OPEN_SPAN, Rules

K = len(BASIC_DECK)
ACES, CROWNS = slice(0, 6), slice(30, 36)
DRAW_VALUE = 8.0
"""Points that a draw is taken for where one number must say how good a card is in a cell."""
NOTHING = np.float32(-30.0)
"""PlayScore of a card that is not there."""
CHUNK = 1024
"""Positions described at once: few enough to stay in the cache."""


class _Tables(NamedTuple):
    """Axes: K cards, C cells, an adjacent card or `EMPTY` (-1, the last)."""

    words: npt.NDArray[np.signedinteger]
    """[places, K + 1, K]: what a neighbour adds to the sum of each card (`scoring.tables`)."""
    bonus: tuple[npt.NDArray[np.int16], ...]
    """For each pair of lines, by the codes of both: their bonuses."""
    around: Ints
    """[C, places]: the cells in reach."""
    adjacent: Ints
    """[C, 4]."""
    suits: Floats
    """[K, 6]."""
    ranks: Floats
    """[K, 10]."""
    power: Floats
    """[K + 1, 6]: what a card in the grid adds to a power play in each suit."""
    penalty: Floats
    """[K]."""
    windows: Ints
    """[windows, 3]: the cells of every three in line."""
    joined: Ints
    """[pairs, 2]: cells that share an edge."""
    pair_points: Floats
    """[K, K]: what two adjacent cards score, basic points and pair."""
    pair_draws: Floats
    """[K, K]: what they draw."""


@cache
def _tables(rules: Rules) -> _Tables:
    plain = scoring.tables(rules)
    words = np.array(plain.words, np.int64)[:K]
    words = np.concatenate([words[:, :, :K], words[:, :, -1:]], axis=2).transpose(1, 2, 0)
    bonus = np.array(plain.bonus, np.int16)
    values = np.array([CARDS[card].value for card in BASIC_DECK])
    power = [[scoring.power_points(1 << bit, [card]) for bit in range(len(SUITS))] for card in (*BASIC_DECK, EMPTY)]
    cells = range(rules.num_cells)
    threes = [(cell, *rules.grid.line(cell, line, (1, 2))) for cell in cells for line in range(rules.num_lines)]
    return _Tables(
        words=np.ascontiguousarray(words, np.int32 if words.max() < 2**27 else np.int64),
        bonus=tuple(
            (bonus[line][None, :] + bonus[line + 1][:, None]).reshape(-1) for line in range(0, rules.num_lines, 2)
        ),
        around=np.array(plain.around, np.int64),
        adjacent=np.array(rules.grid.adjacent),
        suits=np.array(
            [[CARDS[card].suits >> bit & 1 for bit in range(len(SUITS))] for card in BASIC_DECK], np.float32
        ),
        ranks=np.eye(10, dtype=np.float32)[values - 1],
        power=np.array(power, np.float32),
        penalty=np.array([scoring.penalty([card]) for card in BASIC_DECK], np.float32),
        windows=np.array([three for three in threes if rules.grid.off not in three]),
        joined=np.array([(cell, near) for cell in cells for near in rules.grid.adjacent[cell] if near < cell]),
        pair_points=np.array(
            [
                [scoring.basic(card, other)[0] + scoring.PAIR_BONUS * scoring.pair(card, other) for other in BASIC_DECK]
                for card in BASIC_DECK
            ],
            np.float32,
        ),
        pair_draws=np.array(
            [[scoring.basic(card, other)[1] for other in BASIC_DECK] for card in BASIC_DECK], np.float32
        ),
    )


MOST_CELLS = 24
"""No grid has more empty cells, and no position of the open start more that a card may come to next."""
LAYOUT = FeatureLayout(sets=((MOST_CELLS, 18),), context=95)
"""Cells; numbers of the whole."""


def afterstates_of(rules: Rules, observation: Pieces, mask: Bools, use_known_values: bool = True) -> Afterstates:
    """Describe the position after every legal play.

    Args:
        rules: which game.
        observation: pieces [n, ...] with the preview.
        mask: bool [n, A].
        use_known_values: tell what is still to come where it is known.
    """
    tables, num_cells, players = _tables(rules), rules.num_cells, rules.num_players
    n = len(mask)
    rows, actions = np.divmod(np.flatnonzero(mask), rules.num_actions)
    cards, cells = np.divmod(actions, num_cells)
    points, draws = observation["preview"].reshape(n, -1, 2)[rows, actions].T.astype(np.float32)
    counts = {name: count.astype(np.float32) for name, count in observer_for(rules).named_counts(observation).items()}
    draws = np.minimum(draws, counts["pile"][rows])
    board = np.concatenate([observation["board"], np.full((n, 1), EMPTY, np.int8)], axis=1)
    hand = observation["hand"].astype(np.float32)
    unseen = np.ones((n, K + 1), np.float32)
    np.put_along_axis(unseen, board.astype(np.int64), 0, axis=1)  # EMPTY is the extra, last column
    unseen = unseen[:, :-1] - hand
    hidden = np.maximum(unseen.sum(axis=1), 1)
    left = rules.setup.filled - (board != EMPTY).sum(axis=1) - 1  # plays of all seats after this one
    keeps = hand.sum(axis=1) - 1
    others = np.zeros((n, SEATS - 1), np.float32)
    ahead = np.zeros((len(rows), SEATS - 1), np.float32)
    for seat in range(1, players):
        others[:, seat - 1] = counts[f"hand_size_{seat}"]
        ahead[:, seat - 1] = (counts["score_0"] - counts[f"score_{seat}"])[rows] + points

    penalties = (hand @ tables.penalty)[rows] - tables.penalty[cards]
    average = (unseen @ tables.penalty / hidden)[rows]
    last = (left[rows] == 0) & use_known_values
    # The cards drawn last, and the other hands, cost what unseen cards cost on average.
    to_come = np.full((len(rows), SEATS), np.nan, np.float32)
    to_come[last, 0] = (-average * draws - penalties)[last]
    to_come[last, 1:] = (-average[:, None] * others[rows])[last]
    if players == 1:
        lost = (left[rows] > 0) & (keeps[rows] + draws == 0)
        to_come[lost] = 0
        to_come[lost, 0] = -(counts["score_0"][rows] + points)[lost]  # a lost round is worth nothing in all
    judged = []
    unknown = np.isnan(to_come[:, 0])
    for stage in np.unique(left[rows[unknown]]):
        stage_plays = np.flatnonzero(unknown & (left[rows] == stage))
        for start in range(0, len(stage_plays), CHUNK):
            at = stage_plays[start : start + CHUNK]
            row, each = rows[at], np.arange(len(at))
            after, kept = board[row], hand[row]
            after[each, cells[at]] = cards[at]
            kept[each, cards[at]] = 0
            pile = counts["pile"][row] - draws[at]
            described = describe(rules, after, kept, unseen[row], draws[at], pile, others[row], ahead[at])
            judged.append((at, described))
    return Afterstates(rows, actions, points, to_come, tuple(judged))


def shortlist(rules: Rules, observation: Pieces, mask: Bools, count: int) -> Bools:
    """See `quincunx_agents.afterstates.Positions`: the plays that the heuristic likes best."""
    if not count:
        return mask
    table = heuristic.action_values(rules, observation, mask)
    count = min(count, table.shape[1])
    best = np.zeros(mask.shape, np.bool_)
    np.put_along_axis(best, np.argpartition(table, -count, axis=1)[:, -count:], True, axis=1)
    return best & mask


def describe(
    rules: Rules,
    board: npt.NDArray[np.int8],
    hand: Floats,
    unseen: Floats,
    draws: Floats,
    pile: Floats,
    others: Floats,
    ahead: Floats,
) -> AfterstateFeatures:
    """Say of positions after a play, all at the same stage, what the network reads.

    Args:
        rules: which game.
        board: int8 [j, C + 1].
        hand: 1 for each card kept, [j, K].
        unseen: 1 for each card in the pile or another hand, [j, K].
        draws: cards to be drawn, [j].
        pile: cards in the pile then, [j].
        others: cards in the other hands, from the next seat on, [j, SEATS - 1].
        ahead: points of this round more than each other seat has, [j, SEATS - 1].
    """
    tables, num_cells, players = _tables(rules), rules.num_cells, rules.num_players
    j, every = len(board), np.arange(len(board))
    possible, playable = _open_cells(rules, board)
    owner, cell = np.nonzero(playable)
    near = board[owner[:, None], tables.around[cell]]
    words = tables.words[0].take(near[:, 0], axis=0, mode="wrap")
    for place in range(1, near.shape[1]):
        words += tables.words[place].take(near[:, place], axis=0, mode="wrap")
    points = ((words & scoring.BASIC_MASK) - 4 * scoring.BASIC_OFFSET).astype(np.float32)
    for number, bonus in enumerate(tables.bonus):
        points += bonus.take(words >> scoring.CODE_SHIFT + 16 * number & 0xFFFF)
    suit_totals = tables.power[board[:, :num_cells]].sum(axis=1)
    for ends in (ACES, CROWNS):
        points[:, ends] += (words[:, ends] >> scoring.POWER_SHIFT & 1) * suit_totals[owner]
    drawn = (words >> scoring.DRAWS_SHIFT & scoring.DRAWS_MASK).astype(np.float32)
    touching = (board[owner[:, None], tables.adjacent[cell]] != EMPTY).sum(axis=1)
    edges = (tables.adjacent == num_cells).sum(axis=1)[cell]

    # Each position's cells side by side, as many as the most have.
    number = playable.sum(axis=1)
    most = max(int(number.max()), 1)
    at = (owner, np.arange(len(owner)) - (number.cumsum() - number)[owner])
    there = np.arange(most) < number[:, None]

    def in_rows(values: npt.NDArray[np.generic], nothing: float = 0.0) -> Floats:
        if len(values) == j * most:
            return values.reshape(j, most, *values.shape[1:]).astype(np.float32, copy=False)
        dense = np.full((j, most, *values.shape[1:]), nothing, np.float32)
        dense[at] = values
        return dense

    points, drawn = in_rows(points, float(NOTHING)), in_rows(drawn)
    worth = points + np.float32(DRAW_VALUE) * drawn
    positive = np.maximum(worth, 0)

    # Cards of the hand in slots, so that not every card is looked at; slots first, where NumPy reduces fastest.
    size = hand.sum(axis=1)
    slots = np.argsort(-hand, axis=1, kind="stable")[:, : max(int(size.max()), 2)].T
    filled = np.arange(len(slots))[:, None] < size
    each, gap = every[None, :, None], np.arange(most)
    own_draws = drawn[each, gap, slots[:, :, None]] * filled[:, :, None]
    own_worth = np.where(filled[:, :, None], worth[each, gap, slots[:, :, None]], NOTHING)
    own_points = own_worth - np.float32(DRAW_VALUE) * own_draws
    others_worth = own_worth.copy()
    np.put_along_axis(others_worth, own_worth.argmax(axis=0)[None], NOTHING, axis=0)
    share = unseen / np.maximum(unseen.sum(axis=1, keepdims=True), 1)
    likely = share[:, :, None]
    touching, edges = in_rows(touching), in_rows(edges)
    cells = np.stack(
        [
            # whether there is a cell at all
            there,
            # the best card of the hand here, and the second best
            own_worth.max(axis=0) / 20,
            others_worth.max(axis=0) / 20,
            # most points and draws that the hand can make here, and all of both
            own_points.max(axis=0) / 20,
            own_draws.max(axis=0),
            np.maximum(own_points, 0).sum(axis=0) / 30,
            own_draws.sum(axis=0) / 2,
            # what an unseen card makes here on average: points, worth, gains, large gains, draws
            (points @ likely)[..., 0] / 5,
            (positive @ likely)[..., 0] / 10,
            (np.maximum(points, 0) @ likely)[..., 0] / 5,
            (np.maximum(points - 15, 0) @ likely)[..., 0] / 5,
            (drawn @ likely)[..., 0] * 3,
            # cards it touches, and sides at the edge of the grid
            *(touching == number for number in range(5)),
            edges,
        ],
        axis=2,
        dtype=np.float32,
    )
    cells *= there[:, :, None]

    best_worth, most_drawn = worth.max(axis=1) / 20, drawn.max(axis=1)
    own_best = np.where(filled, best_worth[each[..., 0], slots], NOTHING / 20)
    own_best_points = np.where(filled, points.max(axis=1)[each[..., 0], slots] / 20, NOTHING / 20)
    left = rules.setup.filled - (board != EMPTY).sum(axis=1)
    need = left // players - size - draws
    whole = np.column_stack(
        [
            *_begun(tables, board, possible, hand, unseen),
            # empty cells side by side
            possible[:, tables.joined].all(axis=2).sum(axis=1) / 10,
            # what the cards of the hand make beside each other, and unseen cards beside them
            (hand @ np.maximum(tables.pair_points, 0) * hand).sum(axis=1) / 50,
            (hand @ tables.pair_draws * hand).sum(axis=1) / 5,
            (share @ np.maximum(tables.pair_points, 0) * hand).sum(axis=1) / 10,
            (share @ tables.pair_draws * hand).sum(axis=1),
            # the stage of the round, and cards for the plays still to come
            draws / 2,
            left / 10,
            size / 5,
            pile / 20,
            others[:, 0] / 10,
            need / 4,
            np.maximum(need, 0) / 3,
            need > 0,
            size == 0,
            size + draws == 1,
            size + draws == 2,
            left == 1,
            left == 2,
            left == 3,
            # what cards would cost at the end
            hand @ tables.penalty / 40,
            share @ tables.penalty / 10,
            # each card of the hand, and each unseen one, in its best cell
            (own_best * filled).sum(axis=0) / 5,
            own_best.max(axis=0),
            (own_best_points * filled).sum(axis=0) / 5,
            (most_drawn * hand).sum(axis=1) / 4,
            ((own_best_points < 0) & filled).sum(axis=0) / 3,
            (share * best_worth).sum(axis=1),
            (share * most_drawn).sum(axis=1),
            (share * np.minimum(best_worth, 1)).sum(axis=1),
            (share * np.maximum(best_worth - 1, 0)).sum(axis=1),
            # Aces and Crowns of one suit
            (hand[:, ACES] * hand[:, CROWNS]).sum(axis=1),
            # ranks and suits
            hand @ tables.ranks,
            hand @ tables.suits / 3,
            share @ tables.ranks * 5,
            # what power plays would make
            suit_totals / 20,
            hand[:, ACES] * suit_totals / 20,
            hand[:, CROWNS] * suit_totals / 20,
            # which game it is, whose turn comes last, hands and scores of the others
            *(np.full(j, players == number) for number in range(2, SEATS + 1)),
            np.full(j, rules.start == "open"),
            *((left % players == number) & (players > 1) for number in range(SEATS)),
            others[:, 1:] / 10,
            ahead / 50,
        ]
    )
    return AfterstateFeatures((cells,), whole.astype(np.float32))


def _open_cells(rules: Rules, board: npt.NDArray[np.int8]) -> tuple[Bools, Bools]:
    """Cells where a card may still come in this round, and those where one may come next, bool [j, C + 1] each.

    In the solitaire with contact the two are taken to be the same.
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


def _begun(
    tables: _Tables, board: npt.NDArray[np.int8], possible: Bools, hand: Floats, unseen: Floats
) -> tuple[Floats, ...]:
    """Threes in line of which one card lies: how many the hand and the unseen cards could still complete, [j] each.

    First threes of a kind, then straights, by where the two missing cards come from: both the hand, the hand and the
    unseen cards, both the unseen ones. Last how many threes in line are wholly empty.
    """
    j = len(board)
    lying = board[:, tables.windows]
    there = lying != EMPTY
    gaps = possible[:, tables.windows].sum(axis=2)
    at, window = np.nonzero((gaps == 2) & (there.sum(axis=2) == 1))
    place = there[at, window].argmax(axis=1)
    # Two ranks of margin on either side, which nobody holds.
    rank = tables.ranks.argmax(axis=1)[lying[at, window, place]] + 2
    margin = np.zeros((j, 2), np.float32)
    own = np.concatenate([margin, hand @ tables.ranks, margin], axis=1)
    other = np.concatenate([margin, unseen @ tables.ranks, margin], axis=1)
    first = np.array([1, 0, 0])[place] - place
    second = np.array([2, 2, 1])[place] - place

    def count(what: Floats) -> Floats:
        return np.bincount(at, what, j).astype(np.float32)

    held, hidden = own[at, rank], other[at, rank]
    found = [count(held >= 2), count((held >= 1) * hidden) / 2, count(hidden * (hidden - 1)) / 5]
    straights = [np.zeros(j, np.float32) for _ in range(3)]
    for slope in (-1, 1):
        one, two = rank + slope * first, rank + slope * second
        own_one, own_two, other_one, other_two = own[at, one], own[at, two], other[at, one], other[at, two]
        has_one, has_two = own_one > 0, own_two > 0
        straights[0] += count(has_one & has_two)
        straights[1] += count(has_one * other_two + has_two * other_one) / 4
        straights[2] += count(other_one * other_two) / 10
    return (*found, *straights, (gaps == 3).sum(axis=1) / np.float32(5))
