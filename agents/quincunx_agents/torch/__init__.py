"""PyTorch networks for training, and policies that use them.

They need PyTorch, from the extras ``train`` and ``sb3``.

- `PlayNetwork`: logits and state value, for policy gradients.
- `ValueNetwork`: values of afterstates, for TD learning; NumPy twin `quincunx_agents.networks.value`.
- `NetworkPolicy`: the greedy policy of a module's logits.
- `QuincunxMaskablePolicy`, `sb3_agent`: `PlayNetwork` in sb3-contrib's MaskablePPO, and a trained policy as an agent.
  They are imported on first use, because they need stable-baselines3 (extra ``sb3``), which Ray RLlib does not.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from quincunx_env.utils.extras import needs_extra

with needs_extra("train", "quincunx_agents.torch"):
    from quincunx_agents.torch.network_policy import NetworkPolicy
    from quincunx_agents.torch.play_network import PlayNetwork
    from quincunx_agents.torch.value_network import ValueNetwork

if TYPE_CHECKING:
    from quincunx_agents.torch.sb3_policy import QuincunxMaskablePolicy, sb3_agent

__all__ = ["NetworkPolicy", "PlayNetwork", "QuincunxMaskablePolicy", "ValueNetwork", "sb3_agent"]


def __getattr__(name: str) -> Any:
    if name not in ("QuincunxMaskablePolicy", "sb3_agent"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with needs_extra("sb3", name):
        return getattr(import_module("quincunx_agents.torch.sb3_policy"), name)
