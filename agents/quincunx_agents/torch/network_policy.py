"""Greedy policy of a torch module: the highest legal logit."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from quincunx_agents.afterstates import Bools, Floats
from quincunx_agents.greedy import GreedyPolicy, Scores, legal_scores
from quincunx_env.codec import Codec
from quincunx_env.core.game import SomeGame
from quincunx_env.core.policy import Policy
from quincunx_env.core.rules import BaseRules
from quincunx_env.policies.encoded import Decoded
from quincunx_env.registry import spec_of


class NetworkPolicy(Decoded):
    """The greedy policy of a torch module; a `quincunx_env.core.policy.PolicyFactory`.

    Args:
        logits: maps vectors, float32 [n, size], to logits [n, actions].
        codec: of the environment it was trained on, such as ``env.unwrapped.codec``.
    """

    def __init__(self, logits: Callable[[Tensor], Tensor], codec: Codec) -> None:
        super().__init__(GreedyPolicy(self._scores), replace(codec, observation="vector", mask_in="info"))
        self.logits = logits

    def for_rules(self, rules: BaseRules) -> Policy:
        """Return the policy for games with these rules.

        Raises:
            ValueError: if it was trained for other rules, without ``padded=True``.
        """
        if rules == self.codec.rules:
            return self
        if not self.codec.padded:
            raise ValueError(f"it was trained for {self.codec.rules}, got {rules}: play the game that it has learned")
        return NetworkPolicy(self.logits, replace(self.codec, rules=rules))

    def probabilities(self, game: SomeGame) -> npt.NDArray[np.float64]:
        """Return the mover's probability of each play, in percent.

        A heat map shows the best card of each cell: ``render.to_svg(game, values=agent.probabilities(game))``.

        Args:
            game: the position, which stays as it is; not one in which Simpleton asks for an announcement.

        Returns:
            float64 [K, C]; NaN for illegal plays.
        """
        notation, plays = spec_of(game.rules).notation, list(spec_of(game.rules).notation.legal_plays(game))
        pieces = {name: piece[None] for name, piece in self.codec.observer.observe(game, game.mover).items()}
        mask = self.codec.observer.mask(game)[None].view(np.bool_)
        [logits] = self.action_values(pieces, mask, np.random.default_rng(0))
        shares = np.exp(logits[plays] - logits[plays].max())
        return notation.table(game, dict(zip(plays, 100 * shares / shares.sum(), strict=True)))

    def _scores(self, vectors: Floats, mask: Bools) -> Scores:
        """Return the logits of legal actions, float32 [n, actions]."""
        with torch.no_grad():
            logits: Floats = self.logits(torch.from_numpy(vectors)).numpy()
        return legal_scores(logits, mask)
