"""A network for the solitaire that shares its weights over plays, as a policy of sb3-contrib's MaskablePPO.

A play is a card and a cell. The network reads the position once and gives every cell a vector of what it wants;
every card has a vector of what it is, made from its rank and suits alone; a play's logit is their product, plus
a multiple of the points and of the draws the play would bring, both multiples again read off the position. So what is
learned of a card in one cell serves it in the others, and what is learned of a rank or a suit serves all its cards.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.type_aliases import Schedule
from torch import Tensor, nn

from quincunx_env.core.observation import Observer, Pieces
from quincunx_env.quincunx.cards import CARDS, SUITS

POINTS_SCALE = 10.0
VALUE_SCALE = 50.0


def card_features(num_cards: int) -> Tensor:
    """float32 [num_cards + 1, features]: value, rank and suits of each card; the last row is an empty cell."""
    ranks = "A23456789PCX"
    suits = range(len(SUITS))
    rows = [
        [1.0, card.value / 10.0, *(card.rank == rank for rank in ranks), *(card.suits >> bit & 1 for bit in suits)]
        for card in CARDS[:num_cards]
    ]
    return torch.tensor([*rows, [0.0] * len(rows[0])], dtype=torch.float32)


class PlayNetwork(nn.Module):
    """Logits of all plays and the value of the position, from flat observations with the preview.

    Observations of fixed width work as well, and then one network plays all forms of the game but Simpleton.

    Args:
        observer: describes the observations.
        width: of the two hidden layers.
        depth: length of the vectors of cards and cells.

    Raises:
        ValueError: for games in which an action is no card and cell.
    """

    features: Tensor
    count_scale: Tensor

    def __init__(self, observer: Observer, width: int = 256, depth: int = 32) -> None:
        super().__init__()
        if observer.factors is None:
            raise ValueError("this network gives a logit to every card and cell: there is none for an announcement")
        self.slices = {name: slice(piece.start, piece.stop) for name, piece in observer.slices.items()}
        (self.cards, self.cells), self.depth = observer.factors, depth
        self.register_buffer("features", card_features(self.cards), persistent=False)
        counts = [min(high, 100.0) for _, _, high in observer.counts.values()]
        self.register_buffer("count_scale", torch.tensor(counts), persistent=False)
        num_features = self.features.shape[1]
        self.on_grid = nn.Linear(num_features, depth)
        form = self.slices.setdefault("form", slice(0, 0))  # observations of fixed width tell it
        self.trunk = nn.Sequential(
            nn.Linear(self.cells * depth + self.cards + len(counts) + form.stop - form.start, width),
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


class PlayPolicy(MaskableActorCriticPolicy):
    """`PlayNetwork` in the clothes of stable-baselines3.

    Args:
        observer: describes the observations.
        width, depth: of the network.
        args, kwargs: those of `MaskableActorCriticPolicy`.
    """

    def __init__(self, *args: Any, observer: Observer, width: int = 256, depth: int = 32, **kwargs: Any) -> None:
        self._network = observer, width, depth
        # The network sets its own first weights.
        super().__init__(*args, **{"ortho_init": False, **kwargs})

    def _build_mlp_extractor(self) -> None:
        self.mlp_extractor = PlayNetwork(*self._network).to(self.device)  # type: ignore[assignment]

    def _build(self, lr_schedule: Schedule) -> None:
        super()._build(lr_schedule)
        # The network gives logits and value itself.
        self.action_net = nn.Identity()
        self.value_net = nn.Identity()  # type: ignore[assignment]
        self.optimizer = self.optimizer_class(self.parameters(), **{"lr": lr_schedule(1), **self.optimizer_kwargs})


class NetworkPolicy:
    """A trained policy of sb3-contrib as a `quincunx_env.core.policy.Policy` that takes the likeliest action.

    Args:
        policy: of a MaskablePPO trained on flat observations.
        observer: that of the environment it was trained on.
    """

    def __init__(self, policy: MaskableActorCriticPolicy, observer: Observer) -> None:
        self.policy = policy
        self.observer = observer

    def __call__(
        self, observation: Pieces, mask: npt.NDArray[np.bool_], rng: np.random.Generator
    ) -> npt.NDArray[np.int64]:
        """See `quincunx_env.core.policy.Policy`."""
        flat = self.observer.flatten(observation)
        actions, _ = self.policy.predict(flat, action_masks=mask, deterministic=True)
        return actions
