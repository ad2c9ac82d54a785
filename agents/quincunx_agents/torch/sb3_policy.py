"""`PolicyNetwork` as a policy of sb3-contrib's MaskablePPO."""

from typing import Any

import numpy as np
import numpy.typing as npt
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.type_aliases import Schedule
from torch import nn

from quincunx_agents.torch.networks import PolicyNetwork
from quincunx_env.core.observation import Observer, Pieces


class QuincunxMaskablePolicy(MaskableActorCriticPolicy):
    """`PolicyNetwork` in the clothes of stable-baselines3.

    Args:
        observer: describes the observations.
        width, depth: of the network.
        args, kwargs: those of `MaskableActorCriticPolicy`.
    """

    def __init__(self, *args: Any, observer: Observer, width: int = 256, depth: int = 32, **kwargs: Any) -> None:
        self._network = observer, width, depth
        # The network sets its own first weights.
        super().__init__(*args, **{"ortho_init": False, **kwargs})

    def _build_mlp_extractor(self) -> None:
        self.mlp_extractor = PolicyNetwork(*self._network).to(self.device)  # type: ignore[assignment]

    def _build(self, lr_schedule: Schedule) -> None:
        super()._build(lr_schedule)
        # The network gives logits and value itself.
        self.action_net = nn.Identity()
        self.value_net = nn.Identity()  # type: ignore[assignment]
        self.optimizer = self.optimizer_class(self.parameters(), **{"lr": lr_schedule(1), **self.optimizer_kwargs})


class SB3PolicyAgent:
    """A trained policy of sb3-contrib as a `quincunx_env.core.policy.Policy` that takes the likeliest action.

    Args:
        policy: of a MaskablePPO trained on flat observations.
        observer: that of the environment it was trained on.
    """

    def __init__(self, policy: MaskableActorCriticPolicy, observer: Observer) -> None:
        self.policy = policy
        self.observer = observer

    def __call__(
        self, observation: Pieces, mask: npt.NDArray[np.bool_], rng: np.random.Generator
    ) -> npt.NDArray[np.int64]:
        """See `quincunx_env.core.policy.Policy`."""
        flat = self.observer.flatten(observation)
        actions, _ = self.policy.predict(flat, action_masks=mask, deterministic=True)
        return actions
