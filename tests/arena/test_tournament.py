"""Tournaments, ratings, reports of several training runs, and the command line."""

import json
import multiprocessing
import runpy
import shlex
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from quincunx_agents.greedy import greedy
from quincunx_agents.uniform import uniform

from quincunx_env.arena import Policy, Tournament, compare, evaluate, report, tournament
from quincunx_env.arena.reporting import improvement
from quincunx_env.arena.runner import Chunk
from quincunx_env.arena.tournaments import ELO, bradley_terry, rate
from quincunx_env.quincunx.rules import Rules

stats = pytest.importorskip("scipy.stats")
pytest.importorskip("choix")

THREE: dict[str, Policy | str] = {"uniform": uniform, "greedy": "greedy", "other": "quincunx_agents.uniform:uniform"}
SMALL: dict[str, Any] = {"deals": 11, "chunk": 3, "seed": 5}


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def same(one: Tournament, other: Tournament) -> bool:
    """Whether every seat of every game got the same points."""
    return one.comparisons.keys() == other.comparisons.keys() and all(
        np.array_equal(comparison.totals, other.comparisons[pair].totals)
        for pair, comparison in one.comparisons.items()
    )


# --- Tournaments -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("players", [2, 3])
def test_each_pair_plays_what_a_comparison_plays(players: int) -> None:
    rules = Rules(num_players=players)
    result = tournament(THREE, rules=rules, **SMALL)
    pairs = {("greedy", "other"), ("greedy", "uniform"), ("other", "uniform")}
    assert set(result.comparisons) == pairs | (set() if players == 2 else {pair[::-1] for pair in pairs})
    for (one, other), comparison in result.comparisons.items():
        again = compare([THREE[one], THREE[other]], rules=rules, **SMALL)
        assert (comparison.totals == again.totals).all()
        n, m = result.names.index(one), result.names.index(other)
        assert result.win_rates[n, m] == pytest.approx(again.wins[:, 0].mean())
        assert result.margins[n, m] == pytest.approx(again.margins[:, 0].mean())
    off = ~np.eye(3, dtype=np.bool_)
    assert (result.beats + result.beats.transpose(1, 0, 2))[off] == pytest.approx(1)
    if players == 2:
        assert result.beats.mean(axis=2)[off] == pytest.approx(result.win_rates[off])


def test_an_interrupted_tournament_goes_on_to_the_same_result(tmp_path: Path) -> None:
    whole = tournament(THREE, out=tmp_path / "whole", **SMALL)

    def stop(chunks: Iterable[Any]) -> Iterator[Any]:
        for number, chunk in enumerate(chunks):
            if number == 5:
                raise KeyboardInterrupt
            yield chunk

    with pytest.raises(KeyboardInterrupt):
        tournament(THREE, out=tmp_path / "cut", progress=stop, **SMALL)
    before = files(tmp_path / "cut")
    assert len(before) == 5 + 1
    assert all(name.endswith((".npz", "settings.json")) for name in before), "nothing half written"
    played: list[Chunk] = []

    def count(chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        for chunk in chunks:
            played.append(chunk)
            yield chunk

    resumed = tournament(THREE, out=tmp_path / "cut", progress=count, **SMALL)
    assert len(played) == 3 * 4 - 5
    assert before.items() <= files(tmp_path / "cut").items(), "what was played stays"
    assert files(tmp_path / "cut").keys() == files(tmp_path / "whole").keys()
    assert same(resumed, whole)
    assert resumed.to_json() == whole.to_json()


def test_an_interruption_while_writing_leaves_no_half_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save = np.savez_compressed

    def fail(path: Path, **arrays: npt.NDArray[Any]) -> None:
        if fail.calls == 3:  # type: ignore[attr-defined]
            path.write_bytes(b"half")
            raise OSError("disk full")
        fail.calls += 1  # type: ignore[attr-defined]
        save(path, **arrays)  # type: ignore[arg-type]

    fail.calls = 0  # type: ignore[attr-defined]
    monkeypatch.setattr(np, "savez_compressed", fail)
    with pytest.raises(OSError, match="disk full"):
        tournament(THREE, out=tmp_path, **SMALL)
    monkeypatch.undo()
    paths = [path for path in tmp_path.rglob("*") if path.is_file() and path.name != "settings.json"]
    assert len(paths) == 3
    for path in paths:
        with np.load(path) as arrays:
            assert arrays["totals"].shape == (3, 2, 2)
    assert same(tournament(THREE, out=tmp_path, **SMALL), tournament(THREE, **SMALL))


def test_processes_and_further_policies_make_no_difference(tmp_path: Path) -> None:
    alone = tournament(THREE, **SMALL)
    two = {name: THREE[name] for name in ("greedy", "other")}
    tournament(two, out=tmp_path, **SMALL)
    joined = tournament(THREE, out=tmp_path, workers=2, **SMALL)
    assert same(joined, alone)
    assert not multiprocessing.active_children()
    again = tournament(dict(reversed(THREE.items())), out=tmp_path, **SMALL)
    assert same(again, alone), "nor does their order"


def test_an_error_in_another_process_is_told(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="takes exactly one argument"):
        tournament(["greedy", "builtins:len"], out=tmp_path, workers=2, **SMALL)


def test_a_cluster_without_ray_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """What happens with Ray is tested in ``tests/rllib``."""
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ValueError, match=r'pip install "quincunx_env\[rllib\]"'):
        tournament(["greedy", "uniform"], ray="auto")


def test_more_deals_use_what_was_played(tmp_path: Path) -> None:
    tournament(["greedy", "uniform"], deals=6, chunk=3, out=tmp_path)
    left: list[int] = []

    def count(chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        for chunk in chunks:
            left.append(chunk.number)
            yield chunk

    more = tournament(["greedy", "uniform"], deals=11, chunk=3, out=tmp_path, progress=count)
    assert left == [2, 3]
    assert same(more, tournament(["greedy", "uniform"], deals=11, chunk=3))
    # Other settings have games of their own.
    other = tournament(["greedy", "uniform"], deals=11, chunk=3, out=tmp_path, first=100)
    assert same(other, tournament(["greedy", "uniform"], deals=11, chunk=3, first=100))


def test_games_of_another_policy_or_damaged_ones_are_refused(tmp_path: Path) -> None:
    tournament({"a": uniform, "b": greedy}, out=tmp_path, **SMALL)
    with pytest.raises(
        ValueError, match=r"'a' was quincunx_agents\.uniform:uniform and not quincunx_agents\.greedy:greedy"
    ):
        tournament({"a": greedy, "b": greedy}, out=tmp_path, **SMALL)
    file = next(tmp_path.rglob("*.npz"))
    file.write_bytes(file.read_bytes()[:50])
    with pytest.raises(ValueError, match=r"npz cannot be read: delete it"):
        tournament({"a": uniform, "b": greedy}, out=tmp_path, **SMALL)


def test_tournaments_that_cannot_be_played_are_refused() -> None:
    with pytest.raises(ValueError, match="use evaluate_all"):
        tournament(["greedy", "uniform"], rules=Rules())
    with pytest.raises(ValueError, match="at least two policies, got 1"):
        tournament(["greedy"])
    with pytest.raises(ValueError, match="unknown policy 'nobody'"):
        tournament(["greedy", "nobody"])
    with pytest.raises(ValueError, match="at least 2 deals"):
        tournament(["greedy", "uniform"], deals=1)


def test_the_picture(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    figure = tournament(THREE, **SMALL).plot(tmp_path / "plot.png")
    assert figure.axes[0].get_yticklabels()[0].get_text() == "greedy"
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")


# --- Ratings ---------------------------------------------------------------------------------------------------------


def test_bradley_terry_recovers_known_strengths() -> None:
    strengths = np.array([-1.0, -0.2, 0.3, 0.9])
    odds = 1 / (1 + np.exp(strengths[None, :] - strengths[:, None]))
    exact = 1e6 * (odds * (1 - np.eye(4)))
    assert bradley_terry(exact) == pytest.approx(strengths, abs=1e-5)
    rng = np.random.default_rng(0)
    upper = np.triu(rng.binomial(5000, odds), 1)
    drawn = upper + np.tril(5000 - upper.T, -1)
    assert bradley_terry(drawn) == pytest.approx(strengths, abs=0.1)


def test_bradley_terry_by_hand() -> None:
    """Of two policies, one that wins 75.5 of 100, half a win each way included, has odds of 75.5 to 24.5."""
    wins = np.array([[0, 75.0], [24.0, 0]])
    assert np.diff(bradley_terry(wins))[0] == pytest.approx(np.log(24.5 / 75.5))
    never = bradley_terry(np.array([[0, 100.0], [0, 0]]))
    assert never[0] - never[1] == pytest.approx(np.log(100.5 / 0.5)), "finite"


def test_ratings_have_the_order_of_strength_and_repeat() -> None:
    result = tournament(THREE, deals=100)
    ratings = dict(zip(result.names, result.ratings, strict=True))
    assert ratings["greedy"].value > ratings["greedy"].low > ratings["uniform"].high
    assert sum(rating.value for rating in ratings.values()) == pytest.approx(0)
    assert rate(result.beats, 50) == rate(result.beats, 50) != rate(result.beats, 50, seed=1)
    assert ratings["uniform"].low < ratings["other"].value < ratings["uniform"].high
    assert ELO * np.log(10) == pytest.approx(400)
    assert "| greedy | +" in result.table().splitlines()[2]


# --- Reports ---------------------------------------------------------------------------------------------------------

RUNS = {
    "a": [[1, 3], [2, 4], [5, 5], [9, 9]],  # means of the runs: 2, 3, 5, 9
    "b": [[0, 0], [3, 3], [1, 1], [4, 6], [1, 1]],  # 0, 3, 1, 5, 1
}


def test_a_report_by_hand() -> None:
    result = report(RUNS, resamples=200)
    assert result.mean["a"].value == pytest.approx(19 / 4)
    assert result.iqm["a"].value == pytest.approx((3 + 5) / 2), "a quarter is left out at either end"
    assert result.mean["b"].value == pytest.approx(2)
    assert result.iqm["b"].value == pytest.approx(5 / 3), "0 and 5 are left out"
    # 2 beats 0 1 1; 3 beats 0 1 1 and ties with 3; 5 beats all but 5, with which it ties; 9 beats all.
    assert result.improvement["a", "b"].value == pytest.approx((3 + 3.5 + 4.5 + 5) / 20)
    assert result.improvement["b", "a"].value == pytest.approx(1 - 16 / 20)
    assert (result.runs, result.deals) == ({"a": 4, "b": 5}, 2)
    for estimate in (*result.mean.values(), *result.iqm.values(), *result.improvement.values()):
        assert estimate.low <= estimate.value <= estimate.high
    assert report(RUNS, resamples=200) == result, "it repeats"
    assert report(RUNS, resamples=200, seed=1) != result
    assert len(result.table().splitlines()) == 2 + 2 + 1 + 2 + 2
    assert len(report({"a": RUNS["a"]}, resamples=50).table().splitlines()) == 3
    assert json.loads(json.dumps(result.to_json()))["agents"]["a"]["runs"] == 4


def test_probability_of_improvement_is_mann_whitneys() -> None:
    rng = np.random.default_rng(0)
    one, other = rng.integers(6, size=(5, 3)), rng.integers(6, size=(4, 3))
    expected = [stats.mannwhitneyu(one[:, game], other[:, game]).statistic / 20 for game in range(3)]
    assert improvement(one[None].astype(float), other[None].astype(float)) == pytest.approx(np.mean(expected))


def test_games_are_strata() -> None:
    """Two games whose runs are all alike leave the mean no room, however far the games are apart."""
    scores = np.repeat([[[10.0] * 5, [50.0] * 5]], 4, axis=0)
    assert report({"a": scores}, resamples=50).mean["a"] == pytest.approx((30, 30, 30))


def test_reports_that_cannot_be_made_are_refused() -> None:
    for scores in ([[1, 2]], [[1], [2]], [1, 2, 3]):
        with pytest.raises(ValueError, match="at least 2 runs and 2 deals"):
            report({"a": scores})
    with pytest.raises(ValueError, match="same games and deals"):
        report({"a": np.zeros((3, 5)), "b": np.zeros((3, 6))})


@pytest.mark.slow
@pytest.mark.parametrize("runs", [5, 10])
@pytest.mark.parametrize("spread", [5, 10])
def test_intervals_of_reports_cover_the_truth(runs: int, spread: float) -> None:
    """Runs (by ``spread`` points), deals (20) and rounds (30) are random: at least 90 % of the intervals hold the
    truth, and of those that take each deal for a stratum of its own hardly more than half.
    """
    rng, deals, times = np.random.default_rng(0), 200, 300
    covered = dict.fromkeys(("mean", "iqm", "single deals"), 0)
    for _ in range(times):
        scores = rng.normal(0, spread, (runs, 1)) + rng.normal(0, 20, deals) + rng.normal(0, 30, (runs, deals))
        result = report({"a": scores}, resamples=500)
        covered["mean"] += result.mean["a"].low <= 0 <= result.mean["a"].high
        covered["iqm"] += result.iqm["a"].low <= 0 <= result.iqm["a"].high
        drawn = scores[rng.integers(runs, size=(300, runs, deals)), np.arange(deals)].mean(axis=(1, 2))
        low, high = np.percentile(drawn, [2.5, 97.5])
        covered["single deals"] += low <= 0 <= high
    print(f"{runs} runs, spread {spread}: { ({name: count / times for name, count in covered.items()}) }")
    assert min(covered["mean"], covered["iqm"]) / times > 0.9
    assert covered["single deals"] / times < 0.65


# --- The command line ------------------------------------------------------------------------------------------------


def run(monkeypatch: pytest.MonkeyPatch, arguments: str) -> None:
    """What ``python -m quincunx_env.arena`` does, in this process."""
    monkeypatch.setattr(sys, "argv", ["arena", *shlex.split(arguments)])
    runpy.run_module("quincunx_env.arena", run_name="__main__")


def test_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("tyro")
    monkeypatch.chdir(tmp_path)
    run(monkeypatch, "evaluate greedy blind=uniform --deals 20 --workers 1")
    run(monkeypatch, "compare greedy blind=uniform --deals 20 --num-players 3 --start open --out three")
    run(monkeypatch, "tournament greedy uniform --deals 20 --workers 1 --flush")
    capsys.readouterr()
    run(monkeypatch, "leaderboard runs/evaluate three runs/tournament --page board.md")
    evaluation = json.loads(Path("runs/evaluate/result.json").read_text())
    assert evaluation["evaluations"]["blind"] == evaluate(uniform, 20).to_json()
    comparison = json.loads(Path("three/result.json").read_text())
    assert comparison["policies"][1]["name"] == "blind"
    expected = compare([greedy, uniform], 20, rules=Rules(num_players=3, start="open")).to_json()
    assert comparison["policies"][0]["margin"] == expected["policies"][0]["margin"]
    ratings = json.loads(Path("runs/tournament/result.json").read_text())["ratings"]
    assert ratings["greedy"]["value"] > 0
    assert Path("runs/tournament/result.png").exists()
    page = Path("board.md").read_text()
    assert page.startswith("# Leaderboard\n")
    for part in ("## Solitaire\n", "## 3 players, start open\n", "## 2 players, flush\n", "| greedy | +"):
        assert part in page
    assert "`python -m quincunx_env.arena tournament greedy uniform --deals 20 --workers 1 --flush`" in page


def test_the_command_line_says_what_is_wrong(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("tyro")
    monkeypatch.chdir(tmp_path)
    for arguments, message in (
        ("evaluate nobody", "error: unknown policy 'nobody'"),
        ("evaluate", "error: there is nothing to play"),
        ("evaluate greedy --num-players 2", "error: evaluate needs the solitaire"),
        ("leaderboard nowhere", "error: there are no results in nowhere"),
    ):
        with pytest.raises(SystemExit) as caught:
            run(monkeypatch, arguments)
        assert str(caught.value.code).startswith(message)
    assert not list(tmp_path.rglob("*.md"))
