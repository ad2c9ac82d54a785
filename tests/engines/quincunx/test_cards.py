"""The cards, their ids, names and properties against the table of the rules (1.1), and the grid."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from quincunx_env.core.cards import EMPTY
from quincunx_env.quincunx.cards import (
    BASIC_DECK,
    CARDS,
    EXCUSE,
    PAWNS,
    SUITS,
    card_name,
    parse_card,
    parse_cards,
    print_cards,
)
from quincunx_env.quincunx.grid import grid
from tests.reference_scorer import EXTENDED_DECK

TABLE = """
2 Author MK · Desert SY · Origin VL
3 Journey MV · Painter SK · Savage LY
4 Battle YK · Mountain MS · Sailor VL
5 Discovery SV · Forest ML · Soldier YK
6 Lunatic MV · Market LK · Penitent SY
7 Castle SK · Cave VY · Chance Meeting ML
8 Betrayal YK · Diplomat MS · Mill VL
9 Darkness VY · Merchant LK · Pact MS
C Huntress M · Bard S · Sea V · End L · Calamity Y · Windfall K
P Borderland VLY · Harvest MSL · Light Keeper SVK · Watchman MYK
"""
"""The named cards, copied from the rules."""


def test_ids_follow_the_rules_table() -> None:
    """0-5 the Aces, then the table in its order, 36-39 the Pawns, 40 the Excuse; ids never move."""
    expected = [f"A{suit}" for suit in "MSVLYK"]
    titles = []
    for line in TABLE.strip().splitlines():
        rank, _, cards = line.partition(" ")
        for card in cards.split(" · "):
            title, _, suits = card.rpartition(" ")
            expected.append(rank + suits)
            titles.append(title)
    assert [card.name for card in CARDS] == [*expected, "X"] == list(EXTENDED_DECK)
    assert [card.title for card in CARDS[6:40]] == titles
    assert [card.title for card in CARDS[:2]] == ["Ace of Moons", "Ace of Suns"]
    assert [*BASIC_DECK, *PAWNS, EXCUSE] == list(range(41))
    assert (len(BASIC_DECK), len(PAWNS)) == (36, 4)


def test_values_and_ranks() -> None:
    for card in CARDS:
        assert card.rank == card.name[0]
        assert card.value == {"A": 1, "P": 1, "C": 10, "X": 0}.get(card.rank, int(card.rank, 36))


def test_suits_are_bits_in_the_order_of_the_rules() -> None:
    assert SUITS == "MSVLYK"
    for card in CARDS:
        assert "".join(suit for bit, suit in enumerate(SUITS) if card.suits >> bit & 1) == card.name[1:]


def test_names_print_and_parse() -> None:
    for number, card in enumerate(CARDS):
        assert card_name(number) == card.name
        assert parse_card(card.name) == number
    assert card_name(EMPTY) == ".."
    assert parse_cards(print_cards(range(41))) == tuple(range(41))
    assert parse_cards("") == ()


@pytest.mark.parametrize("name", ["", "2KM", "1M", "10", "am", "XX", "..", "CMS"])
def test_what_is_no_card_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="unknown card") as error:
        parse_card(name)
    assert repr(name) in str(error.value)
    assert "MSVLYK" in str(error.value), "how cards are written"


@pytest.mark.parametrize("card", [-5, -2, 41, 1.0, "AM", None, True, np.float64(0), np.True_], ids=repr)
def test_what_is_no_card_id_has_no_name(card: Any) -> None:
    for write in (card_name, lambda card: print_cards([0, card])):
        with pytest.raises(ValueError, match="card must be an integer from -1 to 40, got"):
            write(card)


def test_cards_are_read_from_strings_only() -> None:
    for no_name in (5, None, ["AM"]):
        with pytest.raises(ValueError, match="unknown card"):
            parse_card(no_name)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="cards must be one string"):
            parse_cards(no_name)  # type: ignore[arg-type]


# --- The grid --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("side", [4, 5, 9])
def test_cells_and_places(side: int) -> None:
    """Cells count row by row from the top left."""
    one = grid(side)
    assert (one.side, one.num_cells) == (side, side * side)
    for cell in range(one.num_cells):
        assert one.place(cell) == (cell // side, cell % side)
        assert one.cell(one.place(cell)) == cell
    for place in [(-1, 0), (0, -1), (side, 0), (0, side)]:
        with pytest.raises(ValueError, match=rf"which ends at \({side - 1}, {side - 1}\)"):
            one.cell(place)


@pytest.mark.parametrize("cell", [-1, 25, 1.0, "1", None], ids=repr)
def test_cells_off_the_grid_have_no_place(cell: Any) -> None:
    with pytest.raises(ValueError, match="cell must be an integer from 0 to 24, got"):
        grid(5).place(cell)


@pytest.mark.parametrize("place", [(0.5, 1), (1, 2, 3), (1,), "12", 3, None], ids=repr)
def test_a_place_is_two_integers(place: Any) -> None:
    assert type(grid(5).cell((np.int8(1), np.int64(2)))) is int  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"a place must be \(row, column\), two integers, got"):
        grid(5).cell(place)
