"""The command line of ``quincunx play``."""

import io
from pathlib import Path

import pytest

from quincunx_env.cli import main
from quincunx_env.play import session
from tests.cli.conftest import Command

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ("--replay nothing.txt", "No such file or directory: 'nothing.txt'"),
        ("--resume README.md", "README.md: a record begins with 'quincunx_env record 1'"),
        ("--num-players 2 --opponents no-such", "unknown policy 'no-such'"),
        ("--num-players 3 --opponents a b c", "name one opponent for all other seats or 2, got 3"),
        ("--simpleton", "simpleton=True needs 2 to 4 players"),
        ("--seat 1", "these rules have the seats 0 to 0, got 1"),
        ("--num-players 7", "num_players must be 1 (solitaire), 2, 3 or 4, got 7"),
        ("--spiral.deals 2", "--spiral.deals is an option of the spiral game: add --game spiral"),
        ("--game spiral --flush", "--flush is an option of Quincunx: leave out --game spiral, or the option"),
        ("--out README.md", "README.md is a file: choose another folder for the results with --out"),
        ("--out README.md/games", "README.md is a file: choose another folder for the results with --out"),
        ("--port 70000", "--port is a number from 0 to 65535, got 70000"),
        ("--host 0.0.0.0", "--host 0.0.0.0 needs --allow-host NAME"),
        ("--resume README.md --replay README.md", "leave out either"),
        ("--resume README.md --num-players 3", "the file has rules, deal and players"),
        ("--replay README.md --seed 3", "the file has rules, deal and players"),
        ("--opponents greedy", "the solitaire has no --opponents: add --num-players 2"),
    ],
)
def test_errors_on_the_command_line(
    arguments: str, complaint: str, quincunx: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(ROOT)
    assert complaint in quincunx.error(["play", "--out", str(tmp_path), *arguments.split()])


def test_a_missing_default_agent_is_named_in_a_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(session, "DEFAULT_AGENTS", ("no-such", "greedy"))
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    for arguments, warned in (([], True), (["--opponents", "uniform", "--adviser", "uniform"], False)):
        main(["play", "--terminal", "--num-players", "2", "--seed", "0", *arguments])
        line = capsys.readouterr().err
        assert line.startswith("warning: no-such is not available: unknown policy 'no-such'") == warned
        assert line.endswith("; greedy takes its place\n") == warned
