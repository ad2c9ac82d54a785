"""Search targets: redealing what a seat cannot see, values of plays by rollouts, the loss."""

import math
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("safetensors")

import torch

from quincunx_agents.afterstates import SEATS
from quincunx_agents.agent_specs import agent_spec_of, rules_of
from quincunx_agents.greedy import greedy
from quincunx_agents.networks.value import ValueWeights, action_values, evaluate_afterstates, margin_weights
from quincunx_agents.search.determinized import margins, payoffs
from quincunx_agents.search.network import SPREAD
from quincunx_agents.torch import ValueNetwork
from quincunx_env.core.arrays import unpack
from quincunx_env.registry import make_observer, spec_of
from train.common.opponents import Pool
from train.common.timer import PhaseTimer
from train.expert_iteration.search_targets import (
    POLICY_TEMPERATURE,
    SEARCH_SCALE,
    Searcher,
    SearchOptions,
    best_plays,
    outputs_of_plays,
    policy_loss,
    redeal,
    search_loss,
    search_values,
)
from train.td_lambda.rollout import CandidateTable, RolloutOptions, play_games


def games_after(variant: str, plays: int, games: int) -> Any:
    """Games after so many plays of the rollout policy."""
    rules = rules_of(variant)
    batch, policy = spec_of(rules).Batch(rules, games), agent_spec_of(rules).rollout_policy
    batch.reset(seed=1)
    for _ in range(plays):
        policy.step(batch, policy.rollout_actions(batch))
    return batch


@pytest.mark.parametrize("variant", ["solitaire", "2-corners", "4-open-excuse-pawns-flush", "spiral", "spiral-end"])
def test_redealing_changes_only_what_the_seat_cannot_see(variant: str) -> None:
    rules = rules_of(variant)
    batch = games_after(variant, 5, 3)
    observer = make_observer(rules, preview=True)
    dealt = batch.fork(np.repeat(np.arange(3), 400))
    redeal(dealt, np.random.default_rng(0))
    for name, piece in observer.observe_batch(batch).items():
        assert (observer.observe_batch(dealt)[name] == np.repeat(piece, 400, axis=0)).all(), name
    # Each card that it cannot see lies equally often in each place where one may lie.
    for game in range(3):
        hand = np.flatnonzero(unpack(batch.hands[game, batch.mover[game], None], rules.num_cards))
        hidden = np.array(sorted({*rules.deck} - {*hand, *batch.board[game]}))
        decks = dealt.decks[400 * game : 400 * (game + 1), 0]
        changes = np.flatnonzero((decks != batch.decks[game, 0]).any(axis=0))
        assert 9 < len(changes) <= len(hidden)
        share = (decks[:, changes, None] == hidden).mean(axis=0)
        assert share == pytest.approx(1 / len(hidden), abs=5 * (1 / len(hidden) / 400) ** 0.5)
    if rules.num_players > 1:
        held = unpack(dealt.hands[:, :, None], rules.num_cards).sum(axis=2)
        assert (held == np.repeat(unpack(batch.hands[:, :, None], rules.num_cards).sum(axis=2), 400, axis=0)).all()


@pytest.mark.parametrize(
    ("variant", "opponent", "samples"),
    [
        *(("solitaire", None, 3), ("2-corners", None, 3), ("3-corners", None, 3), ("spiral", None, 3)),
        *(("3-corners", "greedy", 3), ("3-corners", None, 0)),
    ],
)
def test_values_by_rollouts_of_the_network(variant: str, opponent: str | None, samples: int) -> None:
    """In each determinization the network chooses so many plays, and its values are added after the last of them. A
    fixed opponent chooses those of the other seats. Without samples the hidden cards are those of the game.
    """
    rules, batch = rules_of(variant), games_after(variant, 4, 2)
    observer, spec = make_observer(rules, preview=True), agent_spec_of(rules)
    module, policy = spec.features, spec.rollout_policy
    torch.manual_seed(0)
    network = ValueNetwork(module.LAYOUT, 8, 16)
    torch.nn.init.normal_(next(network.trunk[-1].parameters()), std=0.3)
    tensors, players = network.weights(), rules.num_players
    actions = np.stack([np.flatnonzero(mask)[[5, 0, -1]] for mask in batch.mask])
    options = SearchOptions(
        search_samples=samples, search_depth=1 if opponent else 2, search_candidates=5, search_opponent=opponent
    )
    depth = players if opponent else 2
    values = search_values(options, [tensors], batch, actions, np.random.default_rng(3))
    dealt = batch.fork(np.repeat(np.arange(2), samples or 1))
    if samples:
        redeal(dealt, np.random.default_rng(3))
    for number, column in enumerate(actions.T):
        expected = []
        for row, action in enumerate(np.repeat(column, samples or 1)):
            game, seat = dealt.fork([row]), int(dealt.mover[row])
            policy.step(game, np.array([action]))
            for number_of_play in range(1, depth + 1):
                if opponent and game.mover[0] != seat:
                    policy.step(game, greedy(observer.observe_batch(game), game.mask, np.random.default_rng(0)))
                    continue
                tried = module.shortlist(rules, observer.observe_batch(game), game.mask, 5)
                after = module.afterstates_of(rules, observer.observe_batch(game), tried)
                to_come, preferences = evaluate_afterstates([tensors], after)
                best = (after.points + to_come @ margin_weights(players) + preferences).argmax()
                if number_of_play < depth:
                    policy.step(game, after.actions[[best]])
            final = game.totals[0].astype(float)
            final[game.mover[0]] += after.points[best]
            for after_mover in range(players):
                final[(game.mover[0] + after_mover) % players] += to_come[best, after_mover]
            assert not opponent or game.mover[0] == seat
            left = rules.num_plays - 4 - 1 - depth
            expected.append(margins(final[None], SPREAD * left**0.5)[0, seat])
        assert values[:, number] == pytest.approx(np.reshape(expected, (2, -1)).mean(axis=1), abs=1e-3)


def test_the_other_seats_play_the_end_of_the_round_as_their_policy_does() -> None:
    """A rollout that reaches the end has no play by the network in the place of another seat."""
    batch = games_after("2-corners", rules_of("2-corners").num_plays - 2, 6)
    network = ValueNetwork(agent_spec_of(batch.rules).features.LAYOUT, 8, 16)
    observer, policy = make_observer(batch.rules, preview=True), agent_spec_of(batch.rules).rollout_policy
    games, seat = batch.fork(np.arange(6)), batch.mover[0]
    action = batch.mask.argmax(axis=1)
    policy.step(games, action)
    policy.step(games, greedy(observer.observe_batch(games), games.mask, np.random.default_rng(0)))
    options = SearchOptions(search_samples=0, search_depth=3, search_opponent="greedy")
    values = search_values(options, [network.weights()], batch, action[:, None], np.random.default_rng(0))
    assert values[:, 0].tolist() == payoffs(games)[:, seat].tolist()


def test_rollouts_of_the_network_end_with_the_round() -> None:
    batch = games_after("2-corners", rules_of("2-corners").num_plays - 2, 2)
    network = ValueNetwork(agent_spec_of(batch.rules).features.LAYOUT, 8, 16)
    torch.nn.init.constant_([*network.parameters()][-1], 1e6)  # would show if the network evaluated the end
    actions, options = batch.mask.argmax(axis=1)[:, None], SearchOptions(search_depth=6)
    assert (abs(search_values(options, [network.weights()], batch, actions, np.random.default_rng(0))) < 1000).all()


def a_network() -> ValueNetwork:
    torch.manual_seed(0)
    return ValueNetwork(agent_spec_of(rules_of("3-open")).features.LAYOUT, 8, 16)


def test_a_share_of_the_positions_is_searched() -> None:
    weights, searched, learned_from = [a_network().weights()], dict[float, int](), 0
    for share in (0.0, 0.5, 1.0):
        rng = np.random.default_rng(0)
        searcher = Searcher(SearchOptions(search_share=share, search_plays=4, search_depth=1), weights, rng)
        pool = Pool[Any]()
        targets, _ = play_games(
            RolloutOptions(), rules_of("3-open"), 8, weights, pool, 0, rng, PhaseTimer(), watch=searcher
        )
        searched[share], learned_from = sum(len(part.seats) for part in searcher.targets), len(targets.seats)
    assert not searched[0.0]
    # All but the last plays, which are not learned from either, and positions with fewer plays.
    assert 0.95 * learned_from < searched[1.0] <= learned_from
    assert 0.4 < searched[0.5] / searched[1.0] < 0.6
    part = searcher.targets[0]
    assert part.features.shape[:2] == part.points.shape == part.values.shape == (8, 4)


def test_the_best_plays_of_positions_that_have_enough() -> None:
    table = CandidateTable(np.array([0, 0, 0, 1, 2, 2, 2]))
    rows, plays = best_plays(table, np.array([1, 3, 2, 9, 5, 6, 4], np.float32), 2, np.array([0, 1, 2]))
    assert rows.tolist() == [0, 2]
    assert plays.tolist() == [[1, 2], [5, 4]]


def test_the_loss_compares_plays_as_the_policy_does() -> None:
    """With the network's own values as targets it is 0, whatever is added to all plays of a position."""
    rules, batch = rules_of("3-open"), games_after("3-open", 3, 2)
    network = a_network()
    torch.nn.init.normal_(next(network.trunk[-1].parameters()), std=0.3)
    observation, mask = make_observer(rules, preview=True).observe_batch(batch), batch.mask
    afterstates = agent_spec_of(rules).features.afterstates_of(rules, observation, mask)
    plays = np.stack([np.flatnonzero(afterstates.rows == game)[:5] for game in range(2)])
    own = action_values(ValueWeights(network.weights(), ("3-open",), 0), rules, observation, mask)
    values = np.stack([own[game, afterstates.actions[plays[game]]] for game in range(2)])
    features = torch.from_numpy(afterstates.features(network.layout, plays.ravel())).float().reshape(2, 5, -1)
    points, seats = torch.from_numpy(afterstates.points[plays]), torch.tensor([3, 3])

    def loss(values: Any) -> float:
        return search_loss(outputs_of_plays(network, features), points, torch.as_tensor(values), seats).item()

    assert loss(values) == pytest.approx(0, abs=1e-5)
    assert loss(values + np.array([[7], [-30]], np.float32)) == pytest.approx(0, abs=1e-5)
    values[0, 0] += 40
    assert loss(values) > 0.1


def test_the_policy_loss_is_the_expected_value_of_a_softmax_policy() -> None:
    """For two plays, of 7 points and of -1 by search, of which the network prefers the first by 3 points."""
    outputs = torch.zeros(1, 2, SEATS + 1)
    outputs[0, 0, SEATS] = 1.0
    points, values, seats = torch.tensor([[4.0, 2.0]]), torch.tensor([[7.0, -1.0]]), torch.tensor([2])
    share = 1 / (1 + math.exp(-3 / POLICY_TEMPERATURE))
    expected = share * 7 + (1 - share) * -1 - 3
    loss = policy_loss(outputs.requires_grad_(), points, values, seats)
    assert loss.item() == pytest.approx(-expected / SEARCH_SCALE)
    loss.backward()
    assert outputs.grad is not None
    assert outputs.grad[0, 0, SEATS] < 0 < outputs.grad[0, 1, SEATS], "the better play shall be preferred more"
    assert policy_loss(outputs, points + 9, values - 50, seats).item() == pytest.approx(-expected / SEARCH_SCALE)
