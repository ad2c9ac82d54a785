"""The table of exact regrets."""

import csv
from pathlib import Path

import pytest

pytest.importorskip("torch")  # the options of all scripts
pytest.importorskip("tyro")

from train.regret import COLUMNS, Arguments, main


def test_policies_are_measured_and_added_to_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "results" / "solitaire.csv"
    main(Arguments(("uniform",), 3, out, progress=False))
    main(Arguments(("greedy", "heuristic-v0"), 2, out, progress=False))
    main(Arguments(("greedy",), 3, out, progress=False))
    with out.open(encoding="utf-8", newline="") as file:
        rows = [*csv.DictReader(file)]
    assert tuple(rows[0]) == COLUMNS
    assert rows[0]["policy"] == "uniform"
    assert {row["policy"]: int(row["deals"]) for row in rows} == {"uniform": 3, "greedy": 3, "heuristic-v0": 2}
    for row in rows:
        assert float(row["regret"]) == pytest.approx(float(row["optimal"]) - float(row["value"]), abs=2e-4)
        assert float(row["low"]) < float(row["regret"]) < float(row["high"])
        assert float(row["regret"]) > 0
    assert "uniform: " in capsys.readouterr().out
