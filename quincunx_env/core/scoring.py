"""What a play scores, taken apart, whatever the game."""

from typing import NamedTuple


class Part(NamedTuple):
    """One part of what a play scores, and the cards that it comes from."""

    name: str
    """What the rules call it."""
    points: int
    cells: tuple[int, ...]
    """Where the cards lie that make it together with the card played."""
    draws: int = 0
    """Cards drawn for it."""
