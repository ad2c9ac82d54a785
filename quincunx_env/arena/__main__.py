"""The arena on the command line. Policies are short names (in a checkout), ``module:attribute``, or either as
``name=...``.

    python -m quincunx_env.arena evaluate uniform greedy --deals 1000
    python -m quincunx_env.arena compare greedy uniform --num-players 3 --start open
    python -m quincunx_env.arena tournament uniform greedy mine=my.module:policy --out runs/tournament
    python -m quincunx_env.arena leaderboard runs/evaluate runs/tournament --page docs/leaderboard.md

A directory of results holds the figures (``result.json``), tables (``result.md``), a picture (``result.png``) and, of
evaluations and tournaments, the games: after an interruption the same command goes on where it stopped.
"""

import dataclasses
import json
import os
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

try:
    import tyro
    from tqdm.auto import tqdm
except ModuleNotFoundError as error:
    sys.exit(f'error: the arena needs {error.name}: pip install "quincunx_env[arena]"')

from quincunx_env.arena.comparison import compare
from quincunx_env.arena.evaluation import evaluate_all, plot, table
from quincunx_env.arena.tournaments import tournament
from quincunx_env.core.atomic_write import write_atomically
from quincunx_env.core.deal import Domain
from quincunx_env.core.game import IllegalAction
from quincunx_env.core.rules import BaseRules
from quincunx_env.quincunx.rules import Rules
from quincunx_env.spiral.rules import Rules as SpiralRules

PROGRAM = "python -m quincunx_env.arena"


@dataclass(kw_only=True)
class _Measure:
    policies: tyro.conf.Positional[tuple[str, ...]]
    """who plays"""
    rules: Annotated[Rules, tyro.conf.arg(name="")]
    deals: int = 1000
    """how many"""
    domain: Domain = "benchmark"
    """which numbered deals; choose between policies on validation deals"""
    first: int = 0
    """number of the first deal"""
    seed: int = 0
    """of the policies' generators"""
    chunk: int = 250
    """deals played side by side; an interruption costs no more, and they are what processes share. Policies that draw
    play otherwise with another one"""
    out: Path
    """directory of the results"""

    @property
    def played(self) -> BaseRules:
        """The rules of the game that is played."""
        return self.rules

    @property
    def options(self) -> dict[str, Any]:
        """What all functions take alike."""
        names = ("deals", "domain", "first", "seed", "chunk")
        progress = partial(tqdm, unit="chunk", disable=None)
        return {name: getattr(self, name) for name in names} | {"rules": self.played, "progress": progress}


@dataclass(kw_only=True)
class _Together(_Measure):
    rules: Annotated[Rules, tyro.conf.arg(name="")] = field(default_factory=lambda: Rules(num_players=2))
    game: Literal["quincunx", "spiral"] = "quincunx"
    """which game; options of the spiral game begin with ``--spiral``, the other options of rules are of Quincunx"""
    spiral: SpiralRules = field(default_factory=SpiralRules)

    @property
    def played(self) -> BaseRules:
        """The rules of the game that is played."""
        return self.rules if self.game == "quincunx" else self.spiral


def _cores() -> int:
    return os.cpu_count() or 1


@dataclass(kw_only=True)
class Evaluate(_Measure):
    """What policies score at the solitaire."""

    rules: Annotated[Rules, tyro.conf.arg(name="")] = field(default_factory=Rules)
    lost_value: float = 0.0
    """what a lost round counts"""
    workers: int = field(default_factory=_cores)
    """processes"""
    ray: str | None = None
    """address of a Ray cluster that plays instead of these processes: host:port, or auto"""
    out: Path = Path("runs/evaluate")
    """directory of the results"""

    def run(self, command: str) -> None:
        """Play, print and write."""
        results = evaluate_all(
            self.policies,
            **self.options,
            lost_value=self.lost_value,
            out=self.out,
            workers=self.workers,
            ray=self.ray,
        )
        figures = {name: result.to_json() for name, result in results.items()}
        remark = f"lost rounds counted {self.lost_value:g}; intervals over deals"
        _write(self, command, table(results), remark, {"evaluations": figures}, partial(plot, results))


@dataclass(kw_only=True)
class Compare(_Together):
    """Policies against each other on paired deals, each deal from every seating: two of them, the first in one seat
    against the second in all others, or one for each seat.
    """

    out: Path = Path("runs/compare")
    """directory of the results"""

    def run(self, command: str) -> None:
        """Play, print and write."""
        policies = [policy.partition("=")[::2] for policy in self.policies]
        result = compare(
            [path or name for name, path in policies], names=[name for name, _ in policies], **self.options
        )
        remark = "each deal from every seating; intervals by Student's t, over deals"
        _write(self, command, result.table(), remark, result.to_json())


@dataclass(kw_only=True)
class Tournament(_Together):
    """All against all on paired deals, with Bradley-Terry ratings; resumable."""

    workers: int = field(default_factory=_cores)
    """processes"""
    ray: str | None = None
    """address of a Ray cluster that plays instead of these processes: host:port, or auto"""
    out: Path = Path("runs/tournament")
    """directory of the results"""

    def run(self, command: str) -> None:
        """Play, print and write."""
        result = tournament(self.policies, **self.options, out=self.out, workers=self.workers, ray=self.ray)
        others = "the other" if self.played.num_players == 2 else "all other seats"
        remark = (
            "each pair and deal from every seating; Bradley-Terry ratings in Elo points, mean 0, half a win each way "
            "added to every pair, intervals by resampling deals; wins of the policy of a row in one seat against that "
            f"of the column in {others}"
        )
        _write(self, command, result.table(), remark, result.to_json(), result.plot)


@dataclass
class Leaderboard:
    """A page of all results in these directories."""

    folders: tyro.conf.Positional[tuple[Path, ...]]
    """directories that the other commands wrote"""
    page: Path = Path("docs/leaderboard.md")
    """the page to write"""

    def run(self, command: str) -> None:
        """Put the results together."""
        missing = [str(folder) for folder in self.folders if not (folder / "result.md").exists()]
        if missing:
            raise ValueError(f"there are no results in {', '.join(missing)}")
        parts = [(folder / "result.md").read_text(encoding="utf-8") for folder in self.folders]
        _write_text(self.page, "\n".join([f"# Leaderboard\n\n*Written by `{command}`.*\n", *parts]))


def _write(
    arguments: _Measure,
    command: str,
    tables: str,
    remark: str,
    figures: Mapping[str, Any],
    draw: Callable[[Path], Any] | None = None,
) -> None:
    """Print the tables, and write everything to the directory of the results."""
    last = arguments.first + arguments.deals - 1
    text = (
        f"## {_title(arguments.played)}\n\n{tables}\n\n"
        f"*`{command}`: `{arguments.domain}` deals {arguments.first} to {last}, {remark}.*\n"
    )
    print(text)
    _write_text(arguments.out / "result.md", text)
    _write_text(arguments.out / "result.json", json.dumps({"command": command, **figures}, indent=2) + "\n")
    if draw is not None:
        write_atomically(arguments.out / "result.png", draw)


def _write_text(path: Path, text: str) -> None:
    write_atomically(path, lambda unfinished: unfinished.write_text(text, encoding="utf-8"))


def _title(rules: BaseRules) -> str:
    """The game, and the options that are not the default's."""
    options = [
        f"{option.name} {getattr(rules, option.name)}".removesuffix(" True")
        for option in dataclasses.fields(rules)  # type: ignore[arg-type]  # rules are dataclasses
        if option.name != "num_players" and getattr(rules, option.name) != option.default
    ]
    game = "Solitaire" if rules.num_players == 1 else f"{rules.num_players} players"
    return ", ".join([game if isinstance(rules, Rules) else "Spiral game", *options])


def main(arguments: Sequence[str] | None = None) -> None:
    """Do what the command line, or ``arguments`` instead of it, says."""
    arguments = sys.argv[1:] if arguments is None else arguments
    command: Any = tyro.extras.subcommand_cli_from_dict(
        {each.__name__.lower(): each for each in (Evaluate, Compare, Tournament, Leaderboard)},
        prog=PROGRAM,
        description=__doc__,
        args=arguments,
    )
    try:
        command.run(f"{PROGRAM} {shlex.join(arguments)}")
    except (ValueError, IllegalAction, ConnectionError) as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit("interrupted; evaluations and tournaments go on where they stopped when the command is given again")


if __name__ == "__main__":
    main()
