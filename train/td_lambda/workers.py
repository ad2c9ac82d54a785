"""Processes that play games while another one learns.

The games of an iteration are divided into shares. All randomness of a share follows from the seed, the iteration and
the share's number. The games therefore do not depend on the number of processes, nor on which of them plays a share.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple, TypeVar

import numpy as np

from quincunx_agents.afterstates import NUMPY, Backend
from quincunx_agents.agent_specs import rules_of
from quincunx_env.arena import resolve
from quincunx_env.core.policy import Agent
from quincunx_env.utils.processes import worker_processes
from train.common.opponents import Member, Pool
from train.common.timer import PhaseTimer
from train.td_lambda.rollout import Opponents, Result, RolloutOptions, ValueTargets, Weights, play_games


class GameShare(NamedTuple):
    """Games of one variant that are played together."""

    variant: str
    games: int
    seed: int
    """Seed of the first deal."""
    randomness: tuple[int, ...]
    """Seed of everything else."""


class Job(NamedTuple):
    """The games of an iteration."""

    options: RolloutOptions
    weights: Sequence[Weights]
    """Weights of each network of the ensemble that plays."""
    pool: Pool[Weights | None]
    """Opponents; None stands for a fixed agent, known by its name."""
    shares: Sequence[GameShare]


class Played(NamedTuple):
    """Result of a share."""

    targets: ValueTargets
    results: list[Result]
    seconds: Mapping[str, float]
    """Processor time by phase."""


def play(job: Job, backend: Backend = NUMPY) -> list[Played]:
    """Play the shares of a job on the weights' backend."""
    pool, played = opponents_of(job), []
    for share in job.shares:
        timer, rng = PhaseTimer(), np.random.default_rng(share.randomness)
        rules = rules_of(share.variant)
        found = play_games(job.options, rules, share.games, job.weights, pool, share.seed, rng, timer, backend)
        played.append(Played(*found, timer.seconds))
    return played


def opponents_of(job: Job) -> Opponents:
    """Return the pool of a job with its fixed agents."""
    members = (
        Member[Agent | Weights](each.name, each.opponent or resolve(each.name), each.won, each.games)
        for each in job.pool.members
    )
    return Pool(members)


Found = TypeVar("Found")
"""Result of a share."""


@contextmanager
def workers(
    play: Callable[[Job, Backend], list[Found]], number: int, backend: Backend = NUMPY
) -> Iterator[Callable[[Job], Callable[[], list[Found]]]]:
    """Yield a function that begins a job: processes play its games.

    Without processes this one plays them when the results are needed.

    Args:
        play: plays a job with the backend of its weights; returns the results of its shares, in their order.
        number: of processes, 0 with another backend than NumPy.
        backend: of the weights.

    Yields:
        A function that begins a job, whose arrays must not change. It returns a function that waits for the results of
        the job's shares, in their order.

    Raises:
        ChildProcessError: if a process has ended.
    """
    if not number:
        yield lambda job: partial(play, job, backend)
        return
    with worker_processes(number) as pool:

        def start(job: Job) -> Callable[[], list[Found]]:
            parts = [job._replace(shares=job.shares[first::number]) for first in range(number)]
            futures = [pool.submit(_play, play, part) for part in parts]

            def results() -> list[Found]:
                found = [future.result() for future in futures]
                return [found[share % number][share // number] for share in range(len(job.shares))]

            return results

        yield start


def _play(play: Callable[[Job, Backend], list[Found]], job: Job) -> list[Found]:
    return play(job, NUMPY)  # a backend cannot be sent to another process
