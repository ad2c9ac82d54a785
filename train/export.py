"""Export a policy network as ONNX, for other languages and runtimes.

    python -m train.export runs/mine/mine.safetensors    # writes mine.onnx

The network (`quincunx_agents.networks.policy`) has two inputs for n states: ``observation`` float32 [n, size], flat
observations with the preview, and ``mask`` bool [n, actions], True for a legal action. Outputs are ``logits`` float32
[n, actions], minus infinity where the mask is False, and ``action`` int64 [n], their argmax. The logits are means over
the symmetries of the grid (`quincunx_agents.quincunx.symmetries`). The arena plays such a file.
"""

from dataclasses import dataclass
from pathlib import Path

from quincunx_env.utils.errors import requires_extra

with requires_extra("onnx"):
    import torch
import tyro

from quincunx_agents.files.export import GreedyLogits, torch_policy, write_onnx
from quincunx_agents.networks.policy import load_weights
from quincunx_agents.networks.weights_io import WeightsError
from train.common.options import OptionError, run_script


@dataclass
class Arguments:
    """The network to export, and the file to write."""

    network: tyro.conf.Positional[Path]
    """a weights file of a policy network"""
    output: Path | None = None
    """the file to write; by default the network's name with .onnx in the current folder"""


def main(arguments: Arguments) -> Path:
    """Write the file, and return its path.

    Raises:
        OptionError: if the file holds no weights of a policy network.
    """
    try:
        found = load_weights(arguments.network)
    except WeightsError as error:
        raise OptionError(f"{error}; name a policy network, such as train.ppo writes") from error
    output = arguments.output or Path(f"{arguments.network.stem}.onnx")
    states = torch.zeros(2, found.observer.size), torch.ones(2, found.observer.num_actions) > 0
    network = GreedyLogits(torch_policy(found), found.observer)
    write_onnx(network, states, ["observation", "mask"], ["logits", "action"], output)
    print(f"Written to {output}")
    return output


if __name__ == "__main__":
    run_script(main, Arguments, "train.export", __doc__)
