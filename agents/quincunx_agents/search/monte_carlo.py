"""Flat Monte Carlo: every promising play is tried in games dealt anew, which are played on quickly."""

from dataclasses import dataclass
from typing import Any

from quincunx_agents.search.determinized import DeterminizedSearch, Game, SearchConfig, Values, game_of, payoffs
from quincunx_env.core.rules import BaseRules


@dataclass(frozen=True)
class MonteCarlo(SearchConfig):
    """Its settings; `for_rules` makes the policy."""

    shortlist: int = 12
    samples: int = 16
    stages: int = 3
    trust: float = 1.0
    horizon: int | None = None
    """Several players: plays after the one that is tried before the points are compared; None is the whole round."""
    lost_value: float = 0.0
    """What a lost solitaire counts."""

    def for_rules(self, rules: BaseRules) -> DeterminizedSearch:
        """The policy for a game."""
        game = game_of(rules)
        horizon = None if rules.num_players == 1 else self.horizon

        def evaluate(games: Any, seat: int, left: int) -> Values:
            play_on(game, games, left if horizon is None else min(left, horizon))
            return payoffs(games, self.lost_value)[:, seat]

        return DeterminizedSearch(rules, self, evaluate)


def play_on(game: Game, games: Any, plays: int) -> None:
    """Play games on, every seat the play that quickly told seems best."""
    for _ in range(plays):
        game.play(games, game.best(games))


FAST = MonteCarlo()
"""About 60 ms a move of Quincunx for two, 30 ms a move of the spiral game."""

STRONG = MonteCarlo(samples=64)
"""Up to four times as long, and not shown to be stronger."""
