"""How the actions of a game are written, and a position as plain data: what all games have in common.

Everything here takes the seat that looks, and gives what this seat may know; None looks at all hands, as `ansi` does.
What is to come from a pile nobody sees.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from quincunx_env.core.cards import EMPTY, Names
from quincunx_env.core.game import BaseGame, IllegalAction
from quincunx_env.core.rules import BaseRules

AnyGame = TypeVar("AnyGame", bound=BaseGame[Any, Any])
Json = dict[str, Any]


class Worth(NamedTuple):
    """What a play scores at once, and why."""

    points: int
    """Sum of the parts."""
    draws: int
    """Cards that it earns, whether or not the pile has them."""
    parts: dict[str, int]
    """Points by what they are for; only those that are not 0."""

    def __str__(self) -> str:
        parts = [f"{name} {points:+}" for name, points in self.parts.items()]
        draws = [f"{self.draws} draw{'s' * (self.draws > 1)}"] if self.draws else []
        return f"{self.points:+}" + (f" ({', '.join(parts + draws)})" if parts or draws else "")


class Last(NamedTuple):
    """The last play of a round in progress, as the grid shows it."""

    seat: int
    action: int
    worth: Worth | None


class BaseNotation(ABC, Generic[AnyGame]):
    """How a game is written. It has no state: there is one of each game, in `quincunx_env.games`."""

    NAMES: ClassVar[Names]

    # --- What a game says --------------------------------------------------------------------------------------------

    @abstractmethod
    def print_action(self, rules: Any, action: int) -> str:
        """Write an action of the engines: ``2MK (1, 3)``."""

    @abstractmethod
    def read_action(self, rules: Any, text: str) -> int:
        """The inverse of `print_action`; whether the action is legal it does not ask.

        Raises:
            ValueError: if no action is written like that; the message tells how they are.
        """

    @abstractmethod
    def legal(self, game: AnyGame) -> str:
        """What the seat to move may do, in a few words."""

    @abstractmethod
    def plays(self, game: AnyGame) -> Iterable[int]:
        """The legal plays of the seat to move, ascending; announcements are none."""

    @abstractmethod
    def worth(self, game: AnyGame, action: int) -> Worth | None:
        """What a play scores at once; an announcement: the play that it is for. None where plays score nothing."""

    @abstractmethod
    def last(self, game: AnyGame) -> Last | None:
        """The last play; None before the first one of a round."""

    @abstractmethod
    def own(self, game: AnyGame, seat: int | None, legal: bool) -> Json:
        """What a position has in this game and not in others, as plain data."""

    # --- The same for all --------------------------------------------------------------------------------------------

    def parse_action(self, game: AnyGame, text: str) -> int:
        """The legal action that a text says; the inverse of `print_action`.

        Raises:
            IllegalAction: if it says none, naming the mistake and what is legal.
        """
        try:
            action = self.read_action(game.rules, text)
        except ValueError as error:
            raise IllegalAction(f"{error}; {self.legal(game)}") from None
        game.copy().step(action)  # knows what is wrong with it
        return action

    def to_json(self, game: AnyGame, seat: int | None, legal: bool) -> Json:
        """A position as plain data; `quincunx_env.text.to_json` tells what stands in it."""
        rules, seats = game.rules, range(game.rules.num_players)
        last = self.last(game)
        plays = self.plays(game) if seat in (None, game.mover) else ()
        return {
            "seat": seat,
            "round": game.round,
            "first": game.first,
            "ply": game.ply,
            "mover": None if game.over else game.mover,
            "over": game.over,
            "winners": [*game.winners] if game.over else None,
            "totals": [*game.totals],
            "scores": [*game.scores],
            "hand_sizes": [len(game.hand(player)) for player in seats],
            "hands": [self.names(game.hand(player)) if seat in (None, player) else None for player in seats],
            "last": last and {"seat": last.seat} | self._action(rules, last.action, last.worth),
            "legal": [self._action(rules, play, self.worth(game, play)) for play in plays] if legal else None,
            **self.own(game, seat, legal),
        }

    def names(self, cards: Iterable[int]) -> list[str | None]:
        """Cards by their names, None where none lies."""
        return [None if card == EMPTY else self.NAMES.card_name(card) for card in cards]

    def _action(self, rules: BaseRules, action: int, worth: Worth | None) -> Json:
        return {"action": self.print_action(rules, action), "number": action, "worth": worth and worth._asdict()}
