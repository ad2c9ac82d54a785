"""The spiral game by David Parlett, played with 52 cards (RULES.md Part 2)."""

from quincunx_env.spiral.batch import Batch
from quincunx_env.spiral.deal import Deal
from quincunx_env.spiral.game import Game
from quincunx_env.spiral.observation import Observer
from quincunx_env.spiral.rules import Rules

__all__ = ["Batch", "Deal", "Game", "Observer", "Rules"]
