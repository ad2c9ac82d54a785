"""Train an agent for the solitaire: MaskablePPO (stable-baselines3, sb3-contrib) on many games at once.

    make train                                         # the default run, in a virtual environment of its own
    python -m train.ppo --name mine --seed 1           # the same from an environment with the [train] extra
    python -m train.ppo --resume                       # go on after an interruption
    python -m train.ppo --policy mlp --no-preview      # a plain network on the plain observation
    python -m train.ppo --help                         # every flag

A run lives in ``runs/<name>``: ``checkpoint.pt`` (everything needed to go on as if nothing had happened),
``tensorboard/``, and at the end ``evaluation.json``, ``learning_curve.png``, ``model.zip``, which
``MaskablePPO.load`` opens, and ``<name>.safetensors``, which ``quincunx_agents.load`` plays. While it learns, the agent is
evaluated on ``validation`` deals; the final table is made on ``benchmark`` deals, which nothing has looked at before.
"""

import dataclasses
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import matplotlib
import numpy as np
import torch
import tyro
from quincunx_agents.greedy import greedy
from quincunx_agents.networks.policy import save_weights
from quincunx_agents.torch import PolicyNetwork, QuincunxMaskablePolicy, SB3PolicyAgent
from quincunx_agents.torch.networks import RETURN_SCALE
from quincunx_agents.uniform import uniform
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import configure
from tqdm.auto import tqdm

from quincunx_env.adapters.sb3 import SolitaireVecEnv
from quincunx_env.arena import Evaluation, Policy, evaluate, table
from quincunx_env.core.deal import Domain
from quincunx_env.quincunx.rules import Rules
from train.common import checkpoint

matplotlib.use("Agg")  # pictures go to files; no display is needed
import matplotlib.pyplot as plt


@dataclass
class Arguments:
    """Every option of a run."""

    name: str = "solitaire"
    """the run's folder below ``runs``; an earlier run of that name is kept beside it"""
    resume: bool = False
    """go on from the last checkpoint of the run"""
    seed: int = 0
    """of the deals, the network's first weights and the exploration"""
    total_steps: int = 1_500_000
    """plays to learn from, all games together"""

    edge_contact: bool = False
    """a card must touch a card in play"""
    excuse: bool = False
    """add the Excuse to the deck"""
    pawns: bool = False
    """add the Pawns to the deck"""
    flush: bool = False
    """play with the flush bonus"""
    lost_value: float = 0.0
    """what a lost round is worth"""
    preview: bool = True
    """observe the points and draws of every legal play"""
    policy: Literal["quincunx", "mlp"] = "quincunx"
    """quincunx: QuincunxMaskablePolicy, which needs the preview; mlp: stable-baselines3's MlpPolicy"""

    num_envs: int = 512
    """games side by side"""
    rollout: int = 24
    """plays of each game between two updates"""
    batch_size: int = 2048
    """plays in a gradient step"""
    epochs: int = 4
    """passes over a rollout"""
    learning_rate: float = 2e-3
    """at the start; it falls linearly to 0"""
    gamma: float = 1.0
    """discount; 1 because a round's score is a plain sum"""
    gae_lambda: float = 0.95
    """of generalised advantage estimation"""
    clip_range: float = 0.2
    """of PPO's objective"""
    entropy: float = 0.01
    """weight of the entropy bonus"""

    eval_every: int = 100_000
    """steps between evaluations on validation deals"""
    eval_deals: int = 1000
    """how many of them"""
    checkpoint_every: int = 50_000
    """steps between checkpoints"""
    test_deals: int = 1000
    """benchmark deals of the final table"""
    threads: int = 1
    """of PyTorch; more help little, and hinder where other programs run. Results repeat exactly with the same number"""
    progress: bool = True
    """show a progress bar"""

    @property
    def rules(self) -> Rules:
        """Which game is played."""
        return Rules(edge_contact=self.edge_contact, excuse=self.excuse, pawns=self.pawns, flush=self.flush)


MAY_CHANGE = ("resume", "total_steps", "eval_every", "eval_deals", "checkpoint_every", "test_deals", "progress")
"""Arguments that a resumed run may set anew."""

Record = tuple[int, float, float, float, float]
"""Steps, mean, its interval, share of lost rounds on the validation deals."""


def main(arguments: Arguments) -> dict[str, Evaluation]:
    """Train, evaluate, and write everything to ``runs/<name>``; returns the evaluations of the final table."""
    folder = Path("runs") / arguments.name
    content = checkpoint.load(folder / "checkpoint.pt") if arguments.resume else None
    if content is None:
        checkpoint.keep_earlier(folder)
    else:
        checkpoint.refuse_other_arguments(arguments, content["arguments"], MAY_CHANGE)

    torch.set_num_threads(arguments.threads)
    env = SolitaireVecEnv(
        arguments.num_envs,
        observation="flat",
        preview=arguments.preview,
        lost_value=arguments.lost_value,
        edge_contact=arguments.edge_contact,
        excuse=arguments.excuse,
        pawns=arguments.pawns,
        flush=arguments.flush,
    )
    model = make_model(arguments, env)
    model.set_logger(configure(str(folder / "tensorboard"), ["tensorboard"]))
    recorder = Recorder(arguments, folder, SB3PolicyAgent(model.policy, env.envs.observer))
    if content is not None:
        restore(model, env, recorder, content)

    if model.num_timesteps < arguments.total_steps:
        remaining = arguments.total_steps - model.num_timesteps
        model.learn(remaining, callback=recorder, reset_num_timesteps=content is None)
        recorder.save()
    return report(arguments, folder, recorder, model)


# --- The model -------------------------------------------------------------------------------------------------------


def make_model(arguments: Arguments, env: SolitaireVecEnv) -> MaskablePPO:
    """MaskablePPO with the chosen network."""
    if arguments.policy == "quincunx" and not arguments.preview:
        raise SystemExit("--policy quincunx reads the preview: leave out --no-preview, or use --policy mlp")
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
        # The value is in points, its error in squared points: bring it to the size of the policy's loss.
        vf_coef=0.5 / RETURN_SCALE**2,
        seed=arguments.seed,
        device="cpu",
    )


# --- While it learns -------------------------------------------------------------------------------------------------


class Recorder(BaseCallback):
    """Progress bar, evaluations and checkpoints. All happen between an update and the next rollout, when the model,
    the games and the generators are in step, so that a run that goes on from a checkpoint is the run it was.
    """

    def __init__(self, arguments: Arguments, folder: Path, policy: SB3PolicyAgent) -> None:
        super().__init__()
        self.arguments = arguments
        self.folder = folder
        self.policy = policy
        self.history: list[Record] = []
        self.saved_at = 0
        self.bar: Any = None

    def _on_training_start(self) -> None:
        disable = not self.arguments.progress
        self.bar = tqdm(total=self.arguments.total_steps, initial=self.num_timesteps, unit="step", disable=disable)

    def _on_rollout_start(self) -> None:
        due = self.history[-1][0] + self.arguments.eval_every if self.history else 0
        if self.num_timesteps >= due:
            self.evaluate()
        if self.num_timesteps >= self.saved_at + self.arguments.checkpoint_every:
            self.save()

    def _on_step(self) -> bool:
        self.bar.update(self.training_env.num_envs)
        return True

    def _on_training_end(self) -> None:
        self.evaluate()
        self.bar.close()

    def evaluate(self) -> None:
        """Play the validation deals."""
        result = play_deals(self.arguments, self.policy, self.arguments.eval_deals, "validation")
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
        content = {
            "arguments": dataclasses.asdict(self.arguments),
            "steps": model.num_timesteps,
            "updates": model._n_updates,
            "policy": model.policy.state_dict(),
            "optimizer": model.policy.optimizer.state_dict(),
            "games": {name: torch.from_numpy(array) for name, array in env.get_state().items()},
            "torch": torch.get_rng_state(),
            "numpy": [name, torch.from_numpy(np.asarray(keys)), position, has_gauss, gauss],
            "history": [list(record) for record in self.history],
        }
        checkpoint.save(self.folder / "checkpoint.pt", content)


def restore(model: MaskablePPO, env: SolitaireVecEnv, recorder: Recorder, content: dict[str, Any]) -> None:
    """Bring everything to where `Recorder.save` found it."""
    try:
        model.policy.load_state_dict(content["policy"])
        model.policy.optimizer.load_state_dict(content["optimizer"])
        observation = env.set_state({name: tensor.numpy() for name, tensor in content["games"].items()})
        name, keys, *rest = content["numpy"]
        model.num_timesteps = recorder.saved_at = content["steps"]
        model._n_updates = content["updates"]
        recorder.history = [tuple(record) for record in content["history"]]
    except (KeyError, ValueError, RuntimeError) as error:
        raise checkpoint.CheckpointError(f"this checkpoint does not fit this version: {error}") from error
    assert not isinstance(observation, tuple)
    model._last_obs = observation
    model._last_episode_starts = env.envs.batch.ply == 0
    np.random.set_state((name, keys.numpy(), *rest))  # noqa: NPY002
    torch.set_rng_state(content["torch"])


# --- Before and after ------------------------------------------------------------------------------------------------


def play_deals(arguments: Arguments, policy: Policy, deals: int, domain: Domain) -> Evaluation:
    """Play numbered deals of the game that is being learned."""
    return evaluate(policy, deals, rules=arguments.rules, domain=domain, lost_value=arguments.lost_value)


def report(arguments: Arguments, folder: Path, recorder: Recorder, model: MaskablePPO) -> dict[str, Evaluation]:
    """The final table, as text and as JSON, the learning curve and the model."""
    agents: dict[str, Policy] = {"uniform": uniform, "greedy": greedy, "trained": recorder.policy}
    results = {
        name: play_deals(arguments, policy, arguments.test_deals, "benchmark") for name, policy in agents.items()
    }
    text = json.dumps({name: result.to_json() for name, result in results.items()}, indent=2)
    checkpoint.write_atomically(folder / "evaluation.json", lambda path: path.write_text(text + os.linesep))
    checkpoint.write_atomically(folder / "model.zip", model.save)
    checkpoint.write_atomically(folder / "learning_curve.png", lambda path: draw(arguments, recorder.history, path))
    written = "evaluation.json, learning_curve.png, model.zip, tensorboard/"
    if isinstance(network := model.policy.mlp_extractor, PolicyNetwork):
        save_weights(folder / f"{arguments.name}.safetensors", network.trained())
        written = f"{arguments.name}.safetensors, {written}"
    print(table(results))
    print(f"\nWritten to {folder}: {written}")
    return results


def draw(arguments: Arguments, history: list[Record], path: Path) -> None:
    """The learning curve on the validation deals, with the baselines on the same deals."""
    figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
    steps, mean, low, high, _ = zip(*history, strict=True)
    axes.plot(steps, mean, color="tab:blue", label="trained")
    axes.fill_between(steps, low, high, color="tab:blue", alpha=0.2, label="95 % interval")
    for name, policy, style in (("greedy", greedy, "--"), ("uniform", uniform, ":")):
        baseline = play_deals(arguments, policy, arguments.eval_deals, "validation").mean
        axes.axhline(baseline, color="tab:gray", linestyle=style, label=name)
    axes.set(xlabel="plays", ylabel=f"mean score of {arguments.eval_deals} validation deals", title=arguments.name)
    axes.legend(loc="center right")
    figure.savefig(path, dpi=120)
    plt.close(figure)


if __name__ == "__main__":
    try:
        main(tyro.cli(Arguments, description=__doc__))
    except checkpoint.CheckpointError as error:
        raise SystemExit(str(error)) from None
    except KeyboardInterrupt:
        raise SystemExit("\ninterrupted: --resume goes on from the last checkpoint") from None
