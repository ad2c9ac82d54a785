"""Deals: the cards of a round before play, given or seeded.

A seeded deal is a pure function of (domain, seed, game, round), the same on every machine and in every environment.
Each card gets a key from a counter-based hash (SplitMix64), and the cards are dealt in the order of their keys. The
function will not change; golden tests check it.

Axes: n rows, N cards of a deck.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, ClassVar, Literal, Self, TypeVar

import numpy as np
import numpy.typing as npt

from quincunx_env.core.cards import CardNames
from quincunx_env.core.integers import check_integer
from quincunx_env.core.rules import BaseRules
from quincunx_env.utils.notebook import shown_as

Domain = Literal["play", "validation", "benchmark"]

DOMAINS: dict[str, int] = {"play": 0, "benchmark": 1, "validation": 2}
"""Sets of deals by purpose.

- ``play``: for all environments.
- ``benchmark``: for final results in the arena, never used for training or tuning.
- ``validation``: for evaluation during training and for model selection.
"""

MAX_SEED = 2**63
"""Exclusive upper limit of seeds; row i of a batch is seeded ``seed + i``."""

Groups = tuple[tuple[int, ...], ...]
AnyDeal = TypeVar("AnyDeal", bound="BaseDeal")


class BaseDeal(ABC):
    """The cards of one round before its first play, as card ids.

    Each game has a subclass, a frozen dataclass that names the parts of its deal.
    """

    NAMES: ClassVar[CardNames]
    RULES: ClassVar[type[Any]]
    """The rules of the game."""
    FORMAT: ClassVar[str]
    """The text format of a deal, for error messages; parts are separated by ``|``."""

    # --- Abstract interface ------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def parts(self) -> tuple[Groups, ...]:
        """The parts in the order in which they are dealt, each a tuple of groups of cards."""

    @classmethod
    @abstractmethod
    def of_parts(cls, *parts: Groups) -> Self:
        """Return the deal with these `parts`."""

    @classmethod
    @abstractmethod
    def of_cards(cls, rules: Any, cards: Sequence[int]) -> Self:
        """Deal cards from the top of a shuffled deck."""

    # --- Shared implementation ---------------------------------------------------------------------------------------

    @property
    def cards(self) -> tuple[int, ...]:
        """All cards in the order in which they are dealt."""
        return tuple(card for groups in self.parts for group in groups for card in group)

    @classmethod
    def from_seed(cls, rules: BaseRules, seed: int, game: int = 0, round: int = 0, domain: Domain = "play") -> Self:
        """Return the deal of a seed.

        Args:
            rules: options of the game.
            seed: of the row, 0 to 2**63 - 1.
            game: number of the game since the row was seeded, 0 to 2**63 - 1.
            round: number of the round within the game, 0 to 2**63 - 1; it may exceed the rounds that the rules play.
            domain: see `DOMAINS`.

        Raises:
            ValueError: if a number is out of range or no integer, the domain is unknown, or the rules are for another
                game.
        """
        cls._check_rules(rules)
        seed, game = check_seed(seed), check_integer("game", game, 0, MAX_SEED - 1)
        round = check_integer("round", round, 0, MAX_SEED - 1)
        block, place = divmod(game, _BLOCK)
        decks = _decks(tuple(rules.deck), seed, block, round, check_domain(domain))
        return cls.of_cards(rules, decks[place].tolist())

    def __str__(self) -> str:
        return " | ".join(" / ".join(map(self.NAMES.print_cards, groups)) for groups in self.parts)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse the text that ``str`` returns.

        Raises:
            ValueError: if the text lacks the parts of a deal or contains anything but cards, or is not a string.
        """
        if not isinstance(text, str):
            raise ValueError(f"a deal is read from a string, got {text!r}")
        parts = tuple(tuple(map(cls.NAMES.parse_cards, part.split("/"))) for part in text.split("|"))
        deal = cls.of_parts(*parts) if len(parts) == cls.FORMAT.count("|") + 1 else None
        if deal is None or deal.parts != parts:
            raise ValueError(f"a deal is written '{cls.FORMAT}', got {text!r}")
        return deal

    @classmethod
    def _check_rules(cls, rules: BaseRules) -> None:
        if not isinstance(rules, cls.RULES):
            raise ValueError(f"{cls.__module__}.{cls.__qualname__} is a deal of another game than {rules!r}")

    def check(self, rules: BaseRules) -> None:
        """Check that the deal is possible under these rules.

        Cards are plain ints, not NumPy's integers.

        Raises:
            ValueError: if the rules are for another game, or naming what is not a card id, the cards that are missing,
                dealt twice or not in the deck, or the sizes that are wrong.
        """
        self._check_rules(rules)
        try:
            cards = self.cards
        except TypeError:
            raise ValueError(f"a deal holds tuples of card ids ({self.FORMAT}), got {self!r}") from None
        for card in cards:
            if type(card) is not int or card not in range(len(self.NAMES)):
                raise ValueError(f"a deal must hold plain ints, card ids from 0 to {len(self.NAMES) - 1}, got {card!r}")
        counts = Counter(cards)
        all_dealt = rules.num_dealt == len(rules.deck)
        wrong = {
            "missing": [card for card in rules.deck if not counts[card]] if all_dealt else [],
            "dealt twice": [card for card, count in counts.items() if count > 1],
            "not in the deck of these rules": [card for card in counts if card not in rules.deck],
        }
        problems = [f"{what}: {self.NAMES.print_cards(sorted(cards))}" for what, cards in wrong.items() if cards]
        needed, got = self.of_cards(rules, rules.deck)._sizes(), self._sizes()
        if got != needed:
            problems.append(f"{needed} cards ({self.FORMAT}) are needed, got {got}")
        if problems:
            raise ValueError("this deal does not fit the rules; " + "; ".join(problems))

    def _repr_svg_(self) -> str | None:
        return shown_as("svg", self)

    def _sizes(self) -> str:
        return " | ".join(" / ".join(str(len(group)) for group in groups) for groups in self.parts)


Deals = tuple[BaseDeal, ...]  # a deal for each round


def check_deals(rules: BaseRules, deals: AnyDeal | Sequence[AnyDeal]) -> tuple[AnyDeal, ...]:
    """Return a deal for each round, checked against the rules.

    For a single round a bare deal is enough.

    Raises:
        ValueError: if the number of deals is wrong, or one of them does not fit the rules or is not a deal.
    """
    given: Any = deals
    rounds = tuple(given) if isinstance(given, Sequence) and not isinstance(given, str) else (given,)
    for deal in rounds:
        if not isinstance(deal, BaseDeal):
            raise ValueError(f"a Deal is needed (Deal.parse reads one from text), got {deal!r}")
    if len(rounds) != rules.num_rounds:
        raise ValueError(f"these rules play {rules.num_rounds} rounds and need a deal for each, got {len(rounds)}")
    for deal in rounds:
        deal.check(rules)
    return rounds


def check_seed(seed: int) -> int:
    """Return a seed as a Python int.

    Raises:
        ValueError: if it is not an integer from 0 to 2**63 - 1.
    """
    return check_integer("seed", seed, 0, MAX_SEED - 1)


def check_domain(domain: Domain) -> Domain:
    """Return a domain.

    Raises:
        ValueError: if it is not one of `DOMAINS`.
    """
    if domain not in tuple(DOMAINS):
        raise ValueError(f"domain must be one of {', '.join(DOMAINS)}, got {domain!r}")
    return domain


_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX2 = np.uint64(0x94D049BB133111EB)
_CARD_BITS = np.uint64(63)


def _mix(z: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Apply the finaliser of SplitMix64 (Steele, Lea and Flood, 2014) in place. Words are uint64 [n] or [n, N]."""
    z ^= z >> np.uint64(30)
    z *= _MIX1
    z ^= z >> np.uint64(27)
    z *= _MIX2
    z ^= z >> np.uint64(31)
    return z


def _state(domain: Domain, *words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return the state after a domain and words, uint64 [n] each; see `shuffle`."""
    state = np.full(len(words[0]), DOMAINS[check_domain(domain)], np.uint64)
    for word in words:
        state = _mix(state + _GOLDEN) + word
    return _mix(state + _GOLDEN)


def shuffle(
    deck: Sequence[int],
    seeds: npt.NDArray[np.uint64],
    games: npt.NDArray[np.uint64],
    rounds: npt.NDArray[np.uint64],
    domain: Domain = "play",
) -> npt.NDArray[np.int8]:
    """Shuffle a deck for each of n rows.

    The words (domain, seed, game, round) are absorbed in turn, each by adding SplitMix64's increment to the state,
    mixing and adding the word. The resulting state starts a SplitMix64 sequence; output number ``card + 1`` is the key
    of a card, and the deck is sorted by keys.

    Args:
        deck: card ids, below 64.
        seeds: uint64 [n].
        games: uint64 [n].
        rounds: uint64 [n].
        domain: see `DOMAINS`.

    Returns:
        int8 [n, N]: card ids in the order in which they are dealt.
    """
    state = _state(domain, seeds, games, rounds)
    cards = np.array(deck, np.uint64)
    keys = _mix(state[:, None] + _GOLDEN * (cards + np.uint64(1)))
    # The card id replaces the low bits of its key, so that sorting plain integers orders the cards.
    keys &= ~_CARD_BITS
    keys |= cards
    keys.sort(axis=1)
    keys &= _CARD_BITS
    return keys.astype(np.int8)


_BLOCK = 64
"""Decks shuffled together by `_decks`: hardly slower than one."""


@lru_cache(maxsize=128)
def _decks(deck: tuple[int, ...], seed: int, block: int, round: int, domain: Domain) -> npt.NDArray[np.int8]:
    """Return the decks of `_BLOCK` consecutive games, int8 [n, N]."""
    games = np.arange(block * _BLOCK, (block + 1) * _BLOCK, dtype=np.uint64)
    return shuffle(deck, np.full_like(games, seed), games, np.full_like(games, round), domain)
