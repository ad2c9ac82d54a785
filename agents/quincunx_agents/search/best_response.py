"""Approximate best responses to a fixed policy, by rollouts of this policy.

As in `quincunx_agents.search.monte_carlo` the most promising actions are tried in determinized games. All seats, the
responding one included, then follow the fixed policy. This is a step of policy improvement against known opponents
(Tesauro & Galperin, On-line Policy Improvement using Monte-Carlo Search, NIPS 1996). The response's gain is a lower
bound of the policy's exploitability (Timbers et al., Approximate Exploitability: Learning a Best Response, IJCAI 2022).

The hidden cards are drawn uniformly, and the policy's actions are not used to infer them: a better response may exist.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from quincunx_agents.afterstates import Bools, observer_for
from quincunx_agents.agent_specs import agent_spec_of
from quincunx_agents.search.determinized import (
    DeterminizedSearch,
    SearchConfig,
    Values,
    payoffs,
)
from quincunx_env.core.observation import Pieces
from quincunx_env.core.policy import Agent, Policy, policy_for
from quincunx_env.core.rules import BaseRules
from quincunx_env.policies import definition

BUDGET = 384
"""Default number of games that a response plays to their end for each action."""


@dataclass(frozen=True, kw_only=True)
class BestResponse(SearchConfig):
    """Approximate best response to an agent; a `quincunx_env.core.policy.PolicyFactory`. Its settings are not tuned."""

    agent: Agent
    """The agent in all other seats."""
    shortlist: int = 16
    rounds: int = 3

    @property
    def definition(self) -> str:
        """Identity of the response: its opponent and its settings."""
        return f"best response {self.shortlist} x {self.rounds} x {self.samples} to {definition(self.agent)}"

    def for_rules(self, rules: BaseRules) -> DeterminizedSearch:
        """Return the policy for a game.

        Raises:
            ValueError: for the solitaire, or if the agent does not support these rules.
        """
        if rules.num_players == 1:
            raise ValueError("a best response needs an opponent, got rules of the solitaire")
        policy = policy_for(self.agent, rules)
        return DeterminizedSearch(rules, self, partial(_evaluate, policy), partial(_prior, policy, rules))


def _evaluate(policy: Policy, games: Any, seat: int, left: int, rng: np.random.Generator) -> Values:
    play_out(policy, games, rng)
    return payoffs(games)[:, seat]


def _prior(policy: Policy, rules: BaseRules, observation: Pieces, mask: Bools) -> npt.NDArray[np.floating[Any]]:
    """Return the rollout policy's prior, with the agent's own choice first."""
    values = agent_spec_of(rules).rollout_policy.prior(rules, observation, mask).copy()
    own = policy(observation, mask, np.random.default_rng(0))
    values[np.arange(len(mask)), own] = values.max(axis=1) + 1
    return values


def best_response(agent: Agent, budget: int = BUDGET) -> BestResponse:
    """Return an approximate best response.

    ``best-response:NAME`` names the one to the policy NAME.

    Args:
        agent: the opponent.
        budget: games that it plays to their end for each action, at least 1; rounded up, so that every round of the
            search plays equally many. Positions with fewer legal actions than the shortlist need fewer.

    Raises:
        ValueError: for a budget below 1.
    """
    if budget < 1:
        raise ValueError(f"budget must be at least 1, got {budget}")
    return BestResponse(agent=agent, samples=-(-budget // (BestResponse.shortlist * BestResponse.rounds)))


def play_out(policy: Policy, games: Any, rng: np.random.Generator) -> None:
    """Play games to the end of their round by one policy. It sees the observation of the seat that acts."""
    observer, round = observer_for(games.rules), games.round.copy()
    while len(rows := np.flatnonzero(~games.over & (games.round == round))):
        playing = games.fork(rows)
        games.step(policy(observer.observe_batch(playing), playing.mask, rng), rows)
