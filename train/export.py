"""Write a network of `quincunx_agents.networks.value` as ONNX, so that other languages and runtimes can play by it.

    python -m train.export players-v0                # writes players-v0.onnx
    python -m train.export runs/mine/mine.safetensors

Inputs, for n positions of m plays each: ``told`` float32 [n, m, size], what is told of the position after each play
(`quincunx_agents.afterstates.Afterstates.features`); ``points`` float32 [n, m], what the play scores; ``mask`` bool [n, m], True for a play that
is legal. Outputs: ``worth`` float32 [n, m], minus infinity where the mask is
False, and ``choice`` int64 [n], the play of most worth. The number of players is that of the forms the network has
learned; where these differ, `--players` says which.
"""

import warnings
from dataclasses import dataclass
from pathlib import Path

import torch
import tyro
from quincunx_agents.afterstates import SEATS
from quincunx_agents.networks import value
from quincunx_agents.torch import ValueNetwork
from torch import Tensor, nn

from train.common.checkpoint import write_atomically


@dataclass
class Arguments:
    """What to write."""

    network: tyro.conf.Positional[str]
    """a shipped name, or a file of weights"""
    players: int | None = None
    """how many play, where the network knows games of different numbers"""
    output: Path | None = None
    """the file to write; the network's name with .onnx here by default"""


class Choice(nn.Module):
    """The network with the mask as an input."""

    def __init__(self, network: ValueNetwork, players: int) -> None:
        super().__init__()
        self.network = network
        self.register_buffer("margin_weights", torch.from_numpy(value.margin_weights(players).copy()))

    def forward(self, told: Tensor, points: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """See the module."""
        said = self.network(told)
        worth = points + said[..., :SEATS] @ self.margin_weights + said[..., SEATS]
        worth = worth.masked_fill(~mask, -torch.inf)
        return worth, worth.argmax(dim=1)


def network_of(found: value.ValueWeights) -> ValueNetwork:
    """The torch module with these weights."""
    weights = {name: torch.from_numpy(array) for name, array in found.tensors.items()}
    layout = value.feature_module_of(value.VARIANTS[found.variants[0]]).LAYOUT
    network = ValueNetwork(layout, len(weights["set_encoders.0.0.bias"]), len(weights["trunk.0.bias"]))
    network.load_state_dict(weights)
    return network


def main(arguments: Arguments) -> Path:
    """Write the file; returns its path.

    Raises:
        SystemExit: if it is not clear how many play.
    """
    shipped = arguments.network in value.SHIPPED
    path = value.WEIGHTS / f"{arguments.network}.safetensors" if shipped else Path(arguments.network)
    found = value.load_weights(path)
    numbers = {value.VARIANTS[variant].num_players for variant in found.variants}
    players = arguments.players or min(numbers)
    if players not in numbers or (arguments.players is None and len(numbers) > 1):
        raise SystemExit(f"--players: the network has learned games of {sorted(numbers)}; say which")
    network = network_of(found)
    example = (torch.zeros(2, 3, network.layout.size), torch.zeros(2, 3), torch.ones(2, 3) > 0)
    n, m = torch.export.Dim("n"), torch.export.Dim("m")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the inputs share their axes is meant
        program = torch.onnx.export(
            Choice(network, players).eval(),
            example,
            input_names=["told", "points", "mask"],
            output_names=["worth", "choice"],
            dynamic_shapes=({0: n, 1: m}, {0: n, 1: m}, {0: n, 1: m}),
            dynamo=True,
            verbose=False,
        )
    assert program is not None
    output = arguments.output or Path(f"{path.stem}.onnx")
    write_atomically(output, program.save)
    print(f"Written to {output}")
    return output


if __name__ == "__main__":
    main(tyro.cli(Arguments, description=__doc__))
