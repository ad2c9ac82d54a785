"""Aggregate figures of several training runs of each agent, with intervals.

Intervals are over runs and deals. The figures follow Agarwal et al., "Deep Reinforcement Learning at the Edge of the
Statistical Precipice" (2021). Their package rliable is not used: in its version 1.2.0 the bootstrap draws from NumPy's
global generator and is not reproducible. The resampling of `report` is SciPy's; `interquartile_mean` computes the
interval that rliable does.

The score of a run in a game is its mean over deals, as theirs is the mean over episodes. Single deals cannot take the
place of their tasks. Stratifying the runs by deal would count the deals of one run as separate runs, and make intervals
many times too narrow.
"""

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from quincunx_env.arena.statistics import Estimate, exact_share, scipy_stats
from quincunx_env.core.arrays import Floats
from quincunx_env.utils.markdown import markdown_table


@dataclass(frozen=True)
class Report:
    """Aggregate figures of several training runs of each agent.

    Attributes:
        mean: by agent: mean over runs and games.
        iqm: by agent: interquartile mean, mean of the middle half of the scores of all runs, robust to a failed run.
        improvement: by two agents: probability that a run of the first scores more than one of the second, ties
            counting half, the mean over games.
        runs: by agent: number of runs.
        deals: number of deals of each game.
    """

    mean: dict[str, Estimate]
    iqm: dict[str, Estimate]
    improvement: dict[tuple[str, str], Estimate]
    runs: dict[str, int]
    deals: int

    def to_json(self) -> dict[str, Any]:
        """Return all figures as JSON values."""
        return {
            "agents": {
                name: {"mean": mean.to_json(), "iqm": self.iqm[name].to_json(), "runs": self.runs[name]}
                for name, mean in self.mean.items()
            },
            "improvement": [
                {"agent": one, "over": other, **estimate.to_json()}
                for (one, other), estimate in self.improvement.items()
            ],
            "interval": "95 %, expanded percentiles over resampled runs and deals",
            "deals": self.deals,
        }

    def _repr_markdown_(self) -> str:
        return self.table()

    def table(self) -> str:
        """Return two Markdown tables: agents, and probabilities of improvement."""
        agents = markdown_table(
            ("agent", "runs", "deals", "mean", "95 % interval", "interquartile mean", "95 % interval"),
            (
                (name, self.runs[name], self.deals, *mean.cells(".1f"), *self.iqm[name].cells(".1f"))
                for name, mean in self.mean.items()
            ),
        )
        if not self.improvement:
            return agents
        pairs = markdown_table(
            ("agent", "over", "probability of improvement", "95 % interval"),
            ((one, other, *each.cells(".0%")) for (one, other), each in self.improvement.items()),
        )
        return f"{agents}\n\n{pairs}"


def report(scores: Mapping[str, npt.ArrayLike], *, resamples: int = 2000, seed: int = 0) -> Report:
    """Compute mean, interquartile mean and probability of improvement, with intervals.

    The intervals come from a stratified bootstrap. Runs are resampled whole, separately for each game. Deals are
    resampled too, the same for all agents and runs: the intervals hold for other runs on other deals. Runs and deals
    are crossed, as in Owen's "pigeonhole bootstrap" (2007). Because percentiles are too narrow for few runs, they are
    taken at a level expanded by Hesterberg's formula (2015).

    Args:
        scores: by agent, [runs, deals], such as `Evaluation.values` or columns of `Comparison.margins`; for several
            games [runs, games, deals], on comparable scales. All agents have played the same deals.
        resamples: number of bootstrap resamples.
        seed: seed of the bootstrap.

    Raises:
        ValueError: for arrays of other shapes, or fewer than two runs or deals.
        ImportError: without SciPy.
    """
    arrays = {name: _scores(name, each) for name, each in scores.items()}
    shapes = {array.shape[1:] for array in arrays.values()}
    if len(shapes) != 1:
        raise ValueError(f"all agents need the same games and deals, got {sorted(shapes)}")

    def estimates(statistic: Callable[[Floats], Floats]) -> dict[str, Estimate]:
        """Estimate a statistic that maps each agent's scores, [B, runs x games], to [B]."""
        return {
            name: _bootstrap(lambda runs: statistic(runs.reshape(len(runs), -1)), [array], resamples, seed)
            for name, array in arrays.items()
        }

    stats = scipy_stats()
    better: dict[tuple[str, str], Estimate] = {}
    for one, other in itertools.combinations(arrays, 2):
        value, low, high = _bootstrap(improvement, [arrays[one], arrays[other]], resamples, seed)
        if value in (0, 1) and math.isinf(low):
            least = exact_share(min(len(arrays[one]), len(arrays[other])))
            low, high = (least, 1.0) if value else (0.0, 1 - least)
        low, high = max(low, 0.0), min(high, 1.0)
        better |= {(one, other): Estimate(value, low, high), (other, one): Estimate(1 - value, 1 - high, 1 - low)}
    return Report(
        mean=estimates(lambda runs: runs.mean(axis=1)),
        iqm=estimates(lambda runs: stats.trim_mean(runs, 0.25, axis=1)),
        improvement=better,
        runs={name: len(array) for name, array in arrays.items()},
        deals=next(iter(shapes))[1],
    )


def improvement(one: Floats, other: Floats) -> Floats:
    """Compute the probability of improvement, [B].

    ``one`` and ``other`` are scores of the runs of two agents, [B, runs, games] each. The Mann-Whitney statistic of
    each game is divided by the number of pairs of runs, and averaged over games.
    """
    better: Floats = np.sign(one[:, :, None] - other[:, None]).mean(axis=(1, 2, 3)) / 2 + 0.5
    return better


def _scores(name: str, scores: npt.ArrayLike) -> Floats:
    """Return scores as float64 [runs, games, deals]."""
    array = np.asarray(scores, np.float64)
    if array.ndim == 2:
        array = array[:, None, :]
    if array.ndim != 3 or len(array) < 2 or array.shape[2] < 2:
        raise ValueError(
            f"{name}: scores are [runs, deals] or [runs, games, deals] with at least 2 runs and 2 deals, "
            f"got {list(np.shape(scores))}"
        )
    return array


def _bootstrap(statistic: Callable[..., Floats], arrays: list[Floats], resamples: int, seed: int) -> Estimate:
    """Estimate a statistic with its interval. It maps scores [B, runs, games] of each array, for B draws, to [B]."""
    stats = scipy_stats()
    games, deals = arrays[0].shape[1:]

    def of_drawn(*drawn: npt.NDArray[np.int64], axis: int = -1) -> Floats:
        """Compute the statistic for resampled indices.

        The first are of deals, [..., D], the others of runs, [..., runs] for each array and game.
        """
        chosen, *runs = (each.reshape(-1, each.shape[axis]) for each in drawn)
        weights = np.stack([np.bincount(each, minlength=deals) for each in chosen], axis=1) / deals
        picks, samples = iter(runs), []
        for array in arrays:
            means = np.moveaxis(array @ weights, -1, 0)
            picked = [np.take_along_axis(means[:, :, game], next(picks), axis=1) for game in range(games)]
            samples.append(np.stack(picked, axis=2))
        return statistic(*samples).reshape(drawn[0].shape[:-1])

    indices = [np.arange(deals), *(np.arange(len(array)) for array in arrays for _ in range(games))]
    n = min(map(len, arrays))
    # Hesterberg, "What Teachers Should Know About the Bootstrap" (2015): the level at which normal quantiles, with the
    # bootstrap's standard error, give the t interval of the mean of n observations.
    level = 1 - 2 * float(stats.norm.cdf(-math.sqrt(n / (n - 1)) * stats.t.ppf(0.975, n - 1)))
    result = stats.bootstrap(
        indices,
        of_drawn,
        n_resamples=resamples,
        confidence_level=level,
        method="percentile",
        vectorized=True,
        rng=np.random.default_rng(seed),
    )
    low, high = result.confidence_interval
    if not low < high:  # all resamples agree
        low, high = -math.inf, math.inf
    return Estimate(float(of_drawn(*indices)), float(low), float(high))


def interquartile_mean(scores: npt.ArrayLike, *, resamples: int = 50_000, seed: int = 0) -> Estimate:
    """Compute the interquartile mean, with the interval that rliable computes.

    The mean is over the scores of several runs in several tasks. The interval consists of the percentiles of a
    bootstrap that resamples runs separately for each task; deals are not resampled. It is the usual one in
    publications. It is narrower than the interval of `report`: with five runs its percentiles cover less than 95 %.
    rliable 1.2.0 draws the same indices after ``numpy.random.seed(seed)``, so that both intervals are equal.

    Args:
        scores: [runs, tasks], on comparable scales, such as `quincunx_env.arena.benchmark.TaskResult.normalised`.
        resamples: number of bootstrap resamples; the default is rliable's.
        seed: seed of the bootstrap.

    Raises:
        ValueError: for arrays of other shapes, or fewer than two runs.
        ImportError: without SciPy.
    """
    array = np.asarray(scores, np.float64)
    if array.ndim != 2 or len(array) < 2 or not array.size:
        raise ValueError(f"scores are [runs, tasks] with at least 2 runs, got {list(array.shape)}")
    trim_mean = scipy_stats().trim_mean
    runs, tasks = array.shape
    rng = np.random.RandomState(seed)  # rliable draws from NumPy's global generator, which is of this class
    drawn = array[rng.randint(runs, size=(resamples, runs, tasks)), np.arange(tasks)]
    low, high = np.percentile(trim_mean(drawn.reshape(resamples, -1), 0.25, axis=1), [2.5, 97.5])
    return Estimate(float(trim_mean(array, 0.25, axis=None)), float(low), float(high))
