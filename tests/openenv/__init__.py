"""Tests that need OpenEnv, once a week: `.github/workflows/weekly.yml`."""
