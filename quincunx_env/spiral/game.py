"""One spiral game in plain Python, in the order of the rules (RULES.md Part 2).

`quincunx_env.spiral.batch.Batch` plays many games at once; tests compare the two after every action.

Axes: C cells.
"""

from array import array
from collections.abc import Sequence
from typing import Any, Self

from quincunx_env.core.cards import EMPTY
from quincunx_env.core.deal import Domain
from quincunx_env.core.game import BaseGame, IllegalAction, as_action
from quincunx_env.core.integers import check_integer
from quincunx_env.spiral import scoring
from quincunx_env.spiral.cards import card_name, print_cards
from quincunx_env.spiral.deal import Deal
from quincunx_env.spiral.rules import COLUMNS, NUM_CELLS, PLAYS, ROWS, SPIRAL, Rules
from quincunx_env.spiral.scoring import Score


class Game(BaseGame[Rules, Deal]):
    """A game in progress: one deal, or several. A round is a deal. See `BaseGame` for the attributes."""

    __slots__ = ()

    board: "array[int]"
    legal = b"\x01"  # every legal card goes into the next cell

    @classmethod
    def from_seed(cls, rules: Rules, seed: int, game: int = 0, domain: Domain = "play") -> Self:
        """Make game number ``game`` of the row seeded ``seed``; see `quincunx_env.core.deal`."""
        deals = [Deal.from_seed(rules, seed, game, round, domain) for round in range(rules.num_rounds)]
        return cls._from_checked(rules, tuple(deals))

    @classmethod
    def from_position(
        cls,
        rules: Rules,
        deals: Sequence[Deal],
        round: int,
        plays: Sequence[int],
        **state: Any,
    ) -> "Game":
        """Make a game in progress from its position.

        Args:
            rules: options of the game.
            deals: a deal for each round.
            round: number of the round, from 0.
            plays: cards played in this deal so far.
            state: the attributes ``scores``, ``totals``, ``mover`` and ``over``.

        Raises:
            ValueError: if the deals do not fit the rules.
        """
        game = cls(rules, deals)
        game._begin_round(round)
        for ply, card in enumerate(plays, 1):
            game.board[SPIRAL[ply]] = card
            for hand in game.hands:
                hand[card] = 0
        game.ply = len(plays)
        for name, value in state.items():
            setattr(game, name, value)
        return game

    # --- 2.1 Set-up --------------------------------------------------------------------------------------------------

    def _begin_round(self, round: int) -> None:
        deal = self.deals[round]
        self.round = round
        self.board = array("b", [EMPTY]) * NUM_CELLS
        self.board[SPIRAL[0]] = deal.starter
        self.hands = self._as_hands(deal.hands)
        self.ply = 0
        self.scores = [0, 0]
        self.mover = self.first
        self.over = False

    @property
    def dealer(self) -> int:
        """The seat that deals; the other one begins."""
        return 1 - self.first

    # --- 2.2 Play ----------------------------------------------------------------------------------------------------

    @property
    def cell(self) -> int | None:
        """The cell of the next play; None when the game is over."""
        return None if self.over else SPIRAL[self.ply + 1]

    @property
    def order(self) -> list[int]:
        """Ply on which the card of a cell was played, [C]. 0 for the starter, -1 where there is none."""
        order = [-1] * NUM_CELLS
        for ply, cell in enumerate(SPIRAL[: self.ply + 1]):
            order[cell] = ply
        return order

    def legal_cards(self) -> tuple[int, ...]:
        """Return the hand of the seat to move, ascending; none when the game is over."""
        return () if self.over else self._held(self.mover)

    def legal_actions(self) -> tuple[int, ...]:
        """Return the legal actions of the seat to move: its `legal_cards`."""
        return self.legal_cards()

    def step(self, action: int) -> list[int]:
        """Play a card from the hand of the seat to move.

        Args:
            action: id of the card, an integer of any type, NumPy's included.

        Returns:
            Points gained by each seat, [2].

        Raises:
            IllegalAction: if the play is illegal or not an integer; the game is unchanged.
        """
        if type(action) is not int:
            action = as_action(action)
        if self.over or not 0 <= action < self.rules.num_actions or not self.hands[self.mover][action]:
            raise IllegalAction(self._explain_illegal(action))
        gains = [0, 0]
        if self.rules.scoring == "play":
            gains[self.mover] = self._score(action, SPIRAL[self.ply + 1]).points
        self.ply += 1
        self.board[SPIRAL[self.ply]] = action
        self.hands[self.mover][action] = 0
        self.mover = 1 - self.mover
        full = self.ply == PLAYS
        if full and self.rules.scoring == "end":
            gains = self._final_scores()
        self._gain(gains)
        if full:
            self._end_round()
        return gains

    def _explain_illegal(self, card: int) -> str:
        """Return the error message for an illegal play: the reason and the legal cards."""
        if self.over:
            return "the game is over: reset to play again"
        if not 0 <= card < self.rules.num_actions:
            return f"action {card} is out of range: actions run from 0 to {self.rules.num_actions - 1}"
        return (
            f"{card_name(card)} cannot be played: it is not in the hand of seat {self.mover}, "
            f"which holds {print_cards(self.legal_cards())}"
        )

    # --- 2.3 Scoring as you go ---------------------------------------------------------------------------------------

    def score(self, card: int) -> Score:
        """Score any card in the next cell of the spiral, by parts.

        Raises:
            ValueError: if there is no such card.
            IllegalAction: when the game is over.
        """
        card = check_integer("card", card, 0, self.rules.num_cards - 1)
        if self.cell is None:
            raise IllegalAction(self._explain_illegal(card))
        return self._score(card, self.cell)

    def _score(self, card: int, cell: int) -> Score:
        """Do `score` without the checks."""
        return scoring.score(self.board, cell, card, self.rules.fifteens)

    # --- 2.4 Scoring at the end --------------------------------------------------------------------------------------

    def _final_scores(self) -> list[int]:
        """Return points of both seats for the full square, [2]. The dealer scores the columns, the other seat rows."""
        lines = [COLUMNS if seat == self.dealer else ROWS for seat in range(2)]
        return [
            sum(
                scoring.score_hand([self.board[cell] for cell in line], self.rules.fifteens).points
                for line in lines[seat]
            )
            for seat in range(2)
        ]
