"""Snapshots of environments: what is accepted becomes the state and can be played; a refusal changes nothing."""

import functools
from copy import deepcopy
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from tests.envs.drivers import DRIVERS, Driver, drive, plain
from tests.fuzz.harness import Fuzz
from tests.fuzz.inputs import snapshots
from tests.variants import same

every_environment = pytest.mark.parametrize("name", DRIVERS)


def only(state: Any, like: Any) -> Any:
    """The entries of a state that another one has, lists as arrays where that has arrays."""
    if isinstance(like, dict):
        return {name: only(state[name], entry) for name, entry in like.items()}
    return np.asarray(state) if isinstance(like, np.ndarray) else state


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


@every_environment
def test_states(name: str, fuzz: Fuzz) -> None:
    driver, states = started(name)
    other_names = ["SolitaireEnv-default", "SolitaireVectorEnv-default", "BatchedGames-default", "spiral_v0.env"]
    others = [state for other in DRIVERS if other in other_names for state in started(other)[1][:2]]

    def check(data: st.DataObject) -> None:
        driver.env.set_state(data.draw(st.sampled_from(states)))
        before = driver.state()
        state = data.draw(snapshots(data.draw(st.sampled_from(states)), others))
        _, error = fuzz.attempt(lambda: driver.env.set_state(state))
        if error:
            same(driver.state(), before)
            return
        after = driver.state()
        given = only(plain(state), after)
        for name in [each for each in after if each.endswith(("version", "np_random"))]:  # in which True is 1
            assert after[name] == given.pop(name)
            after.pop(name)
        same(after, given)
        fuzz.attempt(lambda: driver.walk(20), RuntimeError)

    fuzz(check, 8)
