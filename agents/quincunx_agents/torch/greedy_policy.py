"""Greedy policy of a torch module: argmax over the logits of the legal actions."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from quincunx_agents import ties
from quincunx_env.core.observation import Observer, Pieces


class GreedyPolicy:
    """Takes the legal action with the highest logit, the first of several; a `quincunx_env.core.policy.Policy`.

    Args:
        logits: maps flat observations, float32 [n, size], to logits [n, actions]; for a
            `quincunx_agents.torch.PolicyNetwork` its method `forward_actor`.
        observer: flattens the observations as in training.
    """

    def __init__(self, logits: Callable[[Tensor], Tensor], observer: Observer) -> None:
        self.logits = logits
        self.observer = observer

    def __call__(
        self, observation: Pieces, mask: npt.NDArray[np.bool_], rng: np.random.Generator
    ) -> npt.NDArray[np.int64]:
        """Return the greedy actions, int64 [n], for pieces [n, ...] and mask [n, actions]."""
        flat = torch.from_numpy(self.observer.flatten(observation)).float()
        with torch.no_grad():
            logits = self.logits(flat).numpy()
        return ties.best(np.where(mask, logits, -np.inf))
