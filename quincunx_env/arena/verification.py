"""Verification of files of games, by replaying and asking policies again.

`verify` replays every game through the engine. It shows that the games are legal and have the claimed points and
figures. It also shows that each game of the numbered deals is there once, and played to its end. It does not show who
chose the actions. Numbered deals are public, and a player who knows the pile can choose better than any policy that
does not. `rerun` asks the named policy for its actions in positions of these games, and so shows that.
`quincunx_env.arena.sealed` verifies games on sealed deals, which no policy could know.
"""

import itertools
import math
import reprlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from quincunx_env.arena.comparison import Comparison
from quincunx_env.arena.evaluation import Evaluation
from quincunx_env.arena.games import Games, LineupGames
from quincunx_env.arena.matches import MatchConfig, MatchResults, one_against_others, play_matches
from quincunx_env.arena.timing import Metered
from quincunx_env.core.arrays import Bools, Ints
from quincunx_env.core.deal import DOMAINS
from quincunx_env.core.game import IllegalAction
from quincunx_env.core.policy import Agent, policy_for
from quincunx_env.core.rules import BaseRules
from quincunx_env.notation.record import RecordError
from quincunx_env.notation.text import print_action
from quincunx_env.policies import resolve
from quincunx_env.registry import make_observer, spec_of

BLOCK = 10_000
"""Games replayed side by side, which bounds the memory. Not tuned."""

POSITIONS = 200
"""Least number of positions in which a policy is asked again. A policy that plays at least 2 % of its actions
differently agrees in all of them with a probability of less than 2 %."""

DRAWN = 100
"""Positions drawn at once; a stochastic policy need not be asked in more before its chunks are replayed."""

FORGED = MISSED = Fraction(1, 20)
"""A share `FORGED` of forged chunks, or more, is missed with a probability below `MISSED`."""

MOST_POINTS = 1e6
"""Greatest absolute value of a lost round in a file; no game has as many points."""

TOLERANCE = 1e-9
"""Relative difference of figures that count as equal: sums of floats in another order."""


class VerificationError(RecordError):
    """The recorded games do not match the file's claims. The message names the first game at fault."""


# --- Replaying -------------------------------------------------------------------------------------------------------


class Replay(NamedTuple):
    """n games after their recorded actions."""

    totals: Ints
    """int64 [n, P]: points of each seat."""
    lost: Bools
    """bool [n]: in the solitaire, whether the hand ran out; False for several players."""
    faults: Ints
    """int64 [n]: number of the first action, from 0, that is illegal or follows the end of the game. Where the game has
    not ended it is the number of actions; -1 for a whole game."""


def replay(
    rules: BaseRules, domain: Any, numbers: Ints, starts: Ints, lengths: Ints, actions: npt.NDArray[Any]
) -> Replay:
    """Replay n games side by side.

    Args:
        rules: of the games.
        domain: of the numbered deals.
        numbers: int64 [n], number of the deal of each game.
        starts: int64 [n], where in ``actions`` each game begins.
        lengths: int64 [n], number of actions of each game.
        actions: integers, the actions of all games.
    """
    blocks = [Replay(np.zeros((0, rules.num_players), np.int64), np.zeros(0, np.bool_), np.zeros(0, np.int64))]
    for block in range(0, len(numbers), BLOCK):
        own = slice(block, block + BLOCK)
        first, count = starts[own], lengths[own]
        batch: Any = spec_of(rules).Batch(rules, len(count), domain)
        batch.reset(seed=numbers[own])
        faults = np.full(len(count), -1)
        for number in range(int(count.max())):
            rows = np.flatnonzero((count > number) & (faults < 0))
            taken = actions[first[rows] + number].astype(np.int64)
            legal = batch.is_legal(taken, rows)
            faults[rows[~legal]] = number
            batch.step(taken[legal], rows[legal])
        unfinished = ~batch.over & (faults < 0)
        faults[unfinished] = count[unfinished]
        lost = batch.lost if rules.num_players == 1 else np.zeros_like(batch.over)
        blocks.append(Replay(batch.totals, lost, faults))
    return Replay(*map(np.concatenate, zip(*blocks, strict=True)))


# --- Verification ----------------------------------------------------------------------------------------------------


def verify(records: Games) -> list[Evaluation | Comparison]:
    """Replay all games of a file, and recompute its figures from them.

    Returns:
        The figures of each lineup: of an evaluation for the solitaire, otherwise of a comparison.

    Raises:
        VerificationError: naming the first game that is not what the file claims, or the first wrong figure; for a file
            of one chunk.
        ImportError: without SciPy.
    """
    if records.part is not None:
        raise VerificationError(f"the file has the games of chunk {records.part} alone: verify one with all games")
    _require_complete(records)
    return [_verify_lineup(records.config, each) for each in records.lineups]


def _require_complete(records: Games) -> None:
    """Check that no policy or pair is missing or occurs twice.

    An evaluation has each policy once. A tournament has each pair once, for more than two players each ordered pair.

    Raises:
        VerificationError: naming a lineup that is missing, occurs twice, or is of no tournament.
    """
    players, found = records.config.rules.num_players, [lineup.policies for lineup in records.lineups]
    if players > 1:
        if len(found) == 1:
            return  # a comparison, whose lineup is free
        for lineup in records.lineups:
            if [*lineup.seats] != one_against_others(2, players):
                raise VerificationError(f"{lineup}: a tournament has lineups of one policy against another")
    if players == 2:
        found = [(min(pair), max(pair)) for pair in found]
    names = sorted({name for lineup in found for name in lineup})
    if twice := [each for each, count in Counter(found).items() if count > 1]:
        raise VerificationError(f"the file has the games of {' against '.join(twice[0])} twice")
    if players > 1:
        arrange = itertools.combinations if players == 2 else itertools.permutations
        for pair in arrange(names, 2):
            if pair not in found:
                raise VerificationError(f"the games of {' against '.join(pair)} are missing in the tournament")


def _verify_lineup(config: MatchConfig, lineup: LineupGames) -> Evaluation | Comparison:
    results = _replay_lineup(config, lineup)
    if config.rules.num_players == 1:
        lost_value: Any = lineup.claims.get("lost_value")
        if type(lost_value) not in (int, float) or not abs(lost_value) <= MOST_POINTS:
            raise VerificationError(
                f"{lineup}: the value of a lost round must be a number, got {reprlib.repr(lost_value)}"
            )
        result: Evaluation | Comparison = Evaluation.of_results(results, lost_value)
    else:
        result = Comparison(lineup.policies, lineup.seatings, results.totals, config)
    for name, claimed, found in _differences(
        lineup.claims, result.to_json() if isinstance(result, Evaluation) else result.figures()
    ):
        raise VerificationError(f"{lineup}: the file claims {name} {claimed}, its games have {found}")
    return result


def _replay_lineup(config: MatchConfig, lineup: LineupGames) -> MatchResults:
    """Replay the games of a lineup, and check the claimed points."""
    seatings, games = len(lineup.seatings), len(lineup.lengths)
    numbers = np.repeat(config.first + np.arange(config.deals), seatings)
    known = min(games, len(numbers))
    replayed = replay(
        config.rules, config.domain, numbers[:known], lineup.starts[:known], lineup.lengths[:known], lineup.actions
    )
    differing = (replayed.totals != lineup.totals[:known]).any(axis=1) | (replayed.lost != lineup.lost[:known])
    wrong = np.flatnonzero((replayed.faults >= 0) | differing)
    if len(wrong):
        raise VerificationError(_describe(config, lineup, int(wrong[0]), numbers, replayed))
    if games < len(numbers):
        raise VerificationError(f"{lineup}: {games} games of {len(numbers)}, one of deal {numbers[games]} is missing")
    if games > len(numbers):
        raise VerificationError(f"{lineup}: {games} games instead of {len(numbers)}, after deal {numbers[-1]}")
    return lineup.results


def _describe(config: MatchConfig, lineup: LineupGames, game: int, numbers: Ints, replayed: Replay) -> str:
    """Describe the fault of a game, and which game it is instead."""
    fault, deal = int(replayed.faults[game]), numbers[game]
    if fault < 0:
        claimed, found = lineup.totals[game].tolist(), replayed.totals[game].tolist()
        reason = f"the file claims {_points(claimed)}, the game has {_points(found)}"
        if claimed == found:
            reason = f"the file claims lost={lineup.lost[game]}, the game has lost={replayed.lost[game]}"
    elif fault == lineup.lengths[game]:
        reason = f"the game has not ended after its last play, number {fault}"
    else:
        reason = f"play {fault + 1} is illegal: {_illegal(config, lineup, game, int(deal), fault)}"
    text = f"{lineup}: deal {deal}, {reason}"
    origin = next(_origins(config, lineup, game, int(deal)), "")
    if len(lineup.lengths) < len(numbers):
        text = f"{lineup}: {len(lineup.lengths)} games of {len(numbers)}, one of deal {deal} is missing"
    return f"{text}; {origin}" if origin else text


def _points(points: list[int]) -> str:
    return f"{' and '.join(map(str, points))} points"


def _illegal(config: MatchConfig, lineup: LineupGames, game: int, deal: int, fault: int) -> str:
    """Say why an action is illegal, in the words of the engine."""
    start = int(lineup.starts[game])
    one: Any = spec_of(config.rules).Game.from_seed(config.rules, deal, 0, config.domain)
    try:
        for action in lineup.actions[start : start + fault + 1].tolist():
            if not one.over:
                one.step(action)
    except IllegalAction as error:
        return str(error)
    return "the game has ended"


def _origins(config: MatchConfig, lineup: LineupGames, game: int, deal: int) -> Iterator[str]:
    """Yield other deals, domains and rules that fit a game. Under them the game is legal and has the claimed points."""
    start, length = lineup.starts[game], lineup.lengths[game]
    actions, totals = lineup.actions[start : start + length], lineup.totals[game]

    def fits(rules: BaseRules, domain: str, numbers: Ints) -> Bools:
        at, lengths = np.zeros(len(numbers), np.int64), np.full(len(numbers), length)
        found = replay(rules, domain, numbers, at, lengths, actions)
        fitting: Bools = (found.faults < 0) & (found.totals == totals).all(axis=1)
        return fitting

    near = np.unique(np.concatenate([np.arange(BLOCK), config.first + np.arange(min(config.deals, BLOCK))]))
    near = near[near != deal]
    for number in near[fits(config.rules, config.domain, near)]:
        at = int(number - config.first) * len(lineup.seatings) + game % len(lineup.seatings)
        known = 0 <= at < len(lineup.starts)
        repeats = known and np.array_equal(lineup.actions[lineup.starts[at] :][:length], actions)
        yield f"it {'repeats' if repeats else 'is'} the game of deal {number}"
    here = np.array([deal])
    for domain in DOMAINS:
        if domain != config.domain and fits(config.rules, domain, here).all():
            yield f"it is a game of the domain {domain}"
    for option, rules in _changed_rules(config.rules):
        if fits(rules, config.domain, here).all():
            yield f"it is a game with {option}"


def _changed_rules(rules: BaseRules) -> Iterator[tuple[str, BaseRules]]:
    """Yield rules for as many players that differ in one option."""
    options: Any = rules
    for option in fields(options):
        value = getattr(options, option.name)
        for other in (True, False) if isinstance(value, bool) else get_args(option.type):
            if other != value:
                try:
                    yield f"{option.name}={other}", replace(options, **{option.name: other})
                except ValueError:
                    continue  # not together with the other options


def _differences(claimed: Any, found: Any, name: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield differing figures: name, claimed value, value of the games."""
    if isinstance(found, dict) and isinstance(claimed, Mapping) and found.keys() == claimed.keys():
        for key, value in found.items():
            yield from _differences(claimed[key], value, f"{name} {key}".strip())
    elif isinstance(found, list) and isinstance(claimed, list) and len(found) == len(claimed):
        for each, value in zip(claimed, found, strict=True):
            yield from _differences(each, value, name)
    elif not _equal(claimed, found):
        yield name or "the figures", reprlib.repr(claimed), reprlib.repr(found)


def _equal(claimed: Any, found: Any) -> bool:
    if type(claimed) not in (int, float) or not isinstance(found, int | float):
        return type(claimed) is type(found) and bool(claimed == found)
    try:
        return math.isclose(claimed, found, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    except OverflowError:  # a long integer
        return False


# --- Asking the policy again -----------------------------------------------------------------------------------------


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
        """The number of equal chunks, or of equal actions. The actions are in positions drawn at random."""
        if not self.chunks:
            return f"{self.equal} of {self.positions} actions equal"
        text = f"{self.chunks - self.different} of {self.of_chunks} chunks equal"
        return f"{text}, {self.different} different" if self.different else text

    def __str__(self) -> str:
        return f"{self.name}: {self.counted}" + (f"; {self.difference}" if self.difference else "")


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
    progress: Callable[[Iterable[Any]], Iterable[Any]] = iter,
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
    chosen = np.asarray(policy(observation, positions.mask(), rng))
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
