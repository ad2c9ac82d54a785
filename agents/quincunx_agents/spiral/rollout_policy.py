"""The rollout policy of the spiral game; see `quincunx_agents.search.determinized.RolloutPolicy`.

It plays the card with the highest difference between its value (`quincunx_agents.spiral.lines`) and a share of that of
the best reply. It uses all cards of a game: search calls it in determinized games.
"""

import numpy as np

from quincunx_agents.afterstates import Bools, Floats, Ints
from quincunx_agents.spiral.heuristic import NOT_IN_HAND, action_values
from quincunx_agents.spiral.lines import card_values
from quincunx_env.core.observation import Pieces
from quincunx_env.spiral.batch import Batch
from quincunx_env.spiral.rules import PLAYS, SPIRAL, Rules

REPLY_WEIGHT = -0.7
"""Weight of the best reply, the opponent's hand being known. Not tuned."""


def prior(rules: Rules, observation: Pieces, mask: Bools) -> Floats:
    """Values of all cards by `quincunx_agents.spiral.heuristic`, float32 [n, 52]; -inf where one is not in hand."""
    return action_values(rules, observation, mask)


def step(games: Batch, actions: Ints) -> None:
    """Play a card in each game."""
    games.step(actions)


def plays_left(games: Batch) -> int:
    """Plays until the deal of these games ends, all of them at the same stage."""
    return PLAYS - int(games.ply[0])


def rollout_actions(games: Batch) -> Ints:
    """The card of the highest value, less a share of that of the best reply, in each game, int64 [n]."""
    mask = games.mask()
    rows, cards = mask.nonzero()
    values = _values(games, rows, cards).astype(np.float32)
    if plays_left(games) > 1:
        after = games.fork(rows)
        after.board[np.arange(len(rows)), SPIRAL[int(games.ply[0]) + 1]] = cards
        after.ply += 1
        after.mover ^= 1
        at, replies = after.mask().nonzero()
        points = _values(after, at, replies)
        values += REPLY_WEIGHT * np.maximum.reduceat(points, np.searchsorted(at, np.arange(len(rows))))
    table = np.full(mask.shape, NOT_IN_HAND)
    table[rows, cards] = values
    chosen: Ints = table.argmax(axis=1)
    return chosen


def candidate_actions(games: Batch, count: int) -> Bools:
    """The ``count`` cards of the highest value in each game, or fewer, bool [n, 52]."""
    mask = games.mask()
    rows, cards = mask.nonzero()
    table = np.full(mask.shape, NOT_IN_HAND)
    table[rows, cards] = _values(games, rows, cards)
    best = np.zeros(mask.shape, np.bool_)
    np.put_along_axis(best, np.argpartition(table, -count, axis=1)[:, -count:], True, axis=1)
    return best & mask


def _values(games: Batch, rows: Ints, cards: Ints) -> Ints:
    """Values of cards to the seats to move, int64 [m]."""
    return card_values(games.rules, games.board, games.ply, rows, cards)
