"""Baseline agents, one idea to a file; all of them are `quincunx_env.policy.Policy`."""
