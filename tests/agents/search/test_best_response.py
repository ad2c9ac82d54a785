"""The approximate best response wins against the policy that it knows."""

import numpy as np
import pytest

from quincunx_agents.greedy import greedy
from quincunx_agents.heuristic import heuristic
from quincunx_agents.search.best_response import best_response, play_out
from quincunx_agents.uniform import uniform
from quincunx_env.arena import Agent, compare, resolve
from quincunx_env.arena.matches import MatchConfig, play_matches
from quincunx_env.core.rules import BaseRules
from quincunx_env.policies import definition
from quincunx_env.quincunx.rules import Rules
from quincunx_env.registry import spec_of
from quincunx_env.spiral.rules import Rules as SpiralRules
from tests.agents.positions import dealt, seen

pytest.importorskip("scipy")  # intervals


@pytest.mark.parametrize("rules", [Rules(2, simpleton=True), Rules(3, "open"), SpiralRules(deals=1)], ids=str)
def test_rollouts_play_as_the_policy_does(rules: BaseRules) -> None:
    batch = spec_of(rules).Batch(rules, 20, "validation")
    batch.reset(seed=7)
    play_out(greedy, batch, np.random.default_rng(0))
    config = MatchConfig(rules, "validation", 7, 20, 0, 20)
    played = play_matches([greedy], np.zeros((1, rules.num_players), np.int64), config, 0)
    assert batch.totals.tolist() == played.totals[:, 0].tolist()


def test_rollouts_end_with_the_round() -> None:
    rules = Rules(2, match=True, mini=True)
    batch = dealt(rules, 5)
    play_out(greedy, batch, np.random.default_rng(0))
    assert batch.round.tolist() == [1] * 5
    assert not batch.over.any()


@pytest.mark.parametrize(
    ("agent", "rules", "deals"),
    [
        (uniform, Rules(2, mini=True), 20),
        (greedy, Rules(2, mini=True), 30),
        (uniform, SpiralRules(deals=1), 4),
        pytest.param(heuristic, Rules(2, mini=True), 300, marks=pytest.mark.slow),
        pytest.param(heuristic, Rules(2), 30, marks=pytest.mark.slow),
    ],
)
def test_it_wins_more_than_the_policy_itself(agent: Agent, rules: BaseRules, deals: int) -> None:
    result = compare([best_response(agent, 96), agent], deals, rules=rules, domain="validation")
    assert result.margin().low > 0


def test_the_choice_of_the_policy_is_a_candidate() -> None:
    """However little the rollout policy thinks of it."""
    rules = Rules(2)
    observation, mask = seen(dealt(rules, 10))
    last = mask.shape[1] - 1 - np.argmax(mask[:, ::-1], axis=1)
    prior = best_response(lambda observation, mask, rng: last, 1).for_rules(rules).prior(observation, mask)
    assert prior.argmax(axis=1).tolist() == last.tolist()
    assert (np.isfinite(prior) == mask).all()


def test_errors() -> None:
    with pytest.raises(ValueError, match="needs an opponent"):
        best_response(greedy, 9).for_rules(Rules())
    with pytest.raises(ValueError, match="at least 1, got 0"):
        best_response(greedy, 0)


def test_a_response_is_named_by_its_opponent() -> None:
    assert resolve("best-response:greedy") == best_response(greedy, 384)
    assert resolve("best-response:quincunx_agents.greedy:greedy") == best_response(greedy)
    assert resolve("best-response:best-response:greedy") == best_response(best_response(greedy))
    assert definition(resolve("best-response:greedy")) != definition(resolve("best-response:uniform"))
