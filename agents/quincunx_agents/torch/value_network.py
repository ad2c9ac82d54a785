"""The value network in PyTorch, which ``train.td_lambda`` trains.

`quincunx_agents.networks.value` computes the same with NumPy alone, from the same weights under the same names.
"""

import torch
from torch import Tensor, nn

from quincunx_agents.afterstates import SEATS, FeatureLayout, Floats
from quincunx_agents.networks.value import VALUE_SCALE


class ValueNetwork(nn.Module):
    """Afterstate value network: an encoder for each set, then a trunk.

    The encoders are Deep Sets (Zaheer et al. 2017).

    Each element of a set, such as an empty cell, is encoded by the same weights, and the encodings are summed. The
    outputs are the points still to come for each seat.

    Args:
        layout: shape of the features of an afterstate.
        set_width: units of each of the two layers that encode the elements of a set.
        width: units of the first hidden layer of the trunk; the second has half as many.
    """

    def __init__(self, layout: FeatureLayout, set_width: int, width: int) -> None:
        super().__init__()
        self.layout = layout
        self.set_encoders = nn.ModuleList(
            nn.Sequential(nn.Linear(numbers, set_width), nn.ReLU(), nn.Linear(set_width, set_width), nn.ReLU())
            for _, numbers in layout.sets
        )
        self.trunk = nn.Sequential(
            nn.Linear(len(layout.sets) * set_width + layout.context, width),
            nn.ReLU(),
            nn.Linear(width, width // 2),
            nn.ReLU(),
            _last_layer(width // 2),
        )

    def forward(self, features: Tensor) -> Tensor:
        """Map features, float32 [B, layout.size], to values in points, [B, SEATS]."""
        sizes = [most * numbers for most, numbers in self.layout.sets]
        *sets, context = features.split([*sizes, self.layout.context], dim=1)
        encoded = []
        for elements, shape, encoder in zip(sets, self.layout.sets, self.set_encoders, strict=True):
            elements = elements.unflatten(1, shape)
            row, place = (elements[..., 0] > 0).nonzero(as_tuple=True)  # in training most elements only pad
            codes = encoder(elements[row, place])
            encoded.append(codes.new_zeros(len(features), codes.shape[1]).index_add(0, row, codes))
        output: Tensor = VALUE_SCALE * self.trunk(torch.cat([*encoded, context], dim=1))
        return output

    def weights(self) -> dict[str, Floats]:
        """Return a copy of the weights by name, for `quincunx_agents.networks.value`."""
        return {name: tensor.detach().cpu().numpy().copy() for name, tensor in self.state_dict().items()}


def _last_layer(width: int) -> nn.Linear:
    """Return the layer of the outputs.

    It begins with rows of a larger layer, as those of the networks of the package did, so their seeds make them again.
    """
    larger, layer = nn.Linear(width, SEATS + 1), nn.Linear(width, SEATS)
    layer.load_state_dict({name: tensor[:SEATS] for name, tensor in larger.state_dict().items()})
    return layer
