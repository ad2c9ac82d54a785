"""Saved states and given positions of batches of both games: they load as they were, and bad ones change nothing."""

from __future__ import annotations

import copy
import io
import pickle
import random
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from quincunx_env.core.resample import resample
from quincunx_env.core.rules import BaseRules
from quincunx_env.quincunx.rules import Rules
from quincunx_env.registry import make_observer
from tests.variants import (
    MIXED,
    ONE_OF_EACH,
    SOME_SPIRAL,
    SPIRAL,
    by_name,
    in_the_middle,
    legal_actions,
    new_batch,
    play_on,
    random_action,
    same,
)

# --- Saved states ----------------------------------------------------------------------------------------------------


def test_a_snapshot_leaves_out_what_follows_from_the_rest() -> None:
    """Another entry, or one less, needs another `VERSION`."""
    kept = {"version", "rules", "board", "hands", "ply", "scores", "totals", "mover", "round", "over", "decks", "seed"}
    kept |= {"game", "_row_seed", "_row_resets"}
    assert new_batch(SPIRAL["spiral-play-1"], 1).get_state().keys() == kept
    open_start = new_batch(Rules(num_players=2, start="open"), 1)
    assert open_start.get_state().keys() == kept | {"order", "drawn", "pending", "lost"}


@by_name({**MIXED, **SOME_SPIRAL})
@pytest.mark.parametrize("steps", [7, 31])
def test_to_game_is_the_same_game(rules: BaseRules, steps: int) -> None:
    batch = in_the_middle(rules, steps=steps)
    if isinstance(rules, Rules) and rules.simpleton:
        assert (batch.pending[:, 0] >= 0).all()
    games = [batch.to_game(row) for row in range(5)]
    rng = random.Random(1)
    while not batch.over.all():
        actions = [0 if game.over else random_action(game, rng) for game in games]
        gains = batch.step(actions)
        for row, game in enumerate(games):
            if not game.over:
                assert game.step(actions[row]) == gains[row].tolist()
            assert (game.over, game.totals) == (batch.over[row], batch.totals[row].tolist())
            for name in ("board", "order") if isinstance(rules, Rules) else ("board",):
                assert list(getattr(game, name)) == getattr(batch, name)[row].tolist()


@by_name({**MIXED, **SOME_SPIRAL})
def test_copies_go_on_alike_and_apart(rules: BaseRules) -> None:
    """Pickle, deepcopy, fork and saved arrays: each plays on as the original does, and none disturbs another."""
    batch = in_the_middle(rules, steps=7)
    batch.check()
    before = batch.get_state()
    loaded = new_batch(rules, 5)
    loaded.set_state(before)
    loaded.check()
    twins = [pickle.loads(pickle.dumps(batch)), copy.deepcopy(batch), batch.fork(range(5)), loaded]
    expected = play_on(batch)
    for twin in twins:
        same(before, twin.get_state())
        assert play_on(twin) == expected
        same(batch.get_state(), twin.get_state())
        # The rows go on to the same next games, too.
        twin.reset()
    batch.reset()
    for twin in twins:
        same(batch.get_state(), twin.get_state())


@pytest.mark.parametrize(
    ("rules", "name"),
    [
        (rules, name)
        for rules in (Rules(num_players=2), SPIRAL["spiral-play-2"])
        for name in new_batch(rules, 1).get_state()
        if name not in ("version", "rules")
    ],
    ids=str,
)
def test_bad_state_arrays_are_named(rules: BaseRules, name: str) -> None:
    """Missing, of another shape or of another dtype: refused, and nothing has changed."""
    batch = in_the_middle(rules)
    before = batch.get_state()
    other = in_the_middle(rules, seed=5).get_state()
    good = other[name]
    message = re.escape(f"state array '{name}' must be {good.dtype} of shape {good.shape}")
    for bad in (None, good[:-1], good[..., None], good.astype(np.float64)):
        arrays = {key: array for key, array in other.items() if key != name}
        if bad is not None:
            arrays[name] = bad
        with pytest.raises(ValueError, match=message):
            batch.set_state(arrays)
        same(before, batch.get_state())


@by_name({**MIXED, **SOME_SPIRAL})
def test_every_position_of_play_is_consistent(rules: BaseRules) -> None:
    """Before the deal, at every step, in games sampled from observations and saved, after a forfeit."""
    batch, rng, observer = new_batch(rules, 3), np.random.default_rng(0), make_observer(rules)
    batch.check()
    batch.reset(seed=3)
    while not batch.over.all():
        batch.check()
        if batch.ply[0] % 7 == 3 and not batch.over[0]:
            seen = {name: piece[0] for name, piece in observer.observe_batch(batch).items()}
            sampled, loaded = resample(observer, seen, rng, 2), new_batch(rules, 2)
            sampled.check()
            file = io.BytesIO()
            np.savez(file, **sampled.get_state())
            file.seek(0)
            with np.load(file, allow_pickle=False) as state:
                loaded.set_state(state)
            same(loaded.get_state(), sampled.get_state())
        batch.step(legal_actions(batch, rng))
    for _ in range(2):
        batch.forfeit(range(3))
        batch.check()


Change = Callable[[dict[str, Any]], None]


def put(name: str, value: Any, at: Any = ()) -> Change:
    """Set entries of an array of game 1."""

    def change(state: dict[str, Any]) -> None:
        state[name][(1, *at) if isinstance(at, tuple) else (1, at)] = value

    return change


def swap(name: str, one: Any, other: Any) -> Change:
    """Exchange two entries of an array of game 1."""

    def change(state: dict[str, Any]) -> None:
        array = state[name][1]
        array[one], array[other] = array[other].copy(), array[one].copy()

    return change


def flip(card: int, seat: int = 0) -> Change:
    """Take a card from a hand of game 1, or give it to it."""

    def change(state: dict[str, Any]) -> None:
        state["hands"][1, seat] ^= np.uint64(1) << np.uint64(card)

    return change


def both(*changes: Change) -> Change:
    """One change after the other."""

    def change(state: dict[str, Any]) -> None:
        for each in changes:
            each(state)

    return change


def give_all(state: dict[str, Any]) -> None:
    """Seat 1 of game 1 holds the cards of both."""
    state["hands"][1] = 0, np.bitwise_or.reduce(state["hands"][1])


def lay_twice(state: dict[str, Any]) -> None:
    state["board"][1, state["board"][1].argmin()] = state["board"][1, 0]


def reverse_order(state: dict[str, Any]) -> None:
    order = state["order"][1]
    order[order > 0] = order.max() + 1 - order[order > 0]


def lay_in_a_row(state: dict[str, Any]) -> None:
    """The open start: six cards side by side."""
    board, order, row = state["board"][1], state["order"][1], [41, 42, 43, 44, 39]
    cards = board[[int((order == ply).argmax()) for ply in range(1, 6)]]
    board[order > 0], order[order > 0] = -1, -1
    board[row], order[row] = cards, range(1, 6)


TWO, OPEN, CLAIM = Rules(num_players=2), Rules(num_players=2, start="open"), Rules(num_players=2, simpleton=True)
SCORED, SQUARE = SPIRAL["spiral-play-2"], SPIRAL["spiral-end-1"]
FAULTS: dict[str, tuple[BaseRules, Change, str]] = {
    "card 130 as int8": (TWO, put("board", -126, 0), "the board holds a card that is not in the deck"),
    "card of another deck": (TWO, put("board", 40, 0), "the board holds a card that is not in the deck"),
    "card on the board twice": (TWO, lay_twice, "a card lies on the board twice"),
    "other card on the board": (TWO, swap("board", 0, 4), "the face-up cards differ from the deck's"),
    "cell emptied": (TWO, put("board", -1, 0), "'order' does not fit the board"),
    "extra cell": (TWO, put("order", 0, -1), "the extra cell is not empty"),
    "late order": (TWO, put("order", 25, 0), "'order' does not fit the board"),
    "face-up card as played": (TWO, put("order", 6, 0), "'order' does not fit the board"),
    "ply": (TWO, put("ply", 3), "'ply' does not fit 'order'"),
    "negative ply": (TWO, put("ply", -1), "no such ply"),
    "mover": (TWO, put("mover", 0), "it is another seat's turn"),
    "no such mover": (TWO, put("mover", 7), "it is another seat's turn"),
    "round": (TWO, put("round", 1), "no such round"),
    "negative round": (TWO, put("round", -1), "no such round"),
    "draws": (TWO, put("drawn", 30), "no such number of draws"),
    "negative draws": (TWO, put("drawn", -1), "no such number of draws"),
    "card of the pile in a hand": (TWO, put("drawn", 9), "do not hold each card once"),
    "card out of nowhere": (TWO, flip(63), "do not hold each card once"),
    "card lost": (TWO, put("hands", 0, 0), "do not hold each card once"),
    "cards in the wrong hand": (TWO, give_all, "a hand holds too few cards"),
    "deck with a card twice": (TWO, put("decks", 3, (0, slice(2))), "a deck does not hold the cards of the rules"),
    "deck with card 130": (TWO, put("decks", -126, (0, 0)), "a deck does not hold the cards of the rules"),
    "deck of another seed": (TWO, swap("decks", (0, -1), (0, -2)), "the decks do not follow from the seed"),
    "no deck": (TWO, put("decks", -1), "'hands' is set, but there is no deck"),
    "points": (TWO, both(put("scores", 20_001, 0), put("totals", 20_001, 0)), "points lie between -20000 and 20000"),
    "totals": (TWO, put("totals", 999, 0), "the totals of the first round are not its scores"),
    "lost": (TWO, put("lost", True), "only a solitaire is lost"),
    "pending": (TWO, put("pending", 3), "no such pending play"),
    "seed": (TWO, put("seed", 5), "the seed and the number differ from the row's"),
    "negative seed": (TWO, put("seed", -2), "no such seed"),
    "negative seed of a row without a game": (
        TWO,
        both(both(put("seed", -1), put("game", -1)), both(put("_row_seed", -2), put("_row_resets", -1))),
        "no such seed",
    ),
    "negative seed of the row": (TWO, put("_row_seed", -2), "no such seed"),
    "number of the game": (TWO, put("game", 5), "the seed and the number differ from the row's"),
    "negative number": (TWO, put("_row_resets", -2), "no such number of a game"),
    "number without a seed": (
        TWO,
        both(put("seed", -1), put("game", -1), put("_row_seed", -1)),
        "only one of a seed and a number",
    ),
    "round without end": (TWO, put("over", False), "the round is over, but not the game"),
    "solitaire over": (Rules(), put("over", True), "'lost' does not fit 'over'"),
    "solitaire lost": (Rules(), put("lost", True), "'lost' does not fit 'over'"),
    "solitaire with an empty hand": (
        Rules(),
        both(put("hands", 0), put("pending", -1)),
        "do not hold each card once",
    ),
    "open, order": (OPEN, reverse_order, "a card was played where it touches none"),
    "open, six in a row": (OPEN, lay_in_a_row, "the cards do not fit into a 5x5 square"),
    "pending card alone": (CLAIM, put("pending", -1, 1), "no such pending play"),
    "pending cell that is taken": (CLAIM, put("pending", 0, 1), "no card may be played in the pending cell"),
    "pending card from elsewhere": (CLAIM, put("pending", -1), "do not hold each card once"),
    "spiral, ply": (SCORED, put("ply", 4), "the other seat's turn"),
    "spiral, late ply": (SCORED, put("ply", 25), "no such ply"),
    "spiral, gap": (SCORED, put("board", -1, 13), "the board does not fit 'ply' and the starter"),
    "spiral, starter": (SCORED, swap("board", 12, 13), "the board does not fit 'ply' and the starter"),
    "spiral, other card": (SCORED, swap("board", 13, 18), "seat 0 does not hold the cards"),
    "spiral, hands": (SCORED, swap("hands", 0, 1), "seat 0 does not hold the cards"),
    "spiral, mover": (SCORED, put("mover", 0), "the other seat's turn"),
    "spiral, points": (SCORED, put("scores", -1, 0), "points lie between 0 and 4000"),
    "spiral, early points": (
        SQUARE,
        both(put("scores", 3, 0), put("totals", 3, 0)),
        "points before it is full",
    ),
}


@pytest.mark.parametrize(("rules", "change", "message"), FAULTS.values(), ids=FAULTS)
def test_what_play_cannot_lead_to_is_refused(rules: BaseRules, change: Change, message: str) -> None:
    """`set_state` and `check` name game and fault; nothing changes."""
    steps = 200 if message.startswith("the round is over") else 5
    batch, state = in_the_middle(rules, steps=5), in_the_middle(rules, seed=5, steps=steps).get_state()
    before = batch.get_state()
    batch.fork(range(5)).set_state(state)
    change(state)
    with pytest.raises(ValueError, match=f"game 1 of the state: .*{re.escape(message)}"):
        batch.set_state(state)
    same(before, batch.get_state())
    for name, array in state.items():
        if name not in ("version", "rules"):
            getattr(batch, name)[...] = array
    with pytest.raises(ValueError, match=f"game 1 of the state: .*{re.escape(message)}"):
        batch.check()


def test_derived_arrays_are_checked() -> None:
    batch = in_the_middle(Rules(num_players=2))
    batch.legal[2] ^= np.uint64(1)
    with pytest.raises(ValueError, match="game 2: 'legal' does not fit the other arrays"):
        batch.check()


@by_name({"edge contact": Rules(edge_contact=True), "flush": Rules(flush=True), "players": Rules(num_players=2)})
def test_states_of_other_rules_are_refused(rules: Rules) -> None:
    """Whether or not their arrays have the same shapes."""
    batch = in_the_middle(Rules(), steps=3)
    before = batch.get_state()
    message = re.escape(f"this batch plays {Rules()}, the snapshot is of {rules}")
    with pytest.raises(ValueError, match=message):
        batch.set_state(in_the_middle(rules, steps=3).get_state())
    same(before, batch.get_state())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": np.array(1)}, "this package reads version 2, the snapshot is of 1"),
        ({"version": "x"}, "this package reads version 2, the snapshot is of x"),
        ({"rules": None}, "the snapshot is of None"),
        ({"rules": np.array(["a", "b"])}, "the snapshot is of"),
        ({"board": "cards"}, "state array 'board' must be int8 of shape"),
        ({"board": None}, "state array 'board' must be int8 of shape"),
        ({"seed": np.array(["1"] * 5)}, "state array 'seed' must be int64 of shape"),
        ({"over": np.zeros(5, np.int64)}, "state array 'over' must be bool of shape"),
    ],
)
def test_other_entries_of_a_state_are_refused(change: dict[str, Any], message: str) -> None:
    batch = in_the_middle(Rules(), steps=3)
    before = batch.get_state()
    with pytest.raises(ValueError, match=message):
        batch.set_state(before | change)
    same(before, batch.get_state())


# --- Given positions -------------------------------------------------------------------------------------------------


@by_name({**MIXED, **SOME_SPIRAL})
def test_positions_of_play_can_be_set(rules: BaseRules) -> None:
    """Of other games in each row; they go on as the games from which they come."""
    batch, given = in_the_middle(rules, steps=7), new_batch(rules, 5)
    names = ["board", "hands", "decks", "scores", "totals", "mover", "round", "ply"]
    names += ["order", "drawn", "pending"] if isinstance(rules, Rules) else []
    position = {name: getattr(batch, name) for name in names}
    if isinstance(rules, Rules):
        position |= {name: position[name][:, :-1] for name in ("board", "order")}
    given.set_position(**position)
    given.check()
    assert (given.seed == -1).all()
    assert play_on(given) == play_on(batch)


@by_name(ONE_OF_EACH)
def test_boards_without_a_game_have_values_only(rules: BaseRules) -> None:
    batch = in_the_middle(rules, steps=3)
    boards = np.full((5, rules.num_cells), -1)
    boards[:, 5], boards[2, 7] = 3, 9
    position: dict[str, Any] = {"board": boards} if isinstance(rules, Rules) else {"board": boards, "ply": 3}
    batch.set_position(**position)
    batch.check()
    assert not batch.mask.any()
    assert batch.over.all()
    assert (batch.board[:, : rules.num_cells] == boards).all()
    batch.value(*[[0] * 5] * (2 if isinstance(rules, Rules) else 1))
    batch.reset(rows=[3])
    assert batch.mask[3].any()


@pytest.mark.parametrize(
    ("position", "error", "message"),
    [
        ({"board": np.full(16, 130)}, ValueError, "'board' must fit into int8, got"),
        ({"board": np.full(16, -1.0)}, ValueError, "'board' must be integers of shape (5, 16) or (16,), got float64"),
        ({"board": [0, 1]}, ValueError, "'board' must be integers of shape (5, 16) or (16,), got int64 of shape (2,)"),
        ({"board": "AM"}, ValueError, "'board' must be integers"),
        *(({"order": order}, ValueError, "'order' must be integers") for order in ("AM", None, 3, [], [[0], [0, 1]])),
        ({"board": np.arange(16) % 8}, ValueError, "a card lies on the board twice"),
        ({"board": np.full(16, 36)}, ValueError, "the board holds a card that is not in the deck"),
        ({"board": np.full(16, -1), "mover": 0, "drawn": 2}, ValueError, "'drawn' is set, but there is no deck"),
        ({"bord": np.full(16, -1)}, TypeError, "a position has no 'bord': give board, hands, ply, scores"),
        ({"over": False}, TypeError, "a position has no 'over': give board"),
    ],
)
def test_bad_positions_are_refused(position: dict[str, Any], error: type[Exception], message: str) -> None:
    batch = in_the_middle(Rules(), steps=3)
    before = batch.get_state()
    with pytest.raises(error, match=re.escape(message)):
        batch.set_position(**position)
    same(before, batch.get_state())


@by_name({"quincunx": Rules(num_players=2), "spiral": SPIRAL["spiral-play-1"]})
def test_positions_are_checked_by_default(rules: BaseRules) -> None:
    batch = in_the_middle(rules)
    before = batch.get_state()
    position: dict[str, Any] = {"board": np.zeros(rules.num_cells, np.int64), "ply": 0}
    with pytest.raises(ValueError, match="a card lies on the board twice"):
        batch.set_position(**position)
    same(before, batch.get_state())
    batch.set_position(**position, check=False)
    assert not batch.board[:, : rules.num_cells].any()
