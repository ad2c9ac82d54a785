"""The Decktet: ids, names and properties of its cards (RULES.md 1.1).

Ids never change: 0-35 are the basic deck in the order of the rules' table (Aces, then 2 to 9, then Crowns; suits in
their order), 36-39 the Pawns, 40 the Excuse.

>>> card_name(0), card_name(40), parse_card("2MK"), parse_cards("AM CK")
('AM', 'X', 6, (0, 35))
"""

from typing import NamedTuple

from quincunx_env.core.cards import CardNames

SUITS = "MSVLYK"
"""Moons, Suns, Waves, Leaves, Wyrms, Knots, in the order of the rules."""

RANKS = "A23456789PCX"
"""Ranks in order (ruling R8), and the Excuse, which has none."""

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
    """Properties of a card."""

    name: str
    """Rank, then suit letters: ``AM``, ``2MK``, ``CM``, ``PVLY``, ``X``."""
    title: str
    rank: str
    """``A``, ``2`` ... ``9``, ``P`` (Pawn), ``C`` (Crown), or ``X``: the Excuse has neither rank nor suit."""
    value: int
    """Value in sums: Ace and Pawn 1, numbers as printed, Crown 10, Excuse 0."""
    suits: int
    """Bit i is set if the card bears ``SUITS[i]``."""

    def features(self, ranks: str) -> list[int]:
        """Return its rank among ``ranks`` (one-hot) and its suits, [ranks + 6] of 0 and 1."""
        return [*(self.rank == rank for rank in ranks), *(self.suits >> bit & 1 for bit in range(len(SUITS)))]


def _card(name: str, title: str) -> Card:
    rank, letters = name[0], name[1:]
    value = int(rank) if rank.isdigit() else {"A": 1, "P": 1, "C": 10, "X": 0}[rank]
    return Card(name, title, rank, value, sum(1 << SUITS.index(letter) for letter in letters))


CARDS = tuple(map(_card, (*_ACES, *_NUMBERS, *_CROWNS, *_PAWNS, "X"), _TITLES))
"""Every card, indexed by its id."""

BASIC_DECK = range(36)
PAWNS = range(36, 40)
EXCUSE = 40

NAMES = CardNames(
    [card.name for card in CARDS],
    f"write the rank (A, 2-9, P, C), then its suits in the order {SUITS}, as in AM, 2MK, CM, PVLY, or X for the Excuse",
)
card_name, parse_card = NAMES.card_name, NAMES.parse_card
print_cards, parse_cards = NAMES.print_cards, NAMES.parse_cards

MINI_DECK = parse_cards("AM AS AV AL 4MS 4VL 5SV 5ML CM CS CV CL")
"""The cards of four suits of the mini variant (ruling R16)."""
