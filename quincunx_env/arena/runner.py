"""Resumable parallel runner of lineups, in processes or on a Ray cluster. Each chunk's games are kept in a file."""

import hashlib
import json
import logging
import pickle
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, fields, replace
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast
from urllib.parse import quote

from quincunx_env.arena.games import Games, LineupGames, require_writable_file, write_games
from quincunx_env.arena.matches import (
    Deals,
    MatchConfig,
    MatchResults,
    concatenate,
    one_against_others,
    play_matches,
    seatings,
)
from quincunx_env.core.integers import check_names, with_checked_names
from quincunx_env.core.policy import Agent
from quincunx_env.core.rules import BaseRules
from quincunx_env.policies import ChatPolicy, PolicyFile, identity, resolve
from quincunx_env.policies.conversations import Conversations, Counts
from quincunx_env.utils.extras import missing_extra
from quincunx_env.utils.processes import worker_processes

AnyFunction = TypeVar("AnyFunction", bound=Callable[..., Any])

Progress = Callable[[Iterable[Any]], Iterable[Any]]
"""Wraps an iteration, as ``tqdm`` does."""

Lineup = tuple[str, ...]
"""Names of the policies of a game: the first plays one seat, the last all others."""

LOGGER = logging.getLogger("quincunx_env.arena")

MAX_PENDING_TASKS = 10_000
"""Chunks submitted to a cluster at once: more than it has cores, and a number that Ray handles with ease. Not tuned."""


@with_checked_names
@dataclass(frozen=True, kw_only=True)
class Run:
    """How games are played: seeds, files and processes.

    Results depend on `seed` and `chunk`, not on processes, machines, interruptions or other policies.

    Raises:
        ValueError: for fewer workers than 1.
    """

    seed: int = MatchConfig.seed
    """Seed of the policies' generators. Policy i has one in each chunk, seeded with a hash of this, the chunk and i."""
    chunk: int = MatchConfig.chunk
    """Number of deals played side by side, the unit of work of a process. The actions of randomised policies depend on
    it."""
    out: Path | str | None = None
    """Directory of the results, with a file for each chunk of a lineup, and one for the conversations with language
    models. Only games that are missing there are played:
    the rest of an interrupted run, more deals, or games of further policies. A line on stderr, of the logger
    ``quincunx_env.arena``, says how many were there. They belong to the identities of their policies
    (`quincunx_env.policies.identity`). A policy without an identity plays anew, and its games are not stored."""
    records: Path | str | None = None
    """File for all games, see `quincunx_env.arena.games`."""
    workers: int = 1
    """Number of processes; 1 plays in this one. Others get the policies pickled: use names or functions of a module.
    They import the script: its calls stand below ``if __name__ == "__main__":``."""
    ray: str | None = None
    """Address of a Ray cluster, as ``ray.init`` takes it, on whose cores the games are played instead of ``workers``
    processes here. Names must resolve to the same policies there."""
    progress: Progress = field(default=iter, repr=False)
    """Wraps the iteration over the remaining chunks, as ``tqdm`` does."""

    def __post_init__(self) -> None:
        if not isinstance(self.workers, int) or self.workers < 1:
            raise ValueError(f"workers must be an integer of at least 1, got {self.workers!r}")

    def config(self, rules: BaseRules, deals: Deals | int) -> MatchConfig:
        """Configure matches. An integer means the first deals of the benchmark."""
        return MatchConfig(rules, deals if isinstance(deals, Deals) else Deals(deals), self.seed, self.chunk)

    def allow(self, function: str, *names: str) -> None:
        """Check that only these options are set, which a function uses.

        Raises:
            ValueError: naming one that it would ignore.
        """
        for name in (option.name for option in fields(self) if option.name not in names):
            if getattr(self, name) != getattr(Run, name):
                raise ValueError(f"{function} takes no {name}: leave it out, got Run({name}={getattr(self, name)!r})")


def with_run(function: AnyFunction) -> AnyFunction:
    """Let a function refuse unknown keywords, and a ``run`` that is not a `Run`; a decorator.

    The error of a keyword of `Run`, or of `Deals` if the function takes them, says where it belongs.
    """
    parameters = signature(function).parameters
    elsewhere = [("run", Run), *([("deals", Deals)] if isinstance(parameters["deals"].default, Deals) else [])]
    places = {each.name: (name, kind) for name, kind in elsewhere for each in fields(kind)}

    @wraps(function)
    def checked(*args: Any, run: Run = Run(), **kwargs: Any) -> Any:
        for option in kwargs.keys() & places.keys() - parameters.keys():
            name, kind = places[option]
            raise TypeError(
                f"{function.__name__}() got an unexpected keyword argument {option!r}: "
                f"give {name}={kind.__name__}({option}=...)"
            )
        check_names(function.__name__, kwargs, [*parameters])
        if not isinstance(run, Run):
            raise ValueError(f"run must be a Run, such as Run(seed=1), got {run!r:.100}")
        return function(*args, run=run, **kwargs)

    return cast(AnyFunction, checked)


@dataclass(frozen=True)
class Chunk:
    """A chunk of the deals of a lineup, and its file. It has plain values, to be sent to another process or machine."""

    names: Lineup
    policies: tuple[Agent | str, ...]
    config: MatchConfig
    number: int
    path: Path
    conversations: Path
    """File of the decisions of language models."""

    @property
    def seats(self) -> list[int]:
        """Index of the policy of each seat in the first seating."""
        return one_against_others(len(self.policies), self.config.rules.num_players)

    def play(self) -> MatchResults:
        """Play the games."""
        policies, kept = [resolve(policy) for policy in self.policies], Conversations(self.conversations)
        return play_matches(policies, seatings(self.seats), self.config, self.number, self.names, kept)

    def save(self, results: MatchResults) -> None:
        """Write results to `path`."""
        self._games(results).write(self.path)

    def run(self) -> None:
        """Play the games and write the results to `path`."""
        self.save(self.play())

    def load(self) -> MatchResults:
        """Read results from `path`.

        Raises:
            ValueError: if the file is damaged or holds other games.
        """
        try:
            games = Games.read(self.path)
            results = games.lineups[0].results
            found, needed = games.header, self._games(results).header
        except FileNotFoundError as error:
            raise ValueError(f"{self.path} was removed while games were played: start again") from error
        except (OSError, ValueError) as error:
            raise ValueError(f"{self.path} cannot be read: delete it, and its games are played again") from error
        if found != needed or len(results.totals) != len(self.config.deal_numbers(self.number)):
            raise ValueError(f"{self.path} is of other games: delete it, and its games are played again")
        return results

    def _games(self, results: MatchResults) -> Games:
        """Return the file of these results. It does not depend on the number of deals of the whole run."""
        count = max(2, min((self.number + 1) * self.config.chunk, self.config.deals.count))
        lineup = LineupGames.from_results(self.names, self.seats, results, {})
        config = replace(self.config, deals=replace(self.config.deals, count=count))
        return Games(config, (lineup,), part=self.number)


def run_lineups(
    policies: Mapping[str, Agent | str],
    lineups: Sequence[Lineup],
    config: MatchConfig,
    run: Run = Run(),
) -> dict[Lineup, tuple[MatchResults, dict[str, Counts]]]:
    """Play every lineup on the same deals.

    Returns:
        The games of each lineup, and the `Counts` of its language models by name.

    Args:
        policies: by name.
        lineups: the policies of each game.
        config: game, deals and seeds.
        run: files and processes; ``records`` is ignored.

    Raises:
        ValueError: for no or an unknown policy, one that cannot be sent to other processes, a file in ``out`` that is
            damaged or of other games, or if Ray is required and not installed.
        ConnectionError: if Ray finds no cluster.
        ChildProcessError: if a process ends before its work.
        OSError: if ``out`` cannot be written.
        IllegalAction: if a policy chooses an illegal action.
    """
    if not policies:
        raise ValueError("there is nothing to play: name a policy")
    # All policies are resolved before the first game, so that a wrong name or file fails at once.
    agents = {name: resolve(policy) for name, policy in policies.items()}
    files = {name: agent for name, agent in agents.items() if isinstance(agent, PolicyFile)}
    for file in files.values():
        file.for_rules(config.rules)
    policies = {**policies, **files}  # a process refuses a file that has changed since
    chats = {name for name, agent in agents.items() if isinstance(agent, ChatPolicy)}
    if chats and run.ray is not None:
        raise ValueError(f"{', '.join(sorted(chats))}: language models are asked from this machine, leave out Ray")
    refuse_forfeits(agents.values(), run)
    if run.workers > 1 or run.ray is not None:
        _require_picklable(policies)
    identities = {name: None if run.out is None else identity(agent) for name, agent in agents.items()}
    with tempfile.TemporaryDirectory() as temporary, counting_stored_games() as stored:

        def chunk_of(lineup: Lineup, number: int) -> Chunk:
            own = {name: identities[name] for name in lineup}
            stem, out = _file_name(own, config), Path(temporary if run.out is None else run.out)
            numbers = config.deal_numbers(number)
            games = Path(temporary) if None in own.values() else out
            path = games / "games" / f"{stem}.{numbers[0]}-{numbers[-1]}.npz"
            conversations = out / "conversations" / f"{stem}.jsonl"
            if None in own.values() and number == 0:  # it is not known whether these policies had them
                conversations.unlink(missing_ok=True)
            return Chunk(lineup, tuple(policies[name] for name in lineup), config, number, path, conversations)

        chunks = {lineup: [chunk_of(lineup, number) for number in config.chunks] for lineup in lineups}
        every = [chunk for each in chunks.values() for chunk in each]
        results = {chunk.path: chunk.load() for chunk in every if chunk.path.exists()}
        for path, found in results.items():
            stored[path.parent] += found.lengths.size
        remaining = [chunk for chunk in every if chunk.path not in results]
        if run.ray is None:
            _run_in_processes(remaining, run.workers, run.progress)
        else:
            _run_on_cluster(remaining, run.ray, run.progress)
        results |= {chunk.path: chunk.load() for chunk in remaining}
        return {
            lineup: (
                concatenate(results[chunk.path] for chunk in each),
                Conversations(each[0].conversations).counts(config.deals.numbers) if chats & {*lineup} else {},
            )
            for lineup, each in chunks.items()
        }


def refuse_forfeits(policies: Iterable[Agent], run: Run) -> None:
    """Refuse to record games that a language model may forfeit: their replay has no end.

    Raises:
        ValueError: naming the policy.
    """
    for policy in policies:
        if run.records is not None and isinstance(policy, ChatPolicy) and policy.illegal == "forfeit":
            raise ValueError(f"{policy.__name__} may forfeit games, which no file of games can hold: leave out records")


def conversations_of(policies: Mapping[str, Agent], config: MatchConfig, run: Run) -> Conversations:
    """Return the conversations of a comparison, which plays all games of its lineup here."""
    identities = {name: identity(policy) for name, policy in policies.items()}
    if run.out is None or not any(isinstance(policy, ChatPolicy) for policy in policies.values()):
        return Conversations()
    path = Path(run.out) / "conversations" / f"{_file_name(identities, config)}.jsonl"
    if None in identities.values():
        path.unlink(missing_ok=True)
    return Conversations(path)


_stored: ContextVar[Counter[Path] | None] = ContextVar("stored", default=None)
"""Stored games that the outermost block has used, by folder."""


@contextmanager
def counting_stored_games() -> Iterator[Counter[Path]]:
    """Count the stored games that are used in the block, by folder.

    One line says how many at the end of the outermost block. It is a warning of the logger ``quincunx_env.arena``,
    which Python prints on stderr.
    """
    if (outer := _stored.get()) is not None:
        yield outer
        return
    counted = Counter[Path]()
    token = _stored.set(counted)
    try:
        yield counted
    finally:
        _stored.reset(token)
    for folder, games in counted.items():
        LOGGER.warning(f"{games:,} stored games of the same policies are used, from {folder}: delete it to play anew")


class Measured(Protocol):
    """Results of a lineup with figures, which a file of games claims."""

    def figures(self) -> dict[str, Any]:
        """Return the figures as JSON values."""
        ...


AnyMeasured = TypeVar("AnyMeasured", bound=Measured)


def measure_lineups(
    policies: Mapping[str, Agent | str],
    lineups: Sequence[Lineup],
    config: MatchConfig,
    run: Run,
    measure: Callable[[Lineup, MatchResults, dict[str, Counts]], AnyMeasured],
) -> dict[Lineup, AnyMeasured]:
    """Play every lineup, measure its games, and store them in ``run.records``.

    ``measure`` returns the results of a lineup from its games and the counts of its language models. Other arguments
    are as in `run_lineups`.

    Raises:
        ValueError: as `run_lineups`, or if there is something else in the file.
        ImportError: with ``records``, without SciPy.
    """
    require_writable_file(run.records)
    played = run_lineups(policies, lineups, config, run)
    measured = {lineup: measure(lineup, *found) for lineup, found in played.items()}
    if run.records is not None:
        seats = [one_against_others(len(lineup), config.rules.num_players) for lineup in lineups]
        claims = [measured[lineup].figures() for lineup in lineups]
        games = map(LineupGames.from_results, lineups, seats, (results for results, _ in played.values()), claims)
        write_games(run.records, config, [*games], policies)
    return measured


def _file_name(lineup: Mapping[str, str | None], config: MatchConfig) -> str:
    """Name files for games of these policies and no others.

    The name depends on names and identities of the policies, game and seeds. The number of deals is left out, since
    results serve a run over more deals as well.

    A long lineup is cut, as the name of a file has 255 bytes at most. The hash separates lineups that are cut alike,
    or differ in the case of letters alone.
    """
    games = {name: value for name, value in config.to_json().items() if name != "deals"}
    digest = hashlib.sha256(json.dumps([games, *lineup.items()], sort_keys=True).encode()).hexdigest()
    return f"{quote('+'.join(lineup), safe='+')[:60]}.{digest[:16]}"


def _require_picklable(policies: Mapping[str, Agent | str]) -> None:
    """Check that other processes can get the policies.

    Raises:
        ValueError: naming the first that they cannot get.
    """
    for name, policy in policies.items():
        try:
            pickle.dumps(policy)
        except Exception as error:  # objects raise anything
            raise ValueError(
                f"the policy {name!r} cannot be sent to other processes ({error}): "
                "name it as 'module:attribute', or play with workers=1"
            ) from error


def _run_in_processes(chunks: list[Chunk], workers: int, progress: Progress) -> None:
    if workers == 1:
        for chunk in progress(chunks):
            chunk.run()
        return
    with worker_processes(workers) as pool:
        # Not by Executor.map: it cancels calls at an interrupt, for which Python before 3.12 prints InvalidStateError.
        futures = [pool.submit(chunk.run) for chunk in chunks]
        for _, future in zip(progress(chunks), futures, strict=True):
            future.result()


def connect_to_ray(address: str | None, **options: Any) -> None:
    """Connect to a Ray cluster with the options of ``ray.init``.

    Raises:
        ConnectionError: if Ray fails to, which it may notice only after minutes; the message is Ray's in one line.
    """
    import ray

    try:
        ray.init(address, **options)
    except Exception as error:  # Ray raises several kinds
        reason = " ".join(str(error).split())
        raise ConnectionError(f"no connection to a Ray cluster at {address}: {reason}") from error


def _run_on_cluster(chunks: list[Chunk], address: str, progress: Progress) -> None:
    """Play each chunk as a task of Ray. Tasks of a lost node are repeated; this process writes all files."""
    try:
        import ray
    except ModuleNotFoundError as error:
        raise ValueError(missing_extra(error, "rllib", "a Ray cluster")) from error

    started_here = not ray.is_initialized()
    if started_here:
        connect_to_ray(address, logging_level="warning")
    try:
        tasks = enumerate(chunks)
        finished = ray.util.map_unordered(
            ray.remote(_play_task), tasks, backpressure_size=MAX_PENDING_TASKS, chunk_size=1
        )
        for _, (index, results) in zip(progress(chunks), finished, strict=True):
            chunks[index].save(results)
    except ray.exceptions.RayTaskError as error:
        raise error.cause from error  # as it would be raised without Ray
    finally:
        if started_here:
            ray.shutdown()


def _play_task(task: tuple[int, Chunk]) -> tuple[int, MatchResults]:
    index, chunk = task
    return index, chunk.play()
