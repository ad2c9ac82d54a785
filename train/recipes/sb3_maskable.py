"""MaskablePPO of sb3-contrib, which gets masks from a ``VecEnv`` by ``env_method("action_masks")``.

    python -m train.recipes.sb3_maskable                    # the solitaire
    python -m train.recipes.sb3_maskable --num-players 2    # self-play against an opponent pool

With several players the learner has one seat of each game, in turn, and a member of the pool has the others: a fixed
agent, or a past snapshot of the learner. `train/selfplay.py` uses the same pool and is stronger; `train/ppo.py` adds
checkpoints, logs and a learning curve for the solitaire.
"""

import copy
from dataclasses import dataclass, field

from quincunx_env.utils.errors import requires_extra

with requires_extra("train"):
    import torch
    from sb3_contrib import MaskablePPO
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback, CallbackList, ConvertCallback
from tqdm import tqdm

from quincunx_agents.torch import GreedyPolicy, PolicyNetwork, QuincunxMaskablePolicy
from quincunx_agents.torch.networks import RETURN_SCALE
from quincunx_env.adapters.sb3 import GamesVecEnv, SolitaireVecEnv, VsOpponentsVecEnv
from quincunx_env.arena import Comparison, Evaluation, compare, resolve
from quincunx_env.core.policy import Policy, policy_for
from quincunx_env.quincunx.rules import Rules
from train.common.opponents import Member, Pool, Sampling
from train.common.options import (
    Count,
    EmbeddedRules,
    NumDeals,
    PPOOptions,
    Seed,
    run_script,
)
from train.recipes.measure import measure


@dataclass
class Arguments(PPOOptions):
    """Every option of a run."""

    rules: EmbeddedRules = field(default_factory=Rules)
    total_steps: Count = 300_000
    """environment steps of the learner, all games together"""
    seed: Seed = 0
    """of the deals, the initial weights and the exploration"""
    num_envs: Count = 512
    """games side by side"""

    baselines: tuple[str, ...] = ("greedy", "heuristic-v0")
    """agents that are in the pool from the start, at least one; names of the arena"""
    sampling: Sampling = "prioritised"
    """sampling of opponents from the pool: the latest, uniformly, or prioritised by win rate (PFSP)"""
    snapshot_every: Count = 50_000
    """steps after which a snapshot of the learner joins the pool"""

    deals: NumDeals = 1000
    """validation deals of the evaluation; several players play each from every seat"""
    against: tuple[str, ...] = ("greedy", "heuristic-v0")
    """several players: opponents in the evaluation, names of the arena"""
    progress: bool = True
    """show a progress bar"""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rules.simpleton:
            raise ValueError("--simpleton: the network plays without announcements")


def main(arguments: Arguments) -> tuple[PolicyNetwork, Evaluation | dict[str, Comparison]]:
    """Train; returns the network, and its evaluation or its comparison with each of ``against``."""
    torch.set_num_threads(1)
    rules = arguments.rules
    if rules.num_players == 1:
        solitaire = SolitaireVecEnv(arguments.num_envs, observation="flat", preview=True, rules=rules)
        network = learn(arguments, solitaire)
        return network, measure(GreedyPolicy(network.forward_actor, solitaire.envs.observer), arguments.deals, rules)
    pool = Pool(arguments.sampling, [Member(name, policy_for(resolve(name), rules)) for name in arguments.baselines])
    env = VsOpponentsVecEnv(
        arguments.num_envs,
        pool=[member.opponent for member in pool.members],
        observation="flat",
        preview=True,
        rules=rules,
    )
    network = learn(arguments, env, SelfPlay(env, pool, arguments.snapshot_every))
    learned = GreedyPolicy(network.forward_actor, env.envs.observer)
    results = {
        name: compare([learned, name], arguments.deals, rules=rules, domain="validation", names=["learned", name])
        for name in arguments.against
    }
    print("won in training:", ", ".join(f"{won:.0%} against {name}" for name, won in pool.win_rates().items()))
    print(*(result.table() for result in results.values()), sep="\n")
    return network, results


def learn(arguments: Arguments, env: GamesVecEnv, *callbacks: BaseCallback) -> PolicyNetwork:
    """Train by MaskablePPO in an environment; returns the network."""
    model = MaskablePPO(
        QuincunxMaskablePolicy,
        env,
        policy_kwargs={"observer": env.envs.observer},
        n_steps=arguments.rollout,
        batch_size=arguments.batch_size,
        n_epochs=arguments.epochs,
        # The last rollout may reach past the budget.
        learning_rate=lambda remaining: arguments.learning_rate * max(remaining, 0.0),
        gamma=arguments.gamma,
        gae_lambda=arguments.gae_lambda,
        clip_range=arguments.clip_range,
        ent_coef=arguments.entropy,
        # Values are in points: scale their squared error to the size of the policy loss.
        vf_coef=0.5 / RETURN_SCALE**2,
        seed=arguments.seed,
        device="cpu",
    )
    with tqdm(total=arguments.total_steps, disable=not arguments.progress, unit="step") as bar:

        def advance(local: dict[str, object], everything: dict[str, object]) -> bool:
            bar.update(arguments.num_envs)
            return True

        model.learn(arguments.total_steps, callback=CallbackList([ConvertCallback(advance), *callbacks]))
    return snapshot(model)


class SelfPlay(BaseCallback):
    """Counts results, adds snapshots of the learner to the pool, and updates the environment's opponent distribution.

    Args:
        env: the games.
        pool: the opponents.
        every: steps between snapshots.
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
            self.pool.add(f"step {self.num_timesteps}", policy)
            self.due += self.every
        self.env.envs.set_pool([member.opponent for member in self.pool.members], self.pool.probabilities())


def snapshot(model: BaseAlgorithm) -> PolicyNetwork:
    """Return a copy of the network as it is now."""
    network = copy.deepcopy(model.policy.mlp_extractor)
    assert isinstance(network, PolicyNetwork)
    return network


if __name__ == "__main__":
    run_script(main, Arguments, "train.recipes.sb3_maskable", __doc__)
