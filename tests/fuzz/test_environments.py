"""Environments: what they accept they treat as the numbers it stands for; a refusal leaves the state unchanged."""

import functools
from copy import deepcopy
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from quincunx_env.registry import spec_of
from tests.envs.drivers import DRIVERS, Agents, Batched, Driver, Single, Stable, Vector, drive, plain
from tests.fuzz.games import RULES
from tests.fuzz.harness import Fuzz
from tests.fuzz.inputs import arrays, as_integer, junk, numbers, snapshots, texts
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


def actions_of(driver: Driver) -> st.SearchStrategy[Any]:
    """Legal actions of the present state, and others."""
    masks = [np.asarray(mask) for mask in driver.raw_masks()]
    cards = driver.sizes[0] if driver.factored else 0
    parts = [[mask[:cards], mask[cards:]] if driver.factored else [mask] for mask in masks]
    legal: list[Any] = [[int(np.append(np.flatnonzero(part), 0)[0]) for part in each] for each in parts]
    if not driver.factored:
        legal = [action for [action] in legal]
    if isinstance(driver, Agents | Single):
        several = arrays(legal[0]) if driver.factored else numbers([*map(int, np.flatnonzero(masks[0]))] or [0])
        return st.just(legal[0]) | several
    return st.just(legal) | arrays(legal)


@every_environment
def test_steps(name: str, fuzz: Fuzz) -> None:
    driver, states = started(name)

    def check(data: st.DataObject) -> None:
        start = data.draw(st.sampled_from(states))
        driver.env.set_state(start)
        before, action = driver.state(), data.draw(actions_of(driver))
        _, error = fuzz.attempt(lambda: driver.env.step(action))
        after = driver.state()
        if error:
            same(after, before)
        elif action is not None:
            driver.env.set_state(start)
            single = isinstance(driver, Agents | Single) and not driver.factored
            driver.env.step(as_integer(action) if single else np.array(action, np.int64))
            same(after, driver.state())

    fuzz(check, 8)


@every_environment
def test_resets(name: str, fuzz: Fuzz) -> None:
    driver, states = started(name)
    if isinstance(driver, Stable):
        return
    rules, rows = driver.rules_of(5, 0), driver.rows
    right = spec_of(rules).Game.from_seed(rules, 5).deals
    wrong = [spec_of(other).Game.from_seed(other, 1).deals for other in RULES.values()]

    def check(data: st.DataObject) -> None:
        start = data.draw(st.sampled_from(states))
        driver.env.set_state(start)
        before = driver.state()
        deal = data.draw(
            st.sampled_from([right, right[0], [*right], str(right[0]), *wrong, [*map(str, right)]])
            | texts(str(right[0]))
            | junk()
        )
        mask = data.draw(arrays([True, False, True][:rows]) | st.just(np.array([True, False, True])[:rows]))
        options: Any = data.draw(
            st.sampled_from([None, {}, {"deal": deal}, {"deal": [deal] * rows}, {"dael": deal}, {"reset_mask": mask}])
            | st.sampled_from([{"deal": [deal], "reset_mask": mask}, {1: 2}, [("deal", deal)]])
            | st.sampled_from([{"rules": rules}, {"rules": [rules] * rows, "deal": [right] * rows}, {"rules": deal}])
            | junk()
        )
        seed = data.draw(st.none() | numbers([3, 2**63 - 1]) | arrays([3, 4, 5][:rows]))
        if isinstance(driver, Batched):
            options = data.draw(st.none() | arrays([0, 2])), data.draw(st.sampled_from([None, [deal] * rows, deal]))
            _, error = fuzz.attempt(lambda: driver.env.reset(seed, *options))
        else:
            _, error = fuzz.attempt(lambda: driver.env.reset(seed=seed, options=options))
        if error:
            same(driver.state(), before)
            return
        again = driver.state()
        if isinstance(driver, Vector | Batched) and seed is not None and as_integer(seed) is None:
            seed = [as_integer(each) for each in seed]
        driver.env.set_state(start)
        seed = as_integer(seed) if as_integer(seed) is not None else seed
        if isinstance(driver, Batched):
            driver.env.reset(seed, *options)
        else:
            driver.env.reset(seed=seed, options=options)
        same(again, driver.state())
        driver.walk(3)

    fuzz(check, 8)


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
        for name in after.keys() & {"version", "np_random"}:  # in which True is 1
            assert after[name] == given.pop(name)
            after.pop(name)
        same(after, given)
        driver.walk(20)

    fuzz(check, 8)
