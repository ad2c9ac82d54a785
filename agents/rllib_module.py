"""`PlayNetwork` as a module of Ray RLlib."""

from agents.network import PlayNetwork
from quincunx_env.adapters.rllib import MaskedModule
from quincunx_env.games import observer_of


class PlayModule(MaskedModule):
    """`PlayNetwork` for PPO.

    ``model_config`` holds ``rules``, the `quincunx_env.quincunx.rules.Rules` that are played, and may hold ``width``
    and ``depth`` of the network. Observations must have the preview.
    """

    def make_network(self) -> PlayNetwork:
        """See `MaskedModule`."""
        sizes = {name: self.model_config[name] for name in ("width", "depth") if name in self.model_config}
        return PlayNetwork(observer_of(self.model_config["rules"], preview=True), **sizes)
