"""Policies in files: readers and writers. Readers are the entry points of the group ``quincunx_env.policies.files``."""
