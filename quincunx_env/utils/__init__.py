"""Helpers that know nothing of the games."""
