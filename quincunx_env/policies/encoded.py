"""Policies of vectors, places of the hand and padded observations."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from quincunx_env.core.arrays import Bools, Ints
from quincunx_env.core.observation import Pieces, with_mask
from quincunx_env.core.policy import Policy, definition, policy_for
from quincunx_env.core.rules import BaseRules
from quincunx_env.policies.encoding import Encoding
from quincunx_env.registry import make_observer


@dataclass(frozen=True)
class EncodedPolicy(Encoding):
    """A policy with the observations that it reads; a `quincunx_env.core.policy.PolicyFactory`.

    It is called as ``policy(observation, mask, rng)`` with observations and masks of n games, as an environment with
    these options shows them. It returns actions of this environment.

    Args:
        policy: the policy.
        name: its name in tables, by default the name of the function or of the class.
        observation: ``"pieces"``, the default, or ``"vector"``.
        actions, preview, padded, mask_in: as in `Encoding`.

    Raises:
        ValueError: for an unknown observation or kind of actions.
    """

    policy: Any
    name: str = ""

    def __post_init__(self) -> None:
        if self.observation not in (None, "pieces", "vector") or self.actions not in ("joint", "hand"):
            options = f"observation={self.observation!r}, actions={self.actions!r}"
            raise ValueError(f"observation is 'pieces' or 'vector', and actions 'joint' or 'hand', got {options}")

    @property
    def __name__(self) -> str:
        """The policy's name in tables."""
        return self.name or getattr(self.policy, "__name__", type(self.policy).__name__)

    @property
    def definition(self) -> str:
        """The policy's definition, and the options."""
        return f"{definition(self.policy)} {self.encoding}"

    def for_rules(self, rules: BaseRules) -> Policy:
        """Return the policy for pieces with or without the preview.

        Raises:
            ValueError: as `quincunx_env.core.policy.policy_for`.
        """
        return _Decoded(policy_for(self.policy, rules), rules, self)


class _Decoded:
    """The policy of pieces and joint actions."""

    def __init__(self, policy: Any, rules: BaseRules, encoding: Encoding) -> None:
        self.policy, self.encoding, self.preview = policy, encoding, encoding.preview
        self.observer = make_observer(rules, encoding.preview, encoding.padded)
        self.places = self.observer.places if encoding.actions == "hand" else None
        if hasattr(policy, "action_values"):
            self.action_values = self._action_values

    def __call__(self, observation: Pieces, mask: Bools, rng: np.random.Generator) -> Ints:
        """Choose legal actions, int64 [n]."""
        encoded, shown, joint = self._encoded(observation, mask)
        actions = np.asarray(self.policy(encoded, shown, rng))
        if self.places:
            actions = self.places.to_joint(actions, self.places.from_joint(joint)[0])
        return self.observer.to_engine(actions)

    def _action_values(self, observation: Pieces, mask: Bools, rng: np.random.Generator) -> npt.NDArray[Any]:
        encoded, shown, joint = self._encoded(observation, mask)
        values = self.policy.action_values(encoded, shown, rng)
        return self.observer.unpad(self.places.by_card(values, joint) if self.places else values)

    def _encoded(self, observation: Pieces, mask: Bools) -> tuple[Any, Bools, Bools]:
        """Return the policy's observations and masks, and masks of joint actions."""
        joint, places = self.observer.pad_mask(mask), self.places
        shown = places.mask(*places.from_joint(joint)) if places else joint
        seen: Any = self.observer.pad(observation)
        if self.encoding.observation == "vector":
            seen = self.observer.encoder(places is not None).encode(seen)
        return with_mask(seen, shown.astype(np.int8)) if self.encoding.mask_in == "obs" else seen, shown, joint
