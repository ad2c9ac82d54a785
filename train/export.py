"""Export a network as ONNX, for other languages and runtimes.

    python -m train.export solitaire                 # writes solitaire.onnx
    python -m train.export three-four-players --players 3
    python -m train.export runs/mine/mine.safetensors

A policy network (`quincunx_agents.networks.policy`) has two inputs for n states: ``observation`` float32 [n, size],
flat observations with the preview, and ``mask`` bool [n, actions], True for a legal action. Outputs are ``logits``
float32 [n, actions], minus infinity where the mask is False, and ``action`` int64 [n], their argmax. The logits are
means over the symmetries of the grid (`quincunx_agents.quincunx.symmetries`). The arena plays such a file.

A value network (`quincunx_agents.networks.value`) has other inputs, for n states with m legal actions each. They are
``features`` float32 [n, m, size], the afterstate of each action (`quincunx_agents.afterstates`), ``points`` float32 [n,
m], its immediate score, and ``mask`` bool [n, m], True for a legal action. Outputs: ``action_values`` float32 [n, m],
minus infinity where the mask is False, and ``action`` int64 [n], their argmax. The network is exported for one number
of players; where its variants differ in it, ``--players`` selects it.
"""

import warnings
from dataclasses import dataclass
from pathlib import Path

from quincunx_env.utils.errors import requires_extra

with requires_extra("onnx"):
    import torch
import numpy as np
import tyro
from torch import Tensor, nn

from quincunx_agents.afterstates import SEATS
from quincunx_agents.games import VARIANTS
from quincunx_agents.networks import policy, value, weights_io
from quincunx_agents.networks.weights_io import WeightsError
from quincunx_agents.quincunx.symmetries import symmetries, turned
from quincunx_agents.torch import PolicyNetwork, ValueNetwork
from quincunx_env.core.observation import Observer, Pieces
from quincunx_env.utils.files import write_atomically
from train.common.options import OptionError, run_script


@dataclass
class Arguments:
    """The network to export, and the file to write."""

    network: tyro.conf.Positional[str]
    """a shipped name, or a weights file"""
    players: int | None = None
    """number of players, where the network's variants differ in it"""
    output: Path | None = None
    """the file to write; by default the network's name with .onnx in the current folder"""


class GreedyLogits(nn.Module):
    """Mean logits of a policy network, and the greedy action.

    The means are over the symmetries of the grid.
    """

    entries: Tensor
    """[8, size]: for each view, index of the observation's entry that each entry receives."""
    actions: Tensor
    """[8, actions]: for each view, its action that stands for each action."""

    def __init__(self, network: PolicyNetwork, observer: Observer) -> None:
        super().__init__()
        self.network = network
        numbers: Pieces = {
            piece.name: np.arange(observer.size)[observer.slices[piece.name]].reshape(1, *piece.shape)
            for piece in observer.pieces
        }
        plays, views = np.arange(observer.num_actions).reshape(network.cards, -1), symmetries(network.cells)
        entries = [np.concatenate([each.ravel() for each in turned(numbers, cells).values()]) for cells in views]
        actions = [plays[:, cells.argsort()].ravel() for cells in views]
        self.register_buffer("entries", torch.from_numpy(np.stack(entries)))
        self.register_buffer("actions", torch.from_numpy(np.stack(actions)))

    def forward(self, observation: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits [n, actions] and greedy actions [n].

        Inputs are as the module's documentation lists them.
        """
        views = self.network.forward_actor(observation[:, self.entries].flatten(0, 1)).unflatten(0, (-1, 8))
        mean = views.gather(2, self.actions.expand(observation.shape[0], -1, -1)).mean(dim=1)
        logits = mean.masked_fill(~mask, -torch.inf)
        return logits, logits.argmax(dim=1)


class GreedyActionValues(nn.Module):
    """The action values of a value network, and the greedy action."""

    def __init__(self, network: ValueNetwork, players: int) -> None:
        super().__init__()
        self.network = network
        self.register_buffer("margin_weights", torch.from_numpy(value.margin_weights(players).copy()))

    def forward(self, features: Tensor, points: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Return action values [n, m] and greedy actions [n].

        Inputs are as the module's documentation lists them.
        """
        outputs = self.network(features)
        action_values = points + outputs[..., :SEATS] @ self.margin_weights + outputs[..., SEATS]
        action_values = action_values.masked_fill(~mask, -torch.inf)
        return action_values, action_values.argmax(dim=1)


def torch_network(found: value.ValueWeights) -> ValueNetwork:
    """Return the torch module with these weights."""
    weights = {name: torch.from_numpy(array) for name, array in found.tensors.items()}
    network = ValueNetwork(value.layout_of(found.variants), *value.widths_of(found.tensors))
    network.load_state_dict(weights)
    return network


def torch_policy(found: policy.PolicyWeights) -> PolicyNetwork:
    """Return the torch module with these weights."""
    weights = {name: torch.from_numpy(array) for name, array in found.tensors.items()}
    network = PolicyNetwork(found.observer, *policy.sizes_of(weights))
    network.load_state_dict(weights)
    return network


def main(arguments: Arguments) -> Path:
    """Write the file, and return its path.

    Raises:
        OptionError: if there is no such network, or if the number of players is ambiguous or wrong.
        WeightsError: if the file holds no weights of a network.
    """
    shipped = arguments.network in value.SHIPPED
    path = value.WEIGHTS / f"{arguments.network}.safetensors" if shipped else Path(arguments.network)
    if not path.is_file():
        raise OptionError(
            f"there is no network {arguments.network!r}: name a weights file or one of {', '.join(value.SHIPPED)}"
        )
    output = arguments.output or Path(f"{path.stem}.onnx")
    if weights_io.read(path)[1].get("network") == policy.KIND:
        own = policy.load_weights(path)
        if arguments.players not in (None, own.rules.num_players):
            raise OptionError(f"--players: the network has learned games of {own.rules.num_players}; leave it out")
        size, actions = own.observer.size, own.observer.num_actions
        states = torch.zeros(2, size), torch.ones(2, actions) > 0
        names = ["observation", "mask"], ["logits", "action"]
        return write(GreedyLogits(torch_policy(own), own.observer), states, *names, ("n",), output)
    found = value.load_weights(path)
    numbers = {VARIANTS[variant].num_players for variant in found.variants}
    players = min(numbers) if arguments.players is None else arguments.players
    if players not in numbers or (arguments.players is None and len(numbers) > 1):
        raise OptionError(f"--players: the network has learned games of {sorted(numbers)} players; choose one")
    network = torch_network(found)
    example = (torch.zeros(2, 3, network.layout.size), torch.zeros(2, 3), torch.ones(2, 3) > 0)
    names = ["features", "points", "mask"], ["action_values", "action"]
    return write(GreedyActionValues(network, players), example, *names, ("n", "m"), output)


def write(
    network: nn.Module,
    example: tuple[Tensor, ...],
    inputs: list[str],
    outputs: list[str],
    axes: tuple[str, ...],
    path: Path,
) -> Path:
    """Write a network as ONNX, and return the path.

    Args:
        network: the module.
        example: arguments of its ``forward``.
        inputs: names of its arguments.
        outputs: names of its results.
        axes: names of the first axes of all arguments, whose lengths are free.
        path: of the file.
    """
    free = dict(enumerate(map(torch.export.Dim, axes)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns that the inputs share their axes, which is intended
        program = torch.onnx.export(
            network.eval(),
            example,
            input_names=inputs,
            output_names=outputs,
            dynamic_shapes=(free,) * len(example),
            dynamo=True,
            verbose=False,
        )
    assert program is not None
    write_atomically(path, program.save)
    print(f"Written to {path}")
    return path


if __name__ == "__main__":
    run_script(main, Arguments, "train.export", __doc__, WeightsError)
