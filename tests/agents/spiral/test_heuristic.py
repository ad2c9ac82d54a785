"""The heuristic of the spiral game: stronger than greedy."""

import numpy as np

from quincunx_agents.heuristic import heuristic
from quincunx_env.registry import make_observer, spec_of
from quincunx_env.spiral.rules import Rules as SpiralRules


def test_beats_greedy() -> None:
    """72 % in the long run."""
    rules = SpiralRules(deals=1)
    games = 400
    batch = spec_of(rules).Batch(rules, games, "validation")
    batch.reset(seed=np.arange(games) // 2)
    observer, rng = make_observer(rules, preview=True), np.random.default_rng(0)
    hero, policy = np.arange(games) % 2, heuristic.for_rules(rules)
    while not batch.over.all():
        observation, mask = observer.observe_batch(batch), observer.mask_batch(batch)
        greedy = np.where(mask, observation["preview"][..., 0], -1).argmax(axis=1)
        batch.step(np.where(batch.mover == hero, policy(observation, mask, rng), greedy))
    own, other = batch.totals[np.arange(games), hero], batch.totals[np.arange(games), 1 - hero]
    assert ((own > other) + 0.5 * (own == other)).mean() > 0.62
