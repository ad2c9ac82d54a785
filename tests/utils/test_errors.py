"""Errors, signals and command lines of programs."""

import os
import signal
import subprocess
import sys
from dataclasses import dataclass

import pytest

from quincunx_env.utils.errors import fail, one_line_errors, parse, refuse_other_game, requires_extra


def refuse() -> None:
    raise LookupError("of no\n    use")


@pytest.mark.parametrize(
    ("action", "line", "status"),
    [
        (lambda: open("/dev/null/file"), "error: [Errno 20] Not a directory: '/dev/null/file'; go on", 2),  # noqa: SIM115, PTH123
        (refuse, "error: of no use; go on", 2),
        (lambda: os.kill(os.getpid(), signal.SIGINT), "interrupted; go on", 130),
        (lambda: os.kill(os.getpid(), signal.SIGTERM), "terminated; go on", 143),
    ],
)
def test_an_error_is_one_line(action: object, line: str, status: int, capsys: pytest.CaptureFixture[str]) -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(SystemExit) as end, one_line_errors(LookupError, remedy=lambda: "go on"):
        action()  # type: ignore[operator]
    assert (end.value.code, capsys.readouterr().err) == (status, f"{line}\n")
    assert signal.getsignal(signal.SIGTERM) is before


def test_the_end_of_a_pipe_is_left_to_the_command() -> None:
    with pytest.raises(BrokenPipeError), one_line_errors():
        raise BrokenPipeError


def test_a_fault_of_the_program_keeps_its_traceback() -> None:
    with pytest.raises(ZeroDivisionError), one_line_errors(ValueError):
        _ = 1 / 0
    with pytest.raises(SystemExit) as end, one_line_errors(ValueError):
        fail("once")
    assert end.value.code == 2


def test_a_missing_library_is_named_with_its_extra(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end, requires_extra("train"):
        import no_such_library  # type: ignore[import-not-found]  # noqa: F401
    assert end.value.code == 2
    expected = 'error: this program needs no_such_library: pip install "quincunx_env[train]"\n'
    assert capsys.readouterr().err == expected


@pytest.mark.parametrize(
    ("game", "arg"),
    [
        ("quincunx", "--spiral.deals"),
        ("quincunx", "--spiral.no-fifteens"),
        ("spiral", "--no-flush"),
        ("spiral", "--a_b=2"),
    ],
)
def test_options_of_the_other_game_are_refused(game: str, arg: str) -> None:
    options = ("flush", "a_b")
    with pytest.raises(ValueError, match="game spiral"):
        refuse_other_game(game, ["--out", "x", arg, "2"], options)
    refuse_other_game({"quincunx": "spiral", "spiral": "quincunx"}[game], ["--out", "x", arg, "2"], options)


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


def test_help_in_a_narrow_terminal() -> None:
    """In a process of its own, because tyro did not end, and took all memory."""
    pytest.importorskip("tyro")
    program = "from tests.utils.test_errors import *; parse(Arguments, 'program', None, ['--help'])"
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
