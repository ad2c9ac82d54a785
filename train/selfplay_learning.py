"""Gradient steps of a value network: TD(lambda) targets of afterstates, and search targets of the plays of a position.

Axes: B afterstates or positions of a minibatch, k plays of a position.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from quincunx_agents.afterstates import SEATS
from quincunx_agents.networks.value import VALUE_SCALE, margin_weights
from quincunx_agents.torch import ValueNetwork
from train.common.device import DeviceOptions
from train.common.options import Count, PositiveOrZero
from train.selfplay_rollout import ValueTargets
from train.selfplay_search import SearchTargets, join

SEARCH_SCALE = 10.0
"""Points from which on the loss of a search target is linear; not tuned."""

POLICY_TEMPERATURE = 2.0
"""Points, of the policy in `policy_loss`; see docs/experiments.md."""


@dataclass
class LearningOptions(DeviceOptions):
    """Options of the gradient steps."""

    replay: Count = 8
    """latest iterations that are learned from"""
    updates: Count = 32
    """gradient steps in an iteration"""
    batch_size: Count = 1024
    """afterstates in a minibatch"""
    search_batch: Count = 128
    """positions with search targets in a minibatch, if there are any"""
    learning_rate: PositiveOrZero = 3e-3
    """of Adam at the start; it falls linearly to 0"""


def learn(
    options: LearningOptions,
    network: ValueNetwork,
    optimizer: torch.optim.Optimizer,
    replay: Sequence[ValueTargets],
    searched: Sequence[SearchTargets],
    rng: np.random.Generator,
) -> float:
    """Take the gradient steps of an iteration; returns the mean of the loss.

    Args:
        options: see `LearningOptions`.
        network: is trained.
        optimizer: of its parameters.
        replay: TD(lambda) targets of the latest iterations.
        searched: search targets of the latest iterations; may be empty.
        rng: samples the minibatches.
    """
    backend, mean = options.backend, 0.0
    targets, plays = join(replay, backend), join(searched, backend) if searched else None
    for _ in range(options.updates):
        features, *rest = minibatch(targets, options.batch_size, options.device, rng)
        loss = value_loss(network.forward_present(features), *rest)
        if plays:
            features, *rest = minibatch(plays, options.search_batch, options.device, rng)
            loss = loss + search_loss(outputs_of_plays(network, features), *rest)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        mean += loss.item() / options.updates
    return mean


def outputs_of_plays(network: ValueNetwork, features: Tensor) -> Tensor:
    """The network's outputs for the plays of positions, [B, k, SEATS + 1], from their features [B, k, size]."""
    outputs: Tensor = network.forward_present(features.flatten(0, 1)).unflatten(0, features.shape[:2])
    return outputs


def value_loss(outputs: Tensor, targets: Tensor, seats: Tensor) -> Tensor:
    """Huber loss of the values of each seat: outputs [B, SEATS + 1], targets [B, SEATS], seats [B]."""
    present = torch.arange(SEATS, device=seats.device) < seats[:, None]
    errors = nn.functional.smooth_l1_loss(outputs[:, :SEATS] / VALUE_SCALE, targets / VALUE_SCALE, reduction="none")
    return errors[present].mean()


def search_loss(outputs: Tensor, points: Tensor, values: Tensor, seats: Tensor) -> Tensor:
    """Huber loss of the differences between the plays of a position, of which alone the choice depends.

    Args:
        outputs: of the network, [B, k, SEATS + 1].
        points: [B, k].
        values: [B, k], by search.
        seats: [B].
    """
    errors = (predicted_values(outputs, points, seats) - values) / SEARCH_SCALE
    errors = errors - errors.mean(dim=1, keepdim=True)
    return nn.functional.smooth_l1_loss(errors, torch.zeros_like(errors))


def policy_loss(outputs: Tensor, points: Tensor, values: Tensor, seats: Tensor) -> Tensor:
    """Minus the expected value of a softmax policy over the plays of a position, relative to the mean of the plays.

    Its gradient is the policy gradient, summed over all plays instead of sampled (Allen, Asadi, Roderick, Mohamed,
    Konidaris & Littman, Mean Actor-Critic, 2017). Plays of nearly equal values, between which `search_loss` hardly
    distinguishes, count most. Arguments as there.
    """
    policy = (predicted_values(outputs, points, seats) / POLICY_TEMPERATURE).softmax(dim=1)
    relative = (values - values.mean(dim=1, keepdim=True)) / SEARCH_SCALE
    return -(policy * relative).sum(dim=1).mean()


def predicted_values(outputs: Tensor, points: Tensor, seats: Tensor) -> Tensor:
    """Values of plays to the mover, [B, k], as `quincunx_agents.networks.value.action_values` computes them."""
    weights = torch.from_numpy(
        np.stack([np.append(margin_weights(number), np.float32(1)) for number in range(SEATS + 1)])
    )
    predicted: Tensor = points + (outputs * weights.to(seats.device)[seats][:, None]).sum(dim=-1)
    return predicted


def minibatch(targets: ValueTargets | SearchTargets, count: int, device: str, rng: np.random.Generator) -> list[Tensor]:
    """Sample rows of targets with replacement: their fields in full precision, [count, ...] each."""
    rows = rng.integers(len(targets.seats), size=count)
    parts = (torch.as_tensor(part[rows], device=device) for part in targets)
    return [part.float() if part.dtype == torch.float16 else part for part in parts]
