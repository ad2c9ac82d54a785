"""Base class of observers: observations and masks.

Observations are named pieces, arrays of integers, or a float32 vector for networks (`quincunx_env.core.encoding`);
observers describe their spaces and tables, too.

An observation is the position as one seat knows it: everything that bears on hidden cards, and nothing that is hidden
from the seat. It is not the whole sequence of what the seat has observed, its information state; modules of the games
say what is left out. Seats are counted from the observing one: 0 is the observer, 1 the next seat in turn order.
"""

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from quincunx_env.core.arrays import Ints, unpack
from quincunx_env.core.batch import BaseBatch
from quincunx_env.core.cards import EMPTY
from quincunx_env.core.encoding import Encoder, Piece, Scaled, print_ranges, without
from quincunx_env.core.game import AnyGame, AnyRules
from quincunx_env.core.hand import HandActions, JointActions
from quincunx_env.utils.markdown import markdown_table

Pieces = dict[str, npt.NDArray[np.integer[Any]]]
Vector = npt.NDArray[np.float32]
Observation = Pieces | Vector
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
        num_cards: length of the piece ``hand``.
        joint: the joint actions. With ``actions="hand"`` an environment has the actions of `places` instead.
        mask: function from a game to its legal joint actions; see `JointActions.mask`.
        mask_batch: function from a batch to legal joint actions; see `JointActions.masks`.
    """

    def __init__(self, rules: AnyRules, preview: bool = False) -> None:
        if not isinstance(preview, bool):
            raise ValueError(f"preview must be True or False, got {preview!r}")
        self.rules = rules
        self.preview = preview
        self.joint = self._joint_actions()
        self.mask, self.mask_batch = self.joint.mask, self.joint.masks
        self.counts = self._counts()
        _, low, high = zip(*self.counts.values(), strict=True)
        units = Scaled([min(end, COUNT_UNIT) for end in high])
        counts = Piece("counts", (len(self.counts),), np.int16, low, high, "see below", units)
        self.pieces = tuple(counts if piece is None else piece for piece in self._layout())
        self.num_cards = next(piece.size for piece in self.pieces if piece.name == "hand")

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
    def places(self) -> HandActions:
        """The places of the sorted hand, and the actions that name one."""

    @abstractmethod
    def values(self, game: AnyGame, seat: int, shown: list[int] | None) -> dict[str, Any]:
        """Return the integers of all pieces of one game but the hand, by name.

        Args:
            game: the game.
            seat: the observing seat.
            shown: the cards at the places of the hand, whose values by card to return, -1 at an empty one; None returns
                the values of all cards.

        Returns:
            For a piece of one axis a new buffer of its dtype, for another piece a new array.
        """

    @abstractmethod
    def values_batch(self, batch: AnyBatch, seats: Ints, shown: Ints | None) -> Pieces:
        """Do `values` for one seat of each game: arrays [B, ...], or views of the batch. ``shown`` is int64 [B, P]."""

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
        return ordered_dict((piece.name, spaces.Box(*piece.limits, dtype=piece.dtype)) for piece in self.pieces)

    def encoder(self, by_place: bool = False) -> Encoder:
        """Return the encoder of observations as float32 vectors.

        Args:
            by_place: encode hand and preview by the `places` of the sorted hand instead of by card.
        """
        return self._encoders[by_place]

    @cached_property
    def _encoders(self) -> tuple[Encoder, Encoder]:
        return Encoder(self.pieces), Encoder(self.pieces, self.places, self.shown)

    @cached_property
    def _space(self) -> spaces.Dict:
        """The space of the pieces, for checks. Callers of `dict_space` get a new space, which they may seed."""
        return self.dict_space()

    def table(self) -> str:
        """Describe the pieces as a Markdown table: shape, dtype, meaning, range."""
        rows = []
        for piece in self.pieces:
            shape = f"{list(piece.shape)} {piece.dtype.__name__}"
            rows.append((f"`{piece.name}`", shape, piece.meaning, print_ranges(piece.limits)))
            if piece.name == "counts":
                for index, (name, (meaning, low, high)) in enumerate(self.counts.items()):
                    rows.append((f"`counts[{index}]`", name, meaning, f"{low} ... {high}"))
        return markdown_table(("piece", "shape, dtype", "meaning", "range"), rows)

    # --- Observations ------------------------------------------------------------------------------------------------

    def observe(self, game: AnyGame, seat: int = 0) -> Pieces:
        """Return a seat's observation of one game, as pieces in order. The arrays are new."""
        values = self.values(game, seat, None)
        values["hand"] = game.hands[seat].ljust(self.num_cards, b"\0")  # a copy
        pieces: Pieces = {}
        frombuffer = np.frombuffer
        for name, dtype, is_flat in self._forms:
            pieces[name] = frombuffer(values[name], dtype) if is_flat else values[name]
        return pieces

    @cached_property
    def _forms(self) -> list[tuple[str, type[np.integer[Any]], bool]]:
        """Name and dtype of each piece, and whether it has one axis."""
        return [(piece.name, piece.dtype, len(piece.shape) == 1) for piece in self.pieces]

    def observe_batch(self, batch: AnyBatch, seats: Ints | None = None, copy: bool = True) -> Pieces:
        """Return observations of one seat of each game, as pieces [B, ...].

        Args:
            batch: the games.
            seats: int64 [B], the observing seats; the seats to move by default.
            copy: False returns views of the batch where possible; they change with its next step.
        """
        values = self.parts_batch(batch, seats, by_place=False)
        own = batch.__dict__ if copy else {}  # views of the batch have the names of its arrays
        pieces: Pieces = {}
        for name, *_ in self._forms:
            pieces[name] = values[name].copy() if name in own else values[name]
        return pieces

    def parts(self, game: AnyGame, seat: int, by_place: bool) -> dict[str, Any]:
        """Return the parts of a seat's vector of one game, by name; see `Encoder.encode_row`."""
        hand = game.hands[seat]
        if not by_place:
            values = self.values(game, seat, None)
            values["hand"] = np.frombuffer(hand.ljust(self.num_cards, b"\0"), np.int8)  # a copy
            return values
        places = self.places
        cards = places.sorted_cards(hand)
        rest, most = bytearray(self.num_cards), places.places
        for card in cards[most:]:
            rest[card] = 1
        shown = [*cards[:most], *[EMPTY] * (most - len(cards))]
        return self.values(game, seat, shown) | {"hand": shown, "rest": np.frombuffer(rest, np.int8)}

    def parts_batch(self, batch: AnyBatch, seats: Ints | None, by_place: bool) -> Pieces:
        """Return the parts of one seat's vectors, [B, ...]; see `observe_batch` and `Encoder.encode_parts`."""
        seats = batch.mover if seats is None else seats
        players = self.rules.num_players
        hands = batch.hands[:, 0] if players == 1 else batch.hands.reshape(-1).take(batch._all * players + seats)
        if not by_place:
            values = self.values_batch(batch, seats, None)
            values["hand"] = unpack(hands[:, None], self.num_cards).view(np.int8)
            return values
        cards = self.places.cards(hands)
        rest = np.zeros((len(hands), self.num_cards), np.int8)
        if len(long := (np.bitwise_count(hands) > self.places.places).nonzero()[0]):
            rest[long] = without(unpack(hands[long, None], self.num_cards).view(np.int8), cards[long])
        return self.values_batch(batch, seats, cards) | {"hand": cards, "rest": rest}

    # --- Masks and actions -------------------------------------------------------------------------------------------

    def _joint_actions(self) -> JointActions:
        return JointActions(self.rules, self.rules.num_cells)

    def shown(self, cards: Ints, pieces: Mapping[str, npt.NDArray[Any]]) -> Ints:
        """Return the cards whose values stand at the places, [n, P], from the cards held there and the pieces."""
        return cards

    def pad(self, pieces: Pieces) -> Pieces:
        """Return this observer's pieces, [n, ...], from pieces with the preview."""
        return {piece.name: pieces[piece.name] for piece in self.pieces}

    # --- Conversions between encodings -------------------------------------------------------------------------------

    def vector(self, game: AnyGame, seat: int, by_place: bool) -> Vector:
        """Return a seat's vector of one game, float32 [size]; see `encoder`."""
        return self._encoders[by_place].encode_row(self.parts(game, seat, by_place))

    def vector_batch(self, batch: AnyBatch, seats: Ints | None, by_place: bool) -> Vector:
        """Return vectors of one seat of each game, float32 [B, size]; see `observe_batch`."""
        return self._encoders[by_place].encode_parts(self.parts_batch(batch, seats, by_place))

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
        """Return the pieces of a vector of one game. Other vectors have none."""
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


def batch_from_seat(seats: Ints, *by_seat: npt.NDArray[Any]) -> list[list[npt.NDArray[Any]]]:
    """Do `from_seat` for many games. Each array [B, P] gives P arrays [B], from the seats [B] on."""
    games, players = by_seat[0].shape
    if players == 1:
        return [[array[:, 0]] for array in by_seat]
    first = np.arange(games) * players
    places = [first + (seats + offset) % players for offset in range(players)]
    return [[array.take(place) for place in places] for array in by_seat]
