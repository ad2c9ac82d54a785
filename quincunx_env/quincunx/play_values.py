"""Points and draws of many plays at once (RULES.md 1.4), in array operations.

The words of `scoring.tables` are summed two places at a time, from a table that holds the sums for every card side by
side: those for all cards that might be played in a cell are a few rows of the table, added up. In this table the fields
of a word are an array of four int16, the *parts* of a play:

    0    points without line bonuses, power play and flush
    1    draws, and 256 more for a power play
    2    code of the lines 0 and 1 (see `DerivedTables.line_bonus`), as if it were uint16
    3    code of the lines 2 and 3, where diagonals count

Axes: B games, C cells, K cards.
"""

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from quincunx_env.core.batch import Bools, Ints
from quincunx_env.quincunx import scoring
from quincunx_env.quincunx.cards import CARDS
from quincunx_env.quincunx.rules import Rules
from quincunx_env.quincunx.tables import derived_tables

_CHUNK = 512
"""Games whose plays are valued together by `PlayValues.legal_plays`, so that intermediate arrays stay in the cache."""

_COLUMNS = len(CARDS) + 1
"""Length of a table's axis of neighbours: every card, and `EMPTY` first."""

_POWER = 256
"""Added to the draws of a power play; more than there can be draws."""

Boards = npt.NDArray[np.int8]
Values = npt.NDArray[np.int16]


class PlayValues:
    """Tables and array operations for games with the same rules. `play_values` returns the shared instance.

    Args:
        rules: options of the game.
    """

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        grid, plain, derived = rules.grid, scoring.tables(rules), derived_tables(rules)
        # [2, pairs of places, C]: the cells within reach, those at even places first.
        around = np.array(plain.around, np.int64).T
        self._around = np.stack([around[0::2], around[1::2]])
        self._pairs = _pair_parts(rules.num_lines, rules.ranks, rules.num_cards)
        # [pairs of places, 1]: row of `_pairs` where both are empty.
        self._first_pair = np.arange(self._around.shape[1])[:, None] * _COLUMNS**2 + _COLUMNS + 1
        self._bonus = derived.line_bonus
        # [cards, neighbours], flat: points that a card in the grid adds to a power play.
        self._power = np.roll(derived.power, 1, axis=1).reshape(-1)
        # [neighbours]: suit bits.
        self._suits = np.array([0, *(card.suits for card in CARDS)], np.uint8)
        # For each line [6, C]: the cells at distance -3, -2, -1, 1, 2, 3. For each box [3, C]: its other cells.
        self._flush_lines = [
            np.array([grid.line(cell, line, (-3, -2, -1, 1, 2, 3)) for cell in range(grid.num_cells)]).T.copy()
            for line in range(rules.num_lines)
        ]
        self._flush_boxes = list(np.array(grid.boxes).transpose(1, 2, 0).copy())

    def __reduce__(self) -> tuple[Any, ...]:
        # Copies and pickles give the shared instance, which saves them the tables.
        return play_values, (self.rules,)

    def plays(self, board: Boards, rows: Ints, cards: Ints, cells: Ints) -> Values:
        """Points and draws, int16 [n, 2], of playing a card into an empty cell.

        Args:
            board: int8 [B, C + 1], see `quincunx_env.quincunx.batch.Batch.board`.
            rows: int64 [n], the game of each play; may repeat.
            cards: int64 [n].
            cells: int64 [n].
        """
        index = self._rows_of_pairs(board, rows, cells)
        index *= self.rules.num_cards
        index += cards
        parts = self._pairs.reshape(-1).take(index).view(np.int16).sum(axis=0, dtype=np.int16)
        return self._score(parts, board, rows, cards, cells)

    def legal_plays(self, board: Boards, cards: Bools, cells: Bools) -> Values:
        """Points and draws of each card in each cell where both are legal, int16 [B, K, C, 2]; elsewhere 0.

        Args:
            board: int8 [B, C + 1].
            cards: bool [B, K], the legal cards.
            cells: bool [B, C], the legal cells, which are empty.
        """
        (games, num_cards), num_cells = cards.shape, cells.shape[1]
        values = np.zeros((games, num_cards, num_cells, 2), np.int16)
        by_play = values.view(np.int32).reshape(-1)
        for start in range(0, games, _CHUNK):
            at = np.flatnonzero(cells[start : start + _CHUNK])
            row = at // num_cells
            cell = at - row * num_cells
            row += start
            pairs = self._rows_of_pairs(board, row, cell)
            sums = self._pairs.take(pairs[0], axis=0)
            parts = sums.view(np.int16)
            for pair in pairs[1:]:
                parts += self._pairs.take(pair, axis=0).view(np.int16)
            at = np.flatnonzero(cards.take(row, axis=0))
            which = at // num_cards
            card, cell, row = at - which * num_cards, cell.take(which), row.take(which)
            made = self._score(sums.reshape(-1).take(at).view(np.int16), board, row, card, cell)
            by_play[(row * num_cards + card) * num_cells + cell] = made.view(np.int32)[:, 0]
        return values

    def _rows_of_pairs(self, board: Boards, rows: Ints, cells: Ints) -> Ints:
        """Rows of `_pairs` for the cards around plays into these cells, int64 [pairs of places, n]."""
        around = self._around.take(cells, axis=2)
        around += rows * board.shape[1]
        even, odd = board.reshape(-1).take(around)
        pairs: Ints = even * np.int64(_COLUMNS)
        pairs += odd
        pairs += self._first_pair
        return pairs

    def _score(self, parts: npt.NDArray[np.int16], board: Boards, rows: Ints, cards: Ints, cells: Ints) -> Values:
        """Points and draws of plays, int16 [n, 2], from the sums of their parts, int16 [4 n], which are overwritten."""
        parts = parts.reshape(-1, 4)
        values, codes = parts[:, :2], parts.view(np.uint16)[:, 2:]
        points, draws = values.T
        for pair, bonus in enumerate(self._bonus):
            points += bonus.take(codes[:, pair])
        powered = np.flatnonzero(draws >= _POWER)
        if len(powered):
            draws[powered] -= _POWER
            index = board[rows[powered], :-1] + (cards[powered] * _COLUMNS + 1)[:, None]
            points[powered] += self._power.take(index).sum(axis=1, dtype=np.int16)
        if self.rules.flush:
            points += scoring.FLUSH_BONUS * self._flushes(board, rows, cards, cells)
        return values

    def _flushes(self, board: Boards, rows: Ints, cards: Ints, cells: Ints) -> Values:
        """Numbers of lines and boxes that score a flush, int16 [n]."""
        first = rows * board.shape[1]

        def suits(places: Ints) -> npt.NDArray[np.uint8]:
            near: Ints = board.reshape(-1).take(places[:, cells] + first)
            return self._suits.take(near + 1)

        own = self._suits.take(cards + 1)
        count = np.zeros(len(cards), np.int16)
        for line in self._flush_lines:
            before3, before2, before1, after1, after2, after3 = suits(line)
            near = own & before1 & after1
            shared = own & before1 & before2 & before3 | near & before2 | near & after2 | own & after1 & after2 & after3
            count += shared != 0
        for box in self._flush_boxes:
            count += (own & np.bitwise_and.reduce(suits(box), axis=0)) != 0
        return count


@cache
def play_values(rules: Rules) -> PlayValues:
    """The shared instance for these rules."""
    return PlayValues(rules)


@cache
def _pair_parts(num_lines: int, ranks: str, num_cards: int) -> Ints:
    """The sums of the parts that two neighbours add, four int16 as one int64: [pairs of places * neighbours ** 2, K].

    The places of a pair follow one another in `scoring.Tables.words`; neighbours have `EMPTY` first.
    """
    words = np.array(scoring.words(num_lines, ranks), np.int64)[:num_cards]
    # The plain table keeps EMPTY last, where index -1 finds it.
    words = np.roll(words, 1, axis=2)
    sums = np.moveaxis(words[:, 0::2, :, None] + words[:, 1::2, None, :], 0, -1)
    parts = np.empty((*sums.shape, 4), np.int16)
    parts[..., 0] = sums & scoring.BASIC_MASK
    parts[0, ..., 0] -= 4 * scoring.BASIC_OFFSET
    parts[..., 1] = (sums >> scoring.DRAWS_SHIFT & scoring.DRAWS_MASK) + _POWER * (sums >> scoring.POWER_SHIFT & 1)
    for pair in range(2):
        parts[..., 2 + pair] = (sums >> scoring.CODE_SHIFT + 16 * pair & 0xFFFF).astype(np.uint16).view(np.int16)
    return parts.view(np.int64).reshape(-1, num_cards)
