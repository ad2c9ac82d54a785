"""Measure environment steps per second of Ray RLlib's env runners in the solitaire, by wall-clock time.

    python -m train.benchmark_rllib                 # seven samples
    python -m train.benchmark_rllib --samples 3     # quicker

The interfaces alternate within one process; the table shows for each the median of its steps per second, and the median
of its ratio to the first in the same sample. The first two replay recorded legal actions; in the others the network
chooses every action. Env runners also send their episodes to this process, as in training.
"""

import importlib.metadata
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from quincunx_env.utils.errors import requires_extra

with requires_extra("rllib"):
    import ray
import torch
from ray.rllib.env.env_runner_group import EnvRunnerGroup
from ray.rllib.execution.rollout_ops import synchronous_parallel_sample
from tqdm.auto import tqdm

from quincunx_agents.torch.networks import PolicyNetwork
from quincunx_agents.uniform import uniform
from quincunx_env.adapters.rllib import SolitaireRLlibVectorEnv
from quincunx_env.envs.solitaire import SolitaireVectorEnv
from quincunx_env.utils.markdown import markdown_table
from train.common.options import CheckedOptions, Count, run_script
from train.rllib import Arguments as Training
from train.rllib import State, make_config


@dataclass
class Arguments(CheckedOptions):
    """Number of samples, and their size."""

    samples: Count = 7
    """samples of each interface"""
    games: Count = 256
    """side by side in an environment"""
    steps: Count = 24
    """of each game in a sample"""


Interface = Callable[[], int]
"""Takes environment steps, and returns their number."""


def recorded(envs: Any, steps: int) -> Interface:
    """Replay recorded actions."""
    rng = np.random.default_rng(0)
    envs.reset(seed=0)
    script = []
    for _ in range(steps):
        mask = envs.action_masks()
        mask[envs.batch.over] = True  # awaits its reset and ignores the action
        script.append(uniform({}, mask, rng))
        envs.step(script[-1])

    def run() -> int:
        envs.reset(seed=0)
        count = 0
        for actions in script:
            count += int((~envs.batch.over).sum())
            envs.step(actions)
        return count

    return run


def with_network(games: int, steps: int) -> Interface:
    """Choose every action by the network, in a plain loop."""
    envs = SolitaireRLlibVectorEnv({"num_envs": games})
    network = PolicyNetwork(envs.observer)

    def run() -> int:
        observation, _ = envs.reset(seed=0)
        count = 0
        for _ in range(steps):
            count += int((~envs.batch.over).sum())
            with torch.no_grad():
                logits, _ = network(torch.from_numpy(observation["observations"]))
            legal = torch.from_numpy(observation["action_mask"]) > 0
            chosen = torch.distributions.Categorical(logits=logits.masked_fill(~legal, -torch.inf)).sample()
            observation = envs.step(chosen.numpy())[0]
        return count

    return run


def env_runners(number: int, arguments: Arguments) -> Interface:
    """Sample with as many env runners, configured as in training."""
    training = Training(num_env_runners=number, num_envs_per_env_runner=arguments.games, rollout=arguments.steps)
    config = make_config(training, State())
    config.freeze()
    group = EnvRunnerGroup(config=config, num_env_runners=number, local_env_runner=False)

    def run() -> int:
        steps = number * arguments.games * arguments.steps
        episodes = synchronous_parallel_sample(worker_set=group, max_env_steps=steps, _uses_new_env_runners=True)
        return sum(len(episode) for episode in episodes)

    return run


def main(arguments: Arguments) -> None:
    """Time all interfaces alternately and print the table."""
    torch.set_num_threads(1)
    ray.init("local", num_cpus=3, include_dashboard=False, logging_level="error", log_to_driver=False)
    games, steps = arguments.games, arguments.steps
    interfaces = {
        "VectorEnv": recorded(SolitaireVectorEnv(games, observation="flat", preview=True), steps),
        "VectorEnv as RLlib takes it": recorded(SolitaireRLlibVectorEnv({"num_envs": games}), steps),
        "the same, actions chosen by the network": with_network(games, steps),
        "1 env runner": env_runners(1, arguments),
        "2 env runners": env_runners(2, arguments),
    }
    speeds: dict[str, list[float]] = {name: [] for name in interfaces}
    for sample in tqdm(range(arguments.samples + 1), unit="sample"):
        for name, run in interfaces.items():
            start = time.perf_counter()
            count = run()
            if sample:  # the first only warms up
                speeds[name].append(count / (time.perf_counter() - start))
    ray.shutdown()
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("ray", "torch", "numpy"))
    print(f"{versions}; {games} games in an environment, medians of {arguments.samples} samples")
    first = np.array(next(iter(speeds.values())))
    rows = ((name, f"{np.median(own):,.0f}", f"{np.median(np.array(own) / first):.3f}") for name, own in speeds.items())
    print("\n" + markdown_table(("interface", "steps per second", "relative speed"), rows))


if __name__ == "__main__":
    run_script(main, Arguments, "train.benchmark_rllib", __doc__)
