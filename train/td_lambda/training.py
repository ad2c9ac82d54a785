"""The training loop of TD(lambda).

Each iteration plays whole rounds of every variant and then takes gradient steps on the afterstates of the latest
iterations. Meanwhile the next iteration is played, in other processes, with the weights from before these steps. The
learner has all seats of a game, except in a share of the games. There it has one seat; a member of a pool, a past
snapshot, has the others. Actions are sampled from a softmax over their values.

All randomness of an iteration follows from the seed and its number, and rounds are played to their end. A run therefore
continues exactly where it stopped, with any number of processes. It needs only the learning and the playing weights,
optimizer, replay and pool.
"""

from collections import deque
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from quincunx_env.utils.errors import requires_extra

with requires_extra("train"):
    import torch

from quincunx_agents.agent_specs import rules_of, with_options
from quincunx_agents.networks import value
from quincunx_agents.networks.value import ValueAgent, save_weights
from quincunx_agents.torch import ValueNetwork
from train.common.options import DEALS_APART
from train.common.run import Run
from train.common.timer import PhaseTimer
from train.td_lambda.learning import learn
from train.td_lambda.pool import Member, Pool, Weights
from train.td_lambda.results import expected_minutes
from train.td_lambda.rollout import ValueTargets, join
from train.td_lambda.settings import Arguments
from train.td_lambda.workers import GameShare, Job, Played, workers

MAY_CHANGE = ("keep_weights", "threads", "workers")
"""Further options that may differ when a run is resumed."""


def main(arguments: Arguments) -> dict[str, Any]:
    """Train, evaluate, and write everything to ``runs/<name>``; returns the results."""
    torch.set_num_threads(arguments.threads)
    learner = Ensemble(arguments)
    variants = {variant: rules_of(variant) for variant in arguments.variants}
    run = Run("train.td_lambda", arguments, learner, variants, arguments.iterations, MAY_CHANGE)
    if not arguments.resume and (about := expected_minutes(arguments)) is not None:
        print(f"Training takes about {about:.0f} min of processor time on a usual core, evaluations not counted.")
    with run.begun(), workers(arguments.workers) as start:
        run.record()
        playing = [] if run.finished else [start(member.next_job()) for member in learner.members]
        while not run.finished:
            received = [
                member.receive(results(), run.timer) for member, results in zip(learner.members, playing, strict=True)
            ]
            run.advance(1, sum(received))
            if not run.finished:
                playing = [start(member.next_job()) for member in learner.members]
            run.timer.skip()
            run.log("loss/value", sum(member.learn() for member in learner.members) / len(learner.members))
            run.timer.add("learning")
            run.record()
        return run.report(learner.agent(), pools=[member.pool.win_rates() for member in learner.members])


class Ensemble:
    """Members that learn side by side, each alone; a `train.common.run.Learner`."""

    def __init__(self, arguments: Arguments) -> None:
        self.arguments = arguments
        first = arguments.seed * arguments.members
        self.members = [Learner(replace(arguments, seed=first + number)) for number in range(arguments.members)]

    def agent(self) -> ValueAgent:
        """Return the agent of the averaged weights, for inference with NumPy.

        The outputs of an ensemble are summed, so the last layer of each member is divided by their number.
        """
        members = tuple(
            {
                name: array / np.float32(len(self.members)) if name.startswith(value.LAST_LAYER) else array
                for name, array in member.averaged.items()
            }
            for member in self.members
        )
        return ValueAgent(value.ValueWeights(members, self.arguments.variants, self.arguments.candidates))

    def write_weights(self, path: Path) -> None:
        """Write the averaged weights, and keep them if wanted."""
        weights = self.agent().weights
        save_weights(path, weights)
        if self.arguments.keep_weights:
            kept = path.parent / "weights" / f"{self.members[0].iteration}.safetensors"
            kept.parent.mkdir(exist_ok=True)
            save_weights(kept, weights)

    def get_state(self) -> dict[str, Any]:
        """Return what a checkpoint keeps."""
        return {"members": [member.get_state() for member in self.members]}

    def set_state(self, state: dict[str, Any]) -> None:
        """Restore what `get_state` returned."""
        for member, saved in zip(self.members, state["members"], strict=True):
            member.set_state(saved)


class Learner:
    """Network, optimizer, replay and pool of opponents of a member.

    Attributes:
        iteration: number of iterations that have been played.
        averaged: moving average of the weights over the iterations, the result.
        acting: weights that play the next iteration, one averaging step behind.
    """

    def __init__(self, arguments: Arguments) -> None:
        torch.manual_seed(arguments.seed)
        self.arguments = arguments
        self.network = ValueNetwork(value.layout_of(arguments.variants), arguments.set_width, arguments.width)
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr=arguments.learning_rate)
        self.pool = Pool()
        self.replay = deque[ValueTargets](maxlen=arguments.replay)
        self.iteration = 0
        self.averaged = self.acting = self.network.weights()

    # --- Playing -----------------------------------------------------------------------------------------------------

    def next_job(self) -> Job:
        """Return the games of the next iteration."""
        arguments, iteration = self.arguments, self.iteration + 1
        games = -(-arguments.games // len(arguments.variants))
        seed = DEALS_APART * (arguments.seed + 1) + iteration * games
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
        return Job(arguments, self.acting, self.pool, shares)

    def receive(self, played: list[Played], timer: PhaseTimer) -> int:
        """Take in the games of an iteration; return their environment steps.

        Its targets join the replay, its results and processor times are counted, and a snapshot may join the pool.
        Steps after which the values follow from the rules are not learned from, and are not counted.
        """
        self.replay.append(join([each.targets for each in played]))
        for each in played:
            timer.include(each.seconds)
            for result in each.results:
                self.pool.count(*result)
        self.acting = self.averaged
        if self.iteration and self.iteration % self.arguments.snapshot_every == 0:
            self.pool.add(f"iteration {self.iteration}", self.acting)
        self.iteration += 1
        return len(self.replay[-1].seats)

    # --- Learning ----------------------------------------------------------------------------------------------------

    def learn(self) -> float:
        """Take the gradient steps of an iteration; return the loss.

        The average of the weights moves, too (Polyak & Juditsky, SIAM J. Control Optim. 30, 1992).
        """
        arguments = self.arguments
        for group in self.optimizer.param_groups:
            group["lr"] = arguments.learning_rate * (1 - (self.iteration - 1) / arguments.iterations)
        rng = np.random.default_rng([arguments.seed, self.iteration])
        loss = learn(arguments, self.network, self.optimizer, self.replay, rng)
        self.average()
        return loss

    def average(self) -> None:
        """Move the average towards the latest weights."""
        kept = 1 - 1 / (1 + self.arguments.averaging * (self.iteration - 1))
        latest = self.network.weights()
        self.averaged = {name: latest[name] + kept * (past - latest[name]) for name, past in self.averaged.items()}

    # --- Files -------------------------------------------------------------------------------------------------------

    def get_state(self) -> dict[str, Any]:
        """Return what a checkpoint keeps."""
        pool = [[each.name, each.won, each.games, _tensors(each.weights)] for each in self.pool.members]
        return {
            "network": self.network.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "averaged": _tensors(self.averaged),
            "acting": _tensors(self.acting),
            "replay": [[torch.as_tensor(part) for part in targets] for targets in self.replay],
            "pool": pool,
            "iteration": self.iteration,
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Restore what `get_state` returned."""
        self.network.load_state_dict(state["network"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.averaged, self.acting = _arrays(state["averaged"]), _arrays(state["acting"])
        self.replay.extend(ValueTargets(*(part.numpy() for part in targets)) for targets in state["replay"])
        self.pool.members = [Member(name, _arrays(tensors), won, games) for name, won, games, tensors in state["pool"]]
        self.iteration = state["iteration"]


def _tensors(arrays: Weights) -> dict[str, torch.Tensor]:
    return {name: torch.as_tensor(array) for name, array in arrays.items()}


def _arrays(tensors: dict[str, torch.Tensor]) -> Weights:
    return {name: tensor.numpy() for name, tensor in tensors.items()}
