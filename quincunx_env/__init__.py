"""Quincunx and its kin: vectorised card games on a grid, as reinforcement-learning environments.

Importing this registers the environments with Gymnasium:

>>> import gymnasium, quincunx_env
>>> env = gymnasium.make("Quincunx/Solitaire-v0")
>>> envs = gymnasium.make_vec("Quincunx/Solitaire-v0", num_envs=1024)
"""

from gymnasium.envs.registration import register

from quincunx_env.batch import Batch
from quincunx_env.cards import card_name, parse_card
from quincunx_env.deal import Deal
from quincunx_env.game import Game, IllegalAction
from quincunx_env.observation import Observer
from quincunx_env.rules import Rules
from quincunx_env.scoring import RATINGS, Score

__version__ = "0.1.0"

__all__ = [
    "RATINGS",
    "Batch",
    "Deal",
    "Game",
    "IllegalAction",
    "Observer",
    "Rules",
    "Score",
    "card_name",
    "parse_card",
]

register(
    id="Quincunx/Solitaire-v0",
    entry_point="quincunx_env.envs.solitaire:SolitaireEnv",
    vector_entry_point="quincunx_env.envs.solitaire:SolitaireVectorEnv",
)
