"""A small network that scores plays, for any library.

It reads vectors of ``observation="vector", preview=True, actions="hand"`` by the names of their slices.
"""

import torch
from torch import Tensor, nn

from quincunx_env.core.observation import Observer


class PlayNetwork(nn.Module):
    """Logits of all plays, and the value of the position.

    All plays share the weights. Four parts of a play pass a linear layer each and are added:

    - its card;
    - its cell, with the cards one and two away in row and column;
    - its points and draws, and the most points in this cell and of this card;
    - a summary of the position.

    Two layers follow, and the points are added to their output. Actions that are not plays have logit 0.

    Args:
        observer: of the environment, with the preview.
        width: units of a layer.
    """

    def __init__(self, observer: Observer, width: int = 64) -> None:
        super().__init__()
        self.slices, self.actions = observer.encoder(by_place=True).slices, observer.places.num_actions
        self.places, self.cells = observer.places.places, observer.places.cells
        size = {name: place.stop - place.start for name, place in self.slices.items()}
        features = size["hand"] // self.places
        self.side = round((size["board"] / features) ** 0.5)
        self.card, self.play = nn.Linear(features, width), nn.Linear(4, width)
        self.row = nn.Conv2d(features, width, (1, 5), padding=(0, 2))
        self.column = nn.Conv2d(features, width, (5, 1), padding=(2, 0))
        self.summary = nn.Sequential(nn.Linear(sum(size.values()) - size["preview"], 2 * width), nn.ReLU())
        self.context, self.value = nn.Linear(2 * width, width), nn.Linear(2 * width, 1)
        self.score = nn.Sequential(nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, observation: Tensor) -> tuple[Tensor, Tensor]:
        """Map observations, float32 [B, size], to logits [B, actions] and values [B]."""
        parts = {name: observation[:, place] for name, place in self.slices.items()}
        points, draws = parts.pop("preview").unflatten(1, (self.places, self.cells, 2)).unbind(3)
        summary = self.summary(torch.cat([*parts.values()], dim=1))
        hand = parts["hand"].unflatten(1, (self.places, -1))
        board = parts["board"].unflatten(1, (self.side, self.side, -1)).permute(0, 3, 1, 2)
        near = (self.row(board) + self.column(board)).flatten(2).transpose(1, 2)
        empty = board[:, -1].flatten(1) == 0 if self.cells > 1 else hand.new_ones(len(hand), 1, dtype=torch.bool)
        row, place, cell = ((hand[..., -1:] > 0) & empty[:, None]).nonzero(as_tuple=True)
        gain = points[row, place, cell]
        best = points.amax(1)[row, cell], points.amax(2)[row, place]
        hidden = self.card(hand).flatten(0, 1).index_select(0, row * self.places + place)
        hidden = hidden + near.flatten(0, 1).index_select(0, row * near.shape[1] + cell)
        hidden = hidden + self.play(torch.stack([gain, draws[row, place, cell], *best], dim=1))
        scores = gain + self.score(hidden + self.context(summary).index_select(0, row))[:, 0]
        logits = observation.new_zeros(len(observation), self.actions)
        return logits.index_put((row, place * self.cells + cell), scores), self.value(summary)[:, 0]
