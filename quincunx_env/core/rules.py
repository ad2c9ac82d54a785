"""What the engines and doors ask of the rules of any game here."""

from collections.abc import Hashable, Sequence
from typing import Protocol


class BaseRules(Hashable, Protocol):
    """Options of a game, and what follows from them. A game's own class is a frozen dataclass of its options."""

    @property
    def num_players(self) -> int:
        """Seats at the table."""
        ...

    @property
    def num_rounds(self) -> int:
        """Rounds of an episode, each from a deal of its own."""
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
        """Actions are the integers below this."""
        ...

    @property
    def deck(self) -> Sequence[int]:
        """Ids of the cards that are shuffled, ascending."""
        ...

    @property
    def num_dealt(self) -> int:
        """How many of them a deal holds."""
        ...

    @property
    def hand_size(self) -> int:
        """Cards dealt to each seat."""
        ...
