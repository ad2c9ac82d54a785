"""Greedy policy of a torch module: argmax over legal logits."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from quincunx_agents import ties
from quincunx_agents.afterstates import Floats
from quincunx_env.core.game import Game
from quincunx_env.core.observation import Observer, Pieces
from quincunx_env.registry import spec_of


class GreedyPolicy:
    """Agent that takes the legal action of the highest logit; a `quincunx_env.core.policy.ValuedPolicy`.

    Args:
        logits: maps encoded observations, float32 [n, size], to logits [n, actions]; for a
            `quincunx_agents.torch.PolicyNetwork` its method `forward_actor`.
        observer: of the environment it was trained on.
    """

    def __init__(self, logits: Callable[[Tensor], Tensor], observer: Observer) -> None:
        self.logits = logits
        self.observer = observer
        self.encode: Callable[[Pieces], npt.NDArray[Any]] = observer.flatten

    def __call__(
        self, observation: Pieces, mask: npt.NDArray[np.bool_], rng: np.random.Generator
    ) -> npt.NDArray[np.int64]:
        """Return the greedy actions, int64 [n], for pieces [n, ...] and mask [n, actions].

        Raises:
            NotFiniteError: if the module computes NaN or infinite logits.
        """
        return ties.best(self.action_values(observation, mask, rng))

    def action_values(self, observation: Pieces, mask: npt.NDArray[np.bool_], rng: np.random.Generator) -> Floats:
        """Return the logits of legal actions, float32 [n, actions]. All others have -inf. It raises as a call does."""
        logits = self._logits_of(observation)
        ties.require_finite(logits[mask])
        return np.where(mask, logits, np.float32(-np.inf))

    def probabilities(self, game: Game) -> Floats:
        """Return the mover's probability of each play, in percent.

        A heat map shows the best card of each cell: ``render.to_svg(game, values=agent.probabilities(game))``.

        Args:
            game: the position, which stays as it is; not one in which Simpleton asks for an announcement.

        Returns:
            float64 [cards, cells]; NaN for illegal plays.
        """
        notation, plays = spec_of(game.rules).notation, list(spec_of(game.rules).notation.legal_plays(game))
        pieces = self.observer.observe(game, game.mover)
        [logits] = self._logits_of({name: piece[None] for name, piece in pieces.items()})
        shares = np.exp(logits[plays] - logits[plays].max())
        table = np.full((game.rules.num_cards, game.rules.num_cells), np.nan)
        for action, share in zip(plays, 100 * shares / shares.sum(), strict=True):
            table[notation.decode_play(game, action)] = share
        return table

    def _logits_of(self, observation: Pieces) -> Floats:
        flat = torch.from_numpy(self.encode(observation)).float()
        with torch.no_grad():
            found: Floats = self.logits(flat).numpy()
        return found
