"""Masked PPO with TorchRL.

    python -m train.recipes.torchrl_ppo

TorchRL resets environments itself: ``GymWrapper`` takes the vector environment in autoreset mode ``DISABLED``. An info
reader copies the mask into the tensordict, and `ActionMask` updates the action spec with it. `MaskedCategorical` is the
distribution, in collection as well as in the loss.
"""

from typing import Any

import gymnasium
from gymnasium.vector import AutoresetMode

from quincunx_env.utils.errors import requires_extra

with requires_extra("recipes"):
    import torchrl  # noqa: F401
import torch
from tensordict import TensorDictBase
from tensordict.nn import TensorDictModule
from torch import Tensor, nn
from torchrl.collectors import Collector
from torchrl.data import Binary, Composite, LazyTensorStorage, ReplayBuffer, SamplerWithoutReplacement
from torchrl.envs import ActionMask, EnvBase, ExplorationType, GymWrapper, TransformedEnv
from torchrl.envs.gym_like import BaseInfoDictReader
from torchrl.modules import MaskedCategorical, ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE
from tqdm import tqdm

from quincunx_agents.torch import GreedyPolicy, PolicyNetwork
from quincunx_agents.torch.networks import RETURN_SCALE
from quincunx_env import Observer, Rules
from quincunx_env.arena import Evaluation
from train.common.options import run_script
from train.recipes.measure import RecipeOptions as Arguments
from train.recipes.measure import measure


class ReadMask(BaseInfoDictReader):  # type: ignore[misc]  # TorchRL comes without types
    """Info reader that copies the mask into the tensordict. It is bool there, as `MaskedCategorical` requires."""

    def __init__(self, num_envs: int, num_actions: int) -> None:
        self.spec = Composite(action_mask=Binary(shape=(num_envs, num_actions), dtype=torch.bool), shape=(num_envs,))

    @property
    def info_spec(self) -> Composite:
        """Spec of the copied entries."""
        return self.spec

    def __call__(self, info_dict: dict[str, Any], tensordict: TensorDictBase) -> TensorDictBase:
        """Copy the mask."""
        return tensordict.set("action_mask", torch.from_numpy(info_dict["action_mask"]).bool())


def make_env(num_envs: int) -> EnvBase:
    """Make an environment whose tensordicts hold ``observation`` and ``action_mask``."""
    envs = gymnasium.make_vec(
        "Quincunx/Solitaire-v0",
        num_envs=num_envs,
        observation="flat",
        preview=True,
        autoreset_mode=AutoresetMode.DISABLED,
    )
    env = GymWrapper(envs, categorical_action_encoding=True)
    env.set_info_dict_reader(ReadMask(num_envs, Rules().num_actions))
    return TransformedEnv(env, ActionMask())


class Actor(nn.Module):
    """Actor: the logits of `PolicyNetwork`."""

    def __init__(self, network: PolicyNetwork) -> None:
        super().__init__()
        self.network = network

    def forward(self, observation: Tensor) -> Tensor:
        """Map observations [..., size] to logits [..., actions]."""
        return self.network.forward_actor(observation.flatten(0, -2).float()).view(*observation.shape[:-1], -1)


class Critic(Actor):
    """Critic: the values of `PolicyNetwork`."""

    def forward(self, observation: Tensor) -> Tensor:
        """Map observations [..., size] to values [..., 1]."""
        return self.network.forward_critic(observation.flatten(0, -2).float()).view(*observation.shape[:-1], 1)


def main(arguments: Arguments) -> tuple[PolicyNetwork, Evaluation]:
    """Train; returns the network and its evaluation on validation deals."""
    torch.manual_seed(arguments.seed)
    torch.set_num_threads(1)
    env = make_env(arguments.num_envs)
    env.set_seed(arguments.seed)
    observer = Observer(Rules(), preview=True)
    network = PolicyNetwork(observer)
    actor = ProbabilisticActor(
        TensorDictModule(Actor(network), in_keys=["observation"], out_keys=["logits"]),
        in_keys={"logits": "logits", "mask": "action_mask"},
        spec=env.action_spec_unbatched,
        distribution_class=MaskedCategorical,
        default_interaction_type=ExplorationType.RANDOM,
        return_log_prob=True,
    )
    critic = ValueOperator(Critic(network), in_keys=["observation"])
    # vmap cannot batch the choice of the empty cells in `PolicyNetwork`.
    advantage = GAE(gamma=arguments.gamma, lmbda=arguments.gae_lambda, value_network=critic, deactivate_vmap=True)
    loss = ClipPPOLoss(
        actor,
        critic,
        clip_epsilon=arguments.clip_range,
        entropy_coeff=arguments.entropy,
        # Values are in points: scale their squared error to the size of the policy loss.
        critic_coeff=0.5 / RETURN_SCALE**2,
        loss_critic_type="l2",
        normalize_advantage=True,
    )
    optimizer = torch.optim.Adam(network.parameters(), lr=arguments.learning_rate)
    per_update = arguments.rollout * arguments.num_envs
    updates = arguments.total_steps // per_update
    collector = Collector(
        env,
        actor,
        frames_per_batch=per_update,
        total_frames=updates * per_update,
        auto_register_policy_transforms=False,  # the policy is not recurrent
    )
    buffer = ReplayBuffer(
        storage=LazyTensorStorage(per_update), sampler=SamplerWithoutReplacement(), batch_size=arguments.batch_size
    )
    bar = tqdm(total=updates, disable=not arguments.progress, unit="update")
    for update, data in enumerate(collector):
        optimizer.param_groups[0]["lr"] = arguments.learning_rate * (1 - update / updates)
        with torch.no_grad():
            advantage(data)
        buffer.empty()
        buffer.extend(data.reshape(-1))
        for _ in range(arguments.epochs):
            for batch in buffer:
                losses = loss(batch)
                optimizer.zero_grad()
                (losses["loss_objective"] + losses["loss_critic"] + losses["loss_entropy"]).backward()
                nn.utils.clip_grad_norm_(network.parameters(), 0.5)
                optimizer.step()
        bar.update()
    bar.close()
    collector.shutdown()
    return network, measure(GreedyPolicy(network.forward_actor, observer), arguments.deals)


if __name__ == "__main__":
    run_script(main, Arguments, "train.recipes.torchrl_ppo", __doc__)
