"""Positions as text and JSON, and game records."""
