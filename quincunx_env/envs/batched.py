"""Many games for several players, stepped together. Each game has its own seat to move."""

from collections.abc import Sequence
from copy import copy
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from gymnasium.error import ResetNeeded

from quincunx_env.codec import Codec
from quincunx_env.core.arrays import Bools, Ints
from quincunx_env.core.batch import SomeBatch
from quincunx_env.core.deal import BaseDeal
from quincunx_env.core.integers import check_option
from quincunx_env.core.observation import Observation
from quincunx_env.core.rules import RulesLike
from quincunx_env.envs.options import with_options
from quincunx_env.envs.rewards import REWARDS, end_rewards, step_rewards
from quincunx_env.registry import make_rules


class Position(NamedTuple):
    """Positions of B games, each observed from its seat to move."""

    observation: Observation
    """Vectors [B, size], or pieces [B, ...]."""
    mask: Bools
    """bool [B, actions], True = legal; all False in games that are over."""
    mover: Ints
    """int64 [B], the seats to move."""


class StepResult(NamedTuple):
    """Result of a step of B games."""

    rewards: npt.NDArray[np.float64]
    """float64 [B, players], of every seat."""
    ended: Bools
    """bool [B], games that ended with this step."""
    totals: Ints
    """int64 [B, players], points of each seat so far, in the game that was stepped even if it has ended."""
    position: Position
    """The positions after the step; with automatic reset, of the next game in rows whose game ended."""


class BatchedGames:
    """B games for several players, with all seats played through the environment.

    ## Description
    Each game has its own seat to move. A step takes one action for each game, from the seat that is to move there, and
    returns the rewards of all seats. Row i seeded s plays the games of the game's PettingZoo environment seeded s + i.

    ## Action Space
    Integers [B], numbered as in `quincunx_env.quincunx_v0` or `quincunx_env.spiral_v0`; actions of games that are over
    are ignored. If an action is illegal, `step` raises `IllegalAction` and nothing has changed in any game.

    ## Observation Space
    ``position.observation``, from the seats to move: vectors float32 [B, size], or pieces [B, ...].
    ``print(games.observer.table())`` lists the pieces, ``games.observer.encoder().table()`` the slices of the vector.

    ## Action Mask
    ``position.mask``: bool [B, actions], True = legal for the seat to move; all False in games that are over.

    ## Rewards
    float64 [B, players]: the rewards of all seats at every step, as ``reward`` defines them
    (`quincunx_env.envs.rewards.REWARDS`).

    ## Starting State
    ``reset(seed=s)`` seeds row i with s + i; a sequence gives the seed of each row. ``rows`` selects the rows to deal,
    ``deals`` gives a deal for each of them.

    ## Episode End
    ``StepResult.ended`` marks the games that ended with a step. With ``autoreset`` the next game is dealt in the same
    step, and ``StepResult.position`` is its first position; without, the row waits for `reset`.

    ## Information
    There are no infos: ``StepResult.totals`` holds the points of all seats, ``position.mover`` the seats to move, and
    ``batch`` everything else.

    ## Version History
    v0: first release.

    Args:
        num_games: B.
        game: ``"quincunx"`` or ``"spiral"``, a name in `quincunx_env.registry.GAMES`.
        reward: ``"margin"``, ``"points"`` or ``"outcome"``, see `quincunx_env.envs.rewards.REWARDS`.
        observation: ``"vector"`` or ``"pieces"``.
        actions: ``"joint"``: card and cell; ``"hand"``: place in the sorted hand and cell.
        preview: add the points and draws of every legal play to the observation; in the spiral game the points that
            each legal card makes for the observer and for the other player.
        padded: observations and actions have the same shape under all rules of the game
            (`quincunx_env.quincunx.padded`).
        autoreset: deal the next game when one has ended; otherwise the row waits for `reset`.
        options: options of the game's rules: `quincunx_env.quincunx.rules.Rules` (``num_players`` is 2 by default) or
            `quincunx_env.spiral.rules.Rules`.
        rules: the options of the rules together, instead of one by one: the ``Rules`` of the game or a mapping of their
            fields.
    """

    @with_options(of_game=True)
    def __init__(
        self,
        num_games: int,
        game: str = "quincunx",
        *,
        rules: RulesLike | None = None,
        reward: Literal["margin", "points", "outcome"] = "margin",
        observation: Literal["vector", "pieces"] = "vector",
        actions: Literal["joint", "hand"] = "joint",
        preview: bool = False,
        padded: bool = False,
        autoreset: bool = True,
        **options: Any,
    ) -> None:
        check_option("reward", reward, *REWARDS)
        check_option("autoreset", autoreset, False, True)
        encoding: Any = {"observation": observation, "preview": preview, "actions": actions, "padded": padded}
        self.codec = Codec(make_rules(game, rules, **options), **encoding)
        self.observer = self.codec.observer
        self.batch: SomeBatch = self.observer.make_batch(num_games)
        self.rules = self.batch.rules
        self.reward = reward
        self.autoreset = autoreset

    @property
    def num_games(self) -> int:
        """Number of games, B."""
        return self.batch.num_games

    def reset(
        self,
        seed: int | Sequence[int] | Ints | None = None,
        rows: npt.ArrayLike | None = None,
        deals: Sequence[BaseDeal | Sequence[BaseDeal]] | None = None,
    ) -> Position:
        """Deal new games; `quincunx_env.core.batch.BaseBatch.reset` documents arguments and errors."""
        self.batch.reset(seed, rows, deals)
        return self.position()

    def position(self) -> Position:
        """Return the current positions (new arrays)."""
        observation = self.codec.of_batch(self.batch)
        return Position(observation, self.codec.masks(self.batch), self.batch.mover.copy())

    def step(self, actions: npt.ArrayLike) -> StepResult:
        """Take one action in each game.

        Args:
            actions: integers [B]; ignored in games that are over.

        Raises:
            IllegalAction: if an action is illegal; nothing has changed in any game then.
            ResetNeeded: before the first reset.
        """
        batch = self.batch
        if batch.over.all() and (batch.resets < 0).all():
            raise ResetNeeded("no games are in progress: call reset() first")
        before = batch.over.copy()
        gains = batch.step(self.codec.decode_actions(actions, ~before, batch))
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
        """Copy games, with the same hidden cards; see `quincunx_env.core.batch_state.BatchState.fork`.

        Agents that may not know these cards sample games by `quincunx_env.core.resample.resample`.
        """
        other = copy(self)
        other.batch = self.batch.fork(rows, k)
        return other

    def get_state(self, copy: bool = True) -> dict[str, npt.NDArray[Any]]:
        """Return the state of all games as arrays by name.

        See `quincunx_env.core.batch_state.BatchState.get_state`.

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
