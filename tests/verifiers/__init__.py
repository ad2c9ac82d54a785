"""Tests that need verifiers: `.ci/run verifiers`."""
