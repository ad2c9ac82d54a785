"""Games for several players through PettingZoo: its own checks, and what agents see, get and may do."""

import pickle
import random
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import fields
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from pettingzoo import AECEnv
from pettingzoo.test import api_test, seed_test
from pettingzoo.test.render_test import render_test
from pettingzoo.utils.conversions import turn_based_aec_to_parallel

from quincunx_env import Deal, IllegalAction, Rules, quincunx_v0, spiral, spiral_v0
from quincunx_env.envs.common import METADATA
from quincunx_env.registry import make_observer, spec_of
from tests.reference_game import NAMES, ReferenceGame, spiral_reference_game
from tests.spiral_reference_scorer import DECK, SpiralReferenceGame
from tests.variants import announcement, new_batch, new_game, random_action, same

SEED = 3_000

Options = dict[str, Any]
"""Of an environment of Quincunx, or of the game that ``"game"`` names."""

AXES: dict[str, tuple[Any, ...]] = {
    "num_players": (2, 3, 4),
    "start": ("corners", "open"),
    "match": (False, True),
    **dict.fromkeys(("excuse", "pawns", "flush", "simpleton"), (False, True)),
    "reward": ("points", "margin", "outcome"),
    "mask_in": ("obs", "info", "both"),
}
EVERYTHING: list[Options] = [dict(zip(AXES, values, strict=True)) for values in product(*AXES.values())]
"""All combinations of these options: 1728."""

STORIES: list[Options] = [
    {},
    {"mask_in": "info", "reward": "points", "start": "open", "preview": True},
    {"num_players": 3, "mask_in": "both", "reward": "outcome", "excuse": True},
    {"num_players": 4, "match": True, "pawns": True, "flush": True},
    {"simpleton": True, "match": True, "reward": "points", "mask_in": "info"},
    {"num_players": 3, "start": "open", "simpleton": True, "flush": True, "illegal": "lose", "illegal_reward": -5},
    {
        **{"num_players": 4, "start": "open", "match": True, "simpleton": True, "mask_in": "both"},
        **{"excuse": True, "pawns": True, "flush": True, "reward": "outcome"},
    },
]
"""Options that between them cover every one of them."""

SPIRAL_AXES: dict[str, tuple[Any, ...]] = {
    **{"game": ("spiral",), "scoring": ("play", "end"), "fifteens": (False, True), "deals": (1, 2, 4)},
    **{"reward": AXES["reward"], "mask_in": AXES["mask_in"], "preview": (False, True)},
}
SPIRAL_EVERYTHING: list[Options] = [
    dict(zip(SPIRAL_AXES, values, strict=True)) for values in product(*SPIRAL_AXES.values())
]
"""All combinations of these options: 216."""

SPIRAL_STORIES: list[Options] = [
    {"game": "spiral"},
    {"game": "spiral", "scoring": "end", "fifteens": True, "deals": 4, "mask_in": "both", "preview": True},
    {"game": "spiral", "fifteens": True, "deals": 1, "mask_in": "info", "reward": "outcome", "illegal": "lose"},
]
EVERY_STORY = STORIES + SPIRAL_STORIES


def covering(strength: int) -> list[Options]:
    """A few of all combinations, in which any so many settings occur together."""
    rng = random.Random(0)

    def parts(options: Options) -> set[tuple[Any, ...]]:
        return set(combinations(options.items(), strength))

    chosen, missing = list[Options](), set[tuple[Any, ...]]().union(*map(parts, EVERYTHING))
    while missing:
        chosen.append(max(rng.sample(EVERYTHING, 40), key=lambda options: len(parts(options) & missing)))
        missing -= parts(chosen[-1])
    return chosen


def name(options: Options) -> str:
    """A short name for a test's id."""
    words = [option if value is True else str(value) for option, value in options.items() if value is not False]
    return "-".join(words) or "default"


def each(options: list[Options]) -> pytest.MarkDecorator:
    """Run a test with each of these options."""
    return pytest.mark.parametrize("options", options, ids=name)


def strict(options: Options) -> Options:
    """The same without a lenience for illegal actions."""
    return {option: value for option, value in options.items() if not option.startswith("illegal")}


def act(env: Any, rng: random.Random) -> None:
    """One step: a legal action, None for an agent that has terminated, a reset when all have gone."""
    if not env.agents:
        env.reset()
    elif env.terminations[env.agent_selection]:
        env.step(None)
    else:
        env.step(random_action(env.unwrapped.game, rng))


def new(options: Options, wrapped: bool = False) -> Any:
    """An environment."""
    module = spiral_v0 if options.get("game") == "spiral" else quincunx_v0
    own = {option: value for option, value in options.items() if option != "game"}
    return module.env(**own) if wrapped else module.raw_env(**own)


def make(options: Options, steps: int = 0, wrapped: bool = False, seed: int = SEED) -> Any:
    """An environment after some steps of its first game."""
    env = new(options, wrapped)
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


def play_on(env: Any, steps: int = 12, seed: int = 0) -> list[Any]:
    """What a copy of an environment shows from here on, through any resets; it makes the same choices."""
    env, rng = deepcopy(env), random.Random(seed)
    story = [view(env)]
    for _ in range(steps):
        act(env, rng)
        story.append(view(env))
    return story


@contextmanager
def refused(env: Any, error: type[Exception], match: str | None = None) -> Iterator[None]:
    """What happens inside raises this error, and the environment goes on as if nothing had happened."""
    before = play_on(env)
    with pytest.raises(error, match=match):
        yield
    same(play_on(env), before)


def side_by_side(options: Options, seed: int = SEED) -> Iterator[tuple[Any, Any, list[int]]]:
    """An environment, the game that it should be playing, and what the last action gained each seat there."""
    env = make(options, seed=seed)
    game, rng = new_game(env.rules, seed), random.Random(seed)
    yield env, game, [0] * env.rules.num_players
    while not game.over:
        action = random_action(game, rng)
        gains = game.step(action)
        assert env.step(action) is None
        yield env, game, gains


# --- PettingZoo's own checks -----------------------------------------------------------------------------------------


def check_with_pettingzoo(options: Options, seed: int = SEED) -> None:
    """`api_test` and `seed_test` over whole games; they find fault with dictionaries, and with nothing else."""

    def seeded() -> Any:
        env = new(options, wrapped=True)
        for seat, agent in enumerate(env.possible_agents):
            env.action_space(agent).seed(seed + seat)
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


@each([{}, *covering(3)])
def test_pettingzoo_finds_nothing_to_complain_about(options: Options) -> None:
    """Any three options together."""
    check_with_pettingzoo(options)


@pytest.mark.slow
@pytest.mark.parametrize(("players", "start", "match"), list(product(*list(AXES.values())[:3])))
def test_pettingzoo_finds_nothing_in_any_combination(players: int, start: str, match: bool) -> None:
    """All options together."""
    for seed, options in enumerate(EVERYTHING):
        if (options["num_players"], options["start"], options["match"]) == (players, start, match):
            check_with_pettingzoo(options, seed)


@pytest.mark.parametrize("deals", SPIRAL_AXES["deals"])
@pytest.mark.parametrize("scoring", SPIRAL_AXES["scoring"])
def test_pettingzoo_finds_nothing_in_any_combination_of_the_spiral_game(scoring: str, deals: int) -> None:
    """All options together, `render_test` too."""
    for seed, options in enumerate(SPIRAL_EVERYTHING):
        if (options["scoring"], options["deals"]) == (scoring, deals):
            check_with_pettingzoo(options, seed)
            check_rendering(options, "ansi")


def check_rendering(options: Options, *modes: str) -> None:
    """`render_test` in these modes."""
    # It looks for no mask in the infos.
    lose_on_illegal = {"illegal": "lose"} if options.get("mask_in") == "info" else {}

    def make_one(render_mode: str) -> Any:
        env = new(options | lose_on_illegal | {"render_mode": render_mode}, wrapped=True)
        env.unwrapped.metadata = env.metadata | {"render_modes": list(modes)}
        return env

    render_test(make_one)


@each(EVERY_STORY)
def test_pettingzoo_finds_what_it_renders(options: Options) -> None:
    """Text, pictures and a window, in either game."""
    check_rendering(options, *METADATA["render_modes"])


# --- Agents and spaces -----------------------------------------------------------------------------------------------


@each(EVERY_STORY)
def test_agents_and_their_spaces(options: Options) -> None:
    """Names in the order of play; spaces are there before the first reset, and the same objects ever after."""
    env, wrapped = new(options), new(options, wrapped=True)
    rules, agents = env.rules, [f"player_{seat}" for seat in range(options.get("num_players", 2))]
    assert isinstance(env, AECEnv)
    assert isinstance(wrapped, AECEnv)
    assert env.metadata["name"] == f"{options.get('game', 'quincunx')}_v0" == str(wrapped)
    assert env.metadata["render_modes"] == ["ansi", "rgb_array", "human"]
    assert env.possible_agents == agents == wrapped.possible_agents
    given = [(env.observation_space(agent), env.action_space(agent)) for agent in agents]
    flat = make_observer(rules, options.get("preview", False)).flat_space()
    mask = spaces.Box(0, 1, (rules.num_actions,), np.int8)
    in_obs = options.get("mask_in") != "info"
    for observations, actions in given:
        assert observations == (spaces.Dict({"observation": flat, "action_mask": mask}) if in_obs else flat)
        assert actions == spaces.Discrete(rules.num_actions)
    assert len({id(space) for pair in given for space in pair}) == 2 * len(agents), "each agent has its own"
    for _ in range(2):
        env.reset(seed=SEED)
        assert env.agents == agents
        env.agents.clear()
        assert env.possible_agents == agents
        for agent, (observations, actions) in zip(agents, given, strict=True):
            assert env.observation_space(agent) is observations
            assert env.action_space(agent) is actions


# --- What agents see -------------------------------------------------------------------------------------------------


@each(EVERY_STORY)
def test_agents_see_their_seat_of_the_game_at_any_time(options: Options) -> None:
    """The observation is the flat one of the agent's seat at every turn, to the end and after it."""
    in_obs = options.get("mask_in") != "info"
    for env, game, _ in side_by_side(strict(options)):
        observer = make_observer(game.rules, options.get("preview", False))
        for seat, agent in enumerate(env.possible_agents):
            seen = env.observe(agent)
            assert env.observation_space(agent).contains(seen)
            assert not in_obs or seen.keys() == {"observation", "action_mask"}
            same(seen["observation"] if in_obs else seen, observer.observe_flat(game, seat))
        same(env.last()[0], env.observe(env.agent_selection))
        assert env.last(observe=False)[0] is None
    expected = {agent: env.observe(agent) for agent in env.possible_agents}
    while env.agents:
        env.step(None)
        same({agent: env.observe(agent) for agent in env.possible_agents}, expected)


def masks(env: Any, agent: str) -> list[Any]:
    """The masks that an agent finds, where ``mask_in`` has them; there are none elsewhere."""
    seen, info = env.observe(agent), env.infos[agent]
    found = [seen["action_mask"]] if isinstance(seen, dict) else []
    return found + ([info["action_mask"]] if "action_mask" in info else [])


@each(EVERY_STORY)
def test_masks_hold_the_legal_actions_of_the_mover(options: Options) -> None:
    """int8, where they should be: every card of the hand (in every legal cell), or announcements; otherwise all 0."""
    places = {"obs": 1, "info": 1, "both": 2}[options.get("mask_in", "obs")]
    for env, game, _ in side_by_side(strict(options)):
        rules = game.rules
        legal = np.zeros(rules.num_actions, np.int8)
        if isinstance(game, spiral.Game):
            legal[list(game.legal_cards())] = 1
        else:
            for card, cell in product(game.legal_cards(), game.legal_cells()):
                legal[card * rules.num_cells + cell] = 1
            if game.pending:
                legal[announcement(rules, -64) : announcement(rules, 319) + 1] = 1
        assert legal.any() != game.over
        for seat, agent in enumerate(env.possible_agents):
            found = masks(env, agent)
            assert len(found) == places
            for mask in found:
                same(mask, legal if seat == game.mover else np.zeros_like(legal))
            assert game.over or ("action_mask" in env.infos[agent]) == bool(env.infos[agent])


@each([{"mask_in": "info"}, STORIES[5], STORIES[6], SPIRAL_STORIES[1]])
@pytest.mark.parametrize("steps", [0, 9, 10])
def test_legal_is_exactly_what_does_not_raise(options: Options, steps: int) -> None:
    """Every action of the space, tried."""
    env = make(strict(options), steps)
    [mask, *_] = masks(env, env.agent_selection)
    state = env.get_state()
    for action, legal in enumerate(mask.tolist()):
        try:
            env.step(action)
        except IllegalAction:
            assert not legal
        else:
            assert legal
            env.set_state(state)


@each(EVERY_STORY)
def test_what_is_returned_belongs_to_the_caller(options: Options) -> None:
    """Observations and infos do not change by themselves, and writing into their arrays changes no state."""
    env, twin = make(strict(options), 6), make(strict(options), 6)
    returned = [env.infos, *(env.observe(agent) for agent in env.agents)]
    kept = deepcopy(returned)
    act(env, random.Random(0))
    act(twin, random.Random(0))
    same(returned, kept)
    for value in (*returned, *(env.observe(agent) for agent in env.agents)):
        overwrite(value)
    same(play_on(env), play_on(twin))


def overwrite(value: Any) -> None:
    """Spoil all arrays in it."""
    if isinstance(value, np.ndarray):
        value[...] = 7
    elif isinstance(value, dict):
        for each_value in value.values():
            overwrite(each_value)


# --- What agents get -------------------------------------------------------------------------------------------------


def fair_share(reward: str, game: Any, gains: list[int], seat: int) -> float:
    """The reward of a seat for the last action of a game, from the definitions."""
    others = [gain for other, gain in enumerate(gains) if other != seat]
    if reward == "points":
        return gains[seat]
    if reward == "margin":
        return gains[seat] - sum(others) / len(others)
    if not game.over:
        return 0.0
    winners = [other for other, total in enumerate(game.totals) if total == max(game.totals)]
    share = 1 / len(winners) if seat in winners else 0.0
    return (len(gains) * share - 1) / (len(gains) - 1)


@pytest.mark.parametrize("reward", AXES["reward"])
@each(EVERY_STORY)
def test_every_agent_is_told_its_reward_at_every_step(options: Options, reward: str) -> None:
    """As a float for each, live and accumulated since its own last action; flags are Python bools."""
    accumulated: dict[str, float] = {}
    acting: str | None = None
    for env, game, gains in side_by_side(strict(options) | {"reward": reward}):
        assert env.agents == env.possible_agents
        shares = {agent: fair_share(reward, game, gains, seat) for seat, agent in enumerate(env.agents)}
        assert env.rewards == pytest.approx(shares)
        assert {type(share) for share in env.rewards.values()} == {float}
        for agent in env.agents:
            accumulated[agent] = shares[agent] + (0 if agent == acting else accumulated.get(agent, 0))
        assert env._cumulative_rewards == pytest.approx(accumulated)
        acting = env.agent_selection
        _, share, terminated, truncated, info = env.last()
        assert share == pytest.approx(accumulated[acting])
        assert terminated is env.terminations[acting] is game.over
        assert truncated is env.truncations[acting] is False
        assert info is env.infos[acting]
        assert set(env.terminations.values()) == {game.over}
        assert set(env.truncations.values()) == {False}
        for entries in (env.terminations, env.truncations, env.infos, env.rewards):
            assert list(entries) == env.agents
        if game.over:
            break
        assert acting == f"player_{game.mover}"


GAMES: list[Options] = [
    {option: value for option, value in story.items() if option != "reward"} for story in EVERY_STORY
]


@each([strict(options) for options in GAMES])
def test_rewards_are_those_of_the_reference_game(options: Options) -> None:
    """Taken from `last` alone, penalties and terminated agents included: nothing is lost on the way.

    Points add up to each seat's total, margins to its lead over the mean of the others, outcomes to the result.
    """
    envs = {reward: make(options | {"reward": reward}) for reward in AXES["reward"]}
    env, rng = envs["points"], random.Random(SEED)
    rules, players = env.rules, env.rules.num_players
    reference: Any = (ReferenceGame if isinstance(rules, Rules) else spiral_reference_game)(rules, env.game.deals)
    earned = {reward: [0.0] * players for reward in envs}
    turns = list[str]()
    for agent in env.agent_iter():
        turns.append(agent)
        for reward, other in envs.items():
            assert other.agent_selection == agent
            earned[reward][env.possible_agents.index(agent)] += other.last()[1]
        if env.terminations[agent]:
            for other in envs.values():
                other.step(None)
            continue
        action = random_action(env.game, rng)
        if isinstance(reference, SpiralReferenceGame):
            gains = list(reference.play(DECK[action]))
        elif reference.pending:
            gains = reference.announce(action - announcement(rules, 0))
        else:
            card, cell = action // rules.num_cells, rules.grid.place(action % rules.num_cells)
            gains = reference.play(NAMES[card], cell, reference.score_play(NAMES[card], cell))
        for other in envs.values():
            other.step(action)
        assert list(env.rewards.values()) == gains
        assert sum(envs["margin"].rewards.values()) == pytest.approx(0)
        assert sum(envs["outcome"].rewards.values()) == pytest.approx(0)
    assert reference.over
    assert turns.count("player_0") > 5
    totals = reference.totals
    assert earned["points"] == totals
    for seat, total in enumerate(totals):
        assert earned["margin"][seat] == pytest.approx(total - (sum(totals) - total) / (players - 1))
        won = total == max(totals)
        assert totals.count(max(totals)) == 1, "no shared win here"
        assert earned["outcome"][seat] == pytest.approx(1 if won else -1 / (players - 1))


@pytest.mark.parametrize("match", [False, True], ids=["round", "match"])
@pytest.mark.parametrize(
    ("totals", "outcome"),
    [
        ((5, 3), (1, -1)),
        ((-7, -3), (-1, 1)),
        ((4, 4), (0, 0)),
        ((5, 3, 1), (1, -1 / 2, -1 / 2)),
        ((1, 5, 5), (-1 / 2, 1 / 4, 1 / 4)),
        ((-2, -2, -2), (0, 0, 0)),
        ((1, 2, 8, 3), (-1 / 3, -1 / 3, 1, -1 / 3)),
        ((9, 1, 2, 9), (1 / 3, -1 / 3, -1 / 3, 1 / 3)),
        ((9, 9, 0, 9), (1 / 9, 1 / 9, -1 / 3, 1 / 9)),
        ((0, 0, 0, 0), (0, 0, 0, 0)),
    ],
    ids=str,
)
def test_winners_share_the_outcome(totals: tuple[int, ...], outcome: tuple[float, ...], match: bool) -> None:
    """By the totals of all rounds; it comes with the last action."""
    options: Options = {"num_players": len(totals), "reward": "outcome", "match": match}
    env = make(options, length(options) - 1)
    assert not any(env._cumulative_rewards.values())
    action = random_action(env.game, random.Random(0))
    end = env.game.copy()
    end.step(action)
    for seat, total in enumerate(totals):
        env.game.totals[seat] += total - end.totals[seat]
        if not match:
            env.game.scores[seat] += total - end.scores[seat]
    env.step(action)
    assert list(env.rewards.values()) == pytest.approx(outcome)
    assert list(env._cumulative_rewards.values()) == pytest.approx(outcome)
    assert [info["score"] for info in env.infos.values()] == list(totals)


# --- Turns, rounds, the end ------------------------------------------------------------------------------------------


@each([{}, {"num_players": 3}, {"num_players": 4, "start": "open"}])
@pytest.mark.parametrize("simpleton", [False, True])
@pytest.mark.parametrize("match", [False, True])
def test_agents_take_turns(options: Options, simpleton: bool, match: bool) -> None:
    """In order, each round begun by the next; Simpleton's announcement is a second decision of the same agent.

    A match is one episode of as many rounds as players.
    """
    env = make(options | {"simpleton": simpleton, "match": match, "mask_in": "info", "reward": "points"})
    rules, rng = env.rules, random.Random(SEED)
    turns, scoring = list[str](), 0
    while not any(env.terminations.values()):
        turns.append(env.agent_selection)
        act(env, rng)
        scoring += any(env.rewards.values())
        if simpleton and len(turns) % 2:
            assert env.game.pending
            assert not any(env.rewards.values())
            announcing = env.infos[env.agent_selection]["action_mask"]
            assert np.flatnonzero(announcing).tolist() == list(range(rules.num_plays_encoded, rules.num_actions))
    decisions, players = 2 if simpleton else 1, rules.num_players
    expected = [
        f"player_{(number + play) % players}"
        for number in range(players if match else 1)
        for play in range(rules.num_plays)
        for _ in range(decisions)
    ]
    assert turns == expected
    assert scoring > len(turns) / decisions / 3, "a play scores now and then"


@each(EVERY_STORY)
@pytest.mark.parametrize("wrapped", [False, True], ids=["raw", "env"])
def test_all_agents_terminate_together(options: Options, wrapped: bool) -> None:
    """The last infos hold the score and name the deal; terminated agents take None, and leave one by one."""
    env = make(strict(options), length(options), wrapped)
    agents, totals = env.possible_agents, env.unwrapped.game.totals
    assert env.agents == agents
    assert env.terminations == dict.fromkeys(agents, True)
    assert env.truncations == dict.fromkeys(agents, False)
    for agent, total in zip(agents, totals, strict=True):
        info = {key: value for key, value in env.infos[agent].items() if key != "action_mask"}
        same(info, {"score": total, "seed": SEED, "game": 0})
    left = set(agents)
    for agent in env.agent_iter():
        for action in (0, int(env.action_space(agent).n) - 1):
            with refused(env, ValueError, "None"):
                env.step(action)
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


@pytest.mark.parametrize("kind", [np.int16, np.int32, np.int64, np.uint16, np.array], ids=lambda kind: kind.__name__)
def test_integers_of_numpy_are_actions_too(kind: Callable[[int], Any]) -> None:
    """As they come out of spaces and arrays."""
    options: Options = {"mask_in": "info"}
    env, twin = make(options), make(options)
    for _ in range(3):
        action = int(np.flatnonzero(env.infos[env.agent_selection]["action_mask"])[0])
        env.step(kind(action))
        twin.step(action)
        same(view(env), view(twin))


@each(EVERY_STORY)
def test_parallel_users_get_every_step(options: Options) -> None:
    """PettingZoo's own conversion: all agents' observations and rewards after each action, the last one included."""
    env = make(strict(options))
    parallel = turn_based_aec_to_parallel(new(strict(options), wrapped=True))
    for seed in (SEED, None):
        if seed is None:
            env.reset()
        observations, infos = parallel.reset(seed=seed)
        same(observations, {agent: env.observe(agent) for agent in env.agents})
        same(infos, env.infos)
        rng, ended = random.Random(SEED), False
        while parallel.agents:
            mover, action = env.agent_selection, random_action(env.game, rng)
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
        assert set(terminations.values()) == {True}
        assert [info["score"] for info in infos.values()] == env.game.totals


# --- Copies ----------------------------------------------------------------------------------------------------------


def by_state(env: Any) -> Any:
    """An environment of the same options that has played something else, brought to the same state."""
    inner = env.unwrapped
    mask_in = {(True, False): "obs", (False, True): "info", (True, True): "both"}
    options = {
        **{field.name: getattr(inner.rules, field.name) for field in fields(inner.rules)},
        **({} if isinstance(inner.rules, Rules) else {"game": "spiral"}),
        "reward": inner.reward,
        "preview": inner.observer.preview,
        "mask_in": mask_in[inner._mask_in_obs, inner._mask_in_info],
    }
    options = {option: value for option, value in options.items() if option in {*AXES, *SPIRAL_AXES}}
    other = make(options, 5, wrapped=env is not inner, seed=SEED + 50)
    other.set_state(env.get_state())
    return other


def repickle(env: Any) -> Any:
    """Save and load."""
    return pickle.loads(pickle.dumps(env))


@pytest.mark.parametrize("duplicate", [deepcopy, repickle, by_state])
@pytest.mark.parametrize("wrapped", [False, True], ids=["raw", "env"])
@each(EVERY_STORY)
def test_copies_continue_identically(options: Options, duplicate: Callable[[Any], Any], wrapped: bool) -> None:
    """At the start, on the way, around the end and in later games; copies do not touch each other."""
    options = strict(options)
    end = length(options)
    for steps in (0, 7, end - 1, end, end + 1):
        env = make(options, steps, wrapped)
        twin = duplicate(env)
        assert type(twin) is type(env)
        expected = play_on(env)
        same(play_on(twin), expected)
        for _ in range(9):
            act(env, random.Random(1))
        same(play_on(twin), expected)
        if isinstance(env.unwrapped.rules, Rules):
            assert twin.unwrapped.rules.grid is env.unwrapped.rules.grid, "tables are kept for one grid of each size"


@each(EVERY_STORY)
def test_snapshots_can_be_used_again_and_again(options: Options) -> None:
    """Here and in a new environment; what happens later does not reach them."""
    env, elsewhere = make(strict(options), 4), new(strict(options))
    state, expected = env.get_state(), play_on(env)
    for other in (env, elsewhere, elsewhere):
        for _ in range(30 if other is env else 0):
            act(other, random.Random(1))
        other.set_state(state)
        same(play_on(other), expected)
        for _ in range(5):
            act(other, random.Random(2))


def test_a_snapshot_starts_a_new_wrapped_environment() -> None:
    """As it does a new bare one: no reset is needed before."""
    env, other = make({}, 4, wrapped=True), quincunx_v0.env()
    other.set_state(env.get_state())
    same(view(other), view(env))


@pytest.mark.parametrize("mask_in", [("obs", "info"), ("info", "obs")], ids="-to-".join)
def test_snapshots_leave_the_masks_where_they_are_asked_for(mask_in: tuple[str, str]) -> None:
    """Only the rules must be the same: ``mask_in`` is that of the environment which goes on."""
    env, other, expected = (make({"mask_in": where}, 4) for where in (*mask_in, mask_in[1]))
    other.set_state(env.get_state())
    same(view(other), view(expected))


def test_snapshots_keep_what_was_handed_in_and_lost() -> None:
    """That the deal was handed in, and that an illegal action has ended the game."""
    env = make({"illegal": "lose"})
    env.reset(options={"deal": Deal.from_seed(env.rules, 8)})
    env.step(-1)
    other: Any = quincunx_v0.raw_env()
    other.set_state(env.get_state())
    assert other.terminations == {"player_0": True, "player_1": True}
    assert other.rewards == {"player_0": -1.0, "player_1": 0.0}
    assert (other.infos["player_0"]["seed"], other.infos["player_0"]["game"]) == (-1, -1)
    env.reset()
    other.reset()
    same(view(other), view(env))


def test_snapshots_of_other_rules_are_refused() -> None:
    """Nothing changes then."""
    env = make({}, 4)
    with refused(env, ValueError, "the snapshot is of Rules"):
        env.set_state(make({"flush": True}).get_state())


# --- Seeds and deals -------------------------------------------------------------------------------------------------


def finish(env: Any) -> list[Any]:
    """Play the game to its end; what was shown after each action."""
    rng, story = random.Random(SEED), list[Any]()
    while not env.unwrapped.game.over:
        act(env, rng)
        story.append(view(env))
    return story


def named(env: Any) -> set[tuple[int, int]]:
    """The deal as the last infos of all agents name it."""
    return {(info["seed"], info["game"]) for info in env.infos.values()}


@each([{}, {"num_players": 4, "start": "open", "match": True, "excuse": True}, *SPIRAL_STORIES[:2]])
@pytest.mark.parametrize("wrapped", [False, True], ids=["raw", "env"])
def test_a_seed_names_a_series_of_games(options: Options, wrapped: bool) -> None:
    """A seed starts with its game 0, each further reset goes on to the next; rows of a batch are seeded one up."""
    env = make(options, wrapped=wrapped)
    inner = env.unwrapped
    for _ in range(2):
        for number in range(3):
            assert env.reset(seed=SEED if number == 0 else None) is None
            assert inner.game.deals == new_game(inner.rules, SEED, number).deals
            finish(env)
            assert named(env) == {(SEED, number)}
    batch = new_batch(inner.rules, 3)
    batch.reset(SEED)
    for row in range(3):
        env.reset(seed=SEED + row)
        assert batch.deals(row) == inner.game.deals


def test_an_unseeded_game_can_be_repeated() -> None:
    """Without a seed there is a random one, different each time, and the infos name it."""
    seeds = set()
    for _ in range(2):
        env: Any = quincunx_v0.raw_env()
        for number in range(2):
            env.reset()
            story = finish(env)
            [(seed, game)] = named(env)
            assert game == number
            seeds.add(seed)
            again: Any = quincunx_v0.raw_env()
            again.reset(options={"deal": Deal.from_seed(env.rules, seed, game)})
            replayed = finish(again)
            assert named(again) == {(-1, -1)}
            same(replayed[:-1], story[:-1])
    assert len(seeds) == 2
    assert min(seeds) >= 0


@pytest.mark.parametrize("seed", [0, 2**63 - 1, np.int64(5)], ids=str)
def test_extreme_seeds(seed: Any) -> None:
    """The least, the greatest, and one out of an array."""
    env = make({}, seed=seed)
    finish(env)
    assert named(env) == {(seed, 0)}


@pytest.mark.parametrize("codec", [lambda deal: deal, str], ids=["deal", "text"])
@each(
    [
        {},
        {"num_players": 3, "match": True},
        {"num_players": 4, "start": "open", "pawns": True, "excuse": True},
        {"game": "spiral", "deals": 1},
        {"game": "spiral", "deals": 4},
    ]
)
def test_deals_can_be_handed_in(options: Options, codec: Callable[[Any], Any]) -> None:
    """One, in a list or bare, and for a match a list of one for each round; the seed's games follow after it."""
    env = make(options)
    rules = env.rules

    def seeded(seed: int, number: int) -> tuple[Any, ...]:
        return tuple(new_game(rules, seed, number).deals)

    deals = seeded(77, 0)
    spelt = list(map(codec, deals))
    given = [spelt, tuple(spelt), *([] if rules.num_rounds > 1 else spelt)]
    for number, deal in enumerate(given, 1):
        env.reset(options={"deal": deal, "other": 1})
        game, rng = type(env.game)(rules, deals), random.Random(SEED)
        while not game.over:
            same(env.last()[0]["observation"], make_observer(rules).observe_flat(game, game.mover))
            action = random_action(game, rng)
            game.step(action)
            env.step(action)
        assert env.game.totals == game.totals
        assert named(env) == {(-1, -1)}
        twin = deepcopy(env)
        twin.reset()
        assert twin.game.deals == seeded(SEED, number + 1)
    # A seed with a deal holds for what comes after it, and no deal is the seeded one.
    env.reset(seed=9, options={"deal": given[-1]})
    assert env.game.deals == deals
    env.reset(options={"deal": None})
    assert env.game.deals == seeded(9, 1)


def bad_deals() -> Iterator[Any]:
    """Options, a deal that does not fit them, and what the error says."""
    rules = Rules(2)
    deal = Deal.from_seed(rules, 1)
    short = Deal(deal.face_up, deal.hands, deal.pile[:-1])
    match: Options = {"match": True}
    yield pytest.param({}, short, "missing: ", id="missing")
    yield pytest.param({}, str(short), "missing: ", id="missing-text")
    yield pytest.param(
        {}, Deal.from_seed(Rules(3), 1), r"5 \| 10 / 10 \| 11 cards \(face-up cards \| hand", id="other-rules"
    )
    yield pytest.param({}, Deal.from_seed(Rules(2, excuse=True), 1), "not in the deck", id="foreign")
    yield pytest.param({}, [deal, deal], "1 rounds and need a deal for each, got 2", id="two")
    yield pytest.param({}, [], "got 0", id="none-in-it")
    yield pytest.param({}, "AM | CK", "a deal is written", id="no-deal")
    yield pytest.param({}, 3, "a deal is a Deal or its text, got 3", id="number")
    yield pytest.param(match, deal, "2 rounds and need a deal for each, got 1", id="bare")
    yield pytest.param(match, [str(deal)], "2 rounds and need a deal for each, got 1", id="too-few")
    yield pytest.param(match, [deal] * 3, "got 3", id="too-many")
    yield pytest.param(match, [deal, None], "a deal is a Deal or its text, got None", id="gap")
    yield pytest.param(match, [deal, short], "missing: ", id="second")


@pytest.mark.parametrize(("options", "deal", "match"), list(bad_deals()))
@pytest.mark.parametrize("wrapped", [False, True], ids=["raw", "env"])
def test_bad_deals_are_refused(options: Options, deal: Any, match: str, wrapped: bool) -> None:
    """With a seed or without; nothing changes."""
    env = make(options, 3, wrapped)
    for seed in (None, 5):
        with refused(env, ValueError, match):
            env.reset(seed=seed, options={"deal": deal})


@pytest.mark.parametrize("seed", [-1, 2**63, True, "1", 1.0, [1]], ids=str)
def test_bad_seeds_are_refused(seed: Any) -> None:
    """Nothing changes, also if a deal comes with it."""
    env = make({}, 3)
    for given in (None, {"deal": Deal.from_seed(env.rules, 1)}):
        with refused(env, ValueError, "seed must be an integer from 0 to 2"):
            env.reset(seed=seed, options=given)


# --- Illegal actions -------------------------------------------------------------------------------------------------


def wrong_actions(env: Any) -> dict[Any, str]:
    """Actions that are illegal now, or none at all, and what the error says."""
    game, rules = env.unwrapped.game, env.unwrapped.rules
    cells, count = rules.num_cells, rules.num_actions
    absent = next(card for card in range(rules.num_cards) if not game.hands[game.mover][card])
    outside = dict.fromkeys([-1, count, 10**30, np.int64(-1), np.int32(count)], "out of range: actions run from 0 to")
    nothing: dict[Any, str] = dict.fromkeys(
        [None, 3.0, "3", np.float64(3), (1, 2)], f"an action of Discrete({count}) is"
    )
    if isinstance(game, spiral.Game):
        return outside | nothing | {absent: f"not in the hand of seat {game.mover}, which holds"}
    if game.pending:
        play = game.hand(game.mover)[0] * cells + [*game.legal][::-1].index(1)
        return outside | nothing | {play: "must announce the points of its play now, -64 to 319"}
    plays = {
        absent * cells + game.legal_cells()[0]: f"not in the hand of seat {game.mover}, which holds",
        game.legal_cards()[0] * cells + rules.face_up_cells[0]: "the cell is taken; legal cells are",
    }
    if rules.start == "open":
        plays[game.legal_cards()[0] * cells] = "a card must touch one in play"
    if rules.simpleton:
        plays[announcement(rules, 0)] = "no announcement is due"
    return outside | nothing | plays


@each(GAMES)
@pytest.mark.parametrize("wrapped", [False, True], ids=["raw", "env"])
def test_illegal_actions_raise_and_change_nothing(options: Options, wrapped: bool) -> None:
    """Out of range, of another type, not in hand, on a filled cell, or not due; the error says so."""
    for steps in (0, 5):
        env = make(strict(options), steps, wrapped)
        for action, match in wrong_actions(env).items():
            with refused(env, IllegalAction, re.escape(match)):
                env.step(action)
    with refused(env, IllegalAction, r"an action of Discrete\(\d+\) is needed, got array"):
        env.step(np.array([3]))


@each([strict(options) for options in GAMES])
def test_an_illegal_action_may_lose_the_game(options: Options) -> None:
    """The agent gets ``illegal_reward``, the others 0; pending rewards of all are kept."""
    for reward, penalty in (("points", -1.0), ("margin", -7.5), ("outcome", 0.25)):
        for steps in (0, 5):
            lose_on_illegal: Options = {"reward": reward, "illegal": "lose"}
            if penalty != -1.0:
                lose_on_illegal["illegal_reward"] = penalty
            for action in (*wrong_actions(make(options, steps)), np.array([3])):
                env = make(options | lose_on_illegal, steps)
                offender, before = env.agent_selection, dict(env._cumulative_rewards)
                totals = list(env.game.totals)
                assert env.step(action) is None
                shares = {agent: penalty if agent == offender else 0.0 for agent in env.possible_agents}
                assert env.agents == env.possible_agents
                assert env.rewards == shares
                assert env.terminations == dict.fromkeys(env.agents, True)
                assert env.truncations == dict.fromkeys(env.agents, False)
                assert [info["score"] for info in env.infos.values()] == totals
                assert named(env) == {(SEED, 0)}
                rewards = {}
                while env.agents:
                    agent = env.agent_selection
                    assert not any(mask.any() for mask in masks(env, agent))
                    assert env.observation_space(agent).contains(env.observe(agent))
                    rewards[agent] = env.last()[1]
                    env.step(None)
                assert rewards == {agent: shares[agent] + (agent != offender) * before[agent] for agent in before}
    env.reset()
    assert env.game.deals == new_game(env.rules, SEED, 1).deals
    assert not env.game.over


# --- Options ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make_env", [quincunx_v0.raw_env, quincunx_v0.env])
@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"num_players": 1}, "num_players must be one of 2, 3, 4, got 1"),
        ({"num_players": 5}, "num_players must be one of 2, 3, 4, got 5"),
        ({"num_players": "2"}, "num_players must be one of 2, 3, 4, got '2'"),
        ({"num_players": 2.0}, "num_players must be .*got 2.0"),
        ({"start": "middle"}, "start must be 'corners' or 'open', got 'middle'"),
        ({"reward": "score"}, "reward must be one of 'points', 'margin', 'outcome', got 'score'"),
        ({"mask_in": "infos"}, "mask_in must be one of 'obs', 'info', 'both', got 'infos'"),
        ({"mask_in": None}, "mask_in must be one of"),
        ({"illegal": "ignore"}, "illegal must be one of 'raise', 'lose', got 'ignore'"),
        ({"render_mode": "rgb"}, "render_mode must be one of None, 'ansi', 'rgb_array', 'human', got 'rgb'"),
        ({"excuse": 1}, "excuse must be True or False, got 1"),
        ({"pawns": "yes"}, "pawns must be True or False"),
        ({"flush": None}, "flush must be True or False"),
        ({"simpleton": 0.0}, "simpleton must be True or False"),
        ({"match": 2}, "match must be True or False, got 2"),
    ],
    ids=str,
)
def test_wrong_options_are_named(make_env: Callable[..., Any], options: Options, match: str) -> None:
    """What was given and what would do."""
    with pytest.raises(ValueError, match=match):
        make_env(**options)


@pytest.mark.parametrize("make_env", [quincunx_v0.raw_env, quincunx_v0.env])
@pytest.mark.parametrize("option", ["edge_contact", "observation", "actions", "mask"])
def test_unknown_options_are_refused(make_env: Callable[..., Any], option: str) -> None:
    """Also those of the solitaire."""
    with pytest.raises(TypeError, match=option):
        make_env(**{option: True})


def test_nothing_is_seen_before_the_first_reset() -> None:
    """There is no game yet; the wrapper says so of everything."""
    env: Any = quincunx_v0.raw_env(render_mode="ansi")
    for use in (lambda: env.observe("player_0"), env.render, lambda: env.game):
        with pytest.raises(ResetNeeded, match="reset"):
            use()
    wrapped = quincunx_v0.env()
    for use in (lambda: wrapped.step(0), lambda: wrapped.observe("player_0"), lambda: wrapped.agents):
        with pytest.raises((AssertionError, AttributeError), match="reset"):
            use()


# --- Text ------------------------------------------------------------------------------------------------------------


@each([{}, STORIES[-1], SPIRAL_STORIES[1]])
@pytest.mark.parametrize("wrapped", [False, True], ids=["raw", "env"])
def test_a_game_as_text(options: Options, wrapped: bool) -> None:
    """All hands shown, from the deal to the winners; nothing where no text was asked for."""
    env = make(options | {"render_mode": "ansi"}, wrapped=wrapped)
    silent = make(options, wrapped=wrapped)
    game, rng = new_game(env.unwrapped.rules, SEED), random.Random(SEED)
    spec = spec_of(game.rules)
    card_name = spec.Deal.NAMES.card_name
    while not game.over:
        text = env.render()
        assert text == spec.ansi(game)
        assert f"> seat {game.mover}" in text
        for card in game.hand(0):
            assert card_name(card) in text.split()
        assert silent.render() is None
        action = random_action(game, rng)
        for each_game in (game, env, silent):
            each_game.step(action)
    assert env.render().splitlines()[-1].startswith("  over: won by seat ")
    env.close()
    env.close()
