"""Verification of files of games, by replaying.

A verified file shows that its games follow the rules from their numbered deals, and that its figures follow from the
games. It does not show who chose the actions, or what they knew: numbered deals are public.
"""

import math
import reprlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from quincunx_env.arena.comparison import Comparison
from quincunx_env.arena.evaluation import MOST_POINTS, Evaluation
from quincunx_env.arena.games import Games, LineupGames
from quincunx_env.arena.matches import MatchConfig
from quincunx_env.core.arrays import Bools, Ints
from quincunx_env.notation.record import RecordError
from quincunx_env.registry import spec_of

BLOCK = 10_000
"""Games replayed side by side, which bounds the memory. Not tuned."""

TOLERANCE = 1e-9
"""Relative difference of figures that count as equal: sums of floats in another order."""


class VerificationError(RecordError):
    """The recorded games do not match the file's claims. The message names the first difference."""


def verify(games: Games) -> list[Evaluation | Comparison]:
    """Replay all games of a file, and recompute its figures from them.

    Returns:
        The figures of each lineup: of an evaluation for the solitaire, otherwise of a comparison.

    Raises:
        VerificationError: naming the first game that is not what the file claims, or the first wrong figure; for a file
            of one chunk.
        ImportError: without SciPy.
    """
    if games.part is not None:
        raise VerificationError(f"the file has the games of chunk {games.part} alone: verify one with all games")
    results, before = list[Evaluation | Comparison](), 0
    for lineup in games.lineups:
        _verify_games(games, lineup, before)
        results.append(_verify_figures(games.config, lineup))
        before += len(lineup.lengths)
    return results


def _verify_games(games: Games, lineup: LineupGames, before: int) -> None:
    """Replay the games of a lineup, and check the claimed points. ``before`` counts the games before it in the file."""
    deals, number, seatings = games.config.deals, len(lineup.lengths), len(lineup.seatings)
    if number != deals.count * seatings:
        raise VerificationError(f"{lineup}: {deals.count} deals make {deals.count * seatings} games, got {number}")
    totals, lost, whole = _replay(games.config, lineup)
    wrong = ~whole | (lost != lineup.lost) | (totals != lineup.totals).any(axis=1)
    if not wrong.any():
        return
    first = int(wrong.argmax())
    try:
        game = games.record(before + first).game()
        claimed, found = lineup.totals[first].tolist(), totals[first].tolist()
        if not game.over:
            fault = f"the game has not ended after its last play, number {lineup.lengths[first]}"
        elif claimed != found:
            fault = f"the file claims {_points(claimed)}, the game has {_points(found)}"
        else:
            fault = f"the file claims lost={lineup.lost[first]}, the game has lost={lost[first]}"
    except RecordError as error:
        fault = str(error)
    raise VerificationError(f"{lineup}: deal {deals.first + first // seatings}, {fault}")


def _replay(config: MatchConfig, lineup: LineupGames) -> tuple[Ints, Bools, Bools]:
    """Replay G games of a lineup as far as they are legal.

    Returns:
        int64 [G, P], points of each seat.
        bool [G], whether the hand ran out in the solitaire; False for several players.
        bool [G], whether all actions are legal and the last one ends the game.
    """
    blocks = []
    for start in range(0, len(lineup.lengths), BLOCK):
        games = np.arange(start, min(start + BLOCK, len(lineup.lengths)))
        starts, lengths, legal = lineup.starts[games], lineup.lengths[games], np.ones(len(games), np.bool_)
        batch: Any = spec_of(config.rules).Batch(config.rules, len(games), config.deals.domain)
        batch.reset(seed=config.deals.first + games // len(lineup.seatings))
        for number in range(int(lengths.max())):
            rows = np.flatnonzero(legal & (lengths > number))
            taken = lineup.actions[starts[rows] + number].astype(np.int64)
            legal[rows] = allowed = batch.is_legal(taken, rows)
            batch.step(taken[allowed], rows[allowed])
        lost = batch.lost if config.rules.num_players == 1 else np.zeros_like(legal)
        blocks.append((batch.totals, lost, legal & batch.over))
    totals, lost, whole = map(np.concatenate, zip(*blocks, strict=True))
    return totals, lost, whole


def _points(points: list[int]) -> str:
    return f"{' and '.join(map(str, points))} points"


def _verify_figures(config: MatchConfig, lineup: LineupGames) -> Evaluation | Comparison:
    """Compare the claimed figures of a lineup with its points."""
    if config.rules.num_players == 1:
        lost_value: Any = lineup.claims.get("lost_value")
        if type(lost_value) not in (int, float) or not abs(lost_value) <= MOST_POINTS:
            shown = reprlib.repr(lost_value)
            raise VerificationError(f"{lineup}: the value of a lost round must be a number, got {shown}")
        result: Evaluation | Comparison = Evaluation.from_results(lineup.results, config.rules, lost_value)
    else:
        result = Comparison.from_results(lineup.policies, lineup.seats, lineup.results, config)
    for name, claimed, found in _differences(lineup.claims, result.figures()):
        raise VerificationError(f"{lineup}: the file claims {name} {claimed}, its games have {found}")
    return result


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
