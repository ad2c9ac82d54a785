"""Positions of all elements in a picture of a game."""

from dataclasses import dataclass
from typing import NamedTuple

from quincunx_env.core.scene import Scene

WIDTH, HEIGHT = 960, 640
"""Width and height of a picture at scale 1, in pixels, the unit of all constants below."""

_LEFT, _TOP, _BOTTOM = 46, 64, 620
"""Edges of the grid, which is on the left."""
_PANEL, _RIGHT, _HEAD = 532, 940, 52
"""Edges of the panel with the seats and the last play, on the right."""
_GRID = 456
"""Width that is kept for the grid."""
_GAP = 9
"""Space between cells."""
_ASPECT = 0.8
"""Width of a card divided by its height."""
_BAR = 44
"""Height of the box of a seat that shows no cards, or their backs."""
_BACK = 26
"""Height of a back in such a box."""
_OPEN = {2: (66, 2), 3: (60, 1), 4: (54, 1)}
"""Height of the cards in the box of each seat where all hands are shown, and number of rows, by number of seats."""
_ALONE = 84
"""Height of the box of a seat that plays alone."""
_LARGE = {True: (118, 4, 2), False: (94, 5, 3)}
"""The large hand, of a seat that plays alone or of another: height of a card, cards in a row, most rows."""
_SPACE = 8
"""Space between the cards of the large hand."""
_PLAY = 88
"""Height of the box of the last play."""
_LINE = 22
"""Height of a line of the notes."""


class Rect(NamedTuple):
    """A rectangle in pixels."""

    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        """Right edge."""
        return self.x + self.width

    @property
    def bottom(self) -> float:
        """Lower edge."""
        return self.y + self.height

    @property
    def centre(self) -> tuple[float, float]:
        """(x, y) of the middle."""
        return self.x + self.width / 2, self.y + self.height / 2

    def grown(self, space: float) -> "Rect":
        """Return the rectangle with this space around it."""
        return Rect(self.x - space, self.y - space, self.width + 2 * space, self.height + 2 * space)


@dataclass(frozen=True)
class TableLayout:
    """Rectangles of a picture's elements, made by `layout_scene`. Overlapping cards are listed from bottom to top."""

    cells: dict[int, Rect]
    """Boxes of the cells that are shown."""
    seats: tuple[Rect, ...]
    """The box of each seat."""
    hands: tuple[tuple[Rect, ...], ...]
    """The cards of each seat."""
    large: int | None
    """The seat whose hand is shown large, below its box; None if all hands are in the boxes."""
    hand: dict[int, Rect]
    """Boxes of the cards in the hand of the observing seat, or of the seat to move."""
    play: Rect
    """The last play and its parts."""
    pile: Rect
    grid: Rect
    """The part of the picture with the grid and its numbers."""
    hand_area: Rect
    """The part of the picture with `hand`."""


def layout_scene(scene: Scene) -> TableLayout:
    """Lay out the picture of a scene."""
    height = (_BOTTOM - _TOP - _GAP * (scene.max_side - 1)) / scene.max_side
    width = min(height * _ASPECT, (_GRID - _GAP * (scene.max_side - 1)) / scene.max_side)
    # A part of the grid is centred in the room that is kept for it.
    left = _LEFT + (scene.max_side - len(scene.columns)) * (width + _GAP) / 2
    top = _TOP + (scene.max_side - len(scene.rows)) * (height + _GAP) / 2
    cells = {
        row * scene.side + column: Rect(left + across * (width + _GAP), top + down * (height + _GAP), width, height)
        for down, row in enumerate(scene.rows)
        for across, column in enumerate(scene.columns)
    }
    alone = len(scene.seats) == 1
    large = 0 if alone else scene.seat
    seats, hands, y = [], [], float(_HEAD)
    for number, seat in enumerate(scene.seats):
        if large is None:
            card, rows = _OPEN[len(scene.seats)]
            box = Rect(_PANEL, y, _RIGHT - _PANEL, 38 + rows * (card + 5) + 6)
            inner = Rect(box.x + 12, y + 38, box.width - 24, 0)
            hands.append(_rows(seat.hand_size, inner, card, 7 if rows == 2 else seat.hand_size, 5))
        else:
            box = Rect(_PANEL, y, _RIGHT - _PANEL, _ALONE if alone else _BAR)
            backs = Rect(box.x + 150, y + (_BAR - _BACK) / 2, 150, 0)
            hands.append(() if number == large else _rows(seat.hand_size, backs, _BACK, seat.hand_size, -8))
        seats.append(box)
        y += box.height + 8
    y += 4
    play = Rect(_PANEL, y, _RIGHT - _PANEL, _PLAY)
    if large is not None:
        room = _BOTTOM - play.bottom - 2 * _LINE - 24
        card, per_row, most = _LARGE[alone]
        rows = min(most, int((room + _SPACE) // (card + _SPACE)))
        area = Rect(_PANEL, _BOTTOM - rows * (card + _SPACE) + _SPACE, _RIGHT - _PANEL, 0)
        count = scene.seats[large].hand_size
        hands[large] = _rows(count, area, card, max(per_row, -(-count // rows)), _SPACE)
    cards = scene.seats[scene.shown].cards or ()
    hand = dict(zip(cards, hands[scene.shown], strict=True)) if cards else {}
    bottom = max((rect.bottom for rect in hand.values()), default=_BOTTOM)
    upper = min((rect.y for rect in hand.values()), default=_BOTTOM - _LARGE[alone][0])
    return TableLayout(
        cells=cells,
        seats=tuple(seats),
        hands=tuple(hands),
        large=large,
        hand=hand,
        play=play,
        pile=Rect(_RIGHT - 68, 12, 20.8, 26),
        grid=Rect(6, 36, _LEFT + _GRID + 12, HEIGHT - 36),
        hand_area=Rect(_PANEL - 12, upper - 16, _RIGHT - _PANEL + 24, bottom - upper + 28),
    )


def _rows(count: int, area: Rect, height: float, per_row: int, space: float) -> tuple[Rect, ...]:
    """Place cards in rows, closer together where they would not fit. A negative space makes them overlap."""
    width = height * _ASPECT
    step = min(width + space, (area.width - width) / max(min(count, per_row) - 1, 1))
    places = (divmod(index, per_row) for index in range(count))
    return tuple(
        Rect(area.x + column * step, area.y + row * (height + max(space, 5)), width, height) for row, column in places
    )
