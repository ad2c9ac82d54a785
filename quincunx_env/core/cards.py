"""How cards print and parse, whatever the pack. A card is its id, a plain int, everywhere in this package."""

from collections.abc import Iterable, Sequence

EMPTY = -1
"""What an empty cell holds in place of a card id."""


class CardNames:
    """The written names of a pack's cards.

    Args:
        names: by card id.
        how: tells, in an error message, how a card is written.
    """

    def __init__(self, names: Sequence[str], how: str) -> None:
        self._names = tuple(names)
        self._ids = {name: number for number, name in enumerate(names)}
        self._how = how

    def __len__(self) -> int:
        return len(self._names)

    def card_name(self, card: int) -> str:
        """Print a card id; ``..`` stands for an empty cell."""
        return ".." if card == EMPTY else self._names[card]

    def parse_card(self, name: str) -> int:
        """Id of a printed card.

        Raises:
            ValueError: if no card of the pack is written like that.
        """
        try:
            return self._ids[name]
        except KeyError:
            raise ValueError(f"no card is written {name!r}: {self._how}") from None

    def print_cards(self, cards: Iterable[int]) -> str:
        """Print cards, separated by spaces."""
        return " ".join(map(self.card_name, cards))

    def parse_cards(self, text: str) -> tuple[int, ...]:
        """Ids of printed cards separated by white space; the inverse of `print_cards`."""
        return tuple(map(self.parse_card, text.split()))
