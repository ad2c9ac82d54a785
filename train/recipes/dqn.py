"""Double DQN with masked actions in the vectorised solitaire.

    python -m train.recipes.dqn
    python -m train.recipes.dqn --name dqn-1 --seed 1 --total-steps 1000000

It is one loop of plain PyTorch, in the style of CleanRL. The Q-network is the policy network with its critic: Q(s, a) =
V(s) + the logit of a, both divided by the scale of a return (Wang et al. 2016, without their subtraction of the mean).
The target of a transition is r + max Q over the legal actions of the next state. The network chooses the action there,
and the target network evaluates it (van Hasselt et al. 2016). Transitions are kept in a ring of arrays, each
observation once. In the autoreset mode ``SAME_STEP`` the next observation of a game follows in the next step; after the
end of an episode none is needed.

A run writes to ``runs/<name>``: ``<name>.json`` and ``results.md`` with results, ``learning_curve.png`` and ``games/``.
It keeps no weights, and cannot be resumed.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import tyro
from gymnasium.vector import AutoresetMode

from quincunx_env.utils.errors import requires_extra

with requires_extra("train"):
    import torch
from torch import Tensor, nn
from tqdm import tqdm

from quincunx_agents.torch import NetworkPolicy, PolicyNetwork
from quincunx_agents.torch.networks import RETURN_SCALE
from quincunx_env.arena import Deals
from quincunx_env.envs.solitaire import SolitaireVectorEnv
from quincunx_env.quincunx.rules import Rules
from train.common import checkpoint
from train.common.evaluation import strengths
from train.common.options import DEALS_APART, Count, Positive, RunName, RunOptions, Share, run_script
from train.common.run import report
from train.common.timer import PhaseTimer

VARIANTS = {"solitaire": Rules()}


@dataclass
class Arguments(RunOptions):
    """Every option of a run.

    The options of learning were chosen on ``validation`` deals in runs of 100,000 steps with 64 games.
    """

    name: RunName = "dqn"
    """the run's folder below ``runs``; an earlier run of that name is renamed"""
    total_steps: Count = 1_000_000
    """environment steps of all games together"""
    num_envs: Count = 128
    """games side by side; a gradient step follows each of their steps"""
    buffer: Count = 100_000
    """latest environment steps that are sampled from"""
    batch_size: Count = 512
    """transitions of a gradient step"""
    learning_rate: Positive = 1e-3
    """learning rate of Adam at the start; it falls linearly to 0"""
    learning_starts: Count = 5_000
    """environment steps before the first gradient step"""
    target_rate: Share = 0.01
    """share of the network in each update of the target network, a moving average"""
    exploration: Share = 0.2
    """share of the steps in which epsilon falls linearly to its end"""
    epsilon_end: Share = 0.02
    """probability of a random legal action thereafter; 1 at the start"""
    eval_every: Count = 100_000
    """steps between evaluations"""
    resume: tyro.conf.Suppress[tyro.conf.Fixed[bool]] = False
    against: tyro.conf.Suppress[tyro.conf.Fixed[str]] = "heuristic"


def q_values(network: PolicyNetwork, observation: Tensor, mask: Tensor) -> Tensor:
    """Return Q in units of `RETURN_SCALE`, [B, actions], -inf where illegal."""
    logits, value = network(observation)
    values: Tensor = (logits + value / RETURN_SCALE).masked_fill(~mask, -torch.inf)
    return values


def main(arguments: Arguments) -> dict[str, Any]:
    """Train, evaluate, and write everything to ``runs/<name>``; returns the results."""
    with checkpoint.locked(arguments.folder):
        return train(arguments)


def train(arguments: Arguments) -> dict[str, Any]:
    """Train and evaluate in the folder of the run."""
    torch.manual_seed(arguments.seed)
    torch.set_num_threads(arguments.threads)
    rng = np.random.default_rng(arguments.seed)
    games = arguments.num_envs
    envs = SolitaireVectorEnv(games, observation="vector", preview=True, autoreset_mode=AutoresetMode.SAME_STEP)
    observer = envs.observer
    network, target = PolicyNetwork(observer), PolicyNetwork(observer)
    target.load_state_dict(network.state_dict())
    optimizer = torch.optim.Adam(network.parameters(), lr=arguments.learning_rate)
    policy = NetworkPolicy(network.forward_actor, observer)

    rows = max(arguments.buffer // games, 2)
    observations = np.zeros((rows, games, observer.encoder().size), np.float32)
    masks = np.zeros((rows, games, observer.num_actions), np.bool_)
    actions = np.zeros((rows, games), np.int64)
    rewards = np.zeros((rows, games), np.float32)
    ended = np.zeros((rows, games), np.bool_)

    history, timer = list[dict[str, Any]](), PhaseTimer()
    observation: Any
    observation, info = envs.reset(seed=DEALS_APART * arguments.seed)
    with tqdm(total=arguments.total_steps, disable=not arguments.progress, unit="step") as bar:
        for step in range(-(-arguments.total_steps // games)):
            steps, row = step * games, step % rows
            if steps >= len(history) * arguments.eval_every:
                history.append(validation(arguments, policy, steps, timer))
                bar.set_postfix(mean=history[-1]["variants"]["solitaire"]["mean"])

            # Play. The latest row has no next observation yet and is not sampled.
            observations[row], masks[row] = observation, info["action_mask"]
            anneal = min(steps / (arguments.exploration * arguments.total_steps), 1) if arguments.exploration else 1
            epsilon = 1 - anneal * (1 - arguments.epsilon_end)
            with torch.no_grad():
                values = q_values(network, torch.from_numpy(observations[row]), torch.from_numpy(masks[row]))
            explores = rng.random(games) < epsilon
            random = (rng.random(masks[row].shape) * masks[row]).argmax(axis=1)
            actions[row] = np.where(explores, random, values.argmax(dim=1).numpy())
            observation, reward, ended[row], _, info = envs.step(actions[row])  # episodes are never truncated
            rewards[row] = reward / RETURN_SCALE
            bar.update(games)

            if steps < arguments.learning_starts or step == 0:
                continue
            # Learn from rows before the latest one; of a full ring the row after it is the oldest.
            filled = min(step, rows - 1)
            ages = rng.integers(1, filled + 1, arguments.batch_size)
            columns = rng.integers(games, size=arguments.batch_size)
            now, after = (step - ages) % rows, (step - ages + 1) % rows
            with torch.no_grad():
                following = torch.from_numpy(observations[after, columns])
                legal = torch.from_numpy(masks[after, columns])
                best = q_values(network, following, legal).argmax(dim=1, keepdim=True)
                value = q_values(target, following, legal).gather(1, best)[:, 0]
                going_on = torch.from_numpy(~ended[now, columns])
                wanted = torch.from_numpy(rewards[now, columns]) + going_on * value
            seen, allowed = torch.from_numpy(observations[now, columns]), torch.from_numpy(masks[now, columns])
            taken = torch.from_numpy(actions[now, columns])[:, None]
            loss = nn.functional.smooth_l1_loss(q_values(network, seen, allowed).gather(1, taken)[:, 0], wanted)
            optimizer.param_groups[0]["lr"] = arguments.learning_rate * (1 - steps / arguments.total_steps)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(network.parameters(), 10.0)
            optimizer.step()
            with torch.no_grad():
                for old, new in zip(target.parameters(), network.parameters(), strict=True):
                    old.lerp_(new, arguments.target_rate)

    history.append(validation(arguments, policy, -(-arguments.total_steps // games) * games, timer))
    facts = {"steps": history[-1]["steps"], "seconds": timer.seconds, "validation": history}
    return report("train.recipes.dqn", arguments, policy, VARIANTS, facts)


def validation(arguments: Arguments, policy: NetworkPolicy, steps: int, timer: PhaseTimer) -> dict[str, Any]:
    """Return steps and strength on validation deals; training time pauses."""
    timer.add("training")
    found = strengths(policy, arguments.against, VARIANTS, Deals(arguments.eval_deals, "validation"))
    timer.skip()
    return {"steps": steps, "variants": found}


if __name__ == "__main__":
    run_script(main, Arguments, "train.recipes.dqn", __doc__)
