"""Batched matches between policies on numbered deals, the basis of evaluations, comparisons and tournaments."""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from quincunx_env.core.batch import Bools, Ints
from quincunx_env.core.deal import Domain
from quincunx_env.core.policy import Agent, policy_for
from quincunx_env.core.rules import BaseRules
from quincunx_env.registry import make_observer, spec_of


class MatchResults(NamedTuple):
    """Final results of games on D deals, each played from S seatings of P seats."""

    totals: Ints
    """int64 [D, S, P]: points of each seat in the whole game."""
    lost: Bools
    """bool [D, S]: in the solitaire, whether the hand ran out; False for several players."""


@dataclass(frozen=True)
class MatchConfig:
    """The game and the deals of matches; together with the policies they determine the results.

    Raises:
        ValueError: if there are too few deals for an interval, none in a chunk, or for negative or fractional numbers.
    """

    rules: BaseRules
    domain: Domain
    first: int
    """Number of the first deal."""
    deals: int
    """Number of deals."""
    seed: int
    """In each chunk, policy number i draws from a generator seeded ``[seed, number of the chunk, i]``."""
    chunk: int
    """Number of deals played side by side."""

    def __post_init__(self) -> None:
        for name, least in (("first", 0), ("deals", 2), ("seed", 0), ("chunk", 1)):
            value = getattr(self, name)
            if not isinstance(value, int | np.integer) or value < least:
                raise ValueError(f"{name} must be an integer of at least {least}, got {value!r}")
            object.__setattr__(self, name, int(value))  # a NumPy integer is no JSON value
        if self.first + self.deals > 2**63:
            raise ValueError(f"the number of a deal is at most 2**63 - 1, got first={self.first}")

    @property
    def chunks(self) -> range:
        """Numbers of the chunks."""
        return range(-(-self.deals // self.chunk))

    def deal_numbers(self, chunk: int) -> Ints:
        """Numbers of the deals of a chunk, int64 [deals of the chunk]."""
        start, end = chunk * self.chunk, min((chunk + 1) * self.chunk, self.deals)
        return self.first + np.arange(start, end)

    def to_json(self) -> dict[str, Any]:
        """All fields and the name of the game, as JSON values."""
        return {"game": spec_of(self.rules).name} | asdict(self)


def play_matches(policies: Sequence[Agent], seatings: Ints, config: MatchConfig, chunk: int) -> MatchResults:
    """Play each deal of a chunk from each of the seatings, all side by side.

    A policy that occurs several times in ``policies``, or plays several seats, is called once for all its positions.

    Args:
        policies: the players.
        seatings: int64 [S, P], index of the policy that plays each seat.
        config: game and deals.
        chunk: number of the chunk.

    Raises:
        IllegalAction: if a policy chooses an illegal action.
    """
    numbers, count = config.deal_numbers(chunk), len(seatings)
    rules = config.rules
    observer = make_observer(rules, preview=True)
    batch: Any = spec_of(rules).Batch(rules, len(numbers) * count, config.domain)
    batch.reset(seed=np.repeat(numbers, count))
    first = np.array([next(at for at, other in enumerate(policies) if other is policy) for policy in policies])
    seated = first[np.tile(seatings, (len(numbers), 1))]
    rngs = [np.random.default_rng([config.seed, chunk, number]) for number in range(len(policies))]
    playing = [policy_for(policy, rules) for policy in policies]
    while not batch.over.all():
        rows = np.flatnonzero(~batch.over)
        movers = seated[rows, batch.mover[rows]]
        for number in np.unique(movers):
            own = rows[movers == number]
            games = batch.fork(own)
            batch.step(playing[number](observer.observe_batch(games), games.mask(), rngs[number]), own)
    lost = batch.lost if rules.num_players == 1 else np.zeros_like(batch.over)
    return MatchResults(batch.totals.reshape(len(numbers), count, -1), lost.reshape(len(numbers), count))


def concatenate(results: Iterable[MatchResults]) -> MatchResults:
    """Join the results of several chunks along the axis of deals."""
    return MatchResults(*map(np.concatenate, zip(*results, strict=True)))


def one_against_others(policies: int, num_players: int) -> list[int]:
    """Lineup in which policy 0 plays the first seat, and the last of one or two policies plays all others."""
    return [0] + [policies - 1] * (num_players - 1)


def seatings(lineup: Sequence[int]) -> Ints:
    """All distinct ways to seat a lineup, int64 [S, P]; the rotations only where all its policies differ.

    >>> seatings([0, 1, 1]).tolist()
    [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    >>> seatings([0, 1, 2]).tolist()
    [[0, 1, 2], [1, 2, 0], [2, 0, 1]]
    """
    if len(set(lineup)) == len(lineup):
        return np.array([np.roll(lineup, -seat) for seat in range(len(lineup))])
    return np.array(sorted(set(itertools.permutations(lineup))))
