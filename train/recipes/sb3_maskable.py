"""MaskablePPO of sb3-contrib, which asks a ``VecEnv`` for its masks by ``env_method("action_masks")``.

    python -m train.recipes.sb3_maskable                # the solitaire
    python -m train.recipes.sb3_maskable --players 2    # one learner against the greedy agent

`train/ppo.py` is the same with checkpoints, logs and a learning curve.
"""

import math
from dataclasses import dataclass
from typing import Literal

import gymnasium
import numpy as np
import torch
import tyro
from sb3_contrib import MaskablePPO
from tqdm import tqdm

from agents.greedy import greedy
from agents.network import VALUE_SCALE
from agents.sb3_policy import NetworkPolicy, PlayPolicy
from quincunx_env.adapters.sb3 import GamesVecEnv, LearnerVecEnv, SolitaireVecEnv
from quincunx_env.arena import Evaluation
from quincunx_env.core.policy import Policy
from train.recipes.measure import measure


@dataclass
class Arguments:
    """Every option of a run."""

    players: Literal[1, 2] = 1
    """1: the solitaire; 2: one learner, in either seat, against the greedy agent"""
    total_steps: int = 300_000
    """plays of the learner, all games together"""
    seed: int = 0
    """of the deals, the first weights and the exploration"""
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
    """of the evaluation: validation deals, or games"""
    progress: bool = True
    """show a progress bar"""


def main(arguments: Arguments) -> tuple[PlayPolicy, Evaluation | float]:
    """Train and evaluate: the solitaire on validation deals; of two players, the share of games won."""
    torch.set_num_threads(1)
    env: GamesVecEnv
    if arguments.players == 1:
        env = SolitaireVecEnv(arguments.num_envs, observation="flat", preview=True)
    else:
        env = LearnerVecEnv(arguments.num_envs, opponents=greedy, observation="flat", preview=True)
    model = MaskablePPO(
        PlayPolicy,
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
        vf_coef=0.5 / VALUE_SCALE**2,
        seed=arguments.seed,
        device="cpu",
    )
    with tqdm(total=arguments.total_steps, disable=not arguments.progress, unit="play") as bar:

        def advance(local: dict[str, object], everything: dict[str, object]) -> bool:
            bar.update(arguments.num_envs)
            return True

        model.learn(arguments.total_steps, callback=advance)
    assert isinstance(model.policy, PlayPolicy)
    policy = NetworkPolicy(model.policy, env.envs.observer)
    if arguments.players == 1:
        return model.policy, measure(policy, arguments.deals)
    return model.policy, share_won(policy, arguments.deals)


def share_won(policy: Policy, games: int) -> float:
    """Share of games won against the greedy agent, each deal played from both seats; a shared win counts half."""
    rng, shares = np.random.default_rng(0), []
    for seat in (0, 1):
        envs = gymnasium.make_vec("Quincunx/Learner-v0", num_envs=games // 2, opponents=greedy, seat=seat, preview=True)
        observation, info = envs.reset(seed=1_000_000)  # the same deals for both seats, far from those of the training
        share, over = np.zeros(games // 2), np.zeros(games // 2, np.bool_)
        while not over.all():
            actions = policy(observation, info["action_mask"].view(np.bool_), rng)
            observation, _, ended, _, info = envs.step(actions)
            first = ended & ~over  # rows that have ended go on with another game, which does not count
            share[first] = info["win"][first] if first.any() else 0.0
            over |= ended
        shares.append(share)
    won = np.mean(shares, axis=0)  # by deal
    half = 1.96 * won.std(ddof=1) / math.sqrt(len(won))
    low, high = won.mean() - half, won.mean() + half
    print(f"won {won.mean():.1%} ({low:.1%} to {high:.1%}) of {games} games against greedy, {len(won)} deals")
    return float(won.mean())


if __name__ == "__main__":
    main(tyro.cli(Arguments, description=__doc__))
