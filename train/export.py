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

from dataclasses import dataclass
from pathlib import Path

from quincunx_env.utils.errors import requires_extra

with requires_extra("onnx"):
    import torch
import tyro

from quincunx_agents.agent_specs import rules_of
from quincunx_agents.files.export import (
    GreedyActionValues,
    GreedyLogits,
    torch_network,
    torch_policy,
    write_onnx,
)
from quincunx_agents.networks import policy, value, weights_io
from quincunx_agents.networks.weights_io import WeightsError
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


def main(arguments: Arguments) -> Path:
    """Write the file, and return its path.

    Raises:
        OptionError: if there is no such network, or if the number of players is ambiguous or wrong.
        WeightsError: if the file holds no weights of a network.
    """
    shipped = arguments.network in value.shipped()
    path = value.WEIGHTS / f"{arguments.network}.safetensors" if shipped else Path(arguments.network)
    if not path.is_file():
        raise OptionError(
            f"there is no network {arguments.network!r}: name a weights file or one of {', '.join(value.shipped())}"
        )
    output = arguments.output or Path(f"{path.stem}.onnx")
    if weights_io.read(path)[1].get("network") == policy.KIND:
        own = policy.load_weights(path)
        if arguments.players not in (None, own.rules.num_players):
            raise OptionError(f"--players: the network has learned games of {own.rules.num_players}; leave it out")
        size, actions = own.observer.size, own.observer.num_actions
        states = torch.zeros(2, size), torch.ones(2, actions) > 0
        names = ["observation", "mask"], ["logits", "action"]
        write_onnx(GreedyLogits(torch_policy(own), own.observer), states, *names, ("n",), output)
        print(f"Written to {output}")
        return output
    found = value.load_weights(path)
    numbers = {rules_of(variant).num_players for variant in found.variants}
    players = min(numbers) if arguments.players is None else arguments.players
    if players not in numbers or (arguments.players is None and len(numbers) > 1):
        raise OptionError(f"--players: the network has learned games of {sorted(numbers)} players; choose one")
    network = torch_network(found)
    example = (torch.zeros(2, 3, network.layout.size), torch.zeros(2, 3), torch.ones(2, 3) > 0)
    names = ["features", "points", "mask"], ["action_values", "action"]
    write_onnx(GreedyActionValues(network, players), example, *names, ("n", "m"), output)
    print(f"Written to {output}")
    return output


if __name__ == "__main__":
    run_script(main, Arguments, "train.export", __doc__, WeightsError)
