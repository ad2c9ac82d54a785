"""Agents for Quincunx."""
