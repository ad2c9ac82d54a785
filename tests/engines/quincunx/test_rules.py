"""The rules of Quincunx but for the score of a play: options, set-ups, turns, ends and their rulings by number."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from quincunx_env.core.cards import EMPTY
from quincunx_env.quincunx import scoring
from quincunx_env.quincunx.batch import Batch, ratings
from quincunx_env.quincunx.cards import parse_card, parse_cards
from quincunx_env.quincunx.game import Game
from quincunx_env.quincunx.rules import Rules
from tests import reference_scorer as scorer
from tests.reference_game import NAMES
from tests.variants import BASES, random_action

TABLE_OF_THREE = Rules(num_players=3)


# --- Options ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_players": 0}, r"num_players must be 1, 2, 3 or 4, got 0"),
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
        ({"mini": "yes"}, r"mini must be True or False, got 'yes'"),
        ({"mini": True, "num_players": 3}, r"mini=True needs 1 or 2 players, start='corners' and neither excuse nor"),
        ({"mini": True, "num_players": 2, "start": "open"}, r"mini=True needs 1 or 2 players"),
        ({"mini": True, "pawns": True}, r"mini=True needs .* neither excuse nor pawns"),
        ({"mini": True, "excuse": True}, r"mini=True needs .* neither excuse nor pawns"),
    ],
)
def test_bad_options_are_refused_with_what_is_allowed(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Rules(**options)


def test_all_other_combinations_are_games() -> None:
    """Count what is accepted: 2 solitaires and 3 x 2 games of several players, each with their own switches, and the
    mini variants of the solitaires and of a game for two.
    """
    accepted = 0
    switches = itertools.product((False, True), repeat=7)
    for players, start, values in itertools.product((1, 2, 3, 4), ("corners", "open"), switches):
        names = ("edge_contact", "excuse", "pawns", "flush", "simpleton", "match", "mini")
        options: dict[str, Any] = dict(zip(names, values, strict=True))
        try:
            Rules(players, start, **options)  # type: ignore[arg-type]
        except ValueError:
            continue
        accepted += 1
    assert accepted == 2 * 8 + 6 * 32 + 2 * 2 + 8


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
    """A new game has the sizes of the table in 1.2, and `Rules` states the same."""
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


MINI_DECK = {"AM", "AS", "AV", "AL", "4MS", "4VL", "5SV", "5ML", "CM", "CS", "CV", "CL"}


@pytest.mark.parametrize(("players", "centre", "hand", "pile"), [(1, set(), 3, 5), (2, {(1, 1)}, 2, 3)])
def test_R16_the_mini_variant_has_twelve_cards_and_nine_cells(
    players: int, centre: set[tuple[int, int]], hand: int, pile: int
) -> None:
    rules = Rules(players, mini=True)
    game = Game.from_seed(rules, 1)
    laid = {rules.grid.place(cell): game.board[cell] for cell in range(rules.num_cells) if game.board[cell] != EMPTY}
    assert rules.grid.side == 3
    assert laid.keys() == {(0, 0), (0, 2), (2, 0), (2, 2)} | centre
    assert [len(game.hand(seat)) for seat in range(players)] == [hand] * players
    assert len(game.pile) == pile
    cards = [*laid.values(), *game.pile, *(card for seat in range(players) for card in game.hand(seat))]
    assert {NAMES[card] for card in cards} == MINI_DECK == {NAMES[card] for card in rules.deck}
    assert len(cards) == 12
    assert len(laid) + rules.num_plays == 9


def test_R16_scores_of_the_mini_variant_have_every_part() -> None:
    """Everything but the flush bonus occurs in its games, which is why these cards were chosen."""
    counts: Counter[str] = Counter()
    for players in (1, 2):
        rules = Rules(players, mini=True)
        for seed in range(50):
            game, rng = Game.from_seed(rules, seed), random.Random(seed)
            while not game.over:
                card, cell = rng.choice(game.legal_cards()), rng.choice(game.legal_cells())
                score = game.score(card, cell)
                counts.update({f"{part}-{players}" for part in score.parts} | {f"draw-{players}" for _ in score.draws})
                game.play(card, cell)
    parts = ("basic", "draw", "pair", "power", "straight", "three")
    assert {f"{part}-{players}" for part in parts for players in (1, 2)} == counts.keys()
    assert min(counts.values()) >= 5, counts


def test_sizes_of_the_action_space() -> None:
    assert Rules(mini=True).num_actions == 36 * 9
    assert Rules().num_actions == 36 * 16
    assert Rules(excuse=True).num_actions == 41 * 16
    assert Rules(num_players=2).num_actions == 36 * 25
    assert Rules(num_players=4, start="open", pawns=True).num_actions == 41 * 81
    announcing = Rules(num_players=2, simpleton=True)
    assert (announcing.num_plays_encoded, announcing.num_actions) == (36 * 25, 36 * 25 + 384)


# --- 1.5 and 1.6 -----------------------------------------------------------------------------------------------------

PENALTIES = {2: "2MK 2SY 2VL", 3: "3MV 3SK 3LY", 4: "4YK 4MS 4VL", 5: "5SV 5ML 5YK", 6: "6MV 6LK 6SY"}
PENALTIES |= {7: "7SK 7VY 7ML", 8: "8YK 8MS 8VL", 9: "9VY 9LK 9MS", 10: "CM CS CV CL CY CK PVLY PMSL PSVK PMYK"}
PENALTIES |= {15: "AM AS AV AL AY AK", 0: "X"}


def test_penalties() -> None:
    """Its number; Crown 10; Ace 15; Pawn 10; Excuse 0."""
    assert sorted(" ".join(PENALTIES.values()).split()) == sorted(NAMES)
    for cost, cards in PENALTIES.items():
        for name in cards.split():
            assert scoring.penalty([parse_card(name)]) == scorer.penalty(name) == cost
    assert scoring.penalty(parse_cards("2MK AM X")) == 17


@pytest.mark.parametrize(
    ("least", "most", "rating"), [(-300, 79, 1), (80, 99, 2), (100, 119, 3), (120, 149, 4), (150, 500, 5)]
)
def test_ratings(least: int, most: int, rating: int) -> None:
    """A lost round ranks below all finished ones; of one round and of many."""
    every = np.arange(least, most + 1)
    assert (ratings(every, np.zeros(len(every), np.bool_)) == rating).all()
    assert not ratings(every, np.ones(len(every), np.bool_)).any()
    for points in range(least, most + 1):
        assert scoring.rating(points, lost=False) == scorer.rating(points, lost=False) == rating
        assert scoring.rating(points, lost=True) == scorer.rating(points, lost=True) == 0
    steps = f"below {most + 1}" if rating == 1 else f"{least} and more" if rating == 5 else f"{least}-{most}"
    assert (scoring.RATINGS[0], scoring.RATINGS[rating]) == ("lost", steps)


@pytest.mark.parametrize(
    ("announced", "true", "own", "taken"),
    [
        *((12, 12, 12, 0), (0, 0, 0, 0), (-9, -9, -9, 0)),
        *((10, 12, 10, 2), (0, 30, 0, 30), (-12, -9, -12, 3)),  # missing points go to the next player
        *((14, 12, 10, 0), (30, 0, -30, 0), (0, -9, -18, 0)),  # an excess is deducted and lost
    ],
)
def test_R11_settlement(announced: int, true: int, own: int, taken: int) -> None:
    assert scoring.simpleton(announced, true) == (own, taken) == scorer.simpleton(announced, true)


# --- Rulings about more than the score of a play (`test_worked_plays` has those) -------------------------------------


def test_R1_solitaire_into_any_empty_cell_or_in_contact() -> None:
    """The default is any empty cell; the option asks for the book's contact with a card in play."""
    for rules, expected in (
        (Rules(), {(r, c) for r in range(4) for c in range(4)} - {(0, 0), (0, 3), (3, 0), (3, 3)}),
        (Rules(edge_contact=True), {(0, 1), (1, 0), (0, 2), (1, 3), (2, 0), (3, 1), (2, 3), (3, 2)}),
    ):
        game, batch = Game.from_seed(rules, 3), Batch(rules, 1)
        batch.reset(seed=3)
        placement: scorer.Placement = "contact" if rules.edge_contact else "any"
        assert scorer.legal_cells(rules.setup.face_up, placement, side=4) == expected
        assert {rules.grid.place(cell) for cell in game.legal_cells()} == expected
        assert {rules.grid.place(cell) for cell in np.flatnonzero(batch.cell_mask[0]).tolist()} == expected
    # A card played at the edge opens the cell beyond it.
    game = Game.from_seed(Rules(edge_contact=True), 3)
    game.play(game.hand(0)[0], game.rules.grid.cell((0, 1)))
    assert game.rules.grid.cell((1, 1)) in game.legal_cells()
    assert game.rules.grid.cell((2, 2)) not in game.legal_cells()


def test_R2_points_are_computed_before_drawing() -> None:
    """A card that is drawn changes the hand, and nothing about the points of the play that draws it."""
    drawing = 0
    for seed in range(40):
        game, batch = Game.from_seed(TABLE_OF_THREE, seed), Batch(TABLE_OF_THREE, 1)
        batch.reset(seed=seed)
        plays = itertools.product(game.legal_cards(), game.legal_cells())
        card, cell = max(plays, key=lambda play: game.value(*play)[1])
        points, draws = game.value(card, cell)
        hand, pile = game.hand(0), game.pile
        assert game.play(card, cell) == [points, 0, 0] == batch.step([card * 25 + cell])[0].tolist()
        assert game.hand(0) == tuple(sorted({*hand, *pile[:draws]} - {card}))
        assert batch.hands[0, 0] == sum(1 << held for held in game.hand(0))
        drawing += draws > 0
    assert drawing > 20


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


# --- 1.2 Legal cells -------------------------------------------------------------------------------------------------


WAYS = [4, 24, 176, 1504, 14496]
"""Ordered ways to grow the open start by 1, 2, ... cards: at the last the limit of five first bites (else 14560)."""


@pytest.mark.parametrize(("placement", "expected"), [("open", WAYS), ("contact", [*WAYS[:4], 14560])])
def test_open_counts_through_the_reference_scorer(placement: Any, expected: list[int]) -> None:
    level, counts = [frozenset({(50, 50)})], []
    for _ in expected:
        level = [cells | {cell} for cells in level for cell in scorer.legal_cells(cells, placement, side=99)]
        counts.append(len(level))
    assert counts == expected
