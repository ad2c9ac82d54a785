"""Masked PPO in one loop of PyTorch, in CleanRL's style.

    python -m train.recipes.cleanrl_style

The environment is Gymnasium's native vector environment in its default autoreset mode, ``NEXT_STEP``. In the step after
the end of an episode it ignores the action and resets. Such a step is not a transition and must not be learned from.
"""

from dataclasses import dataclass

import gymnasium
import numpy as np

from quincunx_env.codec import Codec
from quincunx_env.utils.errors import requires_extra

with requires_extra("train"):
    import torch
from torch import Tensor, nn
from torch.distributions import Categorical
from tqdm import trange

from quincunx_agents.torch import NetworkPolicy, PlayNetwork
from quincunx_agents.torch.play_network import RETURN_SCALE
from quincunx_env import Rules
from quincunx_env.arena import Deals, Evaluation, evaluate
from train.common.options import DEALS_APART, BatchSize, Count, Finite, NumDeals, PPOOptions, Seed, Share, run_script


@dataclass
class Arguments(PPOOptions):
    """Every option of a run."""

    total_steps: Count = 300_000
    """environment steps of all games together"""
    seed: Seed = 0
    """seed of the deals, the initial weights and the exploration"""
    num_envs: Count = 256
    """games side by side"""
    rollout: Count = 12
    """steps of each game between two updates"""
    batch_size: BatchSize = 256
    """steps in a minibatch"""
    epochs: Count = 2
    """passes over a rollout"""
    gae_lambda: Share = 0.7
    """lambda of GAE"""
    entropy: Finite = 0.0
    """weight of the entropy bonus"""
    deals: NumDeals = 1000
    """validation deals of the evaluation"""
    progress: bool = True
    """show a progress bar"""


def masked(logits: Tensor, mask: Tensor) -> Categorical:
    """Return the distribution over legal actions. Illegal ones get logits so low that their probability is 0."""
    return Categorical(logits=logits.masked_fill(~mask, -1e8))


def main(arguments: Arguments) -> tuple[PlayNetwork, Evaluation]:
    """Train; returns the network and its evaluation on validation deals."""
    torch.manual_seed(arguments.seed)
    torch.set_num_threads(1)
    steps, games = arguments.rollout, arguments.num_envs
    envs = gymnasium.make_vec("Quincunx/SolitaireFlat-v0", num_envs=games, illegal="raise")
    codec = Codec(Rules(), observation="vector", actions="hand", preview=True)
    network = PlayNetwork(codec.observer)
    optimizer = torch.optim.Adam(network.parameters(), lr=arguments.learning_rate)
    updates = arguments.total_steps // (steps * games)

    observations = torch.zeros(steps, games, codec.encoder.size)
    masks = torch.zeros(steps, games, network.actions, dtype=torch.bool)
    actions = torch.zeros(steps, games, dtype=torch.int64)
    log_probs, rewards, values = torch.zeros(3, steps, games)
    ended = torch.zeros(steps, games, dtype=torch.bool)
    played = torch.zeros(steps, games, dtype=torch.bool)

    observation, info = envs.reset(seed=DEALS_APART * arguments.seed)
    over = np.zeros(games, np.bool_)
    for update in (bar := trange(updates, disable=not arguments.progress, unit="update")):
        optimizer.param_groups[0]["lr"] = arguments.learning_rate * (1 - update / updates)

        scores: list[float] = []
        for step in range(steps):
            observations[step] = torch.from_numpy(observation)
            masks[step] = torch.from_numpy(info["action_mask"])  # all 1 where the episode is over
            played[step] = torch.from_numpy(~over)  # the others reset, whatever their action
            with torch.no_grad():
                logits, values[step] = network(observations[step])
            distribution = masked(logits, masks[step])
            actions[step] = distribution.sample()
            log_probs[step] = distribution.log_prob(actions[step])
            observation, reward, over, _, info = envs.step(actions[step].numpy())  # episodes are never truncated
            rewards[step] = torch.from_numpy(reward) / RETURN_SCALE
            ended[step] = torch.from_numpy(over)
            scores += info["value"][over].tolist() if over.any() else []
        if scores:
            bar.set_postfix(mean=f"{np.mean(scores):.1f}")

        # GAE. The value after an episode is 0, so that nothing flows back from the step that only resets.
        advantages = torch.zeros(steps, games)
        advantage = torch.zeros(games)
        with torch.no_grad():
            following = network(torch.from_numpy(observation))[1]
        for step in reversed(range(steps)):
            going_on = (~ended[step]).float()
            error = rewards[step] + arguments.gamma * going_on * following - values[step]
            advantages[step] = advantage = error + arguments.gamma * arguments.gae_lambda * going_on * advantage
            following = values[step]
        returns = advantages + values

        record = observations, masks, actions, log_probs, advantages, returns
        seen, legal, taken, before, gain, target = (each.flatten(0, 1)[played.flatten()] for each in record)
        gain = (gain - gain.mean()) / (gain.std() + 1e-8)
        for _ in range(arguments.epochs):
            for batch in torch.randperm(len(gain)).split(arguments.batch_size):
                logits, value = network(seen[batch])
                distribution = masked(logits, legal[batch])
                ratio = (distribution.log_prob(taken[batch]) - before[batch]).exp()
                clipped = ratio.clamp(1 - arguments.clip_range, 1 + arguments.clip_range)
                policy_loss = -torch.minimum(ratio * gain[batch], clipped * gain[batch]).mean()
                value_loss = (value - target[batch]).square().mean()
                loss = policy_loss + 0.5 * value_loss - arguments.entropy * distribution.entropy().mean()
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(network.parameters(), 0.5)
                optimizer.step()
    agent = NetworkPolicy(lambda seen: network(seen)[0], codec)
    result = evaluate(agent, Deals(arguments.deals, "validation"))
    low, high = result.ci95
    lost = f"{result.lost.mean():.1%}"
    print(f"mean {result.mean:z.1f} ({low:z.1f} to {high:z.1f}) on {arguments.deals} validation deals, lost {lost}")
    return network, result


if __name__ == "__main__":
    run_script(main, Arguments, "train.recipes.cleanrl_style", __doc__)
