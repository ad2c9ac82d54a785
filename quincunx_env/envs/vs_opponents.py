"""Gymnasium environments in which policies play all seats but one."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Literal, cast

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode

from quincunx_env.core.arrays import Bools, Ints
from quincunx_env.core.deal import check_seed
from quincunx_env.core.game import Game, IllegalAction
from quincunx_env.core.integers import as_array
from quincunx_env.core.observation import Flat, Observer, Pieces
from quincunx_env.core.policy import Agent, NotFiniteError, Policy, policy_for
from quincunx_env.core.rules import RulesLike, SeveralRules, one_or_several
from quincunx_env.envs.codec import Batch, EnvCodec, Info
from quincunx_env.envs.generator import GymnasiumEnv, delegate
from quincunx_env.envs.mixed import option, split
from quincunx_env.envs.one_game import METADATA, OneGame
from quincunx_env.envs.options import check_finite, check_option, options_of, reset_options, with_options
from quincunx_env.envs.rewards import REWARDS, by_players, end_rewards, step_rewards, win_shares
from quincunx_env.envs.vector import GamesVectorEnv, GivenDeals
from quincunx_env.policies import display_name, resolve
from quincunx_env.registry import heading, make_observer, make_rules
from quincunx_env.render import Renderer

DEFAULT_OPPONENT = "greedy"
"""The policy of the other seats where none is given: registered by this distribution, and fast."""


class VsOpponentsVectorEnv(GamesVectorEnv, gymnasium.vector.VectorEnv[Any, Any, Any]):
    """One seat of a game for several players, against policies.

    ## Description
    Quincunx for two to four players, or the spiral game for two. After each action of the agent the opponents play
    until it is the agent's turn again or the game is over. Opponents are policies (`quincunx_env.core.policy.Policy`),
    chosen by name or given as objects. They act on observations from their own seats, which always include the preview;
    those that use random numbers share the environment's generator, ``np_random``. After an error of an opponent all
    rows must be reset. `VsOpponentsEnv` is one game, `VsOpponentsVectorEnv` many: row i seeded s plays the games of
    `quincunx_env.quincunx_v0` or `quincunx_env.spiral_v0` seeded s + i.

    ## Action Space
    The actions of the game, joint, by place of the hand or factored, as in `quincunx_env.envs.solitaire.SolitaireEnv`.
    The spiral game, and Quincunx with Simpleton, have no factored actions.

    ## Observation Space
    The agent's observation, in which its own seat is seat 0: pieces, one flat vector, or the encoding for networks.
    ``print(env.unwrapped.observer.table())`` lists names, slices, meanings and ranges. With ``mask_in="obs"`` or
    ``"both"`` the mask is one more entry of the dictionary, ``action_mask``; the vector is then its entry
    ``observation``.

    ## Action Mask
    ``info["action_mask"]``: int8, 1 = legal for the agent. ``mask_in`` selects where it is: in the info (default), in
    the observation, or both. ``action_masks()`` returns the same as bool. `GamesVectorEnv` documents the mask of rows
    whose game is over.

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
        illegal: ``"raise"``: an illegal action raises `IllegalAction` and changes nothing; ``"lose"``: it ends the
            game; ``"next"``: the legal action with the next higher number is played, from 0 on after the last.
        illegal_reward: added to the agent's reward when an illegal action ends the game.
        options: options of the game's rules: `quincunx_env.quincunx.rules.Rules` (``num_players`` is 2 by default) or
            `quincunx_env.spiral.rules.Rules`.
        rules: the options of the rules together, instead of one by one: the ``Rules`` of the game or a mapping of their
            fields; or a list of these, from which each game draws its rules. Observations are then padded.
        observation: ``"pieces"``, ``"flat"`` or ``"float32"``, the encoding for networks.
        preview: add the points and draws of every legal play to the observation; in the spiral game the points that
            each legal card makes for the observer and for the other player.
        actions: ``"joint"``: card and cell; ``"hand"``: place in the sorted hand and cell; ``"factored"``: a pair.
        padded: observations and actions have the same shape in all variants of the game.
        rules_in_obs: False leaves the piece ``form``, which encodes the rules, out of padded observations.
        mask_in: ``"info"``, ``"obs"`` or ``"both"``.
        autoreset_mode: when the next game is dealt: a ``gymnasium.vector.AutoresetMode`` or its value.
        copy: False returns arrays that the next step overwrites, which saves copying them.
        max_episode_steps: must be None, since games end by themselves.
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
        rules: RulesLike | Sequence[RulesLike] | None = None,
        opponents: Agent | str | Sequence[Agent | str] | None = None,
        pool: Sequence[Agent | str] | None = None,
        seat: int | Literal["rotate"] = "rotate",
        reward: Literal["margin", "points", "outcome"] = "margin",
        observation: Literal["pieces", "flat", "float32"] = "pieces",
        preview: bool = False,
        actions: Literal["joint", "hand", "factored"] = "joint",
        padded: bool = False,
        rules_in_obs: bool = True,
        mask_in: Literal["obs", "info", "both"] = "info",
        illegal: Literal["raise", "lose", "next"] = "raise",
        illegal_reward: float = -1.0,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        copy: bool = True,
        max_episode_steps: None = None,
        render_mode: str | None = None,
        given_deals: GivenDeals | None = None,
        **options: Any,
    ) -> None:
        if max_episode_steps is not None:
            raise ValueError("max_episode_steps must be None: a game ends by itself")
        check_option("reward", reward, *REWARDS)
        check_finite("illegal_reward", illegal_reward)
        chosen = one_or_several(lambda one, single: make_rules(game, one, **single), rules, options)
        every = chosen if isinstance(chosen, SeveralRules) else (chosen,)
        num_players, fewest = chosen.num_players, min(each.num_players for each in every)
        check_option("seat", seat, "rotate", *range(fewest))
        agents: Sequence[Agent | str]
        if pool is None:
            opponents = DEFAULT_OPPONENT if opponents is None else opponents
            several = isinstance(opponents, Sequence) and not isinstance(opponents, str)
            agents = cast(Sequence[Agent | str], opponents if several else [opponents] * (num_players - 1))
            if several and fewest < num_players:
                raise ValueError("opponents must be one policy for all other seats where their number differs by game")
            if len(agents) != num_players - 1:
                raise ValueError(
                    f"opponents must be one policy for all other seats or a sequence of {num_players - 1}, got "
                    f"{len(agents)}; a policy is a registered name, 'module:attribute', a function or an instance"
                )
        elif opponents is None:
            agents = check_pool(pool)
        else:
            raise ValueError("opponents and pool exclude each other: give one of them")
        self.policies = [_policy_for(resolve(agent), chosen) for agent in agents]
        """The policies of the other seats. With several rules each is a tuple, by the rules."""
        self._pooled = pool is not None
        codec = EnvCodec(chosen, observation, preview, actions, illegal, padded, mask_in, rules_in_obs)
        super().__init__(num_envs, codec, autoreset_mode, copy, render_mode, given_deals)
        self._probabilities: npt.NDArray[np.float64] | None = None
        self.reward = reward
        self.illegal_reward = illegal_reward
        self.fixed_seat = None if seat == "rotate" else seat
        self.value = np.zeros(num_envs)
        self.seat = np.zeros(num_envs, np.int64)
        self.policy_index = np.zeros((num_envs, num_players), np.int64)
        """Index into ``policies`` of each seat's policy, [num_envs, players]; without meaning at the agent's seat."""
        self.pending_reward = np.zeros(num_envs)
        """Reward from before the agent's first decision, which its first step returns."""
        self._opponents_observers = [make_observer(each, preview=True) for each in every]

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
        if not self._pooled:
            raise ValueError("this environment was made with opponents=: make it with pool= to change the opponents")
        if len(check_pool(policies)) < len(self.policies):
            raise ValueError(f"games in progress may need all {len(self.policies)} policies, got {len(policies)}")
        given = None if probabilities is None else as_array(probabilities)
        if given is not None:
            numbers = given.shape == (len(policies),) and given.dtype.kind in "iuf"
            if not numbers or not (given >= 0).all() or not np.isclose(given.sum(), 1):
                raise ValueError(
                    f"probabilities must be {len(policies)} numbers from 0 on that add up to 1, got {probabilities!r}"
                )
            given = given / given.sum()
        self.policies = [_policy_for(resolve(policy), self.rules) for policy in policies]
        self._probabilities = given

    def _observing_seats(self) -> Ints:
        return self.seat

    def _on_deal(self, rows: Ints) -> None:
        players = option(self.batch, "num_players")[rows]
        self.seat[rows] = self.batch.resets[rows] % players if self.fixed_seat is None else self.fixed_seat
        if self._pooled:
            drawn = (
                self.np_random.integers(len(self.policies), size=len(rows))
                if self._probabilities is None
                else self.np_random.choice(len(self.policies), len(rows), p=self._probabilities)
            )
            self.policy_index[rows] = drawn[:, None]
        else:
            after = (np.arange(self.rules.num_players) - self.seat[rows, None]) % players[:, None]
            self.policy_index[rows] = after - 1  # -1 at the agent's own seat, where it is not read
        self.value[rows] = 0.0
        self.pending_reward[rows] = self._opponents_play(rows)[rows]

    def _apply_actions(self, actions: Ints, ended: Bools) -> npt.NDArray[np.float64]:
        batch = self.batch
        illegal = batch.over & ~ended
        rewards = self.pending_reward + self._agent_rewards(batch.step(actions), np.arange(self.num_envs))
        self.pending_reward[:] = 0.0
        rewards += self._opponents_play(np.flatnonzero(~batch.over))
        finished = np.flatnonzero(batch.over & ~ended & ~illegal)
        if self.reward == "outcome" and len(finished):
            rewards[finished] = self._agents(end_rewards, batch.totals[finished], finished)
        rewards[illegal] += self.illegal_reward
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
            policies = self.policy_index[rows, batch.mover[rows]]
            for some, policy, observer, games in self._groups(rows, policies):
                try:
                    actions = policy(observer.observe_batch(games), games.mask, self.np_random)
                    gains = batch.step(actions, some)
                except BaseException as error:
                    self._has_reset = False  # actions of the agents are taken that no opponent has answered
                    batch.forfeit(~batch.over)
                    if isinstance(error, IllegalAction | NotFiniteError):
                        raise RuntimeError(f"the opponent {display_name(policy)} is at fault: {error}") from error
                    raise
                rewards[some] += self._agent_rewards(gains, some)

    def _groups(self, rows: Ints, policies: Ints) -> Iterator[tuple[Ints, Policy, Observer, Batch]]:
        """Yield rows by policy and rules: with policy, observer and copies."""
        for index in np.unique(policies):
            own, policy = rows[policies == index], self.policies[index]
            for number, here, part, places in split(self.batch, own):
                each = policy[number] if isinstance(self.rules, SeveralRules) else policy
                yield own[here], each, self._opponents_observers[number], part.fork(places)

    def _limits(self, games: Batch) -> dict[str, tuple[Any, Any]]:
        return {"seat": (0, option(games, "num_players") - 1), "policy_index": (-1, len(self.policies) - 1)}

    def _agent_rewards(self, gains: Ints, rows: Ints) -> npt.NDArray[np.float64]:
        """Return the agents' rewards for gains int64 [n, P] in these rows: float64 [n]."""
        return self._agents(partial(step_rewards, self.reward), gains, rows)

    def _agents(self, rewards: Any, points: Ints, rows: Ints) -> npt.NDArray[np.float64]:
        """Return the agents' rewards in these rows, float64 [n].

        Args:
            rewards: function from the points of all seats to their rewards.
            points: int64 [n, P].
            rows: int64 [n].
        """
        players = option(self.batch, "num_players")[rows]
        return by_players(rewards, points, players)[np.arange(len(rows)), self.seat[rows]]

    def _final_values(self, rows: Ints) -> dict[str, npt.NDArray[Any]]:
        batch, each, seats = self.batch, np.arange(len(rows)), np.arange(self.rules.num_players)
        players = option(batch, "num_players")[rows]
        turns = (self.seat[rows, None] + seats) % players[:, None]
        totals = np.where(seats < players[:, None], np.take_along_axis(batch.totals[rows], turns, axis=1), 0)
        played = batch.ply[rows] == option(batch, "num_plays")[rows]  # the agent forfeited the others
        opponent = {"opponent": self.policy_index[rows, 0]} if self._pooled else {}
        return {
            "score": totals[each, 0],
            "value": self.value[rows],
            "totals": totals,
            "win": np.where(played, by_players(win_shares, totals, players)[:, 0], 0.0),
            "seat": self.seat[rows],
            "seed": batch.seed[rows],
            "game": batch.game[rows],
            **opponent,
        }


def _policy_for(agent: Agent, rules: Any) -> Any:
    """Return the policy of an agent, or a tuple for several rules."""
    if not isinstance(rules, SeveralRules):
        return policy_for(agent, rules)
    policies = []
    for each in rules:
        try:
            policies.append(policy_for(agent, each))
        except ValueError as error:
            raise ValueError(f"{error}; leave {heading(each)!r} out of rules=, or choose other opponents") from error
    return tuple(policies)


def check_pool(pool: Sequence[Agent | str]) -> Sequence[Agent | str]:
    """Return a pool of policies.

    Raises:
        ValueError: if it is not a sequence, or is empty.
    """
    if isinstance(pool, str) or not isinstance(pool, Sequence) or not pool:
        raise ValueError(f"pool must be a sequence of at least one policy, got {pool!r}")
    return pool


_SINGLE_GAME_OPTIONS = options_of(VsOpponentsVectorEnv, without=("num_envs", "autoreset_mode", "copy", "render_mode"))


class VsOpponentsEnv(OneGame[Game], GymnasiumEnv, gymnasium.Env[Any, Any]):
    """One game of `VsOpponentsVectorEnv`, which documents the environment.

    Args:
        render_mode: ``"ansi"``, ``"rgb_array"``, ``"human"`` or None, as in
            `quincunx_env.envs.solitaire.SolitaireEnv`.
        options: options of `VsOpponentsVectorEnv`, except ``num_envs``, ``autoreset_mode`` and ``copy``.
    """

    metadata: dict[str, Any] = METADATA

    @with_options(*_SINGLE_GAME_OPTIONS, of_game=True)
    def __init__(self, *, render_mode: str | None = None, **options: Any) -> None:
        check_option("render_mode", render_mode, None, *METADATA["render_modes"])
        self.envs = VsOpponentsVectorEnv(1, autoreset_mode=AutoresetMode.DISABLED, **options)
        self.metadata = dict(self.metadata)
        self.rules = self.envs.rules
        self.observer = self.envs.observer
        self.render_mode = render_mode
        self._renderer = Renderer(render_mode, "Quincunx", METADATA["render_fps"])
        self.observation_space = self.envs.single_observation_space
        self.action_space = self.envs.single_action_space

    # Gymnasium's generator and its seed are those of the opponents.
    _np_random = delegate("envs", "_np_random")
    _np_random_seed = delegate("envs", "_np_random_seed")

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Pieces | Flat, Info]:
        """Deal a game, and play up to the agent's first turn.

        Args:
            seed: starts the sequence of games of this seed; None deals the next game of the sequence.
            options: ``{"deal": ...}``: the deal to play, or a list of one for each round of a match;
                ``{"rules": ...}``: which of several rules.

        Returns:
            The observation and the info.

        Raises:
            ValueError: if the seed, a deal or an option is invalid; nothing has changed then.
        """
        chosen = reset_options(options, "deal", *(["rules"] if isinstance(self.rules, SeveralRules) else []))
        seed = None if seed is None else check_seed(seed)
        given = {name: [value] for name, value in chosen.items() if value is not None}
        observation, info = self.envs.reset(seed=seed, options=given)
        self._update_window()
        return self._single(observation), self._single_info(info)

    def step(self, action: Any) -> tuple[Pieces | Flat, float, bool, bool, Info]:
        """Take an action, and play up to the agent's next turn.

        Returns:
            Observation, reward, terminated, truncated (always False) and info.

        Raises:
            IllegalAction: if it is illegal, unless ``illegal="lose"``; nothing has changed then.
            RuntimeError: if an action of an opponent is illegal.
            ResetNeeded: before the first reset and after the end of a game, or an error of an opponent.
        """
        observation, rewards, terminated, _, info = self.envs.step([action])
        self._update_window()
        return self._single(observation), float(rewards[0]), bool(terminated[0]), False, self._single_info(info)

    @staticmethod
    def _single(observation: Pieces | Flat) -> Pieces | Flat:
        if isinstance(observation, np.ndarray):
            return np.asarray(observation[0])
        return {name: piece[0] for name, piece in observation.items()}

    @staticmethod
    def _single_info(info: Info) -> Info:
        single = {name: value[0] for name, value in info.items() if not name.startswith("_")}
        return {name: value if value.ndim else value.item() for name, value in single.items()}

    def get_state(self) -> dict[str, npt.NDArray[Any]]:
        """Return a snapshot, as arrays by name, for `set_state`."""
        return self.envs.get_state()

    def set_state(self, state: dict[str, npt.NDArray[Any]]) -> None:
        """Restore a snapshot of this or another environment.

        Rules and opponents must be the same. The snapshot stays usable. A new environment of ``gymnasium.make`` needs a
        ``reset`` before: its wrappers ask for one before the first ``step``.

        Raises:
            ValueError: if the snapshot does not fit; nothing has changed then.
        """
        self.envs.set_state(state)

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """Return the legal actions: bool, shaped as ``info["action_mask"]``."""
        mask: npt.NDArray[np.bool_] = self.envs.action_masks()[0]
        return mask

    def _update_window(self) -> None:
        if self.render_mode == "human":
            self._renderer.moved(self.game)

    @property
    def game(self) -> Game:
        """A copy of the game in progress, in the plain engine.

        Raises:
            ResetNeeded: before the first reset.
        """
        return self.envs.to_game(0)
