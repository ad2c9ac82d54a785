"""A network that scores plays, for any library.

It reads vectors of ``observation="vector", preview=True, actions="hand"`` by the names of their slices.

Axes: B positions, P places of the hand, C cells, S places of the near cards, F features of a card.
"""

import torch
from torch import Tensor, nn

from quincunx_env.core.observation import Observer

RETURN_SCALE = 50.0
"""Points to one unit of the critic's output. Not tuned: the order of a round's score."""

CODE, DEPTH = 64, 16
"""Units that encode a cell or a card, and length of the vectors whose product scores a play."""


class PlayNetwork(nn.Module):
    """Logits of all plays, and the value of the position.

    Four numbers describe a play of a card in a cell: its points, its draws, and by how much its points exceed the most
    of another card in the cell, and of the card in another cell. The logit of a play is the sum of

    - the product of a query of the cell and a key of the card;
    - a bias of the card;
    - the four numbers, each times a gain;
    - the points, so that more points are preferred before learning.

    One encoder is shared by all cells. It reads the cards up to two cells away in row and column, and the highest of
    each of the four numbers there. Another is shared by the cards of the hand. It reads their features, and the highest
    of each number. The summary reads both sums of encodings (Deep Sets, Zaheer et al. 2017), and the whole observation
    but hand and preview. A query is linear in the encoding of its cell and in the summary, a key in the card's
    features, a bias in its encoding. Gains and value are linear in the summary.

    Only logits of legal plays have a meaning. With padded observations one network plays every variant of Quincunx but
    Simpleton.

    Args:
        observer: makes the observations, with the preview.
        width: units of each of the two layers of the summary.
        unit: points to one unit of the critic's output.

    Raises:
        ValueError: for an observer without the preview, or of rules by which points are announced.
    """

    def __init__(self, observer: Observer, width: int = 128, unit: float = 1.0) -> None:
        super().__init__()
        if not observer.preview or "announce" in observer.rules.decisions:
            raise ValueError(f"the network needs the preview, and rules without Simpleton; got {observer.rules}")
        self.slices, self.actions = observer.encoder(by_place=True).slices, observer.places.num_actions
        self.places, self.cells, self.unit = observer.places.places, observer.places.cells, unit
        size = {name: place.stop - place.start for name, place in self.slices.items()}
        features = size["hand"] // self.places
        self.side = round((size["board"] / features) ** 0.5)
        self.row = nn.Conv2d(features + 4, CODE, (1, 5), padding=(0, 2))
        self.column = nn.Conv2d(features + 4, CODE, (5, 1), padding=(2, 0))
        self.card = nn.Linear(features + 4, CODE)
        known = sum(size.values()) - size["preview"] - size["hand"] + 2 * CODE
        self.summary = nn.Sequential(nn.Linear(known, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.value, self.gain = nn.Linear(width, 1), nn.Linear(width, 4)
        self.state_query, self.cell_query = nn.Linear(width, self.cells * DEPTH), nn.Linear(CODE, DEPTH)
        self.key, self.bias = nn.Linear(features + 4, DEPTH), nn.Linear(CODE, 1)
        for layer in (self.state_query, self.cell_query, self.bias, self.gain):
            nn.init.zeros_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(self, observation: Tensor) -> tuple[Tensor, Tensor]:
        """Map observations, float32 [B, size], to logits [B, actions] and values [B]."""
        parts = {name: observation[:, place] for name, place in self.slices.items()}
        preview = parts.pop("preview").unflatten(1, (self.places, self.cells, 2))
        hand = parts.pop("hand").unflatten(1, (self.places, -1))
        points = preview[..., :1]
        plays = torch.cat([preview, points - _of_others(points, 1), points - _of_others(points, 2)], dim=3)
        cells = self._encode_cells(parts["board"].unflatten(1, (self.side**2, -1)), plays.amax(1))
        hand = torch.cat([hand, plays.amax(2)], dim=2)
        cards = torch.relu(self.card(hand))
        summary = self.summary(torch.cat([*parts.values(), cells.sum(1), cards.sum(1)], dim=1))
        queries = self.cell_query(cells) + self.state_query(summary).unflatten(1, (self.cells, DEPTH))
        scores = self.key(hand) @ queries.transpose(1, 2) + self.bias(cards)
        scores = scores + points[..., 0] + (plays * self.gain(summary)[:, None, None]).sum(3)
        logits = nn.functional.pad(scores.flatten(1), (0, self.actions - self.places * self.cells))
        return logits, self.unit * self.value(summary)[:, 0]

    def _encode_cells(self, board: Tensor, best: Tensor) -> Tensor:
        """Return encodings of the cells, [B, C, CODE], from cards [B, S, F] and the best plays there [B, C, 4]."""
        near = torch.cat([board, best.expand(-1, self.side**2, -1)], dim=2)  # the spiral game has one cell, of S places
        near = near.transpose(1, 2).unflatten(2, (self.side, self.side))
        return torch.relu(self.row(near) + self.column(near)).flatten(2).transpose(1, 2)[:, : self.cells]


def _of_others(points: Tensor, axis: int) -> Tensor:
    """Return the most points of another card in the cell, or, along axis 2, of the card in another cell, [B, P, C, 1].

    One more play, without points, is among the others.
    """
    first, second = nn.functional.pad(points, (0, 0, 0, axis - 1, 0, 2 - axis)).topk(2, axis)[0].split(1, axis)
    return torch.where(points == first, second, first)
