"""The program of ``docs/own_loop.md``, as printed there."""

import runpy
from pathlib import Path

import pytest

pytest.importorskip("torch")

PAGE = (Path(__file__).parents[2] / "docs" / "own_loop.md").read_text(encoding="utf-8")
PROGRAM = PAGE.split("```python\n")[1].split("```")[0]


def test_the_program_trains_stores_and_compares(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The second run loads the stored network."""
    monkeypatch.chdir(tmp_path)
    assert len(PROGRAM.splitlines()) <= 60
    (tmp_path / "my_loop.py").write_text(
        PROGRAM.replace("UPDATES, FILE = 250", "UPDATES, FILE = 2").replace("(500", "(4")
    )
    printed = []
    for _ in range(2):
        runpy.run_path("my_loop.py", run_name="__main__")
        printed.append(capsys.readouterr().out)
    assert (tmp_path / "my_loop.pt").exists()
    assert "| policy |" in printed[0] == printed[1]
