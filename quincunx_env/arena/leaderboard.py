"""Tables and a page of results from files of games that have been verified."""

import dataclasses
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quincunx_env.arena.benchmark import best_known, on_deals_of_a_task
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
        """Whether the deals were not the author's choice: those of a task of the benchmark, or of a season."""
        return self.sealed or on_deals_of_a_task(self.records.config)

    def label(self, name: str) -> str:
        """What has been checked of a policy: ``replayed``, or also ``rerun`` or ``sealed``."""
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
        """What has been checked: that the games are legal, and which policies were asked again."""
        asked = ", ".join(f"{name} {result.counted}" for name, result in self.reruns.items())
        text = f"`{self.command}`: `{self.records.config.domain}` deals {self.deals}, {self.games} games replayed"
        return f"{text}; rerun: {asked}" if asked else text

    @property
    def command(self) -> str:
        """The command that plays these games, with the policies by their names in the file."""
        config, lineups = self.records.config, self.records.lineups
        rules: Any = config.rules
        alone = rules.num_players == 1
        program = "evaluate" if alone else "compare" if len(lineups) == 1 else "tournament"
        words = ["quincunx", program]
        first = lineups[0]
        if program == "compare" and [*first.seats] != one_against_others(2, rules.num_players):
            words += [first.policies[number] for number in first.seats]
        else:
            words += dict.fromkeys(name for lineup in lineups for name in lineup.policies)
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
        return f"{shlex.join(words)} --records {shlex.quote(self.path.name)}".replace("`", "'")


def sections(files: Iterable[VerifiedFile]) -> str:
    """The results as Markdown: a section for each variant of the solitaire, and for each file of several players."""
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
    """Plot the distributions of scores at the default solitaire, as `quincunx_env.arena.plot`; None if there are none.

    Args:
        files: verified files.
        path: file to save the figure to.
    """
    shown = {
        ", ".join(filter(None, [name, _lost_value(result), "" if file.ranked else f"deals {file.deals}"])): result
        for file, name, result in _evaluations(files)
        if file.records.config.rules == Rules()
    }
    return plot(shown, path) if shown else None


def heading(rules: BaseRules) -> str:
    """The game, and options that differ from their defaults."""
    options = [
        f"{option} {getattr(rules, option)}".removesuffix(" True")
        for option in changed_options(rules, type(rules)())
        if option != "num_players"
    ]
    game = "Solitaire" if rules.num_players == 1 else f"{rules.num_players} players"
    return ", ".join([game if isinstance(rules, Rules) else "Spiral game", *options])


def changed_options(rules: BaseRules, default: BaseRules) -> list[str]:
    """Names of the options that differ from those of ``default``."""
    options = dataclasses.fields(rules)  # type: ignore[arg-type]  # rules are dataclasses
    return [option.name for option in options if getattr(rules, option.name) != getattr(default, option.name)]


def _evaluations(files: Iterable[VerifiedFile]) -> list[tuple[VerifiedFile, str, Evaluation]]:
    """All evaluations of the solitaire, best first."""
    found = [
        (file, lineup.policies[0], result)
        for file in files
        for lineup, result in zip(file.records.lineups, file.results, strict=True)
        if isinstance(result, Evaluation)
    ]
    return sorted(found, key=lambda each: -each[2].mean)


def _lost_value(result: Evaluation) -> str:
    """What lost rounds count, in a few words; empty for 0."""
    return f"lost rounds count {result.lost_value:g}" if result.lost_value else ""


def _flag(rules: BaseRules, result: Evaluation) -> str:
    """Mark a mean above the best known one, in which lost rounds count 0: the policy may have seen hidden cards."""
    best = best_known(rules)
    if best is None or dataclasses.replace(result, lost_value=0.0).mean <= best.score.value + ROUNDING:
        return ""
    return f"above the best known result ({best.policy}, {best.score.value:.1f})"


def _tables_of_solitaire(files: Sequence[VerifiedFile]) -> str:
    """Tables of means that can be compared, best first; then tables of those on deals that their authors chose.

    There is a table for each value of a lost round, 0 first.
    """
    tables: dict[tuple[bool, float], list[tuple[VerifiedFile, str, Evaluation]]] = {(True, 0.0): [], (False, 0.0): []}
    for row in _evaluations(files):
        tables.setdefault((row[0].ranked, row[2].lost_value), []).append(row)
    ranked = [_table_of_solitaire(rows) for (comparable, _), rows in tables.items() if rows and comparable]
    for (comparable, _), rows in tables.items():
        if rows and not comparable:
            by_deals = sorted(rows, key=lambda row: (row[0].records.config.first, row[0].records.config.deals, row[1]))
            ranked += [OTHER_DEALS, _table_of_solitaire(by_deals)]
    return "\n\n".join(ranked)


OTHER_DEALS = "Not ranked, because these are not the deals of the benchmark's task:"
"""Heading of a table: the author of a result may have chosen lucky deals."""


def _table_of_solitaire(rows: Sequence[tuple[VerifiedFile, str, Evaluation]]) -> str:
    """The table of `quincunx_env.arena.table`, with the numbers of the deals and what has been checked."""
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
    """A name from a file, so that Markdown takes it for text."""
    return re.sub(r"([\\`*\[\]<>|])", r"\\\1", name)
