"""Geometry of a square grid: adjacent cells, lines and boxes.

A cell is its index ``row * side + column``; text shows ``(row, column)``, from the top left. The index past the last
cell, ``side * side``, stands for every place off the grid. Boards have one extra entry there, which is always empty:
the edge needs no special case.

Axes: C cells.
"""

from functools import cache
from typing import Any

from quincunx_env.core.integers import as_integer, check_integer

LINES = ("row", "column", "falling", "rising")
"""The four lines through a cell. ``falling`` runs from the top left to the bottom right, ``rising`` from bottom left to
top right. The diagonals come last: the solitaire, which ignores them, uses the first two."""

STEPS = ((0, 1), (1, 0), (1, 1), (-1, 1))
"""(row, column) from one cell of a line to the next, in the order of `LINES`."""

BOXES = ("upper left", "upper right", "lower left", "lower right")
"""The four 2x2 boxes that hold a cell, named by their direction from it."""


class Grid:
    """A ``side`` x ``side`` grid. `grid` returns the one instance of each size."""

    def __init__(self, side: int) -> None:
        self.side = side
        self.num_cells = side * side
        self.off = self.num_cells
        """Index that stands for every place off the grid."""
        cells = range(self.num_cells)
        self.adjacent = tuple(
            tuple(self._at(cell, row, column) for row, column in ((-1, 0), (0, -1), (0, 1), (1, 0))) for cell in cells
        )
        """[C, 4]: the cells that share an edge with each cell."""
        self.boxes = tuple(
            tuple((self._at(cell, r, 0), self._at(cell, 0, c), self._at(cell, r, c)) for r in (-1, 1) for c in (-1, 1))
            for cell in cells
        )
        """[C, 4, 3]: the other cells of each of the `BOXES` of a cell."""

    def __reduce__(self) -> tuple[Any, ...]:
        # Copies and pickles give the one instance of this size, which is a key of cached tables.
        return grid, (self.side,)

    def _at(self, cell: int, rows: int, columns: int) -> int:
        row, column = cell // self.side + rows, cell % self.side + columns
        inside = 0 <= row < self.side and 0 <= column < self.side
        return row * self.side + column if inside else self.off

    def line(self, cell: int, line: int, distances: tuple[int, ...]) -> tuple[int, ...]:
        """Return the cells at signed distances from ``cell`` on ``line``, an index into `LINES`."""
        row, column = STEPS[line]
        return tuple(self._at(cell, row * distance, column * distance) for distance in distances)

    def place(self, cell: int) -> tuple[int, int]:
        """Return (row, column) of a cell.

        Raises:
            ValueError: if there is no such cell.
        """
        return divmod(check_integer("cell", cell, 0, self.num_cells - 1), self.side)

    def cell(self, place: tuple[int, int]) -> int:
        """Return the cell at (row, column), integers of any type.

        Raises:
            ValueError: if the place is off the grid, or not a pair of integers.
        """
        try:
            row, column = map(as_integer, place)
        except (TypeError, ValueError):
            raise ValueError(f"a place must be (row, column), two integers, got {place!r}") from None
        if not (0 <= row < self.side and 0 <= column < self.side):
            raise ValueError(f"{place} is off the grid, which ends at ({self.side - 1}, {self.side - 1})")
        return row * self.side + column


@cache
def grid(side: int) -> Grid:
    """Return the grid of this size."""
    return Grid(side)
