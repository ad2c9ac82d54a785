"""`PlayNetwork` as a module of Ray RLlib."""

from quincunx_agents.torch.play_network import RETURN_SCALE, PlayNetwork
from quincunx_env.adapters.rllib import MaskedPPOModule
from quincunx_env.registry import make_observer


class PlayModule(MaskedPPOModule):
    """`PlayNetwork` for PPO, in an environment made with ``actions="hand"``.

    ``model_config`` holds ``rules``, the rules that are played, and may hold ``width`` of the network. Observations
    must have the preview, and rewards are in points.
    """

    def make_network(self) -> PlayNetwork:
        """Make a `PlayNetwork`; see `MaskedPPOModule.make_network`."""
        config = self.model_config
        width = {"width": config["width"]} if "width" in config else {}
        return PlayNetwork(make_observer(config["rules"], preview=True), unit=RETURN_SCALE, **width)
