"""Evaluation of policies at the solitaire."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from quincunx_env.arena.endings import points_lost
from quincunx_env.arena.luck import Luck, luck_of
from quincunx_env.arena.matches import Deals, MatchResults
from quincunx_env.arena.runner import Lineup, Run, measure_lineups, with_run
from quincunx_env.arena.statistics import Estimate, in_words, written
from quincunx_env.core.arrays import Floats
from quincunx_env.core.policy import Agent
from quincunx_env.core.rules import BaseRules
from quincunx_env.core.spec import Solitaire
from quincunx_env.policies import by_display_name, display_name
from quincunx_env.policies.conversations import Counts, counts_table, marked
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
        endings: float64 [deals, 3], points that each of the last three plays lost; None where it was not measured.
        answers: of a language model, its decisions and illegal answers.
    """

    scores: npt.NDArray[np.int64]
    lost: npt.NDArray[np.bool_]
    lost_value: float = 0.0
    solitaire: Solitaire = SOLITAIRE
    luck: Luck | None = None
    endings: Floats | None = None
    answers: Counts | None = None

    @classmethod
    def from_results(cls, results: MatchResults, rules: BaseRules, lost_value: float = 0.0) -> Self:
        """Make the evaluation of the only lineup and seat of a solitaire."""
        return cls(results.totals[:, 0, 0], results.lost[:, 0], lost_value, solitaire_of(rules.game))

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
    def adjusted_mean(self) -> Estimate:
        """Mean of the values without the luck of the cards, see `quincunx_env.arena.luck`.

        Raises:
            ValueError: if ``luck`` was not measured.
        """
        return Estimate.of_mean(*self._adjusted())

    @property
    def points_lost(self) -> list[Estimate]:
        """Mean points that the last three plays lose against the best ones, and each of them, ascending by ply.

        The games are those that reach the play, or the first of the three.

        Raises:
            ValueError: if ``endings`` were not measured, or if fewer than 2 games reach the last play.
        """
        if self.endings is None:
            raise ValueError("the endings were not measured: evaluate with endings=True")
        if np.count_nonzero(~np.isnan(self.endings[:, -1])) < 2:
            raise ValueError("fewer than 2 rounds reach the last play: evaluate the endings on more deals")
        reached = self.endings[~np.isnan(self.endings[:, 0])]
        return [Estimate.of_mean(each[~np.isnan(each)]) for each in (np.nansum(reached, axis=1), *self.endings.T)]

    def minus(self, other: "Evaluation") -> tuple[Estimate, Estimate]:
        """Return the mean difference to another policy on the same deals, and the same without luck.

        Raises:
            ValueError: if ``luck`` was not measured.
        """
        adjusted = self._adjusted()[0] - other._adjusted()[0]
        return Estimate.of_mean(self.values - other.values), Estimate.of_mean(adjusted)

    def _adjusted(self) -> tuple[Floats, float]:
        """Return the adjusted values [deals], and their common standard error."""
        if self.luck is None:
            raise ValueError("the luck was not measured: evaluate with adjusted=True")
        return self.luck.adjusted(self.values), self.luck.error

    @property
    def classes(self) -> dict[str, float]:
        """Share of the deals with each rating, ascending."""
        classes = self.solitaire.rate(self.scores, self.lost)
        shares = np.bincount(classes, minlength=len(self.solitaire.ratings)) / len(classes)
        return dict(zip(self.solitaire.ratings, shares.tolist(), strict=True))

    def __repr__(self) -> str:
        lost = written(self.lost.mean(), ".1%").replace("%", " %")
        return f"Evaluation: {in_words(self.values)}, {lost} lost, {len(self.scores):,} deals"

    def _repr_markdown_(self) -> str:
        return self.table()

    def table(self) -> str:
        """Return a Markdown table with one row, see `table`."""
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
        """Return `figures`, with the adjusted mean and the points lost if they were measured."""
        found = self.figures()
        if self.luck is not None:
            found["adjusted_mean"] = self.adjusted_mean.to_json()
        if self.endings is not None:
            found["points_lost"] = [each.to_json() for each in self.points_lost]
        if self.answers is not None:
            found["answers"] = self.answers._asdict()
        return found


@with_run
def evaluate(
    policy: Agent | str,
    deals: Deals | int = Deals(),
    *,
    rules: BaseRules = SOLITAIRE.rules,
    lost_value: float = 0.0,
    adjusted: bool = False,
    endings: bool = False,
    run: Run = Run(),
) -> Evaluation:
    """Evaluate a policy at the solitaire on numbered deals.

    Args:
        policy: the policy, or its name as `quincunx_env.arena.resolve` takes it.
        deals: numbered deals; an integer means the first ones of the benchmark.
        rules: rules of the solitaire.
        lost_value: value of a lost round.
        adjusted: also measure the luck of the cards, for `Evaluation.adjusted_mean`.
        endings: also measure the points lost in the last three plays, for `Evaluation.points_lost`.
        run: how the games are played.

    Raises:
        ValueError: as `evaluate_all`.
        ImportError: with ``records``, without SciPy.
        IllegalAction: if the policy chooses an illegal action.
    """
    options: dict[str, Any] = {"rules": rules, "lost_value": lost_value, "adjusted": adjusted, "endings": endings}
    [evaluation] = evaluate_all({display_name(policy): policy}, deals, **options, run=run).values()
    return evaluation


@with_run
def evaluate_all(
    policies: Mapping[str, Agent | str] | Iterable[Agent | str],
    deals: Deals | int = Deals(),
    *,
    rules: BaseRules = SOLITAIRE.rules,
    lost_value: float = 0.0,
    adjusted: bool = False,
    endings: bool = False,
    run: Run = Run(),
) -> dict[str, Evaluation]:
    """Evaluate several policies like `evaluate`.

    Args:
        policies: a mapping by name, or a sequence of agents, names and ``"name=module:attribute"``.
        deals: numbered deals.
        rules: rules of the solitaire.
        lost_value: value of a lost round.
        adjusted: also measure the luck of the cards, for `Evaluation.adjusted_mean`.
        endings: also measure the points lost in the last three plays, for `Evaluation.points_lost`.
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

    def measure(lineup: Lineup, results: MatchResults, counts: Mapping[str, Counts]) -> Evaluation:
        found = replace(Evaluation.from_results(results, rules, lost_value), answers=counts.get(lineup[0]))
        if adjusted:
            found = replace(found, luck=luck_of(results, config, run=run))
        if endings:
            found = replace(found, endings=points_lost(results, config, lost_value, run))
        return found

    named = by_display_name(policies)
    found = measure_lineups(named, [(name,) for name in named], config, run, measure)
    return {name: evaluation for (name,), evaluation in found.items()}


def table(evaluations: Mapping[str, Evaluation] | Iterable[tuple[str, Evaluation]]) -> str:
    """Return a Markdown table with a row for each evaluation. They are given by name, or as pairs.

    Where all have adjusted means, another table has the differences to the first policy on the same deals. Where all
    have points lost, another table has these.
    """
    pairs = [*(evaluations.items() if isinstance(evaluations, Mapping) else evaluations)]
    solitaire = pairs[0][1].solitaire if pairs else SOLITAIRE
    counts = {name: evaluation.answers for name, evaluation in pairs if evaluation.answers is not None}
    ends = solitaire.ratings[0], solitaire.ratings[-1]  # of all ratings, so that a row fits into 80 columns
    adjusted = bool(pairs) and all(evaluation.luck is not None for _, evaluation in pairs)
    rows = []
    for name, evaluation in pairs:
        means = Estimate.of_mean(evaluation.values), *([evaluation.adjusted_mean] if adjusted else ())
        cells = (cell for mean in means for cell in mean.cells(".1f"))
        shares = (written(evaluation.classes[rating], ".1%") for rating in ends)
        rows.append((marked(name, counts), str(len(evaluation.scores)), *cells, *shares))
    header = ("agent", "deals", "mean", _INTERVAL, *(("adjusted mean", _INTERVAL) if adjusted else ()), *ends)
    tables = [markdown_table(header, rows)]
    if adjusted and len(pairs) > 1:
        tables.append(_differences(*pairs))
    if pairs and all(evaluation.endings is not None for _, evaluation in pairs):
        tables.append(_endings(*pairs))
    if counts:
        tables.append(counts_table(counts))
    return "\n\n".join(tables)


_INTERVAL = "95 % interval"


def _differences(reference: tuple[str, Evaluation], *others: tuple[str, Evaluation]) -> str:
    """List the differences to a policy, plain and adjusted."""
    rows = []
    for name, evaluation in others:
        both = (each.cells("+.1f") for each in evaluation.minus(reference[1]))
        rows.append((escaped(name), *(cell for cells in both for cell in cells)))
    header = f"minus {escaped(reference[0])}", "difference", _INTERVAL, "adjusted difference", _INTERVAL
    return markdown_table(header, rows)


def _endings(*evaluations: tuple[str, Evaluation]) -> str:
    """List the points lost in the last three plays."""
    rows = []
    for name, evaluation in evaluations:
        whole, *plays = evaluation.points_lost
        rows.append((escaped(name), *whole.cells(".2f"), *(each.cells(".2f")[0] for each in plays)))
    header = "agent", "points lost in the last three plays", _INTERVAL, "third last", "second last", "last"
    return markdown_table(header, rows)


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
        lost = written(evaluation.lost.mean(), ".1%")
        labels[axes.stairs(shares, bins)] = f"{name}: mean {evaluation.mean:z.1f}, {lost} lost"
    axes.legend([*labels], [*labels.values()], frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    if path is not None:
        figure.savefig(path, dpi=150)
    return figure
