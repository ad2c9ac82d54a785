"""Measure environment steps per second of every interface, with legal actions.

    python -m train.speed                 # every interface
    python -m train.speed --samples 3     # quicker

The actions are recorded beforehand and replayed while time is measured, so that only the interface itself counts:
dealing, stepping, observations, masks and automatic resets. The interfaces alternate within one process. The tables
show for each the median CPU time per step over all samples. They also show the median of its ratio to the first
interface of its table in the same sample.
"""

import importlib.metadata
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import gymnasium
import numpy as np
import numpy.typing as npt

from quincunx_agents.uniform import uniform
from quincunx_env import Rules, quincunx_v0, spiral_v0
from quincunx_env.utils.errors import requires_extra

with requires_extra("train"):
    from tqdm.auto import tqdm

    from quincunx_env.adapters.sb3 import SolitaireVecEnv
from quincunx_env.core.rules import BaseRules
from quincunx_env.registry import make_observer, make_rules, spec_of
from quincunx_env.utils.markdown import markdown_table
from train.common.options import CheckedOptions, Count, Valid, run_script

ENV_ID = "Quincunx/Solitaire-v0"
RULES = Rules()
Actions = list[npt.NDArray[np.int64]]


@dataclass
class Arguments(CheckedOptions):
    """Number of samples, and their length."""

    samples: Count = 9
    """samples of each interface"""
    steps: Annotated[int, Valid("at least 40", lambda value: value >= 40)] = 200_000
    """environment steps of a batched interface in a sample; an interface for one game takes a tenth"""


@dataclass
class Interface:
    """An interface ready to be timed. ``run`` replays ``steps`` recorded actions from the first deal on."""

    name: str
    run: Callable[[], None]
    steps: int


def record(rules: BaseRules, num_games: int, steps: int, next_step: bool) -> tuple[Actions, int]:
    """Record random legal actions of games seeded 0, 1, ...

    Args:
        rules: of the games.
        num_games: side by side.
        steps: at least so many environment steps, all games together.
        next_step: whether a game that has ended takes one more, ignored, action before the next is dealt.

    Returns:
        The actions, int64 [num_games] for each step, and the number of environment steps.
    """
    batch, rng = spec_of(rules).Batch(rules, num_games), np.random.default_rng(0)
    batch.reset(seed=0)
    actions: Actions = []
    count = 0
    while count < steps:
        mask = batch.mask
        mask[batch.over] = True
        actions.append(uniform({}, mask, rng))
        ended = batch.over.copy()
        count += num_games - int(ended.sum())
        batch.step(actions[-1])
        due = ended if next_step else batch.over
        if due.any():
            batch.reset(rows=np.flatnonzero(due))
    return actions, count


def scalar_engine(rules: BaseRules, name: str, steps: int) -> Interface:
    """Prepare the scalar engine alone: no observation, no mask."""
    actions, count = record(rules, 1, steps, next_step=False)
    script = [int(action[0]) for action in actions]
    game_of = spec_of(rules).Game.from_seed

    def run() -> None:
        number = 0
        game = game_of(rules, 0)
        for action in script:
            game.step(action)
            if game.over:
                number += 1
                game = game_of(rules, 0, number)

    return Interface(name, run, count)


def single(steps: int, label: str, **options: Any) -> Interface:
    """Prepare the Gymnasium environment for one game."""
    actions, count = record(RULES, 1, steps, next_step=False)
    script = [int(action[0]) for action in actions]
    env = gymnasium.make(ENV_ID, **options).unwrapped

    def run() -> None:
        env.reset(seed=0)
        for action in script:
            if env.step(action)[2]:
                env.reset()

    return Interface(f"Gymnasium, one game, {label}", run, count)


def vector(num_games: int, steps: int, label: str, **options: Any) -> Interface:
    """Prepare the native Gymnasium VectorEnv."""
    actions, count = record(RULES, num_games, steps, next_step=True)
    envs = gymnasium.make_vec(ENV_ID, num_envs=num_games, **options)

    def run() -> None:
        envs.reset(seed=0)
        for action in actions:
            envs.step(action)

    return Interface(f"make_vec, {num_games} games, {label}", run, count)


def sb3(num_games: int, steps: int) -> Interface:
    """Prepare the stable-baselines3 adapter, fetching masks as MaskablePPO does."""
    actions, count = record(RULES, num_games, steps, next_step=False)
    envs = SolitaireVecEnv(num_games)

    def run() -> None:
        envs.seed(0)
        envs.reset()
        for action in actions:
            envs.env_method("action_masks")
            envs.step(action)

    return Interface(f"stable-baselines3 VecEnv, {num_games} games, pieces", run, count)


def engine(rules: BaseRules, name: str, steps: int, factored: bool = False) -> Interface:
    """Prepare a batch engine with 4096 games. It resets automatically and makes observations (pieces) and masks."""
    observer = make_observer(rules)
    actions, count = record(rules, 4096, steps, next_step=False)
    batch: Any = spec_of(rules).Batch(rules, 4096)

    def run() -> None:
        batch.reset(seed=0)
        for action in actions:
            batch.step(action)
            if batch.over.any():
                batch.reset(rows=np.flatnonzero(batch.over))
            observer.observe_batch(batch)
            observer.factored_mask_batch(batch) if factored else observer.mask_batch(batch)

    return Interface(name, run, count)


def aec(rules: BaseRules, make: Callable[..., Any], name: str, steps: int) -> Interface:
    """Prepare PettingZoo's documented loop. Steps in which an agent leaves take time, but are not counted."""
    actions, count = record(rules, 1, steps, next_step=False)
    script = [int(action[0]) for action in actions]

    def run() -> None:
        env, taken = make(rules=rules), 0
        env.reset(seed=0)
        while True:
            for _agent in env.agent_iter():
                _, _, termination, truncation, _ = env.last()
                if termination or truncation:
                    env.step(None)
                elif taken == len(script):
                    return
                else:
                    env.step(script[taken])
                    taken += 1
            env.reset()

    return Interface(name, run, count)


def main(arguments: Arguments) -> None:
    """Measure all interfaces alternately and print the tables."""
    many, few = arguments.steps, arguments.steps // 10
    alone = [
        single(few, "pieces"),
        single(few, "flat", observation="flat"),
        single(few // 4, "pieces with preview", preview=True),
        vector(16, few, "pieces"),
        vector(256, many, "pieces"),
        vector(4096, many, "pieces"),
        vector(4096, many, "pieces, copy=False", copy=False),
        vector(4096, many, "flat", observation="flat"),
        vector(4096, many, "pieces with preview", preview=True),
        sb3(4096, many),
        engine(RULES, "batch engine, 4096 games, factored mask", many, factored=True),
        engine(RULES, "batch engine, 4096 games, joint mask", many),
    ]
    two, grown, spiral = Rules(2), Rules(2, "open"), make_rules("spiral")
    engines = [
        engine(RULES, "batch engine, solitaire", many),
        engine(two, "batch engine, two players from corners", many),
        engine(grown, "batch engine, two players, open start", many),
        engine(spiral, "batch engine, spiral game", many),
        engine(make_rules("spiral", scoring="end"), "batch engine, spiral game scored at the end", many),
        engine(make_rules("spiral", fifteens=True), "batch engine, spiral game with fifteens", many),
        scalar_engine(RULES, "plain game, solitaire", few),
        scalar_engine(two, "plain game, two players from corners", few),
        scalar_engine(spiral, "plain game, spiral game", few),
    ]
    together = [
        aec(two, quincunx_v0.env, "quincunx_v0.env()", few),
        aec(two, quincunx_v0.raw_env, "quincunx_v0.raw_env()", few),
        aec(spiral, spiral_v0.env, "spiral_v0.env()", few),
        aec(spiral, spiral_v0.raw_env, "spiral_v0.raw_env()", few),
    ]
    tables = {"solitaire": alone, "engines": engines, "PettingZoo": together}
    interfaces = [interface for table in tables.values() for interface in table]
    times: dict[str, list[float]] = {interface.name: [] for interface in interfaces}
    for sample in tqdm(range(arguments.samples + 1), unit="sample"):
        for interface in interfaces:
            start = time.process_time()
            interface.run()
            if sample:  # the first only warms up
                times[interface.name].append((time.process_time() - start) / interface.steps)
    print(machine())
    for title, table in tables.items():
        rows = []
        for interface in table:
            own, other = np.array(times[interface.name]), np.array(times[table[0].name])
            median, relative = float(np.median(own)), float(np.median(other / own))
            rows.append((interface.name, f"{median * 1e9:,.0f}", f"{1 / median:,.0f}", f"{relative:.2f}"))
        print("\n" + markdown_table((title, "ns per step", "steps per second", "relative speed"), rows))


def machine() -> str:
    """Return processor, versions and unit of the measurement as one line."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    models = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    versions = [f"{name} {importlib.metadata.version(name)}" for name in ("numpy", "gymnasium", "stable-baselines3")]
    processor = models[0] if models else platform.processor() or platform.machine()
    return f"{processor}; Python {platform.python_version()}, {', '.join(versions)}; CPU time, one process"


if __name__ == "__main__":
    run_script(main, Arguments, "train.speed", __doc__)
