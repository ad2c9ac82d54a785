"""Train on Ray RLlib, on one machine or a cluster.

    make train-rllib                                        # the solitaire, in a virtual environment made for it
    python -m train.rllib --num-players 2 --name pair       # two players
    python -m train.rllib --address auto --num-env-runners 16 --storage s3://bucket/runs    # on a running cluster
    python -m train.rllib --restore runs/rllib/checkpoints/00000100    # continue from a checkpoint of RLlib
    python -m train.rllib --help                            # every flag

PPO learns a policy, which with several players has every seat. Env runners collect experience wherever Ray places them;
the learner runs in this process. Ray restarts env runners that are lost with a node, and training continues meanwhile.

A run writes to ``runs/<name>``: ``checkpoints/`` (elsewhere with ``--storage``) and ``tensorboard/``. At the end it
writes ``<name>.json`` and ``results.md`` with results on ``benchmark`` deals, and ``learning_curve.png``. The network
is in the last checkpoint, from which ``RLModule.from_checkpoint`` of RLlib reads it.
"""

import pickle
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tyro

from quincunx_env.codec import Codec
from quincunx_env.utils.errors import requires_extra

with requires_extra("rllib"):
    import ray
import torch
from pyarrow.fs import FileSystem, FileType
from ray.rllib.algorithms.algorithm import Algorithm
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.utils.metrics import ENV_RUNNER_RESULTS, NUM_ENV_STEPS_SAMPLED_LIFETIME
from ray.tune.registry import register_env
from torch.utils.tensorboard import SummaryWriter
from tqdm.auto import tqdm

from quincunx_agents.torch import NetworkPolicy, PlayNetwork
from quincunx_agents.torch.play_network import RETURN_SCALE
from quincunx_agents.torch.rllib_module import PlayModule
from quincunx_env.adapters.rllib import CardGameMultiAgentEnv, SolitaireRLlibVectorEnv
from quincunx_env.arena import Deals
from quincunx_env.arena.runner import connect_to_ray
from quincunx_env.quincunx.rules import Rules
from quincunx_env.registry import make_observer
from train.common import checkpoint
from train.common.evaluation import strengths
from train.common.options import (
    CheckpointError,
    Count,
    CountOrZero,
    EmbeddedRules,
    NumDeals,
    OptionError,
    Positive,
    PPOOptions,
    RunName,
    RunOptions,
    run_script,
)
from train.common.run import measure, report, variant_name


@dataclass
class Arguments(PPOOptions, RunOptions):
    """Every option of a run."""

    name: RunName = "rllib"
    """the run's folder below ``runs``; an earlier run of that name is renamed"""
    total_steps: Count = 1_500_000
    """environment steps of all games; the learning rate falls to 0 over them, and rises if a restored run has more"""
    grad_clip: Positive = 0.5
    """maximal global norm of the gradient"""

    rules: EmbeddedRules = field(default_factory=Rules)

    address: str = "local"
    """address of the Ray cluster to join, ``auto`` or host:port, which must answer within 10 seconds; ``local``: start
    Ray for this run alone"""
    num_env_runners: CountOrZero = 2
    """processes that collect experience, anywhere in the cluster; 0: this process does"""
    num_envs_per_env_runner: Count = 256
    """games side by side in each"""
    storage: str = "runs"
    """checkpoints are written to ``<storage>/<name>/checkpoints``: a folder that outlives this machine, or a URI that
    pyarrow supports, such as s3://bucket/path"""
    checkpoint_every: Count = 20
    """iterations between checkpoints, all of which are kept"""
    restore: str | None = None
    """checkpoint from which to continue, a folder or a URI; another ``--seed`` deals other games"""
    resume: tyro.conf.Suppress[tyro.conf.Fixed[bool]] = False

    eval_every: Count = 10
    """iterations between evaluations"""
    eval_deals: NumDeals = 200
    """validation deals of an evaluation"""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rules.simpleton:
            raise OptionError("--simpleton: the network does not announce points; train without it")


HEALTH_PROBE_TIMEOUT, RESTORE_TIMEOUT = 10, 60
"""Seconds to wait for an env runner to answer, and to be restored. A lost node never answers, and waiting for it delays
the others; not tuned."""

UNLIMITED = 10**6
"""Failures and restarts of env runners that are tolerated."""


def main(arguments: Arguments) -> dict[str, Any]:
    """Train, evaluate, and write everything to ``runs/<name>``; returns the results."""
    with checkpoint.locked(arguments.folder, bool(arguments.restore)):
        return train(arguments)


def train(arguments: Arguments) -> dict[str, Any]:
    """Train and evaluate in the folder of the run."""
    checkpoints = checkpoint_folder(arguments)
    variants = {variant_name(arguments.rules): arguments.rules}
    torch.set_num_threads(arguments.threads)
    if not ray.is_initialized():
        # Ray's log and dashboard can be enabled by its own environment variables.
        options = {"include_dashboard": False, "logging_level": "error", "log_to_driver": False}
        connect_to_ray(arguments.address, **options)
    algorithm = make_config(arguments).build_algo()
    if arguments.restore:
        restore(algorithm, arguments.restore)

    total, done = arguments.total_steps, steps_of(algorithm)
    history = list[dict[str, Any]]()
    writer = SummaryWriter(arguments.folder / "tensorboard", purge_step=done)
    with tqdm(total=total, initial=done, unit="step", smoothing=0, disable=not arguments.progress) as bar:
        while done < total or not history:
            result = algorithm.train()
            before, done = done, steps_of(algorithm)
            if done == before:  # all env runners are lost, and none has been restarted yet
                continue
            bar.update(done - before)
            last, iteration = done >= total, algorithm.iteration
            found = {"return": result["env_runners"].get("episode_return_mean", float("nan"))}
            if last or iteration % arguments.eval_every == 0:
                deals = Deals(arguments.eval_deals, "validation")
                measured = strengths(agent(arguments, algorithm), arguments.against, variants, deals)
                history.append({"done": iteration, "steps": done, "variants": measured})
                [figures] = measured.values()
                bar.set_postfix({measure(figures): f"{figures[measure(figures)]:.3g}"})
                found |= figures
            for name, value in found.items():
                writer.add_scalar(name, value, done)
            if last or iteration % arguments.checkpoint_every == 0:
                algorithm.save_to_path(f"{checkpoints}/{iteration:08d}")
    writer.close()
    trained = agent(arguments, algorithm)
    algorithm.stop()
    facts = {"steps": done, "seconds": {}, "validation": history}
    return report("train.rllib", arguments, trained, variants, facts)


# --- The algorithm ---------------------------------------------------------------------------------------------------


def make_config(arguments: Arguments) -> PPOConfig:
    """Return RLlib's PPO, in the form that ``train.ppo`` uses. It has other hyperparameters."""
    several, rows = arguments.rules.num_players > 1, arguments.num_envs_per_env_runner
    config = PPOConfig()
    env = "quincunx-players" if several else "quincunx-solitaire"
    # Starting Ray again in a process drops the environments that the adapter registered at import.
    register_env(env, CardGameMultiAgentEnv if several else SolitaireRLlibVectorEnv)
    config.environment(env, env_config={"rules": arguments.rules, "actions": "hand"}, disable_env_checking=True)
    config.env_runners(
        num_env_runners=arguments.num_env_runners,
        num_envs_per_env_runner=rows,
        gym_env_vectorize_mode="sync" if several else "vector_entry_point",
        rollout_fragment_length=arguments.rollout,
    )
    config.training(
        train_batch_size_per_learner=max(arguments.num_env_runners, 1) * rows * arguments.rollout,
        minibatch_size=arguments.batch_size,
        num_epochs=arguments.epochs,
        lr=[[0, arguments.learning_rate], [arguments.total_steps, 0.0]],
        gamma=arguments.gamma,
        lambda_=arguments.gae_lambda,
        clip_param=arguments.clip_range,
        entropy_coeff=arguments.entropy,
        grad_clip=arguments.grad_clip,
        grad_clip_by="global_norm",
        # Values are in points: scale their squared error to the size of the policy loss.
        vf_loss_coeff=0.5 / RETURN_SCALE**2,
        vf_clip_param=float("inf"),
        use_kl_loss=False,
    )
    config.fault_tolerance(
        restart_failed_env_runners=True,
        ignore_env_runner_failures=True,
        num_consecutive_env_runner_failures_tolerance=UNLIMITED,
        max_num_env_runner_restarts=UNLIMITED,
        env_runner_health_probe_timeout_s=HEALTH_PROBE_TIMEOUT,
        env_runner_restore_timeout_s=RESTORE_TIMEOUT,
    )
    if several:
        config.multi_agent(policies={"main"}, policy_mapping_fn=lambda agent, episode, **kwargs: "main")
    config.rl_module(rl_module_spec=RLModuleSpec(PlayModule, model_config={"rules": arguments.rules}))
    config.debugging(seed=arguments.seed, log_level="ERROR")
    return config


def steps_of(algorithm: Algorithm) -> int:
    """Return the environment steps so far, of a restored run all of them."""
    return int(algorithm.metrics.peek((ENV_RUNNER_RESULTS, NUM_ENV_STEPS_SAMPLED_LIFETIME), default=0))


def agent(arguments: Arguments, algorithm: Algorithm) -> NetworkPolicy:
    """Return the greedy agent, with a copy of the network."""
    observer = make_observer(arguments.rules, preview=True)
    with torch.random.fork_rng():  # training goes on with the same random numbers
        network = PlayNetwork(observer)
    [weights] = algorithm.learner_group.get_weights().values()
    network.load_state_dict({name.removeprefix("network."): torch.tensor(array) for name, array in weights.items()})
    codec = Codec(arguments.rules, observation="vector", actions="hand", preview=True)
    return NetworkPolicy(lambda vectors: network(vectors)[0], codec)


# --- Checkpoints -----------------------------------------------------------------------------------------------------


def checkpoint_folder(arguments: Arguments) -> str:
    """Return the folder of the checkpoints, or its URI.

    Raises:
        CheckpointError: if there is no file system of this kind, or if another run has checkpoints there.
    """
    storage = arguments.storage if "://" in arguments.storage else str(Path(arguments.storage).resolve())
    folder = f"{storage}/{arguments.name}/checkpoints"
    try:
        files, path = FileSystem.from_uri(folder)
    except ValueError as error:
        raise CheckpointError(f"--storage must be a folder or a URI that pyarrow supports: {error}") from error
    if not arguments.restore and files.get_file_info(path).type != FileType.NotFound:
        raise CheckpointError(f"{folder} holds checkpoints: --restore one of them, or use another --name")
    return folder


def restore(algorithm: Algorithm, path: str) -> None:
    """Restore a checkpoint.

    Raises:
        CheckpointError: if it cannot be used.
    """
    try:
        algorithm.restore_from_path(path if "://" in path else Path(path).resolve())
    except (OSError, EOFError, RuntimeError, ValueError, pickle.UnpicklingError) as error:
        raise CheckpointError(
            f"--restore {path} is not a whole checkpoint of these options ({error}): name an earlier one"
        ) from error
    # RLlib does so only where the checkpoint is in a local folder.
    algorithm.env_runner_group.sync_weights(from_worker_or_learner_group=algorithm.learner_group, inference_only=True)


if __name__ == "__main__":
    run_script(main, Arguments, "train.rllib", __doc__)
