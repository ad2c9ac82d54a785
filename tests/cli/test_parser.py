"""The parser of command lines."""

import os
import subprocess
import sys
from dataclasses import dataclass, make_dataclass
from typing import Any

import pytest

from quincunx_env.cli.parser import parse


@pytest.mark.parametrize(
    ("game", "arg"),
    [
        ("quincunx", "--spiral.deals"),
        ("quincunx", "--spiral.no-fifteens"),
        ("spiral", "--no-flush"),
        ("spiral", "--num_players=2"),
    ],
)
def test_options_of_the_other_game_are_refused(game: Any, arg: str) -> None:
    pytest.importorskip("tyro")
    from quincunx_env.cli.options import GameOptions

    with pytest.raises(ValueError, match="game spiral"):
        GameOptions(game=game).refuse_other_game(["--out", "x", arg, "2"])
    other: Any = {"quincunx": "spiral", "spiral": "quincunx"}[game]
    GameOptions(game=other).refuse_other_game(["--out", "x", arg, "2"])


@dataclass
class Arguments:
    """Options."""

    number: int = 1
    """a number"""

    def __post_init__(self) -> None:
        if self.number < 1:
            raise ValueError(f"--number must be at least 1, got {self.number}")


def test_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("tyro")
    assert parse(Arguments, "python -m program", None, ["--number", "3"]).number == 3
    for args, status in ((["--number", "0"], 2), (["--help"], 0)):
        with pytest.raises(SystemExit) as end:
            parse(Arguments, "python -m program", None, args)
        assert end.value.code == status
    out, error = capsys.readouterr()
    assert error == "error: --number must be at least 1, got 0\n"
    assert "usage: python -m program [-h]" in out


@dataclass
class Documented:
    """Options with markup."""

    number: int = 1
    """a ``number`` that some docstring
    explains (as in
    1 of the rules)"""


def test_help_keeps_paragraphs_and_drops_markup(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("tyro")
    monkeypatch.setenv("COLUMNS", "60")
    description = """Do ``it``.

    The first paragraph is long, and its lines are broken where
    1 paragraph of `help` needs it.

        program --number 1
        program --number 2
    """
    with pytest.raises(SystemExit):
        parse(Documented, "program", description, ["--help"])
    text = capsys.readouterr().out.replace("\n\n\n", "\n\n")  # of early versions of tyro
    assert text.startswith("""\
usage: program [-h] [--number INT]

Do it.

The first paragraph is long, and its lines are broken where
1 paragraph of 'help' needs it.

    program --number 1
    program --number 2

""")
    shown = " ".join(text.replace("│", "").split())
    assert "--number INT a number that some docstring explains (as in 1 of the rules) (default: 1)" in shown
    assert all(len(line) <= 60 for line in text.splitlines())


def test_a_signature_is_not_a_description(capsys: pytest.CaptureFixture[str]) -> None:
    """Under ``-OO`` the signature is what a dataclass has in place of its docstring."""
    pytest.importorskip("tyro")
    bare = make_dataclass("Bare", [("number", int, 1)])
    with pytest.raises(SystemExit):
        parse(bare, "program", bare.__doc__, ["--help"])
    assert "Bare(" not in capsys.readouterr().out


def test_help_in_a_narrow_terminal() -> None:
    """In a process of its own, because tyro did not end, and took all memory."""
    pytest.importorskip("tyro")
    program = "from tests.cli.test_parser import *; parse(Arguments, 'program', None, ['--help'])"
    command = f'ulimit -v 4000000; exec {sys.executable} -c "{program}"'
    environment = os.environ | {"COLUMNS": "5"}
    done = subprocess.run(["sh", "-c", command], env=environment, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert "a number" in done.stdout


@pytest.mark.parametrize("columns", ["5", "100", None])
def test_parsing_leaves_the_environment_alone(columns: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("tyro")
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns:
        monkeypatch.setenv("COLUMNS", columns)
    parse(Arguments, "program", None, [])
    assert os.environ.get("COLUMNS") == columns
