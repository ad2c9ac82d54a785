"""Search inside games dealt anew, for the solitaire: how well could it go after a play if the pile were known?

Every pile dealt anew is searched by `quincunx_agents.search.beam`, and the mean over the piles decides. Each search knows its pile, and
so thinks too well of every play; it does so of all plays alike, which is why this works. Among several players a search
of the best replies in each game was weaker than `quincunx_agents.search.monte_carlo` at the same time a move.
"""

from dataclasses import dataclass

from quincunx_agents.search.beam import beam
from quincunx_agents.search.determinized import DeterminizedSearch, SearchConfig, Values
from quincunx_env.core.rules import BaseRules
from quincunx_env.quincunx.batch import Batch


@dataclass(frozen=True)
class PimcBeam(SearchConfig):
    """Its settings; `for_rules` makes the policy."""

    shortlist: int = 16
    samples: int = 8
    stages: int = 4
    width: int = 8
    """Positions of a game that the beam keeps."""
    lost_value: float = -100.0
    """What a lost round counts in the search. Whoever knows the pile seldom loses, so that losing has to count more
    here than it does in the end."""

    def for_rules(self, rules: BaseRules) -> DeterminizedSearch:
        """The policy for a game.

        Raises:
            ValueError: for rules of several players.
        """
        if rules.num_players != 1:
            raise ValueError(f"PimcBeam plays the solitaire, got rules for {rules.num_players} players")

        def evaluate(games: Batch, seat: int, left: int) -> Values:
            return beam(games, self.width, self.lost_value)

        return DeterminizedSearch(rules, self, evaluate)


FAST = PimcBeam(samples=4, width=4)
"""About 30 ms a move."""

STRONG = PimcBeam()
"""About 110 ms a move."""
