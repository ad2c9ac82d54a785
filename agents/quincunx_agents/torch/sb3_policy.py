"""`PolicyNetwork` as a policy of sb3-contrib's MaskablePPO, and trained policies of sb3-contrib as agents."""

from typing import Any

import torch
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.type_aliases import PyTorchObs, Schedule
from torch import Tensor, nn

from quincunx_agents.torch.greedy_policy import GreedyPolicy
from quincunx_agents.torch.networks import PolicyNetwork
from quincunx_env.core.observation import Observer


class QuincunxMaskablePolicy(MaskableActorCriticPolicy):
    """Actor-critic policy for MaskablePPO whose actor and critic are a `PolicyNetwork`.

    Observations must be flat and have the preview.

    Args:
        observer: that of the environment.
        width, depth, code: sizes of the `PolicyNetwork`.
        args, kwargs: those of `MaskableActorCriticPolicy`.
    """

    mlp_extractor: PolicyNetwork  # type: ignore[assignment]

    def __init__(
        self, *args: Any, observer: Observer, width: int = 128, depth: int = 16, code: int = 64, **kwargs: Any
    ) -> None:
        self._network = observer, width, depth, code
        # PolicyNetwork initialises its own weights.
        super().__init__(*args, **{"ortho_init": False, **kwargs})

    def _build_mlp_extractor(self) -> None:
        self.mlp_extractor = PolicyNetwork(*self._network).to(self.device)

    def _build(self, lr_schedule: Schedule) -> None:
        super()._build(lr_schedule)
        # PolicyNetwork returns logits and value; no further heads are needed.
        self.action_net = nn.Identity()
        self.value_net = nn.Identity()  # type: ignore[assignment]
        self.optimizer = self.optimizer_class(self.parameters(), **{"lr": lr_schedule(1), **self.optimizer_kwargs})

    def evaluate_actions(
        self, obs: PyTorchObs, actions: Tensor, action_masks: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """Return values, log-probabilities of the actions, and entropies: those of `MaskableActorCriticPolicy`.

        Only the plays of a card of the hand in an empty cell are computed, a small part of all actions.

        Args:
            obs: flat observations [B, size].
            actions: legal ones, [B].
            action_masks: bool [B, actions]; none: all plays of a card of the hand in an empty cell are legal.
        """
        features = self.extract_features(obs)
        observation = features if isinstance(features, Tensor) else features[0]  # equal, shared or not
        position = self.mlp_extractor.encode(observation)
        rows, played, logits = self.mlp_extractor.plays(observation, position)
        if action_masks is not None:
            legal = torch.as_tensor(action_masks, dtype=torch.bool, device=rows.device)[rows, played]
            rows, played, logits = rows[legal], played[legal], logits[legal]

        def sums(numbers: Tensor) -> Tensor:
            return numbers.new_zeros(len(observation)).index_add(0, rows, numbers)

        with torch.no_grad():
            most = logits.new_full((len(observation),), -torch.inf).scatter_reduce(0, rows, logits, "amax")
        logits = logits - most[rows]
        weights = logits.exp()
        total = sums(weights)
        log_prob = sums(torch.where(played == actions.long().flatten()[rows], logits, 0.0)) - total.log()
        entropy = total.log() - sums(weights * logits) / total
        return self.mlp_extractor.state_value(position), log_prob, entropy


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
