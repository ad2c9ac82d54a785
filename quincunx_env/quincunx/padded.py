"""One width for every form of Quincunx: observations and actions padded, so that one network plays them all.

Four seats, 41 cards, the 81 cells of the open start's grid; smaller grids lie in its middle. An action is
``card * 81 + cell``, or ``41 * 81 + announcement + 64``.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from quincunx_env.core.batch import Bools, Ints
from quincunx_env.core.observation import Count, Hidden, Mask, Piece, Pieces
from quincunx_env.core.policy import Policy
from quincunx_env.quincunx.batch import Batch
from quincunx_env.quincunx.game import Game
from quincunx_env.quincunx.observation import Observer
from quincunx_env.quincunx.rules import Rules

WIDEST = Rules(num_players=4, start="open", excuse=True, pawns=True, simpleton=True, match=True)
"""The rules whose own observation has every piece and count, and whose axes are the longest."""

NO_CELL = -2
"""What ``board`` holds where these rules have no cell."""

FORM = ("num_players", "num_rounds", "touching", "num_lines", "excuse", "pawns", "flush", "simpleton")
"""Properties of `Rules`, in the order of the piece ``form``."""


class PaddedObserver(Observer):
    """A `quincunx_env.quincunx.observation.Observer` whose observations and actions have one layout under all rules.

    Counts that the rules leave nothing to say are 0, with two exceptions: in a single round ``total`` is the score, and
    the seat to move in the solitaire is 0 anyway. The piece ``form`` tells which form of the game is played.

    Args:
        rules: which game.
        preview: add the piece ``preview``: points and draws of every legal play.
    """

    def __init__(self, rules: Rules, preview: bool = False) -> None:
        self._narrow = Observer(rules, preview)
        self._wide = Observer(WIDEST, preview)
        super().__init__(rules, preview)
        self.num_actions = WIDEST.num_actions
        self.factors = None if rules.simpleton else (WIDEST.num_cards, WIDEST.num_cells)
        margin = (WIDEST.grid.side - rules.grid.side) // 2
        places = (rules.grid.place(cell) for cell in range(rules.num_cells))
        self._cells = np.array([WIDEST.grid.cell((row + margin, column + margin)) for row, column in places])
        """The place of each cell among the 81."""
        plays = np.arange(rules.num_cards)[:, None] * WIDEST.num_cells + self._cells
        announcements = WIDEST.num_plays_encoded + np.arange(rules.num_actions - rules.num_plays_encoded)
        self._actions = np.concatenate([plays.ravel(), announcements])
        """The place of each action of these rules."""
        self._engine = np.full(self.num_actions, -1)
        self._engine[self._actions] = np.arange(rules.num_actions)
        own = list(self._narrow.counts)
        names = [name if name in own else name.replace("total", "score") for name in self.counts]
        self._filled = [index for index, name in enumerate(names) if name in own]
        self._source = [own.index(names[index]) for index in self._filled]
        self._form = np.array([getattr(rules, name) for name in FORM], np.int8)

    def _counts(self) -> dict[str, Count]:
        meaning, low, _ = self._wide.counts["pile"]
        return self._wide.counts | {"pile": (meaning, low, len(WIDEST.deck))}  # smaller tables leave more in the pile

    def _layout(self) -> tuple[Piece | None, ...]:
        form = Piece("form", (len(FORM),), np.int8, 0, 4, f"the rules: {', '.join(FORM)}")
        wide = {piece.name: piece for piece in self._wide.pieces} | {"counts": None}
        board = wide["board"]
        assert board is not None
        wide["board"] = board._replace(low=NO_CELL, meaning=f"{board.meaning}, {NO_CELL} where there is no cell")
        return (*wide.values(), form)

    # --- Observations ------------------------------------------------------------------------------------------------

    def _pieces(self, game: Game, seat: int) -> Pieces:
        one = {name: piece[None] for name, piece in self._narrow._pieces(game, seat).items()}
        return {name: piece[0] for name, piece in self.pad(one).items()}

    def observe_batch(self, batch: Batch, seats: Ints | None = None, copy: bool = True) -> Pieces:
        """See `BaseObserver.observe_batch`."""
        return self.pad(self._narrow.observe_batch(batch, seats, copy=False))

    def pad(self, own: Mapping[str, npt.NDArray[np.integer[Any]]]) -> Pieces:
        """Pieces of these rules' own width as fixed ones, [n, ...] each."""
        n, cards = len(own["board"]), self.rules.num_cards
        empty = {"board": NO_CELL, "order": -1, "pending": -1}
        wide: Pieces = {
            piece.name: np.full((n, *piece.shape), empty.get(piece.name, 0), piece.dtype) for piece in self.pieces
        }
        for name in ("board", "order"):
            wide[name][:, self._cells] = own[name]
        wide["hand"][:, :cards] = own["hand"]
        wide["counts"][:, self._filled] = own["counts"][:, self._source]
        wide["form"][:] = self._form
        if "pending" in own:
            card, cell = own["pending"].T
            wide["pending"][:] = np.stack([card, np.where(card < 0, -1, self._cells[cell])], axis=1)
        if self.preview:
            wide["preview"][:, :cards, self._cells] = own["preview"]
        return wide

    def to_unpadded(self, observation: Mapping[str, npt.NDArray[Any]] | npt.NDArray[Any]) -> tuple[Observer, Pieces]:
        """See `BaseObserver.to_unpadded`; the inverse of `pad`, for one game."""
        _, wide = super().to_unpadded(observation)
        if (wide["form"] != self._form).any():
            raise ValueError(f"this observation is of another form of the game than {self.rules}")
        own = {piece.name: wide[piece.name] for piece in self._narrow.pieces}
        own["board"], own["order"] = wide["board"][self._cells], wide["order"][self._cells]
        own["hand"] = wide["hand"][: self.rules.num_cards]
        own["counts"] = np.zeros(len(self._narrow.counts), np.int16)
        own["counts"][self._source] = wide["counts"][self._filled]
        if self.rules.simpleton and wide["pending"][0] >= 0:
            card, cell = wide["pending"].tolist()
            own["pending"] = np.array([card, self._cells.tolist().index(cell)], np.int8)
        if self.preview:
            own["preview"] = wide["preview"][: self.rules.num_cards, self._cells]
        return self._narrow, own

    def hidden(self, pieces: Pieces) -> Hidden:
        """See `BaseObserver.hidden`."""
        return self._narrow.hidden(self.to_unpadded(pieces)[1])

    def possible_decks(
        self, pieces: Pieces, hands: list[npt.NDArray[np.int8]], stock: npt.NDArray[np.int8]
    ) -> npt.NDArray[np.int8]:
        """See `BaseObserver.possible_decks`."""
        return self._narrow.possible_decks(self.to_unpadded(pieces)[1], hands, stock)

    def public_state(self, pieces: Pieces) -> dict[str, Any]:
        """See `BaseObserver.public_state`."""
        return self._narrow.public_state(self.to_unpadded(pieces)[1])

    # --- Masks and actions -------------------------------------------------------------------------------------------

    def mask(self, game: Game) -> Mask:
        """See `BaseObserver.mask`."""
        mask = np.zeros(self.num_actions, np.int8)
        mask[self._actions] = self._narrow.mask(game)
        return mask

    def mask_batch(self, batch: Batch, out: Bools | None = None) -> Bools:
        """See `BaseObserver.mask_batch`."""
        return self.pad_mask(batch.mask())

    def pad_mask(self, own: Bools) -> Bools:
        """Masks of these rules' own width as fixed ones, [n, A] each."""
        mask = np.zeros((len(own), self.num_actions), np.bool_)
        mask[:, self._actions] = own
        return mask

    def factored_mask(self, game: Game) -> Mask:
        """See `BaseObserver.factored_mask`."""
        mask = np.zeros(WIDEST.num_cards + WIDEST.num_cells, np.int8)
        mask[self._factor_places()] = self._narrow.factored_mask(game)
        return mask

    def factored_mask_batch(self, batch: Batch) -> Bools:
        """See `BaseObserver.factored_mask_batch`."""
        mask = np.zeros((batch.num_games, WIDEST.num_cards + WIDEST.num_cells), np.bool_)
        mask[:, self._factor_places()] = self._narrow.factored_mask_batch(batch)
        return mask

    def _factor_places(self) -> Ints:
        return np.concatenate([np.arange(self.rules.num_cards), WIDEST.num_cards + self._cells])

    def to_engine(self, actions: Ints) -> Ints:
        """See `BaseObserver.to_engine`."""
        known = (actions >= 0) & (actions < self.num_actions)
        return np.where(known, self._engine[np.where(known, actions, 0)], -1)

    def unpad_policy(self, fixed: Policy) -> Policy:
        """A policy for observations and masks of these rules' own width that asks one for fixed ones."""

        def own(observation: Pieces, mask: Bools, rng: np.random.Generator) -> Ints:
            return self.to_engine(fixed(self.pad(observation), self.pad_mask(mask), rng))

        return own
