"""Greedy policy of a torch module: the highest legal logit."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from quincunx_agents.afterstates import Bools, Floats
from quincunx_agents.greedy import GreedyPolicy, Scores, legal_scores
from quincunx_env.core.game import SomeGame
from quincunx_env.core.observation import Observer, Pieces
from quincunx_env.registry import spec_of


class NetworkPolicy(GreedyPolicy):
    """`GreedyPolicy` of a torch module.

    Args:
        logits: maps vectors, float32 [n, size], to logits [n, actions]; for a `quincunx_agents.torch.PolicyNetwork`
            its method `forward_actor`.
        observer: of the environment it was trained on.
        by_place: it was trained with ``actions="hand"``: vectors and actions are by place of the hand.
    """

    def __init__(self, logits: Callable[[Tensor], Tensor], observer: Observer, by_place: bool = False) -> None:
        super().__init__(self._scores)
        self.logits = logits
        self.observer = observer
        self.encoder = observer.encoder(by_place)

    def probabilities(self, game: SomeGame) -> npt.NDArray[np.float64]:
        """Return the mover's probability of each play, in percent.

        A heat map shows the best card of each cell: ``render.to_svg(game, values=agent.probabilities(game))``.

        Args:
            game: the position, which stays as it is; not one in which Simpleton asks for an announcement.

        Returns:
            float64 [cards, cells]; NaN for illegal plays.
        """
        notation, plays = spec_of(game.rules).notation, list(spec_of(game.rules).notation.legal_plays(game))
        pieces = self.observer.observe(game, game.mover)
        mask = self.observer.mask(game)[None].view(np.bool_)
        [logits] = self._scores({name: piece[None] for name, piece in pieces.items()}, mask)
        shares = np.exp(logits[plays] - logits[plays].max())
        return notation.table(game, dict(zip(plays, 100 * shares / shares.sum(), strict=True)))

    def _scores(self, observation: Pieces, mask: Bools) -> Scores:
        """Return the logits of legal actions, float32 [n, actions]."""
        with torch.no_grad():
            logits: Floats = self.logits(torch.from_numpy(self.encoder.encode(observation))).numpy()
        if places := self.encoder.places:
            logits = places.by_card(logits, mask).astype(np.float32)
        return legal_scores(logits, mask)
