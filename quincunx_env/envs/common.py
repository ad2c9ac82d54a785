"""Shared by the environments: checks of options, given deals, and sequences of seeded games."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from quincunx_env.core.batch import BaseBatch
from quincunx_env.core.deal import MAX_SEED, BaseDeal, check_seed
from quincunx_env.core.rules import BaseRules
from quincunx_env.registry import spec_of

Info = dict[str, Any]
Batch = BaseBatch[Any, Any]

METADATA: dict[str, Any] = {"render_modes": ["ansi", "rgb_array", "human"], "render_fps": 2}
"""Metadata of the environments of one game."""


def check_option(name: str, value: Any, *allowed: Any) -> None:
    """Check that the value of an option is allowed.

    Raises:
        ValueError: naming the option and its allowed values.
    """
    # True and 1.0 are equal to 1, but no number of a seat.
    if not any(type(value) is type(each) and value == each for each in allowed):
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}")


def check_finite(name: str, value: Any) -> None:
    """Check that the value of an option is a finite number.

    Raises:
        ValueError: naming the option.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{name} must be a finite number, got {value!r}")


def reset_options(options: Mapping[str, Any] | None, *known: str) -> Mapping[str, Any]:
    """Return the options of ``reset`` after checking their names.

    Raises:
        ValueError: if they are no mapping, or naming unknown options.
    """
    names = ", ".join(map(repr, known))
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        raise ValueError(f"the options of reset() are a mapping with the keys {names}, got {options!r}")
    if unknown := [name for name in options if name not in known]:
        raise ValueError(f"reset() has the options {names}, got {', '.join(map(repr, unknown))}")
    return options


def as_deals(cls: type[BaseDeal], deal: BaseDeal | str | Sequence[BaseDeal | str]) -> list[BaseDeal]:
    """Return given deals as a list: one or several, each a deal of this class or the text of one.

    Raises:
        ValueError: if one is of another type, or its text cannot be parsed.
    """
    several = [deal] if isinstance(deal, BaseDeal | str) or not isinstance(deal, Iterable) else list(deal)
    for each in several:
        if not isinstance(each, cls | str):
            raise ValueError(f"a deal is a Deal or its text, got {each!r}")
    return [cls.parse(each) if isinstance(each, str) else each for each in several]


@dataclass
class DealSequence:
    """The sequence of games of a seed, in which single games may be replaced by given deals.

    Attributes:
        seed: of the sequence; -1 before the first reset.
        resets: index of the current game in the sequence.
        given: whether the current game has given deals.
    """

    seed: int = -1
    resets: int = -1
    given: bool = False

    def deal(
        self,
        rules: BaseRules,
        seed: int | None,
        deals: BaseDeal | str | Sequence[BaseDeal | str] | None,
    ) -> Any:
        """Return the next game.

        Args:
            rules: rules of the game.
            seed: starts a new sequence; None continues the current one, or starts one with a random seed.
            deals: the deal to play instead, or one for each round.

        Raises:
            ValueError: if the seed or a deal is invalid; nothing has changed then.
        """
        spec = spec_of(rules)
        game = None if deals is None else spec.Game(rules, as_deals(spec.Deal, deals))
        if seed is not None:
            self.seed, self.resets = check_seed(seed), -1
        elif self.seed < 0:
            self.seed = int(np.random.default_rng().integers(MAX_SEED))
        self.resets += 1
        self.given = game is not None
        return game or spec.Game.from_seed(rules, self.seed, self.resets)

    @property
    def name(self) -> tuple[int, int]:
        """(seed, game) of the current deal; -1 for both if it was given."""
        return (-1, -1) if self.given else (self.seed, self.resets)
