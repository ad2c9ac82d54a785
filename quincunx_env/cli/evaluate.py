"""Evaluate policies, compare them, and hold tournaments.

A policy is a registered name, ``module:attribute``, or the path of a file (weights, stable-baselines3).
``name=...`` before any of them sets its name in tables.

    quincunx evaluate uniform greedy --deals 1000
    quincunx evaluate mine=runs/model.zip uniform
    quincunx evaluate heuristic value --adjusted --endings
    quincunx compare greedy uniform --num-players 3 --start open
    quincunx tournament uniform greedy mine=my.module:policy --out runs/tournament
    quincunx evaluate heuristic value search --deals 10 --times
    quincunx evaluate greedy --records greedy.npz

A directory of results holds figures (``result.json``), tables (``result.md``) and a plot (``result.png``). Evaluations
and tournaments also store the results of single games there: the same command resumes an interrupted run.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from inspect import getdoc
from pathlib import Path
from typing import Annotated, Any, ClassVar

import tyro
from tqdm.auto import tqdm

from quincunx_env.arena.comparison import compare
from quincunx_env.arena.evaluation import evaluate_all, plot, table
from quincunx_env.arena.luck import adjusts_unasked
from quincunx_env.arena.matches import Deals
from quincunx_env.arena.runner import Run
from quincunx_env.arena.timing import seconds_per_action
from quincunx_env.arena.tournaments import tournament
from quincunx_env.cli.options import (
    Adjusted,
    Chunk,
    DefaultRules,
    GameOptions,
    Out,
    Ray,
    RecordsFile,
    Seed,
    Trained,
    Trust,
    Workers,
    cores,
    refused_options,
)
from quincunx_env.cli.program import resumed_by, run
from quincunx_env.core.deal import Domain
from quincunx_env.core.policy import Agent
from quincunx_env.core.rules import BaseRules
from quincunx_env.policies import ModelOptions, by_display_name, load_path, split_name
from quincunx_env.policies.chat import PREFIX
from quincunx_env.registry import DEFAULT_GAME, GAMES, heading, solitaire_of
from quincunx_env.utils.errors import require_writable
from quincunx_env.utils.files import write_atomically, write_text
from quincunx_env.utils.markdown import escaped, markdown_table
from quincunx_env.utils.processes import worker_processes


@dataclass(kw_only=True)
class _Options:
    """Policies, rules and deals of evaluations, comparisons and tournaments."""

    HIDDEN: ClassVar[Mapping[str, str]] = dict.fromkeys(
        refused_options(solitaire_of().make_rules), "use compare for several players"
    )
    policies: Annotated[tyro.conf.Positional[tuple[str, ...]], tyro.conf.arg(metavar="POLICY [POLICY ...]")]
    """policies to evaluate"""
    rules: DefaultRules = field(default_factory=lambda: solitaire_of().rules)
    deals: int = Deals.count
    """number of deals"""
    domain: Domain = Deals.domain
    """domain of the numbered deals; choose between policies on validation deals"""
    first: int = Deals.first
    """number of the first deal"""
    seed: Seed = Run.seed
    chunk: Chunk = Run.chunk
    trust: Trust = False
    trained: Trained = field(default_factory=ModelOptions)
    times: bool = False
    """also measure the processor time of each policy per action, in every seat of the same deals, in one process"""
    out: Out
    records: RecordsFile = None

    @property
    def named(self) -> dict[str, Agent | str]:
        """The policies by their names in tables."""
        return by_display_name(self.policies, self.trust, self.trained)

    @property
    def chosen_rules(self) -> BaseRules:
        """The rules of the chosen game."""
        return self.rules

    @property
    def numbered_deals(self) -> Deals:
        """The deals to play."""
        return Deals(self.deals, self.domain, self.first)

    def playing(self, **options: Any) -> Run:
        """Return how the games are played, with further ``options``."""
        chats = any(split_name(policy)[1].startswith(PREFIX) for policy in self.policies)  # they show their decisions
        progress = iter if chats else partial(tqdm, unit="chunk", disable=None)
        return Run(seed=self.seed, chunk=self.chunk, records=self.records, progress=progress, **options)


@dataclass(kw_only=True)
class _MultiplayerOptions(GameOptions, _Options):
    """Options of games for several players."""

    HIDDEN: ClassVar[Mapping[str, str]] = dict.fromkeys(
        refused_options(GAMES[DEFAULT_GAME].multiplayer_rules), "use evaluate for the solitaire"
    )
    rules: DefaultRules = field(default_factory=GAMES[DEFAULT_GAME].multiplayer_rules)


@dataclass(kw_only=True)
class Evaluate(_Options):
    """Evaluate policies at the solitaire; resumable."""

    lost_value: float = 0.0
    """value of a lost round"""
    adjusted: Adjusted = False
    endings: bool = False
    """also print the points that the last three plays lose against the best ones, computed exactly"""
    workers: Workers = field(default_factory=cores)
    ray: Ray = None
    out: Out = Path("runs/evaluate")

    def run(self, command: str) -> None:
        """Play the games, print the table, write the results."""
        require_writable(self.out)
        with resumed_by(command, self.out):
            playing = self.playing(out=self.out, workers=self.workers, ray=self.ray)
            options: dict[str, Any] = {"rules": self.rules, "lost_value": self.lost_value, "run": playing}
            adjusted = self.adjusted or adjusts_unasked(self.rules, self.deals)
            results = evaluate_all(self.named, self.numbered_deals, adjusted=adjusted, endings=self.endings, **options)
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
        policies = [load_path(policy, self.trust, self.trained) for _, policy in named]
        names = [name for name, _ in named]
        options: dict[str, Any] = {"rules": self.chosen_rules, "names": names, "run": self.playing(out=self.out)}
        note = "each deal from every seating; intervals by Student's t, over deals"
        with resumed_by(command, self.out):
            result = compare(policies, self.numbered_deals, **options)
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
        with resumed_by(command, self.out):
            playing = self.playing(out=self.out, workers=self.workers, ray=self.ray)
            result = tournament(self.named, self.numbered_deals, rules=self.chosen_rules, run=playing)
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
    deals = options.numbered_deals
    if options.times:
        seconds = _seconds_per_action(options)
        reference = next(iter(seconds))
        header = ("policy", f"time per action, {reference} = 1", "ms per action here")
        rows = (
            (escaped(name), f"{each / seconds[reference]:.3g}", f"{1000 * each:.3g}") for name, each in seconds.items()
        )
        tables += f"\n\n{markdown_table(header, rows)}"
        note += f"; processor time with {options.chunk} deals side by side, each policy in every seat"
        figures = {**figures, "seconds_per_action": seconds}
    text = (
        f"## {heading(options.chosen_rules)}\n\n{tables}\n\n"
        f"*`{command}`: `{deals.domain}` deals {deals.first} to {deals.last}, {note}.*\n"
    )
    print(text)
    write_text(options.out / "result.md", text)
    write_text(options.out / "result.json", json.dumps({"command": command, **figures}, indent=2) + "\n")
    if draw is not None:
        write_atomically(options.out / "result.png", draw)


def _seconds_per_action(options: _Options) -> dict[str, float]:
    """Measure the processor time of each of the policies."""
    policies = by_display_name([*dict.fromkeys(options.policies)], options.trust, options.trained)
    with worker_processes(1) as pool:  # where NumPy has one thread, so that no time is spent on waiting for others
        how: dict[str, Any] = {"rules": options.chosen_rules, "run": Run(seed=options.seed, chunk=options.chunk)}
        return pool.submit(seconds_per_action, policies, options.numbered_deals, **how).result()


COMMANDS: dict[str, type[_Options]] = {"evaluate": Evaluate, "compare": Compare, "tournament": Tournament}
"""The commands by name."""


def main(name: str, arguments: Sequence[str]) -> None:
    """Run one of the commands."""
    run(COMMANDS[name], getdoc(COMMANDS[name]), name, arguments)
