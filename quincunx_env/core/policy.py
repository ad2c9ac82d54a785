"""What a policy is, to everything that plays or measures one."""

from typing import Protocol

import numpy as np
import numpy.typing as npt

from quincunx_env.core.observation import Pieces
from quincunx_env.core.rules import BaseRules


class Policy(Protocol):
    """Chooses a joint action in each of n positions."""

    def __call__(
        self, observation: Pieces, mask: npt.NDArray[np.bool_], rng: np.random.Generator
    ) -> npt.NDArray[np.int64]:
        """Choose legal actions.

        Args:
            observation: pieces [n, ...] from the seats to move, the preview among them.
            mask: bool [n, actions], True = legal; never empty.
            rng: the only source of randomness.

        Returns:
            int64 [n].
        """
        ...


class PolicyFactory(Protocol):
    """Makes policies: an agent that must be told the rules, such as one that searches through games to come."""

    def for_rules(self, rules: BaseRules) -> Policy:
        """A policy for games played by these rules.

        Raises:
            ValueError: if it cannot play them.
        """
        ...


Agent = Policy | PolicyFactory
"""What can be asked to play."""


def policy_for(agent: Agent, rules: BaseRules) -> Policy:
    """The policy of an agent for games played by these rules."""
    return agent.for_rules(rules) if hasattr(agent, "for_rules") else agent
