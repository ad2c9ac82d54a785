"""Exact values in the mini variant: regret, and for two players game tree and equilibrium."""
