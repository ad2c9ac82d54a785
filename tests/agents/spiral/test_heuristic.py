"""The heuristic of the spiral game: stronger than greedy."""

from typing import Literal

import numpy as np
import pytest

from quincunx_agents.heuristic import heuristic
from quincunx_agents.spiral.rollout_policy import plays_left, rollout_actions
from quincunx_env.registry import make_observer, spec_of
from quincunx_env.spiral.rules import Rules as SpiralRules
from tests.agents.positions import dealt


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


@pytest.mark.parametrize("scoring", ["play", "end"])
def test_rollouts_end_with_the_best_play_and_reply(scoring: Literal["play", "end"]) -> None:
    """With two plays to come, a card is worth its points less those of the best reply."""
    rules = SpiralRules(deals=1, scoring=scoring)
    games = dealt(rules, 400)
    while plays_left(games) > 2:
        games.step(rollout_actions(games))
    chosen = rollout_actions(games)
    rows, cards = games.mask.nonzero()
    after = games.fork(rows)
    after.step(cards)
    played, replies = after.mask.nonzero()
    ended = after.fork(played)
    ended.step(replies)
    mover = games.mover[rows][played]
    margins = ended.totals[np.arange(len(played)), mover] - ended.totals[np.arange(len(played)), 1 - mover]
    worst = np.minimum.reduceat(margins, np.searchsorted(played, np.arange(len(rows))))
    best = np.maximum.reduceat(worst, np.searchsorted(rows, np.arange(400)))
    assert (worst[cards == chosen[rows]] == best).all()
