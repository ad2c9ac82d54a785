"""The spiral game: comparison of `Game`, `Batch` and `tests.spiral_reference_scorer`.

What it has in common with Quincunx is tested beside it: doors in `test_conformance` and `test_leak`, batches in
`test_batch`, observations in `test_observation`, hidden cards in `test_resample`, PettingZoo in `test_aec`.
"""

import random
import re
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import astuple, replace
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from quincunx_env import spiral_v0
from quincunx_env.core.deal import Domain, shuffle
from quincunx_env.core.game import IllegalAction
from quincunx_env.registry import make_rules
from quincunx_env.spiral import Batch, Deal, Game, Observer, Rules, scoring
from quincunx_env.spiral.cards import CARDS, card_name, parse_card, parse_cards, print_cards
from quincunx_env.spiral.observation import LINE_LIMIT, POINTS_LIMIT
from quincunx_env.spiral.render import ansi
from quincunx_env.spiral.rules import COLUMNS, LINES, ROWS, SPIRAL
from quincunx_env.spiral.scoring import LineScore, Score
from tests import spiral_reference_scorer as spiral_scorer
from tests.engines.spiral.test_reference_scorer import WORKED_PLAYS, worked_deal
from tests.reference_game import spiral_reference_game
from tests.spiral_reference_scorer import CENTRE, DECK, Cell, score_play
from tests.variants import SPIRAL as FORMS
from tests.variants import legal_actions, same

SEED = 9_000

every_form = pytest.mark.parametrize("rules", FORMS.values(), ids=FORMS)


def names(cards: Any) -> list[str]:
    """The judge's names of cards."""
    return [DECK[card] for card in cards]


def faces(board: Any) -> dict[Cell, str]:
    """A board as the judge has it."""
    return {divmod(cell, 5): DECK[card] for cell, card in enumerate(board) if card >= 0}


def positions(rules: Rules, seed: int = SEED) -> Iterator[Game]:
    """The positions of a random game, from the deal to the end."""
    game, rng = Game.from_seed(rules, seed), random.Random(seed)
    yield game
    while not game.over:
        game.step(rng.choice(game.legal_cards()))
        yield game


# --- Cards -----------------------------------------------------------------------------------------------------------


def test_cards_print_and_parse() -> None:
    """All 52, by their ids: spades, hearts, clubs, diamonds, each from the Ace to the King."""
    assert [card.name for card in CARDS] == list(DECK) == names(range(52))
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
    message = f"no card is written {name!r}: write the rank (A23456789TJQK), then the suit (SHCD), as in AS, TD or KH"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        parse_card(name)


# --- Rules -----------------------------------------------------------------------------------------------------------


def test_options_have_the_defaults_of_the_rules() -> None:
    """A game is two deals or four; nothing else is asked for."""
    assert Rules() == Rules("play", False, 2) == make_rules("spiral")
    assert spiral_v0.raw_env().rules == Rules()
    assert [rules.num_rounds for rules in FORMS.values()] == [1, 2, 4] * 4
    assert len(set(FORMS.values())) == 12


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
    assert [divmod(cell, 5) for cell in SPIRAL] == [CENTRE, *spiral_scorer.SPIRAL]
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
    starter, hands = worked_deal()
    deal = Deal(parse_card(starter), (parse_cards(" ".join(hands[0])), parse_cards(" ".join(hands[1]))))
    assert str(deal) == ("JS | 3S 8S QS 2H 7H JH AC 3C 5C 7C 4D 8D JD / AS 5S 7S TS 4H 6H 8H TH 8C 9C KC 6D QD")
    assert Deal.parse(str(deal).replace(" ", "\n ")) == deal
    assert deal.cards == (deal.starter, *deal.hands[0], *deal.hands[1])


@pytest.mark.parametrize("form", ["spiral-play-1", "spiral-end+fifteens-4"])
def test_deals_print_and_parse(form: str) -> None:
    """And are the same for every form of the game."""
    rules = FORMS[form]
    for seed in range(50):
        deal = Deal.from_seed(rules, seed, seed % 3)
        deal.check(rules)
        assert Deal.parse(str(deal)) == deal == Deal.of_cards(rules, deal.cards)
        assert deal == Deal.from_seed(Rules(), seed, seed % 3)
        assert len(set(deal.cards)) == 27


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("JS", "a deal is written 'starter | hand / hand', got 'JS'"),
        ("JS | 2S | 3S", "a deal is written 'starter | hand / hand', got 'JS | 2S | 3S'"),
        ("JS QS | 2S / 3S", "a deal is written 'starter | hand / hand'"),
        ("JS / QS | 2S / 3S", "a deal is written 'starter | hand / hand'"),
        (" | 2S / 3S", "a deal is written 'starter | hand / hand'"),
        ("JS | 2S / AM", "no card is written 'AM'"),
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


@pytest.mark.parametrize("card", [-1, 52])
def test_check_refuses_what_is_no_card(card: int) -> None:
    with pytest.raises(ValueError, match=f"a deal holds card ids from 0 to 51, got {card}"):
        Deal(card, GOOD.hands).check(Rules())


def test_a_game_needs_a_deal_for_each_round() -> None:
    for rules, count in ((Rules(deals=1), 2), (Rules(), 1), (Rules(deals=4), 2)):
        with pytest.raises(ValueError, match=f"these rules play {rules.deals} rounds .* a deal for each, got {count}"):
            Game(rules, [GOOD] * count)


@every_form
def test_row_i_of_a_batch_is_the_game_seeded_s_plus_i(rules: Rules) -> None:
    """For all its deals, and with the next games after it."""
    batch = Batch(rules, 3)
    batch.reset(SEED)
    for number in range(2):
        for row in range(3):
            game = Game.from_seed(rules, SEED + row, number)
            assert batch.deals(row) == game.deals
            assert game.deals == tuple(Deal.from_seed(rules, SEED + row, number, at) for at in range(rules.deals))
            assert len(set(game.deals)) == rules.deals
            assert batch.to_game(row).deals == game.deals
        batch.reset()


# --- The worked deal (2.6) -------------------------------------------------------------------------------------------


def the_worked_deal() -> Deal:
    starter, hands = worked_deal()
    return Deal.parse(f"{starter} | {' / '.join(map(' '.join, hands))}")


WORKED = [(points, points + more) for _, points, more in WORKED_PLAYS]
"""All 24 scores in order, without fifteens and with them."""


@pytest.mark.parametrize("fifteens", [False, True])
def test_the_worked_deal_scored_as_you_go(fifteens: bool) -> None:
    """Through game, batch and PettingZoo; part by part as the judge says."""
    rules, deal = Rules("play", fifteens, 1), the_worked_deal()
    game, batch, env = (
        Game(rules, deal),
        Batch(rules, 2),
        spiral_v0.env(fifteens=fifteens, deals=1, reward="points", mask_in="info"),
    )
    batch.reset(seed=0)
    batch.reset(rows=[1], deals=[deal])
    env.reset(options={"deal": deal})
    board, scores = {CENTRE: "JS"}, []
    rng = np.random.default_rng(0)
    for number, (name, *_) in enumerate(WORKED_PLAYS):
        card, cell = parse_card(name), spiral_scorer.SPIRAL[number]
        judged = score_play(board, cell, name, fifteens)
        board[cell] = name
        assert game.cell is not None
        assert divmod(game.cell, 5) == cell
        assert astuple(game.score(card)) == astuple(judged)
        assert batch.value(np.array([card]), np.array([1])).tolist() == [[judged.row.points, judged.column.points]]
        gains = game.step(card)
        assert gains[1 - number % 2] == 0
        actions = legal_actions(batch, rng)
        actions[1] = card
        assert batch.step(actions)[1].tolist() == gains
        assert env.agent_selection == f"player_{number % 2}"
        assert env.infos[env.agent_selection]["action_mask"][card] == 1
        env.step(card)
        assert [env.rewards[agent] for agent in env.possible_agents] == gains
        scores.append(sum(gains))
    assert scores == (
        [2, 0, 0, 3, 6, 3, 3, 3, 2, 8, 6, 3, 0, 4, 10, 17, 0, 5, 12, 0, 0, 10, 0, 7]
        if fifteens
        else [2, 0, 0, 3, 6, 3, 3, 3, 2, 0, 4, 3, 0, 4, 6, 15, 0, 3, 4, 0, 0, 4, 0, 5]
    )
    totals = [41, 63] if fifteens else [27, 43]
    assert game.totals == batch.totals[1].tolist() == [env.infos[agent]["score"] for agent in env.agents] == totals
    assert game.over
    assert batch.over[1]
    assert all(env.terminations.values())
    assert game.winners == (1,)
    assert [names(game.hand(seat)) for seat in (0, 1)] == [["4D"], ["4H"]]


@pytest.mark.parametrize(("fifteens", "totals"), [(False, [29, 22]), (True, [55, 30])])
def test_the_worked_deal_scored_at_the_end(fifteens: bool, totals: list[int]) -> None:
    """Annie, the non-dealer, has the rows, Benny the columns; nothing before the last card."""
    rules, deal = Rules("end", fifteens, 1), the_worked_deal()
    game, batch, env = (
        Game(rules, deal),
        Batch(rules, 1),
        spiral_v0.env(scoring="end", fifteens=fifteens, deals=1, reward="points", mask_in="info"),
    )
    batch.reset(deals=[deal])
    env.reset(options={"deal": deal})
    for number, (name, *_) in enumerate(WORKED_PLAYS, 1):
        expected = totals if number == 24 else [0, 0]
        card = parse_card(name)
        assert game.step(card) == expected
        assert batch.step([card]).tolist() == [expected]
        env.step(card)
        assert list(env.rewards.values()) == expected
    assert game.totals == game.scores == batch.totals[0].tolist() == batch.scores[0].tolist() == totals
    lines = [
        [scoring.score_hand([game.board[cell] for cell in line], fifteens) for line in side] for side in (ROWS, COLUMNS)
    ]
    fifteen_points = [[4, 6, 8, 2, 6], [2, 0, 4, 0, 2]]
    assert [[hand.points - hand.fifteens for hand in side] for side in lines] == [[2, 2, 6, 4, 15], [4, 3, 6, 3, 6]]
    assert [[hand.fifteens for hand in side] for side in lines] == (fifteen_points if fifteens else [[0] * 5] * 2)
    end = spiral_scorer.score_at_end(faces(game.board), fifteens)
    assert [list(map(astuple, side)) for side in lines] == [list(map(astuple, side)) for side in end]


# --- Plays by hand (2.3) ---------------------------------------------------------------------------------------------


def play(picture: str, fifteens: bool = False) -> Score:
    """Score a drawn play, ``.`` for a face-down card and the card played in brackets, in both engines.

    The board is laid by hand, so that it may be one that the spiral does not lead to.
    """
    words = [word for line in picture.strip().splitlines() for word in line.split()]
    assert len(words) == 25
    [cell] = [cell for cell, word in enumerate(words) if word.startswith("[")]
    card = parse_card(words[cell].strip("[]"))
    board = [-1 if word == "." or word.startswith("[") else parse_card(word) for word in words]
    rules = Rules(fifteens=fifteens)
    game, batch = Game.from_seed(rules, 0), Batch(rules, 3)
    batch.reset(1)
    game.board[:] = type(game.board)("b", board)
    batch.board[1] = board
    game.ply = batch.ply[1] = SPIRAL.index(cell) - 1
    score = game.score(card)
    assert batch.value(np.array([card]), np.array([1])).tolist() == [[score.row.points, score.column.points]]
    assert score.points == score.row.points + score.column.points
    assert astuple(score) == astuple(score_play(faces(board), divmod(cell, 5), words[cell].strip("[]"), fifteens))
    return score


def line(drawn: str, fifteens: bool = False) -> LineScore:
    """Score a play into a drawn line, which counts the same as the bottom row, as the left column, and reversed."""
    words = drawn.split()
    nothing = ["."] * 20
    found = set()
    for way in (words, words[::-1]):
        as_row, as_column = play(" ".join(nothing + way), fifteens), play(" . . . . ".join(way) + " . . . .", fifteens)
        found |= {as_row.row, as_column.column}
        assert as_row.column.points == as_column.row.points == 0, "the played card alone"
    [score] = found
    return score


@pytest.mark.parametrize(
    ("drawn", "kinds"),
    [
        (". . [8S] . .", 0),
        ("8H . [8S] . .", 2),
        ("8H . . . [8S]", 2),
        ("[8S] 8H 2C 8D KC", 6),
        ("8H 2C [8S] 8D 8C", 12),
        ("2H 2C [8S] 8D 2S", 2),  # three 2s are not of the played rank
        ("2H 2C [8S] . 2S", 0),
        ("[AS] . AD . 3H", 2),
        ("[KS] KH KD . QS", 6),
    ],
)
def test_kinds(drawn: str, kinds: int) -> None:
    """Cards of the played rank, anywhere in the line."""
    assert line(drawn) == LineScore(kinds, 0, 0, 0)


@pytest.mark.parametrize(
    ("drawn", "kinds", "runs"),
    [
        (". 9C 8S TS [7H]", 0, 4),  # the four lines of the table in 2.3
        ("[8C] 7C 8H 8D 6H", 6, 9),
        ("AS 2H 2C [3D] KC", 0, 6),
        ("9C . 8S . [7H]", 0, 3),
        ("9C . . 8S [7H]", 0, 3),
        ("9C 8D TS JD [7H]", 0, 5),
        ("9C 8D . . [6H]", 0, 0),  # no 7
        ("9C . . . [8H]", 0, 0),
        ("9C 8D QS JD [7H]", 0, 3),  # no 10
        ("[AS] 2D 3H . .", 0, 3),
        ("[AS] QD KH . .", 0, 0),  # the Ace is low
        ("[KS] QD JH . .", 0, 3),
        ("[KS] AD 2H . .", 0, 0),
        ("[QS] KD AH 2C JC", 0, 3),
        # R12: the copies of every rank multiply, those of the played one included
        ("[7S] 6D 8H 7C .", 2, 6),
        ("7S 6D [8H] 7C .", 0, 6),
        ("7S 6D [8H] 7C 6C", 0, 12),
        ("7S 6D 8D 7C [6C]", 2, 12),
        ("7S 6D [8D] 7C 7H", 0, 9),
        ("[7S] 6D 8D 7C 7H", 6, 9),
        ("[9S] 6D 8D 7C 7H", 0, 8),
        ("[TS] 6D 8D 7C 7H", 0, 0),  # the run of the others is not its own
    ],
)
def test_runs(drawn: str, kinds: int, runs: int) -> None:
    """The longest set of consecutive ranks with the played one, as often as it can be laid out."""
    assert line(drawn) == LineScore(kinds, runs, 0, 0)


@pytest.mark.parametrize(
    ("drawn", "flush"),
    [
        ("2S 9S [KS] . .", 3),
        ("2S [9S] KS . .", 3),
        ("2S 9S [KS] 6S .", 4),
        ("2S 9S [KS] 6S 4S", 5),
        (". 9S [KS] . .", 0),
        ("2S 9S . [KS] .", 0),  # broken by a gap
        ("2S . 9S [KS] 6S", 3),
        ("2S 9S . [KS] 6S", 0),
        ("2S 9S 4H [KS] .", 0),  # by another suit
        ("2S 9S 4H [KS] 6S", 0),
        ("2S 4H 9S [KS] 6S", 3),
        ("2S 9S 6S [KH] 4H", 0),  # the played card is in none
        ("2S 9S 6S KD [4H]", 0),
        ("2H 9S [6H] KH TH", 3),
        ("2D 9D [6D] KC TH", 3),
    ],
)
def test_flush(drawn: str, flush: int) -> None:
    """Touching cards of one suit, three or more, the played one among them."""
    assert line(drawn) == LineScore(0, 0, flush, 0)


@pytest.mark.parametrize(
    ("drawn", "fifteens"),
    [
        ("[8S] 7D . . .", 2),
        ("[5S] . TD . KH", 4),
        ("[5S] JD QH KC TD", 8),
        ("[5S] 5D 5H KC .", 4),  # 5 5 5, 5 K
        ("[5S] 5D 5H 5C KC", 8),  # three times 5 5 5, 5 K
        ("[AS] AD 3H TC .", 2),
        ("[AS] 2D 3H 4C 5C", 2),  # all five
        ("KS 5D [2H] . .", 0),  # 15 without the played card
        ("[9S] 2D 4H . 6C", 4),  # 9 2 4, 9 6
        ("[QS] 5D 2H 3C .", 4),
        ("[7S] 8D 8H 8C .", 6),
        ("[7S] 8D . . 7C", 2),
        ("[KS] . . . .", 0),
    ],
)
def test_fifteens(drawn: str, fifteens: int) -> None:
    """Sets of cards that add up to 15 and hold the played one, two points each; without the option nothing."""
    assert line(drawn, True).fifteens == fifteens
    assert line(drawn, False) == replace(line(drawn, True), fifteens=0)


def test_row_and_column_both_score() -> None:
    """Each with all its parts, each for itself."""
    picture = """
        .   .   .   .   .
        .   2S  4H  6S  QD
        .   KH  2D  TS  7S
        .   8C  9H  7D  [8S]
        .   .   .   .   .
        """
    assert play(picture) == Score(LineScore(2, 6, 0, 0), LineScore(0, 0, 0, 0))
    assert play(picture, True) == Score(LineScore(2, 6, 0, 2), LineScore(0, 0, 0, 2))
    both = """
        .   .   .   .   4C
        .   2S  4H  6S  5S
        .   KH  2D  TS  6C
        .   8C  9H  8D  [8S]
        .   .   .   .   7S
        """
    assert play(both) == Score(LineScore(6, 0, 0, 0), LineScore(0, 5, 0, 0))
    assert play(both).points == 11
    suits = """
        .   .   .   .   .
        .   .   3C  .   .
        AS  2S  [3S] .  4S
        .   .   KS  .   .
        .   .   5S  .   .
        """
    assert play(suits) == Score(LineScore(0, 4, 3, 0), LineScore(2, 0, 3, 0))
    assert play(suits, True) == Score(LineScore(0, 4, 3, 0), LineScore(2, 0, 3, 0))


def test_cards_elsewhere_do_not_matter() -> None:
    """What lies in neither line of the play."""
    assert (
        play(
            """
            8H  8C  .   8D  7C
            7S  6S  .   6D  5C
            .   .   [8S] .  .
            9S  TS  .   TD  9C
            JS  QS  .   QD  JC
            """,
            True,
        ).points
        == 0
    )


@pytest.mark.parametrize(
    ("drawn", "expected"),
    [
        ("8C 8H KS 3D 3S", LineScore(4, 0, 0, 0)),  # two pairs
        ("8C 8H 3C 3D 3S", LineScore(8, 0, 0, 0)),
        ("2C 2H 2S 2D KS", LineScore(12, 0, 0, 0)),
        ("8C 7C 8H 8D 6H", LineScore(6, 9, 0, 6)),
        ("8C 7C 8H 7D 6H", LineScore(4, 12, 0, 8)),
        ("QS KS AS 2D 3D", LineScore(0, 3, 3, 4)),  # A 2 3, and no step from K to A; Q 2 3, K 2 3
        ("5H JC QC KC 4D", LineScore(0, 3, 3, 6)),  # 5 with each court card
        ("5H 5C 5S TC 5D", LineScore(12, 0, 0, 16)),  # four times 5 5 5, four times 5 10
        ("AH 4H 7H 9H JH", LineScore(0, 0, 5, 2)),  # A 4 J
        ("AH 4H 7H 9S JH", LineScore(0, 0, 3, 2)),
        ("AH 4H 7S 9H JH", LineScore(0, 0, 0, 2)),
        ("AH 2C 3H 4D 5H", LineScore(0, 5, 0, 2)),
    ],
)
def test_hands_at_the_end(drawn: str, expected: LineScore) -> None:
    """Everything that is in a full line, once (2.4)."""
    for way in (drawn.split(), drawn.split()[::-1]):
        cards = parse_cards(" ".join(way))
        assert scoring.score_hand(cards, True) == expected
        assert scoring.score_hand(cards, False) == replace(expected, fifteens=0)
        assert astuple(spiral_scorer.score_line_at_end(way, True)) == astuple(expected)


# --- Limits ----------------------------------------------------------------------------------------------------------


def test_no_line_scores_more_than_the_observation_has_room_for() -> None:
    """All ranks that five cards may have, whichever of them is played; and full lines."""
    most_play = most_hand = 0
    for ranks in combinations_with_replacement(range(13), 5):
        if max(map(ranks.count, ranks)) <= 4:
            cards = [13 * ranks[:at].count(rank) + rank for at, rank in enumerate(ranks)]
            most_play = max(most_play, *(scoring.score_line(cards, at, True).points for at in range(5)))
            most_hand = max(most_hand, scoring.score_hand(cards, True).points)
    assert (most_play, most_hand) == (20, 28)
    assert most_play + 5 <= LINE_LIMIT, "whatever is a flush besides"
    assert 4 * 12 * 2 * LINE_LIMIT <= POINTS_LIMIT
    assert 4 * 5 * (most_hand + 5) <= POINTS_LIMIT


# --- The order of dealing --------------------------------------------------------------------------------------------


@every_form
def test_R15_seat_1_deals_first_and_seats_deal_in_turn(rules: Rules) -> None:
    """The non-dealer begins each deal, and the dealer has the columns at its end."""
    game, batch, rng = Game.from_seed(rules, SEED), Batch(rules, 1), random.Random(SEED)
    batch.reset(SEED)
    for number in range(rules.deals):
        dealer = (1, 0, 1, 0)[number]
        deal, totals = game.deals[number], game.totals[:]
        assert (game.round, game.dealer, game.mover, game.ply) == (number, dealer, 1 - dealer, 0)
        assert game.scores == [0, 0]
        assert [set(game.hand(seat)) for seat in (0, 1)] == [set(hand) for hand in deal.hands]
        assert faces(game.board) == {CENTRE: card_name(deal.starter)}
        board = [*game.board]
        for ply in range(24):
            mover = (1 - dealer + ply) % 2
            assert game.mover == batch.mover[0] == mover
            assert batch.round[0] == number
            card = rng.choice(game.legal_cards())
            assert card in deal.hands[mover]
            board[SPIRAL[ply + 1]] = card
            gains = game.step(card)
            assert batch.step([card]).tolist() == [gains]
            if rules.scoring == "play":
                assert gains[1 - mover] == 0
        if rules.scoring == "end":
            end = spiral_scorer.score_at_end(faces(board), rules.fifteens)
            assert gains[dealer] == sum(parts.points for parts in end.columns)
            assert gains[1 - dealer] == sum(parts.points for parts in end.rows)
        assert game.totals == batch.totals[0].tolist()
        assert [total > before for total, before in zip(game.totals, totals, strict=True)] == [True, True]
    assert game.over
    assert batch.over[0]
    assert game.cell is None


# --- Illegal plays ---------------------------------------------------------------------------------------------------


def test_illegal_plays_are_explained_and_change_nothing() -> None:
    """Out of range, not in hand, played already, or after the end; the judge's referee refuses them too."""
    for game in positions(Rules(deals=1)):
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


# --- Two engines and a referee ---------------------------------------------------------------------------------------


class Comparison:
    """The same games in a batch, one by one and before a referee, compared after every play."""

    def __init__(self, rules: Rules, num_games: int, seed: int) -> None:
        self.rules, self.seed, self.plays = rules, seed, 0
        self.rng = np.random.default_rng(seed)
        self.observer = Observer(rules, preview=True)
        self.dict_space, self.flat_space = self.observer.dict_space(), self.observer.flat_space()
        self.batch = Batch(rules, num_games)
        self.games = [Game.from_seed(rules, seed + row) for row in range(num_games)]
        self.referees = [spiral_reference_game(rules, game.deals) for game in self.games]
        self.numbers = [0] * num_games
        self.batch.reset(seed)

    def deal(self) -> None:
        """Go on to the next game where one is over."""
        rows = np.flatnonzero(self.batch.over).tolist()
        self.batch.reset(rows=rows)
        for row in rows:
            self.numbers[row] += 1
            self.games[row] = Game.from_seed(self.rules, self.seed + row, self.numbers[row])
            self.referees[row] = spiral_reference_game(self.rules, self.games[row].deals)

    def step(self) -> None:
        """Play a random card everywhere, and nonsense in games that are over."""
        batch, rules = self.batch, self.rules
        actions = np.where(batch.over, -5, legal_actions(batch, self.rng))
        live = np.flatnonzero(~batch.over)
        values = dict(zip(live.tolist(), batch.value(actions[live], live).tolist(), strict=True))
        expected = []
        for row, (game, referee, card) in enumerate(zip(self.games, self.referees, actions.tolist(), strict=True)):
            if game.over:
                expected.append([0, 0])
                continue
            cell = referee.cell
            judged = score_play(referee.board, cell, DECK[card], rules.fifteens)
            assert game.cell is not None
            assert divmod(game.cell, 5) == cell
            assert astuple(game.score(card)) == astuple(judged), "row and column, part by part"
            assert values[row] == [judged.row.points, judged.column.points]
            gains = list(referee.play(DECK[card]))
            assert game.step(card) == gains
            expected.append(gains)
            self.plays += 1
        if self.rng.random() < 0.5:
            assert batch.step(actions).tolist() == expected
        else:  # in two parts, the rows in any order
            order = self.rng.permutation(len(actions))
            for rows in np.split(order, [len(order) // 3]):
                assert batch.step(actions[rows], rows).tolist() == [expected[row] for row in rows]
        self.compare()

    def compare(self) -> None:
        """Every array of the batch against the games, and those against the referee."""
        batch, games = self.batch, self.games
        dtypes: dict[str, Any] = {"board": np.int8, "over": np.bool_}
        for name in ("board", "over", "ply", "scores", "totals", "mover", "round"):
            array: npt.NDArray[Any] = np.array([getattr(game, name) for game in games], dtypes.get(name, np.int64))
            same(getattr(batch, name), array, name)
        hands = np.unpackbits(batch.hands.view(np.uint8), axis=1, bitorder="little").reshape(len(games), 2, 64)
        same(hands[..., :52], np.array([game.hands for game in games], np.uint8))
        assert not hands[..., 52:].any()
        mask = batch.mask()
        tried = self.rng.integers(-3, 55, len(games))
        known = (tried >= 0) & (tried < 52)
        same(batch.is_legal(tried), known & mask[np.arange(len(games)), np.where(known, tried, 0)])
        for row, (game, referee) in enumerate(zip(games, self.referees, strict=True)):
            legal = np.flatnonzero(mask[row]).tolist()
            assert set(names(legal)) == referee.legal
            assert list(game.legal_cards()) == legal
            assert (game.round, game.over, game.ply) == (referee.number, referee.over, referee.played)
            assert game.over or (game.mover, game.dealer) == (referee.mover, referee.dealer)
            assert (game.scores, game.totals) == (referee.scores, referee.totals)
            assert faces(game.board) == referee.board
            assert [set(names(game.hand(seat))) for seat in (0, 1)] == list(referee.hands)
            best = max(referee.totals)
            assert game.winners == tuple(seat for seat in (0, 1) if referee.totals[seat] == best)

    def look(self) -> None:
        """What the seats observe lies in the spaces, in both engines alike."""
        for seat in (0, 1):
            rows = self.observer.observe_batch(self.batch, np.full(len(self.games), seat))
            flat = self.observer.flatten(rows)
            for row, game in enumerate(self.games):
                seen = self.observer.observe(game, seat)
                same({name: piece[row] for name, piece in rows.items()}, seen)
                assert self.dict_space.contains(seen)
                assert self.flat_space.contains(flat[row])


def play_at_random(rules: Rules, num_games: int, plays: int, seed: int) -> None:
    """Compare at least this many random plays."""
    comparison = Comparison(rules, num_games, seed)
    comparison.compare()
    while comparison.plays < plays:
        comparison.step()
        # Finished games wait for each other, so that batches with some of them are stepped too.
        if comparison.batch.over.mean() > 0.25:
            comparison.deal()
            comparison.compare()


@every_form
def test_engines_and_referee_agree_on_random_plays(rules: Rules) -> None:
    play_at_random(rules, num_games=40, plays=2_000, seed=SEED)


@pytest.mark.slow
@pytest.mark.parametrize("fifteens", [False, True])
@pytest.mark.parametrize("scoring_at", ["play", "end"])
def test_long_engines_and_referee_agree_on_100_000_random_plays(scoring_at: Any, fifteens: bool) -> None:
    for deals in (1, 2, 4):
        play_at_random(Rules(scoring_at, fifteens, deals), 250, 34_000, 10_000 * deals)


# --- Observations ----------------------------------------------------------------------------------------------------


@every_form
def test_observations_are_those_of_a_referee(rules: Rules) -> None:
    """Board, hand and every count by name, for both seats, against the referee; within the spaces at every step."""
    comparison = Comparison(rules, 3, SEED + 50)
    observer = Observer(rules)
    while True:
        comparison.look()
        for seat, (game, referee) in product((0, 1), zip(comparison.games, comparison.referees, strict=True)):
            seen = observer.observe(game, seat)
            counts = dict(zip(observer.counts, seen["counts"].tolist(), strict=True))
            other, begins = 1 - seat, spiral_scorer.non_dealer(referee.number)
            expected = {"ply": referee.played, "score_0": referee.scores[seat], "score_1": referee.scores[other]}
            if rules.deals > 1:
                expected |= {"total_0": referee.totals[seat], "total_1": referee.totals[other], "round": referee.number}
            # At the very end the turn goes round once more.
            mover = (begins + referee.played) % 2
            assert counts == expected | {"mover": mover ^ seat, "first": begins ^ seat}
            assert list(counts) == list(observer.counts)
            assert faces(seen["board"]) == referee.board
            assert set(names(np.flatnonzero(seen["hand"]))) == referee.hands[seat]
            assert seen.keys() == {"board", "hand", "counts"}
        if comparison.batch.over.all():
            break
        comparison.step()


@every_form
def test_the_preview_is_what_plays_make(rules: Rules) -> None:
    """As you go: what a card brings its player. At the end: what it makes at once, in one's lines and the other's."""
    observer, nonzero = Observer(rules, preview=True), np.zeros(2, np.int64)
    for game in positions(rules, SEED + 1):
        for seat in (0, 1):
            expected = np.zeros((52, 2), np.int16)
            for card in game.legal_cards() if seat == game.mover else ():
                assert game.cell is not None
                if rules.scoring == "play":
                    twin = game.copy()
                    gains = twin.step(card)
                    expected[card] = gains[seat], gains[1 - seat]
                else:
                    judged = score_play(faces(game.board), divmod(game.cell, 5), DECK[card], rules.fifteens)
                    lines = judged.row.points, judged.column.points
                    expected[card] = lines[::-1] if seat == game.dealer else lines
            same(observer.observe(game, seat)["preview"], expected)
            nonzero += np.count_nonzero(expected, axis=0)
    assert (nonzero > 0).tolist() == [True, rules.scoring == "end"], "points should have been seen"


def test_the_table_of_an_observation() -> None:
    """Which piece lies where, and between which limits; what it means is told in words beside it."""
    rows = [
        [cell.strip(" `") for cell in row.split("|")] for row in Observer(Rules(), preview=True).table().splitlines()
    ]
    assert [(where, piece, shape, limits) for _, where, piece, shape, _, limits, _ in rows[2:]] == [
        ("0:25", "board", "[25] int8", "-1 ... 51"),
        ("25:77", "hand", "[52] int8", "0 ... 1"),
        ("77:85", "counts", "[8] int16", "0 ... 4000"),
        ("77", "counts[0]", "ply", "0 ... 24"),
        ("78", "counts[1]", "score_0", "0 ... 4000"),
        ("79", "counts[2]", "score_1", "0 ... 4000"),
        ("80", "counts[3]", "total_0", "0 ... 4000"),
        ("81", "counts[4]", "total_1", "0 ... 4000"),
        ("82", "counts[5]", "round", "0 ... 1"),
        ("83", "counts[6]", "mover", "0 ... 1"),
        ("84", "counts[7]", "first", "0 ... 1"),
        ("85:189", "preview", "[52, 2] int16", "0 ... 82"),
    ]


# --- Text ------------------------------------------------------------------------------------------------------------


def test_a_game_as_text() -> None:
    """The square with the next cell marked, both hands or one's own, who deals and what everybody has."""
    game = Game(Rules(), [the_worked_deal(), Deal.from_seed(Rules(), 0)])
    for name, *_ in WORKED_PLAYS[:7]:
        game.step(parse_card(name))
    square = [
        "     0   1   2   3   4",
        "  0  .   .   .   .   .",
        "  1  .   TH [3S] ()  .",
        "  2  .   JD  JS  JH  .",
        "  3  .   9C  8S  TS  .",
        "  4  .   .   .   .   .",
    ]
    last = ["  last: seat 0 played 3S at (1, 2): 3 points", "    flush +3 (2, 2) (3, 2)"]
    annie, benny = "8S QS 2H 7H AC 3C 5C 7C 4D 8D", "AS 5S 7S 4H 6H 8H 8C KC 6D QD"
    annie = annie.removeprefix("8S ")  # played

    def lines(hands: tuple[str, str]) -> list[str]:
        return [
            *square,
            f"  seat 0 (non-dealer):   11 points, hand: {hands[0]}",
            f"> seat 1 (dealer):    6 points, hand: {hands[1]}",
            *last,
            "  deal 1 of 2",
        ]

    assert ansi(game).splitlines() == lines((annie, benny))
    assert ansi(game, 0).splitlines() == lines((annie, "10 cards"))
    assert ansi(game, 1).splitlines() == lines(("9 cards", benny))
    for name, *_ in WORKED_PLAYS[7:]:
        game.step(parse_card(name))
    assert ansi(game).splitlines()[6:] == [
        f"  seat 0 (dealer):   27 points, hand: {print_cards(game.hand(0))}",
        f"> seat 1 (non-dealer):   43 points, hand: {print_cards(game.hand(1))}",
        "  deal 2 of 2",
    ]
    assert ansi(game).split("\n")[3] == f"  2  .   .   {card_name(game.deals[1].starter)}  ()  ."


@pytest.mark.parametrize(("plays", "last"), [("play", "  over: won by seat 1"), ("end", "  over: won by seat 0")])
def test_a_finished_game_as_text(plays: Any, last: str) -> None:
    """No next cell, nobody to move, and who has won."""
    game = Game(Rules(plays, deals=1), the_worked_deal())
    for name, *_ in WORKED_PLAYS:
        assert "over" not in ansi(game)
        game.step(parse_card(name))
    text = ansi(game).splitlines()
    assert text[1:6] == [
        *("  0  6D  2H  7S  AC [AS]", "  1  5C  TH  3S  QD  QS", "  2  KC  JD  JS  JH  5S"),
        *("  3  3C  9C  8S  TS  7H", "  4  8C  7C  8H  8D  6H"),
    ]
    assert text[6:8] == [
        f"  seat 0 (non-dealer):   {game.totals[0]} points, hand: 4D",
        f"  seat 1 (dealer):   {game.totals[1]} points, hand: 4H",
    ]
    scored = [": 5 points", "    kinds +2 (0, 3)", "    flush +3 (1, 4) (2, 4)"] if plays == "play" else [""]
    assert text[8:-1] == ["  last: seat 1 played AS at (0, 4)" + scored[0], *scored[1:]]
    assert text[-1] == last
    game.totals[:] = [30, 30]
    assert ansi(game).endswith("over: won by seat 0 and 1")


# --- Speed -----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("form", ["spiral-play-2", "spiral-play+fifteens-2", "spiral-end-2", "spiral-end+fifteens-2"])
def test_the_batch_is_much_faster_than_plain_games(form: str) -> None:
    """At 4096 games, per play, 15 times; processor time, medians of runs that take turns."""
    rules, num_games = FORMS[form], 4096
    batch, rng = Batch(rules, num_games), np.random.default_rng(0)
    many, single = [], []
    for run in range(5):
        batch.reset(run)
        spent = 0.0
        while not batch.over.all():
            actions = legal_actions(batch, rng)
            start = time.process_time()
            batch.step(actions)
            spent += time.process_time() - start
        many.append(spent / (24 * rules.deals * num_games))
        spent, choice = 0.0, random.Random(run)
        for number in range(60):
            game, script = Game.from_seed(rules, run, number), list[int]()
            again = game.copy()
            while not game.over:
                script.append(choice.choice(game.legal_cards()))
                game.step(script[-1])
            start = time.process_time()
            for card in script:
                again.step(card)
            spent += time.process_time() - start
        single.append(spent / (24 * rules.deals * 60))
    ratio = statistics.median(single) / statistics.median(many)
    print(f"{form}: a play takes {statistics.median(many) * 1e9:.0f} ns in the batch, {ratio:.0f} times as long alone")
    assert ratio >= 15
