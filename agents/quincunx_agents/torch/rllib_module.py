"""`PolicyNetwork` as modules of Ray RLlib."""

from collections.abc import Mapping
from typing import Any

from quincunx_agents.torch.networks import PolicyNetwork
from quincunx_env.adapters.rllib import MaskedDQNModule, MaskedPPOModule
from quincunx_env.registry import make_observer


class PPOPolicyNetworkModule(MaskedPPOModule):
    """`PolicyNetwork` for PPO.

    ``model_config`` holds ``rules``, the `quincunx_env.quincunx.rules.Rules` that are played, and may hold ``width``,
    ``depth`` and ``code`` of the network. Observations must have the preview.
    """

    def make_network(self) -> PolicyNetwork:
        """Make a `PolicyNetwork`; see `MaskedPPOModule.make_network`."""
        return _network(self.model_config)


class DQNPolicyNetworkModule(MaskedDQNModule):
    """`PolicyNetwork` for DQN; ``model_config`` is that of `PPOPolicyNetworkModule`."""

    def make_network(self) -> PolicyNetwork:
        """Make a `PolicyNetwork`; see `MaskedPPOModule.make_network`."""
        return _network(self.model_config)


def _network(model_config: Mapping[str, Any]) -> PolicyNetwork:
    sizes = {name: model_config[name] for name in ("width", "depth", "code") if name in model_config}
    return PolicyNetwork(make_observer(model_config["rules"], preview=True), **sizes)
