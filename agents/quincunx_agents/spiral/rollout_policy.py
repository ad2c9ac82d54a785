"""Rollout policy of the spiral game; see `quincunx_agents.agent_specs.RolloutPolicy`.

The value of a card (`quincunx_agents.spiral.lines`) is lowered by a share of the best reply's value. The policy plays
the card where the difference is highest. It uses all cards of a game: search calls it in determinized games.

Axes: n games, m cards.
"""

import numpy as np

from quincunx_agents.afterstates import Bools, Ints
from quincunx_agents.spiral.heuristic import NOT_IN_HAND
from quincunx_agents.spiral.lines import card_values
from quincunx_env.spiral.batch import Batch
from quincunx_env.spiral.rules import PLAYS, SPIRAL

REPLY_WEIGHT = -0.7
"""Weight of the best reply, the opponent's hand being known. The last reply counts in full. Not tuned."""


def step(games: Batch, actions: Ints) -> None:
    """Play a card in each game, int64 [n]."""
    games.step(actions)


def plays_left(games: Batch) -> int:
    """Count the plays until the deal of these games ends. All games are at the same stage."""
    return PLAYS - int(games.ply[0])


def rollout_actions(games: Batch) -> Ints:
    """Choose cards by value, less a share of the best reply's, int64 [n]."""
    mask = games.mask
    rows, cards = mask.nonzero()
    values = _values(games, rows, cards).astype(np.float32)
    if (left := plays_left(games)) > 1:
        after = games.fork(rows)
        after.board[np.arange(len(rows)), SPIRAL[int(games.ply[0]) + 1]] = cards
        after.ply += 1
        after.mover ^= 1
        at, replies = after.mask.nonzero()
        points = _values(after, at, replies)
        best = np.maximum.reduceat(points, np.searchsorted(at, np.arange(len(rows))))
        values += (REPLY_WEIGHT if left > 2 else -1.0) * best
    table = np.full(mask.shape, NOT_IN_HAND)
    table[rows, cards] = values
    chosen: Ints = table.argmax(axis=1)
    return chosen


def candidate_actions(games: Batch, count: int) -> Bools:
    """Return the ``count`` highest-valued cards of each game, bool [n, 52]. A game may have fewer."""
    mask = games.mask
    rows, cards = mask.nonzero()
    table = np.full(mask.shape, NOT_IN_HAND)
    table[rows, cards] = _values(games, rows, cards)
    best = np.zeros(mask.shape, np.bool_)
    np.put_along_axis(best, np.argpartition(table, -count, axis=1)[:, -count:], True, axis=1)
    return best & mask


def _values(games: Batch, rows: Ints, cards: Ints) -> Ints:
    """Return values of cards to the seats to move, int64 [m] each -> int64 [m]."""
    return card_values(games.rules, games.board, games.ply, rows, cards)
