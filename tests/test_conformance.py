"""One truth behind every door: the same deals and actions give the same observations, masks, rewards and ends.

A door is a function that plays a script and tells what it saw; to join, a new one needs a line in `DOORS`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from quincunx_env import quincunx_v0
from quincunx_env.envs.batched import BatchedGames
from quincunx_env.envs.solitaire import SolitaireEnv, SolitaireVectorEnv
from quincunx_env.quincunx.batch import Batch
from quincunx_env.quincunx.game import Game
from quincunx_env.quincunx.observation import Observer
from quincunx_env.quincunx.rules import Rules
from tests.variants import VARIANTS

SEED = 11
NEIGHBOURS = 3
"""Doors to many games play the script in the first row, and anything in as many others."""


@dataclass
class Moment:
    """What a door shows before a decision, and what the decision brings."""

    mover: int
    observation: npt.NDArray[np.int16]
    mask: npt.NDArray[np.bool_]
    gains: list[float]
    over: bool


Door = Callable[[Rules, list[int]], list[Moment]]


def options_of(rules: Rules) -> dict[str, Any]:
    """The rules as options of an environment."""
    names = ["excuse", "pawns", "flush"]
    names += ["edge_contact"] if rules.num_players == 1 else ["num_players", "start", "simpleton", "match"]
    return {name: getattr(rules, name) for name in names}


def others(mask: npt.NDArray[Any], first: int) -> npt.NDArray[np.int64]:
    """The script's action for the first row, the last legal one for its neighbours."""
    actions: npt.NDArray[np.int64] = mask.shape[1] - 1 - mask[:, ::-1].argmax(axis=1)
    actions[0] = first
    return actions


def plain_game(rules: Rules, script: list[int]) -> list[Moment]:
    game, observer = Game.from_seed(rules, SEED), Observer(rules, preview=True)
    moments = []
    for action in script:
        mover, seen, mask = (
            game.mover,
            observer.observe_flat(game, game.mover),
            Observer(game.rules).mask(game).view(np.bool_),
        )
        moments.append(Moment(mover, seen, mask, [float(gain) for gain in game.step(action)], game.over))
    return moments


def batch_engine(rules: Rules, script: list[int]) -> list[Moment]:
    batch, observer = Batch(rules, 1 + NEIGHBOURS), Observer(rules, preview=True)
    batch.reset(seed=SEED)
    moments = []
    for action in script:
        mover, mask = int(batch.mover[0]), batch.mask()
        seen = observer.flatten(observer.observe_batch(batch))[0]
        gains = batch.step(others(mask, action))[0].astype(float).tolist()
        moments.append(Moment(mover, seen, mask[0], gains, bool(batch.over[0])))
    return moments


def gymnasium_single(rules: Rules, script: list[int]) -> list[Moment]:
    env = SolitaireEnv(observation="flat", preview=True, **options_of(rules))
    seen, info = env.reset(seed=SEED)
    moments = []
    for action in script:
        before, mask = seen, info["action_mask"].view(np.bool_)
        seen, reward, over, _, info = env.step(action)
        moments.append(Moment(0, np.asarray(before), mask, [float(reward)], over))
    return unlost(moments, env.game)


def gymnasium_vector(rules: Rules, script: list[int]) -> list[Moment]:
    env = SolitaireVectorEnv(1 + NEIGHBOURS, observation="flat", preview=True, **options_of(rules))
    seen, info = env.reset(seed=SEED)
    moments = []
    for action in script:
        before, mask = np.asarray(seen)[0], info["action_mask"]
        seen, rewards, over, _, info = env.step(others(mask, action))
        moments.append(Moment(0, before, mask[0].view(np.bool_), [float(rewards[0])], bool(over[0])))
    return unlost(moments, env.batch.to_game(0))


def stable_baselines3(rules: Rules, script: list[int]) -> list[Moment]:
    pytest.importorskip("stable_baselines3")
    from quincunx_env.adapters.sb3 import SolitaireVecEnv

    env = SolitaireVecEnv(1 + NEIGHBOURS, observation="flat", preview=True, **options_of(rules))
    env.seed(SEED)
    seen = env.reset()
    moments = []
    for action in script:
        before, mask = np.asarray(seen)[0], env.env_method("action_masks")
        seen, rewards, over, infos = env.step(others(mask, action))
        moments.append(Moment(0, before, mask[0], [float(rewards[0])], bool(over[0])))
    return unlost(moments, None, infos[0])


def unlost(moments: list[Moment], game: Game | None, info: dict[str, Any] | None = None) -> list[Moment]:
    """Put the points of the last play of a lost round back, where the environment made up for all before it."""
    lost = game.lost if game else info is not None and info["lost"]
    if lost:
        score = game.totals[0] if game else info["score"]  # type: ignore[index]
        assert sum(moment.gains[0] for moment in moments) == 0, "a lost round is worth lost_value"
        moments[-1].gains = [score - sum(moment.gains[0] for moment in moments[:-1])]
    return moments


def pettingzoo_aec(rules: Rules, script: list[int]) -> list[Moment]:
    env = quincunx_v0.env(mask_in="both", reward="points", preview=True, **options_of(rules))
    env.reset(seed=SEED)
    moments = []
    for action in script:
        agent = env.agent_selection
        seen, _, _, _, info = env.last()
        assert (seen["action_mask"] == info["action_mask"]).all()
        env.step(action)
        gains = [env.rewards[player] for player in env.possible_agents]
        over = all(env.terminations.values())
        mover = env.possible_agents.index(agent)
        moments.append(Moment(mover, seen["observation"], seen["action_mask"].view(np.bool_), gains, over))
    return moments


def batched(rules: Rules, script: list[int]) -> list[Moment]:
    games = BatchedGames(1 + NEIGHBOURS, reward="points", preview=True, **options_of(rules))
    turn = games.reset(seed=SEED)
    moments = []
    for action in script:
        before = turn
        rewards, ended, _, turn = games.step(others(turn.mask, action))
        seen = np.asarray(before.observation)[0]
        moments.append(Moment(int(before.mover[0]), seen, before.mask[0], rewards[0].tolist(), bool(ended[0])))
    return moments


ALONE: list[Door] = [batch_engine, gymnasium_single, gymnasium_vector, stable_baselines3]
TOGETHER: list[Door] = [batch_engine, pettingzoo_aec, batched]
CASES = [
    pytest.param(rules, door, id=f"{name}-{door.__name__}")
    for name, rules in VARIANTS.items()
    for door in (ALONE if rules.num_players == 1 else TOGETHER)
]


def script_of(rules: Rules) -> list[int]:
    """Random legal actions from the first deal of the seed to the end; announcements near the truth."""
    game, rng = Game.from_seed(rules, SEED), np.random.default_rng(SEED)
    script: list[int] = []
    while not game.over:
        if game.pending:
            announced = game.value(*game.pending)[0] + int(rng.integers(-2, 3))
            script.append(rules.num_plays_encoded + announced + 64)
        else:
            script.append(int(rng.choice(np.flatnonzero(Observer(game.rules).mask(game)))))
        game.step(script[-1])
    return script


@pytest.mark.parametrize(("rules", "door"), CASES)
def test_every_door_tells_the_story_of_the_plain_game(rules: Rules, door: Door) -> None:
    script = script_of(rules)
    expected, found = plain_game(rules, script), door(rules, script)
    assert [moment.mover for moment in found] == [moment.mover for moment in expected]
    for own, other in zip(found, expected, strict=True):
        assert own.observation.dtype == other.observation.dtype
        assert own.observation.tobytes() == other.observation.tobytes()
        assert own.mask.dtype == np.bool_
        assert (own.mask == other.mask).all()
        assert own.gains == other.gains
    assert [moment.over for moment in found] == [moment.over for moment in expected]
    assert expected[-1].over
