"""Input that is almost valid: numbers of every type, arrays, text, bytes and snapshots with something wrong in them."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from decimal import Decimal
from fractions import Fraction
from operator import index
from typing import Any

import numpy as np
from hypothesis import strategies as st


class Index:
    """An integer of a type of its own."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __index__(self) -> int:
        return self.number

    def __repr__(self) -> str:
        return f"Index({self.number})"


DTYPES = (np.bool_, *(np.int8, np.int16, np.int32, np.int64), *(np.uint8, np.uint16, np.uint32, np.uint64))
FLOATS = (np.float16, np.float32, np.float64)
OTHER_DTYPES = (*FLOATS, np.complex128, np.str_, np.bytes_, np.object_)

KINDS: list[Any] = [
    *(Index, *DTYPES, *DTYPES, *FLOATS, float, complex, str, bool, Decimal, Fraction, np.str_, np.array),
    *(lambda number: [number], lambda number: (number, number), lambda number: np.array([number])),
]
"""Functions of a number."""

EDGES = [-1, -2, 0, 1, 2, 5, 36, 41, 52, 130, 255, 256, 2**15, 2**31, 2**32, 2**63 - 1, 2**63, 2**64, -(2**63), 10**30]

JUNK: list[Any] = [
    *(None, True, False, "", "0", "AM", "\ud800", "\0", b"1", b"", [], (), {}, {"deal": None}, [None], [[0]]),
    *(float("nan"), float("inf"), 1.5, -0.5, 1j, 10**400, Ellipsis, object, len),
    *(np.array([]), np.array(None), np.array("1"), np.nan, np.datetime64("NaT"), np.array([[1]])),
]


def _convert(kind: Any, number: int) -> Any:
    with np.errstate(all="ignore"):
        try:
            return kind(number)
        except OverflowError:  # -1 is no uint8
            return number


def junk() -> st.SearchStrategy[Any]:
    """What is hardly ever right."""
    return st.sampled_from(JUNK)


def numbers(valid: Sequence[int]) -> st.SearchStrategy[Any]:
    """Valid numbers and others, of every type; and junk."""
    number = st.sampled_from([*valid, *EDGES]) if len(valid) < 100 else st.sampled_from(valid) | st.sampled_from(EDGES)
    return st.sampled_from(valid) | st.builds(_convert, st.sampled_from(KINDS), number) | number | junk()


@st.composite
def arrays(draw: st.DrawFn, valid: Sequence[Any]) -> Any:
    """These numbers as a list or an array of any type, with entries changed, lost or added; or something else."""
    values = list(valid)
    match draw(st.integers(0, 7)):
        case 0 | 1:
            return np.array(values)
        case 2:
            return draw(junk() | st.sampled_from([0, tuple(values), np.array([values, values]), [*values, *values]]))
        case 3 if values:
            del values[draw(st.integers(0, len(values) - 1))]
        case 4:
            values.append(draw(numbers([0])))
        case 5 | 6 if values:
            values[draw(st.integers(0, len(values) - 1))] = draw(numbers([0, 1, 2]))
    dtype = draw(st.sampled_from([None, *DTYPES, *OTHER_DTYPES]))
    try:
        with np.errstate(all="ignore"):
            return values if dtype is None else np.array(values, dtype)
    except (OverflowError, TypeError, ValueError):
        return values


WORDS = [
    "0",
    "7",
    "-1",
    "AM",
    "X",
    "5H",
    "99999999999999999999",
    "",
    "é",
    "²",
    "٣",
    "\0",
    "\n",
    "\r",
    "#",
    "=",
    "|",
    "/",
]
WORDS += ["\ud800", "\x85", "\u2028", "yes", "1e5", "nan", "(", ")", ",", "1_0", "announce", "seed", "check", "0x1"]


@st.composite
def texts(draw: st.DrawFn, valid: str) -> Any:
    """A text with a character, a word or a line lost, doubled, swapped or replaced; arbitrary text; or no text."""
    if draw(st.integers(0, 15)) == 0:
        return draw(st.text(max_size=20) | junk() | st.just(valid.encode()))
    for _ in range(draw(st.integers(0, 2))):
        separator = draw(st.sampled_from(["", " ", "\n"]))
        parts = valid.split(separator) if separator else list(valid)
        if not parts:
            break
        at, other = draw(st.integers(0, len(parts) - 1)), draw(st.integers(0, len(parts) - 1))
        match draw(st.integers(0, 4)):
            case 0:
                del parts[at]
            case 1:
                parts.insert(at, parts[other])
            case 2:
                parts[at], parts[other] = parts[other], parts[at]
            case 3:
                parts[at] = draw(st.sampled_from(WORDS))
            case 4:
                del parts[at : at + draw(st.integers(1, 10))]
        valid = separator.join(parts)
    return valid


@st.composite
def contents(draw: st.DrawFn, valid: bytes) -> bytes:
    """The content of a file with bytes changed, lost or added."""
    at = draw(st.integers(0, len(valid)) | st.integers(0, min(200, len(valid))))
    some = draw(st.binary(max_size=9))
    match draw(st.integers(0, 4)):
        case 0:
            return valid[:at]
        case 1:
            return valid[:at] + some + valid[at + len(some) :]
        case 2:
            return valid[:at] + some + valid[at:]
        case 3:
            return valid[:at] + valid[at + len(some) :]
    return valid + some


@st.composite
def snapshots(draw: st.DrawFn, valid: dict[str, Any], others: Sequence[dict[str, Any]] = ()) -> Any:
    """A snapshot with an entry lost, added or changed; one of another environment; or no snapshot."""
    state = deepcopy(valid)
    match draw(st.integers(0, 11)):
        case 0:
            return draw(junk() | st.just(list(state.items())))
        case 1 if others:
            return deepcopy(draw(st.sampled_from(list(others))))
        case 2:
            state[draw(st.sampled_from(["more", "version", "board", "game"]))] = draw(junk())
            return state
    name = draw(st.sampled_from(sorted(state)))
    value = state[name]
    match draw(st.integers(0, 7)):
        case 0:
            del state[name]
        case 1:
            state[name] = draw(junk())
        case 2 if others:
            state[name] = deepcopy(draw(st.sampled_from(list(others))).get(name))
        case _ if isinstance(value, np.ndarray):
            state[name] = draw(_changed(value))
        case _ if isinstance(value, dict) and value:
            state[name] = draw(snapshots(value))
        case _:
            state[name] = draw(numbers([0, 1]))
    return state


@st.composite
def _changed(draw: st.DrawFn, array: np.ndarray[Any, Any]) -> Any:
    """An array of another type or shape, or with an entry changed."""
    match draw(st.integers(0, 5)):
        case 0:
            dtype = draw(st.sampled_from([*DTYPES, *OTHER_DTYPES]))
            if array.dtype.kind == "U" and dtype in (*DTYPES, *FLOATS, np.complex128):
                return np.zeros(array.shape, dtype)
            with np.errstate(all="ignore"):
                return array.astype(dtype)
        case 1:
            return draw(
                st.sampled_from([array[..., None], array[None], array.ravel()[:0], array.ravel(), array.tolist()])
            )
        case _ if array.size and array.dtype.kind in "iufb":
            new = array.copy()
            value = draw(st.sampled_from([*EDGES, float("nan"), float("inf"), 0.5]))
            try:
                new.reshape(-1)[draw(st.integers(0, array.size - 1))] = value
            except (OverflowError, ValueError):
                new.reshape(-1)[0] = 77
            return new
    return array.ravel()[::-1].reshape(array.shape)


def as_integer(value: Any) -> int | None:
    """The integer that a value of any integer type stands for, None for everything else."""
    try:
        return index(value)
    except TypeError:
        return None
