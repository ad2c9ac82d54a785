"""The policy network and the value network in PyTorch, for training.

- `PolicyNetwork`: `quincunx_agents.torch.sb3_policy` and `quincunx_agents.torch.rllib_module` let libraries train it.
- `ValueNetwork`: ``train.td_lambda`` trains it. `quincunx_agents.networks.value` computes the same with NumPy alone,
  from the same weights under the same names.
"""

import math
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from quincunx_agents.afterstates import SEATS, FeatureLayout, Floats, Ints
from quincunx_agents.networks.value import VALUE_SCALE
from quincunx_env.core.cards import EMPTY
from quincunx_env.core.encoding import Features
from quincunx_env.core.observation import Observer
from quincunx_env.quincunx.cards import CARDS, SUITS
from quincunx_env.quincunx.grid import grid
from quincunx_env.quincunx.observation import PREVIEW_UNIT
from quincunx_env.quincunx.padded import FORM_UNIT, NO_CELL
from quincunx_env.quincunx.rules import Rules

POINTS_UNIT = 10
"""Points that one unit of the network stands for: the size of a usual play."""

RETURN_SCALE = 50.0
"""Points to one unit of the critic's output. Not tuned: the order of a round's score."""


def card_features(num_cards: int) -> Floats:
    """Return value, rank (one-hot) and suits of cards, float32 [num_cards + 2, F].

    The last feature is 1 for a place off the grid. The last row is an empty cell and the last but one a place off the
    grid, so that `EMPTY` and `NO_CELL` index them.
    """
    ranks = "A23456789PCX"
    suits = range(len(SUITS))
    rows = [
        [1.0, card.value / 10.0, *(card.rank == rank for rank in ranks), *(card.suits >> bit & 1 for bit in suits), 0.0]
        for card in CARDS[:num_cards]
    ]
    nothing = [0.0] * (len(rows[0]) - 1)
    return np.array([*rows, [*nothing, 1.0], [*nothing, 0.0]], np.float32)


def near_cells(num_cells: int) -> Ints:
    """Return the cells one and two away in row and column, int64 [cells, 8]. Places off the grid are ``num_cells``."""
    square = grid(math.isqrt(num_cells))
    distances = (-2, -1, 1, 2)
    return np.array([square.line(cell, 0, distances) + square.line(cell, 1, distances) for cell in range(num_cells)])


def card_codes(faces: Features) -> tuple[Floats, Ints]:
    """Return weights of a cell's features, and cards by their code.

    They are float32 [F] and int64 [codes]. A code is the weighted sum of the features. An empty cell has 0, a place
    off the grid -1, the last one.
    """
    suits = [16 << bit for bit in range(len(SUITS))]  # there are fewer than 16 ranks
    weights = np.array([*range(faces.table.shape[1] - len(suits) - 1), *suits, 1], np.float32)
    cards = np.full(2 * suits[-1], EMPTY)
    cards[(faces.table @ weights).astype(np.int64)] = np.arange(len(faces.table)) + faces.first
    return weights, cards


class Plays(NamedTuple):
    """N plays of hand cards in empty cells, of B rows. All legal plays are among them, and perhaps others."""

    rows: Tensor
    """[N]: the row of each play."""
    actions: Tensor
    """[N]: its action."""
    logits: Tensor
    """[N]: its logit."""


class Position(NamedTuple):
    """Encodings of a position before `PolicyNetwork` chooses among the plays."""

    hidden: Tensor
    """[B, width]: the trunk's encoding."""
    cell_codes: Tensor
    """[M, code]: the encodings of all empty cells."""
    card_codes: Tensor
    """[K, code]: the encodings of all cards of the hands."""
    best_of_cell: Tensor
    """[M, 3]: the two most points and the most draws that a card of the hand brings there."""
    best_of_card: Tensor
    """[K, 3]: the two most points and the most draws that it brings in a cell."""
    points: Tensor
    """[B, cards, cells]: points of every legal play, scaled; elsewhere 0."""
    draws: Tensor
    """[B, cards, cells]: draws of every legal play, scaled; elsewhere 0."""


class PolicyNetwork(nn.Module):
    """Actor-critic network over the cards of the hand and the empty cells.

    It has logits of all actions and the value of the state. Two encoders, each shared by all elements of its set,
    encode the empty cells, from the cards near them, and the cards of the hand. Their inputs include the two most
    points and the most draws that the cell or the card may bring. The sums of both sets (Deep Sets, Zaheer et al.
    2017), the grid and the counts are the inputs of a trunk.

    An action is a card and a cell. Its logit has three terms:

    - the product of a query vector of the cell and a key vector of the card, which is linear in rank and suits;
    - a bias of the card;
    - four numbers of the preview, each times a gain that the trunk emits: points, draws, and by how much the points
      exceed the most of another card in the cell, and of the card in another cell.

    Only plays of a card of the hand in an empty cell are computed; other logits are 0.

    Inputs are vectors by card (`Observer.encoder`) with the preview. With padded observations one network plays every
    variant of Quincunx but Simpleton.

    Args:
        observer: makes the observations.
        width: units of each of the two hidden layers of the trunk.
        depth: length of the vectors of cards and cells.
        code: units of the two encoders.

    Raises:
        ValueError: for an observer without the preview, or of a game whose actions are not pairs of a card and a cell.
    """

    features: Tensor
    code_weights: Tensor
    card_of_code: Tensor
    preview_scale: Tensor
    near: Tensor

    def __init__(self, observer: Observer, width: int = 128, depth: int = 16, code: int = 64) -> None:
        super().__init__()
        if not observer.preview or not isinstance(observer.rules, Rules) or observer.rules.simpleton:
            raise ValueError(f"the network needs the preview, and Quincunx without Simpleton; got {observer.rules}")
        pieces = {piece.name: piece for piece in observer.pieces}
        self.cards, self.cells, self.depth = pieces["hand"].size, pieces["board"].size, depth
        faces = pieces["board"].encoding
        assert isinstance(faces, Features)
        code_weights, card_of_code = card_codes(faces)
        buffers = {
            "features": card_features(self.cards),
            "code_weights": code_weights,
            "card_of_code": card_of_code,
            "preview_scale": np.array([PREVIEW_UNIT / POINTS_UNIT, 1], np.float32),
            "near": near_cells(self.cells),
        }
        for name, array in buffers.items():
            self.register_buffer(name, torch.from_numpy(array), persistent=False)
        num_features = self.features.shape[1]
        # Only padded observations have the form.
        self.slices = {"form": slice(0, 0)} | observer.encoder().slices
        counts = len(observer.counts) + self.slices["form"].stop - self.slices["form"].start
        self.card_embedding = nn.Linear(num_features, depth)
        self.cell_encoder = nn.Linear(self.near.shape[1] * depth + 3, code)
        self.card_encoder = nn.Linear(num_features + 3, code)
        self.trunk = nn.Sequential(
            nn.Linear(self.cells * depth + self.cards + counts + 2 * code, width),
            nn.ReLU(),
            nn.Linear(width, width),
            nn.ReLU(),
        )
        self.state_queries = nn.Linear(width, self.cells * depth)
        self.cell_queries = nn.Linear(code, depth)
        self.card_keys = nn.Linear(num_features, depth)
        self.card_bias = nn.Linear(code, 1)
        self.preview_gain = nn.Linear(width, 4)
        self.value = nn.Linear(width, 1)
        # All logits are 0 at initialisation: learning starts from the uniform policy.
        for layer in (self.state_queries, self.cell_queries, self.card_bias, self.preview_gain):
            nn.init.zeros_(layer.weight)
            nn.init.zeros_(layer.bias)
        # stable-baselines3 reads the lengths of the two outputs of `forward` by these names.
        self.latent_dim_pi = observer.num_actions
        self.latent_dim_vf = 1

    def forward(self, observation: Tensor) -> tuple[Tensor, Tensor]:
        """Map observations, float32 [B, size], to logits [B, actions] and values [B, 1]."""
        position = self.encode(observation)
        return self.logits(observation, position), self.state_value(position)

    def encode(self, observation: Tensor) -> Position:
        """Encode the cells, the cards and the whole of each position."""
        board = self.card_of_code[(self._faces(observation) @ self.code_weights).long()]
        hand, counts = observation[:, self.slices["hand"]], observation[:, self.slices["counts"]]
        form = observation[:, self.slices["form"]] * FORM_UNIT
        points, draws = self._preview(observation)
        embedded = self.card_embedding(self.features)

        row, cell = (board == EMPTY).nonzero(as_tuple=True)
        near = nn.functional.pad(board, (0, 1), value=NO_CELL)[row[:, None], self.near[cell]]
        best_of_cell = _best(*(each.transpose(1, 2).contiguous()[row, cell] for each in (points, draws)))
        cell_codes = nn.functional.relu(self._encode_cells(embedded, near, best_of_cell))
        cell_sum = cell_codes.new_zeros(board.shape[0], cell_codes.shape[1]).index_add(0, row, cell_codes)

        row, card = hand.nonzero(as_tuple=True)
        best_of_card = _best(points[row, card], draws[row, card])
        card_codes = nn.functional.relu(self.card_encoder(torch.cat([self.features[card], best_of_card], dim=1)))
        card_sum = card_codes.new_zeros(board.shape[0], card_codes.shape[1]).index_add(0, row, card_codes)

        inputs = torch.cat([embedded[board].flatten(1), hand, counts, form, cell_sum, card_sum], dim=1)
        return Position(self.trunk(inputs), cell_codes, card_codes, best_of_cell, best_of_card, points, draws)

    def _encode_cells(self, embedded: Tensor, near: Tensor, best_of_cell: Tensor) -> Tensor:
        """Return ``cell_encoder`` of near cards and best plays, [M, code].

        The layer is linear: each card is multiplied once for each place, and not once for each cell near it.
        """
        places, depth = near.shape[1], embedded.shape[1]
        of_near, of_best = self.cell_encoder.weight.split([places * depth, best_of_cell.shape[1]], dim=1)
        table = embedded @ of_near.view(-1, places, depth).permute(1, 2, 0)  # [places, cards, code]
        rows = near % len(embedded) + len(embedded) * torch.arange(places, device=near.device)
        codes: Tensor = nn.functional.embedding_bag(rows, table.flatten(0, 1), mode="sum")
        return codes + nn.functional.linear(best_of_cell, of_best, self.cell_encoder.bias)

    def plays(self, observation: Tensor, position: Position) -> Plays:
        """Compute the logits of plays of held cards in empty cells."""
        empty, held = self._faces(observation)[:, :, -1] == 0, observation[:, self.slices["hand"]] > 0
        row, cell = empty.nonzero(as_tuple=True)
        queries = self.state_queries(position.hidden).view(-1, self.cells, self.depth)[row, cell]
        scores = (queries + self.cell_queries(position.cell_codes)) @ self.card_keys(self.features[:NO_CELL]).T

        rows, card, cell = (held[:, :, None] & empty[:, None]).nonzero(as_tuple=True)
        cell_number, card_number = _numbers(empty)[rows, cell], _numbers(held)[rows, card]
        points, draws = position.points[rows, card, cell], position.draws[rows, card, cell]
        over_cards = points - _of_others(points, position.best_of_cell[cell_number])
        over_cells = points - _of_others(points, position.best_of_card[card_number])
        gained = torch.stack([points, draws, over_cards, over_cells], dim=1) * self.preview_gain(position.hidden)[rows]
        logits = scores[cell_number, card] + self.card_bias(position.card_codes)[card_number, 0] + gained.sum(1)
        return Plays(rows, card * self.cells + cell, logits)

    def _faces(self, observation: Tensor) -> Tensor:
        """Return the features of each cell, [B, cells, F]. The last is 1 for a card, 0 if empty, -1 off the grid."""
        faces: Tensor = observation[:, self.slices["board"]].unflatten(1, (self.cells, -1))
        return faces

    def _preview(self, observation: Tensor) -> tuple[Tensor, Tensor]:
        """Return scaled points and draws of every legal play, [B, cards, cells] each."""
        preview = observation[:, self.slices["preview"]].view(-1, self.cards, self.cells, 2) * self.preview_scale
        points, draws = preview.unbind(3)
        return points.contiguous(), draws.contiguous()  # strided plays are slower to gather and to compare

    def logits(self, observation: Tensor, position: Position) -> Tensor:
        """Return the logits of all actions, [B, actions]."""
        rows, actions, logits = self.plays(observation, position)
        return logits.new_zeros(observation.shape[0], self.latent_dim_pi).index_put((rows, actions), logits)

    def state_value(self, position: Position) -> Tensor:
        """Return the value of the encoded state, [B, 1]: points still to come."""
        value: Tensor = self.value(position.hidden)
        return RETURN_SCALE * value

    def forward_actor(self, observation: Tensor) -> Tensor:
        """Return the logits alone, [B, actions]."""
        return self.logits(observation, self.encode(observation))

    def forward_critic(self, observation: Tensor) -> Tensor:
        """Return the values alone, [B, 1]."""
        return self.state_value(self.encode(observation))


def _best(points: Tensor, draws: Tensor) -> Tensor:
    """Return the two most points and the most draws, [n, 3]. Plays are [n, plays]."""
    return torch.cat([points.topk(2)[0], draws.amax(1)[:, None]], dim=1)


def _of_others(points: Tensor, best: Tensor) -> Tensor:
    """Return the most points of another play. ``best`` has the two most of all plays in the cell, or of the card."""
    return torch.where(points == best[:, 0], best[:, 1], best[:, 0])


def _numbers(present: Tensor) -> Tensor:
    """Return the numbers of the present elements from 0 on, [B, elements]. They come in the order of ``nonzero``."""
    return (present.flatten().cumsum(0) - 1).view_as(present)


class ValueNetwork(nn.Module):
    """Afterstate value network: an encoder for each set, then a trunk.

    The encoders are Deep Sets (Zaheer et al. 2017).

    Each element of a set, such as an empty cell, is encoded by the same weights, and the encodings are summed. The
    outputs are the points still to come for each seat, and a preference that is added to the value of a play. The
    preference is 0 at initialisation, and TD learning leaves it there; search targets move it.

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
        """Map features, float32 [B, layout.size], to values and preference in points, [B, SEATS + 1]."""
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
