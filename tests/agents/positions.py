"""Positions in which agents are tested."""

import numpy as np

from quincunx_agents.uniform import uniform
from quincunx_env.quincunx.batch import Batch
from quincunx_env.quincunx.rules import Rules

QUINCUNX_VARIANTS: dict[str, Rules] = {
    "solitaire": Rules(),
    "contact": Rules(edge_contact=True),
    **{
        f"{players}-{start}": Rules(num_players=players, start=start)
        for start in ("corners", "open")
        for players in (2, 3, 4)
    },
    "solitaire with all options": Rules(excuse=True, pawns=True, flush=True),
    "2-corners with Pawns": Rules(num_players=2, pawns=True),
    "3-open with Excuse and flush": Rules(num_players=3, start="open", excuse=True, flush=True),
}
"""Variants of Quincunx, by name."""


def positions(rules: Rules, plies: int, games: int = 6) -> Batch:
    """Games after some random plays."""
    batch, rng = Batch(rules, games), np.random.default_rng(plies)
    batch.reset(seed=plies)
    for _ in range(plies):
        batch.step(uniform({}, batch.mask(), rng) if not batch.over.any() else np.zeros(games, np.int64))
        batch.reset(rows=batch.over)
    return batch
