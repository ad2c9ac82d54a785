"""Base class of a game's notation: actions as text, the public part of a position as data."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Generic

import numpy as np
import numpy.typing as npt

from quincunx_env.core.cards import EMPTY, CardNames
from quincunx_env.core.game import AnyGame, IllegalAction
from quincunx_env.core.integers import check_integer


class BaseNotation(ABC, Generic[AnyGame]):
    """Notation of a game. It has no state; a `quincunx_env.core.spec.GameSpec` holds the one instance of a game."""

    NAMES: ClassVar[CardNames]
    PLAY_FORM: ClassVar[str]
    """Format of a play, for prompts."""

    # --- Abstract interface ------------------------------------------------------------------------------------------

    @abstractmethod
    def _print_action(self, rules: Any, action: int) -> str:
        """Do `print_action` for an action in range."""

    @abstractmethod
    def _read_action(self, rules: Any, text: str) -> int:
        """Do `read_action` for a string without outer white space."""

    @abstractmethod
    def _encode_play(self, rules: Any, card: int, cell: int) -> int:
        """Do `encode_play` for a card and a cell in range."""

    @abstractmethod
    def _decode_play(self, game: AnyGame, action: int) -> tuple[int, int]:
        """Do `decode_play` for an action in range.

        Raises:
            ValueError: if the action is not a play, or the game is over.
        """

    @abstractmethod
    def describe_legal(self, game: AnyGame) -> str:
        """Name the mover's legal actions in one phrase, for messages."""

    @abstractmethod
    def public_state(self, game: AnyGame) -> dict[str, Any]:
        """Return the game-specific public part of a position as plain data, the board included."""

    # --- Shared implementation ---------------------------------------------------------------------------------------

    def legal_plays(self, game: AnyGame) -> tuple[int, ...]:
        """Return the mover's legal actions that play a card, ascending."""
        return game.legal_actions() if game.decision == "play" else ()

    def print_action(self, rules: Any, action: int) -> str:
        """Return the text of an engine action, legal or not: ``2MK (1, 3)``.

        Raises:
            ValueError: if the action is out of range.
        """
        return self._print_action(rules, self._check_action(rules, action))

    def read_action(self, rules: Any, text: str) -> int:
        """Read an action, legal or not; the inverse of `print_action`.

        Raises:
            ValueError: if the text is not an action; the message describes the format.
        """
        if not isinstance(text, str):
            raise ValueError(f"an action is read from a string, got {text!r}")
        return self._read_action(rules, text.strip())

    def encode_play(self, rules: Any, card: int, cell: int) -> int:
        """Return the action that plays a card into a cell.

        Raises:
            ValueError: if the card or the cell is out of range.
        """
        card = check_integer("card", card, 0, rules.num_cards - 1)
        return self._encode_play(rules, card, check_integer("cell", cell, 0, rules.num_cells - 1))

    def decode_play(self, game: AnyGame, action: int) -> tuple[int, int]:
        """Return card and cell of a play.

        For an announcement they are of the pending play.

        Raises:
            ValueError: if the action is out of range or not a play, or no play is possible any more.
        """
        return self._decode_play(game, self._check_action(game.rules, action))

    def table(self, game: AnyGame, values: Mapping[int, float]) -> npt.NDArray[np.float64]:
        """Return values of plays as float64 [cards, cells], NaN for other plays."""
        table = np.full((game.rules.num_cards, game.rules.num_cells), np.nan)
        for action, value in values.items():
            table[self.decode_play(game, action)] = value
        return table

    def _check_action(self, rules: Any, action: int) -> int:
        return check_integer("action", action, 0, rules.num_actions - 1)

    def parse_action(self, game: AnyGame, text: str) -> int:
        """Read a legal action; the inverse of `print_action`.

        Raises:
            IllegalAction: if the text is not an action, or an illegal one; the message names the error and the legal
                actions.
        """
        try:
            action = self.read_action(game.rules, text)
        except ValueError as error:
            raise IllegalAction(f"{error}; {self.describe_legal(game)}") from None
        game.copy().step(action)  # raises if the action is illegal
        return action

    def card_names(self, cards: Iterable[int]) -> list[str | None]:
        """Return the names of cards; None for `EMPTY`."""
        return [None if card == EMPTY else self.NAMES.card_name(card) for card in cards]
