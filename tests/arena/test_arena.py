"""The arena's evaluation of the solitaire, its comparisons of several players, and the baseline agents."""

from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from quincunx_agents.greedy import greedy
from quincunx_agents.uniform import uniform

from quincunx_env.arena import (
    Comparison,
    Estimate,
    Evaluation,
    Policy,
    adjusted_mean,
    compare,
    evaluate,
    evaluate_all,
    plot,
    table,
)
from quincunx_env.arena.matches import MatchConfig, seatings
from quincunx_env.core.game import IllegalAction
from quincunx_env.core.observation import Pieces
from quincunx_env.quincunx.batch import Batch
from quincunx_env.quincunx.deal import Deal
from quincunx_env.quincunx.game import Game
from quincunx_env.quincunx.observation import Observer
from quincunx_env.quincunx.rules import Rules
from quincunx_env.quincunx.scoring import rating


def first_legal(observation: Pieces, mask: npt.NDArray[np.bool_], rng: np.random.Generator) -> npt.NDArray[np.int64]:
    actions: npt.NDArray[np.int64] = mask.argmax(axis=1)
    return actions


def test_deals_are_the_numbered_deals_of_the_domain() -> None:
    result = evaluate(first_legal, 12, first=5, chunk=5)
    for number in range(12):
        game = Game(Rules(), Deal.from_seed(Rules(), 5 + number, domain="benchmark"))
        while not game.over:
            game.play(game.legal_cards()[0], game.legal_cells()[0])
        assert result.scores[number] == game.totals[0]
        assert result.lost[number] == game.lost
    assert (evaluate(first_legal, 12, first=5).scores == result.scores).all(), "chunks make no difference"
    assert (evaluate(first_legal, 12, first=5, domain="validation").scores != result.scores).any()


def test_the_baselines_are_as_strong_as_they_should_be() -> None:
    """Mean scores: uniform about 8, greedy about 14, because it runs out of cards."""
    blind, eager = evaluate(uniform, 2000), evaluate(greedy, 2000)
    assert 6 < blind.mean < 10
    assert 0.66 < blind.lost.mean() < 0.75
    assert 11 < eager.mean < 18
    assert 0.84 < eager.lost.mean() < 0.92


def test_evaluation_repeats_with_its_seed() -> None:
    assert (evaluate(uniform, 50, seed=1).scores == evaluate(uniform, 50, seed=1).scores).all()
    assert (evaluate(uniform, 50, seed=1).scores != evaluate(uniform, 50, seed=2).scores).any()


def test_an_evaluation_sums_up_its_deals() -> None:
    scores, lost = np.array([150, 99, -3, 40, 119, 80]), np.array([False, False, False, True, False, False])
    result = Evaluation(scores, lost, lost_value=-10.0)
    values = [150, 99, -3, -10, 119, 80]
    assert result.mean == pytest.approx(np.mean(values))
    stats = pytest.importorskip("scipy.stats")
    assert result.ci95 == pytest.approx(stats.t.interval(0.95, df=5, loc=np.mean(values), scale=stats.sem(values)))
    classes = [rating(int(score), bool(gone)) for score, gone in zip(scores, lost, strict=True)]
    assert list(result.classes.values()) == pytest.approx([classes.count(number) / 6 for number in range(6)])
    assert result.to_json()["deals"] == 6
    assert "| agent | 6 |" in table({"agent": result})


def test_the_interval_covers_the_truth_as_often_as_it_says() -> None:
    """Of 400 intervals from 100 deals each, 95 % hold the mean of all 40,000, give or take chance."""
    values = evaluate(uniform, 40_000, chunk=10_000)
    pieces = [Evaluation(*part) for part in zip(np.split(values.scores, 400), np.split(values.lost, 400), strict=True)]
    covered = np.mean([low <= values.mean <= high for low, high in (piece.ci95 for piece in pieces)])
    assert 0.91 < covered < 0.985


def test_uniform_is_uniform_and_legal() -> None:
    mask = np.zeros((3000, 7), np.bool_)
    mask[:, [1, 4, 6]] = True
    counts = np.bincount(uniform({}, mask, np.random.default_rng(0)), minlength=7)
    assert counts[[0, 2, 3, 5]].sum() == 0
    assert (abs(counts[[1, 4, 6]] - 1000) < 120).all()


def test_greedy_takes_most_points_and_the_lowest_action_of_equals() -> None:
    batch, observer = Batch(Rules(), 40), Observer(Rules(), preview=True)
    batch.reset(seed=0)
    actions = greedy(observer.observe_batch(batch), batch.mask(), np.random.default_rng(0))
    for row, action in enumerate(actions):
        game = batch.to_game(row)
        plays = [(card, cell) for card in game.legal_cards() for cell in game.legal_cells()]
        best = max(game.value(*play)[0] for play in plays)
        card, cell = next(play for play in plays if game.value(*play)[0] == best)
        assert action == card * 16 + cell


def test_illegal_actions_and_other_games_are_refused() -> None:
    def illegal(observation: Pieces, mask: npt.NDArray[np.bool_], rng: np.random.Generator) -> npt.NDArray[np.int64]:
        actions: npt.NDArray[np.int64] = mask.argmin(axis=1)
        return actions

    with pytest.raises(IllegalAction, match="cannot be played"):
        evaluate(illegal, 5)
    with pytest.raises(ValueError, match="2 players"):
        evaluate(uniform, 5, rules=Rules(num_players=2))
    with pytest.raises(ValueError, match="at least 2 deals"):
        evaluate(uniform, 1)


def test_a_plot_shows_every_policy(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    results = evaluate_all({"uniform": uniform, "eager": greedy}, 20, out=tmp_path / "games")
    assert (results["uniform"].scores == evaluate(uniform, 20).scores).all()
    figure = plot(results, tmp_path / "plot.png")
    labels = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]  # type: ignore[union-attr]
    assert [label.split(":")[0] for label in labels] == ["uniform", "eager"]
    assert (tmp_path / "plot.png").stat().st_size > 1000


# --- Several players -------------------------------------------------------------------------------------------------


class Last:
    """Plays the last legal action and counts how often and for how many positions it was asked."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def __call__(
        self, observation: Pieces, mask: npt.NDArray[np.bool_], rng: np.random.Generator
    ) -> npt.NDArray[np.int64]:
        """See `quincunx_env.core.policy.Policy`."""
        self.sizes.append(len(mask))
        actions: npt.NDArray[np.int64] = mask.shape[1] - 1 - mask[:, ::-1].argmax(axis=1)
        return actions


@pytest.mark.parametrize("lineup", [[0, 1], [0, 1, 1], [0, 1, 1, 1], [0, 0, 1, 1], [0, 1, 2, 1], [0, 1, 0]])
def test_seatings_are_complete_and_distinct(lineup: list[int]) -> None:
    rows = [tuple(row) for row in seatings(lineup).tolist()]
    assert len(rows) == len(set(rows))
    assert set(rows) == set(permutations(lineup))


@pytest.mark.parametrize("players", [2, 3, 4])
def test_different_policies_rotate(players: int) -> None:
    table = seatings(range(players))
    assert len(table) == players
    assert all(sorted(line) == list(range(players)) for line in [*table.tolist(), *table.T.tolist()])


@pytest.mark.parametrize(
    "rules",
    [
        Rules(num_players=2),
        Rules(num_players=3, start="open"),
        Rules(num_players=4, match=True),
        Rules(num_players=2, simpleton=True),
    ],
    ids=str,
)
def test_a_comparison_is_what_the_plain_game_plays(rules: Rules) -> None:
    """Every deal and seating, played again in `Game`."""
    pytest.importorskip("scipy")
    players, first = rules.num_players, 7
    result = compare([first_legal, Last()], 5, rules=rules, first=first, chunk=3)
    assert result.names == ("first_legal", "Last")
    assert (result.deals, result.games, len(result.seatings)) == (5, 5 * players, players)
    expected = np.zeros((5, players, players), np.int64)
    for deal in range(5):
        for seating, who in enumerate(result.seatings):
            game = Game.from_seed(rules, first + deal, domain="benchmark")
            while not game.over:
                if game.pending:
                    game.step(rules.num_actions - 1 if who[game.mover] else rules.num_plays_encoded)
                else:
                    at = -1 if who[game.mover] else 0
                    game.play(game.legal_cards()[at], game.legal_cells()[at])
            expected[deal, seating] = game.totals
    assert (result.totals == expected).all()
    # Margin and wins of the first policy, by hand.
    for deal in range(5):
        margins, wins = [], []
        for seating, who in enumerate(result.seatings):
            totals, seat = expected[deal, seating].tolist(), who.tolist().index(0)
            others = totals[:seat] + totals[seat + 1 :]
            margins.append(totals[seat] - sum(others) / len(others))
            wins.append((totals[seat] == max(totals)) / totals.count(max(totals)))
        assert result.margins[deal, 0] == pytest.approx(np.mean(margins))
        assert result.wins[deal, 0] == pytest.approx(np.mean(wins))
    assert result.margin() == pytest.approx(Estimate.of_mean(result.margins[:, 0]))
    # Each policy gets one seat in turn, or the others.
    assert result.even == pytest.approx([1 / players, 1 - 1 / players])


def test_shared_wins_and_several_seats() -> None:
    config = MatchConfig(Rules(num_players=4), "benchmark", 0, 2, 0, 250)
    totals = np.array([[[9, 9, 5, 9], [1, 2, 3, 4]], [[7, 7, 7, 7], [0, 0, 8, 0]]])
    result = Comparison(("a", "b"), np.array([[0, 0, 1, 1], [1, 0, 0, 1]]), totals, config)
    assert result.points.tolist() == [[(9 + 9 + 2 + 3) / 4, (5 + 9 + 1 + 4) / 4], [(7 + 7 + 0 + 8) / 4, 14 / 4]]
    assert result.margins[:, 0].tolist() == [1.0, 2.0]
    assert (result.margins[:, 1] == -result.margins[:, 0]).all()
    assert result.wins == pytest.approx(
        np.array([[(2 / 3 + 0) / 2, (1 / 3 + 1) / 2], [(1 / 2 + 1) / 2, (1 / 2 + 0) / 2]])
    )
    assert result.even.tolist() == [0.5, 0.5]
    # In the first deal: a's 9 and 9 against b's 5 and 9, a's 2 and 3 against b's 1 and 4.
    assert result.beats[0, 0, 1] == (1 + 0.5 + 1 + 0.5 + 1 + 0 + 1 + 0) / 8
    assert (result.beats + result.beats.transpose(0, 2, 1) == 1).all()


@pytest.mark.parametrize("players", [2, 3, 4])
def test_a_policy_against_itself_is_even_on_every_deal(players: int) -> None:
    result = compare([greedy, greedy], 20, rules=Rules(num_players=players))
    assert not result.margins.any()
    assert result.points.std() > 0
    assert result.wins[:, 0] == pytest.approx(1 / players)


def test_a_policy_is_asked_once_for_all_its_positions() -> None:
    last = Last()
    compare([last, last], 6, rules=Rules(num_players=3))
    plays = Rules(num_players=3).num_plays
    assert last.sizes == [18] * plays
    last.sizes.clear()
    compare([last, first_legal, last], 6, rules=Rules(num_players=3))
    # Three seatings, in each of which it has two seats.
    assert sum(last.sizes) == 6 * plays * 2
    assert len(last.sizes) <= plays


def test_policies_draw_from_generators_of_their_own() -> None:
    """The first policy's luck does not depend on what the second draws."""
    drawn: list[list[float]] = []

    def gambler(observation: Pieces, mask: npt.NDArray[np.bool_], rng: np.random.Generator) -> npt.NDArray[np.int64]:
        drawn[-1].append(rng.random())
        return first_legal(observation, mask, rng)

    for other in (uniform, first_legal):
        drawn.append([])
        compare([gambler, other], 4, seed=3)
    assert drawn[0] == drawn[1]
    assert drawn[0][0] == np.random.default_rng([3, 0, 0]).random()
    once, again, differently = (compare([uniform, greedy], 30, seed=seed) for seed in (1, 1, 2))
    assert (once.totals == again.totals).all()
    assert (once.totals != differently.totals).any()


def test_three_different_policies() -> None:
    pytest.importorskip("scipy")
    result = compare(["greedy", first_legal, uniform], 40, rules=Rules(num_players=3))
    assert result.names == ("greedy", "first_legal", "uniform")
    assert result.seatings.tolist() == [[0, 1, 2], [1, 2, 0], [2, 0, 1]]
    assert result.wins.sum(axis=1) == pytest.approx(1)
    assert result.margins.sum(axis=1) == pytest.approx(0)
    assert result.margin(0).low > 0 > result.margin(2).high
    lines = result.table().splitlines()
    assert len(lines) == 5
    assert "| 33.3% | 40 | 120 |" in lines[2]
    figures = result.to_json()
    assert (figures["deals"], figures["games"], figures["rules"]["num_players"]) == (40, 120, 3)
    assert figures["policies"][1]["margin"]["value"] == result.margins[:, 1].mean()


@pytest.mark.slow
@pytest.mark.parametrize(("players", "deals"), [(2, 50), (3, 50), (2, 10)])
@pytest.mark.parametrize("agent", ["uniform", "greedy with random ties"])
def test_intervals_of_comparisons_cover_the_truth(agent: str, players: int, deals: int) -> None:
    """1,000 small comparisons of two copies of an agent: 95 %, give or take 3, of the intervals of margin and wins hold
    what is certain for copies. (Chance alone moves the share by 0.7.)
    """

    def random_ties(
        observation: Pieces, mask: npt.NDArray[np.bool_], rng: np.random.Generator
    ) -> npt.NDArray[np.int64]:
        points = observation["preview"][..., 0].reshape(len(mask), -1)
        actions: npt.NDArray[np.int64] = np.where(mask, points + rng.random(mask.shape), -np.inf).argmax(axis=1)
        return actions

    policy = uniform if agent == "uniform" else random_ties

    def copy() -> Policy:
        return lambda observation, mask, rng: policy(observation, mask, rng)

    number = 1000
    result = compare([copy(), copy()], number * deals, rules=Rules(num_players=players), chunk=1000)
    covered = {}
    for name, values, truth in (("margin", result.margins, 0.0), ("wins", result.wins, 1 / players)):
        estimates = map(Estimate.of_mean, np.split(values[:, 0], number))
        covered[name] = np.mean([estimate.low <= truth <= estimate.high for estimate in estimates])
    print(f"{agent}, {players} players, {deals} deals: {covered}")
    assert all(abs(share - 0.95) <= 0.03 for share in covered.values())


def test_comparisons_that_cannot_be_seated_are_refused() -> None:
    with pytest.raises(ValueError, match="got the solitaire; use evaluate"):
        compare([greedy, uniform], 5, rules=Rules())
    with pytest.raises(ValueError, match="2 policies or one for each of the 4 seats, got 3"):
        compare([greedy, uniform, first_legal], 5, rules=Rules(num_players=4))
    with pytest.raises(ValueError, match="2 policies"):
        compare([greedy], 5)
    with pytest.raises(ValueError, match="3 times the same policy"):
        compare([greedy] * 3, 5, rules=Rules(num_players=3))
    with pytest.raises(ValueError, match="at least 2 deals"):
        compare([greedy, uniform], 1)
    with pytest.raises(ValueError, match="at least 1 deal, got 0"):
        compare([greedy, uniform], 5, chunk=0)
    with pytest.raises(ValueError, match="2 policies and 1 names"):
        compare([greedy, uniform], 5, names=["greedy"])


# --- Control variates ------------------------------------------------------------------------------------------------


def scores(values: npt.NDArray[Any]) -> Evaluation:
    """An evaluation with these scores, none of them lost."""
    return Evaluation(values, np.zeros(len(values), np.bool_))


def test_a_control_that_says_all_leaves_no_error() -> None:
    """The slow policy scores 2 points less than twice what the quick one does, on every deal."""
    rng = np.random.default_rng(0)
    quick = rng.normal(100, 40, 5000)
    slow = 2 * quick[:50] - 2
    estimate = adjusted_mean(scores(slow), [scores(quick)])
    assert estimate.value == pytest.approx(2 * quick.mean() - 2)
    half = 1.96 * 2 * quick.std() / 5000**0.5  # what is left is what is not known of the quick one
    assert estimate.high - estimate.value == pytest.approx(half, rel=0.05)
    assert abs(slow.mean() - estimate.value) > 0.1


def test_adjusted_intervals_cover_the_truth_and_are_shorter() -> None:
    rng = np.random.default_rng(1)
    covered, shorter, repeats = 0, 0, 400
    for _ in range(repeats):
        luck = rng.normal(0, 30, 2000)
        quick, slow = 100 + luck + rng.normal(0, 20, 2000), 150 + 0.8 * luck[:40] + rng.normal(0, 10, 40)
        _, low, high = adjusted_mean(scores(slow), [scores(quick)])
        covered += low <= 150 <= high
        shorter += high - low < 2 * 1.96 * slow.std() / 40**0.5
    assert 0.92 <= covered / repeats <= 0.98
    assert shorter > 0.95 * repeats


def test_a_control_needs_more_deals() -> None:
    with pytest.raises(ValueError, match="the same 50 deals and more"):
        adjusted_mean(scores(np.arange(50.0)), [scores(np.arange(50.0))])
