"""Base classes and functions shared by all games."""
