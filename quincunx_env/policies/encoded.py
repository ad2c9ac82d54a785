"""Policies of vectors, places of the hand and padded observations."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from quincunx_env.codec import Codec, Encoding
from quincunx_env.core.arrays import Bools, Ints
from quincunx_env.core.integers import with_checked_names
from quincunx_env.core.observation import Pieces
from quincunx_env.core.policy import Policy, choose, policy_for
from quincunx_env.core.rules import BaseRules


@with_checked_names
@dataclass(frozen=True)
class EncodedPolicy(Encoding):
    """A policy with the observations that it reads; a `quincunx_env.core.policy.PolicyFactory`.

    It is called as ``policy(observation, mask, rng)`` with observations and masks of n games, as an environment with
    these options shows them. It returns actions of this environment.

    Args:
        policy: the policy.
        name: its name in tables, by default the name of the function or of the class.
        observation: ``"pieces"``, the default, or ``"vector"``.
        actions, preview, padded, mask_in: as in `quincunx_env.codec.Encoding`.

    Raises:
        ValueError: for any other value of an option.
    """

    policy: Any
    name: str = ""

    @property
    def __name__(self) -> str:
        """The policy's name in tables."""
        return self.name or getattr(self.policy, "__name__", type(self.policy).__name__)

    def for_rules(self, rules: BaseRules) -> Policy:
        """Return the policy for pieces with or without the preview.

        Raises:
            ValueError: as `quincunx_env.core.policy.policy_for`, or if the game has no padded observations.
        """
        options = self.options | {"observation": self.observation or "pieces"}
        return Decoded(policy_for(self.policy, rules), Codec(rules, **options))


class Decoded:
    """A policy of pieces and joint actions, by a policy of an environment's observations and actions.

    Args:
        policy: the policy of the environment.
        codec: of the environment.
    """

    def __init__(self, policy: Any, codec: Codec) -> None:
        self.policy, self.codec, self.preview = policy, codec, codec.preview
        if hasattr(policy, "action_values"):
            self.action_values = self._action_values

    def __call__(self, observation: Pieces, mask: Bools, rng: np.random.Generator) -> Ints:
        """Choose legal actions, int64 [n].

        Raises:
            ValueError: if the policy does not return one integer for each position.
        """
        seen, shown = self.codec.of_pieces(observation, mask)
        return self.codec.to_joint(choose(self.policy, seen, shown, rng), mask)

    def _action_values(self, observation: Pieces, mask: Bools, rng: np.random.Generator) -> npt.NDArray[Any]:
        seen, shown = self.codec.of_pieces(observation, mask)
        return self.codec.to_joint_scores(self.policy.action_values(seen, shown, rng), mask)
