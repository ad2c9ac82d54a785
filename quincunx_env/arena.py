"""Measuring policies: their evaluation on numbered deals.

Deal number k of a domain is what a batch seeded k deals first; two policies evaluated on deals 0 to n - 1 have played
the same n deals. Benchmark deals serve for final figures alone; to choose between policies or settings look at the
``validation`` domain.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from quincunx_env.core.deal import Domain
from quincunx_env.core.policy import Policy
from quincunx_env.quincunx.batch import Batch, ratings
from quincunx_env.quincunx.observation import Observer
from quincunx_env.quincunx.rules import Rules
from quincunx_env.quincunx.scoring import RATINGS

__all__ = ["Evaluation", "Policy", "evaluate", "table"]


@dataclass(frozen=True)
class Evaluation:
    """Outcomes of one policy on numbered solitaire deals.

    Attributes:
        scores: int64 [deals], the points really scored, by deal number.
        lost: bool [deals].
        lost_value: what a lost round counts in the mean.
    """

    scores: npt.NDArray[np.int64]
    lost: npt.NDArray[np.bool_]
    lost_value: float = 0.0

    @property
    def values(self) -> npt.NDArray[np.float64]:
        """float64 [deals]: the scores, `lost_value` for lost rounds."""
        return np.where(self.lost, self.lost_value, self.scores)

    @property
    def mean(self) -> float:
        """Mean of the values."""
        return float(self.values.mean())

    @property
    def ci95(self) -> tuple[float, float]:
        """95 % interval of the mean: 1.96 standard errors to either side, the deal as the unit."""
        half = 1.96 * float(self.values.std(ddof=1)) / math.sqrt(len(self.values))
        return self.mean - half, self.mean + half

    @property
    def classes(self) -> dict[str, float]:
        """Share of each of the `RATINGS`."""
        classes = ratings(self.scores, self.lost)
        shares = np.bincount(classes, minlength=len(RATINGS)) / len(classes)
        return dict(zip(RATINGS, shares.tolist(), strict=True))

    def to_json(self) -> dict[str, Any]:
        """Mean, interval, share of lost rounds and of each class, number of deals."""
        return {
            "mean": self.mean,
            "ci95": list(self.ci95),
            "lost": float(self.lost.mean()),
            "classes": self.classes,
            "deals": len(self.scores),
        }


def evaluate(
    policy: Policy,
    deals: int = 1000,
    *,
    rules: Rules | None = None,
    domain: Domain = "benchmark",
    first: int = 0,
    seed: int = 0,
    lost_value: float = 0.0,
    chunk: int = 1000,
    progress: Callable[[Iterable[int]], Iterable[int]] = iter,
) -> Evaluation:
    """Play the solitaire on numbered deals.

    Args:
        policy: what to measure.
        deals: how many, at least 2.
        rules: solitaire rules; the default game if None.
        domain: which numbered deals.
        first: number of the first deal.
        seed: of the generator that the policy gets, a new one for each ``chunk`` deals.
        lost_value: what a lost round counts.
        chunk: deals played side by side.
        progress: wraps the iteration over the chunks, as ``tqdm`` does.

    Raises:
        ValueError: for rules of several players.
        IllegalAction: if the policy chooses an illegal action.
    """
    rules = rules or Rules()
    if rules.num_players != 1:
        raise ValueError(f"evaluate plays the solitaire, got rules for {rules.num_players} players")
    if deals < 2:
        raise ValueError(f"an interval needs at least 2 deals, got {deals}")
    observer = Observer(rules, preview=True)
    scores, lost = [], []
    for number, start in enumerate(progress(range(first, first + deals, chunk))):
        batch = Batch(rules, min(chunk, first + deals - start), domain)
        batch.reset(seed=start)
        rng = np.random.default_rng([seed, number])
        while not batch.over.all():
            rows = np.flatnonzero(~batch.over)
            live = batch.fork(rows)
            batch.step(policy(observer.observe_batch(live), live.mask(), rng), rows)
        scores.append(batch.scores[:, 0])
        lost.append(batch.lost)
    return Evaluation(np.concatenate(scores), np.concatenate(lost), lost_value)


def table(evaluations: Mapping[str, Evaluation]) -> str:
    """Evaluations side by side, as a Markdown table."""
    lines = [
        f"| agent | deals | mean | 95 % interval | {' | '.join(RATINGS)} |",
        "|---" * (4 + len(RATINGS)) + "|",
    ]
    for name, evaluation in evaluations.items():
        low, high = evaluation.ci95
        shares = " | ".join(f"{share:.1%}" for share in evaluation.classes.values())
        lines.append(
            f"| {name} | {len(evaluation.scores)} | {evaluation.mean:.1f} | {low:.1f} to {high:.1f} | {shares} |"
        )
    return "\n".join(lines)
