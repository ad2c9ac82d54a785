"""Features of what the other hands may score in reply, and of the options of the rules.

Of the other hands only their sizes are known. Each is as good as dealt from the unseen cards, so that the expected
points of its best card, in a cell or anywhere, follow from the points of all unseen cards there. A network reads these
features if its layout has them (`quincunx_agents.quincunx.features.layout`); they come last.

Scales are not tuned: they bring usual values to the order of 1.
"""

from collections.abc import Sequence
from functools import cache
from math import lgamma
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from quincunx_agents.afterstates import NUMPY, Backend, Bools, Feature, Floats
from quincunx_env.quincunx.cards import EXCUSE, PAWNS
from quincunx_env.quincunx.rules import Rules

STEPS = (0, 15, 30)
"""Points above which gains of the best card of a hand are counted: none, a half and the whole of a three of a kind. Not
tuned."""

MOST_UNSEEN = 40
"""No more cards are unseen: one of the 41 lies face up."""


@cache
def _odds(backend: Backend = NUMPY) -> Floats:
    """[u, h, K]: probability that the best of h cards dealt from u ranked ones is the first, the second, and so on."""
    if backend != NUMPY:
        converted: Floats = backend.array(_odds())
        return converted
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


def expected_best(xp: Any, points: npt.NDArray[np.int16], unseen: Bools, odds: Sequence[Floats]) -> list[Floats]:
    """Expected points of the best card of each of some hands, where above each of `STEPS`, float32 [n, 3] each.

    Args:
        xp: functions of the arrays' library, as in `Backend`.
        points: int16 [n, K], of each card.
        unseen: [n, K], the cards from which the hands were dealt.
        odds: of each hand [n, K], see `_odds`.
    """
    ranked = -xp.sort(xp.where(unseen, -points, 0), axis=1)  # the best first; negative points count 0
    above = [xp.astype(xp.maximum(ranked - step, 0), xp.float32) for step in STEPS]
    return [xp.stack([xp.einsum("nk,nk->n", gains, each) for gains in above], axis=-1) for each in odds]


def best_card_odds(unseen: Bools, others: Floats, rules: Rules, backend: Backend) -> list[Floats]:
    """Odds of the best card of the next seat's hand and, with more than two players, of all other hands together.

    Args:
        unseen: bool [p, K], the cards in the pile and the other hands.
        others: [p, SEATS - 1], cards in the other hands, from the next seat on.
        rules: of the game.
        backend: of the arrays.

    Returns:
        One or two arrays, float32 [p, K]; see `_odds`.
    """
    xp, number = backend.xp, unseen.sum(axis=1)
    sizes = [xp.astype(size, xp.int64) for size in (others[:, 0], others.sum(axis=1))]
    return [
        _odds(backend)[number, xp.minimum(size, number), : rules.num_cards]
        for size in sizes[: max(rules.num_players - 1, 1)]
    ]


class CellReplies(NamedTuple):
    """What the replies to come score in w cells."""

    next_best: Floats
    """[w, 3]: expected points of the best card of the next seat's hand, where above each of `STEPS`."""
    others_best: Floats
    """[w, 3]: the same of all other hands together."""


CELL_REPLY_FEATURES: tuple[Feature[CellReplies], ...] = (
    Feature("next_best", 15, lambda s: s.next_best, "points of the next seat's best card above `STEPS`", len(STEPS)),
    Feature("others_best", 15, lambda s: s.others_best, "points of the others' best card above `STEPS`", len(STEPS)),
)
"""The features of a cell that describe the replies to come, [w, size] each."""


class PositionReplies(NamedTuple):
    """What the replies to come score in the position as a whole, and the options of the rules."""

    next_best: Floats
    """[j, 3]: expected points of the best card of the next seat's hand in its best cell, where above `STEPS`."""
    others_best: Floats
    """[j, 3]: the same of all other hands together."""
    own_cells: Floats
    """[j, 3]: most points of the hand in the three best cells."""
    next_cells: Floats
    """[j, 3]: expected points of the best card of the next seat's hand in the three best cells."""
    hand: Floats
    """[j, K]: 1 for each card kept."""
    share: Floats
    """[j, K]: share of each unseen card among all of them."""
    options: Bools
    """[4]: whether Excuse, Pawns, flush bonus and contact are played with."""


CONTEXT_REPLY_FEATURES: tuple[Feature[PositionReplies], ...] = (
    Feature("reply_next", 20, lambda s: s.next_best, "points of the next seat's best play above `STEPS`", len(STEPS)),
    Feature("reply_others", 20, lambda s: s.others_best, "points of the others' best play above `STEPS`", len(STEPS)),
    Feature("own_cells", 20, lambda s: s.own_cells, "most points of the hand in the three best cells", 3),
    Feature("next_cells", 20, lambda s: s.next_cells, "points of the next seat's best card in the three best cells", 3),
    Feature(
        "options",
        1,
        lambda s: s.options,
        "whether Excuse, Pawns, flush bonus and contact are played with",
        4,
    ),
    Feature("pawns", 1, lambda s: s.hand[:, PAWNS.start : PAWNS.stop].sum(axis=1), "Pawns kept"),
    Feature("excuse", 1, lambda s: s.hand[:, EXCUSE:].sum(axis=1), "whether the Excuse is kept"),
    Feature(
        "unseen_pawns", 1, lambda s: s.share[:, PAWNS.start : PAWNS.stop].sum(axis=1) * 5, "share of the Pawns unseen"
    ),
    Feature("unseen_excuse", 1, lambda s: s.share[:, EXCUSE:].sum(axis=1) * 20, "share of the Excuse unseen"),
)
"""Features of the position that describe the replies to come and the options, [j] or [j, size] each."""
