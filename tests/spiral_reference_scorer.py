"""Reference scorer and reference game of the spiral game, written from the rules alone.

The engines are written to be fast, this module to be *obviously right*, so that they can be checked against it: it
shares no code and no data with them, uses only the standard library, and tries every set of cards where the engines
count. Section numbers (2.3) and rulings (R12) refer to RULES.md.

Conventions
-----------
- A card is its printed name: rank, then suit. ``"AS"``, ``"9H"``, ``"TD"`` (T = 10), ``"KC"``.
- A cell is ``(row, column)`` from the top left; rows count downwards, columns to the right.
- A board maps cells to the *face-up* cards; a cell that is not in it is face down and counts for
  nothing.
- A line is a row or a column: five places, top to bottom or left to right, ``None`` for face down.
- Seats are 0 and 1; whatever is listed by seat has two entries.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, NamedTuple, TypeAlias

Cell: TypeAlias = tuple[int, int]
Board: TypeAlias = Mapping[Cell, str]
Line: TypeAlias = Sequence[str | None]
Scoring: TypeAlias = Literal["play", "end"]

# --- Part 2: the cards --------------------------------------------------------------------------

RANKS = "A23456789TJQK"  # the Ace always low
SUITS = "SHCD"
DECK = tuple(rank + suit for suit in SUITS for rank in RANKS)

#: What the cards of a rank count towards fifteen: the Ace 1, the court cards 10 (2.3).
_COUNTS = {**{rank: place for place, rank in enumerate(RANKS, start=1)}, "J": 10, "Q": 10, "K": 10}
#: Kinds: how many cards of one rank, and what they score (2.3).
_KINDS = {1: 0, 2: 2, 3: 6, 4: 12}

# --- 2.1 and 2.2: where the cards go ------------------------------------------------------------

CENTRE: Cell = (2, 2)
#: The cells in order of play, as the rules list them.
SPIRAL: tuple[Cell, ...] = (
    *((2, 3), (3, 3), (3, 2), (3, 1), (2, 1), (1, 1), (1, 2), (1, 3)),  # plays 1 to 8
    *((1, 4), (2, 4), (3, 4), (4, 4), (4, 3), (4, 2), (4, 1), (4, 0)),  # plays 9 to 16
    *((3, 0), (2, 0), (1, 0), (0, 0), (0, 1), (0, 2), (0, 3), (0, 4)),  # plays 17 to 24
)
_GRID = frozenset((row, column) for row in range(5) for column in range(5))

HAND_SIZE = 13

# --- 2.3 and 2.4: the score of a line -----------------------------------------------------------


@dataclass(frozen=True)
class Parts:
    """The score of one line, part by part."""

    kinds: int = 0
    runs: int = 0
    flush: int = 0
    fifteens: int = 0

    @property
    def points(self) -> int:
        """All parts, added up."""
        return self.kinds + self.runs + self.flush + self.fifteens


@dataclass(frozen=True)
class ReferenceScore:
    """The score of one play: the parts of its row and of its column (2.3)."""

    row: Parts
    column: Parts

    @property
    def points(self) -> int:
        """All points of the play."""
        return self.row.points + self.column.points


def _check(cards: Collection[str]) -> None:
    """Refuse cards that are not in the pack, and cards that occur twice."""
    unknown = sorted(set(cards) - set(DECK))
    if unknown:
        raise ValueError(f"unknown cards: {unknown}")
    if len(set(cards)) != len(cards):
        raise ValueError("a card occurs twice")


def _sets(cards: Collection[str]) -> list[tuple[str, ...]]:
    """Every set that can be made of some of these cards."""
    return [chosen for size in range(1, len(cards) + 1) for chosen in combinations(cards, size)]


def _is_run(cards: Collection[str]) -> bool:
    """Whether these cards, one of each rank, are three or more in rank order (Ace low, no wrap-around)."""
    in_order = "".join(sorted((card[0] for card in cards), key=RANKS.index))
    return len(cards) >= 3 and in_order in RANKS


def _ranks(cards: Iterable[str]) -> list[str]:
    """The rank of each card."""
    return [card[0] for card in cards]


def _stretches(line: Line) -> list[range]:
    """Every stretch of three or more touching cards of one suit in a line, as the places it covers.

    A stretch inside a longer one is listed, too.
    """
    suits = "".join(card[1] if card else "." for card in line)
    stretches = [range(first, last + 1) for first, last in combinations(range(len(line)), 2)]
    one_suit = [suit * length for suit in SUITS for length in (3, 4, 5)]
    return [places for places in stretches if suits[places.start : places.stop] in one_suit]


def _score_line(line: Line, place: int, fifteens: bool) -> Parts:
    """Score a line for the card at ``place``, which has just been played (2.3)."""
    played = line[place]
    assert played is not None
    face_up = [card for card in line if card]

    kinds = _KINDS[len([card for card in face_up if card[0] == played[0]])]

    # Every way to lay out a run that holds the played *rank*. The longest ones all span the same
    # ranks, and there are as many of them as the product in the rules says, with the copies of the
    # played rank among them (R12).
    runs = [cards for cards in _sets(face_up) if _is_run(cards) and played[0] in _ranks(cards)]
    longest = max((len(cards) for cards in runs), default=0)
    run_points = sum(len(cards) for cards in runs if len(cards) == longest)

    flush = max((len(stretch) for stretch in _stretches(line) if place in stretch), default=0)

    sums = [sum(_COUNTS[card[0]] for card in cards) for cards in _sets(face_up) if played in cards]
    return Parts(kinds, run_points, flush, 2 * sums.count(15) if fifteens else 0)


def score_play(board: Board, cell: Cell, card: str, fifteens: bool = False) -> ReferenceScore:
    """Score the play of ``card`` into ``cell`` (2.3, with R12).

    ``board`` holds the face-up cards before the play; it is not changed, and need not be one the
    spiral leads to. ``fifteens`` plays with that option. Raises ``ValueError`` for an unknown card,
    a card that occurs twice, or a cell that is outside the grid or already holds a card.
    """
    _check([*board.values(), card])
    if cell not in _GRID or cell in board:
        raise ValueError(f"no card can go to {cell}")
    after = {**board, cell: card}
    row, column = cell
    return ReferenceScore(
        row=_score_line([after.get((row, place)) for place in range(5)], column, fifteens),
        column=_score_line([after.get((place, column)) for place in range(5)], row, fifteens),
    )


def score_line_at_end(cards: Sequence[str], fifteens: bool = False) -> Parts:
    """Score a full line as a hand of five cards, in the order they lie in (2.4).

    Here no card is the played one: every kind counts, every run, every flush and every fifteen.
    Five cards have room for two kinds, but for only one run and only one flush.
    """
    _check(cards)
    if len(cards) != 5:
        raise ValueError("a full line has five cards")
    kinds = sum(_KINDS[_ranks(cards).count(rank)] for rank in set(_ranks(cards)))

    runs = [chosen for chosen in _sets(cards) if _is_run(chosen)]
    longest = max((len(chosen) for chosen in runs), default=0)
    run_points = sum(len(chosen) for chosen in runs if len(chosen) == longest)

    flush = max((len(stretch) for stretch in _stretches(cards)), default=0)

    sums = [sum(_COUNTS[card[0]] for card in chosen) for chosen in _sets(cards)]
    return Parts(kinds, run_points, flush, 2 * sums.count(15) if fifteens else 0)


class End(NamedTuple):
    """The scores of the lines of a full grid that is scored at the end (2.4)."""

    #: From the top; they are the non-dealer's.
    rows: tuple[Parts, ...]
    #: From the left; they are the dealer's.
    columns: tuple[Parts, ...]


def score_at_end(board: Board, fifteens: bool = False) -> End:
    """Score a full grid (2.4)."""
    if board.keys() != _GRID:
        raise ValueError("the grid is not full")
    _check(board.values())
    lines = range(5)
    return End(
        rows=tuple(score_line_at_end([board[line, place] for place in lines], fifteens) for line in lines),
        columns=tuple(score_line_at_end([board[place, line] for place in lines], fifteens) for line in lines),
    )


# --- 2.5: the game ------------------------------------------------------------------------------


class Deal(NamedTuple):
    """The 27 cards of a deal that are ever seen."""

    #: The card face up on the centre cell.
    starter: str
    #: Thirteen cards each, by seat (not by who deals).
    hands: tuple[Collection[str], Collection[str]]


def non_dealer(number: int) -> int:
    """The seat that begins a deal, the first one being number 0 (2.5, R15: seat 1 deals first)."""
    return (0, 1, 0, 1)[number]


class SpiralReferenceGame:
    """A game of one, two or four deals, played by printed names.

    As soon as the last card of a deal is played the next deal lies on the table; when there is none
    the game is over, and ``board``, ``hands`` and ``scores`` go on showing the last deal.

    Args:
        deals: The cards of each deal. They are taken one at a time, each when it is needed, so that
            a generator may find them while the game goes on.
        deal_count: How many deals the game has.
        scoring: ``"play"`` to score as you go (2.3), ``"end"`` for the variant (2.4).
        fifteens: Whether fifteens score.

    Attributes:
        number: The number of the deal on the table, the first one being 0.
        board: Its face-up cards.
        hands: The cards that each seat still holds.
        scores: What each seat has made in this deal.
        totals: What each seat has made in all deals, this one included.
        over: Whether the game is over.
        last: The score of the last play; ``None`` before it, and whenever scoring is at the end.
        last_end: The scores of the last finished deal at its end; ``None`` unless scoring is.
    """

    def __init__(
        self, deals: Iterable[Deal], deal_count: int, *, scoring: Scoring = "play", fifteens: bool = False
    ) -> None:
        if deal_count not in (1, 2, 4):
            raise ValueError("a game has one, two or four deals")
        if scoring not in ("play", "end"):
            raise ValueError(f"unknown scoring: {scoring!r}")
        self._deals = iter(deals)
        self.deal_count = deal_count
        self.scoring = scoring
        self.fifteens = fifteens
        self.totals = [0, 0]
        self.over = False
        self.last: ReferenceScore | None = None
        self.last_end: End | None = None
        self._lay_out(0)

    def _lay_out(self, number: int) -> None:
        """Put a fresh deal on the table."""
        deal = next(self._deals, None)
        if deal is None:
            raise ValueError(f"no cards for deal {number}")
        starter, (one, other) = deal
        _check([starter, *one, *other])
        if len(one) != HAND_SIZE or len(other) != HAND_SIZE:
            raise ValueError("a hand has thirteen cards")
        self.number = number
        self.board: dict[Cell, str] = {CENTRE: starter}
        self.hands: tuple[set[str], set[str]] = (set(one), set(other))
        self.scores = [0, 0]

    @property
    def played(self) -> int:
        """How many cards have been played in this deal: 0 to 24."""
        return len(self.board) - 1

    @property
    def dealer(self) -> int:
        """The seat that dealt."""
        return 1 - non_dealer(self.number)

    @property
    def mover(self) -> int:
        """The seat to play: the non-dealer first, then in turn (2.2)."""
        self._refuse_if_over()
        return non_dealer(self.number) if self.played % 2 == 0 else self.dealer

    @property
    def cell(self) -> Cell:
        """Where the next card goes (2.2)."""
        self._refuse_if_over()
        return SPIRAL[self.played]

    @property
    def legal(self) -> Set[str]:
        """The cards that may be played: all that the mover holds, none once the game is over."""
        return frozenset() if self.over else frozenset(self.hands[self.mover])

    def _refuse_if_over(self) -> None:
        if self.over:
            raise ValueError("the game is over")

    def play(self, card: str) -> tuple[int, int]:
        """Play a card of the mover's hand; return what each seat gains by it.

        Scored as you go, the mover gains the points of the play. Scored at the end, no seat gains
        anything before the last card of the deal, and then both do. A card left in hand costs
        nothing (2.2).
        """
        mover, cell = self.mover, self.cell
        if card not in self.hands[mover]:
            raise ValueError(f"{card} is not in the hand of seat {mover}")
        gains = [0, 0]
        if self.scoring == "play":
            self.last = score_play(self.board, cell, card, self.fifteens)
            gains[mover] = self.last.points
        self.hands[mover].remove(card)
        self.board[cell] = card
        if self.scoring == "end" and self.played == len(SPIRAL):
            self.last_end = score_at_end(self.board, self.fifteens)
            gains[self.dealer] = sum(parts.points for parts in self.last_end.columns)
            gains[1 - self.dealer] = sum(parts.points for parts in self.last_end.rows)
        for seat in (0, 1):
            self.scores[seat] += gains[seat]
            self.totals[seat] += gains[seat]
        if self.played == len(SPIRAL):
            if self.number + 1 == self.deal_count:
                self.over = True
            else:
                self._lay_out(self.number + 1)
        return gains[0], gains[1]
