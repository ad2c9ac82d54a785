"""What a play and a full line score (RULES.md 2.3, 2.4), told once, as plain functions in the order of the text."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod

from quincunx_env.core.cards import EMPTY
from quincunx_env.spiral.cards import CARDS
from quincunx_env.spiral.rules import LINES

KINDS = (0, 0, 2, 6, 12)
"""Points by how many cards of one rank."""

LEAST_RUN = LEAST_FLUSH = 3
FIFTEEN = 15
FIFTEEN_POINTS = 2

Line = Sequence[int]
"""Five cells of a row or column: card ids, `EMPTY` where the card lies face down."""


# --- 2.3 Scoring as you go -------------------------------------------------------------------------------------------


def kinds(line: Line, at: int) -> int:
    """Points for the cards of the rank of the card at index ``at``, anywhere in the line."""
    return KINDS[_ranks(line)[CARDS[line[at]].rank]]


def runs(line: Line, at: int) -> int:
    """Points for the longest set of consecutive ranks that holds the rank of the card at index ``at``.

    R12: times the number of cards of each rank of the run, that of the card itself included.
    """
    ranks = _ranks(line)
    low = high = CARDS[line[at]].rank
    while ranks[low - 1]:
        low -= 1
    while ranks[high + 1]:
        high += 1
    length = high - low + 1
    return length * prod(ranks[rank] for rank in range(low, high + 1)) if length >= LEAST_RUN else 0


def flush(line: Line, at: int) -> int:
    """Points for the unbroken run of touching cards of one suit that holds the card at index ``at``."""
    suit = CARDS[line[at]].suit
    start, end = at, at + 1
    while start > 0 and line[start - 1] != EMPTY and CARDS[line[start - 1]].suit == suit:
        start -= 1
    while end < len(line) and line[end] != EMPTY and CARDS[line[end]].suit == suit:
        end += 1
    return end - start if end - start >= LEAST_FLUSH else 0


def fifteens(line: Line, at: int) -> int:
    """Points for the sets of cards that add up to 15 and hold the card at index ``at``."""
    others = [CARDS[card].value for index, card in enumerate(line) if card != EMPTY and index != at]
    return FIFTEEN_POINTS * _sums(others, FIFTEEN - CARDS[line[at]].value)


def _ranks(line: Line) -> Counter[int]:
    return Counter(CARDS[card].rank for card in line if card != EMPTY)


def _sums(values: Sequence[int], total: int) -> int:
    """How many sets of the values add up to a total."""
    return sum(sum(chosen) == total for size in range(len(values) + 1) for chosen in combinations(values, size))


@dataclass(frozen=True)
class LineScore:
    """What a row or a column scores, in its parts."""

    kinds: int
    runs: int
    flush: int
    fifteens: int

    @property
    def points(self) -> int:
        """Sum of the parts."""
        return self.kinds + self.runs + self.flush + self.fifteens


@dataclass(frozen=True)
class Score:
    """A play with its parts."""

    row: LineScore
    column: LineScore

    @property
    def parts(self) -> dict[str, int]:
        """Points by line and kind: ``row runs``."""
        return {f"{line} {name}": points for line, score in vars(self).items() for name, points in vars(score).items()}

    @property
    def points(self) -> int:
        """Sum of both lines."""
        return self.row.points + self.column.points


def score_line(line: Line, at: int, with_fifteens: bool) -> LineScore:
    """Score a line for the card at index ``at``, which has just been played."""
    return LineScore(kinds(line, at), runs(line, at), flush(line, at), fifteens(line, at) if with_fifteens else 0)


def score(board: Sequence[int], cell: int, card: int, with_fifteens: bool) -> Score:
    """Score a card played into a cell: its row and its column.

    Args:
        board: card id or `EMPTY` by cell, before the play.
        cell: where the card goes.
        card: its id.
        with_fifteens: whether the option is played.
    """
    row, column = (
        score_line([card if place == cell else board[place] for place in line], line.index(cell), with_fifteens)
        for line in LINES[cell]
    )
    return Score(row, column)


# --- 2.4 Scoring at the end ------------------------------------------------------------------------------------------


def score_hand(line: Line, with_fifteens: bool) -> LineScore:
    """Score a full line as a hand of five cards: everything that is in it, once.

    Five cards hold at most one run and one flush; the card that belongs to it scores it.
    """
    places = range(len(line))
    return LineScore(
        sum(KINDS[count] for count in _ranks(line).values()),
        max(runs(line, at) for at in places),
        max(flush(line, at) for at in places),
        FIFTEEN_POINTS * _sums([CARDS[card].value for card in line], FIFTEEN) if with_fifteens else 0,
    )
