"""Table and picture of docs/generalisation.md, from one file of results."""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from quincunx_env.arena.benchmark import TaskResult, read_results
from quincunx_env.arena.generalisation import TASKS, GeneralisationResult
from quincunx_env.arena.statistics import Estimate
from quincunx_env.utils.files import write_atomically
from quincunx_env.utils.markdown import markdown_table

HERE = Path(__file__).parent
RESULTS = HERE / "benchmark" / "generalisation.csv"
PICTURE = HERE / "benchmark" / "generalisation.png"

METHODS = {
    "greedy": "`greedy`",
    "heuristic": "`heuristic`",
    "value": "`value`, shipped networks",
    "{task}-training": "MaskablePPO, `PlayNetwork`",
    "{task}-test": "MaskablePPO, `PlayNetwork`, on the test rules",
    "{task}-training-mlp": "MaskablePPO, `MlpPolicy`",
    "{task}-training-mlp-without-preview": "MaskablePPO, `MlpPolicy`, without preview",
    "td-{task}-training": "TD(λ)",
    "td-{task}-test": "TD(λ) on the test rules",
}
"""Labels of the methods by name in the file, where the seed follows the name of a trained network."""


@cache
def results() -> Mapping[tuple[str, str], Sequence[GeneralisationResult]]:
    """Return the results of all runs by task and method."""
    stored: dict[tuple[str, str], TaskResult] = {(each.task.name, each.policy): each for each in read_results(RESULTS)}
    found = dict[tuple[str, str], list[GeneralisationResult]]()
    for name, task in TASKS.items():
        rules = [each.name for each in (*task.training, *task.test)]
        for method in METHODS:
            policy = method.format(task=name)
            for run in (policy, *(f"{policy}-{seed}" for seed in range(5))):
                by_rules = {each: stored[each, run] for each in rules if (each, run) in stored}
                if len(by_rules) == len(rules):
                    found.setdefault((name, method), []).append(GeneralisationResult(task, run, by_rules))
    return found


def _over_runs(estimates: Sequence[Estimate]) -> Estimate:
    """Return the mean over runs with its interval; a single run keeps its interval over deals."""
    return estimates[0] if len(estimates) == 1 else Estimate.of_mean(np.array([each.value for each in estimates]))


def table() -> str:
    """List test score and gap of each method on each task."""
    rows = []
    for method, label in METHODS.items():
        cells, counts = list[str](), list[str]()
        for task in TASKS:
            runs = results().get((task, method), ())
            for name, spec in (("score", ".2f"), ("gap", "+.2f")):
                cells.append(
                    "{} ({})".format(*_over_runs([getattr(run, name) for run in runs]).cells(spec)) if runs else ""
                )
            counts.append(str(len(runs)))
        rows.append((label, ", ".join(counts) if "task" in method else "", *cells))
    header = ("policy", "runs", *(f"`{task}`: {name}" for task in TASKS for name in ("test", "gap")))
    return markdown_table(header, rows)


def draw(path: Path) -> None:
    """Draw the normalised score under each rules, means over runs."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 11), layout="constrained")
    labels = dict[str, Any]()
    for axes, (name, task) in zip(figure.subplots(len(TASKS), 1), TASKS.items(), strict=True):
        rules = [each.name for each in (*task.training, *task.test)]
        for number, (method, label) in enumerate(METHODS.items()):
            runs = results().get((name, method), ())
            if runs:
                means = [np.mean([run.results[each].normalised.value for run in runs]) for each in rules]
                places = np.arange(len(rules)) + (number - len(METHODS) / 2) * 0.05
                (labels[label.replace("`", "")],) = axes.plot(places, means, "Xso^v<P*d"[number], color=f"C{number}")
        axes.axvspan(len(task.training) - 0.5, len(rules) - 0.5, color="tab:gray", alpha=0.15)
        axes.set(
            title=f"{name}: training, and shaded the test", ylabel="normalised score", xlim=(-0.5, len(rules) - 0.5)
        )
        shown = [each.removeprefix("solitaire+").replace("+", ",\n").replace("_", "\n") for each in rules]
        axes.set_xticks(range(len(rules)), shown, fontsize=8)
        axes.grid(axis="y", alpha=0.3)
    figure.legend([*labels.values()], [*labels], loc="outside lower center", ncols=3, fontsize=8)
    write_atomically(path, lambda unfinished: figure.savefig(unfinished, dpi=120))
