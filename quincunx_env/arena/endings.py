"""Points lost in the last three plays of the solitaire, computed exactly.

The player knows grid and hand, and every set of unseen cards is equally likely to be drawn. So few plays before the end
the expected points of every action can be computed, and what an action loses against the best one.
"""

from functools import cache, partial
from importlib.metadata import entry_points
from typing import Any

import numpy as np

from quincunx_env.arena.matches import MatchConfig, MatchResults
from quincunx_env.arena.replays import Replay, measure_replays
from quincunx_env.arena.runner import Run
from quincunx_env.core.arrays import Floats
from quincunx_env.core.rules import BaseRules
from quincunx_env.registry import spec_of

GROUP = "quincunx_env.policies.exact"
"""The group of entry points. The one of a game's name is a function ``(games, lost_value=0.0)``, see `exact_values`."""

PLAYS = 3
"""Number of last plays."""


@cache
def _solver(game: str) -> Any:
    found = [*entry_points(group=GROUP, name=game)]
    return found[0].load() if found else None


def solves(rules: BaseRules, plays_left: int) -> bool:
    """Return whether `exact_values` takes positions under these rules with so many plays left."""
    return rules.num_players == 1 and 0 < plays_left <= PLAYS and _solver(spec_of(rules).name) is not None


def exact_values(games: Any, lost_value: float = 0.0) -> Floats:
    """Return expected final points of each action under optimal play, float64 [B, A]; -inf for illegal actions.

    Args:
        games: a batch of B solitaires in progress, with 1 to `PLAYS` plays left, all with the same number.
        lost_value: value of a lost round.

    Raises:
        ValueError: for other games, or if no package that solves them is installed.
    """
    solver = _solver(spec_of(games.rules).name)
    if solver is None:
        raise ValueError(f"no exact values for {games.rules}: install a package with an entry point of {GROUP}")
    values: Floats = solver(games, lost_value)
    return values


def points_lost(results: MatchResults, config: MatchConfig, lost_value: float = 0.0, run: Run = Run()) -> Floats:
    """Return what each of the last plays loses against the best one, float64 [D, PLAYS], ascending by ply.

    It takes about 20 ms of processor time a game. Plays that a lost round has not reached are NaN.

    Args:
        results: D games of the solitaire.
        config: rules and deals.
        lost_value: value of a lost round.
        run: its ``workers`` and ``progress`` are used.

    Raises:
        ValueError: for rules of several players, or if no package that solves them is installed.
    """
    return np.concatenate(measure_replays(partial(_points_lost, lost_value), results, config, run))


def _points_lost(lost_value: float, replay: Replay) -> Floats:
    """Measure the games of a chunk, [D, PLAYS]."""
    games = replay.games
    lost, first = np.full((games.num_games, PLAYS), np.nan), games.rules.num_plays - PLAYS
    for play, rows, actions in replay.plays():
        if play >= first:
            values = exact_values(games.fork(rows), lost_value)
            lost[rows, play - first] = values.max(axis=1) - values[np.arange(len(rows)), actions]
        games.step(actions, rows)
    return lost
