"""Scoring of plays and of full lines: plain functions in the order of RULES.md 2.3 and 2.4."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from math import prod

from quincunx_env.core.cards import EMPTY
from quincunx_env.core.scoring import Part
from quincunx_env.spiral.cards import CARDS
from quincunx_env.spiral.rules import LINES

KINDS = (0, 0, 2, 6, 12)
"""Points by number of cards of one rank."""

LEAST_RUN = LEAST_FLUSH = 3
FIFTEEN = 15
FIFTEEN_POINTS = 2

POINTS_LIMIT = 4_000
"""Upper bound of the points of a seat: 12 plays in each of four deals, two lines each."""

Line = Sequence[int]
"""[5]: the cells of a row or column, card ids, `EMPTY` where the card lies face down."""


# --- 2.3 Scoring as you go -------------------------------------------------------------------------------------------


def kinds(line: Line, at: int) -> int:
    """Return points for the cards of a line that have the rank of the card at ``at``."""
    return KINDS[_ranks(line)[CARDS[line[at]].rank]]


def runs(line: Line, at: int) -> int:
    """Return points for the longest run of ranks that holds the rank of the card at index ``at``.

    R12: its length times the number of cards of each rank of the run, the card's own rank included.
    """
    ranks, run = _ranks(line), _run(line, at)
    return len(run) * prod(ranks[rank] for rank in run) if len(run) >= LEAST_RUN else 0


def flush(line: Line, at: int) -> int:
    """Return points for the touching cards of one suit that hold the card at index ``at``."""
    touching = len(_touching(line, at))
    return touching if touching >= LEAST_FLUSH else 0


def fifteens(line: Line, at: int) -> int:
    """Return points for the sets of cards with the card at index ``at`` that add up to 15."""
    others = [CARDS[card].value for index, card in enumerate(line) if card != EMPTY and index != at]
    return FIFTEEN_POINTS * _sums(others, FIFTEEN - CARDS[line[at]].value)


def _ranks(line: Line) -> Counter[int]:
    return Counter(CARDS[card].rank for card in line if card != EMPTY)


def _run(line: Line, at: int) -> range:
    """Return the consecutive ranks around the card at ``at``."""
    ranks = _ranks(line)
    low = high = CARDS[line[at]].rank
    while ranks[low - 1]:
        low -= 1
    while ranks[high + 1]:
        high += 1
    return range(low, high + 1)


def _touching(line: Line, at: int) -> range:
    """Return indices of touching cards of the suit at ``at``."""
    suit = CARDS[line[at]].suit
    start, stop = at, at + 1
    while start > 0 and line[start - 1] != EMPTY and CARDS[line[start - 1]].suit == suit:
        start -= 1
    while stop < len(line) and line[stop] != EMPTY and CARDS[line[stop]].suit == suit:
        stop += 1
    return range(start, stop)


def _sums(values: Sequence[int], total: int) -> int:
    """Count the sets of values that add up to a total."""
    return sum(sum(chosen) == total for size in range(len(values) + 1) for chosen in combinations(values, size))


@dataclass(frozen=True)
class LineScore:
    """The score of a row or a column, by parts."""

    kinds: int
    run: int
    flush: int
    fifteen: int

    @property
    def points(self) -> int:
        """Sum of the parts."""
        return self.kinds + self.run + self.flush + self.fifteen


@dataclass(frozen=True)
class Score:
    """The score of a play, by lines."""

    row: LineScore
    column: LineScore

    @property
    def parts(self) -> dict[str, int]:
        """Points by the name of the part, without parts of 0; names as in `parts` and in text."""
        row, column = asdict(self.row), asdict(self.column)
        return {name: row[name] + column[name] for name in row if row[name] + column[name]}

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
        board: [25], card id or `EMPTY` by cell, before the play.
        cell: the cell of the play.
        card: id of the card played.
        with_fifteens: whether fifteens score.
    """
    row, column = (
        score_line([card if place == cell else board[place] for place in line], line.index(cell), with_fifteens)
        for line in LINES[cell]
    )
    return Score(row, column)


def parts(board: Sequence[int], cell: int, card: int, with_fifteens: bool) -> tuple[Part, ...]:
    """Return the parts of `score`, from the same arguments, each with its cells."""
    found = []
    for places in LINES[cell]:
        line, at = [card if place == cell else board[place] for place in places], places.index(cell)
        scored = score_line(line, at, with_fifteens)
        others = [index for index, other in enumerate(line) if other != EMPTY and index != at]
        same = [index for index in others if CARDS[line[index]].rank == CARDS[card].rank]
        run = [index for index in others if CARDS[line[index]].rank in _run(line, at)]
        touching = [index for index in _touching(line, at) if index != at]
        sums = [
            chosen
            for size in range(len(others) + 1)
            for chosen in combinations(others, size)
            if sum(CARDS[line[index]].value for index in (at, *chosen)) == FIFTEEN
        ]
        fifteens = [("fifteen", FIFTEEN_POINTS, chosen) for chosen in sums] if with_fifteens else []
        kinds = ("kinds", scored.kinds, same), ("run", scored.run, run), ("flush", scored.flush, touching)
        for name, points, indices in (*kinds, *fifteens):
            if points:
                found.append(Part(name, points, tuple(places[index] for index in indices)))
    return tuple(found)


# --- 2.4 Scoring at the end ------------------------------------------------------------------------------------------


def score_hand(line: Line, with_fifteens: bool) -> LineScore:
    """Score a full line as a hand of five cards: each kind, run, flush and fifteen counts once.

    Five cards hold at most one run and one flush, whose points any of its cards gives.
    """
    places = range(len(line))
    return LineScore(
        sum(KINDS[count] for count in _ranks(line).values()),
        max(runs(line, at) for at in places),
        max(flush(line, at) for at in places),
        FIFTEEN_POINTS * _sums([CARDS[card].value for card in line], FIFTEEN) if with_fifteens else 0,
    )
