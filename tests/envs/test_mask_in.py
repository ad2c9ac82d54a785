"""``mask_in`` of the Gymnasium environments: the mask in the info or in the observation."""

from collections.abc import Callable
from functools import partial
from itertools import cycle, product
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from quincunx_env import SolitaireEnv, SolitaireVectorEnv, VsOpponentsEnv, VsOpponentsVectorEnv, quincunx_v0
from tests.variants import same

SEED = 5
STEPS = 25
ROWS = 3

Make = Callable[..., Any]
SINGLE: dict[str, Make] = {"solitaire": SolitaireEnv, "players": partial(VsOpponentsEnv, opponents="greedy")}
VECTOR: dict[str, Make] = {
    "solitaire": partial(SolitaireVectorEnv, ROWS),
    "players": partial(VsOpponentsVectorEnv, ROWS, opponents="greedy"),
}
LAYOUTS = [
    {"observation": observation, "actions": actions}
    for observation, actions in product(("pieces", "vector"), ("joint", "hand"))
]


def compare(shown: Any, default: Any) -> None:
    """An observation, or a final one, has the entries of the default one, and the mask of its info if it should."""
    (observation, info), (plain, plain_info) = shown, default
    mask = plain_info["action_mask"]
    assert isinstance(observation, dict)
    found = dict(observation)
    same(found.pop("action_mask"), mask)
    same(found, plain if isinstance(plain, dict) else {"observation": plain})
    assert not {"action_mask", "_action_mask"} & info.keys()
    rest = {"action_mask", "_action_mask", "final_obs", "final_info"}
    found, expected = ({name: each[name] for name in each if name not in rest} for each in (info, plain_info))
    same(found, expected)


def compare_outputs(env: Any, shown: tuple[Any, ...], expected: tuple[Any, ...]) -> None:
    """Compare what ``reset`` or ``step`` returned with what they return without the option."""
    compare((shown[0], shown[-1]), (expected[0], expected[-1]))
    assert env.observation_space.contains(shown[0])
    same(shown[1:-1], expected[1:-1])


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@pytest.mark.parametrize("make", SINGLE.values(), ids=SINGLE)
def test_one_game_shows_its_mask_where_it_is_asked_for(make: Make, layout: dict[str, Any]) -> None:
    """At every step, the last included; all else is as without the option, and in the space."""
    env, plain = make(mask_in="obs", **layout), make(**layout)
    shown, expected = env.reset(seed=SEED), plain.reset(seed=SEED)
    ended = 0
    for _ in range(STEPS):
        compare_outputs(env, shown, expected)
        if len(shown) == 5 and shown[2]:
            ended += 1
            shown, expected = env.reset(), plain.reset()
        else:
            action = expected[-1]["action_mask"].argmax()
            shown, expected = env.step(action), plain.step(action)
    assert ended


@pytest.mark.parametrize(("layout", "mode"), [*zip([*LAYOUTS, {"copy": False}], cycle(AutoresetMode))], ids=str)
@pytest.mark.parametrize("make", VECTOR.values(), ids=VECTOR)
def test_many_games_show_their_masks_where_they_are_asked_for(
    make: Make, layout: dict[str, Any], mode: AutoresetMode
) -> None:
    """In every autoreset mode; rows that are over and final observations have the mask that the info has."""
    env, plain = (make(autoreset_mode=mode, **layout, **more) for more in ({"mask_in": "obs"}, {}))
    shown, expected = env.reset(seed=SEED), plain.reset(seed=SEED)
    ended = 0
    for _ in range(STEPS):
        compare_outputs(env, shown, expected)
        over = expected[2] if len(expected) == 5 else np.zeros(ROWS, np.bool_)
        ended += over.sum()
        if mode == AutoresetMode.SAME_STEP and over.any():
            infos = shown[-1], expected[-1]
            for row in np.flatnonzero(over):
                finals = [
                    (info["final_obs"][row], {name: values[row] for name, values in info["final_info"].items()})
                    for info in infos
                ]
                compare(*finals)
                assert env.single_observation_space.contains(finals[0][0])
        if mode == AutoresetMode.DISABLED and over.any():
            shown, expected = (each.reset(options={"reset_mask": over}) for each in (env, plain))
        else:
            actions = plain.action_masks().argmax(axis=1)
            shown, expected = env.step(actions), plain.step(actions)
    assert ended
    compare(env.set_state(plain.get_state()), plain.set_state(plain.get_state()))


@pytest.mark.parametrize("mask_in", ["info", "obs"])
def test_dictionaries_come_out_in_the_order_of_their_space(mask_in: str) -> None:
    """Every environment joins their values in one order, as Gymnasium's flattening does."""
    name, options = "Quincunx/Solitaire-v0", dict[str, Any](mask_in=mask_in)
    native, sync = (
        gymnasium.make_vec(name, num_envs=2, vectorization_mode=mode, **options)
        for mode in ("vector_entry_point", "sync")
    )
    shown: list[Any] = []
    envs: list[Any] = [native, sync, SolitaireEnv(**options), VsOpponentsEnv(**options)]
    for env in envs:
        observation, _ = env.reset(seed=SEED)
        space: Any = (
            env.single_observation_space if env is sync else env.observation_space
        )  # Gymnasium 1.3 sorts the batch
        assert list(space) == list(observation)
        shown.append(observation)
    joined = [np.concatenate([*each.values()], axis=1) for each in shown[:2]]
    same(joined[0], joined[1])
    agents: Any = quincunx_v0.raw_env()
    agents.reset()
    assert list(agents.observation_space("player_0")) == list(agents.observe("player_0"))
