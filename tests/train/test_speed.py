"""The calls that a step of each interface makes do not grow unnoticed."""

import json

import pytest

pytest.importorskip("sb3_contrib")
pytest.importorskip("tyro")

from train.speed import CALLS, count_calls, versions

MOST = 1.1
"""Growth that the test allows."""


def test_no_step_makes_more_calls_than_stored() -> None:
    """Counted, not timed: the numbers are the same on every machine with these versions."""
    stored = json.loads(CALLS.read_text(encoding="utf-8"))
    if stored["versions"] != versions():
        pytest.skip(f"calls are stored for {stored['versions']}, this is {versions()}")
    now, before = count_calls(), stored["calls"]
    grown = [
        f"{name}: {calls:,} calls a step, {before.get(name, 0):,} are stored"
        for name, calls in now.items()
        if calls > MOST * before.get(name, 0)
    ]
    assert not grown, "; ".join(grown) + "; if that is worth it: python -m train.speed --store-calls"
    assert now.keys() == before.keys()
