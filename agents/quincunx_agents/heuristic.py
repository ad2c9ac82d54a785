"""The heuristic agent: `quincunx_agents.quincunx` or `quincunx_agents.spiral`, by the game's rules."""

from dataclasses import dataclass
from functools import partial

from quincunx_agents.agent_specs import agent_spec_of
from quincunx_agents.greedy import GreedyPolicy
from quincunx_env.core.rules import BaseRules


@dataclass(frozen=True)
class Heuristic:
    """Heuristic for every variant of both games; a `quincunx_env.core.policy.PolicyFactory`."""

    def for_rules(self, rules: BaseRules) -> GreedyPolicy:
        """Return the policy for a game."""
        return GreedyPolicy(partial(agent_spec_of(rules).heuristic, rules))


heuristic = Heuristic()
"""The agent ``heuristic``."""
