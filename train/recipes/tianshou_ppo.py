"""Masked PPO with Tianshou.

    python -m train.recipes.tianshou_ppo

Tianshou supports observations that are dictionaries of ``obs`` and ``mask``. Its Q-learning policies apply the mask;
its actor policies, PPO's among them, ignore it, so that the actor must apply it.
"""

from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from quincunx_env.utils.errors import requires_extra

with requires_extra("recipes"):
    import tianshou  # noqa: F401
import torch
from tianshou.algorithm.modelfree.ppo import PPO
from tianshou.algorithm.modelfree.reinforce import DiscreteActorPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory, LRSchedulerFactoryLinear
from tianshou.data import Batch, Collector, CollectStats, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.trainer import OnPolicyTrainerParams
from tianshou.utils.net.common import ActionReprNet
from torch import Tensor, nn

from quincunx_agents.torch import GreedyPolicy, PolicyNetwork
from quincunx_agents.torch.networks import RETURN_SCALE
from quincunx_env import Observer, Rules
from quincunx_env.arena import Evaluation
from train.common.options import Count, run_script
from train.recipes.measure import RecipeOptions, measure


@dataclass
class Arguments(RecipeOptions):
    """Every option of a run."""

    total_steps: Count = 200_000
    """environment steps of all games together"""
    num_envs: Count = 128
    """games side by side"""
    rollout: Count = 96
    """steps of each game between two updates"""


class MaskInObservation(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Observations as dictionaries of ``obs`` and ``mask`` (bool, True = legal)."""

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        super().__init__(env)
        assert isinstance(env.action_space, spaces.Discrete)
        mask = spaces.MultiBinary(int(env.action_space.n))
        self.observation_space = spaces.Dict({"obs": env.observation_space, "mask": mask})

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        """Reset the environment; the mask moves from the info into the observation."""
        observation, info = self.env.reset(**options)
        return {"obs": observation, "mask": info.pop("action_mask").view(np.bool_)}, {}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Step the environment. Infos are empty, because the buffer stores all of them."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        return {"obs": observation, "mask": info.pop("action_mask").view(np.bool_)}, reward, terminated, truncated, {}


def make_env() -> MaskInObservation:
    """Make an environment for one game."""
    return MaskInObservation(gymnasium.make("Quincunx/Solitaire-v0", observation="flat", preview=True))


class Actor(ActionReprNet[Any]):
    """Actor: the logits of `PolicyNetwork`, very low for illegal actions."""

    def __init__(self, network: PolicyNetwork) -> None:
        super().__init__()
        self.network = network

    def forward(self, obs: Any, state: Any = None, info: Any = None) -> tuple[Tensor, Any]:
        """Map a batch of ``obs`` and ``mask`` to logits [B, actions]."""
        logits = self.network.forward_actor(torch.as_tensor(obs.obs, dtype=torch.float32))
        return logits.masked_fill(~torch.as_tensor(obs.mask), -1e8), state


class Critic(nn.Module):
    """Critic: the values of `PolicyNetwork`."""

    def __init__(self, network: PolicyNetwork) -> None:
        super().__init__()
        self.network = network

    def forward(self, obs: Batch) -> Tensor:
        """Map a batch of ``obs`` and ``mask`` to values [B, 1]."""
        return self.network.forward_critic(torch.as_tensor(obs.obs, dtype=torch.float32))


def main(arguments: Arguments) -> tuple[PolicyNetwork, Evaluation]:
    """Train; returns the network and its evaluation on validation deals."""
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
        gamma=arguments.gamma,
        gae_lambda=arguments.gae_lambda,
        eps_clip=arguments.clip_range,
        ent_coef=arguments.entropy,
        # Values are in points: scale their squared error to the size of the policy loss.
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
    run_script(main, Arguments, "train.recipes.tianshou_ppo", __doc__)
