"""Verification of files of games, by replaying and asking policies again.

`verify` replays every game through the engine. It shows that the games are legal and have the claimed points and
figures. It also shows that each game of the numbered deals is there once, and played to its end. It does not show who
chose the actions. Numbered deals are public, and a player who knows the pile can choose better than any policy that
does not. `quincunx_env.submissions.reruns` asks the named policy for its actions in positions of these games, and so
shows that. `quincunx_env.submissions.seasons` verifies games on sealed deals, which no policy could know.
"""

import itertools
import math
import reprlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from quincunx_env.arena.benchmark import on_deals_of_a_task
from quincunx_env.arena.comparison import Comparison
from quincunx_env.arena.evaluation import Evaluation
from quincunx_env.arena.games import Games, LineupGames
from quincunx_env.arena.matches import MatchConfig, MatchResults, one_against_others
from quincunx_env.arena.runner import Progress
from quincunx_env.core.arrays import Bools, Ints
from quincunx_env.core.game import IllegalAction
from quincunx_env.core.policy import Agent
from quincunx_env.core.rules import BaseRules
from quincunx_env.notation.record import RecordError
from quincunx_env.registry import spec_of
from quincunx_env.submissions.reruns import POSITIONS, Rerun, rerun

BLOCK = 10_000
"""Games replayed side by side, which bounds the memory. Not tuned."""

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
        result: Evaluation | Comparison = Evaluation.from_results(results, lost_value)
    else:
        result = Comparison.from_results(lineup.policies, lineup.seats, results, config)
    for name, claimed, found in _differences(lineup.claims, result.figures()):
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
    """Describe the fault of a game."""
    fault, deal = int(replayed.faults[game]), numbers[game]
    if len(lineup.lengths) < len(numbers):
        return f"{lineup}: {len(lineup.lengths)} games of {len(numbers)}, one of deal {deal} is missing"
    if fault < 0:
        claimed, found = lineup.totals[game].tolist(), replayed.totals[game].tolist()
        reason = f"the file claims {_points(claimed)}, the game has {_points(found)}"
        if claimed == found:
            reason = f"the file claims lost={lineup.lost[game]}, the game has lost={replayed.lost[game]}"
    elif fault == lineup.lengths[game]:
        reason = f"the game has not ended after its last play, number {fault}"
    else:
        reason = f"play {fault + 1} is illegal: {_illegal(config, lineup, game, int(deal), fault)}"
    return f"{lineup}: deal {deal}, {reason}"


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


# --- Files -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class VerifiedFile:
    """A file of games that has been verified.

    Attributes:
        path: the file.
        records: its content.
        results: of each lineup, recomputed from its games.
        reruns: of policies that were asked again, by name.
        sealed: whether the games are on the deals of a season, by policies whose files were handed in before.
        remarks: additions to the labels of policies, by name.
        unplayed: reasons why policies of the season have no games, by name.
    """

    path: Path
    records: Games
    results: Sequence[Evaluation | Comparison]
    reruns: Mapping[str, Rerun]
    sealed: bool = False
    remarks: Mapping[str, str] = field(default_factory=dict)
    unplayed: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def check(
        cls,
        path: Path | str,
        policies: Mapping[str, Agent | str] | None = None,
        positions: int = POSITIONS,
        seed: int | None = None,
        progress: Progress = iter,
        sealed: bool = False,
    ) -> "VerifiedFile":
        """Verify a file.

        Args:
            path: the file.
            policies: policies to ask again, by name; those that the file does not name are left out.
            positions: least number of positions for each.
            seed: of the draws, as in `rerun`.
            progress: wraps the iteration over the chunks that are replayed for a policy, as ``tqdm`` does.
            sealed: as the attribute.

        Raises:
            VerificationError: naming the file and the first game at fault.
            RecordError: if the file cannot be read.
            ValueError: for an unknown policy.
            OSError: if the file cannot be read.
        """
        records, reruns = Games.read(path), {}
        try:
            results = verify(records)
        except VerificationError as error:
            raise VerificationError(f"{path}: {error}") from error
        for name, policy in (policies or {}).items():
            if any(name in lineup.policies for lineup in records.lineups):
                reruns[name] = rerun(records, name, policy, positions, seed, progress)
        return cls(Path(path), records, results, reruns, sealed)

    @property
    def differences(self) -> list[str]:
        """A line for each policy that did not choose the recorded actions."""
        return [f"{self.path}: {result}" for result in self.reruns.values() if not result.agrees]

    @property
    def ranked(self) -> bool:
        """Whether a task of the benchmark or a season gave the deals. Then the author did not choose them."""
        return self.sealed or on_deals_of_a_task(self.records.config)

    def label(self, name: str) -> str:
        """Label the checks of a policy: ``replayed``, ``rerun`` or ``sealed``."""
        result = self.reruns.get(name)
        if result is None:
            return "replayed"
        label = "replayed" if not result.agrees else "sealed" if self.sealed else "rerun"
        return f"{label}, {result.counted.removesuffix(', all equal')}" if result.chunks else label

    @property
    def games(self) -> int:
        """Number of games."""
        return sum(len(lineup.lengths) for lineup in self.records.lineups)

    @property
    def deals(self) -> str:
        """Numbers of the deals."""
        config = self.records.config
        return f"{config.first} to {config.first + config.deals - 1}"

    @property
    def checked(self) -> str:
        """The checks: legal games, and the policies that were asked again."""
        asked = ", ".join(f"{name} {result.counted}" for name, result in self.reruns.items())
        text = f"`{self.records.config.domain}` deals {self.deals}, {self.games} games replayed"
        return f"{text}; rerun: {asked}" if asked else text
