"""Saved states and given positions of batches of both games: they load as they were, and bad ones change nothing."""

from __future__ import annotations

import copy
import io
import pickle
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from quincunx_env.core.batch_state import state_arrays
from quincunx_env.core.resample import resample
from quincunx_env.core.rules import BaseRules
from quincunx_env.quincunx.deal import Deal
from quincunx_env.quincunx.game import Game
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
@pytest.mark.parametrize("steps", [0, 7, 31])
def test_games_become_the_batch_that_they_came_from(rules: BaseRules, steps: int) -> None:
    """All but the names of their deals."""
    batch = in_the_middle(rules, steps=steps)
    made = type(batch).of_games([batch.to_game(row) for row in range(5)])
    unnamed = dict.fromkeys(("seed", "game", "_row_seed", "_row_resets"), np.full(5, -1))
    same(made.get_state(), batch.get_state() | unnamed)
    assert play_on(made) == play_on(batch)


def test_games_and_batches_of_other_rules_are_not_joined() -> None:
    batches = [in_the_middle(rules) for rules in (Rules(), Rules(flush=True))]
    for given in ([], batches):
        with pytest.raises(ValueError, match="of the same rules and domain are needed, at least one"):
            type(batches[0]).join(given)
        with pytest.raises(ValueError, match="the same rules are needed, at least one"):
            type(batches[0]).of_games([batch.to_game(0) for batch in given])
    short = Game(Rules(num_players=2, match=True), [Deal.from_seed(Rules(num_players=2), seed) for seed in range(2)])
    short.deals = short.deals[:1]  # as in a record cut short
    with pytest.raises(ValueError, match="game 0 has 1 deals, 2 rounds need one each"):
        type(batches[0]).of_games([short])


@by_name({**MIXED, **SOME_SPIRAL})
def test_joined_batches_go_on_as_before(rules: BaseRules) -> None:
    batches = [in_the_middle(rules, seed=seed) for seed in (3, 4)]
    joined = type(batches[0]).join(batches)
    for number, batch in enumerate(batches):
        same(joined.fork(range(5 * number, 5 * number + 5)).get_state(), batch.get_state())
    assert play_on(joined)


@by_name({**MIXED, **SOME_SPIRAL})
def test_copies_go_on_alike_and_apart(rules: BaseRules) -> None:
    """Pickle, deepcopy, fork and saved arrays: each plays on as the original does, and none disturbs another."""
    batch = in_the_middle(rules, steps=7)
    before = batch.get_state()
    loaded = new_batch(rules, 5)
    loaded.set_state(before)
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
def test_every_position_of_play_can_be_saved(rules: BaseRules) -> None:
    """Before the deal, at every step, in games sampled from observations, after a forfeit; derived arrays follow."""
    batch, rng, observer = new_batch(rules, 3), np.random.default_rng(0), make_observer(rules)
    same_after_loading(batch)
    batch.reset(seed=3)
    while not batch.over.all():
        same_after_loading(batch)
        if batch.ply[0] % 7 == 3 and not batch.over[0]:
            seen = {name: piece[0] for name, piece in observer.observe_batch(batch).items()}
            sampled, loaded = resample(observer, seen, rng, 2), new_batch(rules, 2)
            file = io.BytesIO()
            np.savez(file, **sampled.get_state())
            file.seek(0)
            with np.load(file, allow_pickle=False) as state:
                loaded.set_state(state)
            same(loaded.get_state(), sampled.get_state())
        batch.step(legal_actions(batch, rng))
    for _ in range(2):
        batch.forfeit(range(3))
        same_after_loading(batch)


def same_after_loading(batch: Any) -> None:
    """A batch that loads the state of this one has the same arrays, the derived ones included."""
    loaded = new_batch(batch.rules, batch.num_games)
    loaded.set_state(batch.get_state())
    cls: Any = type(batch)
    for name in state_arrays(cls):
        same(getattr(loaded, name), getattr(batch, name), name)


Change = Callable[[dict[str, Any]], None]


def put(name: str, value: Any, at: Any = ()) -> Change:
    """Set entries of an array of game 1."""

    def change(state: dict[str, Any]) -> None:
        state[name][(1, *at) if isinstance(at, tuple) else (1, at)] = value

    return change


TWO, CLAIM = Rules(num_players=2), Rules(num_players=2, simpleton=True)
SCORED = SPIRAL["spiral-play-2"]
FAULTS: dict[str, tuple[BaseRules, Change, str]] = {
    "card 130 as int8": (TWO, put("board", -126, 0), "'board' must be from -1 to 35, got -126"),
    "card of another deck": (TWO, put("board", 40, 0), "'board' must be from -1 to 35, got 40"),
    "late order": (TWO, put("order", 25, 0), "'order' must be from -1 to 20, got 25"),
    "ply": (TWO, put("ply", 21), "'ply' must be from 0 to 20, got 21"),
    "negative ply": (TWO, put("ply", -1), "'ply' must be from 0 to 20, got -1"),
    "mover": (TWO, put("mover", 7), "'mover' must be from 0 to 1, got 7"),
    "round": (TWO, put("round", 1), "'round' must be from 0 to 0, got 1"),
    "negative round": (TWO, put("round", -1), "'round' must be from 0 to 0, got -1"),
    "draws": (TWO, put("drawn", 30), "'drawn' must be from 0 to 11, got 30"),
    "negative draws": (TWO, put("drawn", -1), "'drawn' must be from 0 to 11, got -1"),
    "card out of nowhere": (TWO, put("hands", 2**63, 0), "'hands' must be sets of cards of the deck"),
    "deck with card 130": (TWO, put("decks", -126, (0, 0)), "'decks' must be from -1 to 35, got -126"),
    "points": (TWO, put("scores", 20_001, 0), "'scores' must be from"),
    "totals": (TWO, put("totals", -20_001, 0), "'totals' must be from"),
    "pending": (TWO, put("pending", 3), "'pending' must be from -1 to -1, got 3"),
    "seed": (TWO, put("seed", -2), "'seed' must be from -1 to"),
    "number": (TWO, put("game", -2), "'game' must be from -1 to"),
    "seed of the row": (TWO, put("_row_seed", -2), "'_row_seed' must be from -1 to"),
    "number of the row": (TWO, put("_row_resets", -2), "'_row_resets' must be from -1 to"),
    "pending card": (CLAIM, put("pending", 36, 0), "'pending' must be from -1 to 35, got 36"),
    "pending cell": (CLAIM, put("pending", 25, 1), "'pending' must be from -1 to 35, got 25"),
    "pending card alone": (CLAIM, put("pending", -1, 1), "'pending' must have a card and a cell, or neither"),
    "spiral, ply": (SCORED, put("ply", 24), "'ply' must be less than 24 where a game is not over"),
    "spiral, points": (SCORED, put("scores", -1, 0), "'scores' must be from 0 to"),
}


@pytest.mark.parametrize(("rules", "change", "message"), FAULTS.values(), ids=FAULTS)
def test_values_out_of_range_are_refused(rules: BaseRules, change: Change, message: str) -> None:
    """`set_state` names the array and its limits; nothing changes. `tests.fuzz.test_snapshots` has all other values."""
    batch, state = in_the_middle(rules, steps=5), in_the_middle(rules, seed=5, steps=5).get_state()
    before = batch.get_state()
    batch.fork(range(5)).set_state(state)
    change(state)
    with pytest.raises(ValueError, match=f"state array {re.escape(message)}"):
        batch.set_state(state)
    same(before, batch.get_state())


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
    same_after_loading(given)
    assert (given.seed == -1).all()
    assert play_on(given) == play_on(batch)


@by_name(ONE_OF_EACH)
def test_boards_without_a_game_have_values_only(rules: BaseRules) -> None:
    batch = in_the_middle(rules, steps=3)
    boards = np.full((5, rules.num_cells), -1)
    boards[:, 5], boards[2, 7] = 3, 9
    position: dict[str, Any] = {"board": boards} if isinstance(rules, Rules) else {"board": boards, "ply": 3}
    batch.set_position(**position)
    assert not batch.mask.any()
    assert batch.over.all()
    assert (batch.board[:, : rules.num_cells] == boards).all()
    batch.value(*[[0] * 5] * (2 if isinstance(rules, Rules) else 1))
    batch.reset(rows=[3])
    assert batch.mask[3].any()


def test_the_ply_of_a_position_follows_from_its_order() -> None:
    batch, order = new_batch(Rules(), 2), np.full((2, 16), -1)
    order[:, [0, 3, 12, 15]] = 0
    order[1, 5] = 1
    batch.set_position(board=np.where(order >= 0, np.arange(16), -1), order=order)
    assert batch.ply.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("position", "error", "message"),
    [
        ({"board": np.full(16, 130)}, ValueError, "'board' must fit into int8, got"),
        ({"board": np.full(16, -1.0)}, ValueError, "'board' must be integers of shape (5, 16) or (16,), got float64"),
        ({"board": [0, 1]}, ValueError, "'board' must be integers of shape (5, 16) or (16,), got int64 of shape (2,)"),
        ({"board": "AM"}, ValueError, "'board' must be integers"),
        *(({"order": order}, ValueError, "'order' must be integers") for order in ("AM", None, 3, [], [[0], [0, 1]])),
        ({"board": np.full(16, 36)}, ValueError, "'board' must be from -1 to 35, got 36"),
        ({"board": np.full(16, -1), "mover": 1, "drawn": 2}, ValueError, "'mover' must be from 0 to 0, got 1"),
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
