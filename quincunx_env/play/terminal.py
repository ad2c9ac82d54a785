"""Full-screen terminal interface with Textual: games, and replays of records.

Positions are shown from `quincunx_env.core.scene`, the logic comes from `quincunx_env.play.session`. Agents run in a
worker thread, so that the screen stays responsive.
"""

import asyncio
import signal
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import ClassVar

from rich.console import Group
from rich.table import Table
from rich.text import Text
from textual import events, work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Digits, Footer, Static

from quincunx_env.core.game import Game, IllegalAction
from quincunx_env.core.rules import BaseRules
from quincunx_env.core.scene import Scene
from quincunx_env.notation.record import Record, RecordedAction
from quincunx_env.notation.text import play_score, print_action
from quincunx_env.play.dialogs import AnnounceScreen, HelpScreen, StartScreen
from quincunx_env.play.ending import Ending
from quincunx_env.play.keys import LABELS
from quincunx_env.play.session import Hint, Session, new_path
from quincunx_env.play.viewer import KEY_STEPS, Viewer, describe
from quincunx_env.play.widgets import Board, Hand, styled
from quincunx_env.registry import spec_of

NEEDED = 60, 20
"""Columns and rows of the smallest terminal in which the table fits."""

_LOG_LENGTH = 60
"""Actions in the log, more than fit on any screen."""

_HINTS = 5
"""Plays listed as hints. Not tuned."""

_OTHERS = 3
"""Further cells listed with a hint. Not tuned."""


class TableScreen(Screen[None]):
    """A screen with grid, hand, seats and log, the base of games and replays."""

    rules: BaseRules

    def compose(self) -> ComposeResult:
        """Grid and hand; beside them seats and log; below the end of the game and a message."""
        needed = f"The table needs {NEEDED[0]} columns and {NEEDED[1]} rows.\nMake the terminal larger."
        yield Static(needed, id="small")
        with Vertical(id="table"):
            yield Static(id="title", markup=False)
            with Horizontal(id="upper"):
                yield Board()
                with Vertical(id="side"):
                    yield Static(id="seats", markup=False)
                    yield Static(id="log", markup=False)
            yield Hand()
            yield Digits(id="points")
            yield Static(id="ending", markup=False)
            yield Static(id="message", markup=False)
        yield Footer()

    @property
    def board(self) -> Board:
        """The grid."""
        return self.query_one(Board)

    @property
    def hand(self) -> Hand:
        """The hand below it."""
        return self.query_one(Hand)

    def on_resize(self, event: events.Resize) -> None:
        """Show a notice instead of a table that does not fit."""
        self.set_class(event.size.width < NEEDED[0] or event.size.height < NEEDED[1], "small")
        self.refresh_bindings()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool:
        """Whether a key may act: not on a table that is out of sight. The keys that quit are those of the app."""
        return not self.has_class("small")

    def show(self, scene: Scene, names: Sequence[str], turns: Sequence[RecordedAction], ending: Ending | None) -> None:
        """Show a position and the actions that led to it; at the end of a game also the result."""
        self.set_class(ending is not None, "over")
        self.board.scene, self.hand.faces = scene, scene.faces
        self.hand.cards = () if ending else scene.seats[scene.shown].cards or ()
        self.query_one("#title", Static).update(scene.title)
        self.query_one("#seats", Static).update(_seats(scene, names, ending is not None))
        self.show_log(describe(turn) for turn in reversed(turns[-_LOG_LENGTH:]))  # the oldest ones are cut off
        if ending:
            points = ending.points if len(ending.points) < 14 else ending.points.replace(" ", "")  # of four seats
            self.query_one(Digits).update(points)
            self.query_one(Digits).display = bool(points)
            self.query_one("#ending", Static).update("\n".join([ending.headline, *ending.notes]))

    def show_log(self, lines: Iterable[str]) -> None:
        """Show lines of text beside the grid."""
        self.query_one("#log", Static).update("\n".join(lines))

    def show_message(self, text: str) -> None:
        """Show a line of text below the table."""
        self.query_one("#message", Static).update(text)

    def action_help(self) -> None:
        """Show keys and rules."""
        self.app.push_screen(HelpScreen(self.rules))


def _seats(scene: Scene, names: Sequence[str], over: bool) -> Group:
    """A row for each seat, and the open hands that are not shown large; notes, unless the game is over."""
    table = Table.grid(padding=(0, 1), expand=True)
    table.add_column(width=1)
    table.add_column(ratio=1, no_wrap=len(scene.seats) > 2)  # names of two fit on several lines
    table.add_column(justify="right", min_width=3, no_wrap=True)
    table.add_column(justify="right", min_width=4, no_wrap=True)
    table.add_row("", "", "pts", "hand", style="dim")
    for number, seat in enumerate(scene.seats):
        name = " ".join([seat.name, *names[number : number + 1]])
        style = "bold" if seat.to_move or seat.won else ""
        table.add_row(">" if seat.to_move else "", name, str(seat.score), str(seat.hand_size), style=style)
    if scene.pile is not None:
        table.add_row("", "pile", "", str(scene.pile))
    lines = []
    for number, seat in enumerate(scene.seats):
        if seat.cards and (over or number != scene.shown):
            lines.append(Text(" ").join([Text(f"{seat.name}:"), *(styled(scene.faces[card]) for card in seat.cards)]))
    for name, scores in (("rows", scene.rows_score), ("columns", scene.columns_score)):
        if scores:
            lines.append(Text(f"{name}: {' '.join(str(points) for points in scores.values())}"))
    return Group(table, *lines, *(() if over else map(Text, scene.notes)))


def _play_text(game: Game, card: int, cell: int) -> str:
    """A legal play with its immediate score."""
    action = spec_of(game.rules).notation.encode_play(game.rules, card, cell)
    return f"{print_action(game, action)}: {play_score(game, action)}"


class PlayScreen(TableScreen):
    """A game in progress, and those that follow it.

    Args:
        session: the game.
        folder: directory of the files of games.
        path: the file of the game, if it has one.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "play", "Play"),
        Binding("h", "hint", "Hint"),
        Binding("p", "preview", "Points"),
        Binding("u", "undo", "Undo"),
        Binding("s", "save", "Save", show=False),
        Binding("n", "new", "New"),
        Binding("question_mark", "help", "Help"),
        Binding("q", "app.quit", "Quit"),
        *(Binding(key, f"move('{key}')", show=False) for key in ("up", "down", "left", "right")),
        Binding("tab", "card(1)", show=False, priority=True),
        Binding("shift+tab", "card(-1)", show=False, priority=True),
    ]

    @dataclass
    class Answered(Message):
        """The result of a call of an agent: its action, a hint, or the error that it raised."""

        call: int
        """`PlayScreen.calls` at the time of the call."""
        answer: int | Hint | Exception

    def __init__(self, session: Session, folder: Path, path: Path | None = None) -> None:
        super().__init__()
        self.rules, self.session = session.rules, session
        self.folder, self.path = folder, path or new_path(folder)
        self.preview = False
        """Whether empty cells show the points and draws of the chosen card."""
        self.hints: list[Hint] | None = None
        """Hints of the adviser for the position; None if it has not been called."""
        self.calls = 0
        """Counts the positions in which agents may be called; results for an older position are discarded."""

    def on_mount(self) -> None:
        """Show the first position."""
        self.refresh_table()

    # --- Output ------------------------------------------------------------------------------------------------------

    def refresh_table(self) -> None:
        """Show the position, and prompt the human or call the agent to move."""
        session = self.session
        scene = spec_of(session.rules).scene(session.game, session.seat)
        self.show(scene, session.names, session.turns, session.ending)
        board, hand = self.board, self.hand
        if hand.chosen not in hand.cards:
            hand.chosen = hand.cards[0] if hand.cards else None
        if board.cursor not in scene.legal:
            board.cursor = min(scene.legal, default=None, key=lambda cell: self._distance(scene, cell))
        self.hints = None
        self.calls += 1
        self._show_choice()
        if session.mover is None:
            self.show_message(f"The game is kept in {self.path}")
        elif session.human_to_move:
            self._ask_announcement(scene)
        else:
            self.show_message(f"Seat {session.mover}, {session.names[session.mover]}, is thinking ...")
            self.think(self.calls, session, hint=False)

    def _distance(self, scene: Scene, cell: int) -> int:
        """Distance of a cell from the cursor, or from the middle of the grid, in steps."""
        cursor = self.board.cursor
        row, column = scene.place(scene.side * scene.side // 2 if cursor is None else cursor)
        return abs(row - scene.place(cell)[0]) + abs(column - scene.place(cell)[1])

    def _show_choice(self) -> None:
        """Prompt the human; with the preview show points and draws of the chosen card, after a hint the chosen play."""
        session, board, card = self.session, self.board, self.hand.chosen
        scores = session.scores(card) if session.human_to_move and card is not None else {}
        board.scores = scores if self.preview else {}
        if session.human_to_move:
            prompt = "choose a card and a cell, Enter plays"
            if card is not None and board.cursor in scores and (self.preview or self.hints):
                prompt = _play_text(session.game, card, board.cursor)
            self.show_message(f"Seat {session.mover}: {prompt}")

    # --- Agents ------------------------------------------------------------------------------------------------------

    @work(thread=True, exit_on_error=False)
    def think(self, call: int, session: Session, hint: bool) -> None:
        """Call an agent in a worker thread, and post its action, or the adviser's plays one by one."""
        try:
            for answer in islice(session.hints(), _HINTS) if hint else [session.choose()]:
                if call != self.calls:
                    return
                self.post_message(self.Answered(call, answer))
        except Exception as error:  # agents of other packages may raise anything
            self.post_message(self.Answered(call, error))

    def on_play_screen_answered(self, event: Answered) -> None:
        """Apply the action of an agent, or list a hint, unless the position has changed since the call."""
        if event.call != self.calls:
            return
        if isinstance(event.answer, Exception):
            error = event.answer
            self.show_message(f"{type(error).__name__}: {error}. The game is kept in {self.path}.")
        elif isinstance(event.answer, Hint):
            self.hints = [*(self.hints or []), event.answer]
            self._show_hints()
            if len(self.hints) == 1:
                self._choose(*self._place(event.answer))
        else:
            self._apply_action(event.answer)

    def _show_hints(self) -> None:
        """List the hints so far, with the other cells in which they are the same plays."""
        scene = spec_of(self.rules).scene(self.session.game)
        lines = [f"{self.session.adviser} prefers:" if self.session.adviser else "Most points at once:"]
        for number, hint in enumerate(self.hints or [], 1):
            cells = [str(scene.place(cell)) for cell in hint.others]
            more = ["..."] if len(cells) > _OTHERS else []
            also = f"; also {' '.join(cells[:_OTHERS] + more)}" if cells else ""
            lines.append(f"{number}. {hint}{also}")
        self.show_log(lines)

    # --- Course of the game ------------------------------------------------------------------------------------------

    def _apply_action(self, action: int) -> None:
        try:
            self.session.play(action)
        except IllegalAction as error:
            self.show_message(str(error))
            return
        self._save()
        self.refresh_table()

    def _save(self) -> bool:
        """Save the game; show a warning where that fails, and go on."""
        try:
            self.session.save(self.path)
        except OSError as error:
            self.notify(f"the game cannot be saved to {self.path}: {error}", severity="error")
            return False
        return True

    def _ask_announcement(self, scene: Scene) -> None:
        """Open the announcement of a pending play, if there is one."""
        if scene.pending and not isinstance(self.app.screen, AnnounceScreen):
            self.app.push_screen(AnnounceScreen(scene.pending.title), self._announced)

    def _announced(self, points: int | None) -> None:
        if points is None:
            self.action_undo()
            return
        try:
            self._apply_action(self.session.parse(f"announce {points}"))
        except IllegalAction as error:
            self.notify(str(error), severity="error")
            self._ask_announcement(spec_of(self.rules).scene(self.session.game))

    def action_play(self) -> None:
        """Play the chosen card into the chosen cell."""
        card, cell = self.hand.chosen, self.board.cursor
        if self.session.human_to_move and card is not None and cell is not None:
            self._apply_action(spec_of(self.rules).notation.encode_play(self.rules, card, cell))

    def action_undo(self) -> None:
        """Take back the last decision of a human."""
        try:
            self.session.undo()
        except ValueError as error:
            self.show_message(f"{error}.".capitalize())
            return
        self._save()
        self.refresh_table()

    def action_save(self) -> None:
        """Save and show the path."""
        if self._save():
            self.show_message(f"Saved to {self.path}")

    def action_new(self) -> None:
        """Start a game with the same players and a new deal."""
        self.session, self.path = self.session.new_game(), new_path(self.folder)
        self.refresh_table()

    # --- Choice of card and cell -------------------------------------------------------------------------------------

    def action_hint(self) -> None:
        """Call the adviser; if it has been called, choose the next of its plays."""
        if self.session.human_to_move and self.hints is None:
            self.hints = []
            self.show_log([f"{self.session.adviser or 'Hint'} ..."])
            self.think(self.calls, self.session, hint=True)
        elif self.hints:
            chosen = self.hand.chosen, self.board.cursor
            places = [self._place(hint) for hint in self.hints]
            self._choose(*places[(places.index(chosen) + 1) % len(places) if chosen in places else 0])

    def _place(self, hint: Hint) -> tuple[int, int]:
        """Card and cell of a hint."""
        return spec_of(self.rules).notation.decode_play(self.session.game, hint.action)

    def _choose(self, card: int | None = None, cell: int | None = None) -> None:
        """Choose a card, a cell or both."""
        self.hand.chosen = self.hand.chosen if card is None else card
        self.board.cursor = self.board.cursor if cell is None else cell
        self._show_choice()

    def action_preview(self) -> None:
        """Show or hide the points and draws of the chosen card."""
        self.preview = not self.preview
        self._show_choice()

    def action_move(self, key: str) -> None:
        """Move the cursor; with a single legal cell, choose another card."""
        scene, cursor = self.board.scene, self.board.cursor
        if scene is None or cursor is None:
            return
        if len(scene.legal) == 1:
            self.action_card(1 if key in ("right", "down") else -1)
            return
        rows, columns = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}[key]
        row, column = scene.place(cursor)
        if row + rows in scene.rows and column + columns in scene.columns:
            self._choose(cell=(row + rows) * scene.side + column + columns)

    def action_card(self, step: int) -> None:
        """Choose the next card."""
        hand = self.hand
        if hand.cards:
            at = hand.cards.index(hand.chosen) + step if hand.chosen in hand.cards else 0
            self._choose(hand.cards[at % len(hand.cards)])

    def on_key(self, event: events.Key) -> None:
        """Choose a card by its letter."""
        hand, number = self.hand, LABELS.find(event.character or " ")
        if 0 <= number < len(hand.cards):
            event.stop()
            self._choose(hand.cards[number])

    def on_hand_picked(self, event: Hand.Picked) -> None:
        """Choose a card by a click."""
        self._choose(event.card)

    def on_board_picked(self, event: Board.Picked) -> None:
        """Choose a cell by a click, play with the second one."""
        if self.board.cursor == event.cell:
            self.action_play()
        else:
            self._choose(cell=event.cell)


class ReplayScreen(TableScreen):
    """A record, step by step."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right", "step('right')", "Next"),
        Binding("left", "step('left')", "Back"),
        Binding("home", "step('home')", "Start"),
        Binding("end", "step('end')", "End"),
        Binding("v", "view", "View"),
        Binding("question_mark", "help", "Help"),
        Binding("q", "app.quit", "Quit"),
    ]

    def __init__(self, record: Record) -> None:
        super().__init__()
        self.rules = record.rules
        self.viewer = Viewer(record)

    def on_mount(self) -> None:
        """Show the first position."""
        self.refresh_table()

    def refresh_table(self) -> None:
        """Show the position in the record."""
        viewer = self.viewer
        self.show(viewer.scene, viewer.record.seats, viewer.turns, viewer.ending)
        self.show_message(f"{viewer.position}. Right and left arrow step, v changes the point of view")

    def action_step(self, key: str) -> None:
        """Step forwards or backwards."""
        self.viewer.go(KEY_STEPS[key])
        self.refresh_table()

    def action_view(self) -> None:
        """Show the game from the next seat, then with all hands."""
        self.viewer.next_view()
        self.refresh_table()


class Terminal(App[None]):
    """The application.

    Args:
        begin: a game to play or a record to replay; None opens the start screen.
        folder: directory of the files of games.
        path: the file of the game ``begin``, if it has one.
    """

    TITLE = "Quincunx"
    CSS = """
    #small { display: none; width: 100%; height: 1fr; content-align: center middle; text-align: center; }
    .small #small { display: block; }
    .small #table { display: none; }
    #table { width: 100%; height: 1fr; }
    #title { height: 1; padding: 0 1; text-style: bold; }
    #upper { height: 1fr; padding: 0 1; }
    Board { width: auto; height: 100%; margin-right: 1; }
    #side { width: 1fr; height: 100%; }
    #seats { height: auto; }
    #log { height: 1fr; margin-top: 1; }
    Hand { height: auto; padding: 0 1; }
    #points, #ending { display: none; padding: 0 1; height: auto; }
    .over Hand { display: none; }
    .over #points, .over #ending { display: block; }
    #points, #ending { text-style: bold; color: $text-success; }
    #message { height: auto; min-height: 1; max-height: 3; padding: 0 1; color: $text-accent; }
    """
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+c,ctrl+q", "quit", "Quit", show=False, priority=True)]

    def __init__(self, begin: Session | Record | None, folder: Path, path: Path | None = None) -> None:
        super().__init__()
        self.begin, self.folder, self._path = begin, folder, path
        self.table: PlayScreen | None = None

    @property
    def path(self) -> Path | None:
        """The file of the last game that was played."""
        return self.table.path if self.table else self._path

    def on_mount(self) -> None:
        """Open the first screen; exit properly on signals of the system."""
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):
            with suppress(AttributeError, NotImplementedError, RuntimeError, ValueError):
                asyncio.get_running_loop().add_signal_handler(getattr(signal, name), self.exit)
        if isinstance(self.begin, Record):
            self.push_screen(ReplayScreen(self.begin))
        elif self.begin is None:
            self.push_screen(StartScreen(), self.play)
        else:
            self.play(self.begin)

    def play(self, session: Session | None) -> None:
        """Start a game."""
        if session:
            self.table = PlayScreen(session, self.folder, self._path)
            self.push_screen(self.table)
