"""Programs of other libraries: the calls that their documentation makes, with the ids of this package.

``glue`` counts the lines that a user writes besides the id for the sake of this package.
"""

from dataclasses import dataclass

FLAT = "Quincunx/SolitaireFlat-v0"


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
    """

    library: str
    packages: tuple[str, ...]
    entry: str
    env: str
    glue: int
    program: str

    @property
    def name(self) -> str:
        """For the ids of tests."""
        return f"{self.library}-{self.entry}".replace(" ", "")


SB3 = """
import {module} as library

for name, options in {options}.items():
    model = getattr(library, name)("MlpPolicy", "quincunx_env:Quincunx/SolitaireFlat-v0", **options)
    assert model.learn(128).num_timesteps >= 128
"""

ZOO = """
import runpy, sys
from pathlib import Path

Path("quincunx.yml").write_text('''
Quincunx/SolitaireFlat-v0:
  policy: MlpPolicy
  n_envs: 8
  n_timesteps: 300000
''')
own = "--algo ppo --env Quincunx/SolitaireFlat-v0 --gym-packages quincunx_env".split()
small = "--conf-file quincunx.yml -n 512 --eval-freq -1 -params n_steps:32 batch_size:64".split()
for module, arguments in (("train", small), ("enjoy", ["-f", "logs", "-n", "50", "--no-render"])):
    sys.argv = [module, *own, *arguments]
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

check_env_specs(PettingZooWrapper(quincunx_v0.env(observation="float32"), use_mask=True))
"""

TIANSHOU = """
from tianshou.highlevel.config import OffPolicyTrainingConfig
from tianshou.highlevel.env import EnvFactoryRegistered, VectorEnvType
from tianshou.highlevel.experiment import DQNExperimentBuilder, ExperimentConfig

envs = EnvFactoryRegistered(task="quincunx_env:Quincunx/SolitaireFlat-v0", venv_type=VectorEnvType.DUMMY)
sizes = {name: 2 for name in ("num_training_envs", "num_test_envs")}
training = OffPolicyTrainingConfig(
    max_epochs=1, epoch_num_steps=64, batch_size=16, buffer_size=256, start_timesteps=32, **sizes
)
DQNExperimentBuilder(envs, ExperimentConfig(persistence_enabled=False, watch=False), training).build().run()
"""

TIANSHOU_PLAYERS = """
import numpy as np
import torch
from tianshou.algorithm import DQN
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.multiagent.marl import MultiAgentOffPolicyAlgorithm
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, CollectStats, VectorReplayBuffer
from tianshou.env import DummyVectorEnv, PettingZooEnv
from tianshou.utils.net.common import Net

from quincunx_env import quincunx_v0


def make():
    return PettingZooEnv(quincunx_v0.env(observation="float32"))


env = make()
space = env.observation_space
shape = (space["observation"] if hasattr(space, "spaces") else space).shape


def learner():
    net = Net(state_shape=shape, action_shape=env.action_space.n, hidden_sizes=[32])
    policy = DiscreteQLearningPolicy(
        model=net, action_space=env.action_space, eps_training=0.1, observation_space=space
    )
    return DQN(policy=policy, optim=AdamOptimizerFactory(lr=1e-3), target_update_freq=10)


both = MultiAgentOffPolicyAlgorithm(algorithms=[learner(), learner()], env=env)
collector = Collector[CollectStats](both, DummyVectorEnv([make, make]), VectorReplayBuffer(512, 2))
collector.reset()
assert collector.collect(n_step=80).n_collected_steps >= 80
"""

SKRL = """
import gymnasium
import torch
from skrl.envs.wrappers.torch import wrap_env

env = wrap_env(gymnasium.make_vec("quincunx_env:Quincunx/SolitaireFlat-v0", num_envs=4))
observation, _ = env.reset()
assert observation.shape == (4, env.observation_space.shape[0])
for _ in range(30):
    actions = torch.randint(env.action_space.n, (4, 1))
    observation, reward, terminated, truncated, _ = env.step(actions)
"""

SUPERSUIT = """
import supersuit

from quincunx_env import quincunx_v0

env = supersuit.frame_stack_v1(quincunx_v0.env(observation="float32", mask_in="info", illegal="next"), 2)
env.reset(seed=0)
for agent in env.agent_iter(50):
    observation, _, over, _, _ = env.last()
    env.step(None if over else env.action_space(agent).sample())
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
from agilerl.algorithms import DQN, PPO
from agilerl.components.replay_buffer import ReplayBuffer
from agilerl.training.train_off_policy import train_off_policy
from agilerl.training.train_on_policy import train_on_policy
from agilerl.utils.utils import make_vect_envs

name = "quincunx_env:Quincunx/SolitaireFlat-v0"
sizes = {"max_steps": 256, "evo_steps": 128, "eval_steps": 20, "verbose": False}


def make(algorithm, illegal, **options):
    env = make_vect_envs(name, num_envs=2, should_async_vector=False, illegal=illegal)
    return env, [algorithm(env.single_observation_space, env.single_action_space, batch_size=16, **options)]


env, agents = make(DQN, "raise")  # it reads the masks
train_off_policy(env, name, "DQN", agents, ReplayBuffer(max_size=256), **sizes)
assert agents[0].steps >= 256
env, agents = make(PPO, "next", num_envs=2, learn_step=64)
train_on_policy(env, name, "PPO", agents, **sizes)
assert agents[0].steps >= 256
"""

CLIENTS = (
    Client(
        *("stable-baselines3", ("stable_baselines3",), "PPO, A2C, DQN", FLAT, 0),
        SB3.format(
            module="stable_baselines3",
            options={"PPO": {"n_steps": 32, "batch_size": 32}, "A2C": {}, "DQN": {"learning_starts": 32}},
        ),
    ),
    Client(
        *("sbx", ("sbx-rl",), "PPO, DQN", FLAT, 0),
        SB3.format(module="sbx", options={"PPO": {"n_steps": 32, "batch_size": 32}, "DQN": {"learning_starts": 32}}),
    ),
    Client("RL Zoo", ("rl_zoo3",), "train, enjoy", FLAT, 4, ZOO),
    Client("TorchRL", ("torchrl",), "GymEnv, check_env_specs", FLAT, 0, TORCHRL),
    Client("TorchRL", ("torchrl",), "PettingZooWrapper, check_env_specs", "quincunx_v0", 1, TORCHRL_PLAYERS),
    Client("Tianshou", ("tianshou",), "DQNExperimentBuilder", FLAT, 0, TIANSHOU),
    Client("Tianshou", ("tianshou",), "PettingZooEnv, DQN", "quincunx_v0", 1, TIANSHOU_PLAYERS),
    Client("skrl", ("skrl",), "wrap_env of a vector environment", FLAT, 0, SKRL),
    Client("SuperSuit", ("supersuit",), "frame_stack_v1", "quincunx_v0", 1, SUPERSUIT),
    Client("OpenSpiel", ("open_spiel",), "cfr, mccfr, playthrough", "python_quincunx_mini", 1, SPIEL),
    Client("Shimmy", ("shimmy", "open_spiel"), "OpenSpielCompatibilityV0", "python_quincunx_mini", 1, SHIMMY),
    Client("AgileRL", ("agilerl",), "DQN with masks, PPO", FLAT, 0, AGILERL),
)
