"""Search led by a network: it names the plays to be tried, plays the games dealt anew on, and judges where they stop.

As in `quincunx_agents.search.monte_carlo` every promising play is tried in games dealt anew. But every seat then plays as the network
does, among the few plays that at a glance seem best, and after some plays the network's judgement stands for the rest
of the round: it sees no more than the seat that made the last play does.

The network plays the solitaire as somebody who will not search any more, and so makes too little of a position; a beam
search that knows the pile makes too much of it. With ``foresight`` a game is worth something between the two.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from quincunx_agents.afterstates import Bools, Floats
from quincunx_agents.networks import value
from quincunx_agents.search.beam import beam
from quincunx_agents.search.determinized import DeterminizedSearch, SearchConfig, Values, game_of, payoffs
from quincunx_env.core.observation import Pieces
from quincunx_env.core.rules import BaseRules
from quincunx_env.registry import make_observer


@dataclass(frozen=True)
class NetworkSearch(SearchConfig):
    """Its settings; `for_rules` makes the policy."""

    shortlist: int = 16
    samples: int = 8
    stages: int = 3
    trust: float = 0.25
    candidates: int = 24
    """Plays that the network looks at to make the shortlist, as `value.Network.candidates`."""
    depth: int | None = 6
    """Plays after the one that is tried before the network judges; None is the whole round."""
    choice: int = 4
    """Plays of each position that the network chooses from while games are played on."""
    foresight: float = 0.0
    """Share of what a beam search has to say of each game, which knows its pile; for the solitaire."""
    width: int = 8
    """Positions of a game that the beam keeps."""
    lost_value: float = -100.0
    """What a lost round counts in the beam; see `quincunx_agents.search.pimc_beam`."""
    network: value.Network | None = None
    """The one shipped for the game if None."""

    def for_rules(self, rules: BaseRules) -> DeterminizedSearch:
        """The policy for a game.

        Raises:
            ValueError: if the network has not learned the game, or for foresight among several players.
        """
        if self.foresight and rules.num_players > 1:
            raise ValueError(f"foresight is for the solitaire, got rules for {rules.num_players} players")
        network = (self.network or value.shipped_for(rules))._replace(candidates=self.candidates)
        form = value.form_of(rules)
        if form not in network.forms:
            raise ValueError(f"the network has learned {', '.join(network.forms)}, not {form}")
        game, positions, observer = game_of(rules), value.feature_module_of(rules), make_observer(rules, preview=True)
        shares, players = value.shares(rules.num_players), rules.num_players

        def prior(observation: Pieces, mask: Bools) -> Floats:
            return value.worth(network, rules, observation, mask)

        def evaluate(games: Any, seat: int, left: int) -> Values:
            if not self.foresight:
                return played_on(games, seat, left)
            best = beam(games, self.width, self.lost_value)
            return self.foresight * best + (1 - self.foresight) * played_on(games, seat, left)

        def played_on(games: Any, seat: int, left: int) -> Values:
            depth = left if self.depth is None else min(self.depth, left)
            worths, rows = payoffs(games)[:, seat], np.arange(games.num_games)
            for number in range(depth):
                if games.over.any():  # a solitaire may be lost before its end
                    rows, games = rows[~games.over], games.fork(~games.over)
                if not len(rows):
                    break
                plays = positions.plays_of(rules, observer.observe_batch(games), game.likely(games, self.choice))
                to_come, preferred = value.judge_plays(network.weights, plays)
                best = value.best_of(plays, plays.points + to_come @ shares + preferred)
                if number + 1 == depth < left:
                    mover = int(games.mover[0])
                    totals = games.totals.astype(np.float64)
                    totals[:, mover] += plays.points[best]
                    totals += np.roll(to_come[best, :players], mover, axis=1)
                    worths[rows] = totals @ np.roll(shares[:players], seat)
                else:
                    game.play(games, plays.actions[best])
                    worths[rows] = payoffs(games)[:, seat]
            return worths

        return DeterminizedSearch(rules, self, evaluate, prior)


FAST = NetworkSearch()
"""About 0.15 s a move of Quincunx for two."""

STRONG = NetworkSearch(samples=16, stages=4)
"""About 0.4 s a move of Quincunx for two."""

SOLITAIRE = NetworkSearch(samples=16, stages=4, trust=0.0, candidates=0, depth=None, foresight=0.5)
"""For the solitaire: about 0.4 s a move."""

SPIRAL = NetworkSearch(shortlist=5, samples=16, stages=2, trust=0.5, candidates=0, depth=4, choice=13)
"""For the spiral game, looking at every card: about 70 ms a move."""
