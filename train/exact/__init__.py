"""Exact values in the mini variant.

They are the regret in the solitaire, and the game tree and its equilibrium for two players.
"""
