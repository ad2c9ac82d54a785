"""Expectations of the adviser, while one plays and afterwards.

>>> from quincunx_env import Game, Rules
>>> game = Game.from_seed(Rules(), seed=3)
>>> result_in_words(game, max(expected(game, "value").values()))
'ends near 187'
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from quincunx_env.arena.endings import exact_values, solves
from quincunx_env.arena.explanation import explain
from quincunx_env.core.game import SomeGame
from quincunx_env.core.policy import Agent
from quincunx_env.notation.record import Record
from quincunx_env.notation.text import print_action
from quincunx_env.play.session import alike, scored_plays
from quincunx_env.registry import spec_of

_TO_COME = {"value": True, "monte-carlo": False, "search": False}
"""Agents whose values of plays are points, and whether these are still to come; otherwise they are final."""

DEAREST = 3
"""Mistakes that are named at the end. Not tuned."""


class Judged(NamedTuple):
    """A play beside the best one by the adviser."""

    number: int
    """Number of the action, from 1."""
    best: str
    """The best play as text."""
    lost: float
    """Points by which the play's expected result lies below the best."""
    exact: bool
    """Whether these results are exact, and not the adviser's estimates."""


def expected(game: SomeGame, agent: Agent | str | None, *also: int) -> dict[int, float]:
    """Return an agent's expected results of legal plays, by action.

    A result is the final score, 0 for a lost solitaire; among several players the lead at the end. An agent may value
    the most promising plays alone, but values those in ``also``. There are none if its values are not points.
    """
    plays = scored_plays(game)
    if not (isinstance(agent, str) and agent in _TO_COME and plays):
        return {}
    table, decode = explain(agent, game), spec_of(game.rules).notation.decode_play
    for action in also:
        if np.isnan(table[place := decode(game, action)]):
            table[place] = explain(agent, game, actions=[action])[place]
    so_far, others = game.totals[game.mover], [total for seat, total in enumerate(game.totals) if seat != game.mover]
    lead = so_far - sum(others) / len(others) if others else so_far
    found = dict[int, float]()
    for group in alike(plays):  # the agent may value one of several mirror images
        known = [value for action in group if np.isfinite(value := table[decode(game, action)])]
        if known:
            found |= dict.fromkeys(group, float(max(known)) + lead * _TO_COME[agent])
    return found


def result_in_words(game: SomeGame, result: float) -> str:
    """Describe an expected result: a score, or a lead."""
    if game.rules.num_players == 1:
        return f"ends near {result:z.0f}"
    return f"ends {abs(result):.0f} {'behind' if result < 0 else 'ahead'}"


def exactly(game: SomeGame) -> dict[int, float]:
    """Return exact expected results of legal plays, by action. There are some in the last plays of the solitaire."""
    rules = game.rules
    if not (scored_plays(game) and solves(rules, rules.num_plays - game.ply)):
        return {}
    [values] = exact_values(spec_of(rules).Batch.of_games([game]))
    return {action: float(values[action]) for action in np.flatnonzero(np.isfinite(values)).tolist()}


def review(record: Record, seat: int, agent: Agent | str | None) -> Iterator[tuple[Judged, SomeGame, dict[int, float]]]:
    """Yield a seat's plays with their positions and expected results: exact ones, or else the adviser's."""
    for number, turn in enumerate(record.turns, 1):
        game = record.game(number - 1)
        if turn.seat != seat or turn.action not in scored_plays(game):
            continue
        exact = exactly(game) if agent in _TO_COME else {}
        if results := exact or expected(game, agent, turn.action):
            best = max(results, key=results.__getitem__)
            lost = results[best] - results[turn.action]
            yield Judged(number, print_action(game, best), lost, bool(exact)), game, results
