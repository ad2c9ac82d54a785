"""Positions as text and JSON, game records, and the rules in short."""
