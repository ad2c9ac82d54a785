"""The interface of a game's rules for engines and environments."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import Field, asdict, field, fields
from inspect import cleandoc
from typing import Any, ClassVar, Literal, NamedTuple, Protocol

from quincunx_env.core.integers import as_plain

Decision = Literal["play", "announce"]
"""Kind of an action: a card is played, or the points of a play are announced."""


class Option(NamedTuple):
    """An option of rules, with its words for people."""

    name: str
    """The field of the dataclass."""
    default: Any
    title: str
    """Name in a text: ``"flush bonus"``."""
    meanings: Mapping[Any, str]
    """The allowed values, and what each means; the words may be empty."""
    note: str
    """Further sentences for programmers."""

    @property
    def is_switch(self) -> bool:
        """Whether it is on or off."""
        return isinstance(self.default, bool)

    @property
    def values(self) -> tuple[Any, ...]:
        """The allowed values, the default first."""
        return tuple(sorted(self.meanings, key=lambda value: bool(value != self.default)))

    @property
    def allowed(self) -> str:
        """The allowed values, for messages: ``"True or False"``."""
        *others, last = map(repr, self.meanings)
        return "True or False" if self.is_switch else f"{', '.join(others)} or {last}"

    def number(self, value: Any) -> int:
        """Return the index of a value in `values`: 0 for the default."""
        return self.values.index(value)

    def label(self, value: Any) -> str:
        """Name a value in a text: ``"flush bonus"``, ``"open start"``."""
        return self.title if self.is_switch else f"{value} {self.title}"

    def sentence(self, value: Any) -> str:
        """Say what a value means. The sentence is empty where there are no words."""
        meaning = self.meanings[value]
        return meaning and f"{_capital(self.label(value))}: {meaning}."

    def described(self) -> str:
        """Describe the option for programmers."""
        each = "; ".join(f"``{value!r}``: {meaning}" for value, meaning in self.meanings.items() if meaning)
        return f"{_capital(self.meanings[True] if self.is_switch else each or self.allowed)}. {self.note}".rstrip()


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def option(default: Any, title: str, meanings: Mapping[Any, str] | str, note: str = "") -> Any:
    """Declare an `Option`, as the default of a field of the dataclass.

    Args:
        default: the default value.
        title: see `Option.title`.
        meanings: see `Option.meanings`; for an option that is on or off what it means when on.
        note: see `Option.note`.
    """
    each = {False: "", True: meanings} if isinstance(meanings, str) else meanings
    return field(default=default, metadata={"title": title, "meanings": each, "note": note})


class BaseRules(Protocol):
    """Options of a game, and quantities that follow from them.

    Each game has a frozen dataclass of its options. It is a subclass, since pyright takes no ``cached_property`` for a
    property of a protocol.
    """

    game: ClassVar[str]
    """Name of the game, see `quincunx_env.registry.GAMES`."""
    options: ClassVar[tuple[Option, ...]] = ()
    """The options, in the order of the fields."""

    def __init_subclass__(cls) -> None:
        """List the options of a game, and describe them in the docstring."""
        super().__init_subclass__()
        found = ((name, each) for name, each in vars(cls).items() if isinstance(each, Field))
        cls.options = (*cls.options, *(Option(name, each.default, **each.metadata) for name, each in found))
        listed = (f"    {each.name}: {each.described()}" for each in cls.options)
        cls.__doc__ = "\n".join([cleandoc(cls.__doc__ or ""), "\nAttributes:", *listed])

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
        """The actions of a play, in order; see `quincunx_env.core.game.BaseGame.decision`."""
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


def check_options(rules: Any) -> None:
    """Check each option by itself. Values of NumPy's types are replaced by Python's.

    Raises:
        ValueError: naming the option and its allowed values.
    """
    for each in type(rules).options:
        value = as_plain(getattr(rules, each.name))
        if not any(type(value) is type(allowed) and value == allowed for allowed in each.meanings):
            raise ValueError(f"{each.name} must be {each.allowed}, got {value!r}")
        object.__setattr__(rules, each.name, value)  # the dataclass is frozen


def chosen_options(rules: BaseRules) -> Iterator[tuple[Option, Any]]:
    """Yield the options that differ from their defaults, each with its value."""
    for each in rules.options:
        if (value := getattr(rules, each.name)) != each.default:
            yield each, value


def option_sentences(rules: BaseRules, without: Sequence[str] = ()) -> list[str]:
    """Return the sentences of `chosen_options`, but for options ``without``."""
    found = (each.sentence(value) for each, value in chosen_options(rules) if each.name not in without)
    return [sentence for sentence in found if sentence]


def accepts(make: Callable[..., BaseRules], **options: Any) -> bool:
    """Return whether options go together. ``make`` returns rules from them."""
    try:
        make(**options)
    except ValueError:
        return False
    return True
