"""Measure what an unmasked learner learns, and write ``docs/clients_learning.csv``.

PPO of stable-baselines3 with its defaults trains on ``Quincunx/SolitaireFlat-v0``, with and without the preview. The
greedy network then plays rounds without masks.
"""

import argparse
import itertools
from concurrent.futures import as_completed
from pathlib import Path
from typing import Any

import torch
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env
from tqdm import tqdm

from quincunx_env.utils.files import write_csv
from quincunx_env.utils.processes import worker_processes

ID = "quincunx_env:Quincunx/SolitaireFlat-v0"
OUT = Path(__file__).with_name("clients_learning.csv")
COLUMNS = ("illegal", "preview", "seed", "steps", "mean", "lost")


def trained(steps: int, seed: int, **options: Any) -> Any:
    """Return a model after training on 8 environments."""
    env = make_vec_env(ID, n_envs=8, seed=seed, env_kwargs=options)
    return PPO("MlpPolicy", env, seed=seed, device="cpu").learn(steps)


def played(model: Any, rounds: int, **options: Any) -> tuple[float, float]:
    """Return mean score, lost rounds as 0, and share of lost rounds."""
    env = make_vec_env(ID, n_envs=100, seed=2**40, env_kwargs=options)  # deals that no training had
    finals: list[dict[str, Any]] = []
    observation: Any = env.reset()
    while len(finals) < rounds:
        actions, _ = model.predict(observation, deterministic=True)
        observation, _, _, infos = env.step(actions)
        finals += [info for info in infos if "score" in info]
    values = [0.0 if info["lost"] else info["score"] for info in finals]
    return sum(values) / len(values), sum(info["lost"] for info in finals) / len(finals)


def row(illegal: str, preview: bool, seed: int, steps: int, rounds: int) -> tuple[object, ...]:
    """Return a row of the table."""
    torch.set_num_threads(1)
    options = {"illegal": illegal, "preview": preview}
    mean, lost = played(trained(steps, seed, **options), rounds, **options)
    return illegal, int(preview), seed, steps, f"{mean:.2f}", f"{lost:.3f}"


def main() -> None:
    """Train and play, in a process for each core."""
    parser = argparse.ArgumentParser(description=__doc__)
    for flag, default in {"--steps": 300_000, "--seeds": 3, "--rounds": 1_000, "--workers": 2}.items():
        parser.add_argument(flag, type=int, default=default)
    given = parser.parse_args()
    cases = [("next", preview, seed) for seed, preview in itertools.product(range(given.seeds), (False, True))]
    cases.append(("lose", False, 0))
    rows = []
    with worker_processes(given.workers) as pool:
        runs = [pool.submit(row, *case, given.steps, given.rounds) for case in cases]
        for run in tqdm(as_completed(runs), total=len(runs), unit="run"):
            rows.append(run.result())
            write_csv(OUT, COLUMNS, sorted(rows, key=str))


if __name__ == "__main__":
    main()
