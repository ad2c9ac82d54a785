"""`PolicyNetwork` as a policy of sb3-contrib's MaskablePPO, and trained policies of sb3-contrib as agents."""

from typing import Any

from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.type_aliases import Schedule
from torch import Tensor, nn

from quincunx_agents.torch.greedy_policy import GreedyPolicy
from quincunx_agents.torch.networks import PolicyNetwork
from quincunx_env.core.observation import Observer


class QuincunxMaskablePolicy(MaskableActorCriticPolicy):
    """Actor-critic policy for MaskablePPO whose actor and critic are a `PolicyNetwork`.

    Observations must be flat and have the preview.

    Args:
        observer: that of the environment.
        width, depth: sizes of the `PolicyNetwork`.
        args, kwargs: those of `MaskableActorCriticPolicy`.
    """

    def __init__(self, *args: Any, observer: Observer, width: int = 256, depth: int = 32, **kwargs: Any) -> None:
        self._network = observer, width, depth
        # PolicyNetwork initialises its own weights.
        super().__init__(*args, **{"ortho_init": False, **kwargs})

    def _build_mlp_extractor(self) -> None:
        self.mlp_extractor = PolicyNetwork(*self._network).to(self.device)  # type: ignore[assignment]

    def _build(self, lr_schedule: Schedule) -> None:
        super()._build(lr_schedule)
        # PolicyNetwork returns logits and value; no further heads are needed.
        self.action_net = nn.Identity()
        self.value_net = nn.Identity()  # type: ignore[assignment]
        self.optimizer = self.optimizer_class(self.parameters(), **{"lr": lr_schedule(1), **self.optimizer_kwargs})


class SB3PolicyAgent(GreedyPolicy):
    """Greedy agent of a policy that sb3-contrib trained; a `quincunx_env.core.policy.Policy`.

    Args:
        policy: of a MaskablePPO trained on flat observations, with `PolicyNetwork` or any other network.
        observer: that of the environment it was trained on.
    """

    def __init__(self, policy: MaskableActorCriticPolicy, observer: Observer) -> None:
        super().__init__(self._logits, observer)
        self.policy = policy

    def _logits(self, observation: Tensor) -> Tensor:
        """Log-probabilities without the mask, [n, actions]."""
        distribution: Any = self.policy.get_distribution(observation.to(self.policy.device)).distribution
        logits: Tensor = distribution.logits
        return logits.cpu()
