"""Base class of observers: observations and masks.

Observations are named pieces, one flat vector of integers, or a float32 vector for networks
(`quincunx_env.core.encoding`); observers describe their spaces and tables, too.

An observation is the position as one seat knows it: everything that bears on hidden cards, and nothing that is hidden
from the seat. It is not the whole sequence of what the seat has observed, its information state; modules of the games
say what is left out. Seats are counted from the observing one: 0 is the observer, 1 the next seat in turn order.
"""

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import pairwise
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from quincunx_env.core.arrays import Bools, Ints
from quincunx_env.core.batch import BaseBatch
from quincunx_env.core.encoding import Encoder, HandPlaces, Piece, Scaled
from quincunx_env.core.game import AnyGame, AnyRules
from quincunx_env.utils.markdown import markdown_table

Pieces = dict[str, npt.NDArray[np.integer[Any]]]
Flat = npt.NDArray[np.int16 | np.float32]
Mask = npt.NDArray[np.int8]
Count = tuple[str, int, int]
"""Meaning, lowest and highest value of one of the counts."""

COUNT_UNIT = 100
"""Most that one unit of an encoded count stands for. Points do not come near their bounds. Not tuned."""

AnyBatch = TypeVar("AnyBatch", bound=BaseBatch[Any, Any])


class Hidden(NamedTuple):
    """Number and places of the cards that an observation does not show."""

    seen: Iterable[int]
    """The cards that it shows."""
    hands: list[int]
    """Hidden cards in the hands of the other seats, from the next one on."""
    stock: int
    """Hidden cards that are in no hand."""


class BaseObserver(ABC, Generic[AnyRules, AnyGame, AnyBatch]):
    """Observations and masks of games with the same rules.

    Args:
        rules: options of the game.
        preview: add the piece ``preview``, the immediate reward table: points (and draws) of every legal play.

    Raises:
        ValueError: if ``preview`` is not a bool.

    Attributes:
        pieces: the parts of an observation, in order.
        counts: meaning and range of each entry of the piece ``counts``, by name.
        slices: slice of each piece in the flat encoding, by name.
        size: length of the flat encoding.
        num_actions: A; actions are the integers from 0 to A - 1.
        factors: numbers of cards and cells where an action is a pair of both; otherwise None.
    """

    def __init__(self, rules: AnyRules, preview: bool = False) -> None:
        if not isinstance(preview, bool):
            raise ValueError(f"preview must be True or False, got {preview!r}")
        self.rules = rules
        self.preview = preview
        self.num_actions = rules.num_actions
        self.factors: tuple[int, int] | None = None
        self.counts = self._counts()
        limits = [limit for _, low, high in self.counts.values() for limit in (low, high)]
        units = Scaled([min(high, COUNT_UNIT) for _, _, high in self.counts.values()])
        counts = Piece("counts", (len(self.counts),), np.int16, min(limits), max(limits), "see below", units)
        self.pieces = tuple(counts if piece is None else piece for piece in self._layout())
        ends = np.cumsum([0, *(piece.size for piece in self.pieces)]).tolist()
        self.slices = {piece.name: slice(*ends) for piece, ends in zip(self.pieces, pairwise(ends), strict=True)}
        self.size: int = ends[-1]

    # --- Abstract interface ------------------------------------------------------------------------------------------

    @abstractmethod
    def make_batch(self, num_games: int) -> AnyBatch:
        """Make a batch of ``num_games`` games with these rules. `BaseBatch.reset` deals them."""

    @abstractmethod
    def _counts(self) -> dict[str, Count]:
        """Return meaning and range of the counts by name. Counts that cannot vary under these rules are left out."""

    @abstractmethod
    def _layout(self) -> tuple[Piece | None, ...]:
        """Return the pieces in order; None marks the position of the counts."""

    @cached_property
    @abstractmethod
    def places(self) -> HandPlaces:
        """The places of the sorted hand."""

    @abstractmethod
    def observe(self, game: AnyGame, seat: int = 0) -> Pieces:
        """Return a seat's observation of one game, as pieces in order. The arrays are new."""

    @abstractmethod
    def observe_batch(self, batch: AnyBatch, seats: Ints | None = None, copy: bool = True) -> Pieces:
        """Return observations of one seat of each game, as pieces [B, ...].

        Args:
            batch: the games.
            seats: int64 [B], the observing seats; the seats to move by default.
            copy: False returns views of the batch where possible; they change with its next step.
        """

    @abstractmethod
    def mask(self, game: AnyGame) -> Mask:
        """Return legal actions of the seat to move, int8 [A], 1 = legal. All are 0 when the game is over."""

    @abstractmethod
    def hidden(self, pieces: Pieces) -> Hidden:
        """Return number and places of the hidden cards.

        Raises:
            ValueError: if the observed game is over.
        """

    @abstractmethod
    def possible_decks(
        self, pieces: Pieces, hands: list[npt.NDArray[np.int8]], stock: npt.NDArray[np.int8]
    ) -> npt.NDArray[np.int8]:
        """Return decks of the current round that fit an observation.

        Args:
            pieces: the observation.
            hands: the cards held by each seat, int8 [n, ...], from seat 0 on.
            stock: int8 [n, ...], the hidden cards that are in no hand, in order.

        Returns:
            int8 [n, cards dealt].
        """

    @abstractmethod
    def public_state(self, pieces: Pieces) -> dict[str, Any]:
        """Return an observation's public state, as arguments of `BatchState.set_position`.

        It is specific to the game.
        """

    # --- Counts ------------------------------------------------------------------------------------------------------

    def named_counts(self, pieces: Mapping[str, npt.NDArray[Any]]) -> dict[str, Any]:
        """Return the entries of the piece ``counts`` by name.

        Args:
            pieces: of one observation, or of n.

        Returns:
            For each name in `counts` an int, or int16 [n] (a view).
        """
        counts = pieces["counts"]
        return dict(zip(self.counts, counts.tolist() if counts.ndim == 1 else counts.T, strict=True))

    # --- Spaces and tables -------------------------------------------------------------------------------------------

    def dict_space(self) -> spaces.Dict:
        """Return the space of the pieces, in their order."""
        limits = ((piece, *self._limits(piece)) for piece in self.pieces)
        return ordered_dict((piece.name, spaces.Box(low, high, dtype=piece.dtype)) for piece, low, high in limits)

    def flat_space(self) -> spaces.Box:
        """Return the space of the flat vector, int16 [size]."""
        low, high = np.concatenate([self._limits(piece).reshape(2, -1) for piece in self.pieces], 1, dtype=np.int16)
        return spaces.Box(low, high, dtype=np.int16)

    def _limits(self, piece: Piece) -> npt.NDArray[np.integer[Any]]:
        """Return lowest and highest values of a piece, ``[2, *shape]``."""
        ends = [list(ends) for ends in zip(*((low, high) for _, low, high in self.counts.values()), strict=True)]
        low, high = ends if piece.name == "counts" else (piece.low, piece.high)
        return np.stack([np.full(piece.shape, end, piece.dtype) for end in (low, high)])

    def encoder(self, by_place: bool = False) -> Encoder:
        """Return the encoder of observations as float32 vectors.

        Args:
            by_place: encode hand and preview by the `places` of the sorted hand instead of by card.
        """
        return self._encoders[by_place]

    @cached_property
    def _encoders(self) -> tuple[Encoder, Encoder]:
        pieces = [(piece, self._limits(piece)) for piece in self.pieces]
        return Encoder(pieces, None), Encoder(pieces, self.places)

    @cached_property
    def _space(self) -> spaces.Dict:
        """The space of the pieces, for checks. Callers of `dict_space` get a new space, which they may seed."""
        return self.dict_space()

    def table(self) -> str:
        """Describe the layout of observations as a Markdown table.

        Its columns are flat slice, piece, shape and dtype, meaning, range.
        """
        rows = []
        for piece in self.pieces:
            start, shape = self.slices[piece.name].start, f"{list(piece.shape)} {piece.dtype.__name__}"
            place, limits = f"{start}:{start + piece.size}", f"{piece.low} ... {piece.high}"
            rows.append((place, f"`{piece.name}`", shape, piece.meaning, limits))
            if piece.name == "counts":
                for index, (name, (meaning, low, high)) in enumerate(self.counts.items()):
                    rows.append((str(start + index), f"`counts[{index}]`", name, meaning, f"{low} ... {high}"))
        return markdown_table(("flat", "piece", "shape, dtype", "meaning", "range"), rows)

    # --- Masks and actions -------------------------------------------------------------------------------------------

    def mask_batch(self, batch: AnyBatch, out: Bools | None = None) -> Bools:
        """Return legal actions of the seats to move, bool [B, A]. See `BaseBatch.mask`."""
        return batch._mask(out)

    def factored_mask(self, game: AnyGame) -> Mask:
        """Return legal cards and cells, int8 [cards + cells], 1 = legal. It needs `factors`."""
        raise NotImplementedError

    def factored_mask_batch(self, batch: AnyBatch) -> Bools:
        """Return legal cards and cells of each game, bool [B, cards + cells]. It needs `factors`."""
        raise NotImplementedError

    def to_engine(self, actions: Ints) -> Ints:
        """Convert actions to the engines', int64 [n] -> int64 [n]. Actions that the engines do not have become -1."""
        return actions

    # --- Conversions between encodings -------------------------------------------------------------------------------

    def flatten(self, observation: Mapping[str, Any] | npt.NDArray[Any]) -> npt.NDArray[np.int16]:
        """Convert pieces ``[..., *shape]`` to the flat encoding, int16 [..., size]. A mask among them is left out."""
        pieces = without_mask(observation)
        if not isinstance(pieces, Mapping):
            if (vector := np.asarray(pieces)).dtype.kind in "iu":
                return vector.astype(np.int16, copy=False)
            pieces = next(each for each in self._encoders if each.size == vector.shape[-1]).decode(vector)
        lead = pieces["board"].shape[:-1]
        parts = [pieces[piece.name].reshape(*lead, piece.size) for piece in self.pieces]
        return np.concatenate(parts, axis=-1, dtype=np.int16)

    def unflatten(self, flat: npt.NDArray[Any]) -> Pieces:
        """Convert flat observations [..., size] to pieces ``[..., *shape]``. This is the inverse of `flatten`."""
        return {
            piece.name: flat[..., self.slices[piece.name]].reshape(*flat.shape[:-1], *piece.shape).astype(piece.dtype)
            for piece in self.pieces
        }

    def to_unpadded(self, observation: Mapping[str, Any] | npt.NDArray[Any]) -> "tuple[Observer, Pieces]":
        """Return the observer without padding, and its pieces of this observation. A mask is left out.

        Raises:
            ValueError: if this observer did not make the observation, naming the entries that do not fit.
        """
        given = without_mask(observation)
        if isinstance(given, Mapping):
            pieces, space = {name: np.asarray(piece) for name, piece in given.items()}, self._space
            unfit = [name for name in space if name not in pieces or not space[name].contains(pieces[name])]
            wrong = ", ".join(map(repr, [*unfit, *(pieces.keys() - set(space))]))
        else:
            vector = np.asarray(given)
            pieces = self._pieces_of(vector)
            wrong = "" if self._space.contains(pieces) else f"{vector.dtype} of shape {vector.shape}"
        if wrong:
            raise ValueError(
                f"this is not an observation of one game of {self.rules} by this observer: {wrong} does not fit"
            )
        return self, pieces

    def _pieces_of(self, vector: npt.NDArray[Any]) -> Pieces:
        """Return the pieces of a vector of one game.

        It is flat integers, or an encoding. Other vectors have none.
        """
        if vector.shape == (self.size,) and vector.dtype.kind in "iu":
            pieces = self.unflatten(vector)
            return pieces if (self.flatten(pieces) == vector).all() else {}
        for encoder in self._encoders:
            if vector.dtype.kind == "f" and encoder.space().contains(vector.astype(np.float32)):
                pieces = encoder.decode(vector)
                return pieces if (encoder.encode(pieces) == vector).all() else {}
        return {}


def without_mask(observation: Mapping[str, Any] | npt.NDArray[Any]) -> Any:
    """Return an observation, pieces or a vector, without its mask."""
    if not isinstance(observation, Mapping) or "action_mask" not in observation:
        return observation
    pieces = {name: piece for name, piece in observation.items() if name != "action_mask"}
    return pieces.get("observation", pieces)


Observer = BaseObserver[Any, Any, Any]
"""An observer of any game."""


def ordered_dict(entries: Iterable[tuple[str, spaces.Space[Any]]]) -> spaces.Dict:
    """Return a space of dictionaries in this order. Gymnasium would sort the keys, also of a batch of it."""
    space = spaces.Dict(OrderedDict(entries))
    space.sort_keys = False
    return space


def from_seat(by_seat: list[Any], seat: int) -> list[Any]:
    """Return values by seat in order from this seat on. From seat 0 it is the list itself."""
    return by_seat[seat:] + by_seat[:seat] if seat else by_seat


def batch_from_seat(seats: Ints, *by_seat: npt.NDArray[Any]) -> Iterator[list[npt.NDArray[Any]]]:
    """Do `from_seat` for many games. For each array [B, P] it yields P arrays [B], from the seats [B] on."""
    games, players = by_seat[0].shape
    if players == 1:
        yield from ([array[:, 0]] for array in by_seat)
        return
    first = np.arange(games) * players
    places = [first + (seats + offset) % players for offset in range(players)]
    for array in by_seat:
        yield [array.take(place) for place in places]
