"""Runs tests with generated input."""

from collections.abc import Callable
from typing import Any, NamedTuple

from gymnasium.error import ResetNeeded
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from quincunx_env import IllegalAction
from quincunx_env.notation.record import RecordError

LONG = 10
"""Inputs of the long run for each one of the short run."""

DOCUMENTED = (ValueError, IllegalAction, RecordError, ResetNeeded)
"""Errors that wrong input may raise anywhere; tests add others."""

FOREIGN = ("ambiguous", "broadcast", "could not convert", "inhomogeneous", "invalid literal", "unpack", "iterable")
"""Words from the messages of Python and NumPy, which do not say what is wrong with an argument."""


class Outcome(NamedTuple):
    """What a call returned, or the error it raised."""

    result: Any
    error: Exception | None


class Fuzz:
    """Runs tests with generated input, and counts the calls.

    Args:
        factor: of the numbers of examples.
    """

    def __init__(self, factor: int) -> None:
        self.factor = factor
        self.accepted = self.refused = 0

    def __call__(self, check: Callable[[st.DataObject], None], examples: int) -> None:
        """Run ``check`` with this many examples, or in the long run with `LONG` times as many."""
        config = settings(
            max_examples=examples * self.factor,
            derandomize=self.factor == 1,
            database=None,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            phases=(Phase.generate, Phase.shrink),
            report_multiple_bugs=False,
        )
        config(given(st.data())(check))()

    def attempt(self, call: Callable[[], Any], *errors: type[Exception]) -> Outcome:
        """Call a function. Any error that is neither documented nor among ``errors`` fails the test."""
        documented: tuple[type[Exception], ...] = (*DOCUMENTED, *errors)
        try:
            outcome = Outcome(call(), None)
        except documented as error:
            outcome = Outcome(None, error)
        self.accepted += outcome.error is None
        self.refused += outcome.error is not None
        if outcome.error:
            assert type(outcome.error) in documented, f"{outcome.error!r} is not documented"
            assert not [word for word in FOREIGN if word in str(outcome.error)], f"{outcome.error!r} does not help"
        return outcome
