"""``python -m quincunx_env.arena``."""

import json
import runpy
import shlex
import sys
from pathlib import Path

import pytest

from quincunx_agents.greedy import greedy
from quincunx_agents.uniform import uniform
from quincunx_env.arena import compare, evaluate
from quincunx_env.quincunx.rules import Rules

stats = pytest.importorskip("scipy.stats")
pytest.importorskip("choix")


def run(monkeypatch: pytest.MonkeyPatch, arguments: str) -> None:
    """Run ``python -m quincunx_env.arena`` in this process."""
    monkeypatch.setattr(sys, "argv", ["arena", *shlex.split(arguments)])
    runpy.run_module("quincunx_env.arena", run_name="__main__")


def test_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("tyro")
    monkeypatch.chdir(tmp_path)
    run(monkeypatch, "evaluate greedy random=uniform --deals 20 --workers 1")
    run(monkeypatch, "compare greedy random=uniform --deals 20 --num-players 3 --start open --out three")
    run(monkeypatch, "tournament greedy uniform --deals 20 --workers 1 --flush")
    capsys.readouterr()
    run(monkeypatch, "leaderboard runs/evaluate three runs/tournament --page board.md")
    evaluation = json.loads(Path("runs/evaluate/result.json").read_text())
    assert evaluation["evaluations"]["random"] == evaluate(uniform, 20).to_json()
    comparison = json.loads(Path("three/result.json").read_text())
    assert comparison["policies"][1]["name"] == "random"
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


def test_errors_on_the_command_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("tyro")
    monkeypatch.chdir(tmp_path)
    for arguments, message in (
        ("evaluate no-such", "error: unknown policy 'no-such'"),
        ("evaluate", "error: there is nothing to play"),
        ("evaluate greedy --num-players 2", "error: evaluate needs the solitaire"),
        ("evaluate greedy --start open", "error: start='open' needs 2 to 4 players"),
        ("leaderboard nowhere", "error: there are no results in nowhere"),
    ):
        with pytest.raises(SystemExit) as caught:
            run(monkeypatch, arguments)
        assert str(caught.value.code).startswith(message)
    assert not list(tmp_path.rglob("*.md"))
