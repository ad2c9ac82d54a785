"""Point estimates with 95 % confidence intervals.

Every interval of a mean in this project is Student's t interval, made by `Estimate.of_mean`: the normal quantile 1.96
is too small for few observations (10 deals need 2.26). SciPy provides the quantiles and is imported when the first
interval is computed.

>>> import numpy as np
>>> Estimate.of_mean(np.array([1, 2, 3, 6])).value
3.0
"""

import math
from typing import Any, NamedTuple

import numpy.typing as npt

from quincunx_env.utils.extras import needs_extra


class Estimate(NamedTuple):
    """A point estimate and the ends of its 95 % confidence interval."""

    value: float
    low: float
    high: float

    @classmethod
    def of_mean(cls, values: npt.NDArray[Any]) -> "Estimate":
        """Average independent observations, with Student's t interval.

        Args:
            values: [n], n at least 2.

        Raises:
            ValueError: for fewer than 2 values.
            ImportError: without SciPy.
        """
        if len(values) < 2:
            raise ValueError(f"an interval needs at least 2 values, got {len(values)}")
        error = float(values.std(ddof=1)) / math.sqrt(len(values))
        return cls.of_standard_error(float(values.mean()), error, len(values) - 1)

    def within(self, low: float, high: float) -> "Estimate":
        """Cut the interval of a quantity that lies between two bounds."""
        return Estimate(self.value, *(float(min(max(end, low), high)) for end in self[1:]))

    def cells(self, style: str) -> tuple[str, str]:
        """Format the value and the interval as two cells of a table."""
        return f"{self.value:{style}}", f"{self.low:{style}} to {self.high:{style}}"

    @classmethod
    def of_standard_error(cls, value: float, error: float, degrees_of_freedom: int) -> "Estimate":
        """Compute Student's t interval around a value.

        It extends the 97.5 % quantile times the standard error to either side.

        Raises:
            ImportError: without SciPy.
        """
        half = float(scipy_stats().t.ppf(0.975, degrees_of_freedom)) * error
        return cls(value, value - half, value + half)


def in_words(values: npt.NDArray[Any], low: float = -math.inf, high: float = math.inf) -> str:
    """Write the mean of values between two bounds, with its interval.

    The interval is left out where it cannot be computed.

    >>> import numpy as np
    >>> in_words(np.array([1, 2, 3, 6]), 0, 6)
    '3.0 (0.0 to 6.0)'
    """
    try:
        mean, interval = Estimate.of_mean(values).within(low, high).cells(".1f")
    except (ImportError, ValueError):  # without SciPy, or for a single value
        return f"{values.mean():.1f}"
    return f"{mean} ({interval})"


def scipy_stats() -> Any:
    """Import ``scipy.stats``.

    Raises:
        ImportError: without SciPy, naming the extra that has it.
    """
    with needs_extra("arena", "a confidence interval"):
        from scipy import stats
    return stats
