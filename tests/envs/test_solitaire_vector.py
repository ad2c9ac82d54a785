"""The solitaire as a Gymnasium environment of many games: rows, resets, wrappers, seeds and deals by row."""

import pickle
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from quincunx_env import Deal, Game, Rules
from quincunx_env.envs.solitaire import SolitaireEnv, SolitaireVectorEnv
from tests.envs.agents import Options, each
from tests.envs.drivers import Vector
from tests.envs.solitaire import (
    ID,
    OPTIONS,
    ROWS,
    SEED,
    choose,
    every_mode,
    row_of,
)
from tests.variants import same

# --- Many games are single games side by side ------------------------------------------------------------------------


@every_mode
@each(OPTIONS)
def test_automatic_resets_are_those_of_gymnasium(mode: AutoresetMode, options: Options) -> None:
    """Observations, rewards, flags, and infos key by key, are those of a `SyncVectorEnv` of single environments.

    There are two differences: with NEXT_STEP any action is legal where a round has ended, and a partial reset reports
    the masks of all rows. Every second options are tried with ``copy=False``: arrays are reused, their contents same.
    """
    makers: list[Callable[[], Any]] = [lambda: SolitaireEnv(**options)] * ROWS
    sync: Any = SyncVectorEnv(makers, autoreset_mode=mode)
    native = SolitaireVectorEnv(ROWS, autoreset_mode=mode, copy=OPTIONS.index(options) % 2 == 0, **options)
    for name in ("single_observation_space", "single_action_space", "observation_space", "action_space"):
        assert getattr(native, name) == getattr(sync, name)
    assert native.metadata["autoreset_mode"] is mode
    assert "autoreset_mode" not in SolitaireEnv.metadata
    rng = np.random.default_rng(SEED)
    ours: tuple[Any, ...] = native.reset(seed=SEED)
    same(ours, sync.reset(seed=SEED))
    endings, resets = 0, 0
    for step in range(120):
        assert native.observation_space.contains(ours[0])
        masks = ours[-1]["action_mask"]
        assert masks.dtype == np.int8
        actions = choose(native, rng, masks, illegal=0.05 if "illegal" in options else 0)
        ours, theirs = native.step(actions), sync.step(actions)
        ended = ours[2]
        if mode == AutoresetMode.NEXT_STEP:
            theirs[-1]["action_mask"][ended] = 1
        same(ours, theirs, f"step {step}")
        endings += ended.sum()
        # A reset by hand: always where it is needed; elsewhere now and then, half of the time in the middle of a round.
        if mode == AutoresetMode.DISABLED or step % 5 == 0:
            rows = ended | (rng.random(ROWS) < 0.1)
            if rows.any():
                before = ours[-1]["action_mask"].copy()
                ours = native.reset(options={"reset_mask": rows})
                theirs = sync.reset(options={"reset_mask": rows.copy()})
                same(ours[0], theirs[0], f"reset after step {step}")
                same(ours[1]["action_mask"][rows], theirs[1]["action_mask"][rows])
                same(ours[1]["action_mask"][~rows], before[~rows])
                assert ours[1].keys() == theirs[1].keys()
                resets += 1
    assert endings > 20
    assert resets > 2


# --- Seeds, deals and resets by row ----------------------------------------------------------------------------------


def test_rows_can_be_seeded_one_by_one() -> None:
    """A list of seeds gives each row its own; with ``reset_mask`` only those of the rows that are reset count."""
    env = SolitaireVectorEnv(3)
    env.reset(seed=[5, 5, 9])
    assert env.batch.seed.tolist() == [5, 5, 9]
    env.reset()
    assert env.batch.game.tolist() == [1, 1, 1]
    some = {"reset_mask": np.array([True, False, True])}
    env.reset(seed=[1, 2, 3], options=some)
    assert (env.batch.seed.tolist(), env.batch.game.tolist()) == ([1, 5, 3], [0, 1, 0])
    env.reset(options=some)
    assert (env.batch.seed.tolist(), env.batch.game.tolist()) == ([1, 5, 3], [1, 1, 1])
    env.reset(seed=70, options=some)
    assert (env.batch.seed.tolist(), env.batch.game.tolist()) == ([70, 5, 72], [0, 1, 0])
    env.reset(seed=70)
    assert (env.batch.seed.tolist(), env.batch.game.tolist()) == ([70, 71, 72], [0, 0, 0])
    env.reset(seed=[None, 9, None])
    assert (env.batch.seed.tolist(), env.batch.game.tolist()) == ([70, 9, 72], [1, 0, 1])
    assert env.np_random_seed == 70, "the first row has no seed"
    deals = [Deal.from_seed(env.rules, number) for number in range(2)]
    env.reset(seed=[None, 5, 6], options={"deal": deals, "reset_mask": np.array([False, True, True])})
    assert [env.to_game(row).deals[0] for row in (1, 2)] == deals
    assert env.np_random_seed == 5
    env.reset()
    assert (env.batch.seed.tolist(), env.batch.game.tolist()) == ([70, 5, 6], [2, 1, 1])
    env.reset(seed=[None] * 3)
    assert (env.batch.seed.tolist(), env.batch.game.tolist()) == ([70, 5, 6], [3, 2, 2])
    fresh = SolitaireVectorEnv(3)
    fresh.reset(seed=[None] * 3)
    assert fresh.batch.seed[0] == fresh.np_random_seed


@pytest.mark.parametrize("written", [lambda deal: deal, str], ids=["deal", "text"])
def test_deals_can_be_handed_in_to_some_rows(written: Callable[[Deal], Any]) -> None:
    """With ``reset_mask`` a deal for each row that is reset; the others play on, and the series continue."""
    driver = Vector(SolitaireVectorEnv, {}).started()
    many = driver.env
    deals = [Deal.from_seed(many.rules, 77, number) for number in range(3)]
    many.reset(options={"deal": list(map(written, deals))})
    some = np.array([False, True, True])
    many.reset(options={"deal": [written(deals[0]), written(deals[1])], "reset_mask": some})
    assert [many.batch.deals(row) for row in range(3)] == [(deals[0],), (deals[0],), (deals[1],)]
    assert many.batch.seed.tolist() == [-1] * 3
    twice = Deal(deals[0].face_up, deals[0].hands, (*deals[0].pile[:-1], deals[0].face_up[0]))
    for wrong, match in ((deals, "deal"), ([deals[0], twice], "dealt twice")):
        with driver.refused(ValueError, match):
            many.reset(options={"deal": list(map(written, wrong)), "reset_mask": some})
    observations, _ = many.reset()
    for row, number in enumerate([2, 3, 3]):
        deal = Deal.from_seed(many.rules, SEED + row, number)
        same(row_of(observations, row), many.observer.observe(Game(many.rules, deal)))


@pytest.mark.parametrize(
    "deals",
    [
        pytest.param(lambda deal: [deal], id="too-few"),
        pytest.param(lambda deal: [deal] * 4, id="too-many"),
        pytest.param(lambda deal: [], id="none-in-it"),
        pytest.param(lambda deal: deal, id="bare"),
        pytest.param(str, id="text"),
        pytest.param(lambda deal: [deal, deal, None], id="none"),
    ],
)
def test_many_games_need_a_deal_each(deals: Callable[[Deal], Any]) -> None:
    """Neither fewer nor more nor a single one for all."""
    driver = Vector(SolitaireVectorEnv, {}).started(3)
    with driver.refused(ValueError):
        driver.env.reset(options={"deal": deals(Deal.from_seed(driver.rules, 1))})


@pytest.mark.parametrize(
    ("seed", "match"),
    [
        (2**63 - 2, "seed must be an integer"),  # the third row's does not fit
        ([1, 2], "3 seeds are needed, got 2"),
        ([1, 2, 3, 4], "3 seeds are needed, got 4"),
        ([1, 2, -3], "seed must be an integer"),
        ([1, 2, 3.0], "seed must be an integer"),
    ],
    ids=str,
)
def test_bad_seeds_of_many_games_are_refused(seed: Any, match: str) -> None:
    """A list has one for each row."""
    driver = Vector(SolitaireVectorEnv, {}).started(3)
    with driver.refused(ValueError, match):
        driver.reset(seed)


@pytest.mark.parametrize(
    "mask",
    [
        np.zeros(3, np.bool_),
        np.ones(2, np.bool_),
        np.ones((3, 1), np.bool_),
        np.ones(3, np.int8),
        [0, 1],
        True,
    ],
    ids=str,
)
@every_mode
def test_bad_reset_masks_are_refused(mode: AutoresetMode, mask: Any) -> None:
    """``reset_mask`` is a bool for each row, with one at least that is True."""
    driver = Vector(SolitaireVectorEnv, {"autoreset_mode": mode}).started(2)
    with driver.refused(ValueError, r"reset_mask must be a bool array of shape \(3,\)"):
        driver.env.reset(seed=3, options={"reset_mask": mask})


# --- A list of deals -------------------------------------------------------------------------------------------------

DEALS = [Deal.from_seed(Rules(), 1000 + number) for number in range(7)]


def played(many: SolitaireVectorEnv, row: int) -> int:
    """Index of the deal that a row plays in `DEALS`."""
    return DEALS.index(many.to_game(row).deals[0])


@every_mode
@pytest.mark.parametrize("text", [False, True])
def test_rows_play_a_list_of_deals_in_turn(mode: AutoresetMode, text: bool) -> None:
    """Row i those of index i, i + 3, ..., whenever its games end; the last info has the index; seeds start again."""
    many = gymnasium.make_vec(ID, 3, given_deals=[str(deal) if text else deal for deal in DEALS], autoreset_mode=mode)
    assert isinstance(many, SolitaireVectorEnv)
    rng, games = np.random.default_rng(SEED), [0, 0, 0]
    many.reset(seed=5)
    while min(games) < 5:
        assert [played(many, row) for row in range(3)] == [(row + 3 * games[row]) % 7 for row in range(3)]
        over = many.batch.over.copy()
        if mode == AutoresetMode.DISABLED and over.any():
            many.reset(options={"reset_mask": over})
            games = [count + int(row) for count, row in zip(games, over, strict=True)]
            continue
        actions = [rng.choice(np.flatnonzero(mask)) if mask.any() else 0 for mask in many.action_masks()]
        _, _, ended, _, info = many.step(np.array(actions))
        final = info.get("final_info", info)
        for row in np.flatnonzero(ended):
            assert (final["seed"][row], final["game"][row]) == (-1, (row + 3 * games[row]) % 7)
        dealt = {AutoresetMode.SAME_STEP: ended, AutoresetMode.NEXT_STEP: over}.get(mode, np.zeros(3, np.bool_))
        games = [count + int(row) for count, row in zip(games, dealt, strict=True)]
    many.reset(seed=8)
    assert [played(many, row) for row in range(3)] == [0, 1, 2]
    many.reset()
    assert [played(many, row) for row in range(3)] == [3, 4, 5]


def test_a_list_of_deals_continues_after_copies_and_single_deals() -> None:
    """Snapshots, pickles and games with a deal of their own count as the others do."""
    many, other = SolitaireVectorEnv(3, given_deals=DEALS), SolitaireVectorEnv(3, given_deals=DEALS)
    many.reset(seed=0)
    many.reset(options={"deal": DEALS[:1], "reset_mask": np.array([False, True, False])})
    assert many.batch.game.tolist() == [0, -1, 2]
    other.set_state(many.get_state())
    for env in (many, other, pickle.loads(pickle.dumps(many))):
        env.reset()
        assert env.batch.game.tolist() == [3, 0, 5]
        assert [played(env, row) for row in range(3)] == [3, 0, 5]


@pytest.mark.parametrize(
    ("deals", "message"),
    [
        ([], "given_deals must be a sequence of deals"),
        (DEALS[0], "given_deals must be a sequence of deals"),
        (str(DEALS[0]), "given_deals must be a sequence of deals"),
        (3, "given_deals must be a sequence of deals, one for each game, got 3"),
        ([3], "a deal is a Deal or its text, got 3"),
        (["AM"], "a deal is written"),
        ([[DEALS[0], DEALS[1]]], "these rules play 1 rounds"),
        ([Deal.from_seed(Rules(excuse=True), 0)], "this deal does not fit the rules"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_what_is_no_list_of_deals_is_refused(deals: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SolitaireVectorEnv(2, given_deals=deals)
