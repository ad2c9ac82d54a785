"""Tests of the independent judge and referee of the spiral game (:mod:`tests.spiral_reference_scorer`) alone.

Lines and boards are drawn: ``.`` for a face-down card, the card being played in brackets. The
expected numbers are worked out by hand from the rules; where a test computes them, it does so in
another way than the judge.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from math import prod

import pytest

from tests.spiral_reference_scorer import (
    CENTRE,
    DECK,
    RANKS,
    SPIRAL,
    Board,
    Cell,
    Deal,
    Parts,
    ReferenceScore,
    SpiralReferenceGame,
    non_dealer,
    score_at_end,
    score_line_at_end,
    score_play,
)

NOTHING = Parts(0, 0, 0, 0)


def parse(picture: str) -> tuple[dict[Cell, str], Cell, str]:
    """Read a drawn board: the face-up cards, the cell played into, the card played."""
    board: dict[Cell, str] = {}
    plays: list[tuple[Cell, str]] = []
    for row, line in enumerate(picture.strip().splitlines()):
        for column, word in enumerate(line.split()):
            if word.startswith("["):
                plays.append(((row, column), word.strip("[]")))
            elif word != ".":
                board[row, column] = word
    assert len(plays) == 1, "one card in brackets"
    return board, *plays[0]


def score(picture: str, fifteens: bool = False) -> ReferenceScore:
    """Judge a drawn play."""
    return score_play(*parse(picture), fifteens)


def line_parts(line: str, fifteens: bool = False) -> Parts:
    """Judge a play into a drawn line, which counts the same as a row, as a column, and reversed."""
    assert len(line.split()) == 5
    backwards = " ".join(reversed(line.split()))
    judged = {
        score(".\n.\n.\n" + line, fifteens).row,
        score(backwards, fifteens).row,
        score("\n".join(". " + word for word in line.split()), fifteens).column,
        score("\n".join(backwards.split()), fifteens).column,
    }
    assert len(judged) == 1
    # The line that crosses it holds the played card alone.
    assert score(line, fifteens).column == NOTHING
    assert score("\n".join(line.split()), fifteens).row == NOTHING
    return judged.pop()


# --- The pack and the spiral --------------------------------------------------------------------


def test_pack() -> None:
    assert len(DECK) == len(set(DECK)) == 52
    assert {"AS", "9H", "TD", "KC", "QS", "JD"} <= set(DECK)
    assert Counter(card[1] for card in DECK) == {"S": 13, "H": 13, "C": 13, "D": 13}


def test_spiral_starts_right_of_the_centre_and_turns_clockwise() -> None:
    right, down, left, up = (0, 1), (1, 0), (0, -1), (-1, 0)
    legs = [(right, 1), (down, 1), (left, 2), (up, 2), (right, 3), (down, 3), (left, 4), (up, 4), (right, 4)]
    row, column = CENTRE
    walked = []
    for step, length in legs:
        for _ in range(length):
            row, column = row + step[0], column + step[1]
            walked.append((row, column))
    assert list(SPIRAL) == walked
    assert walked[-1] == (0, 4)


def test_spiral_is_the_one_drawn_in_the_rules() -> None:
    drawn = """
        20 21 22 23 24
        19  6  7  8  9
        18  5  0  1 10
        17  4  3  2 11
        16 15 14 13 12
        """
    order = {
        int(number): (row, column)
        for row, numbers in enumerate(drawn.split("\n")[1:6])
        for column, number in enumerate(numbers.split())
    }
    assert [order[number] for number in range(25)] == [CENTRE, *SPIRAL]


# --- 2.3 Kinds ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "kinds"),
    [
        ("7S [7H] . . .", 2),
        ("7S . . . [7H]", 2),  # not touching
        ("7S KD [7H] . .", 2),
        ("7S 7D [7H] . .", 6),
        (". 7S KD [7H] 7C", 6),
        ("TS . TD . [TC]", 6),
        ("7S 7D 7C [7H] .", 12),
        ("7S KD 7D [7H] 7C", 12),
        ("[7H] . 7S 7D 7C", 12),
        ("7S 7D 7C [KH] .", 0),  # kinds of another rank
        ("7S KD 7D [KH] 7C", 2),
        ("7S 7D KC KS [7H]", 6),  # nothing for the Kings
        ("JS QD KC [TH] .", 0),  # worth the same towards fifteen, but of other ranks
        ("[AS] KD . . .", 0),
        ("[7H] . . . .", 0),
    ],
)
def test_kinds(line: str, kinds: int) -> None:
    assert line_parts(line).kinds == kinds


# --- 2.3 Runs -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "runs"),
    [
        # three, four, five
        ("[AS] 2H 3C . .", 3),
        ("AS [2H] 3C . .", 3),
        ("AS 2H [3C] . .", 3),
        ("9C TS JH [QD] .", 4),
        ("AS 2H 3C 4D [5S]", 5),
        ("9C TS [JH] QD KC", 5),
        # in any order
        ("[6H] 7C 5S . .", 3),
        ("9C 8S TS [7H] .", 4),
        ("5S 3H 4D 2C [AS]", 5),
        ("[JS] KH 9H QD TC", 5),
        # with gaps in the line, or other cards
        ("5S . 6H . [7C]", 3),
        ("7C . . 5S [6H]", 3),
        ("5S KD 6H KC [7C]", 3),
        ("[JS] KH . QD TC", 4),
        # too short
        ("5S [6H] . . .", 0),
        ("5S 6H . . [8C]", 0),
        ("5S [6H] 8C 9D .", 0),
        ("[5H] . . . .", 0),
        # the Ace is low only
        ("QS KH [AD] . .", 0),
        ("[QS] KH AD . .", 0),
        ("JS QS KH TC [AD]", 0),
        ("KS AH [2D] . .", 0),
        ("AS 2H KC QD [JS]", 3),  # J Q K
        ("KS QH 3C 2D [AS]", 3),  # A 2 3
        # a run that does not hold the played rank
        ("5S 6H 7D . [KC]", 0),
        ("5S 6H 7D [9C] .", 0),
        ("5S 6H 7D 2C [2H]", 0),
        ("[AS] QS 5S 7H 6H", 0),
        # ranks beyond the run do not lengthen it
        ("5S 6H [7D] 9C TS", 3),
        ("5S 6H 8D 9C [7S]", 5),  # this one joins them
    ],
)
def test_runs(line: str, runs: int) -> None:
    assert line_parts(line).runs == runs


@pytest.mark.parametrize(
    ("line", "kinds", "runs"),
    [
        ("AS 2H 2C [3D] KC", 0, 6),  # 3 x (1 . 2 . 1)
        ("5S 6H 7D [7C] 8S", 2, 8),  # 4 x 2
        ("5S 6H 7D 5C [8S]", 0, 8),
        ("7S 8H 9D 9C [9S]", 6, 9),  # 3 x 3
        ("9S 9H 9D [TC] JS", 0, 9),
        ("9S 9H 9D TC [JS]", 0, 9),
        # double-double runs, 3 x 2 x 2
        ("6S 7H 7D 8C [8S]", 2, 12),
        ("6S 7H 7D 8C [6C]", 2, 12),
        ("[6S] 7H 7D 8C 8S", 0, 12),
        ("TS JH [JD] QC TC", 2, 12),
        # copies outside the run do not multiply it
        ("KS 6H 7D KC [5D]", 0, 3),
        ("5S 6H 7D KC [KD]", 2, 0),
    ],
)
def test_runs_multiply(line: str, kinds: int, runs: int) -> None:
    assert line_parts(line) == Parts(kinds, runs, 0, 0)


@pytest.mark.parametrize(
    ("line", "kinds", "runs"),
    [
        ("8C 7C 8H [8D] 6H", 6, 9),  # "prial 6 + three runs 9"
        ("[8C] 7C 8H 8D 6H", 6, 9),
        ("8C 7C 8H 6H [8D]", 6, 9),
        ("8C [7C] 8H 8D 6H", 0, 9),  # the run is worth as much to the 7, but the 8s are not its kind
        ("8C 7C [8H] . 6H", 2, 6),
        ("8C 7C 8H [8D] .", 6, 0),
    ],
)
def test_R12_copies_of_the_played_rank_multiply(line: str, kinds: int, runs: int) -> None:
    assert line_parts(line) == Parts(kinds, runs, 0, 0)


# --- 2.3 Flush ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "flush"),
    [
        # the played card at an end, or inside
        ("[2S] 9S KS . .", 3),
        ("2S [9S] KS . .", 3),
        ("2S 9S [KS] . .", 3),
        (". . [2H] 9H KH", 3),
        ("2C 9C KC [5C] .", 4),
        ("2C [9C] KC 5C .", 4),
        ("2D 9D KD 5D [7D]", 5),
        ("2D 9D [KD] 5D 7D", 5),
        # too short
        ("2S [9S] . . .", 0),
        ("[2S] . . . .", 0),
        # broken by an empty cell
        ("2S 9S . [KS] .", 0),
        ("2S 9S . KS [5S]", 0),
        ("2S . 9S KS [5S]", 3),
        ("2S 9S KS . [5S]", 0),
        # broken by another suit
        ("2S 9S KH [5S] .", 0),
        ("2S 9S KH 7S [5S]", 0),
        ("2S KH 9S [7S] 5S", 3),
        ("2S 9S KS 5H [7S]", 0),
        ("2S 9S KS 5S [7H]", 0),
        ("2S 9S KS [5H] 7H", 0),
        # suits of one colour are two suits
        ("2H 9D [KH] . .", 0),
        ("2S 9C KS 5C [7S]", 0),
    ],
)
def test_flush(line: str, flush: int) -> None:
    assert line_parts(line) == Parts(0, 0, flush, 0)


def test_parts_of_one_line_add_up() -> None:
    assert line_parts("3S 4S [5S] . .") == Parts(0, 3, 3, 0)
    assert line_parts("[4H] 5H 6H 7H 8H") == Parts(0, 5, 5, 0)
    assert line_parts("4S 5S [6S] 6H 6D") == Parts(6, 9, 3, 0)
    assert line_parts("4S 5S 6S [6H] 6D") == Parts(6, 9, 0, 0)
    assert line_parts("4S 5S 6S [6H] 6D", fifteens=True) == Parts(6, 9, 0, 2)  # 6H 5S 4S
    assert Parts(6, 9, 3, 4).points == 22


# --- 2.3 Fifteens -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "fifteens"),
    [
        ("7S [8H] . . .", 2),
        ("8H . . . [7S]", 2),
        # the court cards are ten, the Ace is one
        ("[5S] TH . . .", 2),
        ("[5S] JH . . .", 2),
        ("[5S] QH . . .", 2),
        ("KH [5S] . . .", 2),
        ("[JS] 4H . . .", 0),
        ("QS [3H] . . .", 0),
        ("[KS] 2H . . .", 0),
        ("[AS] 4H . . .", 0),
        ("AS [KH] 4C . .", 2),
        ("AS [KH] 3C . .", 0),
        # several sets
        ("[5S] KH QD JC TS", 8),
        ("[KH] 5S 5D . .", 4),
        ("AS 4H [TD] . 5C", 4),  # 10 5, 10 4 A
        ("6S 6H [9D] . 3C", 4),  # 9 6, 9 6
        ("2S 6H [7D] 8H .", 4),  # 7 8, 7 6 2
        # sets of three, four, five
        ("5S 5D [5C] . .", 2),
        ("5S 5D [5C] KH .", 4),  # 5 5 5, 5 K
        ("6S 6H [3D] 9C .", 2),  # 6 6 3
        ("2S 3H [4D] 6C .", 2),
        ("AS 2H 3D 4C [5S]", 2),
        # sets without the played card
        ("7S 8H [KC] . .", 0),
        ("7S 8H [8C] . .", 2),
        ("7S 8H 7D [2C] 8C", 0),
        ("[8H] . . . .", 0),
    ],
)
def test_fifteens(line: str, fifteens: int) -> None:
    assert line_parts(line, fifteens=True).fifteens == fifteens
    assert line_parts(line, fifteens=False).fifteens == 0


# --- 2.3 Row and column -------------------------------------------------------------------------


def test_row_and_column_both_score() -> None:
    assert score(". 7H\n7S [7C] 7D\n. 9H") == ReferenceScore(row=Parts(kinds=6), column=Parts(kinds=2))
    both = score(". . 4H\n. . 5D\n2S 9S [6S]\n. . 7C")
    assert both == ReferenceScore(row=Parts(flush=3), column=Parts(runs=4))
    assert both.points == 7
    flushes = score("[2S] 9S KS\n4S . .\n8S . .\nQS . .")
    assert flushes == ReferenceScore(row=Parts(flush=3), column=Parts(flush=4))
    assert flushes.points == 7


def test_kinds_and_runs_stay_within_a_line() -> None:
    assert score("6H\n[7C] 8S") == ReferenceScore(NOTHING, NOTHING)
    assert score(". 2S\n9S [KS]") == ReferenceScore(NOTHING, NOTHING)
    assert score("7H\n[7C] 7S").points == 4  # two pairs, not a prial


def test_fifteens_in_row_and_column() -> None:
    picture = ". 8H\n7D [7C]"
    assert score(picture, fifteens=True) == ReferenceScore(row=Parts(kinds=2), column=Parts(fifteens=2))
    assert score(picture).points == 2
    assert score(". 8H\n8D [7C]", fifteens=True).points == 4
    assert score("8H .\n7D [AC]", fifteens=True).points == 0


def test_cards_elsewhere_do_not_matter() -> None:
    assert score("7H 6H 7S\n. . .\n7D . [8S]\n. . .\n6S . 9D", fifteens=True).row == Parts(fifteens=2)
    assert score("7H . 7S\n. [7C] .\n7D . 8S", fifteens=True).points == 0


@pytest.mark.parametrize(
    ("board", "cell", "card", "message"),
    [
        ({}, (2, 2), "10S", "unknown cards"),
        ({(0, 0): "SA"}, (2, 2), "AS", "unknown cards"),
        ({(0, 0): "AS"}, (2, 2), "AS", "twice"),
        ({(0, 0): "AS"}, (0, 0), "2S", "no card can go"),
        ({}, (2, 5), "2S", "no card can go"),
    ],
)
def test_impossible_plays_are_refused(board: Board, cell: Cell, card: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        score_play(board, cell, card)


# --- 2.4 Scoring at the end ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("2S 7H 9C JD KS", Parts(0, 0, 0, 0)),
        # kinds
        ("7S 2H 4C KD 7D", Parts(kinds=2)),
        ("7S 7H QC KD 7D", Parts(kinds=6)),
        ("9S 9H 9C 9D 2S", Parts(kinds=12)),
        ("9S 2H 9C 9D 9H", Parts(kinds=12)),
        ("7S 7H KC KD 9S", Parts(kinds=4)),  # both pairs
        ("7S 7H 8C 8D KS", Parts(kinds=4, fifteens=8)),
        ("7S 7H 7C 8D 8S", Parts(kinds=8, fifteens=12)),  # full house; 7 8 six times
        ("5S 5H 5D 5C JS", Parts(kinds=12, fifteens=16)),  # J 5 four times, 5 5 5 four times
        # runs
        ("AS 2H 3D 4C 5S", Parts(runs=5, fifteens=2)),
        ("3C 9C 8S TS 7H", Parts(runs=4, fifteens=2)),
        ("AS 2H QC KD JS", Parts(runs=3)),
        ("QS KH AD 2C 3S", Parts(runs=3, fifteens=4)),  # A 2 3; Q 3 2 and K 3 2
        ("QS KH AD 4C 2S", Parts(fifteens=4)),  # Q 4 A and K 4 A; no run over the King
        ("8C 7C 8H 8D 6H", Parts(kinds=6, runs=9, fifteens=6)),
        ("6S 7H 7D 8C 8S", Parts(kinds=4, runs=12, fifteens=8)),
        ("9C JH 8D TS JS", Parts(kinds=2, runs=8)),
        ("4S KH 3D KC 2S", Parts(kinds=2, runs=3, fifteens=4)),  # the Kings are outside the run; K 3 2 twice
        # flushes
        ("2S 9S KS 5H 7H", Parts(flush=3, fifteens=2)),
        ("2S 9H KH 5H 7S", Parts(flush=3, fifteens=2)),
        ("2S 9S KH 5H 7H", Parts(flush=3, fifteens=2)),
        ("2S 9H KH 5H 7H", Parts(flush=4, fifteens=2)),
        ("2S 9S KS 5S 7S", Parts(flush=5, fifteens=2)),
        ("2S 9S KH 5S 7S", Parts(flush=0, fifteens=2)),  # four, but not touching
        ("5S 6S 7S 8S 9S", Parts(runs=5, flush=5, fifteens=4)),
    ],
)
def test_lines_at_the_end(line: str, expected: Parts) -> None:
    cards = line.split()
    assert score_line_at_end(cards, fifteens=True) == expected
    assert score_line_at_end(cards[::-1], fifteens=True) == expected
    assert score_line_at_end(cards) == Parts(expected.kinds, expected.runs, expected.flush, 0)


def test_impossible_lines_and_grids_are_refused() -> None:
    with pytest.raises(ValueError, match="five cards"):
        score_line_at_end(["AS", "2S", "3S", "4S"])
    with pytest.raises(ValueError, match="twice"):
        score_line_at_end(["AS", "2S", "3S", "4S", "AS"])
    with pytest.raises(ValueError, match="not full"):
        score_at_end({CENTRE: "AS"})
    # Twice in the grid, though not in one line.
    full = dict(zip([CENTRE, *SPIRAL], DECK[:25], strict=True))
    with pytest.raises(ValueError, match="twice"):
        score_at_end({**full, (4, 4): full[0, 0]})


# --- The worked deal (2.6) ----------------------------------------------------------------------

STARTER = "JS"
ANNIE = ["3S", "8S", "QS", "2H", "7H", "JH", "AC", "3C", "5C", "7C", "4D", "8D", "JD"]
BENNY = ["AS", "5S", "7S", "TS", "4H", "6H", "8H", "TH", "8C", "9C", "KC", "6D", "QD"]
WORKED_GRID = """
    6D 2H 7S AC AS
    5C TH 3S QD QS
    KC JD JS JH 5S
    3C 9C 8S TS 7H
    8C 7C 8H 8D 6H
    """
#: Card, points, and the points that fifteens would add.
WORKED_PLAYS = [
    ("JH", 2, 0),
    ("TS", 0, 0),
    ("8S", 0, 0),
    ("9C", 3, 0),
    ("JD", 6, 0),
    ("TH", 3, 0),
    ("3S", 3, 0),
    ("QD", 3, 0),
    ("QS", 2, 0),
    ("5S", 0, 8),  # three Jacks in the row, a Queen in the column
    ("7H", 4, 2),
    ("6H", 3, 0),
    ("8D", 0, 0),
    ("8H", 4, 0),
    ("7C", 6, 4),
    ("8C", 15, 2),
    ("3C", 0, 0),
    ("KC", 3, 2),
    ("5C", 4, 8),  # 10 Q Q in the row, K in the column
    ("6D", 0, 0),
    ("2H", 0, 0),
    ("7S", 4, 6),  # 7 6 2 in the row, two 8s in the column
    ("AC", 0, 0),
    ("AS", 5, 2),  # A 7 6 A
]


def worked_deal(first: int = 0, renamed: int = 0) -> Deal:
    """The worked deal with Annie in seat ``first``; ``renamed`` passes the suits on, S H C D S, so often."""
    suits = "SHCD" * 2

    def other(card: str) -> str:
        return card[0] + suits[suits.index(card[1]) + renamed]

    annie, benny = [other(card) for card in ANNIE], [other(card) for card in BENNY]
    return Deal(other(STARTER), (annie, benny) if first == 0 else (benny, annie))


def test_worked_deal_is_what_the_rules_print() -> None:
    grid = [line.split() for line in WORKED_GRID.strip().splitlines()]
    assert [grid[row][column] for row, column in SPIRAL] == [card for card, _, _ in WORKED_PLAYS]
    assert grid[2][2] == STARTER
    assert {card for card, _, _ in WORKED_PLAYS[::2]} == set(ANNIE) - {"4D"}
    assert {card for card, _, _ in WORKED_PLAYS[1::2]} == set(BENNY) - {"4H"}


def test_worked_deal() -> None:
    referee = SpiralReferenceGame([worked_deal()], 1)
    for count, (card, points, _) in enumerate(WORKED_PLAYS):
        assert (referee.played, referee.cell) == (count, SPIRAL[count])
        assert referee.mover == count % 2
        assert len(referee.legal) == 13 - count // 2
        assert card in referee.legal
        assert not referee.over
        assert referee.play(card) == ((points, 0) if count % 2 == 0 else (0, points))
        assert referee.last is not None
        assert referee.last.points == points
        assert referee.last_end is None
    assert referee.over
    assert referee.scores == [27, 43]
    assert referee.totals == [27, 43]
    assert referee.hands == ({"4D"}, {"4H"})  # unused, and they cost nothing
    assert referee.legal == set()


def test_worked_deal_with_fifteens() -> None:
    referee = SpiralReferenceGame([worked_deal()], 1, fifteens=True)
    for card, points, more in WORKED_PLAYS:
        assert sum(referee.play(card)) == points + more
    assert referee.totals == [27 + 14, 43 + 20]


def test_worked_deal_scored_at_the_end() -> None:
    referee = SpiralReferenceGame([worked_deal()], 1, scoring="end")
    for card, _, _ in WORKED_PLAYS[:-1]:
        assert referee.play(card) == (0, 0)
        assert referee.totals == referee.scores == [0, 0]
    assert referee.last_end is None
    assert referee.play("AS") == (29, 22)
    assert referee.totals == referee.scores == [29, 22]
    assert referee.over
    assert referee.last is None
    assert referee.last_end is not None
    assert referee.last_end.rows == (
        Parts(kinds=2),
        Parts(kinds=2),
        Parts(kinds=6),
        Parts(runs=4),
        Parts(kinds=6, runs=9),
    )
    assert referee.last_end.columns == (
        Parts(flush=4),
        Parts(runs=3),
        Parts(kinds=2, flush=4),
        Parts(runs=3),
        Parts(runs=3, flush=3),
    )


def test_worked_deal_scored_at_the_end_with_fifteens() -> None:
    referee = SpiralReferenceGame([worked_deal()], 1, scoring="end", fifteens=True)
    gains = [referee.play(card) for card, _, _ in WORKED_PLAYS]
    assert gains[-1] == (55, 30)
    assert referee.last_end is not None
    assert [parts.fifteens for parts in referee.last_end.rows] == [4, 6, 8, 2, 6]
    assert [parts.fifteens for parts in referee.last_end.columns] == [2, 0, 4, 0, 2]


# --- 2.5 The game -------------------------------------------------------------------------------


def test_R15_seats_begin_in_turn() -> None:
    assert [non_dealer(number) for number in range(4)] == [0, 1, 0, 1]


def test_R15_four_deals() -> None:
    deals = [worked_deal(first=number % 2, renamed=number) for number in range(4)]
    referee = SpiralReferenceGame(deals, 4)
    totals = [[27, 43], [70, 70], [97, 113], [140, 140]]
    for number, first in enumerate([0, 1, 0, 1]):
        assert referee.number == number
        assert referee.dealer == 1 - first
        assert referee.board == {CENTRE: deals[number].starter}
        assert referee.scores == [0, 0]
        for count, (card, points, _) in enumerate(WORKED_PLAYS):
            assert not referee.over
            assert referee.number == number
            mover = first if count % 2 == 0 else 1 - first
            assert referee.mover == mover
            assert referee.legal <= set(deals[number].hands[mover])
            gains = referee.play(card[0] + "SHCDSHCD"["SHCD".index(card[1]) + number])
            assert gains[mover] == points
            assert gains[1 - mover] == 0
            if count == 20:
                assert referee.scores == ([27, 34] if first == 0 else [34, 27])
        assert referee.totals == totals[number]
    assert referee.over
    assert referee.number == 3
    assert referee.scores == [43, 27]


def test_R15_two_deals_scored_at_the_end() -> None:
    referee = SpiralReferenceGame([worked_deal(0), worked_deal(1)], 2, scoring="end")
    for count, (card, _, _) in enumerate(WORKED_PLAYS * 2):
        gains = referee.play(card)
        if count == 23:
            assert gains == (29, 22)
            assert not referee.over
        elif count == 47:
            assert gains == (22, 29)  # seat 0 has dealt this time
        else:
            assert gains == (0, 0)
    assert referee.totals == [51, 51]
    assert referee.over


def test_deals_are_taken_when_they_are_needed() -> None:
    taken = []

    def one_by_one() -> Iterator[Deal]:
        for number in range(2):
            taken.append(number)
            yield worked_deal(number)

    referee = SpiralReferenceGame(one_by_one(), 2)
    for card, _, _ in WORKED_PLAYS:
        assert taken == [0]
        referee.play(card)
    assert taken == [0, 1]


def test_cards_that_are_not_in_the_hand_are_refused() -> None:
    referee = SpiralReferenceGame([worked_deal()], 1)
    for card in ("AS", "JS", "2S"):  # Benny's, the starter, a face-down one
        with pytest.raises(ValueError, match="not in the hand"):
            referee.play(card)
    referee.play("JH")
    referee.play("TS")
    with pytest.raises(ValueError, match="not in the hand"):
        referee.play("JH")
    assert referee.played == 2
    assert referee.totals == [2, 0]


def test_nothing_is_played_when_the_game_is_over() -> None:
    referee = SpiralReferenceGame([worked_deal()], 1)
    for card, _, _ in WORKED_PLAYS:
        referee.play(card)
    with pytest.raises(ValueError, match="over"):
        referee.play("4D")
    with pytest.raises(ValueError, match="over"):
        _ = referee.mover
    with pytest.raises(ValueError, match="over"):
        _ = referee.cell


def test_impossible_games_are_refused() -> None:
    for count in (0, 3, 5):
        with pytest.raises(ValueError, match="one, two or four"):
            SpiralReferenceGame([worked_deal()] * 5, count)
    with pytest.raises(ValueError, match="unknown scoring"):
        SpiralReferenceGame([worked_deal()], 1, scoring="never")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no cards for deal 0"):
        SpiralReferenceGame([], 1)
    with pytest.raises(ValueError, match="thirteen"):
        SpiralReferenceGame([Deal(STARTER, (ANNIE, BENNY[1:]))], 1)
    with pytest.raises(ValueError, match="twice"):
        SpiralReferenceGame([Deal("AS", (ANNIE, BENNY))], 1)


# --- The whole, on random deals -----------------------------------------------------------------


def counted(line: list[str | None], place: int) -> tuple[int, int, int]:
    """Kinds, runs and flush of a play, counted rank by rank and group by group."""
    played = line[place]
    assert played is not None
    counts = Counter(card[0] for card in line if card)
    low = high = RANKS.index(played[0])
    while low > 0 and counts[RANKS[low - 1]]:
        low -= 1
    while high < 12 and counts[RANKS[high + 1]]:
        high += 1
    span = RANKS[low : high + 1]
    groups = [list(group) for _, group in groupby(enumerate(line), key=lambda item: item[1] and item[1][1])]
    touching = next(len(group) for group in groups if (place, played) in group)
    return (
        (0, 0, 2, 6, 12)[counts[played[0]]],
        len(span) * prod(counts[rank] for rank in span) if len(span) >= 3 else 0,
        touching if touching >= 3 else 0,
    )


def test_random_deals_agree_with_another_way_of_counting() -> None:
    rng = random.Random(25)
    seen: Counter[str] = Counter()
    for number in range(40):
        # Half of the deals use 27 cards of the lowest seven ranks, so that kinds and runs are frequent.
        cards = [card for card in DECK if number % 2 or card[0] in RANKS[:7]]
        rng.shuffle(cards)
        referee = SpiralReferenceGame([Deal(cards[0], (cards[1:14], cards[14:27]))], 1, fifteens=True)
        while not referee.over:
            row, column = referee.cell
            referee.play(rng.choice(sorted(referee.legal)))
            assert referee.last is not None
            lines = (
                ([referee.board.get((row, place)) for place in range(5)], column, referee.last.row),
                ([referee.board.get((place, column)) for place in range(5)], row, referee.last.column),
            )
            for line, place, parts in lines:
                assert (parts.kinds, parts.runs, parts.flush) == counted(line, place)
                seen.update({"kinds": parts.kinds, "runs": parts.runs, "flush": parts.flush})
                if None not in line:
                    # The last card of a line: its fifteens are those the line had not had without it.
                    full = [card for card in line if card]
                    assert parts.fifteens == fifteens_among(full) - fifteens_among(full[:place] + full[place + 1 :])
                    assert score_line_at_end(full, fifteens=True).fifteens == fifteens_among(full)
    assert min(seen["kinds"], seen["runs"], seen["flush"]) > 0


def fifteens_among(cards: list[str]) -> int:
    """Two for each set that sums to 15, counted by the sums that can be reached card by card."""
    ways = Counter({0: 1})
    for card in cards:
        value = min(RANKS.index(card[0]) + 1, 10)
        ways += Counter({total + value: number for total, number in ways.items()})
    return 2 * ways[15]
