"""Self-play by masked PPO, in CleanRL's style.

    python -m train.recipes.self_play
    python -m train.recipes.self_play spiral --domain benchmark --out runs/spiral.json

One network plays every seat and learns from all of them. All games of a variant have the same number of plays. So a
rollout is one game in each row of the batch, and no return is cut off. A transition of a seat lasts until its next
decision. Its reward is the margin that the plays of all seats bring meanwhile. In a share of the rows one seat learns,
and a past self plays the others. The past self is drawn anew for each rollout, from the networks before each update.
"""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Literal

import tyro

from quincunx_env.utils.errors import requires_extra

with requires_extra("train"):
    import torch
from torch import Tensor, nn
from tqdm import tqdm

from quincunx_agents.agent_specs import rules_of
from quincunx_agents.torch import NetworkPolicy, PlayNetwork
from quincunx_agents.torch.play_network import RETURN_SCALE
from quincunx_env.arena import Deals
from quincunx_env.core.policy import Agent
from quincunx_env.envs.batched import BatchedGames
from train.common.evaluation import Figures, strength
from train.common.options import (
    DEALS_APART,
    BatchSize,
    Count,
    Finite,
    NumDeals,
    PositiveOrZero,
    PPOOptions,
    Seed,
    Share,
    run_script,
)
from train.common.run import provenance, write_json
from train.common.tables import multiplayer_columns
from train.recipes.cleanrl_style import masked


@dataclass
class Arguments(PPOOptions):
    """Every option of a run."""

    variant: tyro.conf.Positional[Literal["2-corners", "2-open", "3-corners", "4-corners", "spiral"]] = "2-corners"
    """players and start; spiral: one deal of the spiral game"""
    total_steps: Count = 300_000
    """environment steps of all games together: the decisions of all seats"""
    seed: Seed = 0
    """seed of the deals, the initial weights and the exploration"""
    num_envs: Count = 256
    """games side by side; a rollout is one game of each"""
    past: Share = 0.1
    """share of the games with a past self"""
    rollout: tyro.conf.Suppress[tyro.conf.Fixed[int]] = 1
    batch_size: BatchSize = 512
    """steps in a minibatch"""
    epochs: Count = 2
    """passes over a rollout"""
    learning_rate: PositiveOrZero = 7e-3
    """learning rate of Adam at the start; it falls linearly to 0"""
    gae_lambda: Share = 0.7
    """lambda of GAE"""
    entropy: Finite = 0.003
    """weight of the entropy bonus"""
    deals: NumDeals = 500
    """deals of the evaluation, each played from every seat"""
    domain: Literal["validation", "benchmark"] = "validation"
    """domain of these deals; benchmark is for final figures"""
    out: Path | None = None
    """JSON file of the results"""
    progress: bool = True
    """show a progress bar"""


def gae(rewards: Tensor, values: Tensor, movers: Tensor, gamma: float, gae_lambda: float) -> Tensor:
    """Return the advantages of complete games, [steps, games]. Each is over the decisions of one seat.

    Rewards are [steps, games, seats], of all seats. Values and movers are [steps, games], of the seats to move.
    """
    advantages, rows = torch.zeros_like(values), torch.arange(values.shape[1])
    # Of each seat: its next value and advantage, and its rewards up to then.
    value, advantage, reward = torch.zeros(3, *rewards.shape[1:])
    for step in reversed(range(len(values))):
        reward += rewards[step]
        seat = rows, movers[step]
        error = reward[seat] + gamma * value[seat] - values[step]
        advantages[step] = advantage[seat] = error + gamma * gae_lambda * advantage[seat]
        value[seat], reward[seat] = values[step], 0
    return advantages


Report = Callable[[Agent, int], object]
"""Is given the agent and the environment steps so far."""


def main(arguments: Arguments, report: Report = lambda *_: None) -> tuple[PlayNetwork, dict[str, Figures]]:
    """Train; returns the network and its strength against each opponent. It reports after each update."""
    torch.manual_seed(arguments.seed)
    torch.set_num_threads(1)
    rules, games, start = rules_of(arguments.variant), arguments.num_envs, process_time()
    envs = BatchedGames(games, rules.game, rules=rules, observation="vector", preview=True, actions="hand")
    network, past = PlayNetwork(envs.observer), PlayNetwork(envs.observer)
    optimizer = torch.optim.Adam(network.parameters(), lr=arguments.learning_rate)
    policy = NetworkPolicy(lambda vectors: network(vectors)[0], envs.codec)
    pool = list[dict[str, Tensor]]()
    rows = torch.arange(games)
    has_past, learner = rows < arguments.past * games, rows % rules.num_players

    position = envs.reset(seed=DEALS_APART * arguments.seed)
    steps = 0
    bar = tqdm(total=arguments.total_steps, disable=not arguments.progress, unit="step")
    while steps < arguments.total_steps:
        optimizer.param_groups[0]["lr"] = arguments.learning_rate * (1 - steps / arguments.total_steps)
        pool.append(deepcopy(network.state_dict()))
        past.load_state_dict(pool[torch.randint(len(pool), ())])

        # One game in each row.
        record = list[tuple[Tensor, ...]]()
        over = False
        while not over:
            seen, legal = torch.from_numpy(position.observation), torch.from_numpy(position.mask)
            mover = torch.from_numpy(position.mover)
            learns = ~has_past | (mover == learner)
            with torch.no_grad():
                logits, value = network(seen)
                logits[~learns] = past(seen[~learns])[0]
            distribution = masked(logits, legal)
            action = distribution.sample()
            result = envs.step(action.numpy())
            reward = torch.from_numpy(result.rewards).float() / RETURN_SCALE
            record.append((seen, legal, action, distribution.log_prob(action), value, mover, learns, reward))
            position, over = result.position, bool(result.ended.all())
        seen, legal, action, before, value, mover, learns, reward = map(torch.stack, zip(*record, strict=True))
        steps += action.numel()
        bar.update(action.numel())
        if has_past.any():
            margin = RETURN_SCALE * reward.sum(0)[rows, learner][has_past].mean()
            bar.set_postfix(margin_over_past=f"{margin:z.1f}")

        gain = gae(reward, value, mover, arguments.gamma, arguments.gae_lambda)
        target = gain + value
        seen, legal, action, before, gain, target = (
            each[learns] for each in (seen, legal, action, before, gain, target)
        )
        gain = (gain - gain.mean()) / (gain.std() + 1e-8)
        for _ in range(arguments.epochs):
            for batch in torch.randperm(len(gain)).split(arguments.batch_size):
                logits, value = network(seen[batch])
                distribution = masked(logits, legal[batch])
                ratio = (distribution.log_prob(action[batch]) - before[batch]).exp()
                clipped = ratio.clamp(1 - arguments.clip_range, 1 + arguments.clip_range)
                policy_loss = -torch.minimum(ratio * gain[batch], clipped * gain[batch]).mean()
                value_loss = (value - target[batch]).square().mean()
                loss = policy_loss + 0.5 * value_loss - arguments.entropy * distribution.entropy().mean()
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(network.parameters(), 0.5)
                optimizer.step()
        report(policy, steps)
    seconds = process_time() - start

    deals = Deals(arguments.deals, arguments.domain)
    found = {opponent: strength(policy, opponent, rules, deals) for opponent in ("greedy", "heuristic")}
    for opponent, figures in found.items():
        wins, interval, _, lead, ends = multiplayer_columns(figures)
        played = f"{arguments.deals} {arguments.domain} deals"
        print(f"against {opponent}: {wins} ({interval}) of wins, margin {lead} ({ends}); {played}")
    if arguments.out:
        by_opponent = {opponent: {arguments.variant: figures} for opponent, figures in found.items()}
        facts = {"steps": steps, "seconds": {"training": round(seconds, 1)}, "greedy": by_opponent["greedy"]}
        facts[arguments.domain] = by_opponent["heuristic"]  # under the name that other scripts use
        write_json(arguments.out, provenance("train.recipes.self_play", arguments) | facts)
    return network, found


if __name__ == "__main__":
    run_script(main, Arguments, "train.recipes.self_play", __doc__)
