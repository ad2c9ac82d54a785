"""`PolicyNetwork` in sb3-contrib's MaskablePPO, and trained policies as agents."""

from functools import partial
from typing import Any

import numpy.typing as npt
import torch
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.type_aliases import PyTorchObs, Schedule
from torch import Tensor, nn

from quincunx_agents.torch.network_policy import NetworkPolicy
from quincunx_agents.torch.networks import Plays, PolicyNetwork
from quincunx_env.codec import Codec
from quincunx_env.core.observation import Observer


class QuincunxMaskablePolicy(MaskableActorCriticPolicy):
    """Actor-critic policy for MaskablePPO whose actor and critic are a `PolicyNetwork`.

    Observations must be vectors with the preview, and actions joint.

    Args:
        observer: of the environment.
        width, depth, code: sizes of the `PolicyNetwork`.
        args, kwargs: passed to `MaskableActorCriticPolicy`.
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

    def forward(
        self, obs: Tensor, deterministic: bool = False, action_masks: npt.NDArray[Any] | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return actions [B], values [B, 1] and log-probabilities [B], as `MaskableActorCriticPolicy` does.

        An action is sampled as the one with the highest sum of logit and Gumbel noise (Maddison, Tarlow & Minka, A*
        Sampling, NIPS 2014).

        Args:
            obs: vectors [B, size].
            deterministic: take the most probable action; of equal ones the lowest.
            action_masks: as in `evaluate_actions`.
        """
        values, plays, log_total = self._evaluate(obs, action_masks)
        keys = plays.logits if deterministic else plays.logits - torch.empty_like(plays.logits).exponential_().log()
        chosen = keys == _highest(keys, plays.rows, len(obs))[plays.rows]
        no_action = plays.actions.new_full((len(obs),), self.mlp_extractor.latent_dim_pi)
        actions = no_action.scatter_reduce(0, plays.rows[chosen], plays.actions[chosen], "amin")
        return actions, values, _logits_of(plays, actions) - log_total

    def evaluate_actions(
        self, obs: PyTorchObs, actions: Tensor, action_masks: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """Return values, log-probabilities of the actions, and entropies, as `MaskableActorCriticPolicy` does.

        Args:
            obs: vectors [B, size].
            actions: legal ones, [B].
            action_masks: bool [B, actions]; none: all plays of a card of the hand in an empty cell are legal.
        """
        values, plays, log_total = self._evaluate(obs, action_masks)
        mean = _sums(plays.logits.exp() * plays.logits, plays.rows, len(values)) / log_total.exp()
        return values, _logits_of(plays, actions.long().flatten()) - log_total, log_total - mean

    def _evaluate(self, obs: PyTorchObs, action_masks: Any) -> tuple[Tensor, Plays, Tensor]:
        """Return values [B, 1], legal plays, and log-sums of exp(logits) [B].

        Only the plays of a card of the hand in an empty cell are computed, a small part of all actions. The highest
        logit of each observation is subtracted from its others.
        """
        features = self.extract_features(obs)
        observation = features if isinstance(features, Tensor) else features[0]  # equal, shared or not
        position = self.mlp_extractor.encode(observation)
        rows, actions, logits = self.mlp_extractor.plays(observation, position)
        if action_masks is not None:
            legal = torch.as_tensor(action_masks, dtype=torch.bool, device=rows.device)[rows, actions]
            rows, actions, logits = rows[legal], actions[legal], logits[legal]
        with torch.no_grad():
            highest = _highest(logits, rows, len(observation))
        logits = logits - highest[rows]
        log_total = _sums(logits.exp(), rows, len(observation)).log()
        return self.mlp_extractor.state_value(position), Plays(rows, actions, logits), log_total


def _logits_of(plays: Plays, actions: Tensor) -> Tensor:
    """Return the logit of an action [B] of each observation, [B]."""
    return _sums(torch.where(plays.actions == actions[plays.rows], plays.logits, 0.0), plays.rows, len(actions))


def _highest(numbers: Tensor, rows: Tensor, count: int) -> Tensor:
    """Return the highest of the numbers of each row, [count]."""
    return numbers.new_full((count,), -torch.inf).scatter_reduce(0, rows, numbers, "amax")


def _sums(numbers: Tensor, rows: Tensor, count: int) -> Tensor:
    """Return the sum of the numbers of each row, [count]."""
    return numbers.new_zeros(count).index_add(0, rows, numbers)


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
