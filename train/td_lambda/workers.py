"""Processes that play games while another one learns.

The games of an iteration are divided into shares. All randomness of a share follows from the seed, the iteration and
the share's number. The games therefore do not depend on the number of processes, nor on which of them plays a share.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple

import numpy as np

from quincunx_agents.agent_specs import rules_of
from quincunx_env.policies import resolve
from quincunx_env.utils.processes import worker_processes
from train.common.timer import PhaseTimer
from train.td_lambda.pool import Pool, Weights
from train.td_lambda.rollout import Result, ValueTargets, play_games
from train.td_lambda.settings import Arguments


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

    options: Arguments
    weights: Weights
    """Weights of the network that plays."""
    pool: Pool
    """Opponents: past snapshots."""
    shares: Sequence[GameShare]


class Played(NamedTuple):
    """Result of a share."""

    targets: ValueTargets
    results: list[Result]
    seconds: Mapping[str, float]
    """Processor time by phase."""


def play(job: Job) -> list[Played]:
    """Play the shares of a job."""
    against, played = resolve(job.options.against), []
    for share in job.shares:
        timer, rng = PhaseTimer(), np.random.default_rng(share.randomness)
        rules = rules_of(share.variant)
        found = play_games(job.options, rules, share.games, job.weights, job.pool, share.seed, rng, timer, against)
        played.append(Played(*found, timer.seconds))
    return played


@contextmanager
def workers(number: int) -> Iterator[Callable[[Job], Callable[[], list[Played]]]]:
    """Yield a function that begins a job: processes play its games.

    Without processes this one plays them when the results are needed.

    Args:
        number: of processes.

    Yields:
        A function that begins a job, whose arrays must not change. It returns a function that waits for the results of
        the job's shares, in their order.

    Raises:
        ChildProcessError: if a process has ended.
    """
    if not number:
        yield lambda job: partial(play, job)
        return
    with worker_processes(number) as pool:

        def start(job: Job) -> Callable[[], list[Played]]:
            parts = [job._replace(shares=job.shares[first::number]) for first in range(number)]
            futures = [pool.submit(play, part) for part in parts]

            def results() -> list[Played]:
                found = [future.result() for future in futures]
                return [found[share % number][share // number] for share in range(len(job.shares))]

            return results

        yield start
