"""Tables and a page of results from verified files of games."""

import dataclasses
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from quincunx_env.arena.benchmark import TASKS, baselines, best_known
from quincunx_env.arena.comparison import Comparison
from quincunx_env.arena.evaluation import COLUMNS, Evaluation, cells, plot
from quincunx_env.arena.tournaments import Tournament
from quincunx_env.core.rules import BaseRules
from quincunx_env.registry import heading
from quincunx_env.submissions.verification import VerifiedFile
from quincunx_env.utils.markdown import markdown_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CommandOf = Callable[[VerifiedFile], str]
"""Returns the command that plays the games of a file."""

ROUNDING = 1e-4
"""Stored results have five decimals."""


def sections(files: Iterable[VerifiedFile], command: CommandOf) -> str:
    """Return the results as Markdown.

    There is a section for each variant of the solitaire, and for each file of several players. Below its tables stand
    ``command`` and the checks of each file.
    """
    alone: dict[tuple[BaseRules, str, int], list[VerifiedFile]] = {}
    parts, several = list[str](), list[str]()
    for file in files:
        config = file.records.config
        if config.rules.num_players == 1:
            season = config.first if config.domain == "sealed" else 0  # means of two seasons cannot be compared
            alone.setdefault((config.rules, config.domain, season), []).append(file)
        else:
            several.append(_section(_table_of_several(file), [file], command))
    for group in alone.values():
        parts.append(_section(_tables_of_solitaire(group), group, command))
    return "\n".join(parts + several)


def plot_solitaires(files: Iterable[VerifiedFile], path: Path | str | None = None) -> "Figure | None":
    """Plot the distributions of scores at the default solitaire.

    It is a plot of `quincunx_env.arena.plot`; None if there are no scores.

    Args:
        files: verified files.
        path: file to save the figure to.
    """
    found = [row for row in _evaluations(files) if row[0].records.config.rules == TASKS["solitaire"].rules]
    same = len({file.deals for file, _, _ in found}) == 1
    shown = {
        ", ".join(
            filter(None, [name, _lost_value(result), "" if same or file.ranked else f"deals {file.deals}"])
        ): result
        for file, name, result in found
    }
    return plot(shown, path) if shown else None


def _evaluations(files: Iterable[VerifiedFile]) -> list[tuple[VerifiedFile, str, Evaluation]]:
    """Return all evaluations of the solitaire, best first."""
    found = [
        (file, lineup.policies[0], result)
        for file in files
        for lineup, result in zip(file.records.lineups, file.results, strict=True)
        if isinstance(result, Evaluation)
    ]
    return sorted(found, key=lambda each: -each[2].mean)


def _lost_value(result: Evaluation) -> str:
    """Say what lost rounds count in few words; empty for 0."""
    return f"lost rounds count {result.lost_value:g}" if result.lost_value else ""


def _flag(rules: BaseRules, result: Evaluation) -> str:
    """Mark a mean above the best known one. Lost rounds count 0 here. The policy may have seen hidden cards."""
    best = best_known(rules)
    if best is None or dataclasses.replace(result, lost_value=0.0).mean <= best.score.value + ROUNDING:
        return ""
    return f"above the best known result ({best.policy}, {best.score.value:.1f})"


def _tables_of_solitaire(files: Sequence[VerifiedFile]) -> str:
    """Return the tables of means that can be compared, then of others.

    The first are sorted by mean, best first, the others by their deals. There is a table for each value of a lost
    round, 0 first.
    """
    tables: dict[tuple[bool, float], list[tuple[VerifiedFile, str, Evaluation]]] = {(True, 0.0): [], (False, 0.0): []}
    for row in _evaluations(files):
        tables.setdefault((row[0].ranked, row[2].lost_value), []).append(row)
    ranked = [_table_of_solitaire(rows) for (comparable, _), rows in tables.items() if rows and comparable]
    for (comparable, _), rows in tables.items():
        if rows and not comparable:
            by_deals = sorted(rows, key=lambda row: (row[0].records.config.first, row[0].records.config.deals))
            ranked += [OTHER_DEALS, _table_of_solitaire(by_deals)]
    return "\n\n".join(ranked)


OTHER_DEALS = "Not ranked, because these are not the deals of the benchmark's task:"
"""Heading of a table: the author of a result may have chosen lucky deals."""


def _table_of_solitaire(rows: Sequence[tuple[VerifiedFile, str, Evaluation]]) -> str:
    """Return the table of `quincunx_env.arena.table` with two more columns.

    They have the numbers of the deals, and what has been checked.
    """
    lines = []
    for file, name, result in rows:
        marks = [file.label(name)]
        marks += filter(
            None, [_plain(file.remarks.get(name, "")), _lost_value(result), _flag(file.records.config.rules, result)]
        )
        lines.append([*cells(_plain(name), result), file.deals, ", ".join(marks)])
    for file in dict.fromkeys(file for file, _, _ in rows):
        lines += [[_plain(name), *[""] * len(COLUMNS), _plain(why)] for name, why in file.unplayed.items()]
    return markdown_table((*COLUMNS, "numbers", "checked"), lines)


def _table_of_several(file: VerifiedFile) -> str:
    comparisons = [result for result in file.results if isinstance(result, Comparison)]
    plain = [dataclasses.replace(each, names=tuple(map(_plain, each.names))) for each in comparisons]
    if len(plain) == 1:
        return plain[0].table()
    names = dict.fromkeys(name for each in plain for name in each.names)
    return Tournament(tuple(names), {(each.names[0], each.names[1]): each for each in plain}).table()


def _section(tables: str, files: Sequence[VerifiedFile], command: CommandOf) -> str:
    checks, config = "\n".join(f"- `{command(file)}`: {file.checked}" for file in files), files[0].records.config
    title = heading(config.rules) + (", sealed deals" if config.domain == "sealed" else "")
    return f"## {title}\n\n{tables}\n\n{checks}\n"


def _plain(name: str) -> str:
    """Escape a name from a file, which Markdown then takes for text."""
    return re.sub(r"([\\`*\[\]<>|])", r"\\\1", name)


def stored_baselines(files: Iterable[VerifiedFile]) -> str:
    """Return stored results of the benchmark's tasks as Markdown.

    The tasks have the rules of the files. Policies of the files that were asked again are left out.
    """
    shown: dict[BaseRules, set[str]] = {}
    for file in (each for each in files if each.records.config.domain == "benchmark"):
        names = {name for lineup in file.records.lineups for name in lineup.policies if name in file.reruns}
        shown.setdefault(file.records.config.rules, set()).update(names)
    parts = []
    for task in TASKS.values():
        results = [each for each in baselines().values() if each.task == task and task.rules in shown]
        rows = [
            (
                each.policy,
                str(each.deals.count),
                *each.score.cells("z.1%" if task.opponent else ".1f"),
                "" if each.lost is None else f"{each.lost:.1%}",
                "" if each.margin is None else f"{each.margin:+.1f}",
            )
            for each in sorted(results, key=lambda each: -each.score.value)
            if each.policy not in shown[task.rules]
        ]
        if rows:
            unit = f"win rate against {task.opponent}" if task.opponent else "mean"
            table = markdown_table(("policy", "deals", unit, "95 % interval", "lost", "margin"), rows)
            parts.append(f"\n## Baselines of the task {task.name}\n\n{table}\n")
    return "".join(parts)
