"""Observations of the spiral game: square, own hand and counts; see `quincunx_env.core.observation`.

The spiral determines the order in which cards were played and who played them. The 25 face-down cards stay unknown.
"""

from array import array
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from quincunx_env.core.arrays import Ints
from quincunx_env.core.cards import EMPTY
from quincunx_env.core.encoding import Features, Piece, Scaled
from quincunx_env.core.hand import HandActions, JointActions
from quincunx_env.core.observation import BaseObserver, Count, Hidden, Pieces, batch_from_seat, from_seat
from quincunx_env.spiral.batch import Batch
from quincunx_env.spiral.cards import CARDS, RANKS, SUITS
from quincunx_env.spiral.game import Game
from quincunx_env.spiral.rules import HAND, LINE_LIMIT, NUM_CELLS, PLAYS, SPIRAL, Rules
from quincunx_env.spiral.scoring import POINTS_LIMIT

PREVIEW_UNIT = 10
"""Points that one unit of the encoded preview stands for. Not tuned."""

_FACES = Features(
    f"rank {' '.join(RANKS)}, suit {' '.join(SUITS)}, 1 for a card",
    np.array(
        [[0] * 18, *([*np.eye(13)[card.rank], *np.eye(4)[card.suit], 1] for card in CARDS)],
        np.float32,
    ),
)
"""Features of the cards. A face-down card is all 0."""


class Observer(BaseObserver[Rules, Game, Batch]):
    """Observations and masks of spiral games.

    See `BaseObserver` for inherited attributes.

    Args:
        rules: options of the game.
        preview: add the piece ``preview``: points of every legal card for the observer and for the other player; where
            the full square is scored, its points at this moment in the line of each.
    """

    def make_batch(self, num_games: int) -> Batch:
        """Make a batch of ``num_games`` games with these rules."""
        return Batch(self.rules, num_games)

    def _counts(self) -> dict[str, Count]:
        counts = {"ply": ("cards played in this deal", 0, PLAYS)}
        counts |= {f"score_{seat}": (f"points of seat {seat} in this deal", 0, POINTS_LIMIT) for seat in range(2)}
        if self.rules.num_rounds > 1:
            counts |= {f"total_{seat}": (f"points of seat {seat} so far", 0, POINTS_LIMIT) for seat in range(2)}
            counts |= {"round": ("number of the deal, from 0", 0, self.rules.num_rounds - 1)}
        counts |= {"mover": ("seat to move", 0, 1), "first": ("seat that began: the non-dealer", 0, 1)}
        return counts

    def _layout(self) -> tuple[Piece | None, ...]:
        layout: tuple[Piece | None, ...] = (
            Piece("board", (NUM_CELLS,), np.int8, EMPTY, len(CARDS) - 1, "card id by cell, -1 face down", _FACES),
            Piece("hand", (len(CARDS),), np.int8, 0, 1, "1 for each card in one's hand", Scaled(), _FACES),
            None,
        )
        if self.preview:
            meaning = "what each legal card makes for oneself and for the other player; elsewhere 0"
            unit = Scaled(PREVIEW_UNIT)
            layout += (Piece("preview", (len(CARDS), 2), np.int16, 0, 2 * LINE_LIMIT, meaning, unit, unit),)
        return layout

    def _joint_actions(self) -> JointActions:
        return JointActions(self.rules, 1)  # the spiral determines the cell

    @cached_property
    def places(self) -> HandActions:
        """The places of the hand, one for each card dealt."""
        order = sorted(range(len(CARDS)), key=lambda card: CARDS[card].rank)
        return HandActions(self.joint, order, HAND)

    # --- One game ----------------------------------------------------------------------------------------------------

    def values(self, game: Game, seat: int, shown: list[int] | None) -> dict[str, Any]:
        """Return the integers of all pieces but the hand; see `BaseObserver.values`."""
        counts = [game.ply, *from_seat(game.scores, seat)]
        if self.rules.num_rounds > 1:
            counts += [*from_seat(game.totals, seat), game.round]
        counts += [game.mover ^ seat, game.first ^ seat]
        values: dict[str, Any] = {"board": game.board[:], "counts": array("h", counts)}
        if self.preview:
            values["preview"] = preview = np.zeros((len(CARDS) if shown is None else HAND, 2), np.int16)
            for card in game.legal_cards() if seat == game.mover else ():
                preview[card if shown is None else shown.index(card)] = self._makes(game, seat, card)
        return values

    def _makes(self, game: Game, seat: int, card: int) -> tuple[int, int]:
        """Return points of a card for the observer and the other player."""
        made = game.score(card)
        row, column = made.row.points, made.column.points
        if self.rules.scoring == "play":
            return made.points, 0
        return (column, row) if seat == game.dealer else (row, column)

    # --- Many games --------------------------------------------------------------------------------------------------

    def values_batch(self, batch: Batch, seats: Ints, shown: Ints | None) -> Pieces:
        """Return the integers of all pieces but the hand, [B, ...]; see `BaseObserver.values_batch`."""
        points = (batch.scores, batch.totals) if self.rules.num_rounds > 1 else (batch.scores,)
        scores, *totals = batch_from_seat(seats, *points)
        columns = [batch.ply, *scores]
        if totals:
            columns += [*totals[0], batch.round]
        columns += [batch.mover ^ seats, batch.first ^ seats]
        values: Pieces = {"board": batch.board, "counts": np.stack(columns, axis=1, dtype=np.int16)}
        if self.preview:
            held = batch.mask if shown is None else (shown != EMPTY) & ~batch.over[:, None]
            rows, at = (held & (seats == batch.mover)[:, None]).nonzero()
            cards = at if shown is None else shown[rows, at]
            values["preview"] = preview = np.zeros((batch.num_games, held.shape[1], 2), np.int16)
            preview[rows, at] = self._makes_batch(batch, rows, cards)
        return values

    def _makes_batch(self, batch: Batch, rows: Ints, cards: Ints) -> Ints:
        """Return points of cards for mover and other player, int64 [n, 2]."""
        made = batch.value(cards, rows, check=False)
        if self.rules.scoring == "play":
            made[:, 0], made[:, 1] = made.sum(axis=1), 0
        else:
            dealing = batch.mover[rows] != batch.first[rows]
            made[dealing] = made[dealing, ::-1]
        return made

    # --- Hidden information ------------------------------------------------------------------------------------------

    def hidden(self, pieces: Pieces) -> Hidden:
        """Return number and places of the hidden cards; see `BaseObserver.hidden`."""
        counts = self.named_counts(pieces)
        if counts["ply"] == PLAYS:
            raise ValueError("this observation is of a game that is over: no card is played any more")
        seen = {*pieces["board"].tolist(), *np.flatnonzero(pieces["hand"]).tolist()} - {EMPTY}
        theirs = HAND - (counts["ply"] + counts["first"]) // 2
        return Hidden(seen, [theirs], len(CARDS) - self.rules.num_dealt)

    def possible_decks(
        self, pieces: Pieces, hands: list[npt.NDArray[np.int8]], stock: npt.NDArray[np.int8]
    ) -> npt.NDArray[np.int8]:
        """Return possible decks (`BaseObserver.possible_decks`): starter, then each seat's cards."""
        counts = self.named_counts(pieces)
        along = pieces["board"][list(SPIRAL)].astype(np.int8)
        began = counts.get("round", 0) % 2
        played = [along[1 + (seat != began) : 1 + counts["ply"] : 2] for seat in range(2)]
        parts = [along[:1], hands[0], played[0], hands[1], played[1]]
        return np.concatenate([np.broadcast_to(part, (len(stock), part.shape[-1])) for part in parts], axis=1)

    def public_state(self, pieces: Pieces) -> dict[str, Any]:
        """Return board and ply."""
        return {"board": pieces["board"], "ply": self.named_counts(pieces)["ply"]}
