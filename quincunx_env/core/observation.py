"""Base class of observers: observations and masks.

Observations are named pieces or one flat vector; observers describe their spaces and tables, too.

An observation is the position as one seat knows it: everything that bears on hidden cards, and nothing that is hidden
from the seat. It is not the whole sequence of what the seat has observed, its information state; modules of the games
say what is left out. Seats are counted from the observing one: 0 is the observer, 1 the next seat in turn order.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import pairwise
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from quincunx_env.core.arrays import Bools, Ints
from quincunx_env.core.batch import BaseBatch
from quincunx_env.core.game import AnyGame, AnyRules
from quincunx_env.utils.markdown import markdown_table

Pieces = dict[str, npt.NDArray[np.integer[Any]]]
Flat = npt.NDArray[np.int16 | np.float32]
FlatDtype = type[np.int16 | np.float32]
Mask = npt.NDArray[np.int8]
Count = tuple[str, int, int]
"""Meaning, lowest and highest value of one of the counts."""

AnyBatch = TypeVar("AnyBatch", bound=BaseBatch[Any, Any])


class Piece(NamedTuple):
    """A named part of an observation."""

    name: str
    shape: tuple[int, ...]
    dtype: type[np.integer[Any]]
    low: int
    high: int
    meaning: str

    @property
    def size(self) -> int:
        """Number of entries."""
        return int(np.prod(self.shape))


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
        counts = Piece("counts", (len(self.counts),), np.int16, min(limits), max(limits), "see below")
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
        """Return the space of the ``pieces`` encoding."""
        return spaces.Dict(
            {piece.name: spaces.Box(*self._limits(piece), piece.shape, piece.dtype) for piece in self.pieces}
        )

    def flat_space(self, dtype: FlatDtype = np.int16) -> spaces.Box:
        """Return the space of the ``flat`` encoding, [size]."""
        low, high = (
            np.concatenate([np.broadcast_to(self._limits(piece)[end], piece.shape).ravel() for piece in self.pieces])
            for end in (0, 1)
        )
        return spaces.Box(low.astype(dtype), high.astype(dtype), dtype=dtype)

    @cached_property
    def _spaces(self) -> tuple[spaces.Dict, spaces.Box]:
        """Both spaces, for checks. Callers of `dict_space` get a new space, which they may seed."""
        return self.dict_space(), self.flat_space(np.float32)

    def _limits(self, piece: Piece) -> tuple[Any, Any]:
        """Return lowest and highest values of a piece. For the counts, which differ in range, they are arrays."""
        if piece.name != "counts":
            return piece.low, piece.high
        low, high = zip(*((low, high) for _, low, high in self.counts.values()), strict=True)
        return np.array(low, piece.dtype), np.array(high, piece.dtype)

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

    # --- One game ----------------------------------------------------------------------------------------------------

    def observe_flat(self, game: AnyGame, seat: int = 0, dtype: FlatDtype = np.int16) -> Flat:
        """Return a seat's observation of one game, flat, [size]."""
        return np.concatenate(list(self.observe(game, seat).values()), axis=None, dtype=dtype)

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

    def flatten(self, observation: Mapping[str, Any] | npt.NDArray[Any], dtype: FlatDtype = np.int16) -> Flat:
        """Convert pieces ``[..., *shape]`` to the flat encoding, [..., size]. A mask among them is left out."""
        pieces = without_mask(observation)
        if not isinstance(pieces, Mapping):
            return np.asarray(pieces, dtype)
        lead = pieces["board"].shape[:-1]
        parts = [pieces[piece.name].reshape(*lead, piece.size) for piece in self.pieces]
        return np.concatenate(parts, axis=-1, dtype=dtype)

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
        given, (space, flat_space) = without_mask(observation), self._spaces
        if isinstance(given, Mapping):
            pieces = {name: np.asarray(piece) for name, piece in given.items()}
            unfit = [name for name in space if name not in pieces or not space[name].contains(pieces[name])]
            wrong = ", ".join(map(repr, [*unfit, *(pieces.keys() - set(space))]))
        else:
            flat = np.asarray(given)
            fits = flat_space.contains(flat) and bool((flat == np.floor(flat)).all())
            wrong = "" if fits else f"{flat.dtype} of shape {flat.shape}"
            pieces = self.unflatten(flat) if fits else {}
        if wrong:
            raise ValueError(
                f"this is not an observation of one game of {self.rules} by this observer: {wrong} does not fit"
            )
        return self, pieces


def without_mask(observation: Mapping[str, Any] | npt.NDArray[Any]) -> Any:
    """Return an observation, pieces or flat, without its mask."""
    if not isinstance(observation, Mapping) or "action_mask" not in observation:
        return observation
    pieces = {name: piece for name, piece in observation.items() if name != "action_mask"}
    return pieces.get("observation", pieces)


Observer = BaseObserver[Any, Any, Any]
"""An observer of any game."""


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
