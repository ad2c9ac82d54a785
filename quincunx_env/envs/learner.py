"""One learner among opponents: the others are played by policies, and the learner gets all that happens in between."""

from collections.abc import Sequence
from typing import Any, Literal

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode

from quincunx_env.core.batch import Bools, Ints
from quincunx_env.core.observation import Flat, Pieces
from quincunx_env.core.policy import Policy
from quincunx_env.envs.common import METADATA, REWARDS, Game, Info, Spelling, check_option, end_rewards, step_rewards
from quincunx_env.envs.vector import GamesVectorEnv
from quincunx_env.games import observer_of, rules_of
from quincunx_env.render import Frame, Renderer


class LearnerVectorEnv(GamesVectorEnv):
    """A game for several players, one seat of each game played from outside.

    After each of the learner's actions the opponents play up to its next decision, or to the end; the reward is all
    that the learner gained or lost since its last decision, also by what others did. What opponents do before the
    learner's first decision arrives with its first reward. Opponents decide on observations from their own seats, which
    always hold the preview.

    Row i seeded s plays the games of `quincunx_env.quincunx_v0` seeded s + i. Opponents that draw from their generator
    share the environment's, ``np_random``.

    The last info of a game holds ``score`` (the learner's total), ``value`` (what the rewards added up to), ``totals``
    (of all seats, from the learner's on), ``win`` (1, or its share of a shared win), ``seat``, and ``seed`` and
    ``game``, which name the deals.

    Args:
        num_envs: games side by side.
        game: its name in `quincunx_env.games.GAMES`.
        opponents: a policy for all other seats, or a sequence of them for the seats that follow the learner's.
        pool: instead of ``opponents``: policies of which each game draws one for all other seats.
        seat: the learner's seat, or ``"rotate"``: seat 0 in a row's first game, seat 1 in its second and so on.
        reward: ``"margin"``, ``"points"`` or ``"outcome"``, see `quincunx_env.envs.common.REWARDS`.
        illegal: ``"raise"`` raises `IllegalAction` and changes nothing; ``"lose"`` ends the game.
        illegal_reward: what the learner then gets.
        options: those of the game's rules: `quincunx_env.quincunx.Rules` (``num_players`` is 2 by default).
        observation, preview, actions, fixed_width: as in `quincunx_env.envs.solitaire.SolitaireEnv`.
        autoreset_mode, copy, render_mode: see `GamesVectorEnv`.
    """

    STATE = ("value", "seat", "who", "carried")

    def __init__(
        self,
        num_envs: int = 1,
        *,
        game: str = "quincunx",
        opponents: Policy | Sequence[Policy] | None = None,
        pool: Sequence[Policy] | None = None,
        seat: int | Literal["rotate"] = "rotate",
        reward: Literal["margin", "points", "outcome"] = "margin",
        observation: Literal["pieces", "flat"] = "pieces",
        preview: bool = False,
        actions: Literal["joint", "factored"] = "joint",
        fixed_width: bool = False,
        illegal: Literal["raise", "lose"] = "raise",
        illegal_reward: float = -1.0,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        copy: bool = True,
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        check_option("reward", reward, *REWARDS)
        rules = rules_of(game, **options)
        check_option("seat", seat, "rotate", *range(rules.num_players))
        if (opponents is None) == (pool is None):
            raise ValueError("either opponents or pool must be given, and not both")
        spelling = Spelling(rules, observation, preview, actions, illegal, fixed_width)
        num_players = rules.num_players
        super().__init__(spelling.observer.BATCH(rules, num_envs), spelling, autoreset_mode, copy, render_mode)
        self._pooled = pool is not None
        if pool is not None:
            self.policies = list(pool)
        else:
            self.policies = list(opponents) if isinstance(opponents, Sequence) else [opponents] * (num_players - 1)  # type: ignore[list-item]
        if self._pooled and not self.policies:
            raise ValueError("pool must hold at least one policy")
        if not self._pooled and len(self.policies) != num_players - 1:
            raise ValueError(f"{num_players - 1} opponents are needed, got {len(self.policies)}")
        self.reward = reward
        self.illegal_reward = illegal_reward
        self.fixed_seat = None if seat == "rotate" else seat
        self.value = np.zeros(num_envs)
        self.seat = np.zeros(num_envs, np.int64)
        self.who = np.zeros((num_envs, num_players), np.int64)
        """Which of the policies plays each seat."""
        self.carried = np.zeros(num_envs)
        """Rewards from before the learner's first decision."""
        self._opponents_see = observer_of(rules, preview=True)

    def _seats(self) -> Ints:
        return self.seat

    def _dealt(self, rows: Ints) -> None:
        players = self.rules.num_players
        self.seat[rows] = self.batch.resets[rows] % players if self.fixed_seat is None else self.fixed_seat
        if self._pooled:
            self.who[rows] = self.np_random.integers(len(self.policies), size=len(rows))[:, None]
        else:
            after = (np.arange(players) - self.seat[rows, None]) % players
            self.who[rows] = after - 1  # -1 at the learner's own seat, which nobody asks for
        self.value[rows] = 0.0
        self.carried[rows] = self._others_play(rows)[rows]

    def _play(self, actions: Ints, ended: Bools) -> npt.NDArray[np.float64]:
        batch = self.batch
        illegal = np.zeros(self.num_envs, np.bool_)
        if self.spelling.lenient:
            illegal = ~ended & ~batch.is_legal(actions)
            batch.over |= illegal
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
        return {
            "score": totals[each, 0],
            "value": self.value[rows],
            "totals": totals,
            "win": wins[:, 0] / wins.sum(axis=1),
            "seat": self.seat[rows],
            "seed": batch.seed[rows],
            "game": batch.game[rows],
        }


class LearnerEnv(gymnasium.Env[Any, Any]):
    """One game of `LearnerVectorEnv`.

    Args:
        render_mode: ``"ansi"``, ``"rgb_array"``, ``"human"`` or None, as in
            `quincunx_env.envs.solitaire.SolitaireEnv`.
        options: those of `LearnerVectorEnv`, except ``num_envs``, ``autoreset_mode`` and ``copy``.
    """

    metadata: dict[str, Any] = METADATA

    def __init__(self, *, render_mode: str | None = None, **options: Any) -> None:
        check_option("render_mode", render_mode, None, *METADATA["render_modes"])
        self.envs = LearnerVectorEnv(1, autoreset_mode=AutoresetMode.DISABLED, **options)
        self.metadata = dict(self.metadata)
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
