"""Widgets of the terminal interface: the grid, the hand, a list of variants."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from rich.color import Color
from rich.style import Style
from rich.text import Text
from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget
from textual.widgets import OptionList

from quincunx_env.core.scene import Face, Scene, ScoredPlay
from quincunx_env.play.keys import LABELS

CARD_STYLE = "bold #2c3038 on #f8f4ea"
CHOSEN_STYLE = "bold #2c3038 on #f6cd61"
"""Styles of cards, and of the chosen card and cell."""


def styled(face: Face) -> Text:
    """The name of a card with its suits in their colours."""
    text = Text(face.name[: len(face.name) - len(face.suits)])
    for suit in face.suits:
        text.append(suit.letter, Style(color=Color.from_rgb(*suit.colour)))
    text.stylize_before(CARD_STYLE)
    return text


def styled_points(play: ScoredPlay) -> Text:
    """Points and draws of a play: ``-2``, ``+5d`` with a draw, ``+5d2`` with two."""
    colour = "#8ae09a" if play.points > 0 else "#ff9a8a" if play.points < 0 else ""
    draws = f"d{play.draws if play.draws > 1 else ''}" if play.draws else ""
    return Text.assemble((f"{play.points:+}", f"bold {colour}"), (draws, "bold #8fc7ff"))


class Board(Widget):
    """The grid with a cursor, as large as fits. A click posts `Picked`, to which the screen responds."""

    scene: reactive[Scene | None] = reactive(None, layout=True)
    cursor: reactive[int | None] = reactive(None)
    """The cell under the cursor."""
    scores: reactive[dict[int, ScoredPlay]] = reactive(dict)
    """Plays of which empty cells show points and draws."""
    pitch = 2, 7
    """Lines and columns from one cell to the next."""

    MARGIN = 2
    """Columns for the numbers of the rows."""
    BESIDE = 23, 50
    """Least and most columns for the seats and the log beside the grid, which get two fifths of the width between."""

    @dataclass
    class Picked(Message):
        """A cell was clicked."""

        cell: int

    def get_content_width(self, container: Size, viewport: Size) -> int:
        """Width in columns of the largest grid that fits beside seats and log; sets `pitch`."""
        if self.scene is None:
            return 0
        rows, columns = len(self.scene.rows), len(self.scene.columns)
        name = max(len(face.name) for face in self.scene.faces) + 2  # in brackets
        least, most = self.BESIDE
        width = container.width - self.MARGIN - min(max(container.width * 2 // 5, least), most)
        for lines in range((container.height - 1) // rows, 0, -1):
            self.pitch = lines, max(2 * lines + 2, name + 1)  # about square, with a free column between cells
            if self.pitch[1] * columns <= width:
                break
        else:
            self.pitch = min(2, max(1, (container.height - 1) // rows)), name
        return self.MARGIN + self.pitch[1] * columns

    def render(self) -> Text:
        """The grid as text."""
        scene, (lines, width) = self.scene, self.pitch
        if scene is None:
            return Text()
        text = Text(" " * self.MARGIN, no_wrap=True)
        for column in scene.columns:
            text.append(str(column).center(width - 1) + " ", "dim")
        height = max(1, lines - 1)
        for row in scene.rows:
            cells = [self._cell(scene, row * scene.side + column) for column in scene.columns]
            for line in range(lines):
                named = line == (height - 1) // 2
                text.append(f"\n{row if named else '':<{self.MARGIN}}", "dim")
                for shown, style in cells:
                    text.append_text(self._line(shown if named else Text(), style if line < height else ""))
        return text

    def _line(self, shown: Text, style: str) -> Text:
        """A line of a cell: text in the middle of its width, and the free column if there is one."""
        width = max(self.pitch[1] - 1, len(shown))
        line = shown.copy()
        line.pad_left((width - len(shown)) // 2)
        line.pad_right(width - len(line))
        line.stylize_before(style)
        return line.append(" " * (self.pitch[1] - width))

    def _cell(self, scene: Scene, cell: int) -> tuple[Text, str]:
        """Text and style of a cell."""
        card, brackets = scene.board.get(cell), "  "
        if scene.pending and scene.pending.cell == cell:
            card, brackets = scene.pending.card, "??"
        elif scene.last and scene.last.cell == cell:
            brackets = "[]"
        if card is not None:
            shown, style = Text.assemble(brackets[0], styled(scene.faces[card]), brackets[1]), CARD_STYLE
        else:
            shown, style = self._empty(scene, cell), ""
        if cell == self.cursor:
            return Text(shown.plain), CHOSEN_STYLE
        return shown, style

    def _empty(self, scene: Scene, cell: int) -> Text:
        if cell in self.scores:
            return styled_points(self.scores[cell])
        if cell not in scene.legal:
            return Text("▒▒" if scene.face_down else "")
        return Text("()" if scene.face_down else "·")

    def on_click(self, event: events.Click) -> None:
        """Post the cell that was clicked."""
        scene, (lines, width) = self.scene, self.pitch
        column, row = (event.x - self.MARGIN) // width, (event.y - 1) // lines
        if scene and 0 <= column < len(scene.columns) and 0 <= row < len(scene.rows):
            self.post_message(self.Picked(scene.rows[row] * scene.side + scene.columns[column]))


class Hand(Widget):
    """The hand of the seat from which the game is shown, each card with its key."""

    cards: reactive[tuple[int, ...]] = reactive((), layout=True)
    chosen: reactive[int | None] = reactive(None)
    faces: Sequence[Face] = ()

    WIDTH = 8
    """Width of a card in columns."""

    @dataclass
    class Picked(Message):
        """A card was clicked."""

        card: int

    def _per_row(self, width: int) -> int:
        return max(1, width // self.WIDTH)

    def get_content_height(self, container: Any, viewport: Any, width: int) -> int:
        """Height in rows of all cards."""
        return max(1, -(-len(self.cards) // self._per_row(width)))

    def render(self) -> Text:
        """The cards as text."""
        text, per_row = Text(no_wrap=True), self._per_row(self.size.width)
        for number, card in enumerate(self.cards):
            key = LABELS[number] if number < len(LABELS) else " "
            shown = Text.assemble((key, "dim"), " ", styled(self.faces[card]))
            if card == self.chosen:
                shown.stylize(CHOSEN_STYLE)
            shown.pad_right(self.WIDTH - len(shown))
            text.append("\n" if number and number % per_row == 0 else "").append_text(shown)
        return text

    def on_click(self, event: events.Click) -> None:
        """Post the card that was clicked."""
        number = event.y * self._per_row(self.size.width) + event.x // self.WIDTH
        if number < len(self.cards):
            self.post_message(self.Picked(self.cards[number]))


class VariantList(OptionList):
    """Variants of a game, any number of which can be chosen; readable without colour."""

    def __init__(self, names: Iterable[str]) -> None:
        self.names = tuple(names)
        self.chosen: set[str] = set()
        super().__init__(*map(self._prompt, self.names), markup=False, compact=True)

    def _prompt(self, name: str) -> str:
        return f"[{'x' if name in self.chosen else ' '}] {name}"

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Choose a variant, or remove it from the choice."""
        name = self.names[event.option_index]
        self.chosen ^= {name}
        self.replace_option_prompt_at_index(event.option_index, self._prompt(name))
