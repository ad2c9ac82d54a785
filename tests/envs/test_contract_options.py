"""The contract of every environment, part 4: options, and calls out of order."""

import re
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode

from quincunx_agents.greedy import greedy
from quincunx_env import (
    BatchedGames,
    IllegalAction,
    SolitaireEnv,
    SolitaireVectorEnv,
    VsOpponentsEnv,
    VsOpponentsVectorEnv,
    quincunx_v0,
    spiral_v0,
)
from tests.envs.drivers import SEED, Agents, Batched, Case, Options, Single, Stable, Vector, drive, every_environment
from tests.variants import same

# --- Options ---------------------------------------------------------------------------------------------------------


def vs_opponents(**options: Any) -> VsOpponentsEnv:
    """`VsOpponentsEnv` against greedy, unless the options have opponents."""
    return VsOpponentsEnv(**{"opponents": greedy} | options)


def vs_opponents_vector(**options: Any) -> VsOpponentsVectorEnv:
    """`VsOpponentsVectorEnv`, likewise."""
    return VsOpponentsVectorEnv(**{"opponents": greedy} | options)


def batched_games(**options: Any) -> BatchedGames:
    """Two games of `BatchedGames`, unless the options have another number."""
    return BatchedGames(**{"num_games": 2} | options)


Make = Callable[..., Any]

SOLITAIRE: list[Make] = [SolitaireEnv, SolitaireVectorEnv]
QUINCUNX_AGENTS: list[Make] = [quincunx_v0.raw_env, quincunx_v0.env]
SPIRAL_AGENTS: list[Make] = [spiral_v0.raw_env, spiral_v0.env]
AGENTS = QUINCUNX_AGENTS + SPIRAL_AGENTS
VS_OPPONENTS: list[Make] = [vs_opponents, vs_opponents_vector]
QUINCUNX = QUINCUNX_AGENTS + VS_OPPONENTS + [batched_games]
MULTIPLAYER = QUINCUNX + SPIRAL_AGENTS
EVERY = MULTIPLAYER + SOLITAIRE
GYMNASIUM = SOLITAIRE + VS_OPPONENTS
VECTOR: list[Make] = [SolitaireVectorEnv, vs_opponents_vector]
WINDOWED: list[Make] = [*AGENTS, SolitaireEnv, vs_opponents]

WRONG: list[tuple[list[Make], Options, str]] = [
    (QUINCUNX, {"num_players": 1}, "num_players must be one of 2, 3, 4, got 1"),
    (QUINCUNX, {"num_players": 5}, "num_players must be one of 2, 3, 4, got 5"),
    (QUINCUNX, {"num_players": "2"}, "num_players must be one of 2, 3, 4, got '2'"),
    (QUINCUNX, {"num_players": 2.0}, "2, 3 or 4, got 2.0"),
    (QUINCUNX, {"start": "middle"}, "start must be 'corners' or 'open', got 'middle'"),
    (QUINCUNX, {"simpleton": 0.0}, "simpleton must be True or False, got 0.0"),
    (QUINCUNX, {"match": 2}, "match must be True or False, got 2"),
    (QUINCUNX + SOLITAIRE, {"excuse": 1}, "excuse must be True or False, got 1"),
    (QUINCUNX + SOLITAIRE, {"pawns": "yes"}, "pawns must be True or False, got 'yes'"),
    (QUINCUNX + SOLITAIRE, {"flush": None}, "flush must be True or False, got None"),
    ([*VS_OPPONENTS, batched_games], {"edge_contact": True}, "edge_contact=True is an option of the solitaire"),
    (SOLITAIRE, {"edge_contact": 1}, "edge_contact must be True or False, got 1"),
    (MULTIPLAYER, {"reward": "score"}, "reward must be one of 'points', 'margin', 'outcome', got 'score'"),
    (AGENTS, {"mask_in": "infos"}, "mask_in must be one of 'obs', 'info', 'both', got 'infos'"),
    (AGENTS, {"mask_in": None}, "mask_in must be one of 'obs', 'info', 'both', got None"),
    (AGENTS + GYMNASIUM, {"illegal": "ignore"}, "illegal must be one of 'raise', 'lose', got 'ignore'"),
    (EVERY, {"preview": 2}, "preview must be one of False, True, got 2"),
    (EVERY, {"padded": "yes"}, "padded must be one of False, True, got 'yes'"),
    (
        [*GYMNASIUM, batched_games],
        {"observation": "image"},
        "observation must be one of 'pieces', 'flat', got 'image'",
    ),
    (GYMNASIUM, {"actions": "both"}, "actions must be one of 'joint', 'factored', got 'both'"),
    (VS_OPPONENTS, {"actions": "factored", "simpleton": True}, "actions='factored' has no announcements"),
    (WINDOWED, {"render_mode": "rgb"}, "render_mode must be one of None, 'ansi', 'rgb_array', 'human', got 'rgb'"),
    (VECTOR, {"render_mode": "human"}, "render_mode must be one of None, 'ansi', 'rgb_array', got 'human'"),
    (VECTOR, {"num_envs": 0}, "at least 1, got 0"),
    ([batched_games], {"num_games": 0}, "at least 1, got 0"),
    (VECTOR, {"autoreset_mode": "Sometimes"}, "'Sometimes' is not a valid AutoresetMode"),
    ([SolitaireVectorEnv], {"max_episode_steps": 5}, "max_episode_steps must be None"),
    (VS_OPPONENTS, {"opponents": None}, "either opponents or pool must be given"),
    (VS_OPPONENTS, {"pool": ["greedy"]}, "either opponents or pool must be given, and not both"),
    (VS_OPPONENTS, {"opponents": None, "pool": []}, "pool must hold at least one policy"),
    (VS_OPPONENTS, {"opponents": ["greedy"], "num_players": 3}, "2 opponents are needed, got 1"),
    (VS_OPPONENTS, {"opponents": "missing-v0"}, "unknown policy 'missing-v0'"),
    (VS_OPPONENTS, {"seat": 2}, "seat must be one of 'rotate', 0, 1, got 2"),
    (VS_OPPONENTS, {"seat": True}, "seat must be one of 'rotate', 0, 1, got True"),
    (EVERY, {"preview": 1}, "preview must be one of False, True, got 1"),
    (EVERY, {"padded": [True]}, "padded must be one of False, True, got [True]"),
]
"""Environments, options, and what the error says."""


@pytest.mark.parametrize(
    ("make", "options", "match"),
    [
        pytest.param(make, options, match, id=f"{make.__module__.split('.')[-1]}.{make.__name__}-{options}")
        for several, options, match in WRONG
        for make in several
    ],
)
def test_wrong_options_are_named(make: Make, options: Options, match: str) -> None:
    """The error says what was given and what is allowed."""
    with pytest.raises(ValueError, match=re.escape(match)):
        make(**options)


UNKNOWN: list[tuple[list[Make], list[str]]] = [
    (SOLITAIRE, ["num_players", "simpleton", "match", "start", "mask", "reward", "mask_in", "illegal_reward"]),
    (QUINCUNX_AGENTS, ["edge_contact", "observation", "actions", "mask", "lost_value"]),
    (SPIRAL_AGENTS, ["num_players", "excuse", "observation", "actions"]),
    ([*VS_OPPONENTS, batched_games], ["mask", "lost_value"]),
    ([vs_opponents, SolitaireEnv], ["num_envs", "autoreset_mode"]),
    ([SolitaireEnv], ["copy"]),
]
"""Environments, and options that others have."""


@pytest.mark.parametrize(
    ("make", "option"),
    [
        pytest.param(make, option, id=f"{make.__module__.split('.')[-1]}.{make.__name__}-{option}")
        for several, options in UNKNOWN
        for make in several
        for option in options
    ],
)
def test_unknown_options_are_refused(make: Make, option: str) -> None:
    """The error names the option."""
    with pytest.raises(TypeError, match=option):
        make(**{option: 1})


def test_gymnasium_sets_no_limit_of_steps() -> None:
    """A game ends by itself."""
    with pytest.raises(ValueError, match="max_episode_steps must be None"):
        gymnasium.make_vec("Quincunx/Solitaire-v0", num_envs=2, max_episode_steps=5)


@every_environment(lambda case: issubclass(case[0], Agents | Single) or case[0] is Vector)
def test_wrong_reset_options_are_refused(case: Case) -> None:
    """Names that are not known, and what is no mapping; the error names those that are known; nothing changes."""
    driver = drive(case).started(3)
    known = {"Agents": "'deal', 'options'", "Single": "'deal'"}.get(case[0].__name__, "'deal', 'reset_mask'")
    wrong: dict[Any, Any] = {"dael": None, "rows": [0], 1: 2}
    if case[0] is not Vector:
        wrong["reset_mask"] = np.ones(1, np.bool_)
    with driver.unchanged():
        for option, value in wrong.items():
            with pytest.raises(ValueError, match=rf"reset\(\) has the options {known}, got {option!r}"):
                driver.env.reset(seed=3, options={option: value})
        for options in ([1], (), "deal", 3):
            with pytest.raises(ValueError, match=f"options of reset.. are a mapping with the keys {known}, got"):
                driver.env.reset(seed=3, options=options)


@every_environment(lambda case: issubclass(case[0], Agents))
def test_agents_ignore_the_reset_option_of_pettingzoos_tests(case: Case) -> None:
    """`api_test` hands in ``{"options": 1}``."""
    driver, twin = drive(case).started(), drive(case).started()
    driver.env.reset(seed=SEED, options={"options": 1})
    same(driver.shown, twin.shown)


# --- Calls out of order ----------------------------------------------------------------------------------------------


@every_environment(lambda case: not issubclass(case[0], Batched))
def test_nothing_is_played_before_the_first_reset(case: Case) -> None:
    """Calls that need a game raise; a reset then deals as if nothing had happened."""
    driver = drive(case)
    env = driver.env
    uses: list[Callable[[], Any]]
    errors: tuple[type[Exception], ...] = (ResetNeeded,)
    if isinstance(driver, Agents) and env is env.unwrapped:
        uses = [lambda: env.step(0), lambda: env.observe("player_0"), env.get_state, lambda: env.game]
    elif isinstance(driver, Agents):  # PettingZoo's wrapper has errors of its own
        uses = [lambda: env.step(0), lambda: env.observe("player_0"), lambda: env.agents]
        errors = (AssertionError, AttributeError)
    elif isinstance(driver, Single):
        uses = [lambda: env.step(driver.encode(0)), lambda: env.game]
        uses += [env.action_masks, env.get_state] if case[1].__name__ == "SolitaireEnv" else []
    else:
        zeros = np.zeros((driver.rows, 2) if driver.factored else driver.rows, np.int64)
        uses = [lambda: env.step(zeros), lambda: getattr(env, "envs", env).to_game(0)]
        if not isinstance(driver, Stable):
            some = np.array([True, False, True])
            uses += [lambda: env.reset(seed=SEED, options={"reset_mask": some})]
    for use in uses:
        with pytest.raises(errors, match="reset"):
            use()
    driver.started()
    same(driver.shown, drive(case).started().shown)


def test_nothing_is_rendered_before_the_first_reset() -> None:
    """Neither by environments of one game nor by those of many."""
    makers: list[Make] = [quincunx_v0.raw_env, spiral_v0.raw_env, *GYMNASIUM]
    for make in makers:
        with pytest.raises(ResetNeeded, match="reset"):
            make(render_mode="ansi").render()


@pytest.mark.parametrize("make", AGENTS)
def test_no_agent_is_left_to_step_after_the_end(make: Make) -> None:
    """The raw environment asks for a reset; PettingZoo's wrapper warns, and does nothing."""
    driver = Agents(make, {"illegal": "lose"}).started()
    driver.env.step(-1)
    with driver.refused(ValueError, "when an agent is dead, the only valid action is None"):
        driver.env.step(0)
    while driver.env.agents:
        driver.env.step(None)
    for action in (None, 0):
        with driver.unchanged():
            if driver.env is driver.env.unwrapped:
                with pytest.raises(ResetNeeded, match="all agents have left"):
                    driver.env.step(action)
            else:
                driver.env.step(action)


@pytest.mark.parametrize("illegal", ["raise", "lose"])
@every_environment(lambda case: issubclass(case[0], Single))
def test_a_single_game_that_is_over_needs_a_reset(case: Case, illegal: str) -> None:
    """Legal or not, no action is taken; nothing changes."""
    driver = drive(case, illegal=illegal).started()
    rng = np.random.default_rng(0)
    while not driver.env.game.over:
        driver.advance(rng)
    with driver.unchanged():
        for action in (0, -1):
            with pytest.raises(ResetNeeded, match=r"over"):
                driver.step(np.array([action, 0]) if driver.factored else action)


@pytest.mark.parametrize("illegal", ["raise", "lose"])
@every_environment(lambda case: case[2].get("autoreset_mode") is AutoresetMode.DISABLED)
def test_rows_that_are_over_need_a_reset(case: Case, illegal: str) -> None:
    """Without automatic reset; the error names them, and to reset others does not help."""
    driver, rng = drive(case, illegal=illegal).started(), np.random.default_rng(0)
    while not driver.env.batch.over.any():
        driver.advance(rng)
    ended = driver.env.batch.over.copy()
    rows = re.escape(str(np.flatnonzero(ended).tolist()))
    actions = driver._choose(driver.raw_masks(), rng)
    with driver.refused(ResetNeeded, f"rows {rows} are over"):
        driver.env.step(actions)
    if not ended.all():
        driver.env.reset(options={"reset_mask": ~ended})
        with driver.refused(ResetNeeded, f"rows {rows} are over"):
            driver.env.step(actions)
    driver.env.reset(options={"reset_mask": ended})
    driver.env.step(driver._choose(driver.raw_masks(), rng))


@every_environment(lambda case: issubclass(case[0], Batched))
def test_finished_games_of_a_batch_take_any_action(case: Case) -> None:
    """Without automatic reset; nothing changes, and actions are still checked for their type and shape."""
    driver = drive(case, autoreset=False).started()
    driver.walk(100)
    assert driver.env.batch.over.all()
    with driver.unchanged():
        driver.env.step([-1, 0, 5])
        with pytest.raises(IllegalAction, match="integer actions"):
            driver.env.step([0.5, 0, 0])
