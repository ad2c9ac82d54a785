"""The contract of every environment, part 3: masks, and legal and illegal actions."""

import re
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from gymnasium.vector import AutoresetMode

from quincunx_env import IllegalAction, spiral
from tests import reference_scorer as scorer
from tests.envs.drivers import (
    DRIVERS,
    Agents,
    Batched,
    Case,
    Driver,
    Mask,
    Single,
    Stable,
    drive,
    every_environment,
)
from tests.variants import announcement, same

# --- Masks -----------------------------------------------------------------------------------------------------------


def legal_actions(game: Any) -> list[int]:
    """The engine's numbers of all legal actions: every card of the hand in every legal cell, or announcements."""
    rules = game.rules
    if game.over:
        return []
    if isinstance(game, spiral.Game):
        return list(game.hand(game.mover))
    if game.pending:
        return list(range(announcement(rules, -64), announcement(rules, 319) + 1))
    filled = [rules.grid.place(cell) for cell in range(rules.num_cells) if game.board[cell] >= 0]
    placement: Any = "open" if rules.start == "open" else "contact" if rules.edge_contact else "any"
    cells = [rules.grid.cell(place) for place in scorer.legal_cells(filled, placement, rules.grid.side)]
    return sorted(card * rules.num_cells + cell for card in game.hand(game.mover) for cell in cells)


def expected_mask(driver: Driver, game: Any) -> Mask:
    """The mask of a game by hand, as the environment encodes it."""
    legal: Mask = np.isin(driver.numbers(game), legal_actions(game))
    return legal


def shown_masks(driver: Driver) -> list[npt.NDArray[Any]]:
    """The masks of the last call's observations, infos and positions, [rows, A] each."""
    if isinstance(driver, Batched):
        return [getattr(driver.shown, "position", driver.shown).mask]
    if isinstance(driver, Stable):
        return []
    holder = driver.shown[0] if driver.options.get("mask_in") == "obs" else driver.shown[-1]
    return [holder["action_mask"][None] if isinstance(driver, Single) else holder["action_mask"]]


@every_environment(lambda case: not issubclass(case[0], Agents))
def test_masks_hold_the_legal_actions(case: Case) -> None:
    """int8 in infos, bool from ``action_masks()`` and in positions; nothing is legal after the end.

    In the next-step mode any action is, where a game has ended, so that a softmax of masked logits is never empty.
    """
    driver, rng = drive(case).started(), np.random.default_rng(0)
    next_step = getattr(driver.env, "autoreset_mode", None) == AutoresetMode.NEXT_STEP
    for _ in range(20):
        games = driver.games()
        expected = np.stack([expected_mask(driver, game) for game in games])
        assert expected.any(axis=1).tolist() == [not game.over for game in games]
        assert [np.asarray(mask).shape for mask in driver.raw_masks()] == [expected[0].shape] * driver.rows
        if next_step:
            expected[[game.over for game in games]] = True
        same(np.asarray(driver.raw_masks()), expected)
        for mask in shown_masks(driver):
            same(mask, expected if isinstance(driver, Batched) else expected.astype(np.int8))
        driver.advance(rng)


@every_environment(lambda case: issubclass(case[0], Agents))
def test_masks_of_agents_hold_the_legal_actions_of_the_mover(case: Case) -> None:
    """int8, where ``mask_in`` has them and nowhere else; all 1 for the other agents, and all 0 after the end."""
    driver, rng = drive(case).started(), np.random.default_rng(0)
    mask_in = case[2].get("mask_in", "obs")
    for _ in range(60):
        [game] = driver.games()
        expected = expected_mask(driver, game).astype(np.int8)
        assert expected.any() != game.over
        for seat, agent in enumerate(driver.env.possible_agents):
            seen, info = driver.env.observe(agent), driver.env.infos.get(agent, {})
            assert isinstance(seen, dict) == (mask_in == "obs")
            assert ("action_mask" in info) == (mask_in == "info" and agent in driver.env.agents)
            found = [seen["action_mask"]] if isinstance(seen, dict) else []
            found += [info["action_mask"]] if "action_mask" in info else []
            for mask in found:
                same(mask, expected if seat == game.mover or game.over else np.ones_like(expected))
            assert game.over or set(info) <= {"action_mask"}
        driver.advance(rng)


def tried(case: Case) -> bool:
    """A few of each kind: one position takes a thousand actions and more."""
    name = next(name for name, each in DRIVERS.items() if each is case)
    if "SolitaireEnv" in name or "hand" in name or "spiral" in name:
        return True
    return issubclass(case[0], Agents) and (case[2].get("simpleton", False) or case[2].get("start") == "open")


@pytest.mark.parametrize("steps", [4, 5])
@every_environment(tried)
def test_legal_is_exactly_what_does_not_raise(case: Case, steps: int) -> None:
    """Every action of the space, tried from the same position.

    With Simpleton a card is due first, and then an announcement; elsewhere one position is enough.
    """
    if steps == 4 and not case[2].get("simpleton"):
        return
    driver = drive(case).started(steps)
    mask, state = driver.mask(), driver.env.get_state()
    assert mask.any()
    with driver.unchanged():
        for action, legal in enumerate(mask.tolist()):
            if legal:
                driver.step(action)
                driver.env.set_state(state)
            else:
                with pytest.raises(IllegalAction):
                    driver.step(action)


KINDS: list[Callable[[Any], Any]] = [np.int16, np.int32, np.int64, np.uint16, np.array]


@every_environment()
def test_integers_of_any_kind_are_actions(case: Case) -> None:
    """As they come out of spaces and arrays, and in lists."""
    driver = drive(case).started(2)
    lists: list[Callable[[Any], Any]] = [] if isinstance(driver, Agents) else [lambda actions: actions.tolist()]
    expected = deepcopy(driver)
    expected.advance_as(np.int64)
    for kind in [*KINDS, *lists]:
        twin = deepcopy(driver)
        twin.advance_as(kind)
        same([twin.shown, twin.raw_masks()], [expected.shown, expected.raw_masks()])


# --- Illegal actions -------------------------------------------------------------------------------------------------


def wrong_plays(driver: Driver) -> dict[int, str]:
    """Actions of the engine that are illegal now in the row under test, and what the error says."""
    game = driver.games()[driver.row]
    rules = game.rules
    cells = rules.num_cells
    absent = next(card for card in rules.deck if not game.hands[game.mover][card])
    if isinstance(game, spiral.Game):
        return {absent: f"not in the hand of seat {game.mover}, which holds"}
    if game.pending:
        play = game.hand(game.mover)[0] * cells + [*game.legal][::-1].index(1)
        return {play: "must announce the points of the play now, -64 to 319"}
    filled = next(cell for cell in range(cells) if game.board[cell] >= 0)
    card = game.legal_cards()[0]
    held = " ".join(type(game.deals[0]).NAMES.card_name(each) for each in game.hand(game.mover))
    plays = {
        absent * cells + game.legal_cells()[0]: f"not in the hand of seat {game.mover}, which holds {held}",
        card * cells + filled: "the cell is taken; legal cells are",
    }
    apart = [cell for cell in range(cells) if game.board[cell] < 0 and not game.legal[cell]]
    if apart:
        plays[card * cells + apart[0]] = "a card must touch one in play"
    if rules.simpleton:
        plays[announcement(rules, 0)] = "no announcement is due"
    return plays


def outside(driver: Driver) -> list[Any]:
    """Integers that are no actions."""
    number = len(driver.mask())
    return [-1, number, np.int64(-1), np.int32(number)]


NOT_ACTIONS: list[Any] = [
    *(10**30, 3.0, np.float64(3), None, "3", [3], np.array([3]), np.array([3, 4]), (1, 2), True, [1, [2]]),
]
"""What is no action of one game, by its type or its shape."""


@every_environment()
def test_illegal_actions_raise_and_change_nothing(case: Case) -> None:
    """Not in hand, on a filled cell, apart from all cards, not due, or out of range; the error says so.

    Of many games it names the row, and no game has moved.
    """
    for steps in (0, 5):
        driver = drive(case).started(steps)
        in_row = "" if driver.rows == 1 else f"game {driver.row}: .*"
        with driver.unchanged():
            for action, match in wrong_plays(driver).items():
                if action in driver.numbers(driver.games()[driver.row]):  # no place of the hand holds an absent card
                    with pytest.raises(IllegalAction, match=in_row + re.escape(match)):
                        driver.step(driver.number(action))
            for action in outside(driver):
                with pytest.raises(IllegalAction, match=in_row + ".*out of range"):
                    driver.step(action)


@every_environment(lambda case: not issubclass(case[0], Batched))
def test_the_error_of_an_illegal_action_names_the_ways_out(case: Case) -> None:
    """In one line: where the mask is, who heeds it, and the option; ``action_space.sample()`` is what people try."""
    driver = drive(case).started()
    in_info = case[2].get("mask_in", "obs" if isinstance(driver, Agents) else "info") == "info"
    with driver.refused(IllegalAction) as error:
        driver.step(int(driver.mask().argmin()))
    for word in ("info['action_mask']" if in_info else "observation['action_mask']", "MaskablePPO", "illegal='next'"):
        assert word in str(error.value)
    assert "\n" not in str(error.value)


@every_environment(lambda case: issubclass(case[0], Single | Agents))
def test_what_is_no_action_is_refused(case: Case) -> None:
    """Of another type or shape: an `IllegalAction` that says what is needed; nothing changes."""
    driver = drive(case).started(3)
    match = r"out of range|an action of Discrete\(\d+\) is needed, got"
    with driver.unchanged():
        for action in NOT_ACTIONS:
            with pytest.raises(IllegalAction, match=match):
                driver.env.step(action)


@every_environment(lambda case: not issubclass(case[0], Single | Agents))
def test_what_are_no_actions_is_refused(case: Case) -> None:
    """Many games take an array of integers, one action for each; nothing changes."""
    driver = drive(case).started(2)
    good = driver._choose(driver.raw_masks(), np.random.default_rng(0))
    huge = good.astype(object)
    huge[0] = 10**30
    wrong: list[Any] = [
        [[0], *good[1:].tolist()],
        None,
        0,
        [None] * driver.rows,
        good[:-1],
        [*good, good[0]],
        good[None],
        good[:, None],
        huge,
    ]
    wrong += [good.astype(kind) for kind in (float, str, bool, object)]
    with driver.unchanged():
        for actions in wrong:
            with pytest.raises(IllegalAction, match=r"integer actions of shape \(3,\) are needed, got"):
                driver.env.step(actions)


@every_environment(lambda case: not issubclass(case[0], Batched))
def test_the_next_legal_action_may_take_the_place_of_an_illegal_one(case: Case) -> None:
    """It has the next higher number, from 0 on after the last."""
    for steps in (0, 4):
        start = drive(case, illegal="next").started(steps)
        legal, number = np.flatnonzero(start.mask()), len(start.mask())
        for action in (legal[0], legal[-1] + 1, legal[0] - 1, number - 1, number + 3, -2):
            expected = int(next(each for each in np.arange(action, action + number) % number if each in legal))
            driver, twin = deepcopy(start), deepcopy(start)
            driver.step(int(action))
            twin.step(expected)
            same(driver.shown, twin.shown)
