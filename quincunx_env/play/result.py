"""Points of a game, and how they compare with games of agents."""

import csv
from bisect import bisect_left
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from quincunx_env.arena.benchmark import TASKS
from quincunx_env.core.game import SomeGame
from quincunx_env.core.policy import Agent
from quincunx_env.core.rules import BaseRules
from quincunx_env.notation.record import HUMAN, Record
from quincunx_env.play.session import Session, level_of
from quincunx_env.registry import spec_of
from quincunx_env.utils.files import package_file

POLICY = "heuristic"
"""The policy whose points are stored, in all seats."""

SCORES = package_file("quincunx_env.play", "heuristic_scores.csv")
"""Points of `POLICY` at the tasks of the benchmark, on their final deals; written by ``docs/heuristic_scores.py``.

:meta hide-value:
"""

COLUMNS = ("task", "mean", "percentiles")


class StoredScores(NamedTuple):
    """Points of a seat in games of `POLICY`."""

    mean: float
    percentiles: Sequence[int]
    """Percentiles 1 to 99, ascending."""

    def percent_below(self, points: int) -> int:
        """Return how many of 100 games have fewer points."""
        return bisect_left(self.percentiles, points)


@cache
def stored_scores() -> dict[str, StoredScores]:
    """Return the stored points by task."""
    with SCORES.open(encoding="utf-8", newline="") as file:
        _, *rows = csv.reader(file)
    return {task: StoredScores(float(mean), [*map(int, percentiles.split())]) for task, mean, percentiles in rows}


def scores_of(rules: BaseRules) -> StoredScores | None:
    """Return the stored points for these rules; None if no task of the benchmark has them."""
    return next((stored_scores()[task.name] for task in TASKS.values() if task.rules == rules), None)


def your_seat(names: Sequence[str]) -> int | None:
    """Return the seat of the only human; None for none or several."""
    humans = [seat for seat, name in enumerate(names) if name == HUMAN]
    return humans[0] if len(humans) == 1 else None


def points_of(game: SomeGame, seat: int) -> int | None:
    """Return the points of a seat at the end; None for a lost solitaire and an unfinished game."""
    if not game.decided or (game.rules.num_players == 1 and spec_of(game.rules).notation.public_state(game)["lost"]):
        return None
    return game.totals[seat]


def points_on_the_same_deal(record: Record, agent: Agent | str, others: Sequence[Agent | str | None]) -> int | None:
    """Return an agent's points in the human's seat on the same deals.

    Args:
        record: the game.
        agent: the agent.
        others: the players by seat, as a `Session` takes them.

    Raises:
        ValueError: if the agent cannot play by these rules, or there is no seat of a single human.
    """
    seat = your_seat(record.seats)
    if seat is None:
        raise ValueError("the game has no single human: an agent cannot take the seat")
    players = [agent if player is None else player for player in others]
    session = Session(record.rules, players, record.dealt)
    while session.mover is not None:
        session.play(session.choose())
    return points_of(session.game, seat)


def comparison(rules: BaseRules, points: int | None, level: str = "", reached: int | None = None) -> list[str]:
    """Compare points in sentences.

    Args:
        rules: the rules of the game.
        points: the points of the player; None if they do not count.
        level: the level of an agent that played the same deals; empty if none did.
        reached: its points.

    >>> from quincunx_env import Rules
    >>> comparison(Rules(), 134, "Hard", 151)
    ['Medium averages 131 points; 51 of 100 of its games have fewer than yours.', 'Hard reached 151 on this deal.']
    """
    sentences, stored = [], scores_of(rules)
    if stored:
        parts = [f"{level_of(rules, POLICY)} averages {stored.mean:z.0f} points"]
        if points is not None:
            share = stored.percent_below(points)
            fewer = (
                f"{share} of 100 of its games have fewer than yours" if share else "nearly all of its games have more"
            )
            parts.append(fewer)
        sentences.append(f"{'; '.join(parts)}.")
    if level:
        result = "lost the round" if reached is None else f"reached {reached}"
        sentences.append(f"{level} {result} on this deal.")
    return sentences
