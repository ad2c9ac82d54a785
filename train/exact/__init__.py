"""Exact values in the mini variant: regret, game tree, equilibrium. The last two are for two players."""
