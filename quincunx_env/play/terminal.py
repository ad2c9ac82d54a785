"""Full-screen terminal interface with Textual: a start screen, games, and replays of records.

Positions are shown from `quincunx_env.core.scene`, the logic comes from `quincunx_env.play.session`. Agents run in a
worker thread, so that the screen stays responsive.
"""

import asyncio
import signal
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from rich.text import Text
from textual import events, on, work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.message import Message
from textual.screen import ModalScreen, Screen
from textual.widgets import Button, Footer, Input, Label, Select, Static

from quincunx_env.core.game import IllegalAction
from quincunx_env.core.rules import BaseRules
from quincunx_env.core.scene import Scene
from quincunx_env.notation.record import Record, RecordedAction
from quincunx_env.notation.rules_card import rules_card
from quincunx_env.play.session import (
    DEFAULT_AGENTS,
    HUMAN,
    Candidate,
    Session,
    adviser_name,
    default_agent,
    new_path,
    seat_players,
)
from quincunx_env.play.viewer import KEY_STEPS, Viewer, describe
from quincunx_env.play.widgets import LABELS, Board, Hand, VariantList, styled
from quincunx_env.policies import registered_policies
from quincunx_env.quincunx.rules import Rules
from quincunx_env.registry import GAMES, spec_of

NEEDED = 80, 23
"""Columns and rows of the smallest terminal in which the table fits."""

_LOG_LENGTH = 30
"""Actions in the log, more than fit on any screen."""

_HINTS = 12
"""Plays listed with a hint. Not tuned."""

HELP = """\
[b]Choose a card[/b]  its letter, or Tab and Shift+Tab, or click it
[b]Choose a cell[/b]  the arrow keys, or click it
[b]Play[/b]           Enter, or click the cell once more
[b]Announce[/b]       with Simpleton: type the points, then Enter

[b]h[/b]  hint: the adviser's play, and the plays that score most at once
[b]p[/b]  show the points of the chosen card in each cell
[b]u[/b]  undo, back to your last decision
[b]s[/b]  save; every play is saved anyway
[b]n[/b]  new game
[b]q[/b]  quit; the game can be resumed

A record is replayed with the right and left arrow, Home and End;
[b]v[/b] changes the point of view.

The last card played stands in brackets, a dot where a card may go.
[b]?[/b] again shows the rules. [b]Any other key closes this.[/b]"""


class TableScreen(Screen[None]):
    """A screen with grid, hand, seats and log, the base of games and replays."""

    rules: BaseRules

    def compose(self) -> ComposeResult:
        """Grid and hand; beside them seats and log; below a message."""
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
        """Show a notice instead of a table that does not fit."""
        self.set_class(event.size.width < NEEDED[0] or event.size.height < NEEDED[1], "small")

    def show(self, scene: Scene, names: Sequence[str], turns: Sequence[RecordedAction]) -> None:
        """Show a position and the actions that led to it."""
        self.query_one(Board).scene = scene
        hand = self.query_one(Hand)
        hand.faces = scene.faces
        hand.cards = scene.seats[scene.shown].cards or ()
        self.query_one("#seats", Static).update(_seats(scene, names))
        self.query_one("#log", Static).update(_log(turns))

    def show_message(self, text: str) -> None:
        """Show a line of text below the table."""
        self.query_one("#message", Static).update(text)

    def action_help(self) -> None:
        """Show the list of keys."""
        self.app.push_screen(HelpScreen(self.rules))


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


def _candidate_text(play: Candidate) -> str:
    """A legal play with its immediate score."""
    return play.text + ("" if play.score is None else f": {play.score}")


def _log(turns: Sequence[RecordedAction]) -> str:
    """The last actions, newest first, so that the oldest ones are cut off."""
    return "\n".join(describe(turn) for turn in reversed(turns[-_LOG_LENGTH:]))


class HelpScreen(ModalScreen[None]):
    """The list of keys; a question mark shows the rules in its place, any other key or a click closes it."""

    def __init__(self, rules: BaseRules) -> None:
        super().__init__()
        self.rules = rules

    def compose(self) -> ComposeResult:
        """The list of keys as text."""
        yield Static(HELP)

    def on_key(self, event: events.Key) -> None:
        """Show the rules, or close the list of keys."""
        event.stop()
        text = self.query_one(Static)
        if event.key == "question_mark" and not text.has_class("rules"):
            text.add_class("rules")
            text.update(Text(rules_card(self.rules)))
        else:
            self.dismiss()

    def on_click(self) -> None:
        """Close the list of keys."""
        self.dismiss()


class AnnounceScreen(ModalScreen[int | None]):
    """Input of an announcement (Simpleton); returns the number, or None to take the play back."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape", "dismiss(None)", "Take the play back")]

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text

    def compose(self) -> ComposeResult:
        """A prompt and an input field."""
        with Vertical():
            yield Label(f"Points of {self.text}? Enter announces, Escape takes the play back.")
            yield Input(type="integer", placeholder="points", compact=True)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Return the number that was entered; ignore other text."""
        with suppress(ValueError):
            self.dismiss(int(event.value))


class PlayScreen(TableScreen):
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
        """The result of a call of an agent."""

        number: int
        """`PlayScreen.calls` at the time of the call."""
        action: int | None
        hint: bool
        """Whether the adviser was called, not the agent to move."""
        error: Exception | None = None

    def __init__(self, session: Session, path: Path) -> None:
        super().__init__()
        self.rules = session.rules
        self.session = session
        self.path = path
        self.preview = False
        self.calls = 0
        """Counts the positions in which agents may be called; results for an older position are discarded."""

    def on_mount(self) -> None:
        """Show the first position."""
        self.refresh_table()

    # --- Output ------------------------------------------------------------------------------------------------------

    def refresh_table(self) -> None:
        """Show the position, and prompt the human or call the agent to move."""
        session, game = self.session, self.session.game
        scene = spec_of(session.rules).scene(game, session.seat)
        self.show(scene, session.names, session.turns)
        board, hand = self.query_one(Board), self.query_one(Hand)
        if hand.chosen not in hand.cards:
            hand.chosen = hand.cards[0] if hand.cards else None
        if board.cursor not in scene.legal:
            board.cursor = min(scene.legal, default=None, key=lambda cell: self._distance(scene, cell))
        self.calls += 1
        if game.over:
            self.show_message(
                f"{'; '.join(scene.notes)}. The game is kept in {self.path}. n: new game, u: undo, q: quit"
            )
        elif session.human_to_move:
            self.show_message(f"Seat {session.mover}: choose a card and a cell, Enter plays. ?: all keys")
            self._ask_announcement()
        else:
            self.show_message(f"Seat {session.mover}, {session.names[game.mover]}, is thinking ...")
            self.think(self.calls, hint=False)
        self._show_values()

    def _distance(self, scene: Scene, cell: int) -> int:
        """Distance of a cell from the cursor, or from the middle of the grid, in steps."""
        cursor = self.query_one(Board).cursor
        row, column = scene.place(scene.side * scene.side // 2 if cursor is None else cursor)
        return abs(row - scene.place(cell)[0]) + abs(column - scene.place(cell)[1])

    def _show_values(self) -> None:
        board, hand, game = self.query_one(Board), self.query_one(Hand), self.session.game
        board.values = {}
        if self.preview and self.session.human_to_move and board.scene and hand.chosen is not None:
            plays = (spec_of(game.rules).candidate(game, hand.chosen, cell) for cell in board.scene.legal)
            board.values = {play.cell: play.points for play in plays if play.scored}

    # --- Agents ------------------------------------------------------------------------------------------------------

    @work(thread=True, exit_on_error=False)
    def think(self, number: int, hint: bool) -> None:
        """Call an agent in a worker thread, and post its action."""
        try:
            answer = self.Chosen(number, self.session.advise() if hint else self.session.choose(), hint)
        except Exception as error:  # agents of other packages may raise anything
            answer = self.Chosen(number, None, hint, error)
        self.post_message(answer)

    def on_play_screen_chosen(self, event: Chosen) -> None:
        """Apply the action of an agent, or show the hint, unless the position has changed since the call."""
        if event.number != self.calls:
            return
        if event.error:
            self.show_message(f"{type(event.error).__name__}: {event.error}. The game is kept in {self.path}.")
        elif event.hint:
            self._hint(event.action)
        elif event.action is not None:
            self._apply_action(event.action)

    def _hint(self, action: int | None) -> None:
        """Show the adviser's action, and the plays that score most at once."""
        plays = self.session.candidates()
        lines = [f"The adviser plays {_candidate_text(play)}" for play in plays if play.action == action]
        lines += ["Most points at once:", *map(_candidate_text, plays[:_HINTS])]
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

    def _ask_announcement(self) -> None:
        """Open the announcement of a pending play, if there is one."""
        pending = spec_of(self.session.rules).scene(self.session.game, self.session.seat).pending
        if pending and not isinstance(self.app.screen, AnnounceScreen):
            self.app.push_screen(AnnounceScreen(pending.title), self._announced)

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
        if self.session.human_to_move and card is not None and cell is not None:
            self._apply_action(spec_of(self.session.rules).notation.encode_play(self.session.rules, card, cell))

    def action_hint(self) -> None:
        """Call the adviser."""
        if self.session.human_to_move:
            self.think(self.calls, hint=True)

    def action_preview(self) -> None:
        """Show or hide the points of the chosen card."""
        self.preview = not self.preview
        self._show_values()

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
        assert isinstance(self.app, Terminal)
        self.app.play(self.session.new_game())

    def action_move(self, key: str) -> None:
        """Move the cursor; with a single legal cell, choose another card."""
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


class ReplayScreen(TableScreen):
    """A record, step by step."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right", "step('right')", "Next"),
        Binding("left", "step('left')", "Back"),
        Binding("home", "step('home')", "Start"),
        Binding("end", "step('end')", "End"),
        Binding("v", "view", "View"),
        Binding("q", "app.quit", "Quit"),
        Binding("question_mark", "help", "Help"),
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
        self.show(viewer.scene, viewer.record.seats, viewer.turns)
        self.show_message(f"{viewer.position}. Right and left arrow step, v changes the point of view")

    def action_step(self, key: str) -> None:
        """Step forwards or backwards."""
        self.viewer.go(KEY_STEPS[key])
        self.refresh_table()

    def action_view(self) -> None:
        """Show the game from the next seat, then with all hands."""
        self.viewer.next_view()
        self.refresh_table()


class StartScreen(Screen[None]):
    """Choice of game, variants, opponents and seat."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f5", "begin", "Begin"),
        Binding("question_mark", "help", "Help"),
        Binding("escape", "app.quit", "Quit"),
    ]

    GAME_OPTIONS: ClassVar[dict[str, tuple[str, dict[str, Any]]]] = {
        "Quincunx: solitaire": ("quincunx", {}),
        "Quincunx: solitaire, edge contact": ("quincunx", {"edge_contact": True}),
        **{
            f"Quincunx: {players} players, {start}": ("quincunx", {"num_players": players, "start": start})
            for start in ("corners", "open")
            for players in (2, 3, 4)
        },
        **{f"Spiral game: {deals} deal{'s' * (deals > 1)}": ("spiral", {"deals": deals}) for deals in (1, 2, 4)},
    }
    """By label: name of the game, options of its rules."""
    VARIANTS: ClassVar[dict[str, tuple[str, dict[str, Any]]]] = {
        "Excuse": ("quincunx", {"excuse": True}),
        "Pawns": ("quincunx", {"pawns": True}),
        "Flush bonus": ("quincunx", {"flush": True}),
        "Simpleton": ("quincunx", {"simpleton": True}),
        "Match": ("quincunx", {"match": True}),
        "Spiral: fifteens": ("spiral", {"fifteens": True}),
        "Spiral: scored at the end": ("spiral", {"scoring": "end"}),
    }
    """By label: name of the game to which the variant belongs, options of its rules."""

    def compose(self) -> ComposeResult:
        """Lists to choose from, and a button."""
        known = ", ".join([*registered_policies(), HUMAN])
        defaults = " or ".join(names[0] for names in DEFAULT_AGENTS.values())
        with VerticalScroll(can_focus=False):
            yield Label("Game")
            games = [(name, name) for name in self.GAME_OPTIONS]
            yield Select(games, value=games[0][0], allow_blank=False, id="game", compact=True)
            yield Label("Variants: Enter chooses, Tab goes on")
            yield VariantList(self.VARIANTS)
            yield Label(f"Opponents, one for all other seats or, with commas, one for each: {known}, module:attribute")
            yield Input(placeholder=f"default: {defaults}", id="opponents", compact=True)
            yield Label("Your seat")
            yield Select(
                [(f"seat {seat}", seat) for seat in range(4)], value=0, allow_blank=False, id="seat", compact=True
            )
            yield Static(id="error", markup=False)
            yield Button("Begin (F5)", variant="primary", id="begin", compact=True)
        yield Footer()

    @on(Button.Pressed, "#begin")
    def action_begin(self) -> None:
        """Start the game, or show the error in the choice."""
        assert isinstance(self.app, Terminal)
        opponents = [name.strip() for name in self.query_one("#opponents", Input).value.split(",") if name.strip()]
        try:
            rules = self._rules()
            players = seat_players(rules, int(str(self.query_one("#seat", Select).value)), opponents)
            self.app.play(Session(rules, players, adviser=adviser_name(rules)))
        except ValueError as error:
            self.query_one("#error", Static).update(str(error))
        else:
            if problem := default_agent(rules).problem:
                self.app.notify(problem, severity="warning")

    def _rules(self) -> BaseRules:
        label = str(self.query_one("#game", Select).value)
        game, options = self.GAME_OPTIONS[label]
        for name in self.query_one(VariantList).chosen:
            other, more = self.VARIANTS[name]
            if other != game:
                raise ValueError(f"'{name}' is no variant of '{label}'")
            options = options | more
        rules: BaseRules = GAMES[game].Rules(**options)
        return rules

    def action_help(self) -> None:
        """Show the list of keys; the rules are those of the choice, or of the solitaire."""
        try:
            rules = self._rules()
        except ValueError:
            rules = Rules()
        self.app.push_screen(HelpScreen(rules))


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
    #upper { height: 1fr; padding: 1 1 0 1; }
    Board { width: auto; height: auto; margin-right: 2; }
    #side { width: 1fr; height: 100%; }
    #seats { height: auto; }
    #log { height: 1fr; margin-top: 1; }
    Hand { height: auto; padding: 0 1; }
    #message { height: auto; min-height: 1; max-height: 3; padding: 0 1; color: $text-accent; }
    HelpScreen { align: center middle; }
    HelpScreen Static { width: auto; height: auto; max-width: 100%; padding: 1 2; background: $panel; }
    HelpScreen .rules { padding: 1 0; }
    AnnounceScreen { align: center bottom; }
    AnnounceScreen > Vertical { width: 100%; height: auto; padding: 1 2; background: $panel; }
    StartScreen VerticalScroll { padding: 0 2; }
    StartScreen Label { width: 100%; margin-top: 1; color: $text-accent; }
    StartScreen Button { margin-top: 1; }
    StartScreen VariantList { height: auto; }
    StartScreen #error { height: auto; color: $text-error; }
    """
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+c,ctrl+q", "quit", "Quit", show=False, priority=True)]

    def __init__(self, begin: Session | Record | None, folder: Path, path: Path | None = None) -> None:
        super().__init__()
        self.begin = begin
        self.folder = folder
        self.path = path

    def on_mount(self) -> None:
        """Open the first screen; exit properly on signals of the system."""
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):
            with suppress(AttributeError, NotImplementedError, RuntimeError, ValueError):
                asyncio.get_running_loop().add_signal_handler(getattr(signal, name), self.exit)
        if isinstance(self.begin, Session):
            self.play(self.begin)
        else:
            self.push_screen(StartScreen() if self.begin is None else ReplayScreen(self.begin))

    def play(self, session: Session) -> None:
        """Start a game, with a file of its own."""
        if self.path is None or session is not self.begin:
            self.path = new_path(self.folder)
        screen = PlayScreen(session, self.path)
        if len(self.screen_stack) > 1:
            self.switch_screen(screen)
        else:
            self.push_screen(screen)
