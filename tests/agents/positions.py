"""Positions in which agents are tested."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from quincunx_agents.agent_specs import rules_of
from quincunx_agents.quincunx.variants import BASE_VARIANTS
from quincunx_agents.uniform import uniform
from quincunx_env.core.arrays import Bools, Ints
from quincunx_env.core.observation import Pieces
from quincunx_env.core.rules import BaseRules
from quincunx_env.quincunx.rules import Rules
from quincunx_env.registry import make_observer, spec_of

QUINCUNX_VARIANTS: dict[str, Any] = {
    name: rules_of(name)
    for name in (*BASE_VARIANTS, "solitaire-excuse-pawns-flush", "2-corners-pawns", "3-open-excuse-flush")
}
"""Variants of Quincunx, by name."""


def dealt(rules: BaseRules, games: int = 1, seed: int = 0) -> Any:
    """Games before the first play."""
    batch = spec_of(rules).Batch(rules, games)
    batch.reset(seed=seed)
    return batch


def positions(rules: Rules, plies: int, games: int = 6) -> Any:
    """Games after some random plays."""
    batch, rng = dealt(rules, games, plies), np.random.default_rng(plies)
    for _ in range(plies):
        batch.step(uniform({}, batch.mask, rng) if not batch.over.any() else np.zeros(games, np.int64))
        batch.reset(rows=batch.over)
    return batch


def seen(batch: Any) -> tuple[Pieces, Bools]:
    """The observations that policies receive, and the masks."""
    return make_observer(batch.rules, preview=True).observe_batch(batch), batch.mask


def in_progress(batch: Any) -> Iterator[tuple[Ints, Any]]:
    """Yield the rows of the games in progress and these games, until all are over; the caller steps the batch."""
    while len(rows := np.flatnonzero(~batch.over)):
        yield rows, batch.fork(rows)
