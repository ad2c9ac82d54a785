"""A small network that scores plays, for any library.

It reads vectors of ``observation="vector", preview=True, actions="hand"`` by the names of their slices.
"""

import torch
from torch import Tensor, nn

from quincunx_env.core.observation import Observer


class PlayNetwork(nn.Module):
    """Logits of all plays, and the value of the position.

    A play has four parts: card, cell with the cards near it, points and draws, and a summary of the position. Each
    passes a linear layer, and they are added. Two layers follow, and the points are added to the logit.

    Args:
        observer: makes the observations, with the preview.
        width: units of a layer.
        unit: points to one unit of the critic's output.

    Raises:
        ValueError: for an observer without the preview, or of rules by which points are announced.
    """

    def __init__(self, observer: Observer, width: int = 128, unit: float = 1.0) -> None:
        super().__init__()
        if not observer.preview or "announce" in observer.rules.decisions:
            raise ValueError(f"the network needs the preview, and rules without Simpleton; got {observer.rules}")
        self.slices, self.actions = observer.encoder(by_place=True).slices, observer.places.num_actions
        self.unit = unit
        self.places, self.cells = observer.places.places, observer.places.cells
        size = {name: place.stop - place.start for name, place in self.slices.items()}
        features = size["hand"] // self.places
        self.side = round((size["board"] / features) ** 0.5)
        self.summary = nn.Sequential(nn.Linear(sum(size.values()) - size["preview"], 2 * width), nn.ReLU())
        self.value, self.context = nn.Linear(2 * width, 1), nn.Linear(2 * width, width)
        self.card, self.play = nn.Linear(features + 1, width), nn.Linear(2, width)
        self.row = nn.Conv2d(features + 1, width, (1, 5), padding=(0, 2))
        self.column = nn.Conv2d(features + 1, width, (5, 1), padding=(2, 0))
        self.score = nn.Sequential(nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, observation: Tensor) -> tuple[Tensor, Tensor]:
        """Map observations, float32 [B, size], to logits [B, actions] and values [B]."""
        parts = {name: observation[:, place] for name, place in self.slices.items()}
        preview = parts.pop("preview").unflatten(1, (self.places, self.cells, 2))
        summary = self.summary(torch.cat([*parts.values()], dim=1))
        hand = parts["hand"].unflatten(1, (self.places, -1))
        board = parts["board"].unflatten(1, (self.side**2, -1))
        most = preview[..., 0].amax(1).expand(-1, self.side**2)[..., None]
        near = torch.cat([board, most], dim=2).transpose(1, 2).unflatten(2, (self.side, -1))
        near = (self.row(near) + self.column(near)).flatten(2).transpose(1, 2).flatten(0, 1)
        card = self.card(torch.cat([hand, preview[..., 0].amax(2, True)], dim=2)) + self.context(summary)[:, None]
        empty = (board[:, : self.cells, -1] == 0) | (self.cells == 1)  # the cell of the spiral game is given
        row, place, cell = ((hand[..., -1:] > 0) & empty[:, None]).nonzero(as_tuple=True)
        play = preview[row, place, cell]
        hidden = self.play(play) + card.flatten(0, 1).index_select(0, row * self.places + place)
        hidden = hidden + near.index_select(0, row * self.side**2 + cell)
        scores = play[:, 0] + self.score(hidden)[:, 0]
        logits = observation.new_zeros(len(observation), self.actions)
        return logits.index_put((row, place * self.cells + cell), scores), self.unit * self.value(summary)[:, 0]
