"""Encodings of observations for neural networks, and places of the sorted hand.

Cards become features, numbers are scaled.

Each `quincunx_env.core.observation.Piece` declares how its integers become inputs of a network. An `Encoder` gathers
the pieces in one float32 vector, and restores the integers from it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from quincunx_env.core.arrays import Bools, Ints
from quincunx_env.core.cards import EMPTY
from quincunx_env.utils.markdown import markdown_table

Floats = npt.NDArray[np.float32]
Values = npt.NDArray[np.integer[Any]]


class Encoding(Protocol):
    """Conversion of integers to inputs of a network, and back."""

    def encode(self, values: Values, out: Floats) -> None:
        """Encode integers ``[n, *shape]`` in ``out``, float32 [n, size]."""

    def decode(self, inputs: Floats, shape: tuple[int, ...]) -> Ints:
        """Decode float32 [n, size] to int64 ``[n, *shape]``. This is the inverse of `encode`."""

    def limits(self, values: Values) -> Floats:
        """Return lowest and highest inputs, float32 [2, size], of lowest and highest integers ``[2, *shape]``."""

    def __str__(self) -> str:
        """Describe the inputs, for tables."""


@dataclass(frozen=True, eq=False)
class Scaled:
    """Integers divided by a unit."""

    unit: float | Sequence[float] = 1
    """Divisor of all numbers, or of each along the last axis."""

    def encode(self, values: Values, out: Floats) -> None:
        """Divide by the unit."""
        out[:] = values.reshape(len(values), -1)  # without a conversion in the product, which takes four times as long
        if self.unit != 1:
            out *= np.resize(self._factor, out.shape[1])

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

    def __str__(self) -> str:
        unit = self.unit
        return "itself" if unit == 1 else f"/ {unit if isinstance(unit, int | float) else ', '.join(map(str, unit))}"


@dataclass(frozen=True, eq=False)
class Features:
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
class Each:
    """An encoding for each entry of a piece."""

    entries: tuple[Features, ...]

    def encode(self, values: Values, out: Floats) -> None:
        """Encode each entry."""
        for entry, column, part in zip(self.entries, values.T, self._split(out), strict=True):
            entry.encode(column, part)

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


class HandPlaces:
    """Places of the sorted hand, and actions that name a place.

    Place k holds the card k of the hand, sorted by rank, then by id. Cards beyond the last place cannot be played until
    cards before them have left the hand. An action is ``place * cells + cell``; announcements follow.

    Args:
        order: all cards, sorted.
        places: number of places.
        cells: number of plays of a card.
        num_actions: number of joint actions: ``card * cells + cell``, then announcements.

    Attributes:
        num_actions: number of these actions.
    """

    def __init__(self, order: Sequence[int], places: int, cells: int, num_actions: int) -> None:
        self.order, self.places, self.cells = np.array(order), places, cells
        self._in_order = bool((self.order == np.arange(len(order))).all())
        self._joint_plays, self._plays = len(order) * cells, places * cells
        self.num_actions = self._plays + num_actions - self._joint_plays

    def cards(self, hand: npt.NDArray[Any]) -> Ints:
        """Return the card at each place, int64 [n, places], of hands [n, cards]. It is -1 at the other places."""
        rows, columns = (hand if self._in_order else hand[:, self.order]).nonzero()
        counts = np.bincount(rows, minlength=len(hand))
        place = np.arange(len(rows)) - np.repeat(counts.cumsum() - counts, counts)
        kept = place < self.places
        cards = np.full((len(hand), self.places), EMPTY)
        cards[rows[kept], place[kept]] = self.order[columns[kept]]
        return cards

    def mask(self, mask: Bools) -> Bools:
        """Convert masks of joint actions, bool [n, A], to masks of these actions, bool [n, num_actions]."""
        plays = take_cards(self._by_card(mask), self._playable(mask))
        return np.concatenate([plays.reshape(len(mask), -1), mask[:, self._joint_plays :]], axis=1)

    def to_joint(self, actions: Ints, mask: Bools) -> Ints:
        """Convert actions to joint ones, int64 [n] -> int64 [n].

        Actions out of range, or of an empty place, become -1. ``mask`` has joint actions, bool [n, A].
        """
        cards = self._playable(mask)
        known = (actions >= 0) & (actions < self.num_actions)
        is_play = known & (actions < self._plays)
        place, cell = np.divmod(np.where(is_play, actions, 0), self.cells)
        card = cards[np.arange(len(cards)), place]
        play = np.where(card == EMPTY, -1, card * self.cells + cell)
        return np.where(is_play, play, np.where(known, actions - self._plays + self._joint_plays, -1))

    def by_card(self, scores: npt.NDArray[Any], mask: Bools) -> npt.NDArray[Any]:
        """Convert scores of these actions, [n, num_actions], to scores of joint ones, [n, A]. Others get -inf."""
        cards, (plays, others) = self._playable(mask), np.split(scores, [self._plays], axis=1)
        found = np.full(self._by_card(mask).shape, -np.inf)
        found[_held(cards)] = plays.reshape(len(mask), -1, self.cells)[(cards != EMPTY).nonzero()]
        return np.concatenate([found.reshape(len(mask), -1), others], axis=1)

    def _by_card(self, mask: Bools) -> Bools:
        return mask[:, : self._joint_plays].reshape(len(mask), -1, self.cells)

    def _playable(self, mask: Bools) -> Ints:
        """Return the card at each place, [n, places], from joint masks. Every card may go into every legal cell."""
        plays = self._by_card(mask)
        cell = mask[:, : self._joint_plays].argmax(axis=1) % self.cells
        return self.cards(plays[np.arange(len(mask)), :, cell])


def take_cards(values: npt.NDArray[Any], cards: Ints) -> npt.NDArray[Any]:
    """Return the values of cards, [n, places, ...], from values by card [n, cards, ...]. They are 0 for card -1."""
    taken = values[np.arange(len(cards))[:, None], cards]
    taken[cards == EMPTY] = 0
    return taken


class Piece(NamedTuple):
    """A named part of an observation."""

    name: str
    shape: tuple[int, ...]
    dtype: type[np.integer[Any]]
    low: int
    high: int
    meaning: str
    encoding: Encoding
    """Its inputs of a network."""
    by_place: Encoding | None = None
    """Its inputs by place of the hand instead of by card: of the card at each place, or of the values of this card."""

    @property
    def size(self) -> int:
        """Number of entries."""
        return int(np.prod(self.shape))


class Part(NamedTuple):
    """A part of the vector of an `Encoder`."""

    name: str
    encoding: Encoding
    limits: Values
    """Lowest and highest integers, ``[2, *shape]``."""


class Encoder:
    """Observations as float32 vectors for networks, and back.

    Args:
        pieces: the pieces in order, each with lowest and highest integers, ``[2, *shape]``.
        places: the places of the hand, to encode pieces place by place; None encodes them card by card.

    Attributes:
        slices: slice of each part in the vector, by name. A part is a piece, or ``rest``: by place, the cards of the
            hand beyond the last place.
        size: length of the vector.
    """

    def __init__(self, pieces: Sequence[tuple[Piece, Values]], places: HandPlaces | None) -> None:
        self.pieces, self.places = [piece for piece, _ in pieces], places
        self.parts = list[Part]()
        for piece, limits in pieces:
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
            cards = self.places.cards(values["hand"])
            shown = _with_pending(cards, values)
            placed = {piece.name: take_cards(values[piece.name], shown) for piece in self._placed}
            rest = values["hand"].copy()
            rest[_held(cards)] = 0
            values |= placed | {"hand": cards, "rest": rest}
        vector = np.empty((len(values["board"]), self.size), np.float32)
        for part in self.parts:
            part.encoding.encode(values[part.name], vector[:, self.slices[part.name]])
        return vector.reshape(*lead, self.size)

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
            shown = _with_pending(cards, values)
            values["hand"] = values["rest"]
            values["hand"][_held(cards)] = 1
            for piece in self._placed:
                placed, values[piece.name] = values[piece.name], np.zeros((len(rows), *piece.shape), np.int64)
                values[piece.name][_held(shown)] = placed[(shown != EMPTY).nonzero()]
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
            ranges = dict.fromkeys(f"{low:.4g} ... {high:.4g}" for low, high in limits.T)
            inputs = f"{shape} {part.encoding}"
            rows.append((f"{place.start}:{place.stop}", f"`{part.name}`", inputs, ", ".join(ranges)))
        return markdown_table(("vector", "piece", "inputs", "range"), rows)


def _with_pending(cards: Ints, values: Mapping[str, npt.NDArray[Any]]) -> Ints:
    """Put a pending card at the first place. It is in no hand, and alone has a preview."""
    if "pending" not in values:
        return cards
    pending = values["pending"][:, 0]
    return np.column_stack([np.where(pending == EMPTY, cards[:, 0], pending), cards[:, 1:]])


def _held(cards: Ints) -> tuple[Ints, Ints]:
    """Return rows and cards of the places that hold one."""
    rows, places = (cards != EMPTY).nonzero()
    return rows, cards[rows, places]
