"""The Decktet: ids, names and properties of its cards, and how they print and parse (RULES.md 1.1).

A card is its id, a plain int, everywhere in this package. Ids never move: 0-35 are the basic deck in the order of the
rules' table (Aces, then 2 to 9, then Crowns; suits in their order), 36-39 the Pawns, 40 the Excuse.
"""

from collections.abc import Iterable
from typing import NamedTuple

SUITS = "MSVLYK"
"""Moons, Suns, Waves, Leaves, Wyrms, Knots, in the order of the rules."""

EMPTY = -1
"""What an empty cell holds in place of a card id."""

_ACES = [f"A{suit}" for suit in SUITS]
_NUMBERS = [
    *("2MK", "2SY", "2VL", "3MV", "3SK", "3LY", "4YK", "4MS", "4VL", "5SV", "5ML", "5YK"),
    *("6MV", "6LK", "6SY", "7SK", "7VY", "7ML", "8YK", "8MS", "8VL", "9VY", "9LK", "9MS"),
]
_CROWNS = [f"C{suit}" for suit in SUITS]
_PAWNS = ["PVLY", "PMSL", "PSVK", "PMYK"]

_TITLES = (
    *("Ace of Moons", "Ace of Suns", "Ace of Waves", "Ace of Leaves", "Ace of Wyrms", "Ace of Knots"),
    *("Author", "Desert", "Origin", "Journey", "Painter", "Savage", "Battle", "Mountain", "Sailor"),
    *("Discovery", "Forest", "Soldier", "Lunatic", "Market", "Penitent", "Castle", "Cave", "Chance Meeting"),
    *("Betrayal", "Diplomat", "Mill", "Darkness", "Merchant", "Pact"),
    *("Huntress", "Bard", "Sea", "End", "Calamity", "Windfall"),
    *("Borderland", "Harvest", "Light Keeper", "Watchman", "Excuse"),
)


class Card(NamedTuple):
    """What is printed on a card."""

    name: str
    """Rank, then suit letters: ``AM``, ``2MK``, ``CM``, ``PVLY``, ``X``."""
    title: str
    rank: str
    """``A``, ``2`` ... ``9``, ``P`` (Pawn), ``C`` (Crown), or ``X``: the Excuse has neither rank nor suit."""
    value: int
    """What the card counts in sums: Ace and Pawn 1, numbers as printed, Crown 10, Excuse 0."""
    suits: int
    """Bit i is set if the card bears ``SUITS[i]``."""


def _card(name: str, title: str) -> Card:
    rank, letters = name[0], name[1:]
    value = int(rank) if rank.isdigit() else {"A": 1, "P": 1, "C": 10, "X": 0}[rank]
    return Card(name, title, rank, value, sum(1 << SUITS.index(letter) for letter in letters))


CARDS = tuple(map(_card, (*_ACES, *_NUMBERS, *_CROWNS, *_PAWNS, "X"), _TITLES))
"""Every card, indexed by its id."""

BASIC_DECK = range(36)
PAWNS = range(36, 40)
EXCUSE = 40

_IDS = {card.name: number for number, card in enumerate(CARDS)}


def card_name(card: int) -> str:
    """Print a card id; ``..`` stands for an empty cell.

    >>> card_name(0), card_name(40), card_name(EMPTY)
    ('AM', 'X', '..')
    """
    return ".." if card == EMPTY else CARDS[card].name


def parse_card(name: str) -> int:
    """Id of a printed card.

    >>> parse_card("2MK")
    6

    Raises:
        ValueError: if no card of the Decktet is written like that.
    """
    try:
        return _IDS[name]
    except KeyError:
        raise ValueError(
            f"no card is written {name!r}: write the rank (A, 2-9, P, C), then its suits in the order {SUITS}, "
            "as in AM, 2MK, CM, PVLY, or X for the Excuse"
        ) from None


def print_cards(cards: Iterable[int]) -> str:
    """Print cards, separated by spaces."""
    return " ".join(map(card_name, cards))


def parse_cards(text: str) -> tuple[int, ...]:
    """Ids of printed cards separated by white space; the inverse of `print_cards`.

    >>> parse_cards("AM CK")
    (0, 35)
    """
    return tuple(map(parse_card, text.split()))
