"""Verify files of games, write a leaderboard, hold a season.

quincunx evaluate greedy --records greedy.npz
quincunx verify greedy.npz --rerun greedy
quincunx leaderboard greedy.npz --page leaderboard.md
quincunx seal new season-1
quincunx seal add season-1 mine.safetensors
"""

import json
import re
import shlex
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from inspect import getdoc
from pathlib import Path
from typing import Any, Literal

import tyro
from tqdm.auto import tqdm

from quincunx_env.arena.games import Games
from quincunx_env.arena.matches import MatchConfig, one_against_others
from quincunx_env.cli.options import DEALS, QuincunxRules, Trust, rules_arguments
from quincunx_env.cli.program import run
from quincunx_env.policies import by_display_name, resolve
from quincunx_env.quincunx.rules import Rules
from quincunx_env.submissions import seasons
from quincunx_env.submissions.leaderboard import plot_solitaires, sections, stored_baselines
from quincunx_env.submissions.reruns import POSITIONS, Apart
from quincunx_env.submissions.verification import VerificationError, VerifiedFile
from quincunx_env.utils.errors import require_writable
from quincunx_env.utils.files import write_atomically, write_text
from quincunx_env.utils.processes import worker_processes


@dataclass(kw_only=True)
class Seal:
    """Open a season on sealed deals, hand in policies, or withdraw them.

    The command new writes the commitment into the folder, and the secret beside it. add copies files of policies into
    the folder, and their SHA-256 into the commitment. Each plays some public deals first. When the games have been
    played, move the secret into the folder as secret.json: the command verify takes the folder.
    """

    action: tyro.conf.Positional[Literal["new", "add", "withdraw"]]
    """``new`` opens a season, ``add`` hands in policies, ``withdraw`` withdraws them"""
    folder: tyro.conf.Positional[Path]
    """folder of the season"""
    policies: tyro.conf.Positional[tuple[Path, ...]] = ()
    """files *.safetensors and *.onnx to hand in, or names of files to withdraw"""
    deals: int = MatchConfig.deals
    """number of deals of a new season"""
    chunk: int = MatchConfig.chunk
    """number of deals of a new season that are played side by side"""
    lost_value: float = 0.0
    """value of a lost round of a new season"""
    rules: QuincunxRules = field(default_factory=Rules)
    why: str = ""
    """reason of a withdrawal, which is recorded"""

    def run(self, command: str) -> None:
        """Write the files, and print what has been written.

        Raises:
            ValueError: as `quincunx_env.submissions.seasons.new`, `add` and `withdraw`.
            OSError: if nothing can be written.
        """
        if (self.action == "new") == bool(self.policies):
            raise ValueError("name policies with add, and none with new, as in 'seal add FOLDER mine.safetensors'")
        if self.action == "withdraw":
            for path in self.policies:
                seasons.withdraw(self.folder, path.name, self.why)
                print(f"withdrew {path.name}: publish the commitment again")
            return
        if self.action == "new":
            secret = seasons.new(
                self.folder, self.deals, rules=self.rules, lost_value=self.lost_value, chunk=self.chunk
            )
            print(f"wrote {self.folder / seasons.COMMITMENT}: publish it now")
            print(f"wrote {secret}: keep it secret until all games have been played")
            return
        for name, digest in seasons.add(self.folder, self.policies).items():
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
        named = by_display_name(self.rerun, self.trust)
        for policy in named.values():
            resolve(policy)
        asked: Any = (self.positions, self.seed, partial(tqdm, unit="chunk", disable=None, desc="rerun"))
        verified = []
        with worker_processes(1) if named else nullcontext() as pool:
            policies = {name: Apart(policy, pool) for name, policy in named.items()} if pool else {}
            for path in self.files:
                verified += (
                    seasons.check(path, *asked)
                    if (path / seasons.COMMITMENT).exists()
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
        print(sections(verified, command_of))
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
        results = f"{sections(verified, command_of)}{stored_baselines(verified)}"
        text = f"# Leaderboard\n\n{results}\n{plotted}{LEGEND}\n*Written by `{command}`.*\n"
        write_text(self.page, text)
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
## How to read the tables

Intervals are Student's t at 95 %, over deals. Lost rounds count 0 unless the row says otherwise. Such rows have a
separate table, and so have rows on other deals than the benchmark's. Ratings are Bradley-Terry in Elo points with mean
0, their intervals from resampled deals. The columns after them are the share of wins of the policy in the row against
the policy in the column. Half a win for each pair, counted in deals, is added, so that ratings are finite. The ratings
beside a policy that loses nearly all games, such as `uniform`, depend on it.

The last column, and the lines below a table, say what was checked:

- `replayed`: every game is legal, and the figures follow from the games.
- `rerun`: besides, the policy chose the recorded actions when it was asked again. A policy without randomness was asked
  in single positions, drawn at random. Any other policy, such as a search, was asked in whole chunks of games with the
  same random numbers. `23 of 30 chunks asked again, all equal`: 23 were drawn at random, and every action in them was
  the recorded one. The other seven were not asked.
- `sealed`: besides, no policy could know the deals.

[Submitting a result](submitting.md#what-the-labels-mean) says what each label rules out.
"""


def command_of(file: VerifiedFile) -> str:
    """Return the command that plays the games of a file. It names policies as they were given, if the file says so."""
    config, lineups = file.records.config, file.records.lineups
    program = "evaluate" if config.rules.num_players == 1 else "compare" if len(lineups) == 1 else "tournament"
    first, words = lineups[0], ["quincunx", program]
    if program == "compare" and [*first.seats] != one_against_others(2, config.rules.num_players):
        words += [_given(file.records, first.policies[number]) for number in first.seats]
    else:
        words += dict.fromkeys(_given(file.records, name) for lineup in lineups for name in lineup.policies)
    words += rules_arguments(config.rules)
    options = {**vars(config), "lost-value": getattr(file.results[0], "lost_value", 0)}
    for name, default in {**DEALS, "lost-value": 0}.items():
        if options[name] != default:
            words += [f"--{name}", str(options[name])]
    words += ["--trust"] if any(word.endswith(".zip") for word in words) else []
    return f"{shlex.join(words)} --records {shlex.quote(file.path.name)}".replace("`", "'")


def _given(records: Games, name: str) -> str:
    """Name a policy as an argument of a command."""
    stated = records.about.get("given")
    given = stated.get(name) if isinstance(stated, dict) else None
    return f"{name}={given}" if isinstance(given, str) and re.fullmatch(r"[\w.:/-]+", given) else name


COMMANDS: dict[str, type[Any]] = {"seal": Seal, "verify": Verify, "leaderboard": Leaderboard}
"""The commands by name."""


def main(name: str, arguments: Sequence[str]) -> None:
    """Run one of the commands."""
    run(COMMANDS[name], getdoc(COMMANDS[name]), name, arguments)
