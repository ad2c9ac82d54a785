"""Scores of agents in the tasks with exact answers, on docs/language_models.md.

    python -m docs.exact_tasks    # 200 tasks of each level; about a minute

writes them to the file, with the processor time of making a task.
"""

import csv
import time
from pathlib import Path

import numpy as np

from quincunx_agents.afterstates import observer_for
from quincunx_agents.tasks import LEVELS, Task, make_task
from quincunx_env import Batch
from quincunx_env.arena import Estimate
from quincunx_env.core.policy import Policy, policy_for
from quincunx_env.notation.text import print_action
from quincunx_env.policies import resolve
from quincunx_env.utils.files import write_csv
from quincunx_env.utils.markdown import markdown_table

FILE = Path(__file__).with_suffix(".csv")
POLICIES = ("uniform", "greedy", "heuristic", "value")
ITEMS = 200


def answer(task: Task, policy: Policy, rng: np.random.Generator) -> str:
    """Return a policy's play as an answer; of level 1 the points of its play."""
    game = Batch.of_games([task.game])
    [action] = policy(observer_for(game.rules).observe_batch(game), game.mask, rng).tolist()
    return f"{task.values[action]:.0f}" if LEVELS[task.metadata["level"]].points else print_action(task.game, action)


def main() -> None:
    """Measure, and write the file."""
    rows = []
    for level, kind in LEVELS.items():
        started = time.process_time()
        tasks = [make_task(level, number) for number in range(ITEMS)]
        milliseconds = 1000 * (time.process_time() - started) / ITEMS
        # A policy observes the points of its plays. The network `value` has not learned the mini variant.
        for name in POLICIES[: 1 if kind.points else 3 if kind.rules.mini else 4]:
            policy, rng = policy_for(resolve(name), kind.rules), np.random.default_rng(0)
            scores = Estimate.of_mean(np.array([task.score(answer(task, policy, rng)) for task in tasks]))
            rows.append([level, name, *(f"{value:.4f}" for value in scores), f"{milliseconds:.1f}"])
    write_csv(FILE, ("level", "policy", "score", "low", "high", "milliseconds"), rows)


def table() -> str:
    """List scores by level and policy."""
    with FILE.open(encoding="utf-8", newline="") as file:
        results = {(row["level"], row["policy"]): row for row in csv.DictReader(file)}

    def cell(level: int, policy: str) -> str:
        if not (row := results.get((str(level), policy))):
            return "\N{EN DASH}"
        score, low, high = (float(row[name]) for name in ("score", "low", "high"))
        return "{} ({})".format(*Estimate(score, low, high).cells(".2f")).removesuffix(" (-)")

    rows = []
    for level, kind in LEVELS.items():
        milliseconds = results[str(level), "uniform"]["milliseconds"]
        rows.append((f"{level}", kind.name, f"{milliseconds} ms", *(cell(level, policy) for policy in POLICIES)))
    return markdown_table(("level", "answer", "time", *(f"`{name}`" for name in POLICIES)), rows)


if __name__ == "__main__":
    main()
