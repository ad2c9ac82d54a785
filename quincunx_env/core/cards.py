"""Printing and parsing of card names, for any pack. Everywhere in this package a card is its id, a plain int."""

from collections.abc import Iterable, Sequence

from quincunx_env.core.integers import check_integer

EMPTY = -1
"""The missing card of an empty cell."""


class CardNames:
    """The written names of a pack's cards, by card id. Errors describe the valid ``format``."""

    def __init__(self, names: Sequence[str], format: str) -> None:
        self._names = tuple(names)
        self._ids = {name: number for number, name in enumerate(names)}
        self._format = format

    def __len__(self) -> int:
        return len(self._names)

    def card_name(self, card: int) -> str:
        """Return the name of a card id; ``..`` for `EMPTY`.

        Raises:
            ValueError: if no card of the pack has this id.
        """
        card = check_integer("card", card, EMPTY, len(self) - 1)
        return ".." if card == EMPTY else self._names[card]

    def parse_card(self, name: str) -> int:
        """Return the card id of a name.

        Raises:
            ValueError: if no card of the pack has this name.
        """
        try:
            return self._ids[name]
        except (KeyError, TypeError):
            raise ValueError(f"unknown card {name!r}: {self._format}") from None

    def print_cards(self, cards: Iterable[int]) -> str:
        """Return the names of cards, separated by spaces.

        Raises:
            ValueError: as `card_name` does.
        """
        return " ".join(map(self.card_name, cards))

    def parse_cards(self, text: str) -> tuple[int, ...]:
        """Return the card ids of names separated by white space, the inverse of `print_cards`.

        Raises:
            ValueError: as `parse_card` does, and if ``text`` is not a string.
        """
        if not isinstance(text, str):
            raise ValueError(f"cards must be one string, got {text!r}")
        return tuple(map(self.parse_card, text.split()))
