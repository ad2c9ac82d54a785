"""The command line of ``quincunx play``."""

import sys
from pathlib import Path
from typing import Any

import pytest

from quincunx_env.arena import Run, evaluate_all
from quincunx_env.cli.play import Arguments
from quincunx_env.notation.record import Record, Seeded
from quincunx_env.quincunx.rules import Rules
from tests.cli.conftest import Command

ROOT = Path(__file__).parents[2]

FOREIGN = "foreign_module:policy"
"""A policy that a file names, and that leaves a trace when it is imported."""


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ("--resume nothing.txt", "No such file or directory: 'nothing.txt'"),
        ("--resume README.md", "README.md: a record begins with 'quincunx_env record 1'"),
        ("--num-players 2 --opponents no-such", "unknown policy 'no-such'"),
        ("--num-players 3 --opponents a b c", "name one opponent for all other seats or 2, got 3"),
        ("--simpleton", "simpleton=True needs 2 to 4 players"),
        ("--seat 1", "these rules have the seats 0 to 0, got 1"),
        ("--num-players 7", "num_players must be 1, 2, 3 or 4, got 7"),
        ("--spiral.deals 2", "--spiral.deals is an option of the spiral game: add --game spiral"),
        ("--out README.md", "README.md is a file: choose another folder for the results with --out"),
        ("--port 70000", "--port is a number from 0 to 65535, got 70000"),
        ("--host 0.0.0.0", "--host 0.0.0.0 needs --allow-host NAME"),
        ("--allow-host *.example", "--allow-host takes whole names, got *.example"),
        ("--resume README.md --num-players 3", "the file has rules, deal and players"),
        ("--opponents greedy", "the solitaire has no --opponents: add --num-players 2"),
    ],
)
def test_errors_on_the_command_line(
    arguments: str, complaint: str, quincunx: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(ROOT)
    assert complaint in quincunx.error(["play", "--out", str(tmp_path), *arguments.split()])


# --- A file chooses no code ------------------------------------------------------------------------------------------


@pytest.fixture
def foreign(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a module, a record and a file of games that name its policy."""
    (folder / "foreign_module.py").write_text("from quincunx_agents.greedy import greedy as policy")
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, "foreign_module", raising=False)
    Record(Rules(num_players=2), Seeded(0), seats=("human", FOREIGN)).write("game.txt")
    evaluate_all({FOREIGN: "greedy"}, 2, run=Run(records=folder / "games.npz"))
    return folder


@pytest.mark.parametrize(
    "arguments",
    [
        "replay game.txt",
        "replay game.txt --html page.html",
        "replay games.npz",
        "replay games.npz --html page.html",
        "verify games.npz",
    ],
)
def test_a_policy_that_a_file_names_is_shown_and_not_imported(arguments: str, foreign: Path, quincunx: Command) -> None:
    printed = quincunx(arguments)
    page = foreign / arguments.split()[-1]
    assert FOREIGN in printed + (page.read_text() if page.suffix == ".html" else "")
    assert "foreign_module" not in sys.modules


@pytest.mark.parametrize("options", ["", "--terminal ", "--adviser uniform "])
def test_a_resumed_game_imports_no_policy_that_only_the_file_names(
    options: str, foreign: Path, quincunx: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quincunx_env.play.web.server.offer", lambda *_: None)
    monkeypatch.setattr("builtins.input", lambda prompt: "quit")
    error = quincunx.error(f"play {options}--resume game.txt")
    command = f"quincunx play --resume game.txt --opponents {FOREIGN}"
    assert (
        error
        == f"game.txt was played by {FOREIGN}, and a file never chooses code; if you know these policies: {command}"
    )
    assert "foreign_module" not in sys.modules


@pytest.mark.parametrize(
    ("options", "name"),
    [({"opponents": (FOREIGN,)}, FOREIGN), ({"trust": True}, FOREIGN), ({"opponents": ("greedy",)}, "greedy")],
)
def test_a_game_is_resumed_with_named_or_trusted_policies(options: dict[str, Any], name: str, foreign: Path) -> None:
    session: Any = Arguments(resume=Path("game.txt"), **options).begin()
    assert session.names == ("human", name)
    assert ("foreign_module" in sys.modules) == (name == FOREIGN)


def test_how_to_continue_is_printed_with_the_policies(
    foreign: Path, quincunx: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("builtins.input", lambda prompt: "quit")
    printed = quincunx(f"play --terminal --resume game.txt --opponents {FOREIGN}")
    assert printed.endswith(
        f"quincunx play --terminal --resume game.txt --opponents {FOREIGN}\n    quincunx replay game.txt\n"
    )
