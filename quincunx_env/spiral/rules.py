"""Rules of the spiral game: options and the spiral's geometry (RULES.md 2.1, 2.2, 2.5)."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from quincunx_env.core.integers import with_checked_names
from quincunx_env.core.rules import BaseRules, check_options, described, option
from quincunx_env.spiral.cards import CARDS

SIDE = 5
"""Rows and columns of the square; a cell is its index ``row * SIDE + column``."""

NUM_CELLS = SIDE * SIDE


def _spiral() -> tuple[int, ...]:
    """List the cells from the centre on. The spiral goes right, down, left, up, each length twice, then one longer."""
    row = column = SIDE // 2
    cells = [row * SIDE + column]
    steps = ((0, 1), (1, 0), (0, -1), (-1, 0))
    for turn in range(2 * SIDE - 1):
        for _ in range(min(turn // 2 + 1, SIDE - 1)):
            row, column = row + steps[turn % 4][0], column + steps[turn % 4][1]
            cells.append(row * SIDE + column)
    return tuple(cells)


SPIRAL = _spiral()
"""The cell of the starter, then the cells of the plays in order."""

LINES = tuple(
    (tuple(range(row * SIDE, (row + 1) * SIDE)), tuple(range(column, NUM_CELLS, SIDE)))
    for row in range(SIDE)
    for column in range(SIDE)
)
"""The cells of the row, then of the column of each cell."""

ROWS = tuple(LINES[row * SIDE][0] for row in range(SIDE))
COLUMNS = tuple(LINES[column][1] for column in range(SIDE))

PLAYS = NUM_CELLS - 1
HAND = 13
"""Cards dealt to each player; the last of them stays unused."""

LINE_LIMIT = 41
"""Upper bound of the points of a play in a line: kinds 12, runs 12, a flush of 5, and six fifteens 12."""


@with_checked_names
@dataclass(frozen=True, repr=False)
class Rules(BaseRules):
    """The options of the spiral game.

    Raises:
        ValueError: for an invalid option; the message names the valid ones.
    """

    game: ClassVar[str] = "spiral"
    """Name of the game, see `quincunx_env.registry.GAMES`."""
    scoring: Literal["play", "end"] = option(
        "play",
        "scoring",
        {"play": "every play at once", "end": "the full square at the end"},
        "At the end the dealer scores the columns, the other player the rows.",
    )
    fifteens: bool = option(
        False,
        "fifteens",
        "2 points for each set of cards in a line that sums to 15, court cards as 10; during play it must hold your "
        "card",
    )
    deals: Literal[1, 2, 4] = option(
        2, "deals", dict.fromkeys((1, 2, 4), ""), "The rounds of a game; a single one is for training."
    )

    def __post_init__(self) -> None:
        check_options(self)

    def __repr__(self) -> str:
        return described(self)

    @property
    def num_players(self) -> int:
        """Seats at the table: always two."""
        return 2

    @property
    def num_plays(self) -> int:
        """Plays that fill the square."""
        return PLAYS

    @property
    def points_range(self) -> tuple[int, int]:
        """Bounds of a seat's points, far from what occurs. A seat plays 12 cards a deal, each in two lines."""
        return 0, PLAYS * LINE_LIMIT * self.deals

    @property
    def num_rounds(self) -> int:
        """Rounds of a game; a round is a deal."""
        return self.deals

    @property
    def deck(self) -> range:
        """The whole pack."""
        return range(len(CARDS))

    @property
    def num_dealt(self) -> int:
        """The starter and two hands; the other 25 cards stay face down."""
        return 1 + 2 * HAND

    @property
    def hand_size(self) -> int:
        """Cards dealt to each player."""
        return HAND

    @property
    def num_cards(self) -> int:
        """Length of every axis of cards."""
        return len(CARDS)

    @property
    def num_cells(self) -> int:
        """Length of every axis of cells."""
        return NUM_CELLS

    @property
    def num_actions(self) -> int:
        """Number of actions: cards, whose cells the spiral determines."""
        return len(CARDS)


def title(rules: Rules) -> str:
    """Return the heading of results under these rules."""
    return "Spiral game"
