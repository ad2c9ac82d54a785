"""Quincunx for two to four players, for PettingZoo: ``from quincunx_env import quincunx_v0``."""

from quincunx_env.envs.multiplayer import env, raw_env

__all__ = ["env", "raw_env"]
