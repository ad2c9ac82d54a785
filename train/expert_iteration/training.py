"""One step of expert iteration from a shipped network.

The apprentice learns what a search finds in the network's games. The expert is a search with rollouts by the network
(`train.expert_iteration.search_targets`), in which the other seats may follow a fixed opponent. The apprentice is the
network itself (Anthony, Tian & Barber, Thinking Fast and Slow with Deep Learning and Tree Search, NeurIPS 2017).

First the network plays games; in some of them a fixed opponent has all seats but one. Its best plays are searched in a
share of the positions; that takes nearly all of the time. Then a copy of it learns the differences between the values
of these plays. Its values of every afterstate are held by distillation (Hinton, Vinyals & Dean, Distilling the
Knowledge in a Neural Network, 2015). Minibatches are drawn from all positions.

The games of a file follow from the seed, the variant and the number of the file, whatever process plays them. A run
that is resumed plays the files that are missing, and then learns from the beginning.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt

from quincunx_env.utils.errors import requires_extra

with requires_extra("train"):
    import torch
from tqdm.auto import tqdm

from quincunx_agents.afterstates import SEATS, FeatureLayout
from quincunx_agents.agent_specs import rules_of, with_options
from quincunx_agents.networks import value
from quincunx_agents.networks.value import ValueAgent, ValueWeights, save_weights
from quincunx_agents.torch import ValueNetwork
from quincunx_env.utils.files import write_atomically
from train.common import checkpoint
from train.common.device import DeviceOptions
from train.common.evaluation import require_opponent, strengths
from train.common.opponents import Member, Pool
from train.common.options import (
    Count,
    CountOrZero,
    NumDeals,
    OptionError,
    PolicyName,
    Positive,
    RunName,
    RunOptions,
    Share,
    Valid,
)
from train.common.run import MAY_CHANGE, report
from train.expert_iteration.search_targets import (
    SearchOptions,
    SearchTargets,
    outputs_of_plays,
    play_and_search,
    policy_loss,
    search_loss,
)
from train.td_lambda.learning import value_loss
from train.td_lambda.rollout import RolloutOptions, Weights, join
from train.td_lambda.workers import GameShare, Job, workers

LEARNING_RATE = 1e-3
"""Learning rate of Adam at the start; it falls linearly to 0."""

AVERAGED_SHARE = 0.1
"""Share of the gradient steps, the last ones, whose weights are averaged: the result."""


@dataclass
class Arguments(RunOptions, SearchOptions, DeviceOptions):
    """Every option of a run."""

    seed: Annotated[int, Valid("from 0 to 9000", lambda value: 0 <= value <= 9000)] = 0
    """seed of the deals, the initial weights and the exploration"""
    name: RunName = "expert"
    """the run's folder below ``runs``, and the name of the weights"""
    teacher: str = "two-players"
    """name of the shipped network that plays and searches"""
    variants: tuple[str, ...] = ("2-corners",)
    """variants to play, learned by the network"""

    files: Count = 100
    """files of positions, for each variant"""
    games: Count = 96
    """games of a file"""
    options_share: Share = 0.1
    """share of the files whose games are played with options drawn at random"""
    opponent: PolicyName = "heuristic"
    """policy that has all seats but one in a share of the games with several players, a name of the arena"""
    opponent_share: Share = 0.5
    """this share"""
    shortlist: CountOrZero = 16
    """actions of a state that are evaluated, the best by the heuristic; 0: all"""
    temperature: Positive = 0.5
    """temperature of the softmax over action values while playing, in points"""

    epochs: Count = 3
    """passes over the positions"""
    batch_size: Count = 128
    """positions in a minibatch"""

    eval_deals: NumDeals = 500
    """validation deals on which apprentice and network are compared, for each variant"""
    test_deals: NumDeals = 500
    """benchmark deals of the card, for each variant"""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.teacher not in value.shipped():
            raise ValueError(f"--teacher must be one of {', '.join(value.shipped())}, got {self.teacher!r}")
        learned = value.load(self.teacher).weights.variants
        unknown = [variant for variant in self.variants if variant not in learned]
        if unknown or not self.variants:
            raise ValueError(f"--variants must be of {', '.join(learned)}, got {', '.join(unknown) or 'none'}")
        require_opponent(self.opponent, self.variants, "--opponent")
        if self.search_opponent is not None:
            require_opponent(self.search_opponent, self.variants, "--search-opponent")
        require_opponent(self.against, self.variants)


DEALS_APART = 10**12
"""Seeds between the first deals of runs with successive seeds, and between the first deals of variants. A run uses
fewer."""


class HeuristicShortlist(RolloutOptions):
    """Options of games whose shortlists the heuristic chooses."""

    shortlist_by_heuristic: ClassVar = True


def main(arguments: Arguments) -> dict[str, Any]:
    """Search, learn, evaluate, and write everything to ``runs/<name>``; returns the results."""
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(arguments.seed)
    teacher, path = value.load(arguments.teacher).weights, arguments.folder / "checkpoint.pt"
    if arguments.resume:
        may_change = (*MAY_CHANGE, "threads", "device", "workers", "files", "epochs")
        with checkpoint.restoring(arguments, checkpoint.load(path), may_change):
            pass
    with checkpoint.locked(arguments.folder, arguments.resume):
        if not arguments.resume:
            checkpoint.save(path, arguments, {})
        play(arguments, teacher)
        paths = [file_of(arguments, variant, n) for n in range(arguments.files) for variant in arguments.variants]
        positions, layout, searching = read(paths, value.layout_of(arguments.variants))
        found, wanted = len(positions.seats), arguments.batch_size
        if found < wanted:
            raise OptionError(
                f"--batch-size must be at most the number of positions, {found}, got {wanted}; see --files"
            )
        start = time.process_time()
        network = ValueNetwork(layout, *value.widths_of(teacher.tensors))
        network.load_state_dict({name: torch.from_numpy(tensor.copy()) for name, tensor in teacher.tensors.items()})
        network.to(arguments.device)
        learn(arguments, network, positions)
        apprentice = ValueWeights(network.weights(), arguments.variants, teacher.candidates)
        seconds = {"search": searching, "learning": time.process_time() - start}
        save_weights(arguments.weights, apprentice)

        variants = {variant: rules_of(variant) for variant in arguments.variants}
        steps = arguments.files * arguments.games * sum(rules.num_plays for rules in variants.values())
        history = [
            {
                "steps": done,
                "variants": strengths(
                    ValueAgent(weights), arguments.against, variants, arguments.eval_deals, "validation"
                ),
            }
            for done, weights in {0: teacher, steps: apprentice}.items()
        ]
        facts = {"steps": steps, "seconds": seconds, "validation": history, "positions": found}
        return report("train.expert_iteration", arguments, ValueAgent(apprentice), variants, facts)


# --- Playing and searching -------------------------------------------------------------------------------------------


def file_of(arguments: Arguments, variant: str, number: int) -> Path:
    """Return the path of a file of positions."""
    return arguments.folder / "positions" / f"{variant}-{number:05d}.npz"


def variant_of(arguments: Arguments, variant: str, place: int, number: int) -> str:
    """Return the variant of a file's games. A share of the files has options of the rules."""
    rng = np.random.default_rng([arguments.seed, place, number, 0])
    plain = rng.random() >= arguments.options_share
    return variant if plain else str(rng.choice(with_options(variant) or [variant]))


def play(arguments: Arguments, teacher: ValueWeights) -> None:
    """Play the games whose files are missing, and write the searched positions."""
    backend = arguments.backend
    weights = [{name: backend.array(array) for name, array in member.items()} for member in teacher.members]
    options = HeuristicShortlist(
        shortlist=arguments.shortlist,
        temperature=arguments.temperature,
        pool_share=arguments.opponent_share,
    )
    opponents = Pool([Member[Weights | None](arguments.opponent, None)])
    places, variants = len(arguments.variants), arguments.variants
    missing = [
        # The first variant changes, so that each process gets files of all variants: some take longer.
        (number, place, variants[place])
        for number in range(arguments.files)
        for place in ((number + offset) % places for offset in range(places))
        if not file_of(arguments, variants[place], number).exists()
    ]
    total, at_once = arguments.files * len(arguments.variants), 4 * max(arguments.num_workers, 1)
    bar = tqdm(desc="files", total=total, initial=total - len(missing), disable=not arguments.progress)
    search = partial(play_and_search, arguments)
    with bar, workers(search, arguments.num_workers if missing else 0, backend) as start:
        for first in range(0, len(missing), at_once):
            part = missing[first : first + at_once]
            shares = [
                GameShare(
                    variant_of(arguments, variant, place, number),
                    arguments.games,
                    DEALS_APART * (1000 * (arguments.seed + 1) + place) + number * arguments.games,
                    (arguments.seed, place, number),
                )
                for number, place, variant in part
            ]
            results = start(Job(options, weights, opponents, shares))
            for (number, _, variant), played in zip(part, results(), strict=True):
                if not played.targets:
                    raise OptionError("no position of a file is searched: --search-share or --games must be larger")
                found = join(played.targets, backend)
                found = found._replace(features=backend.to_numpy(found.features))
                write(file_of(arguments, variant, number), found, value.layout_of(arguments.variants), played.seconds)
                bar.update()


# --- Files of positions ----------------------------------------------------------------------------------------------


def write(path: Path, positions: SearchTargets, layout: FeatureLayout, seconds: float) -> None:
    """Write positions, the largest sets' sizes, and the processor time."""
    sets = split_sets(positions.features, layout)
    most = [int((elements[..., 0] > 0).sum(axis=-1).max()) for elements in sets]

    def save(unfinished: Path) -> None:
        with unfinished.open("wb") as file:
            np.savez(file, most=most, seconds=seconds, **positions._asdict())

    write_atomically(path, save)


def read(paths: Sequence[Path], layout: FeatureLayout) -> tuple[SearchTargets, FeatureLayout, float]:
    """Read positions.

    Returns:
        positions: of all files, without the elements that are padding in all of them.
        layout: of their features.
        seconds: processor time that they took.
    """
    most, counts, plays, seconds = np.zeros(len(layout.sets), np.int64), list[int](), 0, 0.0
    for path in paths:
        with np.load(path) as file:  # reads only these arrays, and refuses pickled objects
            most, seconds = np.maximum(most, file["most"]), seconds + float(file["seconds"])
            count, plays = file["points"].shape
            counts.append(count)
    shapes = tuple((number, size) for number, (_, size) in zip(most.tolist(), layout.sets, strict=True))
    kept = FeatureLayout(shapes, layout.context)
    # Joining the files' arrays would hold all features twice.
    features = np.empty((sum(counts), plays, kept.size), np.float16)
    others = []
    for path, end in zip(paths, np.cumsum(counts).tolist(), strict=True):
        with np.load(path) as file:
            found = SearchTargets(*(file[name] for name in SearchTargets._fields))
        sets = [
            elements[:, :, :number].reshape(*found.points.shape, -1)
            for elements, number in zip(split_sets(found.features, layout), most, strict=True)
        ]
        rows = slice(end - len(found.seats), end)
        np.concatenate([*sets, found.features[..., -layout.context :]], axis=2, out=features[rows])
        others.append(found[1:])
    return SearchTargets(features, *map(np.concatenate, zip(*others, strict=True))), kept, seconds


def split_sets(features: npt.NDArray[np.float16], layout: FeatureLayout) -> list[npt.NDArray[np.float16]]:
    """Return the sets in the features [n, k, layout.size] of plays, [n, k, E, F] each."""
    ends = np.cumsum([most * size for most, size in layout.sets])
    parts = np.split(features, ends, axis=2)[:-1]
    return [part.reshape(*part.shape[:2], *shape) for part, shape in zip(parts, layout.sets, strict=True)]


# --- Learning --------------------------------------------------------------------------------------------------------


def learn(arguments: Arguments, network: ValueNetwork, positions: SearchTargets) -> None:
    """Take the gradient steps, and average the last weights."""
    count, size = len(positions.seats), arguments.batch_size
    held = np.empty((*positions.points.shape, SEATS), np.float32)
    with torch.no_grad():
        for start in range(0, count, size):
            some = torch.as_tensor(positions.features[start : start + size], device=arguments.device).float()
            held[start : start + size] = outputs_of_plays(network, some)[..., :SEATS].cpu().numpy()
    rng, steps = np.random.default_rng(arguments.seed), arguments.epochs * (count // size)
    # Weights of 0 stay 0: they are between the members of an ensemble, or of features that a network does not read. Not
    # in the output layer: its zeros mean that a network has not learned a preference.
    learned = [(parameter.detach() != 0) | name.startswith("trunk.4") for name, parameter in network.named_parameters()]
    optimizer = torch.optim.Adam(network.parameters(), lr=LEARNING_RATE)
    averaged = torch.optim.swa_utils.AveragedModel(network)
    order = np.concatenate([rng.permutation(count)[: count // size * size] for _ in range(arguments.epochs)])
    for step in tqdm(range(steps), desc="learning", disable=not arguments.progress):
        rows = order[step * size : (step + 1) * size]
        features, points, values, seats, held_values = (
            torch.as_tensor(part[rows], device=arguments.device) for part in (*positions, held)
        )
        for group in optimizer.param_groups:
            group["lr"] = LEARNING_RATE * (1 - step / steps)
        outputs, plays = outputs_of_plays(network, features.float()), points.shape[1]
        loss = search_loss(outputs, points, values, seats)
        loss = loss + policy_loss(outputs, points, values, seats)
        loss = loss + value_loss(outputs.flatten(0, 1), held_values.flatten(0, 1), seats.repeat_interleave(plays))
        optimizer.zero_grad()
        loss.backward()
        for parameter, mask in zip(network.parameters(), learned, strict=True):
            assert parameter.grad is not None
            parameter.grad.mul_(mask)
        optimizer.step()
        if step >= steps * (1 - AVERAGED_SHARE) - 1:
            averaged.update_parameters(network)
    network.load_state_dict(averaged.module.state_dict())
