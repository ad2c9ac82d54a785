"""How the actions of a game are written, and what a position has to tell: what all games have in common."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar, Generic, TypeVar

from quincunx_env.core.cards import EMPTY, CardNames
from quincunx_env.core.game import BaseGame, IllegalAction

AnyGame = TypeVar("AnyGame", bound=BaseGame[Any, Any])


class BaseNotation(ABC, Generic[AnyGame]):
    """How a game is written. It has no state: there is one of each game, in `quincunx_env.registry`."""

    NAMES: ClassVar[CardNames]

    # --- What a game says --------------------------------------------------------------------------------------------

    @abstractmethod
    def print_action(self, rules: Any, action: int) -> str:
        """Write an action of the engines: ``2MK (1, 3)``."""

    @abstractmethod
    def read_action(self, rules: Any, text: str) -> int:
        """The inverse of `print_action`; whether the action is legal it does not ask.

        Raises:
            ValueError: if no action is written like that; the message tells how they are.
        """

    @abstractmethod
    def encode_play(self, rules: Any, card: int, cell: int) -> int:
        """The action that plays a card into a cell."""

    @abstractmethod
    def decode_play(self, game: AnyGame, action: int) -> tuple[int, int]:
        """Card and cell of a play, or of the play whose points an announcement tells."""

    @abstractmethod
    def legal_plays(self, game: AnyGame) -> Iterable[int]:
        """The legal plays of the seat to move, ascending; announcements are none."""

    @abstractmethod
    def describe_legal(self, game: AnyGame) -> str:
        """What the seat to move may do, in a few words."""

    @abstractmethod
    def public_state(self, game: AnyGame) -> dict[str, Any]:
        """What everybody knows of a position in this game and not in others, as plain data; the board among it."""

    # --- The same for all --------------------------------------------------------------------------------------------

    def parse_action(self, game: AnyGame, text: str) -> int:
        """The legal action that a text says; the inverse of `print_action`.

        Raises:
            IllegalAction: if it says none, naming the mistake and what is legal.
        """
        try:
            action = self.read_action(game.rules, text)
        except ValueError as error:
            raise IllegalAction(f"{error}; {self.describe_legal(game)}") from None
        game.copy().step(action)  # knows what is wrong with it
        return action

    def card_names(self, cards: Iterable[int]) -> list[str | None]:
        """Cards by their names, None where none lies."""
        return [None if card == EMPTY else self.NAMES.card_name(card) for card in cards]
