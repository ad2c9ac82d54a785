"""Shared by the environments: checks of options, deals handed in, and the sequence of seeded deals."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from quincunx_env.core.batch import BaseBatch
from quincunx_env.core.deal import MAX_SEED, BaseDeal, check_seed
from quincunx_env.core.game import BaseGame
from quincunx_env.core.rules import BaseRules
from quincunx_env.registry import spec_of

Info = dict[str, Any]
Game = BaseGame[Any, Any]
Batch = BaseBatch[Any, Any]

METADATA: dict[str, Any] = {"render_modes": ["ansi", "rgb_array", "human"], "render_fps": 2}
"""Of every environment of one game here."""


def check_option(name: str, value: Any, *allowed: Any) -> None:
    """Refuse what is not among the allowed values of an option.

    Raises:
        ValueError: naming the option and what is allowed.
    """
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}")


def reset_options(options: dict[str, Any] | None, *known: str) -> dict[str, Any]:
    """The options of ``reset``, none of them unknown.

    Raises:
        ValueError: naming those that are.
    """
    unknown = set(options or {}) - set(known)
    if unknown:
        raise ValueError(f"reset() has the options {', '.join(map(repr, known))}, got {', '.join(map(repr, unknown))}")
    return options or {}


def as_deals(cls: type[BaseDeal], deal: BaseDeal | str | Sequence[BaseDeal | str]) -> list[BaseDeal]:
    """Deals handed in: one or several, each a deal of this class or the text of one.

    Raises:
        ValueError: if something else is among them, or a text is no deal.
    """
    several = [deal] if isinstance(deal, BaseDeal | str) or not isinstance(deal, Iterable) else list(deal)
    for each in several:
        if not isinstance(each, cls | str):
            raise ValueError(f"a deal is a Deal or its text, got {each!r}")
    return [cls.parse(each) if isinstance(each, str) else each for each in several]


@dataclass
class DealSequence:
    """Which game is dealt next: the seeded ones in order, or one handed in.

    Attributes:
        seed: names the sequence; -1 before there is one.
        resets: games since it was seeded, less one.
        handed_in: whether the present game was handed in.
    """

    seed: int = -1
    resets: int = -1
    handed_in: bool = False

    def deal(
        self,
        rules: BaseRules,
        seed: int | None,
        handed_in: BaseDeal | str | Sequence[BaseDeal | str] | None,
    ) -> Any:
        """The next game.

        Args:
            rules: which game.
            seed: begins a new sequence; None goes on, from a random seed if there is none yet.
            handed_in: the deal to play instead, or one for each round.

        Raises:
            ValueError: for a seed or a deal that cannot be used; nothing has changed then.
        """
        spec = spec_of(rules)
        game = None if handed_in is None else spec.Game(rules, as_deals(spec.Deal, handed_in))
        if seed is not None:
            self.seed, self.resets = check_seed(seed), -1
        elif self.seed < 0:
            self.seed = int(np.random.default_rng().integers(MAX_SEED))
        self.resets += 1
        self.handed_in = game is not None
        return game or spec.Game.from_seed(rules, self.seed, self.resets)

    @property
    def name(self) -> tuple[int, int]:
        """(seed, game) of the present deal, -1 both if it was handed in."""
        return (-1, -1) if self.handed_in else (self.seed, self.resets)
