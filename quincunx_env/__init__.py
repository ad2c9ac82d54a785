"""Quincunx and its kin: vectorised card games on a grid, as reinforcement-learning environments.

Importing this registers with Gymnasium the solitaire, and one learner among opponents (``Quincunx/VsOpponents-v0``):

>>> import gymnasium, quincunx_env
>>> env = gymnasium.make("Quincunx/Solitaire-v0")
>>> envs = gymnasium.make_vec("Quincunx/Solitaire-v0", num_envs=1024)

The games for two to four players are PettingZoo's, one at a time, or many at once:

>>> from quincunx_env import quincunx_v0
>>> env = quincunx_v0.env(num_players=3)
>>> from quincunx_env.envs.batched import BatchedGames
>>> games = BatchedGames(1024, num_players=3)
"""

import pettingzoo
from gymnasium.envs.registration import register

from quincunx_env.core.game import IllegalAction
from quincunx_env.core.resample import resample
from quincunx_env.notation.record import Record
from quincunx_env.notation.text import parse_action, print_action, to_json, to_text
from quincunx_env.quincunx import Batch, Deal, Game, Observer, Rules
from quincunx_env.quincunx.cards import card_name, parse_card
from quincunx_env.quincunx.scoring import RATINGS, Score

__version__ = "0.1.0"

__all__ = [
    "RATINGS",
    "Batch",
    "Deal",
    "Game",
    "IllegalAction",
    "Observer",
    "Record",
    "Rules",
    "Score",
    "card_name",
    "parse_action",
    "parse_card",
    "print_action",
    "resample",
    "to_json",
    "to_text",
]

register(
    id="Quincunx/Solitaire-v0",
    entry_point="quincunx_env.envs.solitaire:SolitaireEnv",
    vector_entry_point="quincunx_env.envs.solitaire:SolitaireVectorEnv",
)

register(
    id="Quincunx/VsOpponents-v0",
    entry_point="quincunx_env.envs.vs_opponents:VsOpponentsEnv",
    vector_entry_point="quincunx_env.envs.vs_opponents:VsOpponentsVectorEnv",
)

if hasattr(pettingzoo, "register"):  # from 1.27 on
    pettingzoo.register("aec", "Quincunx/Quincunx-v0", entry_point="quincunx_env.quincunx_v0:env")
    pettingzoo.register("aec", "Quincunx/Spiral-v0", entry_point="quincunx_env.spiral_v0:env")
