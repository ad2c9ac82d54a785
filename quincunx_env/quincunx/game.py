"""One game of Quincunx in plain Python, in the order of the rules (RULES.md Part 1).

`Game` is used wherever a single game is played. `quincunx_env.quincunx.batch.Batch` plays many games at once; tests
compare the two after every action.

Axes: P seats, K cards, C cells.
"""

from array import array
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import compress
from operator import and_
from typing import Any, NamedTuple, Self

from quincunx_env.core.cards import EMPTY
from quincunx_env.core.deal import Domain
from quincunx_env.core.game import BaseGame, IllegalAction, as_action, explain_ids
from quincunx_env.core.integers import as_integer
from quincunx_env.core.rules import Decision
from quincunx_env.quincunx import scoring
from quincunx_env.quincunx.cards import CARDS, card_name, print_cards
from quincunx_env.quincunx.deal import Deal
from quincunx_env.quincunx.grid import Grid
from quincunx_env.quincunx.rules import ANNOUNCE_MAX, ANNOUNCE_MIN, OPEN_SPAN, Rules
from quincunx_env.quincunx.scoring import Score


class Pending(NamedTuple):
    """Simpleton: the play whose points are to be announced."""

    card: int
    cell: int


class Game(BaseGame[Rules, Deal]):
    """A game in progress: one round, or a match of several.

    See `BaseGame` for inherited attributes.

    Attributes:
        board: int8 [C + 1], card id or `EMPTY`, and one extra `EMPTY` that stands for every place off the grid.
        order: int8 [C + 1], ply on which the card of a cell was played, 0 for face-up cards, -1 where there is none.
        drawn: cards drawn from the pile in this round.
        pending: Simpleton: the chosen play while its points are to be announced; otherwise None.
        lost: solitaire: whether the hand ran out before the grid was full.
    """

    __slots__ = ("_pile", "_span", "_tables", "_within", "drawn", "legal", "lost", "order", "pending")

    board: "array[int]"
    legal: bytearray

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
        plays: Sequence[tuple[int, int]],
        hands: Sequence[Sequence[int]],
        **state: Any,
    ) -> "Game":
        """Make a game in progress from its position.

        Args:
            rules: options of the game.
            deals: a deal for each round.
            round: number of the round, from 0.
            plays: (card, cell) of each play of this round so far.
            hands: cards held by each seat.
            state: the attributes ``drawn``, ``scores``, ``totals``, ``mover``, ``pending``, ``over``, ``lost`` and
                ``previous_round``.

        Raises:
            ValueError: if the deals do not fit the rules.
        """
        game = cls(rules, deals)
        game._begin_round(round)
        for ply, (card, cell) in enumerate(plays, 1):
            game._lay(card, cell, ply)
        game.ply = len(plays)
        game.hands = game._as_hands(hands)
        for name, value in state.items():
            setattr(game, name, value)
        return game

    # --- 1.2 Set-up --------------------------------------------------------------------------------------------------

    def _begin_round(self, round: int) -> None:
        rules, deal = self.rules, self.deals[round]
        self._tables = scoring.tables(rules)
        self.round = round
        self.board = array("b", [EMPTY]) * (rules.num_cells + 1)
        self.order = array("b", [-1]) * (rules.num_cells + 1)
        self.legal = bytearray(rules.num_cells) if rules.touching else bytearray([1]) * rules.num_cells
        self._span = (rules.grid.side, -1, rules.grid.side, -1)
        self._within = bytes([1]) * rules.num_cells
        for cell, card in zip(rules.face_up_cells, deal.face_up, strict=True):
            self._lay(card, cell, 0)
        self.hands = self._as_hands(deal.hands)
        self._pile = deal.pile
        self.drawn = 0
        self.ply = 0
        self.scores = [0] * rules.num_players
        self.mover = self.first
        self.pending: Pending | None = None
        self.over = False
        self.lost = False

    def _lay(self, card: int, cell: int, ply: int) -> None:
        """Put a card on the grid and update the legal cells.

        Where cards must touch, a cell becomes legal when an adjacent cell is filled. In the open start it becomes
        illegal for good when the bounding box of all cards can no longer include it.
        """
        board, legal = self.board, self.legal
        board[cell] = card
        self.order[cell] = ply
        legal[cell] = 0
        if not self.rules.touching:
            return
        grid = self.rules.grid
        if self.rules.start == "open":
            row, column = divmod(cell, grid.side)
            top, bottom, left, right = self._span
            span = min(top, row), max(bottom, row), min(left, column), max(right, column)
            if span != self._span:
                self._span = span
                self._within = _within(grid, *span)
                legal[:] = bytes(map(and_, legal, self._within))
        for neighbour in grid.adjacent[cell]:
            if neighbour != grid.off and board[neighbour] == EMPTY:
                legal[neighbour] = self._within[neighbour]

    # --- 1.3 The turn ------------------------------------------------------------------------------------------------

    @property
    def decision(self) -> Decision:
        """Kind of the next action. It is ``"announce"`` while a play is `pending`."""
        return "announce" if self.pending and not self.over else "play"

    def legal_cards(self) -> tuple[int, ...]:
        """Return the cards that may be played now, ascending; none after the end or while an announcement is due."""
        return () if self.over or self.pending else self._held(self.mover)

    def legal_cells(self) -> tuple[int, ...]:
        """Return the cells in which a card may be played now, ascending.

        Every legal card may go into every legal cell.
        """
        return () if self.over or self.pending else tuple(compress(range(self.rules.num_cells), self.legal))

    def legal_actions(self) -> tuple[int, ...]:
        """Return the legal actions of the seat to move, ascending; none when the game is over."""
        rules, cells = self.rules, self.legal_cells()
        if self.pending and not self.over:
            return tuple(range(rules.num_plays_encoded, rules.num_actions))
        return tuple(card * rules.num_cells + cell for card in self.legal_cards() for cell in cells)

    def play(self, card: int, cell: int) -> list[int]:
        """Play a card from the hand of the seat to move.

        With Simpleton the play only becomes `pending`; it is scored when its points have been announced.

        Args:
            card: id of the card, an integer of any type.
            cell: number of the cell, an integer of any type.

        Returns:
            Points gained or lost by each seat, [P], penalties at the end of a round included.

        Raises:
            IllegalAction: if the play is illegal; the game is unchanged.
        """
        try:
            card, cell = as_integer(card), as_integer(cell)
        except TypeError:
            raise IllegalAction(explain_ids(self.rules, card, cell)) from None
        return self._play(card, cell)

    def _play(self, card: int, cell: int) -> list[int]:
        """Do `play` with plain ints."""
        rules = self.rules
        if (
            self.over
            or self.pending
            or not 0 <= card < rules.num_cards
            or not 0 <= cell < rules.num_cells
            or not self.hands[self.mover][card]
            or not self.legal[cell]
        ):
            raise IllegalAction(self._explain_illegal(card, cell))
        self.hands[self.mover][card] = 0
        if rules.simpleton:
            self.pending = Pending(card, cell)
            return [0] * rules.num_players
        gains = [0] * rules.num_players
        points, draws = self._value(card, cell)
        gains[self.mover] = points
        self._finish_play(card, cell, draws, gains)
        return gains

    def _finish_play(self, card: int, cell: int, draws: int, gains: list[int]) -> None:
        """Finish a play whose points are known: lay the card, draw, pass the turn, end the round.

        Args:
            card: the card played, already taken from the hand.
            cell: its cell.
            draws: cards earned.
            gains: [P], points for the play; the penalties at the end of a round are subtracted in place.
        """
        self.ply += 1
        self._lay(card, cell, self.ply)
        # R3: draws that the pile cannot serve are lost.
        hand = self.hands[self.mover]
        for drawn in self._pile[self.drawn : self.drawn + draws]:
            hand[drawn] = 1
            self.drawn += 1
        players = self.rules.num_players
        full = self.ply == self.rules.num_plays
        if full:
            for seat in range(players):
                gains[seat] -= scoring.penalty(self._held(seat))
        self._gain(gains)
        self.mover = (self.mover + 1) % players
        if full:
            self._end_round()
        elif players == 1 and not any(hand):
            self.lost = self.over = True

    def _explain_illegal(self, card: int, cell: int) -> str:
        """Return the error message for an illegal play: the reason and the legal plays."""
        if self.over:
            return "the game is over: reset to play again"
        rules = self.rules
        if self.pending:
            return f"seat {self.mover} must announce the points of the play now, {ANNOUNCE_MIN} to {ANNOUNCE_MAX}"
        if not (0 <= card < rules.num_cards and 0 <= cell < rules.num_cells):
            return (
                f"card {card}, cell {cell} is out of range: cards run from 0 to {rules.num_cards - 1}, "
                f"cells from 0 to {rules.num_cells - 1}"
            )
        place, cells = rules.grid.place(cell), [rules.grid.place(legal) for legal in self.legal_cells()]
        wrong = f"{card_name(card)} cannot be played at {place}: "
        if not self.hands[self.mover][card]:
            return wrong + f"it is not in the hand of seat {self.mover}, which holds {print_cards(self.legal_cards())}"
        why = (
            "the cell is taken" if self.board[cell] != EMPTY else "a card must touch one in play within the 5x5 square"
        )
        return wrong + f"{why}; legal cells are {cells}"

    # --- 1.4 Scoring a play ------------------------------------------------------------------------------------------

    def value(self, card: int, cell: int) -> tuple[int, int]:
        """Return (points, draws) of any card in any empty cell of the present grid; nothing is played.

        Raises:
            ValueError: if the card is not in the deck of these rules, or the cell is taken or off the grid.
        """
        return self._value(*self.check_place(card, cell))

    def _value(self, card: int, cell: int) -> tuple[int, int]:
        """Do `value` without the check."""
        board, tables = self.board, self._tables
        word = 0
        for by_neighbour, neighbour in zip(tables.words[card], tables.around[cell], strict=True):
            word += by_neighbour[board[neighbour]]
        points = (word & scoring.BASIC_MASK) - 4 * scoring.BASIC_OFFSET
        codes = word >> scoring.CODE_SHIFT
        for bonus in tables.bonus:
            points += bonus[codes & scoring.CODE_MASK]
            codes >>= 8
        if word >> scoring.POWER_SHIFT & 1:
            points += scoring.power_points(CARDS[card].suits, board)
        for more in tables.beyond:
            points += more(self.rules, board, cell, card)
        return points, word >> scoring.DRAWS_SHIFT & scoring.DRAWS_MASK

    def score(self, card: int, cell: int) -> Score:
        """Return the parts of `value`: the points by kind, and the cells that they come from.

        Raises:
            ValueError: if the card is not in the deck of these rules, or the cell is taken or off the grid.
        """
        card, cell = self.check_place(card, cell)
        return scoring.score(self.rules, self.board, cell, card)

    # --- 1.5 End of the round ----------------------------------------------------------------------------------------

    @property
    def penalties(self) -> list[int]:
        """Penalty points of each hand, [P], if the round ended now."""
        return [scoring.penalty(self._held(seat)) for seat in range(self.rules.num_players)]

    # --- 1.6 Simpleton -----------------------------------------------------------------------------------------------

    def announce(self, points: int) -> list[int]:
        """Announce the points of the pending play, which is then scored.

        Args:
            points: an integer of any type.

        Returns:
            Points gained or lost by each seat, [P], penalties at the end of a round included.

        Raises:
            IllegalAction: if no announcement is due, or it is out of range or not an integer; the game is unchanged.
        """
        try:
            points = as_integer(points)
        except TypeError:
            raise IllegalAction(f"an announcement must be an integer, got {points!r}") from None
        return self._announce(points)

    def _announce(self, points: int) -> list[int]:
        """Do `announce` with a plain int."""
        if self.pending is None:
            raise IllegalAction(
                "no announcement is due: a card must be played first"
                if not self.over
                else "the game is over: reset to play again"
            )
        if not ANNOUNCE_MIN <= points <= ANNOUNCE_MAX:
            raise IllegalAction(f"an announcement must lie between {ANNOUNCE_MIN} and {ANNOUNCE_MAX}, got {points}")
        card, cell = self.pending
        true, draws = self._value(card, cell)
        players = self.rules.num_players
        gains = [0] * players
        own, taken = scoring.simpleton(points, true)
        gains[self.mover] += own
        gains[(self.mover + 1) % players] += taken
        self.pending = None
        self._finish_play(card, cell, draws, gains)
        return gains

    # --- Joint actions, copies ---------------------------------------------------------------------------------------

    def step(self, action: int) -> list[int]:
        """Take a joint action, a `play` or an `announce`; see `Rules.num_actions`.

        Args:
            action: an integer of any type, NumPy's included.

        Returns:
            Points gained or lost by each seat, [P], penalties at the end of a round included.

        Raises:
            IllegalAction: if the action is illegal or not an integer; the game is unchanged.
        """
        if type(action) is not int:
            action = as_action(action)
        rules = self.rules
        if not 0 <= action < rules.num_actions:
            raise IllegalAction(f"action {action} is out of range: actions run from 0 to {rules.num_actions - 1}")
        if action < rules.num_plays_encoded:
            return self._play(*divmod(action, rules.num_cells))
        return self._announce(action - rules.num_plays_encoded + ANNOUNCE_MIN)

    @property
    def winners(self) -> tuple[int, ...]:
        """See `quincunx_env.core.game.BaseGame.winners`."""
        return () if self.lost else super().winners

    def forfeit(self) -> None:
        """End the game at once; see `quincunx_env.core.game.BaseGame.forfeit`."""
        if not self.over:
            self.lost = self.rules.num_players == 1
        super().forfeit()

    @property
    def pile(self) -> tuple[int, ...]:
        """The rest of the draw pile, top card first, hidden from all seats."""
        return self._pile[self.drawn :]

    def stack(self, pile: Sequence[int]) -> None:
        """Reorder the rest of the draw pile, for programs that choose which cards are drawn.

        Args:
            pile: its cards, top card first; integers of any type.

        Raises:
            ValueError: if these are not the cards of the pile; the game is unchanged.
        """
        try:
            cards = [as_integer(card) for card in pile]
        except TypeError:
            cards = []
        if sorted(cards) != sorted(self.pile):
            raise ValueError(f"the pile holds {print_cards(sorted(self.pile)) or 'no card'}, got {pile!r}")
        self._pile = (*self._pile[: self.drawn], *cards)
        deal = replace(self.deals[self.round], pile=self._pile)
        self.deals = (*self.deals[: self.round], deal, *self.deals[self.round + 1 :])

    def copy(self) -> Self:
        """Return an independent game in the same state, with the same hidden cards."""
        copy = super().copy()
        copy.order, copy.legal = self.order[:], self.legal[:]
        copy.drawn, copy.pending, copy.lost = self.drawn, self.pending, self.lost
        copy._pile, copy._span, copy._within, copy._tables = self._pile, self._span, self._within, self._tables
        return copy

    def __getstate__(self) -> dict[str, Any]:
        # The tables are left out: they follow from the rules and are large.
        return super().__getstate__() | {name: getattr(self, name) for name in Game.__slots__ if name != "_tables"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._tables = scoring.tables(self.rules)


@cache
def _within(grid: Grid, top: int, bottom: int, left: int, right: int) -> bytes:
    """Mark cells, [C], by whether a card there keeps the open start's span.

    The cards in play span these rows and columns; `OPEN_SPAN` is the most of each.
    """
    return bytes(
        max(bottom, row) - min(top, row) < OPEN_SPAN and max(right, column) - min(left, column) < OPEN_SPAN
        for row, column in map(grid.place, range(grid.num_cells))
    )
