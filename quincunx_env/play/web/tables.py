"""The games of a server: sessions, their files, and agents' threads."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import date, datetime
from functools import cache
from itertools import islice
from pathlib import Path
from threading import RLock, Thread
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from quincunx_env.core.game import IllegalAction, SomeGame
from quincunx_env.core.policy import Agent
from quincunx_env.core.rules import BaseRules
from quincunx_env.notation.record import HUMAN, Record, RecordError
from quincunx_env.play.daily import day_of, streak
from quincunx_env.play.lessons import Lesson
from quincunx_env.play.result import comparison, points_of, points_on_the_same_deal, your_seat
from quincunx_env.play.review import Judged, expected, review
from quincunx_env.play.session import (
    ADVISING_LEVEL,
    HINTS,
    Hint,
    Session,
    adviser_name,
    file_of,
    level_of,
    levels,
    new_path,
    recorded_players,
    resuming,
    uncounted,
    unregistered,
)
from quincunx_env.registry import spec_of
from quincunx_env.utils.errors import in_words
from quincunx_env.utils.files import read_text, write_text

LISTED = 12
"""Files of games that the start page lists, the newest first."""

MOST_GAMES = 1_000
"""Games that a server begins, or keeps as records: more than people play, and few for memory and disk."""


class OutdatedPosition(ValueError):
    """A request for a position that the game has left."""


class Table:
    """A game in progress, which several tabs may show.

    Every play is saved at once. Agents move by themselves, in a thread of their own.

    Args:
        session: the game.
        path: its file.
        pause: least time in seconds for which a position is shown before an agent's next play.
        lesson: the guided game that is played, which is not saved.
    """

    def __init__(self, session: Session, path: Path, pause: float, lesson: Lesson | None = None) -> None:
        self.session, self.path, self.pause, self.lesson = session, path, pause, lesson
        self.lock = RLock()
        """Held while the session changes, and by readers that need a consistent position."""
        self.position = 0
        """Number of plays and undos so far: a request names the position that it is meant for."""
        self.hints: list[Hint] | None = None
        """Hints for the position; None if the adviser has not been asked."""
        self.advising = False
        """Whether further hints may follow."""
        self.expected: dict[int, float] = {}
        """Results that the adviser expects of the plays, by action, once it has been asked."""
        self.looking = False
        """Whether the grid shows them at every turn."""
        self.judged: list[Judged] = []
        """The human's plays beside the adviser's, after the end."""
        self.seen: dict[tuple[int, int], npt.NDArray[np.float64]] = {}
        """Tables of expected results of past positions, by round and ply."""
        self.problem = ""
        """Why an agent could not play, or the file could not be written."""
        self.compared, self.comparing = list[str](), False
        """Sentences on the points at the end, and whether an agent still plays the same deal."""
        self.shown_to: int | None = None
        """The seat whose cards may be shown, where several people play."""
        self.round = max(session.game.round - (session.game.ply == 0), 0)
        """The round that is shown: the end of a round stays until the players ask for the next deal."""
        self._continue()

    @property
    def name(self) -> str:
        """Name in addresses: the file's stem."""
        return self.path.stem

    @property
    def version(self) -> str:
        """A text that changes whenever the page does."""
        hints = "" if self.hints is None else len(self.hints)
        states = [self.advising, bool(self.problem), self.comparing, len(self.compared), self.covered]
        states += [self.looking, bool(self.expected), len(self.judged)]
        return f"{self.position}.{hints}.{'.'.join(str(int(state)) for state in states)}"

    @property
    def step(self) -> int | None:
        """Number of the step of a guided game, from 0; None after the last step, and in other games."""
        if self.lesson is None:
            return None
        number = sum(turn.seat in self.session.human_seats for turn in self.session.turns)
        return number if number < len(self.lesson.steps) else None

    @property
    def wanted(self) -> int | None:
        """The action that a guided game asks for; None for any."""
        if self.lesson is None or self.step is None or not self.session.human_to_move:
            return None
        return self.session.parse(self.lesson.steps[self.step].play)

    @property
    def paused(self) -> bool:
        """Whether the end of a round is shown."""
        return self.session.game.round > self.round

    @property
    def covered(self) -> bool:
        """Whether the hand is covered until its player asks for it."""
        session = self.session
        several = len(session.human_seats) > 1 and session.human_to_move and not self.paused
        return several and session.mover != self.shown_to

    @property
    def day(self) -> date | None:
        """The day whose deal is played; None in other games."""
        return None if self.lesson else day_of(self.session.record)

    @property
    def game(self) -> SomeGame:
        """The position that is shown."""
        return self.session.record.shown(len(self.session.turns)) if self.paused else self.session.game

    def play(self, position: int, action: int) -> None:
        """Take an action of a human.

        Raises:
            OutdatedPosition: if the game has left the position.
            IllegalAction: if it is illegal, or no human is to move.
        """
        with self._at(position):
            self._check_turn()
            if self.wanted not in (None, action):
                raise IllegalAction("this guided game goes on with the card and the cell in the frames")
            self.session.play(action)
            self._changed()

    def next_deal(self, position: int) -> None:
        """Go on after the end of a round.

        Raises:
            OutdatedPosition: if the game has left the position.
            ValueError: if no end of a round is shown.
        """
        with self._at(position):
            if not self.paused:
                raise ValueError("The round is not over.")
            self.round = self.session.game.round
            self.position += 1
            self._continue()

    def _check_turn(self) -> None:
        if self.paused:
            raise IllegalAction("the next deal has not begun")
        if not self.session.human_to_move:
            raise IllegalAction("it is not your turn")

    def lay(self, position: int, card: int, cell: int) -> None:
        """Play a card into a cell; raises as `play`, and ValueError if there is no such card or cell."""
        self.play(position, spec_of(self.session.rules).notation.encode_play(self.session.rules, card, cell))

    def announce(self, position: int, points: int) -> None:
        """Announce the points of a play; raises as `play`."""
        with self._at(position):
            self.play(position, self.session.parse(f"announce {points}"))

    def undo(self, position: int) -> None:
        """Go back to the last decision of a human.

        Raises:
            OutdatedPosition: if the game has left the position.
            ValueError: if there is none.
        """
        with self._at(position):
            self.session.undo()
            self.shown_to = None  # it may be the decision of another person
            self.round = min(self.round, self.session.game.round)
            self._changed()

    def show(self, position: int) -> None:
        """Show the cards of the seat to move.

        Raises:
            OutdatedPosition: if the game has left the position.
        """
        with self._at(position):
            self.shown_to = self.session.mover
            self._expect()

    def ask(self, position: int) -> None:
        """Ask the adviser for hints, which arrive in ``hints`` one by one, unless it has been asked.

        Raises:
            OutdatedPosition: if the game has left the position.
            ValueError: if no human is to move.
        """
        with self._at(position):
            self._check_turn()
            if self.covered:
                raise IllegalAction("the cards are covered: show them first")
            if self.hints is None:
                self.hints, self.advising = [], True
                Thread(target=self._advise, args=(position, self.session.hints()), daemon=True).start()

    def look(self, position: int) -> None:
        """Show what the adviser expects of all plays, or no longer.

        Raises:
            OutdatedPosition: if the game has left the position.
        """
        with self._at(position):
            self.looking = not self.looking
            if self.looking:
                self.session.not_counted("hints")
                self._expect()

    def _expect(self) -> None:
        """Ask the adviser for the results that it expects, in a thread."""

        def ask(position: int) -> None:
            try:
                found = expected(game, self.session.adviser)
                with self._at(position):
                    self.expected = found
            except Exception as error:
                self._fail(position, error)

        if self.looking and self.session.human_to_move and not (self.covered or self.expected):
            game = self.session.game.copy()
            Thread(target=ask, args=(self.position,), daemon=True).start()

    @contextmanager
    def _at(self, position: int) -> Iterator[None]:
        with self.lock:
            if position != self.position:
                raise OutdatedPosition("The game has gone on, perhaps in another tab. This is the position now.")
            yield

    def _changed(self) -> None:
        """Save and show a new position."""
        self.position += 1
        self.hints, self.advising, self.problem, self.compared = None, False, "", []
        self.expected, self.judged, self.seen = {}, [], {}
        try:
            if self.lesson is None:
                self.session.save(self.path)
        except OSError as error:
            self.problem = f"The game cannot be saved: {in_words(error)}"
        self._continue()

    def _continue(self) -> None:
        """Call the agent to move, or compare the points at the end."""
        self.comparing = self.session.game.over and self.lesson is None
        if self.comparing:
            Thread(target=self._compare, args=(self.position, self.session.record), daemon=True).start()
        elif not (self.session.game.over or self.paused or self.session.human_to_move):
            Thread(target=self._move, args=(self.position,), daemon=True).start()
        else:
            self._expect()

    def _compare(self, position: int, record: Record) -> None:
        """Compare the points with stored figures, then with an agent's."""
        seat = your_seat(record.seats)
        agent = levels(record.rules).get(ADVISING_LEVEL, "")
        with suppress(Exception):  # an agent of another package may raise anything: no comparison then
            if seat is not None and record.game().decided:
                points = points_of(record.game(), seat)
                with self._at(position):
                    self.compared = comparison(record.rules, points)
                reached = points_on_the_same_deal(record, agent, self.session.players)
                with self._at(position):
                    self.compared = comparison(record.rules, points, ADVISING_LEVEL, reached)
                for judged, game, results in review(record, seat, self.session.adviser):
                    with self._at(position):
                        self.judged = [*self.judged, judged]
                        self.seen[game.round, game.ply] = spec_of(game.rules).notation.table(game, results)
        with suppress(OutdatedPosition), self._at(position):
            self.comparing = False

    def _move(self, position: int) -> None:
        begun = time.monotonic()
        try:
            action = self.session.choose()
            time.sleep(max(0.0, begun + self.pause - time.monotonic()))
            with self._at(position):
                self.session.play(action)
                self._changed()
        except Exception as error:  # agents of other packages may raise anything
            self._fail(position, error)

    def _advise(self, position: int, hints: Iterator[Hint]) -> None:
        try:
            found = expected(self.session.game, self.session.adviser)
            with self._at(position):
                self.expected = found
            for hint in islice(hints, HINTS):
                if hint.action not in found:  # the agent may value the most promising plays alone
                    found |= expected(self.session.game, self.session.adviser, hint.action)
                with self._at(position):
                    assert self.hints is not None
                    self.expected, self.hints = found, [*self.hints, hint]
            with self._at(position):
                self.advising = False
        except Exception as error:
            self._fail(position, error)

    def _fail(self, position: int, error: Exception) -> None:
        with self.lock:
            if position == self.position and not isinstance(error, OutdatedPosition):
                self.advising = False
                self.problem = f"{type(error).__name__}: {error}. The game is kept in {self.path}."


class Saved(NamedTuple):
    """A game in a file."""

    name: str
    title: str
    players: str
    result: str
    over: bool
    time: datetime
    """When it was written."""
    rules: BaseRules
    seats: tuple[str, ...]
    points: int | None
    """Points of the only human; None if there is none, or the points do not count."""
    day: date | None
    """The day whose deal it is; None if it is another game."""
    uncounted: tuple[str, ...]
    """Why the points do not count for the player's best."""


class Games:
    """All games of a server, in memory and in a folder.

    Names in addresses are looked up among the files of the folder; they are never part of a path.

    Args:
        folder: where games are saved.
        adviser: the agent that gives hints; by default as of `quincunx_env.play.session.adviser_name`.
        pause: as of a `Table`.
        named: opponents of the command line, by name. The start page offers them besides the levels of play, and games
            may be continued with them.
    """

    def __init__(
        self,
        folder: Path,
        adviser: Agent | str | None = None,
        pause: float = 0.8,
        named: Mapping[str, Agent | str] | None = None,
    ) -> None:
        self.folder, self.adviser, self.pause = folder, adviser, pause
        self.named = dict(named or {})
        self.lock = RLock()
        self._begun = 0
        self._tables: dict[str, Table] = {}

    def start(self, session: Session, path: Path | None = None, lesson: Lesson | None = None) -> Table:
        """Open a table for a session, with the file ``path`` of a game that goes on, or a new one."""
        with self.lock:
            table = Table(session, path or self._new_path(), self.pause, lesson)
            self._tables[table.name] = table
            return table

    def learn(self, lesson: Lesson) -> Table:
        """Open a table for a guided game."""
        return self.start(lesson.session(adviser_name(lesson.rules, self.adviser)), lesson=lesson)

    def _new_path(self) -> Path:
        """Return the file of a new game.

        Raises:
            ValueError: after `MOST_GAMES` games.
        """
        if self._begun == MOST_GAMES:
            raise ValueError(f"This program has begun {MOST_GAMES} games, which is its limit: start it again.")
        self._begun += 1
        return new_path(self.folder, self._tables.keys())  # no file is written before a play

    def add(self, record: Record) -> str:
        """Save a record in the folder, and return its name."""
        with self.lock:
            path = self._new_path()
            write_text(path, file_of(record, ["file"]))
            return path.stem

    def _files(self) -> dict[str, Path]:
        return {path.stem: path for path in self.folder.glob("[!.]*.txt")}

    def table(self, name: str) -> Table:
        """Return the table of a game, opened from its file if needed.

        Raises:
            LookupError: if there is no such game.
            ValueError: if it cannot be continued.
        """
        with self.lock:
            if name in self._tables:
                return self._tables[name]
            record, path = self.record(name), self._files()[name]
            others = unregistered(record)
            if not {*others} <= self.named.keys():
                raise ValueError(
                    f"This game was played by {', '.join(others)}, and a file never chooses code. If you know these "
                    f"policies, end this program and start it with: quincunx play {resuming(record, path)}"
                )
            players = recorded_players(record, [self.named[name] for name in others])
            session = Session.resume(record, players, adviser_name(record.rules, self.adviser))
            session.uncounted = uncounted(read_text(path))
            return self.start(session, path)

    def record(self, name: str) -> Record:
        """Return the record of a game.

        Raises:
            LookupError: if there is no such game.
            ValueError: if its file is not a record.
        """
        if table := self._tables.get(name):
            with table.lock:
                return table.session.record
        try:
            return Record.read(self._files()[name])
        except (OSError, KeyError):
            raise LookupError("There is no such game.") from None

    def is_open(self, name: str) -> bool:
        """Return whether a game has a table."""
        return name in self._tables

    def written(self, name: str) -> datetime | None:
        """Return when a game's file was written; None without a file."""
        with suppress(OSError, KeyError):
            return datetime.fromtimestamp(self._files()[name].stat().st_mtime)
        return None

    def saved(self) -> list[Saved]:
        """List the games in the folder, the newest first. Files that are not records are left out."""
        return [*islice(self._described(), LISTED)]

    def _described(self) -> Iterator[Saved]:
        """Yield all games in the folder, the newest first."""
        dated = []
        for path in self._files().values():
            with suppress(OSError):
                dated.append((path.stat().st_mtime_ns, path))
        yield from filter(None, (_describe(path, time_ns) for time_ns, path in sorted(dated, reverse=True)))

    def best(self, record: Record, name: str) -> int | None:
        """Return the human's most points in counted games with the same rules and opponents, except ``name``."""
        kind = record.rules, sorted(record.seats)
        games = (game for game in self._described() if (game.rules, sorted(game.seats)) == kind and game.name != name)
        counted = (game.points for game in games if game.points is not None and not game.uncounted)
        return max(counted, default=None)

    def of_day(self, day: date) -> Saved | None:
        """Return the first finished game of a day, otherwise its latest."""
        games = [game for game in self._described() if game.day == day]
        return next((game for game in reversed(games) if game.over), next(iter(games), None))

    def streak(self) -> int:
        """Count the days in a row whose deal was finished."""
        return streak({game.day for game in self._described() if game.day and game.over})


@cache
def _describe(path: Path, time_ns: int) -> Saved | None:
    """Return the game in a file that was written at a time; None if it is not a record."""
    try:
        record, text = Record.read(path), read_text(path)
    except (RecordError, OSError):
        return None
    game, seat = record.game(), your_seat(record.seats)
    return Saved(
        path.stem,
        spec_of(record.rules).scene(game).title,
        _players(record),
        "lost" if game.decided and points_of(game, 0) is None else " : ".join(map(str, game.totals)),
        game.over,
        datetime.fromtimestamp(time_ns / 1e9),
        record.rules,
        record.seats,
        None if seat is None else points_of(game, seat),
        day_of(record),
        uncounted(text),
    )


def _players(record: Record) -> str:
    others = [level_of(record.rules, name) for name in record.seats if name != HUMAN]
    return f"against {', '.join(dict.fromkeys(others))}" if others else ""
