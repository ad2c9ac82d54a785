"""Tables and a page of results from verified files of games."""

import dataclasses
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quincunx_env.arena.benchmark import TASKS, baselines, best_known, on_deals_of_a_task
from quincunx_env.arena.comparison import Comparison
from quincunx_env.arena.evaluation import COLUMNS, Evaluation, cells, plot
from quincunx_env.arena.games import Games
from quincunx_env.arena.matches import one_against_others
from quincunx_env.arena.tournaments import Tournament
from quincunx_env.arena.verification import POSITIONS, Rerun, VerificationError, rerun, verify
from quincunx_env.core.policy import Agent
from quincunx_env.core.rules import BaseRules
from quincunx_env.quincunx.rules import Rules
from quincunx_env.registry import spec_of
from quincunx_env.utils.markdown import markdown_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DEFAULTS = {"domain": "benchmark", "first": 0, "deals": 1000, "seed": 0, "chunk": 250, "lost-value": 0}
"""Options of the commands that `VerifiedFile.command` leaves out."""

ROUNDING = 1e-4
"""Stored results have five decimals."""


@dataclass(frozen=True, eq=False)
class VerifiedFile:
    """A file of games that has been verified.

    Attributes:
        path: the file.
        records: its content.
        results: of each lineup, recomputed from its games.
        reruns: of policies that were asked again, by name.
        sealed: whether the games are on the deals of a season, by policies whose files were handed in before.
    """

    path: Path
    records: Games
    results: Sequence[Evaluation | Comparison]
    reruns: Mapping[str, Rerun]
    sealed: bool = False

    @classmethod
    def check(
        cls,
        path: Path | str,
        policies: Mapping[str, Agent | str] | None = None,
        positions: int = POSITIONS,
        seed: int | None = None,
        progress: Callable[[Iterable[Any]], Iterable[Any]] = iter,
        sealed: bool = False,
    ) -> "VerifiedFile":
        """Verify a file.

        Args:
            path: the file.
            policies: policies to ask again, by name; those that the file does not name are left out.
            positions: least number of positions for each.
            seed: of the draws, as in `rerun`.
            progress: wraps the iteration over the chunks that are replayed for a policy, as ``tqdm`` does.
            sealed: as the attribute.

        Raises:
            VerificationError: naming the file and the first game at fault.
            RecordError: if the file cannot be read.
            ValueError: for an unknown policy.
            OSError: if the file cannot be read.
        """
        records, reruns = Games.read(path), {}
        try:
            results = verify(records)
        except VerificationError as error:
            raise VerificationError(f"{path}: {error}") from error
        for name, policy in (policies or {}).items():
            if any(name in lineup.policies for lineup in records.lineups):
                reruns[name] = rerun(records, name, policy, positions, seed, progress)
        return cls(Path(path), records, results, reruns, sealed)

    @property
    def differences(self) -> list[str]:
        """A line for each policy that did not choose the recorded actions."""
        return [f"{self.path}: {result}" for result in self.reruns.values() if not result.agrees]

    @property
    def ranked(self) -> bool:
        """Whether a task of the benchmark or a season gave the deals. Then the author did not choose them."""
        return self.sealed or on_deals_of_a_task(self.records.config)

    def label(self, name: str) -> str:
        """Label the checks of a policy: ``replayed``, ``rerun`` or ``sealed``."""
        result = self.reruns.get(name)
        if result is None:
            return "replayed"
        label = "replayed" if not result.agrees else "sealed" if self.sealed else "rerun"
        return f"{label}, {result.counted}" if result.chunks else label

    @property
    def games(self) -> int:
        """Number of games."""
        return sum(len(lineup.lengths) for lineup in self.records.lineups)

    @property
    def deals(self) -> str:
        """Numbers of the deals."""
        config = self.records.config
        return f"{config.first} to {config.first + config.deals - 1}"

    @property
    def checked(self) -> str:
        """The checks: legal games, and the policies that were asked again."""
        asked = ", ".join(f"{name} {result.counted}" for name, result in self.reruns.items())
        text = f"`{self.command}`: `{self.records.config.domain}` deals {self.deals}, {self.games} games replayed"
        return f"{text}; rerun: {asked}" if asked else text

    @property
    def command(self) -> str:
        """The command that plays these games. Each policy is named as it was given, where the file says so."""
        config, lineups = self.records.config, self.records.lineups
        rules: Any = config.rules
        alone = rules.num_players == 1
        program = "evaluate" if alone else "compare" if len(lineups) == 1 else "tournament"
        words = ["quincunx", program]
        first = lineups[0]
        if program == "compare" and [*first.seats] != one_against_others(2, rules.num_players):
            words += [self._given(first.policies[number]) for number in first.seats]
        else:
            words += dict.fromkeys(self._given(name) for lineup in lineups for name in lineup.policies)
        words += [] if isinstance(rules, Rules) else ["--game", "spiral"]
        default = Rules(num_players=1 if alone else 2) if isinstance(rules, Rules) else type(rules)()
        for option in changed_options(rules, default):
            flag, value = option.replace("_", "-"), getattr(rules, option)
            flag = f"--{flag}" if isinstance(rules, Rules) else f"--{spec_of(rules).name}.{flag}"
            words += [flag] if value is True else [flag, str(value)]
        options = {**vars(config), "lost-value": getattr(self.results[0], "lost_value", 0)}
        for name, default_value in DEFAULTS.items():
            if options[name] != default_value:
                words += [f"--{name}", str(options[name])]
        words += ["--trust"] if any(word.endswith(".zip") for word in words) else []
        return f"{shlex.join(words)} --records {shlex.quote(self.path.name)}".replace("`", "'")

    def _given(self, name: str) -> str:
        """Name a policy as an argument of a command."""
        stated = self.records.about.get("given")
        given = stated.get(name) if isinstance(stated, dict) else None
        return f"{name}={given}" if isinstance(given, str) and re.fullmatch(r"[\w.:/-]+", given) else name


def sections(files: Iterable[VerifiedFile]) -> str:
    """Return the results as Markdown.

    There is a section for each variant of the solitaire, and for each file of several players.
    """
    alone: dict[tuple[BaseRules, str, int], list[VerifiedFile]] = {}
    parts, several = list[str](), list[str]()
    for file in files:
        config = file.records.config
        if config.rules.num_players == 1:
            season = config.first if config.domain == "sealed" else 0  # means of two seasons cannot be compared
            alone.setdefault((config.rules, config.domain, season), []).append(file)
        else:
            several.append(_section(_table_of_several(file), [file]))
    for group in alone.values():
        parts.append(_section(_tables_of_solitaire(group), group))
    return "\n".join(parts + several)


def plot_solitaires(files: Iterable[VerifiedFile], path: Path | str | None = None) -> "Figure | None":
    """Plot the distributions of scores at the default solitaire.

    It is a plot of `quincunx_env.arena.plot`; None if there are no scores.

    Args:
        files: verified files.
        path: file to save the figure to.
    """
    found = [row for row in _evaluations(files) if row[0].records.config.rules == Rules()]
    same = len({file.deals for file, _, _ in found}) == 1
    shown = {
        ", ".join(
            filter(None, [name, _lost_value(result), "" if same or file.ranked else f"deals {file.deals}"])
        ): result
        for file, name, result in found
    }
    return plot(shown, path) if shown else None


def heading(rules: BaseRules) -> str:
    """Name the game, and options that differ from their defaults."""
    options = [
        f"{option} {getattr(rules, option)}".removesuffix(" True")
        for option in changed_options(rules, type(rules)())
        if option != "num_players"
    ]
    game = "Solitaire" if rules.num_players == 1 else f"{rules.num_players} players"
    return ", ".join([game if isinstance(rules, Rules) else "Spiral game", *options])


def changed_options(rules: BaseRules, default: BaseRules) -> list[str]:
    """Name the options that differ from ``default``."""
    options = dataclasses.fields(rules)  # type: ignore[arg-type]  # rules are dataclasses
    return [option.name for option in options if getattr(rules, option.name) != getattr(default, option.name)]


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
        marks += filter(None, [_lost_value(result), _flag(file.records.config.rules, result)])
        lines.append([*cells(_plain(name), result), file.deals, ", ".join(marks)])
    return markdown_table((*COLUMNS, "numbers", "checked"), lines)


def _table_of_several(file: VerifiedFile) -> str:
    comparisons = [result for result in file.results if isinstance(result, Comparison)]
    plain = [dataclasses.replace(each, names=tuple(map(_plain, each.names))) for each in comparisons]
    if len(plain) == 1:
        return plain[0].table()
    names = dict.fromkeys(name for each in plain for name in each.names)
    return Tournament(tuple(names), {(each.names[0], each.names[1]): each for each in plain}).table()


def _section(tables: str, files: Sequence[VerifiedFile]) -> str:
    checks, config = "\n".join(f"- {file.checked}" for file in files), files[0].records.config
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
