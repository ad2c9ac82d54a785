"""Points and draws of many plays at once (RULES.md 1.4).

All parts of a score but power play and flush belong to a line through the cell of the play. They follow from the cards
within reach there, and are looked up in a few tables, for each card that might be played:

- where at most three cells of a line are within reach, as in a 4x4 grid, one table holds all that the line adds;
- elsewhere one table holds what the two adjacent cards add, and one, by rank, the bonus of the line.

An entry of a table has two int16 for each card that might be played: points and draws. They are added up side by side.
A power play adds ``_POWER`` to the draws. The index of an entry is a weighted sum over the cells within reach. Each
cell contributes its weight times the number of its card or rank, 0 where there is none.

Axes: B games, n plays, m power plays among them, K cards, C cells, H slots of a hand, L lines. Q places within reach
of a cell, T tables, V entries of a table. A leading ... stands for several cards played in one cell.
"""

from array import array
from functools import cache
from itertools import pairwise, product
from typing import Any

import numpy as np
import numpy.typing as npt

from quincunx_env.core.arrays import ONE, Bools, Floats, Ints, Words
from quincunx_env.core.cards import EMPTY
from quincunx_env.quincunx import scoring
from quincunx_env.quincunx.cards import CARDS
from quincunx_env.quincunx.rules import Rules
from quincunx_env.quincunx.tables import derived_tables

_CHUNK = 1024
"""Games whose plays `PlayValues.legal_plays` values together, so that intermediate arrays stay in the cache."""

_POWER = 256
"""Added to the draws of a power play; more than the most draws."""

Boards = npt.NDArray[np.int8]
Values = npt.NDArray[np.int16]


class PlayValues:
    """Tables and array operations for games with the same rules.

    `play_values` returns the shared instance.

    Args:
        rules: options of the game.
    """

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self._around, weights, self._tables = _tables(rules)
        self._columns = np.flatnonzero(weights.any(axis=0))
        self._weights = weights[:, self._columns]
        self._words, self._matrix = _one_game(self._tables, weights, self._around)
        # [42]: number of the rank from 1 on, 0 for none, by card; an empty cell comes first.
        orders = [scoring.rank_order(card, rules.ranks) for card in (EMPTY, *range(len(CARDS)))]
        self._ranks = np.array([0 if order is None else order + 1 for order in orders], np.int8)
        # [41, 42]; an index of EMPTY ends in the column before, which stands for EMPTY, too.
        self._power = derived_tables().power
        # [42]: suit bits by card; an empty cell comes first.
        self._suits = np.array([0, *(card.suits for card in CARDS)], np.uint8)
        # For each line [6, C]: the cells at distance -3, -2, -1, 1, 2, 3. For each box [3, C]: its other cells.
        grid = rules.grid
        self._flush_lines = [
            np.array([grid.line(cell, line, (-3, -2, -1, 1, 2, 3)) for cell in range(grid.num_cells)]).T.copy()
            for line in range(rules.num_lines)
        ]
        self._boxes = list(np.array(grid.boxes).transpose(1, 2, 0).copy())
        beyond = {"flush": self._flush_points}
        # Points that the tables do not have: functions with the arguments of `plays`, which return int16 [..., n].
        self._beyond = [beyond[option] for option in scoring.BEYOND if getattr(rules, option)]

    def __reduce__(self) -> tuple[Any, ...]:
        # Copies and pickles give the shared instance, which saves them the tables.
        return play_values, (self.rules,)

    def plays(self, board: Boards, rows: Ints, cards: Ints, cells: Ints) -> Values:
        """Return points and draws of plays into empty cells, int16 [..., n, 2].

        Args:
            board: int8 [B, C + 1], see `quincunx_env.quincunx.batch.Batch.board`.
            rows: int64 [n], the game of each cell, which may repeat; [1] if it is the same for all.
            cards: int64 [..., n] or [..., 1]: one card for each cell, or several.
            cells: int64 [n].
        """
        num_cards, entries = self.rules.num_cards, self._entries(board, rows, cells)
        values: Values = self._tables[0].reshape(-1).take(entries[0] * num_cards + cards).view(np.int16)
        for entry, table in zip(entries[1:], self._tables[1:], strict=True):
            values += table.reshape(-1).take(entry * num_cards + cards).view(np.int16)
        values = values.reshape(*cards.shape[:-1], len(cells), 2)
        if len(powered := _power_plays(values)):
            card = np.broadcast_to(cards, values.shape[:-1]).reshape(-1).take(powered)
            self._add_power(values, powered, board, rows.take(powered % len(rows)), card)
        for points in self._beyond:
            values[..., 0] += points(board, rows, cards, cells)
        return values

    def all_plays(self, board: Boards, rows: Ints, cells: Ints) -> Values:
        """Return points and draws of every card in cells, int16 [n, K, 2].

        Reads whole entries of the tables, which takes a fraction of the time of `plays` with as many cards.

        Args:
            board: int8 [B, C + 1], as for `plays`.
            rows: int64 [n], the game of each cell, which may repeat.
            cells: int64 [n].
        """
        entries, num_cards = self._entries(board, rows, cells), self.rules.num_cards
        values: Values = self._tables[0].take(entries[0], axis=0).view(np.int16)
        for entry, table in zip(entries[1:], self._tables[1:], strict=True):
            values += table.take(entry, axis=0).view(np.int16)
        values = values.reshape(len(cells), num_cards, 2)
        if len(powered := _power_plays(values)):
            row, card = np.divmod(powered, num_cards)
            self._add_power(values, powered, board, rows.take(row), card)
        for points in self._beyond:
            values[..., 0] += points(board, rows, np.arange(num_cards)[:, None], cells).T
        return values

    def _entries(self, board: Boards, rows: Ints, cells: Ints) -> Ints:
        """Return the entry of each table for cells, int64 [T, n]. Arguments are as for `plays`."""
        around = self._around.take(cells, axis=1)
        around += rows * board.shape[1]
        near = board.reshape(-1).take(around)
        near += 1
        if self._columns[-1] >= len(near):
            near = np.concatenate([near, self._ranks.take(near)])[self._columns]
        # In floats, whose products are fast; they are exact below 2**24, and indices are far smaller.
        entries: Ints = (self._weights @ near.astype(np.float32)).astype(np.int64)
        return entries

    def legal_plays(self, board: Boards, hands: Words, cells: Bools) -> Values:
        """Return points and draws of every legal play, int16 [B, K, C, 2].

        Other entries are 0.

        Args:
            board: int8 [B, C + 1].
            hands: uint64 [B], bits of the cards. A hand is not empty where a cell is legal; else card 0 is valued.
            cells: bool [B, C], the legal cells, which are empty.
        """
        slots = _slots(hands)
        return self._plays_of(board, slots, slots, self.rules.num_cards, cells)

    def placed_plays(self, board: Boards, cards: Ints, cells: Bools) -> Values:
        """Return points and draws of legal plays by slot, int16 [B, H, C, 2].

        Other entries are 0. Arguments are as for `legal_plays`.

        Args:
            board: int8 [B, C + 1].
            cards: int64 [B, H], the card in each slot, -1 after the last one.
            cells: bool [B, C].
        """
        held = cards.T[: int((cards != EMPTY).sum(axis=1).max(initial=0))]
        places = np.where(held == EMPTY, 0, np.arange(len(held))[:, None])  # empty places repeat the first one
        return self._plays_of(board, np.where(held == EMPTY, held[:1], held), places, cards.shape[1], cells)

    def _plays_of(self, board: Boards, slots: Ints, entries: Ints, num_entries: int, cells: Bools) -> Values:
        """Return points and draws of the cards in slots, int16 [B, num_entries, C, 2].

        Args:
            board: int8 [B, C + 1].
            slots: int64 [H, B], cards; of each game at least one.
            entries: int64 [H, B], for each the number of its entry.
            num_entries: number of entries.
            cells: bool [B, C], the legal cells, which are empty.
        """
        games, num_cells = cells.shape
        values = np.zeros((games, num_entries, num_cells, 2), np.int16)
        by_play = values.view(np.int32).reshape(-1)
        for start in range(0, games, _CHUNK):
            at = np.flatnonzero(cells[start : start + _CHUNK])
            at += start * num_cells
            row = at // num_cells
            cell = at - row * num_cells
            made = self.plays(board, row, slots.take(row, axis=1), cell)
            index = entries.take(row, axis=1)
            index *= num_cells
            index += row * (num_entries * num_cells) + cell
            by_play[index] = made.view(np.int32)[..., 0]
        return values

    def one_game(self, board: "array[int]", cards: Ints, legal: bytearray) -> Values:
        """Return points and draws of one game's legal plays, int16 [n, C, 2]. Other entries are 0.

        Args:
            board: int8 [C + 1], as `quincunx_env.quincunx.game.Game.board`.
            cards: int64 [n].
            legal: uint8 [C], 1 for each legal cell, as `quincunx_env.quincunx.game.Game.legal`; they are empty.
        """
        laid = np.frombuffer(board, np.int8)
        near = laid + 1.0
        if self._matrix.shape[1] > len(near):
            near = np.concatenate([near, self._ranks.take(laid + 1)])
        near[self.rules.num_cells] = 1.0
        entries = (self._matrix @ near).astype(np.int64)
        index = entries.reshape(-1, 1, self.rules.num_cells) + cards[:, None]
        values: Values = self._words.take(index).view(np.int16).sum(axis=0, dtype=np.int16)
        values = values.reshape(len(cards), -1, 2)
        values *= np.frombuffer(legal, np.int8)[:, None]
        if values.max() >= _POWER and len(powered := _power_plays(values)):
            rows = np.zeros(len(powered), np.int64)
            self._add_power(values, powered, laid[None], rows, cards.take(powered // values.shape[1]))
        for points in self._beyond:
            cells = np.flatnonzero(legal)
            values[:, cells, 0] += points(laid[None], np.zeros(1, np.int64), cards[:, None], cells)
        return values

    def _add_power(self, values: Values, powered: Ints, board: Boards, rows: Ints, cards: Ints) -> None:
        """Add the points of power plays to values, in place.

        Args:
            values: int16 [..., n, 2], as `plays` returns them.
            powered: int64 [m], indices of the power plays among them.
            board: int8 [B, C + 1], as for `plays`.
            rows: int64 [m], the game of each.
            cards: int64 [m].
        """
        laid = board.take(rows, axis=0).T
        index = np.add(laid, cards * self._power.shape[1], order="C")
        each = values.reshape(-1, 2)
        each[powered, 0] += self._power.take(index).sum(axis=0, dtype=np.int16)
        each[powered, 1] -= _POWER

    def _flush_points(self, board: Boards, rows: Ints, cards: Ints, cells: Ints) -> Values:
        """Return the points of lines and boxes that score a flush, int16 [..., n]. See `plays`."""
        own = self._suits.take(cards + 1)
        count = np.zeros((*cards.shape[:-1], len(cells)), np.int16)
        for line in self._flush_lines:
            before3, before2, before1, after1, after2, after3 = self._suits_at(line, board, rows, cells)
            near = own & before1 & after1
            shared = own & before1 & before2 & before3 | near & before2 | near & after2 | own & after1 & after2 & after3
            count += shared != 0
        for box in self._boxes:
            count += (own & np.bitwise_and.reduce(self._suits_at(box, board, rows, cells), axis=0)) != 0
        return scoring.FLUSH_BONUS * count

    def _suits_at(self, places: Ints, board: Boards, rows: Ints, cells: Ints) -> npt.NDArray[np.uint8]:
        """Return the suits at ``places`` [3 or 6, C] of cells [n], uint8 [3 or 6, n]."""
        near: Ints = board.reshape(-1).take(places[:, cells] + rows * board.shape[1])
        return self._suits.take(near + 1)


def _power_plays(values: Values) -> Ints:
    """Return indices of the power plays among values [..., n, 2], int64 [m]; see `PlayValues._add_power`."""
    # Compares points and draws as one word, which needs a little-endian machine: ``values[..., 1] >= _POWER`` takes
    # more than twice the time.
    found: Ints = np.flatnonzero(values.view(np.int32).reshape(-1) >= _POWER << 16)
    return found


@cache
def play_values(rules: Rules) -> PlayValues:
    """Return the shared instance for these rules."""
    return PlayValues(rules)


def _slots(hands: Words) -> Ints:
    """Return the cards of each hand in slots, uint64 [B] -> int64 [H, B].

    Hands with fewer cards repeat one; empty hands have card 0.
    """
    rest = np.empty((int(np.bitwise_count(hands).max(initial=0)), len(hands)), np.uint64)
    rest[:1] = np.maximum(hands, ONE)
    for more, fewer in pairwise(rest):
        np.subtract(more, ONE, out=fewer)
        fewer &= more  # without the lowest card
    rest = np.where(rest, rest, rest[:1])
    return np.bitwise_count(rest ^ (rest - ONE)).astype(np.int64) - 1


# --- Tables, built from the words of `scoring.tables` ----------------------------------------------------------------


def _tables(rules: Rules) -> tuple[Ints, npt.NDArray[np.float32], list[npt.NDArray[np.int32]]]:
    """Build the tables of `PlayValues`.

    Returns:
        around: int64 [Q, C], the cells within reach of every cell.
        weights: float32 [T, 2 * Q], of the cards at all places, then of their ranks.
        tables: int32 [V, K] each, the two int16 of every card.
    """
    grid = rules.grid
    distances: tuple[int, ...] = scoring.DISTANCES
    # [L, C, 4]
    reach: Ints = np.array(
        [[grid.line(cell, line, distances) for cell in range(grid.num_cells)] for line in range(rules.num_lines)]
    )
    one_sided = bool((reach[:, :, [0, -1]] == grid.off).any(axis=2).all())
    if one_sided:
        # Reversed where the cell two places away lies before, a line scores the same.
        reach, distances = np.where(reach[:, :, :1] == grid.off, reach, reach[:, :, ::-1])[:, :, 1:], distances[1:]
    weights, tables = list[npt.NDArray[np.float32]](), list[npt.NDArray[np.int32]]()
    for line in range(rules.num_lines):
        is_orthogonal = scoring.is_orthogonal(line)
        for part in ("line",) if one_sided else ("adjacent", "bonus") if is_orthogonal else ("bonus",):
            used = (-1, 1) if part == "adjacent" else distances
            kind = 0 if is_orthogonal else 2  # all lines of a kind have the same tables
            bonus = scoring.tables(rules).bonus[kind]
            steps, table = _table(rules.num_lines, rules.ranks, rules.num_cards, kind, bonus, used, part)
            weight = np.zeros((2, rules.num_lines, len(distances)), np.float32)
            weight[int(part == "bonus"), line, [distances.index(distance) for distance in used]] = steps
            weights.append(weight.reshape(-1))
            tables.append(table)
    places = reach.transpose(0, 2, 1).reshape(-1, grid.num_cells)
    return places, np.array(weights), tables


def _one_game(
    tables: list[npt.NDArray[np.int32]], weights: npt.NDArray[np.float32], around: Ints
) -> tuple[npt.NDArray[np.int32], Floats]:
    """Return the tables of `_tables` for the plays of one game.

    Args:
        tables: int32 [V, K] each.
        weights: float32 [T, 2 * Q].
        around: int64 [Q, C].

    Returns:
        words: int32, all tables in one, row after row.
        matrix: float64 [T * C, C + 1 or 2 * (C + 1)]: index of the first word of each table's entry, for every
            cell, from the numbers of the cards by cell and, if any table needs them, of their ranks. The place off the
            grid, which holds no card, has the number 1 there: its column is the first word of the table.
    """
    distinct = list({id(table): table for table in tables}.values())
    starts = np.cumsum([0, *(table.size for table in distinct[:-1])]).tolist()
    firsts = dict(zip(map(id, distinct), starts, strict=True))
    (places, cells), kinds = around.shape, 1 + weights[:, len(around) :].any()
    matrix = np.zeros((len(tables), cells, kinds, cells + 1))
    for place, kind in product(range(places), range(kinds)):
        matrix[:, np.arange(cells), kind, around[place]] += weights[:, None, kind * places + place]
    matrix *= tables[0].shape[1]
    matrix[..., cells] = 0
    matrix[:, :, 0, cells] = [[firsts[id(table)]] for table in tables]
    return np.concatenate([table.reshape(-1) for table in distinct]), matrix.reshape(len(tables) * cells, -1)


@cache
def _table(
    num_lines: int,
    ranks: str,
    num_cards: int,
    line: int,
    bonus: tuple[int, ...],
    distances: tuple[int, ...],
    part: str,
) -> tuple[Ints, npt.NDArray[np.int32]]:
    """Build a table for the cards at some places of a line.

    Args:
        num_lines: number of lines that count, as for `scoring.words`.
        ranks: in their order, as for `scoring.words`.
        num_cards: K.
        line: of `scoring.LINES`.
        bonus: of this line, as in `scoring.Tables.bonus`.
        distances: of the places.
        part: ``"adjacent"``: basic points, draws and power play (1.4.1, 1.4.5); ``"bonus"``: threes, straights and
            pairs (1.4.2 to 1.4.4), by rank; ``"line"``: all of them.

    Returns:
        int64 [2 to 4], the weights of the cards, or ranks, at these places, and int32 [V, K], the two int16 of every
        card.
    """
    orders = [scoring.rank_order(card, ranks) for card in range(len(CARDS))]
    neighbours = [orders.index(order) for order in range(len(ranks))] if part == "bonus" else list(range(num_cards))
    words = np.array(scoring.words(num_lines, ranks), np.int64)[:num_cards, :, [EMPTY, *neighbours]]
    if part == "bonus":
        # A card stands for its rank at several places at once, where its power plays would carry into the code.
        words &= -1 << scoring.CODE_SHIFT
    sums = np.zeros(num_cards, np.int64)
    for distance in distances:
        sums = sums[..., None, :] + words[:, len(scoring.DISTANCES) * line + scoring.DISTANCES.index(distance)].T
    entries = np.zeros((*sums.shape, 2), np.int16)
    if part != "bonus" and scoring.is_orthogonal(line):
        entries[..., 0] = (sums & scoring.BASIC_MASK) - 2 * scoring.BASIC_OFFSET
        powered = (sums >> scoring.POWER_SHIFT & 1) * _POWER
        entries[..., 1] = (sums >> scoring.DRAWS_SHIFT & scoring.DRAWS_MASK) + powered
    if part != "adjacent":
        codes = sums >> scoring.CODE_SHIFT + 8 * line & scoring.CODE_MASK
        entries[..., 0] += np.array(bonus, np.int16).take(codes)
    steps = (len(neighbours) + 1) ** np.arange(len(distances))
    return steps[::-1], entries.view(np.int32).reshape(-1, num_cards)
