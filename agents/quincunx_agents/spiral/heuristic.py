"""Heuristic of the spiral game: a card's value and expected replies.

The cells of the next cards are known. After each legal card each of the next cells has the value of the best card for
it. For own turns this is a card of the own hand. For the opponent's it is the expected maximum over a hand drawn at
random from the unseen cards. `quincunx_agents.spiral.lines` defines the value of a card.

Axes: n positions, K cards.
"""

from functools import cache
from math import comb

import numpy as np

from quincunx_agents.afterstates import Bools, Floats, Ints, observer_for
from quincunx_agents.spiral.lines import card_values
from quincunx_env.core.observation import Pieces
from quincunx_env.spiral.cards import CARDS
from quincunx_env.spiral.rules import HAND, PLAYS, SPIRAL, Rules

NEXT_CELL_WEIGHTS = (-1.0, 0.8, -0.5)
"""Weights of the best cards for the next cells: the opponent's, the own, the opponent's again. Not tuned."""

NOT_IN_HAND = np.float32(-1e6)
"""Points of a card that is not available: less than any real points."""


def action_values(rules: Rules, observation: Pieces, mask: Bools) -> Floats:
    """Return values of all cards in points, float32 [n, 52].

    Cards that are not in hand have -inf. The observation is pieces [n, ...], the mask bool [n, 52].
    """
    rows, cards = mask.nonzero()
    counts = observer_for(rules).named_counts(observation)
    plies, boards = counts["ply"].astype(np.int64), observation["board"].astype(np.int8, copy=False)
    result = card_values(rules, boards, plies, rows, cards).astype(np.float32)
    every, ply = np.arange(len(rows)), plies[rows]
    after = boards[rows]
    after[every, np.array(SPIRAL)[ply + 1]] = cards
    hand = observation["hand"][rows] > 0
    seen = np.zeros((len(rows), len(CARDS) + 1), np.bool_)  # EMPTY is the extra, last column
    np.put_along_axis(seen, after.astype(np.int64), True, axis=1)
    hand[every, cards] = False
    unseen = ~seen[:, :-1] & ~hand
    for ahead, weight in enumerate(NEXT_CELL_WEIGHTS, start=1):
        is_own = ahead % 2 == 0
        reached = ply + ahead < PLAYS
        pool = (hand if is_own else unseen) & reached[:, None]
        at, card = pool.nonzero()
        values = np.full(pool.shape, NOT_IN_HAND)
        values[at, card] = card_values(rules, after, np.minimum(ply + ahead, PLAYS - 1), at, card)
        if is_own:
            best = values.max(axis=1)
        else:
            held = HAND - (ply + counts["first"][rows]) // 2
            best = _expected_best(values, pool.sum(axis=1), held)
        result += weight * np.where(reached, best, 0)
    table = np.full(mask.shape, -np.inf, np.float32)
    table[rows, cards] = result
    return table


def _expected_best(values: Floats, unseen: Ints, held: Ints) -> Floats:
    """Return the expected maximum of ``held`` unseen cards' values, float32 [n].

    The cards are drawn without replacement. ``values`` are float32 [n, K], of cards that are not unseen less than
    all others. ``unseen`` and ``held`` count cards, int64 [n].
    """
    best = np.zeros(len(values), np.float32)
    values = -np.sort(-values, axis=1)
    for count, taken in {*zip(unseen.tolist(), held.tolist(), strict=True)}:
        at = (unseen == count) & (held == taken)
        best[at] = values[at, :count] @ _chances(count, taken)
    return best


@cache
def _chances(cards: int, held: int) -> Floats:
    """Return each card's chance to be the best drawn, float32 [cards]. ``held`` of them are drawn; ranks descend."""
    chances = [comb(cards - 1 - place, held - 1) / comb(cards, held) for place in range(cards)]
    return np.array(chances, np.float32)
