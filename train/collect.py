"""Collect training runs of the solitaire as a benchmark learning result.

    python -m train.collect ppo-preview runs/preview-0 runs/preview-1 runs/preview-2 runs/preview-3 runs/preview-4

The benchmark is described in docs/benchmark.md. The runs must be made by the method's command in
``docs/benchmark/methods.json``, with other names and different seeds. They must have used their budget of environment
steps. Each is measured on the final deals of the task. The learning curves and final figures go to
``docs/benchmark/<method>.csv``. Two files are made from the files of all methods: ``scores.json``, normalised scores by
method as rliable reads them, [runs, tasks], and ``learning_curves.png``.
"""

import csv
import dataclasses
import importlib
import json
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tyro

import quincunx_agents
from quincunx_env.arena.benchmark import MIN_SEEDS, TASKS, DealRange, baselines, evaluate_on_task
from quincunx_env.arena.curves import Curve, draw_learning_curves
from quincunx_env.arena.statistics import Estimate
from quincunx_env.cli.parser import parse
from quincunx_env.core.policy import Agent
from quincunx_env.quincunx.rules import Rules
from quincunx_env.utils.errors import one_line_errors
from quincunx_env.utils.files import write_atomically, write_csv
from train.common import checkpoint
from train.common.options import read_options

FOLDER = Path(__file__).parents[1] / "docs" / "benchmark"
COLUMNS = ("method", "seed", "steps", "domain", "first", "deals", "mean", "low", "high", "lost")

UNRELATED = {
    *("name", "seed", "resume", "threads", "progress", "device", "checkpoint_every", "test_deals"),
    *("address", "storage", "keep", "keep_weights", "workers"),
}
"""Arguments of a run that do not change a learning result, or must differ."""

ROUND = 12
"""Most environment steps of a round of the solitaire."""

OVERRUN = 0.02
"""Share of the budget by which a run may exceed it to finish its last update; a rollout of 12,288 steps is 1.2 %."""

EVALUATIONS = 10
"""Evaluations on validation deals that a learning curve needs."""


REFERENCES = ("greedy", "heuristic", "value", "search")
"""Baseline policies in the figure, where they have been measured."""


class RunError(ValueError):
    """Runs that do not make a learning result of the benchmark. The message names the reason."""


class Point(NamedTuple):
    """A point of a learning curve."""

    steps: int
    score: Estimate
    lost: float


@dataclass(frozen=True)
class Run:
    """A finished training run."""

    folder: Path
    arguments: dict[str, Any]
    """Options as JSON values; options of the game under ``rules``."""
    curve: list[Point]
    """Learning curve on validation deals."""

    @property
    def seed(self) -> int:
        """Seed of the run."""
        return int(self.arguments["seed"])


# --- Reading runs ----------------------------------------------------------------------------------------------------


def read_run(folder: Path) -> Run:
    """Read a finished run of a script in ``train``.

    Raises:
        RunError: if it is none, or not of the solitaire.
    """
    try:
        [path] = folder.glob("*.json")
        facts = json.loads(path.read_text(encoding="utf-8"))
        arguments, curve = facts["arguments"], list[Point]()
        for entry in facts["validation"]:
            found = entry["variants"]["solitaire"]
            # train.td_lambda plays whole rounds, and counts the steps that it learns from.
            steps = entry["done"] * arguments["games"] * ROUND if "iterations" in arguments else entry["steps"]
            curve.append(Point(steps, Estimate(found["mean"], found["mean_low"], found["mean_high"]), found["lost"]))
        return Run(folder, arguments, curve)
    except (KeyError, TypeError, ValueError) as error:
        raise RunError(f"{folder} is not a finished run of the solitaire: {error!r}") from error


def policy_of(run: Run) -> Agent:
    """Return the greedy policy of a run, from weights or checkpoint."""
    weights = run.folder / f"{run.arguments['name']}.safetensors"
    if weights.exists():
        return quincunx_agents.load(weights)
    from train.ppo import Arguments, Learner

    given = {"rules": Rules(**run.arguments["rules"]), "opponents": (), "against": Arguments.against}
    arguments = Arguments(**run.arguments | given)  # the policies that a file names are not imported
    learner = Learner(arguments)
    learner.set_state(checkpoint.load(run.folder / "checkpoint.pt")["learner"])
    return learner.agent()


# --- The protocol ----------------------------------------------------------------------------------------------------


def check_runs(runs: list[Run], command: str, min_seeds: int = MIN_SEEDS) -> None:
    """Check that runs belong to a command and follow the protocol.

    Raises:
        RunError: naming the run and the difference.
    """
    if len({run.seed for run in runs}) < max(min_seeds, len(runs)):
        raise RunError(f"{min_seeds} runs or more with different seeds are needed, got {[run.seed for run in runs]}")
    _, _, module, *flags = shlex.split(command)
    script = importlib.import_module(module)
    if hasattr(script, "__path__"):  # a package
        script = importlib.import_module(f"{module}.settings")
    wanted = json.loads(json.dumps(dataclasses.asdict(read_options(script.Arguments, module, None, flags))))
    budget = wanted["total_steps"] if "total_steps" in wanted else wanted["iterations"] * wanted["games"] * ROUND
    for run in runs:
        if run.arguments.keys() != wanted.keys():
            raise RunError(f"{run.folder} is of another script than {module}, or of another version of it")
        for name in wanted.keys() - UNRELATED:
            if run.arguments[name] != wanted[name]:
                raise RunError(f"{run.folder} has {name}={run.arguments[name]!r}, the method has {wanted[name]!r}")
        steps = [point.steps for point in run.curve]
        if not steps or not budget <= steps[-1] <= budget * (1 + OVERRUN):
            raise RunError(f"{run.folder} has {steps[-1] if steps else 0:,} of {budget:,} environment steps")
        if len(steps) < EVALUATIONS:
            raise RunError(f"{run.folder} has {len(steps)} evaluations, {EVALUATIONS} are needed")


# --- Files -----------------------------------------------------------------------------------------------------------


def rows_of(method: str, run: Run, final: tuple[DealRange, Estimate, float]) -> list[tuple[Any, ...]]:
    """Return the rows of a run: learning curve and final figure."""
    validation = DealRange("validation", 0, run.arguments["eval_deals"])
    deals, score, lost = final
    points = [(point.steps, validation, point.score, point.lost) for point in run.curve]
    return [
        (method, run.seed, steps, *dataclasses.astuple(each), *(f"{figure:.4f}" for figure in (*score, lost)))
        for steps, each, score, lost in (*points, (run.curve[-1].steps, deals, score, lost))
    ]


def read_curves(path: Path) -> list[dict[str, str]]:
    """Read the rows of a file of learning curves."""
    with path.open(encoding="utf-8", newline="") as file:
        return [*csv.DictReader(file)]


def write_summaries(folder: Path, methods: dict[str, Any]) -> None:
    """Write ``scores.json`` and ``learning_curves.png`` from the learning curves in a folder."""
    scores, curves, task = {}, {}, TASKS["solitaire"]
    for method in methods:
        if not (folder / f"{method}.csv").exists():
            continue
        rows = read_curves(folder / f"{method}.csv")
        final = [float(row["mean"]) for row in rows if row["domain"] == "benchmark"]
        scores[method] = [[round(task.normalised(Estimate(score, score, score)).value, 5)] for score in final]
        runs = [
            np.array([[float(row["steps"]), float(row["mean"])] for row in rows if (row["seed"], row["domain"]) == key])
            for key in sorted({(row["seed"], "validation") for row in rows})
        ]
        steps = min(runs, key=len)[:, 0]  # RLlib's runs are evaluated after slightly different steps
        means = np.stack([np.interp(steps, *run.T) for run in runs])
        estimates = [Estimate.of_mean(each) for each in means.T]
        label = f"{methods[method]['label']} ({methods[method]['track']})"
        curves[label] = Curve(steps.tolist(), *([*each] for each in zip(*estimates, strict=True)))
    text = json.dumps(scores, indent=1) + "\n"
    write_atomically(folder / "scores.json", lambda path: path.write_text(text, encoding="utf-8"))
    draw_learning_curves(
        folder / "learning_curves.png",
        curves,
        ylabel="mean score, 1,000 validation deals; 95 % over seeds",
        title="Solitaire",
        references={name: each.score.value for name in REFERENCES if (each := baselines().get((task.name, name)))},
    )


def collect(method: str, folders: list[Path], out: Path, min_seeds: int = MIN_SEEDS, deals: int | None = None) -> None:
    """Check and measure the runs of a method, and write the files.

    With ``deals`` only so many of the final deals are played.

    Raises:
        RunError: for runs of other methods, or that do not follow the protocol.
        CheckpointError: if a run cannot be read.
        OSError: if a file cannot be written.
    """
    methods = json.loads((FOLDER / "methods.json").read_text(encoding="utf-8"))
    if method not in methods:
        raise RunError(f"unknown method {method!r}; {FOLDER / 'methods.json'} has {', '.join(methods)}")
    runs, task = sorted(map(read_run, folders), key=lambda run: run.seed), TASKS["solitaire"]
    check_runs(runs, methods[method]["command"], min_seeds)
    rows = []
    for run in runs:
        found = evaluate_on_task(task, policy_of(run), deals=deals, chunk=1000)
        assert found.lost is not None
        rows += rows_of(method, run, (found.deals, found.score, found.lost))
        print(f"{run.folder}: {found.score.value:.1f} ({found.score.low:.1f} to {found.score.high:.1f})")
    write_csv(out / f"{method}.csv", COLUMNS, rows)
    write_summaries(out, methods)


@dataclass
class Arguments:
    """Every option."""

    method: tyro.conf.Positional[str]
    """its name in ``docs/benchmark/methods.json``"""
    runs: tyro.conf.Positional[tuple[Path, ...]]
    """folders of its runs"""
    out: Path = FOLDER
    """folder of the files"""


if __name__ == "__main__":
    options = parse(Arguments, "python -m train.collect", __doc__)
    with one_line_errors(RunError, checkpoint.CheckpointError):
        collect(options.method, list(options.runs), options.out)
