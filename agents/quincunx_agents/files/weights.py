"""Weights files of this package, with NumPy alone."""

from quincunx_agents.networks.value import ValueAgent, load_weights
from quincunx_env.policies.files import PolicyFile


def read(file: PolicyFile) -> ValueAgent:
    """Read the value network in a weights file.

    Raises:
        WeightsError: if the file is damaged or of another format.
    """
    return ValueAgent(load_weights(file.location))
