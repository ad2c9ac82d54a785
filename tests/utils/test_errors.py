"""Errors and signals of programs."""

import os
import signal
import subprocess
import sys

import pytest

from quincunx_env.utils.errors import fail, one_line_errors, requires_extra


def refuse() -> None:
    raise LookupError("of no\n    use")


@pytest.mark.parametrize(
    ("action", "line", "status"),
    [
        (lambda: open("/dev/null/file"), "error: Not a directory: '/dev/null/file'; go on", 2),  # noqa: SIM115, PTH123
        (
            lambda: open("/" + 900 * "x"),  # noqa: SIM115, PTH123
            f"error: File name too long: '/{99 * 'x'}...{100 * 'x'}'; go on",
            2,
        ),
        (refuse, "error: of no use; go on", 2),
        (
            lambda: fail("a\x1b[2Jb\r\x07\x9b\u202e\ud800\n\x1b]0;c"),
            r"error: a\x1b[2Jb\r\x07\x9b\u202e\ud800 \x1b]0;c",
            2,
        ),
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


def test_signals_that_come_while_a_program_ends_do_no_harm() -> None:
    """In nested blocks, too: the end of the inner one is complete, one line is printed, and the status stays."""
    program = """
import os, signal
from quincunx_env.utils.errors import one_line_errors
with one_line_errors(remedy=lambda: "outer"):
    try:
        with one_line_errors(remedy=lambda: "inner"):
            try:
                os.kill(os.getpid(), signal.SIGTERM)
            finally:
                os.kill(os.getpid(), signal.SIGTERM)
                print("inner end", flush=True)
    finally:
        os.kill(os.getpid(), signal.SIGTERM)
        print("outer end", flush=True)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stderr, done.stdout) == (143, "terminated; inner\n", "inner end\nouter end\n")
