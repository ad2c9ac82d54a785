"""The table of exact regrets."""

import csv
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")  # the options of all scripts
pytest.importorskip("tyro")

from train.exact import regret
from train.exact.regret import COLUMNS, Arguments, main


def test_policies_are_measured_and_added_to_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "results" / "solitaire.csv"
    main(Arguments(("uniform",), 3, out, progress=False))
    main(Arguments(("greedy", "heuristic"), 2, out, progress=False))
    main(Arguments(("greedy",), 3, out, progress=False))
    with out.open(encoding="utf-8", newline="") as file:
        rows = [*csv.DictReader(file)]
    assert tuple(rows[0]) == COLUMNS
    assert rows[0]["policy"] == "uniform"
    assert {row["policy"]: int(row["deals"]) for row in rows} == {"uniform": 3, "greedy": 3, "heuristic": 2}
    for row in rows:
        assert float(row["regret"]) == pytest.approx(float(row["optimal"]) - float(row["value"]), abs=2e-4)
        assert float(row["low"]) < float(row["regret"]) < float(row["high"])
        assert float(row["regret"]) > 0
    assert "uniform: " in capsys.readouterr().out


@pytest.mark.slow
def test_finished_policies_and_rows_written_meanwhile_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last policy is interrupted; while it was measured, another command has ended."""
    out, measure = tmp_path / "solitaire.csv", regret.regret

    def interrupted(agent: Any, deals: Any) -> tuple[list[float], list[float]]:
        if agent == "heuristic":
            raise KeyboardInterrupt
        if agent == "greedy":
            main(Arguments(("theirs=uniform",), 2, out, progress=False))
        return measure(agent, deals)

    monkeypatch.setattr(regret, "regret", interrupted)
    with pytest.raises(KeyboardInterrupt):
        main(Arguments(("uniform", "greedy", "heuristic"), 2, out, progress=False))
    assert {*regret.read(out)} == {"uniform", "greedy", "theirs"}
