"""The searching agents: they see no more than their observation, play legally, and find what is obvious."""

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from quincunx_agents.afterstates import Bools, Ints
from quincunx_agents.agent_specs import agent_spec_of
from quincunx_agents.greedy import greedy
from quincunx_agents.heuristic import heuristic
from quincunx_agents.quincunx import rollout_policy
from quincunx_agents.search.determinized import DeterminizedSearch, margins, payoffs
from quincunx_agents.search.monte_carlo import MonteCarlo
from quincunx_env.core.game import BaseGame
from quincunx_env.core.observation import Pieces
from quincunx_env.core.policy import Policy
from quincunx_env.core.rules import BaseRules
from quincunx_env.quincunx.batch import Batch
from quincunx_env.quincunx.cards import parse_card, parse_cards
from quincunx_env.quincunx.deal import Deal
from quincunx_env.quincunx.game import Game
from quincunx_env.quincunx.rules import ANNOUNCE_MIN, Rules
from quincunx_env.registry import make_observer, spec_of
from quincunx_env.spiral.rules import Rules as SpiralRules
from quincunx_env.testing import permute_hidden
from tests.agents.positions import dealt, in_progress, seen
from tests.variants import MINI, SPIRAL, VARIANTS, Marks, slow_unless_covering

TINY: dict[str, Any] = {
    "monte_carlo": MonteCarlo(shortlist=4, samples=2, rounds=2),
}
"""Every searching agent, with next to nothing to search."""

if importlib.util.find_spec("safetensors"):
    from quincunx_agents.search.network import NetworkSearch

    TINY["network_search"] = NetworkSearch(shortlist=4, samples=2, rounds=2, depth=3)
    TINY["network_search_with_others"] = replace(TINY["network_search"], others=heuristic)

SPIRALS: dict[str, BaseRules] = {name: SPIRAL[name] for name in ("spiral-play-2", "spiral-end+fifteens-1")}

EVERY: dict[str, BaseRules] = {**VARIANTS, **SPIRALS}


def is_played(name: str, rules: BaseRules) -> bool:
    """Whether an agent plays these games."""
    return "network" not in name or rules not in MINI.values()


def both(games: Mapping[str, BaseRules], marks: Marks = lambda name: [], **agents: Any) -> pytest.MarkDecorator:
    """Parameters ``rules`` and ``agent``: every agent with all of these games that it plays; marks by game."""
    pairs = [
        pytest.param(rules, agent, id=f"{name}-{game}", marks=marks(game))
        for name, agent in agents.items()
        for game, rules in games.items()
        if is_played(name, rules)
    ]
    return pytest.mark.parametrize(("rules", "agent"), pairs)


HIDING: dict[str, BaseRules] = SPIRALS | {
    name: VARIANTS[name]
    for name in (
        "solitaire",
        "solitaire-contact+excuse+pawns+flush",
        "corners-2",
        "corners-3+excuse+pawns+flush+simpleton",
        "open-2+match",
        "open-4+pawns",
    )
}


def ask(policy: Policy, rules: BaseRules, batch: Any, seed: int = 0) -> list[int]:
    """What a policy does in every game of a batch."""
    observer = make_observer(rules, preview=True)
    chosen = policy(observer.observe_batch(batch), observer.mask_batch(batch), np.random.default_rng(seed))
    assert chosen.dtype == np.int64
    return list(map(int, chosen))


def batch_of(game: BaseGame[Any, Any], deals: Sequence[Any], actions: Sequence[int]) -> Any:
    """A batch of one: the same actions from these deals."""
    batch = dealt(game.rules)
    batch.reset(deals=[deals])
    for action in actions:
        batch.step([action])
    return batch


def disagreements(policy_for: Callable[[Any], Policy], rules: BaseRules, seed: int) -> int:
    """How often a policy decides differently when the cards that it cannot see change places.

    Args:
        policy_for: makes the policy for one game; an honest one ignores which.
        rules: which game.
        seed: of the game and of what changes.
    """
    rng = np.random.default_rng(seed)
    observer = make_observer(rules)
    game = spec_of(rules).Game.from_seed(rules, seed)
    actions, different = list[int](), 0
    while not game.over:
        if len(actions) % 8 == seed % 8:
            truth = batch_of(game, game.deals, actions)
            twin = batch_of(game, permute_hidden(game, game.mover, rng), actions)
            different += ask(policy_for(truth), rules, truth) != ask(policy_for(twin), rules, twin)
        actions.append(int(rng.choice(np.flatnonzero(observer.mask(game)))))
        game.step(actions[-1])
    return different


@both(HIDING, **TINY)
def test_decisions_do_not_depend_on_hidden_cards(rules: BaseRules, agent: Any) -> None:
    policy = agent.for_rules(rules)
    assert disagreements(lambda _: policy, rules, seed=3) == 0


def test_an_agent_that_knows_the_pile_would_be_found_out() -> None:
    def cheat(truth: Batch) -> Policy:
        """The play after which the true game could go best."""

        def policy(observation: Any, mask: Any, rng: np.random.Generator) -> Any:
            plays = np.flatnonzero(mask[0])
            games = truth.fork(np.zeros(len(plays), np.int64))
            games.step(plays)
            for _ in range(rollout_policy.plays_left(games)):
                rollout_policy.step(games, rollout_policy.rollout_actions(games))
            return plays[[payoffs(games)[:, 0].argmax()]]

        return policy

    assert sum(disagreements(cheat, Rules(), seed) for seed in range(3)) > 0


@both(EVERY, slow_unless_covering, **TINY)
def test_plays_legally_in_every_variant(rules: BaseRules, agent: Any) -> None:
    """Random games in which the agent plays now and then, and to the end; announcements are true."""
    policy, rng = agent.for_rules(rules), np.random.default_rng(1)
    observer = make_observer(rules, preview=True)
    batch = dealt(rules, 2, 5)
    for turn, (rows, live) in enumerate(in_progress(batch)):
        mask = observer.mask_batch(live)
        pending = getattr(live, "pending", np.full((1, 2), -1))
        # The engine refuses illegal actions.
        actions = np.array([rng.choice(np.flatnonzero(legal)) for legal in mask])
        if turn % 40 == 0 or pending[0, 0] >= 0:
            actions = policy(observer.observe_batch(live), mask, rng)
        if pending[0, 0] >= 0:
            points, _ = live.value(*pending.T)
            assert (actions == live.rules.num_plays_encoded + points - ANNOUNCE_MIN).all()
        batch.step(actions, rows)


@both({"solitaire": Rules(), "corners-2": Rules(2), "spiral": SpiralRules()}, **TINY)
def test_the_generator_settles_everything(rules: BaseRules, agent: Any) -> None:
    batch = dealt(rules, 3, 11)
    policy = agent.for_rules(rules)
    assert ask(policy, rules, batch) == ask(agent.for_rules(rules), rules, batch)
    assert ask(policy, rules, batch)[0] == ask(policy, rules, batch.fork([0]))[0], "rows are searched one by one"


# --- What is obvious -------------------------------------------------------------------------------------------------


def test_the_last_play_of_several_players_is_the_best_one() -> None:
    """What it scores, plus what the card would have cost in hand: all of it is known unless a card is drawn."""
    rules, checked = Rules(2), 0
    for seed in range(12):
        game, rng = Game.from_seed(rules, seed), np.random.default_rng(seed)
        actions = list[int]()
        while len(actions) < rules.num_plays - 1:
            actions.append(int(rng.choice(np.flatnonzero(make_observer(rules).mask(game)))))
            game.step(actions[-1])
        batch = batch_of(game, game.deals, actions)
        legal = np.flatnonzero(batch.mask[0])
        if batch.value(*np.divmod(legal, rules.num_cells), np.zeros_like(legal))[1].any():
            continue
        after = batch.fork(np.zeros_like(legal))
        after.step(legal)
        [found] = ask(
            MonteCarlo(shortlist=len(legal), samples=1, rounds=8, prior_weight=0.0).for_rules(rules), rules, batch
        )
        assert after.totals[legal == found, game.mover] == after.totals[:, game.mover].max()
        checked += 1
    assert checked >= 3


def test_margins_over_the_best_other_seat() -> None:
    """The more uncertain the points are, the more do those of the other seats count that are behind."""
    points = np.array([[3.0, 1.0, 8.0], [10.0, 10.0, 4.0]])
    assert margins(points).tolist() == [[-5, -7, 5], [0, 0, -6]]
    assert margins(points, 1e6) == pytest.approx(points * 1.5 - points.sum(axis=1, keepdims=True) / 2, abs=1e-3)
    soft = 2 * np.log((np.exp(1 / 2) + np.exp(8 / 2)) / 2)
    assert margins(points, 2.0)[0, 0] == pytest.approx(3 - soft)
    assert margins(points[:, :2], 2.0).tolist() == [[2, -2], [0, 0]]
    assert margins(points[:, :1], 2.0).tolist() == [[3], [10]]
    assert np.isfinite(margins(1e4 * points, 1e-2)).all()


def test_other_games_are_refused() -> None:
    for (name, agent), rules in product(TINY.items(), EVERY.values()):
        if not is_played(name, rules):
            with pytest.raises(ValueError, match="no shipped network has learned"):
                agent.for_rules(rules)


def test_does_not_lose_where_a_draw_saves_the_round() -> None:
    """Solitaire: the last card, 2MK, draws only beside 9LK; otherwise the round is lost, which counts little here."""
    rules = Rules()
    batch = Batch(rules, 1)
    up, hand = "AM AS AV AL", "2MK 4YK 9LK 5SV 6LK 6MV 7SK 3MV"
    known = set(parse_cards(f"{up} {hand}"))
    batch.reset(deals=[Deal(parse_cards(up), (parse_cards(hand),), tuple(c for c in rules.deck if c not in known))])
    for card, cell in (("4YK", 1), ("3MV", 4), ("9LK", 10), ("5SV", 2), ("6MV", 13), ("7SK", 7), ("6LK", 8)):
        batch.step([parse_card(card) * rules.num_cells + cell])
    hands = int(np.bitwise_count(batch.hands[0, 0]))
    legal = np.flatnonzero(batch.mask[0])
    _, draws = batch.value(*np.divmod(legal, rules.num_cells), np.zeros_like(legal))
    assert hands == 1
    assert 0 < (draws > 0).sum() < len(legal)
    [action] = ask(MonteCarlo(lost_value=-200).for_rules(rules), rules, batch)
    assert draws[legal == action] > 0


@pytest.mark.parametrize(
    "rules", [Rules(), Rules(2, match=True), SpiralRules(deals=2)], ids=["solitaire", "match", "spiral"]
)
def test_the_prior_of_a_network_search_includes_the_points_so_far(rules: BaseRules) -> None:
    """As the rollouts do: otherwise a mean of both is no value of an action."""
    pytest.importorskip("safetensors")
    from quincunx_agents.networks.value import margin_weights, shipped_for
    from quincunx_agents.networks.value import value as network

    rng, batch = np.random.default_rng(0), dealt(rules, seed=3)
    while not batch.totals.any() or batch.ply[0] < 5:
        batch.step([int(rng.choice(np.flatnonzero(batch.mask[0])))])
    observation, mask = seen(batch)
    candidates = shipped_for(rules).candidates
    config = NetworkSearch(shortlist=1000, samples=1, rounds=1, prior_weight=1e6, candidates=candidates)
    search = config.for_rules(rules)
    assert isinstance(search, DeterminizedSearch)
    to_come = network.for_rules(rules).action_values(observation, mask, rng)
    so_far = np.roll(batch.totals[0], -batch.mover[0]) @ margin_weights(rules.num_players)[: rules.num_players]
    assert so_far
    values = search.action_values(observation, mask, rng)
    assert values == pytest.approx(to_come + so_far, abs=0.1)


def test_a_policy_plays_the_other_seats_of_a_network_search() -> None:
    pytest.importorskip("safetensors")
    rules, played = Rules(3), list[int]()

    def others(observation: Pieces, mask: Bools, rng: np.random.Generator) -> Ints:
        played.append(len(mask))
        return greedy(observation, mask, rng)

    batch = dealt(rules)
    config = NetworkSearch(shortlist=4, samples=2, rounds=1, depth=None, others=others)
    ask(config.for_rules(rules), rules, batch)
    of_others = [ply for ply in range(1, rules.num_plays) if ply % 3]
    assert played == [8] * len(of_others)


@both({"solitaire": Rules(), "corners-2": Rules(2), "spiral": SpiralRules()}, **TINY)
def test_sequential_halving(rules: BaseRules, agent: Any) -> None:
    """Every round has half the actions, rounded up, in twice the games, until one action is left."""
    batch = dealt(rules)
    for rounds, expected in ((2, [8, 8]), (50, [8, 8, 8])):
        policy = replace(agent, shortlist=8, samples=1, rounds=rounds).for_rules(rules)
        assert isinstance(policy, DeterminizedSearch)
        evaluate, games = policy.evaluate, list[int]()

        def counted(games_: Any, *arguments: Any, evaluate: Any = evaluate, games: list[int] = games) -> Any:
            games.append(games_.num_games)
            assert arguments[1] == agent_spec_of(rules).rollout_policy.plays_left(games_)
            return evaluate(games_, *arguments)

        policy.evaluate = counted  # type: ignore[assignment]
        ask(policy, rules, batch)
        assert games == expected


def test_announcements_have_no_values() -> None:
    rules = Rules(2, simpleton=True)
    batch = dealt(rules, 2)
    batch.step(batch.mask[:1].argmax(axis=1), [0])
    policy = MonteCarlo(samples=1, rounds=1).for_rules(rules)
    values = policy.action_values(*seen(batch), np.random.default_rng(0))
    assert np.isneginf(values[0]).all()
    assert np.isfinite(values[1]).any()
