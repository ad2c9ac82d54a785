"""Learners on one budget, for docs/benchmark.md and docs/libraries.md.

    python -m docs.learners maskable-ppo 0    # a run with its seed; the other names: --help
    python -m docs.learners rllib 0           # in the virtual environment of Ray RLlib

A run takes 300,000 environment steps. About ten times it plays 200 validation deals, and at the end 1,000 benchmark
deals. It adds its rows to the file. A score of the solitaire is the adjusted mean, of two players the share of wins.
"""

import argparse
import csv
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

import numpy as np

from quincunx_agents import load
from quincunx_agents.torch import NetworkPolicy
from quincunx_env.arena import Deals, Estimate, compare, evaluate
from quincunx_env.arena.curves import Curve, draw_learning_curves
from quincunx_env.codec import Codec
from quincunx_env.core.policy import Agent
from quincunx_env.quincunx.rules import Rules
from quincunx_env.utils.files import write_csv
from quincunx_env.utils.markdown import markdown_table
from tests.clients.clients import FLAT, PLAY_POLICY

HERE = Path(__file__).parent / "benchmark"
FILE = HERE / "learners.csv"
PICTURES = {HERE / "learners-solitaire.png": False, HERE / "learners-two-players.png": True}
"""Whether two players learn, by path."""
COLUMNS = ("learner", "seed", "domain", "steps", "seconds", "solitaire", "greedy", "heuristic")
STEPS, POINTS = 300_000, 10
VALIDATION, BENCHMARK = Deals(200, "validation"), Deals(1_000, "benchmark")
SEEDS_APART = 10**9
"""Row i of a vector environment has the seed + i."""

Row = dict[str, Any]


class Learning:
    """A run. A learner calls `at` while it learns, and `end` at the end."""

    def __init__(self, name: str, seed: int) -> None:
        self.name, self.seed, self.rows = name, seed, list[Row]()
        self.started, self.due = process_time(), 0

    def at(self, agent: Agent, steps: int) -> bool:
        """Play validation deals if that is due; True, as callbacks of stable-baselines3 return."""
        if steps >= self.due:
            self.due += STEPS // POINTS
            self._measure(agent, steps, VALIDATION)
        return True

    def end(self, agent: Agent, steps: int) -> None:
        """Play benchmark deals."""
        self._measure(agent, steps, BENCHMARK)

    def keep(self, steps: int, domain: str, **figures: float) -> None:
        """Keep a row. ``seconds`` are processor time of this process, of a script of ``train`` with its evaluations."""
        row = {"learner": self.name, "seed": self.seed, "domain": domain, "steps": steps}
        self.rows.append(
            {**dict.fromkeys(COLUMNS, ""), **row, **{name: f"{each:.6g}" for name, each in figures.items()}}
        )

    def _measure(self, agent: Agent, steps: int, deals: Deals) -> None:
        began = process_time()
        scores = {}
        if LEARNERS[self.name].two:
            for opponent in ("greedy", "heuristic") if deals is BENCHMARK else ("heuristic",):
                result = compare([agent, opponent], deals, rules=Rules(num_players=2), names=["agent", opponent])
                scores[opponent] = result.win_rate().value
        else:
            scores["solitaire"] = evaluate(agent, deals, adjusted=True).adjusted_mean.value
        self.keep(steps, deals.domain, seconds=round(began - self.started), **scores)
        self.started += process_time() - began


# --- The learners ----------------------------------------------------------------------------------------------------


def _agent(model: Any) -> Agent:
    from quincunx_agents.files.sb3 import Model

    codec = model.get_env().get_attr("codec")[0]
    return Model(model, codec.options, codec.rules)


def page_program(policy: str, environment: str, run: Learning) -> None:
    """Learn by the program for stable-baselines3 on docs/libraries.md."""
    changes = {
        '"seed": 0': f'"seed": {run.seed * SEEDS_APART}',
        "sys.argv[1], int(sys.argv[2])": f'"{environment}", {STEPS}',
        "steps, add_snapshot)": "steps, lambda *_: add_snapshot() and report(model))",
    }
    if policy == "MlpPolicy":
        changes |= {
            "PPO(QuincunxMaskablePolicy": 'PPO("MlpPolicy"',
            '{"observer": codec.observer, "unit": 1.0}': '{"net_arch": [256, 256]}',
        }
    program = PLAY_POLICY
    for old, new in changes.items():
        assert old in program, f"the program on the page no longer has {old}"  # else another learner would be measured
        program = program.replace(old, new)
    variables: Row = {"report": lambda model: run.at(_agent(model), model.num_timesteps)}
    exec(program, variables)
    run.end(_agent(variables["model"]), variables["model"].num_timesteps)


def by_id(algorithm: str, run: Learning) -> None:
    """Learn by stable-baselines3 with its defaults, without masks."""
    import stable_baselines3

    model = getattr(stable_baselines3, algorithm)("MlpPolicy", f"quincunx_env:{FLAT}", seed=run.seed, device="cpu")
    model.learn(STEPS, lambda *_: run.at(_agent(model), model.num_timesteps))
    run.end(_agent(model), model.num_timesteps)


def td_lambda(words: str, run: Learning) -> None:
    """Learn by ``train.td_lambda``."""
    from train.common.options import read_options
    from train.td_lambda.settings import Arguments
    from train.td_lambda.training import main

    fixed = f"--name learner-{run.name}-{run.seed} --seed {run.seed} --workers 0 --eval-deals 200 --test-deals 2"
    arguments = read_options(Arguments, "train.td_lambda", None, f"{words} {fixed}".split())
    _keep(run, facts := main(arguments))
    run.end(load(arguments.weights), facts["steps"])


def rllib(run: Learning) -> None:
    """Learn by ``train.rllib``."""
    from ray.rllib.core.rl_module.rl_module import RLModule

    from train.rllib import Arguments, main

    arguments = Arguments(
        name=f"learner-rllib-{run.seed}", seed=run.seed, total_steps=STEPS, eval_every=3, test_deals=2
    )
    _keep(run, facts := main(arguments))
    last = max((arguments.folder / "checkpoints").resolve().iterdir())
    module: Any = RLModule.from_checkpoint(last / "learner_group/learner/rl_module/default_policy")
    codec = Codec(Rules(), observation="vector", actions="hand", preview=True)
    run.end(NetworkPolicy(lambda seen: module.network(seen)[0], codec), facts["steps"])


def _keep(run: Learning, facts: Mapping[str, Any]) -> None:
    """Keep the history of a script of ``train``."""
    for entry in facts["validation"]:
        figures = next(iter(entry["variants"].values()))
        scores = (
            {"heuristic": figures["win_rate"]} if "win_rate" in figures else {"solitaire": figures["adjusted_mean"]}
        )
        run.keep(entry["steps"], "validation", **scores)


def self_play(run: Learning) -> None:
    """Learn by ``train.recipes.self_play``."""
    from train.recipes.self_play import Arguments, main

    last = list[tuple[Agent, int]]()

    def report(agent: Agent, steps: int) -> None:
        run.at(agent, steps)
        last[:] = [(agent, steps)]

    main(Arguments(seed=run.seed, total_steps=STEPS, deals=2), report)
    run.end(*last[0])


class Learner(NamedTuple):
    """A learner of the table."""

    label: str
    learn: Callable[[Learning], None]
    two: bool = False
    """whether two players learn, from the corners"""


LEARNERS = {
    "td-lambda": Learner("TD(λ), `train.td_lambda`", partial(td_lambda, "solitaire --iterations 143 --eval-every 14")),
    "maskable-ppo": Learner(
        "MaskablePPO, `PlayNetwork`", partial(page_program, "QuincunxMaskablePolicy", "SolitaireVecEnv")
    ),
    "rllib": Learner("RLlib's PPO, `PlayNetwork`, `train.rllib`", rllib),
    "maskable-ppo-mlp": Learner("MaskablePPO, `MlpPolicy`", partial(page_program, "MlpPolicy", "SolitaireVecEnv")),
    "dqn": Learner("DQN by id, `MlpPolicy`, no masks", partial(by_id, "DQN")),
    "ppo": Learner("PPO by id, `MlpPolicy`, no masks", partial(by_id, "PPO")),
    "td-lambda-2": Learner(
        "TD(λ), `train.td_lambda`",
        partial(td_lambda, "two-players --variants 2-corners --iterations 75 --eval-every 8"),
        two=True,
    ),
    "maskable-ppo-2": Learner(
        "MaskablePPO against its past, `PlayNetwork`",
        partial(page_program, "QuincunxMaskablePolicy", "VsOpponentsVecEnv"),
        two=True,
    ),
    "self-play-2": Learner("PPO in every seat, `PlayNetwork`, `train.recipes.self_play`", self_play, two=True),
    "maskable-ppo-mlp-2": Learner(
        "MaskablePPO against its past, `MlpPolicy`", partial(page_program, "MlpPolicy", "VsOpponentsVecEnv"), two=True
    ),
}
"""Learners by name, in the order of the table."""

# --- Tables and picture ----------------------------------------------------------------------------------------------


def rows() -> list[dict[str, str]]:
    """Return the rows of all runs."""
    if not FILE.exists():
        return []
    with FILE.open(encoding="utf-8", newline="") as file:
        return [*csv.DictReader(file)]


def _final(name: str, column: str) -> list[float]:
    """Return a figure of each run on benchmark deals."""
    found = [row for row in rows() if row["learner"] == name and row["domain"] == "benchmark"]
    return [float(row[column]) for row in found if row[column]]


def _cell(name: str, task: str) -> str:
    scores = np.array(_final(name, task))
    estimate = Estimate.of_mean(scores if task == "solitaire" else 100 * scores)
    return "{} ({})".format(*estimate.cells(".1f")) + ("" if task == "solitaire" else " %")


def table(two: bool) -> str:
    """List the learners of the solitaire, or of two players."""
    tasks = {"greedy": "wins against `greedy`", "heuristic": "against `heuristic`"} if two else {"solitaire": "score"}
    lines = []
    for name, learner in LEARNERS.items():
        seconds = _final(name, "seconds")
        if learner.two == two and seconds:
            cells = (*(_cell(name, each) for each in tasks), f"{np.mean(seconds):.0f} s")
            lines.append((f"`{name}`", learner.label, str(len(seconds)), *cells))
    return markdown_table(("name", "learner", "seeds", *tasks.values(), "processor time"), lines)


def draw(path: Path, two: bool) -> None:
    """Draw the learning curves of the learners with bands over seeds."""
    curves, column = {}, "heuristic" if two else "solitaire"
    for name in [name for name, learner in LEARNERS.items() if learner.two == two]:
        runs: dict[str, list[tuple[float, float]]] = {}
        for row in rows():
            if row["learner"] == name and row["domain"] == "validation":
                runs.setdefault(row["seed"], []).append((float(row["steps"]), float(row[column])))
        points = [*zip(*runs.values(), strict=False)]
        steps = [float(np.mean([step for step, _ in each])) for each in points]
        estimates = [Estimate.of_mean(np.array([score for _, score in each])) for each in points]
        curves[name] = Curve(steps, *map(list, zip(*estimates, strict=True)))
    ylabel = "share of wins against heuristic" if two else "adjusted mean"
    title = "Two players" if two else "Solitaire"
    draw_learning_curves(path, curves, ylabel=f"{ylabel}, {VALIDATION.count} validation deals", title=title)


def main(name: str, seed: int) -> None:
    """Learn, and add the rows to the file."""
    run = Learning(name, seed)
    LEARNERS[name].learn(run)
    others = [row for row in rows() if (row["learner"], row["seed"]) != (name, str(seed))]
    write_csv(FILE, COLUMNS, ([row[each] for each in COLUMNS] for row in (*others, *run.rows)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=[*LEARNERS])
    parser.add_argument("seed", type=int)
    main(**vars(parser.parse_args()))
