"""Train an agent with MaskablePPO (stable-baselines3, sb3-contrib) on many games at once.

    make train                                         # the default run, in a virtual environment made for it
    python -m train.ppo --name mine --seed 1           # the same in an environment with the [train] extra
    python -m train.ppo --resume                       # continue after an interruption
    python -m train.ppo --policy mlp --no-preview      # an MLP on observations without the preview
    python -m train.ppo --name duel --num-players 2 --opponents greedy heuristic    # one seat of a game
    python -m train.ppo --help                         # every flag

With several players the learner has one seat of each game, in turn. A member of a pool has the others: one of
``--opponents``, or a past snapshot of the learner. `train.selfplay` uses the same pool and is stronger.

A run writes to ``runs/<name>``: ``tensorboard/``, and ``checkpoint.pt``, from which ``--resume`` continues exactly. At
the end it writes ``evaluation.json``, ``<name>.json``, ``learning_curve.png`` and a model card, ``README.md``. The
weights are ``<name>.safetensors`` for ``quincunx_agents.load``, and ``model.zip`` for ``MaskablePPO.load``, which
unpickles it: load only what you trust. Evaluations during training use ``validation`` deals, the final table
``benchmark`` deals, which nothing else uses.
"""

import copy
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from quincunx_env.utils.errors import requires_extra

with requires_extra("train"):
    import torch
    from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import configure
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel
from tqdm.auto import tqdm

from quincunx_agents.networks.policy import save_weights
from quincunx_agents.torch import GreedyPolicy, PolicyNetwork, QuincunxMaskablePolicy, SB3PolicyAgent
from quincunx_agents.torch.networks import RETURN_SCALE
from quincunx_env.adapters.sb3 import GamesVecEnv, SolitaireVecEnv, VsOpponentsVecEnv
from quincunx_env.arena import Agent, resolve
from quincunx_env.arena.curves import Curve, draw_learning_curves
from quincunx_env.core.observation import Observer
from quincunx_env.core.policy import Policy, policy_for
from quincunx_env.quincunx.rules import Rules
from quincunx_env.utils.files import write_atomically
from train.common import checkpoint
from train.common.evaluation import final_figures, provenance, strength, write_json
from train.common.model_card import facts_of_evaluation, write_model_card
from train.common.opponents import Member, Pool
from train.common.options import (
    BatchSize,
    Count,
    EmbeddedRules,
    NumDeals,
    OptionError,
    PolicyName,
    PositiveOrZero,
    PPOOptions,
    RunName,
    RunOptions,
    Share,
    run_script,
)


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
    preview: bool = True
    """observe the points and draws of every legal action"""
    policy: Literal["quincunx", "mlp"] = "quincunx"
    """quincunx: QuincunxMaskablePolicy, which needs the preview; mlp: stable-baselines3's MlpPolicy"""
    num_envs: Count = 512
    """games side by side"""

    opponents: tuple[str, ...] = ()
    """several players: policies in the pool from the start, names of the arena"""
    snapshot_every: Count = 50_000
    """steps after which a snapshot of the learner joins the pool"""
    against: PolicyName = "heuristic"
    """several players: opponent in evaluations, a name of the arena"""

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
            self._check_opponents()
        elif self.opponents:
            raise OptionError("--opponents needs --num-players 2, 3 or 4")
        if self.policy == "quincunx" and not self.preview:
            raise ValueError("--policy quincunx needs the preview: leave out --no-preview, or use --policy mlp")
        if self.num_envs * self.rollout % self.batch_size == 1:
            raise ValueError(
                f"--batch-size {self.batch_size} leaves a minibatch of a single step of the {self.num_envs} x "
                f"{self.rollout} of a rollout, whose advantage cannot be normalized: choose another"
            )

    def _check_opponents(self) -> None:
        if not self.opponents:
            raise OptionError(f"--num-players {self.rules.num_players} needs --opponents, such as greedy heuristic")
        if self.rules.simpleton:
            raise OptionError("--simpleton: the network plays without announcements")
        if self.policy != "quincunx":
            raise OptionError("--policy mlp is for the solitaire")
        for name in (*self.opponents, self.against):
            policy_for(resolve(name), self.rules)


MAY_CHANGE = (
    *("resume", "total_steps", "eval_every", "eval_deals", "checkpoint_every", "test_deals", "progress", "against"),
)
"""Arguments that may differ when a run is resumed."""


@checkpoint.unlocks_runs()
def main(arguments: Arguments) -> dict[str, Any]:
    """Train, evaluate, and write everything to ``runs/<name>``. Return the final results, by agent or opponent."""
    folder = arguments.folder
    content = checkpoint.load(folder / "checkpoint.pt") if arguments.resume else None
    checkpoint.begin_run(folder, arguments.resume)

    torch.set_num_threads(arguments.threads)
    env, self_play = make_env(arguments)
    model = make_model(arguments, env)
    model.set_logger(configure(str(folder / "tensorboard"), ["tensorboard"]))
    recorder = Recorder(arguments, folder, model, env.envs.observer, self_play)
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


def make_env(arguments: Arguments) -> "tuple[GamesVecEnv, SelfPlay | None]":
    """Return the games and, with several players, the choice of opponents."""
    options = {"observation": "flat", "preview": arguments.preview, "rules": arguments.rules}
    if arguments.rules.num_players == 1:
        return SolitaireVecEnv(arguments.num_envs, **options), None
    fixed = [Member(name, policy_for(resolve(name), arguments.rules)) for name in arguments.opponents]
    env = VsOpponentsVecEnv(arguments.num_envs, pool=[member.opponent for member in fixed], **options)
    return env, SelfPlay(env, Pool(fixed), arguments.snapshot_every)


def make_model(arguments: Arguments, env: GamesVecEnv) -> MaskablePPO:
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


def network_of(model: BaseAlgorithm) -> PolicyNetwork:
    """Return the network of a model with `QuincunxMaskablePolicy`."""
    network = model.policy.mlp_extractor
    assert isinstance(network, PolicyNetwork)
    return network


def agent_of(policy: nn.Module, observer: Observer) -> Policy:
    """Return the greedy agent of a model's policy.

    For a `PolicyNetwork` it plays as the agent of `quincunx_agents.load`.
    """
    if isinstance(network := policy.mlp_extractor, PolicyNetwork):
        return GreedyPolicy(network.forward_actor, observer, symmetric=True)
    assert isinstance(policy, MaskableActorCriticPolicy)
    return SB3PolicyAgent(policy, observer)


# --- Opponents -------------------------------------------------------------------------------------------------------


class SelfPlay:
    """Pool of opponents that grows by snapshots of the learner.

    The games sample their opponents from it.

    Args:
        env: the games.
        pool: the opponents, fixed agents so far.
        every: steps between snapshots.
    """

    def __init__(self, env: VsOpponentsVecEnv, pool: Pool[Policy], every: int) -> None:
        self.env = env
        self.pool = pool
        self.every = self.due = every
        self.snapshots = list[PolicyNetwork]()

    def count(self, infos: Iterable[Mapping[str, Any]]) -> None:
        """Count the games that are over."""
        for info in infos:
            if info:
                self.pool.count(info["opponent"], info["win"], len(info["totals"]))

    def update(self, steps: int, network: PolicyNetwork) -> None:
        """Add a snapshot if due; set the next games' opponents."""
        if steps >= self.due:
            self.add(f"step {steps}", copy.deepcopy(network))
            self.due += self.every
        self.env.envs.set_pool([member.opponent for member in self.pool.members], self.pool.probabilities())

    def add(self, name: str, network: PolicyNetwork) -> None:
        """Add a snapshot."""
        self.snapshots.append(network)
        self.pool.add(name, GreedyPolicy(network.forward_actor, self.env.envs.observer))

    def get_state(self) -> dict[str, Any]:
        """Return pool and snapshots for a checkpoint."""
        members = [[member.name, member.won, member.games] for member in self.pool.members]
        snapshots: list[dict[str, Tensor]] = [network.state_dict() for network in self.snapshots]
        return {"due": self.due, "members": members, "snapshots": snapshots}

    def set_state(self, state: Mapping[str, Any], network: PolicyNetwork) -> None:
        """Restore what `get_state` returned; the network is one of the same form."""
        self.due, fixed = state["due"], len(self.pool.members)
        for (name, *_), weights in zip(state["members"][fixed:], state["snapshots"], strict=True):
            snapshot = copy.deepcopy(network)
            snapshot.load_state_dict(weights)
            self.add(name, snapshot)
        for member, (_, won, games) in zip(self.pool.members, state["members"], strict=True):
            member.won, member.games = won, games
        self.env.envs.set_pool([member.opponent for member in self.pool.members], self.pool.probabilities())


# --- During training -------------------------------------------------------------------------------------------------


class Recorder(BaseCallback):
    """Progress bar, moving average of the weights, evaluations and checkpoints.

    Evaluations and checkpoints take place between an update and the next rollout. The state of model, games and
    generators is consistent then, so that a resumed run equals one without interruption.

    Args:
        arguments: of the run.
        folder: receives the checkpoints.
        model: is trained.
        observer: of the environment.
        self_play: chooses the opponents; None in the solitaire.

    Attributes:
        averaged: moving average of the policy's weights over the updates (Polyak & Juditsky, SIAM J. Control Optim. 30,
            1992): the result.
        agent: plays by it.
    """

    def __init__(
        self,
        arguments: Arguments,
        folder: Path,
        model: MaskablePPO,
        observer: Observer,
        self_play: SelfPlay | None = None,
    ) -> None:
        super().__init__()
        self.arguments = arguments
        self.folder = folder
        self.averaged = AveragedModel(
            model.policy,
            avg_fn=lambda average, latest, number: average + (latest - average) / (1 + arguments.averaging * number),
        )
        self.agent = agent_of(self.averaged.module, observer)
        self.self_play = self_play
        self.history: list[dict[str, float]] = []
        self.saved_at: int | None = None
        self.bar: Any = None

    def _on_rollout_start(self) -> None:
        if self.num_timesteps != self.saved_at:  # a resumed run has averaged these weights
            self.averaged.update_parameters(self.model.policy)
        due = self.history[-1]["steps"] + self.arguments.eval_every if self.history else 0
        if self.num_timesteps >= due:
            self.log_evaluation()
        # The first checkpoint has the initial weights: any interruption after it can be resumed.
        if self.saved_at is None or self.num_timesteps >= self.saved_at + self.arguments.checkpoint_every:
            self.save()
        if self.self_play:
            self.self_play.update(self.num_timesteps, network_of(self.model))

    def _on_step(self) -> bool:
        if self.self_play:
            self.self_play.count(self.locals["infos"])
        self.bar.update(self.training_env.num_envs)
        return True

    def _on_training_end(self) -> None:
        self.averaged.update_parameters(self.model.policy)
        self.log_evaluation()

    def log_evaluation(self) -> None:
        """Evaluate on validation deals and log the figures."""
        figures = strength_on_validation(self.arguments, self.agent)
        self.history.append({"steps": self.num_timesteps, **figures})
        shown = {name: figures[name] for name in ("mean", "lost", "win_rate") if name in figures}
        for name, figure in shown.items():
            self.logger.record(f"validation/{name}", figure)
        self.logger.dump(self.num_timesteps)
        self.bar.set_postfix({name: f"{each:.1f}" if name == "mean" else f"{each:.1%}" for name, each in shown.items()})

    def save(self) -> None:
        """Write the checkpoint."""
        self.saved_at = self.num_timesteps
        model = self.model
        assert isinstance(model, MaskablePPO)
        env = model.get_env()
        assert isinstance(env, GamesVecEnv)
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
            "history": self.history,
            "self-play": self.self_play.get_state() if self.self_play else {},
        }
        checkpoint.save(self.folder / "checkpoint.pt", self.arguments, content)


def restore(
    arguments: Arguments, model: MaskablePPO, env: GamesVecEnv, recorder: Recorder, content: dict[str, Any]
) -> None:
    """Restore the checkpoint that `Recorder.save` wrote."""
    with checkpoint.restoring(arguments, content, MAY_CHANGE):
        model.policy.load_state_dict(content["policy"])
        recorder.averaged.load_state_dict(content["averaged"])
        model.policy.optimizer.load_state_dict(content["optimizer"])
        if recorder.self_play:
            recorder.self_play.set_state(content["self-play"], network_of(model))
        observation = env.set_state({name: np.asarray(value) for name, value in content["environment"].items()})
        name, keys, *rest = content["numpy"]
        model.num_timesteps = recorder.saved_at = content["steps"]
        model._n_updates = content["updates"]
        recorder.history = content["history"]
        np.random.set_state((name, keys.numpy(), *rest))  # noqa: NPY002
        torch.set_rng_state(content["torch"])
    assert not isinstance(observation, tuple)
    model._last_obs = observation
    model._last_episode_starts = env.envs.batch.ply == 0


# --- Evaluation ------------------------------------------------------------------------------------------------------


def strength_on_validation(arguments: Arguments, agent: Agent) -> dict[str, float]:
    """Return the `strength` of an agent on validation deals. The variant is the trained one."""
    return strength(agent, arguments.against, arguments.rules, arguments.eval_deals, "validation")


def report(arguments: Arguments, folder: Path, recorder: Recorder, model: MaskablePPO) -> dict[str, Any]:
    """Print the final results, and write them. The files are JSON, the learning curve, and the model."""
    rules, deals, alone = arguments.rules, arguments.test_deals, arguments.rules.num_players == 1
    results, printed = final_figures(recorder.agent, (*arguments.opponents, arguments.against), rules, deals)
    write_json(folder / "evaluation.json", results)
    references = {"even": 1 / rules.num_players}
    if alone:
        references = {name: strength_on_validation(arguments, resolve(name))["mean"] for name in ("greedy", "uniform")}
    found = facts(arguments, recorder, model.num_timesteps, results)
    write_json(folder / f"{arguments.name}.json", found)
    write_atomically(folder / "model.zip", model.save)
    name, measured = ("mean", "mean score") if alone else ("win_rate", f"win rate against {arguments.against}")
    points = ([entry[key] for entry in recorder.history] for key in ("steps", name, f"{name}_low", f"{name}_high"))
    draw_learning_curves(
        folder / "learning_curve.png",
        {"trained": Curve(*points)},
        ylabel=f"{measured} of {arguments.eval_deals} validation deals",
        title=arguments.name,
        references=references,
    )
    write_model_card(folder, arguments.name, found)
    written = f"README.md, {arguments.name}.json, evaluation.json, learning_curve.png, model.zip, tensorboard/"
    if isinstance(network := model.policy.mlp_extractor, PolicyNetwork):
        save_weights(folder / f"{arguments.name}.safetensors", network.trained())
        written = f"{arguments.name}.safetensors, {written}"
    print(printed)
    print(f"\nWritten to {folder}: {written}")
    return results


def facts(arguments: Arguments, recorder: Recorder, steps: int, evaluation: dict[str, Any]) -> dict[str, Any]:
    """Return the facts of the model card. They are how the run was made, its learning curve and its final figures."""
    variant = variant_name(arguments.rules)
    curve = []
    for entry in recorder.history:
        figures = {name: figure for name, figure in entry.items() if name != "steps"}
        curve.append({"steps": entry["steps"], "variants": {variant: figures | {"deals": arguments.eval_deals}}})
    made = provenance("train.ppo", arguments) | {"steps": steps, "validation": curve}
    if arguments.rules.num_players == 1:
        return made | facts_of_evaluation(evaluation, variant)
    return made | {"benchmark": {variant: evaluation[arguments.against] | {"deals": arguments.test_deals}}}


def variant_name(rules: Rules) -> str:
    """Return "solitaire", or "2-corners" and the like. Options that are not the default ones follow."""
    form = Rules(num_players=rules.num_players, start=rules.start)
    changed = [name for name, value in asdict(rules).items() if value != getattr(form, name)]
    base = "solitaire" if rules.num_players == 1 else f"{rules.num_players}-{rules.start}"
    return ", ".join([base, *(name.replace("_", " ") for name in changed)])


if __name__ == "__main__":
    run_script(main, Arguments, "train.ppo", __doc__)
