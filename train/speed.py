"""Measure environment steps per second of every interface, with legal actions.

    python -m train.speed                 # every interface
    python -m train.speed --samples 3     # quicker
    python -m train.speed --store-costs   # store what a step costs, for the test that it does not cost more

The actions are recorded beforehand and replayed while time is measured, so that only the interface itself counts:
dealing, stepping, observations, masks and automatic resets. The interfaces alternate within one process. The tables
show for each the median CPU time per step over all samples. They also show the median of its ratio to the first
interface of its table in the same sample.
"""

import gc
import importlib.metadata
import json
import platform
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import cache
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

    from quincunx_env.adapters.sb3 import SolitaireVecEnv, VsOpponentsVecEnv
from quincunx_env.core.rules import BaseRules
from quincunx_env.registry import make_observer, make_rules, spec_of
from quincunx_env.utils.files import write_text
from quincunx_env.utils.markdown import markdown_table
from quincunx_env.utils.processes import worker_processes
from train.common.options import CheckedOptions, Count, Valid, run_script

RULES = Rules()
Actions = list[npt.NDArray[np.int64]]

COSTS = Path(__file__).with_name("costs.json")
"""Stored `Cost` of a step, by interface, and the versions that they were measured with."""

LIBRARIES = ("numpy", "gymnasium", "pettingzoo", "stable-baselines3")
"""Libraries whose versions change the costs."""


@dataclass
class Arguments(CheckedOptions):
    """Number of samples, and their length."""

    samples: Count = 9
    """samples of each interface"""
    steps: Annotated[int, Valid("at least 40", lambda value: value >= 40)] = 200_000
    """environment steps of a batched interface in a sample; an interface for one game takes a tenth"""
    store_costs: bool = False
    """measure calls and time of a step instead, and store them; for an idle machine"""


@dataclass
class Interface:
    """An interface ready to be timed.

    ``run`` replays recorded actions from the first deal on, in ``calls`` steps of all games at once: ``steps``
    environment steps.
    """

    name: str
    run: Callable[[], None]
    steps: int
    calls: int


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

    return Interface(name, run, count, len(actions))


def choose(masks: npt.NDArray[np.bool_], rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Return random legal actions; 0 where none is legal."""
    chosen: npt.NDArray[np.int64] = (rng.random(masks.shape, np.float32) * masks).argmax(axis=-1)
    return chosen


def single(env_id: str, steps: int, label: str, **options: Any) -> Interface:
    """Prepare a Gymnasium environment for one game."""
    env: Any = gymnasium.make(env_id, **options).unwrapped
    script, rng = list[int](), np.random.default_rng(0)
    env.reset(seed=0)
    for _ in range(steps):
        script.append(int(choose(env.action_masks(), rng)))
        if env.step(script[-1])[2]:
            env.reset()

    def run() -> None:
        env.reset(seed=0)
        for action in script:
            if env.step(action)[2]:
                env.reset()

    return Interface(f"{label}, one game", run, steps, steps)


def vector(env_id: str, num_games: int, steps: int, label: str, **options: Any) -> Interface:
    """Prepare a native Gymnasium VectorEnv."""
    envs: Any = gymnasium.make_vec(env_id, num_envs=num_games, **options).unwrapped
    script, rng, count = Actions(), np.random.default_rng(0), 0
    envs.reset(seed=0)
    while count < steps:
        count += num_games - int(envs.batch.over.sum())  # a game that is over is dealt anew
        script.append(choose(envs.action_masks(), rng))
        envs.step(script[-1])

    def run() -> None:
        envs.reset(seed=0)
        for actions in script:
            envs.step(actions)

    return Interface(f"{label}, {num_games:,} games", run, count, len(script))


def sb3(make: Callable[..., Any], num_games: int, steps: int, label: str, **options: Any) -> Interface:
    """Prepare the stable-baselines3 adapter, fetching masks as MaskablePPO does."""
    envs: Any = make(num_games, **options)
    script, rng = Actions(), np.random.default_rng(0)
    envs.seed(0)
    envs.reset()
    first = envs.get_state()  # seeds for each row would cost more than many steps
    for _ in range(-(-steps // num_games)):
        script.append(choose(envs.action_masks(), rng))
        envs.step(script[-1])

    def run() -> None:
        envs.set_state(first)
        for actions in script:
            envs.env_method("action_masks")
            envs.step(actions)

    return Interface(f"{label}, {num_games:,} games", run, len(script) * num_games, len(script))


def engine(rules: BaseRules, name: str, steps: int) -> Interface:
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
            observer.mask_batch(batch)

    return Interface(name, run, count, len(actions))


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

    return Interface(name, run, count, len(actions))


def interfaces(many: int, few: int) -> dict[str, list[Interface]]:
    """Prepare all interfaces, by the title of their table.

    Args:
        many: environment steps of a batched interface in a sample.
        few: environment steps of an interface for one game.
    """
    solitaire, duel = "Quincunx/Solitaire-v0", {"num_players": 2, "opponents": "uniform"}
    two, grown, spiral = Rules(2), Rules(2, "open"), make_rules("spiral")
    vectors = {"observation": "vector", "preview": True, "actions": "hand"}
    return {
        "what networks read": [
            single("Quincunx/SolitaireFlat-v0", few, "SolitaireFlat-v0"),
            vector("Quincunx/SolitaireFlat-v0", 512, many, "SolitaireFlat-v0"),
            vector("Quincunx/SolitaireFlat-v0", 4096, many, "SolitaireFlat-v0"),
            sb3(SolitaireVecEnv, 512, many, "SolitaireVecEnv", **vectors),
            single("Quincunx/VsOpponentsFlat-v0", few // 2, "VsOpponentsFlat-v0, uniform opponents", **duel),
            vector("Quincunx/VsOpponentsFlat-v0", 512, many // 2, "VsOpponentsFlat-v0, uniform opponents", **duel),
            sb3(VsOpponentsVecEnv, 512, many // 2, "VsOpponentsVecEnv, uniform opponents", **vectors, **duel),
        ],
        "PettingZoo": [
            aec(two, quincunx_v0.env, "quincunx_v0.env()", few),
            aec(two, quincunx_v0.raw_env, "quincunx_v0.raw_env()", few),
            aec(spiral, spiral_v0.env, "spiral_v0.env()", few),
            aec(spiral, spiral_v0.raw_env, "spiral_v0.raw_env()", few),
        ],
        "pieces": [
            single(solitaire, few, "Solitaire-v0"),
            single(solitaire, few // 4, "Solitaire-v0, with preview", preview=True),
            vector(solitaire, 16, few, "Solitaire-v0"),
            vector(solitaire, 256, many, "Solitaire-v0"),
            vector(solitaire, 4096, many, "Solitaire-v0"),
            vector(solitaire, 4096, many, "Solitaire-v0, copy=False", copy=False),
            vector(solitaire, 4096, many, "Solitaire-v0, with preview", preview=True),
            sb3(SolitaireVecEnv, 4096, many, "SolitaireVecEnv"),
        ],
        "engines": [
            engine(RULES, "batch engine, solitaire", many),
            engine(two, "batch engine, two players from corners", many),
            engine(grown, "batch engine, two players, open start", many),
            engine(spiral, "batch engine, spiral game", many),
            engine(make_rules("spiral", scoring="end"), "batch engine, spiral game scored at the end", many),
            engine(make_rules("spiral", fifteens=True), "batch engine, spiral game with fifteens", many),
            scalar_engine(RULES, "plain game, solitaire", few),
            scalar_engine(two, "plain game, two players from corners", few),
            scalar_engine(spiral, "plain game, spiral game", few),
        ],
    }


def every_interface(many: int, few: int) -> list[Interface]:
    """Prepare all interfaces; see `interfaces`."""
    return [interface for table in interfaces(many, few).values() for interface in table]


def main(arguments: Arguments) -> None:
    """Measure all interfaces alternately and print the tables.

    With ``store_costs`` store the costs of their steps instead.
    """
    if arguments.store_costs:
        store_costs()
        return
    tables = interfaces(arguments.steps, arguments.steps // 10)
    every = [interface for table in tables.values() for interface in table]
    times: dict[str, list[float]] = {interface.name: [] for interface in every}
    for sample in tqdm(range(arguments.samples + 1), unit="sample"):
        for interface in every:
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


# --- Costs of a step -------------------------------------------------------------------------------------------------

MOST_CALLS = 1.1
"""Factor by which the calls of a step may grow unnoticed."""

MORE_CALLS_OF_ONE_GAME, MORE_CALLS_OF_MANY = 2, 10
"""Most calls that a step may gain unnoticed.

Made twice, a mask adds 3 calls or more with one game and 15 or more with many, and an observation adds more.
"""

MOST_TIME = 2.0
"""Factor by which the time of a step may grow unnoticed. Other processors and busy ones change it by less."""

SAMPLES = 3
"""Samples of a time, of which the fastest counts."""


@dataclass
class Cost:
    """The cost of a step."""

    calls: float
    """Calls of functions, in Python and C: a mean over fixed games, the same on every machine."""
    time: float
    """Processor time, in passes of the `reference_loop`."""

    def excess(self, stored: "Cost", one_game: bool) -> str:
        """Describe which limits of the stored cost are exceeded; empty for none."""
        more = MORE_CALLS_OF_ONE_GAME if one_game else MORE_CALLS_OF_MANY
        found = []
        if self.calls > min(MOST_CALLS * stored.calls, stored.calls + more):
            found.append(f"{self.calls:,} calls instead of {stored.calls:,}")
        if self.time > MOST_TIME * stored.time:
            found.append(f"{self.time / stored.time:.1f} times the stored time")
        return " and ".join(found)


def measure_costs(stored: Mapping[str, Cost]) -> dict[str, tuple[bool, Cost]]:
    """Measure each interface: whether of one game, and a step's cost.

    A process with one NumPy thread measures. A time within the limit of the stored one is not measured again.
    """
    with worker_processes(1) as pool:
        return pool.submit(_measure_costs, stored).result()


def _measure_costs(stored: Mapping[str, Cost]) -> dict[str, tuple[bool, Cost]]:
    """See `measure_costs`."""
    calls = {each.name: count_calls(each) for each in every_interface(many=8192, few=96)}
    found = {}
    for each in every_interface(many=32_768, few=384):
        enough = MOST_TIME * stored[each.name].time if each.name in stored else 0.0
        found[each.name] = each.steps == each.calls, Cost(calls[each.name], measure_time(each, enough))
    return found


def count_calls(interface: Interface) -> float:
    """Return the calls of a step."""
    count = 0

    def profile(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    interface.run()  # fills caches
    gc.disable()  # libraries of tests are told of collections
    sys.setprofile(profile)
    try:
        interface.run()
    finally:
        sys.setprofile(None)
        gc.enable()
    return round(count / interface.calls, 1)


def measure_time(interface: Interface, enough: float = 0.0, clock: Callable[[], float] = time.process_time) -> float:
    """Return the time of a step, in passes of the `reference_loop`.

    Samples of both alternate, and the fastest of each are compared. Above ``enough`` as many samples are added.

    Args:
        interface: the interface.
        enough: a time that needs no second look.
        clock: returns seconds.
    """
    loop, passes = reference_loop()
    own, other = list[float](), list[float]()
    found = float("inf")
    gc.disable()  # a test has more to collect than a script
    try:
        while len(own) < 2 * SAMPLES and found > enough:
            for run, seconds in ((loop, other), (interface.run, own)) * SAMPLES:
                start = clock()
                run()
                seconds.append(clock() - start)
            found = (min(own) / interface.calls) / (min(other) / passes)
    finally:
        gc.enable()
    return float(f"{found:.3g}")


@cache
def reference_loop() -> tuple[Callable[[], None], int]:
    """Return a fixed loop of NumPy operations, and its number of passes.

    The operations are like the engines'. Half of a pass is calls, on arrays of 16 games. The other half is arithmetic,
    on arrays of 1,024.
    """
    rng, passes, sizes = np.random.default_rng(0), 8, (16,) * 25 + (1024,)
    cards = np.uint64(1) << np.arange(36, dtype=np.uint64)
    table = rng.integers(-36, 40, 37 * 37, np.int16)
    hands = {size: rng.integers(0, 2**36, size, np.uint64) for size in sizes}
    boards = {size: rng.integers(-1, 36, (size, 16), np.int8) for size in sizes}

    def run() -> None:
        for size in sizes * passes:
            hand, board = hands[size], boards[size]
            legal = ((hand[:, None] & cards) != 0)[:, :, None] & (board < 0)[:, None, :]
            points = table.take((board[:, :-1] + 1).astype(np.int64) * 37 + board[:, 1:] + 1).sum(axis=1)
            points += np.bitwise_count(hand)
            rows = np.flatnonzero(points > 20)
            points[rows] -= legal.reshape(size, -1).argmax(axis=1)[rows]
            np.multiply(board, np.float32(0.1), dtype=np.float32).sum(axis=1)

    return run, passes


def read_costs() -> dict[str, Cost]:
    """Return the stored costs by interface; none if versions differ."""
    stored = json.loads(COSTS.read_text(encoding="utf-8"))
    return {name: Cost(**cost) for name, cost in stored["costs"].items() if stored["versions"] == versions()}


def store_costs() -> None:
    """Measure and store the cost of a step of each interface."""
    costs = {name: asdict(cost) for name, (_, cost) in measure_costs({}).items()}
    write_text(COSTS, json.dumps({"versions": versions(), "costs": costs}, indent=2) + "\n")


def versions() -> dict[str, str]:
    """Return the versions of Python and of the `LIBRARIES`."""
    libraries = {name: importlib.metadata.version(name) for name in LIBRARIES}
    return {"python": "{}.{}".format(*sys.version_info)} | libraries


def machine() -> str:
    """Return processor, versions and unit of the measurement as one line."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    models = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    libraries = [f"{name} {importlib.metadata.version(name)}" for name in LIBRARIES]
    processor = models[0] if models else platform.processor() or platform.machine()
    return f"{processor}; Python {platform.python_version()}, {', '.join(libraries)}; CPU time, one process"


if __name__ == "__main__":
    run_script(main, Arguments, "train.speed", __doc__)
