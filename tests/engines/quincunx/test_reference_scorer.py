"""The reference scorer on its own: the deck, refused plays, rare events, and every score worked out in another way.

`test_worked_plays` has its worked plays, `test_rules` its penalties, ratings, announcements and legal cells.
"""

from __future__ import annotations

import random
from itertools import combinations, permutations

import pytest

from tests.engines.quincunx.test_worked_plays import WorkedPlay, described, read
from tests.reference_scorer import (
    BASIC_DECK,
    EVENTS,
    EXTENDED_DECK,
    NUMBERS,
    PAWNS,
    Cell,
    ReferenceScore,
    events,
    penalty,
    score_play,
)


def rare(drawing: str, *, solitaire: bool = False, pawns: bool = False, flush: bool = False) -> set[str]:
    """The events of a play, drawn as in ``worked_plays.txt``."""
    play = read(drawing, frozenset(), "0", "")
    return set(events(play.board, play.cell, play.card, solitaire=solitaire, pawns=pawns, flush=flush))


# --- 1.1 The cards ---------------------------------------------------------------------------------------------------


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


def test_basic_over_all_pairs_of_cards() -> None:
    """Counted by hand from the table: how often each effect occurs in the basic deck."""
    draws = positive = 0
    shared_aces = 0
    for one, other in combinations(BASIC_DECK, 2):
        score = score_play({(0, 1): other}, (0, 0), one, solitaire=False, pawns=False, flush=False)
        draws += score.draw_count
        total = score.basic.get((0, 1), 0)
        positive += total > 0
        shared_aces += total > 0 and "A" in one[0] + other[0]
    # 11: Ace and Crown 6x6; 2+9, 3+8, 4+7, 5+6 each 3x3; 20: two of six Crowns.
    assert draws == 36 + 4 * 9 + 15
    # Every Ace shares its suit with one card on each of 2 to 8 (9 gives 10, the Crown 11).
    assert shared_aces == 6 * 7
    # 12 and more, up to 19: number with number, then Crown with 2 to 9.
    numbers = sum(12 <= int(one[0]) + int(other[0]) <= 19 for one, other in combinations(NUMBERS, 2))
    assert positive == shared_aces + numbers + 6 * 24


# --- Refused plays ---------------------------------------------------------------------------------------------------


def test_impossible_plays_are_refused() -> None:
    def play(board: dict[Cell, str], card: str) -> ReferenceScore:
        return score_play(board, (0, 0), card, solitaire=False, pawns=False, flush=False)

    with pytest.raises(ValueError, match="already holds"):
        play({(0, 0): "AM"}, "AS")
    for one, other in (("AM", "2KM"), ("1M", "2MK")):
        with pytest.raises(ValueError, match="unknown cards"):
            play({(0, 1): one}, other)
    with pytest.raises(ValueError, match="unknown cards"):
        penalty("10M")
    with pytest.raises(ValueError, match="without Pawns"):
        play({(0, 1): "AM"}, "PMSL")
    with pytest.raises(ValueError, match="without Pawns"):
        rare("PMSL . [AM]")


# --- Events ----------------------------------------------------------------------------------------------------------


ALL_MOONS = "2MK 3MV 4MS 5ML 6MV / . . . . . / CM [AM] . . 9MS / . . . . 8MS / . . . . 7ML"


@pytest.mark.parametrize(
    ("drawing", "expected"),
    [
        ("3MV 4YK [5SV] 5ML 5YK", {"straight and three in one line"}),
        ("3MV 4YK [5SV] 4MS 3SK", {"two straights in one line"}),
        ("3MV 4YK [5SV] 5ML", set()),
        ("[3MV] 4YK 5SV 5ML 5YK", set()),
        ("4YK [5SV] 4MS 3SK", set()),
        ("7VY 8YK [9LK] / . . 9MS / . . 9VY", {"two or more lines"}),
        ("7VY . . / . [8YK] 9LK / . . 9VY", set()),
        (". CL . / CS [CM] CV", {"three draws", "pair across a three"}),
        (". CL . / CS [CM] CV / . CY .", {"two or more lines", "four draws"}),
        (". 2SY . / 2VL [9LK] 2MK / . 9VY .", {"three draws"}),
        ("CL . / CM . / [CS] 9MS", set()),
        ("9MS X [CM]", {"excuse inside a line"}),
        (". X [CM]", set()),
        ("9MS . . / . X . / . . [CM]", {"excuse inside a line"}),
        ("9MS [X] CM", set()),
        ("9MS AM X [CM]", {"excuse inside a line"}),
        ("X AM [CM]", set()),
        (ALL_MOONS, {"power play with many cards"}),
        (ALL_MOONS.replace("2MK 3MV", ". ."), {"power play with many cards"}),
        (ALL_MOONS.replace("2MK 3MV 4MS", ". . ."), set()),
        (ALL_MOONS.replace("CM", "CS"), set()),
    ],
)
def test_events(drawing: str, expected: set[str]) -> None:
    assert rare(drawing) == expected
    assert expected <= set(EVENTS)


@pytest.mark.parametrize(
    ("drawing", "expected"),
    [
        ("9VY [PVLY] CM", {"pawn inside a straight"}),
        ("[7SK] 8YK 9VY PVLY CM", {"pawn inside a straight"}),
        ("CM PVLY [9VY]", {"pawn inside a straight"}),
        ("8YK 9VY [PVLY]", set()),  # at the end of the straight, not inside
        ("[8YK] 9VY PVLY . CM", set()),
        ("9VY PVLY [CM] CS CV", {"pawn inside a straight", "straight and three in one line"}),
    ],
)
def test_event_pawn_inside_a_straight(drawing: str, expected: set[str]) -> None:
    assert rare(drawing, pawns=True) == expected


@pytest.mark.parametrize(
    ("drawing", "expected"),
    [
        ("AM [4MS] 8MS 9MS AS", {"flush in two suits"}),
        ("PMSL [4MS] 8MS 9MS", {"flush in two suits"}),
        ("PMSL 4MS / 8MS [9MS]", {"flush in two suits"}),
        ("AM 4MS / 8MS [9MS]", set()),
        ("AM [4MS] 8MS 9MS", set()),
        ("PMSL 4MS . [8MS] 9MS", set()),
    ],
)
def test_event_flush_in_two_suits(drawing: str, expected: set[str]) -> None:
    assert rare(drawing, pawns=True, flush=True) == expected
    assert rare(drawing, pawns=True) == set()


def test_events_in_solitaire_leave_the_diagonals_out() -> None:
    drawing = "9MS . . 7VY / . X 7ML . / . 7SK [8YK] 9VY / . 9LK . ."
    assert rare(drawing) == {"excuse inside a line"}
    assert rare(drawing, solitaire=True) == set()
    crossing = "7VY 8MS . / 7ML [8YK] 9LK / . . 9VY"
    assert "two or more lines" in rare(crossing)
    assert "two or more lines" not in rare(crossing, solitaire=True)


# --- The whole, on random boards -------------------------------------------------------------------------------------


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
        score = score_play(board, cell, card, solitaire=solitaire, pawns=pawns, flush=True)
        names = events(board, cell, card, solitaire=solitaire, pawns=pawns, flush=True)
        assert names <= set(EVENTS)

        # Items against the total, and against each other.
        assert not set(score.threes) & set(score.straights)
        assert not set(score.basic) & set(score.draws)
        assert (score.power_cards > 0) <= score.power_play

        # Score and events are worked out in different ways.
        lines = len(score.threes) + len(score.straights)
        assert ("two or more lines" in names) == (lines >= 2)
        assert ("three draws" in names) == (score.draw_count == 3)
        assert ("four draws" in names) == (score.draw_count == 4)
        assert ("pair across a three" in names) == bool(score.pairs and score.threes)
        assert ("power play with many cards" in names) == (score.power_cards >= 6)
        if "straight and three in one line" in names:
            assert score.threes
        if "two straights in one line" in names:
            assert score.straights
        if "flush in two suits" in names:
            assert score.flush_lines or score.flush_boxes

        # Turned and mirrored, the play scores the same.
        parts = frozenset(described(score, cell))
        play = WorkedPlay(frozenset(), board, cell, card, (size, size), score.points, parts)
        for image in ((False, False, True), (True, False, False), (True, False, True)):
            seen = play.image(*image)
            again = score_play(seen.board, seen.cell, card, solitaire=solitaire, pawns=pawns, flush=True)
            assert again.points == play.points
            assert described(again, seen.cell) == seen.parts


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
            score = score_play(board, (0, played), cards[played], solitaire=True, pawns=pawns, flush=False)
            assert bool(score.threes) == (len(set(triple)) == 1)
            assert bool(score.straights) == run_of("".join(triple), order)


def test_points_is_the_sum_of_everything() -> None:
    score = ReferenceScore(
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
    assert score.points == 6 + 30 + 40 + 5 + 44 + 10 + 20
    assert score.draw_count == 1
