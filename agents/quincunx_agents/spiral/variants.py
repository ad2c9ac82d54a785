"""Variants of the spiral game, for agents."""

from typing import Any

from quincunx_env.spiral.rules import Rules

VARIANTS = {
    "spiral": Rules(deals=1),
    "spiral-fifteens": Rules(fifteens=True, deals=1),
    "spiral-end": Rules(scoring="end", deals=1),
    "spiral-end-fifteens": Rules(scoring="end", fifteens=True, deals=1),
}
"""The variants that a network can learn, by name."""


def base_variant(rules: Rules) -> str:
    """Return the name in `VARIANTS` of these rules without further options."""
    return "spiral-end" if rules.scoring == "end" else "spiral"


def search_settings(rules: Rules) -> dict[str, Any]:
    """Return settings of the agent ``search``: every card as a candidate, played out to the end."""
    return {
        "shortlist": 5,
        "samples": 16,
        "rounds": 2,
        "prior_weight": 0.5,
        "candidates": 0,
        "depth": None,
        "rollout_candidates": 13,
    }
