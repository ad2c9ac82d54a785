"""Gymnasium environments in which policies play all seats but one."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import partial
from typing import Any, Literal

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode

from quincunx_env.codec import Codec, Encoding
from quincunx_env.core.arrays import Bools, Floats, Ints
from quincunx_env.core.game import SomeGame
from quincunx_env.core.integers import check_integer, check_option
from quincunx_env.core.observation import Observation
from quincunx_env.core.policy import Agent, choose
from quincunx_env.core.rules import RulesLike
from quincunx_env.envs.generator import generator_array, generator_of, generator_state
from quincunx_env.envs.one_game import GymnasiumGame, check_snapshot
from quincunx_env.envs.opponents import Opponents, blame
from quincunx_env.envs.options import Info, check_finite, check_step_limit, options_of, with_options
from quincunx_env.envs.renderer import METADATA
from quincunx_env.envs.rewards import REWARDS, end_rewards, margin, outcome, step_rewards, win_shares
from quincunx_env.envs.side_by_side import make_vector_env
from quincunx_env.envs.vector import GamesVectorEnv, GivenDeals
from quincunx_env.registry import make_rules, observer_of


class VsOpponentsVectorEnv(GamesVectorEnv, gymnasium.vector.VectorEnv[Any, Any, Any]):
    """One seat of a game for several players, against policies.

    ## Description
    Quincunx for two to four players, or the spiral game for two. After each action of the agent the opponents play
    until it is the agent's turn again or the game is over. Opponents are policies (`quincunx_env.core.policy.Policy`),
    chosen by name or given as objects. They act on observations from their own seats, with the preview if they read
    it. Those that use random numbers share a generator, which the seed of ``reset`` determines. After an error of an
    opponent all rows must be reset. `VsOpponentsEnv` is one game, `VsOpponentsVectorEnv` many: row i seeded s plays the
    games of `quincunx_env.quincunx_v0` or `quincunx_env.spiral_v0` seeded s + i.

    ## Action Space
    The actions of the game, joint or by place of the hand, as in `quincunx_env.envs.solitaire.SolitaireEnv`.

    ## Observation Space
    The agent's observation, in which its own seat is seat 0: pieces, or one float32 vector for networks, as in
    `quincunx_env.envs.solitaire.SolitaireEnv`. With ``mask_in="obs"`` the mask is one more entry of the dictionary,
    ``action_mask``; the vector is then its entry ``observation``.

    ## Action Mask
    ``info["action_mask"]``: int8, 1 = legal for the agent. ``mask_in`` selects where it is: in the info (default) or in
    the observation. ``action_masks()`` returns the same as bool. `GamesVectorEnv` documents the mask of rows whose game
    is over.

    ## Rewards
    Everything the agent gained or lost since its previous decision, by its own play and the opponents' plays, as
    ``reward`` defines it (`quincunx_env.envs.rewards.REWARDS`). Rewards from before the agent's first decision are
    part of its first reward.

    ## Episode End
    A game terminates when its last round, or its last deal, is over. It is never truncated.

    ## Information
    ``action_mask`` in every info, unless ``mask_in="obs"``. The last info of a game adds ``score`` (the agent's total),
    ``value`` (the return: the sum of the rewards), ``totals`` (of all seats, starting with the agent's), ``win`` (1, a
    share of a shared win, or 0), ``seat``, and ``seed`` and ``game``, which identify the deals (-1 if they were given);
    with a pool also ``opponent``, the index of the policy that played the other seats. Other infos do not have these
    entries. The vector environment returns arrays [num_envs] with a bool array ``_<name>`` beside each that marks the
    rows it applies to.

    ## Version History
    v0: first release.

    Args:
        num_envs: games played side by side.
        game: ``"quincunx"`` or ``"spiral"``, a name in `quincunx_env.registry.GAMES`.
        opponents: the policy of all other seats, or one for each seat after the agent's, in order of play. A policy is
            an object, a registered name, ``"module:attribute"`` or the path of a file
            (`quincunx_env.policies.resolve`). Names survive ``spec.to_json()``, objects do not. ``"greedy"`` if neither
            this nor ``pool`` is given.
        pool: instead of ``opponents``: policies from which each game samples one for all other seats; `set_pool`
            replaces them.
        seat: the agent's seat, or ``"rotate"``: seat 0 in a row's first game, seat 1 in its second and so on.
        reward: ``"margin"``, ``"points"`` or ``"outcome"``, see `quincunx_env.envs.rewards.REWARDS`.
        illegal: ``"raise"``: an illegal action raises `IllegalAction` and changes nothing; ``"next"``: the legal action
            with the next higher number is played, from 0 on after the last.
        options: options of the game's rules: `quincunx_env.quincunx.rules.Rules` (``num_players`` is 2 by default) or
            `quincunx_env.spiral.rules.Rules`.
        rules: the options of the rules together, instead of one by one: the ``Rules`` of the game or a mapping of their
            fields. A vector environment also takes a list of k of these: row i plays rules i mod k, padded.
        observation: ``"pieces"`` or ``"vector"``.
        preview: add the points and draws of every legal play to the observation; in the spiral game the points that
            each legal card makes for the observer and for the other player.
        actions: ``"joint"``: card and cell; ``"hand"``: place in the sorted hand and cell.
        mask_in: ``"info"`` or ``"obs"``.
        padded: observations and actions have the same shape under all rules of the game
            (`quincunx_env.quincunx.padded`).
        autoreset_mode: when the next game is dealt: a ``gymnasium.vector.AutoresetMode`` or its value.
        copy: False returns arrays that the next step overwrites, which saves copying them.
        max_episode_steps: None, or more steps than a game has.
        render_mode: ``"ansi"`` (text), ``"rgb_array"`` (pictures) or None: result of `render` for each game.
        given_deals: deals to play instead of seeded ones, each a deal or its text, or a list of one for each round;
            `GamesVectorEnv` says which row plays which. In the last info ``game`` is the index of the deal in the list.
    """

    STATE_ARRAYS = ("value", "seat", "policy_index", "pending_reward")

    @with_options(of_game=True)
    def __init__(
        self,
        num_envs: int = 1,
        *,
        game: str = "quincunx",
        rules: RulesLike | None = None,
        opponents: Agent | str | Sequence[Agent | str] | None = None,
        pool: Sequence[Agent | str] | None = None,
        seat: int | Literal["rotate"] = "rotate",
        reward: Literal["margin", "points", "outcome"] = "margin",
        observation: Literal["pieces", "vector"] = "pieces",
        preview: bool = False,
        actions: Literal["joint", "hand"] = "joint",
        mask_in: Literal["info", "obs"] = "info",
        padded: bool = False,
        illegal: Literal["raise", "next"] = "raise",
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        copy: bool = True,
        max_episode_steps: int | None = None,
        render_mode: str | None = None,
        given_deals: GivenDeals | None = None,
        **options: Any,
    ) -> None:
        check_option("reward", reward, *REWARDS)
        chosen = make_rules(game, rules, **options)
        check_step_limit(max_episode_steps, chosen)
        self.opponents = Opponents(chosen, opponents, pool, seat)
        encoding: Any = {"observation": observation, "preview": preview, "actions": actions, "mask_in": mask_in}
        codec = Codec(chosen, **encoding, padded=padded)
        super().__init__(num_envs, codec, illegal, autoreset_mode, copy, render_mode, given_deals)
        self.reward = reward
        self.value = np.zeros(num_envs)
        self.seat = np.zeros(num_envs, np.int64)
        self.policy_index = np.zeros((num_envs, self.rules.num_players), np.int64)
        """Index among the opponents' policies of each seat's, [num_envs, players]; without meaning at the agent's."""
        self.pending_reward = np.zeros(num_envs)
        """Reward from before the agent's first decision, which its first step returns."""

    def set_pool(self, policies: Sequence[Agent | str], probabilities: npt.ArrayLike | None = None) -> None:
        """Replace the pool; games dealt from now on sample from it.

        A game in progress continues with the policy of the index that it drew. Therefore a pool may grow and change its
        members, but not shrink. `get_state` does not include the pool.

        Args:
            policies: the new pool.
            probabilities: of each policy, [len(policies)], with sum 1; None for the uniform distribution.

        Raises:
            ValueError: if the environment was made without a pool, if the pool would shrink, if a policy cannot be
                found, or if ``probabilities`` is not a distribution; nothing has changed then.
        """
        self.opponents.set_pool(policies, probabilities)

    def _observing_seats(self) -> Ints:
        return self.seat

    def _on_seed(self, seed: int | None) -> None:
        self.opponents.seed(seed)

    def _on_deal(self, rows: Ints) -> None:
        players, fixed = self.rules.num_players, self.opponents.fixed_seat
        self.seat[rows] = self.batch.resets[rows] % players if fixed is None else fixed
        self.policy_index[rows] = self.opponents.draw(self.seat[rows], players, self.np_random)
        self.value[rows] = 0.0
        self.pending_reward[rows] = self._opponents_play(rows)[rows]

    def _apply_actions(self, actions: Ints, ended: Bools) -> Floats:
        batch = self.batch
        rewards = self.pending_reward + self._rewards(batch._play_live(batch._all, actions), batch._all)
        self.pending_reward[:] = 0.0
        rewards += self._opponents_play(np.flatnonzero(~batch.over))
        finished = np.flatnonzero(batch.over & ~ended)
        if self.reward == "outcome" and len(finished):
            rewards[finished] = end_rewards(batch.totals[finished])[np.arange(len(finished)), self.seat[finished]]
        self.value += rewards
        return rewards

    def _opponents_play(self, rows: Ints) -> npt.NDArray[np.float64]:
        """Let the opponents play in these rows until the agent's turn.

        Returns:
            Rewards of the agent for their plays, float64 [num_envs].

        Raises:
            RuntimeError: if an opponent chooses an illegal action. Then, and after any error of an opponent, the
                environment must be reset.
        """
        batch, rewards = self.batch, np.zeros(self.num_envs)
        while True:
            rows = rows[~batch.over[rows] & (batch.mover[rows] != self.seat[rows])]
            if not len(rows):
                return rewards
            numbers = self.policy_index[rows, batch.mover[rows]]
            for number in np.unique(numbers).tolist():
                own, policy = rows[numbers == number], self.opponents.policies[number]
                games = batch.fork(own)
                try:
                    seen = observer_of(policy, self.rules).observe_batch(games)
                    actions = choose(policy, seen, games.mask, self.opponents.rng)
                    gains = batch.step(actions, own)
                except BaseException as error:
                    self._has_reset = False  # actions of the agents are taken that no opponent has answered
                    batch.forfeit(~batch.over)
                    blame(policy, error)
                    raise
                rewards[own] += self._rewards(gains, own)

    def _rewards(self, gains: Ints, rows: Ints) -> Floats:
        """Return the agents' rewards for gains int64 [n, P] in these rows: float64 [n]."""
        return step_rewards(self.reward, gains)[np.arange(len(rows)), self.seat[rows]]

    def _generator_arrays(self) -> dict[str, npt.NDArray[Any]]:
        return super()._generator_arrays() | {"opponents_generator": generator_array(self.opponents.rng)}

    def _set_generator(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        rng = generator_of(generator_state(state, "opponents_generator"))
        super()._set_generator(state)
        self.opponents.rng = rng

    def _limits(self) -> dict[str, tuple[Any, Any]]:
        return {
            "seat": (0, self.rules.num_players - 1),
            "policy_index": (-1, len(self.opponents.policies) - 1),
        }

    def _final_values(self, rows: Ints) -> dict[str, npt.NDArray[Any]]:
        batch, players = self.batch, self.rules.num_players
        turns = (self.seat[rows, None] + np.arange(players)) % players
        totals = np.take_along_axis(batch.totals[rows], turns, axis=1)
        opponent = {"opponent": self.policy_index[rows, 0]} if self.opponents.pooled else {}
        return {
            "score": totals[:, 0],
            "value": self.value[rows],
            "totals": totals,
            "win": win_shares(totals)[:, 0],
            "seat": self.seat[rows],
            "seed": batch.seed[rows],
            "game": batch.game[rows],
            **opponent,
        }


make_vs_opponents_vec = partial(make_vector_env, VsOpponentsVectorEnv)
"""Make a `VsOpponentsVectorEnv`, or one for each of a list of rules side by side."""

_VECTOR_ALONE = ("num_envs", "autoreset_mode", "copy", "render_mode", "given_deals", "max_episode_steps")
_SINGLE_GAME_OPTIONS = options_of(VsOpponentsVectorEnv, without=_VECTOR_ALONE)


class VsOpponentsEnv(GymnasiumGame[SomeGame], gymnasium.Env[Any, Any]):
    """One game of `VsOpponentsVectorEnv`, which documents the environment.

    Args:
        render_mode: ``"ansi"``, ``"rgb_array"``, ``"human"`` or None, as in
            `quincunx_env.envs.solitaire.SolitaireEnv`.
        options: options of `VsOpponentsVectorEnv`, except ``num_envs``, ``autoreset_mode``, ``copy``, ``given_deals``
            and ``max_episode_steps``.
    """

    metadata: dict[str, Any] = METADATA

    @with_options(*_SINGLE_GAME_OPTIONS, of_game=True)
    def __init__(self, *, render_mode: str | None = None, **options: Any) -> None:
        chosen = {each.name: options.pop(each.name, each.default) for each in _SINGLE_GAME_OPTIONS}
        check_option("reward", chosen["reward"], *REWARDS)
        rules = make_rules(chosen["game"], chosen["rules"], **options)
        encoding = {option.name: chosen[option.name] for option in fields(Encoding)}
        self._set_up(Codec(rules, **encoding), chosen["illegal"], render_mode)
        self.opponents = Opponents(self.rules, chosen["opponents"], chosen["pool"], chosen["seat"])
        self.reward = chosen["reward"]
        self._pending_reward = 0.0
        self._policy_index: list[int] = []
        self.replies: list[int] = []
        """Joint actions of the opponents since the agent's last one."""

    def set_pool(self, policies: Sequence[Agent | str], probabilities: npt.ArrayLike | None = None) -> None:
        """Replace the pool; see `VsOpponentsVectorEnv.set_pool`."""
        self.opponents.set_pool(policies, probabilities)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Observation, Info]:
        """Deal a game, and play up to the agent's first turn.

        Args:
            seed: starts the sequence of games of this seed; None deals the next game of the sequence.
            options: ``{"deal": ...}``: the deal to play, or a list of one for each round of a match.

        Returns:
            The observation and the info.

        Raises:
            ValueError: if the seed, a deal or an option is invalid; nothing has changed then.
        """
        game, seed = self._next_game(seed, options)
        super().reset(seed=seed)
        self.opponents.seed(seed)
        players, fixed = game.rules.num_players, self.opponents.fixed_seat
        self.seat = self._deals.resets % players if fixed is None else fixed
        [self._policy_index] = self.opponents.draw(np.array([self.seat]), players, self.np_random).tolist()
        self._value = self._pending_reward = 0.0
        self._game = game
        self._pending_reward = self._opponents_play()
        self._renderer.moved(game)
        return self._show(game, {})

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, Info]:
        """Take an action, and play up to the agent's next turn.

        Returns:
            Observation, reward, terminated, truncated (always False) and info.

        Raises:
            IllegalAction: if it is illegal; nothing has changed then.
            RuntimeError: if an action of an opponent is illegal.
            ResetNeeded: before the first reset and after the end of a game, or an error of an opponent.
        """
        game = self.game
        gains = self._play(game, action)
        reward = self._pending_reward + self._reward_of(gains)
        self._pending_reward = 0.0
        reward += self._opponents_play()
        info: Info = {}
        if game.over:
            reward, info = self._end(reward)
        return self._stepped(game, reward, info)

    def _opponents_play(self) -> float:
        """Let the opponents play; return the agent's reward until its turn."""
        game, reward = self.game, 0.0
        self.replies = []
        while not game.over and game.mover != self.seat:
            policy = self.opponents.policies[self._policy_index[game.mover]]
            seen = observer_of(policy, game.rules)
            observation = {name: piece[None] for name, piece in seen.observe(game, game.mover).items()}
            try:
                [action] = choose(policy, observation, seen.mask(game).view(np.bool_)[None], self.opponents.rng)
                reward += self._reward_of(game.step(action))
                self.replies.append(int(action))
            except BaseException as error:
                self._game = None  # an action of the agent is taken that no opponent has answered
                blame(policy, error)
                raise
        return reward

    def _reward_of(self, gains: list[int]) -> float:
        """Return the agent's reward for gains of all seats."""
        if self.reward == "outcome":
            return 0.0
        return float(margin(gains)[self.seat] if self.reward == "margin" else gains[self.seat])

    def _end(self, reward: float) -> tuple[float, Info]:
        """Return last reward and last info of a game."""
        game, seat = self.game, self.seat
        if self.reward == "outcome":
            reward = float(outcome(game.totals)[seat])
        totals = np.array(game.totals[seat:] + game.totals[:seat])
        info: Info = {"score": game.totals[seat], "value": self._value + reward, "totals": totals}
        info |= {"win": float(win_shares(totals)[0]), "seat": seat}
        info["seed"], info["game"] = self._deals.name
        return reward, info | ({"opponent": self._policy_index[0]} if self.opponents.pooled else {})

    def forfeit(self, reward: float) -> tuple[float, Info]:
        """Lose the game; return last reward, with ``reward`` added, and last info."""
        self.game.forfeit()
        reward += self._pending_reward
        _, info = self._end(reward)
        self._pending_reward = 0.0
        self._value += reward
        return reward, info | {"value": self._value, "win": 0.0}

    def get_state(self) -> dict[str, Any]:
        """Return a snapshot for `set_state`. It includes the sequence of deals and the generators, but no policy."""
        return super().get_state() | {
            "pending_reward": self._pending_reward,
            "seat": self.seat,
            "policy_index": self._policy_index[:],
            "opponents_random": self.opponents.rng.bit_generator.state,
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Restore a snapshot of this or another environment.

        Rules and opponents must be the same. The snapshot stays usable. A new environment of ``gymnasium.make`` needs a
        ``reset`` before: its wrappers ask for one before the first ``step``.

        Raises:
            ValueError: if the snapshot does not fit; nothing has changed then.
        """
        check_snapshot(state, self.rules, "pending_reward", "seat", "policy_index", "opponents_random")
        check_finite("pending_reward", state["pending_reward"])
        players = state["game"].rules.num_players
        seat = check_integer("seat of the snapshot", state["seat"], 0, players - 1)
        indices = state["policy_index"]
        if not isinstance(indices, list) or len(indices) != players:
            raise ValueError(f"policy_index of the snapshot must be a list of {players}, got {indices!r:.60}")
        indices = [
            check_integer("policy_index of the snapshot", each, -1, len(self.opponents.policies) - 1)
            for each in indices
        ]
        if not state["game"].over and state["game"].mover != seat:
            raise ValueError(f"invalid snapshot: seat {state['game'].mover} is to move, the agent has seat {seat}")
        rng = generator_of(state["opponents_random"])
        super().set_state(state)
        self.seat, self._policy_index, self._pending_reward = seat, indices, state["pending_reward"]
        self.opponents.rng = rng
