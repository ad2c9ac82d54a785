"""Sequential halving over determinized games.

A determinization deals the cards that a seat cannot see at random (`quincunx_env.core.resample`). This is
perfect-information Monte Carlo search (PIMC; Long et al., Understanding the Success of Perfect Information Monte Carlo
Sampling in Game Tree Search, AAAI 2010). The most promising actions are tried in the same few determinized games. The
better half of them is tried in twice as many others, and so on until one is left: sequential halving (Karnin, Koren &
Somekh, Almost Optimal Exploration in Multi-Armed Bandits, ICML 2013). Policies differ in the `Evaluator` of the games
after an action.

PIMC chooses in each determinization with knowledge that the seat does not have (strategy fusion; Frank & Basin, Search
in Games with Incomplete Information, Artificial Intelligence 100, 1998). The search reads the observation alone.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from quincunx_agents import ties
from quincunx_agents.afterstates import Bools, Ints, observer_for
from quincunx_agents.agent_specs import agent_spec_of
from quincunx_agents.greedy import greedy
from quincunx_env.core.observation import Pieces
from quincunx_env.core.resample import resample
from quincunx_env.core.rules import BaseRules

Values = npt.NDArray[np.float64]


class Evaluator(Protocol):
    """Estimator of the values of determinized games. It can be pickled, so that policies can."""

    def __call__(self, games: Any, seat: int, left: int, rng: np.random.Generator) -> Values:
        """Estimate the values of games to a seat.

        Args:
            games: all at the same stage, some of them perhaps over.
            seat: whose value.
            left: plays until their round ends.
            rng: the only source of randomness.

        Returns:
            float64 [B].
        """
        ...


@dataclass(frozen=True)
class SearchConfig:
    """Settings of `DeterminizedSearch`."""

    shortlist: int
    """Number of actions that are tried, from the highest prior on."""
    samples: int
    """Determinized games of the first round."""
    rounds: int
    """Most rounds of sequential halving; each has half the actions and twice the games."""
    prior_weight: float = 0.0
    """Weight of an action's prior, in samples, in every round."""


Prior = Callable[[Pieces, Bools], npt.NDArray[np.floating[Any]]]
"""Values of all actions of observations before any search, [n, actions]. Illegal actions have -inf."""


class DeterminizedSearch:
    """Policy that searches one position after the other; a `quincunx_env.core.policy.Policy`.

    Args:
        rules: of the game.
        config: settings.
        evaluate: estimates the values of determinized games.
        prior: replaces the values of the game's heuristic.
    """

    def __init__(self, rules: BaseRules, config: SearchConfig, evaluate: Evaluator, prior: Prior | None = None) -> None:
        self.observer = observer_for(rules)
        self.config = config
        self.evaluate = evaluate
        self.prior = prior or partial(agent_spec_of(rules).heuristic, rules)

    def __call__(self, observation: Pieces, mask: Bools, rng: np.random.Generator) -> Ints:
        """Choose legal actions, int64 [n]. With Simpleton it announces the true points."""
        chosen = greedy(observation, mask, rng) if "pending" in observation else np.full(len(mask), -1)
        for row in _to_play(observation, mask):
            one = {name: piece[row : row + 1] for name, piece in observation.items()}
            chosen[row], _ = self._search(one, mask[row : row + 1], rng)
        return chosen

    def action_values(self, observation: Pieces, mask: Bools, rng: np.random.Generator) -> Values:
        """Return mean values of the tried actions, float64 [n, A].

        See `quincunx_env.core.policy.ValuedPolicy`. Actions that leave the search early have means of fewer samples.
        Announcements have none.
        """
        table = np.full(mask.shape, -np.inf)
        for row in _to_play(observation, mask):
            one = {name: piece[row : row + 1] for name, piece in observation.items()}
            table[row] = self._search(one, mask[row : row + 1], rng)[1]
        return table

    def _search(self, observation: Pieces, mask: Bools, rng: np.random.Generator) -> tuple[int, Values]:
        """Return the action for one position, a batch of one, and the mean value of each action, float64 [A]."""
        config = self.config
        prior = self.prior(observation, mask)[0]
        legal = int(np.isfinite(prior).sum())
        actions = ties.ranking(prior)[: min(config.shortlist, legal)]
        values, samples = np.zeros(len(actions)), config.samples
        means, weight = np.full(mask.shape[1], -np.inf), 0.0
        means[actions] = prior[actions]
        position = {name: piece[0] for name, piece in observation.items()}
        for _ in range(config.rounds):
            if len(actions) == 1:
                break
            values += self._sample(position, actions, samples, rng)
            values += samples * config.prior_weight * prior[actions]
            weight += samples * (1 + config.prior_weight)
            means[actions] = values / weight
            best = ties.ranking(values)[: (len(actions) + 1) // 2]
            actions, values, samples = actions[best], values[best], 2 * samples
        return int(actions[0]), means

    def _sample(self, position: Pieces, actions: Ints, samples: int, rng: np.random.Generator) -> Values:
        """Sum values after each action over the same determinized games, float64 [actions]."""
        dealt = resample(self.observer, position, rng, samples)
        rollout_policy = agent_spec_of(dealt.rules).rollout_policy  # not an attribute: modules cannot be pickled
        seat, left = dealt.seat, rollout_policy.plays_left(dealt) - 1
        games = dealt.fork(np.tile(np.arange(samples), len(actions)))
        rollout_policy.step(games, np.repeat(actions, samples))
        total: Values = self.evaluate(games, seat, left, rng).reshape(len(actions), samples).sum(axis=1)
        return total


def _to_play(observation: Pieces, mask: Bools) -> Ints:
    """Return the positions where no announcement is due."""
    return np.flatnonzero(observation["pending"][:, 0] < 0) if "pending" in observation else np.arange(len(mask))


def payoffs(games: Any, lost_value: float = 0.0) -> Values:
    """Return payoffs of games to each seat, float64 [B, P]: a solitaire's points, or margins over the best other seat.

    Args:
        games: finished or not.
        lost_value: payoff of a lost solitaire.
    """
    totals = games.totals.astype(np.float64)
    return np.where(games.lost[:, None], lost_value, totals) if games.rules.num_players == 1 else margins(totals)


def margins(points: Values, temperature: float = 0.0) -> Values:
    """Return margins of each seat over the best other one, float64 [B, P].

    Without other seats they are the points.

    Args:
        points: [B, P].
        temperature: of the soft maximum of the others, t log(mean(exp(points / t))), where points are expected and any
            of the others may turn out the best. It is the maximum at 0, the mean at infinity.
    """
    if points.shape[1] == 1:
        return points
    others = np.stack([np.delete(points, seat, axis=1) for seat in range(points.shape[1])], axis=1)
    best: Values = others.max(axis=2)
    if temperature:
        best += temperature * np.log(np.exp((others - best[:, :, None]) / temperature).mean(axis=2))
    return points - best
