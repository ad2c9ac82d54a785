"""Flat Monte Carlo search: a rollout policy plays out determinized games."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from quincunx_agents.agent_specs import agent_spec_of
from quincunx_agents.search.determinized import (
    DeterminizedSearch,
    SearchConfig,
    Values,
    payoffs,
)
from quincunx_env.core.rules import BaseRules


@dataclass(frozen=True)
class MonteCarlo(SearchConfig):
    """Flat Monte Carlo search for every variant, not tuned; a `quincunx_env.core.policy.PolicyFactory`."""

    shortlist: int = 12
    samples: int = 16
    rounds: int = 3
    prior_weight: float = 1.0
    lost_value: float = 0.0
    """Value of a lost solitaire."""

    def for_rules(self, rules: BaseRules) -> DeterminizedSearch:
        """Return the policy for a game."""
        return DeterminizedSearch(rules, self, self._evaluate)

    def _evaluate(self, games: Any, seat: int, left: int, rng: np.random.Generator) -> Values:
        policy = agent_spec_of(games.rules).rollout_policy
        for _ in range(left):  # every seat by the rollout policy
            policy.step(games, policy.rollout_actions(games))
        return payoffs(games, self.lost_value)[:, seat]


STRONG = MonteCarlo(samples=64)
"""The agent ``monte-carlo``. It was not shown to be stronger than the default, with a quarter of its samples."""
