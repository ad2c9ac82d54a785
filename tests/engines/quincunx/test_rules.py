"""The rules through both engines: options and set-ups, the examples of the text, and every ruling by its number."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from quincunx_env.core.cards import EMPTY
from quincunx_env.quincunx import scoring
from quincunx_env.quincunx.batch import Batch
from quincunx_env.quincunx.cards import parse_card
from quincunx_env.quincunx.deal import Deal
from quincunx_env.quincunx.game import Game
from quincunx_env.quincunx.rules import Rules
from quincunx_env.quincunx.scoring import Score
from tests import reference_scorer as scorer
from tests.reference_game import NAMES
from tests.variants import BASES, TABLE_OF_THREE, empty_cells, random_action, stage

SOLITAIRE = Rules()
FLUSH = replace(TABLE_OF_THREE, flush=True)
EXTENDED = replace(TABLE_OF_THREE, excuse=True, pawns=True)
EVERYTHING = replace(EXTENDED, flush=True)


def score(picture: str, rules: Rules = TABLE_OF_THREE) -> Score:
    """Play the drawn play in both engines; returns its parts."""
    return stage(picture, rules).play()


# --- Options ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_players": 0}, r"num_players must be 1 \(solitaire\), 2, 3 or 4, got 0"),
        ({"num_players": 5}, r"num_players must be .* got 5"),
        ({"num_players": 2.0}, r"num_players must be .* got 2\.0"),
        ({"num_players": "2"}, r"num_players must be .* got '2'"),
        ({"num_players": True}, r"num_players must be .* got True"),
        ({"num_players": 2, "start": "middle"}, r"start must be 'corners' or 'open', got 'middle'"),
        ({"start": None}, r"start must be 'corners' or 'open', got None"),
        ({"edge_contact": 1}, r"edge_contact must be True or False, got 1"),
        ({"excuse": 1}, r"excuse must be True or False, got 1"),
        ({"pawns": 4}, r"pawns must be True or False, got 4"),
        ({"flush": "yes"}, r"flush must be True or False, got 'yes'"),
        ({"num_players": 2, "simpleton": None}, r"simpleton must be True or False, got None"),
        ({"num_players": 2, "match": 2}, r"match must be True or False, got 2"),
        ({"start": "open"}, r"start='open' needs 2 to 4 players"),
        ({"simpleton": True}, r"simpleton=True needs 2 to 4 players"),
        ({"match": True}, r"match=True needs 2 to 4 players"),
        ({"num_players": 2, "edge_contact": True}, r"edge_contact=True is an option of the solitaire"),
        ({"num_players": 3, "start": "open", "edge_contact": True}, r"edge_contact=True is an option of the solitaire"),
    ],
)
def test_bad_options_are_refused_with_what_is_allowed(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Rules(**options)


def test_all_other_combinations_are_games() -> None:
    """Count what is accepted: 2 solitaires and 3 x 2 games of several players, each with their own switches."""
    accepted = 0
    switches = itertools.product((False, True), repeat=6)
    for players, start, values in itertools.product((1, 2, 3, 4), ("corners", "open"), switches):
        names = ("edge_contact", "excuse", "pawns", "flush", "simpleton", "match")
        options: dict[str, Any] = dict(zip(names, values, strict=True))
        try:
            Rules(players, start, **options)  # type: ignore[arg-type]
        except ValueError:
            continue
        accepted += 1
    assert accepted == 2 * 8 + 6 * 32


def test_rules_are_values() -> None:
    assert Rules(num_players=2) == Rules(num_players=2) != Rules(num_players=2, flush=True)
    assert len({Rules(), Rules(1), Rules(flush=True)}) == 2
    with pytest.raises(AttributeError):
        Rules().flush = True  # type: ignore[misc]


# --- 1.2 Set-up ------------------------------------------------------------------------------------------------------

CORNERS = {(0, 0), (0, 4), (4, 0), (4, 4)}

SETUPS: list[tuple[str, int, set[tuple[int, int]], int, int]] = [
    ("solitaire", 4, {(0, 0), (0, 3), (3, 0), (3, 3)}, 8, 16),
    ("solitaire-contact", 4, {(0, 0), (0, 3), (3, 0), (3, 3)}, 8, 16),
    ("corners-2", 5, CORNERS | {(2, 2)}, 10, 25),
    ("corners-3", 5, CORNERS, 7, 25),
    ("corners-4", 5, CORNERS | {(2, 2)}, 6, 25),
    ("open-2", 9, {(4, 4)}, 12, 25),
    ("open-3", 9, {(4, 4)}, 8, 25),
    ("open-4", 9, {(4, 4)}, 6, 25),
]
"""Base, side, face-up cards, cards in each hand, cards at the end."""


@pytest.mark.parametrize(("base", "side", "face_up", "hand", "filled"), SETUPS)
@pytest.mark.parametrize(("excuse", "pawns", "cards"), [(0, 0, 36), (1, 0, 37), (0, 1, 40), (1, 1, 41)])
def test_setups_of_the_table(
    base: str, side: int, face_up: set[tuple[int, int]], hand: int, filled: int, excuse: int, pawns: int, cards: int
) -> None:
    """A new game lies on the table as 1.2 says, and the rules tell the same sizes."""
    rules = replace(BASES[base], excuse=bool(excuse), pawns=bool(pawns))
    game = Game.from_seed(rules, 1)
    laid = {rules.grid.place(cell) for cell in range(rules.num_cells) if game.board[cell] != EMPTY}
    assert rules.grid.side == side
    assert laid == set(rules.setup.face_up) == face_up
    assert [len(game.hand(seat)) for seat in range(rules.num_players)] == [hand] * rules.num_players
    assert len(game.pile) == rules.pile_size == cards - len(face_up) - hand * rules.num_players
    assert rules.num_plays == filled - len(face_up)
    assert len(rules.deck) == cards
    assert rules.num_cards == (36 if cards == 36 else 41)
    held = {card for seat in range(rules.num_players) for card in game.hand(seat)}
    on_table = {game.board[rules.grid.cell(place)] for place in face_up}
    assert held | set(game.pile) | on_table == set(rules.deck)
    assert (40 in rules.deck, set(range(36, 40)) <= set(rules.deck)) == (bool(excuse), bool(pawns))


def test_sizes_of_the_action_space() -> None:
    assert Rules().num_actions == 36 * 16
    assert Rules(excuse=True).num_actions == 41 * 16
    assert Rules(num_players=2).num_actions == 36 * 25
    assert Rules(num_players=4, start="open", pawns=True).num_actions == 41 * 81
    announcing = Rules(num_players=2, simpleton=True)
    assert (announcing.num_plays_encoded, announcing.num_actions) == (36 * 25, 36 * 25 + 384)


# --- Examples of the text --------------------------------------------------------------------------------------------


def test_example_3_4_5_5_5_scores_the_three() -> None:
    played = score("3MV 4YK [5SV] 5ML 5YK")
    assert (played.threes, played.straights, played.pairs) == (("row",), (), ())
    assert played.points == 30 - 9


def test_example_3_4_5_4_3_scores_one_straight() -> None:
    played = score("3MV 4YK [5SV] 4MS 3SK")
    assert played.straights == ("row",)
    assert played.points == 20 - 9 - 9


def test_example_3_4_5_5_scores_straight_and_pair() -> None:
    played = score("3MV 4YK [5SV] 5ML")
    assert (played.straights, played.pairs) == (("row",), ((0, 3),))
    assert played.points == 20 + 5 - 9


@pytest.mark.parametrize(
    ("one", "other", "points", "draws"),
    [
        ("AM", "2MK", 3, 0),  # 2 ... 9 with an Ace and a shared suit
        ("AS", "2MK", -3, 0),
        ("AM", "8MS", 9, 0),
        ("4MS", "5SV", -9, 0),  # a shared suit alone does not help
        ("AM", "9MS", 0, 0),  # 10
        ("2MK", "8MS", 0, 0),
        ("AM", "CS", 0, 1),  # 11
        ("5SV", "6SY", 0, 1),
        ("CM", "CS", 0, 1),  # 20, and a pair
        ("2MK", "CS", 2, 0),  # 12 ... 19
        ("9MS", "CL", 9, 0),
        ("7SK", "8YK", 5, 0),
    ],
)
def test_basic_table(one: str, other: str, points: int, draws: int) -> None:
    """A row of the table of 1.4, whichever of the two cards is played, on each side."""
    for played, lying in ((one, other), (other, one)):
        for picture, side in (
            (f"[{played}] {lying}", (0, 1)),
            (f"{lying} [{played}]", (0, 0)),
            (f"{lying}\n[{played}]", (0, 0)),
            (f"[{played}]\n{lying}", (1, 0)),
        ):
            result = score(picture)
            assert result.basic == ({side: points} if points else {})
            assert result.draws == ((side,) if draws else ())


def test_basic_effects_add_up_over_the_neighbours() -> None:
    played = score(".  2MK .\nAS [9MS] 8YK\n.  CK  .")
    assert played.basic == {(1, 2): 7, (2, 1): 9}
    assert played.draws == ((0, 1),)
    assert played.parts == {"basic": 16, "threes": 0, "straights": 0, "pairs": 0, "power": 0, "flush": 0}


def test_runs_inside_and_at_the_end() -> None:
    """Four or five cards in a row are still one straight, or one three of a kind."""
    for picture in ("[3MV] 4YK 5ML", "3MV [4YK] 5ML", "5ML 4YK [3MV]", "2MK 3MV [4YK] 5ML 6LK", "AM 2MK [3MV]"):
        assert (score(picture).straights, score(picture).threes) == (("row",), ())
    for picture in ("[CM] CS CV", "CS [CM] CV", "CS CV [CM] CL CY", "CS CV CL CY [CM]"):
        assert (score(picture).straights, score(picture).threes) == ((), ("row",))


def test_no_straight_around_the_corner_or_over_a_gap() -> None:
    for picture in ("9LK [CM] AM", "[CM] AM 2MK", "3MV [4YK] . 5ML", "4YK [3MV] 5ML", "3MV 4YK 5ML [7VY]"):
        assert score(picture).straights == ()


@pytest.mark.parametrize(
    ("line", "picture"),
    [
        ("row", "6MV [7SK] 8YK"),
        ("column", "6MV\n[7SK]\n8YK"),
        ("falling", "6MV . .\n. [7SK] .\n. . 8YK"),
        ("rising", ". . 6MV\n. [7SK] .\n8YK . ."),
    ],
)
def test_lines_count_in_all_four_directions_but_not_on_diagonals_of_the_solitaire(line: str, picture: str) -> None:
    for drawn, part in ((picture, "straights"), (picture.replace("6MV", "7VY").replace("8YK", "7ML"), "threes")):
        assert getattr(score(drawn), part) == (line,)
        expected = (line,) if line in ("row", "column") else ()
        assert getattr(score(drawn, SOLITAIRE), part) == expected


ALL_MOONS = """
2MK 3MV 4MS 5ML 6MV
.   .   .   .   .
CM [AM] .   .   9MS
.   .   .   .   8MS
CK  .   .   .   7ML
"""


def test_power_play_up_to_44() -> None:
    played = score(ALL_MOONS)
    assert (played.power, played.points, len(played.draws)) == (44, 44, 1)
    crown = score(ALL_MOONS.replace("CM [AM]", "AM [CM]"))
    assert (crown.power, crown.points) == (44, 44)


def test_power_play_needs_ace_and_crown_of_one_suit_side_by_side() -> None:
    assert score("[AK] CK . 2MK 9VY").power == 2
    assert score("AM [CM] 9VY").power == 0
    for picture in ("AM [CS] 2MK 4MS", "AM . [CM] 2MK", "AM CM [2MK]", "AM CM [CS]", "AM . 2MK\n. [CM] ."):
        assert score(picture).power == 0


def test_flush_is_a_bonus_of_its_own_beside_the_straight_of_its_line() -> None:
    played = score("6MV [7ML] 8MS 9MS", FLUSH)
    assert played.straights == played.flushes == ("row",)
    assert played.points == 20 + 10 + 3 + 5
    assert score("6MV [7ML] 8MS 9MS").flushes == (), "only with the variant"


def test_flush_boxes() -> None:
    assert score("2MK 9MS\n5ML [AM]", FLUSH).flushes == ("upper left",)
    assert score("2MK 3MV 6MV\n4MS [AM] 5ML\n8MS 9MS CM", FLUSH).flushes == (
        *("upper left", "upper right", "lower left", "lower right"),
    )


def test_the_excuse_is_a_blank() -> None:
    blank = score("CM  CS  CV\n9MS [X] 2MK\n3MV 4VL 5SV", EVERYTHING)
    assert (blank.points, blank.draws, blank.parts["flush"]) == (0, (), 0)
    assert score("9MS X [CM] 8YK", EXTENDED).basic == {(0, 3): 8}
    assert score("5SV X [5ML] 5YK", EXTENDED).threes == ()
    assert score("3MV X [4YK] 5ML", EXTENDED).straights == ()
    assert score("2MK 9MS X [AM] 5ML", EVERYTHING).flushes == ()


def test_pawns_turn_small_sums_positive_like_aces() -> None:
    assert score("8VL [PVLY]", EXTENDED).basic == {(0, 0): 9}
    assert score("8YK [PMSL]", EXTENDED).basic == {(0, 0): -9}
    assert score("AM [PMSL]", EXTENDED).basic == {(0, 0): 2}
    assert score("PVLY [PMSL]", EXTENDED).basic == {(0, 0): 2}
    assert score("PVLY [CM]", EXTENDED).draws == ((0, 0),)


def test_penalties_of_the_text() -> None:
    """1.5: its number; Crown 10; Ace 15; Pawn 10; Excuse 0; the judge says the same of every card."""
    for name, cost in {"2MK": 2, "9VY": 9, "CM": 10, "AM": 15, "PVLY": 10, "X": 0}.items():
        assert scoring.penalty([parse_card(name)]) == cost
    for card, name in enumerate(NAMES):
        assert scoring.penalty([card]) == scorer.penalty(name)


def test_ratings_of_the_text() -> None:
    """1.5: a lost round ranks below all finished ones."""
    for points in range(-150, 400):
        for lost in (False, True):
            assert scoring.rating(points, lost) == scorer.rating(points, lost)
    steps = {-40: "below 80", 79: "below 80", 80: "80-99", 99: "80-99", 100: "100-119", 119: "100-119"}
    steps |= {120: "120-149", 149: "120-149", 150: "150 and more"}
    for points, expected in steps.items():
        assert scoring.RATINGS[scoring.rating(points, lost=False)] == expected
    assert scoring.RATINGS[scoring.rating(200, lost=True)] == "lost"


def test_the_worst_play() -> None:
    """1.6: true points are never below -36, four times the worst sum."""
    assert score(".  AM .\nAS [8YK] AV\n.  AL .").points == -36


# --- Rulings ---------------------------------------------------------------------------------------------------------


def test_R1_solitaire_into_any_empty_cell_or_in_contact() -> None:
    """The default is any empty cell; the option asks for the book's contact with a card in play."""
    for rules, expected in (
        (Rules(), {(r, c) for r in range(4) for c in range(4)} - {(0, 0), (0, 3), (3, 0), (3, 3)}),
        (Rules(edge_contact=True), {(0, 1), (1, 0), (0, 2), (1, 3), (2, 0), (3, 1), (2, 3), (3, 2)}),
    ):
        game, batch = Game.from_seed(rules, 3), Batch(rules, 1)
        batch.reset(seed=3)
        assert {rules.grid.place(cell) for cell in game.legal_cells()} == expected
        assert {rules.grid.place(cell) for cell in np.flatnonzero(batch.cell_mask()[0]).tolist()} == expected
    # A card played at the edge opens the cell beyond it.
    game = Game.from_seed(Rules(edge_contact=True), 3)
    game.play(game.hand(0)[0], game.rules.grid.cell((0, 1)))
    assert game.rules.grid.cell((1, 1)) in game.legal_cells()
    assert game.rules.grid.cell((2, 2)) not in game.legal_cells()


def test_R2_points_are_computed_with_the_new_card_and_before_drawing() -> None:
    """9 between 2 and 8 scores 7 and draws: what was drawn changes the hand, and nothing about this play's points."""
    position = stage("2MK [9MS] 8MS")
    game, batch = position.game, position.batch
    mover, top, before = game.mover, game.pile[0], game.hand(game.mover)
    played = position.play()
    assert (played.points, len(played.draws)) == (7, 1)
    assert game.hand(mover) == tuple(sorted({*before, top} - {position.card}))
    assert batch.hands[0, mover] == sum(1 << card for card in game.hand(mover))
    # The new card itself is part of the run that it completes.
    assert score("3MV [4VL] 5SV").straights == ("row",)


def test_R2_cards_drawn_by_the_last_play_count_as_penalty() -> None:
    """The last play draws before the round ends, so what it draws is left in hand."""
    found = 0
    for seed in range(300):
        rules = Rules(num_players=4)
        game, batch, rng = Game.from_seed(rules, seed), Batch(rules, 1), random.Random(seed)
        batch.reset(seed=seed)
        while game.ply < rules.num_plays - 1:
            action = random_action(game, rng)
            game.step(action)
            batch.step([action])
        [cell] = game.legal_cells()
        mover, pile = game.mover, game.pile
        for card in game.hand(mover):
            points, draws = game.value(card, cell)
            if not draws or not pile:
                continue
            found += 1
            end, twin = game.copy(), batch.fork([0])
            hand = {*game.hand(mover), *pile[:draws]} - {card}
            gains = end.play(card, cell)
            assert gains[mover] == points - sum(scorer.penalty(NAMES[held]) for held in hand)
            assert twin.step([card * rules.num_cells + cell]).tolist() == [gains]
    assert found > 20


def test_R3_draws_from_an_empty_pile_are_lost() -> None:
    """Players who draw all they can: a play takes what is left of the pile, and later ones draw nothing."""
    partly = wholly = 0
    for seed in range(30):
        rules = Rules(num_players=4)
        game, batch = Game.from_seed(rules, seed), Batch(rules, 1)
        batch.reset(seed=seed)
        while not game.over:
            plays = list(itertools.product(game.legal_cards(), game.legal_cells()))
            card, cell = max(plays, key=lambda play: game.value(*play)[1])
            _, draws = game.value(card, cell)
            mover, pile, hand = game.mover, game.pile, game.hand(game.mover)
            gains = game.play(card, cell)
            assert batch.step([card * rules.num_cells + cell]).tolist() == [gains]
            drawn = pile[:draws]
            assert set(game.hand(mover)) == {*hand, *drawn} - {card}
            assert game.pile == pile[len(drawn) :]
            assert batch.drawn[0] == game.drawn == rules.pile_size - len(game.pile)
            assert batch.hands[0, mover] == sum(1 << held for held in game.hand(mover))
            partly += 0 < len(pile) < draws
            wholly += 0 == len(pile) < draws
    assert partly > 5
    assert wholly > 20


def test_R4_straight_and_three_share_a_line() -> None:
    """The higher counts, alone; but only runs that hold the card played are compared."""
    assert score("3MV 4YK [5SV] 5ML 5YK").points == 21
    mirrored = score("5ML 5YK [5SV] 4YK 3MV")
    assert (mirrored.threes, mirrored.straights) == (("row",), ())
    low = score("[3MV] 4YK 5SV 5ML 5YK")
    assert (low.threes, low.straights) == ((), ("row",))
    high = score("3MV 4YK 5ML 5YK [5SV]")
    assert (high.threes, high.straights) == (("row",), ())


def test_R4_two_straights_in_one_line_count_once() -> None:
    for picture in ("3MV 4YK [5SV] 4MS 3SK", "9VY 8YK [7SK] 8MS 9MS"):
        assert score(picture).straights == ("row",)


def test_R4_bonuses_in_different_lines_all_count() -> None:
    played = score("3MV 4YK [5SV]\n.   .    5ML\n.   .    5YK")
    assert (played.straights, played.threes) == (("row",), ("column",))
    assert played.points == 50 - 9
    star = score("4YK 4MS 4VL\n.  [5SV] .\n6MV 6LK 6SY")
    assert (star.straights, star.points, len(star.draws)) == (("column", "falling", "rising"), 60 - 9, 1)


def test_R5_pairs_are_no_line_bonus() -> None:
    """A pair beside a straight in its line, and across a three of a kind; never with a card of the three."""
    assert score("3MV 4YK [5SV] 5ML").points == 20 + 5 - 9
    across = score(".  CL  .\nCS [CM] CV")
    assert (across.threes, across.pairs, across.points, len(across.draws)) == (("row",), ((0, 1),), 35, 3)
    beside_diagonal = score("CS  .   .\n.  [CM] CL\n.   .   CV")
    assert (beside_diagonal.threes, beside_diagonal.pairs) == (("falling",), ((1, 2),))
    assert score("CS CV [CM] CL").pairs == ()
    assert score(".   CS\n[CM] CV\n.   CL").pairs == ((1, 1),), "that three is not scored by this play"


def test_R6_one_flush_in_a_line_and_in_a_box_even_in_two_suits() -> None:
    assert score("AM [4MS] 8MS 9MS AS", FLUSH).flushes == ("row",)
    assert score("PMSL [4MS] 8MS 9MS", EVERYTHING).parts["flush"] == 10
    assert score("PMSL 4MS\n8MS [9MS]", EVERYTHING).flushes == ("upper left",)


def test_R7_solitaire_flushes_in_rows_columns_and_boxes_only() -> None:
    flush = Rules(flush=True)
    falling = "2MK .   .   .\n.   9MS .   .\n.   .  [AM] .\n.   .   .   5ML"
    rising = ".   .   .   2MK\n.   .  9MS .\n.  [AM] .   .\n5ML .   .   ."
    assert (score(falling, flush).flushes, score(rising, flush).flushes) == ((), ())
    on_five = "2MK .   .   .   .\n.   9MS .   .   .\n.   .  [AM] .   .\n.   .   .   5ML .\n.   .   .   .   CK"
    assert score(on_five, FLUSH).flushes == ("falling",)
    crossing = ".  4MS 3MV CK\n2MK 9MS [AM] 5ML\n.  .   6MV .\n.  .   7ML ."
    assert score(crossing, flush).flushes == ("row", "column", "upper left")


def test_R8_pawns_stand_between_nine_and_crown() -> None:
    for picture in ("9VY [PVLY] CV", "9VY PVLY [CV]", "[9VY] PVLY CV", "7VY 8YK 9LK [PMYK] CK", "8YK 9LK [PMYK]"):
        assert score(picture, EXTENDED).straights == ("row",)
    for pawns in (False, True):
        played = score("8YK 9LK [CM]", replace(TABLE_OF_THREE, pawns=pawns))
        assert played.straights == (() if pawns else ("row",))
        assert played.basic == {(0, 1): 9}
    assert score("[PMSL] 2MK 3MV", EXTENDED).straights == ()
    assert score("[AM] 2MK 3MV", EXTENDED).straights == ("row",)
    assert score("8YK 9LK [CM]", replace(TABLE_OF_THREE, excuse=True)).straights == ("row",), "the Excuse moves no rank"


def test_R9_pawn_is_a_rank() -> None:
    pair = score("PMSL [PVLY]", EXTENDED)
    assert (pair.pairs, pair.points) == (((0, 0),), 5 + 2)
    three = score("PMSL [PVLY] PSVK", EXTENDED)
    assert (three.threes, three.pairs, three.points) == (("row",), (), 30 + 2 + 2)
    mixed = score("AM [PMSL] PVLY", EXTENDED)
    assert (mixed.threes, mixed.pairs) == ((), ((0, 2),))


def test_R10_a_pawn_makes_no_power_play_but_adds_one_to_it() -> None:
    for picture in ("CM [PMSL] 2MK", "AM [PMSL] 2MK", "PMSL [CM] 2MK", "PMSL [AM] 2MK"):
        assert score(picture, EXTENDED).power == 0
    assert score("CM [AM] 9MS PMSL PVLY", EXTENDED).power == 10


@pytest.mark.parametrize("players", [2, 3, 4])
@pytest.mark.parametrize("error", [-7, -1, 0, 1, 7])
def test_R11_missing_points_go_to_the_next_player_and_an_excess_to_nobody(players: int, error: int) -> None:
    rules = Rules(num_players=players, simpleton=True)
    game, batch = Game.from_seed(rules, 4), Batch(rules, 1)
    batch.reset(seed=4)
    for turn in range(players + 1):  # beyond the last seat, whose next player is the first
        card, cell = game.legal_cards()[0], game.legal_cells()[0]
        true, _ = game.value(card, cell)
        chosen = card * rules.num_cells + cell
        assert game.step(chosen) == [0] * players == batch.step([chosen])[0].tolist()
        assert game.mover == batch.mover[0] == turn % players, "the same player announces"
        gains = [0] * players
        gains[turn % players] = true if error == 0 else true + error if error < 0 else true - error
        gains[(turn + 1) % players] = max(-error, 0)
        assert game.announce(true + error) == gains
        assert batch.step([rules.num_plays_encoded + 64 + true + error])[0].tolist() == gains


@pytest.mark.parametrize(
    ("announced", "true", "own", "taken"), [(12, 12, 12, 0), (10, 12, 10, 2), (14, 12, 10, 0), (0, -9, -18, 0)]
)
def test_R11_settlement(announced: int, true: int, own: int, taken: int) -> None:
    assert scoring.simpleton(announced, true) == (own, taken) == scorer.simpleton(announced, true)


def test_R13_a_side_at_the_edge_or_an_empty_cell_contributes_nothing() -> None:
    """The other sides still score: the same points in the middle, at the edge and on the way to it."""
    middle = score(".  .     .\n.  [9MS] 8YK\n.  .     .")
    left = score("[9MS] 8YK .   .   .")
    bottom = score(".\n.\n.\n8YK\n[9MS]")
    assert middle.points == left.points == bottom.points == 7
    alone = score("[9MS]")
    assert (alone.points, alone.draws, alone.basic) == (0, (), {})


def test_R14_flush_lines_are_unbroken_and_boxes_have_one_suit_in_common() -> None:
    for picture in ("2MK 9MS . [AM] 5ML", "2MK 9MS [AM] . 5ML", "2MK 9MS 9VY [AM] 5ML", "2MK [4YK] 4MS 8MS 9MS"):
        assert score(picture, FLUSH).flushes == ()
    assert score("2MK 9MS [AM] X 5ML", EVERYTHING).flushes == ()
    assert score("2MK 9MS [AM] 5ML 7ML", FLUSH).flushes == ("row",)
    # Each of the three shares a suit with the card played, but not the same.
    assert score("AM 5SV\n9MS [4MS]", FLUSH).flushes == ()
    assert score("8MS AS\n9MS [4MS]", FLUSH).flushes == ("upper left",)


@pytest.mark.parametrize("start", ["corners", "open"])
@pytest.mark.parametrize("players", [2, 3, 4])
def test_R15_seat_0_begins_the_first_round_and_the_deal_passes_on(players: int, start: Any) -> None:
    assert Game.from_seed(Rules(num_players=players, start=start), 9).mover == 0
    rules = Rules(num_players=players, start=start, match=True)
    game, batch, rng = Game.from_seed(rules, 9), Batch(rules, 1), random.Random(9)
    batch.reset(seed=9)
    first: list[int] = []
    while not game.over:
        if game.ply == 0:
            assert game.mover == game.first == batch.mover[0]
            assert game.round == batch.round[0] == len(first)
            first.append(game.mover)
        mover = game.mover
        action = random_action(game, rng)
        game.step(action)
        batch.step([action])
        if game.ply:
            assert game.mover == batch.mover[0] == (mover + 1) % players, "clockwise"
    assert first == list(range(players))


# --- Counting as an oracle -------------------------------------------------------------------------------------------

WAYS = [4, 24, 176, 1504, 14496]
"""Ordered ways to grow the open start by 1, 2, ... cards: at the last the limit of five first bites (else 14560)."""


def test_open_counts_through_game() -> None:
    level = [Game.from_seed(Rules(num_players=2, start="open"), 0)]
    counts = []
    for _ in WAYS:
        counts.append(sum(len(game.legal_cells()) for game in level))
        following = []
        for game in level if len(counts) < len(WAYS) else ():
            for cell in game.legal_cells():
                twin = game.copy()
                twin.play(twin.legal_cards()[0], cell)
                following.append(twin)
        level = following
    assert counts == WAYS


def test_open_counts_through_batch() -> None:
    rules = Rules(num_players=3, start="open")
    batch = Batch(rules, 1)
    batch.reset(seed=0)
    counts = []
    for _ in WAYS:
        rows, cells = np.nonzero(batch.cell_mask())
        counts.append(len(rows))
        batch = batch.fork(rows)
        batch.step(batch.card_mask().argmax(axis=1) * rules.num_cells + cells)
    assert counts == WAYS


def test_contact_counts_of_the_solitaire() -> None:
    """Between the corners of the 4x4 grid lie 12 cells, and all but the inner four touch a corner."""
    game, contact = Game.from_seed(Rules(), 0), Game.from_seed(Rules(edge_contact=True), 0)
    assert (len(game.legal_cells()), len(contact.legal_cells())) == (12, 8)
    assert len(empty_cells(game)) == len(empty_cells(contact)) == 12


def test_deals_of_the_staging_helper_are_legal() -> None:
    """The drawn positions are reached by legal plays from a deal that these rules could have dealt."""
    position = stage("3MV 4YK [5SV] 5ML 5YK")
    [deal] = position.game.deals
    deal.check(TABLE_OF_THREE)
    assert Deal.parse(str(deal)) == deal
    assert position.game.ply == 4
