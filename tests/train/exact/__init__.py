"""Exact values of the mini variant."""
