"""MaskablePPO of sb3-contrib, which asks a ``VecEnv`` for its masks by ``env_method("action_masks")``.

    python -m train.recipes.sb3_maskable                # the solitaire
    python -m train.recipes.sb3_maskable --num-players 2    # self-play: one learner against a pool

With several players the learner has one seat of each game, in turn, and a member of the pool has the others: a fixed
agent, or what the learner itself was some time ago. `train/selfplay.py` has the same pool and is stronger;
`train/ppo.py` is the solitaire with checkpoints, logs and a learning curve.
"""

import copy
from dataclasses import dataclass
from typing import Literal

import torch
import tyro
from quincunx_agents.torch import GreedyPolicy, PolicyNetwork, QuincunxMaskablePolicy
from quincunx_agents.torch.networks import RETURN_SCALE
from sb3_contrib import MaskablePPO
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback, CallbackList, ConvertCallback
from tqdm import tqdm

from quincunx_env.adapters.sb3 import GamesVecEnv, SolitaireVecEnv, VsOpponentsVecEnv
from quincunx_env.arena import Comparison, Evaluation, compare, resolve
from quincunx_env.core.policy import Policy, policy_for
from quincunx_env.quincunx.rules import Rules
from train.common.opponents import Member, Pool, Sampling
from train.recipes.measure import measure


@dataclass
class Arguments:
    """Every option of a run."""

    num_players: Literal[1, 2, 3, 4] = 1
    """1: the solitaire; otherwise self-play from corners"""
    total_steps: int = 300_000
    """plays of the learner, all games together"""
    seed: int = 0
    """of the deals, the first weights and the exploration"""

    baselines: tuple[str, ...] = ("greedy", "heuristic-v0")
    """agents that are in the pool from the start, at least one; names of the arena"""
    sampling: Sampling = "prioritised"
    """which member a game is played against: the latest, any, or rather those that win"""
    snapshot_every: int = 50_000
    """plays after which the learner joins the pool"""

    num_envs: int = 512
    """games side by side"""
    rollout: int = 24
    """plays of each game between two updates"""
    batch_size: int = 2048
    """plays in a gradient step"""
    epochs: int = 4
    """passes over a rollout"""
    learning_rate: float = 2e-3
    """at the start; it falls linearly to 0"""
    deals: int = 1000
    """validation deals of the evaluation; several players play each from every seat"""
    against: tuple[str, ...] = ("greedy", "heuristic-v0")
    """whom several players are measured against, names of the arena"""
    progress: bool = True
    """show a progress bar"""


def main(arguments: Arguments) -> tuple[PolicyNetwork, Evaluation | dict[str, Comparison]]:
    """Train and evaluate: the solitaire alone, several players against each of ``against``."""
    torch.set_num_threads(1)
    if arguments.num_players == 1:
        solitaire = SolitaireVecEnv(arguments.num_envs, observation="flat", preview=True)
        network = learn(arguments, solitaire)
        return network, measure(GreedyPolicy(network.forward_actor, solitaire.envs.observer), arguments.deals)
    rules = Rules(num_players=arguments.num_players)
    pool = Pool(arguments.sampling, [Member(name, policy_for(resolve(name), rules)) for name in arguments.baselines])
    env = VsOpponentsVecEnv(
        arguments.num_envs,
        num_players=arguments.num_players,
        pool=[member.player for member in pool.members],
        observation="flat",
        preview=True,
    )
    network = learn(arguments, env, SelfPlay(env, pool, arguments.snapshot_every))
    learned = GreedyPolicy(network.forward_actor, env.envs.observer)
    results = {
        name: compare([learned, name], arguments.deals, rules=rules, domain="validation", names=["learned", name])
        for name in arguments.against
    }
    print("won while exploring:", ", ".join(f"{won:.0%} against {name}" for name, won in pool.won().items()))
    print(*(result.table() for result in results.values()), sep="\n")
    return network, results


def learn(arguments: Arguments, env: GamesVecEnv, *callbacks: BaseCallback) -> PolicyNetwork:
    """MaskablePPO in these games."""
    model = MaskablePPO(
        QuincunxMaskablePolicy,
        env,
        policy_kwargs={"observer": env.envs.observer},
        n_steps=arguments.rollout,
        batch_size=arguments.batch_size,
        n_epochs=arguments.epochs,
        # The last rollout may reach past the budget.
        learning_rate=lambda remaining: arguments.learning_rate * max(remaining, 0.0),
        gamma=1.0,
        gae_lambda=0.95,
        clip_range=0.2,
        ent_coef=0.01,
        # The value is in points: bring its squared error to the size of the policy's loss.
        vf_coef=0.5 / RETURN_SCALE**2,
        seed=arguments.seed,
        device="cpu",
    )
    with tqdm(total=arguments.total_steps, disable=not arguments.progress, unit="play") as bar:

        def advance(local: dict[str, object], everything: dict[str, object]) -> bool:
            bar.update(arguments.num_envs)
            return True

        model.learn(arguments.total_steps, callback=CallbackList([ConvertCallback(advance), *callbacks]))
    return snapshot(model)


class SelfPlay(BaseCallback):
    """Counts who wins, lets the learner join the pool now and then, and tells the games whom to draw.

    Args:
        env: the games.
        pool: the learner's opponents.
        every: plays after which the learner joins them.
    """

    def __init__(self, env: VsOpponentsVecEnv, pool: Pool[Policy], every: int) -> None:
        super().__init__()
        self.env = env
        self.pool = pool
        self.every = every
        self.due = every

    def _on_step(self) -> bool:
        for info in self.locals["infos"]:
            if info:  # a game is over
                self.pool.count(info["opponent"], info["win"], len(info["totals"]))
        return True

    def _on_rollout_start(self) -> None:
        if self.num_timesteps >= self.due:
            policy = GreedyPolicy(snapshot(self.model).forward_actor, self.env.envs.observer)
            self.pool.join(f"itself after {self.num_timesteps} plays", policy)
            self.due += self.every
        self.env.envs.set_pool([member.player for member in self.pool.members], self.pool.chances())


def snapshot(model: BaseAlgorithm) -> PolicyNetwork:
    """Return a copy of the network as it is now."""
    network = copy.deepcopy(model.policy.mlp_extractor)
    assert isinstance(network, PolicyNetwork)
    return network


if __name__ == "__main__":
    main(tyro.cli(Arguments, description=__doc__))
