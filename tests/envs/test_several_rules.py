"""Lists of rules: row i of a vector environment plays rules i mod k."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import asdict
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode

from quincunx_env import (
    BatchedGames,
    SolitaireEnv,
    SolitaireVectorEnv,
    VsOpponentsEnv,
    VsOpponentsVectorEnv,
    quincunx_v0,
)
from quincunx_env.core.game import IllegalAction
from quincunx_env.envs.side_by_side import SideBySideVectorEnv
from quincunx_env.envs.solitaire import make_solitaire_vec
from quincunx_env.envs.vs_opponents import make_vs_opponents_vec
from quincunx_env.quincunx.game import Game
from quincunx_env.quincunx.rules import Rules
from tests.envs.drivers import SEVERAL, SEVERAL_ALONE, SideBySide
from tests.variants import same

SEED = 40
ROWS = 7
TOGETHER = [*SEVERAL, Rules(2, simpleton=True), Rules(2, mini=True)]

Make = Callable[..., Any]


KINDS: list[tuple[Make, Make, list[Rules], dict[str, Any]]] = [
    (make_solitaire_vec, SolitaireVectorEnv, SEVERAL_ALONE, {"lost_value": -5}),
    (make_solitaire_vec, SolitaireVectorEnv, SEVERAL_ALONE[:1], {"actions": "hand"}),
    (make_vs_opponents_vec, VsOpponentsVectorEnv, TOGETHER, {"opponents": "uniform", "actions": "hand"}),
    (make_vs_opponents_vec, VsOpponentsVectorEnv, TOGETHER, {"pool": ["greedy", "uniform"], "mask_in": "obs"}),
]
"""Of many games with several rules, and with one; rules and options."""


def check_rows(found: Any, rows: slice, alone: Any) -> None:
    """Some rows are the same to the last bit as all of other games; what these do not have is 0 or None."""
    if isinstance(found, dict):
        assert alone is None or alone.keys() <= found.keys()
        for name in found.keys() - {"rules", "_rules"}:
            check_rows(found[name], rows, None if alone is None else alone.get(name))
    elif alone is None:
        assert not any(value is not None and np.any(value) for value in found[rows])
    elif found.dtype.hasobject:
        same([*found[rows]], [*alone])
    elif found.shape[1:] == alone.shape[1:]:
        same(np.ascontiguousarray(found[rows]), alone)
    else:  # totals, of more players elsewhere
        same(np.ascontiguousarray(found[rows, : alone.shape[1]]), alone)
        assert not found[rows, alone.shape[1] :].any()


@pytest.mark.parametrize("observation", ["pieces", "vector"])
@pytest.mark.parametrize("mode", AutoresetMode, ids=lambda mode: mode.name)
@pytest.mark.parametrize(("make", "alone", "rules", "options"), KINDS, ids=["solitaire", "one", "opponents", "pool"])
def test_rows_are_the_games_of_each_rules_alone(
    make: Make, alone: Make, rules: list[Rules], options: dict[str, Any], mode: AutoresetMode, observation: str
) -> None:
    """Observations, rewards, ends and infos, at every step; resets of some rows, too."""
    options = options | {"autoreset_mode": mode, "observation": observation}
    env, count, rng = make(ROWS, rules=rules, **options), len(rules), np.random.default_rng(SEED)
    own = [slice(index, None, count) for index in range(count)]
    parts = [
        alone(len(range(ROWS)[rows]), rules=each, padded=True, **options) for rows, each in zip(own, rules, strict=True)
    ]
    assert isinstance(env, SideBySideVectorEnv)
    assert env.rules == rules

    def check(found: tuple[Any, ...], expected: list[tuple[Any, ...]]) -> None:
        assert env.observation_space.contains(found[0])
        for rows, row_part in zip(own, expected, strict=True):
            for mine, its in zip(found, row_part, strict=True):
                check_rows(mine, rows, its)
        assert found[-1]["rules"].tolist() == [row % count for row in range(ROWS)]
        assert found[-1]["_rules"].all()

    seeds = range(SEED, SEED + ROWS)
    check(env.reset(seed=SEED), [part.reset(seed=seeds[rows]) for rows, part in zip(own, parts, strict=True)])
    assert [env.to_game(row).rules for row in range(ROWS)] == [rules[row % count] for row in range(ROWS)]
    ended, over = 0, np.zeros(ROWS, np.bool_)
    for _ in range(60):
        if mode == AutoresetMode.DISABLED and over.any():
            found = env.reset(options={"reset_mask": over})
            resets = [(over[rows], part) for rows, part in zip(own, parts, strict=True)]
            check(
                found,
                [part.reset(options={"reset_mask": some}) if some.any() else part._show({}) for some, part in resets],
            )
        actions = np.array([rng.choice(np.flatnonzero(mask)) for mask in env.action_masks()])
        stepped = env.step(actions)
        check(stepped, [part.step(actions[rows]) for rows, part in zip(own, parts, strict=True)])
        over = stepped[2]
        ended += over.sum()
        if mode == AutoresetMode.SAME_STEP and over.any():
            final = stepped[-1]["final_info"]
            assert final["rules"][over].tolist() == [row % count for row in np.flatnonzero(over)]
    assert ended > ROWS


def test_an_illegal_action_in_one_row_changes_nothing_in_any() -> None:
    """The error names the row. An error of an opponent ends all games."""
    driver = SideBySide(make_solitaire_vec, {"num_envs": ROWS, "rules": SEVERAL_ALONE}).started(2)
    driver.rows = ROWS
    masks = driver.env.action_masks()
    for row in range(ROWS):
        actions = masks.argmax(axis=1)
        actions[row] = masks[row].argmin()
        with driver.refused(IllegalAction, f"^game {row}: .*illegal='next'"):
            driver.env.step(actions)
    env = make_vs_opponents_vec(ROWS, rules=TOGETHER, opponents=lambda observation, mask, rng: mask.argmin(axis=1))
    env.reset(seed=SEED)
    with pytest.raises(RuntimeError, match="at fault"):
        env.step(env.action_masks().argmax(axis=1))
    for call in (lambda: env.step([0] * ROWS), lambda: env.reset(options={"reset_mask": np.arange(ROWS) < 1})):
        with pytest.raises(ResetNeeded, match="reset"):
            call()


def test_some_rows_are_reset_with_deals_and_seeds() -> None:
    """A deal for each row that is reset, in the order of the rows; other rows play on."""
    env = make_solitaire_vec(ROWS, rules=SEVERAL_ALONE)
    env.reset(seed=SEED)
    rules = [SEVERAL_ALONE[row % 3] for row in range(ROWS)]
    before = [env.to_game(row).deals for row in range(ROWS)]
    some, chosen = np.isin(np.arange(ROWS), [1, 2, 5]), [1, 2, 5]
    given = [Game.from_seed(rules[row], 77 + row).deals[0] for row in chosen]
    env.reset(options={"reset_mask": some, "deal": [str(given[0]), *given[1:]]})
    after = [env.to_game(row).deals for row in range(ROWS)]
    assert [after[row] for row in chosen] == [(deal,) for deal in given]
    assert [after[row] for row in (0, 3, 4, 6)] == [before[row] for row in (0, 3, 4, 6)]
    state = env.get_state()
    wrong: list[tuple[Any, str]] = [
        (given[:2], "3 games are reset and need a deal each, got "),
        ([given[0], given[1], given[0]], "this deal does not fit the rules|not in the deck"),
        ([given[0], given[1], "AM"], "a deal is written"),
    ]
    for deals, match in wrong:
        with pytest.raises(ValueError, match=match):
            env.reset(options={"reset_mask": some, "deal": deals})
        same(env.get_state(), state)
    env.reset(seed=[None, 5, None, None, 7, None, None], options={"reset_mask": some})
    dealt = [env.to_game(row).deals for row in range(ROWS)]
    assert dealt[1] == Game.from_seed(rules[1], 5).deals
    assert [dealt[row] for row in (2, 5)] == [Game.from_seed(rules[row], SEED + row, 2).deals for row in (2, 5)]
    assert [dealt[row] for row in (0, 3, 4, 6)] == [before[row] for row in (0, 3, 4, 6)]
    with pytest.raises(ResetNeeded, match="all rows"):
        make_solitaire_vec(ROWS, rules=SEVERAL_ALONE).reset(options={"reset_mask": some})


def test_snapshots_of_several_rules_go_on_elsewhere() -> None:
    """Damage in any part is refused, and changes none of them."""
    options: dict[str, Any] = {"rules": TOGETHER, "pool": ["uniform", "greedy"], "num_envs": ROWS}
    driver = SideBySide(make_vs_opponents_vec, options).started(5)
    driver.rows = ROWS
    state, other = driver.env.get_state(), deepcopy(driver).started(3, 9)
    expected = driver.play_on(20)
    with other.unchanged():
        for wrong in (
            {name: array for name, array in state.items() if name != "4.hands"},
            state | {"3.mover": state["3.mover"] + 9},
            state | {"np_random_seed": np.array(-2)},
            {name.replace("0.", "1.", 1): array for name, array in state.items()},
        ):
            with pytest.raises(ValueError, match="state"):
                other.env.set_state(wrong)
    restored, info = other.env.set_state(state)
    assert other.env.observation_space.contains(restored)
    assert info["rules"].tolist() == [row % 5 for row in range(ROWS)]
    same(other.play_on(20), expected)


def test_many_games_of_several_rules_are_made_by_their_ids() -> None:
    """Of the solitaire and of several players; options come through, and specs are written as JSON."""
    for name, rules in (("Solitaire", SEVERAL_ALONE), ("VsOpponents", TOGETHER)):
        options: dict[str, Any] = {"rules": [asdict(each) for each in rules], "render_mode": "ansi"}
        env = gymnasium.make_vec(f"Quincunx/{name}-v0", num_envs=ROWS, **options)
        assert isinstance(env, SideBySideVectorEnv)
        assert list(env.rules) == rules
        assert env.spec
        again = gymnasium.make_vec(EnvSpec.from_json(env.spec.to_json()))
        same(again.reset(seed=SEED), env.reset(seed=SEED))
        texts = env.render()
        assert texts
        assert len(texts) == ROWS
        assert texts[3] == env.envs[3 % len(rules)].render()[3 // len(rules)]  # type: ignore[index]


def test_rules_given_twice_have_twice_the_rows() -> None:
    env = make_solitaire_vec(ROWS, rules=[SEVERAL_ALONE[0], SEVERAL_ALONE[0], SEVERAL_ALONE[1]])
    env.reset(seed=SEED)
    assert [env.to_game(row).rules == SEVERAL_ALONE[1] for row in range(ROWS)] == [False, False, True] * 2 + [False]


def test_one_environment_plays_one_set_of_rules() -> None:
    """A list is refused, in a sentence; an empty one also by many games."""
    for make in (SolitaireEnv, SolitaireVectorEnv, quincunx_v0.raw_env, BatchedGames, VsOpponentsEnv):
        with pytest.raises(ValueError, match=r"rules must be a .*Rules or a mapping of its fields \("):
            make(**{"num_games": 2} if make is BatchedGames else {}, rules=[{}])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="a list of rules must have at least one"):
        make_solitaire_vec(2, rules=[])
