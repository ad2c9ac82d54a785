"""Exact values in the mini variant: regret in the solitaire, the game tree and its equilibrium for two players."""
