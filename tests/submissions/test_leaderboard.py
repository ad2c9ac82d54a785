"""Tables of results from files of games."""

import re
from pathlib import Path
from typing import Any

import pytest

from quincunx_env.arena import compare, evaluate_all, tournament
from quincunx_env.arena.benchmark import FIRST_FINAL_DEAL
from quincunx_env.quincunx.rules import Rules
from quincunx_env.submissions.leaderboard import plot_solitaires, sections
from quincunx_env.submissions.verification import VerifiedFile

for library in ("choix", "scipy.stats"):
    pytest.importorskip(library)

NAMES = {"<b>": r"\<b\>", "[x](y)": r"\[x\](y)", "*a*": r"\*a\*", "`c`": r"\`c\`", "d\\e": r"d\\e", "plain": "plain"}
"""Names of policies, and the same as text in Markdown."""


def board(path: Path) -> str:
    """The sections of a file."""
    return sections([VerifiedFile.check(path)], str)


def first_cells(page: str) -> list[str]:
    """The first cell of each row of a table, without heads."""
    cells = [line.split(" | ")[0].removeprefix("| ") for line in page.splitlines() if line.startswith("| ")]
    return [cell for cell in cells if cell not in ("agent", "policy")]


def test_names_are_text_in_markdown(tmp_path: Path) -> None:
    evaluate_all(dict.fromkeys(NAMES, "greedy"), 2, records=tmp_path / "alone")
    assert sorted(first_cells(board(tmp_path / "alone"))) == sorted(NAMES.values())
    compare(["greedy", "uniform"], 2, names=["<b>", "[x](y)"], records=tmp_path / "two")
    assert first_cells(board(tmp_path / "two")) == [NAMES["<b>"], NAMES["[x](y)"]]


def test_the_best_row_comes_first(tmp_path: Path) -> None:
    ranked: dict[str, Any] = {
        "first": FIRST_FINAL_DEAL,
        "deals": 300,
    }  # of the benchmark; rows of others are not ranked
    evaluate_all(["uniform", "heuristic", "greedy"], records=tmp_path / "alone", **ranked)
    assert first_cells(board(tmp_path / "alone"))[0] == "heuristic"
    results = evaluate_all(["greedy", "uniform"], **ranked)
    better, worse = sorted(results, key=lambda name: -results[name].mean)
    assert first_cells(board(tmp_path / "alone"))[1:] == [better, worse]


def test_a_tournament_is_shown_with_ratings(tmp_path: Path) -> None:
    played = tournament(["uniform", "greedy", "heuristic"], 10, records=tmp_path / "three")
    page = board(tmp_path / "three")
    assert played.table() in page
    assert first_cells(page) == ["heuristic", "greedy", "uniform"]


def test_the_picture_shows_the_default_solitaire_best_first(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    compare(["greedy", "uniform"], 2, records=tmp_path / "two")
    assert plot_solitaires([VerifiedFile.check(tmp_path / "two")]) is None
    evaluate_all(["uniform", "heuristic"], 20, records=tmp_path / "alone")
    evaluate_all(["greedy"], 20, rules=Rules(flush=True), records=tmp_path / "flush")
    figure = plot_solitaires([VerifiedFile.check(tmp_path / name) for name in ("two", "alone", "flush")])
    assert figure is not None
    legend = figure.axes[0].get_legend()
    assert legend is not None
    assert [re.split("[:,]", text.get_text())[0] for text in legend.get_texts()] == ["heuristic", "uniform"]
