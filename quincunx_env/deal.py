"""Deals: cards as they lie before the first play, given or made from a seed.

A deal made from a seed is a pure function of (domain, seed, game, round), the same on every machine and through every
door: each card gets a key from a counter-based hash, and the cards are dealt in the order of their keys. The function
is frozen: golden tests hold it.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
import numpy.typing as npt

from quincunx_env.cards import CARDS, parse_cards, print_cards
from quincunx_env.rules import Rules

Domain = Literal["play", "validation", "benchmark"]

DOMAINS: dict[str, int] = {"play": 0, "benchmark": 1, "validation": 2}
"""Keep deals apart by what they are for: ``play`` is every environment's, ``benchmark`` holds the arena's numbered
deals, which nothing trains or tunes on, and ``validation`` those one may look at while training."""

MAX_SEED = 2**63
"""Seeds lie below this, so that row i of a batch can be seeded ``seed + i``."""


@dataclass(frozen=True)
class Deal:
    """The cards of one round before its first play, as card ids.

    Prints as ``AM 5SV 9MS CK | 2MK ... / 3MV ... | 4YK ...``: face-up cards, hands separated by slashes, pile.
    """

    face_up: tuple[int, ...]
    """In reading order of their cells."""
    hands: tuple[tuple[int, ...], ...]
    """One for each seat, from seat 0 on."""
    pile: tuple[int, ...]
    """Top card first."""

    def __str__(self) -> str:
        hands = " / ".join(map(print_cards, self.hands))
        return f"{print_cards(self.face_up)} | {hands} | {print_cards(self.pile)}"

    @classmethod
    def parse(cls, text: str) -> "Deal":
        """The inverse of ``str``.

        Raises:
            ValueError: if the text has not the three parts of a deal, or something in it is not a card.
        """
        parts = text.split("|")
        if len(parts) != 3:
            raise ValueError(f"a deal is written 'face-up cards | hand / hand ... | pile', got {text!r}")
        face_up, hands, pile = parts
        return cls(parse_cards(face_up), tuple(map(parse_cards, hands.split("/"))), parse_cards(pile))

    @classmethod
    def from_seed(cls, rules: Rules, seed: int, game: int = 0, round: int = 0, domain: Domain = "play") -> "Deal":
        """The deal that these rules, this seed and these counters always give."""
        block, place = divmod(game, _BLOCK)
        return _deals(rules, check_seed(seed), block, round, domain)[place]

    @classmethod
    def of_cards(cls, rules: Rules, cards: Sequence[int]) -> "Deal":
        """Deal a shuffled deck: the face-up cards, each seat's hand whole, then the pile from the top."""
        up, size = len(rules.face_up_cells), rules.setup.hand
        pile = up + rules.num_players * size
        hands = tuple(tuple(cards[start : start + size]) for start in range(up, pile, size))
        return cls(tuple(cards[:up]), hands, tuple(cards[pile:]))

    @property
    def cards(self) -> tuple[int, ...]:
        """All cards in the order in which they are dealt."""
        return (*self.face_up, *(card for hand in self.hands for card in hand), *self.pile)

    def check(self, rules: Rules) -> None:
        """Make sure that these rules could have dealt this.

        Raises:
            ValueError: naming the cards that are missing, double or foreign, or the part of the wrong size.
        """
        counts = Counter(self.cards)
        for card in counts:
            if card not in range(len(CARDS)):
                raise ValueError(f"a deal holds card ids from 0 to {len(CARDS) - 1}, got {card!r}")
        wrong = {
            "missing": [card for card in rules.deck if not counts[card]],
            "dealt twice": [card for card, count in counts.items() if count > 1],
            "not in the deck of these rules": [card for card in counts if card not in rules.deck],
        }
        complaints = [f"{what}: {print_cards(sorted(cards))}" for what, cards in wrong.items() if cards]
        sizes = [len(self.face_up), *map(len, self.hands)]
        expected = [len(rules.face_up_cells), *[rules.setup.hand] * rules.num_players]
        if sizes != expected:
            complaints.append(
                f"{expected[0]} face-up cards and hands of {expected[1:]} cards are needed, "
                f"got {sizes[0]} and {sizes[1:]}"
            )
        if complaints:
            raise ValueError("this deal does not fit the rules; " + "; ".join(complaints))


def check_seed(seed: int) -> int:
    """Return the seed if it is one.

    Raises:
        ValueError: if it is not an integer from 0 to 2**63 - 1.
    """
    if not isinstance(seed, int | np.integer) or isinstance(seed, bool) or not 0 <= seed < MAX_SEED:
        raise ValueError(f"seed must be an integer from 0 to 2**63 - 1, got {seed!r}")
    return int(seed)


_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX2 = np.uint64(0x94D049BB133111EB)
_CARD_BITS = np.uint64(63)


def _mix(z: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """The finaliser of SplitMix64 (Steele, Lea and Flood, 2014), in place."""
    z ^= z >> np.uint64(30)
    z *= _MIX1
    z ^= z >> np.uint64(27)
    z *= _MIX2
    z ^= z >> np.uint64(31)
    return z


def shuffle(
    rules: Rules,
    seeds: npt.NDArray[np.uint64],
    games: npt.NDArray[np.uint64],
    rounds: npt.NDArray[np.uint64],
    domain: Domain = "play",
) -> npt.NDArray[np.int8]:
    """Shuffled decks of n rows.

    Each word of (domain, seed, game, round) is absorbed in turn by adding it to SplitMix64's increment and mixing; the
    state that results starts a SplitMix64 sequence, whose output number ``card + 1`` is the key of a card.

    Args:
        rules: decide which cards take part.
        seeds: uint64 [n].
        games: uint64 [n].
        rounds: uint64 [n].
        domain: one of `DOMAINS`.

    Returns:
        int8 [n, cards in the deck]: card ids in the order in which they are dealt.
    """
    if domain not in DOMAINS:
        raise ValueError(f"domain must be one of {', '.join(DOMAINS)}, got {domain!r}")
    state = np.full(len(seeds), DOMAINS[domain], np.uint64)
    for word in (seeds, games, rounds):
        state = _mix(state + _GOLDEN) + word
    state = _mix(state + _GOLDEN)
    deck = np.array(rules.deck, np.uint64)
    keys = _mix(state[:, None] + _GOLDEN * (deck + np.uint64(1)))
    # The card number rides in the low bits, so that one sort of plain integers orders the cards.
    keys &= ~_CARD_BITS
    keys |= deck
    keys.sort(axis=1)
    keys &= _CARD_BITS
    return keys.astype(np.int8)


_BLOCK = 16


@lru_cache(maxsize=128)
def _deals(rules: Rules, seed: int, block: int, round: int, domain: Domain) -> tuple[Deal, ...]:
    """The deals of `_BLOCK` consecutive games: one array operation costs hardly more for all of them than for one."""
    games = np.arange(block * _BLOCK, (block + 1) * _BLOCK, dtype=np.uint64)
    seeds, rounds = np.full_like(games, seed), np.full_like(games, round)
    return tuple(Deal.of_cards(rules, cards) for cards in shuffle(rules, seeds, games, rounds, domain).tolist())
