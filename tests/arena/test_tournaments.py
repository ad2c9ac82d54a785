"""Round-robin tournaments, resumable and parallel, and their ratings."""

import multiprocessing
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import permutations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from quincunx_agents.greedy import greedy
from quincunx_agents.uniform import uniform
from quincunx_env.arena import Deals, Policy, Run, Tournament, compare, evaluate_all, table, tournament
from quincunx_env.arena.runner import Chunk
from quincunx_env.arena.tournaments import ELO, bradley_terry, rate
from quincunx_env.quincunx.rules import Rules

stats = pytest.importorskip("scipy.stats")

THREE: dict[str, Policy | str] = {"uniform": uniform, "greedy": "greedy", "other": "quincunx_agents.uniform:uniform"}


def small(**options: Any) -> dict[str, Any]:
    """Return arguments of a short run, with further ``options`` of `Run`."""
    return {"deals": 11, "run": Run(chunk=3, seed=5, **options)}


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
    result = tournament(THREE, rules=rules, **small())
    pairs = {("greedy", "other"), ("greedy", "uniform"), ("other", "uniform")}
    assert set(result.comparisons) == pairs | (set() if players == 2 else {pair[::-1] for pair in pairs})
    for (one, other), comparison in result.comparisons.items():
        again = compare([THREE[one], THREE[other]], rules=rules, **small())
        assert (comparison.totals == again.totals).all()
        n, m = result.names.index(one), result.names.index(other)
        assert result.win_rates[n, m] == pytest.approx(again.wins[:, 0].mean())
        assert result.margins[n, m] == pytest.approx(again.margins[:, 0].mean())
    off = ~np.eye(3, dtype=np.bool_)
    assert (result.beats + result.beats.transpose(1, 0, 2))[off] == pytest.approx(1)
    if players == 2:
        assert result.beats.mean(axis=2)[off] == pytest.approx(result.win_rates[off])


def test_processes_and_further_policies_make_no_difference(tmp_path: Path) -> None:
    alone = tournament(THREE, **small())
    two = {name: THREE[name] for name in ("greedy", "other")}
    tournament(two, **small(out=tmp_path))
    joined = tournament(THREE, **small(out=tmp_path, workers=2))
    assert same(joined, alone)
    assert not multiprocessing.active_children()
    again = tournament(dict(reversed(THREE.items())), **small(out=tmp_path))
    assert same(again, alone), "their order makes no difference either"


def test_an_error_in_another_process_is_raised(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="wrong arguments"):
        tournament(["greedy", "builtins:len"], **small(out=tmp_path, workers=2))


def test_a_cluster_without_ray_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tournaments with Ray are tested in ``tests/rllib``."""
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ValueError, match=r'pip install "quincunx_env\[rllib\]"'):
        tournament(["greedy", "uniform"], run=Run(ray="auto"))


def test_an_error_of_ray_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def init(address: str, **options: Any) -> None:
        raise RuntimeError("Timed out\n  while waiting for GCS")

    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(init=init, is_initialized=lambda: False))
    with pytest.raises(ConnectionError, match=r"^no connection to a Ray cluster at here:1: Timed out while waiting"):
        tournament(["greedy", "uniform"], run=Run(ray="here:1"))


def test_more_deals_reuse_results(tmp_path: Path) -> None:
    tournament(["greedy", "uniform"], deals=6, run=Run(chunk=3, out=tmp_path))
    left: list[int] = []

    def count(chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        for chunk in chunks:
            left.append(chunk.number)
            yield chunk

    before = files(tmp_path)
    more = tournament(["greedy", "uniform"], deals=11, run=Run(chunk=3, out=tmp_path, progress=count))
    assert left == [2, 3]
    assert before.items() <= files(tmp_path).items()
    tournament(["greedy", "uniform"], deals=11, run=Run(chunk=3, out=tmp_path / "whole"))
    assert files(tmp_path / "whole" / "games") == files(tmp_path / "games"), "equal files, whatever run wrote them"
    assert same(more, tournament(["greedy", "uniform"], deals=11, run=Run(chunk=3)))
    # Other configurations have separate results.
    other = tournament(["greedy", "uniform"], Deals(11, first=100), run=Run(chunk=3, out=tmp_path))
    assert same(other, tournament(["greedy", "uniform"], Deals(11, first=100), run=Run(chunk=3)))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"a": uniform, "b": greedy}, {"a": greedy, "b": uniform}),
        ({"a": uniform, "b": greedy}, {"A": greedy, "B": uniform}),  # one file on some systems
        ({"a+b": uniform, "c": greedy}, {"a": greedy, "b+c": uniform}),
        ({"runs/net" * 100: uniform, "b": greedy}, {"runs/net" * 100 + "s": greedy, "b": uniform}),
    ],
)
def test_stored_games_are_those_of_the_policies(first: dict[str, Any], second: dict[str, Any], tmp_path: Path) -> None:
    tournament(first, **small(out=tmp_path))
    assert same(tournament(second, **small(out=tmp_path)), tournament(second, **small()))
    assert same(tournament(first, **small(out=tmp_path)), tournament(first, **small()))
    names = [path.name.casefold() for path in tmp_path.rglob("*.npz")]
    assert len(set(names)) == len(names) == 2 * 4
    assert max(map(len, names)) < 150, "with the prefix of an unfinished file at most 255"


def test_what_other_processes_cannot_get_is_refused_before_games_are_played(tmp_path: Path) -> None:
    def local(observation: Any, mask: Any, rng: Any) -> Any:
        raise AssertionError("no game is played")

    with pytest.raises(ValueError, match=r"'mine' cannot be sent to other processes \(.*module:attribute.*workers=1"):
        tournament({"mine": local, "greedy": greedy}, **small(out=tmp_path, workers=2))
    assert not [*tmp_path.iterdir()]


def test_tournaments_that_cannot_be_played_are_refused() -> None:
    with pytest.raises(ValueError, match="at the solitaire evaluate compares policies"):
        tournament(["greedy", "uniform"], rules=Rules())
    for name, value in (("seed", -1), ("chunk", 0.5), ("workers", 0), ("workers", 1.5)):
        numbers: dict[str, Any] = {name: value}
        with pytest.raises(ValueError, match=f"{name} must be an integer of at least"):
            tournament(["greedy", "uniform"], run=Run(**numbers))
    wrong: Any
    for name, wrong in (("deals", [2.5]), ("deals", [1]), ("first", [2, "play", "1"])):
        with pytest.raises(ValueError, match=f"{name} must be an integer of at least"):
            Deals(*wrong)


def test_the_plot(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    played = tournament(THREE, **small())
    figure = played.plot(tmp_path / "plot.png")
    left, right = figure.axes
    order = [label.get_text() for label in left.get_yticklabels()]
    assert order[0] == "greedy"
    numbers = [played.names.index(name) for name in order]
    assert [*np.asarray(left.lines[0].get_xdata())] == [played.ratings[number].value for number in numbers]
    cells = {text.get_position(): text.get_text() for text in right.texts}
    for row, column in permutations(range(3), 2):
        rate = played.win_rates[numbers[row], numbers[column]]
        assert cells[column, row] == f"{rate:.0%}"
        assert right.images[0].get_array()[row, column] == rate  # type: ignore[index]
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    "measure",
    [
        lambda name: table(evaluate_all({name: "greedy"}, 2)),
        lambda name: compare({name: "greedy", "other": "greedy"}, 2).table(),
        lambda name: tournament({name: "greedy", "other": "greedy"}, 2).table(),
    ],
)
def test_tables_escape_names(measure: Callable[[str], str]) -> None:
    printed = measure("<b>_a_")
    assert r"| \<b>\_a\_ |" in printed
    assert printed.count("<b>") == printed.count(r"\<b>")


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


def test_intervals_of_ratings_are_those_of_95_percent() -> None:
    """Of two policies, the standard error of the log odds is 1/sqrt(D p (1 - p)); a rating is half of them."""
    deals, wins = 2000, 1200
    beats = np.full((2, 2, deals), np.nan)
    beats[0, 1], beats[1, 0] = np.arange(deals) < wins, np.arange(deals) >= wins
    half = stats.norm.ppf(0.975) * ELO / 2 / np.sqrt(deals * 0.6 * 0.4)
    for rating in rate(beats, resamples=3_000):
        assert (rating.high - rating.value, rating.value - rating.low) == pytest.approx((half, half), rel=0.06)


def test_ratings_that_no_deal_bounds_have_one_end() -> None:
    """The first policy has always won, the last never; the others have won from each other. Then two that are equal."""
    beats = np.full((4, 4, 6), 0.5)
    beats[0], beats[:, 0], beats[3], beats[:, 3] = 1, 0, 0, 1
    beats[1, 2, :2], beats[2, 1, :2] = 1, 0
    best, *others, worst = rate(beats, 50)
    assert (best.high, worst.low) == (np.inf, -np.inf)
    assert worst.high < best.low <= best.value
    for rating in others:
        assert np.isfinite(rating).all()
        assert rating.low < rating.value < rating.high
    one, other, lost = tournament({"one": "greedy", "other": "greedy", "uniform": "uniform"}, 6).ratings
    assert one == pytest.approx(other)
    assert (one.high, lost.low) == (np.inf, -np.inf)
    assert lost.high < 0 < one.low < one.value
    cycle = np.repeat(np.array([[0.0, 1, 0], [0, 0, 1], [1, 0, 0]])[..., None], 6, axis=2)
    assert all(rating[1:] == (-np.inf, np.inf) for rating in rate(cycle, 50)), "each has won from each through others"


def test_ratings_have_the_order_of_strength_and_repeat() -> None:
    result = tournament(THREE, deals=100)
    ratings = dict(zip(result.names, result.ratings, strict=True))
    assert ratings["greedy"].value > ratings["greedy"].low > ratings["uniform"].high
    assert sum(rating.value for rating in ratings.values()) == pytest.approx(0)
    mixed = np.random.default_rng(0).random((3, 3, 20))
    assert rate(mixed, 50) == rate(mixed, 50) != rate(mixed, 50, seed=1)
    assert ratings["uniform"].low < ratings["other"].high, "the same policy"
    assert ratings["other"].low < ratings["uniform"].high
    assert ELO * np.log(10) == pytest.approx(400)
    assert "| greedy | +" in result.table().splitlines()[2]
