"""Hands of the other seats given their plays."""

import dataclasses
from collections import Counter
from collections.abc import Iterator
from itertools import permutations
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from quincunx_agents.afterstates import Bools
from quincunx_agents.agent_specs import single_round
from quincunx_agents.heuristic import heuristic
from quincunx_agents.search import beliefs
from quincunx_agents.search.beliefs import Beliefs
from quincunx_env import Game, Rules
from quincunx_env.core.arrays import Ints, unpack
from quincunx_env.core.observation import Pieces
from quincunx_env.core.rules import BaseRules
from quincunx_env.quincunx.deal import Deal
from quincunx_env.registry import make_observer, spec_of
from quincunx_env.spiral.rules import Rules as SpiralRules

MINI = Rules(2, mini=True)


class Greedy:
    """A model that values an action by its points."""

    def __call__(self, observation: Pieces, mask: Bools, rng: np.random.Generator) -> Ints:
        """The best action of each position."""
        best: Ints = self.action_values(observation, mask, rng).argmax(axis=1)
        return best

    def action_values(
        self, observation: Pieces, mask: Bools, rng: np.random.Generator
    ) -> npt.NDArray[np.floating[Any]]:
        """Points."""
        return np.where(mask, observation["preview"][..., 0].reshape(len(mask), -1), -np.inf)


def replay(deal: Deal, actions: list[int]) -> Iterator[tuple[Game, int]]:
    """Games of a deal before each of some actions, and the action; they end where one is illegal."""
    game = Game(MINI, [deal])
    for action in actions:
        if not make_observer(MINI).mask(game)[action]:
            return
        yield game, action
        game.step(action)


def posterior(game: Game, actions: list[int], temperature: float) -> Counter[tuple[int, ...]]:
    """Probability of each hand of the other seat, from every deal that the observing seat may have been dealt."""
    observer, seat = make_observer(MINI), game.mover
    seen = observer.observe(game, seat)
    (deal,) = game.deals
    found = Counter[tuple[int, ...]]()
    for rest in permutations(sorted({*MINI.deck} - {*deal.face_up})):
        regret, reached = 0, 0
        other = Deal(deal.face_up, (rest[:2], rest[2:4]), rest[4:])
        for before, action in replay(other, actions):
            reached += 1
            if before.mover != seat:
                points = [before.value(card, cell)[0] for card in before.legal_cards() for cell in before.legal_cells()]
                regret += max(points) - before.value(*divmod(action, MINI.num_cells))[0]
            last = before
        if reached == len(actions) and all(
            (seen[name] == piece).all() for name, piece in observer.observe(last, seat).items()
        ):
            found[last.hand(1 - seat)] += np.exp(-regret / temperature)
    total = sum(found.values())
    return Counter({hand: weight / total for hand, weight in found.items()})


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_hands_follow_the_stated_distribution(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """After one and after three plays of random games, as a sum over all deals has it."""
    monkeypatch.setattr(beliefs, "STEPS", 30)
    monkeypatch.setattr(beliefs, "TEMPERATURE", 4.0)
    rng, observer = np.random.default_rng(seed), make_observer(MINI, preview=True)
    game, actions = Game.from_seed(MINI, seed), list[int]()
    while not game.over:
        if actions:
            expected = posterior(game, actions, 4.0)
            hands = Beliefs(MINI, Greedy(), 3_000).sample(observer.observe(game, game.mover), rng)[0]
            sampled = Counter(tuple(sorted(hand)) for hand in hands.tolist())
            assert sampled.keys() <= expected.keys()
            for hand, probability in expected.items():
                assert sampled[hand] / 3_000 == pytest.approx(probability, abs=0.05)
        actions.append(int(rng.choice(np.flatnonzero(observer.mask(game)))))
        game.step(actions[-1])


def games_of(rules: BaseRules, model: Any, plies: int, count: int) -> Any:
    """Games that a model has played so far."""
    observer, games = make_observer(rules, preview=True), spec_of(rules).Batch(rules, count)
    games.reset(seed=9)
    for _ in range(plies):
        games.step(model(observer.observe_batch(games), games.mask, np.random.default_rng(0)))
    return games


@pytest.mark.parametrize(
    ("rules", "agent"),
    [(Rules(2), heuristic), (Rules(3, start="open", pawns=True), heuristic), (SpiralRules(), heuristic)],
    ids=["corners-2", "open-3+pawns", "spiral"],
)
def test_cards_that_the_others_hold_are_likelier(rules: BaseRules, agent: Any) -> None:
    """Of games that the model has played: the true hands have more of the samples than hands at random would."""
    model, players = agent.for_rules(rules), rules.num_players
    games = games_of(rules, model, 9, 16)
    observer, rng = make_observer(rules, preview=True), np.random.default_rng(0)
    observations, found = observer.observe_batch(games), list[float]()
    for row in range(games.num_games):
        position = {name: piece[row] for name, piece in observations.items()}
        hands = Beliefs(rules, agent.for_rules(single_round(rules)), 32).sample(position, rng)
        hidden = observer.hidden(position)
        assert [hand.shape for hand in hands] == [(32, size) for size in hidden.hands]
        together = np.sort(np.concatenate(hands, axis=1), axis=1)
        assert (np.diff(together, axis=1) > 0).all(), "no card twice"
        assert not {*together.ravel().tolist()} & {*hidden.seen}
        unseen = len({*rules.deck} - {*hidden.seen})
        for offset, hand in enumerate(hands, start=1):
            held = np.flatnonzero(unpack(games.hands[row : row + 1, (games.mover[row] + offset) % players], 52))
            if len(held):
                found.append((hand[:, :, None] == held).any(axis=1).mean() / (len(held) / unseen))
    assert np.mean(found) > 1.03


def test_before_any_play_of_the_others_hands_are_uniform() -> None:
    games = games_of(Rules(2), None, 0, 1)
    observer = make_observer(Rules(2), preview=True)
    position = {name: piece[0] for name, piece in observer.observe_batch(games).items()}
    (hands,) = Beliefs(Rules(2), Greedy(), 4_000).sample(position, np.random.default_rng(0))
    hidden = sorted({*Rules(2).deck} - {*observer.hidden(position).seen})
    shares = np.bincount(hands.ravel(), minlength=36)[hidden] / len(hands)
    assert shares == pytest.approx(np.full(len(hidden), 10 / len(hidden)), abs=0.04)


def test_actions_without_a_value_count_as_the_worst_of_the_others() -> None:
    class Choosy(Greedy):
        """Values the best action alone."""

        def action_values(
            self, observation: Pieces, mask: Bools, rng: np.random.Generator
        ) -> npt.NDArray[np.floating[Any]]:
            values = super().action_values(observation, mask, rng)
            return np.where(values == values.max(axis=1, keepdims=True), values, -np.inf)

    games = games_of(Rules(2), Greedy(), 3, 1)
    position = {name: piece[0] for name, piece in make_observer(Rules(2), preview=True).observe_batch(games).items()}
    with np.errstate(invalid="raise"):
        Beliefs(Rules(2), Choosy(), 16).sample(position, np.random.default_rng(0))


def test_a_round_of_a_game_is_played_by_its_rules() -> None:
    assert single_round(Rules(3, simpleton=True, match=True, flush=True)) == Rules(3, flush=True)
    assert single_round(SpiralRules(scoring="end", deals=4)) == SpiralRules(scoring="end", deals=1)
    assert dataclasses.is_dataclass(single_round(Rules(2)))
