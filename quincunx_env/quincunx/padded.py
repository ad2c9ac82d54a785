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
from quincunx_env.core.batch import SomeBatch
from quincunx_env.core.encoding import Features, Piece, Scaled
from quincunx_env.core.game import SomeGame
from quincunx_env.core.hand import HandActions, JointActions
from quincunx_env.core.observation import Count, Hidden, Pieces
from quincunx_env.quincunx.batch import Batch
from quincunx_env.quincunx.game import Game
from quincunx_env.quincunx.observation import SPARE_PLACES, Observer, card_features
from quincunx_env.quincunx.rules import SETUPS, Rules

WIDEST = Rules(num_players=4, start="open", excuse=True, pawns=True, simpleton=True, match=True)
"""The rules whose observations have every piece and count, and the longest axes."""

NO_CELL = -2
"""Value of ``board`` where these rules have no cell."""

_SHOWN = ("num_players", "start", "edge_contact", "match", "mini")
"""Options that show in the first four entries of ``form``, or in the cells."""

_OPTIONS = tuple(option for option in Rules.options if option.name not in _SHOWN)

FORM = {"num_players": (1, 4), "num_rounds": (1, 4), "touching": (0, 1), "num_lines": (2, 4)}
FORM |= {option.name: (0, len(option.values) - 1) for option in _OPTIONS}
"""Properties of `Rules`, in the order of the piece ``form``, with lowest and highest values. An option is the number of
its value."""

FORM_UNIT = 4
"""The highest of these properties, one unit of the encoded piece."""


def padded_cells(rules: Rules) -> Ints:
    """Return the index of each cell of these rules among the 81, int64 [C]."""
    margin = (WIDEST.grid.side - rules.grid.side) // 2
    places = (rules.grid.place(cell) for cell in range(rules.num_cells))
    return np.array([WIDEST.grid.cell((row + margin, column + margin)) for row, column in places])


class PaddedActions(JointActions):
    """Joint actions ``card * 81 + cell``, and ``41 * 81 + announcement + 64``."""

    is_joint = False

    def __init__(self, rules: Rules) -> None:
        super().__init__(WIDEST, WIDEST.num_cells)
        self._cells = padded_cells(rules)
        plays = np.arange(rules.num_cards)[:, None] * self.cells + self._cells
        announcements = self.plays + np.arange(rules.num_actions - rules.num_plays_encoded)
        self._padded = np.concatenate([plays.ravel(), announcements])
        """Number of each action of the engine here, int64 [J]."""
        self._engine = np.full(self.num_actions, -1)
        self._engine[self._padded] = np.arange(rules.num_actions)

    def legal_cells(self, game: SomeGame) -> bytes | bytearray:
        """Return 1 for each legal cell among the 81; see `JointActions.legal_cells`."""
        cells = bytearray(self.cells)
        for cell, legal in zip(self._cells.tolist(), super().legal_cells(game), strict=False):
            cells[cell] = legal
        return cells if game.decision == "play" and not game.over else b""

    def cell_mask(self, batch: SomeBatch) -> Bools:
        """Return the legal cells of each game, bool [B, 81]."""
        mask = np.zeros((batch.num_games, self.cells), np.bool_)
        mask[:, self._cells] = batch.cell_mask
        return mask

    def masks(self, batch: SomeBatch, out: Bools | None = None) -> Bools:
        """Return legal actions of the seats to move, bool [B, A], a new array."""
        return self.of_joint_masks(batch.mask)

    def joint_action(self, game: SomeGame, action: int) -> int:
        """Return the engine's number of an action, -1 where it has none."""
        return int(self._engine[action]) if 0 <= action < self.num_actions else -1

    def engine(self, actions: Ints) -> Ints:
        """Return the engine's numbers of actions, int64 [n] -> int64 [n], -1 where it has none."""
        known = (actions >= 0) & (actions < self.num_actions)
        return np.where(known, self._engine[np.where(known, actions, 0)], -1)

    def of_joint_masks(self, joint: Bools) -> Bools:
        """Return masks of these actions, bool [n, A], from masks of the engine's, bool [n, J]."""
        mask = np.zeros((len(joint), self.num_actions), np.bool_)
        mask[:, self._padded] = joint
        return mask

    def to_joint_scores(self, scores: npt.NDArray[Any], joint: Bools) -> npt.NDArray[Any]:
        """Return scores of the engine's actions, [n, J], from scores of these actions, [n, A]."""
        return scores[:, self._padded]


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
        self._cells = padded_cells(rules)
        axes = {rules.num_cells: self._cells, rules.num_cards: slice(rules.num_cards)}
        self._at: dict[str, Any] = {
            piece.name: axes[size] for piece in self._unpadded.pieces for size in piece.shape[-1:] if size in axes
        }
        """By piece with a value for each cell, or for each card: where these stand among the 81, or the 41."""
        unpadded = list(self._unpadded.counts)
        names = [name if name in unpadded else name.replace("total", "score") for name in self.counts]
        self._filled = [index for index, name in enumerate(names) if name in unpadded]
        self._source = [unpadded.index(names[index]) for index in self._filled]
        options = {option.name: option.number(getattr(rules, option.name)) for option in _OPTIONS}
        self._form = np.array([options.get(name, getattr(rules, name)) for name in FORM], np.int8)

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

    def _joint_actions(self) -> JointActions:
        return PaddedActions(self.rules)

    @cached_property
    def places(self) -> HandActions:
        """The places of the longest hand dealt, and the spare ones."""
        longest, order = max(setup.hand for setup in SETUPS.values()), self._widest.places.order
        return HandActions(self.joint, order, longest + SPARE_PLACES)

    # --- Observations ------------------------------------------------------------------------------------------------

    def values(self, game: Game, seat: int, shown: list[int] | None) -> dict[str, Any]:
        """Return the padded integers of all pieces but the hand; see `BaseObserver.values`."""
        values = self._unpadded.values(game, seat, shown)
        padded = self._pad({name: np.asarray(value)[None] for name, value in values.items()}, shown is not None)
        return {name: value[0] if name == "preview" else memoryview(value[0]) for name, value in padded.items()}

    def values_batch(self, batch: Batch, seats: Ints, shown: Ints | None) -> Pieces:
        """Return the padded integers of all pieces but the hand, [B, ...]; see `BaseObserver.values_batch`."""
        return self._pad(self._unpadded.values_batch(batch, seats, shown), shown is not None)

    def pad(self, pieces: Pieces) -> Pieces:
        """Return padded pieces, [n, ...], from pieces of the unpadded observer with the preview."""
        return self._pad({piece.name: pieces[piece.name] for piece in self._unpadded.pieces}, by_place=False)

    def _pad(self, values: Pieces, by_place: bool) -> Pieces:
        """Do `pad` for some pieces; the preview may be by place."""
        n, empty = len(values["board"]), {"board": NO_CELL, "order": -1, "pending": -1}
        padded: Pieces = {
            piece.name: np.full((n, *piece.shape), empty.get(piece.name, 0), piece.dtype) for piece in self.pieces
        }
        for name in self._at.keys() & values.keys():
            padded[name][:, self._at[name]] = values[name]
        padded["counts"][:, self._filled] = values["counts"][:, self._source]
        padded["form"][:] = self._form
        if "pending" in values:
            card, cell = values["pending"].T
            padded["pending"][:] = np.stack([card, np.where(card < 0, -1, self._cells[cell])], axis=1)
        if self.preview:
            if by_place:
                padded["preview"] = np.zeros((n, self.places.places, WIDEST.num_cells, 2), np.int16)
            padded["preview"][:, : values["preview"].shape[1], self._cells] = values["preview"]
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
        pieces |= {name: padded[name][at] for name, at in self._at.items()}
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
