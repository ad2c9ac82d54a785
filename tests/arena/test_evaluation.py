"""Evaluations of the solitaire, their intervals, and the two simplest agents."""

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from quincunx_agents.greedy import greedy
from quincunx_agents.uniform import uniform
from quincunx_env.arena import (
    Deals,
    Evaluation,
    Run,
    adjusted_mean,
    compare,
    evaluate,
    evaluate_all,
    plot,
    seconds_per_action,
    table,
    tournament,
)
from quincunx_env.core.game import IllegalAction
from quincunx_env.core.observation import Pieces
from quincunx_env.quincunx.batch import Batch
from quincunx_env.quincunx.deal import Deal
from quincunx_env.quincunx.game import Game
from quincunx_env.quincunx.observation import Observer
from quincunx_env.quincunx.rules import Rules
from quincunx_env.quincunx.scoring import rating
from tests.arena.test_comparison import Last, first_legal


def test_deals_are_the_numbered_deals_of_the_domain() -> None:
    result = evaluate(first_legal, Deals(12, first=5), run=Run(chunk=5))
    for number in range(12):
        game = Game(Rules(), Deal.from_seed(Rules(), 5 + number, domain="benchmark"))
        while not game.over:
            game.play(game.legal_cards()[0], game.legal_cells()[0])
        assert result.scores[number] == game.totals[0]
        assert result.lost[number] == game.lost
    assert (evaluate(first_legal, Deals(12, first=5)).scores == result.scores).all(), "chunks make no difference"
    assert (evaluate(first_legal, Deals(12, "validation", first=5)).scores != result.scores).any()


def test_evaluation_repeats_with_its_seed() -> None:
    assert (evaluate(uniform, 50, run=Run(seed=1)).scores == evaluate(uniform, 50, run=Run(seed=1)).scores).all()
    assert (evaluate(uniform, 50, run=Run(seed=1)).scores != evaluate(uniform, 50, run=Run(seed=2)).scores).any()


def test_figures_of_an_evaluation() -> None:
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


def test_lost_rounds_count_what_is_asked() -> None:
    result = evaluate(greedy, 20, lost_value=-10.0)
    assert result.lost.any()
    assert (result.values == np.where(result.lost, -10, evaluate(greedy, 20).scores)).all()
    for value in (1e308, -1e7, np.nan):
        with pytest.raises(ValueError, match="from -1,000,000 to 1,000,000, got"):
            evaluate(greedy, 20, lost_value=value)


def test_time_is_measured_per_action(monkeypatch: pytest.MonkeyPatch) -> None:
    policy, clock = Last(), itertools.count()
    monkeypatch.setattr("quincunx_env.arena.timing.time.process_time", lambda: next(clock))  # a second for each call
    assert seconds_per_action({"last": policy}, 5) == {"last": len(policy.sizes) / sum(policy.sizes)}


def test_intervals_of_evaluations_cover_the_mean() -> None:
    """Of 100 intervals from 100 deals each, about 95 % contain the mean of all 10,000."""
    pytest.importorskip("scipy.stats")
    values = evaluate(uniform, 10_000, run=Run(chunk=10_000))
    pieces = [Evaluation(*part) for part in zip(np.split(values.scores, 100), np.split(values.lost, 100), strict=True)]
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
    actions = greedy(observer.observe_batch(batch), batch.mask, np.random.default_rng(0))
    for row, action in enumerate(actions):
        game = batch.to_game(row)
        plays = [(card, cell) for card in game.legal_cards() for cell in game.legal_cells()]
        best = max(game.value(*play)[0] for play in plays)
        card, cell = next(play for play in plays if game.value(*play)[0] == best)
        assert action == card * 16 + cell


def test_a_plot_shows_every_policy(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    results = evaluate_all({"uniform": uniform, "eager": greedy}, 20, run=Run(out=tmp_path / "games"))
    assert (results["uniform"].scores == evaluate(uniform, 20).scores).all()
    figure = plot(results, tmp_path / "plot.png")
    labels = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]  # type: ignore[union-attr]
    assert [label.split(":")[0] for label in labels] == ["uniform", "eager"]
    assert (tmp_path / "plot.png").stat().st_size > 1000


# --- Control variates ------------------------------------------------------------------------------------------------


def scores(values: npt.NDArray[Any]) -> Evaluation:
    """An evaluation with these scores, none of them lost."""
    return Evaluation(values, np.zeros(len(values), np.bool_))


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


def test_adjusted_intervals_count_the_luck_that_controls_share() -> None:
    """Three controls have the same luck on their deals, and so the means of all three err in the same direction."""
    rng = np.random.default_rng(2)
    covered, repeats = 0, 400
    for _ in range(repeats):
        luck = rng.normal(0, 30, 300)
        controls = [100 + luck[:size] + rng.normal(0, 15, size) for size in (300, 200, 250)]
        slow = sum(control[:100] for control in controls) / 3 + rng.normal(0, 2, 100)
        _, low, high = adjusted_mean(scores(slow), [scores(control) for control in controls])
        covered += low <= 100 <= high
    assert 0.92 <= covered / repeats <= 0.98


def test_an_adjusted_interval_by_hand() -> None:
    """The error has two parts: of the regression at the means of the controls, and of these means."""
    stats = pytest.importorskip("scipy.stats")
    rng = np.random.default_rng(3)
    n, sizes = 7, (12, 20)
    luck = rng.normal(0, 30, max(sizes))
    first, second = (100 + luck[:size] + rng.normal(0, 15, size) for size in sizes)
    slow = first[:n] - second[:n] / 2 + rng.normal(0, 5, n)
    # One control: a straight line.
    line = stats.linregress(second[:n] - second.mean(), slow)
    error = math.hypot(line.intercept_stderr, line.slope * second.std(ddof=1) / math.sqrt(20))
    low, high = stats.t.interval(0.95, n - 2, line.intercept, error)
    assert adjusted_mean(scores(slow), [scores(second)]) == pytest.approx((line.intercept, low, high), rel=1e-3)
    # Two of them, with 12 and 20 deals.
    columns = np.stack([np.ones(n), first[:n] - first.mean(), second[:n] - second.mean()], axis=1)
    mean, one, other = np.linalg.solve(columns.T @ columns, columns.T @ slow)
    residual = ((slow - columns @ [mean, one, other]) ** 2).sum() / (n - 3)
    (own, shared), (_, others) = np.cov(first, second[:12])
    of_means = one**2 * own / 12 + 2 * one * other * shared / 20 + other**2 * others / 20
    error = math.sqrt(residual * np.linalg.inv(columns.T @ columns)[0, 0] + of_means)
    low, high = stats.t.interval(0.95, n - 3, mean, error)
    assert adjusted_mean(scores(slow), [scores(first), scores(second)]) == pytest.approx((mean, low, high))


def test_a_control_needs_more_deals() -> None:
    with pytest.raises(ValueError, match="the same 50 deals and more"):
        adjusted_mean(scores(np.arange(50.0)), [scores(np.arange(50.0))])


@pytest.mark.parametrize("count", [0, 2])
def test_controls_are_fewer_than_deals(count: int) -> None:
    with pytest.raises(ValueError, match=f"4 deals allow 1 to 1 controls, got {count}"):
        adjusted_mean(scores(np.arange(4.0)), [scores(np.arange(9.0))] * count)


# --- Errors of policies ----------------------------------------------------------------------------------------------


def first_card(observation: Pieces, mask: npt.NDArray[np.bool_], rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Action 0, illegal or not."""
    return np.zeros(len(mask), np.int64)


def test_errors_name_the_policy_as_the_table_does() -> None:
    policies: dict[str, Any] = {"mine": greedy, "yours": first_card}
    for play in (evaluate_all, tournament, seconds_per_action):
        with pytest.raises(IllegalAction, match="the policy yours: game"):
            play(policies, 2)
    with pytest.raises(IllegalAction, match="the policy yours: game"):
        compare([greedy, first_card], 2, names=[*policies])


def test_options_that_a_function_would_ignore_are_refused() -> None:
    play: Any
    for play, run in (
        (compare, Run(out="x")),
        (compare, Run(workers=2)),
        (compare, Run(ray="x")),
        (seconds_per_action, Run(out="x")),
        (seconds_per_action, Run(records="x")),
    ):
        with pytest.raises(ValueError, match=f"{play.__name__} takes no (out|workers|ray|records): leave it out"):
            play(["greedy", "uniform"], 2, run=run)
