"""Padded observations and actions: one shape under all rules of Quincunx.

One network can thus play them all. They have four seats, 41 cards and the 81 cells of the open start's grid; smaller
grids lie in its middle. An action is ``card * 81 + cell``, or ``41 * 81 + announcement + 64``.
"""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from quincunx_env.core.arrays import Bools, Ints
from quincunx_env.core.encoding import Features, HandPlaces, Piece, Scaled
from quincunx_env.core.observation import Count, Hidden, Mask, Pieces
from quincunx_env.quincunx.batch import Batch
from quincunx_env.quincunx.game import Game
from quincunx_env.quincunx.observation import SPARE_PLACES, Observer, card_features
from quincunx_env.quincunx.rules import SETUPS, Rules

WIDEST = Rules(num_players=4, start="open", excuse=True, pawns=True, simpleton=True, match=True)
"""The rules whose observations have every piece and count, and the longest axes."""

NO_CELL = -2
"""Value of ``board`` where these rules have no cell."""

FORM = {"num_players": (1, 4), "num_rounds": (1, 4), "touching": (0, 1), "num_lines": (2, 4)}
FORM |= dict.fromkeys(("excuse", "pawns", "flush", "simpleton"), (0, 1))
"""Properties of `Rules`, in the order of the piece ``form``, with lowest and highest values."""

FORM_UNIT = 4
"""The highest of these properties, one unit of the encoded piece."""


class PaddedObserver(Observer):
    """An `Observer` with one shape of observations and actions.

    The shape is the same under all rules.

    Counts that these rules do not have are 0, except ``total``, which is the score in a game of one round. The piece
    ``form`` encodes the rules.

    Args:
        rules: options of the game.
        preview: add the piece ``preview``: points and draws of every legal play.
    """

    def __init__(self, rules: Rules, preview: bool = False) -> None:
        self._unpadded = Observer(rules, preview)
        self._widest = Observer(WIDEST, preview)
        super().__init__(rules, preview)
        self.num_actions = WIDEST.num_actions
        margin = (WIDEST.grid.side - rules.grid.side) // 2
        places = (rules.grid.place(cell) for cell in range(rules.num_cells))
        self._cells = np.array([WIDEST.grid.cell((row + margin, column + margin)) for row, column in places])
        """Index of each cell among the 81."""
        plays = np.arange(rules.num_cards)[:, None] * WIDEST.num_cells + self._cells
        announcements = WIDEST.num_plays_encoded + np.arange(rules.num_actions - rules.num_plays_encoded)
        self._actions = np.concatenate([plays.ravel(), announcements])
        """Index of each action of these rules among the padded ones."""
        self._engine = np.full(self.num_actions, -1)
        self._engine[self._actions] = np.arange(rules.num_actions)
        unpadded = list(self._unpadded.counts)
        names = [name if name in unpadded else name.replace("total", "score") for name in self.counts]
        self._filled = [index for index, name in enumerate(names) if name in unpadded]
        self._source = [unpadded.index(names[index]) for index in self._filled]
        self._form = np.array([getattr(rules, name) for name in FORM], np.int8)

    def _counts(self) -> dict[str, Count]:
        meaning, low, _ = self._widest.counts["pile"]
        return self._widest.counts | {"pile": (meaning, low, len(WIDEST.deck))}  # fewer seats leave more in the pile

    def _layout(self) -> tuple[Piece | None, ...]:
        low, high = zip(*FORM.values(), strict=True)
        form = Piece("form", (len(FORM),), np.int8, low, high, f"the rules: {', '.join(FORM)}", Scaled(FORM_UNIT))
        pieces = {piece.name: piece for piece in self._widest.pieces} | {"counts": None}
        board, faces = pieces["board"], card_features(WIDEST.num_cards)
        assert board is not None
        off_grid = -np.eye(1, faces.table.shape[1], faces.table.shape[1] - 1)
        pieces["board"] = board._replace(
            low=NO_CELL,
            meaning=f"{board.meaning}, {NO_CELL} where there is no cell",
            encoding=Features(
                f"{faces.names}, -1 where there is no cell",
                np.concatenate([off_grid, faces.table], dtype=np.float32),
                NO_CELL,
            ),
        )
        return (*pieces.values(), form)

    @cached_property
    def places(self) -> HandPlaces:
        """The places of the longest hand dealt, and the spare ones."""
        longest, order = max(setup.hand for setup in SETUPS.values()), self._widest.places.order
        return HandPlaces(order, longest + SPARE_PLACES, WIDEST.num_cells, self.num_actions)

    # --- Observations ------------------------------------------------------------------------------------------------

    def observe(self, game: Game, seat: int = 0) -> Pieces:
        """Return a seat's observation of one game, as padded pieces (new arrays)."""
        one = {name: piece[None] for name, piece in self._unpadded.observe(game, seat).items()}
        return {name: piece[0] for name, piece in self.pad(one).items()}

    def observe_batch(self, batch: Batch, seats: Ints | None = None, copy: bool = True) -> Pieces:
        """Return observations of one seat of each game, [B, ...]. They are padded pieces (new arrays)."""
        return self.pad(self._unpadded.observe_batch(batch, seats, copy=False))

    def parts(self, game: Game, seat: int, by_place: bool) -> dict[str, Any]:
        """Return the parts of a seat's vector of one game; see `BaseObserver.parts`."""
        parts = self._unpadded._parts(game, seat, self.places if by_place else None)
        padded = self.pad({name: np.asarray(part)[None] for name, part in parts.items()})
        return {name: part[0] if name == "preview" else part[0].tolist() for name, part in padded.items()}

    def parts_batch(self, batch: Batch, seats: Ints) -> Pieces:
        """Return the parts of one seat's vectors by place; see `BaseObserver.parts_batch`."""
        hands, parts = self._unpadded._public_batch(batch, seats, copy=False)
        return self.pad(parts | self._unpadded.placed_batch(batch, seats, hands, self.places))

    def pad(self, pieces: Mapping[str, npt.NDArray[np.integer[Any]]]) -> Pieces:
        """Pad pieces of the unpadded observer, or parts by place, [n, ...] each."""
        n, cards, by_place = len(pieces["board"]), self.rules.num_cards, "rest" in pieces
        empty = {"board": NO_CELL, "order": -1, "pending": -1}
        padded: Pieces = {
            piece.name: np.full((n, *piece.shape), empty.get(piece.name, 0), piece.dtype) for piece in self.pieces
        }
        for name in ("board", "order"):
            padded[name][:, self._cells] = pieces[name]
        padded["counts"][:, self._filled] = pieces["counts"][:, self._source]
        padded["form"][:] = self._form
        if "pending" in pieces:
            card, cell = pieces["pending"].T
            padded["pending"][:] = np.stack([card, np.where(card < 0, -1, self._cells[cell])], axis=1)
        padded["hand"][:, :cards] = pieces["rest" if by_place else "hand"]
        if by_place:
            padded["rest"], padded["hand"] = padded["hand"], pieces["hand"]
        if self.preview:
            if by_place:
                padded["preview"] = np.zeros((n, self.places.places, WIDEST.num_cells, 2), np.int16)
            padded["preview"][:, : pieces["preview"].shape[1], self._cells] = pieces["preview"]
        return padded

    def to_unpadded(self, observation: Mapping[str, Any] | npt.NDArray[Any]) -> tuple[Observer, Pieces]:
        """Return the unpadded observer and its pieces of one game.

        This is the inverse of `pad` for one observation.

        Raises:
            ValueError: if this observer did not make the observation.
        """
        _, padded = super().to_unpadded(observation)
        if (padded["form"] != self._form).any():
            raise ValueError(f"this observation is of other rules than {self.rules}")
        pieces = {piece.name: padded[piece.name] for piece in self._unpadded.pieces}
        pieces["board"], pieces["order"] = padded["board"][self._cells], padded["order"][self._cells]
        pieces["hand"] = padded["hand"][: self.rules.num_cards]
        pieces["counts"] = np.zeros(len(self._unpadded.counts), np.int16)
        pieces["counts"][self._source] = padded["counts"][self._filled]
        if self.rules.simpleton and padded["pending"][0] >= 0:
            card, cell = padded["pending"].tolist()
            pieces["pending"] = np.array([card, self._cells.tolist().index(cell)], np.int8)
        if self.preview:
            pieces["preview"] = padded["preview"][: self.rules.num_cards, self._cells]
        return self._unpadded, pieces

    def hidden(self, pieces: Pieces) -> Hidden:
        """Return number and places of the hidden cards; see `BaseObserver.hidden`."""
        return self._unpadded.hidden(self.to_unpadded(pieces)[1])

    def possible_decks(
        self, pieces: Pieces, hands: list[npt.NDArray[np.int8]], stock: npt.NDArray[np.int8]
    ) -> npt.NDArray[np.int8]:
        """Return decks that fit an observation; see `BaseObserver.possible_decks`."""
        return self._unpadded.possible_decks(self.to_unpadded(pieces)[1], hands, stock)

    def public_state(self, pieces: Pieces) -> dict[str, Any]:
        """Return the public state in an observation; see `BaseObserver.public_state`."""
        return self._unpadded.public_state(self.to_unpadded(pieces)[1])

    # --- Masks and actions -------------------------------------------------------------------------------------------

    def mask(self, game: Game) -> Mask:
        """Return legal actions of the seat to move, int8 [A]. 1 is legal; all are 0 when the game is over."""
        mask = np.zeros(self.num_actions, np.int8)
        mask[self._actions] = self._unpadded.mask(game)
        return mask

    def mask_batch(self, batch: Batch, out: Bools | None = None) -> Bools:
        """Return legal actions of the seats to move, bool [B, A]. The array is new; ``out`` is not used."""
        return self.pad_mask(batch.mask)

    def pad_mask(self, mask: Bools) -> Bools:
        """Pad masks of the unpadded observer: bool [n, actions] -> bool [n, A]."""
        padded = np.zeros((len(mask), self.num_actions), np.bool_)
        padded[:, self._actions] = mask
        return padded

    def legal_cells(self, game: Game) -> bytes:
        """Return 1 for each legal cell among the 81; see `BaseObserver.legal_cells`."""
        if not (legal := self._unpadded.legal_cells(game)):
            return b""
        cells = bytearray(WIDEST.num_cells)
        for cell, at in zip(legal, self._cells.tolist(), strict=True):
            cells[at] = cell
        return bytes(cells)

    def cell_mask(self, batch: Batch) -> Bools:
        """Return the legal cells of each game, bool [B, 81]."""
        mask = np.zeros((batch.num_games, WIDEST.num_cells), np.bool_)
        mask[:, self._cells] = batch.cell_mask
        return mask

    def to_engine(self, actions: Ints) -> Ints:
        """Convert padded actions to the engines', int64 [n] -> int64 [n]. Actions unknown to the engines become -1."""
        known = (actions >= 0) & (actions < self.num_actions)
        return np.where(known, self._engine[np.where(known, actions, 0)], -1)

    def unpad(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return values of the engines' actions: [n, A] -> [n, actions]."""
        return values[:, self._actions]
