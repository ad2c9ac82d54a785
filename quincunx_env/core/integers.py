"""Checks of integers (seats, cards, cells, actions, rows, seeds) and of options; values of NumPy's types."""

from collections.abc import Iterable, Sequence
from dataclasses import fields
from functools import wraps
from operator import index
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

AnyClass = TypeVar("AnyClass", bound=type[Any])


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
    """Return an integer of any type as a plain int.

    Both limits are allowed, and the error has the ``name``.

    Raises:
        ValueError: if it is not an integer, or out of range.
    """
    try:
        number = as_integer(value)
    except TypeError:
        number = least - 1
    if not least <= number <= most:
        raise ValueError(f"{name} must be an integer from {least} to {_written(most)}, got {value!r:.100}")
    return number


def check_option(name: str, value: Any, *allowed: Any) -> None:
    """Check that the value of an option is allowed.

    Raises:
        ValueError: naming the option and its allowed values.
    """
    # True and 1.0 are equal to 1, but no number of a seat.
    if not any(type(value) is type(each) and value == each for each in allowed):
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}")


def check_names(function: str, given: Iterable[str], known: Sequence[str]) -> None:
    """Check the keywords of a call.

    Raises:
        TypeError: naming the first unknown one and those that exist. It begins as Python's own, because libraries read
            these words.
    """
    if unknown := [name for name in given if name not in known]:
        options = ", ".join(known)
        raise TypeError(f"{function}() got an unexpected keyword argument {unknown[0]!r}; its options are {options}")


def with_checked_names(cls: AnyClass) -> AnyClass:
    """Let a dataclass refuse unknown keywords by `check_names`; a decorator."""
    init, known = cls.__init__, [each.name for each in fields(cls) if each.init]

    @wraps(init)
    def checked(self: Any, *args: Any, **kwargs: Any) -> None:
        check_names(cls.__name__, kwargs, known)
        init(self, *args, **kwargs)

    cls.__init__ = checked
    return cls


def as_array(values: Any) -> npt.NDArray[Any]:
    """Return a caller's values as an array, to be checked. If they make none, it has dtype object and shape ()."""
    try:
        return np.asarray(values)
    except (TypeError, ValueError):  # rows of different lengths
        return np.full((), None)


def as_plain(value: Any) -> Any:
    """Replace NumPy's scalars and arrays by Python's values and lists, also in lists, tuples and dictionaries."""
    if isinstance(value, np.bool | np.integer | np.floating | np.str_):
        return value.item()
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufUTO":
        return as_plain(value.tolist())
    if type(value) is dict:
        return {key: as_plain(each) for key, each in value.items()}
    return type(value)(map(as_plain, value)) if type(value) in (list, tuple) else value


def _written(number: int) -> str:
    return "2**63 - 1" if number == 2**63 - 1 else str(number)
