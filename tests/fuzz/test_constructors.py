"""Constructors: every option has one of its documented values, or the constructor refuses it by name."""

import math
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from hypothesis import strategies as st

from quincunx_env import (
    BatchedGames,
    SolitaireEnv,
    SolitaireVectorEnv,
    VsOpponentsEnv,
    VsOpponentsVectorEnv,
    make_observer,
    make_rules,
    quincunx_v0,
    spiral,
    spiral_v0,
)
from quincunx_env.quincunx import Rules
from tests.envs.drivers import solitaire_vec_env, vs_opponents_vec_env
from tests.fuzz.harness import Fuzz
from tests.fuzz.inputs import as_integer, junk, numbers

Values = dict[str, list[Any]]

FLAG = [False, True]
EXTRAS: Values = {"excuse": FLAG, "pawns": FLAG, "flush": FLAG}
SOLITAIRE: Values = EXTRAS | {"edge_contact": FLAG}
QUINCUNX: Values = EXTRAS | {"num_players": [2, 3, 4], "start": ["corners", "open"], "simpleton": FLAG, "match": FLAG}
SPIRAL: Values = {"scoring": ["play", "end"], "fifteens": FLAG, "deals": [1, 2, 4]}
REWARD: Values = {"reward": ["margin", "points", "outcome"]}
OBSERVED: Values = {"preview": FLAG, "padded": FLAG}
SHOWN: Values = OBSERVED | {"observation": ["flat", "float32", "pieces"]}
ILLEGAL: Values = {"illegal": ["raise", "lose", "next"]}
RENDERED: Values = {"render_mode": [None, "ansi"]}
ALONE: Values = SHOWN | ILLEGAL | RENDERED | {"actions": ["joint", "hand", "factored"]}
MODES: Values = {"autoreset_mode": [*AutoresetMode, *(mode.value for mode in AutoresetMode)], "copy": FLAG}
AGAINST: Values = ALONE | REWARD | {"opponents": ["greedy", ["uniform"]], "seat": ["rotate", 0, 1]}
AEC: Values = (
    REWARD
    | OBSERVED
    | ILLEGAL
    | RENDERED
    | {"mask_in": ["obs", "info", "both"], "observation": ["flat", "float32"]}
    | {"actions": ["joint", "hand"]}
)
RULES: Values = {"rules": [None, Rules(num_players=2), {"num_players": 2}, spiral.Rules(), {"deals": 1}]}

SIZE = ("num_envs", "num_games")
FINITE = ("lost_value", "illegal_reward")

NEEDED = {"opponents": "greedy", "game": "spiral"}

CONSTRUCTORS: dict[str, tuple[Callable[..., Any], Values]] = {
    "Rules": (Rules, SOLITAIRE | QUINCUNX | {"num_players": [1, 2, 3, 4]}),
    "spiral.Rules": (spiral.Rules, SPIRAL),
    "make_rules": (lambda **options: make_rules("quincunx", **options), QUINCUNX),
    "make_observer": (lambda **options: make_observer(Rules(), **options), OBSERVED),
    "SolitaireEnv": (SolitaireEnv, SOLITAIRE | ALONE),
    "SolitaireVectorEnv": (SolitaireVectorEnv, SOLITAIRE | ALONE | MODES),
    "SolitaireVecEnv": (lambda num_envs=2, **options: solitaire_vec_env(num_envs, **options), SOLITAIRE | ALONE),
    "VsOpponentsEnv": (VsOpponentsEnv, QUINCUNX | AGAINST),
    "VsOpponentsVectorEnv": (VsOpponentsVectorEnv, SPIRAL | AGAINST | MODES | {"game": ["spiral"]}),
    "VsOpponentsVecEnv": (lambda num_envs=2, **options: vs_opponents_vec_env(num_envs, **options), QUINCUNX | AGAINST),
    "quincunx_v0.env": (quincunx_v0.env, QUINCUNX | AEC),
    "spiral_v0.raw_env": (spiral_v0.raw_env, SPIRAL | AEC),
    "BatchedGames": (
        lambda num_games=2, **options: BatchedGames(num_games, **options),
        QUINCUNX | REWARD | SHOWN | {"autoreset": FLAG},
    ),
}


def documented(name: str, value: Any, valid: Values) -> bool:
    """Whether the documentation allows this value of an option; NumPy's are as good as Python's."""
    value = value.tolist() if isinstance(value, np.generic | np.ndarray) else value
    if name in SIZE:
        return not isinstance(value, bool) and (as_integer(value) or 0) >= 1
    if name in FINITE:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    alike = (type(value) is type(each) or (isinstance(value, str) and isinstance(each, str)) for each in valid[name])
    return any(same and value == each for same, each in zip(alike, valid[name], strict=True))


@pytest.mark.parametrize("name", CONSTRUCTORS)
def test_constructors(name: str, fuzz: Fuzz) -> None:
    make, valid = CONSTRUCTORS[name]
    sizes = numbers([1, 2, 3]).filter(lambda size: (as_integer(size) or 0) < 300)

    def check(data: st.DataObject) -> None:
        options: dict[str, Any] = {option: value for option, value in NEEDED.items() if option in valid}
        for option in data.draw(st.lists(st.sampled_from(sorted(valid)), max_size=4, unique=True)):
            right = st.sampled_from(valid[option])
            options[option] = data.draw(right if data.draw(st.integers(0, 3)) else junk() | numbers([0, 1, 2]))
        if "Vec" in name or name == "BatchedGames":
            options["num_games" if name == "BatchedGames" else "num_envs"] = data.draw(st.just(2) | sizes)
        if "Solitaire" in name:
            options["lost_value"] = data.draw(st.just(0) | numbers([0, -10]))
        unknown = data.draw(st.integers(0, 9)) == 0
        if unknown:
            options[data.draw(st.sampled_from(["player", "seed", "num_player", "Preview"]))] = data.draw(junk())
        made, error = fuzz.attempt(lambda: make(**options), *([TypeError] if unknown else []))
        if error:
            return
        assert not unknown
        wrong = {option: value for option, value in options.items() if not documented(option, value, valid)}
        assert not wrong, f"{wrong} was accepted"
        rules = made if isinstance(made, Rules | spiral.Rules) else getattr(made, "rules", None) or made.envs.rules
        fields = asdict(rules)
        assert all(fields[option] == value for option, value in options.items() if option in fields)
        if hasattr(made, "reset"):
            made.reset()

    fuzz(check, 20)
