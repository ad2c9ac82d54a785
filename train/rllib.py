"""Train on Ray RLlib, on one machine or a cluster.

    make train-rllib                                        # the solitaire, in a virtual environment made for it
    python -m train.rllib --num-players 2 --name duel       # two players
    python -m train.rllib --address auto --num-env-runners 16 --storage s3://bucket/runs    # on a running cluster
    python -m train.rllib --resume                          # continue after an interruption
    python -m train.rllib --help                            # every flag

The solitaire is learned by PPO, games of several players by self-play with a league. Env runners collect experience
wherever Ray places them; the learner runs in this process. Ray restarts env runners that are lost with a node, and
training continues meanwhile. If this process is lost, ``--resume`` continues from the last complete checkpoint.

With several players the league has a fixed number of places, all taken by the initial network at first. On
``validation`` deals the learner's win rate against every member is measured. When all are high enough, a copy of it
replaces the member that it beats most often.

A run writes to ``runs/<name>``: ``checkpoints/`` (elsewhere with ``--storage``) and ``tensorboard/``. At the end it
writes ``<name>.json`` and ``results.md`` with results on ``benchmark`` deals, and ``learning_curve.png``. The network
is in the last checkpoint, from which ``RLModule.from_checkpoint`` of RLlib reads it.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from quincunx_env.utils.errors import requires_extra

with requires_extra("rllib"):
    import ray
import pyarrow.fs
import torch
from ray.rllib.algorithms.algorithm import Algorithm
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core import COMPONENT_RL_MODULE, DEFAULT_MODULE_ID
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModuleSpec
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.utils.metrics import NUM_ENV_STEPS_SAMPLED_LIFETIME
from ray.train import Checkpoint
from ray.tune.registry import register_env
from torch.utils.tensorboard import SummaryWriter
from tqdm.auto import tqdm

from quincunx_agents.torch import NetworkPolicy, PolicyNetwork
from quincunx_agents.torch.networks import RETURN_SCALE
from quincunx_agents.torch.rllib_module import PPOPolicyNetworkModule
from quincunx_env.adapters.rllib import CardGameMultiAgentEnv, SolitaireRLlibVectorEnv
from quincunx_env.arena import Deals
from quincunx_env.arena.runner import connect_to_ray
from quincunx_env.quincunx.rules import Rules
from quincunx_env.registry import make_observer
from train.common import checkpoint
from train.common.evaluation import strengths
from train.common.opponents import LEARNER, Matchmaking, league_module, normalized_win_rates, replaced_place
from train.common.options import (
    CheckpointError,
    Count,
    CountOrZero,
    EmbeddedRules,
    NumDeals,
    Positive,
    PositiveOrZero,
    PPOOptions,
    RunName,
    ScheduleOptions,
    Share,
    run_script,
)
from train.common.run import MAY_CHANGE, report, variant_name


@dataclass
class Arguments(PPOOptions, ScheduleOptions):
    """Every option of a run."""

    name: RunName = "rllib"
    """the run's folder below ``runs``; an earlier run of that name is renamed"""
    total_steps: Count = 1_500_000
    """environment steps of all games together"""
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
    checkpoint_every: Count = 5
    """iterations between checkpoints"""
    keep: Count = 2
    """checkpoints that are kept"""

    places: Count = 4
    """members of the league"""
    self_share: Share = 0.5
    """share of the games in which the learner has all seats"""
    promote_every: Count = 5
    """iterations after which the learner may join the league"""
    promote_at: PositiveOrZero = 0.55
    """win rate needed against every member, where 0.5 is even"""
    promote_deals: NumDeals = 100
    """validation deals against each"""

    eval_every: Count = 10
    """iterations between evaluations"""
    eval_deals: NumDeals = 200
    """validation deals of an evaluation"""

    @property
    def learner(self) -> str:
        """Id of the module that learns."""
        return DEFAULT_MODULE_ID if self.rules.num_players == 1 else LEARNER

    @property
    def has_checkpoint(self) -> bool:
        """Whether there is a checkpoint from which ``--resume`` continues. On another file system one is assumed."""
        return "://" in self.storage or bool(complete_checkpoints(self))


CHANGEABLE = (*MAY_CHANGE, "total_steps", "address", "num_env_runners", "storage", "keep", "against", "threads")
"""Options that may differ when a run is resumed."""

HEALTH_PROBE_TIMEOUT, RESTORE_TIMEOUT = 10, 60
"""Seconds to wait for an env runner to answer, and to be restored. A lost node never answers, and waiting for it delays
the others; not tuned."""

UNLIMITED = 10**6
"""Failures and restarts of env runners that are tolerated."""


@dataclass
class State:
    """Progress of a run that RLlib does not keep."""

    iteration: int = 0
    steps: int = 0
    members: list[str] = field(default_factory=list)
    """Origin of the network in each place of the league."""
    history: list[dict[str, Any]] = field(default_factory=list)
    """Evaluations so far."""


def main(arguments: Arguments) -> dict[str, Any]:
    """Train, evaluate, and write everything to ``runs/<name>``; returns the results."""
    state = last_state(arguments) if arguments.resume else State(members=["initial"] * arguments.places)
    with checkpoint.locked(arguments.folder, arguments.resume):
        return train(arguments, state)


def train(arguments: Arguments, state: State) -> dict[str, Any]:
    """Train and evaluate in the folder of the run."""
    folder, several = arguments.folder, arguments.rules.num_players > 1
    variants = {variant_name(arguments.rules): arguments.rules}
    if not arguments.resume:
        refuse_existing(arguments)
    torch.set_num_threads(arguments.threads)
    if not ray.is_initialized():
        # Ray's log and dashboard can be enabled by its own environment variables.
        options = {"include_dashboard": False, "logging_level": "error", "log_to_driver": False}
        connect_to_ray(arguments.address, **options)
    algorithm = make_config(arguments, state).build_algo()
    if arguments.resume:
        restore_checkpoint(arguments, algorithm)
    elif several:
        copy_learner(algorithm, range(arguments.places))

    writer = SummaryWriter(folder / "tensorboard", purge_step=state.steps)
    total, done = arguments.total_steps, state.steps
    with tqdm(total=total, initial=done, unit="step", smoothing=0, disable=not arguments.progress) as bar:
        while state.steps < arguments.total_steps:
            result = algorithm.train()
            before, state.steps = state.steps, int(result[NUM_ENV_STEPS_SAMPLED_LIFETIME])
            if state.steps == before:  # all env runners are lost, and none has been restarted yet
                continue
            state.iteration += 1
            bar.update(state.steps - before)
            last = state.steps >= arguments.total_steps
            found = {"return": result["env_runners"].get("episode_return_mean", float("nan"))}
            if several and state.iteration % arguments.promote_every == 0:
                found |= promote(arguments, algorithm, state)
            if last or state.iteration % arguments.eval_every == 0:
                [agent] = agents(arguments, algorithm, [arguments.learner])
                deals = Deals(arguments.eval_deals, "validation")
                measured = strengths(agent, arguments.against, variants, deals)
                state.history.append({"done": state.iteration, "steps": state.steps, "variants": measured})
                [figures] = measured.values()
                bar.set_postfix({name: f"{figures[name]:.3g}" for name in ("mean", "win_rate") if name in figures})
                found |= figures
            for name, value in found.items():
                writer.add_scalar(name, value, state.steps)
            if last or state.iteration % arguments.checkpoint_every == 0:
                save_checkpoint(arguments, algorithm, state)
    writer.close()
    [agent] = agents(arguments, algorithm, [arguments.learner])
    algorithm.stop()
    facts = {"steps": state.steps, "seconds": {}, "validation": state.history}
    facts |= {"league": state.members} if several else {}
    return report("train.rllib", arguments, agent, variants, facts)


# --- The algorithm ---------------------------------------------------------------------------------------------------


def make_config(arguments: Arguments, state: State) -> PPOConfig:
    """Return RLlib's PPO, in the form that ``train.ppo`` uses. It has other hyperparameters."""
    several, rows = arguments.rules.num_players > 1, arguments.num_envs_per_env_runner
    module = RLModuleSpec(PPOPolicyNetworkModule, model_config={"rules": arguments.rules})
    config = PPOConfig()
    env = "quincunx-players" if several else "quincunx-solitaire"
    # Starting Ray again in a process drops the environments that the adapter registered at import.
    register_env(env, CardGameMultiAgentEnv if several else SolitaireRLlibVectorEnv)
    config.environment(env, env_config={"rules": arguments.rules}, disable_env_checking=True)
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
        modules = {LEARNER: module} | {league_module(place): module for place in range(arguments.places)}
        matchmaking = Matchmaking(arguments.rules.num_players, arguments.places, arguments.self_share)
        config.multi_agent(policies=set(modules), policy_mapping_fn=matchmaking, policies_to_train=[LEARNER])
        module = MultiRLModuleSpec(rl_module_specs=modules)
    config.rl_module(rl_module_spec=module)
    # Env runners do not save their games: a resumed run deals others.
    seed = np.random.SeedSequence([arguments.seed, state.steps]).generate_state(1)[0]
    config.debugging(seed=int(seed) // 2, log_level="ERROR")  # RLlib adds to the seed, which must fit 32 bits
    return config


def agents(arguments: Arguments, algorithm: Algorithm, names: list[str]) -> list[NetworkPolicy]:
    """Return greedy agents of some modules, with copies of their networks."""
    weights, observer = algorithm.learner_group.get_weights(names), make_observer(arguments.rules, preview=True)
    found = []
    for name in names:
        with torch.random.fork_rng():  # training goes on with the same random numbers
            network = PolicyNetwork(observer)
        tensors = {key.removeprefix("network."): torch.tensor(array) for key, array in weights[name].items()}
        network.load_state_dict(tensors)
        found.append(NetworkPolicy(network.forward_actor, observer))
    return found


# --- The league ------------------------------------------------------------------------------------------------------


def promote(arguments: Arguments, algorithm: Algorithm, state: State) -> dict[str, float]:
    """Add a learner that beats the league; return its lowest win rate."""
    modules = [league_module(place) for place in range(arguments.places)]
    learner, *members = agents(arguments, algorithm, [LEARNER, *modules])
    rates = normalized_win_rates(learner, members, arguments.rules, arguments.promote_deals)
    place = replaced_place(rates, arguments.promote_at)
    if place is not None:
        state.members[place] = f"iteration {state.iteration}"
        copy_learner(algorithm, [place])
    return {"league": min(rates)}


def copy_learner(algorithm: Algorithm, places: Iterable[int]) -> None:
    """Copy the learner's weights to these places of the league."""
    weights = algorithm.learner_group.get_weights([LEARNER])[LEARNER]
    algorithm.learner_group.set_weights({league_module(place): weights for place in places})
    broadcast_weights(algorithm)


def broadcast_weights(algorithm: Algorithm) -> None:
    """Send the weights of all modules to the env runners. RLlib itself sends only the trained ones."""
    state = {COMPONENT_RL_MODULE: algorithm.learner_group.get_weights()}
    algorithm.env_runner_group.foreach_env_runner(lambda runner: runner.set_state(state))


# --- Checkpoints -----------------------------------------------------------------------------------------------------


def storage(arguments: Arguments) -> tuple[pyarrow.fs.FileSystem, str]:
    """Return the file system of the checkpoints, and their folder in it.

    Raises:
        CheckpointError: if there is no file system of this kind.
    """
    uri = arguments.storage if "://" in arguments.storage else Path(arguments.storage).resolve().as_uri()
    try:
        files, root = pyarrow.fs.FileSystem.from_uri(uri)
    except ValueError as error:
        raise CheckpointError(f"--storage must be a folder or a URI that pyarrow supports: {error}") from error
    return files, f"{root}/{arguments.name}/checkpoints"


def complete_checkpoints(arguments: Arguments) -> list[Checkpoint]:
    """Return all checkpoints whose metadata can be read, earliest first. The metadata are written last."""
    files, folder = storage(arguments)
    inside = files.get_file_info(pyarrow.fs.FileSelector(folder, allow_not_found=True))
    return [found for path in sorted(each.path for each in inside) if _metadata(found := Checkpoint(path, files))]


def _metadata(found: Checkpoint) -> dict[str, Any]:
    try:
        return dict(found.get_metadata())
    except ValueError:  # killed while writing it
        return {}


def refuse_existing(arguments: Arguments) -> None:
    """Ensure that a new run overwrites no checkpoint.

    Raises:
        CheckpointError: if there are complete checkpoints.
    """
    if complete_checkpoints(arguments):
        raise CheckpointError(
            f"{storage(arguments)[1]} holds checkpoints: --resume continues from them, or use another --name"
        )


def save_checkpoint(arguments: Arguments, algorithm: Algorithm, state: State) -> None:
    """Write a checkpoint, and delete the earliest ones beyond ``--keep``."""
    files, folder = storage(arguments)
    path = f"{folder}/{state.iteration:08d}"
    files.create_dir(path)
    files.delete_dir_contents(path)  # of an attempt that was interrupted
    algorithm.save_to_path(path, filesystem=files)
    Checkpoint(path, files).set_metadata({"arguments": asdict(arguments), "state": asdict(state)})
    for earlier in complete_checkpoints(arguments)[: -arguments.keep]:
        files.delete_dir(earlier.path)


def last_state(arguments: Arguments) -> State:
    """Return the state in the last complete checkpoint.

    Raises:
        CheckpointError: if there is none that can be used.
    """
    complete = complete_checkpoints(arguments)
    if not complete:
        raise CheckpointError(f"there is no checkpoint in {storage(arguments)[1]}: start without --resume")
    content = _metadata(complete[-1])
    if not {"arguments", "state"} <= content.keys():
        raise CheckpointError(f"{complete[-1].path} is damaged or of another version")
    with checkpoint.restoring(arguments, content, CHANGEABLE):
        return State(**content["state"])


def restore_checkpoint(arguments: Arguments, algorithm: Algorithm) -> None:
    """Restore RLlib's part of the last complete checkpoint. Env runners deal new games."""
    last = complete_checkpoints(arguments)[-1]
    algorithm.restore_from_path(last.path, filesystem=last.filesystem)
    broadcast_weights(algorithm)


if __name__ == "__main__":
    run_script(main, Arguments, "train.rllib", __doc__)
