"""The derived tables, entry by entry, against the reference scorer."""

from itertools import islice, permutations, product

import numpy as np
import pytest

from quincunx_env.core.cards import EMPTY
from quincunx_env.quincunx.play_values import play_values
from quincunx_env.quincunx.rules import Rules
from quincunx_env.quincunx.tables import derived_tables
from tests.reference_game import NAMES
from tests.reference_scorer import Board, penalty, score_play

ANY = Rules(num_players=2, excuse=True, pawns=True)


def test_two_cards_side_by_side() -> None:
    """Points with pairs, and draws, of all pairs of cards; nothing beside an empty cell."""
    tables = derived_tables()
    for (card, name), (other, neighbour) in permutations(enumerate(NAMES), 2):
        score = score_play({(0, 1): neighbour}, (0, 0), name, solitaire=False, pawns=True, flush=False)
        assert (tables.points[card, other], tables.draws[card, other]) == (score.points, score.draw_count)
    assert not tables.points[:, -1].any()
    assert not tables.draws[:, -1].any()


@pytest.mark.parametrize("rank", "AC")
def test_cards_in_a_power_play(rank: str) -> None:
    """What each other card in the grid adds to the power play of a suit."""
    tables = derived_tables()
    for suit in "MSVLYK":
        pair = f"A{suit}", f"C{suit}"
        partner = pair["AC".index(rank) - 1]
        card = NAMES.index(rank + suit)
        for other, name in enumerate(NAMES):
            board: Board = {(0, 1): partner, (4, 4): name} if name not in pair else {(0, 1): partner}
            score = score_play(board, (0, 0), rank + suit, solitaire=False, pawns=True, flush=False)
            assert tables.power[card, other] == score.power
        assert tables.power[card, -1] == 0


@pytest.mark.parametrize(
    ("rules", "every"),
    [(Rules(pawns=True), 1), (ANY, 7), pytest.param(ANY, 1, marks=pytest.mark.slow)],
    ids=["solitaire", "several", "several, all"],
)
def test_every_rank_in_a_row_of_any_ranks(rules: Rules, every: int) -> None:
    """The tables are made of sums of bit fields: none carries into another, whatever lies within reach."""
    ranks = dict.fromkeys(NAMES[card][0] for card in rules.deck)
    by_rank = [[card for card in rules.deck if NAMES[card][0] == rank] for rank in ranks]
    cell, places = (2, (0, 1, 3, 4)) if rules.num_players > 1 else (1, (0, 2, 3))
    rows = []
    for cards in islice(product(by_rank, repeat=len(places)), 0, None, every):
        row = [same[sum(other is same for other in cards[:at]) % len(same)] for at, same in enumerate(cards)]
        rows += [row] if len({*row}) == len(row) else []
    boards = np.full((len(rows), rules.num_cells + 1), EMPTY, np.int8)
    boards[:, places] = rows
    values = play_values(rules).all_plays(boards, np.arange(len(rows)), np.full(len(rows), cell))
    for row, found in zip(rows, values.tolist(), strict=True):
        near: Board = {(0, place): NAMES[card] for place, card in zip(places, row, strict=True)}
        for same in by_rank:
            for card in [card for card in same if card not in row][:1]:
                score = score_play(near, (0, cell), NAMES[card], solitaire=len(places) == 3, pawns=True, flush=False)
                assert found[card] == [score.points, score.draw_count]


def test_penalties_and_read_only() -> None:
    tables = derived_tables()
    assert tables.penalty.tolist() == list(map(penalty, NAMES))
    for table in (tables.penalty, tables.points, tables.draws, tables.power):
        with pytest.raises(ValueError, match="read-only"):
            table[...] = 0
