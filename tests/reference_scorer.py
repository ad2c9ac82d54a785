"""Reference scorer of Quincunx: the score of one play, written from the rules alone.

The engines are written to be fast, this module to be *obviously right*, so that they can be checked against it: it
shares no code and no data with them, uses only the standard library, and follows the wording of the rules step by
step. Section numbers (1.4) and rulings (R4) refer to RULES.md.

Conventions
-----------
- A card is its printed name: rank, then the suit letters in the order M S V L Y K. ``"AM"``,
  ``"2MK"``, ``"CM"`` (C = Crown), ``"PVLY"`` (P = Pawn), ``"X"`` (the Excuse).
- A cell is ``(row, column)``; rows count downwards, columns to the right.
- A board maps cells to the cards lying there *before* the play. A cell that is not in it is empty
  or outside the grid; for scoring there is no difference (R13).
- The four lines through a cell (1.4) are called ``"row"``, ``"column"``, ``"falling"`` (top left to
  bottom right) and ``"rising"`` (bottom left to top right), and are always listed in this order.
- Neighbours are listed in the order above, left, right, below.

Whether a play is legal is not checked (see `legal_cells`), nor whether a card occurs twice.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

Cell: TypeAlias = tuple[int, int]
Board: TypeAlias = Mapping[Cell, str]
Placement: TypeAlias = Literal["any", "contact", "open"]

# --- 1.1 The cards ------------------------------------------------------------------------------

ACES = ("AM", "AS", "AV", "AL", "AY", "AK")
NUMBERS = (
    *("2MK", "2SY", "2VL"),  # Author, Desert, Origin
    *("3MV", "3SK", "3LY"),  # Journey, Painter, Savage
    *("4YK", "4MS", "4VL"),  # Battle, Mountain, Sailor
    *("5SV", "5ML", "5YK"),  # Discovery, Forest, Soldier
    *("6MV", "6LK", "6SY"),  # Lunatic, Market, Penitent
    *("7SK", "7VY", "7ML"),  # Castle, Cave, Chance Meeting
    *("8YK", "8MS", "8VL"),  # Betrayal, Diplomat, Mill
    *("9VY", "9LK", "9MS"),  # Darkness, Merchant, Pact
)
CROWNS = ("CM", "CS", "CV", "CL", "CY", "CK")
PAWNS = ("PVLY", "PMSL", "PSVK", "PMYK")  # Borderland, Harvest, Light Keeper, Watchman
EXCUSE = "X"

BASIC_DECK = (*ACES, *NUMBERS, *CROWNS)
EXTENDED_DECK = (*BASIC_DECK, *PAWNS, EXCUSE)

#: Rank letter of every card; the Excuse has none (its "X" is never compared).
_RANK = {name: name[0] for name in EXTENDED_DECK}
#: Suit letters of every card; the Excuse has none.
_SUITS = {name: name[1:] for name in EXTENDED_DECK}
#: Value of every card in basic scoring and power plays: Ace 1, Crown 10, Pawn 1. Not the Excuse.
_VALUE = {
    **dict.fromkeys(ACES, 1),
    **{name: int(name[0]) for name in NUMBERS},
    **dict.fromkeys(CROWNS, 10),
    **dict.fromkeys(PAWNS, 1),
}
_KNOWN = frozenset(EXTENDED_DECK)
_PAWN_NAMES = frozenset(PAWNS)

#: Place of every rank in the rank order: Ace low, Crown high, and R8 for the deck with Pawns.
_ORDER_WITHOUT_PAWNS = {rank: place for place, rank in enumerate("A23456789C")}
_ORDER_WITH_PAWNS = {rank: place for place, rank in enumerate("A23456789PC")}
#: R16: the ranks of the mini variant.
_ORDER_OF_MINI = {rank: place for place, rank in enumerate("A45C")}

# --- The geometry of a play ---------------------------------------------------------------------

#: The step along each line.
_STEPS: dict[str, Cell] = {"row": (0, 1), "column": (1, 0), "falling": (1, 1), "rising": (-1, 1)}
_DIAGONALS = ("falling", "rising")
_NEIGHBOURS: tuple[Cell, ...] = ((-1, 0), (0, -1), (0, 1), (1, 0))
#: The 2x2 boxes that hold a card: where the box lies as seen from it, and the way there.
_BOXES: dict[str, Cell] = {
    "upper left": (-1, -1),
    "upper right": (-1, 1),
    "lower left": (1, -1),
    "lower right": (1, 1),
}


@dataclass(frozen=True)
class ReferenceScore:
    """The score of one play, item by item (1.4)."""

    #: Step 1: points by neighbouring cell; only cells whose points are not zero.
    basic: dict[Cell, int]
    #: Step 1: neighbouring cells that give a draw each.
    draws: tuple[Cell, ...]
    #: Step 2: lines that score a three of a kind.
    threes: tuple[str, ...]
    #: Step 3: lines that score a straight (never a line that is in ``threes``, R4).
    straights: tuple[str, ...]
    #: Step 4: neighbouring cells that score a pair.
    pairs: tuple[Cell, ...]
    #: Step 5: points of the power play, 0 if there is none.
    power: int
    #: Step 5: how many other cards were summed, 0 if there is no power play.
    power_cards: int
    #: Step 5: whether there is a power play (its points may be 0).
    power_play: bool
    #: Step 6: lines that score a flush.
    flush_lines: tuple[str, ...]
    #: Step 6: 2x2 boxes that score a flush, by their position as seen from the card played.
    flush_boxes: tuple[str, ...]

    @property
    def points(self) -> int:
        """All points of the play, added up."""
        return (
            sum(self.basic.values())
            + 30 * len(self.threes)
            + 20 * len(self.straights)
            + 5 * len(self.pairs)
            + self.power
            + 10 * len(self.flush_lines)
            + 10 * len(self.flush_boxes)
        )

    @property
    def draw_count(self) -> int:
        """How many cards the play earns (whether or not the pile can provide them, R3)."""
        return len(self.draws)


def _check(board: Board, cell: Cell, card: str, pawns: bool) -> None:
    """Refuse what no game can show: unknown cards, an occupied cell, a Pawn in a deck without."""
    if card not in _KNOWN or not _KNOWN.issuperset(board.values()):
        unknown = sorted({card, *board.values()} - _KNOWN)
        raise ValueError(f"unknown cards: {unknown}")
    if cell in board:
        raise ValueError(f"cell {cell} already holds {board[cell]}")
    if not pawns and (card in _PAWN_NAMES or not _PAWN_NAMES.isdisjoint(board.values())):
        raise ValueError("a Pawn in a game without Pawns")


def _outward(board: Board, cell: Cell, down: int, right: int) -> list[str]:
    """The unbroken row of cards that starts next to ``cell`` and leads away from it.

    It ends before the first cell that is empty, outside the grid, or holds the Excuse, which breaks
    every run (Extended deck).
    """
    row, column = cell
    cards: list[str] = []
    while True:
        row, column = row + down, column + right
        card = board.get((row, column), EXCUSE)
        if card == EXCUSE:
            return cards
        cards.append(card)


def _same_rank(cards: list[str], rank: str) -> int:
    """How many cards from the start of ``cards`` on have this rank."""
    count = 0
    for card in cards:
        if _RANK[card] != rank:
            break
        count += 1
    return count


def _consecutive(cards: list[str], place: int, step: int, order: Mapping[str, int]) -> int:
    """How many cards from the start of ``cards`` on go up (``step`` 1) or down from ``place``."""
    count = 0
    for card in cards:
        place += step
        if order[_RANK[card]] != place:
            break
        count += 1
    return count


def _with_suit(cards: list[str], suit: str) -> int:
    """How many cards from the start of ``cards`` on show this suit."""
    count = 0
    for card in cards:
        if suit not in _SUITS[card]:
            break
        count += 1
    return count


def _share_a_suit(one: str, other: str) -> bool:
    """Whether two cards have at least one suit in common."""
    return any(suit in _SUITS[other] for suit in _SUITS[one])


def score_play(
    board: Board, cell: Cell, card: str, *, solitaire: bool, pawns: bool, flush: bool, mini: bool = False
) -> ReferenceScore:
    """Score the play of ``card`` into the empty ``cell`` of ``board`` (1.4, with R2 to R14).

    ``board`` holds the cards lying there before the play; it is not changed. ``solitaire`` takes
    the diagonals out (1.4, R7), ``pawns`` is for a deck with Pawns (R8), ``flush`` for the variant
    of step 6, ``mini`` for the ranks of the mini variant (R16). Raises ``ValueError`` for unknown
    cards, an occupied cell, or a Pawn where there are none.
    """
    _check(board, cell, card, pawns)
    if card == EXCUSE:  # "Playing it scores nothing and draws nothing."
        return ReferenceScore({}, (), (), (), (), 0, 0, False, (), ())

    row, column = cell
    rank = _RANK[card]
    suits = _SUITS[card]
    value = _VALUE[card]
    # The neighbours that can matter at all. An absent one contributes nothing (R13), nor does the
    # Excuse ("as a neighbour it scores and draws nothing").
    neighbours: list[tuple[Cell, str]] = []
    for down, right in _NEIGHBOURS:
        place = (row + down, column + right)
        other = board.get(place, EXCUSE)
        if other != EXCUSE:
            neighbours.append((place, other))

    # 1. Basic.
    basic: dict[Cell, int] = {}
    draws: list[Cell] = []
    for place, other in neighbours:
        total = value + _VALUE[other]
        if total <= 9:
            ace_or_pawn = rank in "AP" or _RANK[other] in "AP"
            basic[place] = total if ace_or_pawn and _share_a_suit(card, other) else -total
        elif total == 10:
            pass
        elif total == 11 or total == 20:
            draws.append(place)
        else:
            basic[place] = total - 10

    # 2, 3 and the lines of 6, line by line.
    order = _ORDER_OF_MINI if mini else _ORDER_WITH_PAWNS if pawns else _ORDER_WITHOUT_PAWNS
    threes: list[str] = []
    straights: list[str] = []
    flush_lines: list[str] = []
    for line, (down, right) in _STEPS.items():
        if solitaire and line in _DIAGONALS:
            continue
        before = _outward(board, cell, -down, -right)
        after = _outward(board, cell, down, right)
        if _same_rank(before, rank) + 1 + _same_rank(after, rank) >= 3:
            threes.append(line)  # R4: where a three of a kind scores, a straight does not.
        else:
            here = order[rank]
            upwards = _consecutive(before, here, -1, order) + 1 + _consecutive(after, here, 1, order)
            downwards = _consecutive(before, here, 1, order) + 1 + _consecutive(after, here, -1, order)
            if upwards >= 3 or downwards >= 3:  # R4: both together count once.
                straights.append(line)
        if flush and any(_with_suit(before, suit) + 1 + _with_suit(after, suit) >= 4 for suit in suits):
            flush_lines.append(line)  # R6: one per line, whatever the number of suits.

    # 4. Pairs. A neighbour of the card's rank belongs to the unbroken run of that rank in the line
    # the two share, their row or column, and to no other run through the card. So it is part of a
    # three of a kind scored by this play exactly if that line scores one (R5).
    pairs: list[Cell] = []
    for place, other in neighbours:
        its_line = "row" if place[0] == row else "column"
        if _RANK[other] == rank and its_line not in threes:
            pairs.append(place)

    # 5. Power play. Only an Ace or a Crown can make one (R10).
    power_play = False
    power = 0
    power_cards = 0
    if rank == "A" or rank == "C":
        partner = ("C" if rank == "A" else "A") + suits
        if any(other == partner for _, other in neighbours):
            power_play = True
            for other in board.values():
                if suits in _SUITS[other] and other != partner and other != card:
                    power += _VALUE[other]
                    power_cards += 1

    # 6. The boxes of the flush bonus: four cards with one suit in common (R14), once per box (R6).
    flush_boxes: list[str] = []
    if flush:
        for box, (down, right) in _BOXES.items():
            three_others = (
                board.get((row + down, column), EXCUSE),
                board.get((row, column + right), EXCUSE),
                board.get((row + down, column + right), EXCUSE),
            )
            if any(all(suit in _SUITS[other] for other in three_others) for suit in suits):
                flush_boxes.append(box)

    return ReferenceScore(
        basic=basic,
        draws=tuple(draws),
        threes=tuple(threes),
        straights=tuple(straights),
        pairs=tuple(pairs),
        power=power,
        power_cards=power_cards,
        power_play=power_play,
        flush_lines=tuple(flush_lines),
        flush_boxes=tuple(flush_boxes),
    )


# --- Rare events --------------------------------------------------------------------------------

EVENTS = (
    "straight and three in one line",
    "two straights in one line",
    "two or more lines",
    "three draws",
    "four draws",
    "pair across a three",
    "flush in two suits",
    "pawn inside a straight",
    "excuse inside a line",
    "power play with many cards",
)


def _windows(grid: Board, cell: Cell, line: str, size: int) -> list[list[str]]:
    """All stretches of ``size`` cards in a line that hold ``cell``: no gap, no Excuse.

    An unbroken run of *at least* ``size`` cards holds the cell exactly if a run of ``size`` does.
    """
    down, right = _STEPS[line]
    found: list[list[str]] = []
    for first in range(1 - size, 1):
        cards = [grid.get((cell[0] + down * k, cell[1] + right * k), EXCUSE) for k in range(first, first + size)]
        if EXCUSE not in cards:
            found.append(cards)
    return found


def _common_suits(cards: Collection[str]) -> set[str]:
    """The suits that all these cards show."""
    return set.intersection(*(set(_SUITS[card]) for card in cards))


def events(board: Board, cell: Cell, card: str, *, solitaire: bool, pawns: bool, flush: bool) -> frozenset[str]:
    """The rare things that happen in this play, by name (a subset of ``EVENTS``).

    Derived from the grid, not from a `ReferenceScore`: lines are examined stretch by stretch
    (`_windows`) instead of outwards from the card, so that the two can be compared. Only lines that
    count are examined (solitaire: no diagonals).

    - "straight and three in one line": both go through the card in one line (R4).
    - "two straights in one line": one rising and one falling meet at the card in one line, as in
      3 4 5 4 3 around the 5 (R4).
    - "two or more lines": at least two lines score a straight or a three of a kind (flushes apart).
    - "three draws", "four draws": exactly so many.
    - "pair across a three": a pair scores in the same play as a three of a kind (R5).
    - "flush in two suits": a scoring line in which two suits qualify, or a scoring box whose cards
      have two suits in common (R6). Needs the variant.
    - "pawn inside a straight": a straight through the card holds a Pawn that is neither of its
      ends, so that 9, Pawn and Crown stand side by side (R8). It need not score (R4).
    - "excuse inside a line": the Excuse lies directly between the card and another card.
    - "power play with many cards": a power play that sums at least six other cards.

    Playing the Excuse is never an event.
    """
    _check(board, cell, card, pawns)
    if card == EXCUSE:
        return frozenset()
    grid = {**board, cell: card}
    rank_order = "A23456789PC" if pawns else "A23456789C"
    names = [name for name in _STEPS if not (solitaire and name in _DIAGONALS)]
    found: set[str] = set()

    with_three: set[str] = set()
    with_straight: set[str] = set()
    for name in names:
        ups: list[str] = []
        downs: list[str] = []
        for window in _windows(grid, cell, name, 3):
            ranks = "".join(_RANK[other] for other in window)
            if len(set(ranks)) == 1:
                with_three.add(name)
            if ranks in rank_order:
                ups.append(ranks)
            if ranks[::-1] in rank_order:
                downs.append(ranks)
        if ups or downs:
            with_straight.add(name)
        if ups and downs:
            found.add("two straights in one line")
        # A Pawn inside a straight: 9 Pawn Crown, with the card among the three or further down the
        # run that ends in them.
        for size in (3, 4, 5) if pawns else ():
            for window in _windows(grid, cell, name, size):
                ranks = "".join(_RANK[other] for other in window)
                if (ranks in rank_order or ranks[::-1] in rank_order) and "P" in ranks[1:-1]:
                    found.add("pawn inside a straight")
        down, right = _STEPS[name]
        for way in (1, -1):
            near = (cell[0] + way * down, cell[1] + way * right)
            far = (cell[0] + 2 * way * down, cell[1] + 2 * way * right)
            if grid.get(near) == EXCUSE and far in grid:
                found.add("excuse inside a line")
        if flush:
            qualifying: set[str] = set()
            for window in _windows(grid, cell, name, 4):
                qualifying |= _common_suits(window)
            if len(qualifying) >= 2:
                found.add("flush in two suits")
    if with_three & with_straight:
        found.add("straight and three in one line")
    if len(with_three | with_straight) >= 2:
        found.add("two or more lines")

    draw_sums = 0
    for down, right in _NEIGHBOURS:
        place = (cell[0] + down, cell[1] + right)
        other = grid.get(place, EXCUSE)
        if other == EXCUSE:
            continue
        if _VALUE[card] + _VALUE[other] in (11, 20):
            draw_sums += 1
        shared_line = "column" if down else "row"
        if _RANK[other] == _RANK[card] and with_three and shared_line not in with_three:
            found.add("pair across a three")
        if {_RANK[card], _RANK[other]} == {"A", "C"} and _SUITS[card] == _SUITS[other]:
            rest = set(grid.values()) - {card, other}
            if sum(_SUITS[card] in _SUITS[it] for it in rest) >= 6:
                found.add("power play with many cards")
    if draw_sums == 3:
        found.add("three draws")
    if draw_sums == 4:
        found.add("four draws")

    if flush:
        for down, right in _BOXES.values():
            corners = [(cell[0] + i, cell[1] + j) for i in (0, down) for j in (0, right)]
            cards = [grid.get(corner, EXCUSE) for corner in corners]
            if len(_common_suits(cards)) >= 2:
                found.add("flush in two suits")
    return frozenset(found)


# --- 1.5 The end of the round, 1.6 the Simpleton, 1.2 where a card may go -----------------------


def penalty(card: str) -> int:
    """What a card left in hand costs (1.5): its number; Crown 10; Ace 15; Pawn 10; Excuse 0."""
    if card not in _KNOWN:
        raise ValueError(f"unknown cards: {[card]}")
    if card == EXCUSE:
        return 0
    if card in ACES:
        return 15
    if card in CROWNS or card in PAWNS:
        return 10
    return int(card[0])


def rating(score: int, lost: bool) -> int:
    """The rating of a solitaire round (1.5).

    0 lost; 1 below 80 (negative scores too); 2 from 80; 3 from 100; 4 from 120; 5 from 150 on.
    """
    if lost:
        return 0
    if score < 80:
        return 1
    if score < 100:
        return 2
    if score < 120:
        return 3
    if score < 150:
        return 4
    return 5


def simpleton(announced: int, true: int) -> tuple[int, int]:
    """The Simpleton variant (1.6, R11): what the announcer scores, what the next player gets."""
    if announced == true:
        return true, 0
    if announced < true:
        return announced, true - announced
    return true - (announced - true), 0


def legal_cells(cells: Collection[Cell], placement: Placement, side: int) -> set[Cell]:
    """Cells that a card may be played into (1.2, R1), given the occupied ones.

    - ``"any"``: every empty cell of the ``side`` x ``side`` grid (corner start, solitaire).
    - ``"contact"``: empty cells of that grid that share an edge with a card (solitaire, the book's
      rule).
    - ``"open"``: cells that share an edge with a card, such that the bounding box of all cards, the
      new one included, stays at most 5 in either direction. ``side`` is ignored; with the first
      card at (4, 4) everything happens within a 9 x 9 grid.

    The Excuse occupies its cell and can be touched like any card.
    """
    occupied = set(cells)
    if placement == "any":
        grid = {(row, column) for row in range(side) for column in range(side)}
        return grid - occupied
    touching: set[Cell] = set()
    for row, column in occupied:
        touching |= {(row + down, column + right) for down, right in _NEIGHBOURS}
    touching -= occupied
    if placement == "contact":
        return {(row, column) for row, column in touching if 0 <= row < side and 0 <= column < side}
    if placement == "open":
        legal: set[Cell] = set()
        for cell in touching:
            rows = [row for row, _ in (*occupied, cell)]
            columns = [column for _, column in (*occupied, cell)]
            if max(rows) - min(rows) < 5 and max(columns) - min(columns) < 5:
                legal.add(cell)
        return legal
    raise ValueError(f"unknown placement: {placement!r}")
