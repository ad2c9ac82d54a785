"""Shared by the tests of the solitaire: options and random legal play."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from gymnasium.vector import AutoresetMode

from quincunx_env.envs.solitaire import SolitaireEnv, SolitaireVectorEnv
from tests.envs.agents import Options

ID = "Quincunx/Solitaire-v0"
SEED = 2_000
ROWS = 4
FINAL = {"score", "value", "lost", "rating", "penalty", "seed", "game"}

OPTIONS: list[Options] = [
    {},
    {"observation": "vector", "preview": True, "actions": "hand", "lost_value": -10},
    {"edge_contact": True, "excuse": True, "pawns": True, "flush": True, "preview": True, "illegal": "next"},
    {"flush": True, "observation": "vector", "excuse": True, "illegal": "next", "actions": "hand", "lost_value": 2.5},
]
"""Options that between them cover every one of them."""

AnyEnv = SolitaireEnv | SolitaireVectorEnv
Masks = npt.NDArray[np.bool_]

every_mode = pytest.mark.parametrize("mode", AutoresetMode, ids=lambda mode: mode.name)


def choose(env: AnyEnv, rng: np.random.Generator, masks: Masks | None = None, illegal: float = 0.0) -> Any:
    """A random legal action for each game, an arbitrary one with probability ``illegal``; zeros where none is legal."""
    masks = env.action_masks() if masks is None else masks.astype(np.bool_)

    def one(mask: Masks) -> int:
        wild, draw = rng.random(2).tolist()
        allowed = np.flatnonzero(mask | (wild < illegal))
        return int(allowed[int(draw * len(allowed))]) if mask.any() else 0

    actions = np.array([one(mask) for mask in np.atleast_2d(masks)])
    return actions if isinstance(env, SolitaireVectorEnv) else actions[0]


def row_of(batched: Any, row: int) -> Any:
    """One row of batched observations."""
    return {piece: values[row] for piece, values in batched.items()} if isinstance(batched, dict) else batched[row]
