"""A step without a game says which reset it needs."""

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded

from quincunx_env.envs.batched import BatchedGames


@pytest.mark.parametrize("autoreset", [True, False])
@pytest.mark.parametrize("game", ["quincunx", "spiral"])
def test_batched_games_need_a_reset_before_the_first_step(game: str, autoreset: bool) -> None:
    games = BatchedGames(2, game, autoreset=autoreset)
    with pytest.raises(ResetNeeded, match="call reset"):
        games.step(np.zeros(2, np.int64))
    with pytest.raises(ResetNeeded, match="call reset"):
        games.fork([0]).step([0])
    position = games.reset(seed=0, rows=[1])
    assert games.step(position.mask.argmax(axis=1)).position.mask[1].any(), "one row is enough"


def test_one_game_against_opponents_asks_for_a_plain_reset() -> None:
    env = gymnasium.make("Quincunx/VsOpponents-v0", game="spiral", deals=1).unwrapped
    for when in ("before the first reset", "after the end"):
        if when == "after the end":
            env.reset(seed=0)
            while not env.step(env.action_masks().argmax())[2]:  # type: ignore[attr-defined]
                pass
        with pytest.raises(ResetNeeded) as caught:
            env.step(0)
        assert "reset()" in str(caught.value)
        assert "reset_mask" not in str(caught.value)
