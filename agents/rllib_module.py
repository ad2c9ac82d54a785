"""`PlayNetwork` as modules of Ray RLlib."""

from collections.abc import Mapping
from typing import Any

from agents.network import PlayNetwork
from quincunx_env.adapters.rllib import MaskedModule, MaskedQModule
from quincunx_env.games import observer_of


class PlayModule(MaskedModule):
    """`PlayNetwork` for PPO.

    ``model_config`` holds ``rules``, the `quincunx_env.quincunx.rules.Rules` that are played, and may hold ``width``
    and ``depth`` of the network. Observations must have the preview.
    """

    def make_network(self) -> PlayNetwork:
        """See `MaskedModule`."""
        return _network(self.model_config)


class QPlayModule(MaskedQModule):
    """`PlayNetwork` for DQN; ``model_config`` is that of `PlayModule`."""

    def make_network(self) -> PlayNetwork:
        """See `MaskedQModule`."""
        return _network(self.model_config)


def _network(model_config: Mapping[str, Any]) -> PlayNetwork:
    sizes = {name: model_config[name] for name in ("width", "depth") if name in model_config}
    return PlayNetwork(observer_of(model_config["rules"], preview=True), **sizes)
