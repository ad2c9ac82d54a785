"""Registry of games. A new game is a package like ``quincunx_env.quincunx``, and an entry in `GAMES`."""

from typing import Any

from quincunx_env import quincunx, spiral
from quincunx_env.core.observation import Observer
from quincunx_env.core.rules import BaseRules
from quincunx_env.core.spec import GameSpec

GAMES: dict[str, GameSpec] = {spec.name: spec for spec in (quincunx.SPEC, spiral.SPEC)}
"""The specification of every game, by name."""


def spec_of(rules: BaseRules) -> GameSpec:
    """Return the specification of the game that these rules belong to."""
    return next(spec for spec in GAMES.values() if isinstance(rules, spec.Rules))


def make_rules(game: str, **options: Any) -> Any:
    """Return rules of a game for several players.

    Args:
        game: a name in `GAMES`.
        options: options of the game's ``Rules``.

    Raises:
        ValueError: if the game or the value of an option is invalid, naming the allowed values.
        TypeError: if the game has no such option.
    """
    if game not in GAMES:
        raise ValueError(f"game must be one of {', '.join(map(repr, GAMES))}, got {game!r}")
    return GAMES[game].multiplayer_rules(**options)


def make_observer(rules: BaseRules, preview: bool = False, padded: bool = False) -> Observer:
    """Return an observer of games with these rules.

    Args:
        rules: rules of the game.
        preview: add the points and draws of every legal play to the observation.
        padded: observations and actions have the same shape under all rules of the game.
    """
    spec = spec_of(rules)
    return (spec.PaddedObserver if padded and spec.PaddedObserver else spec.Observer)(rules, preview)
