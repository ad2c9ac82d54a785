"""One learner among opponents: the others are played by policies, and the learner gets all that happens in between."""

from collections.abc import Sequence
from typing import Any, Literal

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode

from quincunx_env.core.batch import Bools, Ints
from quincunx_env.core.observation import Flat, Pieces
from quincunx_env.core.policy import Agent, policy_for
from quincunx_env.envs.codec import EnvCodec
from quincunx_env.envs.common import METADATA, Game, Info, check_option
from quincunx_env.envs.rewards import REWARDS, end_rewards, step_rewards
from quincunx_env.envs.vector import GamesVectorEnv
from quincunx_env.policies import resolve
from quincunx_env.registry import make_observer, make_rules, spec_of
from quincunx_env.render import Frame, Renderer


class VsOpponentsVectorEnv(GamesVectorEnv):
    """A game for several players, one seat of each game played from outside.

    ## Description
    One learner among opponents, in either game. After each of the learner's actions the opponents play up to its next
    decision, or to the end. They are policies (`quincunx_env.core.policy.Policy`) and decide on observations from their
    own seats, which always hold the preview; those that draw from their generator share the environment's,
    ``np_random``. `VsOpponentsEnv` is one game, `VsOpponentsVectorEnv` many: row i seeded s plays the games of
    `quincunx_env.quincunx_v0` or `quincunx_env.spiral_v0` seeded s + i.

    ## Actions
    Those of the game, joint or factored, as in `quincunx_env.envs.solitaire.SolitaireEnv`. With Simpleton, and in the
    spiral game, there are only joint ones.

    ## Mask
    ``info["action_mask"]``: int8, 1 = legal for the learner; ``action_masks()`` gives the same as bool. See
    `GamesVectorEnv` for rows whose game is over.

    ## Observation
    From the learner's seat, which is seat 0 in it: pieces or one flat vector. The table is
    ``print(env.unwrapped.observer.table())``.

    ## Rewards
    All that the learner gained or lost since its last decision, also by what others did, in the currency that
    ``reward`` names. What opponents do before the learner's first decision arrives with its first reward.

    ## End
    A game terminates when its last round or deal is over; it is never truncated. The last info holds ``score`` (the
    learner's total), ``value`` (what the rewards added up to), ``totals`` (of all seats, from the learner's on),
    ``win`` (1, or its share of a shared win), ``seat``, and ``seed`` and ``game``, which name the deals (-1 if handed
    in); with a pool also ``opponent``, the number of the policy that was met.

    ## Version History
    v0: first release.

    Args:
        num_envs: games side by side.
        game: ``"quincunx"`` or ``"spiral"``, a name in `quincunx_env.registry.GAMES`.
        opponents: a policy for all other seats, or a sequence of them for the seats that follow the learner's.
        pool: instead of ``opponents``: policies of which each game draws one for all other seats; `set_pool` changes
            it.
        seat: the learner's seat, or ``"rotate"``: seat 0 in a row's first game, seat 1 in its second and so on.
        reward: ``"margin"``, ``"points"`` or ``"outcome"``, see `quincunx_env.envs.rewards.REWARDS`.
        illegal: ``"raise"`` raises `IllegalAction` and changes nothing; ``"lose"`` ends the game.
        illegal_reward: what the learner then gets.
        options: those of the game's rules: `quincunx_env.quincunx.rules.Rules` (``num_players`` is 2 by
            default) or `quincunx_env.spiral.rules.Rules`.
        observation: ``"pieces"`` or ``"flat"``.
        preview: observe what every legal play would bring.
        actions: ``"joint"`` or ``"factored"``.
        padded: observations and actions have one layout under all rules of the game.
        autoreset_mode: see `GamesVectorEnv`.
        copy: see `GamesVectorEnv`.
        render_mode: ``"ansi"``, ``"rgb_array"`` or None: what `render` returns of each game.
    """

    STATE = ("value", "seat", "who", "carried")

    def __init__(
        self,
        num_envs: int = 1,
        *,
        game: str = "quincunx",
        opponents: Agent | str | Sequence[Agent | str] | None = None,
        pool: Sequence[Agent | str] | None = None,
        seat: int | Literal["rotate"] = "rotate",
        reward: Literal["margin", "points", "outcome"] = "margin",
        observation: Literal["pieces", "flat"] = "pieces",
        preview: bool = False,
        actions: Literal["joint", "factored"] = "joint",
        padded: bool = False,
        illegal: Literal["raise", "lose"] = "raise",
        illegal_reward: float = -1.0,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        copy: bool = True,
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        check_option("reward", reward, *REWARDS)
        rules = make_rules(game, **options)
        check_option("seat", seat, "rotate", *range(rules.num_players))
        if (opponents is None) == (pool is None):
            raise ValueError("either opponents or pool must be given, and not both")
        codec = EnvCodec(rules, observation, preview, actions, illegal, padded)
        num_players = rules.num_players
        super().__init__(spec_of(rules).Batch(rules, num_envs), codec, autoreset_mode, copy, render_mode)
        self._pooled = pool is not None
        agents: Sequence[Agent | str]
        if pool is not None:
            agents = pool
        elif isinstance(opponents, Sequence) and not isinstance(opponents, str):
            agents = opponents
        elif opponents is not None:
            agents = [opponents] * (num_players - 1)
        if self._pooled and not agents:
            raise ValueError("pool must hold at least one policy")
        if not self._pooled and len(agents) != num_players - 1:
            raise ValueError(f"{num_players - 1} opponents are needed, got {len(agents)}")
        self.policies = [policy_for(resolve(agent), rules) for agent in agents]
        self._probabilities: npt.NDArray[np.float64] | None = None
        self.reward = reward
        self.illegal_reward = illegal_reward
        self.fixed_seat = None if seat == "rotate" else seat
        self.value = np.zeros(num_envs)
        self.seat = np.zeros(num_envs, np.int64)
        self.who = np.zeros((num_envs, num_players), np.int64)
        """Which of the policies plays each seat."""
        self.carried = np.zeros(num_envs)
        """Rewards from before the learner's first decision."""
        self._opponents_see = make_observer(rules, preview=True)

    def set_pool(self, policies: Sequence[Agent | str], probabilities: npt.ArrayLike | None = None) -> None:
        """Replace the pool; games dealt from now on sample from it.

        A game in progress continues with the policy of the index that it drew, so that a pool may grow and change its
        members, but not shrink. `get_state` does not include the pool.

        Args:
            policies: the new pool.
            probabilities: of each policy, [len(policies)], with sum 1; None for the uniform distribution.

        Raises:
            ValueError: if the environment was made without a pool, if the pool would shrink, if a policy cannot be
                found, or if ``probabilities`` is no distribution; nothing has changed then.
        """
        if not self._pooled:
            raise ValueError("this environment was made with opponents=: make it with pool= to change the opponents")
        if len(policies) < len(self.policies):
            raise ValueError(f"games in progress may need all {len(self.policies)} policies, got {len(policies)}")
        given = None if probabilities is None else np.asarray(probabilities, np.float64)
        if given is not None:
            if given.shape != (len(policies),) or not (given >= 0).all() or not np.isclose(given.sum(), 1):
                raise ValueError(
                    f"probabilities must be {len(policies)} numbers from 0 on that add up to 1, got {probabilities!r}"
                )
            given = given / given.sum()
        self.policies = [policy_for(resolve(policy), self.rules) for policy in policies]
        self._probabilities = given

    def _seats(self) -> Ints:
        return self.seat

    def _dealt(self, rows: Ints) -> None:
        players = self.rules.num_players
        self.seat[rows] = self.batch.resets[rows] % players if self.fixed_seat is None else self.fixed_seat
        if self._pooled:
            drawn = (
                self.np_random.integers(len(self.policies), size=len(rows))
                if self._probabilities is None
                else self.np_random.choice(len(self.policies), len(rows), p=self._probabilities)
            )
            self.who[rows] = drawn[:, None]
        else:
            after = (np.arange(players) - self.seat[rows, None]) % players
            self.who[rows] = after - 1  # -1 at the learner's own seat, which nobody asks for
        self.value[rows] = 0.0
        self.carried[rows] = self._others_play(rows)[rows]

    def _play(self, actions: Ints, ended: Bools) -> npt.NDArray[np.float64]:
        batch = self.batch
        illegal = np.zeros(self.num_envs, np.bool_)
        if self.codec.lose_on_illegal:
            illegal = ~ended & ~batch.is_legal(actions)
            batch.forfeit(illegal)
        rewards = self.carried + self._share(batch.step(actions), np.arange(self.num_envs))
        self.carried[:] = 0.0
        rewards += self._others_play(np.flatnonzero(~batch.over))
        finished = np.flatnonzero(batch.over & ~ended & ~illegal)
        if self.reward == "outcome" and len(finished):
            rewards[finished] = end_rewards(batch.totals[finished])[np.arange(len(finished)), self.seat[finished]]
        rewards[illegal] += self.illegal_reward
        self.value += rewards
        return rewards

    def _others_play(self, rows: Ints) -> npt.NDArray[np.float64]:
        """Let the opponents play in these rows until it is the learner's turn; what that brings it, [num_envs]."""
        batch, rewards = self.batch, np.zeros(self.num_envs)
        while True:
            rows = rows[~batch.over[rows] & (batch.mover[rows] != self.seat[rows])]
            if not len(rows):
                return rewards
            who = self.who[rows, batch.mover[rows]]
            for number in np.unique(who):
                some = rows[who == number]
                games = batch.fork(some)
                seen = self._opponents_see.observe_batch(games)
                actions = self.policies[number](seen, games.mask(), self.np_random)
                rewards[some] += self._share(batch.step(actions, some), some)

    def _share(self, gains: Ints, rows: Ints) -> npt.NDArray[np.float64]:
        """What gains [n, P] are worth to the learners of these rows."""
        return step_rewards(self.reward, gains)[np.arange(len(rows)), self.seat[rows]]

    def _final(self, rows: Ints) -> dict[str, npt.NDArray[Any]]:
        batch, players, each = self.batch, self.rules.num_players, np.arange(len(rows))
        totals = np.take_along_axis(batch.totals[rows], (self.seat[rows, None] + np.arange(players)) % players, axis=1)
        wins = totals == totals.max(axis=1, keepdims=True)
        met = {"opponent": self.who[rows, 0]} if self._pooled else {}
        return {
            "score": totals[each, 0],
            "value": self.value[rows],
            "totals": totals,
            "win": wins[:, 0] / wins.sum(axis=1),
            "seat": self.seat[rows],
            "seed": batch.seed[rows],
            "game": batch.game[rows],
            **met,
        }


class VsOpponentsEnv(gymnasium.Env[Any, Any]):
    """One game of `VsOpponentsVectorEnv`, whose page is this one's.

    Args:
        render_mode: ``"ansi"``, ``"rgb_array"``, ``"human"`` or None, as in
            `quincunx_env.envs.solitaire.SolitaireEnv`.
        options: those of `VsOpponentsVectorEnv`, except ``num_envs``, ``autoreset_mode`` and ``copy``.
    """

    metadata: dict[str, Any] = METADATA

    def __init__(self, *, render_mode: str | None = None, **options: Any) -> None:
        check_option("render_mode", render_mode, None, *METADATA["render_modes"])
        self.envs = VsOpponentsVectorEnv(1, autoreset_mode=AutoresetMode.DISABLED, **options)
        self.metadata = dict(self.metadata)
        self.observer = self.envs.observer
        self.render_mode = render_mode
        self._renderer = Renderer(render_mode, "Quincunx", METADATA["render_fps"])
        self.observation_space = self.envs.single_observation_space
        self.action_space = self.envs.single_action_space

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Pieces | Flat, Info]:
        """Deal a new game; ``options={"deal": ...}`` hands in a deal, or a list of one for each round of a match.

        Raises:
            ValueError: for a seed, a deal or an option that cannot be used; nothing has changed then.
        """
        options = dict(options or {})
        if options.get("deal") is not None:
            options["deal"] = [options["deal"]]
        observation, info = self.envs.reset(seed=seed, options=options)
        super().reset(seed=None if seed is None else int(seed))
        self._show()
        return self._only(observation), self._only_info(info)

    def step(self, action: Any) -> tuple[Pieces | Flat, float, bool, bool, Info]:
        """Take an action, and let the others play.

        Raises:
            IllegalAction: if it is illegal, unless ``illegal="lose"``; nothing has changed then.
            ResetNeeded: before the first reset and after the end of a game.
        """
        observation, rewards, terminated, _, info = self.envs.step(np.asarray(action)[None])
        self._show()
        return self._only(observation), float(rewards[0]), bool(terminated[0]), False, self._only_info(info)

    @staticmethod
    def _only(observation: Pieces | Flat) -> Pieces | Flat:
        if isinstance(observation, np.ndarray):
            return np.asarray(observation[0])
        return {name: piece[0] for name, piece in observation.items()}

    @staticmethod
    def _only_info(info: Info) -> Info:
        only = {name: value[0] for name, value in info.items() if not name.startswith("_")}
        return {name: value if value.ndim else value.item() for name, value in only.items()}

    def get_state(self) -> dict[str, npt.NDArray[Any]]:
        """A snapshot as arrays by name, for `set_state`."""
        return self.envs.get_state()

    def set_state(self, state: dict[str, npt.NDArray[Any]]) -> None:
        """Go on from a snapshot, in this or another environment of the same rules and opponents.

        Raises:
            ValueError: if the snapshot does not fit; nothing has changed then.
        """
        self.envs.set_state(state)

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """The mask of ``info["action_mask"]`` as bool."""
        mask: npt.NDArray[np.bool_] = self.envs.action_masks()[0]
        return mask

    def _show(self) -> None:
        if self.render_mode == "human":
            self._renderer.moved(self.game)

    @property
    def game(self) -> Game:
        """A plain copy of the game in progress.

        Raises:
            ResetNeeded: if there is none yet.
        """
        return self.envs.to_game(0)

    def render(self) -> str | Frame | None:
        """The game with all hands, as ``render_mode`` says: text, a picture (uint8 [height, width, 3]), or None."""
        return self._renderer.render(self.game) if self.render_mode else None

    def close(self) -> None:
        """Close the window, if there is one."""
        self._renderer.close()
