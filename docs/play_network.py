"""Scores of the program for MaskablePPO on docs/libraries.md, and their table.

    python -m docs.play_network QuincunxMaskablePolicy SolitaireVecEnv 0

trains by the program of that page, plays benchmark deals and adds a row to the file. Seeds lie 10**9 apart, because row
i of the environment has the seed + i.
"""

import csv
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from quincunx_env.arena import Estimate, compare, evaluate
from quincunx_env.utils.files import write_csv
from quincunx_env.utils.markdown import markdown_table
from tests.clients.clients import PLAY_POLICY

FILE = Path(__file__).with_suffix(".csv")
TASKS = {"solitaire": "solitaire", "greedy": "wins against `greedy`", "heuristic": "wins against `heuristic`"}
POLICIES = "MlpPolicy", "QuincunxMaskablePolicy"
COLUMNS = ("policy", "environment", "seed", "seconds", *TASKS)


def rows() -> list[dict[str, str]]:
    """Return the results of all runs."""
    with FILE.open(encoding="utf-8", newline="") as file:
        return [*csv.DictReader(file)]


def table() -> str:
    """List mean scores over the runs by policy."""

    def cell(policy: str, task: str) -> str:
        scores = np.array([float(row[task]) for row in rows() if row["policy"] == policy and row[task]])
        estimate = Estimate.of_mean(scores if task == "solitaire" else 100 * scores)
        return "{} ({})".format(*estimate.cells(".1f")) + ("" if task == "solitaire" else " %")

    lines = [(f"`{policy}`", *(cell(policy, task) for task in TASKS)) for policy in POLICIES]
    return markdown_table(("policy", *TASKS.values()), lines)


def measure(policy: str, environment: str, seed: str) -> None:
    """Train by the printed program, and add the scores to the file."""
    program = PLAY_POLICY.replace('"seed": 0', f'"seed": {seed}')
    if policy == "MlpPolicy":
        program = program.replace("PPO(QuincunxMaskablePolicy", 'PPO("MlpPolicy"')
        program = program.replace('{"observer": codec.observer, "unit": 1.0}', '{"net_arch": [256, 256]}')
    sys.argv[1:] = [environment, "300_000"]
    variables: dict[str, Any] = {"__name__": "__main__"}
    started = time.process_time()
    exec(program, variables)
    seconds = f"{time.process_time() - started:.0f}"
    agent, rules = variables["agent"], variables["codec"].rules
    scores = dict.fromkeys(TASKS, "")
    if rules.num_players == 1:
        scores["solitaire"] = f"{evaluate(agent, 2_000).mean:.2f}"
    else:
        for name in ("greedy", "heuristic"):
            result = compare([agent, name], 1_000, rules=rules, names=["agent", name])
            scores[name] = f"{result.win_rate().value:.4f}"
    write_csv(
        FILE, COLUMNS, [*([*row.values()] for row in rows()), [policy, environment, seed, seconds, *scores.values()]]
    )


if __name__ == "__main__":
    measure(*sys.argv[1:])
