"""Baseline agents, one idea to a file; all of them are `quincunx_env.core.policy.Policy`."""

from pathlib import Path

from quincunx_env.core.policy import Policy

NAMES = {
    "greedy": "agents.greedy:greedy",
    "heuristic-v0": "agents.heuristic:heuristic",
    "monte-carlo": "agents.monte_carlo:STRONG",
    "monte-carlo-fast": "agents.monte_carlo:FAST",
    "network-search": "agents.network_search:STRONG",
    "network-search-fast": "agents.network_search:FAST",
    "solitaire-search": "agents.network_search:SOLITAIRE",
    "spiral-heuristic-v0": "agents.spiral_heuristic:spiral_heuristic",
    "spiral-search": "agents.network_search:SPIRAL",
    "tree-search": "agents.tree_search:STRONG",
    "tree-search-fast": "agents.tree_search:FAST",
    "uniform": "agents.uniform:uniform",
    "value": "agents.value:value",
}
"""Short names by which `quincunx_env.arena` knows them."""


def load(name: str | Path) -> Policy:
    """A trained network as a policy; torch is not needed.

    Args:
        name: ``solitaire-v0``, ``players-v0`` or ``spiral-v0``, which are shipped; or a file of weights,
            ``*.safetensors``, that a script in ``train`` wrote. What it holds says how it plays: one look ahead
            (`agents.value`), or what it would play at first sight (`agents.first_sight`).

    Raises:
        ValueError: if no network of that name is shipped.
        WeightsError: if the file is missing, damaged or foreign.
    """
    from agents import files, first_sight, value  # they need safetensors, which the other agents do without

    path = Path(name)
    if path.suffix != ".safetensors":
        return value.load(str(name))
    if files.read(path)[1].get("network") == first_sight.KIND:
        return first_sight.PlayAgent(first_sight.load_weights(path))
    return value.ValueAgent(value.load_weights(path))
