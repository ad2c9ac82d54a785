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
    """Read the deal so far from an observation of one game.

    Args:
        position: the observation.
        counts: its named counts.
        rules: of the game.

    Returns:
        face_up: the starter, int64 [1].
        cards: the cards played, int64 [T].
        actions: the actions, which are the cards, int64 [T].
    """
    cards = position["board"].astype(np.int64)[list(SPIRAL[: 1 + counts["ply"]])]
    return cards[:1], cards[1:], cards[1:]
