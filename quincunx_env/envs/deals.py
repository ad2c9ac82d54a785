"""Given deals, and sequences of seeded games."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from quincunx_env.core.deal import MAX_SEED, BaseDeal, check_seed
from quincunx_env.core.game import SomeGame
from quincunx_env.core.rules import BaseRules
from quincunx_env.envs.generator import drawn_seed
from quincunx_env.registry import spec_of


def parse_deals(cls: type[BaseDeal], deal: BaseDeal | str | Sequence[BaseDeal | str]) -> list[BaseDeal]:
    """Return one or several given deals as a list.

    Each is a deal of this class or the text of one.

    Raises:
        ValueError: if one is of another type, or its text cannot be parsed.
    """
    several = [deal] if isinstance(deal, BaseDeal | str) or not isinstance(deal, Sequence) else list(deal)
    for each in several:
        if not isinstance(each, cls | str):
            raise ValueError(f"a deal is a Deal or its text, got {each!r}")
    return [cls.parse(each) if isinstance(each, str) else each for each in several]


def given_game(rules: BaseRules, deals: BaseDeal | str | Sequence[BaseDeal | str] | None) -> SomeGame | None:
    """Return a new game of given deals, one for each round.

    The result is None without deals.

    Raises:
        ValueError: if a deal is invalid.
    """
    spec = spec_of(rules)
    return None if deals is None else spec.Game(rules, parse_deals(spec.Deal, deals))


@dataclass
class DealSequence:
    """The sequence of games of a seed.

    Given deals may replace single games of it.

    Attributes:
        seed: of the sequence; -1 before the first reset.
        resets: index of the current game in the sequence.
        given: whether the current game has given deals.
    """

    seed: int = -1
    resets: int = -1
    given: bool = False

    def deal(self, rules: BaseRules, seed: int | None, given: SomeGame | None) -> Any:
        """Return the next game.

        Args:
            rules: rules of the game.
            seed: starts a new sequence; None continues the current one, or starts one with a random seed.
            given: the game to play instead, see `given_game`.

        Raises:
            ValueError: if the seed is invalid; nothing has changed then.
        """
        if seed is not None:
            self.seed, self.resets = check_seed(seed), -1
        elif self.seed < 0:
            self.seed = drawn_seed()
        self.resets += 1
        self.given = given is not None
        return given or spec_of(rules).Game.from_seed(rules, self.seed, self.resets)

    @property
    def name(self) -> tuple[int, int]:
        """(seed, game) of the current deal; (-1, -1) if it was given."""
        return (-1, -1) if self.given else (self.seed, self.resets)

    def is_valid(self) -> bool:
        """Return whether the attributes have their types and ranges."""
        numbers = (self.seed, self.resets)
        return type(self.given) is bool and all(type(each) is int and -1 <= each < MAX_SEED for each in numbers)
