"""Pool of past snapshots of the learner.

It samples opponents by win rate: prioritised fictitious self-play (PFSP), Vinyals et al. 2019, "Grandmaster level in
StarCraft II using multi-agent reinforcement learning".
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from quincunx_agents.afterstates import Floats

Weights = dict[str, Floats]
"""Weights of a value network by name, as `quincunx_agents.networks.value` takes them."""


@dataclass
class Member:
    """A member of a pool and the learner's results against it."""

    name: str
    weights: Weights
    won: float = 0.0
    """Weighted sum of the learner's shares of the win, in which half of ``games`` is even (`Pool.count`)."""
    games: float = 0
    """Sum of the weights of the games."""


class Pool:
    """Opponents to sample from, and the learner's win rate against each.

    Args:
        members: the initial members.
    """

    def __init__(self, members: Iterable[Member] = ()) -> None:
        self.members = list(members)

    def add(self, name: str, weights: Weights) -> None:
        """Add a member without results."""
        self.members.append(Member(name, weights))

    def probabilities(self) -> npt.NDArray[np.float64]:
        """Return the probability with which each member is sampled, float64 [members].

        The weight is f(p) = (1 - p)^2 of Vinyals et al. 2019, p being the learner's win rate. p is
        (won + 1) / (games + 2), so that a new member counts as even and every member keeps a positive probability.
        """
        weights = [(1 - (member.won + 1) / (member.games + 2)) ** 2 for member in self.members]
        return np.array(weights) / sum(weights)

    def count(self, number: int, share: float, players: int) -> None:
        """Count a game against a member, which had all seats but one.

        A win counts as often as there are other seats, so that equals win half. ``share`` is the learner's share of the
        win, from 0 to 1.
        """
        member, won = self.members[number], share * (players - 1)
        member.won += won
        member.games += won + 1 - share

    def win_rates(self) -> dict[str, float]:
        """Return the learner's win rates by name; 0.5 is even. Members without games are left out."""
        return {member.name: round(member.won / member.games, 3) for member in self.members if member.games}
