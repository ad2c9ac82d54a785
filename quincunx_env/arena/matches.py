"""Batched matches on numbered deals for evaluations, comparisons and tournaments."""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from quincunx_env.core.arrays import Bools, Ints
from quincunx_env.core.deal import Domain
from quincunx_env.core.game import IllegalAction
from quincunx_env.core.policy import Agent, NotFiniteError, policy_for
from quincunx_env.core.rules import BaseRules
from quincunx_env.policies import PolicyFileError, display_name
from quincunx_env.registry import make_observer, spec_of

Actions = npt.NDArray[np.uint16]

MAX_CHUNK = 10_000
"""Seats of a seating of the deals of a chunk, whose games are played side by side: it limits the memory. Not tuned."""

RAISED_BY = "raised by the policy"
"""Beginning of the note on an exception that a policy raises."""


def raised_by_policy(error: BaseException) -> bool:
    """Return whether a policy raised this exception. Then its author needs the traceback."""
    return any(note.startswith(RAISED_BY) for note in getattr(error, "__notes__", ()))


class MatchResults(NamedTuple):
    """Games on D deals, each from S seatings, with final results. A seating has P seats."""

    totals: Ints
    """int64 [D, S, P]: points of each seat in the whole game."""
    lost: Bools
    """bool [D, S]: in the solitaire, whether the hand ran out; False for several players."""
    lengths: Ints
    """int64 [D, S]: number of actions of each game."""
    actions: Actions
    """uint16 [sum of ``lengths``]: the actions of all games, game after game, with the games of a deal together."""


@dataclass(frozen=True)
class MatchConfig:
    """The game and the deals of matches, with all defaults.

    Together with the policies they determine the results.

    Raises:
        ValueError: if the rules are not a ``Rules``, if there are too few deals for an interval, none or too many in a
            chunk, or for negative or fractional numbers.
    """

    rules: BaseRules
    domain: Domain = "benchmark"
    first: int = 0
    """Number of the first deal."""
    deals: int = 1000
    """Number of deals."""
    seed: int = 0
    """Seed of the policies' generators, see `generator`."""
    chunk: int = 250
    """Number of deals played side by side, which share a generator of each policy."""

    def __post_init__(self) -> None:
        if not isinstance(self.rules, spec_of(self.rules).Rules):
            raise ValueError(f"all games of a match have the same rules, got {self.rules}: evaluate under each of them")
        for name, least in (("first", 0), ("deals", 2), ("seed", 0), ("chunk", 1)):
            value = getattr(self, name)
            if not isinstance(value, int | np.integer) or value < least:
                raise ValueError(f"{name} must be an integer of at least {least}, got {value!r}")
            object.__setattr__(self, name, int(value))  # a NumPy integer is not a JSON value
        if self.first + self.deals > 2**63:
            raise ValueError(f"the number of a deal is at most 2**63 - 1, got first={self.first}")
        if self.chunk > (most := MAX_CHUNK // self.rules.num_players):
            raise ValueError(f"a chunk has at most {most} deals of these rules, got {self.chunk}: choose a smaller one")

    @property
    def chunks(self) -> range:
        """Numbers of the chunks."""
        return range(-(-self.deals // self.chunk))

    def deal_numbers(self, chunk: int) -> Ints:
        """Return the numbers of a chunk's deals, int64 [deals of the chunk]."""
        start, end = chunk * self.chunk, min((chunk + 1) * self.chunk, self.deals)
        return self.first + np.arange(start, end)

    def generator(self, chunk: int, policy: int) -> np.random.Generator:
        """Make a policy's generator in a chunk, seeded ``[seed, chunk, policy]``."""
        return np.random.default_rng([self.seed, chunk, policy])

    def to_json(self) -> dict[str, Any]:
        """Return all fields and the name of the game, as JSON values."""
        return {"game": spec_of(self.rules).name} | asdict(self)


def play_matches(
    policies: Sequence[Agent | None],
    seatings: Ints,
    config: MatchConfig,
    chunk: int,
    recorded: MatchResults | None = None,
    names: Sequence[str] | None = None,
) -> MatchResults:
    """Play each deal of a chunk from each seating, side by side.

    A policy that plays several seats is called once for all its positions.

    Args:
        policies: the players.
        seatings: int64 [S, P], index of the policy that plays each seat.
        config: game and deals.
        chunk: number of the chunk.
        recorded: games of this chunk that are replayed: their actions are played, and the ``actions`` of the results
            are what each policy chooses in these positions, with its generator in the same state as in the game. A
            policy may be None, for which the recorded actions stand.
        names: of the policies in errors, by default their `display_name`.

    Raises:
        IllegalAction: if a policy chooses an illegal action.
        NotFiniteError: if the numbers by which a policy chooses are NaN or infinite.
        PolicyFileError: if these are the numbers of a model in a file.
    """
    numbers, count = config.deal_numbers(chunk), len(seatings)
    rules = config.rules
    observer = make_observer(rules, preview=True)
    batch: Any = spec_of(rules).Batch(rules, len(numbers) * count, config.domain)
    batch.reset(seed=np.repeat(numbers, count))
    seated = np.tile(seatings, (len(numbers), 1))
    rngs = [config.generator(chunk, number) for number in range(len(policies))]
    playing = [None if policy is None else policy_for(policy, rules) for policy in policies]
    if recorded is not None:
        upcoming = np.cumsum(recorded.lengths) - recorded.lengths.reshape(-1)  # where each game goes on
    played, taken = [np.zeros(0, np.int64)], [np.zeros(0, np.uint16)]
    while not batch.over.all():
        rows = np.flatnonzero(~batch.over)
        movers = seated[rows, batch.mover[rows]]
        for number in np.unique(movers):
            own = rows[movers == number]
            policy, chosen = playing[number], np.zeros(0, np.int64)
            name = names[number] if names else display_name(policies[number] or "")
            if policy is not None:
                games = batch.fork(own)
                try:
                    chosen = policy(observer.observe_batch(games), games.mask, rngs[number])
                except PolicyFileError:  # it names the file, whose user has no use for a traceback
                    raise
                except NotFiniteError as error:
                    raise NotFiniteError(f"the policy {name}: {error}") from error
                except Exception as error:
                    error.add_note(f"{RAISED_BY} {name}")
                    raise
            actions = chosen if recorded is None else recorded.actions[upcoming[own]]
            try:
                batch.step(actions, own)
            except IllegalAction as error:
                if recorded is not None:
                    raise
                raise IllegalAction(f"the policy {name}: {error}") from None
            if recorded is not None:
                upcoming[own] += 1
            played.append(own)
            taken.append(np.asarray(actions if policy is None else chosen).astype(np.uint16))
    order = np.argsort(np.concatenate(played), kind="stable")
    lengths = np.bincount(np.concatenate(played), minlength=len(seated))
    lost = batch.lost if rules.num_players == 1 else np.zeros_like(batch.over)
    games_of_deals = len(numbers), count
    return MatchResults(
        batch.totals.reshape(*games_of_deals, -1),
        lost.reshape(games_of_deals),
        lengths.reshape(games_of_deals),
        np.concatenate(taken)[order],
    )


def concatenate(results: Iterable[MatchResults]) -> MatchResults:
    """Join the results of several chunks along the axis of deals."""
    return MatchResults(*map(np.concatenate, zip(*results, strict=True)))


def one_against_others(policies: int, num_players: int) -> list[int]:
    """Return the lineup of policy 0 against others. The last of one or two policies plays all other seats."""
    return [0] + [policies - 1] * (num_players - 1)


def seatings(lineup: Sequence[int]) -> Ints:
    """Return all distinct ways to seat a lineup, int64 [S, P].

    Where all its policies differ, these are only the rotations.

    >>> seatings([0, 1, 1]).tolist()
    [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    >>> seatings([0, 1, 2]).tolist()
    [[0, 1, 2], [1, 2, 0], [2, 0, 1]]
    """
    if len(set(lineup)) == len(lineup):
        return np.array([np.roll(lineup, -seat) for seat in range(len(lineup))])
    return np.array(sorted(set(itertools.permutations(lineup))))
