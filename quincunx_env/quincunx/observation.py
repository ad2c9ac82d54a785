"""Observations of Quincunx: board, own hand and counts; see `quincunx_env.core.observation`.

They leave out the plies on which a seat drew its cards, earlier announcements, and earlier rounds except their totals.
None of these gives information about hidden cards.
"""

from array import array
from collections.abc import Mapping
from functools import cached_property
from operator import methodcaller
from typing import Any

import numpy as np
import numpy.typing as npt

from quincunx_env.core.arrays import Ints
from quincunx_env.core.cards import EMPTY
from quincunx_env.core.encoding import Each, Features, Piece, Scaled, one_hot
from quincunx_env.core.hand import HandActions
from quincunx_env.core.observation import BaseObserver, Count, Hidden, Pieces, batch_from_seat, from_seat
from quincunx_env.quincunx.batch import Batch
from quincunx_env.quincunx.cards import CARDS, RANKS, SUITS
from quincunx_env.quincunx.game import Game
from quincunx_env.quincunx.play_values import play_values
from quincunx_env.quincunx.rules import PLAY_DRAWS_MAX, PLAY_POINTS_MAX, PLAY_POINTS_MIN, Rules
from quincunx_env.quincunx.scoring import POINTS_LIMIT

SPARE_PLACES = 2
"""Places of a hand beyond the cards dealt: longer hands are rare, and cards beyond wait for a place."""

_HELD = methodcaller("count", 1)
"""Number of cards of a hand."""

PREVIEW_UNIT = 20
"""Points that one unit of the encoded preview stands for."""


def card_features(num_cards: int) -> Features:
    """Return the features of cards: rank (one-hot), suits, and 1. A missing card is all 0."""
    ranks = "".join(rank for rank in RANKS if any(card.rank == rank for card in CARDS[:num_cards]))
    rows = [[*card.features(ranks), 1] for card in CARDS[:num_cards]]
    table = np.array([[0] * len(rows[0]), *rows], np.float32)
    return Features(f"rank {' '.join(ranks)}, suits {' '.join(SUITS)}, 1 for a card", table)


class Observer(BaseObserver[Rules, Game, Batch]):
    """Observations and masks of games of Quincunx.

    See `BaseObserver` for inherited attributes.

    Args:
        rules: options of the game.
        preview: add the piece ``preview``: points and draws of every legal play.
    """

    def __init__(self, rules: Rules, preview: bool = False) -> None:
        super().__init__(rules, preview)
        self._values = play_values(rules)

    def make_batch(self, num_games: int) -> Batch:
        """Make a batch of ``num_games`` games with these rules."""
        return Batch(self.rules, num_games)

    def _counts(self) -> dict[str, Count]:
        rules = self.rules
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

    def _layout(self) -> tuple[Piece | None, ...]:
        rules = self.rules
        cells, cards, plays = rules.num_cells, rules.num_cards, rules.num_plays
        when = "ply on which the card of a cell came, 0 face up, -1 none"
        held, faces = "1 for each card in one's hand", card_features(cards)
        layout: tuple[Piece | None, ...] = (
            Piece("board", (cells,), np.int8, EMPTY, cards - 1, "card id by cell, -1 where none lies", faces),
            Piece("order", (cells,), np.int8, -1, plays, when, Scaled(plays)),
            Piece("hand", (cards,), np.int8, 0, 1, held, Scaled(), faces),
            None,
        )
        if rules.simpleton:
            meaning = "card and cell whose points are to be announced, -1 -1 if none are"
            play = Each((faces, one_hot(cells, "1 for the cell")))
            layout += (Piece("pending", (2,), np.int8, -1, (cards - 1, cells - 1), meaning, play),)
        if self.preview:
            meaning = "points and draws of each legal play (or of the pending one), by card and cell; elsewhere 0"
            low, high, unit = (PLAY_POINTS_MIN, 0), (PLAY_POINTS_MAX, PLAY_DRAWS_MAX), Scaled((PREVIEW_UNIT, 1))
            layout += (Piece("preview", (cards, cells, 2), np.int16, low, high, meaning, unit, unit),)
        return layout

    @cached_property
    def places(self) -> HandActions:
        """The places of the hand: the cards dealt, and `SPARE_PLACES`."""
        rules = self.rules
        order = sorted(range(rules.num_cards), key=lambda card: RANKS.index(CARDS[card].rank))
        return HandActions(self.joint, order, rules.hand_size + SPARE_PLACES)

    # --- One game ----------------------------------------------------------------------------------------------------

    def values(self, game: Game, seat: int, shown: list[int] | None) -> dict[str, Any]:
        """Return the integers of all pieces but the hand; see `BaseObserver.values`."""
        rules = self.rules
        counts = [rules.pile_size - game.drawn]
        counts += map(_HELD, from_seat(game.hands, seat))
        counts += from_seat(game.scores, seat)
        if rules.num_rounds > 1:
            counts += [*from_seat(game.totals, seat), game.round]
        if rules.num_players > 1:
            counts += [(game.mover - seat) % rules.num_players, (game.first - seat) % rules.num_players]
        values: dict[str, Any] = {"board": game.board[:-1], "order": game.order[:-1], "counts": array("h", counts)}
        if rules.simpleton:
            values["pending"] = array("b", game.pending or (EMPTY, EMPTY))
        if self.preview:
            values["preview"] = self._preview(game, seat, shown)
        return values

    def _preview(self, game: Game, seat: int, shown: list[int] | None) -> npt.NDArray[np.int16]:
        """Return points and draws of every legal play, int16 [K, C, 2], or of the cards shown, [P, C, 2]."""
        rules = self.rules
        preview = np.zeros((rules.num_cards if shown is None else len(shown), rules.num_cells, 2), np.int16)
        if game.pending:
            card, cell = game.pending
            preview[card if shown is None else 0, cell] = game._value(card, cell)
        elif seat == game.mover and not game.over:
            held = None if shown is None else len(shown) - shown.count(EMPTY)
            cards = (
                np.frombuffer(game.hands[seat], np.int8).nonzero()[0]
                if shown is None
                else np.array(shown[:held], np.int64)
            )
            preview[cards if shown is None else slice(held)] = self._values.one_game(game.board, cards, game.legal)
        return preview

    # --- Many games --------------------------------------------------------------------------------------------------

    def values_batch(self, batch: Batch, seats: Ints, shown: Ints | None) -> Pieces:
        """Return the integers of all pieces but the hand, [B, ...]; see `BaseObserver.values_batch`."""
        rules, players = self.rules, self.rules.num_players
        points = (batch.scores, batch.totals) if rules.num_rounds > 1 else (batch.scores,)
        hands, scores, *totals = batch_from_seat(seats, batch.hands, *points)
        columns = [rules.pile_size - batch.drawn, *map(np.bitwise_count, hands), *scores]
        if totals:
            columns += [*totals[0], batch.round]
        if players > 1:
            columns += [(batch.mover - seats) % players, (batch.first - seats) % players]
        counts = np.empty((batch.num_games, len(columns)), np.int16)
        for index, column in enumerate(columns):
            counts[:, index] = column
        values: Pieces = {"board": batch.board[:, :-1], "order": batch.order[:, :-1], "counts": counts}
        if rules.simpleton:
            values["pending"] = batch.pending.astype(np.int8)
        if self.preview:
            values["preview"] = self._preview_batch(batch, seats, shown)
        return values

    def _preview_batch(self, batch: Batch, seats: Ints, shown: Ints | None) -> npt.NDArray[np.int16]:
        """Do `_preview` for one seat of each game, int16 [B, K or P, C, 2]."""
        if shown is None:
            preview = batch.preview()
            preview[seats != batch.mover] = 0
        else:
            legal = batch.cell_mask
            legal[seats != batch.mover] = False
            preview = self._values.placed_plays(batch.board, shown, legal)
        if self.rules.simpleton:
            rows = np.flatnonzero(batch.pending[:, 0] >= 0)
            cards, cells = batch.pending[rows].T
            points = np.stack(batch.value(cards, cells, rows, check=False), axis=1)
            preview[rows, cards if shown is None else 0, cells] = points
        return preview

    def shown(self, cards: Ints, pieces: Mapping[str, npt.NDArray[Any]]) -> Ints:
        """Put a pending card at the first place. It is in no hand, and alone has a preview."""
        if not self.rules.simpleton:
            return cards
        pending = pieces["pending"][:, 0]
        return np.column_stack([np.where(pending == EMPTY, cards[:, 0], pending), cards[:, 1:]])

    # --- Hidden information ------------------------------------------------------------------------------------------

    def hidden(self, pieces: Pieces) -> Hidden:
        """Return number and places of the hidden cards; see `BaseObserver.hidden`."""
        rules, board = self.rules, pieces["board"]
        counts = self.named_counts(pieces)
        lost = rules.num_players == 1 and not counts["hand_size_0"]
        if lost or (board != EMPTY).sum() == rules.setup.filled:
            raise ValueError("this observation is of a game that is over: no card is hidden")
        pending = pieces["pending"].tolist()[:1] if rules.simpleton else []
        seen = {*board.tolist(), *np.flatnonzero(pieces["hand"]).tolist(), *pending} - {EMPTY}
        return Hidden(seen, [counts[f"hand_size_{seat}"] for seat in range(1, rules.num_players)], counts["pile"])

    def possible_decks(
        self, pieces: Pieces, hands: list[npt.NDArray[np.int8]], stock: npt.NDArray[np.int8]
    ) -> npt.NDArray[np.int8]:
        """Return possible decks (`BaseObserver.possible_decks`): face-up cards, all others, the stock."""
        up = pieces["board"][pieces["order"] == 0].tolist()
        decks = np.empty((len(stock), len(self.rules.deck)), np.int8)
        for deck, pile in zip(decks, stock.tolist(), strict=True):
            deck[:] = [*up, *sorted({*self.rules.deck} - {*up, *pile}), *pile]
        return decks

    def public_state(self, pieces: Pieces) -> dict[str, Any]:
        """Return board, order, cards drawn and, with Simpleton, the pending play."""
        state: dict[str, Any] = {name: pieces[name] for name in ("board", "order")}
        state["drawn"] = self.rules.pile_size - self.named_counts(pieces)["pile"]
        return state | ({"pending": pieces["pending"]} if self.rules.simpleton else {})
