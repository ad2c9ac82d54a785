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
            file ``*.safetensors`` that a script in ``train`` wrote. The metadata of the file distinguish value
            networks (`quincunx_agents.networks.value`) from policy networks (`quincunx_agents.networks.policy`).

    Raises:
        ValueError: if no network of that name comes with the package.
        WeightsError: if the file is missing, damaged or of another format. Loading executes no code, unlike
            ``MaskablePPO.load``, which unpickles ``model.zip``.
    """
    from quincunx_agents.files import weights  # these need safetensors; the other agents do not
    from quincunx_agents.networks import value

    path = Path(name)
    return weights.read(path, trust=False) if path.suffix == ".safetensors" else value.load(str(name))
