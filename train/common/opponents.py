"""Whom a learner meets: fixed agents and its own earlier selves, drawn by how strong they are."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

import numpy as np
import numpy.typing as npt

Sampling = Literal["latest", "uniform", "prioritised"]
"""Which member of a pool is met: the one that joined last, any, or rather those that win."""

Player = TypeVar("Player")


@dataclass
class Member(Generic[Player]):
    """Somebody in a pool."""

    name: str
    player: Player
    """Whatever the training asks for plays."""
    won: float = 0.0
    """Games that the learner won against it, shared wins counting their share; weighed so that half would be even."""
    games: int = 0


class Pool(Generic[Player]):
    """Members to be drawn for games, and what the learner won against each.

    Args:
        sampling: see `Sampling`.
        members: who is in it from the start.
    """

    def __init__(self, sampling: Sampling, members: Iterable[Member[Player]] = ()) -> None:
        self.sampling = sampling
        self.members = list(members)

    def join(self, name: str, player: Player) -> None:
        """Let somebody in."""
        self.members.append(Member(name, player))

    def chances(self) -> npt.NDArray[np.float64]:
        """How likely each member is drawn, float64 [members]; they add up to 1.

        ``prioritised`` is the square of what the learner has yet to win: a member that is always beaten teaches
        nothing. Nobody is left out for good, and who is new counts as even.
        """
        weights = {
            "latest": [*([0.0] * (len(self.members) - 1)), 1.0],
            "uniform": [1.0] * len(self.members),
            "prioritised": [(1 - (member.won + 1) / (member.games + 2)) ** 2 for member in self.members],
        }[self.sampling]
        return np.array(weights) / sum(weights)

    def count(self, number: int, share: float, players: int) -> None:
        """Count a game against a member.

        Args:
            number: which member.
            share: the learner's share of the win, from 0 to 1.
            players: how many played, all but the learner for the member.
        """
        member, others = self.members[number], (1 - share) / (players - 1)
        member.won += share / (share + others)
        member.games += 1

    def won(self) -> dict[str, float]:
        """The share that the learner won against each member that it met, by name; half is even."""
        return {member.name: round(member.won / member.games, 3) for member in self.members if member.games}
