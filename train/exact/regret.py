"""Measure the exact regret of policies in the mini solitaire.

    python -m train.exact.regret                             # uniform, greedy, heuristic
    python -m train.exact.regret --policies heuristic self-play=runs/mini/mini.safetensors --deals 20

See ruling R16. The regret on a deal is the value of optimal play less the value of the policy. Both are means over
every order of the pile, computed exactly (`quincunx_agents.exact`). Deals are of the ``benchmark`` domain,
from number 0 on; a policy knows the grid and the hand of a deal. A policy that draws random numbers is measured with
these numbers fixed. Only ``uniform`` is measured as a distribution.

Rows are added to ``--out``, or replaced by policy, as soon as a policy is measured.
"""

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from quincunx_env.utils.errors import requires_extra

with requires_extra("arena"):
    from tqdm import tqdm

from quincunx_agents.exact import action_values, distribution_of, policy_values, uniform_distribution
from quincunx_env.arena.statistics import Estimate
from quincunx_env.core.policy import Agent
from quincunx_env.policies import resolve, split_name
from quincunx_env.quincunx.batch import Batch
from quincunx_env.quincunx.rules import Rules
from quincunx_env.utils.files import write_csv
from train.common.options import CheckedOptions, NumDeals, run_script

MINI = Rules(mini=True)
COLUMNS = ("policy", "deals", "optimal", "value", "regret", "low", "high")


@dataclass
class Arguments(CheckedOptions):
    """Every option."""

    policies: tuple[str, ...] = ("uniform", "greedy", "heuristic")
    """names of policies, or ``name=...`` as in the arena"""
    deals: NumDeals = 200
    """number of deals"""
    out: Path = Path("docs/optimal_play/solitaire.csv")
    """table of results"""
    progress: bool = True
    """show progress bars"""


def regret(agent: Agent | str, deals: Iterable[int]) -> tuple[list[float], list[float]]:
    """Return values of optimal play and of a policy, by deal."""
    optimal, reached = [], []
    for number in deals:
        game = Batch(MINI, 1, "benchmark")
        game.reset(number)
        policy = uniform_distribution if agent == "uniform" else distribution_of(resolve(agent), MINI)
        optimal.append(float(action_values(game).max()))
        reached.append(float(policy_values(game, policy)[0]))
    return optimal, reached


def main(arguments: Arguments) -> list[dict[str, str]]:
    """Measure the policies; returns all rows of the table."""
    for _, policy in map(split_name, arguments.policies):
        resolve(policy)  # an unknown one ends the run before it begins
    read(arguments.out)  # so does a table that cannot be read
    for name, policy in map(split_name, arguments.policies):
        numbers = tqdm(range(arguments.deals), desc=name, disable=not arguments.progress, mininterval=1)
        optimal, reached = map(np.array, regret(policy, numbers))
        found = Estimate.of_mean(optimal - reached)
        figures = (optimal.mean(), reached.mean(), *found)
        row = (name, str(arguments.deals), *(f"{figure:z.4f}" for figure in figures))
        add(arguments.out, dict(zip(COLUMNS, row, strict=True)))
        print(f"{name}: {figures[1]:z.1f} of {figures[0]:z.1f} points, regret {found.value:z.1f}")
    return [*read(arguments.out).values()]


def read(path: Path) -> dict[str, dict[str, str]]:
    """Read the rows of a table by policy; none if there is no file."""
    if not path.exists():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        return {row["policy"]: row for row in csv.DictReader(file)}


def add(path: Path, row: dict[str, str]) -> None:
    """Add a row to a table, or replace the policy's row. Other rows stay as they are in the file now."""
    rows = read(path) | {row["policy"]: row}
    by_regret = sorted(rows.values(), key=lambda row: -float(row["regret"]))
    write_csv(path, COLUMNS, ([row[name] for name in COLUMNS] for row in by_regret))


if __name__ == "__main__":
    run_script(main, Arguments, "train.exact.regret", __doc__, ValueError)
