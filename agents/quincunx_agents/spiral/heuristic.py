"""Heuristic of the spiral game: points of a card now, and expected points of the best replies in the next cells.

The cells of the next cards are known. After each legal card the value of each of the next cells is that of the best
card for it: of the own hand for own turns; for the opponent's, the expected maximum over a hand drawn at random from
the unseen cards.
"""

from dataclasses import dataclass
from functools import cache
from math import comb

import numpy as np

from quincunx_agents import ties
from quincunx_agents.afterstates import Bools, Floats, Ints, observer_for
from quincunx_env.core.observation import Pieces
from quincunx_env.core.rules import BaseRules
from quincunx_env.spiral.batch import Batch
from quincunx_env.spiral.cards import CARDS
from quincunx_env.spiral.rules import HAND, PLAYS, SPIRAL, Rules

NEXT_CELL_WEIGHTS = (-1.0, 0.8, -0.5)
"""Weights of the best cards for the next cells: the opponent's, the own, the opponent's again. Not tuned."""

NOT_IN_HAND = np.float32(-1e6)
"""Points of a card that is not available: less than any real ones."""

_PLAIN = Rules()
"""Rules by which the next cells are scored: without fifteens, which count in the immediate points alone."""


def action_values(rules: Rules, observation: Pieces, mask: Bools) -> Floats:
    """Values of all cards in points, float32 [n, 52]; -inf where one is not in hand.

    Args:
        rules: of the game. If the full square is scored, the next cells count as margins over the opponent in positions
            where some legal card scores in the opponent's lines, and otherwise as if plays scored at once.
        observation: pieces [n, ...] with the preview.
        mask: bool [n, 52].
    """
    rows, cards = mask.nonzero()
    own, other = observation["preview"][rows, cards].astype(np.float32).T
    result = own - other
    # Points for the opponent are anything but 0 only if the full square is scored.
    for_margin = observation["preview"][rows, :, 1].max(axis=1) > 0
    counts = observer_for(rules).named_counts(observation)
    is_dealer = counts["first"][rows] > 0
    ply = counts["ply"][rows].astype(np.int64)
    every = np.arange(len(rows))
    games = Batch(_PLAIN, len(rows))
    games.board[:] = observation["board"][rows]
    games.board[every, np.array(SPIRAL)[ply + 1]] = cards
    hand = observation["hand"][rows] > 0
    seen = np.zeros((len(rows), len(CARDS) + 1), np.bool_)  # EMPTY is the extra, last column
    np.put_along_axis(seen, games.board.astype(np.int64), True, axis=1)
    hand[every, cards] = False
    unseen = ~seen[:, :-1] & ~hand
    for ahead, weight in enumerate(NEXT_CELL_WEIGHTS, start=1):
        is_own = ahead % 2 == 0
        reached = ply + ahead < PLAYS
        games.ply[:] = np.minimum(ply + ahead, PLAYS - 1)
        pool = (hand if is_own else unseen) & reached[:, None]
        at, card = pool.nonzero()
        row, column = games.value(card, at, check=False).T
        in_columns = is_dealer[at] == is_own
        points = np.where(for_margin[at], np.where(in_columns, column - row, row - column), row + column)
        values = np.full(pool.shape, NOT_IN_HAND)
        values[at, card] = points
        if is_own:
            best = values.max(axis=1)
        else:
            held = HAND - (ply + counts["first"][rows]) // 2
            best = _expected_best(values, pool.sum(axis=1), held)
        result += weight * np.where(reached, best, 0)
    table = np.full(mask.shape, -np.inf, np.float32)
    table[rows, cards] = result
    return table


def _expected_best(values: Floats, unseen: Ints, held: Ints) -> Floats:
    """Expected maximum of ``held`` values drawn without replacement from those of the unseen cards, float32 [n].

    Args:
        values: float32 [n, cards]; those of cards that are not unseen are less than all others.
        unseen: int64 [n], number of unseen cards.
        held: int64 [n].
    """
    best = np.zeros(len(values), np.float32)
    values = -np.sort(-values, axis=1)
    for count, taken in {*zip(unseen.tolist(), held.tolist(), strict=True)}:
        at = (unseen == count) & (held == taken)
        best[at] = values[at, :count] @ _chances(count, taken)
    return best


@cache
def _chances(cards: int, held: int) -> Floats:
    """Probability that each of ``cards`` cards, in descending order, is the best of ``held`` drawn, float32 [cards]."""
    chances = [comb(cards - 1 - place, held - 1) / comb(cards, held) for place in range(cards)]
    return np.array(chances, np.float32)


@dataclass(frozen=True)
class SpiralHeuristicPolicy:
    """Chooses the card of the highest `action_values`; a `quincunx_env.core.policy.Policy`."""

    rules: Rules

    def __call__(self, observation: Pieces, mask: Bools, rng: np.random.Generator) -> Ints:
        """Choose legal cards, int64 [n]; of equal ones (`quincunx_agents.ties`) the lowest."""
        return ties.best(self.action_values(observation, mask, rng))

    def action_values(self, observation: Pieces, mask: Bools, rng: np.random.Generator) -> Floats:
        """Values of all cards; see `quincunx_env.core.policy.ValuedPolicy`."""
        return action_values(self.rules, observation, mask)


@dataclass(frozen=True)
class SpiralHeuristicAgent:
    """The heuristic for every variant of the spiral game; a `quincunx_env.core.policy.PolicyFactory`."""

    def for_rules(self, rules: BaseRules) -> SpiralHeuristicPolicy:
        """The policy for a game.

        Raises:
            ValueError: for a game other than the spiral game.
        """
        if not isinstance(rules, Rules):
            raise ValueError(f"this heuristic plays the spiral game, got {rules}")
        return SpiralHeuristicPolicy(rules)


spiral_heuristic = SpiralHeuristicAgent()
"""The agent ``spiral-heuristic-v0``."""
