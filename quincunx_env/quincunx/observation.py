"""Observations of Quincunx: board, own hand and counts; see `quincunx_env.core.observation`.

They leave out the plies on which a seat drew its cards, earlier announcements, and earlier rounds except their totals.
None of these gives information about hidden cards.
"""

from functools import cached_property
from itertools import compress
from typing import Any

import numpy as np
import numpy.typing as npt

from quincunx_env.core.arrays import Ints, Words, unpack
from quincunx_env.core.cards import EMPTY
from quincunx_env.core.encoding import Each, Features, HandPlaces, Piece, Scaled, one_hot, without
from quincunx_env.core.observation import BaseObserver, Count, Hidden, Mask, Pieces, batch_from_seat, from_seat
from quincunx_env.quincunx.batch import Batch
from quincunx_env.quincunx.cards import CARDS, RANKS, SUITS
from quincunx_env.quincunx.game import Game
from quincunx_env.quincunx.play_values import play_values
from quincunx_env.quincunx.rules import PLAY_DRAWS_MAX, PLAY_POINTS_MAX, PLAY_POINTS_MIN, Rules
from quincunx_env.quincunx.scoring import POINTS_LIMIT

SPARE_PLACES = 2
"""Places of a hand beyond the cards dealt: longer hands are rare, and cards beyond wait for a place."""

PREVIEW_UNIT = 20
"""Points that one unit of the encoded preview stands for."""


def card_features(num_cards: int) -> Features:
    """Return the features of cards: rank (one-hot), suits, and 1. A missing card is all 0."""
    ranks = [rank for rank in RANKS if any(card.rank == rank for card in CARDS[:num_cards])]
    bits = range(len(SUITS))
    rows = [[*(card.rank == rank for rank in ranks), *(card.suits >> bit & 1 for bit in bits), 1] for card in CARDS]
    table = np.array([[0] * len(rows[0]), *rows[:num_cards]], np.float32)
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
    def places(self) -> HandPlaces:
        """The places of the hand: the cards dealt, and `SPARE_PLACES`."""
        rules = self.rules
        order = sorted(range(rules.num_cards), key=lambda card: RANKS.index(CARDS[card].rank))
        return HandPlaces(order, rules.hand_size + SPARE_PLACES, rules.num_cells, self.num_actions)

    # --- One game ----------------------------------------------------------------------------------------------------

    def observe(self, game: Game, seat: int = 0) -> Pieces:
        """Return a seat's observation of one game, as pieces (new arrays)."""
        pieces: Pieces = {
            "board": np.frombuffer(game.board[:-1], np.int8),
            "order": np.frombuffer(game.order[:-1], np.int8),
            "hand": np.frombuffer(game.hands[seat][:], np.int8),
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
        counts += [hand.count(1) for hand in from_seat(game.hands, seat)]
        counts += from_seat(game.scores, seat)
        if rules.num_rounds > 1:
            counts += [*from_seat(game.totals, seat), game.round]
        if rules.num_players > 1:
            counts += [(game.mover - seat) % rules.num_players, (game.first - seat) % rules.num_players]
        return counts

    def parts(self, game: Game, seat: int, by_place: bool) -> dict[str, Any]:
        """Return the parts of a seat's vector of one game; see `BaseObserver.parts`."""
        return self._parts(game, seat, self.places if by_place else None)

    def _parts(self, game: Game, seat: int, places: HandPlaces | None) -> dict[str, Any]:
        """Do `parts`, by the places of a hand or by card."""
        hand = game.hands[seat]
        parts: dict[str, Any] = {
            "board": game.board[:-1],
            "order": game.order[:-1],
            "hand": np.frombuffer(hand, np.int8),
            "counts": self._count(game, seat),
        }
        if self.rules.simpleton:
            parts["pending"] = game.pending or (EMPTY, EMPTY)
        if places is None:
            return parts | ({"preview": self._preview(game, seat)} if self.preview else {})
        cards = places.sorted_cards(hand)
        rest, shown = bytearray(len(hand)), cards[: places.places]
        for card in cards[places.places :]:
            rest[card] = 1
        parts["hand"] = shown + [EMPTY] * (places.places - len(shown))
        parts["rest"] = np.frombuffer(rest, np.int8)
        if self.preview:
            parts["preview"] = self._preview(game, seat, shown, places.places)
        return parts

    def _preview(
        self, game: Game, seat: int, placed: list[int] | None = None, places: int = 0
    ) -> npt.NDArray[np.int16]:
        """Return points and draws of every legal play, int16 [cards or places, cells, 2]. ``placed`` are the cards."""
        rules = self.rules
        preview = np.zeros((rules.num_cards if placed is None else places, rules.num_cells, 2), np.int16)
        if game.pending:
            card, cell = game.pending
            preview[card if placed is None else 0, cell] = game._value(card, cell)
        elif seat == game.mover and not game.over:
            held = np.frombuffer(game.hands[seat], np.int8)
            cards = held.nonzero()[0] if placed is None else np.array(placed, np.int64)
            values = self._values.one_game(game.board, cards, game.legal)
            preview[cards if placed is None else slice(len(cards))] = values
        return preview

    # --- Many games --------------------------------------------------------------------------------------------------

    def observe_batch(self, batch: Batch, seats: Ints | None = None, copy: bool = True) -> Pieces:
        """Return observations of one seat of each game, [B, ...]. See `BaseObserver.observe_batch`."""
        seats = batch.mover if seats is None else seats
        hands, pieces = self._public_batch(batch, seats, copy)
        pieces["hand"] = unpack(hands[:, None], self.rules.num_cards).view(np.int8)
        if self.preview:
            pieces["preview"] = self._preview_batch(batch, seats)
        return pieces

    def parts_batch(self, batch: Batch, seats: Ints) -> Pieces:
        """Return the parts of one seat's vectors by place; see `BaseObserver.parts_batch`."""
        hands, parts = self._public_batch(batch, seats, copy=False)
        return parts | self.placed_batch(batch, seats, hands, self.places)

    def placed_batch(self, batch: Batch, seats: Ints, hands: Words, places: HandPlaces) -> Pieces:
        """Return the parts that show the hands, uint64 [B], by place."""
        cards = places.cards(hands)
        parts: Pieces = {"hand": cards, "rest": unpack(hands[:, None], self.rules.num_cards).view(np.int8)}
        parts["rest"] = without(parts["rest"], cards)
        if self.preview:
            legal = batch.cell_mask
            legal[seats != batch.mover] = False
            parts["preview"] = self._values.placed_plays(batch.board, cards, legal)
            if self.rules.simpleton:
                rows, cells, values = self._pending_values(batch)
                parts["preview"][rows, 0, cells] = values
        return parts

    def _public_batch(self, batch: Batch, seats: Ints, copy: bool) -> tuple[Words, Pieces]:
        """Return hands of the observers, uint64 [B], and pieces without them."""
        board, order = batch.board[:, :-1], batch.order[:, :-1]
        hands, *points = batch_from_seat(seats, batch.hands, batch.scores, batch.totals)
        pieces: Pieces = {
            "board": board.copy() if copy else board,
            "order": order.copy() if copy else order,
            "hand": board,  # its place among the pieces, in their order
            "counts": self._count_batch(batch, seats, hands, *points),
        }
        if self.rules.simpleton:
            pieces["pending"] = batch.pending.astype(np.int8)
        return hands[0], pieces

    def _count_batch(
        self, batch: Batch, seats: Ints, hands: list[Words], scores: list[Ints], totals: list[Ints]
    ) -> npt.NDArray[np.int16]:
        rules, players = self.rules, self.rules.num_players
        columns = [rules.pile_size - batch.drawn, *map(np.bitwise_count, hands), *scores]
        if rules.num_rounds > 1:
            columns += [*totals, batch.round]
        if players > 1:
            columns += [(batch.mover - seats) % players, (batch.first - seats) % players]
        counts = np.empty((batch.num_games, len(columns)), np.int16)
        for index, column in enumerate(columns):
            counts[:, index] = column
        return counts

    def _preview_batch(self, batch: Batch, seats: Ints) -> npt.NDArray[np.int16]:
        preview = batch.preview()
        preview[seats != batch.mover] = 0
        if self.rules.simpleton:
            rows, cells, values = self._pending_values(batch)
            preview[rows, batch.pending[rows, 0], cells] = values
        return preview

    def _pending_values(self, batch: Batch) -> tuple[Ints, Ints, Ints]:
        """Return rows, cells [n], and points and draws [n, 2] of pending plays."""
        rows = np.flatnonzero(batch.pending[:, 0] >= 0)
        cards, cells = batch.pending[rows].T
        return rows, cells, np.stack(batch.value(cards, cells, rows, check=False), axis=1)

    # --- Masks -------------------------------------------------------------------------------------------------------

    def mask(self, game: Game) -> Mask:
        """Return legal actions of the seat to move, int8 [A]. Every legal card may be played in every legal cell."""
        rules = self.rules
        mask, plays = bytearray(rules.num_actions), rules.num_plays_encoded
        if game.pending:
            mask[plays:] = bytes([not game.over]) * (rules.num_actions - plays)
        elif not game.over:
            cells, legal = rules.num_cells, game.legal
            for first in compress(range(0, plays, cells), game.hands[game.mover]):
                mask[first : first + cells] = legal
        return np.frombuffer(mask, np.int8)

    def legal_cells(self, game: Game) -> bytes:
        """Return 1 for each legal cell; see `BaseObserver.legal_cells`."""
        return b"" if game.over or game.pending else bytes(game.legal)

    def announcing(self, game: Game) -> bool:
        """Return whether an announcement is due."""
        return game.pending is not None and not game.over

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
