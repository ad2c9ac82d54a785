"""Parts of the score of a play, for any game."""

from typing import NamedTuple


class Part(NamedTuple):
    """A part of a play's score, and the cells it comes from."""

    name: str
    """Its name in the rules, in the singular; ``Score.parts`` of each game and texts use the same names."""
    points: int
    cells: tuple[int, ...]
    """Cells of the cards that score together with the card played."""
    draws: int = 0
    """Cards that it draws."""
