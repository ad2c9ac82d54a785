"""The reference scorer of the spiral game on its own: the pack, the spiral, refusals, and another way of counting.

`test_worked_plays` and `test_worked_deal` have its worked examples.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from math import prod

import pytest

from tests.engines.spiral.worked_deal import WORKED_DEAL, WORKED_PLAYS
from tests.spiral_reference_scorer import (
    CENTRE,
    DECK,
    RANKS,
    SPIRAL,
    Board,
    Cell,
    Deal,
    SpiralReferenceGame,
    score_at_end,
    score_line_at_end,
    score_play,
)

STARTER, _, *_HANDS = WORKED_DEAL.split()
ANNIE, BENNY = _HANDS[:13], _HANDS[14:]
WORKED = Deal(STARTER, (ANNIE, BENNY))


# --- The pack and the spiral -----------------------------------------------------------------------------------------


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


# --- Refusals --------------------------------------------------------------------------------------------------------


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


def test_deals_are_taken_when_they_are_needed() -> None:
    taken = []

    def one_by_one() -> Iterator[Deal]:
        for number in range(2):
            taken.append(number)
            yield WORKED

    game = SpiralReferenceGame(one_by_one(), 2)
    for card, _, _ in WORKED_PLAYS:
        assert taken == [0]
        game.play(card)
    assert taken == [0, 1]


def test_cards_that_are_not_in_the_hand_are_refused() -> None:
    game = SpiralReferenceGame([WORKED], 1)
    for card in ("AS", "JS", "2S"):  # Benny's, the starter, a face-down one
        with pytest.raises(ValueError, match="not in the hand"):
            game.play(card)
    game.play("JH")
    game.play("TS")
    with pytest.raises(ValueError, match="not in the hand"):
        game.play("JH")
    assert game.played == 2
    assert game.totals == [2, 0]


def test_nothing_is_played_when_the_game_is_over() -> None:
    game = SpiralReferenceGame([WORKED], 1)
    for card, _, _ in WORKED_PLAYS:
        game.play(card)
    with pytest.raises(ValueError, match="over"):
        game.play("4D")
    with pytest.raises(ValueError, match="over"):
        _ = game.mover
    with pytest.raises(ValueError, match="over"):
        _ = game.cell


def test_impossible_games_are_refused() -> None:
    for count in (0, 3, 5):
        with pytest.raises(ValueError, match="one, two or four"):
            SpiralReferenceGame([WORKED] * 5, count)
    with pytest.raises(ValueError, match="unknown scoring"):
        SpiralReferenceGame([WORKED], 1, scoring="never")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no cards for deal 0"):
        SpiralReferenceGame([], 1)
    with pytest.raises(ValueError, match="thirteen"):
        SpiralReferenceGame([Deal(STARTER, (ANNIE, BENNY[1:]))], 1)
    with pytest.raises(ValueError, match="twice"):
        SpiralReferenceGame([Deal("AS", (ANNIE, BENNY))], 1)


# --- The whole, on random deals --------------------------------------------------------------------------------------


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
        game = SpiralReferenceGame([Deal(cards[0], (cards[1:14], cards[14:27]))], 1, fifteens=True)
        while not game.over:
            row, column = game.cell
            game.play(rng.choice(sorted(game.legal)))
            assert game.last is not None
            lines = (
                ([game.board.get((row, place)) for place in range(5)], column, game.last.row),
                ([game.board.get((place, column)) for place in range(5)], row, game.last.column),
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
