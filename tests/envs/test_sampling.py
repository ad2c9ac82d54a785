"""`sample_action` and `sampling_mask`: masks in the form that Gymnasium's spaces take."""

from typing import Any

import gymnasium
import numpy as np
import pytest

from quincunx_env import sample_action, sampling_mask

SEED = 3
IDS = {"Quincunx/Solitaire-v0": {}, "Quincunx/VsOpponents-v0": {"opponents": "uniform", "start": "open"}}


@pytest.mark.parametrize(("name", "options"), IDS.items(), ids=IDS)
@pytest.mark.parametrize("actions", ["joint", "hand"])
def test_sampled_actions_are_legal(name: str, options: dict[str, Any], actions: str) -> None:
    """In one game and in many; the masks may be int8 or bool, and the space's seed repeats the actions."""
    env = gymnasium.make(name, actions=actions, **options)
    played: list[list[Any]] = [[], []]
    for run in played:
        _, info = env.reset(seed=SEED)
        env.action_space.seed(SEED)
        over = False
        while not over:
            run.append(sample_action(env.action_space, info["action_mask"]).tolist())
            _, _, over, _, info = env.step(run[-1])  # refuses an illegal action
    assert played[0] == played[1]
    envs = gymnasium.make_vec(name, num_envs=3, actions=actions, **options)
    envs.reset(seed=SEED)
    for step in range(30):
        mask = envs.unwrapped.action_masks()  # type: ignore[attr-defined]
        sampled = sample_action(envs.action_space, mask if step % 2 else mask.astype(np.int8))
        assert envs.action_space.contains(sampled)
        envs.step(sampled)


def test_masks_have_the_form_of_the_space() -> None:
    """An int8 array; for many games a tuple of them."""
    env = gymnasium.make_vec("Quincunx/Solitaire-v0", num_envs=2)
    _, info = env.reset(seed=SEED)
    one = sampling_mask(env.unwrapped.single_action_space, info["action_mask"][1])
    many = sampling_mask(env.action_space, info["action_mask"])
    assert isinstance(many, tuple)
    assert len(many) == 2
    assert (one.shape, one.dtype) == ((576,), np.int8)
    assert one.tolist() == many[1].tolist() == info["action_mask"][1].tolist()


def test_other_masks_are_refused() -> None:
    """Of another length, another number of rows, or for another kind of space; Gymnasium would fail on an assertion."""
    env = gymnasium.make_vec("Quincunx/Solitaire-v0", num_envs=2)
    mask = env.reset(seed=SEED)[1]["action_mask"]
    single = env.unwrapped.single_action_space
    for space, wrong in [
        (single, mask),
        (single, mask[0, 1:]),
        (single, np.array(1)),
        (env.action_space, mask[:1]),
        (env.action_space, mask[:, 1:]),
        (env.action_space, mask[0]),
    ]:
        with pytest.raises(ValueError, match="a mask of shape"):
            sample_action(space, wrong)
    with pytest.raises(ValueError, match="the action space of an environment"):
        sampling_mask(env.observation_space, mask)
