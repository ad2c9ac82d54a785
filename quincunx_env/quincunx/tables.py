"""Tables derived from the rules of scoring, as NumPy arrays.

`scoring` holds the rules and the packed tables of the engines in plain Python. The batch engine, the oracle and the
agents share the tables built from it here.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from quincunx_env.core.cards import EMPTY
from quincunx_env.quincunx import scoring
from quincunx_env.quincunx.cards import CARDS
from quincunx_env.quincunx.rules import Rules


class DerivedTables(NamedTuple):
    """Tables by card.

    Axes: K = 41 cards, whichever are in the deck; an axis of K + 1 ends with an empty cell (index `EMPTY`, -1).
    """

    penalty: npt.NDArray[np.int64]
    """[K]: points that a card left in hand costs at the end of a round (1.5)."""
    points: npt.NDArray[np.int16]
    """[K, K + 1]: basic points (1.4.1) and pair (1.4.4) of a card beside another; 0 beside an empty cell."""
    draws: npt.NDArray[np.int16]
    """[K, K + 1]: cards that a card beside another draws (1.4.1), 0 or 1."""
    power: npt.NDArray[np.int16]
    """[K, K + 1]: points that the second card, in the grid, adds to a power play in the suits of the first (1.4.5)."""
    line_bonus: npt.NDArray[np.int16]
    """[2**16]: the bonus of row and column together (see `scoring.Tables.bonus`). The index has the code of the row in
    the low byte and of the column in the high byte."""


def derived_tables(rules: Rules) -> DerivedTables:
    """Return the tables of a game; the arrays are shared and read-only."""
    return _derived_tables(scoring.tables(rules).bonus)


@cache
def _derived_tables(bonus: tuple[tuple[int, ...], ...]) -> DerivedTables:
    cards, others = range(len(CARDS)), (*range(len(CARDS)), EMPTY)
    row, column = np.array(bonus[:2], np.int16)
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
        line_bonus=(row[None, :] + column[:, None]).reshape(-1),
    )
    for table in tables:
        table.setflags(write=False)
    return tables
