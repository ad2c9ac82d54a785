"""Batched matches on numbered deals for evaluations, comparisons and tournaments."""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from quincunx_env.core.arrays import Bools, Ints
from quincunx_env.core.deal import Domain, check_domain
from quincunx_env.core.integers import with_checked_names
from quincunx_env.core.policy import Agent, choose, naming, policy_for, policy_generator
from quincunx_env.core.rules import BaseRules
from quincunx_env.policies import PolicyFileError, display_name
from quincunx_env.policies.chat import FORFEIT, ChatPlayer
from quincunx_env.policies.conversations import Conversations
from quincunx_env.registry import observer_of, spec_of

Actions = npt.NDArray[np.uint16]

MAX_CHUNK = 10_000
"""Seats of the games that are played side by side, which limits the memory. Not tuned."""


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


@with_checked_names
@dataclass(frozen=True)
class Deals:
    """Numbered deals of a domain, ``first`` to ``first + count - 1``.

    Raises:
        ValueError: if there are too few deals for an interval, for a wrong number, or for an unknown domain.
    """

    count: int = 1000
    """Number of deals, at least 2."""
    domain: Domain = "benchmark"
    """Domain of the deals; choose between policies on ``validation`` deals."""
    first: int = 0
    """Number of the first deal."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "first", _at_least(0, "first", self.first))
        object.__setattr__(self, "count", _at_least(2, "deals", self.count))
        check_domain(self.domain)
        if self.first + self.count > 2**63:
            raise ValueError(f"the number of a deal is at most 2**63 - 1, got first={self.first}")

    @property
    def last(self) -> int:
        """Number of the last deal."""
        return self.first + self.count - 1

    @property
    def numbers(self) -> range:
        """Numbers of the deals."""
        return range(self.first, self.first + self.count)


@dataclass(frozen=True)
class MatchConfig:
    """The game, the deals and the seeds of matches. Together with the policies they determine the results.

    Raises:
        ValueError: if the rules are not a ``Rules``, if a chunk has no or too many deals, or for a negative or
            fractional number.
    """

    rules: BaseRules
    deals: Deals
    seed: int = 0
    """See `quincunx_env.arena.Run`."""
    chunk: int = 250
    """See `quincunx_env.arena.Run`."""

    def __post_init__(self) -> None:
        if not isinstance(self.rules, spec_of(self.rules).Rules):
            raise ValueError(f"all games of a match have the same rules, got {self.rules}: evaluate under each of them")
        object.__setattr__(self, "seed", _at_least(0, "seed", self.seed))
        object.__setattr__(self, "chunk", _at_least(1, "chunk", self.chunk))
        if self.chunk > (most := MAX_CHUNK // self.rules.num_players):
            raise ValueError(f"a chunk has at most {most} deals of these rules, got {self.chunk}: choose a smaller one")

    @property
    def chunks(self) -> range:
        """Numbers of the chunks."""
        return range(-(-self.deals.count // self.chunk))

    def deal_numbers(self, chunk: int) -> Ints:
        """Return the numbers of a chunk's deals, int64 [deals of the chunk]."""
        start, end = chunk * self.chunk, min((chunk + 1) * self.chunk, self.deals.count)
        return self.deals.first + np.arange(start, end)

    def generator(self, chunk: int, policy: int) -> np.random.Generator:
        """Make a policy's generator from seed, chunk and policy."""
        return policy_generator(self.seed, chunk, policy)

    def to_json(self) -> dict[str, Any]:
        """Return all fields and the name of the game, as JSON values."""
        game = {"game": spec_of(self.rules).name, "rules": asdict(self)["rules"]}
        deals = {"domain": self.deals.domain, "first": self.deals.first, "deals": self.deals.count}
        return game | deals | {"seed": self.seed, "chunk": self.chunk}


def _at_least(least: int, name: str, value: Any) -> int:
    if not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}, got {value!r}")
    return int(value)  # a NumPy integer is not a JSON value


def play_matches(
    policies: Sequence[Agent],
    seatings: Ints,
    config: MatchConfig,
    chunk: int,
    names: Sequence[str] | None = None,
    conversations: Conversations | None = None,
) -> MatchResults:
    """Play the deals of a chunk from each seating.

    A seat that forfeits a game for several players has at least a point less than every other one.

    The deals are played side by side, one seating after the other. Each seat of each seating has its own policy, which
    `policy_for` makes anew of the agent. A call has positions of one seat. The generator of an agent goes on through
    its seats and seatings.

    Args:
        policies: the players.
        seatings: int64 [S, P], index of the policy that plays each seat.
        config: game and deals.
        chunk: number of the chunk.
        names: of the policies in errors and conversations, by default their `display_name`.
        conversations: decisions of language models, which answer these positions again, and get the new ones.

    Raises:
        IllegalAction: if a policy chooses an illegal action.
        PolicyError: if a policy cannot choose, as by numbers that are NaN or infinite.
        PolicyFileError: if these are the numbers of a model in a file.
    """
    numbers, rules = config.deal_numbers(chunk), config.rules
    rngs = [config.generator(chunk, number) for number in range(len(policies))]
    names = names or [display_name(policy) for policy in policies]
    ends, played, taken = list[tuple[Ints, Bools]](), list[Ints](), list[Actions]()
    for seating in seatings:
        playing = [policy_for(policies[number], rules) for number in seating]
        batch: Any = spec_of(rules).Batch(rules, len(numbers), config.deals.domain)
        batch.reset(seed=numbers)
        games = np.arange(len(numbers)) * len(seatings) + len(ends)
        plies, forfeited = np.zeros(len(numbers), np.int64), np.full(len(numbers), -1)
        while not batch.over.all():
            rows = np.flatnonzero(~batch.over)
            movers = batch.mover[rows]
            for seat in np.unique(movers):
                own, number = rows[movers == seat], seating[seat]
                positions = batch.fork(own)
                policy = playing[seat]
                with naming(names[number], PolicyFileError):
                    seen = observer_of(policy, rules).observe_batch(positions)
                    if isinstance(policy, ChatPlayer):
                        game = {"policy": names[number], "seating": len(ends), "seat": int(seat)}
                        where = zip(numbers[own].tolist(), plies[own].tolist(), strict=True)
                        places = [{**game, "deal": deal, "ply": ply} for deal, ply in where]
                        chosen = policy.choose(seen, rngs[number], places, conversations)
                        forfeited[own[chosen == FORFEIT]] = seat
                        batch.forfeit(own[chosen == FORFEIT])
                        own, chosen = own[chosen != FORFEIT], chosen[chosen != FORFEIT]
                    else:
                        chosen = choose(policy, seen, positions.mask, rngs[number])
                    batch.step(chosen, own)
                plies[own] += 1
                played.append(games[own])
                taken.append(chosen.astype(np.uint16))
        totals = batch.totals
        for row in np.flatnonzero(forfeited >= 0) if rules.num_players > 1 else ():
            others = np.delete(totals[row], forfeited[row])
            totals[row, forfeited[row]] = min(totals[row, forfeited[row]], others.min() - 1)
        ends.append((totals, batch.lost if rules.num_players == 1 else np.zeros_like(batch.over)))
    of_actions = np.concatenate(played)
    lengths = np.bincount(of_actions, minlength=len(numbers) * len(seatings)).reshape(len(numbers), -1)
    totals, lost = (np.stack(each, axis=1) for each in zip(*ends, strict=True))
    return MatchResults(totals, lost, lengths, np.concatenate(taken)[np.argsort(of_actions, kind="stable")])


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
