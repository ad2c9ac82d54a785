"""Registry of games. A new game is a package like ``quincunx_env.quincunx``, and an entry in `GAMES`."""

from collections.abc import Iterator, Mapping
from functools import cache
from pkgutil import resolve_name
from typing import Any

from quincunx_env.core.observation import Observer
from quincunx_env.core.policy import Policy
from quincunx_env.core.rules import BaseRules, RulesLike, changed_options, choose_rules
from quincunx_env.core.spec import GameSpec, Solitaire

DEFAULT_GAME = "quincunx"
"""Name of the game that is played if none is named."""

_SPECS = {"quincunx": "quincunx_env.quincunx:SPEC", "spiral": "quincunx_env.spiral:SPEC"}


@cache
def _spec(path: str) -> GameSpec:
    spec: GameSpec = resolve_name(path)
    return spec


class _Games(Mapping[str, GameSpec]):
    """Specifications by name, each imported at its first use."""

    def __getitem__(self, name: str) -> GameSpec:
        return _spec(_SPECS[name])

    def __iter__(self) -> Iterator[str]:
        return iter(_SPECS)

    def __len__(self) -> int:
        return len(_SPECS)


GAMES: Mapping[str, GameSpec] = _Games()
"""The specification of every game, by name."""


def spec_of(rules: BaseRules) -> GameSpec:
    """Return the specification of the game that these rules belong to.

    Raises:
        ValueError: if they are not rules of a game.
    """
    name = getattr(rules, "game", None)
    if name not in _SPECS:
        raise ValueError(f"rules must be Rules of {' or '.join(map(repr, GAMES))}, got {rules!r:.200}")
    return GAMES[name]


def solitaire_of(game: str = DEFAULT_GAME) -> Solitaire:
    """Return the solitaire of a game.

    Raises:
        ValueError: if the game has none.
    """
    if found := GAMES[game].solitaire:
        return found
    with_one = ", ".join(repr(name) for name, spec in GAMES.items() if spec.solitaire)
    raise ValueError(f"{game!r} has no solitaire: choose a game that has one, {with_one}")


def heading(rules: BaseRules) -> str:
    """Name the game, and options that differ from their defaults."""
    changed = changed_options(rules, type(rules)())
    options = (f"{name} {value}".removesuffix(" True") for name, value in changed.items() if name != "num_players")
    return ", ".join([spec_of(rules).title(rules), *options])


def make_rules(game: str, rules: RulesLike | None = None, **options: Any) -> Any:
    """Return rules of a game for several players.

    Args:
        game: a name in `GAMES`.
        rules: rules of the game, or a mapping of their fields, instead of single options.
        options: options of the game's ``Rules``.

    Raises:
        ValueError: if the game, the rules or the value of an option is invalid, naming the allowed values.
        TypeError: if the game has no such option.
    """
    if not isinstance(game, str) or game not in GAMES:
        raise ValueError(f"game must be one of {', '.join(map(repr, GAMES))}, got {game!r}")
    spec = GAMES[game]
    if getattr(rules, "game", game) != game:
        raise ValueError(f"rules are for {rules.game!r}, but the game is {game!r}: give both for one game")  # type: ignore[union-attr]
    return choose_rules(spec.Rules, spec.multiplayer_rules, rules, options)


@cache
def _observer(rules: BaseRules, preview: bool) -> Observer:
    return make_observer(rules, preview)


def observer_of(policy: Policy, rules: BaseRules) -> Observer:
    """Return the observer of what a policy reads.

    Without an attribute ``preview`` that is False it reads the preview.
    """
    return _observer(rules, getattr(policy, "preview", True))


def make_observer(rules: BaseRules, preview: bool = False, padded: bool = False) -> Observer:
    """Return an observer of games with these rules.

    Args:
        rules: rules of the game.
        preview: add the points and draws of every legal play to the observation.
        padded: observations and actions have the same shape under all rules of the game.

    Raises:
        ValueError: if an option is not a bool, if ``rules`` are not rules of a game, or if the game has no padded
            observations.
    """
    if not isinstance(padded, bool):
        raise ValueError(f"padded must be True or False, got {padded!r}")
    spec = spec_of(rules)
    if not padded:
        return spec.Observer(rules, preview)
    if not spec.PaddedObserver:
        raise ValueError(f"{spec.name!r} has no padded observations: make an environment or a policy for each rules")
    return spec.PaddedObserver(rules, preview)
