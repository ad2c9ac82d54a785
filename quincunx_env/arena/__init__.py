"""Evaluation of policies on numbered deals.

Deal number k of a domain is the first deal of a batch seeded k. So two policies evaluated on deals 0 to n - 1 have
played the same n deals. Benchmark deals are for final figures; choose between policies or settings on the
``validation`` domain.

The deal is the unit of every interval: games of one deal, from different seats, are not independent observations.

- `evaluate`: one policy at the solitaire; `evaluate_all`: several, in parallel and resumable.
- `compare`: policies against each other on paired deals, every deal played from every seating.
- `tournament`: round robin with Bradley-Terry ratings, in parallel and resumable.
- `explain`: values of the plays in a position, as a policy estimates them.
- `seconds_per_action`: processor time of policies.
- `resolve`: policies by name.

``quincunx evaluate --help`` and the like offer them on the command line. Games can be played with the package alone;
intervals, ratings, pictures and the command line need the extra ``arena``.
"""

from quincunx_env.arena.comparison import Comparison, compare
from quincunx_env.arena.evaluation import Evaluation, evaluate, evaluate_all, plot, table
from quincunx_env.arena.explanation import explain
from quincunx_env.arena.matches import Deals
from quincunx_env.arena.runner import Run
from quincunx_env.arena.statistics import Estimate
from quincunx_env.arena.timing import seconds_per_action
from quincunx_env.arena.tournaments import Tournament, tournament
from quincunx_env.core.policy import Agent, Policy, PolicyFactory
from quincunx_env.policies import resolve

__all__ = [
    "Agent",
    "Comparison",
    "Deals",
    "Estimate",
    "Evaluation",
    "Policy",
    "PolicyFactory",
    "Run",
    "Tournament",
    "compare",
    "evaluate",
    "evaluate_all",
    "explain",
    "plot",
    "resolve",
    "seconds_per_action",
    "table",
    "tournament",
]
