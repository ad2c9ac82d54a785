"""List the tasks of the standard benchmark, or evaluate policies on one.

    quincunx benchmark
    quincunx benchmark solitaire mine=my.module:policy --split validation
    quincunx benchmark solitaire mine=my.module:policy --records mine.npz

Without a task the tasks are listed, with their numbered deals. Scores are normalised to 0 for uniformly random play and
1 for the reference policy. Policies are named as for `quincunx evaluate`. The directory of results holds the figures
(``results.csv``) and the results of single games: the same command resumes an interrupted run.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import get_args

import tyro
from tqdm.auto import tqdm

from quincunx_env.arena.benchmark import (
    TASKS,
    VERSION,
    DealRange,
    Split,
    TaskResult,
    evaluate_on_task,
    task_of,
    write_results,
)
from quincunx_env.arena.matches import MatchConfig
from quincunx_env.cli.options import Chunk, Out, Seed, Trust, Workers, cores
from quincunx_env.cli.program import resumed_by, run
from quincunx_env.core.rules import BaseRules, changed_options
from quincunx_env.policies import by_display_name
from quincunx_env.registry import spec_of
from quincunx_env.utils.errors import require_writable
from quincunx_env.utils.markdown import markdown_table


@dataclass(kw_only=True)
class Arguments:
    """Task, policies and deals."""

    task: tyro.conf.Positional[str] = ""
    """name of the task; without one the tasks are listed"""
    policies: tyro.conf.Positional[tuple[str, ...]] = ()
    """policies to evaluate"""
    split: Split = "final"
    """deals to play: validation to select settings and checkpoints; search, the first of the final deals, for slow
    policies"""
    deals: int | None = None
    """number of deals, the first ones of the split; all of them by default"""
    seed: Seed = MatchConfig.seed
    chunk: Chunk = MatchConfig.chunk
    workers: Workers = field(default_factory=cores)
    trust: Trust = False
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
        with resumed_by(line):
            results = [*self.results()]
            write_results(self.out / "results.csv", results)
        print(_table(results))

    def results(self) -> Iterator[TaskResult]:
        """Evaluate each policy.

        Raises:
            ValueError: as `evaluate_on_task` does, or without a policy.
            OSError: if the results cannot be written.
        """
        task = task_of(self.task)
        if not self.policies:
            raise ValueError(f"there is nothing to play: name a policy, as in 'benchmark {self.task} greedy'")
        if self.records is not None and len(self.policies) > 1:
            raise ValueError(f"--records is for one policy at a time, got {len(self.policies)}")
        for name, policy in by_display_name(self.policies, self.trust).items():
            yield evaluate_on_task(
                task,
                policy,
                name=name,
                split=self.split,
                deals=self.deals,
                seed=self.seed,
                chunk=self.chunk,
                out=self.out,
                workers=self.workers,
                progress=partial(tqdm, unit="chunk", disable=None, desc=name),
                records=self.records,
            )


def main(name: str, arguments: Sequence[str]) -> None:
    """Run the command."""
    run(Arguments, __doc__, name, arguments)


def _tasks() -> str:
    """List the tasks with the domains and numbers of their deals."""
    lines = [f"Tasks of version {VERSION}"]
    for task in TASKS.values():
        score = "mean score" if task.opponent is None else f"win rate against {task.opponent}"
        lines.append(f"  {task.name:<11}{_game(task.rules)}; {score}; reference {task.reference}")
        deals = "; ".join(f"{split}: {_deals(task.deals(split))}" for split in get_args(Split))
        lines.append(f"{'':<13}{deals}")
    return "\n".join(lines)


def _game(rules: BaseRules) -> str:
    changed = (f"{option}={value}" for option, value in changed_options(rules, type(rules)()).items())
    return ", ".join([spec_of(rules).name, *changed])


def _deals(deals: DealRange) -> str:
    return f"{deals.domain} {deals.first} to {deals.first + deals.count - 1}"


def _table(results: Sequence[TaskResult]) -> str:
    """Format results on one task as a table."""
    solitaire = results[0].task.opponent is None
    rows = []
    for each in results:
        score = each.score.cells(".1f" if solitaire else ".1%")
        other = f"{each.lost:.1%}" if solitaire else f"{each.margin:+.1f}"
        rows.append((each.policy, each.deals.count, *score, other, *each.normalised.cells(".3f")))
    measured = ("mean score", "95 % interval", "lost") if solitaire else ("win rate", "95 % interval", "margin")
    table = markdown_table(("policy", "deals", *measured, "normalised score", "95 % interval"), rows)
    deals = f"Task {results[0].task.name} {VERSION}, {_deals(results[0].deals)}; intervals by Student's t, over deals"
    return f"{table}\n\n*{deals}.*"
