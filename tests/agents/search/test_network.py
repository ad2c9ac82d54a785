"""Rollouts of a network search: plays of the network and of the other seats, then the network's value."""

from typing import Any

import numpy as np
import pytest

pytest.importorskip("safetensors")

from quincunx_agents import ties
from quincunx_agents.agent_specs import agent_spec_of, rules_of
from quincunx_agents.greedy import greedy
from quincunx_agents.heuristic import heuristic
from quincunx_agents.networks.value import ValueWeights, evaluate_afterstates, margin_weights, shapes_of
from quincunx_agents.search.determinized import margins, payoffs
from quincunx_agents.search.network import SPREAD, NetworkSearch
from quincunx_env.core.policy import Agent
from quincunx_env.policies import resolve
from tests.agents.positions import dealt, seen


def games_after(variant: str, plays: int, games: int) -> Any:
    """Games after so many plays of the rollout policy."""
    batch = dealt(rules_of(variant), games, 1)
    policy = agent_spec_of(batch.rules).rollout_policy
    for _ in range(plays):
        policy.step(batch, policy.rollout_actions(batch))
    return batch


def random_weights(variant: str) -> ValueWeights:
    """A small network that has learned nothing."""
    rng, shapes = np.random.default_rng(0), shapes_of(agent_spec_of(rules_of(variant)).features.LAYOUT, 8, 16)
    tensors = {name: 0.3 * rng.standard_normal(shape, np.float32) for name, shape in shapes.items()}
    return ValueWeights((tensors,), (variant,), 0)


def values(variant: str, games: Any, seat: int, **settings: Any) -> list[float]:
    """Values of games, all at the same stage, to a seat. The games stay as they are."""
    config = NetworkSearch(weights=random_weights(variant), rollout_candidates=5, **settings)
    left = agent_spec_of(games.rules).rollout_policy.plays_left(games)
    search: Any = config.for_rules(games.rules)
    found = search.evaluate(games.fork(np.arange(games.num_games)), seat, left, np.random.default_rng(0))
    return [float(each) for each in found]


@pytest.mark.parametrize(
    ("variant", "others", "depth"),
    [
        *((variant, None, 2) for variant in ("solitaire", "2-corners", "3-corners", "spiral")),
        *(("3-corners", greedy, each) for each in (2, 3)),
    ],
)
def test_the_network_plays_and_its_value_is_added_after_its_last_play(
    variant: str, others: Agent | None, depth: int
) -> None:
    """A policy of the other seats chooses their plays before the last instead. Each game is played by itself here."""
    rules, batch = rules_of(variant), games_after(variant, 5, 4)
    players, left = rules.num_players, rules.num_plays - 5 - depth
    seat, members = int(batch.mover[0] - 1) % players, random_weights(variant).members
    spec, expected = agent_spec_of(rules), []
    for row in range(4):
        game = batch.fork([row])
        for number in range(1, depth + 1):
            observation, mask = seen(game)
            if others and game.mover[0] != seat and number < depth:
                spec.rollout_policy.step(game, greedy(observation, mask, np.random.default_rng(0)))
                continue
            tried = spec.features.shortlist(rules, observation, mask, 5)
            after = spec.features.afterstates_of(rules, observation, tried)
            to_come = evaluate_afterstates(members, after)
            best = ties.best((after.points + to_come @ margin_weights(players))[None])[0]
            if number < depth:
                spec.rollout_policy.step(game, after.actions[[best]])
        final, mover = game.totals[0].astype(float), int(game.mover[0])
        final[mover] += after.points[best]
        for after_mover in range(players):
            final[(mover + after_mover) % players] += to_come[best, after_mover]
        expected.append(margins(final[None], SPREAD * left**0.5)[0, seat])
    assert values(variant, batch, seat, others=others, depth=depth) == pytest.approx(expected, abs=1e-3)


def test_the_other_seats_play_the_end_of_the_round_as_their_policy_does() -> None:
    """A rollout that reaches the end has no play by the network in the place of another seat."""
    batch = games_after("2-corners", rules_of("2-corners").num_plays - 1, 6)
    seat, games = 1 - int(batch.mover[0]), batch.fork(np.arange(6))
    agent_spec_of(batch.rules).rollout_policy.step(games, greedy(*seen(games), np.random.default_rng(0)))
    for depth in (3, None):
        found = values("2-corners", batch, seat, others=greedy, depth=depth)
        assert found == payoffs(games)[:, seat].tolist()


def test_rollouts_end_with_the_round_without_the_network() -> None:
    """Its values are not whole, points are."""
    batch = games_after("2-corners", rules_of("2-corners").num_plays - 2, 4)
    assert all(each.is_integer() for each in values("2-corners", batch, 0, depth=6))
    assert not any(each.is_integer() for each in values("2-corners", batch, 0, depth=1))


@pytest.mark.parametrize(
    ("variant", "settings"),
    [
        ("solitaire", (12, 6, 4, 4)),
        *((f"{players}-{start}", (16, 8, 3, 6)) for players in (2, 3, 4) for start in ("corners", "open")),
        ("spiral", (5, 16, 2, None)),
        ("spiral-end", (5, 16, 2, None)),
    ],
)
def test_the_published_results_of_search_are_of_these_settings(
    variant: str, settings: tuple[int, int, int, int | None]
) -> None:
    search: Any = resolve("search")
    config = search.for_rules(rules_of(variant)).config
    assert (config.shortlist, config.samples, config.rounds, config.depth) == settings
    assert config.others is heuristic
