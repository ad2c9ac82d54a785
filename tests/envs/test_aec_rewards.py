"""Rewards of games for several players through PettingZoo, against definitions and the reference game."""

import random
from typing import Any

import pytest

from quincunx_env import Rules
from tests.envs.agents import (
    EVERY_GAME_OPTIONS,
    SEED,
    Options,
    each,
    length,
    make,
    number,
)
from tests.reference_game import NAMES, ReferenceGame, spiral_reference_game
from tests.spiral_reference_scorer import DECK, SpiralReferenceGame
from tests.variants import announcement, random_action

GAMES: list[Options] = [
    {name: value for name, value in options.items() if name != "reward"} for options in EVERY_GAME_OPTIONS
]


@each(GAMES)
def test_rewards_are_those_of_the_reference_game(options: Options) -> None:
    """Taken from `last` alone, penalties and terminated agents included: nothing is lost on the way.

    Points add up to each seat's total, margins to its lead over the mean of the others, outcomes to the result.
    """
    envs = {reward: make(options | {"reward": reward}) for reward in ("points", "margin", "outcome")}
    env, rng = envs["points"], random.Random(SEED)
    rules, players = env.rules, env.rules.num_players
    reference: Any = (ReferenceGame if isinstance(rules, Rules) else spiral_reference_game)(rules, env.game.deals)
    earned = {reward: [0.0] * players for reward in envs}
    turns = list[str]()
    for agent in env.agent_iter():
        turns.append(agent)
        for reward, other in envs.items():
            assert other.agent_selection == agent
            earned[reward][env.possible_agents.index(agent)] += other.last()[1]
        if env.terminations[agent]:
            for other in envs.values():
                other.step(None)
            continue
        action = random_action(env.game, rng)
        if isinstance(reference, SpiralReferenceGame):
            gains = list(reference.play(DECK[action]))
        elif reference.pending:
            gains = reference.announce(action - announcement(rules, 0))
        else:
            card, cell = action // rules.num_cells, rules.grid.place(action % rules.num_cells)
            gains = reference.play(NAMES[card], cell, reference.score_play(NAMES[card], cell))
        for other in envs.values():
            other.step(number(other, action))
        assert list(env.rewards.values()) == gains
        assert {type(share) for other in envs.values() for share in other.rewards.values()} == {float}
        assert sum(envs["margin"].rewards.values()) == pytest.approx(0)
        assert sum(envs["outcome"].rewards.values()) == pytest.approx(0)
    assert reference.over
    assert turns.count("player_0") > 5
    totals = reference.totals
    assert earned["points"] == totals
    for seat, total in enumerate(totals):
        assert earned["margin"][seat] == pytest.approx(total - (sum(totals) - total) / (players - 1))
        won = total == max(totals)
        assert totals.count(max(totals)) == 1, "no shared win here"
        assert earned["outcome"][seat] == pytest.approx(1 if won else -1 / (players - 1))


@pytest.mark.parametrize(
    ("totals", "outcome"),
    [
        ((5, 3), (1, -1)),
        ((-7, -3), (-1, 1)),
        ((4, 4), (0, 0)),
        ((5, 3, 1), (1, -1 / 2, -1 / 2)),
        ((1, 5, 5), (-1 / 2, 1 / 4, 1 / 4)),
        ((-2, -2, -2), (0, 0, 0)),
        ((1, 2, 8, 3), (-1 / 3, -1 / 3, 1, -1 / 3)),
        ((9, 1, 2, 9), (1 / 3, -1 / 3, -1 / 3, 1 / 3)),
        ((9, 9, 0, 9), (1 / 9, 1 / 9, -1 / 3, 1 / 9)),
        ((0, 0, 0, 0), (0, 0, 0, 0)),
    ],
    ids=str,
)
def test_winners_share_the_outcome(totals: tuple[int, ...], outcome: tuple[float, ...]) -> None:
    """By the totals of all rounds; it comes with the last action."""
    options: Options = {"num_players": len(totals), "reward": "outcome", "match": True}
    env = make(options, length(options) - 1)
    assert not any(env._cumulative_rewards.values())
    action = random_action(env.game, random.Random(0))
    end = env.game.copy()
    end.step(action)
    for seat, total in enumerate(totals):
        env.game.totals[seat] += total - end.totals[seat]
    env.step(action)
    assert list(env.rewards.values()) == pytest.approx(outcome)
    assert list(env._cumulative_rewards.values()) == pytest.approx(outcome)
    assert [info["score"] for info in env.infos.values()] == list(totals)


def test_an_agent_that_a_wrapper_truncates_leaves_with_none() -> None:
    env = make({}, 2)
    env.truncations = dict.fromkeys(env.agents, True)
    for left in (1, 0):
        env.step(None)
        assert len(env.agents) == left
    assert not env.game.over
