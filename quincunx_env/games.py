"""The games there are, by name. A new one is a package like ``quincunx_env.quincunx``, and an entry here."""

from collections.abc import Callable
from typing import Any, NamedTuple

from quincunx_env import quincunx, spiral
from quincunx_env.core.notation import BaseNotation
from quincunx_env.core.observation import Observer
from quincunx_env.core.rules import BaseRules
from quincunx_env.core.scene import Play, Scene
from quincunx_env.quincunx import render as quincunx_render
from quincunx_env.quincunx.notation import Notation as QuincunxNotation
from quincunx_env.spiral import render as spiral_render
from quincunx_env.spiral.notation import Notation as SpiralNotation


class Kind(NamedTuple):
    """What the doors need to know of a game."""

    rules: type[Any]
    """Its rules, made from its options."""
    several: Callable[..., Any]
    """The same for several players."""
    observer: type[Observer]
    fixed: type[Observer] | None
    """An observer of one width under all rules, if the width depends on them."""
    ansi: Callable[..., str]
    """A game as text: takes a game and the seat that looks, None to show all hands."""
    scene: Callable[..., Scene]
    """What there is to see of a game: takes the same."""
    candidate: Callable[[Any, int, int], Play]
    """What a play would score: takes a game, a card and a cell."""
    notation: BaseNotation[Any]
    """How its actions and positions are written."""


GAMES: dict[str, Kind] = {
    "quincunx": Kind(
        quincunx.Rules,
        quincunx.multiplayer_rules,
        quincunx.Observer,
        quincunx.FixedObserver,
        quincunx_render.ansi,
        quincunx_render.scene,
        quincunx_render.candidate,
        QuincunxNotation(),
    ),
    "spiral": Kind(
        spiral.Rules,
        spiral.Rules,
        spiral.Observer,
        None,
        spiral_render.ansi,
        spiral_render.scene,
        spiral_render.candidate,
        SpiralNotation(),
    ),
}
"""The games there are, by name."""


def name_of(rules: BaseRules) -> str:
    """The name of the game that these are the rules of."""
    return next(name for name, kind in GAMES.items() if isinstance(rules, kind.rules))


def kind_of(rules: BaseRules) -> Kind:
    """The game that these are the rules of."""
    return GAMES[name_of(rules)]


def rules_of(game: str, **options: Any) -> Any:
    """Rules for several players.

    Args:
        game: a name in `GAMES`.
        options: those of the game's ``Rules``.

    Raises:
        ValueError: naming the game or the option that is wrong, and what is allowed.
        TypeError: naming an option that the game does not have.
    """
    if game not in GAMES:
        raise ValueError(f"game must be one of {', '.join(map(repr, GAMES))}, got {game!r}")
    return GAMES[game].several(**options)


def observer_of(rules: BaseRules, preview: bool = False, fixed_width: bool = False) -> Observer:
    """An observer of games played by these rules.

    Args:
        rules: which game.
        preview: add what every legal play would bring.
        fixed_width: observations and actions have one layout under all rules of the game.
    """
    kind = kind_of(rules)
    return (kind.fixed if fixed_width and kind.fixed else kind.observer)(rules, preview)
