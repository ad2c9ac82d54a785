"""Tests of the independent judge (:mod:`tests.reference_scorer`) alone, on hand-made boards from the rules.

Boards are drawn: one line per row, ``.`` for an empty cell, the card being played in brackets.
Tests named after a ruling (``test_R4_...``) check what that ruling decides.
"""

from __future__ import annotations

import random
from itertools import combinations, permutations

import pytest

from tests.reference_scorer import (
    ACES,
    BASIC_DECK,
    CROWNS,
    EVENTS,
    EXTENDED_DECK,
    NUMBERS,
    PAWNS,
    Cell,
    Placement,
    ReferenceScore,
    events,
    legal_cells,
    penalty,
    rating,
    score_play,
    simpleton,
)


def parse(picture: str) -> tuple[dict[Cell, str], Cell, str]:
    """Read a drawn board: the cards lying there, the cell played into, the card played."""
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


def score(picture: str, *, solitaire: bool = False, pawns: bool = False, flush: bool = False) -> ReferenceScore:
    """Judge a drawn play."""
    board, cell, card = parse(picture)
    return score_play(board, cell, card, solitaire=solitaire, pawns=pawns, flush=flush)


def rare(picture: str, *, solitaire: bool = False, pawns: bool = False, flush: bool = False) -> set[str]:
    """The events of a drawn play."""
    board, cell, card = parse(picture)
    return set(events(board, cell, card, solitaire=solitaire, pawns=pawns, flush=flush))


# --- 1.1 The cards ------------------------------------------------------------------------------


def test_deck_has_every_suit_once_on_each_rank() -> None:
    assert len(BASIC_DECK) == 36
    assert len(set(EXTENDED_DECK)) == 41
    for rank in "A23456789C":
        suits = "".join(card[1:] for card in BASIC_DECK if card[0] == rank)
        assert sorted(suits) == sorted("MSVLYK"), rank
    for suit in "MSVLYK":
        assert sum(int(card[0]) for card in NUMBERS if suit in card) == 44
    for card in EXTENDED_DECK[:-1]:
        assert card[1:] == "".join(suit for suit in "MSVLYK" if suit in card[1:])


# --- 1.4, step 1: basic -------------------------------------------------------------------------

BASIC_TABLE = [
    # sum 2: two Aces never share a suit; Pawns do with each other and with some Aces
    ("AM", "AS", -2, 0),
    ("AM", "PMSL", 2, 0),
    ("AM", "PVLY", -2, 0),
    ("PMSL", "PVLY", 2, 0),
    ("PSVK", "PMYK", 2, 0),
    # sum 3
    ("AM", "2MK", 3, 0),
    ("AS", "2MK", -3, 0),
    ("PMYK", "2MK", 3, 0),
    ("PVLY", "2MK", -3, 0),
    # in between, without Ace or Pawn: a shared suit does not help
    ("2MK", "2SY", -4, 0),
    ("2MK", "3MV", -5, 0),
    ("4YK", "2VL", -6, 0),
    ("3MV", "4VL", -7, 0),
    # sum 9, the last of its line
    ("AM", "8MS", 9, 0),
    ("AM", "8VL", -9, 0),
    ("PVLY", "8VL", 9, 0),
    ("PSVK", "8MS", 9, 0),
    ("PMSL", "8YK", -9, 0),
    ("4MS", "5SV", -9, 0),
    ("2MK", "7VY", -9, 0),
    # sum 10: nothing, shared suit or not
    ("AM", "9MS", 0, 0),
    ("AM", "9LK", 0, 0),
    ("PVLY", "9VY", 0, 0),
    ("4MS", "6SY", 0, 0),
    ("2MK", "8VL", 0, 0),
    ("5SV", "5ML", 0, 0),
    # sum 11: a draw
    ("AM", "CS", 0, 1),
    ("AM", "CM", 0, 1),
    ("PVLY", "CV", 0, 1),
    ("PVLY", "CM", 0, 1),
    ("2MK", "9MS", 0, 1),
    ("5SV", "6SY", 0, 1),
    # sums 12 to 19: the excess over 10
    ("2MK", "CM", 2, 0),
    ("6MV", "6LK", 2, 0),
    ("6MV", "7SK", 3, 0),
    ("7SK", "7VY", 4, 0),
    ("6MV", "9VY", 5, 0),
    ("8YK", "8MS", 6, 0),
    ("8YK", "9LK", 7, 0),
    ("9VY", "9LK", 8, 0),
    ("8MS", "CM", 8, 0),
    ("9MS", "CM", 9, 0),
    # sum 20: a draw
    ("CM", "CS", 0, 1),
    # the Excuse
    ("X", "CM", 0, 0),
    ("X", "AM", 0, 0),
    ("X", "2MK", 0, 0),
]


@pytest.mark.parametrize(("one", "other", "points", "draws"), BASIC_TABLE)
def test_basic_table(one: str, other: str, points: int, draws: int) -> None:
    for played, lying in ((one, other), (other, one)):
        for neighbour in ((1, 2), (2, 1), (2, 3), (3, 2)):
            judged = score_play({neighbour: lying}, (2, 2), played, solitaire=False, pawns=True, flush=False)
            assert judged.basic == ({neighbour: points} if points else {})
            assert judged.draws == ((neighbour,) if draws else ())
            assert judged.draw_count == draws


def test_basic_over_all_pairs_of_cards() -> None:
    """Counted by hand from the table: how often each effect occurs in the basic deck."""
    draws = positive = 0
    shared_aces = 0
    for one, other in combinations(BASIC_DECK, 2):
        judged = score_play({(0, 1): other}, (0, 0), one, solitaire=False, pawns=False, flush=False)
        draws += judged.draw_count
        total = judged.basic.get((0, 1), 0)
        positive += total > 0
        shared_aces += total > 0 and "A" in one[0] + other[0]
    # 11: Ace and Crown 6x6; 2+9, 3+8, 4+7, 5+6 each 3x3; 20: two of six Crowns.
    assert draws == 36 + 4 * 9 + 15
    # Every Ace shares its suit with one card on each of 2 to 8 (9 gives 10, the Crown 11).
    assert shared_aces == 6 * 7
    # 12 and more, up to 19: number with number, then Crown with 2 to 9.
    numbers = sum(12 <= int(one[0]) + int(other[0]) <= 19 for one, other in combinations(NUMBERS, 2))
    assert positive == shared_aces + numbers + 6 * 24


def test_basic_adds_up_over_all_neighbours_draws_too() -> None:
    judged = score(
        """
        .   2MK .
        AS [9MS] 8YK
        .   CK  .
        """
    )
    assert judged.draws == ((0, 1),)
    assert judged.basic == {(1, 2): 7, (2, 1): 9}
    assert judged.points == 16


def test_basic_does_not_look_diagonally() -> None:
    judged = score(
        """
        CS  .   2SY
        .  [CM] .
        8YK .   7SK
        """
    )
    assert judged == ReferenceScore({}, (), (), (), (), 0, 0, False, (), ())
    assert judged.points == 0


def test_R2_the_new_card_is_part_of_the_grid() -> None:
    """Runs and boxes are read on the grid including the card played; the board stays as it was."""
    board, cell, card = parse("3MV [4VL] 5SV")
    before = dict(board)
    judged = score_play(board, cell, card, solitaire=False, pawns=False, flush=False)
    assert judged.straights == ("row",)
    assert board == before


def test_R2_draws_do_not_change_the_points() -> None:
    judged = score("2MK [9MS] 8MS")
    assert (judged.points, judged.draw_count) == (7, 1)


def test_R13_a_side_at_the_edge_or_an_empty_cell_contributes_nothing() -> None:
    """A card at the edge still scores its other sides."""
    corner = score("[9MS] 8YK")
    middle = score(
        """
        . .    .
        . [9MS] 8YK
        . .    .
        """
    )
    assert corner.points == middle.points == 7
    assert corner.basic == {(0, 1): 7}
    assert score("[9MS]").points == 0


# --- 1.4, step 2: three of a kind ---------------------------------------------------------------


@pytest.mark.parametrize(
    "picture",
    ["[5SV] 5ML 5YK", "5ML [5SV] 5YK", "5ML 5YK [5SV]", "9LK 5ML [5SV] 5YK AM"],
)
def test_three_of_a_kind_at_the_end_or_inside(picture: str) -> None:
    judged = score(picture)
    assert judged.threes == ("row",)
    assert judged.straights == ()
    assert judged.pairs == ()


def test_three_of_a_kind_points() -> None:
    judged = score("7VY [7SK] 7ML")
    assert judged.points == 30 + 4 + 4


def test_more_than_three_of_a_kind_are_one() -> None:
    judged = score("CS CV [CM] CL CY")
    assert judged.threes == ("row",)
    assert judged.points == 30
    assert judged.draw_count == 2


@pytest.mark.parametrize(
    ("line", "picture"),
    [
        ("row", "7VY [7SK] 7ML"),
        ("column", "7VY\n[7SK]\n7ML"),
        ("falling", "7VY . .\n. [7SK] .\n. . 7ML"),
        ("rising", ". . 7VY\n. [7SK] .\n7ML . ."),
    ],
)
def test_three_of_a_kind_in_each_line(line: str, picture: str) -> None:
    assert score(picture).threes == (line,)
    straight = picture.replace("7VY", "6MV").replace("7ML", "8YK")
    assert score(straight).threes == ()
    assert score(straight).straights == (line,)


def test_three_of_a_kind_must_be_unbroken() -> None:
    assert score("7VY [7SK] . 7ML").threes == ()
    assert score("7VY [7SK] X 7ML").threes == ()
    assert score("7VY [7SK] 8YK 7ML").threes == ()
    assert score("7VY 7ML . [7SK]").threes == ()


def test_three_of_a_kind_must_hold_the_card() -> None:
    assert score("7VY 7ML 7SK [8YK]").threes == ()


def test_three_of_a_kind_in_two_lines() -> None:
    judged = score(
        """
        .   CS  .
        CV [CM] CL
        .   CY  .
        """
    )
    assert judged.threes == ("row", "column")
    assert judged.pairs == ()
    assert (judged.points, judged.draw_count) == (60, 4)


# --- 1.4, step 3: straight ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "picture",
    [
        "[3MV] 4YK 5ML",
        "3MV [4YK] 5ML",
        "3MV 4YK [5ML]",
        "5ML 4YK [3MV]",
        "[5ML] 4YK 3MV",
        "2MK 3MV [4YK] 5ML",
        "2MK 3MV [4YK] 5ML 6LK",
        "AM 2MK [3MV]",
        "[AM] 2MK 3MV",
        "8YK 9LK [CM]",
        "CM [9LK] 8YK",
    ],
)
def test_straight(picture: str) -> None:
    judged = score(picture)
    assert judged.straights == ("row",)
    assert judged.threes == ()


def test_straight_of_five_is_one_straight() -> None:
    judged = score("5SV 6LK [7VY] 8MS 9MS")
    assert judged.points == 20 + 3 + 5


@pytest.mark.parametrize(
    "picture",
    [
        "3MV [4YK]",  # two
        "3MV [4YK] . 5ML",  # a gap
        "3MV [4YK] X 5ML",  # the Excuse
        "3MV [5ML] 4YK",  # not in order
        "4YK [3MV] 5ML",
        "3MV 4YK 5ML [7VY]",  # the card is no part of it
        "3MV 4YK 5ML [AM]",
        "3MV [5ML] 7VY",  # steps of two
        "9LK CM [AM]",  # no wrap-around
        "CM [AM] 2MK",
        "[CM] AM 2MK",
        "3MV [4YK] 3SK",  # up and down again
    ],
)
def test_no_straight(picture: str) -> None:
    assert score(picture).straights == ()


def test_straights_in_four_lines() -> None:
    judged = score(
        """
        4YK 4MS 4VL
        6MV [5SV] 4YK
        6MV 6LK 6SY
        """
    )
    # The row runs 6 5 4, the column 4 5 6, falling 4 5 6, rising 6 5 4.
    assert judged.straights == ("row", "column", "falling", "rising")
    # 5+4 above and right -9 each; 5+6 left and below a draw each.
    assert (judged.points, judged.draw_count) == (80 - 18, 2)


# --- R4 -----------------------------------------------------------------------------------------


def test_R4_straight_and_three_share_a_line() -> None:
    """3 4 5 5 5: one bonus per line, the higher."""
    judged = score("3MV 4YK [5SV] 5ML 5YK")
    assert judged.threes == ("row",)
    assert judged.straights == ()
    assert judged.pairs == ()
    assert judged.basic == {(0, 1): -9}
    assert judged.points == 30 - 9
    mirrored = score("5ML 5YK [5SV] 4YK 3MV")
    assert (mirrored.threes, mirrored.straights, mirrored.points) == (("row",), (), 21)


def test_R4_only_what_the_card_belongs_to_is_compared() -> None:
    at_the_low_end = score("[3MV] 4YK 5SV 5ML 5YK")
    assert (at_the_low_end.threes, at_the_low_end.straights) == ((), ("row",))
    at_the_high_end = score("3MV 4YK 5ML 5YK [5SV]")
    assert (at_the_high_end.threes, at_the_high_end.straights) == (("row",), ())


def test_R4_two_straights_meeting_in_one_line_count_once() -> None:
    """3 4 5 4 3, and the same upside down."""
    judged = score("3MV 4YK [5SV] 4MS 3SK")
    assert judged.straights == ("row",)
    assert judged.points == 20 - 9 - 9
    valley = score("9VY 8YK [7SK] 8MS 9MS")
    assert valley.straights == ("row",)
    assert valley.points == 20 + 5 + 5


def test_R4_different_lines_count_each() -> None:
    judged = score(
        """
        .   5ML  .
        3MV 4YK [5SV]
        .   .    5ML
        .   .    5YK
        """
    )
    assert judged.straights == ("row",)
    assert judged.threes == ("column",)
    assert judged.points == 50 - 9


# --- 1.4, step 4, and R5: pairs -----------------------------------------------------------------


def test_pair() -> None:
    judged = score("5SV [5ML]")
    assert judged.pairs == ((0, 0),)
    assert judged.points == 5
    assert score("CM [CS]").points == 5
    assert score("2MK [2SY]").points == 5 - 4


def test_two_pairs_around_a_corner() -> None:
    judged = score(
        """
        .   8VL
        8MS [8YK]
        """
    )
    assert judged.pairs == ((0, 1), (1, 0))
    assert judged.points == 10 + 6 + 6


def test_pair_is_adjacent() -> None:
    assert score("5SV . [5ML]").pairs == ()
    assert score("5SV .\n. [5ML]").pairs == ()
    assert score("AM [PMSL]", pawns=True).pairs == ()


def test_R5_pair_in_the_line_of_a_straight() -> None:
    """3 4 5 5: straight 20 and pair 5."""
    judged = score("3MV 4YK [5SV] 5ML")
    assert judged.straights == ("row",)
    assert judged.pairs == ((0, 3),)
    assert judged.points == 20 + 5 - 9


def test_R5_no_pair_with_the_cards_of_a_three() -> None:
    judged = score("CS CV [CM] CL")
    assert judged.threes == ("row",)
    assert judged.pairs == ()


def test_R5_pair_across_a_three() -> None:
    judged = score(
        """
        .  CL  .
        CS [CM] CV
        """
    )
    assert judged.threes == ("row",)
    assert judged.pairs == ((0, 1),)
    assert (judged.points, judged.draw_count) == (35, 3)


def test_R5_pair_beside_a_diagonal_three() -> None:
    picture = """
        CS  .   .
        .  [CM] CL
        .   .   CV
        """
    judged = score(picture)
    assert judged.threes == ("falling",)
    assert judged.pairs == ((1, 2),)
    assert judged.points == 35
    assert score(picture, solitaire=True).points == 5


def test_R5_a_three_without_the_card_leaves_the_pair() -> None:
    """The neighbour may lie in another three of a kind; that one is not scored by this play."""
    judged = score(
        """
        .   CS
        [CM] CV
        .   CL
        """
    )
    assert judged.threes == ()
    assert judged.pairs == ((1, 1),)


# --- 1.4, step 5: power play --------------------------------------------------------------------

ALL_MOONS = """
    2MK 3MV 4MS 5ML 6MV
    .   .   .   .   .
    CM [AM] .   .   9MS
    .   .   .   .   8MS
    .   .   .   .   7ML
    """


def test_power_play_with_all_of_a_suit() -> None:
    judged = score(ALL_MOONS)
    assert judged.power_play
    assert (judged.power, judged.power_cards) == (44, 8)
    assert (judged.points, judged.draw_count) == (44, 1)


def test_power_play_by_the_crown() -> None:
    judged = score(ALL_MOONS.replace("CM [AM]", "AM [CM]"))
    assert (judged.power, judged.power_cards, judged.points) == (44, 8, 44)


def test_power_play_sums_cards_of_the_suit_anywhere() -> None:
    judged = score(
        """
        [AK] CK . 2MK 9VY
        .    .  . .   X
        3SK  .  . .   CS
        """
    )
    # 2MK and 3SK, wherever they lie; the Excuse has no suit.
    assert judged.power_play
    assert (judged.power, judged.power_cards) == (5, 2)


def test_power_play_may_be_worth_nothing() -> None:
    judged = score("AM [CM] 9VY")
    assert judged.power_play
    assert (judged.power, judged.power_cards) == (0, 0)


@pytest.mark.parametrize(
    "picture",
    [
        "AM [CS] 2MK 4MS",  # not the same suit
        "AM . [CM] 2MK",  # not adjacent
        "AM . 2MK\n. [CM] .",  # adjacent is not diagonal
        "AM CM [2MK]",  # the card played is neither
        "AM CM [CS]",  # the pair lies there already
        "AM [AS] CM",
    ],
)
def test_no_power_play(picture: str) -> None:
    judged = score(picture)
    assert not judged.power_play
    assert (judged.power, judged.power_cards) == (0, 0)


def test_power_play_counts_in_solitaire() -> None:
    assert score("CM [AM] . 9MS", solitaire=True).power == 9


def test_R10_a_pawn_makes_no_power_play() -> None:
    for picture in ("CM [PMSL] 2MK", "AM [PMSL] 2MK", "PMSL [CM] 2MK", "PMSL [AM] 2MK"):
        assert not score(picture, pawns=True).power_play


def test_R10_a_pawn_adds_one_to_a_power_play() -> None:
    judged = score("CM [AM] 9MS PMSL PVLY", pawns=True)
    assert (judged.power, judged.power_cards) == (10, 2)
    both = score(ALL_MOONS + "\n PMSL PMYK PSVK PVLY X", pawns=True)
    assert (both.power, both.power_cards) == (46, 10)


# --- 1.4, step 6: flush -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "picture",
    [
        "[AM] 2MK 9MS 5ML",
        "2MK [AM] 9MS 5ML",
        "2MK 9MS 5ML [AM]",
        "2MK 9MS [AM] 5ML 7ML",
        "9VY 2MK 8MS [AM] 5ML",
    ],
)
def test_line_flush(picture: str) -> None:
    judged = score(picture, flush=True)
    assert judged.flush_lines == ("row",)
    assert judged.flush_boxes == ()
    without = score(picture)
    assert without.flush_lines == ()
    assert judged.points == without.points + 10


@pytest.mark.parametrize(
    "picture",
    [
        "2MK 9MS [AM]",  # three
        "2MK 9MS 5ML 7ML [AS]",  # the card has another suit
        "2MK 9MS 9VY [AM] 5ML",  # another suit in between
        "2MK 9MS [5ML] 5YK 7ML",
        "2MK [4YK] 4MS 8MS 9MS",  # each neighbour fits, but never four together
    ],
)
def test_no_line_flush(picture: str) -> None:
    assert score(picture, flush=True).flush_lines == ()


@pytest.mark.parametrize(
    "picture",
    [
        "2MK 9MS . [AM] 5ML",
        "2MK 9MS [AM] . 5ML",
        "2MK . 9MS [AM] 5ML",
        "2MK 9MS X [AM] 5ML",
        "2MK 9MS [AM] X 5ML",
    ],
)
def test_R14_a_line_flush_is_broken_by_a_gap_or_the_excuse(picture: str) -> None:
    assert score(picture, flush=True).flush_lines == ()


@pytest.mark.parametrize(
    ("line", "picture"),
    [
        ("column", "2MK\n9MS\n[AM]\n5ML"),
        ("falling", "2MK . . .\n. 9MS . .\n. . [AM] .\n. . . 5ML"),
        ("rising", ". . . 2MK\n. . 9MS .\n. [AM] . .\n5ML . . ."),
    ],
)
def test_line_flush_in_the_other_lines(line: str, picture: str) -> None:
    assert score(picture, flush=True).flush_lines == (line,)


@pytest.mark.parametrize(
    ("box", "picture"),
    [
        ("upper left", "2MK 9MS\n5ML [AM]"),
        ("upper right", "2MK 9MS\n[AM] 5ML"),
        ("lower left", "2MK [AM]\n5ML 9MS"),
        ("lower right", "[AM] 2MK\n5ML 9MS"),
    ],
)
def test_box_flush(box: str, picture: str) -> None:
    judged = score(picture, flush=True)
    assert judged.flush_boxes == (box,)
    assert judged.flush_lines == ()
    assert judged.points == score(picture).points + 10
    assert score(picture.replace("9MS", "."), flush=True).flush_boxes == ()
    assert score(picture.replace("9MS", "X"), flush=True).flush_boxes == ()


def test_four_boxes_and_two_lines() -> None:
    judged = score(
        """
        2MK 3MV 6MV .
        4MS [AM] 5ML 7ML
        8MS 9MS CM  .
        .   PMSL . .
        """,
        pawns=True,
        flush=True,
    )
    assert judged.flush_boxes == ("upper left", "upper right", "lower left", "lower right")
    assert judged.flush_lines == ("row", "column")


def test_flush_and_another_bonus_in_one_line() -> None:
    """The flush is a bonus of its own beside the straight of the same line."""
    judged = score("6MV [7ML] 8MS 9MS", flush=True)
    assert judged.straights == judged.flush_lines == ("row",)
    assert judged.points == 20 + 10 + 3 + 5


def test_R6_one_flush_per_line_even_in_two_suits() -> None:
    judged = score("AM [4MS] 8MS 9MS AS", flush=True)
    assert judged.flush_lines == ("row",)
    assert score("PMSL [4MS] 8MS 9MS", pawns=True, flush=True).flush_lines == ("row",)


def test_R6_one_flush_per_box_even_in_two_suits() -> None:
    judged = score("PMSL 4MS\n8MS [9MS]", pawns=True, flush=True)
    assert judged.flush_boxes == ("upper left",)


def test_R7_solitaire_has_no_diagonal_flush() -> None:
    picture = """
        2MK .   .   .
        .   9MS .   .
        .   .  [AM] .
        .   .   .   5ML
        """
    assert score(picture, flush=True).flush_lines == ("falling",)
    assert score(picture, flush=True, solitaire=True).flush_lines == ()
    rising = ". . . 2MK\n. . 9MS .\n. [AM] . .\n5ML . . ."
    assert score(rising, flush=True, solitaire=True).flush_lines == ()


def test_R7_solitaire_keeps_rows_columns_and_boxes() -> None:
    judged = score(
        """
        2MK 9MS [AM] 5ML
        .   3MV 6MV .
        .   .   7ML .
        .   .   8MS .
        """,
        flush=True,
        solitaire=True,
    )
    assert judged.flush_lines == ("row", "column")
    assert judged.flush_boxes == ("lower left",)


def test_R14_a_box_needs_one_suit_in_common() -> None:
    """Each of the three shares a suit with the card played, but not the same."""
    assert score("AM 5SV\n9MS [4MS]", flush=True).flush_boxes == ()
    assert score("8MS AS\n9MS [4MS]", flush=True).flush_boxes == ("upper left",)
    assert score("PVLY 2MK\n5ML [PMSL]", pawns=True, flush=True).flush_boxes == ()


# --- Solitaire ----------------------------------------------------------------------------------


def test_solitaire_straights_and_threes_do_not_count_on_diagonals() -> None:
    for picture in (
        "7VY . .\n. [7SK] .\n. . 7ML",
        ". . 7VY\n. [7SK] .\n7ML . .",
        "6MV . .\n. [7SK] .\n. . 8YK",
        ". . 6MV\n. [7SK] .\n8YK . .",
    ):
        assert score(picture).points in (20, 30)
        assert score(picture, solitaire=True).points == 0


def test_solitaire_rows_and_columns_count() -> None:
    judged = score(
        """
        7VY .
        7ML .
        [7SK] 8YK 9LK
        """,
        solitaire=True,
    )
    assert judged.threes == ("column",)
    assert judged.straights == ("row",)


# --- Extended deck ------------------------------------------------------------------------------


def test_playing_the_excuse_scores_and_draws_nothing() -> None:
    judged = score(
        """
        CM  CS  CV
        9MS [X] 2MK
        3MV 4VL 5SV
        """,
        flush=True,
    )
    assert judged == ReferenceScore({}, (), (), (), (), 0, 0, False, (), ())
    assert (judged.points, judged.draw_count) == (0, 0)


def test_the_excuse_as_a_neighbour() -> None:
    judged = score("9MS X [CM] 8YK")
    assert judged.basic == {(0, 3): 8}
    assert judged.points == 8


def test_the_excuse_breaks_every_run() -> None:
    assert score("5SV X [5ML] 5YK").threes == ()
    assert score("3MV X [4YK] 5ML").straights == ()
    assert score("2MK 9MS X [AM] 5ML", flush=True).flush_lines == ()


def test_R8_the_pawn_stands_between_nine_and_crown() -> None:
    for picture in ("9VY [PVLY] CV", "9VY PVLY [CV]", "[9VY] PVLY CV", "CV PVLY [9VY]"):
        assert score(picture, pawns=True).straights == ("row",)
    judged = score("9VY [PVLY] CV", pawns=True)
    assert (judged.points, judged.draw_count) == (20, 1)  # 9+1 nothing, 1+10 a draw
    assert score("7VY 8YK 9LK [PMYK] CK", pawns=True).straights == ("row",)
    assert score("8YK 9LK [PMYK]", pawns=True).straights == ("row",)


def test_R8_with_pawns_nine_and_crown_are_not_consecutive() -> None:
    picture = "8YK 9LK [CM]"
    without, with_pawns = score(picture), score(picture, pawns=True)
    assert without.straights == ("row",)
    assert with_pawns.straights == ()
    assert without.basic == with_pawns.basic == {(0, 1): 9}


def test_R8_the_pawn_is_no_ace_in_straights() -> None:
    assert score("[PMSL] 2MK 3MV", pawns=True).straights == ()
    assert score("PMSL CM [AM]", pawns=True).straights == ()
    assert score("[AM] 2MK 3MV", pawns=True).straights == ("row",)


def test_R9_pawn_is_a_rank() -> None:
    pair = score("PMSL [PVLY]", pawns=True)
    assert pair.pairs == ((0, 0),)
    assert pair.points == 5 + 2
    three = score("PMSL [PVLY] PSVK", pawns=True)
    assert three.threes == ("row",)
    assert three.pairs == ()
    assert three.points == 30 + 2 + 2


def test_R9_a_pawn_and_an_ace_are_no_pair() -> None:
    judged = score("AM [PMSL] PVLY", pawns=True)
    assert judged.pairs == ((0, 2),)
    assert judged.threes == ()
    assert score("AM [AS] PMSL", pawns=True).threes == ()


# --- Bad calls ----------------------------------------------------------------------------------


def test_impossible_plays_are_refused() -> None:
    with pytest.raises(ValueError, match="already holds"):
        score_play({(0, 0): "AM"}, (0, 0), "AS", solitaire=False, pawns=False, flush=False)
    with pytest.raises(ValueError, match="unknown cards"):
        score("AM [2KM]")
    with pytest.raises(ValueError, match="unknown cards"):
        score("1M [2MK]")
    with pytest.raises(ValueError, match="without Pawns"):
        score("AM [PMSL]")
    with pytest.raises(ValueError, match="without Pawns"):
        rare("PMSL . [AM]")


# --- Events -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("picture", "expected"),
    [
        ("3MV 4YK [5SV] 5ML 5YK", {"straight and three in one line"}),
        ("3MV 4YK [5SV] 4MS 3SK", {"two straights in one line"}),
        ("3MV 4YK [5SV] 5ML", set()),
        ("[3MV] 4YK 5SV 5ML 5YK", set()),
        ("4YK [5SV] 4MS 3SK", set()),
        ("7VY 8YK [9LK]\n. . 9MS\n. . 9VY", {"two or more lines"}),
        ("7VY . .\n. [8YK] 9LK\n. . 9VY", set()),
        (". CL .\nCS [CM] CV", {"three draws", "pair across a three"}),
        (". CL .\nCS [CM] CV\n. CY .", {"two or more lines", "four draws"}),
        (". 2SY .\n2VL [9LK] 2MK\n. 9VY .", {"three draws"}),
        ("CL .\nCM .\n[CS] 9MS", set()),
        ("9MS X [CM]", {"excuse inside a line"}),
        (". X [CM]", set()),
        ("9MS . .\n. X .\n. . [CM]", {"excuse inside a line"}),
        ("9MS [X] CM", set()),
        ("9MS AM X [CM]", {"excuse inside a line"}),
        ("X AM [CM]", set()),
        (ALL_MOONS, {"power play with many cards"}),
        (ALL_MOONS.replace("2MK 3MV", ". ."), {"power play with many cards"}),
        (ALL_MOONS.replace("2MK 3MV 4MS", ". . ."), set()),
        (ALL_MOONS.replace("CM", "CS"), set()),
    ],
)
def test_events(picture: str, expected: set[str]) -> None:
    assert rare(picture) == expected
    assert expected <= set(EVENTS)


@pytest.mark.parametrize(
    ("picture", "expected"),
    [
        ("9VY [PVLY] CM", {"pawn inside a straight"}),
        ("[7SK] 8YK 9VY PVLY CM", {"pawn inside a straight"}),
        ("CM PVLY [9VY]", {"pawn inside a straight"}),
        ("8YK 9VY [PVLY]", set()),  # at the end of the straight, not inside
        ("[8YK] 9VY PVLY . CM", set()),
        ("9VY PVLY [CM] CS CV", {"pawn inside a straight", "straight and three in one line"}),
    ],
)
def test_event_pawn_inside_a_straight(picture: str, expected: set[str]) -> None:
    assert rare(picture, pawns=True) == expected


@pytest.mark.parametrize(
    ("picture", "expected"),
    [
        ("AM [4MS] 8MS 9MS AS", {"flush in two suits"}),
        ("PMSL [4MS] 8MS 9MS", {"flush in two suits"}),
        ("PMSL 4MS\n8MS [9MS]", {"flush in two suits"}),
        ("AM 4MS\n8MS [9MS]", set()),
        ("AM [4MS] 8MS 9MS", set()),
        ("PMSL 4MS . [8MS] 9MS", set()),
    ],
)
def test_event_flush_in_two_suits(picture: str, expected: set[str]) -> None:
    assert rare(picture, pawns=True, flush=True) == expected
    assert rare(picture, pawns=True) == set()


def test_events_in_solitaire_leave_the_diagonals_out() -> None:
    picture = """
        9MS .   .   7VY
        .   X   7ML .
        .   7SK [8YK] 9VY
        .   9LK .   .
        """
    board, cell, card = parse(picture)
    assert events(board, cell, card, solitaire=False, pawns=False, flush=False) == {"excuse inside a line"}
    assert events(board, cell, card, solitaire=True, pawns=False, flush=False) == set()
    crossing = "7VY 8MS .\n7ML [8YK] 9LK\n. . 9VY"
    assert "two or more lines" in rare(crossing)
    assert "two or more lines" not in rare(crossing, solitaire=True)


# --- The whole, on random boards ----------------------------------------------------------------


def random_play(rng: random.Random, size: int, deck: tuple[str, ...]) -> tuple[dict[Cell, str], Cell, str]:
    """A partly filled grid and a play on it."""
    cells = [(row, column) for row in range(size) for column in range(size)]
    rng.shuffle(cells)
    # Half of the boards are drawn from few ranks, so that lines and pairs are frequent.
    ranks = "".join(rng.sample("A23456789CPX", rng.choice((4, 12))))
    cards = [card for card in deck if card[0] in ranks]
    rng.shuffle(cards)
    count = rng.randint(1, min(len(cells), len(cards)))
    board = dict(zip(cells[:count], cards[:count], strict=True))
    cell = cells[count - 1]
    return board, cell, board.pop(cell)


@pytest.mark.parametrize("solitaire", [False, True])
@pytest.mark.parametrize("pawns", [False, True])
def test_random_boards_agree_with_the_events_and_with_their_mirror_images(solitaire: bool, pawns: bool) -> None:
    rng = random.Random(f"{solitaire} {pawns}")
    deck = tuple(card for card in EXTENDED_DECK if pawns or card not in PAWNS)
    size = 4 if solitaire else 5
    for _ in range(1500):
        board, cell, card = random_play(rng, size, deck)
        judged = score_play(board, cell, card, solitaire=solitaire, pawns=pawns, flush=True)
        names = events(board, cell, card, solitaire=solitaire, pawns=pawns, flush=True)
        assert names <= set(EVENTS)

        # Items against the total, and against each other.
        assert not set(judged.threes) & set(judged.straights)
        assert not set(judged.basic) & set(judged.draws)
        assert (judged.power_cards > 0) <= judged.power_play

        # ReferenceScore and events are worked out in different ways.
        lines = len(judged.threes) + len(judged.straights)
        assert ("two or more lines" in names) == (lines >= 2)
        assert ("three draws" in names) == (judged.draw_count == 3)
        assert ("four draws" in names) == (judged.draw_count == 4)
        assert ("pair across a three" in names) == bool(judged.pairs and judged.threes)
        assert ("power play with many cards" in names) == (judged.power_cards >= 6)
        if "straight and three in one line" in names:
            assert judged.threes
        if "two straights in one line" in names:
            assert judged.straights
        if "flush in two suits" in names:
            assert judged.flush_lines or judged.flush_boxes

        # Turned and mirrored, the play is worth the same.
        for flip, turn in ((False, True), (True, False), (True, True)):

            def image(place: Cell, flip: bool = flip, turn: bool = turn) -> Cell:
                row, column = place
                if flip:
                    column = size - 1 - column
                return (column, row) if turn else (row, column)

            again = score_play(
                {image(place): other for place, other in board.items()},
                image(cell),
                card,
                solitaire=solitaire,
                pawns=pawns,
                flush=True,
            )
            assert again.points == judged.points
            assert set(again.draws) == {image(place) for place in judged.draws}
            assert again.basic == {image(k): points for k, points in judged.basic.items()}
            assert len(again.flush_boxes) == len(judged.flush_boxes)


def run_of(ranks: str, order: str) -> bool:
    """Whether ranks are consecutive in one of the two directions."""
    return ranks in order or ranks[::-1] in order


@pytest.mark.parametrize("pawns", [False, True])
def test_straights_and_threes_of_all_three_card_rows(pawns: bool) -> None:
    """Every row of three ranks, each of its cards played last."""
    order = "A23456789PC" if pawns else "A23456789C"
    by_rank = {rank: [card for card in EXTENDED_DECK if card[0] == rank] for rank in order}
    triples = [*permutations(order, 3), *((rank, rank, rank) for rank in order)]
    for triple in triples:
        cards = [by_rank[rank][place] for place, rank in enumerate(triple)]
        for played in range(3):
            board = {(0, column): card for column, card in enumerate(cards) if column != played}
            judged = score_play(board, (0, played), cards[played], solitaire=True, pawns=pawns, flush=False)
            assert bool(judged.threes) == (len(set(triple)) == 1)
            assert bool(judged.straights) == run_of("".join(triple), order)


def test_points_is_the_sum_of_everything() -> None:
    judged = ReferenceScore(
        basic={(0, 0): -3, (0, 1): 9},
        draws=((1, 1),),
        threes=("row",),
        straights=("column", "rising"),
        pairs=((2, 2),),
        power=44,
        power_cards=8,
        power_play=True,
        flush_lines=("row",),
        flush_boxes=("upper left", "lower right"),
    )
    assert judged.points == 6 + 30 + 40 + 5 + 44 + 10 + 20
    assert judged.draw_count == 1


# --- 1.5 and 1.6 --------------------------------------------------------------------------------


def test_penalties() -> None:
    assert [penalty(card) for card in ("2MK", "3SK", "4VL", "5SV")] == [2, 3, 4, 5]
    assert [penalty(card) for card in ("6MV", "7ML", "8YK", "9LK")] == [6, 7, 8, 9]
    assert {penalty(card) for card in CROWNS} == {10}
    assert {penalty(card) for card in ACES} == {15}
    assert {penalty(card) for card in PAWNS} == {10}
    assert penalty("X") == 0
    assert sum(penalty(card) for card in BASIC_DECK) == 6 * 15 + 3 * 44 + 6 * 10
    with pytest.raises(ValueError, match="unknown cards"):
        penalty("10M")


@pytest.mark.parametrize(
    ("points", "expected"),
    [
        (-40, 1),
        (0, 1),
        (79, 1),
        (80, 2),
        (99, 2),
        (100, 3),
        (119, 3),
        (120, 4),
        (149, 4),
        (150, 5),
        (400, 5),
    ],
)
def test_rating(points: int, expected: int) -> None:
    assert rating(points, lost=False) == expected
    assert rating(points, lost=True) == 0


@pytest.mark.parametrize(
    ("announced", "true", "expected"),
    [
        (12, 12, (12, 0)),
        (0, 0, (0, 0)),
        (-9, -9, (-9, 0)),
        (10, 12, (10, 2)),  # missing points go to whoever notices
        (0, 30, (0, 30)),
        (-12, -9, (-12, 3)),
        (14, 12, (10, 0)),  # an excess is deducted and lost
        (30, 0, (-30, 0)),
        (0, -9, (-18, 0)),
    ],
)
def test_R11_simpleton(announced: int, true: int, expected: tuple[int, int]) -> None:
    assert simpleton(announced, true) == expected


# --- 1.2 Legal cells ----------------------------------------------------------------------------


def test_legal_cells_anywhere() -> None:
    corners = {(0, 0), (0, 4), (4, 0), (4, 4), (2, 2)}
    free = legal_cells(corners, placement="any", side=5)
    assert len(free) == 20
    assert not free & corners
    assert {(1, 2), (0, 2)} <= free
    assert legal_cells([(r, c) for r in range(4) for c in range(4)], placement="any", side=4) == set()


def test_legal_cells_in_contact() -> None:
    corners = {(0, 0), (0, 3), (3, 0), (3, 3)}
    assert legal_cells(corners, placement="contact", side=4) == {
        (0, 1),
        (1, 0),
        (0, 2),
        (1, 3),
        (2, 0),
        (3, 1),
        (2, 3),
        (3, 2),
    }
    assert len(legal_cells(corners, placement="any", side=4)) == 12


def test_legal_cells_open_stay_within_five() -> None:
    row = [(4, column) for column in range(4, 9)]
    assert legal_cells(row, placement="open", side=9) == {(line, column) for line in (3, 5) for column in range(4, 9)}
    corner = [(4, 4), (4, 5), (5, 5)]
    assert legal_cells(corner, placement="open", side=0) == {
        (3, 4),
        (3, 5),
        (4, 3),
        (4, 6),
        (5, 4),
        (5, 6),
        (6, 5),
    }


def ways(placement: Placement, side: int, further: int) -> list[int]:
    """How many sequences of 1, 2, ... further cells grow the grid from a card in the middle."""
    level = [frozenset({(side // 2, side // 2)})]
    counts: list[int] = []
    for _ in range(further):
        total = 0
        following: list[frozenset[Cell]] = []
        for cells in level:
            legal = legal_cells(cells, placement=placement, side=side)
            total += len(legal)
            following += [cells | {cell} for cell in legal]
        counts.append(total)
        level = following
    return counts


def test_open_counts() -> None:
    assert ways("open", 9, 5) == [4, 24, 176, 1504, 14496]


def test_counts_without_the_limit_of_five() -> None:
    assert ways("contact", 99, 5) == [4, 24, 176, 1504, 14560]


def test_every_open_sequence_fills_a_square_of_five() -> None:
    rng = random.Random(5)
    for _ in range(50):
        cells = {(4, 4)}
        while legal := legal_cells(cells, placement="open", side=9):
            assert all(0 <= row < 9 and 0 <= column < 9 for row, column in legal)
            cells.add(rng.choice(sorted(legal)))
        rows = sorted({row for row, _ in cells})
        columns = sorted({column for _, column in cells})
        assert len(cells) == 25
        assert len(rows) == len(columns) == 5


def test_unknown_form_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown placement"):
        legal_cells([(0, 0)], placement="spiral", side=5)  # type: ignore[arg-type]
