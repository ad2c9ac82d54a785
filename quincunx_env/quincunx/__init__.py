"""Quincunx by Chris DeLeo, played with the Decktet (RULES.md Part 1)."""

from quincunx_env.quincunx.batch import Batch
from quincunx_env.quincunx.deal import Deal
from quincunx_env.quincunx.fixed import FixedObserver
from quincunx_env.quincunx.game import Game
from quincunx_env.quincunx.observation import Observer
from quincunx_env.quincunx.rules import Rules, multiplayer_rules

__all__ = ["Batch", "Deal", "FixedObserver", "Game", "Observer", "Rules", "multiplayer_rules"]
