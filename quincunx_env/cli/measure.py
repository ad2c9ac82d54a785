"""Evaluate policies, compare them, and hold tournaments.

A policy is a registered name, ``module:attribute``, or the path of a file (weights, stable-baselines3, ONNX, RLlib).
``name=...`` before any of them sets its name in tables.

    quincunx evaluate uniform greedy --deals 1000
    quincunx evaluate mine=runs/model.zip uniform
    quincunx compare greedy uniform --num-players 3 --start open
    quincunx tournament uniform greedy mine=my.module:policy --out runs/tournament
    quincunx compare best-response:heuristic heuristic --deals 20 --chunk 5
    quincunx evaluate heuristic value search --deals 10 --times
    quincunx evaluate greedy --records greedy.npz
    quincunx verify greedy.npz --rerun greedy
    quincunx leaderboard greedy.npz --page leaderboard.md
    quincunx seal new season-1
    quincunx seal add season-1 mine.safetensors
    quincunx evaluate --sealed season-1.secret.json season-1/policies/* --records season-1/games.npz

A directory of results holds figures (``result.json``), tables (``result.md``) and a plot (``result.png``). Evaluations
and tournaments also store the results of single games there: the same command resumes an interrupted run.
"""

import json
import math
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from inspect import getdoc
from pathlib import Path
from typing import Any, Literal

import tyro
from tqdm.auto import tqdm

from quincunx_env.arena import sealed
from quincunx_env.arena.comparison import compare
from quincunx_env.arena.evaluation import evaluate_all, plot, table
from quincunx_env.arena.games import Games, require_writable_file
from quincunx_env.arena.leaderboard import VerifiedFile, heading, plot_solitaires, sections, stored_baselines
from quincunx_env.arena.matches import raised_by_policy
from quincunx_env.arena.timing import seconds_per_action
from quincunx_env.arena.tournaments import tournament
from quincunx_env.arena.verification import POSITIONS, VerificationError
from quincunx_env.cli.options import (
    Chunk,
    GameOptions,
    Out,
    QuincunxRules,
    Ray,
    RecordsFile,
    Seed,
    Trust,
    Workers,
    cores,
)
from quincunx_env.cli.parser import parse
from quincunx_env.core.deal import Domain
from quincunx_env.core.policy import Agent
from quincunx_env.core.rules import BaseRules
from quincunx_env.policies import UntrustedFileError, by_display_name, load_path, resolve, split_name
from quincunx_env.quincunx.rules import Rules
from quincunx_env.utils.errors import fail, one_line_errors, require_writable
from quincunx_env.utils.files import write_atomically
from quincunx_env.utils.markdown import markdown_table
from quincunx_env.utils.processes import worker_processes


@dataclass(kw_only=True)
class _Options:
    """Policies, rules and deals of evaluations, comparisons and tournaments."""

    policies: tyro.conf.Positional[tuple[str, ...]]
    """policies to evaluate"""
    rules: QuincunxRules = field(default_factory=Rules)
    deals: int = 1000
    """number of deals"""
    domain: Domain = "benchmark"
    """domain of the numbered deals; choose between policies on validation deals"""
    first: int = 0
    """number of the first deal"""
    seed: Seed = 0
    chunk: Chunk = 250
    trust: Trust = False
    times: bool = False
    """also measure the processor time of each policy per action, in every seat of the same deals, in one process"""
    out: Out
    records: RecordsFile = None

    @property
    def named(self) -> dict[str, Agent | str]:
        """The policies by their names in tables."""
        return by_display_name(self.policies, self.trust)

    @property
    def chosen_rules(self) -> BaseRules:
        """The rules of the chosen game."""
        return self.rules

    @property
    def numbered_deals(self) -> dict[str, Any]:
        """Keyword arguments that name the deals."""
        return {name: getattr(self, name) for name in ("deals", "domain", "first", "seed", "chunk")}

    @property
    def keywords(self) -> dict[str, Any]:
        """Keyword arguments that `evaluate_all`, `compare` and `tournament` have in common."""
        progress = partial(tqdm, unit="chunk", disable=None)
        return self.numbered_deals | {"rules": self.chosen_rules, "progress": progress, "records": self.records}


@dataclass(kw_only=True)
class _MultiplayerOptions(GameOptions, _Options):
    """Options of games for several players."""

    rules: QuincunxRules = field(default_factory=lambda: Rules(num_players=2))


@dataclass(kw_only=True)
class Evaluate(_Options):
    """Evaluate policies at the solitaire; resumable."""

    lost_value: float = 0.0
    """value of a lost round"""
    sealed: Path | None = None
    """secret that 'quincunx seal new' wrote: play its sealed deals; the policies are files *.safetensors and *.onnx;
    the results show the secret"""
    workers: Workers = field(default_factory=cores)
    ray: Ray = None
    out: Out = Path("runs/evaluate")

    @property
    def named(self) -> dict[str, Agent | str]:
        """The policies by their names in tables. On sealed deals these are the names of their files."""
        return super().named if self.sealed is None else {**sealed.policy_files(self.policies)}

    def run(self, command: str) -> None:
        """Play the games, print the table, write the results.

        Raises:
            ValueError: if --lost-value is not finite, or if deals are named that the secret determines.
        """
        if not math.isfinite(self.lost_value):
            raise ValueError(f"--lost-value must be finite, got {self.lost_value}")
        if self.sealed is not None:
            for option in ("deals", "domain", "first", "seed"):
                if getattr(self, option) != getattr(type(self), option):
                    raise ValueError(f"--{option} follows from the secret of --sealed: leave it out")
            secret = sealed.Secret.read(self.sealed)
            self.domain, self.first, self.deals = "sealed", secret.first, secret.deals
        results = evaluate_all(
            self.named,
            **self.keywords,
            lost_value=self.lost_value,
            out=self.out,
            workers=self.workers,
            ray=self.ray,
        )
        figures = {name: result.to_json() for name, result in results.items()}
        note = f"lost rounds counted {self.lost_value:g}; intervals by Student's t, over deals"
        _write(self, command, table(results), note, {"evaluations": figures}, partial(plot, results))


@dataclass(kw_only=True)
class Compare(_MultiplayerOptions):
    """Compare policies on paired deals, each deal from every seating.

    Two policies are compared with the first in one seat and the second in all others. More policies take one seat each.

    The policy best-response:NAME approximates a best response to the policy NAME: a search whose rollouts are played
    by NAME itself. What it wins against NAME is a lower bound of the exploitability of NAME.
    """

    out: Out = Path("runs/compare")

    def run(self, command: str) -> None:
        """Play the games, print the table, write the results."""
        named = [split_name(policy) for policy in self.policies]
        policies = [resolve(policy, True) if self.trust else load_path(policy, False) for _, policy in named]
        result = compare(policies, names=[name for name, _ in named], **self.keywords)
        note = "each deal from every seating; intervals by Student's t, over deals"
        _write(self, command, result.table(), note, result.to_json())


@dataclass(kw_only=True)
class Tournament(_MultiplayerOptions):
    """Round robin on paired deals, with Bradley-Terry ratings; resumable."""

    workers: Workers = field(default_factory=cores)
    ray: Ray = None
    out: Out = Path("runs/tournament")

    def run(self, command: str) -> None:
        """Play the games, print the table, write the results."""
        result = tournament(self.named, **self.keywords, out=self.out, workers=self.workers, ray=self.ray)
        others = "the other" if self.chosen_rules.num_players == 2 else "all other seats"
        note = (
            "each pair and deal from every seating; Bradley-Terry ratings in Elo points, mean 0, half a win each way "
            "added to every pair, intervals by resampling deals; share of wins of the policy in the row, in one "
            f"seat, against the policy in the column in {others}"
        )
        _write(self, command, result.table(), note, result.to_json(), result.plot)


@dataclass(kw_only=True)
class Seal:
    """Open a season on sealed deals (new), or hand in policies (add).

    The command new writes the commitment into the folder, and the secret beside it. add copies files of policies into
    the folder, and their SHA-256 into the commitment. When the games have been played, move the secret into the folder
    as secret.json: the command verify takes the folder.
    """

    action: tyro.conf.Positional[Literal["new", "add"]]
    """``new`` opens a season, ``add`` hands in policies"""
    folder: tyro.conf.Positional[Path]
    """folder of the season"""
    policies: tyro.conf.Positional[tuple[Path, ...]] = ()
    """files *.safetensors and *.onnx to hand in"""
    deals: int = 1000
    """number of deals of a new season"""

    def run(self, command: str) -> None:
        """Write the files, and print what has been written.

        Raises:
            ValueError: as `quincunx_env.arena.sealed.new` and `add`.
            OSError: if nothing can be written.
        """
        if (self.action == "add") != bool(self.policies):
            raise ValueError("name policies with add, and none with new, as in 'seal add FOLDER mine.safetensors'")
        if self.action == "new":
            secret = sealed.new(self.folder, self.deals)
            print(f"wrote {self.folder / sealed.COMMITMENT}: publish it now")
            print(f"wrote {secret}: keep it secret until all games have been played")
            return
        for name, digest in sealed.add(self.folder, self.policies).items():
            print(f"{digest}  {name}")


@dataclass(kw_only=True)
class _Files:
    """Options of commands that read files of games."""

    files: tyro.conf.Positional[tuple[Path, ...]]
    """files that evaluate, compare or tournament have written with --records; folders of seasons on sealed deals"""
    rerun: tuple[str, ...] = ()
    """policies to ask again, each by its name in the files, or as name=... with the policy of that name"""
    positions: int = POSITIONS
    """least number of positions in which a policy without randomness is asked; for others whole chunks are replayed"""
    seed: int | None = None
    """seed of the draw of positions and chunks; by default it cannot be predicted"""
    trust: Trust = False

    def verified(self) -> list[VerifiedFile]:
        """Verify the files.

        Raises:
            VerificationError: as `VerifiedFile.check`.
            ValueError: for no file, a negative seed, or a policy that none of them names.
        """
        if self.seed is not None and self.seed < 0:
            raise ValueError(f"--seed must be at least 0, got {self.seed}")
        if not self.files:
            raise ValueError("name a file of games, as evaluate --records writes it")
        if self.positions < 1:
            raise ValueError(f"positions must be at least 1, got {self.positions}")
        policies = {name: resolve(policy) for name, policy in by_display_name(self.rerun, self.trust).items()}
        asked: Any = (self.positions, self.seed, partial(tqdm, unit="chunk", disable=None, desc="rerun"))
        verified = []
        for path in self.files:
            verified += (
                sealed.check(path, *asked)
                if (path / sealed.COMMITMENT).exists()
                else [VerifiedFile.check(path, policies, *asked)]
            )
        if missing := policies.keys() - {name for file in verified for name in file.reruns}:
            known = {name for file in verified for lineup in file.records.lineups for name in lineup.policies}
            raise ValueError(f"no file has games of {', '.join(sorted(missing))}, but of {', '.join(sorted(known))}")
        return verified


@dataclass(kw_only=True)
class Verify(_Files):
    """Replay all games of files written with --records.

    The results are compared with what the files claim. The exit status is 1 for a false file, and for actions that a
    policy does not choose again. It is 2 for a file that cannot be read.
    """

    show: bool = False
    """print what the files claim (rules, deals, policies, figures, versions) without replaying them"""

    def run(self, command: str) -> None:
        """Print the results, or the claims."""
        if self.show and self.files:
            for path in self.files:
                print(json.dumps(Games.read(path).header, indent=2))
            return
        verified = self.verified()
        print(sections(verified))
        for file in verified:
            for result in file.reruns.values():
                print(f"{file.path}: {result}")
        _require_equal(verified)


@dataclass(kw_only=True)
class Leaderboard(_Files):
    """Write a page and a plot with the results in files.

    The files were written with --records. All of them are verified.
    """

    page: Path = Path("docs/leaderboard.md")
    """file to write; the plot has the same name and the suffix .png"""

    def run(self, command: str) -> None:
        """Write the page, and print what has been written.

        Raises:
            ValueError: if the page or its plot would replace one of the files, or each other.
            OSError: if nothing can be written to the folder of the page.
        """
        picture = self.page.with_suffix(".png") if self.page.name else self.page
        written = {self.page.resolve(), picture.resolve()}
        if self.page.is_dir() or len(written) < 2 or written & {file.resolve() for file in self.files}:
            raise ValueError(f"--page must name a separate file, such as leaderboard.md, got {self.page}")
        require_writable(self.page.parent, "--page")
        verified = self.verified()
        plotted = ""
        if plot_solitaires(verified) is not None:
            write_atomically(picture, partial(plot_solitaires, verified))
            plotted = f"![Distributions of the scores]({picture.name})\n\n"
        results = f"{sections(verified)}{stored_baselines(verified)}"
        text = f"# Leaderboard\n\n{LEGEND}\n{plotted}{results}\n*Written by `{command}`.*\n"
        _write_text(self.page, text)
        print(f"wrote {self.page}" + (f" and {picture}" if plotted else ""))
        _require_equal(verified)


def _require_equal(files: Sequence[VerifiedFile]) -> None:
    """Check that all policies that were asked again chose the recorded actions.

    Raises:
        VerificationError: naming those that did not.
    """
    if differences := [line for file in files for line in file.differences]:
        raise VerificationError("; ".join(differences))


LEGEND = """\
The last column says what was checked ([what the labels mean](submitting.md#what-the-labels-mean)). `replayed`: every
game is legal, and the figures follow from the games. `rerun`: besides, the policy chose the recorded actions when it
was asked again, in positions drawn at random or in that many chunks. `sealed`: besides, no policy could know the deals.
Intervals are Student's t at 95 %, over deals. Lost rounds count 0 unless the row says otherwise. Such rows have a
separate table, and so have rows on other deals than the benchmark's. Ratings are Bradley-Terry in Elo points with mean
0, their intervals from resampled deals. The columns after them are the share of wins of the policy in the row against
the policy in the column. Half a win for each pair, counted in deals, is added, so that ratings are finite. The ratings
beside a policy that loses nearly all games, such as `uniform`, depend on it.
"""


def _write(
    options: _Options,
    command: str,
    tables: str,
    note: str,
    figures: Mapping[str, Any],
    draw: Callable[[Path], Any] | None = None,
) -> None:
    """Print the tables, and write all files to the directory of results."""
    last = options.first + options.deals - 1
    if options.times:
        seconds = _seconds_per_action(options)
        reference = next(iter(seconds))
        header = ("policy", f"time per action, {reference} = 1", "ms per action here")
        rows = ((name, f"{each / seconds[reference]:.3g}", f"{1000 * each:.3g}") for name, each in seconds.items())
        tables += f"\n\n{markdown_table(header, rows)}"
        note += f"; processor time with {options.chunk} deals side by side, each policy in every seat"
        figures = {**figures, "seconds_per_action": seconds}
    text = (
        f"## {heading(options.chosen_rules)}\n\n{tables}\n\n"
        f"*`{command}`: `{options.domain}` deals {options.first} to {last}, {note}.*\n"
    )
    print(text)
    _write_text(options.out / "result.md", text)
    _write_text(options.out / "result.json", json.dumps({"command": command, **figures}, indent=2) + "\n")
    if draw is not None:
        write_atomically(options.out / "result.png", draw)


def _seconds_per_action(options: _Options) -> dict[str, float]:
    """Measure the processor time of each of the policies."""
    policies = by_display_name([*dict.fromkeys(options.policies)], options.trust)
    with worker_processes(1) as pool:  # where NumPy has one thread, so that no time is spent on waiting for others
        return pool.submit(seconds_per_action, policies, rules=options.chosen_rules, **options.numbered_deals).result()


def _write_text(path: Path, text: str) -> None:
    write_atomically(path, lambda unfinished: unfinished.write_text(text, encoding="utf-8"))


FALSE = 1
"""Exit status of ``verify`` and ``leaderboard`` for a file whose games are not what it claims."""

COMMANDS: dict[str, type[Any]] = {
    command.__name__.lower(): command for command in (Evaluate, Compare, Tournament, Seal, Verify, Leaderboard)
}
"""The commands by name."""


def main(name: str, arguments: Sequence[str]) -> None:
    """Run one of the commands."""
    line, stored = f"quincunx {shlex.join([name, *arguments])}", ""
    with one_line_errors(remedy=lambda: stored):
        try:
            command = parse(COMMANDS[name], f"quincunx {name}", getdoc(COMMANDS[name]), arguments)
            if isinstance(command, GameOptions):
                command.refuse_other_game(arguments)
            if isinstance(command, _Options):
                require_writable(command.out)
                require_writable_file(command.records)
            if isinstance(command, Evaluate | Tournament):
                stored = f"finished games are stored, this resumes: {line}"
            command.run(line)
        except VerificationError as error:
            fail(error, FALSE)
        except UntrustedFileError as error:
            fail(f"{error}: {line} --trust")
        except (ValueError, ImportError) as error:
            if raised_by_policy(error):
                raise
            fail(error)
