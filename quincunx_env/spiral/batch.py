"""Many spiral games at once, in array operations (RULES.md Part 2).

`Batch` plays B games without a loop over them; tests compare it with `Game` after every action. The eight other cells
of the two lines of a play are packed into one word. It has three entries for each cell. A decimal digit encodes the
distance between its rank and the rank of the card played. A bit is set if the suit is the same. A digit in base 11 is
its value in a fifteen. Tables built from the functions of `scoring` give the points.

Axes: B games, n rows of them, 2 seats, K cards, C cells, A actions. Four cells of a line have 10,000 codes of ranks,
and 14,641 of values.
"""

from functools import cache
from itertools import product
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from quincunx_env.core.arrays import ONE, Bools, Ints, Words, in_range, row_numbers, unpack
from quincunx_env.core.batch import BaseBatch
from quincunx_env.core.cards import EMPTY
from quincunx_env.spiral import scoring
from quincunx_env.spiral.cards import CARDS, SUITS
from quincunx_env.spiral.deal import Deal
from quincunx_env.spiral.game import Game
from quincunx_env.spiral.rules import COLUMNS, HAND, LINES, NUM_CELLS, PLAYS, ROWS, SIDE, SPIRAL, Rules

_OTHERS = SIDE - 1
_FAR = 0
"""Digit of an empty cell, or of a card whose rank is at least 5 away; other digits are the distance plus 5."""
_CODES = 10**_OTHERS
_CODE_BITS = 14
_SUITS_SHIFT = 2 * _CODE_BITS
_VALUES = 11
"""Values in a fifteen: 1 to 10, and 0 for an empty cell."""
_VALUES_SHIFT = _SUITS_SHIFT + 2 * _OTHERS
_COLUMNS = len(CARDS) + 1
"""Length of a table's axis of neighbours: every card, and `EMPTY` first."""


class Batch(BaseBatch[Rules, Game]):
    """``num_games`` games in progress. A round is a deal, an action a card. See `BaseBatch` for the attributes."""

    def _load_tables(self) -> None:
        self._tables = _tables()

    # --- 2.1 Set-up --------------------------------------------------------------------------------------------------

    def _begin_round(self, rows: Ints) -> None:
        """See `BaseBatch._begin_round`: rows int64 [n]."""
        cards = self.decks[rows, self.round[rows]]
        board = np.full((len(rows), NUM_CELLS), EMPTY, np.int8)
        board[:, SPIRAL[0]] = cards[:, 0]
        self.board[rows] = board
        bits = ONE << cards[:, 1:].astype(np.uint64)
        self.hands[rows] = np.bitwise_or.reduce(bits.reshape(len(rows), 2, HAND), axis=2)
        self.ply[rows] = self.scores[rows] = 0
        self.mover[rows] = self._first(rows)
        self.over[rows] = False

    # --- 2.2 Play ----------------------------------------------------------------------------------------------------

    def _is_legal(self, rows: Ints, actions: Ints) -> Bools:
        """See `BaseBatch._is_legal`: int64 [n] each -> bool [n]."""
        # A number beyond the cards, negative ones included, shifts all bits out.
        held = self.hands.reshape(-1).take(self._mover_hand(rows)) >> actions.astype(np.uint64) & ONE
        legal: Bools = held != 0
        return legal

    def _play(self, rows: Ints, actions: Ints) -> Ints:
        """See `BaseBatch._play`: int64 [n] each -> int64 [n, 2]."""
        at, each = self._at(rows), np.arange(len(rows))
        gains = np.zeros((len(rows), 2), np.int64)
        if self.rules.scoring == "play":
            gains[each, self.mover[at]] = self._value(actions, rows).sum(axis=1)
        self._take_from_hand(rows, actions)
        self.ply[at] += 1
        self.board.reshape(-1)[rows * NUM_CELLS + self._tables.spiral.take(self.ply[at])] = actions
        self.mover[at] ^= 1
        full = self.ply[at] == PLAYS
        any_full = full.any()
        if any_full and self.rules.scoring == "end":
            gains[full] = self._final_scores(rows[full])
        self._gain(at, gains)
        if any_full:
            self._end_round(rows[full])
        return gains

    def _legal_hands(self) -> Words:
        """See `BaseBatch._legal_hands`: uint64 [B]."""
        return np.where(self.over, np.uint64(0), self.hands.reshape(-1).take(self._mover_hand(self._all)))

    @property
    def cell_mask(self) -> Bools:
        """Whether a card may be played in the only cell, bool [B, 1]."""
        return ~self.over[:, None]

    def _mask(self, out: Bools | None = None) -> Bools:
        """See `BaseBatch._mask`: bool [B, A]."""
        mask = unpack(self._legal_hands()[:, None], len(CARDS)).view(np.bool_)
        if out is None:
            return mask
        out[:] = mask
        return out

    # --- 2.3 Scoring as you go ---------------------------------------------------------------------------------------

    def value(self, cards: npt.ArrayLike, rows: npt.ArrayLike | None = None, *, check: bool = True) -> Ints:
        """Return points of any cards in the next cell, int64 [n, 2]: in its row and in its column.

        Args:
            cards: integers [n].
            rows: integers [n], the game of each card; may repeat. By default card i is in game i.
            check: False skips the check of arguments, which then must be int64 arrays.

        Raises:
            ValueError: if a card or a row is out of range, or the square of its game full.
        """
        if not check:
            return self._value(np.asarray(cards), self._all if rows is None else np.asarray(rows))
        rows = self._all if rows is None else row_numbers(rows, self.num_games, repeats=True)
        cards = in_range("cards", cards, len(rows), len(CARDS))
        full = self.ply[rows] == PLAYS
        if full.any():
            raise ValueError(f"the square of game {rows[full.argmax()]} is full")
        return self._value(cards, rows)

    def _value(self, cards: Ints, rows: Ints) -> Ints:
        """Compute `value` of int64 [n] each, unchecked."""
        tables = self._tables
        codes, flushes, values = self._lines(rows, tables.spiral.take(self.ply[rows] + 1), cards)
        points = tables.kinds.take(codes) + tables.runs.take(codes) + flushes
        if self.rules.fifteens:
            points += tables.fifteens.take(values * _VALUES + tables.values.take(cards))
        return points.T

    def _lines(self, rows: Ints, cells: Ints, cards: Ints) -> tuple[Ints, Ints, Ints]:
        """Return the code of the other ranks, the flush points, and the code of the other values of both lines.

        Args:
            rows: int64 [n], the game of each card.
            cells: int64 [n], the cell of each card.
            cards: int64 [n].

        Returns:
            int64 [2, n] each: in the row and in the column.
        """
        tables = self._tables
        others = self.board.reshape(-1).take(tables.around.take(cells, axis=1) + rows * NUM_CELLS)
        index = others + cards * (2 * _OTHERS * _COLUMNS)
        index += tables.word_offsets[:, None]
        words = tables.words.take(index).sum(axis=0)
        codes, suits, values = (words >> tables.shifts & tables.masks).view(np.int64)
        suits += tables.place.take(cells, axis=1) * 2**_OTHERS
        return codes, tables.flush.take(suits), values

    # --- 2.4 Scoring at the end --------------------------------------------------------------------------------------

    def _final_scores(self, rows: Ints) -> Ints:
        """Return each seat's points for full squares, rows int64 [n] -> int64 [n, 2]."""
        n, tables = len(rows), self._tables
        each = np.repeat(rows, NUM_CELLS)
        cells = np.tile(np.arange(NUM_CELLS), n)
        codes, flushes, _ = self._lines(each, cells, self.board[rows].reshape(-1).astype(np.int64))
        shape = (n, SIDE, SIDE)
        totals = []
        for line, axis, places in ((0, 2, ROWS), (1, 1, COLUMNS)):
            # Each card of a kind has its share of the points; each card of a run or a flush has all of them.
            kinds = tables.kind_share.take(codes[line]).reshape(shape).sum(axis=axis)
            runs = tables.runs.take(codes[line]).reshape(shape).max(axis=axis)
            points = kinds + runs + flushes[line].reshape(shape).max(axis=axis)
            if self.rules.fifteens:
                values = tables.values.take(self.board[rows][:, np.array(places)])
                found = values @ tables.sets == scoring.FIFTEEN
                points += scoring.FIFTEEN_POINTS * found.sum(axis=2)
            totals.append(points.sum(axis=1))
        dealer = 1 - self._first(rows)
        gains = np.empty((n, 2), np.int64)
        gains[np.arange(n), 1 - dealer], gains[np.arange(n), dealer] = totals
        return gains

    # --- State -------------------------------------------------------------------------------------------------------

    def set_position(self, **state: npt.ArrayLike) -> None:
        """Set all games to given positions; see `BatchState.set_position`.

        Without decks the cards may lie anywhere: ``ply`` says which cell is next.

        >>> from quincunx_env.spiral.cards import parse_card
        >>> batch, board = Batch(Rules(), 1), np.full(25, -1)
        >>> board[[10, 11]] = parse_card("AS"), parse_card("AH")
        >>> batch.set_position(board=board, ply=0)
        >>> batch.value([parse_card("AD")]).tolist()
        [[6, 0]]
        """
        super().set_position(**state)

    def _check(self) -> None:
        super()._check()
        if (~self.over & (self.ply == PLAYS)).any():
            raise ValueError(f"state array 'ply' must be less than {PLAYS} where a game is not over")

    def deals(self, row: int) -> tuple[Deal, ...]:
        """Return the deals of one game, by round; see `BaseBatch.deals`."""
        return tuple(Deal.of_cards(self.rules, cards) for cards in self.decks[self._dealt_row(row)].tolist())

    def to_game(self, row: int) -> Game:
        """Copy one game into plain Python; see `BaseBatch.to_game`."""
        row = self._dealt_row(row)
        board = self.board[row].tolist()
        return Game.from_position(
            self.rules,
            self.deals(row),
            round=int(self.round[row]),
            plays=[board[cell] for cell in SPIRAL[1 : 1 + int(self.ply[row])]],
            scores=self.scores[row].tolist(),
            totals=self.totals[row].tolist(),
            mover=int(self.mover[row]),
            over=bool(self.over[row]),
        )


# --- Tables, built from the plain functions of the rules -------------------------------------------------------------


class _Tables(NamedTuple):
    """Tables of the rules.

    An axis of 2 is the row, then the column of a cell, one of 8 their other cells. An axis of K + 1 begins with
    `EMPTY`.
    """

    spiral: Ints
    """[25]: cell by ply."""
    place: Ints
    """[2, C]: index of a cell in its lines."""
    around: Ints
    """[8, C]: the other cells of its lines."""
    words: npt.NDArray[np.uint64]
    """[K, 8, K + 1], flat: contribution of a neighbour to the word."""
    word_offsets: Ints
    """[8]: index of card 0 among the neighbours of a place, in a card's part of ``words``."""
    shifts: npt.NDArray[np.uint64]
    """[3, 2, 1]: first bit of the code of the ranks, of the suits and of the code of the values, for each line."""
    masks: npt.NDArray[np.uint64]
    """[3, 1, 1]: the bits of each."""
    kinds: Ints
    """[10000]: points for kinds."""
    kind_share: Ints
    """[10000]: the share of each card in these points."""
    runs: Ints
    """[10000]: points for runs."""
    flush: Ints
    """[5, 16], flat: points for a flush, by place in the line and set of the other cards of the same suit."""
    values: Ints
    """[K]: value in a fifteen."""
    fifteens: Ints
    """[14641, 11], flat: points for the fifteens that a card of a value, 0 to 10, belongs to."""
    sets: npt.NDArray[np.int64]
    """[5, 32]: 1 for the members of each set of the cells of a line."""


@cache
def _tables() -> _Tables:
    cells = np.arange(NUM_CELLS)
    place = (np.array(LINES).transpose(1, 0, 2) == cells[:, None]).argmax(axis=2)
    around = [[cell for line in LINES[place] for cell in line if cell != place] for place in cells]
    codes = [_line_scores(tuple(sorted(code // 10**other % 10 for other in range(_OTHERS)))) for code in range(_CODES)]
    kinds, shares, runs = np.array(codes).T
    words = [
        [[_word(card, other, place) for other in (EMPTY, *range(len(CARDS)))] for place in range(2 * _OTHERS)]
        for card in range(len(CARDS))
    ]
    return _Tables(
        spiral=np.array(SPIRAL),
        place=place,
        around=np.array(around).T.copy(),
        words=np.array(words, np.uint64).reshape(-1),
        word_offsets=np.arange(2 * _OTHERS) * _COLUMNS + 1,
        shifts=np.array(
            [[0, _CODE_BITS], [_SUITS_SHIFT, _SUITS_SHIFT + _OTHERS], [_VALUES_SHIFT, _VALUES_SHIFT + _CODE_BITS]],
            np.uint64,
        )[:, :, None],
        masks=np.array([2**_CODE_BITS - 1, 2**_OTHERS - 1, 2**_CODE_BITS - 1], np.uint64)[:, None, None],
        kinds=kinds,
        kind_share=shares,
        runs=runs,
        flush=np.array([_flush(at, suits) for at in range(SIDE) for suits in range(2**_OTHERS)]),
        values=np.array([card.value for card in CARDS]),
        fifteens=_fifteens(),
        sets=np.array(list(product((0, 1), repeat=SIDE))).T.copy(),
    )


def _word(card: int, other: int, place: int) -> int:
    """Return the part of a play's word for another card, in one of the eight other places."""
    if other == EMPTY:
        return 0
    line, position = divmod(place, _OTHERS)
    distance = CARDS[other].rank - CARDS[card].rank
    digit = distance + SIDE if abs(distance) < SIDE else _FAR
    same = CARDS[other].suit == CARDS[card].suit
    code = digit * 10**position << _CODE_BITS * line
    return int(
        code
        | same << _SUITS_SHIFT + place
        | CARDS[other].value * _VALUES**position << _VALUES_SHIFT + _CODE_BITS * line
    )


@cache
def _line_scores(digits: tuple[int, ...]) -> tuple[int, int, int]:
    """Return points of a line by the digits of its other ranks: for kinds, a card's share of them, for runs."""
    middle = 6  # ranks up to four away on either side exist
    line = [middle, *(EMPTY if digit == _FAR else middle + digit - SIDE for digit in digits)]
    if line.count(middle) > len(SUITS):
        return 0, 0, 0  # impossible: a pack has four cards of a rank
    kinds = scoring.kinds(line, 0)
    return kinds, kinds // line.count(middle), scoring.runs(line, 0)


def _fifteens() -> Ints:
    """Build `_Tables.fifteens`, int64 [14641 * 11].

    It scores each set of the four other cards, without an empty cell, that lacks just the value.
    """
    values = np.indices((_VALUES,) * _OTHERS).reshape(_OTHERS, -1)[::-1]
    counts = np.zeros((_VALUES**_OTHERS, _VALUES), np.int64)
    for chosen in product((False, True), repeat=_OTHERS):
        members = values[list(chosen)]
        lacking = scoring.FIFTEEN - members.sum(axis=0)
        fits = (members > 0).all(axis=0) & (lacking > 0) & (lacking < _VALUES)
        counts[np.flatnonzero(fits), lacking[fits]] += scoring.FIFTEEN_POINTS
    return counts.reshape(-1)


def _flush(at: int, suits: int) -> int:
    """Return points for a flush of the card at index ``at``.

    Bit i of ``suits``: other card i of the line has its suit.
    """
    other_suit = len(CARDS) // len(SUITS)
    line = [0 if suits >> place & 1 else other_suit for place in range(_OTHERS)]
    line.insert(at, 0)
    return scoring.flush(line, at)
