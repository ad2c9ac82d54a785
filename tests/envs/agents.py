"""Shared by the tests of the PettingZoo environments: options, play, and comparison of environments."""

import random
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest

from quincunx_env import quincunx_v0, spiral_v0
from tests.variants import new_game, random_action

SEED = 3_000

Options = dict[str, Any]
"""Of an environment of Quincunx, or of the game that ``"game"`` names."""

OPTIONS: list[Options] = [
    {},
    {"mask_in": "info", "reward": "points", "start": "open", "preview": True},
    {"num_players": 3, "reward": "outcome", "excuse": True, "actions": "hand"},
    {"num_players": 4, "match": True, "pawns": True, "flush": True},
    {"simpleton": True, "match": True, "reward": "points", "mask_in": "info"},
    {"num_players": 3, "start": "open", "simpleton": True, "flush": True, "illegal": "next"},
    {
        **{"num_players": 4, "start": "open", "match": True, "simpleton": True, "mask_in": "info"},
        **{"excuse": True, "pawns": True, "flush": True, "reward": "outcome"},
    },
]
"""Options that between them cover every one of them."""

SPIRAL_OPTIONS: list[Options] = [
    {"game": "spiral"},
    {"game": "spiral", "scoring": "end", "fifteens": True, "deals": 4, "preview": True},
    {"game": "spiral", "fifteens": True, "deals": 1, "mask_in": "info", "reward": "outcome", "actions": "hand"},
]
EVERY_GAME_OPTIONS = OPTIONS + SPIRAL_OPTIONS


def name(options: Options) -> str:
    """A short name for a test's id."""
    words = [option if value is True else str(value) for option, value in options.items() if value is not False]
    return "-".join(words) or "default"


def each(options: list[Options]) -> pytest.MarkDecorator:
    """Run a test with each of these options."""
    return pytest.mark.parametrize("options", options, ids=name)


def act(env: Any, rng: random.Random) -> None:
    """One step: a legal action, None for an agent that has terminated, a reset when all agents have left."""
    if not env.agents:
        env.reset()
    elif env.terminations[env.agent_selection]:
        env.step(None)
    else:
        env.step(number(env, random_action(env.unwrapped.game, rng)))


def number(env: Any, action: int) -> int:
    """The environment's number of one of the engine's actions, whose card has a place."""
    codec, game = env.unwrapped.codec, env.unwrapped.game
    if not codec.by_place:
        return action
    return next(each for each in range(codec.num_actions) if codec.numbering.joint_action(game, each) == action)


def new(options: Options, maker: str = "raw_env") -> Any:
    """An environment, by a function of the game's module."""
    module = spiral_v0 if options.get("game") == "spiral" else quincunx_v0
    own = {option: value for option, value in options.items() if option != "game"}
    return getattr(module, maker)(**own)


def make(options: Options, steps: int = 0, wrapped: bool = False, seed: int = SEED) -> Any:
    """An environment after some steps of its first game."""
    env = new(options, "env" if wrapped else "raw_env")
    env.reset(seed=seed)
    rng = random.Random(int(seed))
    for _ in range(steps):
        act(env, rng)
    return env


def length(options: Options) -> int:
    """The steps that `make` needs to the end of the game, those of terminated agents not counted."""
    env, rng, steps = make(options), random.Random(SEED), 0
    while not env.game.over:
        act(env, rng)
        steps += 1
    return steps


def view(env: Any) -> dict[str, Any]:
    """Everything that an environment shows now."""
    shown = ("agents", "agent_selection", "rewards", "_cumulative_rewards", "terminations", "truncations", "infos")
    return {
        **{name: deepcopy(getattr(env, name)) for name in shown},
        "last": deepcopy(env.last()) if env.agents else None,
        "observations": {agent: env.observe(agent) for agent in env.possible_agents},
    }


def side_by_side(options: Options, seed: int = SEED) -> Iterator[tuple[Any, Any, list[int]]]:
    """An environment, the game that it should be playing, and what the last action gained each seat there."""
    env = make(options, seed=seed)
    game, rng = new_game(env.rules, seed), random.Random(seed)
    yield env, game, [0] * env.rules.num_players
    while not game.over:
        action = random_action(game, rng)
        gains = game.step(action)
        assert env.step(number(env, action)) is None
        yield env, game, gains
