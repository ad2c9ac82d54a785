"""A standard benchmark: named tasks with fixed rules, deals and metric.

>>> TASKS["solitaire"].final
Deals(count=10000, domain='benchmark', first=100000)
>>> TASKS["3-corners"].opponent
'heuristic'

Results of different authors can be compared. A policy is trained on deals of the domain ``play`` with any seeds, and
selected on ``validation`` deals. It is measured once on the ``benchmark`` deals of `Task.final`; a slow search on
`Task.search`. Figures elsewhere in the documentation use ``benchmark`` deals below `FIRST_FINAL_DEAL`.

A score is normalised to 0 for uniformly random play and 1 for the reference policy, from the stored results of both,
`BASELINES`. Tasks of generalisation: `quincunx_env.arena.generalisation`. The protocol in words: ``docs/benchmark.md``.
"""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any, Literal

from quincunx_env.arena.comparison import Comparison
from quincunx_env.arena.evaluation import Evaluation
from quincunx_env.arena.luck import luck_of
from quincunx_env.arena.matches import Deals, MatchResults, one_against_others
from quincunx_env.arena.runner import Lineup, Run, measure_lineups, with_run
from quincunx_env.arena.statistics import Estimate
from quincunx_env.core.policy import Agent
from quincunx_env.core.rules import BaseRules
from quincunx_env.policies import check_name, display_name
from quincunx_env.policies.conversations import Counts
from quincunx_env.registry import GAMES
from quincunx_env.utils.files import package_file, read_text, write_csv

VERSION = "v0"
"""Version of all tasks; a change of rules, deals or metric of a task makes another version."""

FIRST_FINAL_DEAL = 100_000
"""Number of the first ``benchmark`` deal of final figures."""

BASELINES = package_file("quincunx_env.arena", "benchmark.csv")
"""Stored results of baseline policies; written by `write_results`.

:meta hide-value:
"""

OTHER_BASELINES = package_file("quincunx_env.arena", "generalisation.csv")
"""Stored results of `OTHER_RULES`, by ``quincunx benchmark NAME uniform greedy heuristic`` for each.

:meta hide-value:
"""

Split = Literal["validation", "final", "search"]
"""Uses of numbered deals."""


@dataclass(frozen=True)
class Task:
    """A game with the deals and the metric of its results.

    Without an ``opponent`` the score of a deal is the points of the round, 0 for a lost one. With an ``opponent`` it is
    the policy's share of the win in one seat, averaged over the seats. The opponent has all other seats. The win is
    shared by the seats with most points.
    """

    name: str
    rules: BaseRules
    reference: str = "heuristic"
    """Registered policy whose normalised score is 1."""
    opponent: str | None = None
    """Registered policy in all other seats; None in the solitaire."""
    validation: Deals = field(default=Deals(1_000, "validation"), repr=False)
    """Usual deals to select settings and checkpoints with. All other ``validation`` deals may be used, too."""
    final: Deals = field(default=Deals(2_000, first=FIRST_FINAL_DEAL), repr=False)
    """Deals of the final figure."""
    search: Deals = field(default=Deals(200, first=FIRST_FINAL_DEAL), repr=False)
    """Their first deals, for policies that are too slow for all."""

    def deals(self, split: Split) -> Deals:
        """Return the deals of a use.

        Raises:
            ValueError: for an unknown use.
        """
        splits = {"validation": self.validation, "final": self.final, "search": self.search}
        if split not in splits:
            raise ValueError(f"split must be one of {', '.join(splits)}, got {split!r}")
        return splits[split]


def task_with(name: str, rules: BaseRules) -> Task:
    """Return a task with these rules.

    The solitaire has 10,000 final deals. Several players have 2,000, and the heuristic in all other seats.
    """
    if rules.num_players > 1:
        return Task(name, rules, opponent="heuristic")
    final, search = (Deals(count, first=FIRST_FINAL_DEAL) for count in (10_000, 300))
    return Task(name, rules, final=final, search=search)


TASKS: Mapping[str, Task] = {
    name: task_with(name, rules) for spec in GAMES.values() for name, rules in spec.tasks.items()
}
"""The tasks by name."""

OTHER_RULES: Mapping[str, Task] = {
    name: task_with(name, rules)
    for spec in GAMES.values()
    for sides in spec.generalisation.values()
    for side in sides
    for name, rules in side.items()
    if name not in TASKS
}
"""Tasks with the other rules of the tasks of generalisation."""


def task_of(name: str) -> Task:
    """Look up a task.

    Raises:
        ValueError: for an unknown name, with the known ones.
    """
    if name not in TASKS and name not in OTHER_RULES:
        known = [*TASKS, *(other for spec in GAMES.values() for other in spec.generalisation)]
        raise ValueError(f"unknown task {name!r}; the tasks are {', '.join(known)}")
    return TASKS.get(name) or OTHER_RULES[name]


@dataclass(frozen=True)
class TaskResult:
    """Result of a policy on a task."""

    task: Task
    policy: str
    """Its name in tables."""
    deals: Deals
    score: Estimate
    """Mean over deals, with Student's t interval."""
    lost: float | None = None
    """Solitaire: share of lost rounds."""
    margin: float | None = None
    """Several players: mean points minus the mean of the other seats."""
    adjusted: Estimate | None = None
    """Solitaire: the score without the luck of the cards, where it was measured."""
    answers: Counts | None = None
    """Decisions and illegal answers of a language model. A file of results does not hold them."""

    @cached_property
    def baseline_scores(self) -> tuple[float, float]:
        """Scores of uniformly random play and of the reference, see `baseline`. The result keeps them."""
        return baseline(self.task, "uniform"), baseline(self.task, self.task.reference)

    @property
    def normalised(self) -> Estimate:
        """The score in the unit of the baselines: (score - uniform) / (reference - uniform). They count as exact."""
        zero, one = self.baseline_scores
        return Estimate(*((each - zero) / (one - zero) for each in self.score))


@with_run
def evaluate_on_task(
    task: Task | str,
    policy: Agent | str,
    *,
    split: Split = "final",
    deals: int | None = None,
    name: str | None = None,
    adjusted: bool = False,
    run: Run = Run(),
) -> TaskResult:
    """Evaluate a policy on a task.

    Args:
        task: the task, or its name.
        policy: the policy, or its name as `quincunx_env.arena.resolve` takes it.
        split: deals to play, see `Split`.
        deals: number of deals, the first ones of the split; all of them if None.
        name: of the policy in tables.
        adjusted: in the solitaire, also measure the score without luck (`quincunx_env.arena.luck`).
        run: how the games are played.

    Raises:
        ValueError: for an unknown task, policy or split, fewer than 2 deals or more than the split has.
        IllegalAction: if a policy chooses an illegal action.
        ImportError: without SciPy.
    """
    task = task_of(task) if isinstance(task, str) else task
    name, numbers = check_name(name or display_name(policy)), task.deals(split)
    if deals is not None:
        if deals > numbers.count:
            raise ValueError(f"{task.name} has {numbers.count} {split} deals, got {deals}")
        numbers = replace(numbers, count=deals)
    if adjusted and task.opponent is not None:
        raise ValueError(f"{task.name} has no adjusted scores: only the solitaire has them")
    config = run.config(task.rules, numbers)
    policies: dict[str, Agent | str] = {name: policy}
    if task.opponent is not None:
        policies["opponent" if name == task.opponent else task.opponent] = task.opponent
    names, seats = tuple(policies), one_against_others(len(policies), task.rules.num_players)

    answers = dict[str, Counts]()

    def measure(lineup: Lineup, results: MatchResults, counts: Mapping[str, Counts]) -> Evaluation | Comparison:
        answers.update(counts)
        if task.opponent is None:
            luck = luck_of(results, config, run=run) if adjusted else None
            return replace(Evaluation.from_results(results, task.rules), luck=luck)
        return Comparison.from_results(lineup, seats, results, config)

    found = measure_lineups(policies, [names], config, run, measure)[names]
    counted = answers.get(name)
    if isinstance(found, Evaluation):
        score, lost = Estimate.of_mean(found.values), float(found.lost.mean())
        without_luck = found.adjusted_mean if adjusted else None
        return TaskResult(task, name, numbers, score, lost=lost, adjusted=without_luck, answers=counted)
    return TaskResult(task, name, numbers, found.win_rate(), margin=found.margin().value, answers=counted)


# --- Stored results --------------------------------------------------------------------------------------------------

_COLUMNS = (
    *("version", "task", "policy", "domain", "first", "deals", "score", "low", "high", "lost", "margin"),
    *("adjusted", "adjusted_low", "adjusted_high"),
)


def write_results(path: Path | str, results: Iterable[TaskResult]) -> None:
    """Write results as CSV, atomically.

    Results of other tasks or policies in the file are kept.

    Raises:
        ValueError: if the file exists and holds something else.
        OSError: if it cannot be written.
    """
    results, order = [*results], [*TASKS, *OTHER_RULES]

    def rows() -> Iterator[list[str]]:
        # The file is read while it is written, and not before, to keep what another process has written meanwhile.
        kept = read_results(path) if Path(path).exists() else ()
        stored = {(each.task.name, each.policy): each for each in (*kept, *results)}
        yield from (_row(stored[key]) for key in sorted(stored, key=lambda key: order.index(key[0])))

    write_csv(Path(path), _COLUMNS, rows())


def _row(result: TaskResult) -> list[str]:
    deals = result.deals
    figures = (*result.score, result.lost, result.margin, *(result.adjusted or (None,) * 3))
    return [
        *(VERSION, result.task.name, result.policy, deals.domain, str(deals.first), str(deals.count)),
        *("" if figure is None else f"{figure:z.5f}" for figure in figures),
    ]


def read_results(path: Path | str) -> list[TaskResult]:
    """Read results that `write_results` wrote.

    Raises:
        ValueError: if the file is damaged, or of another version.
        OSError: if it cannot be read.
    """
    try:
        columns, *rows = csv.reader(io.StringIO(read_text(path), newline=""), strict=True)
        if columns != list(_COLUMNS):
            raise ValueError(f"its columns are {', '.join(columns)}")
        return [_result(dict(zip(_COLUMNS, row, strict=True))) for row in rows]
    except (KeyError, ValueError, csv.Error) as error:
        raise ValueError(f"{path} holds no results of the tasks {VERSION}: {error}") from error


def _result(row: dict[str, Any]) -> TaskResult:
    if row["version"] != VERSION:
        raise ValueError(f"the version is {row['version']!r}")
    lost, margin = (float(row[name]) if row[name] else None for name in ("lost", "margin"))
    deals = Deals(int(row["deals"]), row["domain"], int(row["first"]))
    score = Estimate(*(float(row[name]) for name in ("score", "low", "high")))
    adjusted = [float(row[f"adjusted{end}"]) for end in ("", "_low", "_high") if row[f"adjusted{end}"]]
    without_luck = Estimate(*adjusted) if adjusted else None
    return TaskResult(task_of(row["task"]), row["policy"], deals, score, lost, margin, without_luck)


@cache
def baselines(stored: Path | None = None) -> dict[tuple[str, str], TaskResult]:
    """Return stored results by task and policy, by default of `TASKS`."""
    return {(each.task.name, each.policy): each for each in read_results(stored or BASELINES)}


def baseline(task: Task, policy: str) -> float:
    """Return a registered policy's score on the final deals.

    It is stored for the tasks of the package. For other rules the policy plays now, with a progress bar.
    """
    if task in (TASKS.get(task.name), OTHER_RULES.get(task.name)):
        return (baselines() | baselines(OTHER_BASELINES))[task.name, policy].score.value
    from tqdm.auto import tqdm

    run = Run(progress=partial(tqdm, unit="chunk", disable=None, desc=f"{policy}, {task.name}"))
    return evaluate_on_task(task, policy, run=run).score.value
