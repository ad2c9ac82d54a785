"""Baseline agents, one idea to a file; all of them are `quincunx_env.core.policy.Policy`."""

NAMES = {
    "greedy": "agents.greedy:greedy",
    "heuristic-v0": "agents.heuristic:heuristic",
    "monte-carlo": "agents.monte_carlo:STRONG",
    "monte-carlo-fast": "agents.monte_carlo:FAST",
    "spiral-heuristic-v0": "agents.spiral_heuristic:spiral_heuristic",
    "tree-search": "agents.tree_search:STRONG",
    "tree-search-fast": "agents.tree_search:FAST",
    "uniform": "agents.uniform:uniform",
    "value": "agents.value:value",
}
"""Short names by which `quincunx_env.arena` knows them."""
