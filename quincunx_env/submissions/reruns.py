"""Asking a policy again in games under its name."""

import math
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from quincunx_env.arena.games import Games, LineupGames
from quincunx_env.arena.matches import MatchConfig, MatchResults, play_matches
from quincunx_env.arena.runner import Progress
from quincunx_env.arena.timing import Metered
from quincunx_env.core.arrays import Bools, Ints
from quincunx_env.core.observation import Pieces
from quincunx_env.core.policy import Agent, Policy, policy_for
from quincunx_env.core.rules import BaseRules
from quincunx_env.notation.text import print_action
from quincunx_env.policies import resolve
from quincunx_env.registry import make_observer, spec_of

POSITIONS = 200
"""Least number of positions in which a policy is asked again. A policy that plays at least 2 % of its actions
differently agrees in all of them with a probability of less than 2 %."""

DRAWN = 100
"""Positions drawn at once; a stochastic policy need not be asked in more before its chunks are replayed."""

FORGED = MISSED = Fraction(1, 20)
"""A share `FORGED` of forged chunks, or more, is missed with a probability below `MISSED`."""


@dataclass(frozen=True)
class Rerun:
    """Agreement of a policy with a file's actions under its name."""

    name: str
    positions: int
    """Positions in which the policy was asked."""
    equal: int
    """Positions in which it chose the recorded action."""
    chunks: int
    """Whole chunks that were replayed for it; 0 where it agreed in single positions."""
    of_chunks: int
    """Chunks with games of the policy."""
    different: int
    """Replayed chunks in which it chose another action."""
    difference: str
    """The first action that differs."""

    @property
    def agrees(self) -> bool:
        """Whether the policy chose the recorded action wherever it was asked."""
        return not self.different

    @property
    def counted(self) -> str:
        """The number of chunks, or single positions, that were asked again."""
        if not self.chunks:
            return f"{self.equal} of {self.positions} actions equal"
        verdict = f"{self.different} different" if self.different else "all equal"
        return f"{self.chunks} of {self.of_chunks} chunks asked again, {verdict}"

    def __str__(self) -> str:
        return f"{self.name}: {self.counted}" + (f"; {self.difference}" if self.difference else "")


class Apart:
    """An agent in another process.

    It gets observations, masks and generators alone.

    Args:
        policy: its name, or a file.
        pool: the process.
    """

    def __init__(self, policy: Agent | str, pool: Executor) -> None:
        self.policy, self.pool = policy, pool

    def for_rules(self, rules: BaseRules) -> Policy:
        """Return the policy for games with these rules."""

        def choose(observation: Pieces, mask: Bools, rng: np.random.Generator) -> Ints:
            chosen, rng.bit_generator.state = self.pool.submit(
                _answer, self.policy, rules, observation, mask, rng
            ).result()
            return chosen

        return choose


def _answer(
    policy: Any, rules: BaseRules, observation: Pieces, mask: Bools, rng: np.random.Generator
) -> tuple[Ints, Any]:
    """Return the actions, and the state of the generator after them."""
    chosen = np.asarray(_loaded(policy, rules)(observation, mask, rng))
    return chosen, rng.bit_generator.state


@cache
def _loaded(policy: Any, rules: BaseRules) -> Policy:
    return policy_for(resolve(policy), rules)


def draw(chunks: int, rng: np.random.Generator) -> Ints:
    """Draw the chunks in which a stochastic policy is asked again, int64 [n].

    Their order is random, and they are drawn without replacement. If at least a share `FORGED` of all is forged, and at
    least one, they contain a forged one with a probability above 1 - `MISSED`. n is the smallest number for this: of up
    to twenty chunks all.

    Args:
        chunks: number of all chunks.
        rng: draws them.
    """
    forged, missed, needed = math.ceil(chunks * FORGED), Fraction(1), 0
    while missed >= MISSED:  # the next chunk is a true one, too
        missed *= 1 - Fraction(forged, chunks - needed)
        needed += 1
    return rng.permutation(chunks)[:needed]


def rerun(
    records: Games,
    name: str,
    policy: Agent | str,
    positions: int = POSITIONS,
    seed: int | None = None,
    progress: Progress = iter,
) -> Rerun:
    """Ask a policy again in games of a verified file.

    Positions are drawn at random from all games of the policy. A policy that leaves nothing to chance must choose the
    recorded action in each of them. Where it does not, the chunk is replayed, and with it the chunks that `draw` draws
    from all lineups. In a chunk every call of the policy gets the same positions and random numbers as in the games.
    There a stochastic policy must choose the recorded actions, too.

    Args:
        records: the file.
        name: of the policy in the file.
        policy: the policy, or its name as `quincunx_env.arena.resolve` takes it.
        positions: least number of positions; all positions of the policy if there are fewer.
        seed: seed of the draws; by default they cannot be predicted.
        progress: wraps the iteration over the chunks, as ``tqdm`` does.

    Raises:
        ValueError: if the file has no policy of this name, or the policy is unknown.
    """
    lineups = [each for each in records.lineups if name in each.policies]
    if not lineups:
        known = ", ".join(sorted({name for each in records.lineups for name in each.policies}))
        raise ValueError(f"the file has no games of {name!r}, but of {known}")
    config, rng, rules = records.config, np.random.default_rng(seed), records.config.rules
    asked = Metered(policy_for(resolve(policy), rules))
    ends, suspect = np.cumsum([len(each.actions) for each in lineups]), -1
    order = rng.permutation(int(ends[-1]))
    for block in np.split(order, range(DRAWN, len(order), DRAWN)):
        for which in np.unique(drawn_from := np.searchsorted(ends, block, "right")):
            lineup = lineups[which]
            games = _disagreeing(config, lineup, name, asked, block[drawn_from == which] - ends[which], rng)
            if len(games):
                suspect = int(which) * len(config.chunks) + int(games[0]) // len(lineup.seatings) // config.chunk
        if suspect >= 0 or asked.actions >= positions:
            break
    chunks = len(lineups) * len(config.chunks)
    if suspect < 0:
        return Rerun(name, asked.actions, asked.actions, 0, chunks, 0, "")
    replayed = dict.fromkeys([suspect, *draw(chunks, rng).tolist()])
    again, wrong_actions, wrong_chunks, difference = Metered(asked.policy), 0, 0, ""
    for number in progress(replayed):
        lineup, chunk = lineups[number // len(config.chunks)], number % len(config.chunks)
        players = [again if each == name else None for each in lineup.policies]
        recorded, start = _chunk(config, lineup, chunk)
        chosen = play_matches(players, lineup.seatings, config, chunk, recorded).actions
        differing = np.flatnonzero(chosen != recorded.actions)
        wrong_actions, wrong_chunks = wrong_actions + len(differing), wrong_chunks + (len(differing) > 0)
        if len(differing) and not difference:
            first = int(differing[0])
            difference = _difference(config, lineup, start + first, int(chosen[first]))
    equal = again.actions - wrong_actions
    return Rerun(name, again.actions, equal, len(replayed), chunks, wrong_chunks, difference)


def _disagreeing(
    config: MatchConfig, lineup: LineupGames, name: str, policy: Callable[..., Any], at: Ints, rng: np.random.Generator
) -> Ints:
    """Ask a policy in positions of a lineup.

    Returns int64, the games in which it does not choose the recorded action.

    Args:
        config: rules and deals.
        lineup: games that have been verified.
        name: of the policy.
        policy: the policy.
        at: int64 [n], where the actions stand in the lineup, from its end if negative. Actions of others are left out.
        rng: for the policy.
    """
    at, starts = at % len(lineup.actions), lineup.starts
    games = np.searchsorted(starts, at, "right") - 1
    numbers, taken = config.first + games // len(lineup.seatings), at - starts[games]
    batch: Any = spec_of(config.rules).Batch(config.rules, len(at), config.domain)
    batch.reset(seed=numbers)
    for number in range(int(taken.max())):
        rows = np.flatnonzero(taken > number)
        batch.step(lineup.actions[starts[games[rows]] + number], rows)
    own = lineup.seatings[games % len(lineup.seatings), batch.mover] == lineup.policies.index(name)
    if not own.any():
        return np.zeros(0, np.int64)
    positions = batch.fork(own)
    observation = make_observer(config.rules, preview=True).observe_batch(positions)
    chosen = np.asarray(policy(observation, positions.mask, rng))
    wrong: Ints = games[own][chosen != lineup.actions[at[own]]]
    return wrong


def _chunk(config: MatchConfig, lineup: LineupGames, chunk: int) -> tuple[MatchResults, int]:
    """Return the played games of a chunk, and where their actions begin."""
    deals, seatings = len(config.deal_numbers(chunk)), len(lineup.seatings)
    games = slice(chunk * config.chunk * seatings, (chunk * config.chunk + deals) * seatings)
    lengths, start = lineup.lengths[games], int(lineup.starts[games.start])
    return (
        MatchResults(
            lineup.totals[games].reshape(deals, seatings, -1),
            np.zeros((deals, seatings), np.bool_),
            lengths.reshape(deals, seatings),
            lineup.actions[start : start + int(lengths.sum())],
        ),
        start,
    )


def _difference(config: MatchConfig, lineup: LineupGames, at: int, chosen: int) -> str:
    """Describe an action that is not the policy's."""
    game = int(np.searchsorted(lineup.starts, at, "right")) - 1
    deal, start = config.first + game // len(lineup.seatings), int(lineup.starts[game])
    one: Any = spec_of(config.rules).Game.from_seed(config.rules, deal, 0, config.domain)
    for action in lineup.actions[start:at].tolist():
        one.step(action)
    try:
        own = print_action(one, chosen)
    except ValueError:
        own = f"the illegal action {chosen}"
    recorded = print_action(one, int(lineup.actions[at]))
    return f"deal {deal}, play {at - start + 1}: the file has {recorded}, the policy chooses {own}"
