"""Exact values of the mini solitaire, against plain recursion and against simulated games."""

import random
from collections.abc import Mapping
from functools import cache
from itertools import combinations, count, islice, product
from math import comb, inf
from typing import Any

import numpy as np
import pytest

from quincunx_agents.afterstates import observer_for
from quincunx_agents.exact import action_values, distribution_of, policy_values, uniform_distribution
from quincunx_agents.greedy import greedy
from quincunx_agents.heuristic import heuristic
from quincunx_agents.uniform import uniform
from quincunx_env import Batch, Game, Rules, resample
from quincunx_env.arena.statistics import Estimate
from quincunx_env.quincunx.rules import solitaire_rules
from tests.reference_game import NAMES, SCORED, names
from tests.reference_scorer import Cell, penalty, score_play
from tests.variants import random_action

MINI = Rules(mini=True)
GAMES = [MINI, Rules(mini=True, edge_contact=True, flush=True)]
OPTIONS = ("edge_contact", "excuse", "pawns", "flush")
SOLITAIRES = [
    solitaire_rules(**dict(zip(OPTIONS, on, strict=True))) for on in product((False, True), repeat=len(OPTIONS))
]


def position(rules: Rules, seed: int, left: int) -> Game | None:
    """A game with so many plays left, after random ones; None if it is lost before."""
    game, rng = Game.from_seed(rules, seed), random.Random(seed)
    while rules.num_plays - game.ply > left:
        game.step(random_action(game, rng))
        if game.over:
            return None
    return game


def sampled(game: Game, n: int = 1) -> Batch:
    """Determinizations of a game."""
    observer = observer_for(game.rules)
    games: Batch = resample(observer, observer.observe(game, 0), np.random.default_rng(0), n)
    return games


def by_recursion(game: Game, lost_value: float) -> dict[int, float]:
    """The value of each action, state by state, from the reference scorer."""
    rules = game.rules
    options: dict[str, Any] = {name: getattr(rules, name) for name in SCORED}
    places = [rules.grid.place(cell) for cell in range(rules.num_cells)]

    def near(board: Mapping[Cell, str], place: Cell) -> bool:
        steps = ((0, 1), (1, 0), (0, -1), (-1, 0))
        return any((place[0] + down, place[1] + right) in board for down, right in steps)

    @cache
    def best(board: frozenset[tuple[Cell, str]], hand: frozenset[str], unseen: frozenset[str], points: int) -> float:
        return max(values(dict(board), hand, unseen, points).values())

    def values(board: dict[Cell, str], hand: frozenset[str], unseen: frozenset[str], points: int) -> dict[int, float]:
        found = {}
        for card in hand:
            for cell, place in enumerate(places):
                if place in board or (rules.edge_contact and not near(board, place)):
                    continue
                score = score_play(board, place, card, solitaire=True, **options)
                draws, after = min(score.draw_count, len(unseen)), {**board, place: card}
                kept, now = hand - {card}, points + score.points
                if len(after) == rules.setup.filled:
                    drawn = draws * sum(map(penalty, unseen)) / max(len(unseen), 1)
                    total = now - sum(map(penalty, kept)) - drawn
                elif not kept and not draws:
                    total = lost_value
                else:
                    key = frozenset(after.items())
                    sets = map(frozenset, combinations(unseen, draws))
                    total = sum(best(key, kept | drawn, unseen - drawn, now) for drawn in sets)
                    total /= comb(len(unseen), draws)
                found[NAMES.index(card) * rules.num_cells + cell] = total
        return found

    board = {places[cell]: NAMES[game.board[cell]] for cell in range(rules.num_cells) if game.board[cell] >= 0}
    return values(board, frozenset(names(game.hand(0))), frozenset(names(game.pile)), game.totals[0])


@pytest.mark.parametrize(
    ("rules", "left", "deals"),
    [
        *((rules, 2, 5) for rules in GAMES),
        *((rules, left, 2) for rules in SOLITAIRES for left in (1, 2)),
        *(
            pytest.param(rules, left, deals, marks=pytest.mark.slow)
            for rules in SOLITAIRES
            for left, deals in ((1, 10), (2, 7), (3, 2))
        ),
        (MINI, 3, 10),
        pytest.param(MINI, 3, 100, marks=pytest.mark.slow),
        pytest.param(MINI, 4, 5, marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("lost_value", [0.0, -20.0])
def test_values_are_those_of_plain_recursion(rules: Rules, left: int, deals: int, lost_value: float) -> None:
    games = filter(None, (position(rules, seed, left) for seed in count()))
    for game in islice(games, deals):
        expected = by_recursion(game, lost_value)
        [found] = action_values(sampled(game), lost_value)
        assert {action: found[action] for action in expected} == pytest.approx(expected)
        assert np.isfinite(found).sum() == len(expected)


def test_values_do_not_depend_on_the_pile() -> None:
    """Nor do they on what other games are valued with it."""
    game = Game.from_seed(MINI, 3)
    values = action_values(sampled(game, 5))
    assert (values == values[0]).all()
    other = Game.from_seed(MINI, 4)
    assert values[0] == pytest.approx(action_values(sampled(game))[0])
    assert (values[0] != action_values(sampled(other))[0]).any()


@pytest.mark.parametrize(
    ("policy", "distribution", "games"),
    [
        (uniform, uniform_distribution, 20_000),
        (greedy, distribution_of(greedy, MINI), 5_000),
        pytest.param(uniform, uniform_distribution, 10**6, marks=pytest.mark.slow),
    ],
)
def test_the_value_of_a_policy_is_that_of_simulated_games(policy: Any, distribution: Any, games: int) -> None:
    """Within four standard errors, which one right value in 16,000 misses."""
    game, observer = Game.from_seed(MINI, 5), observer_for(MINI)
    [exact] = policy_values(sampled(game), distribution)
    batch, rng = sampled(game, games), np.random.default_rng(1)
    while not batch.over.all():
        mask = batch.mask
        mask[batch.over, 0] = True
        batch.step(policy({} if policy is uniform else observer.observe_batch(batch), mask, rng))
    results = np.where(batch.lost, 0, batch.totals[:, 0])
    mean = Estimate.of_mean(results)
    print(f"{games} games: {mean.value:.3f} ({mean.low:.3f} to {mean.high:.3f}), exactly {exact:.3f}")
    assert abs(exact - mean.value) < 4 * results.std() / games**0.5
    assert results.std() > 1


def test_no_policy_is_better_than_optimal_play() -> None:
    games = sampled(Game.from_seed(MINI, 0))
    best = action_values(games).max()
    values = [policy_values(games, distribution_of(agent, MINI))[0] for agent in (uniform, greedy, heuristic)]
    assert max(values) < best

    def optimal(games: Batch) -> Any:
        values = action_values(games)
        return np.eye(MINI.num_actions)[values.argmax(axis=1)]

    assert policy_values(games, optimal)[0] == pytest.approx(best)


def test_other_games_are_refused() -> None:
    with pytest.raises(ValueError, match="must be solitaires, got Rules"):
        action_values(Batch(Rules(2, mini=True), 1))
    games = Batch(Rules(), 1)
    games.reset(seed=0)
    with pytest.raises(ValueError, match="at most 3 plays may be left, got 12: play on, or take the mini variant"):
        action_values(games)
    batch = Batch(MINI, 2)
    batch.reset(0)
    batch.step([int(batch.mask[0].argmax())], [0])
    with pytest.raises(ValueError, match="at the same ply"):
        action_values(batch)
    batch = Batch(MINI, 1)
    with pytest.raises(ValueError, match="in progress"):
        action_values(batch)
    assert action_values(sampled(Game.from_seed(MINI, 0))).min() == -inf
