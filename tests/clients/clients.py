"""Programs of other libraries: the calls that their documentation makes, with the ids of this package.

A learner is started with an id and a number of steps. ``glue`` counts the lines that a user writes besides the id for
the sake of this package.
"""

from dataclasses import dataclass

FLAT = "Quincunx/SolitaireFlat-v0"
MASKED = "Quincunx/SolitaireMasked-v0"


@dataclass(frozen=True)
class Client:
    """A library, and a program that uses it.

    Attributes:
        library: its name.
        packages: distributions that the program needs, the library's own first.
        entry: what of the library runs.
        env: id of the environment, or its class.
        glue: lines that a user writes besides it.
        program: Python, executed in an empty folder.
        learns: whether the program takes an id and a number of steps as arguments, and learns for so long.
        masked: whether it knows the mask.
    """

    library: str
    packages: tuple[str, ...]
    entry: str
    env: str
    glue: int
    program: str
    learns: bool = False
    masked: bool = False

    @property
    def name(self) -> str:
        """For the ids of tests."""
        return f"{self.library}-{self.entry}".replace(" ", "")


LEARNER = """model = MaskablePPO(
    "MlpPolicy",
    envs,
    n_steps=12,
    batch_size=1024,
    n_epochs=2,
    gamma=1.0,
    gae_lambda=0.7,
    learning_rate=LinearSchedule(0.002, 0.0, 1.0),
    policy_kwargs={"net_arch": [256, 256]},
)
model.learn(steps)
assert model.num_timesteps >= steps
"""

PLAY_POLICY = """
import copy
import sys

from sb3_contrib import MaskablePPO
from stable_baselines3.common.utils import LinearSchedule
from stable_baselines3.common.vec_env import VecNormalize

from quincunx_agents.torch import QuincunxMaskablePolicy, sb3_agent
from quincunx_env.adapters import sb3

name, steps = sys.argv[1], int(sys.argv[2])


def add_snapshot(*_):
    if pool and model.num_timesteps % 51_200 == 0:
        pool.append(sb3_agent(copy.deepcopy(model.policy), codec))
        games.env_method("set_pool", pool)
    return True


pool = ["greedy"] if name == "VsOpponentsVecEnv" else []
options = {"pool": pool} if pool else {}
games = getattr(sb3, name)(256, observation="vector", preview=True, actions="hand", **options)
codec = games.get_attr("codec")[0]
envs = VecNormalize(games, norm_obs=False, gamma=1.0)
settings = {"n_steps": 12, "batch_size": 256, "n_epochs": 2, "gamma": 1.0, "gae_lambda": 0.7, "seed": 0}
settings["policy_kwargs"] = {"observer": codec.observer, "unit": 1.0}  # rewards are normalized
model = MaskablePPO(QuincunxMaskablePolicy, envs, learning_rate=LinearSchedule(0.002, 0.0, 1.0), **settings)
model.learn(steps, add_snapshot)
agent = sb3_agent(model.policy, codec)
assert model.num_timesteps >= steps
"""

MASKABLE_PPO = f"""
import sys

from gymnasium.wrappers import TransformReward
from sb3_contrib import MaskablePPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.utils import LinearSchedule

name, steps = sys.argv[1], int(sys.argv[2])
envs = make_vec_env(name, n_envs=512, wrapper_class=lambda env: TransformReward(env, lambda reward: 0.02 * reward))
{LEARNER}"""

TIANSHOU_MASKED = """
import sys

import gymnasium
from gymnasium.wrappers import TransformObservation
from tianshou.algorithm import DQN
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, CollectStats, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.trainer import OffPolicyTrainerParams
from tianshou.utils.net.common import Net

name, steps, number = sys.argv[1], int(sys.argv[2]), 8


def make():
    env = gymnasium.make(name)
    space = gymnasium.spaces.Dict(obs=env.observation_space["observation"], mask=env.observation_space["action_mask"])
    return TransformObservation(env, lambda seen: {"obs": seen["observation"], "mask": seen["action_mask"] == 1}, space)


env = make()
policy = DiscreteQLearningPolicy(
    model=Net(state_shape=env.observation_space["obs"].shape, action_shape=env.action_space.n, hidden_sizes=[256, 256]),
    action_space=env.action_space,
    observation_space=env.observation_space,
    eps_training=0.05,
)
learner = DQN(policy=policy, optim=AdamOptimizerFactory(lr=1e-3), target_update_freq=500)
collector = Collector[CollectStats](policy, DummyVectorEnv([make] * number), VectorReplayBuffer(20_000, number))
learner.run_training(
    OffPolicyTrainerParams(
        training_collector=collector,
        max_epochs=1,
        epoch_num_steps=steps,
        batch_size=64,
        verbose=False,
        collection_step_num_env_steps=80,
        update_step_num_gradient_steps_per_sample=0.1,
    )
)
"""

TORCHRL_PPO = """
import sys

import torch
from tensordict.nn import TensorDictModule
from torchrl.collectors import Collector
from torchrl.data import LazyTensorStorage, ReplayBuffer, SamplerWithoutReplacement
from torchrl.envs import ActionMask, Compose, DTypeCastTransform, GymEnv, RewardScaling, SerialEnv, TransformedEnv
from torchrl.modules import MaskedCategorical, ProbabilisticActor
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

from quincunx_env import Observer, Rules
from quincunx_agents.torch import PlayNetwork


class Network(PlayNetwork):
    def forward(self, observation):
        logits, value = super().forward(observation.flatten(0, -2))
        return logits.unflatten(0, observation.shape[:-1]), value.unflatten(0, observation.shape[:-1])[..., None]


name, steps, batch = sys.argv[1], int(sys.argv[2]), 512
env = TransformedEnv(
    SerialEnv(32, lambda: GymEnv(name, categorical_action_encoding=True)),
    Compose(
        DTypeCastTransform(torch.int8, torch.bool, in_keys=["action_mask"]), ActionMask(), RewardScaling(0.0, 0.02)
    ),
)
network = Network(Observer(Rules(), preview=True))
critic = TensorDictModule(network, in_keys=["observation"], out_keys=["_", "state_value"])
actor = ProbabilisticActor(
    TensorDictModule(network, in_keys=["observation"], out_keys=["logits", "_"]),
    in_keys={"logits": "logits", "mask": "action_mask"},
    distribution_class=MaskedCategorical,
    return_log_prob=True,
)
advantage = GAE(gamma=1.0, lmbda=0.7, value_network=critic, deactivate_vmap=True)
loss = ClipPPOLoss(actor, critic, entropy_coeff=0.0, critic_coeff=0.5, loss_critic_type="l2", normalize_advantage=True)
optimizer = torch.optim.Adam(loss.parameters(), lr=2e-3)
buffer = ReplayBuffer(storage=LazyTensorStorage(6 * batch), sampler=SamplerWithoutReplacement(), batch_size=batch)
total = max(steps // (6 * batch), 1)
for update, data in enumerate(Collector(env, actor, frames_per_batch=6 * batch, total_frames=total * 6 * batch)):
    optimizer.param_groups[0]["lr"] = 2e-3 * (1 - update / total)
    with torch.no_grad():
        advantage(data)
    buffer.empty()
    buffer.extend(data.reshape(-1))
    for part in [part for _ in range(2) for part in buffer]:
        losses = loss(part)
        optimizer.zero_grad()
        (losses["loss_objective"] + losses["loss_critic"]).backward()
        torch.nn.utils.clip_grad_norm_(loss.parameters(), 0.5)
        optimizer.step()
"""

RLLIB = """
import sys

import gymnasium
import numpy as np
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule
from ray.tune.registry import register_env

name, steps = sys.argv[1], int(sys.argv[2])


def make(config):
    env = gymnasium.make(name)
    seen, mask = env.observation_space["observation"], env.observation_space["action_mask"]
    mask = gymnasium.spaces.Box(0.0, 1.0, mask.shape, np.float32)
    env = gymnasium.wrappers.TransformObservation(
        env,
        lambda both: {"observations": both["observation"], "action_mask": both["action_mask"].astype(np.float32)},
        gymnasium.spaces.Dict(action_mask=mask, observations=seen),
    )
    return gymnasium.wrappers.TransformReward(env, lambda reward: 0.02 * reward)


register_env("masked", make)
config = PPOConfig().environment("masked").env_runners(num_env_runners=0, num_envs_per_env_runner=64)
config.rl_module(rl_module_spec=RLModuleSpec(
    ActionMaskingTorchRLModule, model_config={"head_fcnet_hiddens": [256, 256], "head_fcnet_activation": "tanh"}
))
config.training(
    gamma=1.0, lambda_=0.7, lr=[[0, 2e-3], [steps, 0.0]], train_batch_size_per_learner=6_144, minibatch_size=1_024,
    num_epochs=2, use_kl_loss=False,
)
algorithm = config.build_algo()
while algorithm.train()["num_env_steps_sampled_lifetime"] < steps:
    pass
algorithm.stop()
"""

RLLIB_PLAYERS = """
import sys

import numpy as np
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.rl_module import RLModuleSpec

from quincunx_agents.torch import NetworkPolicy
from quincunx_agents.torch.rllib_module import PlayModule
from quincunx_env import Rules
from quincunx_env.arena import Deals, compare
from quincunx_env.codec import Codec

steps, rules = int(sys.argv[2]), Rules(num_players=2)
config = PPOConfig().environment(
    "quincunx-players", env_config={"num_players": 2, "actions": "hand"}, disable_env_checking=True
)
config.env_runners(num_env_runners=0, num_envs_per_env_runner=64)
config.multi_agent(policies={"all"}, policy_mapping_fn=lambda *_, **__: "all")
config.rl_module(rl_module_spec=RLModuleSpec(PlayModule, model_config={"rules": rules}))
config.training(
    gamma=1.0, lambda_=0.7, lr=[[0, 2e-3], [steps, 0.0]], train_batch_size_per_learner=6_144, minibatch_size=512,
    num_epochs=2, use_kl_loss=False, vf_clip_param=float("inf"), vf_loss_coeff=0.0002, grad_clip=0.5,
)
algorithm = config.build_algo()
while algorithm.train()["num_env_steps_sampled_lifetime"] < steps:
    pass
network = algorithm.get_module("all").network
codec = Codec(rules, observation="vector", actions="hand", preview=True)
agent = NetworkPolicy(lambda seen: network(seen)[0], codec)
np.savetxt("scores.txt", compare([agent, "greedy"], Deals(1_000, "benchmark"), rules=rules).wins[:, 0])
algorithm.stop()
"""

RANDOM = """
import sys

import gymnasium

env = gymnasium.make(sys.argv[1])
env.action_space.seed(0)
env.reset(seed=0)
for _ in range(int(sys.argv[2])):
    if env.step(env.action_space.sample())[2]:
        env.reset()
"""

SB3 = """
import sys

import {module} as library

name, steps = sys.argv[1], int(sys.argv[2])
assert library.{algorithm}("MlpPolicy", name).learn(steps).num_timesteps >= steps
"""

ZOO = """
import runpy, sys
from pathlib import Path

package, name = sys.argv[1].split(":")
Path("quincunx.yml").write_text(f'''
{name}:
  policy: MlpPolicy
  n_timesteps: {sys.argv[2]}
''')
own = f"--algo dqn --env {name} --gym-packages {package}".split()
for module, arguments in (
    ("train", "--conf-file quincunx.yml --eval-freq -1"), ("enjoy", "-f logs -n 50 --no-render")
):
    sys.argv = [module, *own, *arguments.split()]
    runpy.run_module(f"rl_zoo3.{module}", run_name="__main__")
"""

TORCHRL = """
from torchrl.envs import GymEnv
from torchrl.envs.utils import check_env_specs

env = GymEnv("quincunx_env:Quincunx/SolitaireFlat-v0")
check_env_specs(env)
assert env.rollout(100)["next", "done"].any()
"""

TORCHRL_PLAYERS = """
from torchrl.envs import PettingZooWrapper
from torchrl.envs.utils import check_env_specs

from quincunx_env import quincunx_v0

for env in (PettingZooWrapper(quincunx_v0.env(), use_mask=True), PettingZooWrapper(quincunx_v0.parallel_env())):
    check_env_specs(env)
    assert env.rollout(100)["next", "done"].any()
"""

TIANSHOU_PLAYERS = """
import sys

from tianshou.algorithm import DQN
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.multiagent.marl import MultiAgentOffPolicyAlgorithm
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.algorithm.random import MARLRandomDiscreteMaskedOffPolicyAlgorithm
from tianshou.data import Collector, CollectStats, VectorReplayBuffer
from tianshou.env import DummyVectorEnv, PettingZooEnv
from tianshou.trainer import OffPolicyTrainerParams
from tianshou.utils.net.common import Net

from quincunx_env import quincunx_v0

steps, number = int(sys.argv[2]), 8


def make():
    return PettingZooEnv(quincunx_v0.env(preview=True, actions="hand"))


env = make()
space = env.observation_space
policy = DiscreteQLearningPolicy(
    model=Net(state_shape=space["observation"].shape, action_shape=env.action_space.n, hidden_sizes=[256, 256]),
    action_space=env.action_space,
    observation_space=space,
    eps_training=0.05,
)
learner = DQN(policy=policy, optim=AdamOptimizerFactory(lr=1e-3), target_update_freq=500)
both = MultiAgentOffPolicyAlgorithm(
    algorithms=[MARLRandomDiscreteMaskedOffPolicyAlgorithm(env.action_space), learner], env=env
)
collector = Collector[CollectStats](both, DummyVectorEnv([make] * number), VectorReplayBuffer(20_000, number))
both.run_training(
    OffPolicyTrainerParams(
        training_collector=collector,
        max_epochs=1,
        epoch_num_steps=steps,
        batch_size=64,
        verbose=False,
        collection_step_num_env_steps=80,
        update_step_num_gradient_steps_per_sample=0.1,
    )
)
"""

SKRL = """
import sys

import gymnasium
from skrl.agents.torch.dqn import DQN, DQN_CFG
from skrl.envs.wrappers.torch import wrap_env
from skrl.memories.torch import RandomMemory
from skrl.trainers.torch import SequentialTrainer
from skrl.utils.model_instantiators.torch import deterministic_model

name, steps, number = sys.argv[1], int(sys.argv[2]), 4
env = wrap_env(gymnasium.make_vec(name, num_envs=number))
network = [{"name": "net", "input": "OBSERVATIONS", "layers": [64, 64], "activations": "relu"}]
models = {
    role: deterministic_model(
        observation_space=env.observation_space, action_space=env.action_space, network=network, output="ACTIONS"
    )
    for role in ("q_network", "target_q_network")
}
agent = DQN(
    models=models, memory=RandomMemory(memory_size=20_000, num_envs=number), cfg=DQN_CFG(),
    observation_space=env.observation_space, action_space=env.action_space,
)
SequentialTrainer(env=env, agents=agent, cfg={"timesteps": steps // number, "headless": True}).train()
"""

SUPERSUIT = """
import supersuit

from quincunx_env import quincunx_v0

env = supersuit.frame_stack_v1(quincunx_v0.env(mask_in="info", illegal="next"), 2)
env.reset(seed=0)
for agent in env.agent_iter(50):
    observation, _, over, _, _ = env.last()
    env.step(None if over else env.action_space(agent).sample())
"""

SUPERSUIT_VECTOR = """
import supersuit
from stable_baselines3 import PPO

from quincunx_env import quincunx_v0

env = supersuit.pettingzoo_env_to_vec_env_v1(quincunx_v0.parallel_env(mask_in="info", illegal="next"))
env = supersuit.concat_vec_envs_v1(env, 4, num_cpus=1, base_class="stable_baselines3")
assert PPO("MlpPolicy", env, n_steps=64).learn(512).num_timesteps >= 512
"""

SPIEL = """
import subprocess, sys

program = '''
import runpy, sys
import quincunx_env.adapters.openspiel
del sys.argv[0]
runpy.run_module(f"open_spiel.python.examples.{sys.argv[0]}", run_name="__main__")
'''
for words in ("cfr_example --iterations=1", "mccfr_example --iterations=20", "playthrough"):
    command = [sys.executable, "-c", program, *words.split(), "--game=python_quincunx_mini"]
    subprocess.run(command, check=True)
"""

SHIMMY = """
import quincunx_env.adapters.openspiel
from shimmy import OpenSpielCompatibilityV0

for options in ({"game_name": "python_quincunx_mini"}, {"game_name": "python_spiral", "config": {"deals": 1}}):
    env = OpenSpielCompatibilityV0(render_mode=None, **options)
    env.reset(seed=0)
    for agent in env.agent_iter(100):
        _, _, over, _, info = env.last()
        env.step(None if over else env.action_space(agent).sample(info["action_mask"]))
    assert not env.agents
"""

AGILERL = """
import sys

from agilerl.algorithms import {algorithm}
from agilerl.components.replay_buffer import ReplayBuffer
from agilerl.training.train_{kind}_policy import train_{kind}_policy
from agilerl.utils.utils import make_vect_envs

name, steps = sys.argv[1], int(sys.argv[2])
env = make_vect_envs(name, num_envs=4, should_async_vector=False{options})
agents = [{algorithm}(env.single_observation_space, env.single_action_space{agent})]
sizes = dict(max_steps=steps, evo_steps=steps, eval_steps=20, verbose=False)
train_{kind}_policy(env, name, "{algorithm}", agents, {memory}**sizes)
assert agents[0].steps[-1] >= steps if isinstance(agents[0].steps, list) else agents[0].steps >= steps
"""

CLIENTS = (
    Client(
        *("sb3-contrib", ("sb3_contrib", "safetensors"), "MaskablePPO, the program above"),
        *("SolitaireVecEnv", 2, PLAY_POLICY),
        masked=True,
    ),
    Client(
        *("sb3-contrib", ("sb3_contrib",), "MaskablePPO, by id", FLAT, 0, MASKABLE_PPO),
        learns=True,
        masked=True,
    ),
    Client(
        *("sb3-contrib", ("sb3_contrib",), "MaskablePPO", FLAT, 0),
        SB3.format(module="sb3_contrib", algorithm="MaskablePPO"),
        learns=True,
        masked=True,
    ),
    Client("TorchRL", ("torchrl",), "PPO, MaskedCategorical", MASKED, 8, TORCHRL_PPO, learns=True, masked=True),
    Client("Ray RLlib", ("ray",), "PPO, ActionMaskingTorchRLModule", MASKED, 7, RLLIB, learns=True, masked=True),
    Client(
        *("Ray RLlib", ("ray",), "PPO in self-play, PlayNetwork", "quincunx-players", 1, RLLIB_PLAYERS),
        learns=True,
        masked=True,
    ),
    Client("Tianshou", ("tianshou",), "DQN", MASKED, 2, TIANSHOU_MASKED, learns=True, masked=True),
    Client(
        *("AgileRL", ("agilerl",), "DQN", FLAT, 0),
        AGILERL.format(
            algorithm="DQN", kind="off", options=', illegal="raise"', agent="", memory="ReplayBuffer(max_size=20_000), "
        ),
        learns=True,
        masked=True,
    ),
    Client(
        *("stable-baselines3", ("stable_baselines3",), "PPO, by id", FLAT, 0),
        MASKABLE_PPO.replace("sb3_contrib", "stable_baselines3").replace("MaskablePPO", "PPO"),
        learns=True,
    ),
    Client("Gymnasium", ("gymnasium",), "uniformly random actions", FLAT, 0, RANDOM, learns=True),
    *(
        Client(library, (package,), algorithm, FLAT, 0, SB3.format(module=module, algorithm=algorithm), learns=True)
        for library, package, module, algorithms in (
            ("stable-baselines3", "stable_baselines3", "stable_baselines3", ("PPO", "A2C", "DQN")),
            ("sbx", "sbx-rl", "sbx", ("PPO", "DQN")),
        )
        for algorithm in algorithms
    ),
    Client("RL Zoo", ("rl_zoo3",), "train, enjoy: DQN", FLAT, 3, ZOO, learns=True),
    Client("TorchRL", ("torchrl",), "GymEnv, check_env_specs", FLAT, 0, TORCHRL),
    Client("TorchRL", ("torchrl",), "PettingZooWrapper, check_env_specs", "quincunx_v0", 1, TORCHRL_PLAYERS),
    Client(
        *("Tianshou", ("tianshou",), "PettingZooEnv, DQN among random players", "quincunx_v0", 1, TIANSHOU_PLAYERS),
        learns=True,
        masked=True,
    ),
    Client("skrl", ("skrl",), "wrap_env of a vector environment, DQN", FLAT, 0, SKRL, learns=True),
    Client("SuperSuit", ("supersuit",), "frame_stack_v1", "quincunx_v0", 1, SUPERSUIT),
    Client(
        *("SuperSuit", ("supersuit", "stable_baselines3"), "pettingzoo_env_to_vec_env_v1, PPO of stable-baselines3"),
        *("quincunx_v0.parallel_env", 1, SUPERSUIT_VECTOR),
    ),
    Client("OpenSpiel", ("open_spiel",), "cfr, mccfr, playthrough", "python_quincunx_mini", 1, SPIEL),
    Client("Shimmy", ("shimmy", "open_spiel"), "OpenSpielCompatibilityV0", "python_quincunx_mini", 1, SHIMMY),
    Client(
        *("AgileRL", ("agilerl",), "PPO", FLAT, 0),
        AGILERL.format(algorithm="PPO", kind="on", options="", agent=", num_envs=4", memory=""),
        learns=True,
    ),
)
