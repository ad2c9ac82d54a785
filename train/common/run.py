"""Training runs: folder, schedule, checkpoints, history, learning curve, results.

A script gives the options and a `Learner`, and learns. The files of a run are in ``runs/<name>``:

- ``checkpoint.pt``, from which ``--resume`` continues exactly; ``tensorboard/``
- the weights, at every checkpoint: ``<name>.safetensors``, or ``model.zip`` with ``model.json``
- at the end ``<name>.json``: command, versions, history and results; ``results.md``: the results as a table
- ``learning_curve.png`` and ``.csv``; ``games/``: the games of the final evaluation
"""

import dataclasses
import json
import platform
import shlex
import shutil
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

from quincunx_env.utils.errors import requires_extra

with requires_extra("train"):
    from torch.utils.tensorboard import SummaryWriter
from tqdm.auto import tqdm

from quincunx_agents.agent_specs import base_variant, rules_of
from quincunx_env import __version__
from quincunx_env.arena import Deals
from quincunx_env.arena.curves import Curve, draw_learning_curves
from quincunx_env.cli.options import rules_arguments
from quincunx_env.core.policy import Agent
from quincunx_env.core.rules import BaseRules, changed_options
from quincunx_env.utils.files import write_text
from train.common import checkpoint
from train.common.evaluation import BASELINES, Figures, strength, strengths
from train.common.options import CheckedOptions, RunOptions
from train.common.tables import results_table
from train.common.timer import PhaseTimer

MAY_CHANGE = ("resume", "progress", "eval_every", "eval_deals", "test_deals", "checkpoint_every")
"""Options that may differ when a run of any script is resumed."""


class Learner(Protocol):
    """The part of a run that its script defines."""

    def agent(self) -> Agent:
        """Return the agent learned so far."""
        ...

    def write_weights(self, path: Path) -> None:
        """Write the weights of `agent`."""
        ...

    def get_state(self) -> dict[str, Any]:
        """Return tensors, numbers, strings, lists and dictionaries for a checkpoint."""
        ...

    def set_state(self, state: dict[str, Any]) -> None:
        """Restore what `get_state` returned."""
        ...


class Run:
    """A training run with a schedule.

    Args:
        script: its module, for ``python -m``.
        arguments: its options.
        learner: learns.
        variants: variants to evaluate, rules by name.
        total: length of the run in iterations, or whatever else the schedule counts.
        may_change: options beside `MAY_CHANGE` that may differ when the run is resumed.

    Attributes:
        done: length so far.
        steps: environment steps so far.
        timer: processor time so far.
        history: evaluations on validation deals.
    """

    def __init__(
        self,
        script: str,
        arguments: RunOptions,
        learner: Learner,
        variants: Mapping[str, BaseRules],
        total: int,
        may_change: Collection[str] = (),
    ) -> None:
        self.script = script
        self.arguments = arguments
        self.learner = learner
        self.variants = variants
        self.total = total
        self.may_change = (*MAY_CHANGE, *may_change)
        self.done = self.steps = 0
        self.timer = PhaseTimer()
        self.history: list[dict[str, Any]] = []
        self.saved: int | None = None
        """Length at the last checkpoint."""

    @contextmanager
    def begun(self) -> Iterator[None]:
        """Lock the folder for the ``with`` block, and restore a resumed run."""
        arguments = self.arguments
        if arguments.resume:
            content = checkpoint.load(arguments.folder / "checkpoint.pt")
            with checkpoint.restoring(arguments, content, self.may_change):
                self.learner.set_state(content["learner"])
                self.done, self.steps, self.history = content["done"], content["steps"], content["history"]
                self.timer.include(content["seconds"])
                self.saved = self.done
        logs, silent = arguments.folder / "tensorboard", not arguments.progress
        with (
            checkpoint.locked(arguments.folder, arguments.resume),
            tqdm(total=self.total, initial=self.done, smoothing=0, disable=silent) as self.bar,
            SummaryWriter(logs, purge_step=self.done + 1) as self.writer,
        ):
            yield

    @property
    def finished(self) -> bool:
        """Whether nothing is left to do."""
        return self.done >= self.total

    def advance(self, done: int, steps: int) -> None:
        """Count what has been learned, and the environment steps for it."""
        self.bar.update(done)
        self.done += done
        self.steps += steps

    def log(self, name: str, figure: float) -> None:
        """Write a figure for TensorBoard."""
        self.writer.add_scalar(name, figure, self.done)

    def record(self) -> None:
        """Evaluate and save where due, also at the beginning and the end.

        The state must be consistent, so that a resumed run equals one without interruption.
        """
        if self._is_due(self.history[-1]["done"] if self.history else None, self.arguments.eval_every):
            self._evaluate()
        if self._is_due(self.saved, self.arguments.checkpoint_every):
            self._save()
        self.timer.skip()

    def _is_due(self, last: int | None, every: int) -> bool:
        return last is None or (self.done > last and (self.finished or self.done >= last + every))

    def _evaluate(self) -> None:
        """Evaluate on validation deals; log and show the figures."""
        arguments = self.arguments
        deals = Deals(arguments.eval_deals, "validation")
        found = strengths(self.learner.agent(), arguments.against, self.variants, deals)
        seconds = {phase: round(spent, 1) for phase, spent in self.timer.seconds.items()}
        self.history.append({"done": self.done, "steps": self.steps, "seconds": seconds, "variants": found})
        shown = {"steps": f"{self.steps:,}"}
        for variant, figures in found.items():
            for name, figure in figures.items():
                self.log(f"{variant}/{name}", figure)
            name = measure(figures)
            shown[name.replace("_", " ") if len(found) == 1 else variant] = f"{figures[name]:.4g}"
        self.bar.set_postfix(shown)

    def _save(self) -> None:
        """Write weights, then checkpoint: a run killed between writes both again.

        Raises:
            CheckpointError: if the weights are not finite.
        """
        content = {"done": self.done, "steps": self.steps, "seconds": dict(self.timer.seconds), "history": self.history}
        content |= {"learner": self.learner.get_state()}
        if not checkpoint.is_finite(content):
            raise checkpoint.CheckpointError("weights are not finite: start again with a smaller --learning-rate")
        self.learner.write_weights(self.arguments.weights)
        checkpoint.save(self.arguments.folder / "checkpoint.pt", self.arguments, content)
        self.saved = self.done

    def report(self, agent: Agent, **facts: Any) -> dict[str, Any]:
        """Evaluate the finished run on benchmark deals; write and print the results.

        Args:
            agent: the trained agent.
            facts: further facts of the script.
        """
        made = {"steps": self.steps, "seconds": self.timer.seconds, "validation": self.history, **facts}
        return report(self.script, self.arguments, agent, self.variants, made)


def measure(figures: Figures) -> str:
    """Return the name of the main figure of a `strength`."""
    return next(name for name in ("adjusted_mean", "mean", "win_rate") if name in figures)


# --- Results ---------------------------------------------------------------------------------------------------------


def report(
    script: str, arguments: RunOptions, agent: Agent, variants: Mapping[str, BaseRules], facts: dict[str, Any]
) -> dict[str, Any]:
    """Evaluate a trained agent on benchmark deals; write and print results.

    Args:
        script: the script of the run.
        arguments: of the run.
        agent: the trained agent.
        variants: that it plays, rules by name.
        facts: ``steps``, ``seconds`` by phase, and ``validation``, the history, with further facts of the script.

    Returns:
        facts: with command, arguments, versions and results.
    """
    folder, against, first = arguments.folder, arguments.against, next(iter(variants.values()))
    games = folder / "games"
    games.mkdir(exist_ok=True)
    made = provenance(script, arguments) | facts
    made["seconds"] = {phase: round(spent, 1) for phase, spent in facts["seconds"].items()}
    deals = Deals(arguments.test_deals, "benchmark")
    made["benchmark"] = strengths(agent, against, variants, deals, games, arguments.progress)
    if first.num_players == 1:
        made["baselines"] = {name: strength(name, against, first, deals) for name in BASELINES}
    write_json(folder / f"{arguments.name}.json", made)
    draw_curve(arguments, variants, facts["validation"])
    table = results_table(made, arguments.name)
    write_text(folder / "results.md", f"{table}\n")
    print(table)
    written = sorted(path.name + "/" * path.is_dir() for path in folder.iterdir() if not path.name.startswith("."))
    print(f"\nWritten to {folder}: {', '.join(written)}\n")
    if arguments.weights.exists():  # some scripts keep none
        print("Next, evaluate it on more deals, play with it, and see its action values as heat maps:\n")
        print(*(f"    {command}" for command in next_commands(arguments, variants)), sep="\n")
    return made


def draw_curve(arguments: RunOptions, variants: Mapping[str, BaseRules], history: list[dict[str, Any]]) -> None:
    """Draw each variant's learning curve, with baselines as lines.

    Win rates are divided by the rate of equals, so that variants with different numbers of players compare.
    """
    curves = {}
    for variant in variants:
        found = [entry["variants"][variant] for entry in history]
        name, unit = measure(found[0]), found[0].get("even", 1.0)
        points = ([figures[key] / unit for figures in found] for key in (name, f"{name}_low", f"{name}_high"))
        curves[variant] = Curve([entry["steps"] for entry in history], *points)
    first, deals = next(iter(variants.values())), Deals(arguments.eval_deals, "validation")
    measured, references = f"win rate against {arguments.against}", {"even": 1.0}
    if first.num_players == 1:
        measured = measure(next(iter(history[0]["variants"].values()))).replace("_", " ") + " score"
        baselines = {name: strength(name, name, first, deals) for name in BASELINES}
        references = {name: figures[measure(figures)] for name, figures in baselines.items()}
    draw_learning_curves(
        arguments.folder / "learning_curve.png",
        curves,
        ylabel=f"{measured}, {deals.count} validation deals",
        title=arguments.name,
        references=references,
    )


def next_commands(arguments: RunOptions, variants: Mapping[str, BaseRules]) -> list[str]:
    """Return commands to evaluate an agent, play with it, and explain it."""
    variant, rules = next(iter(variants.items()))
    program = Path(sys.executable).with_name("quincunx")
    if shutil.which("quincunx") == str(program):
        program = Path("quincunx")
    elif program.is_relative_to(Path.cwd()):
        program = program.relative_to(Path.cwd())
    weights, games, page = (
        shlex.quote(str(path))
        for path in (
            arguments.weights,
            arguments.folder / "games" / f"{variant}.npz",
            arguments.folder / "heat_maps.html",
        )
    )
    words = rules_arguments(rules)
    if rules.num_players == 2 and "--game" not in words:
        words = ["--num-players", "2", *words]  # the default of `compare`, not of `play`
    options = "".join(f" {word}" for word in words)
    trust = " --trust" if arguments.weights.suffix == ".zip" else ""
    command, role = ("evaluate", "--adviser") if rules.num_players == 1 else ("compare", "--opponents")
    return [
        f"{program} {command} {weights} {arguments.against}{options} --deals 10000{trust}",
        f"{program} play {role} {weights}{options}{trust}",
        f"{program} replay {games} --values {weights} --html {page}{trust}",
    ]


def variant_name(rules: BaseRules) -> str:
    """Return "solitaire", or "2-corners" and the like. Options that are not the default ones follow."""
    base = base_variant(rules)
    return ", ".join([base, *(name.replace("_", " ") for name in changed_options(rules, rules_of(base)))])


def provenance(module: str, arguments: CheckedOptions) -> dict[str, Any]:
    """Return command, arguments, machine and versions of a run as JSON."""
    return {
        "command": shlex.join(["python", "-m", module, *(a for a in sys.argv[1:] if a != "--resume")]),
        "arguments": dataclasses.asdict(arguments),
        "machine": f"{platform.machine()}, {getattr(arguments, 'threads', 1)} thread(s)",
        "versions": {
            "python": platform.python_version(),
            "quincunx_env": __version__,
            **{library: version(library) for library in ("numpy", "torch")},
        },
    }


def write_json(path: Path, results: dict[str, Any]) -> None:
    """Write results as JSON, atomically."""
    write_text(path, json.dumps(results, indent=2, default=str) + "\n")
