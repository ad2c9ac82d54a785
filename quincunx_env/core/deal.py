"""Deals: cards as they lie before the first play, given or made from a seed.

A deal made from a seed is a pure function of (domain, seed, game, round), the same on every machine and through every
door: each card gets a key from a counter-based hash, and the cards are dealt in the order of their keys. The function
is frozen: golden tests hold it.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, ClassVar, Literal, Self, TypeVar

import numpy as np
import numpy.typing as npt

from quincunx_env.core.cards import CardNames
from quincunx_env.core.rules import BaseRules

Domain = Literal["play", "validation", "benchmark"]

DOMAINS: dict[str, int] = {"play": 0, "benchmark": 1, "validation": 2}
"""Keep deals apart by what they are for: ``play`` is every environment's, ``benchmark`` holds the arena's numbered
deals, which nothing trains or tunes on, and ``validation`` those one may look at while training."""

MAX_SEED = 2**63
"""Seeds lie below this, so that row i of a batch can be seeded ``seed + i``."""

Groups = tuple[tuple[int, ...], ...]
AnyDeal = TypeVar("AnyDeal", bound="BaseDeal")


class BaseDeal(ABC):
    """The cards of one round before its first play, as card ids.

    A game's own class is a frozen dataclass that names the parts of its deal.
    """

    NAMES: ClassVar[CardNames]
    FORMAT: ClassVar[str]
    """How such a deal is written, for error messages."""

    # --- What a game says --------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def parts(self) -> tuple[Groups, ...]:
        """The parts in the order in which they are dealt, each as groups of cards."""

    @classmethod
    @abstractmethod
    def of_parts(cls, *parts: Groups) -> Self:
        """The inverse of `parts`."""

    @classmethod
    @abstractmethod
    def of_cards(cls, rules: Any, cards: Sequence[int]) -> Self:
        """Deal a shuffled deck from the top."""

    # --- The same for all --------------------------------------------------------------------------------------------

    @property
    def cards(self) -> tuple[int, ...]:
        """All cards in the order in which they are dealt."""
        return tuple(card for groups in self.parts for group in groups for card in group)

    @classmethod
    def from_seed(cls, rules: BaseRules, seed: int, game: int = 0, round: int = 0, domain: Domain = "play") -> Self:
        """The deal that these rules, this seed and these counters always give."""
        block, place = divmod(game, _BLOCK)
        deal = _deals(cls, rules, check_seed(seed), block, round, domain)[place]
        assert isinstance(deal, cls)
        return deal

    def __str__(self) -> str:
        return " | ".join(" / ".join(map(self.NAMES.print_cards, groups)) for groups in self.parts)

    @classmethod
    def parse(cls, text: str) -> Self:
        """The inverse of ``str``.

        Raises:
            ValueError: if the text has not the parts of a deal, or something in it is not a card.
        """
        parts = tuple(tuple(map(cls.NAMES.parse_cards, part.split("/"))) for part in text.split("|"))
        deal = cls.of_parts(*parts) if len(parts) == cls.FORMAT.count("|") + 1 else None
        if deal is None or deal.parts != parts:
            raise ValueError(f"a deal is written '{cls.FORMAT}', got {text!r}")
        return deal

    def check(self, rules: BaseRules) -> None:
        """Make sure that these rules could have dealt this.

        Raises:
            ValueError: naming the cards that are missing, double or foreign, or the part of the wrong size.
        """
        counts = Counter(self.cards)
        for card in counts:
            if card not in range(len(self.NAMES)):
                raise ValueError(f"a deal holds card ids from 0 to {len(self.NAMES) - 1}, got {card!r}")
        all_dealt = rules.num_dealt == len(rules.deck)
        wrong = {
            "missing": [card for card in rules.deck if not counts[card]] if all_dealt else [],
            "dealt twice": [card for card, count in counts.items() if count > 1],
            "not in the deck of these rules": [card for card in counts if card not in rules.deck],
        }
        complaints = [f"{what}: {self.NAMES.print_cards(sorted(cards))}" for what, cards in wrong.items() if cards]
        needed, got = self.of_cards(rules, rules.deck)._sizes(), self._sizes()
        if got != needed:
            complaints.append(f"{needed} cards ({self.FORMAT}) are needed, got {got}")
        if complaints:
            raise ValueError("this deal does not fit the rules; " + "; ".join(complaints))

    def _sizes(self) -> str:
        return " | ".join(" / ".join(str(len(group)) for group in groups) for groups in self.parts)


def check_deals(rules: BaseRules, deals: AnyDeal | Sequence[AnyDeal]) -> tuple[AnyDeal, ...]:
    """A deal for each round, checked against the rules; a single round takes a bare deal too.

    Raises:
        ValueError: if the number of deals is wrong, or one of them does not fit the rules.
    """
    rounds = (deals,) if isinstance(deals, BaseDeal) else tuple(deals)
    if len(rounds) != rules.num_rounds:
        raise ValueError(f"these rules play {rules.num_rounds} rounds and need a deal for each, got {len(rounds)}")
    for deal in rounds:
        deal.check(rules)
    return rounds


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
    deck: Sequence[int],
    seeds: npt.NDArray[np.uint64],
    games: npt.NDArray[np.uint64],
    rounds: npt.NDArray[np.uint64],
    domain: Domain = "play",
) -> npt.NDArray[np.int8]:
    """Shuffled decks of n rows.

    Each word of (domain, seed, game, round) is absorbed in turn by adding it to SplitMix64's increment and mixing; the
    state that results starts a SplitMix64 sequence, whose output number ``card + 1`` is the key of a card.

    Args:
        deck: ids of the cards that take part, below 64.
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
    cards = np.array(deck, np.uint64)
    keys = _mix(state[:, None] + _GOLDEN * (cards + np.uint64(1)))
    # The card number rides in the low bits, so that one sort of plain integers orders the cards.
    keys &= ~_CARD_BITS
    keys |= cards
    keys.sort(axis=1)
    keys &= _CARD_BITS
    return keys.astype(np.int8)


_BLOCK = 16


@lru_cache(maxsize=128)
def _deals(
    cls: type[BaseDeal], rules: BaseRules, seed: int, block: int, round: int, domain: Domain
) -> tuple[BaseDeal, ...]:
    """The deals of `_BLOCK` consecutive games: one array operation costs hardly more for all of them than for one."""
    games = np.arange(block * _BLOCK, (block + 1) * _BLOCK, dtype=np.uint64)
    seeds, rounds = np.full_like(games, seed), np.full_like(games, round)
    return tuple(cls.of_cards(rules, cards) for cards in shuffle(rules.deck, seeds, games, rounds, domain).tolist())
