"""Train an agent for the solitaire with MaskablePPO (stable-baselines3, sb3-contrib) on many games at once.

    make train                                         # the default run, in a virtual environment of its own
    python -m train.ppo --name mine --seed 1           # the same in an environment with the [train] extra
    python -m train.ppo --resume                       # continue after an interruption
    python -m train.ppo --policy mlp --no-preview      # an MLP on observations without the preview
    python -m train.ppo --help                         # every flag

A run writes to ``runs/<name>``: ``checkpoint.pt``, from which an interrupted run continues exactly, ``tensorboard/``,
and at the end ``evaluation.json``, ``<name>.json`` and a model card, ``README.md``, ``learning_curve.png``,
``<name>.safetensors`` for ``quincunx_agents.load``, and ``model.zip`` for ``MaskablePPO.load``, which unpickles it:
load only what you trust. Evaluations during training use ``validation`` deals, the final table ``benchmark`` deals,
which nothing else uses.
"""

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from quincunx_env.utils.errors import requires_extra

with requires_extra("train"):
    import torch
    from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import configure
from torch import nn
from torch.optim.swa_utils import AveragedModel
from tqdm.auto import tqdm

from quincunx_agents.networks.policy import save_weights
from quincunx_agents.torch import GreedyPolicy, PolicyNetwork, QuincunxMaskablePolicy, SB3PolicyAgent
from quincunx_agents.torch.networks import RETURN_SCALE
from quincunx_env.adapters.sb3 import SolitaireVecEnv
from quincunx_env.arena import Agent, Evaluation, evaluate, table
from quincunx_env.core.observation import Observer
from quincunx_env.core.policy import Policy
from quincunx_env.quincunx.rules import Rules
from quincunx_env.utils.files import write_atomically
from train.common import checkpoint
from train.common.evaluation import provenance, with_baselines, write_json
from train.common.model_card import facts_of_evaluation, write_model_card
from train.common.options import (
    BatchSize,
    Count,
    EmbeddedRules,
    Finite,
    NumDeals,
    PositiveOrZero,
    PPOOptions,
    RunName,
    RunOptions,
    Share,
    run_script,
)
from train.common.plots import Curve, draw_learning_curves


@dataclass
class Arguments(PPOOptions, RunOptions):
    """Every option of a run."""

    name: RunName = "solitaire"
    """the run's folder below ``runs``; an earlier run of that name is renamed"""
    total_steps: Count = 1_500_000
    """environment steps of all games together"""

    # The other scripts of PPO keep the defaults of `PPOOptions`, with which their results were measured.
    rollout: Count = 6
    """steps of each game between two updates"""
    batch_size: BatchSize = 512
    """steps in a minibatch"""
    learning_rate: PositiveOrZero = 2.5e-3
    """of Adam at the start; it falls linearly to 0"""
    averaging: Share = 0.2
    """share of the updates so far over which a moving average of the weights is the result; 0: the latest weights"""

    rules: EmbeddedRules = field(default_factory=Rules)
    lost_value: Finite = 0.0
    """score that counts for a lost round"""
    preview: bool = True
    """observe the points and draws of every legal action"""
    policy: Literal["quincunx", "mlp"] = "quincunx"
    """quincunx: QuincunxMaskablePolicy, which needs the preview; mlp: stable-baselines3's MlpPolicy"""
    num_envs: Count = 512
    """games side by side"""

    eval_every: Count = 100_000
    """steps between evaluations"""
    eval_deals: NumDeals = 1000
    """validation deals of an evaluation"""
    checkpoint_every: Count = 50_000
    """steps between checkpoints"""
    test_deals: NumDeals = 1000
    """benchmark deals of the final table"""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rules.num_players > 1:
            raise ValueError(
                "--num-players: this script trains the solitaire; several players: train.selfplay, train.rllib"
            )
        if self.policy == "quincunx" and not self.preview:
            raise ValueError("--policy quincunx needs the preview: leave out --no-preview, or use --policy mlp")
        if self.num_envs * self.rollout % self.batch_size == 1:
            raise ValueError(
                f"--batch-size {self.batch_size} leaves a minibatch of a single step of the {self.num_envs} x "
                f"{self.rollout} of a rollout, whose advantage cannot be normalized: choose another"
            )


MAY_CHANGE = ("resume", "total_steps", "eval_every", "eval_deals", "checkpoint_every", "test_deals", "progress")
"""Arguments that may differ when a run is resumed."""

EvaluationRecord = tuple[int, float, float, float, float]
"""Steps; mean, lower and upper end of its interval, share of lost rounds on the validation deals."""


@checkpoint.unlocks_runs()
def main(arguments: Arguments) -> dict[str, Evaluation]:
    """Train, evaluate, and write everything to ``runs/<name>``; returns the evaluations of the final table."""
    folder = arguments.folder
    content = checkpoint.load(folder / "checkpoint.pt") if arguments.resume else None
    checkpoint.begin_run(folder, arguments.resume)

    torch.set_num_threads(arguments.threads)
    env = SolitaireVecEnv(
        arguments.num_envs,
        observation="flat",
        preview=arguments.preview,
        lost_value=arguments.lost_value,
        rules=arguments.rules,
    )
    model = make_model(arguments, env)
    model.set_logger(configure(str(folder / "tensorboard"), ["tensorboard"]))
    recorder = Recorder(arguments, folder, model, env.envs.observer)
    if content is not None:
        restore(arguments, model, env, recorder, content)

    if model.num_timesteps < arguments.total_steps:
        remaining = arguments.total_steps - model.num_timesteps
        total, done = arguments.total_steps, model.num_timesteps
        with tqdm(total=total, initial=done, unit="step", disable=not arguments.progress) as recorder.bar:
            model.learn(remaining, callback=recorder, reset_num_timesteps=content is None)
        recorder.save()
    model.policy.load_state_dict(recorder.averaged.module.state_dict())
    return report(arguments, folder, recorder, model)


# --- The model -------------------------------------------------------------------------------------------------------


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


def agent_of(policy: nn.Module, observer: Observer) -> Policy:
    """Return the greedy agent of a model's policy: that of `quincunx_agents.load` if it is a `PolicyNetwork`."""
    if isinstance(network := policy.mlp_extractor, PolicyNetwork):
        return GreedyPolicy(network.forward_actor, observer, symmetric=True)
    assert isinstance(policy, MaskableActorCriticPolicy)
    return SB3PolicyAgent(policy, observer)


# --- During training -------------------------------------------------------------------------------------------------


class Recorder(BaseCallback):
    """Progress bar, moving average of the weights, evaluations and checkpoints.

    Evaluations and checkpoints take place between an update and the next rollout, when the state of model, games and
    generators is consistent, so that a resumed run equals one without interruption.

    Args:
        arguments: of the run.
        folder: receives the checkpoints.
        model: is trained.
        observer: that of the environment.

    Attributes:
        averaged: moving average of the policy's weights over the updates (Polyak & Juditsky, SIAM J. Control Optim. 30,
            1992): the result.
        agent: plays by it.
    """

    def __init__(self, arguments: Arguments, folder: Path, model: MaskablePPO, observer: Observer) -> None:
        super().__init__()
        self.arguments = arguments
        self.folder = folder
        self.averaged = AveragedModel(
            model.policy,
            avg_fn=lambda average, latest, number: average + (latest - average) / (1 + arguments.averaging * number),
        )
        self.agent = agent_of(self.averaged.module, observer)
        self.history: list[EvaluationRecord] = []
        self.saved_at: int | None = None
        self.bar: Any = None

    def _on_rollout_start(self) -> None:
        if self.num_timesteps != self.saved_at:  # a resumed run has averaged these weights
            self.averaged.update_parameters(self.model.policy)
        due = self.history[-1][0] + self.arguments.eval_every if self.history else 0
        if self.num_timesteps >= due:
            self.log_evaluation()
        # The first checkpoint is that of the initial weights: any interruption after it can be resumed.
        if self.saved_at is None or self.num_timesteps >= self.saved_at + self.arguments.checkpoint_every:
            self.save()

    def _on_step(self) -> bool:
        self.bar.update(self.training_env.num_envs)
        return True

    def _on_training_end(self) -> None:
        self.averaged.update_parameters(self.model.policy)
        self.log_evaluation()

    def log_evaluation(self) -> None:
        """Evaluate on validation deals and log the figures."""
        result = evaluate_on_validation(self.arguments, self.agent)
        lost = float(result.lost.mean())
        self.history.append((self.num_timesteps, result.mean, *result.ci95, lost))
        self.logger.record("validation/mean", result.mean)
        self.logger.record("validation/lost", lost)
        self.logger.dump(self.num_timesteps)
        self.bar.set_postfix(mean=f"{result.mean:.1f}", lost=f"{lost:.1%}")

    def save(self) -> None:
        """Write the checkpoint."""
        self.saved_at = self.num_timesteps
        model = self.model
        assert isinstance(model, MaskablePPO)
        env = model.get_env()
        assert isinstance(env, SolitaireVecEnv)
        name, keys, position, has_gauss, gauss = np.random.get_state(legacy=True)  # noqa: NPY002  stable-baselines3 shuffles with it
        # PyTorch has no tensors of text, which the rules are.
        environment = {
            name: torch.from_numpy(array) if array.ndim else array.item() for name, array in env.get_state().items()
        }
        content = {
            "steps": model.num_timesteps,
            "updates": model._n_updates,
            "policy": model.policy.state_dict(),
            "averaged": self.averaged.state_dict(),
            "optimizer": model.policy.optimizer.state_dict(),
            "environment": environment,
            "torch": torch.get_rng_state(),
            "numpy": [name, torch.from_numpy(np.asarray(keys)), position, has_gauss, gauss],
            "history": [list(record) for record in self.history],
        }
        checkpoint.save(self.folder / "checkpoint.pt", self.arguments, content)


def restore(
    arguments: Arguments, model: MaskablePPO, env: SolitaireVecEnv, recorder: Recorder, content: dict[str, Any]
) -> None:
    """Restore the checkpoint that `Recorder.save` wrote."""
    with checkpoint.restoring(arguments, content, MAY_CHANGE):
        model.policy.load_state_dict(content["policy"])
        recorder.averaged.load_state_dict(content["averaged"])
        model.policy.optimizer.load_state_dict(content["optimizer"])
        observation = env.set_state({name: np.asarray(value) for name, value in content["environment"].items()})
        name, keys, *rest = content["numpy"]
        model.num_timesteps = recorder.saved_at = content["steps"]
        model._n_updates = content["updates"]
        recorder.history = [tuple(record) for record in content["history"]]
        np.random.set_state((name, keys.numpy(), *rest))  # noqa: NPY002
        torch.set_rng_state(content["torch"])
    assert not isinstance(observation, tuple)
    model._last_obs = observation
    model._last_episode_starts = env.envs.batch.ply == 0


# --- Evaluation ------------------------------------------------------------------------------------------------------


def evaluate_on_validation(arguments: Arguments, agent: Agent | str) -> Evaluation:
    """Evaluate an agent on the validation deals of the variant that is trained."""
    rules, lost_value = arguments.rules, arguments.lost_value
    return evaluate(agent, arguments.eval_deals, rules=rules, domain="validation", lost_value=lost_value)


def report(arguments: Arguments, folder: Path, recorder: Recorder, model: MaskablePPO) -> dict[str, Evaluation]:
    """Print the final table; write it as JSON, the learning curve with baselines, and the model."""
    results = with_baselines(recorder.agent, arguments.rules, arguments.test_deals, arguments.lost_value)
    evaluation = {name: result.to_json() for name, result in results.items()}
    write_json(folder / "evaluation.json", evaluation)
    found = facts(arguments, recorder, model.num_timesteps, evaluation)
    write_json(folder / f"{arguments.name}.json", found)
    write_atomically(folder / "model.zip", model.save)
    steps, mean, low, high, _ = zip(*recorder.history, strict=True)
    draw_learning_curves(
        folder / "learning_curve.png",
        {"trained": Curve(steps, mean, low, high)},
        ylabel=f"mean score of {arguments.eval_deals} validation deals",
        title=arguments.name,
        references={name: evaluate_on_validation(arguments, name).mean for name in ("greedy", "uniform")},
    )
    write_model_card(folder, arguments.name, found)
    written = f"README.md, {arguments.name}.json, evaluation.json, learning_curve.png, model.zip, tensorboard/"
    if isinstance(network := model.policy.mlp_extractor, PolicyNetwork):
        save_weights(folder / f"{arguments.name}.safetensors", network.trained())
        written = f"{arguments.name}.safetensors, {written}"
    print(table(results))
    print(f"\nWritten to {folder}: {written}")
    return results


def facts(arguments: Arguments, recorder: Recorder, steps: int, evaluation: dict[str, Any]) -> dict[str, Any]:
    """Return what the model card shows: how the run was made, its learning curve and its final figures."""
    variant = variant_name(arguments.rules)
    curve = []
    for at, mean, low, high, lost in recorder.history:
        figures = {"mean": mean, "mean_low": low, "mean_high": high, "lost": lost, "deals": arguments.eval_deals}
        curve.append({"steps": at, "variants": {variant: figures}})
    made = provenance("train.ppo", arguments) | {"steps": steps, "validation": curve}
    return made | facts_of_evaluation(evaluation, variant)


def variant_name(rules: Rules) -> str:
    """Return "solitaire" with the options that are not the default ones."""
    changed = [name for name, value in asdict(rules).items() if value != getattr(Rules(), name)]
    return ", ".join(["solitaire", *(name.replace("_", " ") for name in changed)])


if __name__ == "__main__":
    run_script(main, Arguments, "train.ppo", __doc__)
