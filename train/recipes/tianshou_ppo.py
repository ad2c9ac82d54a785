"""Masked PPO with Tianshou.

    python -m train.recipes.tianshou_ppo

Tianshou knows observations that are dictionaries of ``obs`` and ``mask``. Its Q-learning policies leave out what the
mask forbids by themselves; its actor policies, PPO's among them, do not look at it: the actor has to.
"""

from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
import torch
import tyro
from gymnasium import spaces
from quincunx_agents.torch import GreedyPolicy, PolicyNetwork
from quincunx_agents.torch.networks import RETURN_SCALE
from tianshou.algorithm.modelfree.ppo import PPO
from tianshou.algorithm.modelfree.reinforce import DiscreteActorPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory, LRSchedulerFactoryLinear
from tianshou.data import Batch, Collector, CollectStats, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.trainer import OnPolicyTrainerParams
from tianshou.utils.net.common import ActionReprNet
from torch import Tensor, nn

from quincunx_env import Observer, Rules
from quincunx_env.arena import Evaluation
from train.recipes.measure import measure


@dataclass
class Arguments:
    """Every option of a run."""

    total_steps: int = 200_000
    """plays of all games together"""
    seed: int = 0
    """of the deals, the first weights and the exploration"""
    num_envs: int = 128
    """games side by side"""
    rollout: int = 96
    """plays of each game between two updates"""
    batch_size: int = 2048
    """plays in a gradient step"""
    epochs: int = 4
    """passes over a rollout"""
    learning_rate: float = 2e-3
    """at the start; it falls linearly to 0"""
    deals: int = 1000
    """validation deals of the evaluation"""
    progress: bool = True
    """show a progress bar"""


class MaskInObservation(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Observations as dictionaries of ``obs`` and ``mask`` (bool, True = legal)."""

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        super().__init__(env)
        assert isinstance(env.action_space, spaces.Discrete)
        mask = spaces.MultiBinary(int(env.action_space.n))
        self.observation_space = spaces.Dict({"obs": env.observation_space, "mask": mask})

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        """See `gymnasium.Env`."""
        observation, info = self.env.reset(**options)
        return {"obs": observation, "mask": info.pop("action_mask").view(np.bool_)}, {}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """See `gymnasium.Env`. The infos stay empty: the buffer would keep all of them."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        return {"obs": observation, "mask": info.pop("action_mask").view(np.bool_)}, reward, terminated, truncated, {}


def make_env() -> MaskInObservation:
    """One game."""
    return MaskInObservation(gymnasium.make("Quincunx/Solitaire-v0", observation="flat", preview=True))


class Actor(ActionReprNet[Any]):
    """The logits of `PolicyNetwork`, very low where the mask forbids."""

    def __init__(self, network: PolicyNetwork) -> None:
        super().__init__()
        self.network = network

    def forward(self, obs: Any, state: Any = None, info: Any = None) -> tuple[Tensor, Any]:
        """A batch of ``obs`` and ``mask`` -> logits [B, actions]."""
        logits = self.network.forward_actor(torch.as_tensor(obs.obs, dtype=torch.float32))
        return logits.masked_fill(~torch.as_tensor(obs.mask), -1e8), state


class Critic(nn.Module):
    """Its value."""

    def __init__(self, network: PolicyNetwork) -> None:
        super().__init__()
        self.network = network

    def forward(self, obs: Batch) -> Tensor:
        """A batch of ``obs`` and ``mask`` -> [B, 1]."""
        return self.network.forward_critic(torch.as_tensor(obs.obs, dtype=torch.float32))


def main(arguments: Arguments) -> tuple[PolicyNetwork, Evaluation]:
    """Train and evaluate."""
    torch.manual_seed(arguments.seed)
    np.random.seed(arguments.seed)  # noqa: NPY002  Tianshou shuffles with it
    torch.set_num_threads(1)
    envs = DummyVectorEnv([make_env] * arguments.num_envs)
    envs.seed(arguments.seed)
    single = make_env()
    observer = Observer(Rules(), preview=True)
    network = PolicyNetwork(observer)
    policy = DiscreteActorPolicy(actor=Actor(network), action_space=single.action_space)
    per_update = arguments.rollout * arguments.num_envs
    steps = arguments.total_steps // per_update * per_update
    schedule = LRSchedulerFactoryLinear(1, steps, per_update)
    algorithm = PPO(
        policy=policy,
        critic=Critic(network),
        optim=AdamOptimizerFactory(lr=arguments.learning_rate).with_lr_scheduler_factory(schedule),
        gamma=1.0,
        gae_lambda=0.95,
        eps_clip=0.2,
        ent_coef=0.01,
        # The value is in points: bring its squared error to the size of the policy's loss.
        vf_coef=0.5 / RETURN_SCALE**2,
        max_grad_norm=0.5,
        max_batchsize=arguments.batch_size,
    )
    collector = Collector[CollectStats](policy, envs, VectorReplayBuffer(per_update, arguments.num_envs))
    algorithm.run_training(
        OnPolicyTrainerParams(
            training_collector=collector,
            max_epochs=1,
            epoch_num_steps=steps,
            collection_step_num_env_steps=per_update,
            batch_size=arguments.batch_size,
            update_step_num_repetitions=arguments.epochs,
            verbose=False,
            show_progress=arguments.progress,
        )
    )
    return network, measure(GreedyPolicy(network.forward_actor, observer), arguments.deals)


if __name__ == "__main__":
    main(tyro.cli(Arguments, description=__doc__))
