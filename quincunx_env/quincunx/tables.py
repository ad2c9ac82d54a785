"""Tables derived from the rules of scoring, as NumPy arrays.

`scoring` holds the rules and the packed tables of the engines in plain Python. The batch engine and the agents
share the tables built from it here.

Axes: all 41 cards, whichever are in the deck; an axis of 42 ends with an empty cell (index `EMPTY`, -1).
"""

from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from quincunx_env.core.cards import EMPTY
from quincunx_env.quincunx import scoring
from quincunx_env.quincunx.cards import CARDS


class DerivedTables(NamedTuple):
    """Tables by card."""

    penalty: npt.NDArray[np.int64]
    """int64 [41]: points that a card left in hand costs at the end of a round (1.5)."""
    points: npt.NDArray[np.int16]
    """int16 [41, 42]: basic points (1.4.1) and pair (1.4.4) of a card beside another; 0 beside an empty cell."""
    draws: npt.NDArray[np.int16]
    """int16 [41, 42]: cards that a card beside another draws (1.4.1), 0 or 1."""
    power: npt.NDArray[np.int16]
    """int16 [41, 42]: points that the second card, in the grid, adds to a power play in suits of the first (1.4.5)."""


@cache
def derived_tables() -> DerivedTables:
    """Return the tables; the arrays are shared and read-only."""
    cards, others = range(len(CARDS)), (*range(len(CARDS)), EMPTY)
    tables = DerivedTables(
        penalty=np.array([scoring.penalty([card]) for card in cards]),
        points=np.array(
            [
                [scoring.basic(card, other)[0] + scoring.PAIR_BONUS * scoring.pair(card, other) for other in others]
                for card in cards
            ],
            np.int16,
        ),
        draws=np.array([[scoring.basic(card, other)[1] for other in others] for card in cards], np.int16),
        power=np.array(
            [[scoring.power_points(CARDS[card].suits, [other]) for other in others] for card in cards], np.int16
        ),
    )
    for table in tables:
        table.setflags(write=False)
    return tables
