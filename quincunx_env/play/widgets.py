"""Widgets of the terminal interface: the grid, the hand, a list of variants."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from rich.color import Color
from rich.style import Style
from rich.text import Text
from textual import events
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget
from textual.widgets import OptionList

from quincunx_env.core.scene import Face, Scene

LABELS = "abcdefgijklmortvwxyz1234567890"
"""Keys of the cards in hand: digits and letters without another function."""

CELL_WIDTH = 7
"""Width of a cell in columns: a Pawn in brackets and a space."""

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


class Board(Widget):
    """The grid with a cursor. A click posts `Picked`, to which the screen responds."""

    scene: reactive[Scene | None] = reactive(None, layout=True)
    cursor: reactive[int | None] = reactive(None)
    """The cell under the cursor."""
    values: reactive[dict[int, int]] = reactive(dict)
    """Points to show in empty cells."""

    @dataclass
    class Picked(Message):
        """A cell was clicked."""

        cell: int

    def get_content_width(self, container: Any, viewport: Any) -> int:
        """Width in columns: the numbers of the rows, then the cells."""
        return 4 + CELL_WIDTH * (len(self.scene.columns) if self.scene else 0)

    def get_content_height(self, container: Any, viewport: Any, width: int) -> int:
        """Height in rows: the numbers of the columns, then two for each row of cells."""
        return 1 + 2 * (len(self.scene.rows) if self.scene else 0)

    def render(self) -> Text:
        """The grid as text."""
        scene = self.scene
        if scene is None:
            return Text()
        numbers = "".join(f" {column:<{CELL_WIDTH - 1}}" for column in scene.columns)
        text = Text.assemble("    ", (numbers, "dim"), no_wrap=True)
        for row in scene.rows:
            text.append(f"\n{row:>3} ", "dim")
            for column in scene.columns:
                text.append_text(self._cell(scene, row * scene.side + column))
            text.append("\n")
        return text

    def _cell(self, scene: Scene, cell: int) -> Text:
        card = scene.board.get(cell)
        before, after, style = " ", " ", CARD_STYLE
        if scene.pending and scene.pending.cell == cell:
            card, before, after = scene.pending.card, "?", "?"
        elif scene.last and scene.last.cell == cell:
            before, after = "[", "]"
        if card is not None:
            shown = Text.assemble(before, styled(scene.faces[card]), after)
        else:
            shown, style = Text(f" {self._empty(scene, cell)}"), ""
        shown.pad_right(CELL_WIDTH - 1 - len(shown))
        shown.stylize_before(style)
        if cell == self.cursor:
            shown.stylize(CHOSEN_STYLE)
        return shown.append(" ")

    def _empty(self, scene: Scene, cell: int) -> str:
        if cell not in scene.legal:
            return "▒▒" if scene.face_down else ""
        value = f"{self.values[cell]:+}" if cell in self.values else ""
        return value or ("()" if scene.face_down else "·")

    def on_click(self, event: events.Click) -> None:
        """Post the cell that was clicked."""
        scene = self.scene
        column, row = (event.x - 4) // CELL_WIDTH, (event.y - 1) // 2
        if scene and 0 <= column < len(scene.columns) and 0 <= row < len(scene.rows) and event.x >= 4:
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
