"""Self-play against past selves on Ray RLlib: who sits where, and who joins the league."""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from quincunx_agents.networks.policy import PolicyNetworkAgent, PolicyWeights

from quincunx_env.arena import compare

MAIN = "main"
"""The module that learns."""


def place(number: int) -> str:
    """The module of a member of the league."""
    return f"past_{number}"


@dataclass(frozen=True)
class Matchmaking:
    """RLlib's ``policy_mapping_fn``: who has which seat of a game.

    In some games the learner has all seats; in the others it has one, and one of its past selves has the rest. All
    follows from the identity of the episode, so that every seat is told the same.
    """

    players: int
    places: int
    self_share: float
    """Of the games in which the learner has all seats."""

    def __call__(self, agent_id: str, episode: Any, **kwargs: Any) -> str:
        """The module of an agent."""
        rng = np.random.default_rng(zlib.crc32(str(episode.id_).encode()))
        alone, seat, other = rng.random() < self.self_share, rng.integers(self.players), rng.integers(self.places)
        return MAIN if alone or agent_id == f"player_{seat}" else place(int(other))


def win_rates(learner: PolicyWeights, members: Sequence[PolicyWeights], deals: int) -> list[float]:
    """What the learner wins against each of these; half is even, however many play.

    Args:
        learner: in one seat.
        members: each in all others.
        deals: validation deals; each is played from every seat.
    """
    rates = []
    for member in members:
        agents = [PolicyNetworkAgent(learner), PolicyNetworkAgent(member)]
        games = compare(agents, deals, rules=learner.rules, domain="validation", names=["learner", "member"])
        rates.append(0.5 * games.win_rate().value / float(games.even[0]))
    return rates


def taken_by(rates: Sequence[float], needed: float) -> int | None:
    """The place of the member that is beaten most, if every member is beaten often enough; otherwise None."""
    return int(np.argmax(rates)) if min(rates) >= needed else None
