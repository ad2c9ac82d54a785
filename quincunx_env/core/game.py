"""What all games in plain Python have in common: rounds from deals, seats in turn, totals, copies."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import compress
from typing import Any, ClassVar, Generic, Self, TypeVar

from quincunx_env.core.deal import BaseDeal, Domain, check_deals
from quincunx_env.core.rules import BaseRules

AnyRules = TypeVar("AnyRules", bound=BaseRules)
AnyDeal = TypeVar("AnyDeal", bound=BaseDeal)


class IllegalAction(ValueError):
    """A play or an announcement that the rules do not allow now. Nothing has changed."""


class BaseGame(ABC, Generic[AnyRules, AnyDeal]):
    """A game in progress: one round, or several.

    Args:
        rules: which game.
        deals: a deal for each round; a single round takes a bare deal too.

    Raises:
        ValueError: if the deals do not fit the rules.

    Attributes:
        round: number of the round, from 0.
        board: card id or `EMPTY` by cell; there may be an extra entry that stands for what is off the grid.
        hands: for each seat, by card id: 1 if held.
        ply: cards played in this round.
        scores: points of each seat in this round.
        totals: points of each seat in the whole game so far, this round included.
        mover: the seat to move.
        over: whether the game has ended.
    """

    __slots__ = ("board", "deals", "hands", "mover", "over", "ply", "round", "rules", "scores", "totals")

    COPIED: ClassVar[tuple[str, ...]]
    """Attributes that change in place."""
    DERIVED: ClassVar[tuple[str, ...]] = ()
    """Attributes that follow from the rules and are too large to pickle."""

    _names: ClassVar[tuple[str, ...]]

    rules: AnyRules
    deals: tuple[AnyDeal, ...]
    round: int
    board: Any
    hands: list[bytearray]
    ply: int
    scores: list[int]
    totals: list[int]
    mover: int
    over: bool

    def __init_subclass__(cls) -> None:
        cls._names = (*BaseGame.__slots__, *cls.__slots__)

    def __init__(self, rules: AnyRules, deals: AnyDeal | Sequence[AnyDeal]) -> None:
        self._begin(rules, check_deals(rules, deals))

    @classmethod
    @abstractmethod
    def from_seed(cls, rules: AnyRules, seed: int, game: int = 0, domain: Domain = "play") -> Self:
        """The game number ``game`` of the row seeded ``seed``."""

    @classmethod
    def _dealt(cls, rules: AnyRules, deals: tuple[AnyDeal, ...]) -> Self:
        """A game from deals that are known to fit the rules."""
        new = cls.__new__(cls)
        new._begin(rules, deals)
        return new

    def _begin(self, rules: AnyRules, deals: tuple[AnyDeal, ...]) -> None:
        self.rules = rules
        self.deals = deals
        self._derive()
        self.totals = [0] * rules.num_players
        self._begin_round(0)

    # --- What a game says --------------------------------------------------------------------------------------------

    def _derive(self) -> None:
        """Set what is `DERIVED`."""

    @abstractmethod
    def _begin_round(self, round: int) -> None:
        """Begin a round: everything but `rules`, `deals` and `totals`."""

    @abstractmethod
    def step(self, action: int) -> list[int]:
        """Take an action.

        Returns:
            What each seat gained or lost by it.

        Raises:
            IllegalAction: if it is illegal; nothing has changed then.
        """

    # --- The same for all --------------------------------------------------------------------------------------------

    @property
    def first(self) -> int:
        """The seat that begins this round. R15: the last seat deals first, so seat 0 begins, then seat 1 and so on."""
        return self.round % self.rules.num_players

    def forfeit(self) -> None:
        """End the game, as an illegal action may; the points stay as they are."""
        self.over = True

    def hand(self, seat: int) -> tuple[int, ...]:
        """Ids of the cards a seat holds, ascending."""
        return tuple(compress(range(self.rules.num_cards), self.hands[seat]))

    def _held(self, hands: Sequence[Sequence[int]]) -> list[bytearray]:
        """Hands given as card ids, by card id."""
        held = [bytearray(self.rules.num_cards) for _ in hands]
        for hand, cards in zip(held, hands, strict=True):
            for card in cards:
                hand[card] = 1
        return held

    def _gain(self, gains: list[int]) -> None:
        for seat, gain in enumerate(gains):
            self.scores[seat] += gain
            self.totals[seat] += gain

    def _end_round(self) -> None:
        if self.round + 1 < len(self.deals):  # without a next deal, as in a replay, the end of a round can be looked at
            self._begin_round(self.round + 1)
        else:
            self.over = True

    @property
    def decided(self) -> bool:
        """Whether all rounds are over, and with them the winners known."""
        return self.over and self.round + 1 == self.rules.num_rounds

    @property
    def winners(self) -> tuple[int, ...]:
        """The seats with the highest total, which share the win."""
        return tuple(seat for seat, total in enumerate(self.totals) if total == max(self.totals))

    def copy(self) -> Self:
        """An independent game in the same state, with the same cards to come."""
        twin = type(self).__new__(type(self))
        for name in self._names:
            value = getattr(self, name)
            setattr(twin, name, value[:] if name in self.COPIED else value)
        twin.hands = [hand[:] for hand in self.hands]
        return twin

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.copy()

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._names if name not in self.DERIVED}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            setattr(self, name, value)
        self._derive()
