"""Numbered deals played by policies, side by side: what everything else in the arena is made of."""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from quincunx_env.core.deal import Domain
from quincunx_env.core.policy import Agent, policy_for
from quincunx_env.core.rules import BaseRules
from quincunx_env.registry import make_observer, spec_of

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


class Played(NamedTuple):
    """How games ended: D deals, each from S seatings of P seats."""

    totals: Ints
    """[D, S, P], points of each seat in the whole game."""
    lost: Bools
    """[D, S], solitaire: whether the hand ran out."""


@dataclass(frozen=True)
class Setting:
    """Which game is played on which deals.

    Raises:
        ValueError: if there are too few deals for an interval, or none in a chunk.
    """

    rules: BaseRules
    domain: Domain
    first: int
    """Number of the first deal."""
    deals: int
    """How many."""
    seed: int
    """Policy number i draws in each chunk from a generator seeded ``[seed, number of the chunk, i]``."""
    chunk: int
    """Deals played side by side."""

    def __post_init__(self) -> None:
        if self.deals < 2:
            raise ValueError(f"an interval needs at least 2 deals, got {self.deals}")
        if self.chunk < 1:
            raise ValueError(f"a chunk needs at least 1 deal, got {self.chunk}")

    @property
    def chunks(self) -> range:
        """Numbers of the chunks."""
        return range(-(-self.deals // self.chunk))

    def numbers(self, chunk: int) -> Ints:
        """Numbers of the deals of a chunk."""
        start, end = chunk * self.chunk, min((chunk + 1) * self.chunk, self.deals)
        return self.first + np.arange(start, end)

    def to_json(self) -> dict[str, Any]:
        """All of it."""
        return {"game": spec_of(self.rules).name} | asdict(self)


def play(policies: Sequence[Agent], seatings: Ints, setting: Setting, chunk: int) -> Played:
    """Play each deal of a chunk from each of these seatings, all side by side.

    A policy that stands several times in ``policies``, or plays several seats, is asked once for all its positions.

    Args:
        policies: who plays.
        seatings: [S, P], which of the policies plays each seat.
        setting: which game and deals.
        chunk: number of the chunk.

    Raises:
        IllegalAction: if a policy chooses an illegal action.
    """
    numbers, count = setting.numbers(chunk), len(seatings)
    rules = setting.rules
    observer = make_observer(rules, preview=True)
    batch: Any = spec_of(rules).Batch(rules, len(numbers) * count, setting.domain)
    batch.reset(seed=np.repeat(numbers, count))
    first = np.array([next(at for at, other in enumerate(policies) if other is policy) for policy in policies])
    who = first[np.tile(seatings, (len(numbers), 1))]
    rngs = [np.random.default_rng([setting.seed, chunk, number]) for number in range(len(policies))]
    asking = [policy_for(policy, rules) for policy in policies]
    while not batch.over.all():
        rows = np.flatnonzero(~batch.over)
        asked = who[rows, batch.mover[rows]]
        for number in np.unique(asked):
            some = rows[asked == number]
            games = batch.fork(some)
            batch.step(asking[number](observer.observe_batch(games), games.mask(), rngs[number]), some)
    lost = batch.lost if rules.num_players == 1 else np.zeros_like(batch.over)
    return Played(batch.totals.reshape(len(numbers), count, -1), lost.reshape(len(numbers), count))


def concatenate(played: Iterable[Played]) -> Played:
    """The games of several chunks as one."""
    return Played(*map(np.concatenate, zip(*played, strict=True)))


def one_and_others(policies: int, num_players: int) -> list[int]:
    """One or two players at a table: the first in one seat, the last in all others."""
    return [0] + [policies - 1] * (num_players - 1)


def seatings(lineup: Sequence[int]) -> Ints:
    """All distinct ways to seat these players, [S, P]; only the rotations where all of them differ.

    >>> seatings([0, 1, 1]).tolist()
    [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    >>> seatings([0, 1, 2]).tolist()
    [[0, 1, 2], [1, 2, 0], [2, 0, 1]]
    """
    if len(set(lineup)) == len(lineup):
        return np.array([np.roll(lineup, -seat) for seat in range(len(lineup))])
    return np.array(sorted(set(itertools.permutations(lineup))))
