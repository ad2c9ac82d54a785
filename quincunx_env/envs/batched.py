"""Turn-based play of many games at once, for research code: every game has its own seat to move."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from quincunx_env.core.batch import Bools, Ints
from quincunx_env.core.deal import BaseDeal
from quincunx_env.core.observation import Flat, Pieces
from quincunx_env.core.resample import resample
from quincunx_env.envs.codec import EnvCodec
from quincunx_env.envs.common import Batch, check_option
from quincunx_env.envs.rewards import REWARDS, end_rewards, step_rewards
from quincunx_env.registry import make_rules, spec_of


class Position(NamedTuple):
    """The positions of B games, from the seats to move."""

    observation: Pieces | Flat
    """Pieces [B, ...], or flat int16 [B, size]."""
    mask: Bools
    """[B, actions], True = legal; all False in games that are over."""
    mover: Ints
    """[B], the seat to move."""


class StepResult(NamedTuple):
    """What a step brought."""

    rewards: npt.NDArray[np.float64]
    """[B, players]."""
    ended: Bools
    """[B], games that ended with this step."""
    totals: Ints
    """[B, players], points of each seat so far, those of the game that ended included."""
    position: Position
    """What comes next; with automatic reset, the next game where one ended."""


class BatchedGames:
    """B games for several players.

    ## Description
    Each game has its own seat to move. A step takes one action for each game, from whichever seat is to move there, and
    returns the rewards of every seat. Row i seeded s plays the games of the game's PettingZoo environment seeded s + i,
    with the same actions.

    ## Actions
    Integers [B], numbered as in `quincunx_env.quincunx_v0` or `quincunx_env.spiral_v0`; those of games that are over
    are ignored. If one is illegal, `step` raises `IllegalAction` and nothing has changed in any game.

    ## Mask
    ``position.mask``: bool [B, actions], True = legal for the seat to move; all False in games that are over.

    ## Observation
    ``position.observation``: of the seat to move, flat int16 [B, size] or pieces [B, ...]. The table is
    ``print(games.observer.table())``.

    ## Rewards
    float64 [B, players], of every seat at every step, as ``reward`` names them.

    ## End
    ``ended`` says which games ended with a step, ``totals`` [B, players] what each seat has by then. With ``autoreset``
    the next game is dealt in the same step, and ``turn`` is its first position; without, the row waits for `reset`.

    ## Reset
    ``reset(seed=s)`` seeds row i with s + i; a sequence names the seed of each row. ``rows`` chooses the rows to deal,
    ``deals`` hands in a deal for each of them.

    Args:
        num_games: B.
        game: ``"quincunx"`` or ``"spiral"``, a name in `quincunx_env.registry.GAMES`.
        reward: ``"margin"``, ``"points"`` or ``"outcome"``, see `quincunx_env.envs.rewards.REWARDS`.
        observation: ``"flat"`` or ``"pieces"``.
        preview: observe what every legal play would bring.
        padded: observations and actions have one layout under all rules of the game
            (`quincunx_env.quincunx.padded`).
        autoreset: deal the next game where one has ended; otherwise it waits for `reset`.
        options: those of the game's rules: `quincunx_env.quincunx.rules.Rules` (``num_players`` is 2 by
            default) or `quincunx_env.spiral.rules.Rules`.
    """

    def __init__(
        self,
        num_games: int,
        game: str = "quincunx",
        *,
        reward: Literal["margin", "points", "outcome"] = "margin",
        observation: Literal["flat", "pieces"] = "flat",
        preview: bool = False,
        padded: bool = False,
        autoreset: bool = True,
        **options: Any,
    ) -> None:
        check_option("reward", reward, *REWARDS)
        self.rules = make_rules(game, **options)
        self.codec = EnvCodec(self.rules, observation, preview, padded=padded)
        self.observer = self.codec.observer
        self.batch: Batch = spec_of(self.rules).Batch(self.rules, num_games)
        self.reward = reward
        self.autoreset = autoreset

    @property
    def num_games(self) -> int:
        """B."""
        return self.batch.num_games

    def reset(
        self,
        seed: int | Sequence[int] | Ints | None = None,
        rows: npt.ArrayLike | None = None,
        deals: Sequence[BaseDeal | Sequence[BaseDeal]] | None = None,
    ) -> Position:
        """Deal new games; see `quincunx_env.core.batch.BaseBatch.reset` for the arguments and errors."""
        self.batch.reset(seed, rows, deals)
        return self.position()

    def position(self) -> Position:
        """The positions as they are (new arrays)."""
        observation = self.codec.encode(self.observer.observe_batch(self.batch))
        return Position(observation, self.codec.mask_batch(self.batch), self.batch.mover.copy())

    def step(self, actions: npt.ArrayLike) -> StepResult:
        """Play one action in each game; those of games that are over are ignored.

        Args:
            actions: integers [B].

        Raises:
            IllegalAction: if an action is illegal; nothing has changed in any game then.
        """
        batch = self.batch
        before = batch.over.copy()
        gains = batch.step(self.codec.decode_actions(actions, ~before))
        ended = batch.over & ~before
        rewards = step_rewards(self.reward, gains)
        if self.reward == "outcome":
            rewards[ended] = end_rewards(batch.totals[ended])
        totals = batch.totals.copy()
        if self.autoreset and ended.any():
            batch.reset(rows=ended)
        return StepResult(rewards, ended, totals, self.position())

    # --- State -------------------------------------------------------------------------------------------------------

    def fork(self, rows: npt.ArrayLike, k: int = 1) -> "BatchedGames":
        """Independent games: k copies of each of these rows, one row's side by side, with the same cards to come.

        This keeps the true future and is not for players; `resample` is.
        """
        twin = object.__new__(BatchedGames)
        twin.__dict__ |= self.__dict__
        twin.batch = self.batch.fork(np.repeat(np.atleast_1d(np.asarray(rows)), k))
        return twin

    def resample(
        self,
        observation: Mapping[str, npt.NDArray[Any]] | npt.NDArray[Any],
        rng: np.random.Generator,
        n: int = 1,
    ) -> "BatchedGames":
        """Games that a seat cannot tell from the one it observes; see `quincunx_env.core.resample.resample`."""
        twin = object.__new__(BatchedGames)
        twin.__dict__ |= self.__dict__
        twin.batch = resample(self.observer, observation, rng, n)
        return twin

    def get_state(self, copy: bool = True) -> dict[str, npt.NDArray[Any]]:
        """The state of all games as arrays by name; see `quincunx_env.core.batch.BaseBatch.get_state`.

        Args:
            copy: False returns the arrays themselves, which change with the next step.
        """
        return self.batch.get_state(copy)

    def set_state(self, state: dict[str, npt.NDArray[Any]]) -> Position:
        """Go on from a state that `get_state` returned; it is copied.

        Raises:
            ValueError: if it does not fit; nothing has changed then.
        """
        self.batch.set_state(state)
        return self.position()
