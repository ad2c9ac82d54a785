"""Baseline agents, one idea to a file; all of them are `quincunx_env.core.policy.Policy`."""
