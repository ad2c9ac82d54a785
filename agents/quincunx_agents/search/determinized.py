"""Choosing a play by trying it in games dealt anew: what the searching agents have in common.

A position is searched like this. The most promising plays are tried in the same few games dealt anew; the better half
of them is tried in twice as many others, and so on until one is left. What a game is worth after a play is for an
`Evaluator` to say. Everything comes from the observation alone.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from quincunx_agents.greedy import greedy
from quincunx_agents.quincunx import rollout_policy
from quincunx_agents.spiral import heuristic as spiral_heuristic
from quincunx_env.core.observation import Pieces
from quincunx_env.core.resample import resample
from quincunx_env.core.rules import BaseRules
from quincunx_env.quincunx.rules import Rules as QuincunxRules
from quincunx_env.registry import make_observer

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Values = npt.NDArray[np.float64]


class Game(Protocol):
    """What a search needs to know of a game; the modules `quincunx_agents.quincunx.rollout_policy` and `quincunx_agents.spiral.heuristic` are two."""

    def prior(self, observation: Pieces, mask: Bools) -> npt.NDArray[np.floating[Any]]:
        """What every play seems worth, [n, plays]; minus infinity where it is not legal."""
        ...

    def play(self, games: Any, actions: Ints) -> None:
        """Make a play in each game."""
        ...

    def plays_left(self, games: Any) -> int:
        """Plays until the round of these games ends, all of them at the same stage."""
        ...

    def best(self, games: Any) -> Ints:
        """The play that quickly told seems best, int64 [B]; anything where a game is over. It may look at all cards."""
        ...

    def likely(self, games: Any, count: int) -> Bools:
        """The plays that at a glance seem best, ``count`` of each game or fewer, bool [B, A]."""
        ...


class Evaluator(Protocol):
    """Says what games are worth to a seat, looking at all their cards: they are games dealt anew."""

    def __call__(self, games: Any, seat: int, left: int) -> Values:
        """Say what games are worth.

        Args:
            games: all at the same stage, some of them perhaps over.
            seat: to whom.
            left: plays until their round ends.

        Returns:
            float64 [B].
        """
        ...


@dataclass(frozen=True)
class SearchConfig:
    """How much is searched."""

    shortlist: int
    """Plays that are tried at all."""
    samples: int
    """Games dealt anew for the first comparison."""
    stages: int
    """Comparisons at most, each of half as many plays in twice as many games."""
    trust: float = 0.0
    """Weight of what a play seems worth before it is tried."""
    budget_ms: float | None = None
    """No further comparison begins after so many milliseconds. What is played then depends on the machine."""


Prior = Callable[[Pieces, Bools], npt.NDArray[np.floating[Any]]]
"""Says what every play seems worth before it is tried; see `Game.prior`."""


class DeterminizedSearch:
    """A `quincunx_env.core.policy.Policy` that searches one position after the other.

    Args:
        rules: which game.
        effort: how much is searched.
        evaluate: says what games are worth.
        prior: says what plays seem worth; that of the game if None.
    """

    def __init__(self, rules: BaseRules, effort: SearchConfig, evaluate: Evaluator, prior: Prior | None = None) -> None:
        self.observer = make_observer(rules, preview=True)
        self.effort = effort
        self.evaluate = evaluate
        self.game = game_of(rules)
        self.prior = prior or self.game.prior

    def __call__(self, observation: Pieces, mask: Bools, rng: np.random.Generator) -> Ints:
        """See `quincunx_env.core.policy.Policy`. With Simpleton it announces what the play is worth."""
        chosen = greedy(observation, mask, rng) if "pending" in observation else np.full(len(mask), -1)
        to_play = np.flatnonzero(observation["pending"][:, 0] < 0) if "pending" in observation else range(len(mask))
        for row in to_play:
            one = {name: piece[row : row + 1] for name, piece in observation.items()}
            chosen[row] = self._search(one, mask[row : row + 1], rng)
        return chosen

    def _search(self, observation: Pieces, mask: Bools, rng: np.random.Generator) -> int:
        """The play for one position, given as a batch of one."""
        start, effort = time.perf_counter(), self.effort
        prior = self.prior(observation, mask)[0]
        legal = int(np.isfinite(prior).sum())
        plays = np.argsort(-prior, kind="stable")[: min(effort.shortlist, legal)]
        values, samples = np.zeros(len(plays)), effort.samples
        position = {name: piece[0] for name, piece in observation.items()}
        for stage in range(effort.stages):
            late = effort.budget_ms is not None and (time.perf_counter() - start) * 1000 > effort.budget_ms
            if len(plays) == 1 or (stage > 0 and late):
                break
            values += self._compare(position, plays, samples, rng) + samples * effort.trust * prior[plays]
            best = np.argsort(-values, kind="stable")[: (len(plays) + 1) // 2]
            plays, values, samples = plays[best], values[best], 2 * samples
        return int(plays[0])

    def _compare(self, position: Pieces, plays: Ints, samples: int, rng: np.random.Generator) -> Values:
        """The sum of what each play is worth in the same games dealt anew, [plays]."""
        dealt = resample(self.observer, position, rng, samples)
        seat, left = int(dealt.mover[0]), self.game.plays_left(dealt) - 1
        games = dealt.fork(np.tile(np.arange(samples), len(plays)))
        self.game.play(games, np.repeat(plays, samples))
        total: Values = self.evaluate(games, seat, left).reshape(len(plays), samples).sum(axis=1)
        return total


def game_of(rules: BaseRules) -> Game:
    """The game that these are the rules of."""
    return rollout_policy if isinstance(rules, QuincunxRules) else spiral_heuristic


def payoffs(games: Any, lost_value: float = 0.0) -> Values:
    """What games have brought each seat so far, float64 [B, P]: points, or those more than the best other has.

    Args:
        games: in which a round has ended, or which go on.
        lost_value: what a lost solitaire counts.
    """
    totals = games.totals.astype(np.float64)
    if games.rules.num_players == 1:
        return np.where(games.lost[:, None], lost_value, totals)
    others = [np.delete(totals, seat, axis=1).max(axis=1) for seat in range(totals.shape[1])]
    margins: Values = totals - np.stack(others, axis=1)
    return margins
