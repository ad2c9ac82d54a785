"""Files that hold every game of an evaluation, a comparison or a tournament.

The games are those of numbered deals, so that a file needs no cards: the number, the domain and the rules give the
deal, and the actions give the game. `quincunx_env.arena.verification` replays them.

The file begins with a line of text, ``quincunx_env games 1``, which ends with the version of the format, and a line of
JSON, so that ``head -n 2`` shows what it claims::

    {"config":  {"game", "rules", "domain", "first", "deals", "seed", "chunk"},
     "lineups": [{"policies": [names], "seats": [number of the policy of each seat], "games": G, "claims": {...}}, ...],
     "about":   {"quincunx_env": version, "numpy": version, ...}}

The games of a lineup are in the order of their deals, and those of a deal in the order of
`quincunx_env.arena.matches.seatings`. ``claims`` are the figures of the evaluation, ``about`` is information that
nothing checks. Then follow, compressed by zlib and little-endian, three arrays over the games of all lineups: the
number of actions (uint16 [G]), the points claimed for each seat (int32 [G, P]), and the actions (uint16, game after
game). The last 32 bytes are the SHA-256 digest of everything before them.

A game of the solitaire takes about 18 bytes. Nothing is unpickled, and no more is decompressed than the numbers in the
header allow.
"""

import hashlib
import json
import platform
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Self

import numpy as np

from quincunx_env.arena.matches import Actions, MatchConfig, MatchResults, seatings
from quincunx_env.core.arrays import Ints
from quincunx_env.core.deal import DOMAINS
from quincunx_env.core.integers import check_integer
from quincunx_env.core.policy import Agent
from quincunx_env.core.rules import BaseRules
from quincunx_env.notation.record import Record, RecordError, Seeded
from quincunx_env.policies import NAME, definition, is_name, resolve
from quincunx_env.registry import GAMES
from quincunx_env.utils.errors import require_writable
from quincunx_env.utils.files import write_atomically

VERSION = 1
TITLE = "quincunx_env games"

MAX_GAMES = 1_000_000
"""Games of a file: a hundred times those of a usual evaluation, replayed in seconds. With `MAX_HEADER` and `MAX_BYTES`
it limits the memory and the time that a file can demand."""

MAX_HEADER, MAX_BYTES = 2**20, 2**27
"""Bytes of the header, and of the file, compressed or not: many times those of the files of usual evaluations."""

_DIGEST = hashlib.sha256().digest_size


@dataclass(frozen=True, eq=False)
class LineupRecord:
    """The G games of one lineup.

    Attributes:
        policies: names of the policies.
        seats: number of the policy of each seat in the first seating.
        lengths: int64 [G], number of actions of each game.
        actions: uint16 [sum of ``lengths``].
        totals: int64 [G, P], points that the file claims for each seat.
        claims: figures that the file claims, as JSON values.
    """

    policies: tuple[str, ...]
    seats: tuple[int, ...]
    lengths: Ints
    actions: Actions
    totals: Ints
    claims: Mapping[str, Any]

    @classmethod
    def of_results(
        cls, policies: Sequence[str], seats: Sequence[int], results: MatchResults, claims: Mapping[str, Any]
    ) -> Self:
        """The record of games that have been played."""
        totals = results.totals.reshape(-1, results.totals.shape[-1])
        return cls(tuple(policies), tuple(seats), results.lengths.reshape(-1), results.actions, totals, claims)

    @property
    def seatings(self) -> Ints:
        """int64 [S, P], number of the policy that plays each seat."""
        return seatings(self.seats)

    @property
    def starts(self) -> Ints:
        """int64 [G], where in ``actions`` each game begins."""
        starts: Ints = np.cumsum(self.lengths) - self.lengths
        return starts

    def __str__(self) -> str:
        return " against ".join(self.policies)


@dataclass(frozen=True, eq=False)
class Records:
    """The games of an evaluation, a comparison or a tournament.

    Attributes:
        config: rules, deals and seeds.
        lineups: games of each lineup.
        about: versions of the libraries and definitions of the policies, for information.
    """

    config: MatchConfig
    lineups: tuple[LineupRecord, ...]
    about: Mapping[str, Any] = field(default_factory=dict)

    # --- Games -------------------------------------------------------------------------------------------------------

    def record(self, number: int) -> Record:
        """A game as a record, which replays it.

        Args:
            number: of the game in the file, from 0.

        Raises:
            ValueError: if there is no such game.
            RecordError: if an action breaks the rules.
        """
        number = check_integer("game", number, 0, sum(len(each.lengths) for each in self.lineups) - 1)
        for lineup in self.lineups:
            if number < len(lineup.lengths):
                break
            number -= len(lineup.lengths)
        deal, seating = divmod(number, len(lineup.seatings))
        start, players = lineup.starts[number], (lineup.policies[each] for each in lineup.seatings[seating])
        return Record(
            self.config.rules,
            Seeded(self.config.first + deal, 0, self.config.domain),
            tuple(lineup.actions[start : start + lineup.lengths[number]].tolist()),
            tuple(players),
        )

    # --- Writing -----------------------------------------------------------------------------------------------------

    def to_bytes(self) -> bytes:
        """The content of a file.

        Raises:
            RecordError: if it could not be read again, for example because of the name of a policy.
        """
        header = {
            "config": self.config.to_json(),
            "lineups": [
                {"policies": each.policies, "seats": each.seats, "games": len(each.lengths), "claims": each.claims}
                for each in self.lineups
            ],
            "about": self.about,
        }
        arrays = [
            *(each.lengths.astype("<u2") for each in self.lineups),
            *(each.totals.astype("<i4") for each in self.lineups),
            *(each.actions.astype("<u2") for each in self.lineups),
        ]
        try:
            text = json.dumps(header, sort_keys=True, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise RecordError(f"a file of games holds JSON values: {error}") from error
        body = zlib.compress(b"".join(array.tobytes() for array in arrays), 9)
        content = f"{TITLE} {VERSION}\n{text}\n".encode() + body
        content += hashlib.sha256(content).digest()
        type(self).from_bytes(content)
        return content

    def write(self, path: Path | str) -> None:
        """Write a file atomically; equal games make equal files.

        Raises:
            RecordError: as `to_bytes`.
            OSError: if the file cannot be written.
        """
        content = self.to_bytes()
        write_atomically(path, lambda unfinished: unfinished.write_bytes(content))

    # --- Reading -----------------------------------------------------------------------------------------------------

    @classmethod
    def read(cls, path: Path | str) -> Self:
        """Read a file, without replaying its games.

        Raises:
            RecordError: naming the file and what is wrong.
            OSError: if the file cannot be read.
        """
        try:
            with Path(path).open("rb") as file:
                return cls.from_bytes(file.read(MAX_BYTES + 1))
        except RecordError as error:
            raise RecordError(f"{path}: {error}") from error

    @classmethod
    def from_bytes(cls, content: bytes) -> Self:
        """The inverse of `to_bytes`.

        Raises:
            RecordError: if this is no such content, or of another version, damaged or too large.
        """
        title, _, rest = content.partition(b"\n")
        words = title.split(b" ")
        if b" ".join(words[:-1]) != TITLE.encode():
            raise RecordError("this is no file of games, as evaluate --records writes it")
        if words[-1] != str(VERSION).encode():
            version = words[-1][:20].decode("ascii", "backslashreplace")
            raise RecordError(f"the file is of version {version} of the format, this package reads version {VERSION}")
        if len(content) > MAX_BYTES:
            raise RecordError(f"the file has more than {MAX_BYTES} bytes")
        if hashlib.sha256(content[:-_DIGEST]).digest() != content[-_DIGEST:]:
            raise RecordError("the file is damaged or cut short: its checksum is wrong")
        text, _, body = rest[:-_DIGEST].partition(b"\n")
        if len(text) > MAX_HEADER:
            raise RecordError(f"the header has more than {MAX_HEADER} bytes")
        try:
            header = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise RecordError("the header is no JSON") from error
        config, about = _read_config(_entry(header, "config", dict)), _entry(header, "about", dict)
        lineups = [_read_lineup(each, config.rules) for each in _entry(header, "lineups", list)]
        return cls(config, _read_games(body, config.rules, lineups), about)


def require_writable_file(path: Path | str | None) -> None:
    """Check that a file of games can be written, before games are played; None needs none.

    Raises:
        ValueError: if it is a folder, would be in a file, or is a file with something else.
        OSError: if nothing can be written there.
    """
    if path is None:
        return
    path = Path(path)
    if path.is_dir():
        raise ValueError(f"{path} is a folder: name a file for the games with --records")
    if path.exists() and path.stat().st_size and not path.read_bytes().startswith(TITLE.encode()):
        raise ValueError(f"{path} holds something else than games: name another file with --records")
    require_writable(path.parent, "--records")


def write_records(
    path: Path | str, config: MatchConfig, lineups: Sequence[LineupRecord], policies: Mapping[str, Agent | str]
) -> None:
    """Write the games of an evaluation, a comparison or a tournament, with information on versions and policies.

    Args:
        path: the file.
        config: rules, deals and seeds.
        lineups: games of each lineup.
        policies: the policies by name.

    Raises:
        RecordError: as `Records.to_bytes`.
        OSError: if the file cannot be written.
    """
    about = {
        "quincunx_env": import_module("quincunx_env").__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "policies": {name: definition(resolve(policy)) for name, policy in policies.items()},
    }
    Records(config, tuple(lineups), about).write(path)


def most_actions(rules: BaseRules) -> int:
    """Upper limit of the actions of a game: every card of every round is laid, and announced with Simpleton."""
    return 2 * rules.num_dealt * rules.num_rounds


def _entry(values: Any, name: str, kind: type) -> Any:
    """An entry of a JSON object, of this very type: True is no integer."""
    value = values.get(name) if isinstance(values, dict) else None
    if type(value) is not kind:
        raise RecordError(f"the header has no {name!r} of type {kind.__name__}")
    return value


def _read_config(values: Any) -> MatchConfig:
    game, options, domain = _entry(values, "game", str), _entry(values, "rules", dict), _entry(values, "domain", str)
    if game not in GAMES:
        raise RecordError(f"the game is one of {', '.join(GAMES)}, got {game[:40]!r}")
    if domain not in DOMAINS:
        raise RecordError(f"the domain is one of {', '.join(DOMAINS)}, got {domain[:40]!r}")
    make: Callable[..., Any] = GAMES[game].Rules
    numbers = {name: _entry(values, name, int) for name in ("first", "deals", "seed", "chunk")}
    try:
        rules = make(**options)  # options that are not named were added later: they have their defaults
        config = MatchConfig(rules, domain, **numbers)
    except TypeError as error:
        raise RecordError(f"the game {game} has other rules than {', '.join(options):.200}") from error
    except ValueError as error:
        raise RecordError(str(error)) from error
    if config.deals > MAX_GAMES:
        raise RecordError(f"a file holds at most {MAX_GAMES} games, got {config.deals} deals")
    return config


def _read_lineup(values: Any, rules: BaseRules) -> tuple[tuple[str, ...], tuple[int, ...], int, dict[str, Any]]:
    """Names of the policies, their seats, number of games, claims."""
    policies, seats = _entry(values, "policies", list), _entry(values, "seats", list)
    games, claims = _entry(values, "games", int), _entry(values, "claims", dict)
    for name in policies:
        if not is_name(name):
            raise RecordError(f"the name of a policy is {NAME}, got {name!r:.220}")
    if len(seats) != rules.num_players or any(type(seat) is not int for seat in seats):
        raise RecordError(f"these rules have {rules.num_players} seats, got {seats!r:.100}")
    if list(dict.fromkeys(seats)) != list(range(len(policies))) or len(set(policies)) != len(policies):
        raise RecordError(f"the seats {seats!r} are not those of the {len(policies)} policies in order of appearance")
    if not 0 <= games <= MAX_GAMES:
        raise RecordError(f"a lineup has at most {MAX_GAMES} games, got {games}")
    return tuple(policies), tuple(seats), games, claims


def _read_games(body: bytes, rules: BaseRules, lineups: Sequence[Any]) -> tuple[LineupRecord, ...]:
    """The lineups with their games, from the compressed arrays."""
    games, players = [count for _, _, count, _ in lineups], rules.num_players
    total = sum(games)
    if not lineups or total > MAX_GAMES:
        raise RecordError(f"a file has at least one lineup and at most {MAX_GAMES} games, got {len(lineups)}, {total}")
    fixed = total * (2 + 4 * players)
    limit = min(fixed + 2 * total * most_actions(rules), MAX_BYTES)
    unpacker = zlib.decompressobj()
    try:
        raw = unpacker.decompress(body, limit + 1)
    except zlib.error as error:
        raise RecordError("the games cannot be decompressed: the file is damaged") from error
    if not unpacker.eof and len(raw) <= limit:
        raise RecordError("the games are cut short: the compressed part ends early")
    if unpacker.unused_data or not unpacker.eof:
        raise RecordError(f"there is more in the file than {total} games")
    if len(raw) < fixed:
        raise RecordError(f"the games are cut short: {total} are announced, {len(raw)} bytes are there")
    lengths = np.frombuffer(raw, "<u2", total).astype(np.int64)
    totals = np.frombuffer(raw, "<i4", total * players, 2 * total).astype(np.int64).reshape(total, players)
    if len(raw) != fixed + 2 * lengths.sum():
        few = "cut short" if len(raw) < fixed + 2 * lengths.sum() else "followed by something else"
        raise RecordError(
            f"the games are {few}: {lengths.sum()} actions are announced, {(len(raw) - fixed) / 2:g} there"
        )
    if total and lengths.max() > most_actions(rules):
        raise RecordError(f"a game of these rules has at most {most_actions(rules)} actions, got {lengths.max()}")
    actions = np.frombuffer(raw, "<u2", offset=fixed).astype(np.uint16)
    splits = np.cumsum(games)[:-1]
    parts = zip(
        lineups,
        np.split(lengths, splits),
        np.split(actions, np.concatenate([[0], np.cumsum(lengths)])[splits]),
        np.split(totals, splits),
        strict=True,
    )
    return tuple(
        LineupRecord(names, seats, own, taken, points, claims)
        for (names, seats, _, claims), own, taken, points in parts
    )
