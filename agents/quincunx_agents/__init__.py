"""Baseline agents for Quincunx and the spiral game.

Each is a `quincunx_env.core.policy.Policy` or a `quincunx_env.core.policy.PolicyFactory`. They are registered as entry
points of the group ``quincunx_env.policies``; `quincunx_env.policies.resolve` finds them by name.
"""

from pathlib import Path

from quincunx_env.core.policy import Agent

__all__ = ["load"]


def load(name: str | Path) -> Agent:
    """Load a trained network as an agent, without PyTorch.

    Args:
        name: a network that comes with the package, such as ``solitaire``, or a weights
            file ``*.safetensors`` that ``train.td_lambda`` wrote.

    Raises:
        ValueError: if no network of that name comes with the package.
        WeightsError: if the file is missing, damaged or of another format. Loading executes no code.
    """
    from quincunx_agents.networks import value  # it needs safetensors; the other agents do not

    path = Path(name)
    return value.ValueAgent(value.load_weights(path)) if path.suffix == ".safetensors" else value.load(str(name))
