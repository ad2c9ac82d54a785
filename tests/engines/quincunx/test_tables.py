"""The derived tables, entry by entry, against the reference scorer."""

from itertools import permutations

import pytest

from quincunx_env.quincunx.rules import Rules
from quincunx_env.quincunx.tables import derived_tables
from tests.reference_game import NAMES
from tests.reference_scorer import Board, penalty, score_play

ANY = Rules(num_players=2, excuse=True, pawns=True)


def test_two_cards_side_by_side() -> None:
    """Points with pairs, and draws, of all pairs of cards; nothing beside an empty cell."""
    tables = derived_tables(ANY)
    for (card, name), (other, neighbour) in permutations(enumerate(NAMES), 2):
        score = score_play({(0, 1): neighbour}, (0, 0), name, solitaire=False, pawns=True, flush=False)
        assert (tables.points[card, other], tables.draws[card, other]) == (score.points, score.draw_count)
    assert not tables.points[:, -1].any()
    assert not tables.draws[:, -1].any()


@pytest.mark.parametrize("rank", "AC")
def test_cards_in_a_power_play(rank: str) -> None:
    """What each other card in the grid adds to the power play of a suit."""
    tables = derived_tables(ANY)
    for suit in "MSVLYK":
        pair = f"A{suit}", f"C{suit}"
        partner = pair["AC".index(rank) - 1]
        card = NAMES.index(rank + suit)
        for other, name in enumerate(NAMES):
            board: Board = {(0, 1): partner, (4, 4): name} if name not in pair else {(0, 1): partner}
            score = score_play(board, (0, 0), rank + suit, solitaire=False, pawns=True, flush=False)
            assert tables.power[card, other] == score.power
        assert tables.power[card, -1] == 0


def test_penalties_and_read_only() -> None:
    tables = derived_tables(ANY)
    assert tables.penalty.tolist() == list(map(penalty, NAMES))
    assert len(derived_tables(Rules()).line_bonus) == 1
    assert len(tables.line_bonus) == 2
    for table in (tables.penalty, tables.points, tables.draws, tables.power, *tables.line_bonus):
        with pytest.raises(ValueError, match="read-only"):
            table[...] = 0
