"""Games played on all cores or on a Ray cluster and kept in a directory, so that what was interrupted goes on where it
stopped.
"""

import hashlib
import json
import multiprocessing
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from quincunx_env.arena.matches import Played, Setting, concatenate, one_and_others, play, seatings
from quincunx_env.core.atomic_write import write_atomically
from quincunx_env.core.policy import Agent
from quincunx_env.policies import resolve

Lineup = tuple[str, ...]
"""Names of the policies of a game: the first plays one seat, the last all others."""

MOST_TASKS = 10_000
"""Chunks that a cluster is given at once: more than it has cores, and no more than Ray handles with ease."""


@dataclass(frozen=True)
class Job:
    """A chunk of the deals of a lineup; plain values, to be sent to another process or machine."""

    policies: tuple[Agent | str, ...]
    setting: Setting
    chunk: int
    path: Path

    def play(self) -> Played:
        """Play the games."""
        policies = [resolve(policy) for policy in self.policies]
        seats = seatings(one_and_others(len(policies), self.setting.rules.num_players))
        return play(policies, seats, self.setting, self.chunk)

    def keep(self, played: Played) -> None:
        """Write these games to `path`."""
        write_atomically(self.path, lambda path: np.savez_compressed(path, totals=played.totals, lost=played.lost))

    def run(self) -> None:
        """Play the games and write them to `path`."""
        self.keep(self.play())


def play_lineups(
    policies: Mapping[str, Agent | str],
    lineups: Sequence[Lineup],
    setting: Setting,
    out: Path | None,
    workers: int,
    progress: Callable[[Iterable[Any]], Iterable[Any]],
    ray: str | None,
) -> dict[Lineup, Played]:
    """Play every lineup on the same deals, except for what ``out`` already holds.

    Each chunk of deals is a job of its own whose outcome depends on nothing but its lineup and the setting, so that
    interruptions, the number of processes and machines, and the other policies make no difference.

    Args:
        policies: by name; with several workers they are pickled, so name them as strings or use functions of a module.
        lineups: which of them meet.
        setting: which game and deals.
        out: directory that keeps the games, a file for each chunk of a lineup; None keeps nothing.
        workers: processes; 1 plays in this one.
        progress: wraps the iteration over the jobs that are left, as ``tqdm`` does.
        ray: address of a Ray cluster, as ``ray.init`` takes it, on whose cores the games are played instead.

    Raises:
        ValueError: for no or an unknown policy, if ``out`` holds games of another policy of the same name, or if Ray is
            asked for and not installed.
        ConnectionError: if Ray finds no cluster.
        IllegalAction: if a policy chooses an illegal action.
    """
    if out is None:
        with tempfile.TemporaryDirectory() as temporary:
            return play_lineups(policies, lineups, setting, Path(temporary), workers, progress, ray)
    if not policies:
        raise ValueError("there is nothing to play: name a policy")
    # What cannot be found is said before anything is played.
    folder = _settle(out, setting, {name: _source(resolve(policy)) for name, policy in policies.items()})
    jobs = {
        lineup: [
            Job(tuple(policies[name] for name in lineup), setting, chunk, folder / _file_name(lineup, setting, chunk))
            for chunk in setting.chunks
        ]
        for lineup in lineups
    }
    left = [job for each in jobs.values() for job in each if not job.path.exists()]
    if ray is None:
        _run(left, workers, progress)
    else:
        _run_on_cluster(left, ray, progress)
    return {lineup: concatenate(_load(job.path) for job in each) for lineup, each in jobs.items()}


def _file_name(lineup: Lineup, setting: Setting, chunk: int) -> str:
    """Who played which deals. Quoting leaves no plus sign in the name of a policy."""
    numbers = setting.numbers(chunk)
    return f"{'+'.join(quote(name, safe='') for name in lineup)}.{numbers[0]}-{numbers[-1]}.npz"


def _run(jobs: list[Job], workers: int, progress: Callable[[Iterable[Any]], Iterable[Any]]) -> None:
    if workers == 1:
        for job in progress(jobs):
            job.run()
        return
    # Spawned processes share nothing with this one: what holds on one system holds on all.
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
        try:
            for _ in zip(progress(jobs), pool.map(Job.run, jobs), strict=True):
                pass
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _run_on_cluster(jobs: list[Job], address: str, progress: Callable[[Iterable[Any]], Iterable[Any]]) -> None:
    """The chunks are Ray's tasks: where a node is lost, Ray has them played on another. They are written here, for the
    nodes need not share a disk.
    """
    try:
        import ray
    except ModuleNotFoundError as error:
        raise ValueError(f'a Ray cluster needs {error.name}: pip install "quincunx_env[rllib]"') from error

    ours = not ray.is_initialized()
    if ours:
        ray.init(address, logging_level="warning")
    try:
        tasks = enumerate(jobs)
        ended = ray.util.map_unordered(ray.remote(_played), tasks, backpressure_size=MOST_TASKS, chunk_size=1)
        for _, (number, played) in zip(progress(jobs), ended, strict=True):
            jobs[number].keep(played)
    except ray.exceptions.RayTaskError as error:
        raise error.cause from error  # as it would be raised without Ray
    finally:
        if ours:
            ray.shutdown()


def _played(task: tuple[int, Job]) -> tuple[int, Played]:
    number, job = task
    return number, job.play()


def _settle(out: Path, setting: Setting, policies: dict[str, str]) -> Path:
    """The directory for games of this setting, whatever the number of deals: what was played is of use for more of
    them. Its ``settings.json`` says what it holds.
    """
    shared = {name: value for name, value in setting.to_json().items() if name != "deals"}
    folder = out / "games" / hashlib.sha256(json.dumps(shared, sort_keys=True).encode()).hexdigest()[:12]
    path = folder / "settings.json"
    known = json.loads(path.read_text(encoding="utf-8"))["policies"] if path.exists() else {}
    for name, source in policies.items():
        if known.get(name, source) != source:
            raise ValueError(
                f"{out} holds games in which {name!r} was {known[name]} and not {source}: "
                "give it another name, or choose another directory"
            )
    text = json.dumps({**shared, "policies": known | policies}, indent=2) + "\n"
    write_atomically(path, lambda unfinished: unfinished.write_text(text, encoding="utf-8"))
    return folder


def _source(policy: Agent) -> str:
    """Where a policy is defined: of an instance, its class."""
    thing: Any = policy if hasattr(policy, "__qualname__") else type(policy)
    return f"{thing.__module__}:{thing.__qualname__}"


def _load(path: Path) -> Played:
    try:
        with path.open("rb") as file, np.load(file) as arrays:
            return Played(arrays["totals"], arrays["lost"])
    except Exception as error:  # whatever a damaged file makes NumPy and zipfile raise
        raise ValueError(f"{path} cannot be read: delete it, and its games are played again") from error
