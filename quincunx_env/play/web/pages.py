"""Values for the templates: the choices for a game, and a position."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import cache, cached_property
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from markdown_it import MarkdownIt
from markupsafe import Markup

from quincunx_env.core.policy import Agent
from quincunx_env.core.rules import BaseRules, Option, accepts
from quincunx_env.core.scene import Scene, ScoredPlay
from quincunx_env.notation.ending import ending
from quincunx_env.notation.record import HUMAN, Record, RecordedAction
from quincunx_env.play.daily import FIRST, RULES, deal_of, shared, today
from quincunx_env.play.result import points_of
from quincunx_env.play.review import DEAREST, Judged, result_in_words
from quincunx_env.play.session import (
    ADVISING_LEVEL,
    DEFAULT_LEVEL,
    Hint,
    Session,
    adviser_name,
    can_play,
    level_of,
    levels,
    seat_players,
)
from quincunx_env.play.web.rules_pictures import pictures
from quincunx_env.play.web.tables import Table
from quincunx_env.policies import registered_policies
from quincunx_env.registry import GAMES, solitaire_of, spec_of
from quincunx_env.render import words
from quincunx_env.render.svg import MINUS, PAGE, THEMES, best_cards, draw, draw_card, draw_suit
from quincunx_env.render.words import minus

# --- The start page --------------------------------------------------------------------------------------------------


class Choice(NamedTuple):
    """An option of the rules on the start page."""

    option: Option
    values: Mapping[str, Any]
    """The values that are offered, by the text that the form sends; the first is the default."""

    @property
    def label(self) -> str:
        """The name of the option."""
        return self.option.title[0].upper() + self.option.title[1:]

    @property
    def rows(self) -> list[tuple[str, str]]:
        """(value, text) of each value that is offered."""
        return [(sent, self.option.meanings[value] or sent) for sent, value in self.values.items()]


@dataclass(frozen=True)
class Kind:
    """A kind of game on the start page."""

    name: str
    title: str
    text: str
    make: Callable[..., BaseRules]
    """Return rules of this kind from options."""

    @cached_property
    def options(self) -> list[Choice]:
        """The options with several values that this kind accepts."""
        found = []
        for option in self.make().options:
            values = [value for value in option.values if accepts(self.make, **{option.name: value})]
            sent = ("", "yes") if option.is_switch else map(str, values)
            if len(values) > 1 and option.name not in UNOFFERED:
                found.append(Choice(option, dict(zip(sent, values, strict=True))))
        return found

    @property
    def most_players(self) -> int:
        """Most players of a game of this kind."""
        return {"solitaire": 1, "players": 4}.get(self.name, 2)

    def rules(self, form: Mapping[str, str]) -> BaseRules:
        """Return the rules that a form describes.

        Raises:
            ValueError: if a value of the form is none of the choices.
        """
        chosen = {}
        for choice in self.options:
            values, name = choice.values, choice.option.name
            value = form.get(name, next(iter(values)))
            if value not in values:
                raise ValueError(f"{choice.label} is one of {', '.join(map(repr, values))}.")
            chosen[name] = values[value]
        return self.make(**chosen)


UNOFFERED = {"mini"}
"""Options for research."""

KINDS = {
    kind.name: kind
    for kind in (
        Kind(
            "solitaire",
            "Solitaire",
            "Fill the grid before your hand runs out, and score as much as you can. A good first game.",
            solitaire_of().make_rules,
        ),
        Kind(
            "players",
            "Two to four players",
            "Lay cards in turn on one grid, against agents or people beside you. Most points win.",
            GAMES["quincunx"].multiplayer_rules,
        ),
        Kind(
            "spiral",
            "The spiral game",
            "Two players, 52 cards: each card goes to the next cell of a spiral, and you choose only which.",
            GAMES["spiral"].multiplayer_rules,
        ),
    )
}
"""The kinds of games, by name."""


@cache
def agents(kind: str) -> tuple[str, ...]:
    """List the registered policies that can play a kind of game, the default opponent first."""
    rules = KINDS[kind].rules({})
    found = (name for name in registered_policies() if can_play(name, rules))
    return tuple(dict.fromkeys((levels(rules)[DEFAULT_LEVEL], *found)))


def opponents(kind: str, named: Mapping[str, Agent | str]) -> list[tuple[str, str]]:
    """Return (policy, text) of the opponents that are offered: levels, and ``named``."""
    rules, slow = KINDS[kind].rules({}), {"Hardest": "Hardest, takes seconds a move"}
    found = {name: slow.get(level, level) for level, name in levels(rules).items()}
    return [*found.items(), *((name, name) for name in _able(named, rules) if name not in found)]


def _able(named: Mapping[str, Agent | str], rules: BaseRules) -> list[str]:
    return [name for name, agent in named.items() if name != HUMAN and can_play(agent, rules)]


@cache
def picture(kind: str) -> str:
    """Draw a position after some plays, as SVG."""
    rules = KINDS[kind].rules({})
    session = Session(rules, [None] * rules.num_players, spec_of(rules).Game.from_seed(rules, 4).deals)
    for _ in range(6 if kind == "spiral" else 4):
        session.play(session.candidates()[0].action)
    scene = words.scene_for_people(spec_of(rules).scene(session.game), session.called)
    return draw(scene, portion="grid", theme=PAGE)


def session_of(
    form: Mapping[str, str], adviser: Agent | str | None, named: Mapping[str, Agent | str] | None = None
) -> Session:
    """Start the game that the form of the start page describes.

    Opponents are registered policies, or ``named`` ones.

    Raises:
        ValueError: if a value is none of the choices, or the choices do not go together.
    """
    kind = KINDS.get(form.get("kind", ""))
    if kind is None:
        raise ValueError(f"A game is one of {', '.join(KINDS)}.")
    known = {"kind", "seat", "day", "opponent1", "opponent2", "opponent3", *(option.name for option, _ in kind.options)}
    if unknown := set(form) - known:
        raise ValueError(f"The form has no field {min(unknown)[:40]!r}.")
    rules = kind.rules(form)
    named = named or {}
    allowed = (HUMAN, *agents(kind.name), *_able(named, rules))
    opponents = [form.get(f"opponent{number}") or allowed[1] for number in range(1, 4)]
    for name in opponents:
        if name not in allowed:
            raise ValueError(f"Opponents are {', '.join(allowed)}.")
    seat = form.get("seat", "0")
    if seat not in ("0", "1", "2", "3"):
        raise ValueError("Seats are 0, 1, 2 and 3.")
    players = seat_players(rules, int(seat), [named.get(name, name) for name in opponents[: rules.num_players - 1]])
    dealt = deal_of(_day(form["day"])) if "day" in form else None
    return Session(rules, players, dealt, adviser_name(rules, adviser))


def _day(text: str) -> date:
    """Return the day in a form. The page may have been open since yesterday."""
    with suppress(ValueError):
        if FIRST <= (day := date.fromisoformat(text)) <= today():
            return day
    raise ValueError(f"A day with a deal lies between {FIRST} and {today()}.")


# --- A position ------------------------------------------------------------------------------------------------------

KEYS = "abcdefgijklmortwxyz1234567890"
"""Keys of the cards in hand: digits and letters without another function."""


class View:
    """A game as a tab shows it, for templates.

    Templates read its table, session and scene, too. The lock of the table is held while a view is in use. Choices that
    are impossible are dropped.

    With ``points`` cells show points and draws. None is the default: with Simpleton players find them themselves.

    Attributes:
        scene: the position from the seat that is shown.
        yours: whether a human is to choose a card and a cell.
        held: the cards in the hand that is shown large.
        open: whether all hands are shown, as at the end of a round.
        ending: the end of the game, or of a round.
        play: the candidate play; None unless a card and a cell are chosen.
        names: names of the seats for the reader.
    """

    def __init__(
        self, table: Table, card: int | None = None, cell: int | None = None, points: bool | None = None
    ) -> None:
        self.table, self.session = table, table.session
        session, game, rules = table.session, table.game, table.session.rules
        self.spec, self.game = spec_of(rules), game
        seat = None if table.paused else session.seat
        self.names = session.called
        self.scene = scene = words.scene_for_people(self.spec.scene(game, seat), self.names)
        self.open = seat is None
        self.wanted = None if table.wanted is None else self.spec.notation.decode_play(game, table.wanted)
        if self.wanted:
            self.scene = scene = replace(scene, legal=frozenset({self.wanted[1]}))
        self.yours = session.human_to_move and scene.pending is None and not (table.paused or table.covered)
        self.held = () if self.open or table.covered else scene.seats[scene.shown].cards or ()
        self.ending = ending(game, self.names, session.your_seat)
        self.card = card if self.yours and card in self.choices else None
        self.cell = cell if self.card is not None and cell in scene.legal else None
        if self.card is not None and len(scene.legal) == 1:
            (self.cell,) = scene.legal
        self.points = "announce" not in rules.decisions if points is None else points
        self.play = None
        if self.card is not None and self.cell is not None:
            play = self.spec.candidate(game, self.card, self.cell)
            self.play = play if self.points else play._replace(parts=(), scored=False)

    @property
    def choices(self) -> Sequence[int]:
        """The cards that may be chosen: in a guided game one."""
        return () if not self.yours else self.held if self.wanted is None else [self.wanted[0]]

    @property
    def lesson(self) -> str:
        """The sentence of a guided game; empty in other games."""
        lesson, step = self.table.lesson, self.table.step
        return "" if lesson is None or self.ending else lesson.end if step is None else lesson.steps[step].text

    @property
    def _marked(self) -> list[int]:
        """The cells that the sentence of a guided game is about."""
        if self.table.lesson is None or self.table.step is None or self.wanted is None or self.card is not None:
            return []
        return [row * self.scene.side + column for row, column in self.table.lesson.steps[self.table.step].cells]

    @property
    def announcing(self) -> str:
        """The play whose points a human must announce; empty if none."""
        pending = self.scene.pending
        return pending.title if pending and self.session.human_to_move and not self.table.covered else ""

    @property
    def board(self) -> str:
        """The grid as SVG, with points and draws of the chosen card."""
        card, cells = self.card, sorted(self.scene.legal) if self.points else ()
        candidates = [] if card is None else [self.spec.candidate(self.game, card, cell) for cell in cells]
        shown: dict[str, Any] = {"play": self.play, "candidates": candidates, "marked": self._marked}
        if self.table.looking and self.yours and (results := self.table.expected):
            table = self.spec.notation.table(self.game, results)
            if card is None:
                shown["values"], shown["cards"] = best_cards(table.tolist())
            else:
                shown["values"] = dict(enumerate(table[card].tolist()))
        return draw(self.scene, portion="grid", theme=PAGE, **shown)

    @property
    def columns(self) -> int:
        """Number of columns of a hand in two rows; the same throughout a game whose hands do not grow."""
        return max(4, *(-(-len(hand) // 2) for hand in (self.held, *self.session.game.deals[0].hands)))

    @property
    def owner(self) -> str:
        """Whose hand is shown, where several people play."""
        return f"Hand of {self.names[self.scene.shown]}" if len(self.session.human_seats) > 1 and self.held else ""

    @property
    def shown(self) -> ScoredPlay | None:
        """The play whose score is shown, with names for the reader: the candidate, or else the last play."""
        shown = self.play or (None if self.scene.pending else self.scene.last)
        if shown is None:
            return None
        return shown._replace(title=self.named(shown.title))

    @property
    def status(self) -> str:
        """Return a line on the next step of the game."""
        session, scene = self.session, self.scene
        if self.ending:
            return "The round is over." if self.table.paused else "The game is over."
        assert session.mover is not None
        if not session.human_to_move:
            return f"{self.names[session.mover]} is thinking …"
        if self.table.covered:
            return f"Pass to {self.names[session.mover]}."
        whose = "" if len(session.human_seats) == 1 else f"{self.names[session.mover]}: "
        if scene.pending:
            return f"{whose}Announce the points of {scene.pending.title}."
        if self.card is None:
            return f"{whose}Choose a card." if session.turns else f"{whose}Choose a card to begin."
        name = scene.faces[self.card].name
        if self.cell is None:
            return f"{whose}Choose a cell for {name}."
        return f"{whose}Play {name} at {scene.place_name(self.cell)}?"

    @property
    def said(self) -> str:
        """The candidate play in words, for screen readers."""
        return self._in_words(self.play) if self.play else ""

    @property
    def news(self) -> str:
        """The last play, the result and the sentence of a guided game in words, for screen readers."""
        last = None if self.scene.pending else self.scene.last
        faces = {face.name: face.words for face in self.scene.faces}
        lesson = re.sub(r"\b\w+\b", lambda match: faces.get(match[0], match[0]), self.lesson)
        told = [self._in_words(last) if last else "", self.ending.headline if self.ending else "", lesson]
        return minus(" ".join(filter(None, told)))

    def _in_words(self, play: ScoredPlay) -> str:
        candidate = play is self.play
        who = "" if candidate else f"{play.title.partition('played ')[0]}played "
        parts = ", ".join(text for text, _ in chips(play)) or "no points"
        points = f": {f'{signed(play.points)}, ' if candidate else ''}{parts}" if play.scored else ""
        return minus(f"{who}{self.scene.faces[play.card].words} at {self.scene.place_name(play.cell)}{points}.")

    def named(self, text: str) -> str:
        """Return a text with names of players and places for the reader."""
        return minus(words.for_people(text, self.names))

    @property
    def adviser(self) -> str:
        """The level of the adviser; empty without one."""
        return level_of(self.session.rules, self.session.adviser) if self.session.adviser else ""

    @property
    def title(self) -> str:
        """The title of the page."""
        return day_title(self.table.day) if self.table.day else self.scene.title

    @property
    def offers_today(self) -> bool:
        """Whether the end of a guided game leads to today's deal."""
        return self.table.lesson is not None and self.session.rules == RULES

    def shared(self, streak: int) -> str:
        """Return a day's result as text to share; empty before the end and in other games."""
        if not self.ending or not self.table.day:
            return ""
        return shared(self.session.record, minus(self.ending.headline), streak, self._reached)

    @property
    def _reached(self) -> str:
        """The sentence on the adviser's points on the same deal; empty until they are known."""
        return next((each for each in self.table.compared if each.startswith(f"{ADVISING_LEVEL} ")), "")

    def result(self, best: int | None, streak: int) -> list[str]:
        """Return sentences on the points and the days in a row."""
        seat = self.session.your_seat
        points = None if seat is None else points_of(self.game, seat)
        if self.table.paused or seat is None or not self.game.decided:
            return []
        found = [*self.table.compared]
        if self.table.comparing and not self._reached:
            found.append(f"{ADVISING_LEVEL} plays the same deal …")
        reasons = self.session.uncounted if self.table.lesson is None else ("guided game",)
        if reasons:
            found.append(f"Not counted for your best: {', '.join(reasons)}.")
        elif points is not None and best is not None:
            found.append("Your best so far!" if points > best else f"Your best so far: {best}.")
        if streak > 1:
            found.append(f"{streak} days in a row.")
        return found

    @property
    def rows(self) -> list[tuple[str, list[str]]]:
        """The grid in words by row, with the chosen card's points."""
        return [
            (self.scene.row_name(row), [self._cell(row * self.scene.side + column) for column in self.scene.columns])
            for row in self.scene.rows
        ]

    def _cell(self, cell: int) -> str:
        if cell in self.scene.board:
            return self.scene.faces[self.scene.board[cell]].words
        if cell not in self.scene.legal:
            return "face down" if self.scene.face_down else "closed"
        if self.card is None or not self.points:
            return "free"
        play = self.spec.candidate(self.game, self.card, cell)
        return f"free, {', '.join(text for text, _ in chips(play)) or 'no points'}"

    def expects(self, hint: Hint) -> str:
        """Return what the adviser expects after a hint; empty if unknown."""
        result = self.table.expected.get(hint.action)
        return "" if result is None else result_in_words(self.game, result)

    @property
    def judged(self) -> dict[int, Judged]:
        """The reader's plays beside the adviser's, by number."""
        return {each.number: each for each in self.table.judged}

    @property
    def dearest(self) -> list[Judged]:
        """The plays that lost most points, in order, after the end."""
        worst = [] if self.table.comparing else sorted(self.table.judged, key=lambda each: -each.lost)[:DEAREST]
        return sorted(each for each in worst if round(each.lost) > 0)

    @property
    def good(self) -> bool:
        """Whether the ending is a good one for the reader."""
        game = self.game
        if self.session.rules.num_players == 1:
            return not self.spec.notation.public_state(game)["lost"]
        return any(seat in self.session.human_seats for seat in game.winners)

    def play_of(self, hint: Hint) -> ScoredPlay:
        """Return the play of a hint."""
        return self.spec.candidate(self.session.game, *self.spec.notation.decode_play(self.session.game, hint.action))


def with_suits(text: str, scene: Scene) -> Markup:
    """Return a text with emblems of suits, and places as in chess."""
    return Markup(words.with_suits(words.for_people(text), scene.faces))


def tone(points: int) -> str:
    """Return the class of points in the style sheet."""
    return "gain" if points > 0 else "loss" if points < 0 else "nothing"


def signed(points: int) -> str:
    """Return points as text."""
    return f"{points:+}".replace("-", MINUS) if points else "0"


def chips(play: ScoredPlay) -> Iterator[tuple[str, str]]:
    """Yield the parts of a play's score, each a text and its class in the style sheet."""
    for name in dict.fromkeys(part.name for part in play.parts if play.scored):
        points = sum(part.points for part in play.parts if part.name == name)
        lines = any(len(part.cells) > 1 for part in play.parts if part.name == name)
        if points:
            yield f"{name} {signed(points)}", "bonus" if lines and points > 0 else tone(points)
    if play.scored and play.draws:
        yield f"{play.draws} draw{'s' * (play.draws > 1)}", "draw"


def outcome(turn: RecordedAction) -> str:
    """Return the score of a play as text, for lists."""
    return minus(str(turn).partition(turn.text)[2].lstrip(":, "))


def when(time: date | None) -> str:
    """Return a date, with its time if any: ``31 Jan 2026, 18:05``."""
    return "" if time is None else f"{time:%d %b %Y, %H:%M}" if isinstance(time, datetime) else f"{time:%d %b %Y}"


def day_title(day: date) -> str:
    """Return the title of a day's deal."""
    return f"Today's deal, {when(day)}" if day == today() else f"Deal of {when(day)}"


def suits(scene: Scene) -> list[tuple[str, str]]:
    """Return (emblem, name) of each suit."""
    return [*dict.fromkeys((draw_suit(suit), suit.name) for face in scene.faces for suit in face.suits)]


FUNCTIONS = {
    function.__name__: function
    for function in (with_suits, tone, signed, minus, chips, outcome, draw_card, suits, when, day_title, pictures)
}
"""Functions that templates call."""


def with_levels(record: Record) -> Record:
    """Return a record whose agents are named by their level of play."""
    return replace(record, seats=tuple(level_of(record.rules, name) for name in record.seats))


@cache
def complete_rules() -> Markup:
    """Return the complete rules, RULES.md, as HTML.

    Raises:
        LookupError: if the installation has no such file.
    """
    package = files("quincunx_env")  # the wheel has a copy; in a checkout the file is above it
    places = (package / "RULES.md", Path(str(package)).parent / "RULES.md")
    found = next((path for path in places if path.is_file()), None)
    if found is None:
        raise LookupError("This installation has no RULES.md.")
    markdown = MarkdownIt("js-default")  # which takes no HTML
    tokens = markdown.parse(found.read_text(encoding="utf-8"))
    for heading, title in pairwise(tokens):
        if heading.type == "heading_open":  # links lead to the names that code hosts give to headings
            heading.attrSet("id", re.sub(r"[^\w -]", "", title.content.lower()).replace(" ", "-"))
    html = markdown.renderer.render(tokens, markdown.options, {})
    html = re.sub(r'<a href="(?!#|https?:)[^"]*">(.*?)</a>', r"\1", html)  # files of the repository
    html = re.sub("<(pre|table)>", r'<\1 tabindex="0">', html)  # what scrolls is reached by keyboard
    return Markup(html.replace("<th></th>", "<td></td>"))


def replayed_from(record: Record) -> int | None:
    """Return the seat from which a game may be replayed; None, as at the end of a game, shows all hands.

    Raises:
        ValueError: if several people are still playing it.
    """
    if record.game().over:
        return None
    humans = [seat for seat, name in enumerate(record.seats) if name == HUMAN]
    if len(humans) > 1:
        raise ValueError("A game of several people can be replayed when it is over, because a replay shows hands.")
    return humans[0] if humans else None


def colours() -> str:
    """Return the renderer's themes as custom properties of a style sheet."""
    blocks = {
        name: "".join(f"--{field}:{value};" for field, value in theme._asdict().items())
        for name, theme in THEMES.items()
    }
    return f":root{{{blocks['light']}}}@media (prefers-color-scheme:dark){{:root{{{blocks['dark']}}}}}\n"
