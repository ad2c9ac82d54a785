"""The fixture ``fuzz``: a short run by default, the same every time, and a long one in the slow suite."""

from collections.abc import Iterator

import pytest

from tests.fuzz.harness import LONG, Fuzz


@pytest.fixture(params=[1, pytest.param(LONG, marks=pytest.mark.slow)], ids=["short", "long"])
def fuzz(request: pytest.FixtureRequest) -> Iterator[Fuzz]:
    """See `Fuzz`."""
    run = Fuzz(request.param)
    yield run
    print(f"{run.accepted + run.refused} inputs, {run.refused} of them refused")
