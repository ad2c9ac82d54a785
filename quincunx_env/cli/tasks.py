"""List the tasks of the standard benchmark, or evaluate policies on one.

    quincunx benchmark
    quincunx benchmark solitaire mine=my.module:policy --split validation
    quincunx benchmark solitaire mine=my.module:policy --records mine.npz
    quincunx benchmark combinations mine=my.module:policy

Without a task the tasks are listed, with their numbered deals. Scores are normalised to 0 for uniformly random play and
1 for the reference policy. Policies are named as for `quincunx evaluate`. The directory of results holds the figures
(``results.csv``) and the results of single games: the same command resumes an interrupted run.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from textwrap import wrap
from typing import Annotated, Any, get_args

import tyro
from tqdm.auto import tqdm

from quincunx_env.arena.benchmark import (
    TASKS,
    VERSION,
    Split,
    TaskResult,
    evaluate_on_task,
    task_of,
    write_results,
)
from quincunx_env.arena.generalisation import TASKS as GENERALISATION
from quincunx_env.arena.generalisation import GeneralisationResult, evaluate_generalisation
from quincunx_env.arena.luck import adjusts_unasked
from quincunx_env.arena.matches import Deals
from quincunx_env.arena.runner import Run, counting_stored_games
from quincunx_env.arena.statistics import written
from quincunx_env.cli.options import Adjusted, Chunk, Out, Seed, Trained, Trust, Workers, cores
from quincunx_env.cli.program import resumed_by, run
from quincunx_env.core.rules import BaseRules, changed_options
from quincunx_env.policies import ModelOptions, by_display_name
from quincunx_env.policies.conversations import counts_table, marked
from quincunx_env.registry import spec_of
from quincunx_env.utils.errors import require_writable
from quincunx_env.utils.markdown import escaped, markdown_table


@dataclass(kw_only=True)
class Arguments:
    """Task, policies and deals."""

    task: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="[TASK]")] = ""
    """name of the task; without one the tasks are listed"""
    policies: Annotated[tyro.conf.Positional[tuple[str, ...]], tyro.conf.arg(metavar="[POLICY ...]")] = ()
    """policies to evaluate"""
    split: Split = "final"
    """deals to play: validation to select settings and checkpoints; search, the first of the final deals, for slow
    policies"""
    deals: int | None = None
    """number of deals, the first ones of the split; all of them by default, 1,000 under each rules of a task of
    generalisation"""
    adjusted: Adjusted = False
    seed: Seed = Run.seed
    chunk: Chunk = Run.chunk
    workers: Workers = field(default_factory=cores)
    trust: Trust = False
    trained: Trained = field(default_factory=ModelOptions)
    out: Out = Path("runs/benchmark")
    records: Path | None = None
    """file for the games of one policy, which the command verify replays"""

    def run(self, line: str) -> None:
        """List the tasks, or evaluate policies and print a table.

        Raises:
            ValueError: as `evaluate_on_task` does, or without a policy.
            OSError: if the results cannot be written.
        """
        if not self.task:
            print(_tasks())
            return
        require_writable(self.out)
        with resumed_by(line, self.out), counting_stored_games():
            results = [*self.results()]
            by_rules = [each for result in results for each in _by_rules(result)]
            write_results(self.out / "results.csv", by_rules)
        of_generalisation = [result for result in results if isinstance(result, GeneralisationResult)]
        print(_generalisation_table(of_generalisation) if of_generalisation else _table(by_rules))

    def results(self) -> "Iterator[TaskResult | GeneralisationResult]":
        """Evaluate each policy; raises as `run`."""
        if self.task not in GENERALISATION:
            task_of(self.task)
        if not self.policies:
            raise ValueError(f"there is nothing to play: name a policy, as in 'benchmark {self.task} greedy'")
        if self.records is not None and (len(self.policies) > 1 or self.task in GENERALISATION):
            raise ValueError("--records is for one policy and the rules of one task at a time: leave it out")
        if self.adjusted and self.task in GENERALISATION:
            raise ValueError("--adjusted is for the solitaire: leave it out")
        for name, policy in by_display_name(self.policies, self.trust, self.trained).items():
            progress = partial(tqdm, unit="chunk", disable=None, desc=name)
            files: dict[str, Any] = {"out": self.out, "records": self.records}
            playing = Run(seed=self.seed, chunk=self.chunk, workers=self.workers, progress=progress, **files)
            options: dict[str, Any] = {"split": self.split, "deals": self.deals, "name": name, "run": playing}
            if self.task in GENERALISATION:
                yield evaluate_generalisation(self.task, policy, **options)
            else:
                yield evaluate_on_task(self.task, policy, adjusted=self.adjusts(), **options)

    def adjusts(self) -> bool:
        """Return whether scores are adjusted for luck."""
        task = task_of(self.task)
        return self.adjusted or adjusts_unasked(task.rules, self.deals or task.deals(self.split).count)


def main(name: str, arguments: Sequence[str]) -> None:
    """Run the command."""
    run(Arguments, __doc__, name, arguments)


def _tasks() -> str:
    """List the tasks with the domains and numbers of their deals."""
    lines = [f"Tasks of version {VERSION}"]
    for task in TASKS.values():
        score = "mean score" if task.opponent is None else "win rate"
        lines.append(f"  {task.name:<11}{_game(task.rules)}; {score}; reference {task.reference}")
        lines += (f"{'':<13}{split + ':':<12}{_deals(task.deals(split))}" for split in get_args(Split))
    lines.append("Tasks of generalisation, by rules")
    for each in GENERALISATION.values():
        lines.append(f"  {each.name}")
        for part in ("training", "test"):
            names = ", ".join(task.name for task in getattr(each, part))
            lines += wrap(names, 80, initial_indent=f"{'':<13}{part}: ", subsequent_indent=" " * 15)
    return "\n".join(lines)


def _game(rules: BaseRules) -> str:
    changed = (f"{option}={value}" for option, value in changed_options(rules, type(rules)()).items())
    return ", ".join([spec_of(rules).name, *changed])


def _deals(deals: Deals) -> str:
    return f"{deals.domain} {deals.first} to {deals.last}"


def _by_rules(result: "TaskResult | GeneralisationResult") -> list[TaskResult]:
    return [result] if isinstance(result, TaskResult) else [*result.results.values()]


def _generalisation_table(results: Sequence[GeneralisationResult]) -> str:
    """Format results on one task of generalisation, also by rules."""
    task, interval = results[0].task, "95 % interval"
    rows = [
        (escaped(each.policy), *each.score.cells(".3f"), *each.training.cells(".3f"), *each.gap.cells("+.3f"))
        for each in results
    ]
    found = markdown_table(("policy", "test", interval, "training", interval, "gap", interval), rows)
    by_rules = [
        (each.name, part, *(result.results[each.name].normalised.cells(".3f")[0] for result in results))
        for part, tasks in (("training", task.training), ("test", task.test))
        for each in tasks
    ]
    deals = _deals(next(iter(results[0].results.values())).deals)
    note = f"*Task {task.name} {VERSION}, normalised scores, {deals} under each rules.*"
    names = (escaped(each.policy) for each in results)
    return f"{found}\n\n{markdown_table(('rules', 'in', *names), by_rules)}\n\n{note}"


def _table(results: Sequence[TaskResult]) -> str:
    """Format results on one task as a table."""
    solitaire = results[0].task.opponent is None
    counts = {each.policy: each.answers for each in results if each.answers is not None}
    rows = []
    for each in results:
        scores = [each.score] if each.adjusted is None else [each.score, each.adjusted]
        score = [cell for figure in scores for cell in figure.cells(".1f" if solitaire else ".1%")]
        other = written(each.lost or 0.0, ".1%") if solitaire else f"{each.margin:+z.1f}"
        rows.append((marked(each.policy, counts), each.deals.count, *score, other, *each.normalised.cells(".3f")))
    interval = "95 % interval"
    adjusted = ("adjusted mean", interval) if results[0].adjusted is not None else ()
    measured = ("mean score", interval, *adjusted, "lost") if solitaire else ("win rate", interval, "margin")
    table = markdown_table(("policy", "deals", *measured, "normalised score", interval), rows)
    deals = f"Task {results[0].task.name} {VERSION}, {_deals(results[0].deals)}; intervals by Student's t, over deals"
    tables = [table, counts_table(counts)] if counts else [table]
    return "\n\n".join([*tables, f"*{deals}.*"])
