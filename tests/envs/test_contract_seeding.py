"""The contract of every environment, part 1: seeds and deals."""

import math
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

import numpy as np
import pytest

from quincunx_env.envs.solitaire import SolitaireVectorEnv
from quincunx_env.quincunx.deal import Deal
from quincunx_env.quincunx.rules import Rules
from quincunx_env.registry import spec_of
from tests.envs.drivers import (
    ROWS,
    SEED,
    Batched,
    Case,
    Driver,
    SideBySide,
    Single,
    Stable,
    Vector,
    dealt,
    drive,
    every_environment,
    identified,
    seeded,
    takes_deals,
)
from tests.variants import new_game, same


@every_environment()
def test_a_seed_names_a_series_of_games(case: Case) -> None:
    """A seed starts with game 0, every further reset continues with the next; row i is seeded with seed + i."""
    driver = drive(case)
    for _ in range(2):
        for number in range(2):
            driver.reset(SEED if number == 0 else None)
            assert dealt(driver) == seeded(driver, number)
            rules = [driver.rules_of(row) for row in range(driver.rows)]
            assert [game.rules for game in driver.games()] == rules
            assert identified(driver) == [(SEED + row, number) for row in range(driver.rows)]


@every_environment()
def test_ended_games_are_followed_by_the_next_of_their_series(case: Case) -> None:
    """Whether a reset is called for or automatic."""
    driver, rng = drive(case).started(), np.random.default_rng(1)
    numbers, over = [0] * driver.rows, [False] * driver.rows
    while min(numbers) < 2:
        before = [game.ply for game in driver.games()], dealt(driver)
        driver.advance(rng)
        for row, deals in enumerate(dealt(driver)):
            numbers[row] += deals != before[1][row]
            rules = driver.rules_of(row)
            assert deals == new_game(rules, SEED + row, numbers[row]).deals
        over = [game.over for game in driver.games()]
    assert len(over) == driver.rows


@every_environment()
def test_seeding_twice_gives_the_same_games(case: Case) -> None:
    """A seed resets everything, the generator included; another seed gives other games."""
    driver, shown = drive(case), []
    for _ in range(2):
        driver.reset(SEED)
        shown.append([deepcopy(driver.shown), driver.play_on(20)])
        driver.reset()
        driver.walk(5)
    same(shown[0], shown[1])
    driver.reset(SEED + ROWS)
    with pytest.raises(AssertionError):
        same(driver.play_on(20), shown[0][1])


@every_environment(lambda case: issubclass(case[0], Vector))
def test_one_seed_and_one_for_each_row_are_the_same(case: Case) -> None:
    """Also for the generator, which random opponents share; numbers may be those of NumPy."""
    driver, twin = drive(case), drive(case)
    if isinstance(driver, Stable):  # which seeds by its own method
        twin = Vector(type(driver.env.envs), case[2] | {"autoreset_mode": "SameStep"})
    driver.reset(SEED)
    for seeds in (np.int64(SEED), range(SEED, SEED + ROWS), np.arange(SEED, SEED + ROWS)):
        twin.reset(seeds)
        same(twin.inner.np_random.bit_generator.state, driver.inner.np_random.bit_generator.state)
        assert dealt(twin) == dealt(driver)
    if "pool" in case[2] and type(driver) is not SideBySide:
        same(twin.env.policy_index, getattr(driver.env, "envs", driver.env).policy_index)


@every_environment()
def test_without_a_seed_games_are_random_and_can_be_repeated(case: Case) -> None:
    """The environment reports the seed that it drew."""
    seeds = set()
    for _ in range(2):
        driver = drive(case)
        driver.reset()
        for row, (seed, number) in enumerate(identified(driver)):
            assert number == 0
            assert dealt(driver)[row] == new_game(driver.rules_of(row), seed, 0).deals
            seeds.add(seed)
    assert len(seeds) == 2 * driver.rows
    assert min(seeds) >= 0


of_gymnasium = every_environment(lambda case: issubclass(case[0], Single | Vector) and case[0] is not Stable)


@of_gymnasium
def test_the_seed_that_was_drawn_repeats_the_games(case: Case) -> None:
    """Gymnasium's ``np_random_seed`` is the seed of the games, and of random opponents; also if asked for before."""
    for asked_before in (True, False):
        driver, twin = drive(case), drive(case)
        asked = {driver.env.np_random_seed} if asked_before else set()
        driver.reset()
        [seed] = asked | {driver.env.np_random_seed}
        assert identified(driver) == [(seed + row, 0) for row in range(driver.rows)]
        twin.reset(seed)
        same(twin.shown, driver.shown)
        same(twin.play_on(20), driver.play_on(20))
        driver.reset()
        assert identified(driver) == [(seed + row, 1) for row in range(driver.rows)]
        assert driver.env.np_random_seed == seed


@of_gymnasium
def test_a_generator_that_is_assigned_draws_the_seed(case: Case) -> None:
    """Of the next reset without a seed, and of no other, in a new environment and in one in use; it repeats games."""
    drivers = [drive(case), drive(case).started(3)]
    for driver in drivers:
        driver.env.np_random = np.random.default_rng(5)
        assert driver.env.np_random_seed == -1
        with pytest.raises(ValueError, match=r"a deal is written|a deal needs its rules"):
            driver.reset(deals=[[""]] * driver.rows)
        driver.reset()
    shown = drivers[0].play_on(20)
    same(drivers[1].play_on(20), shown)
    driver, twin = drivers[0], drive(case)
    seed = driver.env.np_random_seed
    assert seed == np.random.default_rng(5).integers(2**62), "the failed reset drew nothing"
    twin.reset(seed)
    same(twin.play_on(20), shown)
    driver.reset()
    assert identified(driver) == [(seed + row, 1) for row in range(driver.rows)]


@of_gymnasium
def test_the_seed_belongs_to_snapshots(case: Case) -> None:
    """A restored environment reports the seed of its games."""
    driver, other = drive(case).started(3), drive(case)
    other.env.set_state(driver.env.get_state())
    assert other.env.np_random_seed == SEED
    fresh = drive(case)
    if isinstance(fresh, Vector):  # the others have no state before the first reset
        other.env.set_state(fresh.env.get_state())
        fresh.reset()
        other.reset()
        same(other.play_on(20), fresh.play_on(20))


def test_the_seed_of_a_partial_reset_repeats_it() -> None:
    """The rows that are not reset keep their games."""
    env = SolitaireVectorEnv(ROWS)
    env.reset(seed=SEED)
    env.np_random = np.random.default_rng(1)
    seed = None
    for _ in range(2):
        env.reset(seed=seed, options={"reset_mask": np.array([False, True, True])})
        seed = env.np_random_seed
        assert env.batch.seed.tolist() == [SEED, seed + 1, seed + 2]


@every_environment(lambda case: not issubclass(case[0], Stable))
def test_extreme_seeds_and_those_of_numpy(case: Case) -> None:
    """The least, the greatest for three rows, and one from an array."""
    driver = drive(case)
    seeds: list[Any] = [0, 2**63 - ROWS, np.int64(5), np.array(5)]
    for seed in seeds:
        driver.reset(seed)
        assert dealt(driver) == seeded(driver, 0, int(seed))


@every_environment(lambda case: not issubclass(case[0], Stable))
def test_bad_seeds_are_refused(case: Case) -> None:
    """A seed is an integer from 0 to 2**63 - 1; nothing changes, also if deals are handed in with it."""
    driver = drive(case).started(3)
    with driver.unchanged():
        for seed in (-1, 2**63, True, "1", 1.0, math.nan, *([[3]] if driver.rows == 1 else [])):
            for deals in (None, seeded(driver, 7)) if takes_deals(case) else (None,):
                with pytest.raises(ValueError, match="seed"):
                    driver.reset(seed, deals)


# --- Deals that are handed in ----------------------------------------------------------------------------------------


@every_environment(takes_deals)
def test_deals_can_be_handed_in(case: Case) -> None:
    """As values or as text, which `BatchedGames` does not take; the seeded series continues after them."""
    for written in (lambda deal: deal,) if issubclass(case[0], Batched) else (lambda deal: deal, str):
        check_given_deals(drive(case), written)


def check_given_deals(driver: Driver, written: Callable[[Any], Any]) -> None:
    """Deals in this form are played, and the seeded series continues after them."""
    deals = seeded(driver, 5, 77)
    given = [tuple(map(written, rounds)) for rounds in deals]
    driver.reset(SEED)
    for number in (1, 2):
        driver.reset(deals=given)
        assert dealt(driver) == deals
        assert identified(driver) == [(-1, -1)] * driver.rows
        twin = deepcopy(driver)
        twin.reset()
        assert dealt(twin) == seeded(driver, number + 1)
    # A seed given with deals counts for the games after them.
    driver.reset(9, given)
    assert dealt(driver) == deals
    driver.reset()
    assert dealt(driver) == seeded(driver, 1, 9)
    fresh = driver.new()
    fresh.reset(deals=given)
    assert dealt(fresh) == deals


def bad_deals(rules: Any) -> Iterator[Any]:
    """The deals of a game that do not fit its rules, or are none, with what the error says."""
    rounds = list(new_game(rules, 1).deals)
    deal, spec = rounds[0], spec_of(rules)
    cards = list(deal.cards)
    twice = spec.Deal.of_cards(rules, [*cards[:-1], cards[0]])
    yield [*rounds[:-1], twice], "dealt twice"
    if isinstance(rules, Rules):
        short = Deal(deal.face_up, deal.hands, deal.pile[:-1])
        foreign = Deal((99, *deal.face_up[1:]), deal.hands, deal.pile)
        other = Deal(deal.face_up, (deal.hands[0][:-1], *deal.hands[1:]), (*deal.pile, deal.hands[0][-1]))
        yield [*rounds[:-1], short], "missing: "
        yield [*rounds[:-1], foreign], "card ids from 0 to 40, got 99"
        yield [*rounds[:-1], other], "cards .* are needed, got"
        if not rules.excuse:
            with_excuse = Deal((40, *deal.face_up[1:]), deal.hands, deal.pile)
            yield [*rounds[:-1], with_excuse], "not in the deck of these rules: X"
    yield [*rounds, deal], f"need a deal for each, got {len(rounds) + 1}"
    yield [], "got 0"


@every_environment(takes_deals)
def test_bad_deals_are_refused(case: Case) -> None:
    """With a seed or without, in any row; nothing changes."""
    driver = drive(case).started(3)
    good = seeded(driver, 7)
    with driver.unchanged():
        for bad, match in bad_deals(driver.games()[driver.row].rules):
            for seed in (None, 5):
                with pytest.raises(ValueError, match=match):
                    driver.reset(seed, [*good[:-1], bad])


@every_environment(lambda case: takes_deals(case) and not issubclass(case[0], Batched))
def test_what_is_no_deal_is_refused(case: Case) -> None:
    """Text of another form, numbers, nothing."""
    driver = drive(case).started(3)
    wrong_deals = {
        "?? | CK": "unknown card",
        "": "a deal is written",
        3: "a deal is a Deal or its text, got 3",
        (None,): "a deal is a Deal or its text, got",
    }
    *good, last = seeded(driver, 7)
    names = str(last[-1]).split()
    wrong_deals[str(last[-1]).replace(names[0], "AZ")] = "unknown card 'AZ'"
    with driver.unchanged():
        for wrong, match in wrong_deals.items():
            with pytest.raises(ValueError, match=match):
                driver.reset(None, [*good, [wrong]])


@every_environment(lambda case: issubclass(case[0], Single))
def test_no_deal_is_the_seeded_one(case: Case) -> None:
    """``{"deal": None}`` hands in nothing."""
    driver, twin = drive(case), drive(case)
    twin.reset(SEED)
    same(driver.env.reset(seed=SEED, options={"deal": None}), twin.shown)
    twin.reset()
    same(driver.env.reset(options={"deal": None}), twin.shown)
