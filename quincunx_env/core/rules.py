"""The interface that engines and environments need of the rules of a game."""

from collections.abc import Hashable, Sequence
from typing import Protocol


class BaseRules(Hashable, Protocol):
    """Options of a game, and quantities that follow from them. Each game has a frozen dataclass of its options."""

    @property
    def num_players(self) -> int:
        """Seats at the table."""
        ...

    @property
    def num_rounds(self) -> int:
        """Rounds of a game, each with its own deal."""
        ...

    @property
    def num_cards(self) -> int:
        """Length of every axis of cards."""
        ...

    @property
    def num_cells(self) -> int:
        """Length of every axis of cells."""
        ...

    @property
    def num_actions(self) -> int:
        """Number of actions; an action is an integer from 0 to ``num_actions - 1``."""
        ...

    @property
    def deck(self) -> Sequence[int]:
        """Ids of the cards in the deck, ascending."""
        ...

    @property
    def num_dealt(self) -> int:
        """Number of cards that a deal holds."""
        ...

    @property
    def hand_size(self) -> int:
        """Cards dealt to each seat."""
        ...
