"""Encodings of observations for neural networks: cards become features, numbers are scaled.

Each `quincunx_env.core.observation.Piece` declares how its integers become inputs of a network. An `Encoder` gathers
the pieces in one float32 vector, and restores the integers from it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise
from math import prod
from operator import mul
from struct import Struct
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from quincunx_env.core.arrays import Ints, as_bits
from quincunx_env.core.cards import EMPTY
from quincunx_env.core.hand import HandActions, held
from quincunx_env.utils.markdown import markdown_table

Floats = npt.NDArray[np.float32]
Values = npt.NDArray[np.integer[Any]]

_CHUNK = 512
"""Games encoded together, so that intermediate arrays stay in the cache."""


class Encoding(Protocol):
    """Conversion of integers to inputs of a network, and back."""

    def encode(self, values: Values, out: Floats) -> None:
        """Encode integers ``[n, *shape]`` in ``out``, float32 [n, size]."""

    @property
    def row(self) -> Callable[[Any], bytes]:
        """Function from the integers of one game to the bytes of float32 [size]."""

    def decode(self, inputs: Floats, shape: tuple[int, ...]) -> Ints:
        """Decode float32 [n, size] to int64 ``[n, *shape]``. This is the inverse of `encode`."""

    def limits(self, values: Values) -> Floats:
        """Return lowest and highest inputs, float32 [2, size], of lowest and highest integers ``[2, *shape]``."""

    def __str__(self) -> str:
        """Describe the inputs, for tables."""


class _Uncached:
    """Base class that leaves cached properties out of pickles and copies. Functions cannot be pickled."""

    def __getstate__(self) -> dict[str, Any]:
        cached = {name for name in vars(self) if isinstance(getattr(type(self), name, None), cached_property)}
        return {name: value for name, value in vars(self).items() if name not in cached}


class _Rows(dict[int, bytes]):
    """Inputs of single integers by value, made at their first use."""

    def __init__(self, encoding: "Scaled | Features", size: int) -> None:
        super().__init__()
        self._encoding, self._size = encoding, size

    def __missing__(self, value: int) -> bytes:
        inputs = np.empty((1, self._size), np.float32)
        self._encoding.encode(np.array([[value]]), inputs)
        row = self[value] = inputs.tobytes()
        return row


@dataclass(frozen=True, eq=False)
class Scaled(_Uncached):
    """Integers divided by a unit."""

    unit: float | Sequence[float] = 1
    """Divisor of all numbers, or of each along the last axis."""

    def encode(self, values: Values, out: Floats) -> None:
        """Divide by the unit."""
        inputs = values.reshape(len(values), -1).astype(np.float32)  # contiguous, which makes the product fast
        if self.unit != 1:
            inputs *= self._factors(inputs.shape[1])
        out[:] = inputs

    @cached_property
    def row(self) -> Callable[[Any], bytes]:
        """Divide by the unit."""
        factor, of_one, factors = self._factor, _Rows(self, 1).__getitem__, np.atleast_1d(self._factor).tolist()
        pack = Struct(f"={len(factors)}f").pack

        def row(values: Any) -> bytes:
            if isinstance(values, np.ndarray):
                return np.multiply(values, factor, dtype=np.float32).tobytes()
            if factor.ndim == 0:
                return b"".join(map(of_one, values))
            return pack(*map(mul, values, factors))  # products of doubles, rounded once: products of floats

        return row

    def decode(self, inputs: Floats, shape: tuple[int, ...]) -> Ints:
        """Multiply by the unit."""
        integers: Ints = np.rint(inputs.reshape(-1, *shape) * np.asarray(self.unit)).astype(np.int64)
        return integers

    def limits(self, values: Values) -> Floats:
        """Divide by the unit."""
        limits = np.empty((2, values[0].size), np.float32)
        self.encode(values, limits)
        return limits

    @cached_property
    def _factor(self) -> Floats:
        return np.float32(1) / np.asarray(self.unit, np.float32)

    @cached_property
    def _factors(self) -> Callable[[int], Floats]:
        return cache(lambda size: np.resize(self._factor, size))

    def __str__(self) -> str:
        unit = self.unit
        return "itself" if unit == 1 else f"/ {unit if isinstance(unit, int | float) else ', '.join(map(str, unit))}"


@dataclass(frozen=True, eq=False)
class Features(_Uncached):
    """A row of features for each integer."""

    names: str
    """The features in words."""
    table: Floats
    """[integers, features]: the rows of ascending integers, all different."""
    first: int = EMPTY
    """The integer of the first row."""

    def encode(self, values: Values, out: Floats) -> None:
        """Look up the row of each integer."""
        out[:] = self._wide.take(values.reshape(len(values), -1) - self.first).view(np.float32)

    @cached_property
    def row(self) -> Callable[[Any], bytes]:
        """Look up the row of each integer."""
        of_one = _Rows(self, self.table.shape[1]).__getitem__
        return lambda values: b"".join(map(of_one, values))

    def decode(self, inputs: Floats, shape: tuple[int, ...]) -> Ints:
        """Find the integer of each row."""
        rows = inputs.reshape(-1, *shape, 1, self.table.shape[1])
        integers: Ints = (rows == self.table).all(axis=-1).argmax(axis=-1) + self.first
        return integers

    def limits(self, values: Values) -> Floats:
        """Return the lowest and highest features."""
        return np.tile([self.table.min(axis=0), self.table.max(axis=0)], values[0].size)

    @cached_property
    def _wide(self) -> npt.NDArray[np.void]:
        """The rows as one wide element each, [integers]."""
        return np.ascontiguousarray(self.table).view(f"V{self.table[0].nbytes}")[:, 0]

    def __str__(self) -> str:
        return self.names


@dataclass(frozen=True, eq=False)
class Each(_Uncached):
    """An encoding for each entry of a piece."""

    entries: tuple[Features, ...]

    def encode(self, values: Values, out: Floats) -> None:
        """Encode each entry."""
        for entry, column, part in zip(self.entries, values.T, self._split(out), strict=True):
            entry.encode(column, part)

    @cached_property
    def row(self) -> Callable[[Any], bytes]:
        """Encode each entry."""
        rows = [entry.row for entry in self.entries]
        return lambda values: b"".join([row((value,)) for row, value in zip(rows, values, strict=True)])

    def decode(self, inputs: Floats, shape: tuple[int, ...]) -> Ints:
        """Decode each entry."""
        parts = zip(self.entries, self._split(inputs), strict=True)
        return np.stack([entry.decode(part, ()) for entry, part in parts], axis=1)

    def _split(self, inputs: Floats) -> list[Floats]:
        return np.split(inputs, np.cumsum([entry.table.shape[1] for entry in self.entries])[:-1], axis=1)

    def limits(self, values: Values) -> Floats:
        """Return the limits of each entry."""
        return np.concatenate([entry.limits(values[:, :1]) for entry in self.entries], axis=1)

    def __str__(self) -> str:
        return "; ".join(map(str, self.entries))


def one_hot(size: int, names: str) -> Features:
    """Return one-hot features of the integers from 0 on. -1 is all 0."""
    return Features(names, np.eye(size + 1, size, -1, np.float32))


class Piece(NamedTuple):
    """A named part of an observation."""

    name: str
    shape: tuple[int, ...]
    dtype: type[np.integer[Any]]
    low: int | Sequence[int]
    """Lowest value of all entries, or of each along the last axis."""
    high: int | Sequence[int]
    """Highest values, in the same form."""
    meaning: str
    encoding: Encoding
    """Its inputs of a network."""
    by_place: Encoding | None = None
    """Its inputs by place of the hand instead of by card: of the card at each place, or of the values of this card."""

    @property
    def size(self) -> int:
        """Number of entries."""
        return prod(self.shape)

    @property
    def limits(self) -> Values:
        """Lowest and highest values, ``[2, *shape]``."""
        return np.stack([np.full(self.shape, end, self.dtype) for end in (self.low, self.high)])


class Part(NamedTuple):
    """A part of the vector of an `Encoder`."""

    name: str
    encoding: Encoding
    limits: Values
    """Lowest and highest integers, ``[2, *shape]``."""


class Encoder(_Uncached):
    """Observations as float32 vectors for networks, and back.

    Args:
        pieces: the pieces in order.
        places: the places of the hand, to encode pieces place by place; None encodes them card by card.
        shown: returns the cards whose values stand at the places, [n, P], from the cards held there and the pieces.

    Attributes:
        slices: slice of each part in the vector, by name. A part is a piece, or ``rest``: by place, the cards of the
            hand beyond the last place.
        size: length of the vector.
    """

    def __init__(
        self,
        pieces: Sequence[Piece],
        places: HandActions | None = None,
        shown: Callable[[Ints, Mapping[str, Values]], Ints] | None = None,
    ) -> None:
        self.pieces, self.places, self.shown = pieces, places, shown
        self.parts = list[Part]()
        for piece in pieces:
            limits = piece.limits
            if places is None or piece.by_place is None:
                self.parts.append(Part(piece.name, piece.encoding, limits))
            elif piece.name == "hand":
                cards = np.broadcast_to([[EMPTY], [piece.size - 1]], (2, places.places))
                self.parts += [Part("hand", piece.by_place, cards), Part("rest", piece.encoding, limits)]
            else:
                self.parts.append(Part(piece.name, piece.by_place, limits[:, : places.places]))
        self._limits = [part.encoding.limits(part.limits) for part in self.parts]
        ends = np.cumsum([0, *(limits.shape[1] for limits in self._limits)]).tolist()
        self.slices = {part.name: slice(*ends) for part, ends in zip(self.parts, pairwise(ends), strict=True)}
        self.size: int = ends[-1]

    def space(self) -> spaces.Box:
        """Return the space of the vector, [size]."""
        low, high = np.concatenate(self._limits, axis=1)
        return spaces.Box(low, high, dtype=np.float32)

    def encode(self, pieces: Mapping[str, npt.NDArray[Any]]) -> Floats:
        """Encode pieces ``[..., *shape]`` as float32 [..., size]."""
        lead = pieces["board"].shape[:-1]
        values = {piece.name: pieces[piece.name].reshape(-1, *piece.shape) for piece in self.pieces}
        if self.places:
            hands = values["hand"]
            cards = self.places.cards(as_bits(np.arange(hands.shape[1])[None], hands != 0))
            shown = self.shown(cards, values) if self.shown else cards
            placed = {piece.name: take_cards(values[piece.name], shown) for piece in self._placed}
            values |= placed | {"hand": cards, "rest": without(hands, cards)}
        return self.encode_parts(values).reshape(*lead, self.size)

    def encode_parts(self, values: Mapping[str, Values]) -> Floats:
        """Encode the integers of all parts, by name: ``[n, *shape]`` -> float32 [n, size]."""
        vector = np.empty((len(values["board"]), self.size), np.float32)
        for start in range(0, len(vector), _CHUNK):
            some = slice(start, start + _CHUNK)
            for part in self.parts:
                part.encoding.encode(values[part.name][some], vector[some, self.slices[part.name]])
        return vector

    @cached_property
    def _rows(self) -> list[tuple[str, Callable[[Any], bytes]]]:
        return [(part.name, part.encoding.row) for part in self.parts]

    def encode_row(self, values: Mapping[str, Any]) -> Floats:
        """Encode one game's parts by name, sequences or arrays, as float32 [size]."""
        return np.frombuffer(bytearray(b"".join([row(values[name]) for name, row in self._rows])), np.float32)

    def decode(self, vector: npt.NDArray[np.floating[Any]]) -> dict[str, Values]:
        """Decode float32 [..., size] to pieces ``[..., *shape]``. This is the inverse of `encode`.

        By place, the preview of cards beyond the last place is 0, because they cannot be played.
        """
        lead, rows = vector.shape[:-1], vector.reshape(-1, self.size)
        values = {
            name: encoding.decode(rows[:, self.slices[name]], limits.shape[1:]) for name, encoding, limits in self.parts
        }
        if self.places:
            cards = values["hand"]
            shown = self.shown(cards, values) if self.shown else cards
            values["hand"] = values["rest"]
            values["hand"][held(cards)] = 1
            for piece in self._placed:
                placed, values[piece.name] = values[piece.name], np.zeros((len(rows), *piece.shape), np.int64)
                values[piece.name][held(shown)] = placed[(shown != EMPTY).nonzero()]
        return {name: values[name].reshape(*lead, *shape).astype(dtype) for name, shape, dtype, *_ in self.pieces}

    @property
    def _placed(self) -> list[Piece]:
        """The pieces by card whose values are encoded place by place."""
        return [piece for piece in self.pieces if piece.by_place is not None and piece.name != "hand"]

    def table(self) -> str:
        """Describe the vector as a Markdown table: slice, piece, inputs, range."""
        rows = []
        for part, limits in zip(self.parts, self._limits, strict=True):
            place, shape = self.slices[part.name], list(part.limits.shape[1:])
            inputs = f"{shape} {part.encoding}"
            rows.append((f"{place.start}:{place.stop}", f"`{part.name}`", inputs, print_ranges(limits, ".4g")))
        return markdown_table(("vector", "piece", "inputs", "range"), rows)


def print_ranges(limits: npt.NDArray[Any], spec: str = "") -> str:
    """Return the different ranges of limits, [2, ...], by the format ``spec`` of numbers."""
    return ", ".join(dict.fromkeys(f"{low:{spec}} ... {high:{spec}}" for low, high in limits.reshape(2, -1).T))


def without(hands: Values, cards: Ints) -> Values:
    """Return hands [n, K] without these cards, [n, P]: the cards beyond the last place."""
    rest = hands.copy()
    rest[held(cards)] = 0
    return rest


def take_cards(values: npt.NDArray[Any], cards: Ints) -> npt.NDArray[Any]:
    """Return the values of cards, [n, places, ...], from values by card [n, cards, ...]. They are 0 for card -1."""
    taken = values[np.arange(len(cards))[:, None], cards]
    taken[cards == EMPTY] = 0
    return taken
