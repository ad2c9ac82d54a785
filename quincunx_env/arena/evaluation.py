"""Evaluation of policies at the solitaire."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from quincunx_env.arena.luck import Luck, luck_of
from quincunx_env.arena.matches import Deals, MatchResults
from quincunx_env.arena.runner import Run, measure_lineups
from quincunx_env.arena.statistics import Estimate, in_words
from quincunx_env.core.policy import Agent
from quincunx_env.core.rules import BaseRules
from quincunx_env.core.spec import Solitaire
from quincunx_env.policies import by_display_name, display_name
from quincunx_env.registry import solitaire_of
from quincunx_env.utils.figures import drawable, plain_text
from quincunx_env.utils.markdown import escaped, markdown_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SOLITAIRE = solitaire_of()
"""The solitaire that is played if no rules are given."""

MOST_POINTS = 1e6
"""Greatest absolute value of a lost round; no game has as many points."""


@dataclass(frozen=True, repr=False)
class Evaluation:
    """Results of a policy on numbered deals of the solitaire.

    Attributes:
        scores: int64 [deals], points scored, also in lost rounds.
        lost: bool [deals], whether the hand ran out.
        lost_value: value of a lost round in the mean.
        solitaire: the solitaire, whose ratings count.
        luck: luck of the cards; None where it was not measured.
    """

    scores: npt.NDArray[np.int64]
    lost: npt.NDArray[np.bool_]
    lost_value: float = 0.0
    solitaire: Solitaire = SOLITAIRE
    luck: Luck | None = None

    @classmethod
    def from_results(
        cls, results: MatchResults, rules: BaseRules, lost_value: float = 0.0, luck: Luck | None = None
    ) -> Self:
        """Make the evaluation of the only lineup and seat of a solitaire."""
        return cls(results.totals[:, 0, 0], results.lost[:, 0], lost_value, solitaire_of(rules.game), luck)

    @property
    def values(self) -> npt.NDArray[np.float64]:
        """float64 [deals]: the scores, with `lost_value` for lost rounds."""
        return np.where(self.lost, self.lost_value, self.scores)

    @property
    def mean(self) -> float:
        """Mean of the values."""
        return float(self.values.mean())

    @property
    def ci95(self) -> tuple[float, float]:
        """(low, high): Student's t interval of the mean at 95 %.

        The deal is the unit. The ends are infinite if all values are equal.

        Raises:
            ImportError: without SciPy.
        """
        _, low, high = Estimate.of_mean(self.values)
        return low, high

    @property
    def adjusted_mean(self) -> Estimate | None:
        """Mean of the values without the luck of the cards, see `quincunx_env.arena.luck`. None without ``luck``."""
        return None if self.luck is None else self.luck.adjusted_mean(self.values)

    def minus(self, other: "Evaluation") -> tuple[Estimate, Estimate | None]:
        """Return the mean difference to another policy on the same deals, and the same without luck."""
        plain = Estimate.of_mean(self.values - other.values)
        if self.luck is None or other.luck is None:
            return plain, None
        return plain, Estimate.of_mean(self.luck.adjusted(self.values) - other.luck.adjusted(other.values))

    @property
    def classes(self) -> dict[str, float]:
        """Share of the deals with each rating, ascending."""
        classes = self.solitaire.rate(self.scores, self.lost)
        shares = np.bincount(classes, minlength=len(self.solitaire.ratings)) / len(classes)
        return dict(zip(self.solitaire.ratings, shares.tolist(), strict=True))

    def __repr__(self) -> str:
        return f"Evaluation: {in_words(self.values)}, {100 * self.lost.mean():.1f} % lost, {len(self.scores):,} deals"

    def _repr_markdown_(self) -> str:
        return table({"": self})

    def figures(self) -> dict[str, Any]:
        """Return the figures that follow from the points, as JSON values.

        These are mean, interval, shares of lost rounds and classes, number of deals, and value of a lost round.
        """
        return {
            "mean": self.mean,
            "ci95": [*Estimate.of_mean(self.values).to_json().values()][1:],
            "lost": float(self.lost.mean()),
            "classes": self.classes,
            "deals": len(self.scores),
            "lost_value": self.lost_value,
        }

    def to_json(self) -> dict[str, Any]:
        """Return `figures`, with the adjusted mean if there is one."""
        adjusted = self.adjusted_mean
        return self.figures() | ({} if adjusted is None else {"adjusted_mean": adjusted.to_json()})


def evaluate(
    policy: Agent | str,
    deals: Deals | int = Deals(),
    *,
    rules: BaseRules = SOLITAIRE.rules,
    lost_value: float = 0.0,
    adjusted: bool = False,
    run: Run = Run(),
) -> Evaluation:
    """Evaluate a policy at the solitaire on numbered deals.

    Args:
        policy: the policy, or its name as `quincunx_env.arena.resolve` takes it.
        deals: numbered deals; an integer means the first ones of the benchmark.
        rules: rules of the solitaire.
        lost_value: value of a lost round.
        adjusted: also measure the luck of the cards, for `Evaluation.adjusted_mean`.
        run: how the games are played.

    Raises:
        ValueError: as `evaluate_all`.
        ImportError: with ``records``, without SciPy.
        IllegalAction: if the policy chooses an illegal action.
    """
    named = {display_name(policy): policy}
    [evaluation] = evaluate_all(named, deals, rules=rules, lost_value=lost_value, adjusted=adjusted, run=run).values()
    return evaluation


def evaluate_all(
    policies: Mapping[str, Agent | str] | Iterable[Agent | str],
    deals: Deals | int = Deals(),
    *,
    rules: BaseRules = SOLITAIRE.rules,
    lost_value: float = 0.0,
    adjusted: bool = False,
    run: Run = Run(),
) -> dict[str, Evaluation]:
    """Evaluate several policies like `evaluate`.

    Args:
        policies: a mapping by name, or a sequence of agents, names and ``"name=module:attribute"``.
        deals: numbered deals.
        rules: rules of the solitaire.
        lost_value: value of a lost round.
        adjusted: also measure the luck of the cards, for `Evaluation.adjusted_mean`.
        run: how the games are played.

    Raises:
        ValueError: for rules of several players, a value of a lost round out of bounds, no or an unknown policy, two of
            the same name, one that other processes cannot get, or if Ray is required and not installed.
        ConnectionError: if Ray finds no cluster.
        IllegalAction: if a policy chooses an illegal action.
    """
    config = run.config(rules, deals)
    if not abs(lost_value) <= MOST_POINTS:
        most = f"{MOST_POINTS:,.0f}"
        raise ValueError(f"the value of a lost round must be a number from -{most} to {most}, got {lost_value}")
    if (players := rules.num_players) != 1:
        raise ValueError(f"evaluate needs the solitaire, got rules for {players} players; use compare")

    def measure(_: object, results: MatchResults) -> Evaluation:
        luck = luck_of(results, config, run=run) if adjusted else None
        return Evaluation.from_results(results, rules, lost_value, luck)

    named = by_display_name(policies)
    found = measure_lineups(named, [(name,) for name in named], config, run, measure)
    return {name: evaluation for (name,), evaluation in found.items()}


def table(evaluations: Mapping[str, Evaluation] | Iterable[tuple[str, Evaluation]]) -> str:
    """Return a Markdown table with a row for each evaluation. They are given by name, or as pairs.

    Where all have adjusted means, a second table has the differences to the first policy on the same deals.
    """
    pairs = [*(evaluations.items() if isinstance(evaluations, Mapping) else evaluations)]
    solitaire = pairs[0][1].solitaire if pairs else SOLITAIRE
    ends = solitaire.ratings[0], solitaire.ratings[-1]  # of all ratings, so that a row fits into 80 columns
    adjusted = bool(pairs) and all(evaluation.luck is not None for _, evaluation in pairs)
    interval = "95 % interval"
    rows = []
    for name, evaluation in pairs:
        row = escaped(name), str(len(evaluation.scores)), *Estimate.of_mean(evaluation.values).cells(".1f")
        row += evaluation.adjusted_mean.cells(".1f") if adjusted and evaluation.adjusted_mean else ()
        rows.append((*row, *(f"{evaluation.classes[rating]:.1%}" for rating in ends)))
    added = ("adjusted mean", interval) if adjusted else ()
    means = markdown_table(("agent", "deals", "mean", interval, *added, *ends), rows)
    if not adjusted or len(pairs) == 1:
        return means
    (first, reference), *others = pairs
    differences = []
    for name, evaluation in others:
        plain, without_luck = evaluation.minus(reference)
        assert without_luck is not None
        differences.append((escaped(name), *plain.cells("+.1f"), *without_luck.cells("+.1f")))
    header = f"minus {escaped(first)}", "difference", interval, "adjusted difference", interval
    return f"{means}\n\n{markdown_table(header, differences)}"


@plain_text()
def plot(evaluations: Mapping[str, Evaluation], path: Path | str | None = None) -> "Figure":
    """Plot the distributions of the scores of finished rounds.

    The legend has the shares of lost rounds.

    Args:
        evaluations: by name in the legend.
        path: file to save the figure to; its suffix determines the format.
    """
    from matplotlib.figure import Figure

    evaluations = dict(zip(drawable(evaluations), evaluations.values(), strict=True))
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.add_subplot(xlabel="points of finished rounds", ylabel="share of all deals, by ten points")
    scores = {name: evaluation.scores[~evaluation.lost] for name, evaluation in evaluations.items()}
    tens = np.concatenate([*scores.values(), [0]]) // 10
    bins = np.arange(tens.min(), tens.max() + 2) * 10
    labels = dict[Any, str]()  # given to the legend, which otherwise leaves out names that begin with an underscore
    for name, evaluation in evaluations.items():
        shares = np.histogram(scores[name], bins)[0] / len(evaluation.scores)
        labels[axes.stairs(shares, bins)] = f"{name}: mean {evaluation.mean:.1f}, {evaluation.lost.mean():.1%} lost"
    axes.legend([*labels], [*labels.values()], frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    if path is not None:
        figure.savefig(path, dpi=150)
    return figure
