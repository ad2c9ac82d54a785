"""Train on Ray RLlib, on one machine or many: PPO for the solitaire, and self-play with a league of past selves.

    make train-rllib                                        # the solitaire, in a virtual environment of its own
    python -m train.rllib --num-players 2 --name duel           # two players
    python -m train.rllib --address auto --num-env-runners 16 --storage s3://bucket/runs    # on a running cluster
    python -m train.rllib --resume                          # go on after an interruption
    python -m train.rllib --help                            # every flag

Env runners play, wherever Ray puts them; the network learns in this process. An env runner that is lost with its node
is started again where there is room, and training goes on meanwhile; if this process is lost, ``--resume`` goes on from
the last whole checkpoint.

With several players the league has a fixed number of places. At first all of them are taken by the beginner. When the
learner wins often enough against every member, measured on ``validation`` deals, a copy of it takes the place of the
member that it beats most.

A run lives in ``runs/<name>``: ``checkpoints/`` (elsewhere with ``--storage``), ``tensorboard/``, and at the end
``evaluation.json``, measured on ``benchmark`` deals, and ``<name>.safetensors``, which ``quincunx_agents.load`` plays without
Ray and without torch.
"""

import dataclasses
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow.fs
import ray
import torch
import tyro
from quincunx_agents.networks.policy import PolicyNetworkAgent, PolicyWeights, save_weights
from quincunx_agents.torch.networks import RETURN_SCALE
from quincunx_agents.torch.rllib_module import PPOPolicyNetworkModule
from ray.rllib.algorithms.algorithm import Algorithm
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core import COMPONENT_RL_MODULE, DEFAULT_MODULE_ID
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModuleSpec
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.utils.metrics import NUM_ENV_STEPS_SAMPLED_LIFETIME
from ray.tune.registry import register_env
from torch.utils.tensorboard import SummaryWriter
from tqdm.auto import tqdm

from quincunx_env.adapters.rllib import CardGameMultiAgentEnv, SolitaireRLlibVectorEnv
from quincunx_env.arena import Agent, compare, evaluate, table
from quincunx_env.core.deal import Domain
from quincunx_env.quincunx.rules import Rules
from train.common import checkpoint
from train.common.league import MAIN, Matchmaking, place, taken_by, win_rates


@dataclass
class Arguments:
    """Every option of a run."""

    name: str = "rllib"
    """the run's folder below ``runs``; an earlier run of that name is kept beside it"""
    resume: bool = False
    """go on from the last checkpoint of the run"""
    seed: int = 0
    """of the deals, the network's first weights and the exploration"""
    total_steps: int = 1_500_000
    """plays to learn from, all games together"""

    num_players: Literal[1, 2, 3, 4] = 1
    """1 is the solitaire; several play against each other"""
    start: Literal["corners", "open"] = "corners"
    """several players: which start"""
    edge_contact: bool = False
    """solitaire: a card must touch a card in play"""
    excuse: bool = False
    """add the Excuse to the deck"""
    pawns: bool = False
    """add the Pawns to the deck"""
    flush: bool = False
    """play with the flush bonus"""

    address: str = "local"
    """of the Ray cluster to join, ``auto`` or host:port; ``local``: Ray is started for this run alone"""
    num_env_runners: int = 2
    """processes that play, anywhere in the cluster; 0: this process does"""
    num_envs_per_env_runner: int = 256
    """games side by side in each"""
    storage: str = "runs"
    """where checkpoints go, to ``<storage>/<name>/checkpoints``: a folder that outlives this machine, or a URI that
    pyarrow knows, such as s3://bucket/path"""
    checkpoint_every: int = 5
    """iterations between checkpoints"""
    keep: int = 2
    """checkpoints that are kept"""

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
    grad_clip: float = 0.5
    """longest gradient"""

    places: int = 4
    """members of the league"""
    self_share: float = 0.5
    """share of the games in which the learner has all seats"""
    promote_every: int = 5
    """iterations after which the learner may join the league"""
    promote_at: float = 0.55
    """what it must win against every member, where half is even"""
    promote_deals: int = 100
    """validation deals against each"""

    against: str = "heuristic-v0"
    """several players: agent to be measured against, a name of the arena"""
    eval_every: int = 10
    """iterations between evaluations"""
    eval_deals: int = 200
    """validation deals of an evaluation"""
    test_deals: int = 1000
    """benchmark deals of the final figures"""
    threads: int = 1
    """of PyTorch, in this process"""
    progress: bool = True
    """show a progress bar"""

    @property
    def rules(self) -> Rules:
        """Which game is played."""
        return Rules(**self.options)

    @property
    def options(self) -> dict[str, Any]:
        """Those of the game, as the environments take them."""
        options = {"excuse": self.excuse, "pawns": self.pawns, "flush": self.flush}
        if self.num_players == 1:
            return options | {"edge_contact": self.edge_contact}
        return options | {"num_players": self.num_players, "start": self.start}

    @property
    def learner(self) -> str:
        """The module that learns."""
        return DEFAULT_MODULE_ID if self.num_players == 1 else MAIN


MAY_CHANGE = (
    *("resume", "total_steps", "address", "num_env_runners", "storage", "checkpoint_every", "keep"),
    *("eval_every", "eval_deals", "test_deals", "against", "threads", "progress"),
)
"""Arguments that a resumed run may set anew."""


@dataclass
class State:
    """What changes in the course of a run, beside what RLlib keeps."""

    iteration: int = 0
    steps: int = 0
    members: list[str] = field(default_factory=list)
    """What is in each place of the league."""
    history: list[dict[str, Any]] = field(default_factory=list)
    """What was measured on the way."""


def main(arguments: Arguments) -> dict[str, Any]:
    """Train, measure, and write everything to ``runs/<name>``; returns the final figures."""
    folder = Path("runs") / arguments.name
    checkpoints = Checkpoints(arguments)
    state = checkpoints.last() if arguments.resume else State(members=["beginner"] * arguments.places)
    if not arguments.resume:
        checkpoint.keep_earlier(folder)
        checkpoints.refuse_others()
    folder.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(arguments.threads)
    if not ray.is_initialized():
        # Ray's log and its dashboard are for those who ask for them, by its own environment variables.
        ray.init(address=arguments.address, include_dashboard=False, logging_level="error", log_to_driver=False)
    algorithm = make_config(arguments, state).build_algo()
    if arguments.resume:
        checkpoints.restore(algorithm, state)
    elif arguments.num_players > 1:
        seat_members(algorithm, range(arguments.places))

    writer = SummaryWriter(folder / "tensorboard", purge_step=state.steps)
    bar = tqdm(
        total=arguments.total_steps, initial=state.steps, unit="step", smoothing=0, disable=not arguments.progress
    )
    while state.steps < arguments.total_steps:
        result = algorithm.train()
        before, state.steps = state.steps, int(result[NUM_ENV_STEPS_SAMPLED_LIFETIME])
        if state.steps == before:  # all env runners are lost, and none is back yet
            continue
        state.iteration += 1
        bar.update(state.steps - before)
        last = state.steps >= arguments.total_steps
        found = {"return": result["env_runners"].get("episode_return_mean", float("nan"))}
        if arguments.num_players > 1 and state.iteration % arguments.promote_every == 0:
            found |= promote(arguments, algorithm, state)
        if last or state.iteration % arguments.eval_every == 0:
            found |= measure(arguments, trained(arguments, algorithm), arguments.eval_deals, "validation")
            state.history.append({"iteration": state.iteration, "steps": state.steps, **found})
            bar.set_postfix({name: f"{found[name]:.3g}" for name in ("mean", "won") if name in found})
        for name, value in found.items():
            writer.add_scalar(name, value, state.steps)
        if last or state.iteration % arguments.checkpoint_every == 0:
            checkpoints.save(algorithm, state)
    bar.close()
    writer.close()
    network = trained(arguments, algorithm)
    algorithm.stop()
    return report(arguments, folder, network, state)


# --- The algorithm ---------------------------------------------------------------------------------------------------


def make_config(arguments: Arguments, state: State) -> PPOConfig:
    """RLlib's PPO, as near to that of stable-baselines3 in ``train/ppo.py`` as it can be."""
    several, rows = arguments.num_players > 1, arguments.num_envs_per_env_runner
    module = RLModuleSpec(PPOPolicyNetworkModule, model_config={"rules": arguments.rules})
    config = PPOConfig()
    env = "quincunx-players" if several else "quincunx-solitaire"
    # Once more: what the adapter registered is forgotten where Ray is started a second time in a process.
    register_env(env, CardGameMultiAgentEnv if several else SolitaireRLlibVectorEnv)
    config.environment(env, env_config=arguments.options, disable_env_checking=True)
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
        # The value is in points, its error in squared points: bring it to the size of the policy's loss.
        vf_loss_coeff=0.5 / RETURN_SCALE**2,
        vf_clip_param=float("inf"),
        use_kl_loss=False,
    )
    config.fault_tolerance(
        restart_failed_env_runners=True,
        ignore_env_runner_failures=True,
        num_consecutive_env_runner_failures_tolerance=10**6,
        max_num_env_runner_restarts=10**6,
        # A node that is gone does not answer; waiting long for it would stop those that do.
        env_runner_health_probe_timeout_s=10,
        env_runner_restore_timeout_s=60,
    )
    if several:
        modules = {MAIN: module} | {place(number): module for number in range(arguments.places)}
        matchmaking = Matchmaking(arguments.num_players, arguments.places, arguments.self_share)
        config.multi_agent(policies=set(modules), policy_mapping_fn=matchmaking, policies_to_train=[MAIN])
        module = MultiRLModuleSpec(rl_module_specs=modules)
    config.rl_module(rl_module_spec=module)
    # Env runners do not keep their games: after a resumption they deal others.
    seed = np.random.SeedSequence([arguments.seed, state.steps]).generate_state(1)[0]
    config.debugging(seed=int(seed) // 2, log_level="ERROR")  # RLlib adds to it, and needs 32 bits
    return config


def networks(arguments: Arguments, algorithm: Algorithm, names: list[str]) -> list[PolicyWeights]:
    """The networks of some modules, as the learner has them."""
    found = algorithm.learner_group.get_weights(names)
    return [
        PolicyWeights(
            {key.removeprefix("network."): np.array(array) for key, array in found[name].items()}, arguments.rules
        )
        for name in names
    ]


def trained(arguments: Arguments, algorithm: Algorithm) -> PolicyWeights:
    """The network that learns."""
    return networks(arguments, algorithm, [arguments.learner])[0]


# --- The league ------------------------------------------------------------------------------------------------------


def promote(arguments: Arguments, algorithm: Algorithm, state: State) -> dict[str, float]:
    """Let the learner join the league if it is good enough; says what it wins against the strongest member."""
    members = networks(arguments, algorithm, [place(number) for number in range(arguments.places)])
    rates = win_rates(trained(arguments, algorithm), members, arguments.promote_deals)
    number = taken_by(rates, arguments.promote_at)
    if number is not None:
        state.members[number] = f"iteration {state.iteration}"
        seat_members(algorithm, [number])
    return {"league": min(rates)}


def seat_members(algorithm: Algorithm, places: Iterable[int]) -> None:
    """Give these places of the league the learner's weights."""
    weights = algorithm.learner_group.get_weights([MAIN])[MAIN]
    algorithm.learner_group.set_weights({place(number): weights for number in places})
    hand_out(algorithm)


def hand_out(algorithm: Algorithm) -> None:
    """Send all weights to the env runners: RLlib itself sends them those that have just been learned."""
    state = {COMPONENT_RL_MODULE: algorithm.learner_group.get_weights()}
    algorithm.env_runner_group.foreach_env_runner(lambda runner: runner.set_state(state))


# --- Checkpoints -----------------------------------------------------------------------------------------------------


class Checkpoints:
    """Those of a run, in a folder or behind a URI. One is whole when ``run.json`` is there, which is written last."""

    def __init__(self, arguments: Arguments) -> None:
        storage = arguments.storage
        uri = storage if "://" in storage else Path(storage).resolve().as_uri()
        self.filesystem, root = pyarrow.fs.FileSystem.from_uri(uri)
        self.folder = f"{root}/{arguments.name}/checkpoints"
        self.arguments = arguments

    def _whole(self) -> list[str]:
        """Their folders, the earliest first."""
        inside = pyarrow.fs.FileSelector(self.folder, allow_not_found=True)
        folders = sorted(found.path for found in self.filesystem.get_file_info(inside))
        marks = self.filesystem.get_file_info([f"{path}/run.json" for path in folders])
        return [path for path, mark in zip(folders, marks, strict=True) if mark.type == pyarrow.fs.FileType.File]

    def refuse_others(self) -> None:
        """Nobody's checkpoints are written over."""
        if self._whole():
            raise SystemExit(f"{self.folder} holds checkpoints: --resume goes on from them, another --name begins anew")

    def save(self, algorithm: Algorithm, state: State) -> None:
        """Write a checkpoint, and delete what is beyond those to be kept."""
        path, files = f"{self.folder}/{state.iteration:08d}", self.filesystem
        files.create_dir(path)
        files.delete_dir_contents(path)  # of one that never became whole
        algorithm.save_to_path(path, filesystem=files)
        text = json.dumps({"arguments": dataclasses.asdict(self.arguments), "state": dataclasses.asdict(state)})
        with files.open_output_stream(f"{path}/run.unfinished") as stream:
            stream.write(text.encode())
        files.move(f"{path}/run.unfinished", f"{path}/run.json")
        for earlier in self._whole()[: -self.arguments.keep]:
            files.delete_dir(earlier)

    def last(self) -> State:
        """The state in the last whole checkpoint.

        Raises:
            CheckpointError: if there is none that can be used.
        """
        whole = self._whole()
        if not whole:
            raise checkpoint.CheckpointError(f"there is no checkpoint in {self.folder}: start without --resume")
        try:
            with self.filesystem.open_input_stream(f"{whole[-1]}/run.json") as stream:
                content = json.loads(stream.read())
            saved, state = content["arguments"], State(**content["state"])
        except (KeyError, TypeError, ValueError) as error:
            raise checkpoint.CheckpointError(f"{whole[-1]} does not fit this version or is damaged: {error}") from error
        checkpoint.refuse_other_arguments(self.arguments, saved, MAY_CHANGE)
        return state

    def restore(self, algorithm: Algorithm, state: State) -> None:
        """Bring RLlib to where `save` found it with this state; games begin anew."""
        algorithm.restore_from_path(f"{self.folder}/{state.iteration:08d}", filesystem=self.filesystem)
        hand_out(algorithm)


# --- Measuring -------------------------------------------------------------------------------------------------------


def measure(
    arguments: Arguments, network: PolicyWeights, deals: int, domain: Domain, against: str | None = None
) -> dict[str, float]:
    """How strong the network is: alone in the solitaire, else in one seat against an agent."""
    if arguments.num_players == 1:
        score = evaluate(PolicyNetworkAgent(network), deals, rules=arguments.rules, domain=domain)
        low, high = score.ci95
        return {"mean": score.mean, "low": low, "high": high, "lost": float(score.lost.mean())}
    agents: list[Agent | str] = [PolicyNetworkAgent(network), against or arguments.against]
    games = compare(agents, deals, rules=arguments.rules, domain=domain, names=["trained", "other"])
    won, margin = games.win_rate(), games.margin()
    found = {"won": won.value, "low": won.low, "high": won.high, "even": float(games.even[0])}
    return found | {"margin": margin.value, "margin_low": margin.low, "margin_high": margin.high}


def report(arguments: Arguments, folder: Path, network: PolicyWeights, state: State) -> dict[str, Any]:
    """The final figures, as text and as JSON, and the weights."""
    deals, rules = arguments.test_deals, arguments.rules
    results: dict[str, Any]
    if arguments.num_players == 1:
        agents: dict[str, Agent | str] = {
            "uniform": "uniform",
            "greedy": "greedy",
            "trained": PolicyNetworkAgent(network),
        }
        evaluations = {name: evaluate(agent, deals, rules=rules) for name, agent in agents.items()}
        results = {name: evaluation.to_json() for name, evaluation in evaluations.items()}
        print(table(evaluations))
    else:
        others = dict.fromkeys(("greedy", arguments.against))
        results = {name: measure(arguments, network, deals, "benchmark", name) for name in others}
        results["league"] = state.members
        print(json.dumps(results, indent=2))
    text = json.dumps(results, indent=2) + os.linesep
    checkpoint.write_atomically(folder / "evaluation.json", lambda path: path.write_text(text))
    save_weights(folder / f"{arguments.name}.safetensors", network)
    print(f"\nWritten to {folder}: {arguments.name}.safetensors, evaluation.json, tensorboard/")
    return results


if __name__ == "__main__":
    try:
        main(tyro.cli(Arguments, description=__doc__))
    except checkpoint.CheckpointError as error:
        raise SystemExit(str(error)) from None
    except KeyboardInterrupt:
        raise SystemExit("\ninterrupted: --resume goes on from the last checkpoint") from None
