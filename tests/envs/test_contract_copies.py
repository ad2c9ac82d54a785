"""The contract of every environment, part 2: copies, snapshots, and who owns what is returned."""

import json
import math
import operator
import pickle
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from quincunx_env.quincunx.rules import Rules
from tests.envs.drivers import (
    ROWS,
    SEED,
    Agents,
    Batched,
    Case,
    Driver,
    Many,
    SideBySide,
    Single,
    Stable,
    dealt,
    drive,
    every_environment,
    identified,
    seeded,
    takes_deals,
)
from tests.variants import same


def pickled(env: Any) -> Any:
    """Save and load."""
    return pickle.loads(pickle.dumps(env))


@every_environment()
def test_copies_continue_identically(case: Case) -> None:
    """By deepcopy and pickle, at the start, around the end and in later games; copies do not touch each other."""
    driver, taken = drive(case).started(), 0
    for number, moment in enumerate(driver.moments()):
        driver.walk(moment - taken, SEED)
        taken = moment
        twin = driver.with_env((deepcopy, pickled)[number % 2](driver.env))
        assert type(twin.env) is type(driver.env)
        expected = twin.play_on(5)
        same(driver.walk(5), expected[1:-1])
        driver.reset(1)
        same(twin.play_on(5), expected)
        if isinstance(driver.rules, Rules):
            assert twin.rules.grid is driver.rules.grid, "tables are kept for one grid of each size"
        driver = twin


@every_environment()
def test_snapshots_continue_identically(case: Case) -> None:
    """In the same environment and in a new one, again and again; what is played later does not reach them."""
    driver, elsewhere, taken = drive(case).started(), drive(case), 0
    for number, moment in enumerate(driver.moments()):
        driver.walk(moment - taken, SEED)
        taken = moment
        kept, state, expected = deepcopy(driver), driver.env.get_state(), driver.play_on(5)
        driver.walk(7, 2)
        driver.reset(SEED + 50)
        for other in (driver, elsewhere)[number % 2 :]:
            restored = other.env.set_state(state)
            check_restored(restored, kept)
            same(other.play_on(5), expected)
            other.walk(7, 2)
            other.reset(SEED + 50)
        driver = kept


def check_restored(restored: Any, driver: Driver) -> None:
    """`set_state` of many games returns what they show: observations, and with Gymnasium an info that has the masks."""
    if isinstance(driver, Single | Agents):
        assert restored is None
    elif isinstance(driver, Batched):
        same(restored, driver.env.position())
    elif isinstance(driver, Stable):
        same(restored, driver.shown[0] if isinstance(driver.shown, tuple) else driver.shown)
    else:
        same(restored[0], driver.shown[0])
        if "action_mask" in restored[1]:
            same(restored[1]["action_mask"], driver.shown[-1]["action_mask"])


@every_environment(takes_deals)
def test_snapshots_keep_that_deals_were_handed_in(case: Case) -> None:
    """The restored game ends as one with given deals, and the series continues after it."""
    driver = drive(case)
    driver.reset(SEED, seeded(driver, 5, 77))
    driver.walk(2)
    other = driver.new().started(1, 9)
    other.env.set_state(driver.env.get_state())
    assert dealt(other) == seeded(driver, 5, 77)
    assert identified(other) == [(-1, -1)] * driver.rows
    other.reset()
    assert dealt(other) == seeded(driver, 1)


def other_rules(case: Case) -> dict[str, Any]:
    """An option that changes the rules, but no shape."""
    game = case[1].__module__ + str(case[2].get("game"))
    if "rules" in case[2]:
        rules = case[2]["rules"]
        several = isinstance(rules, list)
        others = [replace(each, flush=not each.flush) for each in (rules if several else [rules])]
        return {"rules": others if several else others[0]}
    return {"fifteens": not case[2].get("fifteens", False)} if "spiral" in game else {"flush": "flush" not in case[2]}


@every_environment()
def test_snapshots_of_other_rules_are_refused(case: Case) -> None:
    """Although all shapes are the same. The error names both; nothing changes."""
    driver = drive(case).started(4)
    state = drive(case, **other_rules(case)).started(2).env.get_state()
    with driver.refused(ValueError, r"the snapshot is of \(?Rules"):
        driver.env.set_state(state)


DAMAGE: dict[str, Callable[[Any], None]] = {
    "no such seat": lambda game: setattr(game, "mover", 9),
    "a seat before the first": lambda game: setattr(game, "mover", -1),
    "a seat of another type": lambda game: setattr(game, "mover", 0.0),
    "too many plays": lambda game: setattr(game, "ply", game.rules.num_plays + 1),
    "a round without end": lambda game: setattr(game, "ply", game.rules.num_plays),
    "plays as text": lambda game: setattr(game, "ply", str(game.ply)),
    "no such round": lambda game: setattr(game, "round", 9),
    "an end that is no bool": lambda game: setattr(game, "over", 1),
    "half points": lambda game: setattr(game, "scores", [0.5] * len(game.scores)),
    "points of one seat more": lambda game: setattr(game, "totals", [0, *game.totals]),
    "no such card": lambda game: operator.setitem(game.board, int(np.argmin(game.board)), 100),
    "no hands": lambda game: setattr(game, "hands", [bytearray(60)] * len(game.hands)),
    "one hand": lambda game: setattr(game, "hands", "hand"),
    "no board": lambda game: setattr(game, "board", None),
    "no deals": lambda game: setattr(game, "deals", ()),
    "no rules": lambda game: setattr(game, "rules", None),
}
"""Changes of a game that make it impossible."""


def damaged(state: dict[str, Any]) -> Iterator[Any]:
    """Snapshots that no environment returns."""
    yield from ({}, None, [], "state", 3)
    for name in state:
        yield {other: value for other, value in state.items() if other != name}
        yield from (state | {name: wrong} for wrong in (object(), "state", 1j, [None], {"bit_generator": "PCG64"}))
    for change in DAMAGE.values():
        game = state["game"].copy()
        change(game)
        yield state | {"game": game}
    for deals in ({"seed": -2}, {"seed": "3"}, {"resets": 1.0}, {"given": 0}):
        yield state | {"deals": replace(state["deals"], **deals)}
    if "np_random" in state:
        words = state["np_random"]["state"]
        for wrong in ({"state": -1}, {"inc": "1"}, {"inc": None}):
            yield state | {"np_random": state["np_random"] | {"state": words | wrong}}
        yield state | {"np_random": np.random.MT19937(0).state}
        yield state | {"value": math.nan}
    if "policy_index" in state:
        seats = len(state["policy_index"])
        yield from (state | {"seat": wrong} for wrong in (-1, seats, True, (state["seat"] + 1) % seats))
        yield from (state | {"policy_index": wrong} for wrong in ([0], [9] * seats, [-2] * seats, [0.0] * seats))
        yield state | {"pending_reward": math.inf}
    if "agents" in state:
        yield from (state | {"agents": wrong} for wrong in ([], ["player_0"], ["player_1", "player_0"], ["player_9"]))
        yield from (state | {"agent_selection": wrong} for wrong in ("player_9", 0, None))
        yield from (
            state | {"rewards": wrong} for wrong in ({}, {"player_0": 0.0}, dict.fromkeys(state["agents"], "1"))
        )


@every_environment(lambda case: issubclass(case[0], Single | Agents))
def test_damaged_snapshots_are_refused(case: Case) -> None:
    """Without an entry, with values that no game has, or of another type; nothing changes."""
    driver = drive(case).started(4)
    state = drive(case).started(2).env.get_state()
    with driver.unchanged():
        for wrong in damaged(state):
            with pytest.raises(ValueError, match=r"snapshot|must be a finite number|missing|plays"):
                driver.env.set_state(wrong)


@every_environment(lambda case: not issubclass(case[0], Single | Agents))
def test_snapshots_of_other_shapes_are_refused(case: Case) -> None:
    """Of another number of games or another deck, without one of the entries, or none at all; nothing changes."""
    driver = drive(case).started(4)
    state = driver.env.get_state()
    missing = {name: array for name, array in state.items() if name not in ("hands", "0.hands")}
    version = "version" if "version" in state else "0.version"
    states: list[Any] = [{}, {version: state[version]}, missing, state | {version: np.array(99)}, None, [state]]
    count = "num_games" if issubclass(case[0], Batched) else "num_envs"
    states.append(drive(case, **{count: ROWS + 1}).env.get_state())
    if "flush" in other_rules(case):
        states.append(drive(case, excuse="excuse" not in case[2]).started().env.get_state())
    assert len(missing) < len(state)
    with driver.unchanged():
        for wrong in states:
            with pytest.raises(ValueError, match=r"snapshot|state"):
                driver.env.set_state(wrong)


PCG64: dict[str, Any] = {"bit_generator": "PCG64", "state": {"state": 1, "inc": 3}, "has_uint32": 0, "uinteger": 0}
NO_PCG64: list[dict[str, Any]] = [
    {"bit_generator": "MT19937"},
    {"state": {"state": -1}},
    {"uinteger": "x"},
    {"has_uint32": 1.5},
]
NO_GENERATORS = [b"", b"x", b"\xff", b"[]", b"{}", b"[" * 9999, *(json.dumps(PCG64 | bad).encode() for bad in NO_PCG64)]
WRONG_ENTRIES: dict[str, list[Any]] = {
    "board": [130, "AM", np.int8(60)],
    "mover": [9],
    "scores": [np.int64(30_000), 0.5],
    "over": ["x"],
    "value": [np.nan, "x", 3],
    "pending_reward": [np.inf, "x"],
    "seat": [-1, 4, "x"],
    "policy_index": [9, -2, "x"],
    "has_reset": [1, "x"],
    "generator": [
        *(np.frombuffer(text, np.uint8) for text in NO_GENERATORS),
        np.frombuffer(json.dumps(PCG64).encode(), np.uint8)[:, None],
        np.zeros(3),
        "x",
        3,
    ],
    "episode_steps": [-1, 0.5, "x"],
}
"""Arrays of snapshots, with values for their last entries, or instead of them."""


@every_environment(lambda case: issubclass(case[0], Many))
def test_snapshots_with_wrong_values_are_refused(case: Case) -> None:
    """Each of the arrays is checked before anything changes, the generator's state too; none may be missing.

    Of rules side by side it is the last one's.
    """
    driver = drive(case).started(4)
    state, other = driver.env.get_state(), driver.new().started(3, 50).env.get_state()
    prefix = f"{len(driver.rules) - 1}." if isinstance(driver, SideBySide) else ""
    last = {name.removeprefix(prefix): name for name in state}
    assert {*WRONG_ENTRIES} & {*last} >= {"board", "mover", "scores", "over"}
    with driver.unchanged():
        for entry in {*WRONG_ENTRIES} & {*last}:
            name = last[entry]
            for value in WRONG_ENTRIES[entry]:
                array = np.asarray(value)
                if array.dtype == state[name].dtype and not array.shape and state[name].shape:
                    array = state[name].copy()
                    array[-1] = value
                with pytest.raises(ValueError, match=r"state|snapshot"):
                    driver.env.set_state(other | {name: array})
            with pytest.raises(ValueError, match="state array"):
                driver.env.set_state({key: array for key, array in other.items() if key != name})


# --- What is returned ------------------------------------------------------------------------------------------------


def arrays_in(value: Any) -> Iterator[npt.NDArray[Any]]:
    """All arrays in what an environment returned."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, np.ndarray) and value.dtype != object:
        yield value
    elif isinstance(value, list | tuple | np.ndarray):
        for part in value:
            yield from arrays_in(part)


def returned(driver: Driver) -> Any:
    """What the last call returned, not copied; of a PettingZoo environment all observations and infos."""
    if not isinstance(driver, Agents):
        return driver.shown, driver.raw_masks()
    return [driver.env.observe(agent) for agent in driver.env.possible_agents], driver.env.infos


@every_environment(lambda case: case[2].get("copy", True))
def test_what_is_returned_belongs_to_the_caller(case: Case) -> None:
    """It keeps its content later, arrays share no memory with each other, and writing into them changes no game."""
    driver = drive(case).started()
    twin = deepcopy(driver)
    collected, copies, rng = [returned(driver)], [deepcopy(returned(driver))], np.random.default_rng(0)
    for _ in range(13):
        driver.advance(rng)
        collected.append(returned(driver))
        copies.append(deepcopy(collected[-1]))
    same(collected, copies)
    every = list(arrays_in(collected))
    assert len(every) >= 14
    every.sort(key=lambda array: array.__array_interface__["data"][0])
    for one, other in pairwise(every):
        assert not np.shares_memory(one, other)
    for array in every:
        array[...] = 1
    driver.walk(1)
    twin.walk(13)
    twin.walk(1)
    same(driver.play_on(), twin.play_on())
