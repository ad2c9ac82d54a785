"""The standard pack of 52 cards: ids, names and properties (RULES.md Part 2).

Ids never change: ``13 * suit + rank``, suits in the order of `SUITS`, ranks from the Ace (0) to the King (12).

>>> card_name(0), card_name(51), parse_card("TH"), parse_cards("AS KD")
('AS', 'KD', 22, (0, 51))
"""

from typing import NamedTuple

from quincunx_env.core.cards import CardNames

RANKS = "A23456789TJQK"
"""Ranks, ascending; the Ace is always low."""

SUITS = "SHCD"
"""Spades, hearts, clubs, diamonds."""


class Card(NamedTuple):
    """Properties of a card."""

    name: str
    """Rank, then suit: ``AS``, ``TD``, ``KH``."""
    rank: int
    """Index in ``RANKS``."""
    suit: int
    """Index in `SUITS`."""
    value: int
    """Value in a fifteen: court cards 10, the Ace 1."""


CARDS = tuple(
    Card(RANKS[rank] + SUITS[suit], rank, suit, min(rank + 1, 10))
    for suit in range(len(SUITS))
    for rank in range(len(RANKS))
)
"""Every card, indexed by its id."""

NAMES = CardNames(
    [card.name for card in CARDS], f"write the rank ({RANKS}), then the suit ({SUITS}), as in AS, TD or KH"
)
card_name, parse_card = NAMES.card_name, NAMES.parse_card
print_cards, parse_cards = NAMES.print_cards, NAMES.parse_cards
