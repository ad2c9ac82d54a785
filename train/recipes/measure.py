"""What the recipes share: measuring what was learned on ``validation`` deals."""

import numpy as np
import numpy.typing as npt
import torch
from quincunx_agents.torch.networks import PolicyNetwork

from quincunx_env.arena import Evaluation, evaluate
from quincunx_env.core.observation import Observer, Pieces
from quincunx_env.core.policy import Policy


class Likeliest:
    """A network as a `quincunx_env.core.policy.Policy` that takes the likeliest action.

    Args:
        network: logits and value from flat observations with the preview.
        observer: that of the environment it was trained on.
    """

    def __init__(self, network: PolicyNetwork, observer: Observer) -> None:
        self.network = network
        self.observer = observer

    def __call__(
        self, observation: Pieces, mask: npt.NDArray[np.bool_], rng: np.random.Generator
    ) -> npt.NDArray[np.int64]:
        """See `quincunx_env.core.policy.Policy`."""
        flat = torch.from_numpy(self.observer.flatten(observation)).float()
        with torch.no_grad():
            logits = self.network.forward_actor(flat).numpy()
        actions: npt.NDArray[np.int64] = np.where(mask, logits, -np.inf).argmax(axis=1)
        return actions


def measure(policy: Policy, deals: int) -> Evaluation:
    """Play the first ``deals`` validation deals of the solitaire, and print the mean."""
    result = evaluate(policy, deals, domain="validation")
    low, high = result.ci95
    print(
        f"mean {result.mean:.1f} ({low:.1f} to {high:.1f}) on {deals} validation deals, lost {result.lost.mean():.1%}"
    )
    return result
