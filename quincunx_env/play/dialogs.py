"""Dialogs of the terminal interface: the start screen, help, announcements."""

from contextlib import suppress
from typing import Any, ClassVar

from rich.table import Table
from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import ModalScreen, Screen
from textual.suggester import SuggestFromList
from textual.widgets import Button, Footer, Input, Label, Select, Static

from quincunx_env.core.rules import BaseRules
from quincunx_env.play.session import DEFAULT_AGENTS, HUMAN, Session, adviser_name, default_agent, seat_players
from quincunx_env.play.widgets import VariantList
from quincunx_env.policies import registered_policies
from quincunx_env.quincunx.rules import Rules
from quincunx_env.registry import GAMES, spec_of


class StartScreen(Screen[Session]):
    """The choices for a game; returns its session."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f5", "begin", "Begin"),
        Binding("question_mark", "help", "Help"),
        Binding("escape", "app.quit", "Quit"),
    ]
    CSS = """
    StartScreen VerticalScroll { padding: 0 1; }
    StartScreen Horizontal { height: auto; margin-bottom: 1; }
    StartScreen Select { width: 1fr; height: 1; }
    StartScreen Input { width: 1fr; }
    StartScreen Label { width: 12; color: $text-accent; }
    StartScreen VariantList { width: 1fr; height: auto; }
    StartScreen #names { margin-top: 1; color: $text-muted; }
    StartScreen #error { height: auto; color: $text-error; }
    """

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
        games, seats = [(name, name) for name in self.GAME_OPTIONS], [(f"seat {seat}", seat) for seat in range(4)]
        names = [*registered_policies(), HUMAN]
        rows = {
            "Game": Select(games, value=games[0][0], allow_blank=False, id="game", compact=True),
            "Variants": VariantList(self.VARIANTS),
            "Opponents": Input(id="opponents", compact=True, suggester=SuggestFromList(names)),
            "Your seat": Select(seats, value=0, allow_blank=False, id="seat", compact=True),
        }
        with VerticalScroll(can_focus=False):
            for label, widget in rows.items():
                yield Horizontal(Label(label), widget)
            yield Button("Begin (F5)", variant="primary", id="begin", compact=True)
            yield Static(id="error", markup=False)
            yield Static(
                "Tab goes on, Enter chooses. Opponents: one for all other seats or, with commas, one for each, of "
                f"{', '.join(names)}, module:attribute",
                id="names",
                markup=False,
            )
        yield Footer()

    @on(Select.Changed, "#game")
    def show_default(self, event: Select.Changed) -> None:
        """Show which opponent plays if none is named."""
        game, options = self.GAME_OPTIONS[str(event.value)]
        alone = game == "quincunx" and "num_players" not in options
        default = "none in the solitaire" if alone else f"{DEFAULT_AGENTS[game][0]}, if you name no other"
        self.query_one("#opponents", Input).placeholder = default

    @on(Button.Pressed, "#begin")
    def action_begin(self) -> None:
        """Return the session, or show the error in the choice."""
        opponents = [name.strip() for name in self.query_one("#opponents", Input).value.split(",") if name.strip()]
        try:
            rules = self._rules()
            players = seat_players(rules, int(str(self.query_one("#seat", Select).value)), opponents)
            session = Session(rules, players, adviser=adviser_name(rules))
        except ValueError as error:
            self.query_one("#error", Static).update(str(error))
            return
        if problem := default_agent(rules).problem:
            self.app.notify(problem, severity="warning")
        self.dismiss(session)

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
        """Show keys and rules; the rules are those of the choice, or of the solitaire."""
        try:
            rules = self._rules()
        except ValueError:
            rules = Rules()
        self.app.push_screen(HelpScreen(rules))


class HelpScreen(ModalScreen[None]):
    """Keys and rules on a page; the arrow keys scroll, any other key or a click closes it."""

    CSS = """
    HelpScreen { align: center middle; }
    HelpScreen VerticalScroll { width: 86; max-width: 100%; height: auto; max-height: 100%; background: $panel; }
    HelpScreen Static { padding: 0 1; }
    HelpScreen #rules { margin-top: 1; }
    """
    KEYS: ClassVar[dict[str, str]] = {
        "a card": "its letter, Tab and Shift+Tab, or click it",
        "a cell": "the arrow keys, or click it",
        "Enter": "play the card; so does a second click on the cell",
        "h": "hint: the plays that the adviser prefers; again: choose the next",
        "p": "points and draws of the chosen card: +5d2 is 5 points and 2 draws",
        "u": "undo, back to your last decision",
        "s": "save; every play is saved anyway",
        "n": "new game",
        "q": "quit; the game can be resumed",
        "replay": "right and left arrow, Home, End; v changes the point of view",
        "grid": "the last card played in brackets, a dot where a card may go",
        "here": "the arrow keys scroll to the rules, any other key goes back",
    }
    """Texts by key or subject."""

    def __init__(self, rules: BaseRules) -> None:
        super().__init__()
        self.rules = rules

    def compose(self) -> ComposeResult:
        """The list of keys and the rules card."""
        keys = Table.grid(padding=(0, 1))
        for key, text in self.KEYS.items():
            keys.add_row(Text(key, "bold"), text)
        with VerticalScroll():
            yield Static(keys)
            yield Static("\n".join(spec_of(self.rules).rules_card(self.rules)), id="rules", markup=False)

    def on_key(self, event: events.Key) -> None:
        """Close the page, unless the key scrolls."""
        if event.key not in ("up", "down", "pageup", "pagedown", "home", "end"):
            event.stop()
            self.dismiss()

    def on_click(self) -> None:
        """Close the page."""
        self.dismiss()


class AnnounceScreen(ModalScreen[int | None]):
    """Input of an announcement (Simpleton); returns the number, or None to take the play back."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape", "dismiss(None)", "Take the play back")]
    CSS = """
    AnnounceScreen { align: center bottom; }
    AnnounceScreen Label { width: 100%; }
    AnnounceScreen > Vertical { width: 100%; height: auto; padding: 1 2; background: $panel; }
    """

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
