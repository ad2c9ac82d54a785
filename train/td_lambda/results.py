"""Stored results of the named settings: ``<name>.json`` of their runs in ``docs/training/<setting>``.

A network of the package whose card names a setting is a stored result, too.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from quincunx_agents.networks.value import WEIGHTS
from quincunx_env.arena.statistics import Estimate
from train.common.tables import VARIANTS
from train.td_lambda.settings import SETTINGS, Arguments

RESULTS = Path(__file__).parents[2] / "docs" / "training"

FREE = ("iterations", "members", "eval_every", "eval_deals", "checkpoint_every", "keep_weights")
"""Options of a setting that do not change the time of an iteration's training."""

Facts = dict[str, Any]
"""Facts of a run, as `train.common.run.report` writes them."""


def stored_runs(setting: str) -> list[Facts]:
    """Return the facts of the stored runs of a setting, by seed."""
    paths = (*sorted((RESULTS / setting).glob("*.json")), *sorted(WEIGHTS.glob("*.json")))
    found = [json.loads(path.read_text(encoding="utf-8")) for path in paths]
    return [run for run in found if f"train.td_lambda {setting} " in f"{run['command']} "]


def minutes(run: Facts) -> float:
    """Return the processor time of a run's training, in minutes."""
    return float(sum(run["seconds"].values())) / 60


def played(arguments: Mapping[str, Any]) -> int:
    """Return the number of iterations of all members."""
    return int(arguments["iterations"] * arguments.get("members", 1))


def expected_minutes(arguments: Arguments) -> float | None:
    """Return the expected processor time of a training, in minutes.

    The measure are the stored runs of the setting that the run has, in proportion to the iterations. None without one.
    """
    for name, setting in SETTINGS.items():
        own = {option: value for option, value in setting.options.items() if option not in FREE}
        if all(getattr(arguments, option) == value for option, value in own.items()):
            each = [minutes(run) / played(run["arguments"]) for run in stored_runs(name)]
            return float(np.mean(each)) * played(vars(arguments))
    return None


def seeds(runs: Sequence[Facts]) -> str:
    """Return the number of runs as text."""
    return "1 seed" if len(runs) == 1 else f"{len(runs)} seeds"


def reached(runs: Sequence[Facts]) -> str:
    """Return the results of a setting's runs as text; see `by_variant`."""
    if len(texts := by_variant(runs)) == 1:
        return next(iter(texts.values()))
    return "; ".join(f"{text} with {VARIANTS[variant]}" for variant, text in texts.items())


def by_variant(runs: Sequence[Facts]) -> dict[str, str]:
    """Return the results of a setting's runs as text, by variant. Intervals are over deals or over runs."""
    texts = {}
    for variant in runs[0]["benchmark"]:
        found = [run["benchmark"][variant] for run in runs]
        name, scale, unit = ("mean", 1, "") if "mean" in found[0] else ("win_rate", 100, " %")
        figures = [scale * each[name] for each in found]
        estimate = Estimate(*(scale * found[0][f"{name}{end}"] for end in ("", "_low", "_high")))
        estimate = Estimate.of_mean(np.array(figures)) if len(found) > 1 else estimate
        texts[variant] = f"{estimate.value:z.1f} ({estimate.low:z.1f} to {estimate.high:z.1f}){unit}"
    return texts


def listing() -> str:
    """List all settings, with processor time and results."""
    width, lines = max(map(len, SETTINGS)) + 2, list[str]()
    for name, setting in SETTINGS.items():
        runs = stored_runs(name)
        lines.append(f"    {name:{width}}{setting.plays}, {np.mean([*map(minutes, runs)]):.1f} min:")
        lines.append(" " * (width + 6) + reached(runs).replace("; ", "\n" + " " * (width + 6)))
    return "\n".join(lines)
