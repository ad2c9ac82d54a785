"""Turn-based play of many games at once, for research code: every game has its own seat to move."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from quincunx_env import resample
from quincunx_env.batch import Batch, Bools, Ints
from quincunx_env.deal import Deal
from quincunx_env.envs.common import REWARDS, check_option, end_rewards, multiplayer_rules, step_rewards
from quincunx_env.observation import Flat, Observer, Pieces
from quincunx_env.rules import Start


class Turn(NamedTuple):
    """The positions of B games, from the seats to move."""

    observation: Pieces | Flat
    """Pieces [B, ...], or flat int16 [B, size]."""
    mask: Bools
    """[B, actions], True = legal; all False in games that are over."""
    mover: Ints
    """[B], the seat to move."""


class Step(NamedTuple):
    """What a step brought."""

    rewards: npt.NDArray[np.float64]
    """[B, players]."""
    ended: Bools
    """[B], games that ended with this step."""
    totals: Ints
    """[B, players], points of each seat so far, those of the game that ended included."""
    turn: Turn
    """What comes next; with automatic reset, the next game where one ended."""


class BatchedQuincunx:
    """B games of Quincunx for two to four players.

    Row i seeded s plays the games of `quincunx_env.quincunx_v0` seeded s + i. Actions are joint:
    ``card * cells + cell`` and, while an announcement is due, ``cards * cells + announcement + 64``.

    Args:
        num_games: B.
        num_players: 2 to 4.
        start: ``"corners"`` or ``"open"``.
        excuse: add the Excuse to the deck.
        pawns: add the four Pawns to the deck.
        flush: play with the flush bonus.
        simpleton: play with announcements.
        match: as many rounds as players.
        reward: ``"margin"``, ``"points"`` or ``"outcome"``, see `quincunx_env.envs.common.REWARDS`.
        observation: ``"flat"`` or ``"pieces"``.
        preview: observe the points and draws of every legal play.
        autoreset: deal the next game where one has ended; otherwise it waits for `reset`.
    """

    def __init__(
        self,
        num_games: int,
        *,
        num_players: int = 2,
        start: Start = "corners",
        excuse: bool = False,
        pawns: bool = False,
        flush: bool = False,
        simpleton: bool = False,
        match: bool = False,
        reward: Literal["margin", "points", "outcome"] = "margin",
        observation: Literal["flat", "pieces"] = "flat",
        preview: bool = False,
        autoreset: bool = True,
    ) -> None:
        check_option("reward", reward, *REWARDS)
        check_option("observation", observation, "flat", "pieces")
        check_option("preview", preview, False, True)
        self.rules = multiplayer_rules(num_players, start, excuse, pawns, flush, simpleton, match)
        self.observer = Observer(self.rules, preview)
        self.batch = Batch(self.rules, num_games)
        self.reward = reward
        self.autoreset = autoreset
        self._flat = observation == "flat"

    @property
    def num_games(self) -> int:
        """B."""
        return self.batch.num_games

    def reset(
        self,
        seed: int | Sequence[int] | Ints | None = None,
        rows: npt.ArrayLike | None = None,
        deals: Sequence[Deal | Sequence[Deal]] | None = None,
    ) -> Turn:
        """Deal new games; see `Batch.reset` for the arguments and errors."""
        self.batch.reset(seed, rows, deals)
        return self.turn()

    def turn(self) -> Turn:
        """The positions as they are (new arrays)."""
        pieces = self.observer.observe_batch(self.batch)
        observation = self.observer.flatten(pieces) if self._flat else pieces
        return Turn(observation, self.batch.mask(), self.batch.mover.copy())

    def step(self, actions: npt.ArrayLike) -> Step:
        """Play one action in each game; those of games that are over are ignored.

        Args:
            actions: integers [B].

        Raises:
            IllegalAction: if an action is illegal; nothing has changed in any game then.
        """
        batch = self.batch
        before = batch.over.copy()
        gains = batch.step(actions)
        ended = batch.over & ~before
        rewards = step_rewards(self.reward, gains)
        if self.reward == "outcome":
            rewards[ended] = end_rewards(batch.totals[ended])
        totals = batch.totals.copy()
        if self.autoreset and ended.any():
            batch.reset(rows=ended)
        return Step(rewards, ended, totals, self.turn())

    # --- State -------------------------------------------------------------------------------------------------------

    def fork(self, rows: npt.ArrayLike, k: int = 1) -> "BatchedQuincunx":
        """Independent games: k copies of each of these rows, one row's side by side, with the same cards to come.

        This keeps the true future and is not for players; `resample` is.
        """
        twin = object.__new__(BatchedQuincunx)
        twin.__dict__ |= self.__dict__
        twin.batch = self.batch.fork(np.repeat(np.atleast_1d(np.asarray(rows)), k))
        return twin

    def resample(
        self,
        observation: Mapping[str, npt.NDArray[Any]] | npt.NDArray[Any],
        rng: np.random.Generator,
        n: int = 1,
    ) -> "BatchedQuincunx":
        """Games that a seat cannot tell from the one it observes; see `quincunx_env.resample.resample`."""
        twin = object.__new__(BatchedQuincunx)
        twin.__dict__ |= self.__dict__
        twin.batch = resample.resample(self.observer, observation, rng, n)
        return twin

    def save(self) -> dict[str, npt.NDArray[Any]]:
        """A snapshot of all games for `restore`: the arrays of `state_arrays`, copied."""
        return {name: array.copy() for name, array in self.state_arrays().items()}

    def restore(self, state: dict[str, npt.NDArray[Any]]) -> Turn:
        """Go on from a snapshot, which stays usable.

        Raises:
            ValueError: if it does not fit; nothing has changed then.
        """
        self.batch.load_state_arrays(state)
        return self.turn()

    def state_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The state itself, without copying; see `Batch.state_arrays`."""
        return self.batch.state_arrays()
