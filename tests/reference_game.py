"""Reference games: the bookkeeping of both games written from the rules, scored by the reference scorers.

They know of the engines only the options of `Rules` and the cards of a `Deal`, and call cards by their printed names.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from inspect import signature

from quincunx_env import spiral
from quincunx_env.quincunx.deal import Deal
from quincunx_env.quincunx.rules import Rules
from tests import spiral_reference_scorer as spiral_scorer
from tests.reference_scorer import (
    EXTENDED_DECK,
    Cell,
    Placement,
    ReferenceScore,
    legal_cells,
    penalty,
    score_play,
    simpleton,
)

NAMES = EXTENDED_DECK
"""The printed name of a card, by its id."""

SCORED = {option.name for option in Rules.options} & {*signature(score_play).parameters}
"""The options that the reference scorer knows."""

# Grid, face-up cells, hand and cards at the end, copied from the table of 1.2.
_FOUR: tuple[Cell, ...] = ((0, 0), (0, 4), (4, 0), (4, 4))
_FIVE: tuple[Cell, ...] = ((0, 0), (0, 4), (2, 2), (4, 0), (4, 4))
_TABLE: dict[tuple[int, str], tuple[int, tuple[Cell, ...], int, int]] = {
    (1, "corners"): (4, ((0, 0), (0, 3), (3, 0), (3, 3)), 8, 16),
    (2, "corners"): (5, _FIVE, 10, 25),
    (3, "corners"): (5, _FOUR, 7, 25),
    (4, "corners"): (5, _FIVE, 6, 25),
    (2, "open"): (9, ((4, 4),), 12, 25),
    (3, "open"): (9, ((4, 4),), 8, 25),
    (4, "open"): (9, ((4, 4),), 6, 25),
}
# The same of the mini variant, by players (R16).
_MINI_FOUR: tuple[Cell, ...] = ((0, 0), (0, 2), (2, 0), (2, 2))
_MINI_FIVE: tuple[Cell, ...] = ((0, 0), (0, 2), (1, 1), (2, 0), (2, 2))
_MINI_TABLE: dict[int, tuple[int, tuple[Cell, ...], int, int]] = {1: (3, _MINI_FOUR, 3, 9), 2: (3, _MINI_FIVE, 2, 9)}


class ReferenceGame:
    """A game of Quincunx by the letter of the rules; `tests.reference_scorer` scores its plays.

    Its state is plain: ``board`` and ``order`` by (row, column), ``hands`` as sets, ``pile`` from the top.
    """

    def __init__(self, rules: Rules, deals: Sequence[Deal]) -> None:
        self.rules = rules
        self.deals = deals
        self.players = rules.num_players
        setup = _MINI_TABLE[rules.num_players] if rules.mini else _TABLE[rules.num_players, rules.start]
        self.side, self.face_up, self.hand_size, self.full = setup
        self.placement: Placement = "open" if rules.start == "open" else "contact" if rules.edge_contact else "any"
        self.rounds = rules.num_players if rules.match else 1
        self.totals = [0] * self.players
        self.lost_draws = 0
        self._begin(0)

    def _begin(self, number: int) -> None:
        deal = self.deals[number]
        self.round = number
        self.board: dict[Cell, str] = dict(zip(self.face_up, names(deal.face_up), strict=True))
        self.order = dict.fromkeys(self.face_up, 0)
        self.hands = [set(names(hand)) for hand in deal.hands]
        assert [len(hand) for hand in self.hands] == [self.hand_size] * self.players
        self.pile = names(deal.pile)
        self.scores = [0] * self.players
        self.mover = number % self.players  # R15
        self.pending: tuple[str, Cell, ReferenceScore] | None = None
        self.over = self.lost = False

    def legal(self) -> set[Cell]:
        """Where a card may go now (1.2, R1)."""
        return legal_cells(self.board, self.placement, self.side)

    def score_play(self, card: str, cell: Cell) -> ReferenceScore:
        """What a play would score and draw (1.4)."""
        options = {option: getattr(self.rules, option) for option in SCORED}
        return score_play(self.board, cell, card, solitaire=self.players == 1, **options)

    def play(self, card: str, cell: Cell, score: ReferenceScore) -> list[int]:
        """Play a card (1.3); returns what each seat gains."""
        self.hands[self.mover].remove(card)
        if self.rules.simpleton:
            self.pending = card, cell, score
            return [0] * self.players
        gains = [0] * self.players
        gains[self.mover] = score.points
        return self._settle(card, cell, score, gains)

    def announce(self, announced: int) -> list[int]:
        """Announce the points of the pending play (1.6); returns what each seat gains."""
        assert self.pending is not None
        card, cell, score = self.pending
        self.pending = None
        gains = [0] * self.players
        own, taken = simpleton(announced, score.points)
        gains[self.mover] = own
        gains[(self.mover + 1) % self.players] = taken  # R11: the next player in turn order takes it
        return self._settle(card, cell, score, gains)

    def _settle(self, card: str, cell: Cell, score: ReferenceScore, gains: list[int]) -> list[int]:
        self.board[cell] = card
        self.order[cell] = max(self.order.values()) + 1
        hand = self.hands[self.mover]
        for _ in range(score.draw_count):  # R2: only now, and R3: as far as the pile reaches
            if self.pile:
                hand.add(self.pile.pop(0))
            else:
                self.lost_draws += 1
        full = len(self.board) == self.full
        if full:  # 1.5
            gains = [gain - sum(map(penalty, hand)) for gain, hand in zip(gains, self.hands, strict=True)]
        self.scores = [before + gain for before, gain in zip(self.scores, gains, strict=True)]
        self.totals = [total + gain for total, gain in zip(self.totals, gains, strict=True)]
        if full and self.round + 1 < self.rounds:
            self._begin(self.round + 1)
            return gains
        self.lost = self.players == 1 and not full and not hand
        self.over = full or self.lost
        self.mover = (self.mover + 1) % self.players
        return gains


def names(cards: Iterable[int]) -> list[str]:
    """The printed names of cards."""
    return [NAMES[card] for card in cards]


def spiral_reference_game(rules: spiral.Rules, deals: Sequence[spiral.Deal]) -> spiral_scorer.SpiralReferenceGame:
    """A reference game of the spiral game for these deals; its name of a card is ``DECK[id]``."""

    def in_names(deal: spiral.Deal) -> spiral_scorer.Deal:
        starter, *dealt = (spiral_scorer.DECK[card] for card in deal.cards)
        return spiral_scorer.Deal(starter, (dealt[:13], dealt[13:]))

    options = {"scoring": rules.scoring, "fifteens": rules.fifteens}
    return spiral_scorer.SpiralReferenceGame(map(in_names, deals), rules.deals, **options)  # type: ignore[arg-type]
