"""Painter of scenes with pygame: cards, chips, text. It depends neither on the rules of a game nor on a display.

Shapes are supersampled, that is drawn larger and scaled down, which antialiases their edges, and cached.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from math import isfinite

import pygame

from quincunx_env.core.scene import Disc, Face, Polygon, Scene, ScoredPlay, Suit
from quincunx_env.core.scoring import Part
from quincunx_env.render.layout import Rect, TableLayout

Colour = tuple[int, int, int]

TABLE: Colour = (36, 45, 50)
BOX: Colour = (46, 57, 63)
CELL: Colour = (42, 52, 58)
LINE: Colour = (92, 108, 114)
TEXT: Colour = (226, 230, 226)
QUIET: Colour = (150, 164, 168)
CARD: Colour = (248, 244, 234)
INK: Colour = (44, 48, 56)
BACK: Colour = (62, 88, 98)
BACK_PRINT: Colour = (92, 122, 130)
ACCENT: Colour = (246, 205, 97)
"""The seat to move, legal cells, the last card played."""
GAIN: Colour = (92, 200, 150)
LOSS: Colour = (240, 128, 100)
DRAW: Colour = (122, 188, 240)
BONUS: Colour = (214, 170, 240)
HEAT: tuple[Colour, ...] = ((52, 62, 104), (32, 128, 134), (94, 190, 110), (244, 226, 92))
"""Colours of values from low to high, of increasing lightness."""

SMOOTH = 4
"""Supersampling factor."""

Surface = pygame.Surface


# --- Pieces ----------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def text(words: str, size: int, colour: Colour) -> Surface:
    """A line of text. Its capitals and digits reach as far above the middle of the surface as below it."""
    if not pygame.font.get_init():  # other users of pygame may end it at any time
        pygame.font.init()
    # Large letters are spaced evenly, by every build of the font engine alike.
    font = pygame.font.Font(None, size * SMOOTH)
    line, capital = font.render(words, True, colour), font.render("H", True, colour).get_bounding_rect()
    reach = -(-max(capital.centery, line.get_height() - capital.centery) // SMOOTH) * SMOOTH
    surface = _blank(-(-line.get_width() // SMOOTH) * SMOOTH, 2 * reach, colour)
    surface.blit(line, (0, reach - capital.centery))
    return _smooth(surface) if words else surface


def _blank(width: int, height: int, colour: Colour) -> Surface:
    """A transparent surface. Its colour shows through where edges are smoothed."""
    surface = Surface((width, height), pygame.SRCALPHA, 32)
    surface.fill((*colour, 0))
    return surface


def _smooth(surface: Surface) -> Surface:
    return pygame.transform.smoothscale(surface, (surface.get_width() // SMOOTH, surface.get_height() // SMOOTH))


@lru_cache(maxsize=1024)
def box(
    width: int, height: int, radius: int, fill: Colour | None, line: Colour | None = None, thick: float = 0
) -> Surface:
    """A rectangle with round corners."""
    surface = _blank(width * SMOOTH, height * SMOOTH, line or fill or TABLE)
    if line:
        pygame.draw.rect(surface, line, surface.get_rect(), round(thick * SMOOTH), radius * SMOOTH)
    if fill:
        inset = round(thick * SMOOTH) if line else 0
        pygame.draw.rect(surface, fill, surface.get_rect().inflate(-2 * inset, -2 * inset), 0, radius * SMOOTH - inset)
    return _smooth(surface)


@lru_cache(maxsize=512)
def emblem(suit: Suit, size: int) -> Surface:
    """The emblem of a suit in its colour, ``size`` pixels wide and high."""
    surface = _blank(size, size, suit.colour)
    half = size / 2

    def at(point: tuple[float, float]) -> tuple[float, float]:
        return half + point[0] * half, half + point[1] * half

    for piece in suit.emblem:
        colour = (*suit.colour, 0 if piece.cut else 255)
        if isinstance(piece, Disc):
            pygame.draw.circle(surface, colour, at(piece.centre), piece.radius * half)
        elif isinstance(piece, Polygon):
            pygame.draw.polygon(surface, colour, [at(point) for point in piece.points])
        else:
            _stroke(surface, colour, [at(point) for point in piece.points], piece.width * half)
    return surface


def _stroke(surface: Surface, colour: tuple[int, ...], points: Sequence[tuple[float, float]], width: float) -> None:
    for (x, y), (to_x, to_y) in pairwise(points):
        length = max(((to_x - x) ** 2 + (to_y - y) ** 2) ** 0.5, 1e-9)
        aside = (y - to_y) / length * width / 2, (to_x - x) / length * width / 2
        corners = [(x + aside[0], y + aside[1]), (to_x + aside[0], to_y + aside[1])]
        corners += [(to_x - aside[0], to_y - aside[1]), (x - aside[0], y - aside[1])]
        pygame.draw.polygon(surface, colour, corners)
    for point in points:
        pygame.draw.circle(surface, colour, point, width / 2)


@lru_cache(maxsize=2048)
def card(face: Face, width: int, height: int) -> Surface:
    """A card: its rank large above, its suits side by side below, each on a ground of its colour."""
    wide, high = width * SMOOTH, height * SMOOTH
    surface = _blank(wide, high, CARD)
    radius = round(wide * 0.12)
    pygame.draw.rect(surface, CARD, surface.get_rect(), 0, radius)
    ground = round(high * 0.5)
    count = len(face.suits)
    for number, suit in enumerate(face.suits):
        left, right = wide * number // count, wide * (number + 1) // count
        pale = tuple(round(0.8 * paper + 0.2 * print) for paper, print in zip(CARD, suit.colour, strict=True))
        corners = {"border_bottom_left_radius": radius} if number == 0 else {}
        corners |= {"border_bottom_right_radius": radius} if number == count - 1 else {}
        pygame.draw.rect(surface, pale, (left, ground, right - left, high - ground), 0, **corners)
        size = round(min(0.42 * high, 0.86 * (right - left)))
        surface.blit(emblem(suit, size), ((left + right - size) // 2, (ground + high - size) // 2))
    rank = text(face.rank, round(high * 0.6), INK)
    rank = rank.subsurface(rank.get_bounding_rect())
    surface.blit(rank, (round(wide * 0.1), round(high * 0.27 - rank.get_height() / 2)))
    if face.note and height > 50:
        note = text(face.note, round(high * 0.22), LINE)
        where = (wide - note.get_width() - round(wide * 0.08), round(high * 0.06))
        surface.blit(note, where if count else ((wide - note.get_width()) // 2, round(high * 0.68)))
    return _smooth(surface)


@lru_cache(maxsize=64)
def back(width: int, height: int) -> Surface:
    """The back of a card: five dots, a quincunx."""
    wide, high = width * SMOOTH, height * SMOOTH
    surface = _blank(wide, high, BACK)
    pygame.draw.rect(surface, BACK, surface.get_rect(), 0, round(wide * 0.12))
    for x, y in ((0.28, 0.3), (0.72, 0.3), (0.5, 0.5), (0.28, 0.7), (0.72, 0.7)):
        pygame.draw.circle(surface, BACK_PRINT, (x * wide, y * high), 0.07 * wide)
    return _smooth(surface)


# --- A picture -------------------------------------------------------------------------------------------------------


def paint(
    scene: Scene, where: TableLayout, play: ScoredPlay | None = None, values: Mapping[int, float] | None = None
) -> Surface:
    """Paint the picture of a scene.

    Args:
        scene: the scene to show.
        where: its layout.
        play: a candidate to show with its parts, in place of the last play.
        values: numbers to show on empty cells, as colours too.
    """
    surface = Surface(where.size, 0, 32)
    surface.fill(TABLE)
    _Painter(surface, scene, where).paint(play, values or {})
    return surface


class _Painter:
    def __init__(self, surface: Surface, scene: Scene, where: TableLayout) -> None:
        self.surface = surface
        self.scene = scene
        self.where = where
        self.px = where.px

    def paint(self, play: ScoredPlay | None, values: Mapping[int, float]) -> None:
        shown = play or self.scene.pending or self.scene.last
        self._grid(values)
        if play or self.scene.pending:
            assert shown is not None
            self._ghost(shown)
        if shown:
            self._parts(shown)
        self._titles()
        for number in range(len(self.scene.seats)):
            self._seat(number)
        self._play_box(shown)
        self._hand(None if play is None else play.card)

    # --- Primitives ---------------------------------------------------------------------------------------------------

    def _write(self, words: str, x: float, y: float, size: float, colour: Colour = TEXT, align: float = 0.0) -> int:
        """Write text with its vertical middle at y; ``align`` of its width lies left of x. Returns its width."""
        line = text(words, self.px(size), colour)
        self.surface.blit(line, (round(x - align * line.get_width()), round(y - line.get_height() / 2)))
        return line.get_width()

    def _box(
        self, rect: Rect, radius: float, fill: Colour | None, line: Colour | None = None, thick: float = 0
    ) -> None:
        picture = box(rect.width, rect.height, self.px(radius), fill, line, thick * self.where.scale)
        self.surface.blit(picture, rect[:2])

    def _chip(self, words: str, x: float, y: float, colour: Colour, align: float = 0.5) -> int:
        """A pill with text, its middle at height y; returns its width."""
        line = text(words, self.px(20), INK)
        width, height = line.get_width() + self.px(12), self.px(19)
        left = round(x - align * width)
        self._box(Rect(left, round(y - height / 2), width, height), 9, colour, INK, 1)
        self.surface.blit(line, (left + (width - line.get_width()) // 2, round(y - line.get_height() / 2)))
        return width

    def _around(self, rect: Rect, space: float, thick: float, colour: Colour) -> None:
        """A frame around a rectangle."""
        grow = self.px(space)
        larger = Rect(rect.x - grow, rect.y - grow, rect.width + 2 * grow, rect.height + 2 * grow)
        self._box(larger, 0.12 * rect.width / self.where.scale + space, None, colour, thick)

    # --- The grid ----------------------------------------------------------------------------------------------------

    def _grid(self, values: Mapping[int, float]) -> None:
        scene = self.scene
        active = any(seat.to_move for seat in scene.seats) and scene.pending is None
        shown = {cell: value for cell, value in values.items() if cell not in scene.board and isfinite(value)}
        for cell, rect in self.where.cells.items():
            legal = active and cell in scene.legal
            if cell in scene.board:
                self.surface.blit(card(scene.faces[scene.board[cell]], rect.width, rect.height), rect[:2])
            elif cell in shown:
                self._value(rect, shown[cell], min(shown.values()), max(shown.values()))
            elif scene.face_down:
                self.surface.blit(back(rect.width, rect.height), rect[:2])
                if legal:
                    self._around(rect, 2, 2, ACCENT)
            elif cell in scene.legal:
                self._box(rect, 8, CELL, LINE, 1.2 if active else 0.6)
            elif scene.max_side == scene.side:
                self._box(rect, 8, CELL)
        if scene.last:
            self._around(self.where.cells[scene.last.cell], 3, 3, ACCENT)
        self._numbers()

    def _value(self, rect: Rect, value: float, low: float, high: float) -> None:
        share = (value - low) / (high - low) if high > low else 1.0
        step = min(int(share * (len(HEAT) - 1)), len(HEAT) - 2)
        part = share * (len(HEAT) - 1) - step
        mixed = [round((1 - part) * one + part * other) for one, other in zip(HEAT[step], HEAT[step + 1], strict=True)]
        self._box(rect, 8, (mixed[0], mixed[1], mixed[2]))
        words = f"{value:.0f}" if abs(value) >= 100 or value == round(value) else f"{value:.1f}"
        self._write(words, *rect.centre, 24, INK if share > 0.55 else TEXT, 0.5)

    def _numbers(self) -> None:
        """Numbers of rows and columns, with their points where they score."""
        scene, cells = self.scene, self.where.cells
        left = self.px(32)
        for row in scene.rows:
            rect = cells[row * scene.side + scene.columns[0]]
            self._write(str(row), left, rect.centre[1], 20, QUIET, 0.5)
            if row in scene.rows_score:
                last = cells[row * scene.side + scene.columns[-1]]
                self._chip(str(scene.rows_score[row]), last.x + last.width + self.px(22), rect.centre[1], GAIN)
        for column in scene.columns:
            rect = cells[scene.rows[0] * scene.side + column]
            self._write(str(column), rect.centre[0], self.px(44), 20, QUIET, 0.5)
            if column in scene.columns_score:
                last = cells[scene.rows[-1] * scene.side + column]
                self._chip(str(scene.columns_score[column]), rect.centre[0], last.y + last.height + self.px(13), GAIN)

    def _ghost(self, play: ScoredPlay) -> None:
        rect = self.where.cells[play.cell]
        picture = card(self.scene.faces[play.card], rect.width, rect.height).copy()
        picture.set_alpha(225)
        self.surface.blit(picture, rect[:2])
        self._around(rect, 3, 2, DRAW)

    # --- The score of a play -----------------------------------------------------------------------------------------

    def _parts(self, play: ScoredPlay) -> None:
        """Strokes through the cards of a line or box that scores, then chips at the cells that the points come from."""
        together = [part for part in play.parts if len(part.cells) > 1]
        chips: dict[tuple[float, float], list[Part]] = {}
        for number, part in enumerate(together):
            chips.setdefault(self._together(play.cell, part, number), []).append(part)
        for part in play.parts:
            if len(part.cells) == 1:
                place = self._corner if part.name in self._distant(play) else self._edge
                chips.setdefault(place(play.cell, part.cells[0]), []).append(part)
        for (x, y), parts in chips.items():
            for number, part in enumerate(parts):
                down = (number - (len(parts) - 1) / 2) * self.px(20)
                self._chip("draw" if part.draws else f"{part.points:+}", x, y + down, self._tone(play, part))

    def _distant(self, play: ScoredPlay) -> set[str]:
        """Names of the parts that come from single cards which need not be adjacent."""
        return {part.name for part in play.parts if len(part.cells) == 1 and not self._touch(play.cell, part.cells[0])}

    def _tone(self, play: ScoredPlay, part: Part) -> Colour:
        """The colour of a part."""
        if part.draws:
            return DRAW
        if part.points < 0:
            return LOSS
        return BONUS if len(part.cells) > 1 or part.name in self._distant(play) else GAIN

    def _touch(self, cell: int, other: int) -> bool:
        (row, column), (other_row, other_column) = self.scene.place(cell), self.scene.place(other)
        return abs(row - other_row) + abs(column - other_column) == 1

    def _edge(self, cell: int, other: int) -> tuple[float, float]:
        """The middle of the edge between two adjacent cells; for cells in a row, below the ranks of the cards."""
        here, there = self.where.cells[cell], self.where.cells[other]
        x, y = (here.centre[0] + there.centre[0]) / 2, (here.centre[1] + there.centre[1]) / 2
        return x, y + 0.14 * here.height * (here.y == there.y)

    def _corner(self, cell: int, other: int) -> tuple[float, float]:
        """The lower right corner of another card."""
        rect = self.where.cells[other]
        return rect.x + rect.width - self.px(14), rect.y + rect.height - self.px(8)

    def _together(self, cell: int, part: Part, number: int) -> tuple[float, float]:
        """Mark the cards of a line or box that scores; returns the position of its chip."""
        cells = sorted((cell, *part.cells))
        rects = [self.where.cells[other] for other in cells]
        rows, columns = ({self.scene.place(other)[axis] for other in cells} for axis in (0, 1))
        if len(rows) == 2 and len(columns) == 2 and len(cells) == 4:  # a box
            left, top = min(rect.x for rect in rects), min(rect.y for rect in rects)
            right, bottom = (max(rect.x + rect.width for rect in rects), max(rect.y + rect.height for rect in rects))
            self._around(Rect(left, top, right - left, bottom - top), 4, 3, BONUS)
            return (left + right) / 2, (top + bottom) / 2
        aside = (number % 3 - 1) * self.px(9)  # parts on the same line are drawn side by side
        shift = (0 if len(rows) == 1 else aside), (0 if len(columns) == 1 else aside)
        points = [(rect.centre[0] + shift[0], rect.centre[1] + shift[1]) for rect in rects]
        self._thread(points)
        here = self.where.cells[cell]
        far = max(rects, key=lambda rect: abs(rect.x - here.x) + abs(rect.y - here.y))
        return far.x + 0.72 * far.width, far.centre[1]

    def _thread(self, points: Sequence[tuple[float, float]]) -> None:
        """Draw a line through points, each marked by a disc."""
        room = self.px(8)
        left, top = (min(point[axis] for point in points) - room for axis in (0, 1))
        right, bottom = (max(point[axis] for point in points) + room for axis in (0, 1))
        layer = _blank(round(right - left) * SMOOTH, round(bottom - top) * SMOOTH, BONUS)
        larger = [((x - left) * SMOOTH, (y - top) * SMOOTH) for x, y in points]
        _stroke(layer, (*BONUS, 170), [larger[0], larger[-1]], self.px(4) * SMOOTH)
        for point in larger:
            pygame.draw.circle(layer, (*BONUS, 240), point, self.px(5) * SMOOTH)
        self.surface.blit(_smooth(layer), (round(left), round(top)))

    # --- The panel ---------------------------------------------------------------------------------------------------

    def _titles(self) -> None:
        self._write(self.scene.title, self.px(48), self.px(22), 22, QUIET)

    def _seat(self, number: int) -> None:
        scene, seat, rect = self.scene, self.scene.seats[number], self.where.seats[number]
        self._box(rect, 8, BOX, ACCENT if seat.to_move else None, 1.5)
        line = rect.y + self.px(20)
        width = self._write(seat.name, rect.x + self.px(14), line, 24, ACCENT if seat.to_move else TEXT)
        note = "won" if seat.won else "to move" if seat.to_move else ""
        self._write(note, rect.x + self.px(26) + width, line, 20, QUIET)
        self._write(str(seat.score), rect.x + rect.width - self.px(14), line, 42, TEXT, 1.0)
        small = self.where.small[number]
        for index, place in enumerate(small):
            size = place.width, place.height
            picture = back(*size) if seat.cards is None else card(scene.faces[seat.cards[index]], *size)
            if index:  # an edge, in case it overlaps the previous card
                self._around(place, 1, 1, BOX)
            self.surface.blit(picture, place[:2])

    def _play_box(self, play: ScoredPlay | None) -> None:
        rect, scene = self.where.play, self.scene
        x, y = rect.x + self.px(14), rect.y + self.px(20)
        if play:
            words = f"announcing {play.title}" if play == scene.pending else play.title
            self._write(words, x, y, 24)
        if play and play.scored:
            colour = GAIN if play.points >= 0 else LOSS
            self._write(f"{play.points:+}", rect.x + rect.width - self.px(14), y, 34, colour, 1.0)
            x, y = rect.x + self.px(14), y + self.px(28)
            for name in dict.fromkeys(part.name for part in play.parts):
                parts = [part for part in play.parts if part.name == name]
                points, draws = sum(part.points for part in parts), sum(part.draws for part in parts)
                words = f"{draws} draw{'s' * (draws > 1)}" if draws else f"{name} {points:+}"
                width = text(words, self.px(20), INK).get_width() + self.px(20)
                if x + width > rect.x + rect.width:
                    x, y = rect.x + self.px(14), y + self.px(24)
                self._chip(words, x, y, self._tone(play, parts[0]._replace(points=points)), 0.0)
                x += width

    # --- The hand ----------------------------------------------------------------------------------------------------

    def _hand(self, chosen: int | None) -> None:
        scene, where = self.scene, self.where
        seat = scene.seats[scene.shown]
        line = self.px(555)
        self._write(f"hand of {seat.name}", self.px(48), line, 20, QUIET)
        self._write("  ·  ".join(scene.notes), self.px(1056), line, 22, TEXT, 1.0)
        playable = seat.to_move and scene.pending is None
        for held, rect in where.hand.items():
            lifted = rect._replace(y=rect.y - self.px(10)) if held == chosen else rect
            self._around(lifted, 1, 1, TABLE)
            self.surface.blit(card(scene.faces[held], rect.width, rect.height), lifted[:2])
            if playable:
                left, top = rect.x + rect.width // 5, rect.y + rect.height + self.px(5)
                self._box(Rect(left, top, rect.width * 3 // 5, self.px(3)), 1, ACCENT)
        if scene.pile is not None:
            rect = where.pile
            for index in range(min(3, scene.pile)):
                shift = self.px(3) * index
                self._around(Rect(rect.x + shift, rect.y - shift, *rect[2:]), 1, 1, TABLE)
                self.surface.blit(back(rect.width, rect.height), (rect.x + shift, rect.y - shift))
            if not scene.pile:
                self._box(rect, 8, None, LINE, 1)
            shift = self.px(3) * max(min(3, scene.pile) - 1, 0)
            self._write(str(scene.pile), rect.centre[0] + shift, rect.centre[1] - shift, 34, TEXT, 0.5)
