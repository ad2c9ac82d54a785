"""Tests of what runs on Ray, with what is installed with it; without Ray nothing here is collected."""

import importlib.util
import os

import pytest

if importlib.util.find_spec("ray") is None:
    collect_ignore_glob = ["test_*.py"]

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # Ray would report that it is used


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Ray's own warnings are not ours."""
    for item in items:
        if "rllib" in item.path.parts:
            item.add_marker(pytest.mark.filterwarnings("ignore"))
