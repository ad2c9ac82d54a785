"""Environments of one game: the game, its pictures, its snapshots."""

from collections.abc import Mapping
from typing import Any, Generic, TypeVar

import numpy as np
from gymnasium.error import ResetNeeded

from quincunx_env.core.arrays import Frame
from quincunx_env.core.batch_state import check_limits, state_arrays
from quincunx_env.core.deal import check_deals
from quincunx_env.core.game import Game
from quincunx_env.core.rules import BaseRules, SeveralRules
from quincunx_env.envs.deals import DealSequence
from quincunx_env.envs.renderer import Renderer
from quincunx_env.registry import spec_of
from quincunx_env.utils.notebook import shown_as

AnyGame = TypeVar("AnyGame", bound=Game)

METADATA: dict[str, Any] = {"render_modes": ["ansi", "rgb_array", "human"], "render_fps": 2}
"""Metadata of the environments of one game."""


class OneGame(Generic[AnyGame]):
    """An environment of one game, and its pictures.

    Subclasses set ``render_mode`` and ``_renderer``, and ``_game`` once it is dealt.
    """

    render_mode: str | None
    _renderer: Renderer
    _game: AnyGame | None = None

    @property
    def game(self) -> AnyGame:
        """The game in progress.

        Read or copy it, but do not change it.

        Raises:
            ResetNeeded: before the first reset.
        """
        if self._game is None:
            raise ResetNeeded("no game has been dealt yet: call reset() first")
        return self._game

    def render(self) -> str | Frame | None:
        """Return text, a picture or None, depending on ``render_mode``.

        A picture is uint8 [height, width, 3]. All hands are shown.
        """
        return self._renderer.render(self.game) if self.render_mode else None

    def close(self) -> None:
        """Close the window, if there is one."""
        self._renderer.close()

    def _repr_svg_(self) -> str | None:
        """Draw the game as SVG, for notebooks, with all hands. The result is None before the first reset."""
        try:
            return shown_as("svg", self.game)
        except ResetNeeded:
            return None


def check_snapshot(state: Any, rules: BaseRules | SeveralRules, *names: str) -> None:
    """Check the entries, the game and the deals of a snapshot.

    Args:
        state: the snapshot.
        rules: rules of the environment.
        names: entries besides ``game`` and ``deals``.

    Raises:
        ValueError: naming what is wrong.
    """
    missing = [name for name in ("game", "deals", *names) if not isinstance(state, Mapping) or name not in state]
    if missing:
        raise ValueError(
            f"a snapshot must be what get_state() of this environment returned: {', '.join(missing)} missing"
        )
    game, deals = state["game"], state["deals"]
    if not isinstance(game, spec_of(rules).Game):
        raise ValueError(f"the game of the snapshot is not of this environment, which plays {rules}: {game!r}")
    if game.rules not in (rules if isinstance(rules, SeveralRules) else (rules,)):
        raise ValueError(f"this environment plays {rules}, the snapshot is of {game.rules}")
    try:
        _check_limits(game)
    except (AttributeError, LookupError, TypeError, ValueError) as error:  # of values of other types
        raise ValueError(f"invalid snapshot: the game was modified after get_state(): {error}") from None
    if not isinstance(deals, DealSequence) or not deals.is_valid():
        raise ValueError(f"the deals of the snapshot are not a sequence of deals: {deals!r}")


def _check_limits(game: Game) -> None:
    """Check types, shapes and limits of the attributes of a game.

    `state_array` declares them for a batch.

    Raises:
        ValueError: naming an attribute that does not fit. Values of other types may raise another error.
    """
    rules = game.rules
    for name, array in state_arrays(spec_of(rules).Batch).items():
        if array.derived or not hasattr(game, name) or (name == "pending" and getattr(game, name) is None):
            continue
        values, kind = np.asarray(getattr(game, name)), np.dtype(array.dtype).kind
        shape, limits = array.shape(rules), array.limits(rules)
        if name == "hands":  # a byte for each card, not a bit
            shape, limits = (*shape, rules.num_cards), (0, 1)
        if values.dtype.kind != kind or values.shape != shape:
            raise ValueError(f"{name!r} must have the dtype and the shape of {array.dtype.__name__} {list(shape)}")
        check_limits(name, values, *limits)
    if not game.over and game.ply >= rules.num_plays:
        raise ValueError("the round is over, but not the game")
    check_deals(rules, game.deals)
