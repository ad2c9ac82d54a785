"""Subcommands of ``quincunx`` that belong to no other package."""
