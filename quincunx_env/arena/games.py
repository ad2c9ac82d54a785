"""Store games in files.

A file holds a whole evaluation, comparison or tournament, or a chunk of an interrupted one. It needs no cards: the
number, the domain and the rules give the deal, and the actions give the game.
`quincunx_env.arena.verification` replays them.

A file is an ``.npz`` of NumPy with five arrays over the G games of all lineups, in this order:

| array | dtype, shape | content |
|---|---|---|
| ``header`` | uint8 [bytes] | JSON, see below |
| ``lengths`` | uint16 [G] | number of actions of each game |
| ``totals`` | int32 [G, P] | points of each seat |
| ``lost`` | bool [G] | whether the hand ran out in the solitaire; False for several players |
| ``actions`` | uint16 [sum of ``lengths``] | the actions, game after game |

``Games.read(FILE).header`` is the header::

    {"version": 1,
     "config":  {"game", "rules", "domain", "first", "deals", "seed", "chunk"},
     "part":    number of the only chunk that the file holds, or null,
     "lineups": [{"policies": [names], "seats": [number of the policy of each seat], "games": G, "claims": {...}}, ...],
     "about":   {"quincunx_env": version, "numpy": version, ...}}

The games of a lineup are in the order of their deals, and the games of a deal in the order of
`quincunx_env.arena.matches.seatings`. ``claims`` are the figures of the evaluation. ``about`` is information that
nothing checks. A game of the solitaire takes about 18 bytes.

The same games give the same bytes, and a reader trusts nothing (`quincunx_env.utils.npz`): it compares each shape with
the header before it reads an array.
"""

import json
import math
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Self

import numpy as np

from quincunx_env.arena.matches import Actions, Deals, MatchConfig, MatchResults, seatings
from quincunx_env.core.arrays import Bools, Ints
from quincunx_env.core.deal import DOMAINS
from quincunx_env.core.integers import check_integer
from quincunx_env.core.policy import Agent
from quincunx_env.core.rules import BaseRules
from quincunx_env.notation.record import Record, RecordError, Seeded
from quincunx_env.policies import NAME, definition, is_name, resolve
from quincunx_env.registry import GAMES
from quincunx_env.utils import npz
from quincunx_env.utils.errors import require_writable_path
from quincunx_env.utils.files import write_atomically

VERSION = 1

MAX_GAMES = 1_000_000
"""Games of a file: a hundred times as many as a usual evaluation has, replayed in seconds. With `MAX_HEADER` and
`MAX_BYTES` it limits the memory and the time that a file can demand."""

MAX_HEADER, MAX_BYTES = 2**20, 2**27
"""Bytes of the header, and of the file, compressed or not: many times the size of usual files."""

DTYPES = {"header": "|u1", "lengths": "<u2", "totals": "<i4", "lost": "|b1", "actions": "<u2"}
"""The arrays of a file in their order."""


@dataclass(frozen=True, eq=False)
class LineupGames:
    """The G games of one lineup.

    Attributes:
        policies: names of the policies.
        seats: number of the policy of each seat in the first seating.
        lengths: int64 [G], number of actions of each game.
        actions: uint16 [sum of ``lengths``].
        totals: int64 [G, P], points that the file claims for each seat.
        lost: bool [G], whether the file claims that the hand ran out.
        claims: figures that the file claims, as JSON values.
    """

    policies: tuple[str, ...]
    seats: tuple[int, ...]
    lengths: Ints
    actions: Actions
    totals: Ints
    lost: Bools
    claims: Mapping[str, Any]

    @classmethod
    def from_results(
        cls, policies: Sequence[str], seats: Sequence[int], results: MatchResults, claims: Mapping[str, Any]
    ) -> Self:
        """Make the record of games that have been played."""
        totals, lost = results.totals.reshape(-1, results.totals.shape[-1]), results.lost.reshape(-1)
        return cls(tuple(policies), tuple(seats), results.lengths.reshape(-1), results.actions, totals, lost, claims)

    @property
    def results(self) -> MatchResults:
        """The results of the games.

        Raises:
            ValueError: if the games of a deal are incomplete.
        """
        count = len(self.seatings)
        return MatchResults(
            self.totals.reshape(-1, count, len(self.seats)),
            self.lost.reshape(-1, count),
            self.lengths.reshape(-1, count),
            self.actions,
        )

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
class Games:
    """The games of an evaluation, comparison or tournament, or one chunk.

    Attributes:
        config: rules, deals and seeds.
        lineups: games of each lineup.
        about: versions of the libraries and definitions of the policies, for information.
        part: number of the only chunk whose games these are; None for all games.
    """

    config: MatchConfig
    lineups: tuple[LineupGames, ...]
    about: Mapping[str, Any] = field(default_factory=dict)
    part: int | None = None

    # --- Games -------------------------------------------------------------------------------------------------------

    def record(self, number: int) -> Record:
        """Return a game as a record, which replays it.

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
        first = self.config.deals.first + (self.part or 0) * self.config.chunk
        return Record(
            self.config.rules,
            Seeded(first + deal, 0, self.config.deals.domain),
            tuple(lineup.actions[start : start + lineup.lengths[number]].tolist()),
            tuple(players),
        )

    # --- Writing -----------------------------------------------------------------------------------------------------

    @property
    def header(self) -> dict[str, Any]:
        """The claims of the file as JSON values: everything but the games."""
        return {
            "version": VERSION,
            "config": self.config.to_json(),
            "part": self.part,
            "lineups": [
                {"policies": each.policies, "seats": each.seats, "games": len(each.lengths), "claims": each.claims}
                for each in self.lineups
            ],
            "about": self.about,
        }

    def to_bytes(self) -> bytes:
        """Return the content of a file.

        Raises:
            RecordError: if it could not be read again, for example because of the name of a policy.
        """
        try:
            text = json.dumps(self.header, sort_keys=True, allow_nan=False).encode()
        except (TypeError, ValueError) as error:
            raise RecordError(f"a file of games holds JSON values: {error}") from error
        arrays = {"header": np.frombuffer(text, np.uint8)}
        for name in [*DTYPES][1:]:
            arrays[name] = np.concatenate([getattr(lineup, name) for lineup in self.lineups])
        content = npz.pack({name: arrays[name].astype(dtype) for name, dtype in DTYPES.items()})
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
        """Read the content of a file; the inverse of `to_bytes`.

        Raises:
            RecordError: if this is not such content, or of another version, damaged or too large.
        """
        if not npz.begins_with(content, "header"):
            raise RecordError("this is not a file of games, as evaluate --records writes it")
        if len(content) > MAX_BYTES:
            raise RecordError(f"the file has more than {MAX_BYTES} bytes")
        try:
            return cls._parse(content)
        except ValueError as error:
            raise RecordError(error) from error

    @classmethod
    def _parse(cls, content: bytes) -> Self:
        shapes = npz.shapes(content, DTYPES, MAX_BYTES)
        if math.prod(shapes["header"]) > MAX_HEADER:
            raise RecordError(f"the header has more than {MAX_HEADER} bytes")
        try:
            header = json.loads(npz.read(content, "header").tobytes())
        except (ValueError, RecursionError) as error:
            raise RecordError("the header is not JSON") from error
        if (version := _entry(header, "version", int)) != VERSION:
            raise RecordError(f"the file is of version {version} of the format, this package reads version {VERSION}")
        config, about = _read_config(_entry(header, "config", dict)), _entry(header, "about", dict)
        part = _read_part(header, config)
        lineups = [_read_lineup(each, config.rules) for each in _entry(header, "lineups", list)]
        return cls(config, _read_games(content, shapes, config.rules, lineups), about, part)


# --- Files -----------------------------------------------------------------------------------------------------------


def holds_games(path: Path) -> bool:
    """Return whether a file begins as a file of games.

    Raises:
        OSError: if it cannot be read.
    """
    with path.open("rb") as file:
        return npz.begins_with(file.read(100), "header")


def require_writable_file(path: Path | str | None) -> None:
    """Check that a file of games can be written.

    The check comes before games are played; None needs no file.

    Raises:
        ValueError: if it is a folder, would be in a file, or is a file with something else.
        OSError: if nothing can be written there.
    """
    if path is None:
        return
    path = Path(path)
    if path.is_dir():
        raise ValueError(f"{path} is a folder: name a file for the games with --records")
    if path.exists() and path.stat().st_size and not holds_games(path):
        raise ValueError(f"{path} is not a file of games: name another file with --records")
    require_writable_path(path, "--records")


def write_games(
    path: Path | str, config: MatchConfig, lineups: Sequence[LineupGames], policies: Mapping[str, Agent | str]
) -> None:
    """Write the games of an evaluation, comparison or tournament.

    The file also has information on versions and policies.

    Raises:
        RecordError: as `Games.to_bytes`.
        OSError: if the file cannot be written.
    """
    about = {
        "quincunx_env": import_module("quincunx_env").__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "policies": {name: definition(resolve(policy)) for name, policy in policies.items()},
    }
    Games(config, tuple(lineups), about).write(path)


def most_actions(rules: BaseRules) -> int:
    """Return an upper limit of a game's actions. Every card is laid, and announced with Simpleton."""
    return 2 * rules.num_dealt * rules.num_rounds


def _entry(values: Any, name: str, kind: type) -> Any:
    """Return an entry of a JSON object, of this very type. True is not an integer."""
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
    first, count, seed, chunk = (_entry(values, name, int) for name in ("first", "deals", "seed", "chunk"))
    try:
        rules = make(**options)  # options that are not named were added later: they have their defaults
        config = MatchConfig(rules, Deals(count, domain, first), seed, chunk)
    except TypeError as error:
        raise RecordError(f"the game {game} has other rules than {', '.join(options):.200}") from error
    except ValueError as error:
        raise RecordError(str(error)) from error
    return config


def _read_part(header: dict[str, Any], config: MatchConfig) -> int | None:
    """Read the number of the only chunk of the file, or None."""
    part, deals = header.get("part"), config.deals.count
    if part is not None:
        part = _entry(header, "part", int)
        if part not in config.chunks:
            raise RecordError(f"the number of a chunk is from 0 to {len(config.chunks) - 1}, got {part}")
        deals = min(config.chunk, deals - part * config.chunk)
    if deals > MAX_GAMES:
        raise RecordError(f"a file holds at most {MAX_GAMES} games, got {deals} deals")
    return part


def _read_lineup(values: Any, rules: BaseRules) -> tuple[tuple[str, ...], tuple[int, ...], int, dict[str, Any]]:
    """Read names of the policies, their seats, number of games, claims."""
    policies, seats = _entry(values, "policies", list), _entry(values, "seats", list)
    games, claims = _entry(values, "games", int), _entry(values, "claims", dict)
    for name in policies:
        if not is_name(name):
            raise RecordError(f"the name of a policy is {NAME}, got {name!r:.220}")
    if len(seats) != rules.num_players or any(type(seat) is not int for seat in seats):
        raise RecordError(f"these rules have {rules.num_players} seats, got {seats!r:.100}")
    if list(dict.fromkeys(seats)) != list(range(len(policies))) or len(set(policies)) != len(policies):
        raise RecordError(f"the seats {seats!r} do not number the {len(policies)} policies in order of appearance")
    if not 0 <= games <= MAX_GAMES:
        raise RecordError(f"a lineup has at most {MAX_GAMES} games, got {games}")
    return tuple(policies), tuple(seats), games, claims


def _read_games(
    content: bytes, shapes: Mapping[str, tuple[int, ...]], rules: BaseRules, lineups: Sequence[Any]
) -> tuple[LineupGames, ...]:
    """Read the lineups with their games."""
    games = [count for _, _, count, _ in lineups]
    total = sum(games)
    if not lineups or total > MAX_GAMES:
        raise RecordError(f"a file has at least one lineup and at most {MAX_GAMES} games, got {len(lineups)}, {total}")
    for name, shape in {"lengths": (total,), "totals": (total, rules.num_players), "lost": (total,)}.items():
        if shapes[name] != shape:
            raise RecordError(f"{total} games need {name} of shape {shape}, got {shapes[name]}")
    lengths = npz.read(content, "lengths").astype(np.int64)
    if total and lengths.max() > most_actions(rules):
        raise RecordError(f"a game of these rules has at most {most_actions(rules)} actions, got {lengths.max()}")
    if shapes["actions"] != (lengths.sum(),):
        raise RecordError(f"{lengths.sum()} actions are needed, got the shape {shapes['actions']}")
    totals, lost, actions = (npz.read(content, name) for name in ("totals", "lost", "actions"))
    if (lost.view(np.uint8) > 1).any():
        raise RecordError("a game is lost or not, got another value")
    splits = np.cumsum(games)[:-1]
    parts = zip(
        lineups,
        np.split(lengths, splits),
        np.split(actions, np.concatenate([[0], np.cumsum(lengths)])[splits]),
        np.split(totals.astype(np.int64), splits),
        np.split(lost, splits),
        strict=True,
    )
    return tuple(
        LineupGames(names, seats, own, taken, points, out, claims)
        for (names, seats, _, claims), own, taken, points, out in parts
    )
