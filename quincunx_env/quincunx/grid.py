"""Geometry of a square grid: which cells touch, and which lie in line.

Inside the package a cell is its index ``row * side + column``; people read and write ``(row, column)``, from the top
left. The index just past the last cell, ``side * side``, stands for everything off the grid: boards carry one extra,
for ever empty entry there, so that looking over the edge needs no special case.
"""

from functools import cache
from typing import Any

LINES = ("row", "column", "falling", "rising")
"""The four lines through a cell. Falling runs from the top left to the bottom right, rising from the bottom left to
the top right; the diagonals come last, so that the solitaire, which ignores them, uses the first two."""

STEPS = ((0, 1), (1, 0), (1, 1), (-1, 1))
"""(row, column) from one cell of a line to the next, in the order of `LINES`."""

BOXES = ("upper left", "upper right", "lower left", "lower right")
"""The four 2x2 boxes that hold a cell, named by where they lie from it."""


class Grid:
    """A ``side`` x ``side`` grid. Use `grid` to get the one grid of a size."""

    def __init__(self, side: int) -> None:
        self.side = side
        self.num_cells = side * side
        self.off = self.num_cells
        """Stands for every place off the grid."""
        cells = range(self.num_cells)
        self.adjacent = tuple(
            tuple(self._at(cell, row, column) for row, column in ((-1, 0), (0, -1), (0, 1), (1, 0))) for cell in cells
        )
        """The four cells that share an edge with each cell."""
        self.boxes = tuple(
            tuple((self._at(cell, r, 0), self._at(cell, 0, c), self._at(cell, r, c)) for r in (-1, 1) for c in (-1, 1))
            for cell in cells
        )
        """The other three cells of each of the `BOXES` at each cell."""

    def __reduce__(self) -> tuple[Any, ...]:
        # Copies and pickles are the one grid of this size, which tables are kept for.
        return grid, (self.side,)

    def _at(self, cell: int, rows: int, columns: int) -> int:
        row, column = cell // self.side + rows, cell % self.side + columns
        inside = 0 <= row < self.side and 0 <= column < self.side
        return row * self.side + column if inside else self.off

    def line(self, cell: int, line: int, distances: tuple[int, ...]) -> tuple[int, ...]:
        """The cells at these signed distances from ``cell`` on the line of this number in `LINES`."""
        row, column = STEPS[line]
        return tuple(self._at(cell, row * distance, column * distance) for distance in distances)

    def place(self, cell: int) -> tuple[int, int]:
        """(row, column) of a cell."""
        return divmod(cell, self.side)

    def cell(self, place: tuple[int, int]) -> int:
        """Cell at (row, column).

        Raises:
            ValueError: if that lies off the grid.
        """
        row, column = place
        if not (0 <= row < self.side and 0 <= column < self.side):
            raise ValueError(f"{place} is off the grid: rows and columns run from 0 to {self.side - 1}")
        return row * self.side + column


@cache
def grid(side: int) -> Grid:
    """The grid of this size."""
    return Grid(side)
