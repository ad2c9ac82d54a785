"""Replays of solitaires, play by play, for figures that need the positions."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeVar

import numpy as np

from quincunx_env.arena.matches import MatchConfig, MatchResults
from quincunx_env.arena.runner import Run
from quincunx_env.core.arrays import Ints
from quincunx_env.registry import spec_of
from quincunx_env.utils.processes import worker_processes

Measured = TypeVar("Measured")


class Replay:
    """The games of a chunk.

    Attributes:
        games: a batch of the D games, before the first play.
    """

    def __init__(self, config: MatchConfig, chunk: int, lengths: Ints, actions: Any) -> None:
        numbers = config.deal_numbers(chunk)
        self.games: Any = spec_of(config.rules).Batch(config.rules, len(numbers), config.deals.domain)
        self.games.reset(seed=numbers)
        self._lengths, self._actions = lengths, actions.astype(np.int64)

    def plays(self) -> Iterator[tuple[int, Ints, Ints]]:
        """Yield each play: its number from 0, the rows that make it, and their actions, int64 [n] each.

        The games are in the position before the play; whoever iterates steps them.
        """
        first = np.cumsum(self._lengths) - self._lengths
        for play in range(int(self._lengths.max())):
            rows = np.flatnonzero(self._lengths > play)
            yield play, rows, self._actions[first[rows] + play]


def measure_replays(
    measure: Callable[[Replay], Measured], results: MatchResults, config: MatchConfig, run: Run
) -> list[Measured]:
    """Measure games of the solitaire by replaying them, chunk by chunk.

    Args:
        measure: a function of a module, or a ``partial`` of one.
        results: the games.
        config: rules and deals.
        run: its ``workers`` and ``progress`` are used.

    Raises:
        ValueError: for rules of several players.
    """
    if config.rules.num_players > 1:
        raise ValueError(f"only the solitaire is measured so, got rules for {config.rules.num_players} players")
    lengths, ends = results.lengths[:, 0], np.cumsum(results.lengths)
    parts = []
    for chunk in config.chunks:
        games = config.deal_numbers(chunk) - config.deals.first
        actions = results.actions[ends[games[0]] - lengths[games[0]] : ends[games[-1]]]
        parts.append(partial(_measure, measure, config, chunk, lengths[games], actions))
    if run.workers == 1:
        return [part() for part in run.progress(parts)]
    with worker_processes(run.workers) as pool:
        futures = [pool.submit(part) for part in parts]
        return [future.result() for _, future in zip(run.progress(parts), futures, strict=True)]


def _measure(measure: Callable[[Replay], Measured], *games: Any) -> Measured:
    return measure(Replay(*games))
