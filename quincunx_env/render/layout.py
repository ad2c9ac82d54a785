"""Positions of all elements in a picture of a game, and hit tests for pixels. Needs no library."""

from dataclasses import dataclass
from typing import NamedTuple

from quincunx_env.core.scene import Scene

WIDTH, HEIGHT = 1080, 680
"""Width and height of a picture at scale 1, in pixels, the unit of all constants below."""

_LEFT, _RIGHT, _TOP, _BOTTOM = 48, 1056, 56, 520
"""Edges of the table: the grid is on its left, the seats and the last play are on its right."""
_PANEL = 500
"""Left edge of the panel with the seats."""
_HAND = 570
"""Top of the hand."""
_PILE = 968
"""Left edge of the pile."""
_CARD = 88
"""Height of a card in the hand that is shown large."""
_SMALL = 42
"""Height of a card in the other hands."""
_ASPECT = 0.8
"""Width of a card divided by its height."""


class Rect(NamedTuple):
    """A rectangle in pixels."""

    x: int
    y: int
    width: int
    height: int

    def holds(self, x: float, y: float) -> bool:
        """Whether a pixel lies in the rectangle."""
        return self.x <= x < self.x + self.width and self.y <= y < self.y + self.height

    @property
    def centre(self) -> tuple[float, float]:
        """(x, y) of the middle."""
        return self.x + self.width / 2, self.y + self.height / 2


@dataclass(frozen=True)
class TableLayout:
    """Rectangles of all elements of a picture, made by ``layout_scene``.

    Overlapping cards are listed from bottom to top.
    """

    size: tuple[int, int]
    """Width and height of the picture."""
    scale: float
    cells: dict[int, Rect]
    """By cell, for every cell that is shown."""
    hand: dict[int, Rect]
    """By card, for the hand that is shown large."""
    seats: tuple[Rect, ...]
    """The box of each seat."""
    small: tuple[tuple[Rect, ...], ...]
    """For each seat, the cards of its hand inside its box; empty for the seat whose hand is shown large."""
    play: Rect
    """The last play and its parts."""
    pile: Rect

    def cell_at(self, x: float, y: float) -> int | None:
        """The cell at a pixel, if there is one."""
        return next((cell for cell, rect in self.cells.items() if rect.holds(x, y)), None)

    def card_at(self, x: float, y: float) -> int | None:
        """The topmost card of the large hand at a pixel, if there is one."""
        return next((card for card, rect in reversed(self.hand.items()) if rect.holds(x, y)), None)

    def px(self, units: float) -> int:
        """Convert a length at scale 1 to pixels."""
        return round(units * self.scale)


def layout_scene(scene: Scene, scale: float = 1.0) -> TableLayout:
    """Lay out the picture of a scene."""

    def rect(x: float, y: float, width: float, height: float) -> Rect:
        left, top = round(x * scale), round(y * scale)
        return Rect(left, top, round((x + width) * scale) - left, round((y + height) * scale) - top)

    def row(count: int, x: float, y: float, width: float, height: float) -> tuple[Rect, ...]:
        """Cards side by side, overlapping where they would not fit."""
        card = height * _ASPECT
        step = min(card * 1.1, (width - card) / max(count - 1, 1))
        return tuple(rect(x + index * step, y, card, height) for index in range(count))

    gap = 26 // scene.max_side + 3
    height = (_BOTTOM - _TOP - gap * (scene.max_side - 1)) / scene.max_side
    width = height * _ASPECT
    # A part of the grid is centred in the room that is kept for it.
    left = _LEFT + (scene.max_side - len(scene.columns)) * (width + gap) / 2
    top = _TOP + (scene.max_side - len(scene.rows)) * (height + gap) / 2
    cells = {
        row * scene.side + column: rect(left + across * (width + gap), top + down * (height + gap), width, height)
        for down, row in enumerate(scene.rows)
        for across, column in enumerate(scene.columns)
    }
    # The hand that is shown large is not repeated in the box of its seat; a solitaire has no other.
    seats, small, y = [], [], _TOP
    for number, seat in enumerate(scene.seats):
        large = len(scene.seats) == 1 or number == scene.seat
        tall = 40 if large else 46 + _SMALL
        seats.append(rect(_PANEL, y, _RIGHT - _PANEL, tall))
        small.append(row(0 if large else seat.hand_size, _PANEL + 14, y + 38, _RIGHT - _PANEL - 28, _SMALL))
        y += tall + 8
    cards = scene.seats[scene.shown].cards or ()
    room = (_RIGHT if scene.pile is None else _PILE - 24) - _LEFT
    return TableLayout(
        size=(round(WIDTH * scale), round(HEIGHT * scale)),
        scale=scale,
        cells=cells,
        hand=dict(zip(cards, row(len(cards), _LEFT, _HAND, room, _CARD), strict=True)),
        seats=tuple(seats),
        small=tuple(small),
        play=rect(_PANEL, y, _RIGHT - _PANEL, _BOTTOM - y),
        pile=rect(_PILE, _HAND, _CARD * _ASPECT, _CARD),
    )
