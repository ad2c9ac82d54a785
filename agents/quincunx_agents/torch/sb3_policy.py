"""`PlayNetwork` in sb3-contrib's MaskablePPO, and trained policies as agents."""

from functools import partial
from typing import Any

from gymnasium import spaces
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.type_aliases import Schedule
from torch import Tensor, nn

from quincunx_agents.torch.network_policy import NetworkPolicy
from quincunx_agents.torch.play_network import RETURN_SCALE, PlayNetwork
from quincunx_env.codec import Codec
from quincunx_env.core.observation import Observer


class ActorCritic(PlayNetwork):
    """`PlayNetwork` with the methods and shapes that stable-baselines3 calls and expects."""

    def forward(self, observation: Tensor) -> tuple[Tensor, Tensor]:
        """Map observations, float32 [B, size], to logits [B, actions] and values [B, 1]."""
        logits, values = super().forward(observation)
        return logits, values[:, None]

    def forward_actor(self, observation: Tensor) -> Tensor:
        """Return the logits alone, [B, actions]."""
        return self.forward(observation)[0]

    def forward_critic(self, observation: Tensor) -> Tensor:
        """Return the values alone, [B, 1]."""
        return self.forward(observation)[1]


class QuincunxMaskablePolicy(MaskableActorCriticPolicy):
    """Actor-critic policy for MaskablePPO whose actor and critic are a `PlayNetwork`.

    The environment is made with ``observation="vector", preview=True, actions="hand"``.

    Args:
        observation_space, action_space: of the environment.
        args, kwargs: passed to `MaskableActorCriticPolicy`.
        observer: of the environment.
        width, unit: of the `PlayNetwork`. For normalized rewards ``unit`` is 1.

    Raises:
        ValueError: for other actions, and as `PlayNetwork`.
    """

    def __init__(
        self,
        observation_space: spaces.Space[Any],
        action_space: spaces.Discrete,
        *args: Any,
        observer: Observer,
        width: int = 128,
        unit: float = RETURN_SCALE,
        **kwargs: Any,
    ) -> None:
        needed = spaces.Discrete(observer.places.num_actions)
        if action_space != needed:
            raise ValueError(
                f'QuincunxMaskablePolicy needs {needed}, got {action_space}: make its environment with actions="hand"; '
                "models of earlier versions must be trained again"
            )
        self._network = observer, width, unit
        super().__init__(observation_space, action_space, *args, **kwargs)

    def _build(self, lr_schedule: Schedule) -> None:
        super()._build(lr_schedule)
        self.mlp_extractor = ActorCritic(*self._network).to(self.device)  # type: ignore[assignment]
        # It returns logits and values; no further layers are needed.
        self.action_net = self.value_net = nn.Identity()  # type: ignore[assignment]
        self.optimizer = self.optimizer_class(self.parameters(), **{"lr": lr_schedule(1), **self.optimizer_kwargs})


def sb3_agent(policy: MaskableActorCriticPolicy, codec: Codec) -> NetworkPolicy:
    """Return the greedy agent of a policy that sb3-contrib trained.

    Args:
        policy: of a MaskablePPO trained on ``observation="vector"``.
        codec: of the environment it was trained on: ``env.envs.codec`` of a ``VecEnv``, or ``env.unwrapped.codec``.
    """
    return NetworkPolicy(partial(_log_probabilities, policy), codec)


def _log_probabilities(policy: MaskableActorCriticPolicy, observation: Tensor) -> Tensor:
    """Return log-probabilities without the mask, [n, actions]."""
    distribution: Any = policy.get_distribution(observation.to(policy.device)).distribution
    logits: Tensor = distribution.logits
    return logits.cpu()
