"""Errors and signals of programs."""

import os
import signal
import subprocess
import sys
import time

import pytest

from quincunx_env.utils.errors import fail, one_line_errors, requires_extra


def refuse() -> None:
    raise LookupError("of no\n    use")


@pytest.mark.parametrize(
    ("action", "line", "status"),
    [
        (lambda: open("/dev/null/file"), "error: [Errno 20] Not a directory: '/dev/null/file'; go on", 2),  # noqa: SIM115, PTH123
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


@pytest.mark.parametrize(
    ("number", "busy"),
    [
        (signal.SIGTERM, "hashlib.pbkdf2_hmac('sha256', b'', b'', 2**31 - 1)"),
        (signal.SIGINT, "exec('try: time.sleep(60)\\nfinally: time.sleep(60)')"),
    ],
)
def test_a_second_signal_ends_the_process_whatever_it_does(number: signal.Signals, busy: str) -> None:
    program = f"""
import hashlib, time
from quincunx_env.utils.errors import one_line_errors
with one_line_errors():
    print("calling", flush=True)
    {busy}
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "calling\n"
        time.sleep(0.5)
        for _ in range(2 if number == signal.SIGTERM else 1):  # ``timeout`` sends two at once
            process.send_signal(number)
        try:
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(1)
            process.send_signal(number)
            assert process.wait(20) == 128 + number
        finally:
            process.kill()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_signals_of_a_fork_are_its_own() -> None:
    program = """
import os, signal, time
from quincunx_env.utils.errors import one_line_errors
with one_line_errors():
    for _ in range(2):
        if (child := os.fork()) == 0:
            time.sleep(60)
        time.sleep(0.3)
        os.kill(child, signal.SIGTERM)
        os.waitpid(child, 0)
"""
    subprocess.run([sys.executable, "-c", program], check=True)
