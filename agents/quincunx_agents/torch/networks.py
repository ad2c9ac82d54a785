"""The policy network and the value network in PyTorch, for training.

Each has a twin that computes the same with NumPy alone, from the same weights under the same names:

- `PolicyNetwork`: `quincunx_agents.networks.policy`. `quincunx_agents.torch.sb3_policy` and
  `quincunx_agents.torch.rllib_module` let libraries train it.
- `ValueNetwork`: `quincunx_agents.networks.value`. ``train/selfplay.py`` trains it.
"""

import torch
from torch import Tensor, nn

from quincunx_agents.afterstates import SEATS, FeatureLayout, Floats
from quincunx_agents.networks.policy import POINTS_SCALE, PolicyWeights, card_features, count_scale
from quincunx_agents.networks.value import VALUE_SCALE
from quincunx_env.core.observation import Observer

RETURN_SCALE = 50.0
"""Points to one unit of the critic's output. Not tuned: the order of a round's score."""


class PolicyNetwork(nn.Module):
    """Actor-critic network with a bilinear query-key scorer: logits of all actions and the value of the state.

    An action is a card and a cell. A trunk encodes the state and emits a query vector for every cell; every card has a
    key vector, a linear function of its rank and suits. An action's logit is the product of query and key, plus the
    immediate points and draws of the preview, each times a gain that the trunk emits. Weights are thus shared between
    the cells for a card, and between the cards for a rank or a suit.

    Inputs are flat observations with the preview. With padded observations one network plays every variant of Quincunx
    but Simpleton.

    Args:
        observer: describes the observations.
        width: units of each of the two hidden layers.
        depth: length of the vectors of cards and cells.

    Raises:
        ValueError: for an observer without the preview, or of a game whose actions are not pairs of a card and a cell.
    """

    features: Tensor
    count_scale: Tensor

    def __init__(self, observer: Observer, width: int = 256, depth: int = 32) -> None:
        super().__init__()
        if observer.factors is None or not observer.preview:
            raise ValueError(f"this network needs the preview, and plays without announcements; got {observer.rules}")
        self.slices = {name: slice(piece.start, piece.stop) for name, piece in observer.slices.items()}
        (self.cards, self.cells), self.depth = observer.factors, depth
        self.rules = observer.rules
        self.register_buffer("features", torch.from_numpy(card_features(self.cards)), persistent=False)
        self.register_buffer("count_scale", torch.from_numpy(count_scale(observer)), persistent=False)
        num_features = self.features.shape[1]
        self.card_embedding = nn.Linear(num_features, depth)
        form = self.slices.setdefault("form", slice(0, 0))  # only padded observations have it
        self.trunk = nn.Sequential(
            nn.Linear(self.cells * depth + self.cards + len(self.count_scale) + form.stop - form.start, width),
            nn.ReLU(),
            nn.Linear(width, width),
            nn.ReLU(),
        )
        self.cell_queries = nn.Linear(width, self.cells * depth)
        self.card_keys = nn.Linear(num_features, depth)
        self.preview_gain = nn.Linear(width, 2)
        self.value = nn.Linear(width, 1)
        # All logits are 0 at initialisation: learning starts from the uniform policy.
        for layer in (self.cell_queries, self.preview_gain):
            nn.init.zeros_(layer.weight)
            nn.init.zeros_(layer.bias)
        # stable-baselines3 reads the lengths of the two outputs of `forward` by these names.
        self.latent_dim_pi = observer.num_actions
        self.latent_dim_vf = 1

    def forward(self, observation: Tensor) -> tuple[Tensor, Tensor]:
        """Map observations, float32 [B, size], to logits [B, actions] and values [B, 1]."""
        hidden = self.encode(observation)
        return self.logits(observation, hidden), self.state_value(hidden)

    def encode(self, observation: Tensor) -> Tensor:
        """Return the trunk's encoding of the state, [B, width]."""
        # An empty cell is -1, the last row; so is -2, a cell that only pads, which the piece ``form`` distinguishes.
        board = self.card_embedding(self.features)[observation[:, self.slices["board"]].long().clamp(min=-1)]
        counts = observation[:, self.slices["counts"]] / self.count_scale
        hand, form = observation[:, self.slices["hand"]], observation[:, self.slices["form"]]
        hidden: Tensor = self.trunk(torch.cat([board.flatten(1), hand, counts, form], dim=1))
        return hidden

    def logits(self, observation: Tensor, hidden: Tensor) -> Tensor:
        """Return the logits of all actions, [B, actions], for the encoded state."""
        queries = self.cell_queries(hidden).view(-1, self.cells, self.depth)
        keys = self.card_keys(self.features[:-1])
        logits: Tensor = (queries @ keys.T).transpose(1, 2)
        preview = observation[:, self.slices["preview"]].view(-1, self.cards, self.cells, 2)
        points, draws = self.preview_gain(hidden).split(1, dim=1)
        logits = logits + points[:, :, None] * preview[..., 0] / POINTS_SCALE + draws[:, :, None] * preview[..., 1]
        # Padded actions include Simpleton's announcements, which are never legal here.
        return nn.functional.pad(logits.flatten(1), (0, self.latent_dim_pi - self.cards * self.cells))

    def state_value(self, hidden: Tensor) -> Tensor:
        """Return the value of the encoded state, [B, 1]: points still to come."""
        value: Tensor = self.value(hidden)
        return RETURN_SCALE * value

    def forward_actor(self, observation: Tensor) -> Tensor:
        """Return the logits alone, [B, actions]."""
        return self.logits(observation, self.encode(observation))

    def forward_critic(self, observation: Tensor) -> Tensor:
        """Return the values alone, [B, 1]."""
        return self.state_value(self.encode(observation))

    def trained(self) -> PolicyWeights:
        """Return a copy of the weights for inference with `quincunx_agents.networks.policy`.

        Raises:
            ValueError: for a network of padded observations, which inference with NumPy does not support.
        """
        if self.slices["form"] != slice(0, 0):
            raise ValueError("a network of padded observations cannot be written: weights files are of one variant")
        return PolicyWeights(
            {name: tensor.numpy(force=True).copy() for name, tensor in self.state_dict().items()}, self.rules
        )


class ValueNetwork(nn.Module):
    """Afterstate value network: a Deep Sets encoder (Zaheer et al. 2017) for each set of a position, then a trunk.

    Each element of a set, such as an empty cell, is encoded by the same weights, and the encodings are summed. The
    outputs are the points still to come for each seat, and a preference that is added to the value of a play. The
    preference is 0 at initialisation, and TD learning leaves it there; it is reserved for policy targets.

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
            nn.Linear(width // 2, SEATS + 1),
        )
        for parameter in self.trunk[-1].parameters():
            nn.init.zeros_(parameter[SEATS:])

    def forward(self, features: Tensor) -> Tensor:
        """Map features, float32 [..., layout.size], to values and preference in points, [..., SEATS + 1].

        Values are of the seats from the mover on.
        """
        sizes = [most * numbers for most, numbers in self.layout.sets]
        *sets, context = features.split([*sizes, self.layout.context], dim=-1)
        encoded = []
        for elements, shape, encoder in zip(sets, self.layout.sets, self.set_encoders, strict=True):
            elements = elements.unflatten(-1, shape)
            present = elements[..., None, :, 0]
            encoded.append((present @ encoder(elements))[..., 0, :])
        output: Tensor = VALUE_SCALE * self.trunk(torch.cat([*encoded, context], dim=-1))
        return output

    def forward_present(self, features: Tensor) -> Tensor:
        """Compute `forward` of features [B, layout.size] without encoding the padding, up to rounding.

        In training most elements only pad; ``forward`` has shapes that do not depend on values, as ONNX needs them.
        """
        sizes = [most * numbers for most, numbers in self.layout.sets]
        *sets, context = features.split([*sizes, self.layout.context], dim=1)
        encoded = []
        for elements, shape, encoder in zip(sets, self.layout.sets, self.set_encoders, strict=True):
            elements = elements.unflatten(1, shape)
            row, place = (elements[..., 0] > 0).nonzero(as_tuple=True)
            codes = encoder(elements[row, place])
            encoded.append(codes.new_zeros(len(features), codes.shape[1]).index_add(0, row, codes))
        output: Tensor = VALUE_SCALE * self.trunk(torch.cat([*encoded, context], dim=1))
        return output

    def weights(self) -> dict[str, Floats]:
        """Return a copy of the weights by name, for `quincunx_agents.networks.value`."""
        return {name: tensor.detach().cpu().numpy().copy() for name, tensor in self.state_dict().items()}
