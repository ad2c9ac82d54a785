"""`PolicyNetwork` as a module of Ray RLlib."""

from quincunx_agents.torch.networks import PolicyNetwork
from quincunx_env.adapters.rllib import MaskedPPOModule
from quincunx_env.registry import make_observer


class PPOPolicyNetworkModule(MaskedPPOModule):
    """`PolicyNetwork` for PPO.

    ``model_config`` holds ``rules``, the `quincunx_env.quincunx.rules.Rules` that are played, and may hold ``width``,
    ``depth`` and ``code`` of the network. Observations must have the preview.
    """

    def make_network(self) -> PolicyNetwork:
        """Make a `PolicyNetwork`; see `MaskedPPOModule.make_network`."""
        config = self.model_config
        sizes = {name: config[name] for name in ("width", "depth", "code") if name in config}
        return PolicyNetwork(make_observer(config["rules"], preview=True), **sizes)
