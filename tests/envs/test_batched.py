"""Batched turn-based play: rewards, ends, automatic reset and forks, against plain games."""

from typing import Any

import numpy as np
import pytest

from quincunx_agents.uniform import uniform
from quincunx_env.envs.batched import BatchedGames, Position
from tests.envs.drivers import MULTIPLAYER
from tests.variants import same


def choose(position: Position, rng: np.random.Generator) -> Any:
    mask = position.mask.copy()
    mask[~mask.any(axis=1), 0] = True  # games that are over take any action
    return uniform({}, mask, rng)


@pytest.mark.parametrize("actions", ["joint", "hand"])
def test_the_codec_has_the_number_of_actions(actions: Any) -> None:
    """The observer has none: it would be the number of joint actions."""
    games = BatchedGames(2, actions=actions)
    assert games.reset(seed=0).mask.shape == (2, games.codec.num_actions)
    assert not hasattr(games.observer, "num_actions")


def test_without_automatic_reset_games_wait() -> None:
    games = BatchedGames(4, autoreset=False)
    games.step(games.reset(seed=0, rows=[2]).mask.argmax(axis=1))  # one row is enough
    position, rng = games.reset(seed=0), np.random.default_rng(0)
    for _ in range(20):
        step = games.step(choose(position, rng))
        position = step.position
    assert step.ended.all()
    assert not position.mask.any()
    again = games.step(choose(position, rng))
    assert not again.ended.any()
    assert not again.rewards.any()
    assert (again.totals == step.totals).all()
    assert games.reset(rows=[2]).mask.any(axis=1).tolist() == [False, False, True, False]


@pytest.mark.parametrize("options", MULTIPLAYER, ids=str)
def test_forks_are_copies_of_rows(options: dict[str, Any]) -> None:
    """The copies of a row lie side by side; steps of the original do not reach them."""
    games, rng = BatchedGames(5, **options), np.random.default_rng(1)
    position = games.reset(seed=9)
    for _ in range(7):
        position = games.step(choose(position, rng)).position
    before = games.position().observation
    fork = games.fork([3, 0], k=2)
    same(fork.position().observation, before[[3, 3, 0, 0]])  # type: ignore[index]
    actions = choose(position, rng)
    step = games.step(actions)
    same(fork.position().observation, before[[3, 3, 0, 0]])  # type: ignore[index]
    again = fork.step(actions[[3, 3, 0, 0]])
    same(again.rewards, step.rewards[[3, 3, 0, 0]])
    same(again.totals, step.totals[[3, 3, 0, 0]])
