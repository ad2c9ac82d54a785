"""Evaluations of the solitaire, their intervals, and the two simplest agents."""

import itertools
from collections import Counter
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
from quincunx_env.core.spec import Solitaire
from quincunx_env.quincunx.batch import Batch
from quincunx_env.quincunx.deal import Deal
from quincunx_env.quincunx.game import Game
from quincunx_env.quincunx.observation import Observer
from quincunx_env.quincunx.rules import Rules
from quincunx_env.quincunx.scoring import rating
from quincunx_env.registry import solitaire_of
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
    assert result.table() == table({"": result})


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


def test_ratings_are_those_of_the_solitaire_that_was_played() -> None:
    other = Solitaire(Rules, ("gone", "kept", "won"), lambda points, lost: np.where(lost, 0, 1 + (points > 10)))
    result = Evaluation(np.array([5, 20, 30, 0]), np.array([False, False, False, True]), solitaire=other)
    assert result.classes == {"gone": 0.25, "kept": 0.25, "won": 0.5}
    header, _, row = table({"mine": result}).splitlines()
    assert header.endswith("| gone | won |")
    assert row.endswith("| 25.0% | 50.0% |")
    with pytest.raises(ValueError, match=r"^'spiral' has no solitaire: choose a game that has one, 'quincunx'$"):
        solitaire_of("spiral")


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
    for result, drawn in zip(results.values(), figure.axes[0].patches, strict=True):
        shares, edges, _ = drawn.get_data()  # type: ignore[attr-defined]
        tens = Counter(int(points) // 10 for points in result.scores[~result.lost])
        assert {int(edge) // 10: round(20 * share) for edge, share in zip(edges, shares, strict=False) if share} == tens
    assert (tmp_path / "plot.png").stat().st_size > 1000


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
        (compare, Run(workers=2)),
        (compare, Run(ray="x")),
        (seconds_per_action, Run(out="x")),
        (seconds_per_action, Run(records="x")),
    ):
        with pytest.raises(ValueError, match=f"{play.__name__} takes no (out|workers|ray|records): leave it out"):
            play(["greedy", "uniform"], 2, run=run)
