"""Tests that need OpenEnv."""
