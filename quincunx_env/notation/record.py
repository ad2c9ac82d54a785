"""Game records: games from deal to last play as readable text.

    quincunx_env record 1
    game quincunx num_players=2 simpleton=yes
    seats ann, greedy
    seed 7 game 0 domain play
    1. seat 0: 2MK (1, 3) = 0 0
    2. seat 0: announce 12 = 12 0
    ...
    over 64 71
    check 5f3a9c21

The first line has the version of the format, and ``game`` the options that differ from the defaults. ``seats``
(optional) has the names of the players. ``seed`` is the seed of the deals; instead, a line ``deal`` may hold each deal.
Names are printable text. In them, characters that have a meaning here are percent-encoded as in URLs: a comma is
``%2C``. Each action has a line with its number, the seat, the action, and the points gained by each seat. The format of
actions is in `quincunx_env.notation.text`. A line ``round 2`` precedes the second round, and so on. ``over``, or
``stopped`` for a game that has not ended, has the points of all seats. Empty lines and everything after a ``#`` are
ignored.

Parsing a record replays it: a record that breaks the rules, or has wrong points, is an error. ``check`` is the CRC-32
checksum of everything before it, so that a changed record is an error, too.

>>> from quincunx_env import Rules
>>> record = Record(Rules(), Seeded(seed=0), actions=(33,), seats=("ann",))
>>> print(record)
quincunx_env record 1
game quincunx
seats ann
seed 0 game 0 domain play
1. seat 0: AV (0, 1) = 3
stopped 3
check ec36c085
>>> Record.parse(str(record)) == record
True
"""

import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar, cast
from urllib.parse import quote, unquote

from quincunx_env.core.deal import BaseDeal, Deals, Domain
from quincunx_env.core.game import IllegalAction, SomeGame, as_action
from quincunx_env.core.integers import as_integer
from quincunx_env.core.rules import BaseRules
from quincunx_env.notation.text import PlayScore, play_score, print_action
from quincunx_env.registry import GAMES, spec_of
from quincunx_env.utils.errors import without_middle
from quincunx_env.utils.files import read_text, write_text
from quincunx_env.utils.notebook import shown_as

VERSION = 1
_TITLE = "quincunx_env record"

HUMAN = "human"
"""Name of a human player, in records and where players are named."""

MAX_NAME = 1000
"""Characters of the name of a seat, as of a policy."""

Read = TypeVar("Read")


class RecordError(ValueError):
    """Not a record, or a record that breaks the rules. The message is short, whatever it quotes from a file."""

    def __init__(self, message: object) -> None:
        super().__init__(without_middle(str(message), 800))


class Seeded(NamedTuple):
    """The seed of the deals of a game; see `quincunx_env.core.deal`."""

    seed: int
    game: int = 0
    domain: Domain = "play"


class RecordedAction(NamedTuple):
    """An action of a game, and its result."""

    number: int
    """Number, from 1."""
    round: int
    """Number, from 0."""
    seat: int
    action: int
    text: str
    """The action as text."""
    score: PlayScore | None
    """Score of the play, by parts; with Simpleton it belongs to the announcement. None if it was not computed, and
    where plays do not score."""
    gains: list[int]
    """Points gained or lost by each seat, penalties at the end of a round included."""
    penalties: list[int]
    """Points that each seat lost for cards left in hand, if a round ended: part of ``gains``."""

    def __str__(self) -> str:
        """Describe the action: number, seat, text and score.

        The gains of all seats follow where they differ from the score. At the end of a round the points lost for cards
        left in hand follow; they are part of the gains.

        >>> print(Record(GAMES["quincunx"].Rules(), Seeded(0), actions=(33,)).turns[0])
        1. seat 0 AV (0, 1): +3 (basic -2, pair +5)
        """
        score = "" if self.score is None else f": {self.score}"
        others = any(gain for seat, gain in enumerate(self.gains) if seat != self.seat)
        differs = self.score is None or self.gains[self.seat] != self.score.points
        changed = any(self.gains) and (others or differs)
        gains = f", gains {' '.join(f'{gain:+}' for gain in self.gains)}" if changed else ""
        left = f", left in hand {' '.join(str(-each) for each in self.penalties)}" if any(self.penalties) else ""
        return f"{self.number}. seat {self.seat} {self.text}{score}{gains}{left}"


@dataclass(frozen=True)
class Record:
    """A game from its deal on.

    Records are equal if their rules, deals, actions and seats are.

    Raises:
        RecordError: if an action breaks the rules; the message names the first one.
    """

    rules: BaseRules
    dealt: Seeded | Deals
    """The seed of the deals, or a deal for each round."""
    actions: tuple[int, ...] = ()
    """Actions of the engine; NumPy's integers become plain ints."""
    seats: tuple[str, ...] = ()
    """Names of the players, from seat 0 on; empty if unknown."""

    def __post_init__(self) -> None:
        try:
            # Plain numbers, so that a record of NumPy's is equal to the one that is read again.
            object.__setattr__(self, "actions", tuple(map(as_integer, self.actions)))
            object.__setattr__(self, "seats", (self.seats,) if isinstance(self.seats, str) else tuple(self.seats))
        except TypeError:
            raise RecordError(
                f"actions must be integers and seats must be text, got {self.actions!r} and {self.seats!r}"
            ) from None
        if self.seats and len(self.seats) != self.rules.num_players:
            raise RecordError(f"these rules have {self.rules.num_players} seats, got names for {len(self.seats)}")
        for name in self.seats:
            if not _is_seat_name(name):
                raise RecordError(
                    f"the name of a seat must have 1 to {MAX_NAME} printable characters, got {name!r:.220}"
                )
        game, dealt = _start(self.rules, self.dealt), self.dealt
        if isinstance(dealt, Seeded):
            plain: Seeded | Deals = Seeded(as_integer(dealt.seed), as_integer(dealt.game), dealt.domain)
        else:
            plain = game.deals
        object.__setattr__(self, "dealt", plain)
        for number, action in enumerate(self.actions, 1):
            _apply_action(game, number, action)

    # --- Replay ------------------------------------------------------------------------------------------------------

    @cached_property
    def deals(self) -> Deals:
        """The deal of each round."""
        return _start(self.rules, self.dealt).deals

    def game(self, actions: int | None = None) -> SomeGame:
        """Return the game after the first ``actions`` actions, by default after all.

        Numbers work as in a slice: with -1 the last action is left out, and one beyond the last stands for all.
        """
        game = _start(self.rules, self.dealt)
        for action in self.actions[:actions]:
            game.step(action)
        return game

    def shown(self, actions: int) -> SomeGame:
        """Return the position to show after the first ``actions`` actions.

        After the last play of a round it is the end of that round, not the next deal.
        """
        game = self.game(max(actions - 1, 0))
        if actions:
            game.deals = game.deals[: game.round + 1]  # without later deals the game stays at the end of the round
            game.step(self.actions[actions - 1])
        return game

    def replay(self) -> Iterator[tuple[RecordedAction, SomeGame]]:
        """Yield the actions, each with the game after it. All items share one game object."""
        game = _start(self.rules, self.dealt)
        for number, action in enumerate(self.actions, 1):
            yield apply_action(game, number, action, explain=True), game

    @cached_property
    def turns(self) -> tuple[RecordedAction, ...]:
        """All actions with their results."""
        return tuple(recorded for recorded, _ in self.replay())

    def _repr_svg_(self) -> str | None:
        return shown_as("svg", self)

    def _repr_html_(self) -> str | None:
        return shown_as("html", self)

    # --- Text --------------------------------------------------------------------------------------------------------

    def __str__(self) -> str:
        game = _start(self.rules, self.dealt)
        recorded = (apply_action(game, number, action) for number, action in enumerate(self.actions, 1))
        lines = [*_header(self.rules, self.dealt, self.seats), *_action_lines(recorded)]
        lines.append(f"{'over' if game.over else 'stopped'} {_numbers(game.totals)}")
        text = "\n".join(lines)
        return f"{text}\ncheck {zlib.crc32(text.encode()):08x}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse a text; the inverse of ``str``.

        Raises:
            RecordError: naming the line and the error; for an action that breaks the rules also the legal ones.
        """
        if not isinstance(text, str):
            raise RecordError(f"a record is text, got {text!r:.100}")
        numbered = ((number, line.partition("#")[0].split()) for number, line in enumerate(text.split("\n"), 1))
        lines = [_Line(number, " ".join(words)) for number, words in numbered if words]
        if not lines or lines[0].text != f"{_TITLE} {VERSION}":
            raise RecordError(f"a record begins with '{_TITLE} {VERSION}', this one with {text[:40]!r}")
        rules, seats, dealt = _read_header(lines)
        game, actions = _start(rules, dealt), list[int]()
        for line in lines:
            if line.text[0].isdigit():
                actions.append(_read_action(line, game, len(actions) + 1))
        record = cls(rules, dealt, tuple(actions), seats)
        _compare(lines, str(record).split("\n"))
        return record

    # --- Files -------------------------------------------------------------------------------------------------------

    def write(self, path: Path | str) -> None:
        """Write a file atomically."""
        write_text(path, f"{self}\n")

    @classmethod
    def read(cls, path: Path | str) -> Self:
        """Read a file.

        Raises:
            RecordError: naming the file, the line and the error.
            OSError: if the file cannot be read.
        """
        try:
            return cls.parse(read_text(path))
        except UnicodeDecodeError as error:
            raise RecordError(f"{path}: a record is text; quincunx replay reads files of games, too") from error
        except ValueError as error:
            raise RecordError(f"{path}: {error}") from error


def apply_action(game: SomeGame, number: int, action: int, explain: bool = False) -> RecordedAction:
    """Take an action in a game and return it with its result.

    Args:
        game: changed in place.
        number: number of the action in the game, from 1.
        action: of the engine.
        explain: compute the score of the play, too.

    Raises:
        IllegalAction: if the action is illegal; the game is unchanged.
    """
    action = as_action(action)
    round, seat, before = game.round, game.mover, game.copy()
    gains = game.step(action)
    laid = (game.round, game.ply) != (before.round, before.ply)  # with Simpleton by the announcement
    scores = play_score(before, action) if explain and laid else None
    penalties, ended = [0] * len(gains), game.previous_round
    if ended is not None and ended is not before.previous_round:
        penalties = [*ended.penalties]
    elif game.over:
        penalties = game.penalties
    return RecordedAction(number, round, seat, action, print_action(game, action), scores, gains, penalties)


def _apply_action(game: SomeGame, number: int, action: int) -> RecordedAction:
    """Do as `apply_action`, but raise `RecordError` for an illegal action."""
    try:
        return apply_action(game, number, action)
    except IllegalAction as error:
        try:
            text = print_action(game, action)
        except ValueError:
            text = repr(action)
        legal = spec_of(game.rules).notation.describe_legal(game)
        raise RecordError(f"play {number}, {text}, breaks the rules: {error}; {legal}") from error


def _start(rules: BaseRules, dealt: Seeded | Deals) -> SomeGame:
    """Return the game before its first play."""
    cls: Any = spec_of(rules).Game
    try:
        if not isinstance(dealt, Seeded):
            return cls(rules, dealt)  # type: ignore[no-any-return]
        return cls.from_seed(rules, *dealt)  # type: ignore[no-any-return]
    except ValueError as error:
        raise RecordError(str(error)) from error


def _is_seat_name(name: object) -> bool:
    """Return whether a name fits into files, terminals and pages."""
    return isinstance(name, str) and name.isprintable() and 0 < len(name) <= MAX_NAME


# --- Writing ---------------------------------------------------------------------------------------------------------


def _header(rules: BaseRules, dealt: Seeded | Deals, seats: Sequence[str]) -> list[str]:
    options = [
        f"{option.name}={_print_option(value)}"
        for option in fields(rules)  # type: ignore[arg-type]  # rules are dataclasses
        if (value := getattr(rules, option.name)) != option.default
    ]
    lines = [f"{_TITLE} {VERSION}", " ".join(["game", spec_of(rules).name, *options])]
    if seats:
        lines.append(f"seats {', '.join(map(_print_seat, seats))}")
    if isinstance(dealt, Seeded):
        return [*lines, f"seed {dealt.seed} game {dealt.game} domain {dealt.domain}"]
    return [*lines, *(f"deal {deal}" for deal in dealt)]


_ENCODED = re.compile(r"[,#]|\A | (?= |\Z)|%(?=[0-9A-Fa-f]{2})")
"""Encoded parts of a name: a comma (separates names), a # (begins a comment), spaces other than single ones between
words, and a % that would be decoded."""


def _print_seat(name: str) -> str:
    """Percent-encode a name where needed; ``unquote`` is the inverse."""
    return _ENCODED.sub(lambda found: quote(found[0]), name)


def _print_option(value: bool | int | str) -> str:
    return ("no", "yes")[value] if isinstance(value, bool) else str(value)


def _action_lines(actions: Iterable[RecordedAction]) -> Iterator[str]:
    round = 0
    for action in actions:
        if action.round > round:
            round = action.round
            yield f"round {round + 1}"
        yield _action_line(action)


def _action_line(action: RecordedAction) -> str:
    return f"{action.number}. seat {action.seat}: {action.text} = {_numbers(action.gains)}"


def _numbers(numbers: Iterable[int]) -> str:
    return " ".join(map(str, numbers))


# --- Reading ---------------------------------------------------------------------------------------------------------


class _Line(NamedTuple):
    """A line without comment and surplus space."""

    number: int
    """Number, from 1."""
    text: str

    def error(self, reason: object) -> RecordError:
        return RecordError(f"line {self.number}: {reason}")

    def read(self, reader: Callable[[str], Read]) -> Read:
        """Apply ``reader`` to the text after the first word."""
        try:
            return reader(self.text.partition(" ")[2])
        except ValueError as error:
            raise self.error(error) from error


def _read_header(lines: Sequence[_Line]) -> tuple[BaseRules, tuple[str, ...], Seeded | Deals]:
    """Read rules, names of seats and deals. `_compare` checks the order of lines, and that there are no others."""

    def lines_of(keyword: str) -> list[_Line]:
        return [line for line in lines if line.text.split()[0] == keyword]

    for keyword in ("game", "seed"):
        if not lines_of(keyword) and not (keyword == "seed" and lines_of("deal")):
            raise RecordError(f"the line '{keyword} ...' is missing" + " (or 'deal ...')" * (keyword == "seed"))
    rules = lines_of("game")[0].read(_read_rules)
    seats = lines_of("seats")[0].read(lambda text: tuple(map(unquote, text.split(", ")))) if lines_of("seats") else ()
    cls: type[BaseDeal] = spec_of(rules).Deal
    deals = tuple(line.read(cls.parse) for line in lines_of("deal"))
    return rules, seats, deals or lines_of("seed")[0].read(_read_seeded)


def _read_seeded(text: str) -> Seeded:
    match = re.fullmatch(r"(\d{1,20}) game (\d{1,20}) domain (\w+)", text, re.ASCII)
    if not match:
        raise ValueError(f"a seed must read like 'seed 7 game 0 domain play', got {text!r:.100}")
    return Seeded(int(match[1]), int(match[2]), cast(Domain, match[3]))  # `_start` checks the values


def _read_rules(text: str) -> BaseRules:
    """Read the rules from the text after ``game``; the inverse of `_header`."""
    name, *options = text.split() or [""]
    if name not in GAMES:
        raise ValueError(f"the game is one of {', '.join(GAMES)}, got {name!r:.100}")
    cls = GAMES[name].Rules
    known: dict[str, Any] = {option.name: option.default for option in fields(cls)}
    chosen: dict[str, Any] = {}
    for option in options:
        key, _, value = option.partition("=")
        if key not in known:
            raise ValueError(f"{name} has the options {', '.join(known)}, got {option!r:.100}")
        chosen[key] = _read_option(value, known[key])
    rules: BaseRules = cls(**chosen)
    return rules


def _read_option(text: str, default: bool | int | str) -> bool | int | str:
    """Read an option of the type of its default."""
    if isinstance(default, bool):
        return {"yes": True, "no": False}.get(text, text)  # the rules raise for any other text
    return int(text) if isinstance(default, int) and text.isdecimal() else text


def _read_action(line: _Line, game: SomeGame, number: int) -> int:
    """Apply the action of a line to a game, check the line against the result, and return the action."""
    match = re.fullmatch(r"\d+\. seat \d+: (.+) = [-\d ]+", line.text)
    if not match:
        raise line.error(f"a play must read like '12. seat 1: 2MK (1, 3) = 7 0', got {line.text!r:.200}")
    notation = spec_of(game.rules).notation
    try:
        action = notation.read_action(game.rules, match[1])
    except ValueError as error:
        raise line.error(f"play {number} cannot be read: {error}; {notation.describe_legal(game)}") from error
    try:
        recorded = _apply_action(game, number, action)
    except RecordError as error:
        raise line.error(error) from error
    if line.text != _action_line(recorded):
        raise line.error(f"by the rules play {number} reads {_action_line(recorded)!r}, got {line.text!r:.200}")
    return action


def _compare(lines: Sequence[_Line], written: Sequence[str]) -> None:
    """Check that the lines of a record are those that `Record` prints.

    Raises:
        RecordError: naming the first line that differs.
    """
    for line, right in zip_longest(lines, written):
        if line is None:
            raise RecordError(f"the record is cut short: {right!r:.200} is missing")
        if line.text == right:
            continue
        if right is None:
            raise line.error(f"nothing follows the line 'check ...', got {line.text!r:.200}")
        if right.startswith("check"):
            raise line.error(f"the record has been changed since it was written; if that is right, write {right!r}")
        raise line.error(f"this should read {right!r:.200}, got {line.text!r:.200}")
