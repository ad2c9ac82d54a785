"""Pictures of games, records and deals in notebooks.

Games and ends of records show all hands; deals are before the first play.
"""

from contextlib import suppress
from functools import singledispatch

from quincunx_env.core.deal import BaseDeal
from quincunx_env.core.game import BaseGame, Game
from quincunx_env.core.rules import BaseRules
from quincunx_env.notation.record import Record
from quincunx_env.quincunx.rules import MINI_SETUPS, SETUPS, Rules
from quincunx_env.registry import spec_of
from quincunx_env.render import to_svg
from quincunx_env.spiral.rules import Rules as SpiralRules

_DEALT_BY: tuple[BaseRules, ...] = (
    *(
        Rules(players, start, excuse=excuse, pawns=pawns)  # type: ignore[arg-type]  # the keys are plain strings
        for players, start in SETUPS
        for excuse in (False, True)
        for pawns in (False, True)
    ),
    *(Rules(players, mini=True) for players in MINI_SETUPS),
    SpiralRules(deals=1),
)
"""Rules of every kind of deal."""


@singledispatch
def picture_of(shown: object) -> str | None:
    """Draw a game, a deal or a record as SVG. Return None if it has no picture."""
    return None


@picture_of.register(BaseGame)
def _(shown: Game) -> str:
    return to_svg(shown)


@picture_of.register
def _(shown: Record) -> str:
    return to_svg(shown.game())


@picture_of.register
def _(shown: BaseDeal) -> str | None:
    for rules in _DEALT_BY:
        with suppress(ValueError):  # a deal by other rules
            shown.check(rules)
            return to_svg(spec_of(rules).Game(rules, shown))
    return None
