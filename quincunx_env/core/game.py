"""Base class of the plain Python engines: rounds, turns, totals, copies.

Axes: P seats, K cards, C cells.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import compress
from math import isqrt
from typing import Any, Generic, NamedTuple, Self, TypeVar

from quincunx_env.core.cards import EMPTY
from quincunx_env.core.deal import AnyDeal, Domain, check_deals
from quincunx_env.core.integers import as_integer, check_integer
from quincunx_env.core.rules import BaseRules, Decision
from quincunx_env.utils.notebook import shown_as

AnyRules = TypeVar("AnyRules", bound=BaseRules)
AnyGame = TypeVar("AnyGame", bound="BaseGame[Any, Any]")


class IllegalAction(ValueError):
    """An action that the rules do not allow in this state. The game is unchanged."""


def as_action(action: Any) -> int:
    """Return an action, an integer of any type, as a plain int.

    Raises:
        IllegalAction: if it is not an integer; a bool is not one here.
    """
    try:
        return as_integer(action)
    except TypeError:
        raise IllegalAction(
            f"an action must be an integer, got {action!r}: notation.text.parse_action reads actions from text"
        ) from None


def explain_ids(rules: BaseRules, card: Any, cell: Any) -> str:
    """Return the error message for a card and a cell. At least one of them is not an integer."""
    return (
        f"card and cell must be integers, got {card!r} and {cell!r}: parse_card returns the id of a card, "
        f"the cell at (row, column) is row * {isqrt(rules.num_cells)} + column"
    )


class FinishedRound(NamedTuple):
    """The end of a round, before the next one was dealt."""

    round: int
    """Its number, from 0."""
    scores: tuple[int, ...]
    """Points of each seat in this round, penalties included."""
    hands: tuple[tuple[int, ...], ...]
    """Cards left in each hand, ascending."""
    penalties: tuple[int, ...]
    """Points that each seat lost for these cards."""


class BaseGame(ABC, Generic[AnyRules, AnyDeal]):
    """A game in progress: one round, or several.

    Args:
        rules: options of the game.
        deals: a deal for each round; a single round also takes a bare deal.

    Raises:
        ValueError: if the deals do not fit the rules.

    Attributes:
        round: number of the round, from 0.
        board: int8 [C], or [C + 1] with an extra entry that stands for every place off the grid: card id or `EMPTY`.
        legal: uint8 [C], 1 for each cell in which a card may be played.
        hands: uint8 [P, K], a bytearray for each seat: 1 if held.
        ply: cards played in this round.
        scores: [P], points of each seat in this round.
        totals: [P], points of each seat in the whole game so far, this round included.
        mover: the seat to move.
        over: whether the game has ended.
        previous_round: the end of the round before this one; None in the first round, and where it is unknown: in a
            game made from a batch. At the end of the game the attributes above are from the last round.
    """

    __slots__ = (
        *("board", "deals", "hands", "mover", "over", "ply", "previous_round", "round", "rules", "scores", "totals"),
    )

    rules: AnyRules
    deals: tuple[AnyDeal, ...]
    round: int
    board: Any
    legal: bytes | bytearray
    hands: list[bytearray]
    ply: int
    scores: list[int]
    totals: list[int]
    mover: int
    over: bool
    previous_round: FinishedRound | None

    def __init__(self, rules: AnyRules, deals: AnyDeal | Sequence[AnyDeal]) -> None:
        self._begin(rules, check_deals(rules, deals))

    @classmethod
    @abstractmethod
    def from_seed(cls, rules: AnyRules, seed: int, game: int = 0, domain: Domain = "play") -> Self:
        """Make game number ``game`` of the row seeded ``seed``; see `quincunx_env.core.deal`."""

    @classmethod
    def _from_checked(cls, rules: AnyRules, deals: tuple[AnyDeal, ...]) -> Self:
        """Make a game from deals that are known to fit the rules."""
        new = cls.__new__(cls)
        new._begin(rules, deals)
        return new

    def _begin(self, rules: AnyRules, deals: tuple[AnyDeal, ...]) -> None:
        """Set all attributes for the first play of the first round."""
        self.rules = rules
        self.deals = deals
        self.totals = [0] * rules.num_players
        self.previous_round = None
        self._begin_round(0)

    # --- Abstract interface ------------------------------------------------------------------------------------------

    @abstractmethod
    def _begin_round(self, round: int) -> None:
        """Deal a round: set all attributes but `rules`, `deals`, `totals` and `previous_round`."""

    @abstractmethod
    def step(self, action: int) -> list[int]:
        """Take an action.

        Args:
            action: an integer of any type, NumPy's included.

        Returns:
            Points gained or lost by each seat, [P].

        Raises:
            IllegalAction: if the action is illegal or not an integer; the game is unchanged.
        """

    @abstractmethod
    def legal_actions(self) -> tuple[int, ...]:
        """Return the legal actions of the seat to move, ascending. There are none when the game is over."""

    # --- Shared implementation ---------------------------------------------------------------------------------------

    @property
    def first(self) -> int:
        """The seat that begins this round. R15: the last seat deals first, so seat 0 begins, then seat 1 and so on."""
        return self.round % self.rules.num_players

    @property
    def decision(self) -> Decision:
        """Kind of the next action; ``"play"`` when the game is over. See `BaseRules.decisions`."""
        return "play"

    def redeal(self, deal: AnyDeal) -> None:
        """Begin the current round again from another deal.

        This is for programs that deal card by card.

        Raises:
            ValueError: if the deal does not fit the rules; the game is unchanged.
        """
        deals = check_deals(self.rules, (*self.deals[: self.round], deal, *self.deals[self.round + 1 :]))
        self.totals = [total - score for total, score in zip(self.totals, self.scores, strict=True)]
        self.deals = deals
        self._begin_round(self.round)

    def forfeit(self) -> None:
        """End the game at once, without winners. Points stay as they are; a solitaire is lost."""
        self.over = True

    def hand(self, seat: int) -> tuple[int, ...]:
        """Return the ids of the cards a seat holds, ascending.

        Raises:
            ValueError: if there is no such seat.
        """
        return self._held(check_integer("seat", seat, 0, self.rules.num_players - 1))

    def _held(self, seat: int) -> tuple[int, ...]:
        """Do `hand` without the check."""
        return tuple(compress(range(self.rules.num_cards), self.hands[seat]))

    def check_seat(self, seat: int | None) -> int | None:
        """Return an observing seat, an integer of any type, as int.

        None, which shows all hands, stays None.

        Raises:
            ValueError: if there is no such seat.
        """
        if seat is None:
            return None
        return check_integer("seat", seat, 0, self.rules.num_players - 1)

    def check_place(self, card: int, cell: int) -> tuple[int, int]:
        """Return a card and an empty cell as plain ints, checked.

        They are integers of any type. The play may be illegal.

        Raises:
            ValueError: if the card is not in the deck of these rules, or the cell is taken or off the grid.
        """
        try:
            card, cell = as_integer(card), as_integer(cell)
        except TypeError:
            raise ValueError(explain_ids(self.rules, card, cell)) from None
        if card not in self.rules.deck:
            raise ValueError(f"card {card} is not in the deck of these rules: Rules.deck lists its ids")
        check_integer("cell", cell, 0, self.rules.num_cells - 1)
        if self.board[cell] != EMPTY:
            raise ValueError(f"cell {cell} is taken: it holds card {self.board[cell]}")
        return card, cell

    def _as_hands(self, hands: Sequence[Sequence[int]]) -> list[bytearray]:
        """Convert hands from card ids to the format of `hands`."""
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
        # Without a deal for the next round, as in a record cut short, the game stops at the end of this one.
        if self.round + 1 < len(self.deals):
            hands = tuple(map(self._held, range(self.rules.num_players)))
            self.previous_round = FinishedRound(self.round, tuple(self.scores), hands, tuple(self.penalties))
            self._begin_round(self.round + 1)
        else:
            self.over = True

    @property
    def penalties(self) -> list[int]:
        """Penalty points of each hand, [P], if the round ended now."""
        return [0] * self.rules.num_players

    @property
    def decided(self) -> bool:
        """Whether the last round has ended, which decides the winners. A forfeit decides a solitaire alone."""
        played = self.ply == self.rules.num_plays or self.rules.num_players == 1
        return self.over and played and self.round + 1 == self.rules.num_rounds

    @property
    def winners(self) -> tuple[int, ...]:
        """The seats with the highest total, which share the win.

        There are none before the end, after a forfeit, and if a solitaire is lost.
        """
        best = max(self.totals)
        return tuple(seat for seat, total in enumerate(self.totals) if total == best and self.decided)

    # --- Copies ------------------------------------------------------------------------------------------------------

    def copy(self) -> Self:
        """Return an independent game in the same state. It has the same hidden cards."""
        copy = type(self).__new__(type(self))
        copy.rules, copy.deals, copy.round, copy.ply = self.rules, self.deals, self.round, self.ply
        copy.mover, copy.over, copy.previous_round = self.mover, self.over, self.previous_round
        copy.board, copy.hands = self.board[:], [hand[:] for hand in self.hands]
        copy.scores, copy.totals = self.scores[:], self.totals[:]
        return copy

    def __copy__(self) -> Self:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.copy()

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in BaseGame.__slots__}

    def __repr__(self) -> str:
        state = "over" if self.over else f"seat {self.mover} to move"
        return f"<Game of {self.rules!r}: round {self.round}, ply {self.ply}, {state}, totals {self.totals}>"

    def __str__(self) -> str:
        """Return the position as text, with all hands."""
        return shown_as("text", self) or repr(self)

    def _repr_svg_(self) -> str | None:
        return shown_as("svg", self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            setattr(self, name, value)


SomeGame = BaseGame[Any, Any]  # a game of any kind; `quincunx_env.Game` is the engine of Quincunx
