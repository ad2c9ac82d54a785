"""Scoring of a play (RULES.md 1.4).

The first half states the rules as plain functions, in the order of the text; `score` combines them and returns all
parts of a score. The second half builds tables from these functions, in which both engines look up the total of a play.

Axes: C cells, L lines, Q places within reach of a cell; 41 cards, 42 with an empty cell.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, reduce
from operator import and_
from typing import NamedTuple

from quincunx_env.core.cards import EMPTY
from quincunx_env.core.scoring import Part
from quincunx_env.quincunx.cards import CARDS
from quincunx_env.quincunx.grid import BOXES, LINES
from quincunx_env.quincunx.rules import Rules

DRAWING_SUMS = (11, 20)
THREE_BONUS = 30
STRAIGHT_BONUS = 20
PAIR_BONUS = 5
FLUSH_BONUS = 10
HAND_PENALTY = {"A": 15, "P": 10, "C": 10, "X": 0} | {str(number): number for number in range(2, 10)}
"""Penalty of a card left in hand at the end of the round, by rank (1.5)."""

POINTS_LIMIT = 20_000
"""Bound of the absolute points of a seat. In a match a seat plays at most 24 times. With Simpleton a play loses at most
391 points and brings the next seat at most 366. This gives 24 x (391 + 366) points, and four hands of penalties.
Without Simpleton points are far smaller."""

RATINGS = ("lost", "below 80", "80-99", "100-119", "120-149", "150 and more")
"""Ratings of a solitaire round, ascending (1.5)."""

RATING_STEPS = (80, 100, 120, 150)
"""Least scores of the ratings from the third on."""

Place = tuple[int, int]


# --- 1.4.1 Basic -----------------------------------------------------------------------------------------------------


def basic(card: int, neighbour: int) -> tuple[int, int]:
    """Return (points, draws) that a card earns from one adjacent card."""
    if EMPTY in (card, neighbour):
        return 0, 0  # R13: such a side contributes nothing, and the others still count
    one, other = CARDS[card], CARDS[neighbour]
    if "X" in (one.rank, other.rank):
        return 0, 0
    total = one.value + other.value
    if total in DRAWING_SUMS:
        return 0, 1
    if total > 9:
        return total - 10, 0
    low = "AP"  # in sums a Pawn is like an Ace
    friendly = one.suits & other.suits and (one.rank in low or other.rank in low)
    return (total if friendly else -total), 0


# --- 1.4.2 and 1.4.3 Three of a kind, straight -----------------------------------------------------------------------


def rank_order(card: int, ranks: str) -> int | None:
    """Return the place of a card's rank among ``ranks`` (`Rules.ranks`). None: the rank is not one of them."""
    return ranks.index(CARDS[card].rank) if card != EMPTY and CARDS[card].rank in ranks else None


def line_bonus(ranks: Sequence[int | None], at: int) -> int:
    """Return the bonus of a line for the card at ``at``.

    ``ranks`` holds the places of the ranks; None breaks a run.

    R4: a line scores once, three of a kind before straight.
    """
    return line_run(ranks, at)[0]


def line_run(ranks: Sequence[int | None], at: int) -> tuple[int, range]:
    """Return `line_bonus`, and the indices of the cards that score it."""
    for bonus, step in ((THREE_BONUS, 0), (STRAIGHT_BONUS, 1), (STRAIGHT_BONUS, -1)):
        if ranks[at] is not None and len(run := _run(ranks, at, step)) >= 3:
            return bonus, run
    return 0, range(0)


def _run(ranks: Sequence[int | None], at: int, step: int) -> range:
    """Return indices of the unbroken run through ``at``. In it the rank changes by ``step`` from card to card."""
    here = ranks[at]
    assert here is not None
    start, stop = at, at + 1
    while start > 0 and ranks[start - 1] == here + (start - 1 - at) * step:
        start -= 1
    while stop < len(ranks) and ranks[stop] == here + (stop - at) * step:
        stop += 1
    return range(start, stop)


# --- 1.4.4 Pair ------------------------------------------------------------------------------------------------------


def pair(card: int, neighbour: int) -> bool:
    """Return whether two cards have one rank. R9: Pawn is a rank."""
    return EMPTY not in (card, neighbour) and CARDS[card].rank == CARDS[neighbour].rank != "X"


# --- 1.4.5 Power play ------------------------------------------------------------------------------------------------


def power(card: int, neighbour: int) -> bool:
    """Return whether two cards are Ace and Crown of one suit. R10: a Pawn is neither."""
    if EMPTY in (card, neighbour):
        return False
    one, other = CARDS[card], CARDS[neighbour]
    return {one.rank, other.rank} == {"A", "C"} and one.suits == other.suits


def power_points(suit: int, grid_cards: Sequence[int]) -> int:
    """Sum the values of cards of a suit in the grid. ``suit`` is a bit of `Card.suits`. Ace and Crown do not count."""
    cards = [CARDS[card] for card in grid_cards if card != EMPTY]
    return sum(card.value for card in cards if card.suits & suit and card.rank not in "AC")


# --- 1.4.6 Flush bonus -----------------------------------------------------------------------------------------------


def flush_line(suits: Sequence[int], at: int) -> bool:
    """Return whether the card at ``at`` scores a flush (R14).

    It must belong to an unbroken run of four cards that share a suit. R6: once a line, even when two suits qualify.
    ``suits``: `Card.suits`, 0 for an empty cell.
    """
    return any(
        suits[start] & suits[start + 1] & suits[start + 2] & suits[start + 3]
        for start in range(max(at - 3, 0), min(at, len(suits) - 4) + 1)
    )


def flush_run(suits: Sequence[int], at: int) -> range:
    """Return indices of the longest run that shares a suit.

    The run is unbroken and goes through ``at``; of equal ones the first.
    """
    runs = [range(start, stop) for start in range(at + 1) for stop in range(at + 1, len(suits) + 1)]
    return max((run for run in runs if reduce(and_, suits[run.start : run.stop])), key=len, default=range(0))


def flush_box(suits: Sequence[int]) -> bool:
    """Return whether the four cards of a box share a suit. See R6 and R14."""
    return bool(suits[0] & suits[1] & suits[2] & suits[3])


def flushes(rules: Rules, board: Sequence[int], cell: int, card: int) -> tuple[str, ...]:
    """Return the `LINES` and `BOXES` where a card scores a flush. R7: in the solitaire no diagonals."""
    suits = _suits_after(board, cell, card)
    lines = _whole_lines(rules, cell).items()
    boxes = zip(BOXES, rules.grid.boxes[cell], strict=True)
    return (
        *(name for name, line in lines if flush_line([suits[place] for place in line], 4)),
        *(name for name, box in boxes if flush_box([suits[place] for place in (cell, *box)])),
    )


def _suits_after(board: Sequence[int], cell: int, card: int) -> list[int]:
    """Return `Card.suits` by place after a play, [C + 1]; 0 for an empty cell."""
    suits = [CARDS[other].suits if other != EMPTY else 0 for other in board]
    suits[cell] = CARDS[card].suits
    return suits


def flush_points(rules: Rules, board: Sequence[int], cell: int, card: int) -> int:
    """Return the points of `flushes`."""
    return FLUSH_BONUS * len(flushes(rules, board, cell, card))


@cache
def _whole_lines(rules: Rules, cell: int) -> dict[str, tuple[int, ...]]:
    """Return the lines that count, with the cell at index 4. They go as far as five cards in a row can reach."""
    return {LINES[line]: rules.grid.line(cell, line, tuple(range(-4, 5))) for line in range(rules.num_lines)}


# --- The play as a whole ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Score:
    """The score of a play, by parts. Places are (row, column)."""

    basic: dict[Place, int]
    """Points from each adjacent card that scores any; a sum of 10 does not."""
    draws: tuple[Place, ...]
    """Adjacent cards that earn a draw each."""
    threes: tuple[str, ...]
    """`LINES` that score a three of a kind."""
    straights: tuple[str, ...]
    """`LINES` that score a straight."""
    pairs: tuple[Place, ...]
    """Adjacent cards that score a pair."""
    power: int
    """Points of the power play; 0 also where no other card of the suit is in the grid."""
    flushes: tuple[str, ...]
    """`LINES` and `BOXES` that score a flush."""

    @property
    def parts(self) -> dict[str, int]:
        """Points by the name of the part, without parts of 0. The names are as in `parts` and in text."""
        points = {
            "basic": sum(self.basic.values()),
            "three": THREE_BONUS * len(self.threes),
            "straight": STRAIGHT_BONUS * len(self.straights),
            "pair": PAIR_BONUS * len(self.pairs),
            "power": self.power,
            "flush": FLUSH_BONUS * len(self.flushes),
        }
        return {name: number for name, number in points.items() if number}

    @property
    def points(self) -> int:
        """Sum of the parts."""
        return sum(self.parts.values())


def score(rules: Rules, board: Sequence[int], cell: int, card: int) -> Score:
    """Score a card played into an empty cell.

    R2: on the grid with the new card, before any card is drawn.

    Args:
        rules: determine the lines that count, the order of ranks and whether there is a flush bonus.
        board: [C + 1], card id or `EMPTY` by cell, and one extra `EMPTY` that stands for every place off the grid.
        cell: the cell of the play.
        card: id of the card played.
    """
    grid = rules.grid
    after = list(board)
    after[cell] = card
    adjacent = {neighbour: after[neighbour] for neighbour in grid.adjacent[cell]}
    earned = {neighbour: basic(card, other) for neighbour, other in adjacent.items()}
    lines = _whole_lines(rules, cell)
    bonuses = {
        name: line_bonus([rank_order(after[place], rules.ranks) for place in line], 4) for name, line in lines.items()
    }
    threes = tuple(name for name, bonus in bonuses.items() if bonus == THREE_BONUS)
    in_threes = {place for name in threes for place in lines[name]}
    powered = [other for other in adjacent.values() if power(card, other)]
    return Score(
        basic={grid.place(neighbour): points for neighbour, (points, _) in earned.items() if points},
        draws=tuple(grid.place(neighbour) for neighbour, (_, draw) in earned.items() if draw),
        threes=threes,
        straights=tuple(name for name, bonus in bonuses.items() if bonus == STRAIGHT_BONUS),
        pairs=tuple(
            grid.place(neighbour)
            for neighbour, other in adjacent.items()
            if pair(card, other) and neighbour not in in_threes
        ),
        power=power_points(CARDS[card].suits, after) if powered else 0,
        flushes=flushes(rules, board, cell, card) if rules.flush else (),
    )


def parts(rules: Rules, board: Sequence[int], cell: int, card: int) -> tuple[Part, ...]:
    """Return the parts of `score`, each with its cells.

    It takes the same arguments. A power play has a part for each card whose value counts.
    """
    grid, found = rules.grid, score(rules, board, cell, card)
    after = list(board)
    after[cell] = card
    ranks = [rank_order(other, rules.ranks) for other in after]
    suits = _suits_after(board, cell, card)
    lines = _whole_lines(rules, cell)

    def others(line: Sequence[int], indices: range) -> tuple[int, ...]:
        return tuple(line[index] for index in indices if line[index] != cell)

    def run(name: str) -> tuple[int, ...]:
        return others(lines[name], line_run([ranks[place] for place in lines[name]], 4)[1])

    def flush(name: str) -> tuple[int, ...]:
        if name in BOXES:
            return grid.boxes[cell][BOXES.index(name)]
        return others(lines[name], flush_run([suits[place] for place in lines[name]], 4))

    powered: list[Part] = []
    if any(power(card, after[neighbour]) for neighbour in grid.adjacent[cell]):
        values = {place: power_points(suits[cell], [other]) for place, other in enumerate(after)}
        powered = [Part("power", points, (place,)) for place, points in values.items() if points]
    return (
        *(Part("basic", points, (grid.cell(place),)) for place, points in found.basic.items()),
        *(Part("draw", 0, (grid.cell(place),), 1) for place in found.draws),
        *(Part("three", THREE_BONUS, run(name)) for name in found.threes),
        *(Part("straight", STRAIGHT_BONUS, run(name)) for name in found.straights),
        *(Part("pair", PAIR_BONUS, (grid.cell(place),)) for place in found.pairs),
        *powered,
        *(Part("flush", FLUSH_BONUS, flush(name)) for name in found.flushes),
    )


def penalty(cards: Sequence[int]) -> int:
    """Return the penalty of cards left in hand (1.5)."""
    return sum(HAND_PENALTY[CARDS[card].rank] for card in cards)


def rating(points: int, lost: bool) -> int:
    """Return the index into `RATINGS` of a finished solitaire round (1.5)."""
    return 0 if lost else 1 + bisect_right(RATING_STEPS, points)


def simpleton(announced: int, true: int) -> tuple[int, int]:
    """Return the points of the announcing and of the next player. See 1.6 and R11."""
    # Too low: the announcement. Too high: the true points less the difference. In both cases the lower of the two.
    return min(announced, 2 * true - announced), max(true - announced, 0)


# --- Tables ----------------------------------------------------------------------------------------------------------
#
# All parts of a score but power play and flush follow from the cards within two cells of the play: three cards suffice
# for a straight or a three of a kind, and longer runs score no more. The card at each of these places adds a word to a
# sum, whose bit fields are wide enough never to carry into each other:
#
#     bits 0-6    basic points, 9 added for each adjacent place so that they stay positive (4 x 18 at most)
#     bits 7-9    draws (4 at most)
#     bit  10     power play (1 at most: there is one such card)
#     bits 11-    an 8-bit code for each line: the relation of the ranks at its four places to that of the card

DISTANCES = (-2, -1, 1, 2)
BASIC_OFFSET = 9
DRAWS_SHIFT, POWER_SHIFT, CODE_SHIFT = 7, 10, 11
BASIC_MASK, DRAWS_MASK, CODE_MASK = 127, 7, 255
_UNRELATED, _SAME, _ABOVE, _BELOW = range(4)


BEYOND = {"flush": flush_points}
"""Points that do not follow from the cards within ``DISTANCES``, by the option that asks for them."""


def reach(rules: Rules, cell: int) -> set[int]:
    """Return the places whose cards change scores in a cell. Power plays are left out."""
    distances = (-3, *DISTANCES, 3) if rules.flush else DISTANCES
    places = {place for line in range(rules.num_lines) for place in rules.grid.line(cell, line, distances)}
    if rules.flush:
        places.update(*rules.grid.boxes[cell])
    return places


class Tables(NamedTuple):
    """Lookup tables of both engines. See the comment above for the bit fields."""

    around: tuple[tuple[int, ...], ...]
    """[C, Q]: the cells within reach, line by line, by ``DISTANCES``."""
    words: tuple[tuple[tuple[int, ...], ...], ...]
    """[41, Q, 42]: the word that a neighbour adds to the sum. Index `EMPTY` (-1) is the last and stands for an empty
    cell."""
    bonus: tuple[tuple[int, ...], ...]
    """[L, 256]: bonus of a line by its code, with the pairs on it."""
    beyond: tuple[Callable[[Rules, Sequence[int], int, int], int], ...]
    """The functions of ``BEYOND`` that these rules ask for; they take the arguments of `score`."""


@cache
def tables(rules: Rules) -> Tables:
    """Return the tables for these rules."""
    grid, num_lines = rules.grid, rules.num_lines
    return Tables(
        around=tuple(
            tuple(place for line in range(num_lines) for place in grid.line(cell, line, DISTANCES))
            for cell in range(grid.num_cells)
        ),
        words=words(num_lines, rules.ranks),
        bonus=tuple(tuple(_coded_bonus(line, code) for code in range(CODE_MASK + 1)) for line in range(num_lines)),
        beyond=tuple(points for option, points in BEYOND.items() if getattr(rules, option)),
    )


@cache
def words(num_lines: int, ranks: str) -> tuple[tuple[tuple[int, ...], ...], ...]:
    """See `Tables.words`."""
    places = [(line, distance) for line in range(num_lines) for distance in DISTANCES]
    cards = (*range(len(CARDS)), EMPTY)
    return tuple(
        tuple(tuple(_word(card, other, line, distance, ranks) for other in cards) for line, distance in places)
        for card in cards[:-1]
    )


def is_orthogonal(line: int) -> bool:
    """Return whether a line of `LINES` is a row or column. Its adjacent cards share an edge."""
    return LINES[line] in ("row", "column")


def _word(card: int, other: int, line: int, distance: int, ranks: str) -> int:
    """Return the word that a card within reach adds to the sum."""
    word = _relation(card, other, distance, ranks) << CODE_SHIFT + 8 * line + 2 * DISTANCES.index(distance)
    if is_orthogonal(line) and abs(distance) == 1:
        points, draws = basic(card, other)
        word |= points + BASIC_OFFSET | draws << DRAWS_SHIFT | power(card, other) << POWER_SHIFT
    return word


def _relation(card: int, other: int, distance: int, ranks: str) -> int:
    """Return the relation of a card's rank to the played card's. The card is within reach."""
    here, there = rank_order(card, ranks), rank_order(other, ranks)
    if here is None or there is None:
        return _UNRELATED
    return {0: _SAME, abs(distance): _ABOVE, -abs(distance): _BELOW}.get(there - here, _UNRELATED)


def _coded_bonus(line: int, code: int) -> int:
    """Return `line_bonus` of a line with this code, and its pairs. Pairs add their points."""
    ranks: list[int | None] = []
    for index, distance in enumerate(DISTANCES):
        relation = code >> 2 * index & 3
        ranks.append({_UNRELATED: None, _SAME: 0, _ABOVE: abs(distance), _BELOW: -abs(distance)}[relation])
    ranks.insert(2, 0)
    bonus = line_bonus(ranks, 2)
    if is_orthogonal(line) and bonus != THREE_BONUS:
        bonus += PAIR_BONUS * ((ranks[1] == 0) + (ranks[3] == 0))
    return bonus
