"""Readers of policies in files, entry points of the group ``quincunx_env.policies.files``."""
