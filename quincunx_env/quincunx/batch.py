"""Many games of Quincunx at once, in array operations (RULES.md Part 1).

`Batch` plays B games without a loop over them; tests compare it with `Game` after every action. Hands and cells are
bits of one integer per game. The score of a play is looked up in the tables of `scoring`. A pile is stored as its
prefix sets, so that drawing any number of cards is one exclusive or.

Axes: B games, n rows of them, P seats, K cards, C cells, R rounds, A actions, W words of 64 cells. W is 1, or 2 for the
81 cells of the open start.
"""

from collections.abc import Iterable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from quincunx_env.core.arrays import ONE, Bools, Ints, Words, as_bits, in_range, row_numbers, unpack
from quincunx_env.core.batch import BaseBatch
from quincunx_env.core.batch_state import state_array
from quincunx_env.core.cards import EMPTY
from quincunx_env.core.integers import as_array
from quincunx_env.quincunx import scoring
from quincunx_env.quincunx.deal import Deal
from quincunx_env.quincunx.game import Game, Pending
from quincunx_env.quincunx.play_values import play_values
from quincunx_env.quincunx.rules import ANNOUNCE_MIN, OPEN_SPAN, Rules
from quincunx_env.quincunx.tables import derived_tables

_WORD_BITS = 6
_WORD = 1 << _WORD_BITS

_BLOCK = 4096
"""Games whose masks are made together, so that intermediate arrays stay in the cache."""

_RATING_STEPS = np.array(scoring.RATING_STEPS)


def _num_words(rules: Rules) -> int:
    """Return W, the number of 64-bit words that hold a cell set."""
    return -(-rules.num_cells // _WORD)


def _last_play(rules: Rules) -> tuple[int, int]:
    """Return the greatest card and cell of `Batch.pending`."""
    return (rules.num_cards - 1, rules.num_cells - 1) if rules.simpleton else (-1, -1)


class Batch(BaseBatch[Rules, Game]):
    """``num_games`` games in progress.

    See `BaseBatch` for inherited attributes.

    Actions are joint: ``card * C + cell`` or, while an announcement is due, ``K * C + announcement + 64``. The gains of
    a step include the penalties at the end of a round.
    """

    board: npt.NDArray[np.int8] = state_array(
        np.int8, EMPTY, lambda rules: (rules.num_cells + 1,), lambda rules: (EMPTY, rules.num_cards - 1)
    )
    """int8 [B, C + 1]: card id or `EMPTY`; the extra cell stands for every place off the grid."""
    order: npt.NDArray[np.int8] = state_array(
        np.int8, -1, lambda rules: (rules.num_cells + 1,), lambda rules: (-1, rules.num_plays)
    )
    """int8 [B, C + 1]: ply on which the card of a cell was played, 0 for face-up cards, -1 where there is none."""
    legal: Words = state_array(np.uint64, 0, lambda rules: (_num_words(rules),), derived=True)
    """uint64 [B, W]: bits of the cells in which a card may be played."""
    drawn: Ints = state_array(limits=lambda rules: (0, rules.pile_size))
    """int64 [B]: cards drawn from the pile in this round."""
    pending: Ints = state_array(np.int64, -1, lambda rules: (2,), lambda rules: (-1, _last_play(rules)))
    """int64 [B, 2]: Simpleton, chosen card and cell while their points are to be announced; otherwise -1."""
    lost: Bools = state_array(np.bool_, False)
    """bool [B]: solitaire, whether the hand ran out before the grid was full."""
    _pile: Words = state_array(np.uint64, 0, lambda rules: (rules.pile_size + 1,), derived=True)
    """uint64 [B, pile_size + 1]: prefix sets of the pile; entry n holds the bits of its first n cards."""
    _taken: Words = state_array(np.uint64, 0, lambda rules: (_num_words(rules),), derived=True)
    """uint64 [B, W]: bits of the cells that hold a card, where cards must touch."""
    _touched: Words = state_array(np.uint64, 0, lambda rules: (_num_words(rules),), derived=True)
    """uint64 [B, W]: bits of the cells that share an edge with a card, where cards must touch."""
    _rows_used: Ints = state_array(derived=True)
    """int64 [B]: bits of the rows that hold a card, in the open start."""
    _columns_used: Ints = state_array(derived=True)
    """int64 [B]: bits of the columns that hold a card."""

    def _load_tables(self) -> None:
        self._tables = _tables(self.rules)
        self._values = play_values(self.rules)

    # --- 1.2 Set-up --------------------------------------------------------------------------------------------------

    def _begin_round(self, rows: Ints) -> None:
        """See `BaseBatch._begin_round`: rows int64 [n]."""
        rules, tables = self.rules, self._tables
        cards = self.decks[rows, self.round[rows]]
        up, hand, players = len(rules.face_up_cells), rules.hand_size, rules.num_players
        board = np.full((len(rows), rules.num_cells + 1), EMPTY, np.int8)
        board[:, rules.face_up_cells] = cards[:, :up]
        self.board[rows] = board
        self.order[rows] = tables.first_order
        self.legal[rows] = tables.first_legal
        if rules.touching:
            self._taken[rows] = tables.first_taken
            self._touched[rows] = tables.first_touched
        if rules.start == "open":
            self._rows_used[rows], self._columns_used[rows] = tables.first_used
        bits = ONE << cards[:, up:].astype(np.uint64)
        hands = bits[:, : players * hand].reshape(len(rows), players, hand)
        self.hands[rows] = np.bitwise_or.reduce(hands, axis=2)
        pile = np.zeros((len(rows), rules.pile_size + 1), np.uint64)
        np.bitwise_or.accumulate(bits[:, players * hand :], axis=1, out=pile[:, 1:])
        self._pile[rows] = pile
        self.drawn[rows] = self.ply[rows] = self.scores[rows] = 0
        self.mover[rows] = self._first(rows)
        self.over[rows] = self.lost[rows] = False
        if rules.simpleton:
            self.pending[rows] = -1

    # --- 1.3 The turn ------------------------------------------------------------------------------------------------

    def _play(self, rows: Ints, actions: Ints) -> Ints:
        """See `BaseBatch._play`: int64 [n] each -> int64 [n, P]."""
        rules = self.rules
        gains = np.zeros((len(rows), rules.num_players), np.int64)
        if not rules.simpleton:
            cards, cells = self._card_and_cell(actions)
            self._take_from_hand(rows, cards)
            points, draws = self._value(cards, cells, rows)
            if rules.num_players == 1:
                gains[:, 0] = points
            else:
                gains.reshape(-1)[np.arange(len(rows)) * rules.num_players + self.mover[self._at(rows)]] = points
            self._finish_play(rows, cards, cells, draws, gains)
            return gains
        announcing = self.pending[rows, 0] >= 0
        chosen = self._card_and_cell(actions[~announcing])
        self._take_from_hand(rows[~announcing], chosen[0])
        self.pending[rows[~announcing]] = np.stack(chosen, axis=1)
        gains[announcing] = self._announce(rows[announcing], actions[announcing])
        return gains

    def _card_and_cell(self, plays: Ints) -> tuple[Ints, Ints]:
        """Return the card and the cell of plays, int64 [n] each, faster than ``np.divmod``."""
        cards = plays // self.rules.num_cells
        return cards, plays - cards * self.rules.num_cells

    def _is_legal(self, rows: Ints, actions: Ints) -> Bools:
        """See `BaseBatch._is_legal`: int64 [n] each -> bool [n]."""
        rules, at = self.rules, self._at(rows)
        cards, cells = self._card_and_cell(actions)
        # A number beyond the cards, negative ones included, shifts all bits out.
        held = self.hands.reshape(-1).take(self._mover_hand(rows)) >> cards.astype(np.uint64) & ONE
        word = self.legal.reshape(-1).take(rows * self.legal.shape[1] + (cells >> _WORD_BITS))
        legal: Bools = held & word >> (cells & _WORD - 1).astype(np.uint64) != 0
        if rules.simpleton:
            is_announcement = (actions >= rules.num_plays_encoded) & (actions < rules.num_actions)
            legal = np.where(self.pending[at, 0] >= 0, is_announcement, legal)
        return legal

    def _finish_play(self, rows: Ints, cards: Ints, cells: Ints, draws: Ints, gains: Ints) -> None:
        """Finish plays whose points are known: lay the cards, draw, pass the turn, end rounds.

        Args:
            rows: int64 [n].
            cards: int64 [n], already taken from the hands.
            cells: int64 [n].
            draws: int64 [n], cards earned.
            gains: int64 [n, P], points for the plays; the penalties at the end of a round are subtracted in place.
        """
        rules, at = self.rules, self._at(rows)
        self.ply[at] += 1
        self._lay(rows, at, cards, cells)
        # R3: draws that the pile cannot serve are lost.
        before = self.drawn[at].copy()
        after = np.minimum(before + draws, rules.pile_size)
        self.drawn[at] = after
        pile, first = self._pile.reshape(-1), rows * (rules.pile_size + 1)
        hands, holder = self.hands.reshape(-1), self._mover_hand(rows)
        hands[holder] |= pile.take(first + after) ^ pile.take(first + before)
        full = self.ply[at] == rules.num_plays
        any_full = full.any()
        if any_full:
            gains[full] -= self._penalties(self.hands[rows[full]])
        self._gain(at, gains)
        if rules.num_players == 1:
            self.lost[at] = self.over[at] = (hands.take(holder) == 0) & ~full
        else:
            self.mover[at] = (self.mover[at] + 1) % rules.num_players
        if any_full:
            self._end_round(rows[full])

    def _lay(self, rows: Ints, at: slice | Ints, cards: Ints, cells: Ints) -> None:
        """Put cards on the grid and update the legal cells. All are int64 [n]; ``at`` is `_at` of the rows."""
        rules, tables = self.rules, self._tables
        place = rows * (rules.num_cells + 1) + cells
        self.board.reshape(-1)[place] = cards
        self.order.reshape(-1)[place] = self.ply[at]
        bits = tables.cell_bits.take(cells, axis=0)
        if not rules.touching:
            self.legal[at] ^= bits
            return
        self._taken[at] |= bits
        self._touched[at] |= tables.adjacent_bits.take(cells, axis=0)
        if rules.start == "open":
            row, column = np.divmod(cells, rules.grid.side)
            self._rows_used[at] |= 1 << row
            self._columns_used[at] |= 1 << column
        self.legal[at] = self._legal_where_touching(at)

    def _legal_where_touching(self, at: slice | Ints) -> Words:
        """Return bits of the empty cells that touch a card, uint64 [n, W].

        In the open start they keep within the span. ``at`` is `_at` of the rows.
        """
        legal: Words = self._touched[at] & ~self._taken[at]
        if self.rules.start == "open":
            legal &= self._tables.row_window.take(self._rows_used[at], axis=0)
            legal &= self._tables.column_window.take(self._columns_used[at], axis=0)
        return legal

    def forfeit(self, rows: npt.ArrayLike) -> None:
        """End games at once, rows [n] or a mask bool [B]; see `BaseBatch.forfeit`."""
        rows = row_numbers(rows, self.num_games)
        if self.rules.num_players == 1:
            self.lost[rows[~self.over[rows]]] = True
        super().forfeit(rows)

    # --- 1.4 Scoring a play ------------------------------------------------------------------------------------------

    def value(
        self, cards: npt.ArrayLike, cells: npt.ArrayLike, rows: npt.ArrayLike | None = None, *, check: bool = True
    ) -> tuple[Ints, Ints]:
        """Return points and draws of playing cards into cells, int64 [n] each.

        Any card and any empty cell will do; nothing is played.

        Args:
            cards: integers [n].
            cells: integers [n].
            rows: integers [n], the game of each play; may repeat. By default play i is in game i.
            check: False skips the check of arguments, which then must be int64 arrays. The values of taken cells have
                no meaning then.

        Raises:
            ValueError: if a card, a cell or a row is out of range, or a cell taken.
        """
        if not check:
            return self._value(np.asarray(cards), np.asarray(cells), self._all if rows is None else np.asarray(rows))
        rules = self.rules
        rows = self._all if rows is None else row_numbers(rows, self.num_games, repeats=True)
        cards = in_range("cards", cards, len(rows), rules.num_cards)
        cells = in_range("cells", cells, len(rows), rules.num_cells)
        taken = self.board.reshape(-1).take(rows * (rules.num_cells + 1) + cells) != EMPTY
        if taken.any():
            at = int(taken.argmax())
            raise ValueError(f"cell {rules.grid.place(int(cells[at]))} of game {rows[at]} is taken")
        return self._value(cards, cells, rows)

    def _value(self, cards: Ints, cells: Ints, rows: Ints) -> tuple[Ints, Ints]:
        """Compute `value` of int64 [n] each, unchecked."""
        points, draws = self._values.plays(self.board, rows, cards, cells).T.astype(np.int64)
        return points, draws

    def preview(self) -> npt.NDArray[np.int16]:
        """Return points and draws of every legal play, int16 [B, K, C, 2]; other entries are 0."""
        return self._values.legal_plays(self.board, self._legal_hands(), self.cell_mask)

    @property
    def unseen(self) -> Words:
        """Cards that the mover sees neither on the grid nor in the hand, uint64 [B], as bits."""
        board = self.board[:, :-1]
        seen = as_bits(board, board >= 0) | self.hands.reshape(-1).take(self._mover_hand(self._all))
        unseen: Words = self._tables.deck & ~seen
        return unseen

    # --- 1.5 End of the round ----------------------------------------------------------------------------------------

    def penalties(self, rows: npt.ArrayLike | None = None) -> Ints:
        """Return penalty points if the round ended now, int64 [n, P].

        Args:
            rows: row numbers [n], which may repeat, or a mask bool [B]; all rows by default.

        Raises:
            ValueError: for invalid rows.
        """
        return self._penalties(
            self.hands if rows is None else self.hands[row_numbers(rows, self.num_games, repeats=True)]
        )

    def _penalties(self, hands: Words) -> Ints:
        """Return penalty points of hands: uint64 [n, P] -> int64 [n, P]."""
        held: Ints = np.bitwise_count(hands[..., None] & self._tables.penalty_sets) @ self._tables.penalty_units
        return held

    # --- 1.6 Simpleton -----------------------------------------------------------------------------------------------

    def _announce(self, rows: Ints, actions: Ints) -> Ints:
        """Score the pending plays of rows as announced, int64 [n] each. Return the gains, int64 [n, P]."""
        players = self.rules.num_players
        cards, cells = self.pending[rows].T
        true, draws = self._value(cards, cells, rows)
        announced = actions - self.rules.num_plays_encoded + ANNOUNCE_MIN
        gains = np.zeros((len(rows), players), np.int64)
        each, mover = np.arange(len(rows)), self.mover[rows]
        gains[each, mover] = np.minimum(announced, 2 * true - announced)
        gains[each, (mover + 1) % players] += np.maximum(true - announced, 0)
        self.pending[rows] = -1
        self._finish_play(rows, cards, cells, draws, gains)
        return gains

    # --- Masks -------------------------------------------------------------------------------------------------------

    @property
    def card_mask(self) -> Bools:
        """Cards that the seat to move may play, bool [B, K]; none in finished and announcing games."""
        return unpack(self._legal_hands()[:, None], self.rules.num_cards).view(np.bool_)

    def _legal_hands(self) -> Words:
        """Return `card_mask` as bits, uint64 [B]."""
        return np.where(self._no_play(), np.uint64(0), self.hands.reshape(-1).take(self._mover_hand(self._all)))

    @property
    def cell_mask(self) -> Bools:
        """Cells for any legal card, bool [B, C]; none in finished and announcing games."""
        legal = np.where(self._no_play()[:, None], np.uint64(0), self.legal)
        return unpack(legal, self.rules.num_cells).view(np.bool_)

    def _no_play(self) -> Bools:
        """Return where no card may be played, bool [B]."""
        return self.over | (self.pending[:, 0] >= 0) if self.rules.simpleton else self.over

    def _mask(self, out: Bools | None = None) -> Bools:
        """See `BaseBatch._mask`: bool [B, A]."""
        rules = self.rules
        if out is None:
            out = np.zeros((self.num_games, rules.num_actions), np.bool_)
        else:
            out[:] = False
        # A row of cells is copied as one wide element, and only where its card may be played.
        wide = np.dtype((np.void, rules.num_cells))
        hands, cells = self._legal_hands()[:, None], self.cell_mask.view(wide)[:, 0]
        plays = out[:, : rules.num_plays_encoded].view(wide)
        for start in range(0, self.num_games, _BLOCK):
            block = slice(start, start + _BLOCK)
            legal = np.flatnonzero(unpack(hands[block], rules.num_cards).view(np.bool_))
            rows = legal // rules.num_cards
            if rules.simpleton:  # whose plays are not a contiguous array
                plays[block][rows, legal % rules.num_cards] = cells[block].take(rows)
            else:
                plays[block].reshape(-1)[legal] = cells[block].take(rows)
        if rules.simpleton:
            out[:, rules.num_plays_encoded :] = self.announcing[:, None]
        return out

    @property
    def announcing(self) -> Bools:
        """Bool [B]: whether an announcement is due."""
        return (self.pending[:, 0] >= 0) & ~self.over

    # --- State -------------------------------------------------------------------------------------------------------

    def set_position(self, **state: npt.ArrayLike) -> None:
        """Set all games to given positions; see `BatchState.set_position`.

        ``board`` and ``order`` are [B, C] or [C]; ``ply`` may be left out.

        >>> from quincunx_env import Rules, parse_card
        >>> batch, boards = Batch(Rules(), 2), np.full((2, 16), -1)
        >>> boards[0, [0, 4]] = parse_card("4MS"), parse_card("5ML")
        >>> boards[1, [0, 4]] = parse_card("4YK"), parse_card("8VL")
        >>> batch.set_position(board=boards)
        >>> points, draws = batch.value([parse_card("6SY")] * 2, [8, 8])
        >>> points.tolist(), draws.tolist()
        ([20, 4], [1, 0])
        """
        order = as_array(state.get("order"))
        if "ply" not in state and order.dtype.kind in "iu" and order.size:  # anything else is refused, if given
            state["ply"] = np.maximum(order.max(axis=-1), 0)
        super().set_position(**state)

    def _position(self, name: str) -> npt.NDArray[Any]:
        """See `BatchState._position`: ``board`` and ``order`` are [B, C]."""
        array = super()._position(name)
        return array[:, :-1] if name in ("board", "order") else array

    def _check(self) -> None:
        super()._check()
        chosen = self.pending >= 0
        if (chosen[:, 0] != chosen[:, 1]).any():
            raise ValueError("state array 'pending' must have a card and a cell, or neither")

    def _derived(self) -> dict[str, npt.NDArray[Any]]:
        """See `BatchState._derived`: [B, ...] each."""
        rules, tables, n = self.rules, self._tables, self.num_games
        dealt = self.decks[:, 0, 0] != EMPTY
        laid = (self.board[:, :-1] != EMPTY)[:, :, None]
        taken, touched = (
            np.bitwise_or.reduce(np.where(laid, bits, np.uint64(0)), axis=1)
            for bits in (tables.cell_bits, tables.adjacent_bits)
        )
        legal = np.bitwise_or.reduce(tables.cell_bits, axis=0) & ~taken
        used = np.zeros((n, 2), np.int64)
        if rules.start == "open":
            square = laid.reshape(n, rules.grid.side, rules.grid.side)
            used = np.stack([square.any(axis=axis) @ (1 << np.arange(rules.grid.side)) for axis in (2, 1)], axis=1)
            legal = tables.row_window.take(used[:, 0], axis=0) & tables.column_window.take(used[:, 1], axis=0)
        if rules.touching:
            legal = legal & touched & ~taken
        else:
            taken, touched = np.zeros_like(taken), np.zeros_like(touched)
        decks = self.decks[self._all, self.round, rules.num_dealt - rules.pile_size :]
        pile = np.zeros((n, rules.pile_size + 1), np.uint64)
        np.bitwise_or.accumulate(ONE << np.maximum(decks, 0).astype(np.uint64), axis=1, out=pile[:, 1:])
        found = {"legal": legal, "_pile": pile, "_taken": taken, "_touched": touched}
        found |= {"_rows_used": used[:, 0], "_columns_used": used[:, 1]}
        for name, array in found.items():
            found[name] = np.where(dealt.reshape(-1, *[1] * (array.ndim - 1)), array, array.dtype.type(0))
        return found

    def deals(self, row: int) -> tuple[Deal, ...]:
        """Return the deals of one game, by round; see `BaseBatch.deals`."""
        return tuple(Deal.of_cards(self.rules, cards) for cards in self.decks[self._dealt_row(row)].tolist())

    def _state_of(self, game: Game) -> dict[str, Any]:
        state = super()._state_of(game) | {name: getattr(game, name) for name in ("order", "drawn", "lost")}
        return state | {"pending": game.pending or (-1, -1)}

    def to_game(self, row: int) -> Game:
        """Copy one game into plain Python; see `BaseBatch.to_game`."""
        row = self._dealt_row(row)
        order = self.order[row, :-1].tolist()
        laid = sorted((ply, cell) for cell, ply in enumerate(order) if ply > 0)
        card, cell = self.pending[row].tolist()
        return Game.from_position(
            self.rules,
            self.deals(row),
            round=int(self.round[row]),
            plays=[(int(self.board[row, cell]), cell) for _, cell in laid],
            hands=[np.flatnonzero(hand).tolist() for hand in unpack(self.hands[row][:, None], self.rules.num_cards)],
            drawn=int(self.drawn[row]),
            scores=self.scores[row].tolist(),
            totals=self.totals[row].tolist(),
            mover=int(self.mover[row]),
            pending=Pending(card, cell) if card >= 0 else None,
            over=bool(self.over[row]),
            lost=bool(self.lost[row]),
        )


def ratings(scores: Ints, lost: Bools) -> Ints:
    """Return indices into `scoring.RATINGS` of solitaire rounds. Points int64 [n], lost bool [n] -> int64 [n]."""
    return np.where(lost, 0, 1 + np.searchsorted(_RATING_STEPS, scores, side="right"))


# --- Tables, built from the plain functions of the rules -------------------------------------------------------------


class _Tables(NamedTuple):
    """Tables of `Batch`. ``side`` is the side of the grid."""

    deck: np.uint64
    """Bits of the cards of the deck."""
    penalty_units: Ints
    """[4]: 1, 2, 4 and 8 points of the penalty of a card left in hand."""
    penalty_sets: Words
    """[4]: for each of these the cards whose penalty contains it in binary."""
    cell_bits: Words
    """[C, W]: the bit of each cell."""
    adjacent_bits: Words
    """[C, W]: the bits of its adjacent cells."""
    row_window: Words
    """[2 ** side, W], by the set of rows in use: the cells in rows that keep within the span of the open start."""
    column_window: Words
    """[2 ** side, W]: the same for columns."""
    first_order: npt.NDArray[np.int8]
    """[C + 1]: `Batch.order` when play begins. The following fields are from this moment, too."""
    first_legal: Words
    """[W]: bits of the cells in which a card may be played."""
    first_taken: Words
    """[W]: bits of the cells that hold a card."""
    first_touched: Words
    """[W]: bits of the cells that share an edge with a card."""
    first_used: tuple[int, int]
    """Bits of the rows and of the columns that hold a card."""


@cache
def _tables(rules: Rules) -> _Tables:
    grid = rules.grid

    def bits(cells: Iterable[int]) -> list[int]:
        """Return the bits of a set of cells, in words of 64."""
        number = sum(1 << cell for cell in set(cells) - {grid.off})
        return [number >> _WORD * word & 2**_WORD - 1 for word in range(_num_words(rules))]

    def window(used: int, axis: int) -> list[int]:
        """Return the bits of cells within the span of used lanes: rows (axis 0) or columns (axis 1)."""
        lanes = [lane for lane in range(grid.side) if used >> lane & 1]
        near = [lane for lane in range(grid.side) if max([*lanes, lane]) - min([*lanes, lane]) < OPEN_SPAN]
        return bits(cell for cell in range(grid.num_cells) if grid.place(cell)[axis] in near)

    first = Game.from_seed(rules, 0)
    places = [grid.place(cell) for cell in rules.face_up_cells]
    penalty, units = derived_tables().penalty, np.array([1, 2, 4, 8])
    sets = range(2**grid.side if rules.start == "open" else 1)
    return _Tables(
        deck=np.bitwise_or.reduce(ONE << np.array(rules.deck, np.uint64)),
        penalty_units=units,
        penalty_sets=as_bits(np.arange(len(penalty))[None], penalty & units[:, None] != 0),
        cell_bits=np.array([bits([cell]) for cell in range(grid.num_cells)], np.uint64),
        adjacent_bits=np.array([bits(adjacent) for adjacent in grid.adjacent], np.uint64),
        row_window=np.array([window(used, 0) for used in sets], np.uint64),
        column_window=np.array([window(used, 1) for used in sets], np.uint64),
        first_order=np.array(first.order, np.int8),
        first_legal=np.array(bits(first.legal_cells()), np.uint64),
        first_taken=np.array(bits(rules.face_up_cells), np.uint64),
        first_touched=np.array(bits(near for cell in rules.face_up_cells for near in grid.adjacent[cell]), np.uint64),
        first_used=(sum({1 << row for row, _ in places}), sum({1 << column for _, column in places})),
    )
