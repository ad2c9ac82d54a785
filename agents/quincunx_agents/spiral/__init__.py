"""Agents for the spiral game."""
