"""Baseline agents, one idea to a file; all of them are `quincunx_env.core.policy.Policy`."""

NAMES = {
    "greedy": "agents.greedy:greedy",
    "heuristic-v0": "agents.heuristic:heuristic",
    "uniform": "agents.uniform:uniform",
    "value": "agents.value:value",
}
"""Short names by which `quincunx_env.arena` knows them."""
