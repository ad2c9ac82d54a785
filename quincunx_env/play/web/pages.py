"""What the pages show, as plain values for the templates: the choices for a game, and a position."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from quincunx_env.core.policy import Agent, policy_for
from quincunx_env.core.rules import BaseRules
from quincunx_env.core.scene import Face, Scene, ScoredPlay
from quincunx_env.notation.record import Record, RecordedAction
from quincunx_env.play.ending import Ending
from quincunx_env.play.keys import LABELS
from quincunx_env.play.session import HUMAN, Hint, Session, adviser_name, default_agent, seat_players
from quincunx_env.play.viewer import describe
from quincunx_env.play.web.tables import Table
from quincunx_env.policies import registered_policies, resolve
from quincunx_env.registry import GAMES, spec_of
from quincunx_env.render.svg import MINUS, PAGE, THEMES, draw, draw_card

# --- The start page --------------------------------------------------------------------------------------------------


class Option(NamedTuple):
    """An option of the rules. Its values are texts, as forms send them."""

    name: str
    label: str
    values: Mapping[str, Any]
    """Values of the option, by what the form sends; the first is the default."""
    texts: Sequence[str]
    """What is shown for each value; for an option that is on or off, an explanation."""

    @property
    def switch(self) -> bool:
        """Whether it is on or off."""
        return len(self.texts) == 1

    @property
    def rows(self) -> list[tuple[str, str]]:
        """(value, text) of each choice."""
        return [*zip(self.values, self.texts, strict=True)]


def _switch(name: str, label: str, text: str) -> Option:
    return Option(name, label, {"": False, "yes": True}, [text])


_EXCUSE = _switch("excuse", "Excuse", "an extra card without suit, rank or value")
_PAWNS = _switch("pawns", "Pawns", "four more cards, between 9 and Crown")
_FLUSH = _switch("flush", "Flush bonus", "for lines and boxes that share a suit")


@dataclass(frozen=True)
class Kind:
    """A kind of game on the start page."""

    name: str
    title: str
    text: str
    game: str
    fixed: Mapping[str, Any]
    """Options that the kind determines."""
    options: Sequence[Option]

    @property
    def most_players(self) -> int:
        """Most players of a game of this kind."""
        return {"solitaire": 1, "players": 4}.get(self.name, 2)

    def rules(self, form: Mapping[str, str]) -> BaseRules:
        """The rules that a form describes.

        Raises:
            ValueError: if a value of the form is none of the choices.
        """
        chosen = dict(self.fixed)
        for option in self.options:
            value = form.get(option.name, next(iter(option.values)))
            if value not in option.values:
                raise ValueError(f"{option.label} is one of {', '.join(option.texts)}.")
            chosen[option.name] = option.values[value]
        rules: BaseRules = GAMES[self.game].Rules(**chosen)
        return rules


KINDS = {
    kind.name: kind
    for kind in (
        Kind(
            "solitaire",
            "Solitaire",
            "Fill the grid before your hand runs out, and score as much as you can. A good first game.",
            "quincunx",
            {},
            (
                _switch("edge_contact", "Edge contact", "a card must share an edge with a card in play"),
                _EXCUSE,
                _PAWNS,
                _FLUSH,
            ),
        ),
        Kind(
            "players",
            "Two to four players",
            "Lay cards in turn on one grid, against agents or people beside you. Most points win.",
            "quincunx",
            {},
            (
                Option("num_players", "Players", {str(number): number for number in (2, 3, 4)}, ("2", "3", "4")),
                Option(
                    "start",
                    "Start",
                    {"corners": "corners", "open": "open"},
                    ("a 5x5 grid, corners dealt", "a single card, the grid grows"),
                ),
                _EXCUSE,
                _PAWNS,
                _FLUSH,
                _switch("simpleton", "Simpleton", "announce your points before they are counted"),
                _switch("match", "Match", "as many rounds as players"),
            ),
        ),
        Kind(
            "spiral",
            "The spiral game",
            "Two players, 52 cards: each card goes to the next cell of a spiral, and you choose only which.",
            "spiral",
            {},
            (
                Option("deals", "Deals", {"2": 2, "1": 1, "4": 4}, ("2", "1", "4")),
                Option(
                    "scoring",
                    "Scoring",
                    {"play": "play", "end": "end"},
                    ("every play at once", "the full square at the end"),
                ),
                _switch("fifteens", "Fifteens", "cards that add up to 15 score, too"),
            ),
        ),
    )
}
"""The kinds of games, by name."""


@cache
def agents(kind: str) -> tuple[str, ...]:
    """Names of the registered policies that can play a kind of game, the default agent first."""
    rules = KINDS[kind].rules({})
    found = [default_agent(rules).name]
    for name in registered_policies():
        try:
            policy_for(resolve(name), rules)
        except Exception:  # whatever the packages of others raise
            continue
        found.append(name)
    return tuple(dict.fromkeys(name for name in found if name != HUMAN))


@cache
def picture(kind: str) -> str:
    """A position after some plays, as SVG."""
    rules = KINDS[kind].rules({})
    session = Session(rules, [None] * rules.num_players, GAMES[KINDS[kind].game].Game.from_seed(rules, 4).deals)
    for _ in range(6 if kind == "spiral" else 4):
        session.play(session.candidates()[0].action)
    return draw(spec_of(rules).scene(session.game), portion="grid", theme=PAGE)


def session_of(form: Mapping[str, str], adviser: Agent | str | None) -> Session:
    """The game that the form of the start page describes.

    Raises:
        ValueError: if a value is none of the choices, or the choices do not go together.
    """
    kind = KINDS.get(form.get("kind", ""))
    if kind is None:
        raise ValueError(f"A game is one of {', '.join(KINDS)}.")
    known = {"kind", "seat", "opponent1", "opponent2", "opponent3", *(option.name for option in kind.options)}
    if unknown := set(form) - known:
        raise ValueError(f"The form has no field {min(unknown)[:40]!r}.")
    rules = kind.rules(form)
    allowed = (HUMAN, *agents(kind.name))
    opponents = [form.get(f"opponent{number}") or allowed[-1 if len(allowed) == 1 else 1] for number in range(1, 4)]
    for name in opponents:
        if name not in allowed:
            raise ValueError(f"Opponents are {', '.join(allowed)}.")
    seat = form.get("seat", "0")
    if seat not in ("0", "1", "2", "3"):
        raise ValueError("Seats are 0, 1, 2 and 3.")
    players = seat_players(rules, int(seat), opponents[: rules.num_players - 1])
    return Session(rules, players, adviser=adviser_name(rules, adviser))


# --- A position ------------------------------------------------------------------------------------------------------


class Choice(NamedTuple):
    """What a tab has chosen; nothing of it changes the game."""

    card: int | None = None
    cell: int | None = None
    points: bool | None = None
    """Whether cells show points and draws; None for the default: with Simpleton players find them themselves."""


class HeldCard(NamedTuple):
    """A card in a hand."""

    card: int
    words: str
    svg: str
    key: str
    chosen: bool


class SeatView(NamedTuple):
    """A seat and what is seen of its hand."""

    name: str
    detail: str
    score: int
    hand_size: int
    to_move: bool
    won: bool
    cards: list[HeldCard]


class Chip(NamedTuple):
    """A part of a score."""

    words: str
    tone: str


class ScoreView(NamedTuple):
    """The score of a play."""

    title: str
    points: str
    tone: str
    chips: list[Chip]


class Line(NamedTuple):
    """A play in the list of plays."""

    number: int
    who: str
    play: str
    score: str


class HintView(NamedTuple):
    """A play that the adviser prefers."""

    card: int
    cell: int
    words: str
    score: ScoreView | None
    others: int
    announced: int | None


class View(NamedTuple):
    """Everything that a page shows of a game."""

    name: str
    """Of the game, in addresses."""
    version: str
    position: int
    problem: str
    advising: bool
    title: str
    yours: bool
    """Whether a human is to choose a card and a cell."""
    announcing: str
    """The play whose points are to be announced."""
    status: str
    seats: list[SeatView]
    pile: int | None
    notes: Sequence[str]
    board: str
    hand: list[HeldCard]
    columns: int
    """In which the hand is laid out; the same throughout a game."""
    owner: str
    """Whose hand is shown, where several people play."""
    score: ScoreView | None
    candidate: bool
    """Whether that is the score of a play that is not made yet."""
    points: bool
    card: int | None
    cell: int | None
    hints: list[HintView] | None
    adviser: str
    log: list[Line]
    ending: Ending | None
    best: bool
    """Whether the ending is a good one for the reader."""
    rules_card: Sequence[str]


def view(table: Table, choice: Choice) -> View:
    """What a page shows of a game, whose lock is held. Choices that are impossible are dropped."""
    session = table.session
    game, rules = session.game, session.rules
    spec = spec_of(rules)
    scene = spec.scene(game, session.seat)
    yours = session.human_to_move and scene.pending is None
    held = scene.seats[scene.shown].cards or () if session.seat is not None else ()
    card = choice.card if yours and choice.card in held else None
    cell = choice.cell if card is not None and choice.cell in scene.legal else None
    if card is not None and len(scene.legal) == 1:
        (cell,) = scene.legal
    points = not getattr(rules, "simpleton", False) if choice.points is None else choice.points
    candidates = [] if card is None or not points else [spec.candidate(game, card, one) for one in sorted(scene.legal)]
    play = None if card is None or cell is None else spec.candidate(game, card, cell)
    if play and not points:
        play = play._replace(parts=(), scored=False)
    shown = play or (None if scene.pending else scene.last)
    names = _names(session)
    return View(
        name=table.name,
        version=table.version,
        position=table.position,
        problem=table.problem,
        advising=table.advising,
        title=scene.title,
        yours=yours,
        announcing=scene.pending.title if scene.pending and session.human_to_move else "",
        status=_status(table, scene, card, cell, names),
        seats=[
            SeatView(
                names[number],
                session.names[number] if session.names[number] != HUMAN else "",
                seat.score,
                seat.hand_size,
                seat.to_move,
                seat.won,
                [] if session.seat is not None else _held(scene, seat.cards or (), None),
            )
            for number, seat in enumerate(scene.seats)
        ],
        pile=scene.pile,
        notes=[note for note in scene.notes if not note.startswith("over:")],
        board=draw(scene, portion="grid", theme=PAGE, play=play, candidates=candidates),
        hand=_held(scene, held, card),
        columns=max(4, *(-(-len(hand) // 2) for hand in game.deals[0].hands)),
        owner=f"Hand of {names[scene.shown]}" if len(session.human_seats) > 1 and held else "",
        score=_score(shown, names) if shown else None,
        candidate=play is not None,
        points=points,
        card=card,
        cell=cell,
        hints=None if table.hints is None else [_hint(session, scene, hint) for hint in table.hints],
        adviser=session.adviser or "",
        log=[_line(turn, names) for turn in reversed(session.turns)],
        ending=session.ending,
        best=game.over and _is_good(session),
        rules_card=spec.rules_card(rules),
    )


def _names(session: Session) -> list[str]:
    """Names of the seats for the reader."""
    if session.rules.num_players == 1:
        return ["You"]
    alone = len(session.human_seats) == 1
    return ["You" if alone and seat in session.human_seats else f"Seat {seat}" for seat in range(len(session.names))]


def _status(table: Table, scene: Scene, card: int | None, cell: int | None, names: Sequence[str]) -> str:
    session = table.session
    if session.mover is None:
        return "The game is over."
    if not session.human_to_move:
        return f"{session.names[session.mover]} is thinking …"
    whose = "" if len(session.human_seats) == 1 else f"{names[session.mover]}: "
    if scene.pending:
        return f"{whose}Announce the points of {scene.pending.title}."
    if card is None:
        return f"{whose}Choose a card." if session.turns else f"{whose}Choose a card to begin."
    name = scene.faces[card].name
    if cell is None:
        return f"{whose}Choose a cell for {name}."
    return f"{whose}Play {name} at {scene.place(cell)}?"


def _is_good(session: Session) -> bool:
    game = session.game
    if session.rules.num_players == 1:
        return not spec_of(session.rules).notation.public_state(game)["lost"]
    return any(seat in session.human_seats for seat in game.winners) if game.decided else False


def _held(scene: Scene, cards: Iterable[int], chosen: int | None) -> list[HeldCard]:
    return [
        HeldCard(
            card,
            _words(scene.faces[card]),
            draw_card(scene, card),
            LABELS[number] if number < len(LABELS) else "",
            card == chosen,
        )
        for number, card in enumerate(cards)
    ]


def _words(face: Face) -> str:
    suits = " and ".join(suit.name for suit in face.suits)
    return f"{face.name}: {face.rank} of {suits}" if suits else face.name


def _tone(points: int) -> str:
    return "gain" if points > 0 else "loss" if points < 0 else "nothing"


def _signed(points: int) -> str:
    return f"{points:+}".replace("-", MINUS) if points else "0"


def _score(play: ScoredPlay, names: Sequence[str] = ()) -> ScoreView:
    title = play.title
    for seat, name in enumerate(names):
        title = title.replace(f"seat {seat} played", f"{name} played")
    if not play.scored:
        return ScoreView(title, "", "", [])
    chips = []
    for name in dict.fromkeys(part.name for part in play.parts):
        points = sum(part.points for part in play.parts if part.name == name)
        lines = any(len(part.cells) > 1 for part in play.parts if part.name == name)
        if points:
            chips.append(Chip(f"{name} {_signed(points)}", "bonus" if lines and points > 0 else _tone(points)))
    if play.draws:
        chips.append(Chip(f"{play.draws} draw{'s' * (play.draws > 1)}", "draw"))
    return ScoreView(title, _signed(play.points), _tone(play.points), chips)


def _hint(session: Session, scene: Scene, hint: Hint) -> HintView:
    if scene.pending:
        return HintView(0, 0, hint.text, None, 0, int(hint.text.split()[-1]))
    spec = spec_of(session.rules)
    card, cell = spec.notation.decode_play(session.game, hint.action)
    return HintView(card, cell, hint.text, _score(spec.candidate(session.game, card, cell)), len(hint.others), None)


def _line(turn: RecordedAction, names: Sequence[str]) -> Line:
    rest = describe(turn).partition(turn.text)[2].lstrip(":, ")
    return Line(turn.number, names[turn.seat], turn.text, rest.replace("-", MINUS))


def replayed_from(record: Record) -> int | None:
    """The seat from which a game may be replayed; None shows all hands, as at the end of a game.

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
    """The renderer's themes as custom properties of a style sheet."""
    blocks = {
        name: "".join(f"--{field}:{value};" for field, value in theme._asdict().items())
        for name, theme in THEMES.items()
    }
    return f":root{{{blocks['light']}}}@media (prefers-color-scheme:dark){{:root{{{blocks['dark']}}}}}\n"
