"""Gradient steps of a value network on TD(lambda) targets. Axes: B afterstates of a minibatch."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from quincunx_env.utils.errors import requires_extra

with requires_extra("train"):
    import torch
from torch import Tensor, nn

from quincunx_agents.afterstates import SEATS
from quincunx_agents.networks.value import VALUE_SCALE
from quincunx_agents.torch import ValueNetwork
from train.common.options import CheckedOptions, Count, PositiveOrZero
from train.td_lambda.rollout import ValueTargets, join


@dataclass
class LearningOptions(CheckedOptions):
    """Options of the gradient steps."""

    replay: Count = 8
    """latest iterations that are learned from"""
    updates: Count = 32
    """gradient steps in an iteration"""
    batch_size: Count = 1024
    """afterstates in a minibatch"""
    learning_rate: PositiveOrZero = 3e-3
    """learning rate of Adam at the start; it falls linearly to 0"""


def learn(
    options: LearningOptions,
    network: ValueNetwork,
    optimizer: torch.optim.Optimizer,
    replay: Sequence[ValueTargets],
    rng: np.random.Generator,
) -> float:
    """Take the gradient steps of an iteration, and return the mean loss. ``replay`` has the latest iterations."""
    targets, mean = join(replay), 0.0
    for _ in range(options.updates):
        features, *rest = minibatch(targets, options.batch_size, rng)
        loss = value_loss(network(features), *rest)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        mean += loss.item() / options.updates
    return mean


def value_loss(outputs: Tensor, targets: Tensor, seats: Tensor) -> Tensor:
    """Compute the Huber loss of the values of each seat. Outputs and targets are [B, SEATS], seats [B]."""
    present = torch.arange(SEATS) < seats[:, None]
    errors = nn.functional.smooth_l1_loss(outputs / VALUE_SCALE, targets / VALUE_SCALE, reduction="none")
    return errors[present].mean()


def minibatch(targets: ValueTargets, count: int, rng: np.random.Generator) -> list[Tensor]:
    """Sample rows of targets with replacement: their fields in full precision, [count, ...] each."""
    rows = rng.integers(len(targets.seats), size=count)
    parts = (torch.as_tensor(part[rows]) for part in targets)
    return [part.float() if part.dtype == torch.float16 else part for part in parts]
