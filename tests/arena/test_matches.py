"""Seats and seatings of a deal are played by policies that know nothing of each other."""

from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest

from quincunx_agents.greedy import greedy
from quincunx_agents.uniform import uniform
from quincunx_env import spiral
from quincunx_env.arena import Deals, Run, compare, evaluate, evaluate_all, seconds_per_action, tournament
from quincunx_env.arena.benchmark import evaluate_on_task
from quincunx_env.arena.generalisation import evaluate_generalisation
from quincunx_env.arena.matches import MatchConfig, play_matches, seatings
from quincunx_env.core.arrays import Bools, Ints
from quincunx_env.core.observation import Pieces
from quincunx_env.core.policy import Policy, policy_for
from quincunx_env.core.rules import BaseRules
from quincunx_env.policies import ChatPolicy, EncodedPolicy, PolicyFile
from quincunx_env.quincunx.deal import Deal
from quincunx_env.quincunx.rules import Rules
from quincunx_env.registry import make_observer, spec_of
from quincunx_env.spiral.rules import Rules as SpiralRules


class Recorder:
    """A greedy policy that remembers the hands of each call."""

    def __init__(self) -> None:
        self.hands: list[list[tuple[int, ...]]] = []

    def __call__(self, observation: Pieces, mask: Bools, rng: np.random.Generator) -> Ints:
        """Choose the actions of greedy."""
        self.hands.append([tuple(np.flatnonzero(hand).tolist()) for hand in observation["hand"]])
        return greedy(observation, mask, rng)


class Factory:
    """An agent that keeps the policies that it makes."""

    def __init__(self) -> None:
        self.made: list[Recorder] = []

    def for_rules(self, rules: BaseRules) -> Policy:
        """Return a policy that remembers the hands that it sees."""
        self.made.append(Recorder())
        return self.made[-1]


def dealt(rules: Rules, seat: int, first: int, deals: int) -> list[tuple[int, ...]]:
    """The hand of a seat in consecutive deals."""
    numbers = range(first, first + deals)
    return [tuple(sorted(Deal.from_seed(rules, number, domain="benchmark").hands[seat])) for number in numbers]


def test_published_results_are_of_the_first_thousand_deals_of_the_benchmark() -> None:
    assert Deals() == Deals(1000, "benchmark", 0)


@pytest.mark.parametrize(
    ("call", "options", "way_out"),
    [
        (evaluate, {"domain": "validation"}, "give deals=Deals(domain=...)"),
        (evaluate_all, {"workers": 2}, "give run=Run(workers=...)"),
        (compare, {"records": "games.npz"}, "give run=Run(records=...)"),
        (tournament, {"name": 1}, "its options are policies, deals, rules, run"),
        (evaluate_on_task, {"domain": 1}, "its options are task, policy, split, deals, name, adjusted, run"),
        (evaluate_generalisation, {"seed": 1}, "give run=Run(seed=...)"),
        (seconds_per_action, {"chunk": 1}, "give run=Run(chunk=...)"),
        (Run, {"worker": 2}, "its options are seed, chunk, out, records, workers, ray, progress"),
        (Deals, {"number": 2}, "its options are count, domain, first"),
        (Rules, {"num_playrs": 2}, "its options are num_players, start, edge_contact, "),
        (ChatPolicy, {"answer": 4}, "its options are chat, "),
        (EncodedPolicy, {"action": "hand"}, "its options are "),
        (PolicyFile, {"trusted": True}, "its options are "),
        (spiral.Rules, {"fifteen": True}, "its options are scoring, fifteens, deals"),
    ],
)
def test_unknown_options_are_refused(call: Any, options: dict[str, Any], way_out: str) -> None:
    """The error has the way out."""
    [name] = options
    with pytest.raises(TypeError) as error:
        call(**options)
    assert str(error.value).startswith(f"{call.__name__}() got an unexpected keyword argument {name!r}")
    assert way_out in str(error.value)


def test_wrong_runs_and_domains_are_refused() -> None:
    calls: list[Any] = [evaluate, evaluate_all, compare, tournament, seconds_per_action]
    for play in calls:
        with pytest.raises(ValueError, match=r"^run must be a Run, such as Run\(seed=1\), got 3$"):
            play(["greedy", "uniform"], run=3)
    with pytest.raises(ValueError, match=r"^domain must be one of play, benchmark, validation, got 'sealed'$"):
        Deals(10, "sealed")  # type: ignore[arg-type]


@pytest.mark.parametrize("shared", [Deals(), Run()])
def test_defaults_of_functions_cannot_be_changed(shared: Any) -> None:
    with pytest.raises(FrozenInstanceError):
        shared.count = 2


def test_each_seat_of_each_seating_has_its_own_policy() -> None:
    """In each chunk."""
    rules, first, second = Rules(num_players=3), Factory(), Factory()
    compare([first, second], 7, rules=rules, run=Run(chunk=3))
    assert len(first.made) == 3 * 3 * 1
    assert len(second.made) == 3 * 3 * 2
    held, pair = Factory(), Rules(num_players=2)
    tournament({"held": held, "greedy": greedy, "uniform": uniform}, 4, rules=pair, run=Run(chunk=2))
    assert len(held.made) == 2 * 2 * 2, "two pairs, two chunks, two seatings"
    alone = Factory()
    evaluate(alone, 5, run=Run(chunk=2))
    seconds_per_action([alone], 5, run=Run(chunk=2))
    assert len(alone.made) == 3 + 3


def test_a_policy_with_a_memory_knows_the_hands_of_one_seat() -> None:
    """Neither of the other seat of its seating, nor those that the other seating has shown."""
    rules, agent, deals = Rules(num_players=2), Factory(), 6
    compare([agent, agent], Deals(deals, first=3), rules=rules, run=Run(chunk=deals))
    assert [policy.hands[0] for policy in agent.made] == [dealt(rules, seat, 3, deals) for seat in (0, 1, 0, 1)]
    for policy, seat in zip(agent.made, (0, 1, 0, 1), strict=True):
        other = dealt(rules, 1 - seat, 3, deals)
        seen = {(deal, card) for call in policy.hands for deal, hand in enumerate(call) for card in hand}
        assert not seen & {(deal, card) for deal, hand in enumerate(other) for card in hand}


def test_a_call_of_a_function_has_positions_of_one_seat() -> None:
    """Also of one that plays two seats: a call has each deal once."""
    rules, function, deals = Rules(num_players=3), Recorder(), 4
    compare([function, greedy, function], deals, rules=rules, run=Run(chunk=deals))
    hands = [dealt(rules, seat, 0, deals) for seat in range(3)]
    assert [call for call in function.hands if call in hands] == [hands[seat] for seat in (0, 1, 0, 2, 1, 2)]
    for call in function.hands:
        assert len(call) == deals
        held = [any({*one} & {*own} for one, own in zip(call, of_seat, strict=True)) for of_seat in hands]
        assert held.count(True) <= 1, "cards that one seat was dealt"


RULES = [Rules(), Rules(num_players=2), Rules(num_players=3, simpleton=True, match=True), SpiralRules()]


@pytest.mark.parametrize("rules", RULES, ids=str)
def test_games_are_those_of_a_plain_loop(rules: Any) -> None:
    """Of one seating after the other, with one generator for each agent of the chunk."""
    config = MatchConfig(rules, Deals(5, "validation", 3), seed=2, chunk=3)
    lineup = seatings([0, 1, 1][: rules.num_players])
    agents, observer = [uniform, greedy], make_observer(rules, preview=True)
    for chunk in config.chunks:
        results = play_matches(agents, lineup, config, chunk)
        numbers, rngs = config.deal_numbers(chunk), [config.generator(chunk, agent) for agent in range(2)]
        taken: dict[tuple[int, int], list[int]] = {}
        for number, seating in enumerate(lineup):
            batch: Any = spec_of(rules).Batch(rules, len(numbers), config.deals.domain)
            batch.reset(seed=numbers)
            while not batch.over.all():
                for seat in range(rules.num_players):
                    rows = np.flatnonzero(~batch.over & (batch.mover == seat))
                    if len(rows):
                        games, agent = batch.fork(rows), seating[seat]
                        policy = policy_for(agents[agent], rules)
                        chosen = policy(observer.observe_batch(games), games.mask, rngs[agent])
                        batch.step(chosen, rows)
                        for row, action in zip(rows.tolist(), chosen.tolist(), strict=True):
                            taken.setdefault((row, number), []).append(action)
            assert (results.totals[:, number] == batch.totals).all()
            assert (results.lost[:, number] == (batch.lost if rules.num_players == 1 else False)).all()
        plain = [taken[deal, number] for deal in range(len(numbers)) for number in range(len(lineup))]
        assert results.lengths.reshape(-1).tolist() == [*map(len, plain)]
        assert results.actions.tolist() == [action for each in plain for action in each]
