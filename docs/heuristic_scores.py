"""Write the points of the heuristic: ``python -m docs.heuristic_scores``.

The table of the game compares a player's points with them. The program plays the final deals of each task, with the
heuristic in every seat. A lost solitaire counts 0. That takes a minute or two.
"""

import numpy as np
from tqdm import tqdm

from quincunx_env.arena.benchmark import TASKS, Task
from quincunx_env.arena.matches import MatchConfig
from quincunx_env.arena.runner import run_lineups
from quincunx_env.play.result import COLUMNS, POLICY, SCORES
from quincunx_env.utils.files import write_csv


def row(task: Task) -> list[str]:
    """Return name, mean and percentiles 1 to 99 of a task's points."""
    results, _ = run_lineups({POLICY: POLICY}, [(POLICY,)], MatchConfig(task.rules, task.final))[(POLICY,)]
    points = np.where(results.lost[..., None], 0, results.totals).ravel()
    percentiles = np.percentile(points, range(1, 100), method="inverted_cdf")
    return [task.name, f"{points.mean():.5f}", " ".join(str(int(each)) for each in percentiles)]


if __name__ == "__main__":
    write_csv(SCORES, COLUMNS, map(row, tqdm(TASKS.values())))
