"""Luck of the cards: unbiased with any reference, equal to a plain count over single games, fitted crosswise."""

import json
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from quincunx_env.arena import Deals, Evaluation, evaluate, luck, table
from quincunx_env.arena.luck import FILE, Luck, luck_of, luck_of_draws
from quincunx_env.arena.matches import MatchConfig
from quincunx_env.arena.runner import Run, run_lineups
from quincunx_env.core.arrays import ONE
from quincunx_env.core.observation import Pieces
from quincunx_env.quincunx import scoring
from quincunx_env.quincunx.batch import Batch
from quincunx_env.quincunx.deal import Deal
from quincunx_env.quincunx.game import Game
from quincunx_env.quincunx.rules import Rules

MINI = Rules(mini=True)


class Random:
    """A reference with random weights: its values have no meaning."""

    def __call__(self, observation: Pieces, mask: npt.NDArray[np.bool_], rng: np.random.Generator) -> Any:
        """Choose the first legal action."""
        return mask.argmax(axis=1)

    def action_values(self, observation: Pieces, mask: npt.NDArray[np.bool_], rng: np.random.Generator) -> Any:
        """Return values of all actions."""
        pieces = np.concatenate([observation[name].reshape(len(mask), -1) for name in ("board", "hand")], axis=1)
        weights = np.random.default_rng(7).normal(size=(pieces.shape[1], mask.shape[1]))
        return np.where(mask, pieces @ weights, -np.inf)


class Points(Random):
    """A reference whose values are the points of the plays."""

    def action_values(self, observation: Pieces, mask: npt.NDArray[np.bool_], rng: np.random.Generator) -> Any:
        """Return values of all actions."""
        return np.where(mask, observation["preview"][..., 0].reshape(len(mask), -1), -np.inf)


@pytest.mark.parametrize("reference", [Random(), Points()], ids=["random weights", "points"])
def test_the_expected_luck_of_a_draw_is_zero(reference: Random) -> None:
    """All draws of 200 positions of the mini variant are enumerated."""
    rng, games, found = np.random.default_rng(0), Batch(MINI, 80), 0
    games.reset(seed=0)
    for play in range(MINI.num_plays):
        before = games.hands[:, 0].copy()
        actions = np.array([rng.choice(np.flatnonzero(row)) if row.any() else 0 for row in games.mask])
        games.step(actions)
        for row in np.flatnonzero(~games.lost).tolist():
            played = before[row] & ~(ONE << np.uint64(actions[row] // MINI.num_cells))
            seen = int(played) | sum(1 << int(card) for card in games.board[row, :-1] if card >= 0)
            unseen = [card for card in MINI.deck if not seen >> card & 1]
            if not unseen:
                continue
            size = 1 + (play + row) % min(3, len(unseen))
            draws = np.array([sum(1 << card for card in draw) for draw in combinations(unseen, size)], np.uint64)
            copies = games.fork([row] * len(draws))
            copies.hands[:, 0] = played | draws
            values = luck_of_draws(copies, draws, reference)
            assert abs(values.mean()) < 1e-9
            found += int(np.ptp(values) > 0)
    assert found >= 200


def test_luck_equals_a_plain_count_over_games(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(luck, "SHORTLIST", 10_000)
    config = MatchConfig(Rules(), Deals(6, "validation"), chunk=4)
    [(results, _)] = run_lineups({"heuristic": "heuristic"}, [("heuristic",)], config).values()
    found, ends = luck_of(results, config, Points()), np.cumsum(results.lengths)
    assert not found.deal.any(), "no mean is known for this reference"
    for number in range(6):
        actions = results.actions[ends[number] - results.lengths[number, 0] : ends[number]]
        assert found.draws[number] == pytest.approx(plain_luck(number, actions.tolist()))


def plain_luck(number: int, actions: list[int]) -> list[float]:
    """Return the luck after each play of a solitaire, by single games, with points as values."""
    game, found = Game(Rules(), Deal.from_seed(Rules(), number, domain="validation")), list[float]()
    for action in actions:
        card = action // 16
        kept = {each for each in range(36) if game.hands[0][each]} - {card}
        game.step(action)
        hand = {each for each in range(36) if game.hands[0][each]}
        unseen = set(range(36)) - kept - {each for each in game.board if each >= 0}

        def value(drawn: int, kept: set[int] = kept) -> float:
            if game.ply == game.rules.num_plays:
                return -scoring.penalty([drawn])
            cells = [cell for cell in range(16) if game.board[cell] < 0]
            return max(game.value(each, cell)[0] for each in kept | {drawn} for cell in cells)

        mean = np.mean([value(each) for each in unseen]) if hand - kept else 0.0
        found.append(float(sum(value(each) - mean for each in hand - kept)))
    return found + [0.0] * (Rules().num_plays - len(found))


def test_weights_do_not_depend_on_the_deals_that_they_adjust() -> None:
    rng = np.random.default_rng(0)
    count = 10_000
    draws, deal = rng.normal(size=(count, 3)), rng.normal(size=count)
    found = Luck(draws, deal, 0.0)
    values = 5 + 0.5 * draws.sum(axis=1) + 2 * deal
    assert found.adjusted(values).std() < 0.05, "both weights are found, nearly"
    changed = values + np.where(np.arange(count) % 2, rng.normal(size=count), 0)
    other = found.adjusted(changed)
    assert (other - changed)[1::2] == pytest.approx((found.adjusted(values) - values)[1::2])
    assert (other - changed)[::2] != pytest.approx((found.adjusted(values) - values)[::2])
    few = Luck(draws[:2], deal[:2], 0.0)
    assert few.adjusted(values[:2]) == pytest.approx((values - draws.sum(axis=1) - deal)[:2]), "all of it"


def test_the_error_of_the_mean_start_widens_the_interval() -> None:
    pytest.importorskip("scipy")
    values, draws = np.arange(50.0), np.zeros((50, 2))
    lucky = (Luck(draws, np.zeros(50), error) for error in (0.0, 10.0))
    exact, rough = (Evaluation(values.astype(np.int64), values < 0, luck=each).adjusted_mean for each in lucky)
    assert rough.value == exact.value
    assert rough.high - rough.low > 2 * (exact.high - exact.low)


def test_the_stored_mean_belongs_to_the_network() -> None:
    pytest.importorskip("safetensors")
    from train.start_value import network_hash

    stored = json.loads(FILE.read_text(encoding="utf-8"))
    assert stored["network"] == network_hash(), "the network has changed: run python -m train.start_value"


def test_adjusted_evaluations() -> None:
    for library in ("scipy", "safetensors"):
        pytest.importorskip(library)
    plain = evaluate("heuristic", 40)
    first = evaluate("heuristic", 40, adjusted=True, run=Run(chunk=7))
    with pytest.raises(ValueError, match="the luck was not measured: evaluate with adjusted=True"):
        _ = plain.adjusted_mean
    assert first.luck is not None
    assert (first.values == plain.values).all()
    low, high = first.ci95
    assert first.adjusted_mean.high - first.adjusted_mean.low < high - low
    assert first.to_json().keys() - plain.to_json().keys() == {"adjusted_mean"}
    assert first.figures() == plain.figures(), "what a file of games claims follows from its points"
    second = evaluate("value", 40, adjusted=True, run=Run(workers=2, chunk=20))
    differences = table({"heuristic": first, "value": second}).split("\n\n")[1]
    assert differences.startswith("| minus heuristic | difference | 95 % interval | adjusted difference |")
    assert len(differences.splitlines()) == 3
    assert "adjusted" not in table({"heuristic": plain, "value": second})


def test_other_rules_are_adjusted_for_draws_alone() -> None:
    pytest.importorskip("safetensors")
    rules = Rules(flush=True)
    found = evaluate("greedy", 4, rules=rules, adjusted=True).luck
    assert found is not None
    assert found.draws.any()
    assert not found.deal.any()
    with pytest.raises(ValueError, match="no shipped network has learned mini"):
        evaluate("greedy", 4, rules=MINI, adjusted=True)


# --- Slow ------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["uniform", "greedy", "heuristic"])
def test_adjusted_means_are_unbiased(policy: str) -> None:
    """The mean of the luck is 0 at each play, and the adjusted mean of many deals is the plain one."""
    pytest.importorskip("scipy")
    found = evaluate(policy, Deals(2_000, "validation"), adjusted=True)
    assert found.luck is not None
    errors = found.luck.draws.std(axis=0) / 2_000**0.5
    assert (np.abs(found.luck.draws.mean(axis=0)) <= 4 * errors).all()
    difference = found.values - found.luck.adjusted(found.values)
    assert abs(difference.mean()) < 3 * np.hypot(difference.std() / 2_000**0.5, found.luck.error)
