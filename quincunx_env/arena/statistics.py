"""Point estimates with 95 % confidence intervals.

Every interval of a mean in this project is Student's t interval, made by `Estimate.of_mean`: the normal quantile 1.96
is too small for few observations (10 deals need 2.26). SciPy provides the quantiles and is imported when the first
interval is computed.

>>> Estimate.of_mean(np.array([1, 2, 3, 6])).value
3.0
"""

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from quincunx_env.utils.extras import needs_extra


class Estimate(NamedTuple):
    """A point estimate and the ends of its 95 % confidence interval. An end that the data do not bound is infinite."""

    value: float
    low: float
    high: float

    @classmethod
    def of_mean(cls, values: npt.NDArray[Any], common_error: float = 0.0) -> "Estimate":
        """Average independent observations, with Student's t interval.

        Equal observations give no interval: its ends are infinite.

        Args:
            values: [n], n at least 2.
            common_error: standard error of a constant that all values contain.

        Raises:
            ValueError: for fewer than 2 values.
            ImportError: without SciPy.
        """
        if len(values) < 2:
            raise ValueError(f"an interval needs at least 2 values, got {len(values)}")
        if np.ptp(values) == 0:
            return cls(float(values[0]), -math.inf, math.inf)
        value, error = float(values.mean()), math.hypot(values.std(ddof=1) / math.sqrt(len(values)), common_error)
        half = float(scipy_stats().t.ppf(0.975, len(values) - 1)) * error
        return cls(value, value - half, value + half)

    @classmethod
    def of_share(cls, values: npt.NDArray[Any]) -> "Estimate":
        """Average independent shares from 0 to 1, as `of_mean`, within these bounds.

        If all of them are 0, or all 1, the interval is the exact one of Clopper and Pearson (1934).

        >>> Estimate.of_share(np.ones(6)).cells(".0%")
        ('100%', '54% to 100%')
        """
        value, low, high = cls.of_mean(values)
        if value in (0, 1):
            low, high = (exact_share(len(values)), 1.0) if value else (0.0, 1 - exact_share(len(values)))
        return cls(value, max(low, 0.0), min(high, 1.0))

    def cells(self, style: str) -> tuple[str, str]:
        """Format the value and the interval as two cells of a table. No interval is ``-``."""
        value, low, high = (written(self.value, style), *(f"{end:{style.replace('.', 'z.')}}" for end in self[1:]))
        if math.isinf(self.low):
            return value, "-" if math.isinf(self.high) else f"at most {high}"
        return value, f"at least {low}" if math.isinf(self.high) else f"{low} to {high}"

    def to_json(self) -> dict[str, float | None]:
        """Return value and ends as JSON values; None for an infinite end."""
        return {name: each if math.isfinite(each) else None for name, each in self._asdict().items()}


def written(value: float, style: str) -> str:
    """Format a figure, never as -0. A share is written as 0 % or 100 % only if it is exactly that.

    >>> written(-0.04, "+.1f"), written(0.9996, ".1%"), written(0.0004, ".1%"), written(1, ".1%")
    ('+0.0', '>99.9%', '<0.1%', '100.0%')
    """
    shown = format(value, style.replace(".", "z."))
    if not style.endswith("%") or not 0 < value < 1:
        return shown
    least = 10.0 ** -(int(style[-2]) + 2)
    if shown == format(1, style):
        return f">{1 - least:{style}}"
    return f"<{least:{style}}" if shown == format(0, style) else shown


def exact_share(n: int) -> float:
    """Return the low end of the exact interval for n of n."""
    return float(0.025 ** (1 / n))


def in_words(values: npt.NDArray[Any], percent: bool = False) -> str:
    """Write a mean, or a share in percent, with its interval.

    The interval is left out where it cannot be computed.

    >>> in_words(np.array([1, 2, 3, 6])), in_words(np.ones(6), percent=True)
    ('3.0 (-0.4 to 6.4)', '100.0 (54.1 to 100.0)')
    """
    try:
        estimate = Estimate.of_share(values) if percent else Estimate.of_mean(values)
    except (ImportError, ValueError):  # without SciPy, or for a single value
        estimate = Estimate(float(values.mean()), -math.inf, math.inf)
    mean, interval = (cell.replace("%", "") for cell in estimate.cells(".1%" if percent else ".1f"))
    return mean if interval == "-" else f"{mean} ({interval})"


def scipy_stats() -> Any:
    """Import ``scipy.stats``.

    Raises:
        ImportError: without SciPy, naming the extra that has it.
    """
    with needs_extra("arena", "a confidence interval"):
        from scipy import stats
    return stats
