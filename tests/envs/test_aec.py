"""Games for several players through PettingZoo: its own checks, spaces, observations and the end."""

import inspect
import random
import warnings
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from pettingzoo import AECEnv
from pettingzoo.test import api_test, parallel_api_test, parallel_seed_test, seed_test
from pettingzoo.test.render_test import render_test
from pettingzoo.utils.wrappers import BaseWrapper, TerminateIllegalWrapper

from quincunx_env import IllegalAction, quincunx_v0, spiral_v0
from quincunx_env.registry import make_observer
from tests.envs.agents import (
    EVERY_GAME_OPTIONS,
    OPTIONS,
    SEED,
    SPIRAL_OPTIONS,
    Options,
    each,
    length,
    make,
    new,
    number,
    side_by_side,
    view,
)
from tests.variants import random_action, same

# --- PettingZoo's own checks -----------------------------------------------------------------------------------------


@each(EVERY_GAME_OPTIONS)
def test_pettingzoo_finds_nothing_to_complain_about(options: Options) -> None:
    """`api_test` and `seed_test` over whole games; they find fault with dictionaries, and with nothing else."""

    def seeded() -> Any:
        env = new(options, "env")
        for seat, agent in enumerate(env.possible_agents):
            env.action_space(agent).seed(SEED + seat)
        return env

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        api_test(seeded(), num_cycles=1000)
        seed_test(seeded, num_cycles=1000)
    complaints = {str(warning.message) for warning in caught}
    if options.get("mask_in", "obs") == "info":
        assert not complaints
    else:
        assert complaints == {
            "Observation is not a NumPy array",
            "Observation space for each agent probably should be gymnasium.spaces.box or gymnasium.spaces.discrete",
        }


@each([{}, OPTIONS[1], SPIRAL_OPTIONS[2]])
def test_pettingzoo_finds_what_it_renders(options: Options) -> None:
    """`render_test` of text, pictures and a window, in either game."""
    # It looks for no mask in the infos.
    lenient = {"illegal": "next"} if options.get("mask_in") == "info" else {}
    render_test(lambda render_mode: new(options | lenient | {"render_mode": render_mode}, "env"))


# --- Agents and spaces -----------------------------------------------------------------------------------------------


@each(EVERY_GAME_OPTIONS)
def test_agents_and_their_spaces(options: Options) -> None:
    """Names in the order of play; spaces are there before the first reset, and the same objects ever after."""
    env, wrapped = new(options), new(options, "env")
    rules, agents = env.rules, [f"player_{seat}" for seat in range(options.get("num_players", 2))]
    assert isinstance(env, AECEnv)
    assert isinstance(wrapped, AECEnv)
    assert env.metadata["name"] == f"{options.get('game', 'quincunx')}_v0" == str(wrapped)
    assert env.metadata["render_modes"] == ["ansi", "rgb_array", "human"]
    assert set(env.metadata) == {"name", "render_modes", "render_fps", "is_parallelizable"}, "as PettingZoo's own"
    assert env.possible_agents == agents == wrapped.possible_agents
    given = [(env.observation_space(agent), env.action_space(agent)) for agent in agents]
    observer = make_observer(rules, options.get("preview", False))
    by_place = options.get("actions") == "hand"
    vector, number = observer.encoder(by_place).space(), observer.places.num_actions if by_place else rules.num_actions
    mask = spaces.Box(0, 1, (number,), np.int8)
    in_obs = options.get("mask_in") != "info"
    for observations, actions in given:
        assert observations == (spaces.Dict({"observation": vector, "action_mask": mask}) if in_obs else vector)
        assert actions == spaces.Discrete(number)
    assert len({id(space) for pair in given for space in pair}) == 2 * len(agents), "each agent has its own"
    # The dictionaries are deprecated, but some libraries read them; wrappers pass them on, here without a warning.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for each_env in (env, TerminateIllegalWrapper(env, illegal_reward=-1), BaseWrapper(wrapped)):
            for number, spaces_of in enumerate((each_env.observation_spaces, each_env.action_spaces)):
                assert spaces_of == {agent: pair[number] for agent, pair in zip(agents, given, strict=True)}
    assert all(env.action_spaces[agent] is actions for agent, (_, actions) in zip(agents, given, strict=True))
    for _ in range(2):
        env.reset(seed=SEED)
        assert env.agents == agents
        env.agents.clear()
        assert env.possible_agents == agents
        for agent, (observations, actions) in zip(agents, given, strict=True):
            assert env.observation_space(agent) is observations
            assert env.action_space(agent) is actions


# --- Observations ----------------------------------------------------------------------------------------------------


@each(EVERY_GAME_OPTIONS)
def test_agents_see_their_seat_of_the_game_at_any_time(options: Options) -> None:
    """The observation is the vector of the agent's seat at every turn, to the end and after it.

    The state for centralised critics holds the vectors of all seats and the pile, in a new array.
    """
    in_obs = options.get("mask_in") != "info"
    for env, game, _ in side_by_side(options):
        observer = make_observer(game.rules, options.get("preview", False))
        encoder = observer.encoder(options.get("actions") == "hand")
        expected_state = [encoder.encode(observer.observe(game, seat)) for seat in range(game.rules.num_players)]
        for seat, agent in enumerate(env.possible_agents):
            seen = env.observe(agent)
            assert env.observation_space(agent).contains(seen)
            assert not in_obs or seen.keys() == {"observation", "action_mask"}
            same(seen["observation"] if in_obs else seen, expected_state[seat])
        state, pile = env.state(), getattr(game, "pile", ())
        assert env.state_space.contains(state)
        assert env.state_space is env.state_space
        _, _, room = observer.counts.get("pile", ("", 0, 0))
        cards, board = np.array([[*pile, *[-1] * (room - len(pile))]], np.int16), observer.pieces[0].encoding
        shown = np.empty((1, board.limits(np.repeat(cards, 2, axis=0)).shape[1]), np.float32)
        board.encode(cards, shown)
        same(state, np.concatenate([*expected_state, shown[0]]))
        state[:] = 0
        assert env.state().any()
        same(env.last()[0], env.observe(env.agent_selection))
        assert env.last(observe=False)[0] is None
    expected = {agent: env.observe(agent) for agent in env.possible_agents}
    while env.agents:
        env.step(None)
        same({agent: env.observe(agent) for agent in env.possible_agents}, expected)


# --- Turns, rounds, the end ------------------------------------------------------------------------------------------


@each(EVERY_GAME_OPTIONS)
@pytest.mark.parametrize("wrapped", [False, True], ids=["raw", "env"])
def test_all_agents_terminate_together(options: Options, wrapped: bool) -> None:
    """The last infos hold the score and name the deal; terminated agents take None, and leave one by one."""
    env = make(options, length(options), wrapped)
    agents, totals = env.possible_agents, env.unwrapped.game.totals
    assert env.agents == agents
    assert env.terminations == dict.fromkeys(agents, True)
    assert env.truncations == dict.fromkeys(agents, False)
    for agent, total in zip(agents, totals, strict=True):
        info = {key: value for key, value in env.infos[agent].items() if key != "action_mask"}
        same(info, {"score": total, "seed": SEED, "game": 0})
    left = set(agents)
    for agent in env.agent_iter():
        _, _, terminated, truncated, _ = env.last()
        assert (terminated, truncated) == (True, False)
        assert env.step(None) is None
        left.remove(agent)
        assert set(env.agents) == left
        for entries in (env.terminations, env.truncations, env.infos, env.rewards):
            assert set(entries) == left
    assert not left
    env.reset()
    assert env.agents == agents
    assert env.terminations == dict.fromkeys(agents, False)
    assert env.rewards == env._cumulative_rewards == dict.fromkeys(agents, 0.0)


@pytest.mark.parametrize("module", [quincunx_v0, spiral_v0])
def test_the_docstring_of_an_environments_module_begins_with_the_rules(module: Any) -> None:
    """LangChain's agents for PettingZoo read it as manual."""
    assert inspect.getmodule(module.parallel_env().unwrapped) is module
    assert "most points win." in " ".join((module.__doc__ or "").splitlines()[:10]).lower()


# --- All agents at once ----------------------------------------------------------------------------------------------


@each(EVERY_GAME_OPTIONS)
def test_pettingzoo_finds_nothing_in_parallel_environments(options: Options) -> None:
    """`parallel_api_test` samples by masks in observations, `parallel_seed_test` by none."""
    lenient = options | {"illegal": "next"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parallel_api_test(new(lenient if options.get("mask_in") == "info" else options, "parallel_env"))
        parallel_seed_test(lambda: new(lenient, "parallel_env"))


@pytest.mark.parametrize("module", [quincunx_v0, spiral_v0])
def test_parallel_environments_have_the_same_defaults(module: Any) -> None:
    """The mask is in the observation and an illegal action raises: who forgets the mask learns so at once."""
    env = module.parallel_env()
    assert env.metadata["is_parallelizable"] is False, "`aec_to_parallel` would ask the agents in a fixed order"
    assert inspect.signature(module.parallel_env).parameters == inspect.signature(module.env).parameters
    observations, _ = env.reset(seed=SEED)
    illegal = int(observations[env.agent_selection]["action_mask"].argmin())
    with pytest.raises(IllegalAction, match=r"observation\['action_mask'\]"):
        env.step(dict.fromkeys(env.agents, illegal))


@pytest.mark.parametrize("game", ["quincunx", "spiral"])
def test_parallel_environments_play_without_masks(game: str) -> None:
    """If asked to: the mover's action or the next legal one is played, and the others' are not."""
    env: Any = new({"game": game, "mask_in": "info", "illegal": "next"}, "parallel_env")
    env.reset(seed=SEED)
    rewards: dict[str, float] = {}
    while env.agents:
        _, rewards, *_ = env.step(dict.fromkeys(env.agents, 0))
    assert sorted(rewards.values()) in ([-1.0, 1.0], [0.0, 0.0]), "the outcome"


@pytest.mark.parametrize("actions", [{"player_1": 0}, 3, None, "player_0", ["player_0"]], ids=repr)
def test_parallel_environments_need_a_game_and_an_action_of_the_mover(actions: Any) -> None:
    env = new({}, "parallel_env")
    with pytest.raises(ResetNeeded, match=r"call reset\(\) first$"):
        env.step(actions)
    env.reset()
    with pytest.raises(ValueError, match=r"^actions must be .* one of the mover, player_0") as error:
        env.step(actions)
    assert str(error.value).endswith(f", got {actions!r}")


@each(EVERY_GAME_OPTIONS)
def test_parallel_users_get_every_step(options: Options) -> None:
    """All agents' observations and rewards after each action, the last one included; then nothing."""
    env = make(options)
    parallel = new(options, "parallel_env")
    for seed in (SEED, None):
        if seed is None:
            env.reset()
        observations, infos = parallel.reset(seed=seed)
        same(observations, {agent: env.observe(agent) for agent in env.agents})
        same(infos, env.infos)
        rng, ended = random.Random(SEED), False
        while parallel.agents:
            mover, action = env.agent_selection, number(env, random_action(env.game, rng))
            assert parallel.agent_selection == mover
            env.step(action)
            actions = {agent: action if agent == mover else None for agent in parallel.agents}
            observations, rewards, terminations, truncations, infos = parallel.step(actions)
            ended = env.game.over
            for info in infos.values():
                assert ended or info.pop("active_agent") == env.agent_selection
            same(observations, {agent: env.observe(agent) for agent in env.possible_agents})
            same(
                [rewards, terminations, truncations, infos],
                [env.rewards, env.terminations, env.truncations, env.infos],
            )
        assert ended
        assert parallel.step({}) == ({}, {}, {}, {}, {})
        assert set(terminations.values()) == {True}
        assert [info["score"] for info in infos.values()] == env.game.totals


# --- Snapshots -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mask_in", [("obs", "info"), ("info", "obs")], ids="-to-".join)
def test_snapshots_leave_the_masks_where_they_are_asked_for(mask_in: tuple[str, str]) -> None:
    """Only the rules must be the same: ``mask_in`` is that of the environment which goes on."""
    env, other, expected = (make({"mask_in": where}, 4) for where in (*mask_in, mask_in[1]))
    other.set_state(env.get_state())
    same(view(other), view(expected))


@pytest.mark.parametrize("agent", ["player_2", "", 0, None, ["player_0"]], ids=repr)
def test_agents_that_do_not_exist_are_refused(agent: Any) -> None:
    env = make({})
    env.reset(seed=0)
    for asked in (env.observe, env.observation_space, env.action_space):
        with pytest.raises(ValueError, match="agent must be one of player_0, player_1, got"):
            asked(agent)
