"""The spiral game: a card judged by what it makes at once and what it opens.

Where the next cards go is known. So every card is tried, and for the next few cells it is asked what the best card for
each is likely to make: the other player's, of which only those not seen are known, and one's own.
"""

from functools import cache
from math import comb

import numpy as np
import numpy.typing as npt

from quincunx_env.core.observation import Pieces
from quincunx_env.spiral.batch import Batch
from quincunx_env.spiral.cards import CARDS
from quincunx_env.spiral.rules import HAND, PLAYS, SPIRAL, Rules

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float32]

AHEAD = (-1.0, 0.8, -0.5)
"""Weights of the best card for the next cells: the other player's, one's own, the other player's again."""

NOTHING = np.float32(-1e6)
"""PlayScore of a card that is not in hand."""


def prior(observation: Pieces, mask: Bools) -> Floats:
    """See `quincunx_agents.search.determinized.Game`. Whether fifteens score shows in no observation, and only what a card makes at once
    takes them in.
    """
    rows, cards = mask.nonzero()
    own, other = observation["preview"][rows, cards].astype(np.float32).T
    worth = own - other
    # What a card makes for the other player is anything but 0 only if the full square is scored.
    at_the_end = observation["preview"][rows, :, 1].max(axis=1) > 0
    is_dealer = observation["counts"][rows, -1] > 0
    ply = observation["counts"][rows, 0].astype(np.int64)
    every = np.arange(len(rows))
    games = Batch(Rules(), len(rows))
    games.board[:] = observation["board"][rows]
    games.board[every, np.array(SPIRAL)[ply + 1]] = cards
    hand = observation["hand"][rows] > 0
    seen = np.zeros((len(rows), len(CARDS) + 1), np.bool_)  # EMPTY is the extra, last column
    np.put_along_axis(seen, games.board.astype(np.int64), True, axis=1)
    hand[every, cards] = False
    unseen = ~seen[:, :-1] & ~hand
    for ahead, weight in enumerate(AHEAD, start=1):
        is_own = ahead % 2 == 0
        reached = ply + ahead < PLAYS
        games.ply[:] = np.minimum(ply + ahead, PLAYS - 1)
        pool = (hand if is_own else unseen) & reached[:, None]
        at, card = pool.nonzero()
        row, column = games.value(card, at).T
        in_columns = is_dealer[at] == is_own
        made = np.where(at_the_end[at], np.where(in_columns, column - row, row - column), row + column)
        values = np.full(pool.shape, NOTHING)
        values[at, card] = made
        if is_own:
            best = values.max(axis=1)
        else:
            held = HAND - (ply + observation["counts"][rows, -1]) // 2
            best = _best_of(values, pool.sum(axis=1), held)
        worth += weight * np.where(reached, best, 0)
    table = np.full(mask.shape, -np.inf, np.float32)
    table[rows, cards] = worth
    return table


def _best_of(values: Floats, unseen: Ints, held: Ints) -> Floats:
    """What the best of ``held`` cards is expected to be worth, chosen by chance from those unseen, float32 [n].

    Args:
        values: [n, cards], less than any other for cards that are not unseen.
        unseen: [n], how many are.
        held: [n].
    """
    best = np.zeros(len(values), np.float32)
    values = -np.sort(-values, axis=1)
    for count, taken in {*zip(unseen.tolist(), held.tolist(), strict=True)}:
        at = (unseen == count) & (held == taken)
        best[at] = values[at, :count] @ _chances(count, taken)
    return best


@cache
def _chances(cards: int, held: int) -> Floats:
    """Chance that each of so many cards, the best first, is the best of those held, float32 [cards]."""
    chances = [comb(cards - 1 - place, held - 1) / comb(cards, held) for place in range(cards)]
    return np.array(chances, np.float32)


def spiral_heuristic(observation: Pieces, mask: Bools, rng: np.random.Generator) -> Ints:
    """Choose the card of greatest worth, ties by the lowest; see `quincunx_env.core.policy.Policy`."""
    best: Ints = prior(observation, mask).argmax(axis=1)
    return best


# --- For searching agents --------------------------------------------------------------------------------------------


def play(games: Batch, actions: Ints) -> None:
    """See `quincunx_agents.search.determinized.Game`."""
    games.step(actions)


def plays_left(games: Batch) -> int:
    """See `quincunx_agents.search.determinized.Game`."""
    return PLAYS - int(games.ply[0])


REPLY = -0.7
"""Weight of the best reply, when the other hand is known."""


def best(games: Batch) -> Ints:
    """See `quincunx_agents.search.determinized.Game`: the card that makes most, less a share of what the best reply to it makes."""
    mask = games.mask()
    rows, cards = mask.nonzero()
    worth = _made(games, rows, cards).astype(np.float32)
    if plays_left(games) > 1:
        after = games.fork(rows)
        after.board[np.arange(len(rows)), SPIRAL[int(games.ply[0]) + 1]] = cards
        after.ply += 1
        after.mover ^= 1
        at, replies = after.mask().nonzero()
        made = _made(after, at, replies)
        worth += REPLY * np.maximum.reduceat(made, np.searchsorted(at, np.arange(len(rows))))
    table = np.full(mask.shape, NOTHING)
    table[rows, cards] = worth
    chosen: Ints = table.argmax(axis=1)
    return chosen


def likely(games: Batch, count: int) -> Bools:
    """See `quincunx_agents.search.determinized.Game`: the cards that make most."""
    mask = games.mask()
    rows, cards = mask.nonzero()
    table = np.full(mask.shape, NOTHING)
    table[rows, cards] = _made(games, rows, cards)
    best = np.zeros(mask.shape, np.bool_)
    np.put_along_axis(best, np.argpartition(table, -count, axis=1)[:, -count:], True, axis=1)
    return best & mask


def _made(games: Batch, rows: Ints, cards: Ints) -> Ints:
    """What cards make for the seats to move; if the full square is scored, more than for the other player, [m]."""
    row, column = games.value(cards, rows).T
    made: Ints = row + column
    if games.rules.scoring == "end":
        is_dealer = games.mover[rows] != games.first[rows]
        made = np.where(is_dealer, column - row, row - column)
    return made
