"""A network that shares its weights over plays; `quincunx_agents.torch.sb3_policy` and `quincunx_agents.torch.rllib_module` let libraries train it.

A play is a card and a cell. The network reads the position once and gives every cell a vector of what it wants;
every card has a vector of what it is, made from its rank and suits alone; a play's logit is their product, plus
a multiple of the points and of the draws the play would bring, both multiples again read off the position. So what is
learned of a card in one cell serves it in the others, and what is learned of a rank or a suit serves all its cards.
"""

import torch
from torch import Tensor, nn

from quincunx_agents.networks.policy import POINTS_SCALE, Network, card_features, count_scale
from quincunx_env.core.observation import Observer

VALUE_SCALE = 50.0


class PolicyNetwork(nn.Module):
    """Logits of all plays and the value of the position, from flat observations with the preview.

    Observations of fixed width work as well, and then one network plays all forms of the game but Simpleton.

    Args:
        observer: describes the observations.
        width: of the two hidden layers.
        depth: length of the vectors of cards and cells.

    Raises:
        ValueError: for an observer without the preview, or of games in which an action is no card and cell.
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
        self.on_grid = nn.Linear(num_features, depth)
        form = self.slices.setdefault("form", slice(0, 0))  # observations of fixed width tell it
        self.trunk = nn.Sequential(
            nn.Linear(self.cells * depth + self.cards + len(self.count_scale) + form.stop - form.start, width),
            nn.ReLU(),
            nn.Linear(width, width),
            nn.ReLU(),
        )
        self.wanted = nn.Linear(width, self.cells * depth)
        self.offered = nn.Linear(num_features, depth)
        self.multiples = nn.Linear(width, 2)
        self.value = nn.Linear(width, 1)
        # All logits are 0 at first: learning starts from uniform play.
        for layer in (self.wanted, self.multiples):
            nn.init.zeros_(layer.weight)
            nn.init.zeros_(layer.bias)
        # Names by which stable-baselines3 asks for the lengths of the two outputs of `forward`.
        self.latent_dim_pi = observer.num_actions
        self.latent_dim_vf = 1

    def forward(self, observation: Tensor) -> tuple[Tensor, Tensor]:
        """float32 [B, size] -> logits [B, actions], value [B, 1]."""
        hidden = self.read(observation)
        return self.logits(observation, hidden), self.judge(hidden)

    def read(self, observation: Tensor) -> Tensor:
        """The position as one vector, [B, width]."""
        # An empty cell is -1, the last row; so is -2, no cell at all, which the form tells from it.
        board = self.on_grid(self.features)[observation[:, self.slices["board"]].long().clamp(min=-1)]
        counts = observation[:, self.slices["counts"]] / self.count_scale
        hand, form = observation[:, self.slices["hand"]], observation[:, self.slices["form"]]
        hidden: Tensor = self.trunk(torch.cat([board.flatten(1), hand, counts, form], dim=1))
        return hidden

    def logits(self, observation: Tensor, hidden: Tensor) -> Tensor:
        """[B, actions]."""
        wanted = self.wanted(hidden).view(-1, self.cells, self.depth)
        offered = self.offered(self.features[:-1])
        logits: Tensor = (wanted @ offered.T).transpose(1, 2)
        preview = observation[:, self.slices["preview"]].view(-1, self.cards, self.cells, 2)
        points, draws = self.multiples(hidden).split(1, dim=1)
        logits = logits + points[:, :, None] * preview[..., 0] / POINTS_SCALE + draws[:, :, None] * preview[..., 1]
        # Actions of fixed width include announcements, which are never legal here.
        return nn.functional.pad(logits.flatten(1), (0, self.latent_dim_pi - self.cards * self.cells))

    def judge(self, hidden: Tensor) -> Tensor:
        """[B, 1]: points still to come."""
        value: Tensor = self.value(hidden)
        return VALUE_SCALE * value

    def forward_actor(self, observation: Tensor) -> Tensor:
        """The logits alone."""
        return self.logits(observation, self.read(observation))

    def forward_critic(self, observation: Tensor) -> Tensor:
        """The value alone."""
        return self.judge(self.read(observation))

    def trained(self) -> Network:
        """A copy of the weights with what they have learned, as `quincunx_agents.networks.policy` plays and writes them.

        Raises:
            ValueError: for observations of fixed width, which it does not play.
        """
        if self.slices["form"] != slice(0, 0):
            raise ValueError("only a network of one game is written: this one reads observations of fixed width")
        return Network(
            {name: tensor.numpy(force=True).copy() for name, tensor in self.state_dict().items()}, self.rules
        )
