"""Batches of both games: rows do not affect each other, illegal actions change nothing, deals, copies and state.

The comparison with plain games and with the reference scorers stands beside each game, in ``test_comparison``.
"""

from __future__ import annotations

import copy
import io
import pickle
import random
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from quincunx_env.core.batch import BaseBatch
from quincunx_env.core.game import IllegalAction
from quincunx_env.core.resample import resample
from quincunx_env.core.rules import BaseRules
from quincunx_env.quincunx.batch import Batch
from quincunx_env.quincunx.deal import Deal
from quincunx_env.quincunx.rules import Rules
from quincunx_env.registry import make_observer, spec_of
from tests.variants import (
    EVERY_GAME,
    FEW,
    MIXED,
    SIMPLETON_AND_MATCH,
    SPIRAL,
    by_name,
    legal_actions,
    new_batch,
    new_game,
    random_action,
    same,
)

AnyBatch = BaseBatch[Any, Any]

SOME_SPIRAL = {name: SPIRAL[name] for name in ("spiral-play-2", "spiral-end+fifteens-4")}
ONE_OF_EACH = {name: EVERY_GAME[name] for name in ("solitaire", "corners-2", "spiral-play-1")}
"""Single rounds, of either game."""


# --- Rows do not affect each other -----------------------------------------------------------------------------------


def rows_of(batch: AnyBatch, rows: list[int]) -> dict[str, npt.NDArray[Any]]:
    """The state of some rows."""
    return {name: array[rows] for name, array in batch.get_state().items() if name not in ("version", "rules")}


def in_the_middle(rules: BaseRules, num_games: int = 5, steps: int = 9, seed: int = 11) -> Any:
    """A batch after some random steps."""
    batch, rng = new_batch(rules, num_games), np.random.default_rng(seed)
    batch.reset(seed=seed)
    for _ in range(steps):
        batch.step(legal_actions(batch, rng))
    return batch


@by_name({**MIXED, **SPIRAL})
def test_a_row_does_not_depend_on_its_neighbours(rules: BaseRules) -> None:
    """One game alone, and in the middle of others that are other games, play otherwise and end at other times."""
    rng = np.random.default_rng(3)
    alone, crowd = new_batch(rules, 1), new_batch(rules, 5)
    alone.reset(seed=[77])
    crowd.reset(seed=[5, 6, 77, 0, 8])
    while not alone.over[0]:
        action = legal_actions(alone, rng)
        actions = legal_actions(crowd, rng)
        actions[2] = action[0]
        for name in ("mask", *(("card_mask", "cell_mask") if isinstance(rules, Rules) else ())):
            assert np.array_equal(getattr(crowd, name)()[2], getattr(alone, name)()[0])
        gains = crowd.step(actions)
        assert np.array_equal(gains[2], alone.step(action)[0])
        if rng.random() < 0.1:
            crowd.reset(rows=[1, 4])
        same(rows_of(alone, [0]), rows_of(crowd, [2]))


@by_name({**FEW, **SOME_SPIRAL})
def test_steps_in_some_rows_leave_the_others_alone(rules: BaseRules) -> None:
    batch = in_the_middle(rules, steps=4)
    before = batch.get_state()
    actions = legal_actions(batch, np.random.default_rng(0))
    gains = batch.step(actions[[3, 1]], np.array([3, 1]))
    whole = batch.fork(range(5))
    whole.set_state(before)
    assert np.array_equal(whole.step(actions)[[3, 1]], gains)
    same(rows_of(batch, [1, 3]), rows_of(whole, [1, 3]))
    whole.set_state(before)
    same(rows_of(batch, [0, 2, 4]), rows_of(whole, [0, 2, 4]))


@by_name({**ONE_OF_EACH, **SOME_SPIRAL})
def test_finished_games_stay_as_they_are(rules: BaseRules) -> None:
    batch = in_the_middle(rules, steps=100)
    assert batch.over.all()
    assert not batch.mask().any()
    if isinstance(rules, Rules):
        assert not batch.card_mask().any()
        assert not batch.cell_mask().any()
    before = batch.get_state()
    assert not batch.step([0, -1, 7, 10**6, 3]).any()
    assert not batch.is_legal([0, -1, 7, 10**6, 3]).any()
    same(before, batch.get_state())


@by_name(ONE_OF_EACH)
def test_a_new_batch_holds_finished_games(rules: BaseRules) -> None:
    batch = new_batch(rules, 3)
    assert batch.over.all()
    assert not batch.mask().any()
    for bad in (0, -1, 2.5, "3", True, None):
        with pytest.raises(ValueError, match=f"num_games must be an integer from 1 to .*, got {bad!r}"):
            new_batch(rules, bad)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="domain must be one of play, benchmark, validation, got 'test'"):
        type(batch)(rules, 1, "test")
    for row in (0, -1, 3, 1.5, "0"):
        for method in (batch.to_game, batch.deals):
            with pytest.raises(ValueError, match=r"row 0 has no deal yet|row must be an integer from 0 to 2, got"):
                method(row)


@by_name(FEW)
def test_many_plays_are_valued_at_once(rules: Rules) -> None:
    """Thousands of plays, legal or not, of any game in any order, have the values that they have one by one."""
    batch, rng = in_the_middle(rules, steps=6), np.random.default_rng(0)
    games = [batch.to_game(row) for row in range(5)]
    rows = rng.integers(0, 5, 3000)
    cards = rng.choice(rules.deck, 3000)
    cells = np.where(batch.board[rows, :-1] < 0, rng.random((3000, rules.num_cells)), -1).argmax(axis=1)
    points, draws = batch.value(cards, cells, rows)
    plays = zip(rows.tolist(), cards.tolist(), cells.tolist(), strict=True)
    expected = [games[row].value(card, cell) for row, card, cell in plays]
    assert [*zip(points.tolist(), draws.tolist(), strict=True)] == expected


@by_name({**ONE_OF_EACH, **SOME_SPIRAL})
@pytest.mark.parametrize("rows", [[3, 1], [False, True, False, True, False]], ids=["numbers", "mask"])
def test_forfeited_games_are_over_and_keep_their_points(rules: BaseRules, rows: list[int]) -> None:
    """In both engines alike; a solitaire is lost, and the other rows play on."""
    batch = in_the_middle(rules, steps=4)
    before, games = batch.get_state(), [batch.to_game(row) for row in range(5)]
    batch.forfeit(rows)
    for row, game in enumerate(games):
        if row in (1, 3):
            game.forfeit()
        assert (game.over, not game.legal_cards()) == (batch.over[row], not batch.mask()[row].any())
        assert game.over == (row in (1, 3))
        if isinstance(rules, Rules):
            assert game.lost == batch.lost[row] == (game.over and rules.num_players == 1)
    ended = {"over", "lost"}
    same_but = {name: array for name, array in batch.get_state().items() if name not in ended}
    same(same_but, {name: array for name, array in before.items() if name not in ended})
    same(rows_of(batch, [0, 2, 4]), {name: before[name][[0, 2, 4]] for name in rows_of(batch, [0])})


NOT_ROWS: dict[str, tuple[Any, str]] = {
    "negative": ([-1], "row numbers run from 0 to 4, got \\[-1\\]"),
    "too large": ([0, 5], "row numbers run from 0 to 4, got \\[0, 5\\]"),
    "larger than int64": (np.array([2**64 - 1], np.uint64), "row numbers run from 0 to 4"),
    "fractions": ([1.9], "rows are row numbers, or a bool mask of all 5, got \\[1.9\\]"),
    "whole floats": (np.array([1.0, 2.0]), "rows are row numbers, or a bool mask of all 5"),
    "text": ("3", "rows are row numbers, or a bool mask of all 5, got '3'"),
    "texts": (["3"], "rows are row numbers, or a bool mask of all 5"),
    "table": ([[1], [2]], "rows are row numbers, or a bool mask of all 5"),
    "objects": ([None], "rows are row numbers, or a bool mask of all 5"),
    "lists of different lengths": ([[0], [1, 2]], "rows are row numbers, or a bool mask of all 5"),
    "short mask": ([True, False], "a mask of rows has shape \\(5,\\), got \\(2,\\)"),
    "long mask": ([True] * 6, "a mask of rows has shape \\(5,\\), got \\(6,\\)"),
    "truth value": (True, "a mask of rows has shape \\(5,\\), got \\(\\)"),
}
REPEATED: dict[str, tuple[Any, str]] = {"repeated": ([2, 0, 2], "row 2 is given twice")}


def uses_of_rows(batch: AnyBatch, rows: Any) -> dict[str, Callable[[], Any]]:
    """Everything that takes rows: the methods that change these games, and those that may take a row several times."""
    actions = [0] * np.size(np.array(rows, object))
    uses = {
        "reset": lambda: batch.reset(rows=rows),
        "reset with a seed": lambda: batch.reset(100, rows),
        "step": lambda: batch.step(actions, rows),
        "forfeit": lambda: batch.forfeit(rows),
        "fork": lambda: batch.fork(rows),
        "is_legal": lambda: batch.is_legal(actions, rows),
        "value": lambda: batch.value(*[actions] * (2 if isinstance(batch, Batch) else 1), rows),  # type: ignore[attr-defined]
    }
    return uses | ({"penalties": lambda: batch.penalties(rows)} if isinstance(batch, Batch) else {})


@by_name(ONE_OF_EACH)
@pytest.mark.parametrize(("rows", "message"), (NOT_ROWS | REPEATED).values(), ids=NOT_ROWS | REPEATED)
def test_what_are_no_rows_is_refused(rules: BaseRules, rows: Any, message: str) -> None:
    """By every method, before anything has changed."""
    batch = in_the_middle(rules, steps=3)
    before = batch.get_state()
    for name, use in uses_of_rows(batch, rows).items():
        if "twice" in message and name in ("fork", "is_legal", "value", "penalties"):
            continue
        with pytest.raises(ValueError, match=message):
            use()
        same(before, batch.get_state())


@by_name(ONE_OF_EACH)
def test_rows_are_numbers_of_any_kind_or_a_mask(rules: BaseRules) -> None:
    """A range, a single number, any integer type; none at all changes nothing."""
    batch = in_the_middle(rules, steps=3)
    actions, before = legal_actions(batch, np.random.default_rng(0)), batch.get_state()
    expected = batch.fork(range(5))
    gains = expected.step(actions[1:4], np.array([1, 2, 3]))
    for rows in (range(1, 4), np.array([1, 2, 3], np.uint8), np.array([False, True, True, True, False])):
        batch.set_state(before)
        same(batch.step(actions[1:4], rows), gains)
        same(batch.get_state(), expected.get_state())
    batch.set_state(before)
    nothing: Any
    for nothing in ([], np.zeros(5, np.bool_)):
        batch.reset(rows=nothing)
        batch.forfeit(nothing)
        assert batch.step(np.zeros(0, np.int64), nothing).shape == (0, rules.num_players)
    same(batch.get_state(), before)
    batch.forfeit(3)
    assert batch.over.tolist() == [row == 3 for row in range(5)]


# --- Values of plays -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cards", "cells", "message"),
    [
        ([0], [0], "cell \\(0, 0\\) of game 1 is taken"),
        ([-1], [1], "cards run from 0 to 35, got -1"),
        ([36], [1], "cards run from 0 to 35, got 36"),
        ([0], [-1], "cells run from 0 to 24, got -1"),
        ([0], [25], "cells run from 0 to 24, got 25"),
        ([0.0], [1], "1 integer cards are needed, got float64"),
        ([True], [1], "1 integer cards are needed, got bool"),
        ([0, 1], [1, 2], "1 integer cards are needed, got int64 of shape \\(2,\\)"),
        (0, [1], "1 integer cards are needed"),
        ([0], ["1"], "1 integer cells are needed"),
    ],
)
def test_only_possible_plays_have_values(cards: Any, cells: Any, message: str) -> None:
    batch = in_the_middle(Rules(num_players=2))
    with pytest.raises(ValueError, match=message):
        batch.value(cards, cells, [1])


def test_only_possible_cards_have_values_in_the_spiral_game() -> None:
    batch = in_the_middle(SPIRAL["spiral-play-1"])
    for cards, message in (([-1], "cards run from 0 to 51"), ([52], "cards run from"), ([0.5], "integer cards")):
        with pytest.raises(ValueError, match=message):
            batch.value(cards, [1])
    while not batch.over.all():
        batch.step(legal_actions(batch, np.random.default_rng(0)))
    with pytest.raises(ValueError, match="the square of game 1 is full"):
        batch.value([3], [1])


def test_values_are_those_of_small_integers_too() -> None:
    """Lists and integers of any width give the values of int64 arrays; small ones would overflow in the tables."""
    batch, cells = in_the_middle(Rules(num_players=2)), [1, 2, 3, 4, 5]
    cells = [int(np.flatnonzero(row[:-1] < 0)[-1]) for row in batch.board]
    cards = [35, 30, 20, 10, 0]
    expected = batch.value(np.array(cards), np.array(cells), check=False)
    same(batch.value(cards, cells), expected)
    same(batch.value(np.array(cards, np.int8), np.array(cells, np.uint8), np.arange(5, dtype=np.int8)), expected)


# --- Illegal actions -------------------------------------------------------------------------------------------------


SIMPLETON = {name: rules for name, rules in SIMPLETON_AND_MATCH.items() if name.endswith("+simpleton")}


@by_name({**FEW, **SIMPLETON, **SOME_SPIRAL})
def test_nothing_changes_on_an_illegal_action(rules: BaseRules) -> None:
    """Every action is tried in the middle of a game: legal where the mask is True, else refused as by the game."""
    steps = (0, 3, 6) if rules.num_players == 1 else (0, 7, 16)
    rng = random.Random(0)
    for seed, count in enumerate(steps):
        batch = in_the_middle(rules, num_games=3, steps=count, seed=seed)
        legal = legal_actions(batch, np.random.default_rng(seed))
        before, mask = batch.get_state(), batch.mask()[1]
        legal_ones = set(np.flatnonzero(mask).tolist())
        illegal = [action for action in range(-3, rules.num_actions + 3) if action not in legal_ones]
        for action in [*illegal[:3], *rng.sample(illegal, min(60, len(illegal))), *illegal[-3:]]:
            game = batch.to_game(1)
            with pytest.raises(IllegalAction) as plain:
                game.step(action)
            actions = legal.copy()
            actions[1] = action
            with pytest.raises(IllegalAction, match=re.escape(f"game 1: {plain.value}")):
                batch.step(actions)
            same(before, batch.get_state())
        batch.step(legal)


@by_name(ONE_OF_EACH)
@pytest.mark.parametrize("actions", [[0], [0, 0, 0], [0.0, 0.0], [[0], [0]], [True, False], ["a", "b"], [[0], [0, 0]]])
def test_what_are_no_actions_is_refused(rules: BaseRules, actions: Any) -> None:
    batch = in_the_middle(rules, num_games=2, steps=1)
    before = batch.get_state()
    with pytest.raises(IllegalAction, match="2 integer actions are needed, got"):
        batch.step(actions)
    same(before, batch.get_state())


# --- Dealing ---------------------------------------------------------------------------------------------------------


@by_name({**ONE_OF_EACH, **SOME_SPIRAL})
def test_games_of_a_row_follow_each_other(rules: BaseRules) -> None:
    """Without a seed a row goes on to its next game; a seed begins again with game 0."""
    batch = new_batch(rules, 4)
    batch.reset(seed=10)
    batch.reset(rows=[1, 3])
    batch.reset(rows=np.array([False, True, False, False]))
    assert batch.seed.tolist() == [10, 11, 12, 13]
    assert batch.game.tolist() == [0, 2, 0, 1]
    for row, number in enumerate([0, 2, 0, 1]):
        assert batch.deals(row) == new_game(rules, 10 + row, number).deals
    batch.reset(rows=[3], seed=10)
    assert (batch.seed[3], batch.game[3]) == (13, 0)
    batch.reset(rows=[3, 0], seed=[5, 6])
    assert batch.seed.tolist() == [6, 11, 12, 5]
    assert batch.game.tolist() == [0, 2, 0, 0]


@by_name({**MIXED, **SOME_SPIRAL})
@pytest.mark.parametrize("steps", [3, 8, 30, 200])
def test_a_reset_leaves_nothing_of_the_game_before(rules: BaseRules, steps: int) -> None:
    """Whether that one had just begun, waited for an announcement, was in a later round, or over."""
    batch, fresh = in_the_middle(rules, steps=steps), new_batch(rules, 5)
    batch.reset(seed=70)
    fresh.reset(seed=70)
    same(batch.get_state(), fresh.get_state())


@by_name(ONE_OF_EACH | SOME_SPIRAL)
def test_every_row_plays_the_deals_of_its_seed_whatever_was_reset_before(rules: BaseRules) -> None:
    """Decks of next games are shuffled ahead; new seeds, given deals, snapshots and copies must not find old ones."""
    batch, rng = new_batch(rules, 6), np.random.default_rng(0)
    batch.reset(seed=7)
    saved = batch.get_state()
    deal = spec_of(rules).Deal
    for _ in range(60):
        rows = np.flatnonzero(rng.random(6) < 0.4)
        match rng.integers(6):
            case 0:
                batch.reset(seed=rng.integers(9, size=len(rows)), rows=rows)
            case 1:
                batch.reset(rows=rows, deals=[new_game(rules, 99).deals] * len(rows))
            case 2:
                saved, former = batch.get_state(), saved
                batch.set_state(former)
            case 3:
                batch = pickle.loads(pickle.dumps(batch.fork(rng.permutation(6))))
            case _:
                batch.reset(rows=rows)
        for row in range(6):
            seed, game = int(batch.seed[row]), int(batch.game[row])
            rounds = range(rules.num_rounds)
            if seed >= 0:
                assert batch.deals(row) == tuple(deal.from_seed(rules, seed, game, number) for number in rounds)


def test_without_any_seed_games_differ() -> None:
    one, other = Batch(Rules(), 50), Batch(Rules(), 50)
    one.reset()
    other.reset()
    assert len({*one.seed.tolist(), *other.seed.tolist()}) == 100
    seeds = one.seed.copy()
    numbers = one.game.copy()
    one.reset()
    assert np.array_equal(one.seed, seeds)
    assert np.array_equal(one.game, numbers + 1), "and go on from there"


@by_name({"quincunx": Rules(num_players=2, match=True), "spiral": SPIRAL["spiral-end-2"]})
def test_given_deals_are_played(rules: BaseRules) -> None:
    deals = [new_game(rules, seed).deals[::-1] for seed in (3, 4)]
    batch = new_batch(rules, 3)
    batch.reset(seed=0)
    batch.reset(rows=[2, 0], deals=deals)
    assert (batch.deals(2), batch.deals(0)) == (deals[0], deals[1])
    assert batch.deals(1) == new_game(rules, 1).deals
    assert batch.seed.tolist() == [-1, 1, -1]
    batch.reset(rows=[0])
    assert batch.deals(0) == new_game(rules, 0, 2).deals, "the row keeps its seed, and counts its resets"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seed": -1}, "seed must be an integer from 0 to .* got -1"),
        ({"seed": 2**63 - 2}, "seed must be an integer from 0 to .*"),
        ({"seed": True}, "seed must be an integer from 0 to .* got True"),
        ({"seed": 1.5}, "seed must be an integer from 0 to .* got 1.5"),
        ({"seed": [1, 2, -3]}, "seed must be an integer from 0 to .* got -3"),
        ({"seed": [1, 2]}, "3 games are reset, got 2 seeds"),
        ({"seed": np.array(None)}, "seed must be an integer from 0 to .* got"),
        ({"seed": [[1], [2, 3], 4]}, "seed must be an integer from 0 to .* got"),
        ({"seed": [1, 2, 3], "rows": [0]}, "1 games are reset, got 3 seeds"),
        ({"deals": []}, "3 games are reset and need a deal each"),
        ({"deals": [Deal.from_seed(Rules(), 0)] * 2}, "3 games are reset and need a deal each"),
        ({"deals": [Deal.from_seed(Rules(num_players=2), 0)] * 3}, "this deal does not fit the rules"),
        ({"deals": [[Deal.from_seed(Rules(), 0)] * 2] * 3}, "these rules play 1 rounds .* a deal for each, got 2"),
    ],
)
def test_bad_resets_are_refused_and_change_nothing(options: dict[str, Any], message: str) -> None:
    batch = in_the_middle(Rules(), num_games=3, steps=3)
    before = batch.get_state()
    with pytest.raises(ValueError, match=message):
        batch.reset(**options)
    same(before, batch.get_state())


# --- State -----------------------------------------------------------------------------------------------------------


def play_on(batch: AnyBatch, seed: int = 4) -> list[list[list[int]]]:
    """Random steps to the end of all games; returns the gains."""
    rng = np.random.default_rng(seed)
    gains = []
    while not batch.over.all():
        gains.append(batch.step(legal_actions(batch, rng)).tolist())
    return gains


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


def test_without_any_seed_the_first_game_is_number_0() -> None:
    batch = Batch(Rules(), 3)
    batch.reset()
    assert batch.game.tolist() == [0, 0, 0]
    assert batch.seed.min() >= 0
    assert len(set(batch.seed.tolist())) == 3
    batch.reset(rows=[1])
    assert batch.game.tolist() == [0, 1, 0]


@by_name(ONE_OF_EACH)
def test_fork_repeats_and_picks_rows(rules: BaseRules) -> None:
    batch = in_the_middle(rules, steps=5)
    fork = batch.fork([4, 1, 4, 4])
    assert fork.num_games == 4
    same(rows_of(fork, [0, 1, 2, 3]), rows_of(batch, [4, 1, 4, 4]))
    masked = batch.fork([False, True, False, False, True])
    same(rows_of(masked, [0, 1]), rows_of(batch, [1, 4]))
    before = batch.get_state()
    play_on(fork)
    same(before, batch.get_state())
    assert batch.fork(2).num_games == 1


@by_name(ONE_OF_EACH)
def test_saved_arrays_are_copied_when_loaded(rules: BaseRules) -> None:
    batch = in_the_middle(rules)
    saved = batch.get_state()
    batch.reset(seed=99)
    batch.set_state(saved)
    batch.board[:] = 3
    assert not (saved["board"] == 3).all()


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
    "other card on the board": (TWO, swap("board", 0, 4), "the face-up cards are not those of the deck"),
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
    "deck of another seed": (TWO, swap("decks", (0, -1), (0, -2)), "the decks are not those of the seed"),
    "no deck": (TWO, put("decks", -1), "'hands' is set, but there is no deck"),
    "points": (TWO, both(put("scores", 20_001, 0), put("totals", 20_001, 0)), "points lie between -20000 and 20000"),
    "totals": (TWO, put("totals", 999, 0), "the totals of the first round are not its scores"),
    "lost": (TWO, put("lost", True), "only a solitaire is lost"),
    "pending": (TWO, put("pending", 3), "no such pending play"),
    "seed": (TWO, put("seed", 5), "the seed and the number are not those of the row"),
    "negative seed": (TWO, put("seed", -2), "no such seed"),
    "negative seed of the row": (TWO, put("_row_seed", -2), "no such seed"),
    "number of the game": (TWO, put("game", 5), "the seed and the number are not those of the row"),
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


@pytest.mark.parametrize("state", [None, [], "state", 3])
def test_what_is_no_state_is_refused(state: Any) -> None:
    with pytest.raises(ValueError, match="a state is a mapping of arrays by name"):
        in_the_middle(Rules(), steps=3).set_state(state)


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
    assert not batch.mask().any()
    assert batch.over.all()
    assert (batch.board[:, : rules.num_cells] == boards).all()
    batch.value(*[[0] * 5] * (2 if isinstance(rules, Rules) else 1))
    batch.reset(rows=[3])
    assert batch.mask()[3].any()


@pytest.mark.parametrize(
    ("position", "error", "message"),
    [
        ({"board": np.full(16, 130)}, ValueError, "'board' must fit into int8, got"),
        ({"board": np.full(16, -1.0)}, ValueError, "'board' must be integers of shape (5, 16) or (16,), got float64"),
        ({"board": [0, 1]}, ValueError, "'board' must be integers of shape (5, 16) or (16,), got int64 of shape (2,)"),
        ({"board": "AM"}, ValueError, "'board' must be integers"),
        ({"board": np.arange(16) % 8}, ValueError, "a card lies on the board twice"),
        ({"board": np.full(16, 36)}, ValueError, "the board holds a card that is not in the deck"),
        ({"board": np.full(16, -1), "mover": 0, "drawn": 2}, ValueError, "'drawn' is set, but there is no deck"),
        ({"bord": np.full(16, -1)}, TypeError, "a position has no 'bord', but board, hands, ply, scores"),
        ({"over": False}, TypeError, "a position has no 'over', but board"),
    ],
)
def test_bad_positions_are_refused(position: dict[str, Any], error: type[Exception], message: str) -> None:
    batch = in_the_middle(Rules(), steps=3)
    before = batch.get_state()
    with pytest.raises(error, match=re.escape(message)):
        batch.set_position(**position)
    same(before, batch.get_state())


def test_a_forfeit_of_a_finished_solitaire_changes_nothing() -> None:
    """In both engines: the round that was finished is not lost."""
    batch = in_the_middle(Rules(), num_games=20, steps=12)
    before, rows = batch.get_state(), np.flatnonzero(~batch.lost)
    assert len(rows)
    game = batch.to_game(int(rows[0]))
    batch.forfeit(range(20))
    same(before, batch.get_state())
    game.forfeit()
    assert (game.over, game.lost) == (True, False)


@pytest.mark.parametrize("domain", ["work", "", None, 0, ["play"]], ids=repr)
def test_domains_that_do_not_exist_are_refused(domain: Any) -> None:
    with pytest.raises(ValueError, match="domain must be one of play, benchmark, validation, got"):
        Batch(Rules(), 1, domain)
