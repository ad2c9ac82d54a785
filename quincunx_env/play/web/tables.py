"""The games of a server: sessions with their files, and the threads in which agents compute."""

import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from itertools import islice
from pathlib import Path
from threading import RLock, Thread
from typing import NamedTuple

from quincunx_env.core.game import IllegalAction
from quincunx_env.core.policy import Agent
from quincunx_env.notation.record import Record, RecordError
from quincunx_env.play.session import (
    HINTS,
    HUMAN,
    Hint,
    Session,
    adviser_name,
    new_path,
    recorded_players,
    resuming,
    unregistered,
)
from quincunx_env.registry import spec_of

LISTED = 12
"""Files of games that the start page lists, the newest first."""

MOST_GAMES = 1_000
"""Games that a server begins, or keeps as records: more than people play, and few for memory and disk."""


class Stale(ValueError):
    """A request for a position that is no longer that of the game."""


class Table:
    """A game in progress, which several tabs may show.

    Every play is saved at once. Agents move by themselves, in a thread of their own.

    Args:
        session: the game.
        path: its file.
        pause: least time in seconds for which a position is shown before an agent's next play.
    """

    def __init__(self, session: Session, path: Path, pause: float) -> None:
        self.session, self.path, self.pause = session, path, pause
        self.lock = RLock()
        """Held while the session changes, and by readers that need a consistent position."""
        self.position = 0
        """Counts plays and undos: a request names the position that it is meant for."""
        self.hints: list[Hint] | None = None
        """Hints for the position; None if the adviser has not been asked."""
        self.advising = False
        """Whether further hints may follow."""
        self.problem = ""
        """Why an agent could not play, or the file could not be written."""
        self._continue()

    @property
    def name(self) -> str:
        """Name in addresses: that of the file."""
        return self.path.stem

    @property
    def version(self) -> str:
        """Changes whenever the page does."""
        hints = "" if self.hints is None else len(self.hints)
        return f"{self.position}.{hints}.{int(self.advising)}.{int(bool(self.problem))}"

    def play(self, position: int, action: int) -> None:
        """Take an action of a human.

        Raises:
            Stale: if the game has left the position.
            IllegalAction: if it is illegal, or no human is to move.
        """
        with self._at(position):
            if not self.session.human_to_move:
                raise IllegalAction("it is not your turn")
            self.session.play(action)
            self._changed()

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
            Stale: if the game has left the position.
            ValueError: if there is none.
        """
        with self._at(position):
            self.session.undo()
            self._changed()

    def ask(self, position: int) -> None:
        """Ask the adviser for hints, which arrive in ``hints`` one by one; without effect if it has been asked.

        Raises:
            Stale: if the game has left the position.
            ValueError: if no human is to move.
        """
        with self._at(position):
            if not self.session.human_to_move:
                raise ValueError("it is not your turn")
            if self.hints is None:
                self.hints, self.advising = [], True
                Thread(target=self._advise, args=(position, self.session.hints()), daemon=True).start()

    @contextmanager
    def _at(self, position: int) -> Iterator[None]:
        with self.lock:
            if position != self.position:
                raise Stale("The game has gone on, perhaps in another tab. This is the position now.")
            yield

    def _changed(self) -> None:
        """Save and show a new position."""
        self.position += 1
        self.hints, self.advising, self.problem = None, False, ""
        try:
            self.session.save(self.path)
        except OSError as error:
            self.problem = f"The game cannot be saved: {error}"
        self._continue()

    def _continue(self) -> None:
        """Call the agent to move, if there is one."""
        if self.session.mover is not None and not self.session.human_to_move:
            Thread(target=self._move, args=(self.position,), daemon=True).start()

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
            for hint in islice(hints, HINTS):
                with self._at(position):
                    assert self.hints is not None
                    self.hints = [*self.hints, hint]
            with self._at(position):
                self.advising = False
        except Exception as error:
            self._fail(position, error)

    def _fail(self, position: int, error: Exception) -> None:
        with self.lock:
            if position == self.position and not isinstance(error, Stale):
                self.advising = False
                self.problem = f"{type(error).__name__}: {error}. The game is kept in {self.path}."


class Saved(NamedTuple):
    """A game in a file."""

    name: str
    title: str
    players: str
    result: str
    over: bool


class Lobby:
    """All games of a server: those in memory and those in a folder.

    Names in addresses are looked up among the files of the folder; they are never part of a path.

    Args:
        folder: where games are saved.
        adviser: the agent that gives hints; by default `DEFAULT_AGENT` of `quincunx_env.play.session`.
        trusted: names of agents that games may be continued with, besides registered ones.
        pause: as of a `Table`.
    """

    def __init__(
        self, folder: Path, adviser: Agent | str | None = None, trusted: Collection[str] = (), pause: float = 0.8
    ) -> None:
        self.folder, self.adviser, self.trusted, self.pause = folder, adviser, trusted, pause
        self.lock = RLock()
        self._begun = 0
        self._tables: dict[str, Table] = {}
        self._paths: dict[str, Path] = {}
        """Files outside the folder, given on the command line."""

    def start(self, session: Session, path: Path | None = None) -> Table:
        """Open a table for a session, in a file of its own or that of a game that goes on."""
        with self.lock:
            table = Table(session, path or self._new_path(), self.pause)
            self._tables[table.name] = table
            return table

    def _new_path(self) -> Path:
        """The file of a new game.

        Raises:
            ValueError: after `MOST_GAMES` games.
        """
        if self._begun == MOST_GAMES:
            raise ValueError(f"This program has begun {MOST_GAMES} games, which is its limit: start it again.")
        self._begun += 1
        return new_path(self.folder, self._tables.keys() | self._paths.keys())  # no file is written before a play

    def add(self, record: Record) -> str:
        """Keep a record as a file of the folder, and return its name."""
        with self.lock:
            path = self._new_path()
            record.write(path)
            return path.stem

    def show(self, path: Path) -> str:
        """Offer a file that was given on the command line, and return its name."""
        name = path.stem
        self._paths[name] = path
        return name

    def _files(self) -> dict[str, Path]:
        return {path.stem: path for path in self.folder.glob("[!.]*.txt")} | self._paths

    def table(self, name: str) -> Table:
        """The table of a game, opened from its file if need be.

        Raises:
            LookupError: if there is no such game.
            ValueError: if it cannot be continued.
        """
        with self.lock:
            if name in self._tables:
                return self._tables[name]
            record, path = self.record(name), self._files()[name]
            others = unregistered(record)
            if not {*others} <= {*self.trusted}:
                raise ValueError(
                    f"This game was played by {', '.join(others)}, and a file never chooses code. If you know these "
                    f"policies, end this program and start it with: quincunx play {resuming(record, path)}"
                )
            players = recorded_players(record, others)
            return self.start(Session.resume(record, players, adviser_name(self.adviser)), path)

    def record(self, name: str) -> Record:
        """The record of a game.

        Raises:
            LookupError: if there is no such game.
            ValueError: if its file is no record.
        """
        if table := self._tables.get(name):
            with table.lock:
                return table.session.record
        try:
            return Record.read(self._files()[name])
        except (OSError, KeyError):
            raise LookupError("There is no such game.") from None

    def saved(self) -> list[Saved]:
        """The games in the folder, the newest first. Files that are no records are left out."""
        dated = []
        for path in self._files().values():
            with suppress(OSError):
                dated.append((path.stat().st_mtime_ns, path))
        games = (_describe(path, time_ns) for time_ns, path in sorted(dated, reverse=True))
        return [*islice(filter(None, games), LISTED)]


@cache
def _describe(path: Path, time_ns: int) -> Saved | None:
    """Return the game in a file that was written at a time; None if it is no record."""
    try:
        record = Record.read(path)
    except (RecordError, OSError):
        return None
    game = record.game()
    title, over = spec_of(record.rules).scene(game).title, game.over
    return Saved(path.stem, title, _players(record.seats), " : ".join(map(str, game.totals)), over)


def _players(names: Sequence[str]) -> str:
    others = [name for name in names if name != HUMAN]
    return f"against {', '.join(dict.fromkeys(others))}" if others else ""
