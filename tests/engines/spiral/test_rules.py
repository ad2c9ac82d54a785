"""Cards, options, deals and refused plays of the spiral game.

Shared with Quincunx: `tests.engines.core` and the tests of the environments have the rest.
"""

import re
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

from quincunx_env import spiral_v0
from quincunx_env.core.deal import Domain, shuffle
from quincunx_env.core.game import IllegalAction
from quincunx_env.registry import make_rules
from quincunx_env.spiral import Batch, Deal, Game, Rules
from quincunx_env.spiral.cards import CARDS, card_name, parse_card, parse_cards, print_cards
from quincunx_env.spiral.rules import COLUMNS, LINES, ROWS
from quincunx_env.spiral.rules import SPIRAL as CELLS
from tests import spiral_reference_scorer as scorer
from tests.engines.spiral.worked_deal import WORKED_DEAL
from tests.spiral_reference_scorer import CENTRE, DECK
from tests.variants import SPIRAL, positions

SEED = 9_000


# --- Cards -----------------------------------------------------------------------------------------------------------


def test_cards_print_and_parse() -> None:
    """All 52, by their ids: spades, hearts, clubs, diamonds, each from the Ace to the King."""
    assert [card.name for card in CARDS] == list(DECK)
    assert (parse_card("AS"), parse_card("KS"), parse_card("AH"), parse_card("TC"), parse_card("KD")) == (
        *(0, 12, 13, 35, 51),
    )
    for card, name in enumerate(DECK):
        assert card_name(card) == name
        assert parse_card(name) == card
        assert (CARDS[card].rank, CARDS[card].suit) == ("A23456789TJQK".index(name[0]), "SHCD".index(name[1]))
    assert print_cards([51, 9, -1]) == "KD TS .."
    assert parse_cards(" KD\n TS ") == (51, 9)
    assert parse_cards("") == ()


def test_what_cards_count_in_a_fifteen() -> None:
    assert [CARDS[parse_card(f"{rank}H")].value for rank in "A23456789TJQK"] == [*range(1, 11), 10, 10, 10]


@pytest.mark.parametrize("name", ["", "A", "10S", "as", "SA", "1S", "AM", "TX", "..", "AS ", "AS KD", "X"])
def test_what_is_no_card_is_refused(name: str) -> None:
    message = f"unknown card {name!r}: write the rank (A23456789TJQK), then the suit (SHCD), as in AS, TD or KH"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        parse_card(name)


# --- Rules -----------------------------------------------------------------------------------------------------------


def test_options_have_the_defaults_of_the_rules() -> None:
    """A game is two deals or four; nothing else is asked for."""
    assert Rules() == Rules("play", False, 2) == make_rules("spiral")
    assert spiral_v0.raw_env().rules == Rules()
    assert [rules.num_rounds for rules in SPIRAL.values()] == [1, 2, 4] * 4
    assert len(set(SPIRAL.values())) == 12


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scoring": "rows"}, "scoring must be 'play' or 'end', got 'rows'"),
        ({"scoring": None}, "scoring must be 'play' or 'end', got None"),
        ({"fifteens": 1}, "fifteens must be True or False, got 1"),
        ({"fifteens": "no"}, "fifteens must be True or False, got 'no'"),
        ({"deals": 3}, "deals must be 1, 2 or 4, got 3"),
        ({"deals": 0}, "deals must be 1, 2 or 4, got 0"),
        ({"deals": 2.0}, "deals must be 1, 2 or 4, got 2.0"),
        ({"deals": True}, "deals must be 1, 2 or 4, got True"),
        ({"deals": "2"}, "deals must be 1, 2 or 4, got '2'"),
    ],
)
def test_wrong_options_are_named(options: dict[str, Any], message: str) -> None:
    for make in (Rules, spiral_v0.raw_env, spiral_v0.env):
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            make(**options)


def test_the_spiral_is_that_of_the_rules() -> None:
    """The starter in the centre, then the plays; every cell with its row and its column."""
    assert [divmod(cell, 5) for cell in CELLS] == [CENTRE, *scorer.SPIRAL]
    for cell, (row, column) in enumerate(product(range(5), repeat=2)):
        assert LINES[cell] == (ROWS[row], COLUMNS[column])
        assert ROWS[row] == tuple(range(5 * row, 5 * row + 5))
        assert COLUMNS[column] == tuple(range(column, 25, 5))


# --- Deals -----------------------------------------------------------------------------------------------------------

GOLDEN: dict[tuple[int, int, int, Domain], str] = {
    (0, 0, 0, "play"): "6S | 2D 3D 9D 8C 9C TS KS TD 5H KD TH 3C 3S / 4S JC 6C 9S KH 2H 7S 5D 9H AS AC QS 4C",
    (0, 0, 1, "play"): "KD | 9S 2D 6S 6H 6C 8H JH KC 7C 8D 7D 4S AS / QC 2S 3H 2C AH 7H QH QD 3D 5H 9C 2H JS",
    (0, 1, 0, "play"): "AC | AD 5S TS TH 2H TD 9C 4H 6H JS QH 8D 3D / KS 9S 9D 4S QC 2C 7C AH 6C 7S KC 6D JC",
    (1, 0, 0, "play"): "QC | AD 7C 7H 6D 6C 4D 6H 8C 5C QS KD KC AC / 5H KH TH TS 2H 9H 5D JC 7S 8D 3D 4C 8H",
    (0, 0, 0, "benchmark"): "QH | 9S 2C KS 4H JC 3D AS 5C TH 3C 8D 8C TS / JD 4S QS JS 8H 9C 2D 6H 2H 6C KC AH TD",
    (0, 0, 0, "validation"): "KC | TC JD 2H 2S 8H TH 6D 5S 9C 8C 3C 7D 5H / JH 6H 2D QD 7C 9H JC 3S QH 8D AH AD AS",
    (2**63 - 1, 0, 3, "play"): "TS | 8D AH 4D 8S 2C 8C KS QS 5D JD TC 3H TD / AD KH 7D 7H JH KD 5C 5H 9H 3C JC 9C 7C",
    (
        12_345,
        1_000_000,
        2,
        "benchmark",
    ): "2C | 6S 4S 8S 4C 5C KH KC 5H 3H 7H AC JD QH / 4H 6C 9S AH 6H 8C JS TH 8H 5S JC 2H 2D",
}
"""Seed, game, round, domain. Only if the deals are meant to change may these."""


def test_deals_from_seeds_are_frozen() -> None:
    for (seed, game, round, domain), text in GOLDEN.items():
        deal = Deal.from_seed(Rules(deals=4), seed, game, round, domain)
        assert str(deal) == text
        assert Deal.parse(text) == deal
        deal.check(Rules())
        seeds, games, rounds = np.array([[seed], [game], [round]], np.uint64)
        assert shuffle(range(52), seeds, games, rounds, domain)[0, :27].tolist() == list(deal.cards)


def test_the_text_shows_the_parts_of_a_deal() -> None:
    """The starter, then the hands; white space does not matter, and the hands keep their order."""
    deal = Deal.parse(WORKED_DEAL)
    assert str(deal) == WORKED_DEAL
    assert (deal.starter, deal.hands[1][-1]) == (parse_card("JS"), parse_card("QD"))
    assert Deal.parse(str(deal).replace(" ", "\n ")) == deal
    assert deal.cards == (deal.starter, *deal.hands[0], *deal.hands[1])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("JS", "a deal is written 'starter | hand / hand', got 'JS'"),
        ("JS | 2S | 3S", "a deal is written 'starter | hand / hand', got 'JS | 2S | 3S'"),
        ("JS QS | 2S / 3S", "a deal is written 'starter | hand / hand'"),
        ("JS / QS | 2S / 3S", "a deal is written 'starter | hand / hand'"),
        (" | 2S / 3S", "a deal is written 'starter | hand / hand'"),
        ("JS | 2S / AM", "unknown card 'AM'"),
    ],
)
def test_what_is_no_deal_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        Deal.parse(text)


GOOD = Deal.from_seed(Rules(), 1)


@pytest.mark.parametrize(
    ("deal", "message"),
    [
        (Deal(GOOD.hands[0][0], GOOD.hands), f"dealt twice: {card_name(GOOD.hands[0][0])}"),
        (Deal(GOOD.starter, (GOOD.hands[0], GOOD.hands[0])), f"dealt twice: {print_cards(sorted(GOOD.hands[0]))}"),
        (
            Deal(GOOD.starter, (GOOD.hands[0][1:], GOOD.hands[1])),
            "1 | 13 / 13 cards (starter | hand / hand) are needed, got 1 | 12 / 13",
        ),
        (Deal(GOOD.starter, GOOD.hands[:1]), "1 | 13 / 13 cards (starter | hand / hand) are needed, got 1 | 13"),
        (
            Deal(GOOD.starter, (GOOD.hands[0], (*GOOD.hands[1], *({*range(52)} - {*GOOD.cards})))),
            "1 | 13 / 13 cards (starter | hand / hand) are needed, got 1 | 13 / 38",
        ),
    ],
)
def test_deals_that_do_not_fit_are_refused(deal: Deal, message: str) -> None:
    """By `check`, and by whatever would play them; a card that is missing is just one of those face down."""
    batch = Batch(Rules(deals=1), 1)
    refusing: list[Callable[[], Any]] = [
        lambda: deal.check(Rules()),
        lambda: Game(Rules(deals=1), deal),
        lambda: batch.reset(deals=[deal]),
        lambda: spiral_v0.raw_env(deals=1).reset(options={"deal": deal}),
    ]
    for refuse in refusing:
        with pytest.raises(ValueError, match=f"^this deal does not fit the rules; {re.escape(message)}$") as error:
            refuse()
        assert "missing" not in str(error.value)
    assert batch.over.all()


# --- Refused plays ----------------


def test_illegal_plays_are_explained_and_change_nothing() -> None:
    """Out of range, not in hand, played already, or after the end."""
    for game in positions(Rules(deals=1), SEED):
        held = game.legal_cards()
        before = game.__getstate__() | {"hands": [bytes(hand) for hand in game.hands], "board": bytes(game.board)}
        for card in {*range(-2, 55)} - {*held}:
            if game.over:
                message = "the game is over: reset to play again"
            elif not 0 <= card < 52:
                message = f"action {card} is out of range: actions run from 0 to 51"
            else:
                message = (
                    f"{DECK[card]} cannot be played: it is not in the hand of seat {game.mover}, "
                    f"which holds {print_cards(held)}"
                )
            with pytest.raises(IllegalAction, match=f"^{re.escape(message)}$"):
                game.step(card)
        after = game.__getstate__() | {"hands": [bytes(hand) for hand in game.hands], "board": bytes(game.board)}
        assert after == before
    with pytest.raises(IllegalAction, match="the game is over"):
        game.score(0)
