"""Snapshots with other values: refused, or play ends within a bounded number of steps, or stops with an error."""

import functools
from copy import deepcopy
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from quincunx_env.core.batch_state import StateArray, state_arrays
from quincunx_env.core.rules import BaseRules
from quincunx_env.registry import make_observer, spec_of
from tests.envs.drivers import DRIVERS, Driver, SideBySide, drive
from tests.fuzz.games import by_rules
from tests.fuzz.harness import Fuzz
from tests.fuzz.inputs import snapshots
from tests.variants import in_the_middle, legal_actions, same


def arrays_of(rules: BaseRules) -> dict[str, StateArray]:
    """The arrays of a snapshot under these rules, as they are declared."""
    return {name: array for name, array in state_arrays(spec_of(rules).Batch).items() if not array.derived}


def most_actions(rules: BaseRules) -> int:
    """More actions than any game has, also from a position that play cannot lead to."""
    return 3 * rules.num_rounds * rules.num_cells * len(rules.decisions)


def replace_some(values: Any, limits: tuple[Any, Any], rng: np.random.Generator) -> None:
    """Set some entries of an array [B, ...] to values between its limits; once in a while to one beyond them."""
    low, high = (np.broadcast_to(limit, values.shape) for limit in limits)
    for index in np.argwhere(rng.random(values.shape) < rng.choice([0.05, 0.5, 1])):
        at, beyond = tuple(index.tolist()), bool(rng.random() < 0.002)
        if values.dtype == np.uint64:
            bits = rng.integers(2**64, size=2, dtype=np.uint64)
            values[at] = bits[0] & bits[1] & np.uint64(2**64 - 1 if beyond else int(high[at]))
        else:
            value = int(rng.integers(int(low[at]), int(high[at]), endpoint=True))
            values[at] = np.array(value + beyond * int(rng.choice([-1, 1, 100]))).astype(values.dtype)


@by_rules
def test_batches(rules: BaseRules, fuzz: Fuzz) -> None:
    """Also what the seats to move observe, with the preview, and the copies in plain Python."""
    starts = [in_the_middle(rules, 4, plies).get_state() for plies in (0, 3, 9, 200)]
    arrays, observer, batch = arrays_of(rules), make_observer(rules, preview=True), in_the_middle(rules, 4, 5)
    before = batch.get_state()

    def check(data: st.DataObject) -> None:
        rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
        state = deepcopy(starts[rng.integers(len(starts))])
        for name in rng.choice([*arrays], rng.integers(1, 5), replace=False).tolist():
            replace_some(state[name], arrays[name].limits(rules), rng)
        batch.set_state(before)
        _, error = fuzz.attempt(lambda: batch.set_state(state))
        if error:
            same(batch.get_state(), before)
            return
        for _ in range(most_actions(rules)):
            observer.observe_batch(batch)
            fuzz.attempt(lambda: [batch.to_game(row) for row in range(4)])
            _, error = fuzz.attempt(lambda: batch.step(legal_actions(batch, rng)))
            if error or batch.over.all():
                break
        else:
            raise AssertionError("the games do not end")
        batch.reset()

    fuzz(check, 40)


def _step_on(batch: Any, steps: int) -> None:
    """Legal actions; where play cannot lead to a position, there may be none."""
    rng = np.random.default_rng(0)
    for _ in range(steps):
        batch.step(legal_actions(batch, rng))


@by_rules
def test_positions(rules: BaseRules, fuzz: Fuzz) -> None:
    """Given positions: of a game, with entries lost or changed."""
    batch = in_the_middle(rules, num_games=4, steps=3)
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


@functools.cache
def started(name: str) -> tuple[Driver, list[Any]]:
    """An environment, and snapshots of it: at the beginning, in the middle and around the end of its first game."""
    driver = drive(DRIVERS[name]).started()
    moments = driver.moments()
    twin, states = deepcopy(driver), []
    rng = np.random.default_rng(0)
    for step in range(moments[-1] + 1):
        if step in moments:
            states.append(twin.env.get_state())
        twin.advance(rng)
    return driver, states


@pytest.mark.parametrize("name", DRIVERS)
def test_environments(name: str, fuzz: Fuzz) -> None:
    """An opponent that has no card to play is at fault. Of rules side by side it is the first ones' games."""
    driver, states = started(name)
    rules, prefix = driver.rules_of(0), "0." if isinstance(driver, SideBySide) else ""
    limits = {name: array.limits(rules) for name, array in arrays_of(rules).items()}
    limits |= {"seat": (0, 1), "policy_index": (-1, 0)}  # where policies play the other seats

    def check(data: st.DataObject) -> None:
        rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
        driver.env.set_state(states[0])
        before, state = driver.state(), deepcopy(states[rng.integers(len(states))])
        game = None if isinstance(state[f"{prefix}game"], np.ndarray) else state["game"]
        held = [name for name in limits if getattr(game, name, None) is not None]
        names = held if game else [name for name in limits if prefix + name in state]
        for name in rng.choice(names, rng.integers(1, 4), replace=False).tolist():
            if game is None:
                replace_some(state[prefix + name], limits[name], rng)
            else:
                replace_some_of_game(game, name, limits[name], rng)
        _, error = fuzz.attempt(lambda: driver.env.set_state(state))
        if error:
            same(driver.state(), before)
            return
        for _ in range(40):
            if game is not None and any(map(is_stuck, driver.games())):
                break
            if fuzz.attempt(lambda: driver.advance(rng), RuntimeError).error:
                break
        driver.reset(3)

    fuzz(check, 3)


def is_stuck(game: Any) -> bool:
    """Whether nothing can be laid in a position that play cannot lead to."""
    cells = getattr(game, "legal_cells", lambda: True)()
    return not (game.over or game.decision == "announce" or (game.legal_cards() and cells))


def replace_some_of_game(game: Any, name: str, limits: tuple[Any, Any], rng: np.random.Generator) -> None:
    """Do `replace_some` with an attribute of a game in plain Python."""
    old = getattr(game, name)
    values = np.array(old)
    if name == "hands":
        limits = 0, 1
    replace_some(values[None], limits, rng)
    new = values.tolist()
    if name == "hands":
        new = [bytearray(hand.tobytes()) for hand in values]
    elif name in ("board", "order"):
        new = type(old)("b", values.tolist())
    setattr(game, name, type(old)(*new) if name == "pending" else new)
