"""Round-robin tournaments on paired deals, with Bradley-Terry ratings."""

import itertools
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from quincunx_env.arena.comparison import RULES, Comparison
from quincunx_env.arena.matches import Deals, MatchResults, one_against_others
from quincunx_env.arena.runner import Lineup, Run, measure_lineups, with_run
from quincunx_env.arena.statistics import Estimate, exact_share, written
from quincunx_env.core.arrays import Floats
from quincunx_env.core.policy import Agent
from quincunx_env.core.rules import BaseRules
from quincunx_env.policies import by_display_name
from quincunx_env.policies.conversations import Counts, counts_table, marked, total
from quincunx_env.utils.extras import needs_extra
from quincunx_env.utils.figures import drawable, plain_text
from quincunx_env.utils.markdown import escaped, markdown_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ELO = 400 / math.log(10)
"""Elo points per unit of log odds (natural logarithm): a difference of 400 points means odds of ten to one."""


@dataclass(frozen=True, eq=False, repr=False)
class Tournament:
    """Results of N policies, all pairs on the same D deals.

    Attributes:
        names: names of the policies.
        comparisons: by the names of two policies: the first in one seat against the second in all others. For two
            players one for each pair, for more players one for each ordered pair.
    """

    names: tuple[str, ...]
    comparisons: dict[tuple[str, str], Comparison]

    @property
    def deals(self) -> int:
        """Number of deals D, the sample size."""
        return next(iter(self.comparisons.values())).deals

    @cached_property
    def beats(self) -> Floats:
        """float64 [N, N, D]: how often policy n beats policy m.

        Seats of both are compared in their games of a deal: more points count 1, ties half. It is NaN on the diagonal.
        """
        beats = np.full((len(self.names), len(self.names), self.deals), np.nan)
        for n, m in itertools.permutations(range(len(self.names)), 2):
            pair = self.names[n], self.names[m]
            both = [self.comparisons[pair].beats[:, 0, 1]] if pair in self.comparisons else []
            both += [self.comparisons[pair[::-1]].beats[:, 1, 0]] if pair[::-1] in self.comparisons else []
            beats[n, m] = np.mean(both, axis=0)
        return beats

    @cached_property
    def win_rates(self) -> Floats:
        """float64 [N, N]: share of wins of policy n in one seat. Policy m has all other seats; NaN on the diagonal."""
        return self._matrix(lambda comparison: comparison.wins.mean(axis=0))

    @cached_property
    def margins(self) -> Floats:
        """float64 [N, N]: mean margin in points of n in one seat. Policy m has the others; NaN on the diagonal."""
        return self._matrix(lambda comparison: comparison.margins.mean(axis=0))

    def _matrix(self, figures: Callable[[Comparison], Floats]) -> Floats:
        matrix = np.full((len(self.names), len(self.names)), np.nan)
        for (one, other), comparison in self.comparisons.items():
            n, m = self.names.index(one), self.names.index(other)
            own, others = figures(comparison)
            matrix[n, m] = own
            if comparison.config.rules.num_players == 2:
                matrix[m, n] = others
        return matrix

    @cached_property
    def ratings(self) -> list[Estimate]:
        """Bradley-Terry ratings of the N policies, in Elo points; see ``rate``."""
        return rate(self.beats)

    @property
    def answers(self) -> dict[str, Counts]:
        """Decisions and illegal answers of language models in all games, by name."""
        return total(comparison.answers for comparison in self.comparisons.values())

    def to_json(self) -> dict[str, Any]:
        """Return ratings, and `Comparison.to_json` of every pair, as JSON values."""
        return {
            "ratings": {name: each.to_json() for name, each in zip(self.names, self.ratings, strict=True)},
            "rating": "Bradley-Terry in Elo points, mean 0; 95 %, percentiles over resampled deals",
            "comparisons": [comparison.to_json() for comparison in self.comparisons.values()],
        }

    def __repr__(self) -> str:
        try:
            rated = sorted(zip(self.ratings, self.names, strict=True), reverse=True)
            policies = [f"{name} {rating.value:+z.0f}" for rating, name in rated]
        except ImportError:  # without SciPy
            policies = [*self.names]
        return f"Tournament: {', '.join(policies)}; {self.deals:,} deals"

    def _repr_markdown_(self) -> str:
        return self.table()

    def table(self) -> str:
        """Return a Markdown table of ratings and win rates, best first. The win rates are against each policy."""
        ratings = self.ratings
        order = sorted(range(len(self.names)), key=lambda n: -ratings[n].value)
        rows = []
        for n in order:
            rates = ("-" if n == m else written(self.win_rates[n, m], ".1%") for m in order)
            rows.append((marked(self.names[n], self.answers), *ratings[n].cells("+.0f"), *rates))
        against = (f"against {escaped(self.names[m])}" for m in order)
        table = markdown_table(("policy", "rating", "95 % interval", *against), rows)
        return f"{table}\n\n{counts_table(self.answers)}" if self.answers else table

    @plain_text()
    def plot(self, path: Path | str | None = None) -> "Figure":
        """Plot ratings with their intervals, and the matrix of win rates.

        Args:
            path: file to save the figure to; its suffix determines the format.
        """
        from matplotlib.colors import TwoSlopeNorm
        from matplotlib.figure import Figure

        ratings = self.ratings
        order = sorted(range(len(self.names)), key=lambda n: -ratings[n].value)
        names, places = drawable(self.names[n] for n in order), range(len(order))
        figure = Figure(figsize=(5 + 0.9 * len(order), 1.8 + 0.6 * len(order)), layout="constrained")
        left, right = figure.subplots(1, 2)
        value, *ends = np.array([ratings[n] for n in order]).T
        low, high = (np.where(np.isfinite(end), end, value) for end in ends)
        left.errorbar(value, places, xerr=[value - low, high - value], fmt="o", capsize=3)
        left.set(yticks=places, yticklabels=names, ylim=(len(order) - 0.5, -0.5), xlabel="rating, Elo points")
        left.grid(axis="x", alpha=0.3)
        rates = self.win_rates[np.ix_(order, order)]
        even = 1 / next(iter(self.comparisons.values())).config.rules.num_players
        right.imshow(rates, cmap="PiYG", norm=TwoSlopeNorm(even, 0, 1), alpha=0.7)
        right.set(yticks=places, yticklabels=names, title="wins of row against column")
        right.set_xticks(places, names, rotation=45, ha="right")
        for n, m in itertools.permutations(places, 2):
            right.text(m, n, written(rates[n, m], ".0%"), ha="center", va="center")
        if path is not None:
            figure.savefig(path, dpi=150)
        return figure


def rate(beats: Floats, resamples: int = 1000, seed: int = 0) -> list[Estimate]:
    """Estimate Bradley-Terry ratings in Elo points, with mean 0.

    The intervals are bootstrap percentiles over deals; each resample uses the same deals for all pairs. A policy
    dominates another that has won nothing from it, directly or through others. One that dominates all others has no
    upper end, one that all others dominate no lower one. The end that remains allows for the exact interval of the
    share of wins. Where all resamples agree, one other policy suffices; without one there is no interval.

    Args:
        beats: float64 [N, N, D], how often policy n beats m in each deal, as in `Tournament.beats`.
        resamples: number of bootstrap resamples.
        seed: seed of the bootstrap.
    """
    wins, (players, _, deals) = np.nan_to_num(beats), beats.shape
    draws = np.random.default_rng(seed).multinomial(deals, np.full(deals, 1 / deals), size=resamples)
    drawn = (draws @ wins.reshape(-1, deals).T).reshape(-1, players, players)
    own = ELO * bradley_terry(wins.sum(axis=2))
    low, high = np.percentile([ELO * bradley_terry(each) for each in drawn], [2.5, 97.5], axis=0)
    reach = np.linalg.matrix_power((wins.sum(axis=2) > 0) + np.eye(players), players) > 0  # has won something from
    over, flat, least = reach & ~reach.T, high - low < 1e-9, exact_share(deals)
    top, bottom = (each.sum(axis=1) >= np.where(flat, 1, players - 1) for each in (over, over.T))
    exact = ELO * bradley_terry(np.clip(wins.sum(axis=2), (1 - least) * deals, least * deals) * (1 - np.eye(players)))
    low, high = np.where(top, np.minimum(low, exact), low), np.where(bottom, np.maximum(high, exact), high)
    low, high = np.where(bottom | (flat & ~top), -np.inf, low), np.where(top | (flat & ~bottom), np.inf, high)
    return [Estimate(*map(float, each)) for each in zip(own, low, high, strict=True)]


def bradley_terry(wins: Floats) -> Floats:
    """Fit the model of Bradley and Terry (1952).

    In it n beats m with odds exp(strength n - strength m). Half a win each way is added to every pair, so that
    strengths stay finite for a policy that won or lost all games.

    Args:
        wins: float64 [N, N], how often n beats m, ties counting half.

    Returns:
        float64 [N], strengths with mean 0.

    Raises:
        ImportError: without SciPy.
    """
    with needs_extra("arena", "a rating"):
        from scipy import optimize, special

    wins = (wins + 0.5) * (1 - np.eye(len(wins)))
    games = wins + wins.T

    def slopes(strengths: Floats) -> tuple[Floats, Floats]:
        """Return gradient and Hessian, with terms that make the sum 0."""
        shares: Floats = special.expit(strengths[:, None] - strengths)
        expected, curvature = games * shares, games * shares * shares.T
        return (wins - expected).sum(axis=1) - strengths.sum(), curvature - np.diag(curvature.sum(axis=1)) - 1

    found = optimize.root(slopes, np.zeros(len(wins)), jac=True, tol=1e-10).x
    return np.asarray(found - found.mean())


@with_run
def tournament(
    policies: Mapping[str, Agent | str] | Iterable[Agent | str],
    deals: Deals | int = Deals(),
    *,
    rules: BaseRules = RULES,
    run: Run = Run(),
) -> Tournament:
    """Play a round robin of policies on paired deals.

    Each pair, in alphabetical order, plays the same games as `compare` with the same arguments.

    Args:
        policies: at least two: a mapping by name, or a sequence of agents, names that `resolve` takes, and
            ``"name=module:attribute"``.
        deals: numbered deals; an integer means the first ones of the benchmark.
        rules: rules for several players.
        run: how the games are played.

    Raises:
        ValueError: for rules of the solitaire, fewer than two policies, an unknown policy or two of the same name, one
            that other processes cannot get, or if Ray is required and not installed.
        ConnectionError: if Ray finds no cluster.
        IllegalAction: if a policy chooses an illegal action.
    """
    policies, config = by_display_name(policies), run.config(rules, deals)
    if rules.num_players < 2:
        raise ValueError("a tournament needs rules for several players; at the solitaire evaluate compares policies")
    if len(policies) < 2:
        raise ValueError(f"a tournament needs at least two policies, got {len(policies)}")
    arrange = itertools.combinations if rules.num_players == 2 else itertools.permutations
    pairs = list(arrange(sorted(policies), 2))
    seats = one_against_others(2, rules.num_players)

    def measure(pair: Lineup, results: MatchResults, answers: Mapping[str, Counts]) -> Comparison:
        return Comparison.from_results(pair, seats, results, config, answers)

    found = measure_lineups(policies, pairs, config, run, measure)
    return Tournament(tuple(policies), {(one, other): comparison for (one, other), comparison in found.items()})
