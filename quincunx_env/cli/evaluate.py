"""Evaluate policies, compare them, and hold tournaments.

A policy is a registered name, ``module:attribute``, or the path of a file (weights, stable-baselines3, ONNX, RLlib).
``name=...`` before any of them sets its name in tables.

    quincunx evaluate uniform greedy --deals 1000
    quincunx evaluate mine=runs/model.zip uniform
    quincunx compare greedy uniform --num-players 3 --start open
    quincunx tournament uniform greedy mine=my.module:policy --out runs/tournament
    quincunx evaluate heuristic value search --deals 10 --times
    quincunx evaluate greedy --records greedy.npz
    quincunx evaluate --sealed season-1.secret.json season-1/policies/* --records season-1/games.npz

A directory of results holds figures (``result.json``), tables (``result.md``) and a plot (``result.png``). Evaluations
and tournaments also store the results of single games there: the same command resumes an interrupted run.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from inspect import getdoc
from pathlib import Path
from typing import Any

import tyro
from tqdm.auto import tqdm

from quincunx_env.arena.comparison import compare
from quincunx_env.arena.evaluation import evaluate_all, plot, table
from quincunx_env.arena.matches import MatchConfig, raised_by_policy
from quincunx_env.arena.timing import seconds_per_action
from quincunx_env.arena.tournaments import tournament
from quincunx_env.cli.options import (
    DEALS,
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
from quincunx_env.cli.program import resumed_by, run
from quincunx_env.core.deal import Domain
from quincunx_env.core.game import IllegalAction
from quincunx_env.core.policy import Agent, NotFiniteError
from quincunx_env.core.rules import BaseRules
from quincunx_env.policies import PolicyFileError, by_display_name, load_path, split_name
from quincunx_env.quincunx.rules import Rules
from quincunx_env.registry import heading
from quincunx_env.submissions import seasons
from quincunx_env.utils.errors import require_writable
from quincunx_env.utils.files import write_atomically, write_text
from quincunx_env.utils.markdown import markdown_table
from quincunx_env.utils.processes import worker_processes

_BY_POLICY = (IllegalAction, NotFiniteError, PolicyFileError)
"""Errors of a policy; others have the note of `raised_by_policy`."""


@dataclass(kw_only=True)
class _Options:
    """Policies, rules and deals of evaluations, comparisons and tournaments."""

    policies: tyro.conf.Positional[tuple[str, ...]]
    """policies to evaluate"""
    rules: QuincunxRules = field(default_factory=Rules)
    deals: int = MatchConfig.deals
    """number of deals"""
    domain: Domain = MatchConfig.domain
    """domain of the numbered deals; choose between policies on validation deals"""
    first: int = MatchConfig.first
    """number of the first deal"""
    seed: Seed = MatchConfig.seed
    chunk: Chunk = MatchConfig.chunk
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
        return {name: getattr(self, name) for name in DEALS}

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
        return super().named if self.sealed is None else {**seasons.policy_files(self.policies)}

    def run(self, command: str) -> None:
        """Play the games, print the table, write the results.

        Raises:
            ValueError: if --lost-value is not finite, or if deals are named that the secret determines.
        """
        require_writable(self.out)
        if not math.isfinite(self.lost_value):
            raise ValueError(f"--lost-value must be finite, got {self.lost_value}")
        if self.sealed is not None:
            for option, default in {**DEALS, "lost_value": 0.0, "rules": Rules()}.items():
                if getattr(self, option) != default:
                    raise ValueError(f"--{option.replace('_', '-')} follows from the secret of --sealed: leave it out")
            secret = seasons.Secret.read(self.sealed)
            self.lost_value = secret.lost_value
            for option in ("rules", *DEALS):
                setattr(self, option, getattr(secret.config, option))
        with resumed_by(command):
            options: dict[str, Any] = {
                "lost_value": self.lost_value,
                "out": self.out,
                "workers": self.workers,
                "ray": self.ray,
            }
            play: Callable[..., Any] = partial(evaluate_all, **self.keywords, **options)
            named = self.named
            for name in [*named] if self.sealed is not None else []:
                try:
                    play({name: named[name]}, records=None)  # `out` keeps the games
                except Exception as error:
                    if not (isinstance(error, _BY_POLICY) or raised_by_policy(error)):
                        raise
                    print(f"{name} cannot play: {seasons.one_line(error)}")
                    del named[name]
            results = play(named)
            figures = {name: result.to_json() for name, result in results.items()}
            note = f"lost rounds counted {self.lost_value:g}; intervals by Student's t, over deals"
            _write(self, command, table(results), note, {"evaluations": figures}, partial(plot, results))


@dataclass(kw_only=True)
class Compare(_MultiplayerOptions):
    """Compare policies on paired deals, each deal from every seating.

    Two policies are compared with the first in one seat and the second in all others. More policies take one seat each.
    """

    out: Out = Path("runs/compare")

    def run(self, command: str) -> None:
        """Play the games, print the table, write the results."""
        require_writable(self.out)
        named = [split_name(policy) for policy in self.policies]
        policies = [load_path(policy, self.trust) for _, policy in named]
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
        require_writable(self.out)
        others = "the other" if self.chosen_rules.num_players == 2 else "all other seats"
        note = (
            "each pair and deal from every seating; Bradley-Terry ratings in Elo points, mean 0, half a win each way "
            "added to every pair, intervals by resampling deals; share of wins of the policy in the row, in one "
            f"seat, against the policy in the column in {others}"
        )
        with resumed_by(command):
            result = tournament(self.named, **self.keywords, out=self.out, workers=self.workers, ray=self.ray)
            _write(self, command, result.table(), note, result.to_json(), result.plot)


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
    write_text(options.out / "result.md", text)
    write_text(options.out / "result.json", json.dumps({"command": command, **figures}, indent=2) + "\n")
    if draw is not None:
        write_atomically(options.out / "result.png", draw)


def _seconds_per_action(options: _Options) -> dict[str, float]:
    """Measure the processor time of each of the policies."""
    policies = by_display_name([*dict.fromkeys(options.policies)], options.trust)
    with worker_processes(1) as pool:  # where NumPy has one thread, so that no time is spent on waiting for others
        return pool.submit(seconds_per_action, policies, rules=options.chosen_rules, **options.numbered_deals).result()


COMMANDS: dict[str, type[_Options]] = {"evaluate": Evaluate, "compare": Compare, "tournament": Tournament}
"""The commands by name."""


def main(name: str, arguments: Sequence[str]) -> None:
    """Run one of the commands."""
    run(COMMANDS[name], getdoc(COMMANDS[name]), name, arguments)
