"""The command ``quincunx`` in the process of the tests."""

import shlex
from collections.abc import Sequence
from pathlib import Path

import pytest

from quincunx_env.cli import main


class Command:
    """Runs ``quincunx``."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys

    def __call__(self, arguments: str | Sequence[str] = ()) -> str:
        """Run it, and return what it prints."""
        self.capsys.readouterr()
        main(shlex.split(arguments) if isinstance(arguments, str) else arguments)
        return self.capsys.readouterr().out

    def end(self, arguments: str | Sequence[str]) -> tuple[object, str, str]:
        """Run it, and return the exit status with which it ends, its output and its errors."""
        with pytest.raises(SystemExit) as end:
            self(arguments)
        return end.value.code, *self.capsys.readouterr()

    def error(self, arguments: str | Sequence[str], status: int = 2) -> str:
        """Run it, and return its only line, which is an error, after ``error:``."""
        ended, out, line = self.end(arguments)
        assert (ended, out, line.count("\n")) == (status, "", 1)
        assert line.startswith("error: ")
        return line.removeprefix("error: ").removesuffix("\n")


@pytest.fixture
def quincunx(capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(capsys)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder in which the test runs."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
