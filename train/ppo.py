"""Train an agent with MaskablePPO (stable-baselines3, sb3-contrib) on many games at once.

    make train-ppo                                     # the default run, in a virtual environment made for it
    python -m train.ppo --name mine --seed 1           # the same in an environment with the [train] extra
    python -m train.ppo --resume                       # continue after an interruption
    python -m train.ppo --policy mlp --no-preview      # an MLP on observations without the preview
    python -m train.ppo --help                         # every flag

A run writes to ``runs/<name>``: the model ``model.zip``, and the options of its environment, ``model.json``. At the end
it writes ``<name>.json`` and ``results.md`` with results, ``learning_curve.png`` and ``games/``. The model is a policy:
``quincunx evaluate runs/mine/model.zip --trust``. Loading it unpickles it: trust only your own. Evaluations during
training use ``validation`` deals, the final figures ``benchmark`` deals, which nothing else uses.
"""

import copy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import tyro

from quincunx_env.utils.errors import requires_extra

with requires_extra("train"):
    import torch
    from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import configure
from torch.optim.swa_utils import AveragedModel

from quincunx_agents.torch import QuincunxMaskablePolicy, sb3_agent
from quincunx_agents.torch.play_network import RETURN_SCALE
from quincunx_env.adapters.sb3 import SolitaireVecEnv, save
from quincunx_env.core.policy import Policy
from quincunx_env.policies import PolicyFile
from quincunx_env.quincunx.rules import Rules
from train.common.options import (
    DEALS_APART,
    BatchSize,
    Count,
    EmbeddedRules,
    OptionError,
    PositiveOrZero,
    PPOOptions,
    RunName,
    RunOptions,
    Share,
    run_script,
)
from train.common.run import Run, variant_name


@dataclass
class Arguments(PPOOptions, RunOptions):
    """Every option of a run."""

    name: RunName = "ppo"
    """the run's folder below ``runs``; an earlier run of that name is renamed"""
    total_steps: Count = 1_500_000
    """environment steps of all games; the learning rate falls to 0 over them: a finished run cannot be made longer"""

    # The other scripts of PPO keep the defaults of `PPOOptions`, with which their results were measured.
    rollout: Count = 6
    """steps of each game between two updates"""
    batch_size: BatchSize = 512
    """steps in a minibatch"""
    learning_rate: PositiveOrZero = 1.5e-3
    """learning rate of Adam at the start; it falls linearly to 0"""
    averaging: Share = 0.2
    """share of the updates so far over which a moving average of the weights is the result; 0: the latest weights"""

    rules: EmbeddedRules = field(default_factory=Rules)
    preview: bool = True
    """observe the points and draws of every legal action"""
    policy: Literal["quincunx", "mlp"] = "quincunx"
    """quincunx: QuincunxMaskablePolicy, which needs the preview; mlp: stable-baselines3's MlpPolicy"""
    num_envs: Count = 512
    """games side by side"""
    against: tyro.conf.Suppress[tyro.conf.Fixed[str]] = "heuristic"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.name == "model":
            raise OptionError("--name model: model.json holds the options of the environment, choose another name")
        if self.rules.num_players > 1:
            raise OptionError(
                f"--num-players {self.rules.num_players}: train.ppo learns the solitaire; train.td_lambda and "
                "train.recipes.self_play learn games of several players"
            )
        if self.policy == "quincunx" and not self.preview:
            raise ValueError("--policy quincunx needs the preview: leave out --no-preview, or use --policy mlp")
        if self.num_envs * self.rollout % self.batch_size == 1:
            raise ValueError(
                f"--batch-size {self.batch_size} leaves a minibatch of a single step of the {self.num_envs} x "
                f"{self.rollout} of a rollout, whose advantage cannot be normalized: choose another"
            )

    @property
    def weights(self) -> Path:
        """The file of the model."""
        return self.folder / "model.zip"


def main(arguments: Arguments) -> dict[str, Any]:
    """Train, evaluate, and write everything to ``runs/<name>``; returns the results."""
    learner = Learner(arguments)
    variants = {variant_name(arguments.rules): arguments.rules}
    run = Run("train.ppo", arguments, learner, variants, arguments.total_steps)
    with run.begun():
        model = learner.model
        model.set_logger(configure(str(arguments.folder / "tensorboard"), ["tensorboard"]))
        if not run.finished:
            callback = Recorder(run, learner)
            model.learn(arguments.total_steps - run.done, callback=callback, reset_num_timesteps=run.saved is None)
        return run.report(PolicyFile(str(arguments.weights), trust=True))


# --- The model -------------------------------------------------------------------------------------------------------


def make_env(arguments: Arguments) -> SolitaireVecEnv:
    """Return the games."""
    options: dict[str, Any] = {"observation": "vector", "preview": arguments.preview, "rules": arguments.rules}
    return SolitaireVecEnv(arguments.num_envs, actions="hand" if arguments.policy == "quincunx" else "joint", **options)


def make_model(arguments: Arguments, env: SolitaireVecEnv) -> MaskablePPO:
    """Return MaskablePPO with the chosen network."""
    own = arguments.policy == "quincunx"
    return MaskablePPO(
        QuincunxMaskablePolicy if own else "MlpPolicy",
        env,
        policy_kwargs={"observer": env.envs.observer} if own else {"net_arch": [256, 256]},
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


# --- During training -------------------------------------------------------------------------------------------------


class Learner:
    """MaskablePPO, its games, and the moving average of its weights.

    Args:
        arguments: of the run.

    Attributes:
        averaged: moving average of the policy's weights over the updates (Polyak & Juditsky, SIAM J. Control Optim. 30,
            1992): the result.
    """

    def __init__(self, arguments: Arguments) -> None:
        torch.set_num_threads(arguments.threads)
        self.env = make_env(arguments)
        self.model = make_model(arguments, self.env)
        self.env.seed(DEALS_APART * arguments.seed)
        self.averaged = AveragedModel(
            self.model.policy,
            avg_fn=lambda average, latest, number: average + (latest - average) / (1 + arguments.averaging * number),
        )

    def agent(self) -> Policy:
        """Return the greedy agent of the averaged weights."""
        policy = self.averaged.module
        assert isinstance(policy, MaskableActorCriticPolicy)
        return sb3_agent(policy, self.env.envs.codec)

    def write_weights(self, path: Path) -> None:
        """Write the model with averaged weights, and its environment's options."""
        policy, latest = self.model.policy, copy.deepcopy(self.model.policy.state_dict())
        policy.load_state_dict(self.averaged.module.state_dict())
        save(self.model, path)
        policy.load_state_dict(latest)

    def get_state(self) -> dict[str, Any]:
        """Return what a checkpoint keeps."""
        model = self.model
        name, keys, position, has_gauss, gauss = np.random.get_state(legacy=True)  # noqa: NPY002  stable-baselines3 shuffles with it
        # PyTorch has no tensors of text, which the rules are.
        environment = {
            name: torch.from_numpy(array) if array.ndim else array.item()
            for name, array in self.env.get_state().items()
        }
        return {
            "steps": model.num_timesteps,
            "updates": model._n_updates,
            "policy": model.policy.state_dict(),
            "averaged": self.averaged.state_dict(),
            "optimizer": model.policy.optimizer.state_dict(),
            "environment": environment,
            "torch": torch.get_rng_state(),
            "numpy": [name, torch.from_numpy(np.asarray(keys)), position, has_gauss, gauss],
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Restore what `get_state` returned."""
        model = self.model
        model.policy.load_state_dict(state["policy"])
        self.averaged.load_state_dict(state["averaged"])
        model.policy.optimizer.load_state_dict(state["optimizer"])
        environment = {name: np.asarray(value) for name, value in state["environment"].items()}
        observation = self.env.set_state(environment)
        name, keys, *rest = state["numpy"]
        model.num_timesteps, model._n_updates = state["steps"], state["updates"]
        np.random.set_state((name, keys.numpy(), *rest))  # noqa: NPY002
        torch.set_rng_state(state["torch"])
        assert not isinstance(observation, tuple)
        model._last_obs = observation
        model._last_episode_starts = environment["episode_steps"] == 0


class Recorder(BaseCallback):
    """Moving average of the weights, and records of the run.

    They are made between an update and the next rollout. The state of model, games and generators is consistent then.

    Args:
        run: the run.
        learner: learns.
    """

    def __init__(self, run: Run, learner: Learner) -> None:
        super().__init__()
        self.run = run
        self.learner = learner

    def _on_rollout_start(self) -> None:
        if self.num_timesteps != self.run.saved:  # a resumed run has averaged these weights
            self._update()

    def _update(self) -> None:
        self.learner.averaged.update_parameters(self.learner.model.policy)
        self.run.timer.add("training")
        self.run.record()

    def _on_step(self) -> bool:
        games = self.training_env.num_envs
        self.run.advance(games, games)
        return True

    def _on_training_end(self) -> None:
        self._update()


if __name__ == "__main__":
    run_script(main, Arguments, "train.ppo", __doc__)
