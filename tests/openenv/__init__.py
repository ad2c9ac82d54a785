"""Tests that need OpenEnv: `.ci/run openenv`."""
