"""Printing and parsing of card names, for any pack. Everywhere in this package a card is its id, a plain int."""

from collections.abc import Iterable, Sequence

EMPTY = -1
"""Stands for the missing card of an empty cell."""


class CardNames:
    """The written names of a pack's cards.

    Args:
        names: by card id.
        format: description of valid names, for error messages.
    """

    def __init__(self, names: Sequence[str], format: str) -> None:
        self._names = tuple(names)
        self._ids = {name: number for number, name in enumerate(names)}
        self._format = format

    def __len__(self) -> int:
        return len(self._names)

    def card_name(self, card: int) -> str:
        """Name of a card id; ``..`` for `EMPTY`."""
        return ".." if card == EMPTY else self._names[card]

    def parse_card(self, name: str) -> int:
        """Card id of a name.

        Raises:
            ValueError: if no card of the pack has this name.
        """
        try:
            return self._ids[name]
        except KeyError:
            raise ValueError(f"no card is written {name!r}: {self._format}") from None

    def print_cards(self, cards: Iterable[int]) -> str:
        """Names of cards, separated by spaces."""
        return " ".join(map(self.card_name, cards))

    def parse_cards(self, text: str) -> tuple[int, ...]:
        """Card ids of names separated by white space; the inverse of `print_cards`."""
        return tuple(map(self.parse_card, text.split()))
