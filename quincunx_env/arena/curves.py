"""Learning curves."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from quincunx_env.utils.figures import drawable, plain_text
from quincunx_env.utils.files import write_atomically, write_csv


class Curve(NamedTuple):
    """A learning curve with its 95 % interval, infinite where there is none. All sequences have the same length."""

    steps: Sequence[float]
    estimate: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]


@plain_text()
def draw_learning_curves(
    path: Path,
    curves: Mapping[str, Curve],
    *,
    ylabel: str,
    title: str,
    xlabel: str = "environment steps",
    references: Mapping[str, float] | None = None,
) -> None:
    """Write a figure of learning curves and a table, atomically.

    The table has the name of the figure with ``.csv`` and a row for each point: ``curve``, ``steps``, ``estimate``,
    ``low`` and ``high``. Infinite values are empty cells.

    Args:
        path: the file, ``.png``.
        curves: by label.
        ylabel: the measured quantity.
        title: of the figure.
        xlabel: unit of `Curve.steps`.
        references: constants to compare with, drawn as horizontal lines, by label.
    """
    from matplotlib.figure import Figure

    constants = references or {}
    ylabel, title, *names = drawable([ylabel, title, *curves, *constants])
    figure = Figure(figsize=(8, 5.5), layout="constrained")
    axes = figure.add_subplot()
    labels = dict[Any, str]()  # given to the legend, which otherwise leaves out labels that begin with an underscore
    for label, curve in zip(names, curves.values(), strict=False):
        (line,) = axes.plot(curve.steps, curve.estimate, marker="o", markersize=3)
        labels[line] = label
        low, high = (np.where(np.isfinite(end), end, curve.estimate) for end in (curve.low, curve.high))
        axes.fill_between(curve.steps, low, high, color=line.get_color(), alpha=0.15)
    styles = ("--", ":", "-.", "-")
    for label, value, style in zip(names[len(curves) :], constants.values(), styles, strict=False):
        labels[axes.axhline(value, color="tab:gray", linestyle=style)] = label
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set(xlabel=xlabel, ylabel=ylabel, title=title)
    figure.legend([*labels], [*labels.values()], loc="outside lower center", ncols=3)
    write_atomically(path, lambda unfinished: figure.savefig(unfinished, dpi=120))
    points = (
        (label, *(each if np.isfinite(each) else "" for each in point))
        for label, curve in curves.items()
        for point in zip(*curve, strict=True)
    )
    write_csv(path.with_suffix(".csv"), ("curve", *Curve._fields), points)
