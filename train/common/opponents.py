"""Opponent pool and league: fixed baselines and past checkpoints of the learner.

A pool samples opponents by win rate: prioritised fictitious self-play (PFSP), Vinyals et al. 2019, "Grandmaster level
in StarCraft II using multi-agent reinforcement learning". The league on Ray RLlib has a fixed number of places; a
snapshot of the learner that beats every member replaces the weakest.
"""

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from quincunx_env.arena import Deals, compare
from quincunx_env.core.policy import Agent
from quincunx_env.core.rules import BaseRules

# --- Pool ------------------------------------------------------------------------------------------------------------

Opponent = TypeVar("Opponent")


@dataclass
class Member(Generic[Opponent]):
    """A member of a pool and the learner's results against it."""

    name: str
    opponent: Opponent
    """A policy, or an object from which the trainer makes one."""
    won: float = 0.0
    """Weighted sum of the learner's shares of the win, in which half of ``games`` is even (`Pool.count`)."""
    games: float = 0
    """Sum of the weights of the games."""


class Pool(Generic[Opponent]):
    """Opponents to sample from, and the learner's win rate against each.

    Args:
        members: the initial members.
    """

    def __init__(self, members: Iterable[Member[Opponent]] = ()) -> None:
        self.members = list(members)

    def add(self, name: str, opponent: Opponent) -> None:
        """Add a member without results."""
        self.members.append(Member(name, opponent))

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


# --- League on Ray RLlib ---------------------------------------------------------------------------------------------

LEARNER = "main"
"""Id of the RLModule that learns."""


def league_module(place: int) -> str:
    """Return the id of the RLModule in a place of the league."""
    return f"past_{place}"


@dataclass(frozen=True)
class Matchmaking:
    """RLlib's ``policy_mapping_fn``: assigns modules to the seats of a game.

    In a share of the games the learner has all seats. In the others it has one, and a member of the league has the
    rest. The assignment is a function of the episode's id, and so consistent over its seats.
    """

    players: int
    """Seats of a game."""
    places: int
    """Members of the league."""
    self_share: float
    """Share of the games in which the learner has all seats."""

    def __call__(self, agent_id: str, episode: Any, **kwargs: Any) -> str:
        """Return the module of an agent."""
        rng = np.random.default_rng(zlib.crc32(str(episode.id_).encode()))
        alone, seat, other = rng.random() < self.self_share, rng.integers(self.players), rng.integers(self.places)
        return LEARNER if alone or agent_id == f"player_{seat}" else league_module(int(other))


def normalized_win_rates(learner: Agent, members: Sequence[Agent], rules: BaseRules, deals: int) -> list[float]:
    """Return the learner's win rate against each member on validation deals, scaled.

    0.5 is even for any number of players. The learner has one seat, the member all others, in every seating.
    """
    rates = []
    for member in members:
        games = compare([learner, member], Deals(deals, "validation"), rules=rules, names=["learner", "member"])
        rates.append(0.5 * games.win_rate().value / float(games.even[0]))
    return rates


def replaced_place(rates: Sequence[float], threshold: float) -> int | None:
    """Return the place of the weakest member. It is None unless every win rate reaches the threshold."""
    return int(np.argmax(rates)) if min(rates) >= threshold else None
