"""Environments of one game: the game, its pictures, its snapshots."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Generic, TypeVar

import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded

from quincunx_env.codec import Codec
from quincunx_env.core.arrays import Bools, Frame
from quincunx_env.core.batch_state import check_limits, state_arrays
from quincunx_env.core.deal import MAX_SEED, check_deals, check_seed
from quincunx_env.core.game import IllegalAction, SomeGame
from quincunx_env.core.integers import check_integer, check_option
from quincunx_env.core.observation import Observation
from quincunx_env.core.rules import BaseRules
from quincunx_env.envs.deals import DealSequence, given_game
from quincunx_env.envs.generator import GymnasiumEnv, set_generator
from quincunx_env.envs.options import Info, check_finite, reset_options
from quincunx_env.envs.renderer import METADATA, Renderer
from quincunx_env.registry import spec_of
from quincunx_env.utils.notebook import shown_as

AnyGame = TypeVar("AnyGame", bound=SomeGame)


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


class GymnasiumGame(GymnasiumEnv, OneGame[AnyGame]):  # the generator of `GymnasiumEnv` before the one of ``Env``
    """A Gymnasium environment of one game.

    Subclasses call ``_set_up`` first, and keep each game that ``_next_game`` returns as ``_game``.
    """

    metadata: dict[str, Any]
    action_space: spaces.Space[Any]
    observation_space: spaces.Space[Any]
    seat: int = 0
    """Seat of the agent."""

    def _set_up(self, codec: Codec, illegal: str, render_mode: str | None) -> None:
        """Set the attributes that follow from codec, ``illegal`` and ``render_mode``."""
        check_option("illegal", illegal, "raise", "next")
        check_option("render_mode", render_mode, None, *METADATA["render_modes"])
        self.codec, self.observer, self.illegal = codec, codec.observer, illegal
        self.rules: Any = codec.rules
        self.observation_space = codec.observation_space()
        self.action_space = codec.action_space()
        self.metadata = dict(self.metadata)  # Gymnasium's vector environments before 1.4 write into it
        self.render_mode = render_mode
        self._renderer = Renderer(render_mode, "Quincunx")
        self._deals = DealSequence()
        self._value = 0.0

    def _next_game(self, seed: int | None, options: dict[str, Any] | None) -> tuple[AnyGame, int | None]:
        """Deal the game of a ``reset``; return it and the seed.

        Raises:
            ValueError: if the seed, the deal or an option is invalid; nothing has changed then.
        """
        given = given_game(self.rules, reset_options(options, "deal").get("deal"))
        seed = self._next_seed(self._deals.seed >= 0) if seed is None else check_seed(seed)
        return self._deals.deal(self.rules, seed, given), seed

    def _play(self, game: AnyGame, action: Any) -> list[int]:
        """Take an action of the agent in the game; return all gains.

        Raises:
            IllegalAction: if it is illegal; nothing has changed then.
            ResetNeeded: before the first reset and after the end of a game.
        """
        if game.over:
            raise ResetNeeded("the game is over: call reset() before the next step()")
        try:
            return game.step(self.codec.decode_action(action, game, self.illegal))
        except IllegalAction as error:
            raise self.codec.with_remedy(error) from None

    def _stepped(self, game: AnyGame, reward: float, info: Info) -> tuple[Observation, float, bool, bool, Info]:
        """Return the results of a step."""
        self._value += reward
        self._renderer.moved(game)
        shown, info = self._show(game, info)
        return shown, reward, game.over, False, info

    def _show(self, game: AnyGame, info: Info) -> tuple[Observation, Info]:
        """Return observation and info, with the mask where ``mask_in`` says."""
        codec = self.codec
        mask = codec.mask(game)
        if not codec.mask_in_obs:
            info["action_mask"] = mask
        return codec.with_mask(codec.of_game(game, self.seat), mask), info

    def action_masks(self) -> Bools:
        """Return the legal actions: bool, shaped as ``info["action_mask"]``."""
        return self.codec.mask(self.game).view(np.bool_)

    def get_state(self) -> dict[str, Any]:
        """Return a snapshot of the game for `set_state`. It includes the sequence of deals and the generator."""
        return {
            "game": self.game.copy(),
            "deals": replace(self._deals),
            "value": self._value,
            "np_random": self.np_random.bit_generator.state,
            "np_random_seed": self.np_random_seed,
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Restore a snapshot of this or another environment with the same rules.

        The snapshot stays usable. A new environment of ``gymnasium.make`` needs a ``reset`` before: its wrappers ask
        for one before the first ``step``.

        Raises:
            ValueError: if the snapshot does not fit, for example if it is of other rules; nothing has changed then.
        """
        check_snapshot(state, self.rules, "value", "np_random", "np_random_seed")
        check_finite("value", state["value"])
        seed = check_integer("np_random_seed of the snapshot", state["np_random_seed"], -1, MAX_SEED - 1)
        set_generator(self.np_random, state["np_random"])
        self._np_random_seed = seed
        self._deals, self._value = replace(state["deals"]), state["value"]
        self._game = state["game"].copy()


def check_snapshot(state: Any, rules: BaseRules, *names: str) -> None:
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
    if game.rules != rules:
        raise ValueError(f"this environment plays {rules}, the snapshot is of {game.rules}")
    try:
        _check_limits(game)
    except (AttributeError, LookupError, TypeError, ValueError) as error:  # of values of other types
        raise ValueError(f"invalid snapshot: the game was modified after get_state(): {error}") from None
    if not isinstance(deals, DealSequence) or not deals.is_valid():
        raise ValueError(f"the deals of the snapshot are not a sequence of deals: {deals!r}")


def _check_limits(game: SomeGame) -> None:
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
