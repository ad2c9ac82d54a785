"""The standard benchmark: its deals are used by nothing else, and its stored scores are those of the policies."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from quincunx_env.arena import Deals, compare, evaluate
from quincunx_env.arena.benchmark import (
    BASELINES,
    FIRST_FINAL_DEAL,
    TASKS,
    TaskResult,
    baselines,
    evaluate_on_task,
    read_results,
    write_results,
)
from quincunx_env.arena.statistics import Estimate

pytest.importorskip("scipy")

ROOT = Path(__file__).parents[2]
OTHER_FIGURES = [
    *(ROOT / "README.md", *(ROOT / "docs" / f"{page}.md" for page in ("agents", "methods", "strength"))),
    *(ROOT / "docs" / f"{page}.md" for page in ("rllib", "training")),
    *ROOT.glob("agents/quincunx_agents/networks/weights/*.json"),
]
"""Files with figures from other deals than the final ones."""

ALL = pytest.mark.parametrize("name", TASKS)


@ALL
def test_final_deals_are_apart_from_those_of_training_and_validation(name: str) -> None:
    task = TASKS[name]
    assert (task.final.domain, task.validation.domain) == ("benchmark", "validation"), "environments use play"
    assert task.final.first == task.search.first == FIRST_FINAL_DEAL
    assert task.search.count < task.final.count


def test_no_other_figure_uses_the_final_deals() -> None:
    found = []
    for path in OTHER_FIGURES:
        for command in re.findall(r"(?:evaluate|compare|tournament) [^`\"]*", path.read_text(encoding="utf-8")):
            options = {option: int(value) for option, value in re.findall(r"--(first|deals)[ \n]+(\d+)", command)}
            if options and "--domain validation" not in command:
                found.append(options.get("first", 0) + options.get("deals", 1000))
    assert len(found) > 10
    assert max(found) <= FIRST_FINAL_DEAL


@ALL
def test_uniform_play_is_0_and_the_reference_1(name: str) -> None:
    task = TASKS[name]
    for policy, expected in (("uniform", 0), (task.reference, 1)):
        stored = baselines()[name, policy]
        assert stored.deals == task.final
        assert stored.normalised.value == expected
        assert stored.normalised.low <= expected <= stored.normalised.high
    middle = (baselines()[name, "uniform"].score.value + baselines()[name, task.reference].score.value) / 2
    assert replace(stored, score=Estimate(middle, middle, middle)).normalised == pytest.approx([0.5] * 3)


@pytest.mark.parametrize("policy", ["uniform", "heuristic", "greedy"])
def test_the_stored_scores_of_the_solitaire_are_those_of_the_policies(policy: str) -> None:
    """The first deals again: the stored mean lies in their interval."""
    found = evaluate_on_task("solitaire", policy, deals=250)
    stored = baselines()["solitaire", policy]
    assert found.score.low < stored.score.value < found.score.high
    assert found.deals == Deals(250, first=FIRST_FINAL_DEAL)


@pytest.mark.parametrize(("name", "policy"), [("2-open", "heuristic"), ("spiral", "heuristic")])
def test_the_reference_against_itself_wins_its_share(name: str, policy: str) -> None:
    assert evaluate_on_task(name, policy, deals=2).score.value == baselines()[name, policy].score.value == 0.5


def test_a_result_is_that_of_the_arena() -> None:
    task = TASKS["3-corners"]
    found = evaluate_on_task(task, "greedy", split="validation", deals=3)
    games = compare(["greedy", "heuristic"], Deals(3, "validation"), rules=task.rules)
    assert (found.score, found.margin, found.lost) == (games.win_rate(), games.margin().value, None)
    alone = evaluate("greedy", Deals(20, first=FIRST_FINAL_DEAL))
    found = evaluate_on_task("solitaire", "greedy", split="search", deals=20, name="mine")
    assert (found.policy, found.score.value, found.margin) == ("mine", alone.mean, None)
    assert found.lost == alone.lost.mean()


def test_an_unknown_use_of_deals_is_refused() -> None:
    with pytest.raises(ValueError, match="split must be one of validation, final, search, got 'train'"):
        evaluate_on_task("solitaire", "greedy", split="train")  # type: ignore[arg-type]


def test_results_are_stored(tmp_path: Path) -> None:
    path = tmp_path / "results.csv"
    task = TASKS["2-open"]
    first = TaskResult(task, "mine", Deals(20, first=100_000), Estimate(0.25, 0.125, 0.5), margin=-3.5)
    alone = TaskResult(TASKS["solitaire"], "mine", TASKS["solitaire"].final, Estimate(100, 99, 101), lost=0.125)
    write_results(path, [first])
    write_results(path, [alone])
    assert read_results(path) == [alone, first], "in the order of the tasks"
    again = TaskResult(task, "mine", task.final, Estimate(0.5, 0.25, 0.75), margin=1.5)
    write_results(path, [again])
    assert read_results(path) == [alone, again]
    write_results(path, [])
    assert read_results(path) == [alone, again]


def test_results_written_meanwhile_are_kept(tmp_path: Path) -> None:
    path, (one, other) = tmp_path / "results.csv", read_results(BASELINES)[:2]

    def results() -> Iterator[TaskResult]:
        write_results(path, [one])
        yield other

    write_results(path, results())
    assert read_results(path) == [one, other]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        *(("v0,", "v1,"), ("v0,", '"v"0,'), ("solitaire", "chess"), ("8.25000", "x")),
        *(("task", "game"), (",lost,margin", "")),
    ],
)
def test_damaged_results_are_refused(old: str, new: str, tmp_path: Path) -> None:
    path = tmp_path / "results.csv"
    path.write_text(BASELINES.read_text(encoding="utf-8").replace(old, new, 1), encoding="utf-8")
    with pytest.raises(ValueError, match=r"results.csv holds no results of the tasks v0: "):
        read_results(path)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_results_saved_by_a_spreadsheet_are_read(encoding: str, tmp_path: Path) -> None:
    (tmp_path / "results.csv").write_text(BASELINES.read_text(encoding="utf-8"), encoding=encoding)
    assert read_results(tmp_path / "results.csv") == read_results(BASELINES)


@pytest.mark.parametrize("content", ["", "my notes, in one line", "{columns}\n{row}", "{columns}\n{row},,0.5,1"])
def test_other_files_and_rows_cut_short_are_refused_and_kept(content: str, tmp_path: Path) -> None:
    columns, row, *_ = BASELINES.read_text(encoding="utf-8").splitlines()
    content = content.format(columns=columns, row=",".join(row.split(",")[:9]))
    path = tmp_path / "results.csv"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=r"results.csv holds no results of the tasks v0: "):
        write_results(path, [])
    assert path.read_text(encoding="utf-8") == content
