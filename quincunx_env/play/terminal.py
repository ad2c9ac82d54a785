"""Play in a terminal, full screen, with Textual: the table, a start screen, and records to step through.

What is shown comes from `quincunx_env.core.scene`, what happens from `quincunx_env.play.session`. Agents think in a
thread of their own, so that the screen always answers.
"""

import asyncio
import signal
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from rich.color import Color
from rich.style import Style
from rich.text import Text
from textual import events, on, work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.message import Message
from textual.reactive import reactive
from textual.screen import ModalScreen, Screen
from textual.widget import Widget
from textual.widgets import Button, Footer, Input, Label, OptionList, Select, Static

from quincunx_env.core.game import IllegalAction
from quincunx_env.core.rules import BaseRules
from quincunx_env.core.scene import Face, Scene
from quincunx_env.notation.record import Record, RecordedAction
from quincunx_env.play.session import PERSON, Candidate, Session, adviser_of, free_path, seated
from quincunx_env.play.viewer import KEYS, Viewer, told
from quincunx_env.policies import registered_policies
from quincunx_env.registry import GAMES, spec_of

LABELS = "abcdefgijklmortvwxyz1234567890"
"""Keys of the cards in hand: no letter that does something else."""

NEEDED = 80, 23
"""Columns and rows that the table takes."""

CELL = 7
"""Columns that a cell takes: a Pawn in brackets and a space."""

CARD = "bold #2c3038 on #f8f4ea"
CHOSEN = "bold #2c3038 on #f6cd61"
"""Styles of cards, and of the chosen card and cell."""

HELP = """\
[b]Choose a card[/b]  its letter, or Tab and Shift+Tab, or click it
[b]Choose a cell[/b]  the arrow keys, or click it
[b]Play[/b]           Enter, or click the cell once more
[b]Announce[/b]       with Simpleton: type the points, then Enter

[b]h[/b]  hint: what the adviser would play, and what scores most at once
[b]p[/b]  show what the chosen card would score in each cell
[b]u[/b]  undo, back to your last decision
[b]s[/b]  save; every play is saved anyway
[b]n[/b]  new game
[b]q[/b]  quit; the game can be resumed

A record is replayed with the right and left arrow, Home and End;
[b]v[/b] looks from another seat.

The last card played stands in brackets, a dot where a card may go.
[b]Any key closes this.[/b]"""


def styled(face: Face) -> Text:
    """The name of a card, its suits in their colours."""
    text = Text(face.name[: len(face.name) - len(face.suits)])
    for suit in face.suits:
        text.append(suit.letter, Style(color=Color.from_rgb(*suit.colour)))
    text.stylize_before(CARD)
    return text


class Board(Widget):
    """The grid. It knows what is shown and where the cursor is; what a click means others decide."""

    scene: reactive[Scene | None] = reactive(None, layout=True)
    cursor: reactive[int | None] = reactive(None)
    """A cell."""
    values: reactive[dict[int, int]] = reactive(dict)
    """What is to stand in empty cells."""

    @dataclass
    class Picked(Message):
        """Somebody clicked a cell."""

        cell: int

    def get_content_width(self, container: Any, viewport: Any) -> int:
        """Columns: the numbers of the rows, then the cells."""
        return 4 + CELL * (len(self.scene.columns) if self.scene else 0)

    def get_content_height(self, container: Any, viewport: Any, width: int) -> int:
        """Rows: the numbers of the columns, then two for each row of cells."""
        return 1 + 2 * (len(self.scene.rows) if self.scene else 0)

    def render(self) -> Text:
        """The grid as text."""
        scene = self.scene
        if scene is None:
            return Text()
        numbers = "".join(f" {column:<{CELL - 1}}" for column in scene.columns)
        text = Text.assemble("    ", (numbers, "dim"), no_wrap=True)
        for row in scene.rows:
            text.append(f"\n{row:>3} ", "dim")
            for column in scene.columns:
                text.append_text(self._cell(scene, row * scene.side + column))
            text.append("\n")
        return text

    def _cell(self, scene: Scene, cell: int) -> Text:
        card = scene.board.get(cell)
        before, after, style = " ", " ", CARD
        if scene.pending and scene.pending.cell == cell:
            card, before, after = scene.pending.card, "?", "?"
        elif scene.last and scene.last.cell == cell:
            before, after = "[", "]"
        if card is not None:
            shown = Text.assemble(before, styled(scene.faces[card]), after)
        else:
            shown, style = Text(f" {self._empty(scene, cell)}"), ""
        shown.pad_right(CELL - 1 - len(shown))
        shown.stylize_before(style)
        if cell == self.cursor:
            shown.stylize(CHOSEN)
        return shown.append(" ")

    def _empty(self, scene: Scene, cell: int) -> str:
        if cell not in scene.legal:
            return "▒▒" if scene.face_down else ""
        value = f"{self.values[cell]:+}" if cell in self.values else ""
        return value or ("()" if scene.face_down else "·")

    def on_click(self, event: events.Click) -> None:
        """Tell which cell was clicked."""
        scene = self.scene
        column, row = (event.x - 4) // CELL, (event.y - 1) // 2
        if scene and 0 <= column < len(scene.columns) and 0 <= row < len(scene.rows) and event.x >= 4:
            self.post_message(self.Picked(scene.rows[row] * scene.side + scene.columns[column]))


class Hand(Widget):
    """The hand of the seat that looks, each card with its key."""

    cards: reactive[tuple[int, ...]] = reactive((), layout=True)
    chosen: reactive[int | None] = reactive(None)
    faces: Sequence[Face] = ()

    WIDTH = 8
    """Columns that a card takes."""

    @dataclass
    class Picked(Message):
        """Somebody clicked a card."""

        card: int

    def _per_row(self, width: int) -> int:
        return max(1, width // self.WIDTH)

    def get_content_height(self, container: Any, viewport: Any, width: int) -> int:
        """Rows that the cards fill."""
        return max(1, -(-len(self.cards) // self._per_row(width)))

    def render(self) -> Text:
        """The cards as text."""
        text, per_row = Text(no_wrap=True), self._per_row(self.size.width)
        for number, card in enumerate(self.cards):
            key = LABELS[number] if number < len(LABELS) else " "
            shown = Text.assemble((key, "dim"), " ", styled(self.faces[card]))
            if card == self.chosen:
                shown.stylize(CHOSEN)
            shown.pad_right(self.WIDTH - len(shown))
            text.append("\n" if number and number % per_row == 0 else "").append_text(shown)
        return text

    def on_click(self, event: events.Click) -> None:
        """Tell which card was clicked."""
        number = event.y * self._per_row(self.size.width) + event.x // self.WIDTH
        if number < len(self.cards):
            self.post_message(self.Picked(self.cards[number]))


class Table(Screen[None]):
    """What playing and replaying look like."""

    def compose(self) -> ComposeResult:
        """Grid and hand; beside them seats and plays; below a line that speaks."""
        yield Static(
            f"The table needs {NEEDED[0]} columns and {NEEDED[1]} rows.\nMake the terminal larger.", id="small"
        )
        with Vertical(id="table"):
            with Horizontal(id="upper"):
                yield Board()
                with Vertical(id="side"):
                    yield Static(id="seats", markup=False)
                    yield Static(id="log", markup=False)
            yield Hand()
            yield Static(id="message", markup=False)
        yield Footer()

    def on_resize(self, event: events.Resize) -> None:
        """Say so where the table does not fit."""
        self.set_class(event.size.width < NEEDED[0] or event.size.height < NEEDED[1], "small")

    def show(self, scene: Scene, names: Sequence[str], turns: Sequence[RecordedAction]) -> None:
        """Show a position and how it came about."""
        self.query_one(Board).scene = scene
        hand = self.query_one(Hand)
        hand.faces = scene.faces
        hand.cards = scene.seats[scene.shown].cards or ()
        self.query_one("#seats", Static).update(_seats(scene, names))
        self.query_one("#log", Static).update(_log(turns))

    def say(self, text: str) -> None:
        """Show a line of text."""
        self.query_one("#message", Static).update(text)

    def action_help(self) -> None:
        """Tell the keys."""
        self.app.push_screen(Help())


def _seats(scene: Scene, names: Sequence[str]) -> Text:
    text = Text.assemble((scene.title, "bold"))
    for number, seat in enumerate(scene.seats):
        name = f" {names[number]}" if names else ""
        text.append(f"\n{'>' if seat.to_move else ' '} {seat.name}{name}: {seat.score} points, {seat.hand_size} cards")
        if seat.cards and number != scene.shown:
            text.append("\n   ")
            for card in seat.cards:
                text.append(" ").append_text(styled(scene.faces[card]))
    if scene.pile is not None:
        text.append(f"\n  pile: {scene.pile} cards")
    for name, scores in (("rows", scene.rows_score), ("columns", scene.columns_score)):
        if scores:
            text.append(f"\n  {name}: {' '.join(str(points) for points in scores.values())}")
    for note in scene.notes:
        text.append(f"\n  {note}")
    return text


def _weighed(play: Candidate) -> str:
    """A legal play as people read it."""
    return play.text + ("" if play.score is None else f": {play.score}")


def _log(turns: Sequence[RecordedAction]) -> str:
    """The last plays, newest first, so that the oldest ones are cut off."""
    return "\n".join(told(turn) for turn in reversed(turns[-30:]))


class Help(ModalScreen[None]):
    """The keys."""

    def compose(self) -> ComposeResult:
        """Only text."""
        yield Static(HELP)

    def on_key(self, event: events.Key) -> None:
        """Any key closes it."""
        event.stop()
        self.dismiss()

    def on_click(self) -> None:
        """A click, too."""
        self.dismiss()


class Announce(ModalScreen[int | None]):
    """Asks for the points of a play."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape", "dismiss(None)", "Take the play back")]

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text

    def compose(self) -> ComposeResult:
        """A question and its answer."""
        with Vertical():
            yield Label(f"Points of {self.text}? Enter announces, Escape takes the play back.")
            yield Input(type="integer", placeholder="points", compact=True)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Answer, if it is a number."""
        with suppress(ValueError):
            self.dismiss(int(event.value))


class Play(Table):
    """A game in progress."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "play", "Play"),
        Binding("h", "hint", "Hint"),
        Binding("p", "preview", "Points"),
        Binding("u", "undo", "Undo"),
        Binding("s", "save", "Save"),
        Binding("n", "new", "New"),
        Binding("q", "app.quit", "Quit"),
        Binding("question_mark", "help", "Help"),
        *(Binding(key, f"move('{key}')", show=False) for key in ("up", "down", "left", "right")),
        Binding("tab", "card(1)", show=False, priority=True),
        Binding("shift+tab", "card(-1)", show=False, priority=True),
    ]

    @dataclass
    class Chosen(Message):
        """An agent has thought."""

        number: int
        action: int | None
        hint: bool
        error: Exception | None = None

    def __init__(self, session: Session, path: Path) -> None:
        super().__init__()
        self.session = session
        self.path = path
        self.preview = False
        self.thought = 0
        """Counts what was thought about: an answer to an older question is no answer."""

    def on_mount(self) -> None:
        """Begin."""
        self.refresh_table()

    # --- What is shown -----------------------------------------------------------------------------------------------

    def refresh_table(self) -> None:
        """Show the game as it stands, and let somebody move."""
        session, game = self.session, self.session.game
        scene = spec_of(session.rules).scene(game, session.seat)
        self.show(scene, session.names, session.turns)
        board, hand = self.query_one(Board), self.query_one(Hand)
        if hand.chosen not in hand.cards:
            hand.chosen = hand.cards[0] if hand.cards else None
        if board.cursor not in scene.legal:
            board.cursor = min(scene.legal, default=None, key=lambda cell: self._distance(scene, cell))
        self.thought += 1
        if game.over:
            self.say(f"{'; '.join(scene.notes)}. The game is kept in {self.path}. n: new game, u: undo, q: quit")
        elif session.person_to_move:
            self.say(f"Seat {session.mover}: choose a card and a cell, Enter plays. ?: all keys")
            self._ask_announcement()
        else:
            self.say(f"Seat {session.mover}, {session.names[game.mover]}, is thinking ...")
            self.think(self.thought, hint=False)
        self._show_values()

    def _distance(self, scene: Scene, cell: int) -> int:
        """From the cursor, or from the middle of the grid."""
        cursor = self.query_one(Board).cursor
        row, column = scene.place(scene.side * scene.side // 2 if cursor is None else cursor)
        return abs(row - scene.place(cell)[0]) + abs(column - scene.place(cell)[1])

    def _show_values(self) -> None:
        board, hand, game = self.query_one(Board), self.query_one(Hand), self.session.game
        board.values = {}
        if self.preview and self.session.person_to_move and board.scene and hand.chosen is not None:
            plays = (spec_of(game.rules).candidate(game, hand.chosen, cell) for cell in board.scene.legal)
            board.values = {play.cell: play.points for play in plays if play.scored}

    # --- Agents ------------------------------------------------------------------------------------------------------

    @work(thread=True, exit_on_error=False)
    def think(self, number: int, hint: bool) -> None:
        """Ask an agent, in a thread."""
        try:
            answer = self.Chosen(number, self.session.advise() if hint else self.session.choose(), hint)
        except Exception as error:  # agents are anybody's
            answer = self.Chosen(number, None, hint, error)
        self.post_message(answer)

    def on_play_chosen(self, event: Chosen) -> None:
        """Do what an agent says, if it was asked about this position."""
        if event.number != self.thought:
            return
        if event.error:
            self.say(f"{type(event.error).__name__}: {event.error}. The game is kept in {self.path}.")
        elif event.hint:
            self._hint(event.action)
        elif event.action is not None:
            self._apply_action(event.action)

    def _hint(self, action: int | None) -> None:
        """Show what the adviser would do, and what scores most at once."""
        plays = self.session.candidates()
        lines = [f"The adviser plays {_weighed(play)}" for play in plays if play.action == action]
        lines += ["Most points at once:", *map(_weighed, plays[:12])]
        self.query_one("#log", Static).update("\n".join(lines))
        if action is not None:
            notation = spec_of(self.session.rules).notation
            self.query_one(Hand).chosen, self.query_one(Board).cursor = notation.decode_play(self.session.game, action)
        self._show_values()

    # --- Actions -----------------------------------------------------------------------------------------------------

    def _apply_action(self, action: int) -> None:
        try:
            self.session.play(action)
        except IllegalAction as error:
            self.say(str(error))
            return
        self._keep()
        self.refresh_table()

    def _keep(self) -> bool:
        """Save, and say so if that fails: play goes on."""
        try:
            self.session.save(self.path)
        except OSError as error:
            self.notify(f"the game cannot be saved to {self.path}: {error}", severity="error")
            return False
        return True

    def _ask_announcement(self) -> None:
        """Ask for the points of a pending play, where there is one."""
        pending = spec_of(self.session.rules).scene(self.session.game, self.session.seat).pending
        if pending and not isinstance(self.app.screen, Announce):
            self.app.push_screen(Announce(pending.title), self._announced)

    def _announced(self, points: int | None) -> None:
        if points is None:
            self.action_undo()
            return
        try:
            self._apply_action(self.session.parse(f"announce {points}"))
        except IllegalAction as error:
            self.notify(str(error), severity="error")
            self._ask_announcement()

    def action_play(self) -> None:
        """Play the chosen card into the chosen cell."""
        card, cell = self.query_one(Hand).chosen, self.query_one(Board).cursor
        if self.session.person_to_move and card is not None and cell is not None:
            self._apply_action(spec_of(self.session.rules).notation.encode_play(self.session.rules, card, cell))

    def action_hint(self) -> None:
        """Ask the adviser."""
        if self.session.person_to_move:
            self.think(self.thought, hint=True)

    def action_preview(self) -> None:
        """Show or hide what the chosen card would score."""
        self.preview = not self.preview
        self._show_values()

    def action_undo(self) -> None:
        """Go back."""
        try:
            self.session.undo()
        except ValueError as error:
            self.say(f"{error}.".capitalize())
            return
        self._keep()
        self.refresh_table()

    def action_save(self) -> None:
        """Save and say where."""
        if self._keep():
            self.say(f"Saved to {self.path}")

    def action_new(self) -> None:
        """The same again, from another deal."""
        assert isinstance(self.app, Terminal)
        self.app.play(self.session.again())

    def action_move(self, key: str) -> None:
        """Move the cursor; where there is one cell only, choose another card."""
        board = self.query_one(Board)
        if not (scene := board.scene) or board.cursor is None:
            return
        if len(scene.legal) == 1:
            self.action_card(1 if key in ("right", "down") else -1)
            return
        rows, columns = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}[key]
        row, column = scene.place(board.cursor)
        if row + rows in scene.rows and column + columns in scene.columns:
            board.cursor = (row + rows) * scene.side + column + columns

    def action_card(self, step: int) -> None:
        """Choose the next card."""
        hand = self.query_one(Hand)
        if hand.cards:
            at = hand.cards.index(hand.chosen) + step if hand.chosen in hand.cards else 0
            self._choose(hand.cards[at % len(hand.cards)])

    def on_key(self, event: events.Key) -> None:
        """Choose a card by its letter."""
        hand, number = self.query_one(Hand), LABELS.find(event.character or " ")
        if 0 <= number < len(hand.cards):
            event.stop()
            self._choose(hand.cards[number])

    def on_hand_picked(self, event: Hand.Picked) -> None:
        """Choose a card by a click."""
        self._choose(event.card)

    def _choose(self, card: int) -> None:
        self.query_one(Hand).chosen = card
        self._show_values()

    def on_board_picked(self, event: Board.Picked) -> None:
        """Choose a cell by a click, play with the second one."""
        board = self.query_one(Board)
        if board.cursor == event.cell:
            self.action_play()
        else:
            board.cursor = event.cell


class Replay(Table):
    """A record, step by step."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right", "step('right')", "Next"),
        Binding("left", "step('left')", "Back"),
        Binding("home", "step('home')", "Start"),
        Binding("end", "step('end')", "End"),
        Binding("v", "view", "Other seat"),
        Binding("q", "app.quit", "Quit"),
        Binding("question_mark", "help", "Help"),
    ]

    def __init__(self, record: Record) -> None:
        super().__init__()
        self.viewer = Viewer(record)

    def on_mount(self) -> None:
        """Begin."""
        self.refresh_table()

    def refresh_table(self) -> None:
        """Show the place in the record."""
        viewer = self.viewer
        self.show(viewer.scene, viewer.record.seats, viewer.turns)
        self.say(f"{viewer.place}. Right and left arrow step, v looks from another seat")

    def action_step(self, key: str) -> None:
        """Go on, or back."""
        self.viewer.go(KEYS[key])
        self.refresh_table()

    def action_view(self) -> None:
        """Look from the next seat, then from all."""
        self.viewer.look()
        self.refresh_table()


class Variants(OptionList):
    """Options of a game, of which any may be chosen; readable without colour."""

    def __init__(self, names: Iterable[str]) -> None:
        self.names = tuple(names)
        self.chosen: set[str] = set()
        super().__init__(*map(self._prompt, self.names), markup=False, compact=True)

    def _prompt(self, name: str) -> str:
        return f"[{'x' if name in self.chosen else ' '}] {name}"

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Choose, or choose no longer."""
        name = self.names[event.option_index]
        self.chosen ^= {name}
        self.replace_option_prompt_at_index(event.option_index, self._prompt(name))


class Start(Screen[None]):
    """Chooses variant, opponents and seat."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f5", "begin", "Begin"),
        Binding("question_mark", "help", "Help"),
        Binding("escape", "app.quit", "Quit"),
    ]

    KINDS: ClassVar[dict[str, tuple[str, dict[str, Any]]]] = {
        "Quincunx: solitaire": ("quincunx", {}),
        "Quincunx: solitaire, edge contact": ("quincunx", {"edge_contact": True}),
        **{
            f"Quincunx: {players} players, {start}": ("quincunx", {"num_players": players, "start": start})
            for start in ("corners", "open")
            for players in (2, 3, 4)
        },
        **{f"Spiral game: {deals} deal{'s' * (deals > 1)}": ("spiral", {"deals": deals}) for deals in (1, 2, 4)},
    }
    """Names of games, and the options of their rules."""
    VARIANTS: ClassVar[dict[str, tuple[str, dict[str, Any]]]] = {
        "Excuse": ("quincunx", {"excuse": True}),
        "Pawns": ("quincunx", {"pawns": True}),
        "Flush bonus": ("quincunx", {"flush": True}),
        "Simpleton": ("quincunx", {"simpleton": True}),
        "Match": ("quincunx", {"match": True}),
        "Spiral: fifteens": ("spiral", {"fifteens": True}),
        "Spiral: scored at the end": ("spiral", {"scoring": "end"}),
    }
    """Options of one game or the other."""

    def compose(self) -> ComposeResult:
        """Lists to choose from."""
        known = ", ".join([*sorted(registered_policies()), PERSON])
        with VerticalScroll(can_focus=False):
            yield Label("Game")
            games = [(name, name) for name in self.KINDS]
            yield Select(games, value=games[0][0], allow_blank=False, id="game", compact=True)
            yield Label("Variants: Enter chooses, Tab goes on")
            yield Variants(self.VARIANTS)
            yield Label(f"Opponents, one for all other seats or, with commas, one for each: {known}, module:attribute")
            yield Input(placeholder="the usual one", id="opponents", compact=True)
            yield Label("Your seat")
            yield Select(
                [(f"seat {seat}", seat) for seat in range(4)], value=0, allow_blank=False, id="seat", compact=True
            )
            yield Static(id="error", markup=False)
            yield Button("Begin (F5)", variant="primary", id="begin", compact=True)
        yield Footer()

    @on(Button.Pressed, "#begin")
    def action_begin(self) -> None:
        """Play, or say what is wrong."""
        assert isinstance(self.app, Terminal)
        opponents = [name.strip() for name in self.query_one("#opponents", Input).value.split(",") if name.strip()]
        try:
            rules = self._rules()
            players = seated(rules, int(str(self.query_one("#seat", Select).value)), opponents)
            self.app.play(Session(rules, players, adviser=adviser_of(rules)))
        except ValueError as error:
            self.query_one("#error", Static).update(str(error))

    def _rules(self) -> BaseRules:
        kind = str(self.query_one("#game", Select).value)
        game, options = self.KINDS[kind]
        for name in self.query_one(Variants).chosen:
            other, more = self.VARIANTS[name]
            if other != game:
                raise ValueError(f"'{name}' is no variant of '{kind}'")
            options = options | more
        rules: BaseRules = GAMES[game].Rules(**options)
        return rules

    def action_help(self) -> None:
        """Tell the keys."""
        self.app.push_screen(Help())


class Terminal(App[None]):
    """The program.

    Args:
        begin: a game to play or a record to replay; None asks.
        folder: where games are kept.
        path: the file of the game that begins, if it has one.
    """

    TITLE = "Quincunx"
    CSS = """
    #small { display: none; width: 100%; height: 1fr; content-align: center middle; text-align: center; }
    .small #small { display: block; }
    .small #table { display: none; }
    #table { width: 100%; height: 1fr; }
    #upper { height: 1fr; padding: 1 1 0 1; }
    Board { width: auto; height: auto; margin-right: 2; }
    #side { width: 1fr; height: 100%; }
    #seats { height: auto; }
    #log { height: 1fr; margin-top: 1; }
    Hand { height: auto; padding: 0 1; }
    #message { height: auto; min-height: 1; max-height: 3; padding: 0 1; color: $text-accent; }
    Help { align: center middle; }
    Help Static { width: auto; height: auto; max-width: 100%; padding: 1 2; background: $panel; }
    Announce { align: center bottom; }
    Announce > Vertical { width: 100%; height: auto; padding: 1 2; background: $panel; }
    Start VerticalScroll { padding: 0 2; }
    Start Label { width: 100%; margin-top: 1; color: $text-accent; }
    Start Button { margin-top: 1; }
    Start Variants { height: auto; }
    Start #error { height: auto; color: $text-error; }
    """
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+c,ctrl+q", "quit", "Quit", show=False, priority=True)]

    def __init__(self, begin: Session | Record | None, folder: Path, path: Path | None = None) -> None:
        super().__init__()
        self.begin = begin
        self.folder = folder
        self.path = path

    def on_mount(self) -> None:
        """Show what is to be shown; leave in order when the system asks for it."""
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):
            with suppress(AttributeError, NotImplementedError, RuntimeError, ValueError):
                asyncio.get_running_loop().add_signal_handler(getattr(signal, name), self.exit)
        if isinstance(self.begin, Session):
            self.play(self.begin)
        else:
            self.push_screen(Start() if self.begin is None else Replay(self.begin))

    def play(self, session: Session) -> None:
        """Begin a game, in a file of its own."""
        if self.path is None or session is not self.begin:
            self.path = free_path(self.folder)
        screen = Play(session, self.path)
        if len(self.screen_stack) > 1:
            self.switch_screen(screen)
        else:
            self.push_screen(screen)
