"""Train MaskablePPO on a list of rules, and evaluate it under others.

    python -m train.recipes.generalisation combinations
    python -m train.recipes.generalisation combinations --policy mlp --no-preview --seed 1
    python -m train.recipes.generalisation combinations --train-on test

Row i plays the rules i mod k of the k rules. The piece ``form`` of an observation says which they are. A run adds its
scores under all rules of the task to the file ``--out``. Results: docs/generalisation.md.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from quincunx_env.utils.errors import requires_extra

with requires_extra("train"):
    import torch
    from sb3_contrib import MaskablePPO
    from stable_baselines3.common.utils import LinearSchedule
    from stable_baselines3.common.vec_env import VecNormalize

from quincunx_agents.torch import QuincunxMaskablePolicy, sb3_agent
from quincunx_env.adapters.sb3 import SolitaireVecEnv, VsOpponentsVecEnv
from quincunx_env.arena.benchmark import write_results
from quincunx_env.arena.generalisation import TASKS, GeneralisationResult, evaluate_generalisation
from train.common.options import DEALS_APART, CheckedOptions, Count, NumDeals, Seed, Valid, run_script


@dataclass
class Arguments(CheckedOptions):
    """Every option of a run. Learning has the settings of docs/libraries.md."""

    task: tyro.conf.Positional[Annotated[str, Valid(f"one of {', '.join(TASKS)}", TASKS.__contains__)]]
    """task of generalisation"""
    train_on: Literal["training", "test"] = "training"
    """rules to train on; test: the upper line of the task"""
    policy: Literal["quincunx", "mlp"] = "quincunx"
    """quincunx: QuincunxMaskablePolicy, which needs the preview; mlp: stable-baselines3's MlpPolicy"""
    preview: bool = True
    """show the preview, and act by place of the hand; without it, by card"""
    total_steps: Count = 300_000
    """environment steps of all games together"""
    seed: Seed = 0
    """seed of the deals, the rules, the initial weights and the exploration"""
    deals: NumDeals = 1000
    """benchmark deals under each rules"""
    out: Path = Path("runs/generalisation.csv")
    """file of results"""
    progress: bool = True
    """show progress bars"""

    @property
    def name(self) -> str:
        """Name of the policy in the file of results."""
        network = "" if self.policy == "quincunx" else "-mlp"
        return f"{self.task}-{self.train_on}{network}{'' if self.preview else '-without-preview'}-{self.seed}"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.policy == "quincunx" and not self.preview:
            raise ValueError("--policy quincunx needs the preview: leave out --no-preview, or use --policy mlp")


def main(arguments: Arguments) -> GeneralisationResult:
    """Train, evaluate, and add the results to the file."""
    torch.set_num_threads(1)
    task = TASKS[arguments.task]
    rules = [each.rules for each in getattr(task, arguments.train_on)]
    options: dict[str, Any] = {
        "rules": rules,
        "observation": "vector",
        "preview": arguments.preview,
        "actions": "hand" if arguments.preview else "joint",
    }
    alone = rules[0].num_players == 1
    envs = SolitaireVecEnv(512, **options) if alone else VsOpponentsVecEnv(512, opponents="heuristic", **options)
    codec, mlp = envs.envs.codec, arguments.policy == "mlp"
    model = MaskablePPO(
        "MlpPolicy" if mlp else QuincunxMaskablePolicy,
        VecNormalize(envs, norm_obs=False, gamma=1.0),  # rewards are tens of points
        n_steps=12,
        batch_size=1024,
        n_epochs=2,
        gamma=1.0,
        gae_lambda=0.7,
        learning_rate=LinearSchedule(0.002, 0.0, 1.0),
        policy_kwargs={"net_arch": [256, 256]} if mlp else {"observer": codec.observer, "unit": 1.0},
        seed=arguments.seed,
    )
    envs.seed(DEALS_APART * arguments.seed)
    model.learn(arguments.total_steps, progress_bar=arguments.progress)
    agent = sb3_agent(model.policy, codec)
    found = evaluate_generalisation(task.name, agent, deals=arguments.deals, name=arguments.name)
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    write_results(arguments.out, found.results.values())
    (test, test_ends), (training, ends) = found.score.cells(".3f"), found.training.cells(".3f")
    print(f"{arguments.name}: {test} ({test_ends}) under the test rules, {training} ({ends}) under the training rules")
    return found


if __name__ == "__main__":
    run_script(main, Arguments, "train.recipes.generalisation", __doc__)
