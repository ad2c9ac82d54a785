r"""Train the value networks of `quincunx_agents.networks.value` by self-play and TD(lambda).

    python -m train.selfplay                                          # two to four players, both starts
    python -m train.selfplay --variants solitaire --name my-solitaire --candidates 0 --shortlist 24 \
        --temperature 2 --td-lambda 0.7 --updates 24 --iterations 300    # the solitaire
    python -m train.selfplay --variants spiral --name my-spiral --candidates 0 --shortlist 0 --td-lambda 0.95 \
        --games 256 --iterations 300 --against heuristic       # the spiral game
    python -m train.selfplay --name response --variants 2-corners --init-from two-players --set-width 128 --width 384 \
        --baselines value --pool-share 1 --snapshot-every 1000 --against value \
        --iterations 100                                              # a best response to a shipped network
    python -m train.selfplay --resume                                 # continue after an interruption
    python -m train.selfplay --help                                   # every flag

Each iteration plays whole rounds of every variant and then takes gradient steps on the afterstates of the latest
iterations. Meanwhile the next iteration is played, in other processes, with the weights from before these steps. The
learner has all seats of a game, except in a share of the games. There it has one seat; a member of a pool, a past
snapshot or a fixed agent, has the others. Actions are sampled from a softmax over their values.

All randomness of an iteration follows from the seed and its number, and rounds are played to their end. A run therefore
continues exactly where it stopped, with any number of processes. It needs only the learning and the playing weights,
optimizer, replay and pool.

A run writes to ``runs/<name>``: ``checkpoint.pt``, ``tensorboard/``, the latest weights as ``<name>.safetensors``. At
the end it writes ``<name>.json`` with command, versions and results, ``learning_curve.png``, and a model card,
``README.md``. Evaluations during training use ``validation`` deals, the final figures ``benchmark`` deals.
"""

import json
from collections import deque
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Annotated, Any

import numpy as np

from quincunx_env.utils.errors import requires_extra

with requires_extra("train"):
    import torch
from torch.utils.tensorboard import SummaryWriter
from tqdm.auto import tqdm

from quincunx_agents.afterstates import NUMPY, Backend
from quincunx_agents.games import VARIANTS, with_options
from quincunx_agents.networks import value
from quincunx_agents.networks.value import ValueAgent, save_weights
from quincunx_agents.torch import ValueNetwork
from quincunx_env.arena import resolve
from quincunx_env.arena.curves import Curve, draw_learning_curves
from quincunx_env.core.deal import Domain
from quincunx_env.core.policy import Agent
from train.common import checkpoint
from train.common.evaluation import provenance, require_opponent, strengths, write_json
from train.common.model_card import write_model_card
from train.common.opponents import Member, Pool
from train.common.options import (
    Count,
    CountOrZero,
    NumDeals,
    OptionError,
    PolicyName,
    RunName,
    RunOptions,
    Share,
    Valid,
    run_script,
)
from train.selfplay_learning import LearningOptions, learn
from train.selfplay_rollout import Opponents, PhaseTimer, RolloutOptions, ValueTargets, Weights, join
from train.selfplay_workers import GameShare, Job, Played, play, workers


@dataclass
class Arguments(RunOptions, RolloutOptions, LearningOptions):
    """Every option of a run."""

    name: RunName = "players"
    """the run's folder below ``runs``, and the name of the weights"""
    seed: Annotated[int, Valid("from 0 to 1000000", lambda value: 0 <= value <= 10**6)] = 0
    """of the deals, the initial weights and the exploration"""
    variants: tuple[str, ...] = ("2-corners", "3-corners", "4-corners", "2-open", "3-open", "4-open")
    """variants to learn, names of `quincunx_agents.networks.VARIANTS`, all of one game"""
    init_from: str | None = None
    """name of a shipped network whose weights are the initial ones; None: random initialisation"""
    iterations: Count = 700
    """each plays games and then takes gradient steps"""
    games: Count = 192
    """games in an iteration, of all variants together"""
    options_share: Share = 0.0
    """share of the games of each variant that are played with options drawn at random in each iteration"""
    shares: Count = 2
    """parts of the games of each variant, which as many processes can play"""
    candidates: CountOrZero = 12
    """actions of a state that the trained network evaluates, the heuristic's best; 0: all"""

    baselines: tuple[str, ...] = ()
    """agents that are in the pool from the start, names of the arena"""
    snapshot_every: Count = 50
    """iterations after which a snapshot of the learner joins the pool"""

    averaging: Share = 0.0
    """share of the iterations so far over which a moving average of the weights plays, and is the result; 0: none"""
    set_width: Count = 48
    """units of the layers that encode a cell or a card"""
    width: Count = 128
    """units of the first hidden layer of the trunk; the second has half as many"""

    against: PolicyName = "heuristic"
    """opponent in evaluations, a name of the arena"""
    eval_every: Count = 100
    """iterations between evaluations"""
    eval_deals: NumDeals = 100
    """validation deals of an evaluation, for each variant; several players play each from every seat"""
    test_deals: NumDeals = 500
    """benchmark deals of the card, for each variant"""
    checkpoint_every: Count = 50
    """iterations between checkpoints"""
    keep_weights: bool = False
    """keep the weights of every checkpoint, as ``weights/<iteration>.safetensors``"""

    def __post_init__(self) -> None:
        super().__post_init__()
        unknown = [variant for variant in self.variants if variant not in VARIANTS]
        if unknown or not self.variants:
            raise ValueError(f"--variants must be of {', '.join(VARIANTS)}, got {unknown or 'none'}")
        if len({type(VARIANTS[variant]) for variant in self.variants}) != 1:
            raise ValueError(f"--variants: all must be of one game, got {', '.join(self.variants)}")
        if self.init_from is not None and self.init_from not in value.SHIPPED:
            raise ValueError(f"--init-from must be one of {', '.join(value.SHIPPED)}, got {self.init_from!r}")
        for name in self.baselines:
            resolve(name)
        require_opponent(self.against, self.variants)


MAY_CHANGE = (
    *("resume", "eval_every", "eval_deals", "test_deals", "checkpoint_every", "keep_weights", "progress", "device"),
    *("threads", "workers"),
)
"""Arguments that may differ when a run is resumed."""

SELFPLAY_DEALS_APART = 10**12
"""Seeds between the first deals of runs with successive seeds: more than a run can use."""


@dataclass
class Run:
    """A training run and its progress."""

    arguments: Arguments
    network: ValueNetwork
    optimizer: torch.optim.Optimizer
    pool: Opponents
    replay: deque[ValueTargets]
    averaged: Weights
    """Moving average of the weights over the iterations: the result."""
    acting: Weights
    """Weights that play the next iteration: one averaging step behind."""
    timer: PhaseTimer = field(default_factory=PhaseTimer)
    iteration: int = 0
    steps: int = 0
    """Environment steps learned from. Steps after which the values follow from the rules are not counted."""
    earlier_seconds: dict[str, float] = field(default_factory=dict)
    """Processor time before the run was resumed, by phase."""
    history: list[dict[str, Any]] = field(default_factory=list)
    """Evaluations on validation deals."""

    @property
    def seconds(self) -> dict[str, float]:
        """Processor time since the run began, by phase."""
        spent = self.timer.seconds.items()
        return {phase: seconds + self.earlier_seconds.get(phase, 0.0) for phase, seconds in spent}


@checkpoint.unlocks_runs()
def main(arguments: Arguments) -> dict[str, Any]:
    """Train, evaluate, and write everything to ``runs/<name>``; returns the model card."""
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(arguments.seed)
    run = begin(arguments)
    writer = SummaryWriter(run.arguments.folder / "tensorboard", purge_step=run.iteration + 1)
    bar = tqdm(total=arguments.iterations, initial=run.iteration, disable=not arguments.progress)
    with bar, workers(play, arguments.num_workers, arguments.backend) as start:
        if run.iteration < arguments.iterations:
            results = start(next_job(run))
        while run.iteration < arguments.iterations:
            receive(run, results())
            run.acting = run.averaged
            if run.iteration and run.iteration % arguments.snapshot_every == 0:
                run.pool.add(f"iteration {run.iteration}", run.acting)
            run.iteration += 1
            last = run.iteration == arguments.iterations
            if not last:
                results = start(next_job(run))
            for group in run.optimizer.param_groups:
                group["lr"] = arguments.learning_rate * (1 - (run.iteration - 1) / arguments.iterations)
            run.timer.skip()
            rng = np.random.default_rng([arguments.seed, run.iteration])
            loss = learn(arguments, run.network, run.optimizer, run.replay, rng)
            average(run)
            run.timer.add("learning")
            writer.add_scalar("loss/value", loss, run.iteration)
            if last or run.iteration % arguments.eval_every == 0:
                log_evaluation(run, writer, bar)
            if last or run.iteration % arguments.checkpoint_every == 0:
                save_checkpoint(run)
            bar.update()
    writer.close()
    return write_card(run)


def begin(arguments: Arguments) -> Run:
    """Return a new run, or the one to be resumed."""
    network = ValueNetwork(value.layout_of(arguments.variants), arguments.set_width, arguments.width)
    network.to(arguments.device)
    optimizer = torch.optim.Adam(network.parameters(), lr=arguments.learning_rate)
    baselines = (Member[Agent | Weights](name, resolve(name)) for name in arguments.baselines)
    pool, replay = Pool(baselines), deque[ValueTargets](maxlen=arguments.replay)
    initial_weights = weights_of(network, arguments.backend)
    run = Run(arguments, network, optimizer, pool, replay, initial_weights, initial_weights)
    if arguments.init_from:
        initial = value.load(arguments.init_from).weights.tensors
        try:
            network.load_state_dict({name: torch.from_numpy(tensor) for name, tensor in initial.items()})
        except RuntimeError:
            raise OptionError(
                f"--init-from {arguments.init_from} needs variants of its game, and its --set-width and --width"
            ) from None
        run.averaged = run.acting = weights_of(network, run.arguments.backend)
    if arguments.resume:
        restore_checkpoint(run)
    checkpoint.begin_run(arguments.folder, arguments.resume)
    if not arguments.resume:
        save_checkpoint(run)  # any interruption from now on can be resumed
    return run


def weights_of(network: ValueNetwork, backend: Backend) -> Weights:
    """Return a copy of the weights as arrays of a backend. The backend is on the network's device."""
    if backend == NUMPY:
        return network.weights()
    return {name: tensor.detach().clone() for name, tensor in network.state_dict().items()}


# --- Playing ---------------------------------------------------------------------------------------------------------


def next_job(run: Run) -> Job:
    """Return the games of the next iteration."""
    arguments, iteration = run.arguments, run.iteration + 1
    games = -(-arguments.games // len(arguments.variants))
    seed = SELFPLAY_DEALS_APART * (arguments.seed + 1) + iteration * games
    plain = games - int(games * arguments.options_share)
    cuts = [plain * number // arguments.shares for number in range(arguments.shares + 1)]
    parts = [(variant, *ends) for variant in arguments.variants for ends in pairwise(cuts)]
    rng = np.random.default_rng([arguments.seed, iteration])
    options_of = {variant: with_options(variant) or [variant] for variant in arguments.variants}
    parts += [(str(rng.choice(options_of[variant])), plain, games) for variant in arguments.variants]
    shares = [
        GameShare(variant, stop - start, seed + start, (arguments.seed, iteration, number))
        for number, (variant, start, stop) in enumerate(parts)
        if start < stop
    ]
    members = [
        Member(each.name, each.opponent if isinstance(each.opponent, dict) else None, each.won, each.games)
        for each in run.pool.members
    ]
    return Job(arguments, run.acting, Pool(members), shares)


def receive(run: Run, played: list[Played]) -> None:
    """Add the targets of played games to the replay. Also count their results."""
    run.replay.append(join([each.targets for each in played], run.arguments.backend))
    run.steps += len(run.replay[-1].seats)
    for each in played:
        for result in each.results:
            run.pool.count(*result)
        for phase, seconds in each.seconds.items():
            run.timer.seconds[phase] += seconds


# --- Learning --------------------------------------------------------------------------------------------------------


def average(run: Run) -> None:
    """Move the average towards the latest weights. See Polyak & Juditsky, SIAM J. Control Optim. 30, 1992."""
    kept = 1 - 1 / (1 + run.arguments.averaging * (run.iteration - 1))
    latest = weights_of(run.network, run.arguments.backend)
    run.averaged = {name: latest[name] + kept * (past - latest[name]) for name, past in run.averaged.items()}


# --- Evaluation ------------------------------------------------------------------------------------------------------


def evaluate_variants(run: Run, deals: int, domain: Domain, progress: bool = False) -> dict[str, dict[str, float]]:
    """Evaluate the network greedily in each variant; see `train.common.evaluation.strengths`."""
    return strengths(ValueAgent(trained(run)), run.arguments.against, run.arguments.variants, deals, domain, progress)


def log_evaluation(run: Run, writer: SummaryWriter, bar: Any) -> None:
    """Evaluate on validation deals; log the figures and draw the learning curves."""
    run.timer.add("learning")
    found = evaluate_variants(run, run.arguments.eval_deals, "validation")
    run.timer.skip()
    seconds = {phase: round(spent, 1) for phase, spent in run.seconds.items()}
    run.history.append({"iteration": run.iteration, "steps": run.steps, "seconds": seconds, "variants": found})
    for variant, figures in found.items():
        for name, figure in figures.items():
            writer.add_scalar(f"{variant}/{name}", figure, run.iteration)
    bar.set_postfix({variant: f"{f.get('win_rate', f.get('mean')):.3g}" for variant, f in found.items()})

    curves = {}
    solitaire = "mean" in found[run.arguments.variants[0]]
    for variant in run.arguments.variants:
        all_figures = [entry["variants"][variant] for entry in run.history]
        # Win rates are divided by the rate of equals, so that variants with different numbers of players compare.
        name, unit = ("mean", 1.0) if solitaire else ("win_rate", all_figures[0]["even"])
        middle, low, high = ([f[key] / unit for f in all_figures] for key in (name, f"{name}_low", f"{name}_high"))
        curves[variant] = Curve([entry["steps"] for entry in run.history], middle, low, high)
    what = "mean score" if solitaire else f"win rate against {run.arguments.against}, 1 is even"
    ylabel = f"{what} ({run.arguments.eval_deals} validation deals)"
    xlabel, path = "environment steps learned from", run.arguments.folder / "learning_curve.png"
    draw_learning_curves(path, curves, xlabel=xlabel, ylabel=ylabel, title=run.arguments.name)


# --- Files -----------------------------------------------------------------------------------------------------------


def trained(run: Run) -> value.ValueWeights:
    """Return a copy of the weights for inference with NumPy."""
    tensors = {name: run.arguments.backend.to_numpy(array) for name, array in run.averaged.items()}
    return value.ValueWeights(tensors, run.arguments.variants, run.arguments.candidates)


def save_checkpoint(run: Run) -> None:
    """Write the checkpoint and the weights."""
    pool: list[list[Any]] = []
    for member in run.pool.members:
        snapshot = member.opponent if isinstance(member.opponent, dict) else {}
        tensors = {name: torch.as_tensor(array) for name, array in snapshot.items()}
        pool.append([member.name, member.won, member.games, tensors])  # no tensors: a baseline
    content = {
        "network": run.network.state_dict(),
        "optimizer": run.optimizer.state_dict(),
        "averaged": {name: torch.as_tensor(array) for name, array in run.averaged.items()},
        "acting": {name: torch.as_tensor(array) for name, array in run.acting.items()},
        "replay": [[torch.as_tensor(part) for part in targets] for targets in run.replay],
        "pool": pool,
        "iteration": run.iteration,
        "steps": run.steps,
        "seconds": run.seconds,
        "history": json.dumps(run.history),
    }
    # The checkpoint comes last, so that a run killed between the two writes both again.
    save_weights(run.arguments.folder / f"{run.arguments.name}.safetensors", trained(run))
    if run.arguments.keep_weights:
        kept = run.arguments.folder / "weights" / f"{run.iteration}.safetensors"
        kept.parent.mkdir(exist_ok=True)
        save_weights(kept, trained(run))
    checkpoint.save(run.arguments.folder / "checkpoint.pt", run.arguments, content)


def restore_checkpoint(run: Run) -> None:
    """Restore the checkpoint that `save_checkpoint` wrote."""
    content = checkpoint.load(run.arguments.folder / "checkpoint.pt")
    array = run.arguments.backend.array
    with checkpoint.restoring(run.arguments, content, MAY_CHANGE):
        run.network.load_state_dict(content["network"])
        run.optimizer.load_state_dict(content["optimizer"])
        run.averaged, run.acting = (
            {name: array(tensor) for name, tensor in content[kind].items()} for kind in ("averaged", "acting")
        )
        for features, *others in content["replay"]:
            run.replay.append(ValueTargets(array(features), *(part.numpy() for part in others)))
        baselines = {member.name: member.opponent for member in run.pool.members}  # the file names no others
        run.pool.members = [
            Member[Agent | Weights](
                name, {key: array(each) for key, each in tensors.items()} if tensors else baselines[name], won, games
            )
            for name, won, games, tensors in content["pool"]
        ]
        run.iteration, run.steps, run.earlier_seconds = content["iteration"], content["steps"], content["seconds"]
        run.history = json.loads(content["history"])


def write_card(run: Run) -> dict[str, Any]:
    """Write results and model card of the finished run. Return the results."""
    seconds = run.seconds
    card = provenance("train.selfplay", run.arguments) | {
        "steps": run.steps,
        "seconds": {phase: round(spent) for phase, spent in seconds.items()},
        "steps_per_second": round(run.steps / sum(seconds.values())),
        "environment_share": round(seconds["environment"] / sum(seconds.values()), 4),
        "pool": run.pool.win_rates(),
        "validation": run.history,
        "benchmark": evaluate_variants(run, run.arguments.test_deals, "benchmark", run.arguments.progress),
    }
    name = run.arguments.name
    write_json(run.arguments.folder / f"{name}.json", card)
    write_model_card(run.arguments.folder, name, card)
    print(json.dumps(card["benchmark"], indent=1))
    print(f"\nWritten to {run.arguments.folder}: {name}.safetensors, {name}.json, README.md, learning_curve.png")
    return card


if __name__ == "__main__":
    run_script(main, Arguments, "train.selfplay", __doc__)
