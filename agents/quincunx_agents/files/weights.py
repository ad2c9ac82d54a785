"""Weights files of this package, with NumPy alone."""

from pathlib import Path

from quincunx_agents.networks import policy, value, weights_io
from quincunx_env.core.policy import PolicyFactory


def read(path: Path, trust: bool) -> PolicyFactory:
    """Read the network in a weights file; see `quincunx_agents.load`.

    Args:
        path: of the file.
        trust: makes no difference, because nothing is executed.

    Raises:
        WeightsError: if the file is damaged or of another format.
    """
    if weights_io.read(path)[1].get("network") == policy.KIND:
        return policy.PolicyNetworkAgent(policy.load_weights(path))
    return value.ValueAgent(value.load_weights(path))
