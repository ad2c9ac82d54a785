"""Choice among values that are equal up to rounding."""

import numpy as np
import pytest

from quincunx_agents import ties
from quincunx_env.arena.matches import Deals, MatchConfig, play_matches
from quincunx_env.core.rules import BaseRules
from quincunx_env.policies import resolve
from quincunx_env.quincunx.rules import Rules
from quincunx_env.spiral.rules import Rules as SpiralRules

SMALL, LARGE = ties.TOLERANCE / 100, ties.TOLERANCE * 3
VALUES = np.array([-np.inf, 1.0, 2.0 - SMALL, 2.0, 0.5, 2.0 - LARGE, -np.inf, 2.0 + SMALL], np.float32)


def test_of_equal_values_the_lowest_index_is_chosen() -> None:
    assert ties.best(np.stack([VALUES, VALUES[::-1]])).tolist() == [2, 0]
    assert ties.best(np.full((1, 3), -np.inf)).tolist() == [0]


def test_the_best_of_each_row() -> None:
    rows = np.array([0, 0, 0, 0, 2, 2, 2, 2])
    assert ties.best_of_rows(VALUES, rows).tolist() == [2, 7]


def test_equal_values_are_ranked_in_order() -> None:
    assert ties.ranking(VALUES).tolist() == [2, 3, 7, 5, 1, 4, 0, 6]


@pytest.mark.parametrize(("count", "expected"), [(1, [2, 3, 7]), (3, [2, 3, 7]), (4, [2, 3, 5, 7]), (99, [*range(8)])])
def test_the_highest_with_those_equal_to_the_last(count: int, expected: list[int]) -> None:
    assert np.flatnonzero(ties.highest(VALUES[None], count)[0]).tolist() == expected
    # The same between two shorter rows, one of them without the number of others.
    rows = np.repeat([0, 3, 5], [2, len(VALUES), 1])
    values = np.concatenate([VALUES[:2], VALUES, VALUES[:1]])
    found = ties.highest_of_rows(values, rows, count)
    assert np.flatnonzero(found[2:-1]).tolist() == expected
    assert found[:2].tolist() == [count > 1, True]
    assert found[-1]


def assert_chunks_make_no_difference(name: str, rules: BaseRules, deals: int) -> None:
    """Play deals alone, seven at a time and all side by side, the policy in every seat."""
    policy, seats = resolve(name), np.zeros((1, rules.num_players), np.int64)
    results = []
    for chunk in (1, 7, 1000):
        config = MatchConfig(rules, Deals(deals, "validation"), chunk=chunk)
        results.append(
            np.concatenate([play_matches([policy], seats, config, number).totals for number in config.chunks])
        )
    assert (results[0] == results[2]).all()
    assert (results[1] == results[2]).all()


@pytest.mark.slow
def test_the_size_of_a_chunk_makes_no_difference() -> None:
    pytest.importorskip("safetensors")
    assert_chunks_make_no_difference("value", Rules(num_players=2), 10)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "rules"),
    [
        *((name, Rules(num_players=players)) for name in ("value", "heuristic") for players in (1, 2, 4)),
        *((name, SpiralRules(deals=1)) for name in ("value", "heuristic")),
    ],
    ids=str,
)
def test_the_size_of_a_chunk_makes_no_difference_to_any_agent(name: str, rules: BaseRules) -> None:
    assert_chunks_make_no_difference(name, rules, 300)
