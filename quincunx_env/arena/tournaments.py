"""All against all on paired deals, and ratings from it."""

import itertools
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from quincunx_env.arena.comparison import Comparison
from quincunx_env.arena.matches import Floats, MatchConfig, one_against_others, seatings
from quincunx_env.arena.runner import run_lineups
from quincunx_env.core.deal import Domain
from quincunx_env.core.policy import Agent
from quincunx_env.core.rules import BaseRules
from quincunx_env.policies import by_display_name
from quincunx_env.quincunx.rules import Rules
from quincunx_env.statistics import Estimate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ELO = 400 / math.log(10)
"""Elo points in one unit of the natural logarithm of odds: 400 points ahead are odds of ten to one."""


@dataclass(frozen=True, eq=False)
class Tournament:
    """N policies, each against each other on the same D deals.

    Attributes:
        names: of the policies.
        comparisons: by the names of two policies: the first in one seat against the second in all others. For two
            players there is one for each pair, for more players one for each order of a pair.
    """

    names: tuple[str, ...]
    comparisons: dict[tuple[str, str], Comparison]

    @property
    def deals(self) -> int:
        """D, the size of the sample."""
        return next(iter(self.comparisons.values())).deals

    @cached_property
    def beats(self) -> Floats:
        """float64 [N, N, D]: share of the opponents' seats of policy m that a seat of policy n has more points than,
        a tie counting half, averaged over the games of a deal in which the two meet; not a number on the diagonal.
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
        """float64 [N, N]: share of the wins of policy n in one seat against policy m in all others."""
        return self._matrix(lambda comparison: comparison.wins.mean(axis=0))

    @cached_property
    def margins(self) -> Floats:
        """float64 [N, N]: mean margin of policy n in one seat against policy m in all others, in points."""
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
        """Bradley-Terry ratings of the N policies; see ``rate``."""
        return rate(self.beats)

    def to_json(self) -> dict[str, Any]:
        """Ratings, and what `Comparison.to_json` says of every pair."""
        return {
            "ratings": {name: each._asdict() for name, each in zip(self.names, self.ratings, strict=True)},
            "rating": "Bradley-Terry in Elo points, mean 0; 95 %, percentiles over resampled deals",
            "comparisons": [comparison.to_json() for comparison in self.comparisons.values()],
        }

    def table(self) -> str:
        """Markdown: the ratings, best first, with the win rates of each against each."""
        ratings = self.ratings
        order = sorted(range(len(self.names)), key=lambda n: -ratings[n].value)
        against = " | ".join(f"against {self.names[m]}" for m in order)
        lines = [f"| policy | rating | 95 % interval | {against} |", "|---" * (3 + len(order)) + "|"]
        for n in order:
            rates = " | ".join("-" if n == m else f"{self.win_rates[n, m]:.1%}" for m in order)
            value, low, high = ratings[n]
            lines.append(f"| {self.names[n]} | {value:+.0f} | {low:+.0f} to {high:+.0f} | {rates} |")
        return "\n".join(lines)

    def plot(self, path: Path | None = None) -> "Figure":
        """Ratings with their intervals, and the matrix of win rates.

        Args:
            path: where to save the picture; its ending says in which format.
        """
        from matplotlib.colors import TwoSlopeNorm
        from matplotlib.figure import Figure

        ratings = self.ratings
        order = sorted(range(len(self.names)), key=lambda n: -ratings[n].value)
        names, places = [self.names[n] for n in order], range(len(order))
        figure = Figure(figsize=(5 + 0.9 * len(order), 1.8 + 0.6 * len(order)), layout="constrained")
        left, right = figure.subplots(1, 2)
        value, low, high = np.array([ratings[n] for n in order]).T
        left.errorbar(value, places, xerr=[value - low, high - value], fmt="o", capsize=3)
        left.set(yticks=places, yticklabels=names, ylim=(len(order) - 0.5, -0.5), xlabel="rating, Elo points")
        left.grid(axis="x", alpha=0.3)
        rates = self.win_rates[np.ix_(order, order)]
        even = 1 / next(iter(self.comparisons.values())).config.rules.num_players
        right.imshow(rates, cmap="PiYG", norm=TwoSlopeNorm(even, 0, 1), alpha=0.7)
        right.set(yticks=places, yticklabels=names, title="wins of row against column")
        right.set_xticks(places, names, rotation=45, ha="right")
        for n, m in itertools.permutations(places, 2):
            right.text(m, n, f"{rates[n, m]:.0%}", ha="center", va="center")
        if path is not None:
            figure.savefig(path, dpi=150)
        return figure


def rate(beats: Floats, resamples: int = 1000, seed: int = 0) -> list[Estimate]:
    """Bradley-Terry ratings in Elo points, their mean 0.

    The intervals are percentiles over resampled deals, the same deals for all pairs.

    Args:
        beats: float64 [N, N, D], how often policy n beat m in each deal, as in `Tournament.beats`.
        resamples: how many times the deals are drawn anew.
        seed: of these draws.
    """
    wins, (players, _, deals) = np.nan_to_num(beats), beats.shape
    draws = np.random.default_rng(seed).multinomial(deals, np.full(deals, 1 / deals), size=resamples)
    drawn = (draws @ wins.reshape(-1, deals).T).reshape(-1, players, players)
    own = ELO * bradley_terry(wins.sum(axis=2))
    low, high = np.percentile([ELO * bradley_terry(each) for each in drawn], [2.5, 97.5], axis=0)
    return [Estimate(*map(float, each)) for each in zip(own, low, high, strict=True)]


def bradley_terry(wins: Floats) -> Floats:
    """Strengths of the model of Bradley and Terry (1952), in which n beats m with odds exp(strength n - strength m).

    Half a win each way is added to every pair, so that the strength of one who won or lost all games stays finite. The
    likelihood is maximised by iterated Luce spectral ranking (Maystre and Grossglauser, 2015), by the package choix.

    Args:
        wins: float64 [N, N], how often n beat m, ties as halves.

    Returns:
        float64 [N], mean 0.
    """
    import choix

    strengths = choix.ilsr_pairwise_dense(wins + 0.5 * (1 - np.eye(len(wins))))
    return np.asarray(strengths - strengths.mean())


def tournament(
    policies: Mapping[str, Agent | str] | Iterable[Agent | str],
    deals: int = 1000,
    *,
    rules: BaseRules | None = None,
    domain: Domain = "benchmark",
    first: int = 0,
    seed: int = 0,
    chunk: int = 250,
    out: Path | None = None,
    workers: int = 1,
    progress: Callable[[Iterable[Any]], Iterable[Any]] = iter,
    ray: str | None = None,
) -> Tournament:
    """Play all policies against each other on paired deals.

    Each pair, in alphabetical order, plays what `compare` plays with the same arguments, to the same result: neither
    the other policies nor the processes, machines or interruptions make a difference.

    Args:
        policies: at least two, by name, or in a row: objects, or what `resolve` takes, or ``"name=module:attribute"``.
            To other processes they go pickled: use strings or functions of a module.
        deals: how many, at least 2.
        rules: of several players; two from corners if None.
        domain: which numbered deals.
        first: number of the first deal.
        seed: of the generators, as in `compare`.
        chunk: deals played side by side.
        out: directory that keeps the games. Begun anew, a tournament plays only what is missing there: the rest of an
            interrupted one, or more deals, or what further policies add. That a policy has changed under the same name
            is noticed only if it is defined elsewhere.
        workers: processes; 1 plays in this one.
        progress: wraps the iteration over the chunks of all pairs that are left, as ``tqdm`` does.
        ray: address of a Ray cluster, as ``ray.init`` takes it, on whose cores the games are played instead of
            ``workers`` processes here. Strings must mean the same policies there.

    Raises:
        ValueError: for rules of the solitaire, less than two policies, an unknown policy or two of the same name, an
            ``out`` that holds games of another policy of the same name, or if Ray is asked for and not installed.
        ConnectionError: if Ray finds no cluster.
        IllegalAction: if a policy chooses an illegal action.
    """
    rules, policies = rules or Rules(num_players=2), by_display_name(policies)
    if rules.num_players < 2:
        raise ValueError("a tournament needs rules for several players, got the solitaire; use evaluate_all")
    if len(policies) < 2:
        raise ValueError(f"a tournament needs at least two policies, got {len(policies)}")
    arrange = itertools.combinations if rules.num_players == 2 else itertools.permutations
    pairs = list(arrange(sorted(policies), 2))
    config = MatchConfig(rules, domain, first, deals, seed, chunk)
    played = run_lineups(policies, pairs, config, out, workers, progress, ray)
    seats = seatings(one_against_others(2, rules.num_players))
    return Tournament(tuple(policies), {pair: Comparison(pair, seats, played[pair].totals, config) for pair in pairs})
