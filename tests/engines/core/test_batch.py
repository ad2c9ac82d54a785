"""Batches of both games: rows, illegal actions, which change nothing, and deals.

The comparison with plain games and with the reference scorers stands beside each game, in ``test_comparison``.
"""

from __future__ import annotations

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
from quincunx_env.core.rules import BaseRules
from quincunx_env.quincunx.batch import Batch
from quincunx_env.quincunx.deal import Deal
from quincunx_env.quincunx.rules import Rules
from quincunx_env.registry import spec_of
from tests.variants import (
    COVERING,
    EVERY_GAME,
    MINI,
    ONE_OF_EACH,
    SOME_SPIRAL,
    SPIRAL,
    by_name,
    in_the_middle,
    legal_actions,
    new_batch,
    new_game,
    play_on,
    same,
)

AnyBatch = BaseBatch[Any, Any]


# --- Rows ------------------------------------------------------------------------------------------------------------


def rows_of(batch: AnyBatch, rows: list[int]) -> dict[str, npt.NDArray[Any]]:
    """The state of some rows."""
    return {name: array[rows] for name, array in batch.get_state().items() if name not in ("version", "rules")}


@by_name(ONE_OF_EACH)
def test_a_new_batch_holds_finished_games(rules: BaseRules) -> None:
    batch = new_batch(rules, 3)
    assert batch.over.all()
    assert not batch.mask.any()
    for bad in (0, -1, 2.5, "3", True, None):
        with pytest.raises(ValueError, match=f"num_games must be an integer from 1 to .*, got {bad!r}"):
            new_batch(rules, bad)  # type: ignore[arg-type]
    for domain in ("work", "", None, 0, ["play"]):
        with pytest.raises(ValueError, match="domain must be one of play, benchmark, validation, got"):
            type(batch)(rules, 1, domain)
    for row in (0, -1, 3, 1.5, "0"):
        for method in (batch.to_game, batch.deals):
            with pytest.raises(ValueError, match=r"row 0 has no deal yet|row must be an integer from 0 to 2, got"):
                method(row)


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
        assert (game.over, not game.legal_cards()) == (batch.over[row], not batch.mask[row].any())
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
    "fractions": ([1.9], "rows must be row numbers or a bool mask of all 5, got \\[1.9\\]"),
    "whole floats": (np.array([1.0, 2.0]), "rows must be row numbers or a bool mask of all 5"),
    "text": ("3", "rows must be row numbers or a bool mask of all 5, got '3'"),
    "texts": (["3"], "rows must be row numbers or a bool mask of all 5"),
    "table": ([[1], [2]], "rows must be row numbers or a bool mask of all 5"),
    "objects": ([None], "rows must be row numbers or a bool mask of all 5"),
    "lists of different lengths": ([[0], [1, 2]], "rows must be row numbers or a bool mask of all 5"),
    "short mask": ([True, False], "a mask of rows must have shape \\(5,\\), got \\(2,\\)"),
    "long mask": ([True] * 6, "a mask of rows must have shape \\(5,\\), got \\(6,\\)"),
    "truth value": (True, "a mask of rows must have shape \\(5,\\), got \\(\\)"),
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
    """A range, a single number, any integer type; none at all changes nothing. Queries take a row twice."""
    batch = in_the_middle(rules, steps=3)
    actions, before = legal_actions(batch, np.random.default_rng(0)), batch.get_state()
    expected = batch.fork(range(5))
    gains = expected.step(actions[1:4], np.array([1, 2, 3]))
    for rows in (range(1, 4), np.array([1, 2, 3], np.uint8), np.array([False, True, True, True, False])):
        batch.set_state(before)
        same(batch.step(actions[1:4], rows), gains)
        same(batch.get_state(), expected.get_state())
    batch.set_state(before)
    twice = [3, 0, 3]
    assert batch.is_legal(actions[twice], twice).all()
    if isinstance(batch, Batch):
        same(batch.penalties(twice), batch.penalties()[twice])
    nothing: Any
    for nothing in ([], np.zeros(5, np.bool_)):
        batch.reset(rows=nothing)
        batch.forfeit(nothing)
        assert batch.step(np.zeros(0, np.int64), nothing).shape == (0, rules.num_players)
    same(batch.get_state(), before)
    batch.forfeit(3)
    assert batch.over.tolist() == [row == 3 for row in range(5)]


@by_name(ONE_OF_EACH)
def test_fork_repeats_and_picks_rows(rules: BaseRules) -> None:
    batch = in_the_middle(rules, steps=5)
    fork = batch.fork([4, 1, 4, 4])
    assert fork.num_games == 4
    same(rows_of(fork, [0, 1, 2, 3]), rows_of(batch, [4, 1, 4, 4]))
    masked = batch.fork([False, True, False, False, True], k=2)
    same(rows_of(masked, [0, 1, 2, 3]), rows_of(batch, [1, 1, 4, 4]))
    before = batch.get_state()
    play_on(fork)
    same(before, batch.get_state())
    assert batch.fork(2).num_games == 1
    for k in (0, -1, 1.5, "2", True):
        with pytest.raises(ValueError, match="k must be an integer from 1 to"):
            batch.fork([0], k)


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
    with pytest.raises(ValueError, match="of game 2 is taken"):
        batch.value([0, 0], [int((batch.board[1, :25] < 0).argmax()), 0], [1, 2])


def test_only_possible_cards_have_values_in_the_spiral_game() -> None:
    batch = in_the_middle(SPIRAL["spiral-play-1"])
    same(
        batch.value([3, 4, 3], [1, 0, 1]),
        np.concatenate([batch.value([card], [row]) for card, row in ((3, 1), (4, 0), (3, 1))]),
    )
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


@by_name({name: EVERY_GAME[name] for name in sorted(COVERING - {*MINI})})
def test_nothing_changes_on_an_illegal_action(rules: BaseRules) -> None:
    """Every action is tried in the middle of a game: legal where the mask is True, else refused as by the game."""
    steps = (0, 3, 6) if rules.num_players == 1 else (0, 7, 16)
    rng = random.Random(0)
    for seed, count in enumerate(steps):
        batch = in_the_middle(rules, num_games=3, steps=count, seed=seed)
        legal = legal_actions(batch, np.random.default_rng(seed))
        before, mask = batch.get_state(), batch.mask[1]
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


def test_an_interrupted_shuffle_is_made_up_for(monkeypatch: pytest.MonkeyPatch) -> None:
    batch, other = new_batch(Rules(), 5), new_batch(Rules(), 5)
    for each in (batch, other):
        each.reset(seed=0)
    shuffle = batch._shuffle

    def interrupted(*args: Any) -> Any:
        monkeypatch.setattr(batch, "_shuffle", shuffle)
        raise KeyboardInterrupt

    monkeypatch.setattr(batch, "_shuffle", interrupted)
    with pytest.raises(KeyboardInterrupt):
        batch.reset()
    for each in (batch, other):
        each.reset()
    same(batch.get_state(), other.get_state())


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


def test_given_decks_are_played() -> None:
    batch = Batch(Rules(), 3)
    batch.reset(deals=np.tile(np.arange(35, -1, -1, dtype=np.int8), (3, 1, 1)))
    assert [deal.cards for deal in batch.deals(2)] == [tuple(range(35, -1, -1))]


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
        ({"deals": np.tile(np.arange(36), (3, 1, 1))}, "must be int8 and hold each card of the rules once"),
        ({"deals": np.zeros((3, 1, 36), np.int8)}, "deals as an array must be int8 and hold each card"),
        ({"deals": np.tile(np.arange(1, 37, dtype=np.int8), (3, 1, 1))}, "must be int8 and hold each card"),
    ],
)
def test_bad_resets_are_refused_and_change_nothing(options: dict[str, Any], message: str) -> None:
    batch = in_the_middle(Rules(), num_games=3, steps=3)
    before = batch.get_state()
    with pytest.raises(ValueError, match=message):
        batch.reset(**options)
    same(before, batch.get_state())
