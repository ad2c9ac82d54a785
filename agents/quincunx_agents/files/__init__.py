"""Policies in files: readers, the entry points of the group ``quincunx_env.policies.files``, and writers."""
