"""Processes that play games while another one learns.

The games of an iteration are divided into shares. All randomness of a share follows from the seed, the iteration and
the share's number, so that the games do not depend on the number of processes, nor on which of them plays a share.
"""

import multiprocessing
import signal
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Generic, NamedTuple, Self, TypeVar

import numpy as np

from quincunx_agents.afterstates import NUMPY, Backend
from quincunx_agents.games import VARIANTS
from quincunx_env.arena import resolve
from quincunx_env.core.policy import Agent
from quincunx_env.utils.processes import single_threaded
from train.common.opponents import Member, Pool
from train.selfplay_rollout import (
    Opponents,
    Phase,
    PhaseTimer,
    Result,
    RolloutOptions,
    ValueTargets,
    Weights,
    play_games,
)


class GameShare(NamedTuple):
    """Games of one variant that are played together."""

    variant: str
    games: int
    seed: int
    """Of the first deal."""
    randomness: tuple[int, ...]
    """Seed of everything else."""


class Job(NamedTuple):
    """The games of an iteration."""

    options: RolloutOptions
    weights: Weights
    """Of the network that plays."""
    pool: Pool[Weights | None]
    """None stands for a fixed agent, known by its name."""
    shares: Sequence[GameShare]


class Played(NamedTuple):
    """What came of a share."""

    targets: ValueTargets
    results: list[Result]
    seconds: dict[Phase, float]
    """Processor time."""


def play(job: Job, backend: Backend = NUMPY) -> list[Played]:
    """Play the shares of a job; the backend is that of the weights."""
    pool, played = opponents_of(job), []
    for share in job.shares:
        timer, rng = PhaseTimer(), np.random.default_rng(share.randomness)
        rules = VARIANTS[share.variant]
        found = play_games(job.options, rules, share.games, job.weights, pool, share.seed, rng, timer, backend)
        played.append(Played(*found, timer.seconds))
    return played


def opponents_of(job: Job) -> Opponents:
    """The pool of a job with its fixed agents."""
    members = (
        Member[Agent | Weights](each.name, each.opponent or resolve(each.name), each.won, each.games)
        for each in job.pool.members
    )
    return Pool(job.pool.sampling, members)


Found = TypeVar("Found")
"""What comes of a share."""


class Workers(Generic[Found]):
    """Plays jobs, one at a time, in a number of processes; in this process and not before `results` if that is 0.

    Args:
        play: plays a job with the backend of its weights; returns what comes of its shares, in their order.
        number: of processes, 0 with another backend than NumPy.
        backend: of the weights.
    """

    def __init__(self, play: Callable[[Job, Backend], list[Found]], number: int, backend: Backend = NUMPY) -> None:
        self._play = play
        self._backend = backend
        self._job: Job | None = None
        self._connections = list[Connection]()
        context = multiprocessing.get_context("spawn")
        with single_threaded():
            for _ in range(number):
                ours, theirs = context.Pipe()
                context.Process(target=_work, args=(theirs, play), daemon=True).start()
                theirs.close()
                self._connections.append(ours)

    def start(self, job: Job) -> None:
        """Begin a job. Its arrays may change afterwards if there are processes, and must not if there are none."""
        self._job = job
        for number, connection in enumerate(self._connections):
            connection.send(job._replace(shares=job.shares[number :: len(self._connections)]))

    def results(self) -> list[Found]:
        """Wait until the job is done; returns what came of its shares, in their order.

        Raises:
            ChildProcessError: if a process has ended.
        """
        assert self._job is not None
        if not self._connections:
            return self._play(self._job, self._backend)
        played = list[Found | None]([None] * len(self._job.shares))
        for number, connection in enumerate(self._connections):
            try:
                found = connection.recv()
            except (EOFError, ConnectionResetError):
                raise ChildProcessError("a process that played games has ended unexpectedly") from None
            if isinstance(found, Exception):
                raise found
            played[number :: len(self._connections)] = found
        return [each for each in played if each is not None]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """End the processes after what they are playing."""
        for connection in self._connections:
            connection.close()


def _work(connection: Connection, play: Callable[[Job, Backend], list[Found]]) -> None:
    """Play the jobs that come from a connection, until it is closed at its other end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is for the process that learns
    with suppress(EOFError, ConnectionError):
        while True:
            job = connection.recv()
            try:
                answer: list[Found] | Exception = play(job, NUMPY)
            except Exception as error:
                answer = error
            connection.send(answer)
