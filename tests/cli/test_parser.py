"""The parser of command lines."""

from dataclasses import dataclass
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
    """a ``number``,
    at least 1"""

    def __post_init__(self) -> None:
        if self.number < 1:
            raise ValueError(f"--number must be at least 1, got {self.number}")


def test_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    """The end of a line in a docstring is none in the help."""
    pytest.importorskip("tyro")
    assert parse(Arguments, "python -m program", None, ["--number", "3"]).number == 3
    for args, status in ((["--number", "0"], 2), (["--help"], 0)):
        with pytest.raises(SystemExit) as end:
            parse(Arguments, "python -m program", None, args)
        assert end.value.code == status
    out, error = capsys.readouterr()
    assert error == "error: --number must be at least 1, got 0\n"
    assert "usage: python -m program [-h]" in out
    assert "--number INT  a number, at least 1 (default: 1)" in out
