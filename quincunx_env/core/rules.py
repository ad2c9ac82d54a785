"""The interface of a game's rules for engines and environments."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any, ClassVar, Literal, Protocol

from quincunx_env.core.integers import as_plain

Decision = Literal["play", "announce"]
"""Kind of an action: a card is played, or the points of a play are announced."""


class BaseRules(Protocol):
    """Options of a game, and quantities that follow from them. Each game has a frozen dataclass of its options.

    It is a subclass, since pyright takes no ``cached_property`` for a property of a protocol.
    """

    game: ClassVar[str]
    """Name of the game, see `quincunx_env.registry.GAMES`."""

    def __hash__(self) -> int:
        return super().__hash__()

    @property
    def num_players(self) -> int:
        """Seats at the table."""
        ...

    @property
    def num_rounds(self) -> int:
        """Rounds of a game, each with its own deal."""
        ...

    @property
    def num_plays(self) -> int:
        """Cards played in a round that is played to its end."""
        ...

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """The actions that make a play, in order; see `quincunx_env.core.game.BaseGame.decision`."""
        return ("play",)

    @property
    def points_range(self) -> tuple[int, int]:
        """Bounds of the points of a seat in a whole game."""
        ...

    @property
    def num_cards(self) -> int:
        """Length of every axis of cards."""
        ...

    @property
    def num_cells(self) -> int:
        """Length of every axis of cells."""
        ...

    @property
    def num_actions(self) -> int:
        """Number of actions; an action is an integer from 0 to ``num_actions - 1``."""
        ...

    @property
    def deck(self) -> Sequence[int]:
        """Ids of the cards in the deck, ascending."""
        ...

    @property
    def num_dealt(self) -> int:
        """Number of cards that a deal holds."""
        ...

    @property
    def hand_size(self) -> int:
        """Cards dealt to each seat."""
        ...


RulesLike = BaseRules | Mapping[str, Any]
"""Rules of a game, or a mapping of their fields."""


def choose_rules(cls: type[Any], make: Callable[..., Any], rules: RulesLike | None, options: Mapping[str, Any]) -> Any:
    """Return rules from a whole or from single options.

    Every environment accepts both. ``make`` returns rules from options.

    Raises:
        ValueError: if both are given, if ``rules`` are for another game or have other fields, or from ``make``.
    """
    if rules is None:
        return make(**as_plain(dict(options)))
    if options:
        raise ValueError(f"give rules= or single options, not both: got rules= and {', '.join(options)}")
    given = asdict(rules) if isinstance(rules, cls) else rules
    names = [field.name for field in fields(cls)]
    if not isinstance(given, Mapping) or not all(name in names for name in given):
        kind = f"{cls.__module__}.{cls.__qualname__}"
        raise ValueError(f"rules must be a {kind} or a mapping of its fields ({', '.join(names)}), got {rules!r}")
    return make(**as_plain(dict(given)))


def changed_options(rules: BaseRules, default: BaseRules) -> dict[str, Any]:
    """Return the options that differ from ``default``, by name."""
    values = {field.name: getattr(rules, field.name) for field in fields(rules)}  # type: ignore[arg-type]  # dataclasses
    return {name: value for name, value in values.items() if value != getattr(default, name)}


def described(rules: Any) -> str:
    """Return the ``repr`` of rules: the options that differ from their defaults."""
    changed = changed_options(rules, type(rules)())
    return f"Rules({', '.join(f'{name}={value!r}' for name, value in changed.items())})"


def make_plain(rules: Any) -> None:
    """Replace options of NumPy's types by Python's values. The rules check them afterwards."""
    for field in fields(rules):
        object.__setattr__(rules, field.name, as_plain(getattr(rules, field.name)))  # the dataclass is frozen
