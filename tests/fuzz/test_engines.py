"""Snapshots and positions of batches: what is accepted can be played to the end; a refusal changes nothing."""

from typing import Any

import numpy as np
from hypothesis import strategies as st

from quincunx_env.core.rules import BaseRules
from quincunx_env.registry import spec_of
from tests.fuzz.games import RULES, by_rules
from tests.fuzz.harness import Fuzz
from tests.fuzz.inputs import snapshots
from tests.variants import legal_actions, same


def batch_of(rules: BaseRules, plies: int, num_games: int = 4) -> Any:
    """Games after some actions."""
    batch = spec_of(rules).Batch(rules, num_games)
    batch.reset(seed=3)
    rng = np.random.default_rng(plies)
    for _ in range(plies):
        batch.step(legal_actions(batch, rng))
    return batch


@by_rules
def test_batch_state(rules: BaseRules, fuzz: Fuzz) -> None:
    starts = [batch_of(rules, plies) for plies in (0, 5, 200)]
    others = [batch_of(other, 3).get_state() for other in RULES.values()]
    others += [batch_of(rules, 3, games).get_state() for games in (1, 5)]

    def check(data: st.DataObject) -> None:
        start = data.draw(st.sampled_from(starts))
        batch, before = start.fork(range(4)), start.get_state()
        state = data.draw(snapshots(data.draw(st.sampled_from(starts)).get_state(), others))
        _, error = fuzz.attempt(lambda: batch.set_state(state))
        if error:
            same(batch.get_state(), before)
            return
        after = batch.get_state()
        same(after, {name: np.asarray(state[name], array.dtype) for name, array in after.items()})
        fuzz.attempt(lambda: _step_on(batch, 60))  # `tests.fuzz.test_snapshots` asks for an end
        batch.reset(rows=range(4))

    fuzz(check, 30)


def _step_on(batch: Any, steps: int) -> None:
    """Legal actions; where play cannot lead to a position, there may be none."""
    rng = np.random.default_rng(0)
    for _ in range(steps):
        batch.step(legal_actions(batch, rng))


@by_rules
def test_positions(rules: BaseRules, fuzz: Fuzz) -> None:
    """Given positions: of a game, with entries lost or changed."""
    batch = spec_of(rules).Batch(rules, 4)
    batch.reset(seed=3)
    rng = np.random.default_rng(0)
    for _ in range(3):
        batch.step(legal_actions(batch, rng))
    names = ("decks", "board", "hands", "ply", "scores", "totals", "mover", "round")
    valid = {name: array for name, array in batch.get_state().items() if name in names}

    def check(data: st.DataObject) -> None:
        other, before = batch.fork(range(4)), batch.get_state()
        state = data.draw(st.just(valid) | snapshots(valid).filter(lambda each: isinstance(each, dict)))
        if not all(isinstance(name, str) for name in state):
            return
        _, error = fuzz.attempt(lambda: other.set_position(**state), *([] if set(state) <= set(names) else [TypeError]))
        if error:
            same(other.get_state(), before)
            return
        fuzz.attempt(lambda: _step_on(other, 30))
        other.reset(rows=range(4))

    fuzz(check, 10)
