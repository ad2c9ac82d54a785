"""Games for several players as a PettingZoo AEC environment."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import replace
from typing import Any, Literal

import gymnasium
import numpy as np
from gymnasium import spaces
from pettingzoo import AECEnv
from pettingzoo.utils.conversions import turn_based_aec_to_parallel_wrapper
from pettingzoo.utils.wrappers import OrderEnforcingWrapper

from quincunx_env.codec import Codec
from quincunx_env.core.cards import EMPTY
from quincunx_env.core.game import IllegalAction, SomeGame
from quincunx_env.core.hand import Mask
from quincunx_env.core.integers import check_option
from quincunx_env.core.observation import Vector
from quincunx_env.core.rules import BaseRules, RulesLike
from quincunx_env.envs.deals import DealSequence, given_game
from quincunx_env.envs.one_game import OneGame, check_snapshot
from quincunx_env.envs.options import check_finite, options_of, reset_options, with_options
from quincunx_env.envs.renderer import METADATA, Renderer
from quincunx_env.envs.rewards import REWARDS, margin, outcome
from quincunx_env.registry import make_rules


class CardGameAEC(OneGame[SomeGame], AECEnv[str, Any, Any]):  # type: ignore[misc]  # PettingZoo comes without types
    """A game for several players.

    ## Agents
    ``player_0``, ``player_1`` ..., in order of play. Player 0 begins the first round, player 1 the second (R15). One
    agent acts at a time. In ``parallel_env()`` all act, and the action of ``agent_selection`` is played.

    ## Observation Space
    A float32 vector from the agent's seat: all that the agent may know, and nothing else, with cards as rank and suits
    and scaled numbers (`quincunx_env.core.encoding`). ``observer.encoder().table()`` lists its slices,
    ``encoder(by_place=True)`` is for ``actions="hand"``. With ``mask_in="obs"`` a dictionary of ``observation`` and
    ``action_mask``. ``observe(agent)`` works for every agent at any time.

    ## Action Mask
    int8, 1 = legal; all 1 for agents that wait, all 0 after the end. ``mask_in`` selects where it is: in the
    observation or in ``infos[agent]["action_mask"]``.

    ## Rewards
    Every step rewards all agents; ``last()`` returns the sum since the agent's previous turn. ``"outcome"`` (default):
    0 until the end of the game, then (P * share - 1) / (P - 1) among P agents, where the share of the win is 1/W for
    each of W winners and 0 for the others; with two players +1, 0 or -1, as in PettingZoo's ``classic`` games.
    ``reward="points"``: the points that the agent scores or loses. ``"margin"``: its points minus the mean of the
    others' points. Margins and outcomes sum to zero. A play scores from -36 to 302 points in Quincunx, from 0 to 82 in
    the spiral game. Announcements, and cards left in hand at the end of a round, may cost further points.

    ## Starting State
    ``reset(seed=s)`` starts the sequence of games of seed s; each reset without a seed deals the next game.
    ``options={"deal": ...}`` plays a given deal, or the text of one; a game of several rounds takes a list of them.

    ## Episode End
    All agents terminate together, when the last round is over. No agent is truncated.

    ## Information
    ``action_mask``, with ``mask_in="info"``. The last infos add ``score`` (the agent's total), and
    ``seed`` and ``game``, which identify the deals (-1 if they were given). ``env.unwrapped.game.previous_round`` has
    the scores, hands and penalties at the end of the round before this one.

    ``state()`` returns the complete state of the round for centralised critics, a vector in ``state_space``. It holds
    the observations of all agents, in the order of ``possible_agents``. In Quincunx the draw pile follows, next card
    first, encoded as the cells of the grid. No observation and no info contains it.

    Args:
        name: entry of ``metadata``.
        rules: rules of the game; `quincunx_env.quincunx_v0` and `quincunx_env.spiral_v0` also take a mapping of their
            fields, or single options.
        reward: ``"outcome"``, ``"margin"`` or ``"points"``.
        actions: ``"joint"``: card and cell; ``"hand"``: place in the sorted hand and cell.
        mask_in: ``"obs"`` or ``"info"``.
        preview: add the points and draws of every legal play to the observation; in the spiral game the points that
            each legal card makes for the observer and for the other player.
        padded: observations and actions have the same shape under all rules of the game
            (`quincunx_env.quincunx.padded`).
        illegal: ``"raise"``: an illegal action raises `IllegalAction` and changes nothing; ``"next"``: the legal action
            with the next higher number is played, from 0 on after the last.
        render_mode: ``"ansi"``: `render` returns text, ``"rgb_array"``: a picture (`quincunx_env.render.frame`),
            ``"human"``: a window shows the game whenever it changes. The last two need the extra ``render``.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012  declared so in AECEnv
        "name": "card_game",
        **METADATA,
        "is_parallelizable": False,
    }

    @with_options()
    def __init__(
        self,
        name: str,
        rules: BaseRules,
        *,
        reward: Literal["outcome", "margin", "points"] = "outcome",
        actions: Literal["joint", "hand"] = "joint",
        mask_in: Literal["obs", "info"] = "obs",
        preview: bool = False,
        padded: bool = False,
        illegal: Literal["raise", "next"] = "raise",
        render_mode: str | None = None,
    ) -> None:
        super().__init__()
        check_option("reward", reward, *REWARDS)
        check_option("render_mode", render_mode, None, *METADATA["render_modes"])
        self.metadata = self.metadata | {"name": name}
        # The manual of a language model is the docstring of the environment's module: it has the rules of the game.
        self.__module__ = f"quincunx_env.{name}"
        check_option("illegal", illegal, "raise", "next")
        encoding: Any = {"preview": preview, "actions": actions, "mask_in": mask_in, "padded": padded}
        self.codec, self.illegal = Codec(rules, observation="vector", **encoding), illegal
        self.observer = self.codec.observer
        self.rules = rules
        self.reward = reward
        self.render_mode = render_mode
        self._renderer = Renderer(render_mode, name)
        self.possible_agents = [f"player_{seat}" for seat in range(rules.num_players)]
        self.agents: list[str] = []
        self._seats = {agent: seat for seat, agent in enumerate(self.possible_agents)}
        self._deals = DealSequence()
        self._waiting = np.ones(self.codec.num_actions, np.int8)
        # PettingZoo's deprecated dictionaries, which some libraries still read.
        self.observation_spaces: dict[str, spaces.Space[Any]] = {}
        self.action_spaces: dict[str, spaces.Space[Any]] = {}
        for agent in self.possible_agents:
            self.observation_spaces[agent] = self.codec.observation_space()
            self.action_spaces[agent] = self.codec.action_space()
        # The spiral game has no pile; the bound of the count is the length of the longest one.
        _, _, self._pile_size = self.observer.counts.get("pile", ("", 0, 0))
        self._board = self.observer.pieces[0].encoding
        self.state_space = self._state_space()

    def _state_space(self) -> spaces.Box:
        seen = self.codec.encoder.space()
        pile = self._board.limits(np.full((2, self._pile_size), [[EMPTY], [self.rules.num_cards - 1]]))
        low, high = np.concatenate([*[[seen.low, seen.high]] * len(self.possible_agents), pile], axis=1)
        return spaces.Box(low, high, dtype=np.float32)

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """Return the observation space of an agent, always the same object.

        Raises:
            ValueError: if there is no such agent.
        """
        return self.observation_spaces[self._checked(agent)]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """Return the action space of an agent, always the same object.

        Raises:
            ValueError: if there is no such agent.
        """
        return self.action_spaces[self._checked(agent)]

    def _checked(self, agent: str) -> str:
        """Return the name of an agent.

        Raises:
            ValueError: if there is no such agent, naming those that there are.
        """
        if not isinstance(agent, str) or agent not in self._seats:
            raise ValueError(f"agent must be one of {', '.join(self.possible_agents)}, got {agent!r}")
        return agent

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Deal a game.

        Args:
            seed: starts the sequence of games of this seed; None deals the next game of the sequence.
            options: ``{"deal": ...}``: the deal to play, its text, or a list of one for each round.

        Raises:
            ValueError: if the seed, a deal or an option is invalid; nothing has changed then.
        """
        # PettingZoo's `api_test` and `parallel_api_test` hand in an option of this name.
        given = given_game(self.rules, reset_options(options, "deal", "options").get("deal"))
        self._game = self._deals.deal(self.rules, seed, given)
        self.agents = self.possible_agents[:]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self._skip_agent_selection = None
        self.agent_selection = self.possible_agents[self._game.mover]
        self._update_infos(self._game)
        self._renderer.moved(self._game)

    def _update_infos(self, game: SomeGame) -> None:
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        if not self.codec.mask_in_obs:
            for agent, info in self.infos.items():
                info["action_mask"] = self._mask(game, self._seats[agent])
        if game.over:
            for agent, info in self.infos.items():
                info["score"] = game.totals[self._seats[agent]]
                info["seed"], info["game"] = self._deals.name

    def last(self, observe: bool = True) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Return observation, cumulative reward, termination, truncation and info of ``agent_selection``.

        Raises:
            ResetNeeded: before the first reset.
        """
        _ = self.game
        shown: tuple[Any, float, bool, bool, dict[str, Any]] = super().last(observe)
        return shown

    def step(self, action: Any) -> None:
        """Take an action for ``agent_selection``.

        The action is None if that agent has terminated or been truncated.

        Raises:
            IllegalAction: if the action is illegal; nothing has changed then.
            ValueError: if the action of such an agent is not None; nothing has changed then.
            ResetNeeded: before the first reset, and when all agents have left.
        """
        game = self.game
        agent = self.agent_selection
        if not self.agents:
            raise gymnasium.error.ResetNeeded("the game is over and all agents have left: call reset() before step()")
        if self.terminations[agent] or self.truncations[agent]:  # a wrapper may truncate
            self._was_dead_step(action)
            return
        try:
            gains = game.step(self.codec.decode_action(action, game, self.illegal))
        except IllegalAction as error:
            raise self.codec.with_remedy(error) from None
        self._cumulative_rewards[agent] = 0.0
        for other, reward in zip(self.possible_agents, self._rewards(game, gains), strict=True):
            self.rewards[other] = reward
            self._cumulative_rewards[other] += reward
        self.agent_selection = self.possible_agents[game.mover]
        self._update_infos(game)
        if game.over:
            self.terminations = dict.fromkeys(self.agents, True)
        if self.render_mode:
            self._renderer.moved(game)

    def _rewards(self, game: SomeGame, gains: list[int]) -> list[float]:
        if self.reward == "outcome":
            return [float(share) for share in outcome(game.totals)] if game.over else [0.0] * len(gains)
        return margin(gains) if self.reward == "margin" else [float(gain) for gain in gains]

    def observe(self, agent: str) -> Any:
        """Return the current observation of an agent (new arrays).

        The agent need not be to move.

        Raises:
            ValueError: if there is no such agent.
            ResetNeeded: before the first reset.
        """
        game, seat = self.game, self._seats[agent if agent in self.agents else self._checked(agent)]
        vector = self.codec.of_game(game, seat)
        return self.codec.with_mask(vector, self._mask(game, seat)) if self.codec.mask_in_obs else vector

    def state(self) -> Vector:
        """Return the complete state of the round, hidden cards included.

        It is a new vector in ``state_space``, for centralised critics, as in QMIX and MAPPO. Cards of later rounds are
        not in it.

        Raises:
            ResetNeeded: before the first reset.
        """
        game, cards = self.game, list(getattr(self.game, "pile", ()))
        pile = self._board.row(cards + [EMPTY] * (self._pile_size - len(cards)))
        seen: list[Any] = [self.codec.of_game(game, seat) for seat in self._seats.values()]
        state: Vector = np.concatenate([*seen, np.frombuffer(pile, np.float32)])
        return state

    def _mask(self, game: SomeGame, seat: int) -> Mask:
        return self.codec.mask(game) if seat == game.mover or game.over else self._waiting.copy()

    def get_state(self) -> dict[str, Any]:
        """Return a snapshot of everything that changes, for `set_state`."""
        state = {"game": self.game.copy(), "deals": replace(self._deals)}
        return state | deepcopy({name: getattr(self, name) for name in _STATE_ATTRIBUTES})

    def set_state(self, state: dict[str, Any]) -> None:
        """Restore a snapshot of this or another environment with the same rules.

        The snapshot stays usable.

        Raises:
            ValueError: if the snapshot does not fit, for example if it is of other rules; nothing has changed then.
        """
        check_snapshot(state, self.rules, *_STATE_ATTRIBUTES)
        self._check_agents(state)
        for name in _STATE_ATTRIBUTES:
            setattr(self, name, deepcopy(state[name]))
        self._deals = replace(state["deals"])
        self._game = state["game"].copy()
        self.terminations = dict.fromkeys(self.agents, self.game.over)
        self.truncations = dict.fromkeys(self.agents, False)
        self._update_infos(self._game)

    def _check_agents(self, state: dict[str, Any]) -> None:
        over, agents, seats = state["game"].over, state["agents"], self.possible_agents
        names = agents if isinstance(agents, list) else [agents]
        left = [agent for agent in seats if agent in [name for name in names if isinstance(name, str)]]
        chosen, skipped = state["agent_selection"], state["_skip_agent_selection"]
        if (
            not all(isinstance(name, str) for name in (*names, chosen, skipped) if name is not None)
            or agents != (left if over else seats)
            or chosen not in (left or seats)
            or skipped not in (None, *seats)
        ):
            raise ValueError("the agents of the snapshot do not fit its game")
        for name in ("rewards", "_cumulative_rewards"):
            rewards = state[name]
            if not isinstance(rewards, dict) or set(rewards) != set(left):
                raise ValueError(f"{name} of the snapshot must have an entry for each of {left}, got {rewards!r}")
            for reward in rewards.values():
                check_finite(f"an entry of {name}", reward)


_STATE_ATTRIBUTES = ("agents", "agent_selection", "rewards", "_cumulative_rewards", "_skip_agent_selection")
"""Attributes in a snapshot, besides the game and the deals, from which the others follow."""


OPTIONS = options_of(CardGameAEC, without=("name", "rules"))
"""Keyword parameters of `CardGameAEC`, without the rules, which differ from game to game."""


def make_aec(game: str, rules: RulesLike | None, options: dict[str, Any]) -> CardGameAEC:
    """Make a `CardGameAEC` from its own options and its rules' options.

    Args:
        game: a name in `quincunx_env.registry.GAMES`.
        rules: the options of the rules together, or None.
        options: all other options by name.

    Raises:
        ValueError: naming an option and its allowed values.
    """
    own = {option.name: options.pop(option.name) for option in OPTIONS if option.name in options}
    return CardGameAEC(f"{game}_v0", make_rules(game, rules, **options), **own)


class Ordered(OrderEnforcingWrapper):  # type: ignore[misc]  # PettingZoo comes without types
    """PettingZoo's check of the order of calls. It accepts `set_state` in place of the first reset."""

    def set_state(self, state: dict[str, Any]) -> None:
        """Restore a snapshot, see `CardGameAEC.set_state`."""
        self.env.set_state(state)
        self._has_reset = self._has_updated = True

    def _repr_svg_(self) -> str | None:
        picture: str | None = self.env._repr_svg_()
        return picture

    def __str__(self) -> str:
        return str(self.env)


class Parallel(turn_based_aec_to_parallel_wrapper):  # type: ignore[misc]  # PettingZoo comes without types
    """A game in PettingZoo's parallel form.

    Every agent acts at every step, and the mover's action is played. ``infos[agent]["active_agent"]`` names the mover,
    too, but not after `reset`: TorchRL reads numbers alone in its infos.
    """

    @property
    def agent_selection(self) -> str:
        """The mover."""
        mover: str = self.aec_env.agent_selection
        return mover

    def step(self, actions: dict[str, Any]) -> tuple[dict[str, Any], ...]:
        """Play the mover's action.

        Returns observations, rewards, terminations, truncations and infos by agent, empty after the end of the game.

        Raises:
            ValueError: without an action of the mover; nothing has changed then.
            IllegalAction: if the action is illegal; nothing has changed then.
            ResetNeeded: before the first reset.
        """
        _ = self.unwrapped.game
        if not self.agents:  # PettingZoo 1.27 returns four dictionaries then
            return {}, {}, {}, {}, {}
        mover = self.agent_selection
        if not isinstance(actions, Mapping) or mover not in actions:
            raise ValueError(f"actions must be a dictionary with one of the mover, {mover}, got {actions!r:.100}")
        shown: tuple[dict[str, Any], ...] = super().step(actions)
        return shown
