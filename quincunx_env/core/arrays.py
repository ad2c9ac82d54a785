"""Types of arrays, sets as bits, and checks of integer arrays.

Axes: B games, n rows or sets, W words of 64 bits.
"""

import reprlib
from typing import Any

import numpy as np
import numpy.typing as npt

from quincunx_env.core.integers import as_array

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Words = npt.NDArray[np.uint64]
Bools = npt.NDArray[np.bool_]
Frame = npt.NDArray[np.uint8]
"""An RGB picture, uint8 [height, width, 3]."""

ONE = np.uint64(1)


def row_numbers(rows: npt.ArrayLike, num_games: int, repeats: bool = False) -> Ints:
    """Return row numbers of rows given as numbers or as a mask.

    Args:
        rows: integers [n], a single one, or a mask bool [B].
        num_games: B.
        repeats: whether a row may occur more than once.

    Returns:
        int64 [n], each from 0 to ``num_games - 1``.

    Raises:
        ValueError: for anything else.
    """
    array = as_array(rows)
    if array.dtype == np.bool_:
        if array.shape != (num_games,):
            raise ValueError(f"a mask of rows must have shape ({num_games},), got {array.shape}")
        return np.flatnonzero(array)
    array = np.atleast_1d(array)
    if array.ndim != 1 or (array.dtype.kind not in "iu" and len(array)):
        raise ValueError(f"rows must be row numbers or a bool mask of all {num_games}, got {shortened(rows)}")
    if len(array) and not (array.min() >= 0 and array.max() < num_games):
        raise ValueError(f"row numbers run from 0 to {num_games - 1}, got {shortened(rows)}")
    numbers: Ints = array.astype(np.int64, copy=False) if len(array) else np.zeros(0, np.int64)
    if not repeats:
        named = np.zeros(num_games, np.bool_)
        named[numbers] = True
        if np.count_nonzero(named) != len(numbers):
            raise ValueError(f"row {np.bincount(numbers).argmax()} is given twice: each row may occur once")
    return numbers


def in_range(name: str, values: npt.ArrayLike, count: int, end: int) -> Ints:
    """Return integers as an array, checked.

    Args:
        name: of the values, for the error message.
        values: integers [n].
        count: n.
        end: least integer that is too large.

    Returns:
        int64 [n].

    Raises:
        ValueError: if the values are not integers from 0 to ``end - 1``, or not as many.
    """
    array = as_array(values)
    if array.shape != (count,) or array.dtype.kind not in "iu":
        raise ValueError(f"{count} integer {name} are needed, got {array.dtype} of shape {array.shape}")
    if count and not (array.min() >= 0 and array.max() < end):
        raise ValueError(f"{name} run from 0 to {end - 1}, got {array[(array < 0) | (array >= end)][0]}")
    return array.astype(np.int64, copy=False)


def shortened(value: object) -> str:
    """Return the ``repr`` of a value in one line."""
    return reprlib.repr(value.tolist() if isinstance(value, np.ndarray) else value)


def as_bits(cards: npt.NDArray[np.integer[Any]], members: Bools | bool = True) -> Words:
    """Convert sets of cards, the ``members`` of [n, m], to bits: integers [n, m] -> uint64 [n]."""
    bits = np.where(members, ONE << np.where(members, cards, 0).astype(np.uint64), np.uint64(0))
    found: Words = np.bitwise_or.reduce(bits, axis=1)
    return found


def unpack(words: Words, count: int) -> npt.NDArray[np.uint8]:
    """Unpack the low ``count`` bits of words. uint64 [..., W] -> uint8 [..., count] of 0 and 1."""
    octets = np.ascontiguousarray(words).astype("<u8", copy=False).view(np.uint8)
    return np.unpackbits(octets, axis=-1, count=count, bitorder="little")
