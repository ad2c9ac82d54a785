"""Checks of integer arguments: seats, cards, cells, actions, rows and seeds."""

from operator import index
from typing import Any

import numpy as np
import numpy.typing as npt


def as_integer(value: Any) -> int:
    """Return an integer of any type, NumPy's included, as a plain int.

    Raises:
        TypeError: if it is not an integer; a bool is not one here.
    """
    if isinstance(value, bool | np.bool):
        raise TypeError("a bool is not an integer here")
    try:
        return index(value)
    except np.ma.MaskError as error:
        raise TypeError(str(error)) from None


def check_integer(name: str, value: Any, least: int, most: int) -> int:
    """Return an integer of any type within limits as a plain int.

    Args:
        name: what the integer is, for the message.
        value: to be checked.
        least: its lower limit.
        most: its upper limit, itself allowed.

    Raises:
        ValueError: if it is not an integer, or out of range.
    """
    try:
        number = as_integer(value)
    except TypeError:
        number = least - 1
    if not least <= number <= most:
        raise ValueError(f"{name} must be an integer from {least} to {_written(most)}, got {value!r}")
    return number


def as_array(values: Any) -> npt.NDArray[Any]:
    """Return a caller's values as an array, to be checked.

    Values that make no array become one of dtype object and shape ().
    """
    try:
        return np.asarray(values)
    except (TypeError, ValueError):  # rows of different lengths
        return np.full((), None)


def _written(number: int) -> str:
    return "2**63 - 1" if number == 2**63 - 1 else str(number)
