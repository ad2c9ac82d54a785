"""The one renderer: scenes as SVG.

It depends neither on the rules of a game nor on any library. Letters are outlines of an open font (``glyphs.json``,
written by ``docs/glyphs.py``), so that a picture looks the same everywhere. Elements that a page can make clickable
carry attributes: cells ``data-cell``, cards of the hand ``data-card``.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from itertools import pairwise
from math import inf, isfinite
from numbers import Real
from typing import Literal, NamedTuple
from unicodedata import normalize
from xml.sax.saxutils import escape, quoteattr

from quincunx_env.core.scene import Disc, Face, Polygon, Scene, ScoredPlay, Suit
from quincunx_env.core.scoring import Part
from quincunx_env.render.layout import HEIGHT, WIDTH, Rect, TableLayout, layout_scene

ThemeName = Literal["dark", "light"]
"""Name of a `Theme`."""
Portion = Literal["table", "grid", "hand"]
"""Part of a picture that is shown: everything, the grid alone or the hand alone."""
Weight = Literal["text", "print"]
"""Labels, or ranks and numbers."""


class Theme(NamedTuple):
    """Colours of a picture."""

    table: str
    box: str
    cell: str
    line: str
    text: str
    quiet: str
    edge: str
    """Outlines of cards."""
    accent: str
    """The seat to move, legal cells, the last card played."""
    strong: str
    """The same colour, for text."""
    candidate: str
    """Outline of a card that is not played yet."""
    bonus: str
    """Outlines of cards that score together."""
    gain: str
    loss: str


THEMES: Mapping[ThemeName, Theme] = {
    "dark": Theme(
        table="#242d32",
        box="#2e393f",
        cell="#2a343a",
        line="#5c6c72",
        text="#e2e6e2",
        quiet="#96a4a8",
        edge="#242d32",
        accent="#f6cd61",
        strong="#f6cd61",
        candidate="#7abcf0",
        bonus="#d6aaf0",
        gain="#5cc896",
        loss="#f08064",
    ),
    "light": Theme(
        table="#eceae3",
        box="#f8f6f0",
        cell="#e4e2da",
        line="#a9b0ae",
        text="#2c3038",
        quiet="#5f6b70",
        edge="#b9b8b0",
        accent="#e0a100",
        strong="#8a6100",
        candidate="#2f86cc",
        bonus="#a45fd0",
        gain="#127a4b",
        loss="#b93a1c",
    ),
}
PAGE = Theme(*(f"var(--{name})" for name in Theme._fields))
"""Colours that a page sets: custom properties of its style sheet, named as the fields."""
CARD, INK, NOTE = "#f8f4ea", "#2c3038", "#5c6c72"
"""A card, its print, its small print; the same in every theme."""
BACK, BACK_PRINT = "#3e5862", "#6f939d"
GAIN, LOSS, DRAW, BONUS = "#5cc896", "#f08064", "#7abcf0", "#d6aaf0"
"""Chips, on which the text is in `INK`."""
MIN_SCALE, MAX_SCALE = 0.05, 20
"""Bounds of the scale of a picture; larger ones do not fit the memory of usual machines."""
MINUS = "\N{MINUS SIGN}"
HEAT = ((52, 62, 104), (32, 128, 134), (94, 190, 110), (244, 226, 92))
"""Colours of values from low to high, of increasing lightness."""


def draw(
    scene: Scene,
    *,
    portion: Portion = "table",
    theme: ThemeName | Theme = "dark",
    play: ScoredPlay | None = None,
    candidates: Iterable[ScoredPlay] = (),
    values: Mapping[int, float] | None = None,
    cards: Mapping[int, int] | None = None,
    unit: str = "",
    marked: Iterable[int] = (),
    scale: float = 1.0,
) -> str:
    """Draw a scene as SVG.

    Args:
        scene: the scene to show.
        portion: the whole table, the grid alone or the hand alone.
        theme: colours on a dark or a light ground, or a theme of one's own: in a page its colours may be variables of
            CSS, such as ``var(--table)``.
        play: a candidate to show with its parts, in place of the last play.
        candidates: plays to show as points and draws in their cells.
        values: numbers to show in empty cells, with a colour on a scale from the lowest to the highest.
        cards: the card of each value, drawn below it. A legal cell without one shows "no value".
        unit: of the values, shown in the corner of the grid.
        marked: cells to put a frame around.
        scale: factor of the size; 1 draws a table of 960 x 640 pixels.

    Returns:
        A complete SVG document without XML declaration, which can also stand inside an HTML page.

    Raises:
        ValueError: if there is no such portion or theme, or the scale is out of range.
    """
    if not isinstance(theme, Theme):
        if not isinstance(theme, str) or theme not in THEMES:
            raise ValueError(f"theme must be one of {', '.join(THEMES)}, got {theme!r}")
        theme = THEMES[theme]
    if portion not in ("table", "grid", "hand"):
        raise ValueError(f"portion must be one of table, grid, hand, got {portion!r}")
    if not isinstance(scale, Real) or not MIN_SCALE <= scale <= MAX_SCALE:
        raise ValueError(f"scale must be a number from {MIN_SCALE} to {MAX_SCALE}, got {scale!r}")
    drawing = _Drawing(scene, theme, marked, cards, unit)
    return drawing.svg(portion, play, {one.cell: one for one in candidates}, values or {}, scale)


def best_cards(values: Sequence[Sequence[float]]) -> tuple[dict[int, float], dict[int, int]]:
    """Return the highest value of each cell, NaN for none, and its card."""
    numbers, cards = dict[int, float](), dict[int, int]()
    for card, row in enumerate(values):
        for cell, value in enumerate(row):
            if isfinite(value) and value > numbers.get(cell, -inf):
                numbers[cell], cards[cell] = value, card
    return numbers, cards


def draw_card(scene: Scene, card: int) -> str:
    """Draw a card of a scene as an SVG document, in the colours of a page."""
    drawing = _Drawing(scene, PAGE)
    drawing.card(scene.faces[card], Rect(0.5, 0.5, 79, 99))
    return drawing.document(Rect(0, 0, 80, 100), scene.faces[card].name, 1.0)


def draw_part(scene: Scene, play: ScoredPlay, theme: Theme = PAGE) -> str:
    """Draw the cells of a scene with the marks of a play."""
    drawing = _Drawing(scene, theme)
    drawing._grid(play, play, {}, {})
    cells = drawing.where.cells.values()
    left, top = min(cell.x for cell in cells), min(cell.y for cell in cells)
    right, bottom = max(cell.right for cell in cells), max(cell.bottom for cell in cells)
    return drawing.document(Rect(left, top, right - left, bottom - top).grown(14), play.title, 1.0)


def draw_suit(suit: Suit) -> str:
    """Draw the emblem of a suit for a line of text."""
    ground = f'<rect x="-1.3" y="-1.3" width="2.6" height="2.6" rx=".4" fill="{_ground(suit)}"/>'
    return f'<svg class="suit" viewBox="-1.3 -1.3 2.6 2.6" aria-hidden="true">{ground}{_emblem(suit)}</svg>'


# --- Letters ---------------------------------------------------------------------------------------------------------


class Font(NamedTuple):
    """Outlines of letters. The unit is 1 / ``em`` of the font size; y points down."""

    em: int
    capital: int
    """Height of a capital."""
    text: Mapping[str, tuple[int, str]]
    """Advance width and outline by letter, for labels."""
    print: Mapping[str, tuple[int, str]]
    """The same, for ranks and numbers."""

    def letters(self, words: str, weight: Weight) -> list[str]:
        """Convert words to letters that the font has. Others lose accents or become ``?``; a hyphen is a minus."""
        if weight == "print":
            words = words.replace("-", MINUS)
        known = self.text if weight == "text" else self.print
        return [part if part in known else "?" for letter in words for part in _parts_of(letter, known)]

    def width(self, words: str, size: float, weight: Weight = "text") -> float:
        """Return the width of a line of text."""
        known = self.text if weight == "text" else self.print
        return sum(known[letter][0] for letter in self.letters(words, weight)) * size / self.em


def _parts_of(letter: str, known: Mapping[str, tuple[int, str]]) -> str:
    return letter if letter in known else normalize("NFKD", letter)[:1]


@cache
def font() -> Font:
    """Return the font of all pictures."""
    table = json.loads(files("quincunx_env.render").joinpath("glyphs.json").read_text(encoding="utf-8"))
    return Font(table["em"], table["capital"], table["text"], table["print"])


# --- A picture -------------------------------------------------------------------------------------------------------


def _n(number: float) -> str:
    """Write a number with at most two decimals."""
    return f"{number:.2f}".rstrip("0").rstrip(".") if number % 1 else str(int(number))


def _attributes(values: Mapping[str, object]) -> str:
    """Write an element's attributes. An underscore stands for a hyphen, and is left out at the end."""
    known = {name.rstrip("_").replace("_", "-"): value for name, value in values.items() if value is not None}
    words = {name: _n(value) if isinstance(value, int | float) else str(value) for name, value in known.items()}
    return "".join(f" {name}={quoteattr(word)}" for name, word in words.items())


class _Drawing:
    """One picture: elements in the order of painting, and the definitions that they use."""

    def __init__(
        self,
        scene: Scene,
        theme: Theme,
        marked: Iterable[int] = (),
        cards: Mapping[int, int] | None = None,
        unit: str = "",
    ) -> None:
        self.scene = scene
        self.theme = theme
        self.marked = marked
        self.cards = cards
        self.unit = unit
        self.where: TableLayout = layout_scene(scene)
        self.lines: list[str] = []
        self.defined: dict[str, str] = {}

    def svg(
        self,
        portion: Portion,
        play: ScoredPlay | None,
        candidates: Mapping[int, ScoredPlay],
        values: Mapping[int, float],
        scale: float,
    ) -> str:
        scene, where = self.scene, self.where
        view = {"table": Rect(0, 0, WIDTH, HEIGHT), "grid": where.grid, "hand": where.hand_area}[portion]
        shown = play or scene.pending or scene.last
        chosen = play.card if play else next(iter({one.card for one in candidates.values()}), None)
        self._rect(view, self.theme.table)
        if portion != "hand":
            self._numbers()
            self._grid(shown, play or scene.pending, candidates, values)
        if portion == "table":
            self._write(scene.title, 20, 25, 17, self.theme.quiet, room=780)
            self._pile()
            for number in range(len(scene.seats)):
                self._seat(number)
            self._play_box(shown)
        if portion != "grid":
            self._hand(chosen, label=portion == "table")
        return self.document(view, scene.title, scale)

    def document(self, view: Rect, title: str, scale: float) -> str:
        """Return a document of the drawing within a rectangle."""
        size = _attributes({"width": round(view.width * scale), "height": round(view.height * scale)})
        box = " ".join(map(_n, view))
        label = quoteattr(title)
        defined = "\n".join(self.defined.values())
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg"{size} viewBox="{box}" role="img" aria-label={label}>\n'
            f"<defs>\n{defined}\n</defs>\n" + "\n".join(self.lines) + "\n</svg>\n"
        )

    # --- Primitives --------------------------------------------------------------------------------------------------

    def _open(self, **attributes: object) -> None:
        self.lines.append(f"<g{_attributes(attributes)}>")

    def _close(self) -> None:
        self.lines.append("</g>")

    def _rect(self, rect: Rect, fill: str | None, radius: float = 0, line: str | None = None, thick: float = 1) -> None:
        place = {"x": rect.x, "y": rect.y, "width": rect.width, "height": rect.height, "rx": radius or None}
        stroke = {"stroke": line, "stroke-width": thick} if line else {}
        self.lines.append(f"<rect{_attributes({**place, 'fill': fill or 'none', **stroke})}/>")

    def _frame(self, rect: Rect, space: float, thick: float, colour: str) -> None:
        """Draw a frame around a card."""
        self._rect(rect.grown(space), None, 0.1 * rect.width + space, colour, thick)

    def _define(self, name: str, content: str) -> str:
        self.defined.setdefault(name, content)
        return f"#{name}"

    def _write(
        self,
        words: str,
        x: float,
        y: float,
        size: float,
        colour: str | None = None,
        align: float = 0.0,
        weight: Weight = "text",
        room: float | None = None,
    ) -> float:
        """Write text around height y, and return its width.

        The capitals have their middle at y; ``align`` of the width lies left of x. Text that is wider than ``room`` is
        made smaller.
        """
        letters, width = font().letters(words, weight), font().width(words, size, weight)
        if room is not None and width > room:
            size, width = size * room / width, room
        scale = size / font().em
        known = font().text if weight == "text" else font().print
        at, used = 0, []
        for letter in letters:
            advance, path = known[letter]
            if path:
                name = f"{weight[0]}{ord(letter):x}"
                used.append(f'<use href="{self._define(name, f"""<path id="{name}" d="{path}"/>""")}" x="{at}"/>')
            at += advance
        left, base = x - align * width, y + font().capital * scale / 2
        move = f"translate({_n(left)} {_n(base)}) scale({scale:.4g})"
        if used:
            attributes = {"aria-label": words, "role": "img", "fill": colour or self.theme.text, "transform": move}
            self.lines.append(f"<g{_attributes(attributes)}>{''.join(used)}</g>")
        return width

    def _chip(self, words: str, x: float, y: float, colour: str, align: float = 0.5) -> float:
        """Draw a pill with text, its middle at height y; return its width."""
        width = self._chip_width(words)
        left = x - align * width
        self._rect(Rect(left, y - 11, width, 22), colour, 11, INK, 1)
        self._write(words, left + width / 2, y, 15, INK, 0.5, "print")
        return width

    def _chip_width(self, words: str) -> float:
        return round(font().width(words, 15, "print") + 14)

    # --- Cards -------------------------------------------------------------------------------------------------------

    def card(self, face: Face, rect: Rect) -> None:
        """Draw a card: a large rank above suits side by side, each on a ground of its colour."""
        scale = rect.height / 100
        self._open(transform=f"translate({_n(rect.x)} {_n(rect.y)}) scale({scale:.4g})")
        self.lines.append(f"<title>{escape(face.words)}</title>")
        self._rect(Rect(0, 0, 80, 100), CARD, 8, self.theme.edge, 1 / scale)
        count = len(face.suits)
        for number, suit in enumerate(face.suits):
            left, right = 80 * number / count, 80 * (number + 1) / count
            size = min(42.0, 0.86 * (right - left))
            middle = _n((left + right) / 2)
            start, end = (8 if number == 0 else 0), (8 if number == count - 1 else 0)
            self.lines.append(
                f'<path fill="{_ground(suit)}" d="M{_n(left)} 50H{_n(right)}V{100 - end}a{end} {end} 0 0 1 {-end} {end}'
                f'H{_n(left + start)}a{start} {start} 0 0 1 {-start} {-start}z"/>'
                f'<use href="{self._define(f"suit-{suit.name}", _emblem(suit))}"'
                f' transform="translate({middle} 75) scale({_n(size / 2)})"/>'
            )
        self._write(face.rank, 8, 27, 44, INK, weight="print")
        if face.note:
            if count:
                self._write(face.note, 73, 18.5, 17, NOTE, 1.0)
            else:
                self._write(face.note, 40, 75, 17, NOTE, 0.5)
        self._close()

    def _back(self, rect: Rect) -> None:
        """Draw the back of a card: five dots, a quincunx."""
        dots = "".join(
            f'<circle cx="{x}" cy="{y}" r="6" fill="{BACK_PRINT}"/>'
            for x, y in ((22, 30), (58, 30), (40, 50), (22, 70), (58, 70))
        )
        name, line = f"back-{''.join(filter(str.isalnum, self.theme.edge))}", self.theme.edge
        frame = f'<rect width="80" height="100" rx="8" fill="{BACK}" stroke="{line}" stroke-width="2"/>'
        used = self._define(name, f'<g id="{name}">{frame}{dots}</g>')
        move = f"translate({_n(rect.x)} {_n(rect.y)}) scale({rect.height / 100:.4g})"
        self.lines.append(f'<use href="{used}" transform="{move}"/>')

    # --- The grid ----------------------------------------------------------------------------------------------------

    def _grid(
        self,
        shown: ScoredPlay | None,
        ghost: ScoredPlay | None,
        candidates: Mapping[int, ScoredPlay],
        values: Mapping[int, float],
    ) -> None:
        scene = self.scene
        if shown and shown.scored:
            self._links(shown)
        for cell, rect in self.where.cells.items():
            if ghost and ghost.cell == cell:
                self._open(class_="cell chosen", data_cell=cell, opacity=0.88)
                self.card(scene.faces[ghost.card], rect)
                self._close()
            else:
                self._cell(cell, rect, candidates.get(cell), values)
        self._open(class_="marks", pointer_events="none")
        if shown and shown.scored:
            self._frames(shown)
        if scene.last:
            self._frame(self.where.cells[scene.last.cell], 2.5, 3, self.theme.accent)
        for cell in self.marked:
            self._frame(self.where.cells[cell], 3, 4, self.theme.candidate)
        if ghost:
            self._frame(self.where.cells[ghost.cell], 2.5, 3, self.theme.candidate)
        if shown and shown.scored:
            self._chips(shown)
        for row, points in scene.rows_score.items():
            last = self.where.cells[row * scene.side + scene.columns[-1]]
            self._chip(str(points), last.right, last.centre[1] + 0.12 * last.height, GAIN)
        for column, points in scene.columns_score.items():
            last = self.where.cells[scene.rows[-1] * scene.side + column]
            self._chip(str(points), last.centre[0], last.bottom, GAIN)
        self._close()

    def _cell(self, cell: int, rect: Rect, candidate: ScoredPlay | None, values: Mapping[int, float]) -> None:
        scene, theme = self.scene, self.theme
        active = any(seat.to_move for seat in scene.seats) and scene.pending is None
        legal = cell in scene.legal
        known = {one: value for one, value in values.items() if one not in scene.board and isfinite(value)}
        taken = cell in scene.board
        kind = "taken" if taken else "legal" if legal and active else "empty"
        name = scene.faces[scene.board[cell]].name if taken else None
        self._open(class_=f"cell {kind}", data_cell=cell, data_name=name)
        if taken:
            self.card(scene.faces[scene.board[cell]], rect)
        elif cell in known:
            self._value(cell, rect, known[cell], min(known.values()), max(known.values()), candidate)
        elif candidate:
            self._rect(rect, theme.cell, 8, theme.line, 1.5)
            self._points(rect, candidate)
        elif scene.face_down:
            self._back(rect)
            if legal and active:
                self._frame(rect, 2.5, 2.5, theme.accent)
        elif legal:
            self._rect(rect, theme.cell, 8, theme.line, 1.5 if active else 0.75)
            if self.cards is not None:
                self._write("no value", *rect.centre, 15, theme.quiet, 0.5, room=rect.width - 8)
        elif scene.max_side == scene.side:
            self._rect(rect, theme.cell, 8)
        self._close()

    def _value(
        self, cell: int, rect: Rect, value: float, low: float, high: float, candidate: ScoredPlay | None
    ) -> None:
        share = (value - low) / (high - low) if high > low else 1.0
        step = min(int(share * (len(HEAT) - 1)), len(HEAT) - 2)
        part = share * (len(HEAT) - 1) - step
        mixed = [round((1 - part) * one + part * other) for one, other in zip(HEAT[step], HEAT[step + 1], strict=True)]
        self._rect(rect, f"#{bytes(mixed).hex()}", 8)
        words = f"{value:z.0f}" if abs(value) >= 100 or value == round(value) else f"{value:z.1f}"
        x, y = rect.centre
        ink = INK if share > 0.5 else "#f4f6f4"
        card = (self.cards or {}).get(cell)
        above = 9 if candidate else 0.3 * rect.height if card is not None else 0
        self._write(words, x, y - above, 23, ink, 0.5, "print", rect.width - 8)
        if card is not None:
            small = Rect(x - 0.26 * rect.width, y - 0.1 * rect.height, 0.52 * rect.width, 0.52 * rect.height)
            self.card(self.scene.faces[card], small)
        elif candidate:
            draws = f" ·{candidate.draws}" if candidate.draws else ""
            self._write(f"{candidate.points:+}{draws}", x, y + 19, 16, ink, 0.5, room=rect.width - 8)

    def _points(self, rect: Rect, play: ScoredPlay) -> None:
        """Write points and draws of a candidate."""
        x, y = rect.centre
        points, theme = play.points, self.theme
        colour = theme.gain if points > 0 else theme.loss if points < 0 else theme.quiet
        if play.scored:
            self._write(f"{points:+}" if points else "0", x, y - (13 if play.draws else 0), 26, colour, 0.5, "print")
        if play.draws:
            self._chip(_draws(play.draws), x, y + 20, DRAW)

    def _numbers(self) -> None:
        """Write the labels of rows and columns, and the unit of values."""
        scene, cells = self.scene, self.where.cells
        self._write(self.unit, 8, 50, 13, self.theme.quiet)
        for row in scene.rows:
            rect = cells[row * scene.side + scene.columns[0]]
            self._write(scene.row_name(row), 25, rect.centre[1], 16, self.theme.quiet, 0.5)
        for column in scene.columns:
            x = cells[scene.rows[0] * scene.side + column].centre[0]
            self._write(scene.column_name(column), x, 50, 16, self.theme.quiet, 0.5)

    # --- The score of a play -----------------------------------------------------------------------------------------
    # Marks lie between the cards, where they hide no rank.

    def _is_box(self, cells: Iterable[int]) -> bool:
        rows, columns = zip(*map(self.scene.place, cells), strict=True)
        return len(set(rows)) == len(set(columns)) == 2

    def _links(self, play: ScoredPlay) -> None:
        """Draw bars between the cards of a line that scores, below the cards."""
        for part in play.parts:
            cells = sorted((play.cell, *part.cells))
            if len(part.cells) > 1 and not (len(cells) == 4 and self._is_box(cells)):
                for one, other in pairwise(cells):
                    (x, y), (to_x, to_y) = self.where.cells[one].centre, self.where.cells[other].centre
                    ends = {"x1": x, "y1": y, "x2": to_x, "y2": to_y}
                    line = {"stroke": self.theme.bonus, "stroke_width": 12}
                    self.lines.append(f"<line{_attributes({**ends, **line})}/>")

    def _frames(self, play: ScoredPlay) -> None:
        """Draw frames around the cards that score together."""
        framed = {cell: None for part in play.parts if len(part.cells) > 1 for cell in (play.cell, *part.cells)}
        for cell in framed:
            self._frame(self.where.cells[cell], 1.5, 3, self.theme.bonus)

    def _chips(self, play: ScoredPlay) -> None:
        """Draw points and draws at the cards that score them, side by side on one edge."""
        together: dict[tuple[tuple[float, float], str, bool, bool], list[Part]] = {}
        distant = self._distant(play)
        for part in play.parts:
            place, across = self._edge(play.cell, part, distant)
            together.setdefault((place, part.name, across, bool(part.draws)), []).append(part)
        chips: dict[tuple[tuple[float, float], bool], list[tuple[str, str]]] = {}
        for (place, _, across, _), parts in together.items():
            points, draws = sum(part.points for part in parts), sum(part.draws for part in parts)
            tone = self._tone(parts[0]._replace(points=points), distant)
            chips.setdefault((place, across), []).append(("draw" if draws else f"{points:+}", tone))
        y_before, end = -1.0, 0.0
        for ((x, y), across), row in sorted(chips.items(), key=lambda chip: chip[0][0][::-1]):
            widths = [self._chip_width(words) for words, _ in row]
            left = x - (sum(widths) + 2 * (len(row) - 1)) / 2
            if across:  # chips of a box and of an edge may meet
                left = max(left, end + 2) if y == y_before else left
                y_before, end = y, left + sum(widths) + 2 * (len(row) - 1)
            for number, ((words, tone), width) in enumerate(zip(row, widths, strict=True)):
                if across:
                    self._chip(words, left, y, tone, 0.0)
                    left += width + 2
                else:
                    self._chip(words, x, y + (number - (len(row) - 1) / 2) * 24, tone)

    def _distant(self, play: ScoredPlay) -> set[str]:
        """Name the parts from single cards that need not be adjacent."""
        return {part.name for part in play.parts if len(part.cells) == 1 and not self._touch(play.cell, part.cells[0])}

    def _tone(self, part: Part, distant: set[str]) -> str:
        """Return the colour of a part."""
        if part.draws:
            return DRAW
        if part.points < 0:
            return LOSS
        return BONUS if len(part.cells) > 1 or part.name in distant else GAIN

    def _touch(self, cell: int, other: int) -> bool:
        (row, column), (other_row, other_column) = self.scene.place(cell), self.scene.place(other)
        return abs(row - other_row) + abs(column - other_column) == 1

    def _edge(self, cell: int, part: Part, distant: set[str]) -> tuple[tuple[float, float], bool]:
        """Return the place of a chip, and whether chips there stand abreast.

        The place is the edge between two adjacent cards, the middle of a box, or else the lower edge of the part's
        farthest card.
        """
        cells = self.where.cells
        here = cells[cell]
        rects = [cells[other] for other in part.cells]
        if len(part.cells) == 3 and self._is_box((cell, *part.cells)):
            return (
                sum(rect.centre[0] for rect in (here, *rects)) / 4,
                sum(r.centre[1] for r in (here, *rects)) / 4,
            ), True
        far = max(rects, key=lambda rect: abs(rect.x - here.x) + abs(rect.y - here.y))
        gap = self._gap()
        if len(part.cells) == 1 and part.name not in distant:
            if far.y == here.y:
                return ((far.centre[0] + here.centre[0]) / 2, here.y + 0.74 * here.height), False
            return (here.centre[0], max(far.y, here.y) - gap / 2), True
        return (far.centre[0], far.bottom + gap / 2), True

    def _gap(self) -> float:
        """Return the space between cells."""
        if len(self.scene.rows) < 2:
            return 0.0
        first, second = (self.where.cells[row * self.scene.side + self.scene.columns[0]] for row in self.scene.rows[:2])
        return second.y - first.bottom

    # --- The panel ---------------------------------------------------------------------------------------------------

    def _pile(self) -> None:
        scene, rect = self.scene, self.where.pile
        if scene.pile is None:
            return
        for index in range(min(3, scene.pile)):
            self._back(rect._replace(x=rect.x - 2 * index, y=rect.y - 1.5 * index + 1.5))
        if not scene.pile:
            self._rect(rect, None, 2, self.theme.line)
        self._write("pile", rect.x - 12, 25, 15, self.theme.quiet, 1.0)
        self._write(str(scene.pile), rect.right + 10, 25, 20, weight="print")

    def _seat(self, number: int) -> None:
        scene, seat, rect = self.scene, self.scene.seats[number], self.where.seats[number]
        theme = self.theme
        self._open(class_="seat", data_seat=number)
        self._rect(rect, theme.box, 8, theme.accent if seat.to_move else None, 1.75)
        alone = len(scene.seats) == 1
        line, size = (rect.centre[1], 52) if alone else (rect.y + 22, 27)
        points = self._write(str(seat.score), rect.right - 16, line, size, weight="print", align=1.0)
        note = "won" if seat.won else "to move" if seat.to_move else ""
        small = self.where.large is not None and number != self.where.large
        room = 128.0 if small else rect.width - points - font().width(note, 15) - 54
        colour = theme.strong if seat.to_move else theme.text
        width = self._write(seat.name, rect.x + 14, line, 22 if alone else 18, colour, room=room)
        if small and seat.hand_size:
            end = self.where.hands[number][-1].right
            self._write(str(seat.hand_size), end + 10, line, 15, theme.quiet)
        elif note:
            self._write(note, rect.x + 26 + width, line, 15, theme.quiet)
        for index, place in enumerate(self.where.hands[number] if number != self.where.large else ()):
            if seat.cards is None:
                self._back(place)
            elif number != scene.shown:
                self.card(scene.faces[seat.cards[index]], place)
        self._close()

    def _play_box(self, play: ScoredPlay | None) -> None:
        rect, scene, theme = self.where.play, self.scene, self.theme
        x, y = rect.x + 14, rect.y + 16
        if play:
            points = 0.0
            if play.scored:
                colour = theme.gain if play.points >= 0 else theme.loss
                points = self._write(f"{play.points:+}", rect.right - 14, y, 25, colour, 1.0, "print")
            words = f"announcing {play.title}" if play == scene.pending else play.title
            self._write(words, x, y, 17, room=rect.width - 40 - points)
            y += 30
        if play and play.scored and play.parts:
            for name, draws in dict.fromkeys((part.name, bool(part.draws)) for part in play.parts):
                parts = [part for part in play.parts if part.name == name and bool(part.draws) == draws]
                points = sum(part.points for part in parts)
                words = _draws(sum(part.draws for part in parts)) if draws else f"{name} {points:+}"
                width = self._chip_width(words)
                if x + width > rect.right:
                    x, y = rect.x + 14, y + 26
                tone = self._tone(parts[0]._replace(points=int(points)), self._distant(play))
                x += self._chip(words, x, y, tone, 0.0) + 6
            y += 30
        size = 16 if self.where.hand or self.where.large is None else 22  # there is room where the hand is empty
        for note in scene.notes:
            self._write(note, rect.x + 14, y, size, room=rect.width - 28)
            y += 1.4 * size

    # --- The hand ----------------------------------------------------------------------------------------------------

    def _hand(self, chosen: int | None, label: bool) -> None:
        scene, where = self.scene, self.where
        if where.large is not None and label and where.hand:
            top = min(rect.y for rect in where.hand.values())
            owner = scene.seats[where.large].name
            words = "your hand" if owner == "You" else f"hand of {owner}"
            self._write(words, where.play.x + 2, top - 18, 15, self.theme.quiet)
        self._open(class_="hand")
        for held, rect in where.hand.items():
            lifted = rect._replace(y=rect.y - 6) if held == chosen else rect
            name = scene.faces[held].name
            self._open(class_="card chosen" if held == chosen else "card", data_card=held, data_name=name)
            self.card(scene.faces[held], lifted)
            if held == chosen:
                self._frame(lifted, 2, 2.5, self.theme.candidate)
            self._close()
        self._close()


def _draws(count: int) -> str:
    return f"{count} draw{'s' * (count > 1)}"


def _ground(suit: Suit) -> str:
    """Return a pale tone of the colour of a suit."""
    paper = bytes.fromhex(CARD[1:])
    pale = [round(0.8 * light + 0.2 * dark) for light, dark in zip(paper, suit.colour, strict=True)]
    return f"#{bytes(pale).hex()}"


@cache
def _emblem(suit: Suit) -> str:
    """Draw the emblem of a suit, from -1 to 1. Cut-outs are drawn in the background colour."""
    colour, pieces = f"#{bytes(suit.colour).hex()}", []
    for piece in suit.emblem:
        cut = f' fill="{_ground(suit)}"' if piece.cut else ""
        if isinstance(piece, Disc):
            x, y = piece.centre
            pieces.append(f'<circle cx="{_e(x)}" cy="{_e(y)}" r="{_e(piece.radius)}"{cut}/>')
            continue
        points = " ".join(f"{_e(x)},{_e(y)}" for x, y in piece.points)
        if isinstance(piece, Polygon):
            pieces.append(f'<polygon points="{points}"{cut}/>')
        else:
            tone = _ground(suit) if piece.cut else colour
            style = f'fill="none" stroke="{tone}" stroke-width="{_e(piece.width)}"'
            pieces.append(f'<polyline points="{points}" {style} stroke-linecap="round" stroke-linejoin="round"/>')
    return f'<g id="suit-{suit.name}" fill="{colour}">{"".join(pieces)}</g>'


def _e(number: float) -> str:
    """Write a coordinate in an emblem."""
    return f"{number:.3f}".rstrip("0").rstrip(".")
