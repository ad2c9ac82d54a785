"""Observations of the spiral game: square, own hand and counts; see `quincunx_env.core.observation`.

The spiral determines the order in which cards were played and who played them. The 25 face-down cards stay unknown.
"""

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from quincunx_env.core.arrays import Ints, Words, unpack
from quincunx_env.core.cards import EMPTY
from quincunx_env.core.encoding import Features, HandPlaces, Piece, Scaled
from quincunx_env.core.observation import BaseObserver, Count, Hidden, Mask, Pieces, batch_from_seat, from_seat
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

    @cached_property
    def places(self) -> HandPlaces:
        """The places of the hand, one for each card dealt."""
        order = sorted(range(len(CARDS)), key=lambda card: CARDS[card].rank)
        return HandPlaces(order, HAND, 1, self.num_actions)

    # --- One game ----------------------------------------------------------------------------------------------------

    def observe(self, game: Game, seat: int = 0) -> Pieces:
        """Return a seat's observation of one game, as pieces (new arrays)."""
        pieces: Pieces = {
            "board": np.frombuffer(game.board[:], np.int8),
            "hand": np.frombuffer(game.hands[seat][:], np.int8),
            "counts": np.array(self._count(game, seat), np.int16),
        }
        if self.preview:
            pieces["preview"] = np.zeros((len(CARDS), 2), np.int16)
            for card in game.legal_cards() if seat == game.mover else ():
                pieces["preview"][card] = self._makes(game, seat, card)
        return pieces

    def parts(self, game: Game, seat: int, by_place: bool) -> dict[str, Any]:
        """Return the parts of a seat's vector of one game; see `BaseObserver.parts`."""
        if not by_place:
            return dict(self.observe(game, seat))
        cards, empty = self.places.sorted_cards(game.hands[seat]), [EMPTY] * HAND
        parts: dict[str, Any] = {
            "board": game.board,
            "hand": (cards + empty)[:HAND],
            "rest": bytes(len(CARDS)),  # each card has its place
            "counts": self._count(game, seat),
        }
        if self.preview:
            parts["preview"] = preview = np.zeros((HAND, 2), np.int16)
            if seat == game.mover and not game.over:
                preview[: len(cards)] = [self._makes(game, seat, card) for card in cards]
        return parts

    def _count(self, game: Game, seat: int) -> list[int]:
        counts = [game.ply, *from_seat(game.scores, seat)]
        if self.rules.num_rounds > 1:
            counts += [*from_seat(game.totals, seat), game.round]
        return [*counts, game.mover ^ seat, game.first ^ seat]

    def _makes(self, game: Game, seat: int, card: int) -> tuple[int, int]:
        """Return points of a card for the observer and the other player."""
        made = game.score(card)
        row, column = made.row.points, made.column.points
        if self.rules.scoring == "play":
            return made.points, 0
        return (column, row) if seat == game.dealer else (row, column)

    def mask(self, game: Game) -> Mask:
        """Return legal actions, int8 [A], 1 = legal: the mover's hand. It is all 0 when the game is over."""
        return np.zeros(len(CARDS), np.int8) if game.over else np.frombuffer(game.hands[game.mover], np.int8).copy()

    def legal_cells(self, game: Game) -> bytes:
        """Return 1 for the next cell; see `BaseObserver.legal_cells`."""
        return b"" if game.over else b"\x01"

    # --- Many games --------------------------------------------------------------------------------------------------

    def observe_batch(self, batch: Batch, seats: Ints | None = None, copy: bool = True) -> Pieces:
        """Return observations of one seat of each game, [B, ...]. See `BaseObserver.observe_batch`."""
        seats = batch.mover if seats is None else seats
        pieces = self._public_batch(batch, seats, copy)
        hands = unpack(self._hands(batch, seats)[:, None], len(CARDS)).view(np.int8)
        pieces = {"board": pieces["board"], "hand": hands, "counts": pieces["counts"]}
        if self.preview:
            pieces["preview"] = preview = np.zeros((batch.num_games, len(CARDS), 2), np.int16)
            rows, cards = (batch.mask & (seats == batch.mover)[:, None]).nonzero()
            preview[rows, cards] = self._makes_batch(batch, rows, cards)
        return pieces

    def parts_batch(self, batch: Batch, seats: Ints) -> Pieces:
        """Return the parts of one seat's vectors by place; see `BaseObserver.parts_batch`."""
        parts = self._public_batch(batch, seats, copy=False)
        cards = self.places.cards(self._hands(batch, seats))
        parts |= {"hand": cards, "rest": np.zeros((batch.num_games, len(CARDS)), np.int8)}  # each card has its place
        if self.preview:
            parts["preview"] = preview = np.zeros((batch.num_games, HAND, 2), np.int16)
            rows, places = ((cards != EMPTY) & (~batch.over & (seats == batch.mover))[:, None]).nonzero()
            preview[rows, places] = self._makes_batch(batch, rows, cards[rows, places])
        return parts

    def _public_batch(self, batch: Batch, seats: Ints, copy: bool) -> Pieces:
        """Return the pieces that do not show the hands."""
        scores, totals = batch_from_seat(seats, batch.scores, batch.totals)
        columns = [batch.ply, *scores]
        if self.rules.num_rounds > 1:
            columns += [*totals, batch.round]
        columns += [batch.mover ^ seats, batch.first ^ seats]
        board = batch.board.copy() if copy else batch.board
        return {"board": board, "counts": np.stack(columns, axis=1, dtype=np.int16)}

    def _hands(self, batch: Batch, seats: Ints) -> Words:
        return batch.hands.reshape(-1).take(np.arange(batch.num_games) * 2 + seats)

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
