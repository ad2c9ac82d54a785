"""Baseline agents, one idea to a file; all of them are `quincunx_env.core.policy.Policy`."""

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


def load(name: str) -> Policy:
    """A network that is shipped, as a policy: ``solitaire-v0``, ``players-v0`` or ``spiral-v0``.

    Raises:
        ValueError: if there is none of that name.
    """
    from agents.value import load as load_network  # needs safetensors, which the other agents do without

    return load_network(name)
