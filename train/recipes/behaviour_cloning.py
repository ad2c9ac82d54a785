"""Behaviour cloning (Pomerleau 1991) from a Minari dataset with masks.

The data may be from any agent.

    MINARI_DATASETS_PATH=data python -m train.recipes.behaviour_cloning                  # 1,000 games of the heuristic
    MINARI_DATASETS_PATH=data python -m train.recipes.behaviour_cloning --teacher value --dataset quincunx/value-v0

`quincunx_env.adapters.minari` writes the dataset, unless there is one of that name. A value network is then trained to
predict the teacher's actions. The logit of a legal action is its value, points included, divided by a temperature. At
the end teacher and clone play the same ``benchmark`` deals.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from quincunx_env.utils.errors import requires_extra

with requires_extra("train"):
    import torch
    from torch import Tensor, nn
    from torch.nn.utils.rnn import pad_sequence
    from tqdm import trange
with requires_extra("minari"):
    import minari

    from quincunx_env.adapters.minari import write_dataset

from quincunx_agents.afterstates import SEATS, observer_for
from quincunx_agents.networks.value import ValueAgent, ValueWeights
from quincunx_agents.quincunx.features import LAYOUT, afterstates_of
from quincunx_agents.torch.networks import ValueNetwork
from quincunx_env.arena import Evaluation, evaluate
from quincunx_env.arena.statistics import Estimate
from quincunx_env.quincunx.rules import Rules
from train.common.options import CheckedOptions, Count, NumDeals, PolicyName, Positive, Seed, run_script


@dataclass
class Arguments(CheckedOptions):
    """Every option of a run. The options of learning were tried once, on ``validation`` deals, and not tuned."""

    teacher: PolicyName = "heuristic"
    """the agent that is imitated"""
    dataset: str = "quincunx/heuristic-v0"
    """name of its dataset, which is written if there is none"""
    games: NumDeals = 1000
    """games of a dataset that is written"""
    passes: Count = 4
    """passes over the dataset"""
    batch_size: Count = 64
    """positions in a minibatch"""
    learning_rate: Positive = 3e-3
    """learning rate of AdamW at the start; it falls linearly to 0"""
    temperature: Positive = 5.0
    """temperature of the softmax over the values of actions, in points"""
    seed: Seed = 0
    """seed of the deals, the initial weights and the order of the positions"""
    deals: NumDeals = 1000
    """benchmark deals that both play"""
    progress: bool = True
    """show a progress bar"""


class Choices(NamedTuple):
    """Positions of a dataset with the teacher's choices.

    There are n positions and m afterstates, in order of the positions.
    """

    counts: Tensor
    """int64 [n]: number of legal actions."""
    chosen: Tensor
    """int64 [n]: index of the teacher's action among them."""
    features: Tensor
    """float16 [m, LAYOUT.size], of the afterstates."""
    points: Tensor
    """float32 [m]: scored at once."""
    known_values: Tensor
    """float32 [m]: points still to come where they are known, nan elsewhere."""


def read_choices(dataset: minari.MinariDataset, rules: Rules) -> Choices:
    """Read all steps of a dataset with flat observations and the preview."""
    observer, parts = observer_for(rules), []
    for episode in dataset:
        # No action follows the last observation of an episode.
        mask = episode.observations["action_mask"][:-1].astype(bool)
        afterstates = afterstates_of(rules, observer.unflatten(episode.observations["observation"][:-1]), mask)
        chosen = (mask.cumsum(axis=1) - 1)[np.arange(len(mask)), episode.actions]
        features, known = afterstates.features(LAYOUT), afterstates.known_values[:, 0]
        parts.append((mask.sum(axis=1), chosen, features, afterstates.points, known))
    return Choices(*(torch.from_numpy(np.concatenate(part)) for part in zip(*parts, strict=True)))


def clone(arguments: Arguments, choices: Choices) -> ValueNetwork:
    """Train a value network on the teacher's actions. The loss is their cross-entropy among the legal actions."""
    network = ValueNetwork(LAYOUT, set_width=64, width=32)
    optimizer = torch.optim.AdamW(network.parameters())
    ends = choices.counts.cumsum(0)
    for number in (bar := trange(arguments.passes, disable=not arguments.progress, unit="pass")):
        total = 0.0
        batches = torch.randperm(len(ends)).split(arguments.batch_size)
        for index, batch in enumerate(batches):
            done = (number + index / len(batches)) / arguments.passes
            optimizer.param_groups[0]["lr"] = arguments.learning_rate * (1 - done)
            counts = choices.counts[batch]
            at = torch.cat([torch.arange(end - count, end) for end, count in zip(ends[batch], counts, strict=True)])
            output, known = network(choices.features[at].float()), choices.known_values[at]
            values = choices.points[at] + torch.where(known.isnan(), output[:, 0] + output[:, SEATS], known)
            logits = pad_sequence((values / arguments.temperature).split(counts.tolist()), True, -torch.inf)
            loss = nn.functional.cross_entropy(logits, choices.chosen[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(batch)
        bar.set_postfix(loss=f"{total / len(ends):.3f}")
    return network


def main(arguments: Arguments) -> tuple[ValueAgent, Evaluation, Evaluation]:
    """Write the dataset, read it again and train. Return the clone and the evaluations of clone and teacher."""
    torch.manual_seed(arguments.seed)
    torch.set_num_threads(1)
    if arguments.dataset not in minari.list_local_datasets():
        write_dataset(arguments.dataset, arguments.teacher, arguments.games, seed=arguments.seed)
    dataset = minari.load_dataset(arguments.dataset)
    network = clone(arguments, read_choices(dataset, Rules()))
    agent = ValueAgent(ValueWeights(network.weights(), ("solitaire",), candidates=0))
    cloned, teacher = (evaluate(each, arguments.deals) for each in (agent, arguments.teacher))
    print(f"{dataset.total_episodes} games: {dataset.storage.data_path}")
    for name, result in (("clone", cloned), (arguments.teacher, teacher)):
        print(f"{name}: mean {result.mean:.1f} ({result.ci95[0]:.1f} to {result.ci95[1]:.1f})")
    value, low, high = relative_mean(cloned, teacher)
    print(f"{value:.1%} ({low:.1%} to {high:.1%}) of the teacher's mean on {arguments.deals} benchmark deals, paired")
    return agent, cloned, teacher


def relative_mean(first: Evaluation, second: Evaluation) -> Estimate:
    """Estimate the ratio of two means on the same deals. Its interval is by the delta method."""
    ratio = first.mean / second.mean
    residual = Estimate.of_mean(first.values - ratio * second.values)  # its mean is 0
    half = (residual.high - residual.low) / 2 / second.mean
    return Estimate(ratio, ratio - half, ratio + half)


if __name__ == "__main__":
    run_script(main, Arguments, "train.recipes.behaviour_cloning", __doc__)
