"""Pictures in notebooks. Games and ends of records show all hands; deals are before the first play."""

from base64 import b64encode
from collections.abc import Iterable
from contextlib import suppress
from functools import singledispatch

from quincunx_env.core.deal import BaseDeal
from quincunx_env.core.game import BaseGame, SomeGame
from quincunx_env.notation.record import Record
from quincunx_env.registry import GAMES, spec_of
from quincunx_env.render import to_svg
from quincunx_env.render.replay_page import embedded, replay_page


@singledispatch
def picture_of(shown: object) -> str | None:
    """Draw a game, a deal or a record as SVG; None if it has no picture."""
    return None


@picture_of.register(BaseGame)
def _(shown: SomeGame) -> str:
    return to_svg(shown)


@picture_of.register
def _(shown: Record) -> str:
    return to_svg(shown.game())


@picture_of.register
def _(shown: BaseDeal) -> str | None:
    for rules in (rules for spec in GAMES.values() for rules in spec.setups):
        with suppress(ValueError):  # a deal by other rules
            shown.check(rules)
            return to_svg(spec_of(rules).Game(rules, shown))
    return None


def player_of(record: Record) -> str:
    """Return a record's replay player, as an element of a page."""
    return embedded(replay_page([record]))


def gallery(games: Iterable[SomeGame]) -> str:
    """Draw the grids of games side by side, each above its points, as HTML for notebooks."""
    figures = []
    for game in games:
        # One <img> for each picture: inline pictures would share the ids of their parts.
        grid = b64encode(to_svg(game, portion="grid", scale=0.5).encode()).decode()
        image = f'<img src="data:image/svg+xml;base64,{grid}" alt="grid of a game">'
        points = " : ".join(map(str, game.totals))
        figures.append(f'<figure style="display: inline-block; margin: 4px">{image}<br>{points}</figure>')
    return "".join(figures)
