"""Choice among values that are equal up to rounding.

Actions that are mirror images of each other have the same value. A matrix product in float32 adds it in an order that
depends on the batch size, the processor and the version of the library. The sums differ in their last bits, which would
decide between such actions. Values that differ by at most `TOLERANCE` are therefore equal here, and the lowest action
is chosen. Comparing with the highest value is safer than rounding: two equal values may lie on both sides of a boundary
between rounded ones.
"""

import numpy as np
import numpy.typing as npt

from quincunx_env.core.policy import NotFiniteError

Ints = npt.NDArray[np.int64]

TOLERANCE = 1e-3
"""In points, or in units of a logit. It is thirty times the largest difference, 3e-5, between values of the same
position evaluated alone and with others. It is far below the gaps between actions that are not equal."""


def require_finite(values: npt.NDArray[np.floating]) -> None:
    """Check the values of legal actions that a network has computed.

    Raises:
        NotFiniteError: if one is NaN or infinite.
    """
    if not np.isfinite(values).all():
        problem = "it computes numbers that are none (NaN) or infinite for legal actions"
        raise NotFiniteError(f"{problem}: its weights are damaged or too large")


def best(values: npt.NDArray[np.floating], tolerance: float = TOLERANCE) -> Ints:
    """Return the lowest index of the highest value of each row.

    Float [n, A] -> int64 [n]; values may be -inf.

    Raises:
        NotFiniteError: if one is NaN, or the highest is infinite.
    """
    highest = values.max(axis=1, keepdims=True)
    require_finite(highest[~np.isneginf(highest)])  # with announcements, no action has a value
    found: Ints = (values >= highest - tolerance).argmax(axis=1)
    return found


def ranking(values: npt.NDArray[np.floating]) -> Ints:
    """Sort indices by descending value; equal values by ascending index.

    Float [A] -> int64 [A]; values may be -inf. A series of values with differences of at most `TOLERANCE` from one to
    the next counts as equal.
    """
    order = np.argsort(-values, kind="stable")
    ordered = values[order]
    groups = np.concatenate([[0], np.cumsum(ordered[1:] < ordered[:-1] - TOLERANCE)])
    found: Ints = order[np.lexsort((order, groups))]
    return found


def best_of_rows(values: npt.NDArray[np.floating], rows: Ints) -> Ints:
    """Return the index of each row's highest value, first of equals.

    Values are float [m], ``rows`` ascending int64 [m], the result int64 [n].
    """
    _, starts, counts = np.unique(rows, return_index=True, return_counts=True)
    least = np.repeat(np.maximum.reduceat(values, starts) - TOLERANCE, counts)
    equal = np.flatnonzero(values >= least)
    found: Ints = equal[np.unique(rows[equal], return_index=True)[1]]
    return found


def highest(values: npt.NDArray[np.floating], count: int) -> npt.NDArray[np.bool_]:
    """Mark the ``count`` highest values of each row, and equal ones. Float [n, A] -> bool [n, A]."""
    count = min(count, values.shape[1])
    least = np.partition(values, -count, axis=1)[:, -count, None]
    found: npt.NDArray[np.bool_] = values >= least - TOLERANCE
    return found


def highest_of_rows(values: npt.NDArray[np.floating], rows: Ints, count: int) -> npt.NDArray[np.bool_]:
    """Mark the ``count`` highest values of each row, and equal ones.

    Args:
        values: float [m].
        rows: of the values, ascending int64 [m]; n different ones.
        count: of values of a row.

    Returns:
        bool [m].
    """
    _, starts, row, counts = np.unique(rows, return_index=True, return_inverse=True, return_counts=True)
    most = int(counts.max(initial=1))
    count = min(count, most)
    dense = np.full((len(starts), most), -np.inf, values.dtype)
    dense[row, np.arange(len(rows)) - starts[row]] = values
    least = np.partition(dense, -count, axis=1)[:, -count]
    found: npt.NDArray[np.bool_] = values >= least[row] - TOLERANCE
    return found
