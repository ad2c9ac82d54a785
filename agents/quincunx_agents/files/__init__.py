"""Readers of policies in files; `quincunx_env.policy_files` finds them by name, and lists them."""
