"""The specification of a game: its classes and functions, for code that works with any game."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from quincunx_env.core.arrays import Bools, Ints
from quincunx_env.core.batch import BaseBatch
from quincunx_env.core.deal import BaseDeal
from quincunx_env.core.game import BaseGame
from quincunx_env.core.observation import BaseObserver

if TYPE_CHECKING:  # what an environment without pictures and text does not import
    from quincunx_env.core.notation import BaseNotation
    from quincunx_env.core.scene import Example, Scene, ScoredPlay


@dataclass(frozen=True)
class Deferred:
    """A function or class that is imported at its first call."""

    path: str
    """``module:name``."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it."""
        return resolve_name(self.path)(*args, **kwargs)


@dataclass(frozen=True)
class Solitaire:
    """The solitaire of a game.

    Its batch has ``lost``, ``unseen`` and ``penalties``, as `quincunx_env.quincunx.batch.Batch` documents them.
    `quincunx_env.core.notation.BaseNotation.public_state` has ``lost``, ``rating``.
    """

    make_rules: Callable[..., Any]
    """``Rules`` of the solitaire, from its options."""
    ratings: tuple[str, ...]
    """Ratings of a round, ascending. The first is for a lost round."""
    rate: Callable[[Ints, Bools], Ints]
    """Indices into `ratings`, int64 [n], from points int64 [n] and lost rounds bool [n]."""

    @property
    def rules(self) -> Any:
        """``Rules`` of the solitaire without further options."""
        return self.make_rules()


@dataclass(frozen=True)
class GameSpec:
    """Classes and functions of a game.

    Environments, the arena and the programs use them. Each game declares one in its package's ``__init__``;
    `quincunx_env.registry` lists them by name.
    """

    name: str
    """Name of the game: ``"quincunx"`` or ``"spiral"``."""
    Rules: type[Any]
    """Options of the game; a frozen dataclass, see `quincunx_env.core.rules.BaseRules`."""
    setups: tuple[Any, ...]
    """Rules of one round: one for each size and deck of a deal."""
    multiplayer_rules: Callable[..., Any]
    """``Rules`` of the game for several players, from its options."""
    solitaire: Solitaire | None
    """The solitaire; None if the game has none."""
    title: Callable[[Any], str]
    """Heading of results under some rules, without options: ``"Solitaire"``, ``"2 players"``, ``"Spiral game"``."""
    tasks: Mapping[str, Any]
    """Rules of the benchmark's tasks, by name."""
    generalisation: Mapping[str, tuple[Mapping[str, Any], Mapping[str, Any]]]
    """Rules for training and for the test of the benchmark's tasks of generalisation, each by name."""
    Deal: type[BaseDeal]
    """The cards of a round before its first play."""
    Game: type[BaseGame[Any, Any]]
    """One game in plain Python."""
    Batch: type[BaseBatch[Any, Any]]
    """Many games in NumPy arrays."""
    Observer: type[BaseObserver[Any, Any, Any]]
    """Observations and masks; their shapes depend on the rules."""
    PaddedObserver: Callable[..., BaseObserver[Any, Any, Any]] | None
    """Observations and masks of the same shape under all rules; None if the game has none."""
    Notation: "Callable[[], BaseNotation[Any]]"
    """Text format of actions, and positions as plain data; `notation` is one."""
    rules_card: Callable[[Any], tuple[str, ...]]
    """The rules in short: paragraphs, from rules."""
    examples: "Callable[[Any], list[Example]]"
    """Plays that show the rules of scoring, from rules."""
    sentences: Callable[[Any], list[str]]
    """The rest of the rules beside the examples: sentences, from rules."""
    scene: "Callable[..., Scene]"
    """A game as a scene for renderers: (game, seat); seat None shows all hands."""
    candidate: "Callable[[Any, int, int], ScoredPlay]"
    """The score of a play that is not made yet: (game, card, cell)."""

    @cached_property
    def notation(self) -> "BaseNotation[Any]":
        """Text format of actions, and positions as plain data."""
        return self.Notation()
