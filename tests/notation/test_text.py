"""Positions as text and JSON are correct and contain no hidden information; actions are parsed as they are printed."""

import json
import random
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest

from quincunx_env import spiral
from quincunx_env.core.deal import Deals
from quincunx_env.core.game import IllegalAction
from quincunx_env.core.rules import BaseRules
from quincunx_env.notation.text import parse_action, play_score, print_action, to_json, to_text
from quincunx_env.quincunx import Rules
from quincunx_env.registry import make_observer, spec_of
from quincunx_env.testing import assert_no_leak
from tests.variants import BASES, COVERING, EVERY_GAME, SPIRAL, by_name, new_game, random_action

every_game = by_name({name: rules for name, rules in EVERY_GAME.items() if name in COVERING})


@every_game
def test_json_has_the_state_of_the_game(rules: BaseRules) -> None:
    """Board, hands and points; the last play; the legal plays with what they bring."""
    game, rng, first = new_game(rules, seed=2), random.Random(0), 0
    keys = to_json(game).keys()
    while True:
        mover = game.mover
        position = to_json(game, mover, legal=game.ply % 8 == 0)
        assert json.loads(json.dumps(position)) == position
        assert position.keys() == keys
        names = spec_of(rules).notation.NAMES
        assert [names.parse_card(card) if card else -1 for row in position["board"] for card in row] == [
            *game.board[: rules.num_cells]
        ]
        laid = [-1 if ply is None else ply for row in position.get("order", ()) for ply in row]
        assert laid == ([] if isinstance(rules, spiral.Rules) else [*game.order[: rules.num_cells]])
        assert [names.parse_card(card) for card in position["hands"][mover]] == [*game.hand(mover)]
        assert [seat for seat, hand in enumerate(position["hands"]) if hand is not None] == [mover]
        assert position["hand_sizes"] == [len(game.hand(seat)) for seat in range(rules.num_players)]
        assert (position["totals"], position["scores"]) == (game.totals, game.scores)
        first = mover if game.ply == 0 else first
        assert [position[key] for key in ("game", "seat", "round", "first", "ply", "over")] == [
            *(spec_of(rules).name, mover, game.round, first, game.ply, game.over)
        ]
        assert (position["rules"], position["mover"]) == (asdict(rules), None if game.over else mover)  # type: ignore[call-overload]
        assert (position["previous_round"] is None) == (game.round == 0)
        if game.over:
            break
        pending = getattr(game, "pending", None)
        if position["legal"] is not None and not pending:
            plays = np.flatnonzero(make_observer(rules).mask(game)).tolist()
            assert [play["number"] for play in position["legal"]] == plays
            assert all(parse_action(game, play["action"]) == play["number"] for play in position["legal"])
        action = random_action(game, rng)
        round, scores = game.round, play_score(game, action)
        if scores:
            assert scores.points == sum(scores.parts.values())
            if not isinstance(rules, spiral.Rules):
                card, cell = pending or divmod(action, rules.num_cells)
                assert scores[:2] == game.value(card, cell)
        game.step(action)
        if game.round == round and game.decision == "play":
            last = to_json(game, mover)["last"]
            assert (last["seat"], last["score"]) == (mover, scores and scores._asdict())
            assert last["number"] == action or pending


LEAKS = BASES | SPIRAL | {"extended": Rules(3, excuse=True, pawns=True, flush=True, simpleton=True, match=True)}


@pytest.mark.parametrize("rules", LEAKS.values(), ids=LEAKS)
def test_no_leak(rules: BaseRules) -> None:
    """Permuting what a seat cannot see changes no byte."""

    def look(deals: Deals, actions: list[int], seat: int) -> Any:
        game = spec_of(rules).Game(rules, deals)
        for action in actions:
            game.step(action)
        legal = len(actions) % 9 == 0
        return to_text(game, seat, legal), json.dumps(to_json(game, seat, legal))

    assert assert_no_leak(look, rules, permutations=1) > 0


def test_all_hands_are_shown_on_request_but_not_the_pile() -> None:
    game = new_game(Rules(num_players=2), seed=0)
    position = to_json(game)
    assert position["seat"] is None
    assert [len(hand) for hand in position["hands"]] == [10, 10]
    assert position["pile"] == 11
    shown = {card for cards in (*position["hands"], *position["board"]) for card in cards if card}
    assert len(shown) == 25
    assert all(card in to_text(game) for card in shown)


def test_the_text_explains_scores_and_lists_legal_plays() -> None:
    game = new_game(Rules(num_players=2), seed=0)
    game.step(parse_action(game, "AV (0, 1)"))
    text = to_text(game, 1, legal=True).splitlines()
    at = text.index("  last: seat 0 played AV at (0, 1): 3 points")
    assert text[at + 1 : at + 3] == ["    basic -2 (0, 0)", "    pair +5 (0, 0)"]
    assert "    AM (0, 2): +28 (basic -2, three +30)" in text
    assert "    AM (0, 3): +0 (1 draw)" in text
    assert sum(line.startswith("    ") for line in text[at + 3 :]) == 10 * 19
    assert "    AM" not in to_text(game, 0, legal=True), "the legal plays are the hand of the seat to move"


def test_json_of_an_announcement() -> None:
    game = new_game(Rules(num_players=2, simpleton=True), seed=0)
    assert to_json(game)["pending"] is None
    assert "announcing" not in to_text(game)
    game.step(parse_action(game, "AV (0, 1)"))
    position = to_json(game, 1, legal=True)
    assert position["pending"] == {"action": "AV (0, 1)", "least": -64, "most": 319}
    assert "announcing" in to_text(game)
    assert position["legal"] == []
    assert play_score(game, parse_action(game, "announce 12")) == (3, 0, {"basic": -2, "pair": 5})
    assert print_action(game, parse_action(game, "12")) == "announce 12"


@pytest.mark.parametrize("text", ["2MK (1, 3)", " 2MK 1 3 ", "2MK 1,3", "2MK(1,3)"])
def test_brackets_and_comma_may_be_left_out(text: str) -> None:
    game = new_game(Rules(num_players=2), seed=0)
    assert print_action(game, parse_action(game, text)) == "2MK (1, 3)"


SIMPLETON = Rules(num_players=2, simpleton=True)


@pytest.mark.parametrize(
    ("rules", "text", "mistake", "way_out"),
    [
        (Rules(), "hello", "'hello' is not a play: write card and place as in '2MK (1, 3)'", "seat 0 may play"),
        (Rules(), "2MK", "is not a play", "seat 0 may play"),
        (Rules(), "12", "is not a play", "seat 0 may play"),
        (Rules(), "2KM (1, 1)", "unknown card '2KM'", "suits in the order MSVLYK"),
        (Rules(), "PVLY (1, 1)", "PVLY belongs to the extended deck", "seat 0 may play"),
        (Rules(), "AV (1, 4)", "(1, 4) is off the grid", "which ends at (3, 3)"),
        (Rules(), "AV (0, 0)", "the cell is taken", "legal cells are"),
        (Rules(), "CM (1, 1)", "it is not in the hand of seat 0", "which holds"),
        (SIMPLETON, "announce 3", "no announcement is due", "a card must be played first"),
        (SIMPLETON, "announce 400", "an announcement of 400 points is out of range", "seat 0 may play"),
        (spiral.Rules(), "1S", "unknown card '1S'", "seat 0 may play"),
    ],
)
def test_errors_name_the_mistake_and_what_is_legal(rules: BaseRules, text: str, mistake: str, way_out: str) -> None:
    game = new_game(rules, seed=0)
    with pytest.raises(IllegalAction) as error:
        parse_action(game, text)
    assert mistake in str(error.value)
    assert way_out in str(error.value)


def test_nothing_is_legal_any_more_when_the_game_is_over() -> None:
    game, rng = new_game(Rules(), seed=0), random.Random(0)
    while not game.over:
        game.step(random_action(game, rng))
    with pytest.raises(IllegalAction, match="the game is over"):
        parse_action(game, "AV (1, 1)")
    position = to_json(game, 0, legal=True)
    assert (position["legal"], position["mover"], position["winners"]) == ([], None, [])
    assert position["lost"], "a lost solitaire has no winner"
    assert position["rating"] in to_text(game)


# --- Arguments -------------------------------------------------------------------------------------------------------

KINDS = {"quincunx": SIMPLETON, "solitaire": Rules(), "spiral": spiral.Rules()}
every_kind = pytest.mark.parametrize("rules", KINDS.values(), ids=KINDS)


@every_kind
@pytest.mark.parametrize("action", [-3, -1, 10**6, 1.0, "2MK", None, True], ids=repr)
def test_what_is_no_action_has_neither_text_nor_score(rules: BaseRules, action: Any) -> None:
    game = new_game(rules, 0)
    for ask in (print_action, play_score):
        with pytest.raises(ValueError, match=f"action must be an integer from 0 to {rules.num_actions - 1}, got"):
            ask(game, action)


def test_plays_in_taken_cells_and_announcements_that_are_not_due_have_no_score() -> None:
    game = new_game(SIMPLETON, 0)
    with pytest.raises(ValueError, match="cell 0 is taken"):
        play_score(game, 0)
    with pytest.raises(ValueError, match="announce 0: no announcement is due"):
        play_score(game, SIMPLETON.num_plays_encoded + 64)
    over = new_game(spiral.Rules(deals=1), 0)
    while not over.over:
        over.step(over.legal_cards()[0])
    with pytest.raises(ValueError, match="the game is over: no card is played any more"):
        play_score(over, 0)


@every_kind
@pytest.mark.parametrize("text", [None, 5, b"AV (0, 1)"], ids=repr)
def test_actions_are_read_from_strings_only(rules: BaseRules, text: Any) -> None:
    game = new_game(rules, 0)
    with pytest.raises(IllegalAction, match=r"an action is read from a string, got .*seat 0 may play"):
        parse_action(game, text)


@every_kind
def test_plays_are_encoded_from_cards_and_cells_that_exist(rules: BaseRules) -> None:
    notation = spec_of(rules).notation
    assert notation.encode_play(rules, np.int64(3), np.uint8(4)) == notation.encode_play(rules, 3, 4)  # type: ignore[arg-type]
    for card in (-1, rules.num_cards, 1.0):
        with pytest.raises(ValueError, match="card must be an integer from 0 to"):
            notation.encode_play(rules, card, 0)  # type: ignore[arg-type]
    for cell in (-1, rules.num_cells, (0, 1)):
        with pytest.raises(ValueError, match="cell must be an integer from 0 to"):
            notation.encode_play(rules, 0, cell)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="card must be an integer from -1 to"):
        notation.card_names([-5])
