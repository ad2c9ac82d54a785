"""What a seat observes: named pieces, their table, and the two spellings of the same content.

An observation holds the complete information state of the round from one seat: what lies where and since when, the
own hand, and the counts everybody can see. Seats are counted from the observing one: 0 is oneself, 1 the next to move.
Left out on purpose are when one's own cards were drawn and earlier rounds beyond their totals: they say nothing about
what is hidden.
"""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from quincunx_env.batch import Batch, unpack
from quincunx_env.cards import EMPTY
from quincunx_env.game import Game
from quincunx_env.rules import Rules

Pieces = dict[str, npt.NDArray[np.integer[Any]]]
Flat = npt.NDArray[np.int16]

POINTS_LIMIT = 20_000
"""No seat's points leave -20,000 ... 20,000. In a match a seat plays at most 24 times; Simpleton's worst announcement
loses 391 points and its best gift brings the next seat 366, so that 24 x (391 + 366) and four hands' penalties bound
them; without Simpleton points are far smaller."""

PLAY_POINTS_MIN, PLAY_POINTS_MAX = -36, 302
"""What a single play can score at all."""


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


class Observer:
    """Makes observations of games played by the same rules.

    Args:
        rules: which game.
        preview: add the piece ``preview``: points and draws of every legal play.

    Attributes:
        pieces: the parts of an observation, in order.
        counts: names of the entries of the piece ``counts``, each with its meaning and range.
        slices: where each piece lies in the flat spelling.
        size: length of the flat spelling.
    """

    def __init__(self, rules: Rules, preview: bool = False) -> None:
        self.rules = rules
        self.preview = preview
        self.counts = _counts(rules)
        cells, cards = rules.num_cells, rules.num_cards
        limits = [limit for _, low, high in self.counts.values() for limit in (low, high)]
        self.pieces: tuple[Piece, ...] = (
            Piece("board", (cells,), np.int8, EMPTY, cards - 1, "card id by cell, -1 where none lies"),
            Piece(
                "order",
                (cells,),
                np.int8,
                -1,
                rules.num_plays,
                "ply on which the card of a cell came, 0 face up, -1 none",
            ),
            Piece("hand", (cards,), np.int8, 0, 1, "1 for each card in one's hand"),
            Piece("counts", (len(self.counts),), np.int16, min(limits), max(limits), "see below"),
        )
        if rules.simpleton:
            meaning = "card and cell whose points are to be announced, -1 -1 if none are"
            self.pieces += (Piece("pending", (2,), np.int8, -1, max(cards, cells) - 1, meaning),)
        if preview:
            meaning = "points and draws of each legal play (or of the pending one), by card and cell; elsewhere 0"
            shape = cards, cells, 2
            self.pieces += (Piece("preview", shape, np.int16, PLAY_POINTS_MIN, PLAY_POINTS_MAX, meaning),)
        ends = np.cumsum([0, *(piece.size for piece in self.pieces)]).tolist()
        self.slices = {piece.name: slice(*ends) for piece, ends in zip(self.pieces, pairwise(ends), strict=True)}
        self.size: int = ends[-1]

    # --- Spaces and tables -------------------------------------------------------------------------------------------

    def dict_space(self) -> spaces.Dict:
        """Space of the ``pieces`` spelling."""
        return spaces.Dict(
            {piece.name: spaces.Box(*self._limits(piece), piece.shape, piece.dtype) for piece in self.pieces}
        )

    def flat_space(self) -> spaces.Box:
        """Space of the ``flat`` spelling: int16 [size]."""
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

    def observe(self, game: Game, seat: int = 0) -> Pieces:
        """What a seat of a game observes, as pieces (new arrays)."""
        return {name: piece.copy() for name, piece in self._pieces(game, seat).items()}

    def observe_flat(self, game: Game, seat: int = 0) -> Flat:
        """The same in the flat spelling."""
        parts = [piece.ravel() for piece in self._pieces(game, seat).values()]
        return np.concatenate(parts, dtype=np.int16)

    def _pieces(self, game: Game, seat: int) -> Pieces:
        """The pieces, in order; some of them views of the game that change as it goes on."""
        pieces: Pieces = {
            "board": np.frombuffer(game.board, np.int8, self.rules.num_cells),
            "order": np.frombuffer(game.order, np.int8, self.rules.num_cells),
            "hand": np.frombuffer(game.hands[seat], np.int8),
            "counts": np.array(self._count(game, seat), np.int16),
        }
        if self.rules.simpleton:
            pieces["pending"] = np.array(game.pending or (-1, -1), np.int8)
        if self.preview:
            pieces["preview"] = self._preview(game, seat)
        return pieces

    def _count(self, game: Game, seat: int) -> list[int]:
        rules = self.rules
        counts = [rules.pile_size - game.drawn]
        counts += [hand.count(1) for hand in _from_seat(game.hands, seat)]
        counts += _from_seat(game.scores, seat)
        if rules.num_rounds > 1:
            counts += [*_from_seat(game.totals, seat), game.round]
        if rules.num_players > 1:
            counts += [(game.mover - seat) % rules.num_players, (game.first - seat) % rules.num_players]
        return counts

    def _preview(self, game: Game, seat: int) -> npt.NDArray[np.int16]:
        preview = np.zeros((self.rules.num_cards, self.rules.num_cells, 2), np.int16)
        if game.pending:
            preview[game.pending] = game.value(*game.pending)
        elif seat == game.mover:
            cells = game.legal_cells()
            for card in game.legal_cards():
                for cell in cells:
                    preview[card, cell] = game.value(card, cell)
        return preview

    # --- Many games --------------------------------------------------------------------------------------------------

    def observe_batch(self, batch: Batch, seats: npt.NDArray[np.int64] | None = None, copy: bool = True) -> Pieces:
        """What a seat of each game observes, as pieces [B, ...].

        Args:
            batch: the games.
            seats: int64 [B], the observing seats; the seats to move by default.
            copy: False returns views of the batch where possible, which change with its next step.
        """
        seats = batch.mover if seats is None else seats
        board, order = batch.board[:, :-1], batch.order[:, :-1]
        hands = batch.hands.reshape(-1).take(np.arange(batch.num_games) * self.rules.num_players + seats)
        pieces: Pieces = {
            "board": board.copy() if copy else board,
            "order": order.copy() if copy else order,
            "hand": unpack(hands[:, None], self.rules.num_cards).view(np.int8),
            "counts": self._count_batch(batch, seats),
        }
        if self.rules.simpleton:
            pieces["pending"] = batch.pending.astype(np.int8)
        if self.preview:
            pieces["preview"] = self._preview_batch(batch, seats)
        return pieces

    def _count_batch(self, batch: Batch, seats: npt.NDArray[np.int64]) -> npt.NDArray[np.int16]:
        rules, players = self.rules, self.rules.num_players
        first = np.arange(batch.num_games) * players
        by_seat = [first + (seats + offset) % players if players > 1 else first for offset in range(players)]
        columns = [rules.pile_size - batch.drawn]
        columns += [np.bitwise_count(batch.hands.take(at)) for at in by_seat]
        columns += [batch.scores.take(at) for at in by_seat]
        if rules.num_rounds > 1:
            columns += [*(batch.totals.take(at) for at in by_seat), batch.round]
        if players > 1:
            columns += [(batch.mover - seats) % players, (batch.round - seats) % players]
        counts = np.empty((batch.num_games, len(columns)), np.int16)
        for index, column in enumerate(columns):
            counts[:, index] = column
        return counts

    def _preview_batch(self, batch: Batch, seats: npt.NDArray[np.int64]) -> npt.NDArray[np.int16]:
        rules = self.rules
        plays = batch.mask()[:, : rules.num_plays_encoded]
        plays[seats != batch.mover] = False
        announcing = np.flatnonzero(batch.pending[:, 0] >= 0)
        plays[announcing, batch.pending[announcing] @ [rules.num_cells, 1]] = True
        at = np.flatnonzero(plays)
        rows, actions = np.divmod(at, rules.num_plays_encoded)
        preview = np.zeros((batch.num_games, rules.num_cards, rules.num_cells, 2), np.int16)
        preview.reshape(-1, 2)[at] = np.stack(batch.value(*np.divmod(actions, rules.num_cells), rows), axis=1)
        return preview

    # --- The two spellings -------------------------------------------------------------------------------------------

    def flatten(self, pieces: Mapping[str, npt.NDArray[Any]]) -> Flat:
        """Pieces [..., *shape] as one array, int16 [..., size]."""
        lead = pieces["board"].shape[:-1]
        parts = [pieces[piece.name].reshape(*lead, piece.size) for piece in self.pieces]
        return np.concatenate(parts, axis=-1, dtype=np.int16)

    def unflatten(self, flat: npt.NDArray[Any]) -> Pieces:
        """The inverse of `flatten`: [..., size] as pieces [..., *shape]."""
        return {
            piece.name: flat[..., self.slices[piece.name]].reshape(*flat.shape[:-1], *piece.shape).astype(piece.dtype)
            for piece in self.pieces
        }


def _from_seat(by_seat: list[Any], seat: int) -> list[Any]:
    return by_seat[seat:] + by_seat[:seat]


def _counts(rules: Rules) -> dict[str, tuple[str, int, int]]:
    """Meaning, lowest and highest value of each count, by name; only of what can vary under these rules."""
    seats, cards = range(rules.num_players), len(rules.deck)
    points = -POINTS_LIMIT, POINTS_LIMIT
    counts = {"pile": ("cards left in the pile", 0, rules.pile_size)}
    counts |= {f"hand_size_{seat}": (f"cards in the hand of seat {seat}", 0, cards) for seat in seats}
    counts |= {f"score_{seat}": (f"points of seat {seat} in this round", *points) for seat in seats}
    if rules.num_rounds > 1:
        counts |= {f"total_{seat}": (f"points of seat {seat} in all rounds so far", *points) for seat in seats}
        counts |= {"round": ("number of the round, from 0", 0, rules.num_rounds - 1)}
    if rules.num_players > 1:
        counts |= {"mover": ("seat to move", 0, rules.num_players - 1)}
        counts |= {"first": ("seat that began the round", 0, rules.num_players - 1)}
    return counts
