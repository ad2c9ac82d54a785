"""The programs of ``docs/own_loop.md``, as printed there."""

import re
import runpy
from pathlib import Path

import pytest

pytest.importorskip("torch")

PAGE = (Path(__file__).parents[2] / "docs" / "own_loop.md").read_text(encoding="utf-8")
PROGRAM = PAGE.split("```python\n")[1].split("```")[0]
SEVERAL = PROGRAM
for line in PAGE.split("Replace these lines:\n\n")[1].split("\n\n")[0].splitlines():
    begin = re.match(r" *(from quincunx_env.arena|envs =|print\(|)", line)[1]  # type: ignore[index]
    SEVERAL = re.sub(rf"^( *){re.escape(begin)}.*$", rf"\1{line.strip()}", SEVERAL, flags=re.M) if begin else SEVERAL
SEVERAL = f"from quincunx_env import Rules\n{SEVERAL}"


@pytest.mark.parametrize("program", [PROGRAM, SEVERAL], ids=["solitaire", "two players"])
def test_the_program_trains_stores_and_measures(
    program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The second run loads the stored network."""
    monkeypatch.chdir(tmp_path)
    assert len(program.splitlines()) <= 60
    (tmp_path / "my_loop.py").write_text(
        program.replace("UPDATES, FILE = 250", "UPDATES, FILE = 2").replace("(1000", "(4")
    )
    printed = []
    for _ in range(2):
        runpy.run_path("my_loop.py", run_name="__main__")
        printed.append(capsys.readouterr().out)
    assert (tmp_path / "my_loop.pt").exists()
    assert "4 deals" in printed[0] == printed[1]
