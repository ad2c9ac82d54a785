"""What a seat observes and how it answers: named pieces, their table, two spellings of the same content, and masks.

An observation holds the complete information state of the round from one seat: everything that seat may know, nothing
else. Seats are counted from the observing one: 0 is oneself, 1 the next to move.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from quincunx_env.core.batch import BaseBatch, Bools, Ints
from quincunx_env.core.game import BaseGame
from quincunx_env.core.rules import BaseRules

Pieces = dict[str, npt.NDArray[np.integer[Any]]]
Flat = npt.NDArray[np.int16]
Mask = npt.NDArray[np.int8]
Count = tuple[str, int, int]
"""Meaning, lowest and highest value of one of the counts."""

AnyRules = TypeVar("AnyRules", bound=BaseRules)
AnyGame = TypeVar("AnyGame", bound=BaseGame[Any, Any])
AnyBatch = TypeVar("AnyBatch", bound=BaseBatch[Any, Any])


class Piece(NamedTuple):
    """One named part of an observation."""

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
    """What an observation says about the cards it does not show."""

    seen: Iterable[int]
    """The cards that it does show."""
    hands: list[int]
    """Hidden cards in the hands of the other seats, from the next one on."""
    stock: int
    """Hidden cards that are in no hand."""


class BaseObserver(ABC, Generic[AnyRules, AnyGame, AnyBatch]):
    """Makes observations and masks of games played by the same rules.

    Args:
        rules: which game.
        preview: add the piece ``preview``: what every legal play would bring.

    Attributes:
        pieces: the parts of an observation, in order.
        counts: meaning and range of each entry of the piece ``counts``, by name.
        slices: where each piece lies in the flat codec.
        size: length of the flat codec.
        num_actions: A; actions are the integers below.
        factors: where an action is a card and a cell: how many of each there are; otherwise None.
    """

    def __init__(self, rules: AnyRules, preview: bool = False) -> None:
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

    # --- What a game says --------------------------------------------------------------------------------------------

    @abstractmethod
    def make_batch(self, num_games: int) -> AnyBatch:
        """A new batch of games by these rules; `BaseBatch.reset` deals them."""

    @abstractmethod
    def _counts(self) -> dict[str, Count]:
        """The counts; only those that can vary under these rules."""

    @abstractmethod
    def _layout(self) -> tuple[Piece | None, ...]:
        """The pieces in order; None is the place of the counts."""

    @abstractmethod
    def _pieces(self, game: AnyGame, seat: int) -> Pieces:
        """The pieces, in order; some of them may be views of the game that change as it goes on."""

    @abstractmethod
    def observe_batch(self, batch: AnyBatch, seats: Ints | None = None, copy: bool = True) -> Pieces:
        """What a seat of each game observes, as pieces [B, ...].

        Args:
            batch: the games.
            seats: int64 [B], the observing seats; the seats to move by default.
            copy: False returns views of the batch where possible, which change with its next step.
        """

    @abstractmethod
    def mask(self, game: AnyGame) -> Mask:
        """Legal actions of the seat to move, int8 [A], 1 = legal; all 0 when the game is over."""

    @abstractmethod
    def hidden(self, pieces: Pieces) -> Hidden:
        """What an observation says about the cards it does not show.

        Raises:
            ValueError: if it is of a game that is over: nothing in it is hidden any more.
        """

    @abstractmethod
    def possible_decks(
        self, pieces: Pieces, hands: list[npt.NDArray[np.int8]], stock: npt.NDArray[np.int8]
    ) -> npt.NDArray[np.int8]:
        """Decks of the present round, int8 [n, cards dealt], that could have led to an observation.

        Args:
            pieces: the observation.
            hands: the cards that each seat holds, int8 [n, ...], from seat 0 on.
            stock: int8 [n, ...], the hidden cards that are in no hand, in order.
        """

    @abstractmethod
    def public_state(self, pieces: Pieces) -> dict[str, Any]:
        """What an observation says of the game's own state, as `BaseBatch.set_position` takes it."""

    # --- Counts ------------------------------------------------------------------------------------------------------

    def named_counts(self, pieces: Mapping[str, npt.NDArray[Any]]) -> dict[str, Any]:
        """The entries of the piece ``counts`` by name.

        Args:
            pieces: of one observation, or of n.

        Returns:
            For each name in `counts` an int, or int16 [n] (a view).
        """
        counts = pieces["counts"]
        return dict(zip(self.counts, counts.tolist() if counts.ndim == 1 else counts.T, strict=True))

    # --- Spaces and tables -------------------------------------------------------------------------------------------

    def dict_space(self) -> spaces.Dict:
        """Space of the ``pieces`` codec."""
        return spaces.Dict(
            {piece.name: spaces.Box(*self._limits(piece), piece.shape, piece.dtype) for piece in self.pieces}
        )

    def flat_space(self) -> spaces.Box:
        """Space of the ``flat`` codec: int16 [size]."""
        low, high = (
            np.concatenate([np.broadcast_to(self._limits(piece)[end], piece.shape).ravel() for piece in self.pieces])
            for end in (0, 1)
        )
        return spaces.Box(low.astype(np.int16), high.astype(np.int16), dtype=np.int16)

    def _limits(self, piece: Piece) -> tuple[Any, Any]:
        """Lowest and highest values of a piece: its own, or those of each of the counts."""
        if piece.name != "counts":
            return piece.low, piece.high
        low, high = zip(*((low, high) for _, low, high in self.counts.values()), strict=True)
        return np.array(low, piece.dtype), np.array(high, piece.dtype)

    def table(self) -> str:
        """The layout as a Markdown table: flat slice, name, meaning, range. The documentation shows this."""
        lines = ["| flat | piece | shape, dtype | meaning | range |", "|---|---|---|---|---|"]
        for piece in self.pieces:
            start = self.slices[piece.name].start
            lines.append(
                f"| {start}:{start + piece.size} | `{piece.name}` | {list(piece.shape)} {piece.dtype.__name__} "
                f"| {piece.meaning} | {piece.low} ... {piece.high} |"
            )
            if piece.name == "counts":
                for index, (name, (meaning, low, high)) in enumerate(self.counts.items()):
                    lines.append(f"| {start + index} | `counts[{index}]` | {name} | {meaning} | {low} ... {high} |")
        return "\n".join(lines)

    # --- One game ----------------------------------------------------------------------------------------------------

    def observe(self, game: AnyGame, seat: int = 0) -> Pieces:
        """What a seat of a game observes, as pieces (new arrays)."""
        return {name: piece.copy() for name, piece in self._pieces(game, seat).items()}

    def observe_flat(self, game: AnyGame, seat: int = 0) -> Flat:
        """The same in the flat codec."""
        parts = [piece.ravel() for piece in self._pieces(game, seat).values()]
        return np.concatenate(parts, dtype=np.int16)

    # --- Masks and actions -------------------------------------------------------------------------------------------

    def mask_batch(self, batch: AnyBatch, out: Bools | None = None) -> Bools:
        """Legal actions of the seats to move, bool [B, A]; see `BaseBatch.mask`."""
        return batch.mask(out)

    def factored_mask(self, game: AnyGame) -> Mask:
        """Where an action is a card and a cell: the legal ones of each, int8 [cards + cells]."""
        raise NotImplementedError

    def factored_mask_batch(self, batch: AnyBatch) -> Bools:
        """The same for each game, bool [B, cards + cells]."""
        raise NotImplementedError

    def to_engine(self, actions: Ints) -> Ints:
        """Actions as the engines number them, -1 where they have none: int64 [n] -> int64 [n]."""
        return actions

    # --- The two spellings -------------------------------------------------------------------------------------------

    def flatten(self, pieces: Mapping[str, npt.NDArray[Any]]) -> Flat:
        """Pieces ``[..., *shape]`` as one array, int16 [..., size]."""
        lead = pieces["board"].shape[:-1]
        parts = [pieces[piece.name].reshape(*lead, piece.size) for piece in self.pieces]
        return np.concatenate(parts, axis=-1, dtype=np.int16)

    def unflatten(self, flat: npt.NDArray[Any]) -> Pieces:
        """The inverse of `flatten`: [..., size] as pieces ``[..., *shape]``."""
        return {
            piece.name: flat[..., self.slices[piece.name]].reshape(*flat.shape[:-1], *piece.shape).astype(piece.dtype)
            for piece in self.pieces
        }

    def to_unpadded(self, observation: Mapping[str, npt.NDArray[Any]] | npt.NDArray[Any]) -> "tuple[Observer, Pieces]":
        """The observer of these rules' own width, and the pieces it would have made of the same game.

        Raises:
            ValueError: if this is no observation of this observer's.
        """
        if isinstance(observation, Mapping):
            fits = self.dict_space().contains(dict(observation))
        else:
            fits = self.flat_space().contains(np.asarray(observation))
        if not fits:
            raise ValueError(f"this is no observation of one game of {self.rules} as the observer makes them")
        return self, dict(observation) if isinstance(observation, Mapping) else self.unflatten(observation)


Observer = BaseObserver[Any, Any, Any]
"""An observer of any game."""


def from_seat(by_seat: list[Any], seat: int) -> list[Any]:
    """Values by seat, counted from this seat on."""
    return by_seat[seat:] + by_seat[:seat]


def batch_from_seat(seats: Ints, *by_seat: npt.NDArray[Any]) -> Iterator[list[npt.NDArray[Any]]]:
    """The same for many games and several arrays: for each array [B, P], P arrays [B]."""
    games, players = by_seat[0].shape
    first = np.arange(games) * players
    places = [first + (seats + offset) % players if players > 1 else first for offset in range(players)]
    for array in by_seat:
        yield [array.take(place) for place in places]
