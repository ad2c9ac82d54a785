"""Variants and past plays of the spiral game, for agents."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from quincunx_agents.afterstates import Ints
from quincunx_env.core.observation import Pieces
from quincunx_env.spiral.rules import SPIRAL, Rules

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


def plays_so_far(position: Pieces, counts: Mapping[str, Any], rules: Rules) -> tuple[Ints, Ints, Ints]:
    """Read the deal so far, as `quincunx_agents.agent_specs.AgentSpec` says. The starter alone lay face up."""
    cards = position["board"].astype(np.int64)[list(SPIRAL[: 1 + counts["ply"]])]
    return cards[:1], cards[1:], cards[1:]
