"""Rules that vary: row i of many games plays rules i mod k, a single environment draws its rules by its seed."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import asdict
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

from quincunx_env import SolitaireEnv, SolitaireVectorEnv, VsOpponentsEnv, VsOpponentsVectorEnv
from quincunx_env.core.deal import draw
from quincunx_env.core.game import IllegalAction
from quincunx_env.core.rules import SeveralRules
from quincunx_env.envs.side_by_side import SideBySideVectorEnv
from quincunx_env.envs.solitaire import make_solitaire_vec
from quincunx_env.envs.text import TextEnv
from quincunx_env.envs.vs_opponents import make_vs_opponents_vec
from quincunx_env.quincunx.game import Game
from quincunx_env.quincunx.rules import Rules
from quincunx_env.registry import make_observer
from tests.envs.drivers import SEVERAL, SEVERAL_ALONE, SideBySide
from tests.variants import same

SEED = 40
ROWS = 7
TOGETHER = [*SEVERAL, Rules(2, simpleton=True), Rules(2, mini=True)]

Make = Callable[..., Any]


def test_draws_are_frozen_and_uniform() -> None:
    """They differ by seed, game and domain."""
    seeds, games = np.arange(8), np.zeros(8, np.int64)
    assert draw(5, seeds, games).tolist() == [3, 3, 2, 2, 3, 2, 1, 2]
    assert draw(5, seeds, games + 1).tolist() == [0, 4, 3, 1, 1, 0, 2, 4]
    assert draw(5, seeds, games, "benchmark").tolist() == [1, 2, 4, 0, 1, 0, 1, 1]
    many = draw(5, np.arange(50_000) // 100, np.arange(50_000) % 100)
    assert np.bincount(many) == pytest.approx(10_000, abs=400)


# --- Side by side ----------------------------------------------------------------------------------------------------

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
    parts = [alone(len(range(ROWS)[rows]), rules=[each], **options) for rows, each in zip(own, rules, strict=True)]
    assert isinstance(env, SideBySideVectorEnv)
    assert env.rules == SeveralRules(rules)

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


# --- One game --------------------------------------------------------------------------------------------------------

SINGLE: list[tuple[Make, list[Rules]]] = [
    (partial(SolitaireEnv, rules=SEVERAL_ALONE), SEVERAL_ALONE),
    (partial(VsOpponentsEnv, rules=TOGETHER, opponents="greedy"), TOGETHER),
]


@pytest.mark.parametrize(("make", "rules"), SINGLE, ids=["solitaire", "players"])
def test_one_game_draws_its_rules_by_its_seed(make: Make, rules: list[Rules]) -> None:
    """Its observation is that of the drawn rules in the common shape; the info has their index."""
    env, found = make(), set()
    for number in range(20):
        observation, info = env.reset(seed=SEED if number == 0 else None)
        index = draw(len(rules), np.array([SEED]), np.array([number])).item()
        found.add(index)
        assert info["rules"] == index
        assert env.game.rules == rules[index]
        assert env.game.deals == Game.from_seed(rules[index], SEED, number).deals
        seat = getattr(env, "seat", 0)
        same(observation, make_observer(rules[index], padded=True).observe(env.game, seat))
        assert env.observation_space.contains(observation)
    assert len(found) == len(rules)


@pytest.mark.parametrize(("make", "rules"), SINGLE, ids=["solitaire", "players"])
def test_rules_are_chosen_at_reset(make: Make, rules: list[Rules]) -> None:
    """By index, as they are or as a mapping, with their deals; the next game draws again."""
    env = make()
    mapping = {name: np.array(value) for name, value in asdict(rules[1]).items()}
    for chosen in (1, np.int64(1), np.array(1), rules[1], asdict(rules[1]), mapping):
        env.reset(seed=SEED, options={"rules": chosen})
        assert (env.game.rules, env.game.deals) == (rules[1], Game.from_seed(rules[1], SEED).deals)
    deals = list(Game.from_seed(rules[2], 7).deals)
    env.reset(seed=SEED, options={"rules": rules[2], "deal": deals})
    assert env.game.deals == tuple(deals)
    before = env.get_state()
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"rules": Rules(flush=True, excuse=True, pawns=True)}, "make the environment with these rules, too"),
        ({"rules": 9}, "make the environment with these rules, too, to choose them here: 9"),
        ({"rules": True}, "make the environment with these rules, too, to choose them here: True"),
        ({"rules": np.zeros(3)}, "make the environment with these rules, too, to choose them here"),
        ({"deal": deals}, "a deal needs its rules where games have several"),
        ({"rules": rules[0], "deal": deals}, "deal"),
    ]
    for options, match in wrong:
        with pytest.raises(ValueError, match=match):
            env.reset(seed=SEED, options=options)
        assert env.get_state()["deals"] == before["deals"]
        assert env.game.deals == tuple(deals)
    env.reset()
    assert env.game.rules == rules[draw(len(rules), np.array([SEED]), np.array([1])).item()]


def test_prompts_have_one_set_of_rules() -> None:
    with pytest.raises(ValueError, match=r"rules must be one set of rules for prompts"):
        TextEnv(rules=[{}])


def test_checkers_accept_rules_that_vary() -> None:
    """Gymnasium's and stable-baselines3's; specs are written as JSON."""
    for name, rules in (("Solitaire", SEVERAL_ALONE), ("VsOpponents", TOGETHER)):
        env = gymnasium.make(f"Quincunx/{name}-v0", rules=[asdict(each) for each in rules], illegal="next")
        check_env(env.unwrapped, skip_render_check=True)
        assert env.spec
        again: Any = gymnasium.make(EnvSpec.from_json(env.spec.to_json())).unwrapped
        assert list(again.rules) == rules
        vector: Any = gymnasium.make(f"Quincunx/{name}-v0", rules=rules, illegal="next", observation="vector").unwrapped
        pytest.importorskip("stable_baselines3.common.env_checker").check_env(vector)
