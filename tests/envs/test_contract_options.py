"""The contract of every environment, part 4: options, and calls out of order."""

import json
import math
import re
import subprocess
import sys
from collections.abc import Callable
from copy import deepcopy
from dataclasses import asdict
from typing import Any

import gymnasium
import numpy as np
import pettingzoo
import pytest
from gymnasium.envs.registration import EnvSpec, load_env_creator
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

from quincunx_agents.greedy import greedy
from quincunx_env import (
    BatchedGames,
    IllegalAction,
    Rules,
    SolitaireEnv,
    SolitaireVectorEnv,
    VsOpponentsEnv,
    VsOpponentsVectorEnv,
    quincunx_v0,
    spiral,
    spiral_v0,
)
from quincunx_env.core.integers import as_plain
from quincunx_env.envs.aec import CardGameAEC
from quincunx_env.envs.side_by_side import SideBySideVectorEnv
from quincunx_env.envs.solitaire import make_solitaire_vec
from quincunx_env.envs.vs_opponents import make_vs_opponents_vec
from quincunx_env.quincunx.scoring import RATING_STEPS
from quincunx_env.registry import make_rules
from tests.envs.drivers import SEED, Agents, Batched, Case, Options, Single, Stable, Vector, drive, every_environment
from tests.variants import same

# --- The encoding for networks ---------------------------------------------------------------------------------------


def encoded(shown: Any, encoder: Any) -> Any:
    """Return observations as lists and dictionaries, with pieces as vectors."""
    if isinstance(shown, dict) and "board" in shown:
        pieces = dict(shown)
        mask = pieces.pop("action_mask", None)
        vector = encoder.encode(pieces)
        return vector if mask is None else {"observation": vector, "action_mask": mask}
    if isinstance(shown, dict):
        return {name: encoded(value, encoder) for name, value in shown.items()}
    if isinstance(shown, list | tuple) or (isinstance(shown, np.ndarray) and shown.dtype.hasobject):
        return [encoded(value, encoder) for value in shown]
    return shown


@every_environment(lambda case: not issubclass(case[0], Agents))
def test_vectors_encode_the_pieces(case: Case) -> None:
    """At every step, also at the end of a game; nothing else differs."""
    pieces, vector = (drive(case, observation=observation).started() for observation in ("pieces", "vector"))
    encoder = pieces.observer.encoder(case[2].get("actions") == "hand")
    for shown, found in zip(*([deepcopy(each.shown), *each.walk(40)] for each in (pieces, vector)), strict=True):
        same(encoded(shown, encoder), encoded(found, encoder))


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


def solitaire_vec(**options: Any) -> Any:
    """Three rows of the solitaire, of one set of rules or several."""
    return make_solitaire_vec(options.pop("num_envs", 3), **options)


def vs_opponents_vec(**options: Any) -> Any:
    """Three rows against greedy, likewise."""
    return make_vs_opponents_vec(options.pop("num_envs", 3), **{"opponents": greedy} | options)


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
ONE_SET: list[Make] = [*SOLITAIRE, *VS_OPPONENTS, batched_games, *QUINCUNX_AGENTS]
SIDE_BY_SIDE: list[Make] = [solitaire_vec, vs_opponents_vec]
VECTOR: list[Make] = [SolitaireVectorEnv, vs_opponents_vector]
WINDOWED: list[Make] = [*AGENTS, SolitaireEnv, vs_opponents]

WRONG: list[tuple[list[Make], Options, str]] = [
    (QUINCUNX, {"num_players": 1}, "num_players must be one of 2, 3, 4, got 1"),
    (QUINCUNX, {"num_players": 2.0}, "num_players must be one of 2, 3, 4, got 2.0"),
    (QUINCUNX, {"num_players": np.array([2, 3])}, "num_players must be one of 2, 3, 4, got [2, 3]"),
    (QUINCUNX, {"start": np.array(["open"] * 2)}, "start must be 'corners' or 'open', got ['open', 'open']"),
    (SPIRAL_AGENTS, {"scoring": np.array(["end"] * 2)}, "scoring must be 'play' or 'end', got ['end', 'end']"),
    (QUINCUNX + SOLITAIRE, {"excuse": 1}, "excuse must be True or False, got 1"),
    ([*VS_OPPONENTS, batched_games], {"edge_contact": True}, "edge_contact=True is an option of the solitaire"),
    (MULTIPLAYER, {"reward": "score"}, "reward must be one of 'points', 'margin', 'outcome', got 'score'"),
    (AGENTS + GYMNASIUM, {"mask_in": "infos"}, "mask_in must be one of 'info', 'obs', got 'infos'"),
    (AGENTS + GYMNASIUM, {"illegal": "ignore"}, "illegal must be one of 'raise', 'next', got 'ignore'"),
    (
        [*GYMNASIUM, batched_games],
        {"observation": "image"},
        "observation must be one of 'pieces', 'vector', got 'image'",
    ),
    (EVERY, {"actions": "cards"}, "actions must be one of 'joint', 'hand', got 'cards'"),
    (WINDOWED, {"render_mode": "rgb"}, "render_mode must be one of None, 'ansi', 'rgb_array', 'human', got 'rgb'"),
    (VECTOR, {"render_mode": "human"}, "render_mode must be one of None, 'ansi', 'rgb_array', got 'human'"),
    (VECTOR, {"num_envs": 0}, "must be an integer from 1 to 2**63 - 1, got 0"),
    ([batched_games], {"num_games": 0}, "must be an integer from 1 to 2**63 - 1, got 0"),
    (VECTOR, {"autoreset_mode": "Sometimes"}, "'Sometimes' is not a valid AutoresetMode"),
    (VECTOR, {"copy": None}, "copy must be one of False, True, got None"),
    ([SolitaireVectorEnv], {"max_episode_steps": 12}, "max_episode_steps must be None or above 12, since a game ends "),
    ([vs_opponents_vector], {"max_episode_steps": "no"}, "max_episode_steps must be None or above 20, since a game "),
    (VS_OPPONENTS, {"pool": ["greedy"]}, "opponents and pool exclude each other: give one of them"),
    (VS_OPPONENTS, {"opponents": None, "pool": []}, "pool must be a sequence of at least one policy, got []"),
    (
        VS_OPPONENTS,
        {"opponents": None, "pool": greedy},
        "pool must be a sequence of at least one policy, got <function",
    ),
    (
        VS_OPPONENTS,
        {"opponents": ["greedy"], "num_players": 3},
        "opponents must be one policy for all other seats or a sequence of 2, got 1; a policy is a registered name",
    ),
    (VS_OPPONENTS, {"opponents": ["greedy"] * 6}, "a sequence of 1, got 6"),
    (VS_OPPONENTS, {"opponents": "missing-v0"}, "unknown policy 'missing-v0'"),
    (VS_OPPONENTS, {"opponents": 3}, "3 is not a policy"),
    ([*VS_OPPONENTS, batched_games], {"game": "chess"}, "game must be one of 'quincunx', 'spiral', got 'chess'"),
    ([*VS_OPPONENTS, batched_games], {"game": [], "other": 1}, "game must be one of 'quincunx', 'spiral', got []"),
    ([*VS_OPPONENTS, batched_games], {"game": np.array([]), "other": 1}, "game must be one of"),
    (SOLITAIRE, {"lost_value": math.inf}, "lost_value must be a finite number, got inf"),
    (SOLITAIRE, {"lost_value": -(10**400)}, "lost_value must be a finite number, got -1000"),
    ([batched_games], {"autoreset": "no"}, "autoreset must be one of False, True, got 'no'"),
    (EVERY, {"rules": 3}, "rules must be a quincunx_env."),
    (EVERY, {"rules": "Rules()"}, "Rules or a mapping of its fields ("),
    (EVERY, {"rules": {"dael": 1}}, "got {'dael': 1}"),
    (SOLITAIRE, {"rules": spiral.Rules()}, "rules"),
    (QUINCUNX, {"rules": spiral.Rules()}, "rules are for 'spiral', but the game is 'quincunx'"),
    (SPIRAL_AGENTS, {"rules": Rules()}, "rules are for 'quincunx', but the game is 'spiral'"),
    (
        QUINCUNX + SOLITAIRE,
        {"rules": Rules(), "flush": False},
        "give rules= or single options, not both: got rules= and",
    ),
    (SPIRAL_AGENTS, {"rules": {}, "deals": 1}, "give rules= or single options, not both: got rules= and deals"),
    (QUINCUNX, {"rules": Rules()}, "num_players must be one of 2, 3, 4, got 1"),
    (SOLITAIRE, {"rules": Rules(2)}, "num_players must be 1 in an environment of the solitaire, got 2"),
    (SOLITAIRE, {"rules": {"num_players": 2.5}}, "num_players must be 1 in an environment of the solitaire, got 2.5"),
    (QUINCUNX + SOLITAIRE, {"rules": {"flush": 1}}, "flush must be True or False, got 1"),
    (ONE_SET, {"rules": [{}]}, "Rules or a mapping of its fields ("),
    (SIDE_BY_SIDE, {"rules": []}, "a list of rules must have at least one"),
    (SIDE_BY_SIDE, {"rules": [{}, 3]}, "rules must be a quincunx_env."),
    (SIDE_BY_SIDE, {"rules": [{}], "flush": True}, "give rules= or single options, not both"),
    ([vs_opponents_vec], {"rules": [Rules(2), spiral.Rules()]}, "rules are for 'spiral', but the game is 'quincunx'"),
    (
        [vs_opponents_vec],
        {"game": "spiral", "rules": [{}]},
        "'spiral' has no padded observations: make an environment or a policy for each",
    ),
    (SPIRAL_AGENTS, {"padded": True}, "'spiral' has no padded observations: make an environment or a policy for each"),
    (EVERY, {"padded": 1}, "padded must be one of False, True, got 1"),
    (
        SIDE_BY_SIDE,
        {"rules": [{}, {"flush": True}, {"pawns": True}, {"excuse": True}]},
        "num_envs must be an integer from 4 to 2**63 - 1, got 3",
    ),
    (
        [vs_opponents_vec],
        {"rules": [Rules(2), Rules(2, mini=True)], "opponents": "value"},
        "no shipped network has learned mini-2: they play solitaire, 2-corners, 2-open, 3-corners, 4-corners, 3-open, "
        "4-open; leave '2 players, mini' out of rules=, or choose other opponents",
    ),
    (VS_OPPONENTS, {"seat": 2}, "seat must be one of 'rotate', 0, 1, got 2"),
    (VS_OPPONENTS, {"seat": True}, "seat must be one of 'rotate', 0, 1, got True"),
    (EVERY, {"preview": 1}, "preview must be one of False, True, got 1"),
]
"""Environments, options, and what the error says."""


@pytest.mark.parametrize(
    ("make", "options", "match"),
    [
        # Workers have to agree on names, and the addresses of functions differ.
        pytest.param(make, options, match, id=f"{make.__name__}-{re.sub(' at 0x[0-9a-f]+', '', str(options))}")
        for several, options, match in WRONG
        for make in several
    ],
)
def test_wrong_options_are_named(make: Make, options: Options, match: str) -> None:
    """The error says what was given and what is allowed."""
    with pytest.raises(ValueError, match=re.escape(match)):
        make(**options)


UNKNOWN: list[tuple[list[Make], list[str]]] = [
    (SOLITAIRE, ["num_players", "simpleton", "match", "start", "mask", "reward"]),
    (QUINCUNX_AGENTS, ["edge_contact", "mask", "lost_value"]),
    (SPIRAL_AGENTS, ["num_players", "excuse"]),
    ([*VS_OPPONENTS, batched_games], ["mask", "lost_value", "deals"]),
    ([vs_opponents, SolitaireEnv], ["num_envs", "autoreset_mode", "copy"]),
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
    """The error names the option, and those that there are."""
    with pytest.raises(TypeError, match=rf"got an unexpected keyword argument '{option}'; its options are .*preview"):
        make(**{option: 1})


@pytest.mark.parametrize("make", [*VS_OPPONENTS, batched_games])
def test_the_known_options_are_those_of_the_game(make: Make) -> None:
    """An option of the rules of another game is unknown."""
    with pytest.raises(TypeError, match=r" argument 'pawns'; its options are .*game, .*scoring, fifteens, deals$"):
        make(game="spiral", pawns=True)
    with pytest.raises(TypeError, match=r" argument 'scoring'; its options are .*game, .*num_players, start, "):
        make(scoring="end")


def made(name: str, kind: str = "gymnasium.make") -> Make:
    """An environment made by its name; `quincunx_env.adapters.sb3` without one."""

    def make(**options: Any) -> Any:
        if "VsOpponents" in name:
            options = {"opponents": "greedy"} | options
        if kind == "sb3":
            return getattr(pytest.importorskip("quincunx_env.adapters.sb3"), name)(2, **options).envs
        if kind in ("aec", "parallel"):
            if not hasattr(pettingzoo, "make"):
                pytest.skip("before PettingZoo 1.27 there is no registry")
            return pettingzoo.make(kind, name, **options)
        return (gymnasium.make if kind == "gymnasium.make" else gymnasium.make_vec)(name, **options)

    make.__name__ = f"{kind}-{name}"
    return make


NAMES = {
    "gymnasium.make": ["Quincunx/Solitaire-v0", "Quincunx/VsOpponents-v0", "Quincunx/Text-v0"],
    "gymnasium.make_vec": ["Quincunx/Solitaire-v0", "Quincunx/VsOpponents-v0", "Quincunx/Text-v0"],
    "aec": ["Quincunx/Quincunx-v0", "Quincunx/Spiral-v0"],
    "parallel": ["Quincunx/Quincunx-v0", "Quincunx/Spiral-v0"],
    "sb3": ["SolitaireVecEnv", "VsOpponentsVecEnv"],
}
"""Names for `made`, by kind."""


def rules_by_name(**options: Any) -> Any:
    """`make_rules` of Quincunx."""
    return make_rules("quincunx", **options)


def card_game(**options: Any) -> CardGameAEC:
    """`CardGameAEC` by itself."""
    return CardGameAEC("quincunx", Rules(2), **options)


EVERY_MAKER = [
    *(made(name, kind) for kind, names in NAMES.items() for name in names),
    *(*EVERY, card_game, Rules, spiral.Rules, rules_by_name),
]


@pytest.mark.parametrize("make", EVERY_MAKER, ids=lambda make: f"{make.__module__.split('.')[-2]}.{make.__name__}")
def test_unknown_options_are_named_in_the_words_of_python(make: Make) -> None:
    """TorchRL's ``GymEnv`` passes ``frameskip``, and leaves it out again only if the error has these words."""
    with pytest.raises(TypeError, match=r"\(\) got an unexpected keyword argument 'frameskip'"):
        make(frameskip=1)


NUMPY: list[tuple[list[Make], Options]] = [
    ([*EVERY, card_game, made("Quincunx/Solitaire-v0")], {"preview": np.bool_(True)}),
    (QUINCUNX + SOLITAIRE + [Rules, rules_by_name], {"flush": np.bool_(True), "excuse": np.array(True)}),
    (
        [*QUINCUNX, Rules, rules_by_name],
        {"num_players": np.int64(2), "start": np.str_("open")},
    ),
    ([*QUINCUNX, rules_by_name], {"rules": {"num_players": np.uint8(3)}}),
    ([*SPIRAL_AGENTS, spiral.Rules], {"deals": np.int8(4), "scoring": np.str_("end")}),
    ([*MULTIPLAYER, card_game], {"reward": np.str_("points")}),
    (SOLITAIRE, {"lost_value": np.float32(-5)}),
    (VS_OPPONENTS, {"seat": np.int64(0), "illegal": np.str_("next")}),
    (VS_OPPONENTS, {"opponents": None, "pool": np.array(["greedy", "uniform"])}),
    (VS_OPPONENTS, {"opponents": np.array(["greedy", "uniform"], object), "num_players": 3}),
    (VECTOR, {"num_envs": np.int64(2), "autoreset_mode": np.str_("SameStep"), "copy": np.bool_(False)}),
    ([made("Quincunx/Text-v0")], {"max_mistakes": np.int64(1), "names": np.array(["Ada"]), "num_players": np.int64(1)}),
]
"""Options as tables and sweeps hold them."""


@pytest.mark.parametrize(
    ("make", "options"),
    [
        pytest.param(make, options, id=f"{make.__name__}-{'-'.join(options)}")
        for several, options in NUMPY
        for make in several
    ],
)
def test_options_may_have_numpys_types(make: Make, options: Options) -> None:
    """They are what Python's own values are, also in the rules."""
    env, expected = make(**options), make(**as_plain(options))
    assert repr(rules_of(env)) == repr(rules_of(expected))
    if hasattr(env, "reset"):
        same(env.reset(seed=SEED), expected.reset(seed=SEED))


def rules_of(thing: Any) -> Any:
    """The rules of an environment; rules are their own."""
    inner = getattr(thing, "unwrapped", thing)
    return getattr(inner, "rules", inner)


NUMPY_SPECS: list[tuple[str, Options]] = [
    ("Quincunx/Solitaire-v0", {"preview": np.bool_(True), "lost_value": np.float32(-5), "flush": np.bool_(True)}),
    ("Quincunx/VsOpponents-v0", {"opponents": "greedy", "seat": np.int64(0), "rules": {"num_players": np.int8(2)}}),
    ("Quincunx/VsOpponents-v0", {"pool": np.array(["greedy", "uniform"]), "reward": np.str_("points")}),
    ("Quincunx/Text-v0", {"max_mistakes": np.int64(1), "names": np.array(["Ada"])}),
]


@pytest.mark.parametrize(
    ("make", "name", "options"),
    [
        pytest.param(make, name, options, id=f"{make.__name__}-{name}-{'-'.join(options)}")
        for name, options in NUMPY_SPECS
        for make in (gymnasium.make, gymnasium.make_vec)
        if make is gymnasium.make or gymnasium.spec(name).vector_entry_point
    ],
)
def test_options_of_numpys_types_are_written_as_json(make: Make, name: str, options: Options) -> None:
    """As the values that they stand for."""
    assert make(name, **options).spec.to_json() == make(name, **as_plain(options)).spec.to_json()


@pytest.mark.parametrize("value", [np.bool_(True), np.float64(1.0), np.array([1]), np.str_("1")], ids=repr)
def test_numpys_values_of_another_kind_are_refused(value: Any) -> None:
    """As with Python's values, True and 1.0 are neither a number of players nor a seat."""
    with pytest.raises(ValueError, match="num_players must be "):
        Rules(num_players=value)
    with pytest.raises(ValueError, match="seat must be one of 'rotate', 0, 1, got"):
        vs_opponents(seat=value)


# --- Rules -----------------------------------------------------------------------------------------------------------


NAMED_SOLITAIRE = [
    made("Quincunx/Solitaire-v0"),
    made("Quincunx/Solitaire-v0", "gymnasium.make_vec"),
    made("SolitaireVecEnv", "sb3"),
]
NAMED_VS_OPPONENTS = [
    made("Quincunx/VsOpponents-v0"),
    made("Quincunx/VsOpponents-v0", "gymnasium.make_vec"),
    made("VsOpponentsVecEnv", "sb3"),
]
GIVEN: list[tuple[list[Make], Any, Options]] = [
    (SOLITAIRE + NAMED_SOLITAIRE, Rules(edge_contact=True, excuse=True), {}),
    ([*QUINCUNX, *NAMED_VS_OPPONENTS, made("Quincunx/Quincunx-v0", "aec")], Rules(3, "open", flush=True), {}),
    ([*SPIRAL_AGENTS, made("Quincunx/Spiral-v0", "aec")], spiral.Rules("end", deals=1), {}),
    ([*VS_OPPONENTS, *NAMED_VS_OPPONENTS, batched_games], spiral.Rules("end", deals=1), {"game": "spiral"}),
]


@pytest.mark.parametrize(
    ("make", "rules", "options"),
    [
        pytest.param(make, rules, options, id=f"{make.__name__}-{number}")
        for number, (several, rules, options) in enumerate(GIVEN)
        for make in several
    ],
)
def test_rules_are_given_together(make: Make, rules: Any, options: Options) -> None:
    """As they are, as a mapping that has been in a JSON file, as one of only some fields, and as single options."""
    some = {name: value for name, value in asdict(rules).items() if value != getattr(type(rules)(), name)}
    every: list[Options] = [{"rules": rules}, {"rules": json.loads(json.dumps(asdict(rules)))}, {"rules": some}, some]
    for given in every:
        env = make(**options, **given)
        inner: Any = getattr(env, "unwrapped", env)
        assert inner.rules == rules


def test_given_rules_are_not_changed() -> None:
    """Neither the mapping nor its default."""
    given = {"num_players": 3}
    assert BatchedGames(2, rules=given).rules == quincunx_v0.env(rules=given).unwrapped.rules == Rules(3)
    assert given == {"num_players": 3}
    assert BatchedGames(2, rules={}).rules == Rules(2)
    assert SolitaireEnv(rules={}).rules == Rules()


@every_environment(lambda case: not issubclass(case[0], Stable | Batched))
def test_wrong_reset_options_are_refused(case: Case) -> None:
    """Names that are not known, and what is no mapping; the error names those that are known; nothing changes."""
    driver = drive(case).started(3)
    known = {Agents: "'deal', 'options'", Single: "'deal'"}.get(case[0], "'deal', 'reset_mask'")
    wrong: dict[Any, Any] = {"dael": None, "rows": [0], 1: 2}
    if not issubclass(case[0], Vector):
        wrong["reset_mask"] = np.ones(1, np.bool_)
    with driver.unchanged():
        for option, value in wrong.items():
            with pytest.raises(ValueError, match=rf"reset\(\) has the options {known}, got {option!r}"):
                driver.env.reset(seed=3, options={option: value})
        for options in ([1], (), "deal", 3):
            with pytest.raises(ValueError, match=f"options of reset.. must be a mapping with the keys {known}, got"):
                driver.env.reset(seed=3, options=options)


@every_environment(lambda case: issubclass(case[0], Agents))
def test_agents_ignore_the_reset_option_of_pettingzoos_tests(case: Case) -> None:
    """`api_test` hands in ``{"options": 1}``."""
    driver, twin = drive(case).started(), drive(case).started()
    driver.env.reset(seed=SEED, options={"options": 1})
    same(driver.shown, twin.shown)


# --- Specs as JSON ---------------------------------------------------------------------------------------------------

REQUIRED: dict[str, list[Options]] = {
    "Quincunx/Solitaire-v0": [{}, {"rules": Rules(flush=True), "actions": "hand", "lost_value": -1}],
    "Quincunx/SolitaireFlat-v0": [{}],
    "Quincunx/SolitaireMasked-v0": [{}, {"rules": {"flush": True}, "padded": True}],
    "Quincunx/VsOpponentsFlat-v0": [{}],
    "Quincunx/VsOpponentsMasked-v0": [{}, {"opponents": "uniform"}],
    "Quincunx/VsOpponents-v0": [
        {},
        {"opponents": ["greedy", "quincunx_agents.uniform:uniform"], "rules": asdict(Rules(3, "open")), "seat": 1},
        {"pool": ["uniform", "greedy"], "game": "spiral", "rules": {"deals": 1}, "preview": True},
    ],
    "Quincunx/Text-v0": [{}, {"opponents": ["greedy"], "game": "spiral", "rules": {"deals": 1}, "seat": 1}],
}
"""Options with which each environment can be made and written as JSON, by its id."""


def test_every_id_has_options_to_try() -> None:
    """Those that `quincunx_env` registers."""
    assert sorted(REQUIRED) == sorted(name for name in gymnasium.registry if name.startswith("Quincunx/"))


@pytest.mark.parametrize("name", REQUIRED)
def test_specs_survive_json_and_have_what_tools_read(name: str) -> None:
    """A threshold where it is the same for all options, and the metadata of a class."""
    spec = gymnasium.spec(name)
    assert EnvSpec.from_json(spec.to_json()) == spec
    assert spec.max_episode_steps is None, "games end by themselves"
    assert not spec.nondeterministic
    assert isinstance(spec.entry_point, str)
    maker: Any = load_env_creator(spec.entry_point)
    metadata = maker.metadata
    assert {"render_modes", "render_fps"} <= set(metadata)
    assert metadata["render_fps"] > 0


@pytest.mark.parametrize("name", ["Quincunx/Solitaire-v0", "Quincunx/VsOpponents-v0"])
def test_a_limit_of_steps_that_no_game_reaches_is_taken(name: str) -> None:
    """The line of Gymnasium's tutorial on training by A2C."""
    assert gymnasium.make_vec(name, num_envs=3, max_episode_steps=600).num_envs == 3


def test_the_solitaire_is_solved_at_the_highest_class_of_the_rules() -> None:
    """RULES.md 1.5; among opponents the reward depends on them."""
    assert gymnasium.spec("Quincunx/Solitaire-v0").reward_threshold == RATING_STEPS[-1] == 150
    assert gymnasium.spec("Quincunx/VsOpponents-v0").reward_threshold is None


@pytest.mark.parametrize(
    ("make", "name", "options"),
    [
        (make, name, options)
        for name, several in REQUIRED.items()
        for options in several
        for make in (gymnasium.make, gymnasium.make_vec)
        if make is gymnasium.make or gymnasium.spec(name).vector_entry_point
    ],
    ids=lambda value: value.__name__ if callable(value) else str(value),
)
def test_environments_are_made_again_from_json(make: Make, name: str, options: Options) -> None:
    """Opponents by their names survive, and rules in every form; the games are the same."""
    if make is gymnasium.make_vec:
        options = options | {"num_envs": 2, "autoreset_mode": "SameStep"}
    env = make(name, **options)
    text = env.spec.to_json()
    again = make(EnvSpec.from_json(text))
    assert again.spec.to_json() == text
    assert again.unwrapped.rules == env.unwrapped.rules
    same(again.reset(seed=SEED), env.reset(seed=SEED))


def test_ids_are_found_by_their_module_in_a_fresh_process() -> None:
    """``quincunx_env:`` before an id lets Gymnasium import the package, for one game and for many."""
    names = [name for name in REQUIRED if "Text" not in name]
    program = (
        "import sys, gymnasium\n"
        "for name in sys.argv[1:]:\n"
        "    env = gymnasium.make(f'quincunx_env:{name}')\n"
        "    assert env.spec.id == name\n"
        "    envs = gymnasium.make_vec(f'quincunx_env:{name}', num_envs=2)\n"
        "    assert envs.single_observation_space == env.observation_space\n"
        "    envs.reset(seed=0)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, *names], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", [name for name in REQUIRED if name.endswith(("Flat-v0", "Masked-v0"))])
def test_ids_for_programs_take_any_action(name: str) -> None:
    """Observations are vectors, and random actions play whole games."""
    env = gymnasium.make(name)
    check_env(env.unwrapped)
    space = env.observation_space
    assert (space["observation"] if isinstance(space, gymnasium.spaces.Dict) else space).dtype == np.float32
    env.reset(seed=SEED)
    env.action_space.seed(SEED)
    over, steps = False, 0
    while not over:
        _, _, over, _, _ = env.step(env.action_space.sample())
        steps += 1
    assert steps > 3


@pytest.mark.parametrize("make", [SolitaireVectorEnv, VsOpponentsVectorEnv, SideBySideVectorEnv])
def test_vector_environments_have_gymnasiums_class_as_a_base(make: Any) -> None:
    """A library may look among the direct bases of a class only, as skrl does."""
    assert gymnasium.vector.VectorEnv in make.__bases__


def test_the_default_opponent_is_greedy() -> None:
    """As its name, which JSON can hold."""
    env = gymnasium.make("Quincunx/VsOpponents-v0").unwrapped
    assert env.opponents.policies == VsOpponentsEnv(opponents="greedy").opponents.policies  # type: ignore[attr-defined]
    assert env.opponents.policies != VsOpponentsEnv(pool=["uniform"]).opponents.policies  # type: ignore[attr-defined]


# --- Calls out of order ----------------------------------------------------------------------------------------------


@every_environment()
def test_nothing_is_played_before_the_first_reset(case: Case) -> None:
    """Calls that need a game raise; a reset then deals as if nothing had happened."""
    driver = drive(case)
    env = driver.env
    uses: list[Callable[[], Any]]
    errors: tuple[type[Exception], ...] = (ResetNeeded,)
    if isinstance(driver, Agents) and env is env.unwrapped:
        uses = [lambda: env.step(0), lambda: env.observe("player_0"), env.get_state, env.last, lambda: env.game]
    elif isinstance(driver, Agents):  # PettingZoo's wrapper has errors of its own
        uses = [lambda: env.step(0), lambda: env.observe("player_0"), lambda: env.agents]
        errors = (AssertionError, AttributeError)
    elif isinstance(driver, Single):
        uses = [lambda: env.step(0), lambda: env.game, env.action_masks, env.get_state]
    elif isinstance(driver, Batched):
        uses = [lambda: env.step([0] * driver.rows), lambda: env.fork([0]).step([0])]
    else:
        zeros, games = np.zeros(driver.rows, np.int64), env.envs if isinstance(driver, Stable) else env
        uses = [lambda: env.step(zeros), lambda: games.to_game(0)]
        if not isinstance(driver, Stable):
            some = np.array([True, False, True])
            uses += [lambda: env.reset(seed=SEED, options={"reset_mask": some})]
    for use in uses:
        with pytest.raises(errors, match="reset") as error:
            use()
        assert isinstance(driver, Vector) or "reset_mask" not in str(error.value)
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
    driver, rng = Agents(make, {}).started(), np.random.default_rng(0)
    while not all(driver.env.terminations.values()):
        driver.advance(rng)
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


@pytest.mark.parametrize("illegal", ["raise", "next"])
@every_environment(lambda case: issubclass(case[0], Single))
def test_a_single_game_that_is_over_needs_a_reset(case: Case, illegal: str) -> None:
    """Legal or not, no action is taken; nothing changes."""
    driver = drive(case, illegal=illegal).started()
    rng = np.random.default_rng(0)
    while not driver.env.game.over:
        driver.advance(rng)
    with driver.unchanged():
        for action in (0, -1):
            with pytest.raises(ResetNeeded, match=r"over.*reset\(\)") as error:
                driver.step(action)
            assert "reset_mask" not in str(error.value)


@pytest.mark.parametrize("illegal", ["raise", "next"])
@every_environment(lambda case: case[2].get("autoreset_mode") is AutoresetMode.DISABLED)
def test_rows_that_are_over_need_a_reset(case: Case, illegal: str) -> None:
    """Without automatic reset; the error names them, and to reset others does not help."""
    driver, rng = drive(case, illegal=illegal).started(), np.random.default_rng(0)
    while not any(game.over for game in driver.games()):
        driver.advance(rng)
    ended = np.array([game.over for game in driver.games()])
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
