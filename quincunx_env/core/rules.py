"""The interface of a game's rules for engines and environments."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any, ClassVar, Protocol

from quincunx_env.core.integers import as_plain


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


class SeveralRules(tuple[Any, ...]):
    """Different rules, from which each game draws its own."""

    @property
    def num_players(self) -> int:
        """Most seats at a table."""
        return max(int(rules.num_players) for rules in self)

    def choose(self, chosen: Any) -> Any:
        """Return the rules that ``chosen`` names.

        Args:
            chosen: their index, the rules, or a mapping of their fields.

        Raises:
            ValueError: if there are no such rules.
        """
        wanted = as_plain(chosen)
        for index, rules in enumerate(self):
            if any(type(wanted) is type(name) and wanted == name for name in (index, rules, asdict(rules))):
                return rules
        raise ValueError(f"make the environment with these rules, too, to choose them here: {chosen!r}")

    def check_deals(self, deals: Any, chosen: Any) -> None:
        """Check that given deals come with their rules.

        Raises:
            ValueError: if they do not.
        """
        if deals is not None and chosen is None:
            raise ValueError("a deal needs its rules where games have several: choose them, too, as rules")


def one_or_several(choose: Callable[[Any, Mapping[str, Any]], Any], rules: Any, options: Mapping[str, Any]) -> Any:
    """Return rules by ``choose``, or `SeveralRules` from a list of rules.

    Args:
        choose: takes rules and single options, see `choose_rules`.
        rules: rules, a mapping of their fields, a list or tuple of these, or None.
        options: single options by name.

    Raises:
        ValueError: if the sequence is empty or has the same rules twice, or from ``choose``.
    """
    if not isinstance(rules, list | tuple):
        return choose(rules, options)
    return several_rules(choose(each, options) for each in rules)


def several_rules(rules: Iterable[BaseRules]) -> SeveralRules:
    """Return rules together.

    Raises:
        ValueError: if there are none, or the same ones twice.
    """
    several = SeveralRules(rules)
    if not several or len(set(several)) < len(several):
        raise ValueError(f"a sequence of rules must have at least one, each once, got {[*several]!r:.200}")
    return several


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
