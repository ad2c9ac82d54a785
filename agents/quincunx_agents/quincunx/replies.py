"""Expected scores of replies by the other hands.

Of the other hands only their sizes are known. Each is equivalent to one dealt from the unseen cards. The expected
points of its best card, in a cell or anywhere, therefore follow from the points of all unseen cards there.

Axes: n cells or positions, p positions, K cards.
"""

from collections.abc import Sequence
from functools import cache
from math import lgamma

import numpy as np
import numpy.typing as npt

from quincunx_agents.afterstates import Bools, Floats
from quincunx_env.quincunx.rules import Rules

STEPS = (0, 15, 30)
"""Points above which gains of the best card of a hand are counted: 0, half and all of a three of a kind. Not tuned."""

MOST_UNSEEN = 40
"""No more cards are unseen: one of the 41 lies face up."""


@cache
def _odds() -> Floats:
    """Return the odds of a hand's best card, float32 [41, 41, 41].

    Entry [u, h, k]: u cards in order, h of them dealt, number k is the best of these.
    """
    unseen, held, worse = np.ogrid[: MOST_UNSEEN + 1, : MOST_UNSEEN + 1, : MOST_UNSEEN + 2]
    log = np.array([lgamma(number + 1) for number in range(MOST_UNSEEN + 1)])
    possible = (unseen >= held + worse) & (unseen >= held)
    rest = np.maximum(unseen - worse, 0)
    missed = np.where(
        possible,
        np.exp(log[rest] - log[np.maximum(rest - held, 0)] - log[unseen] + log[np.maximum(unseen - held, 0)]),
        0,
    )
    missed[:, :, 0] = 1
    return (missed[:, :, :-1] - missed[:, :, 1:]).astype(np.float32)


def expected_best(points: npt.NDArray[np.int16], unseen: Bools, odds: Sequence[Floats]) -> list[Floats]:
    """Return expected points of each hand's best card, float32 [n, 3] each.

    Points count above each of `STEPS`. Without hands, in the solitaire, it is one array of zeros.

    Args:
        points: int16 [n, K], of each card.
        unseen: bool [n, K], the cards from which the hands were dealt.
        odds: float32 [n, K] of each hand, see `_odds`.
    """
    if not odds:
        return [np.zeros((len(points), len(STEPS)), dtype=np.float32)]
    ranked = -np.sort(np.where(unseen, -points, 0), axis=1)  # the best first; negative points count 0
    above = [np.maximum(ranked - step, 0).astype(np.float32) for step in STEPS]
    return [np.stack([np.einsum("nk,nk->n", gains, each) for gains in above], axis=-1) for each in odds]


def best_card_odds(unseen: Bools, others: Floats, rules: Rules) -> list[Floats]:
    """Return the odds of the next seat's best card and, with more than two players, of all other hands together.

    Args:
        unseen: bool [p, K], the cards in the pile and the other hands.
        others: float32 [p, SEATS - 1], cards in the other hands, from the next seat on.
        rules: of the game.

    Returns:
        No, one or two arrays, float32 [p, K]; see `_odds`.
    """
    number = unseen.sum(axis=1)
    sizes = [size.astype(np.int64) for size in (others[:, 0], others.sum(axis=1))]
    return [_odds()[number, np.minimum(size, number), : rules.num_cards] for size in sizes[: rules.num_players - 1]]
