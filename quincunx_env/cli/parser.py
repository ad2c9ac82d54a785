"""The parser of command lines: options are the fields of a dataclass."""

import os
import shutil
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, TypeVar

from quincunx_env.utils.errors import fail, requires_extra

AnyArguments = TypeVar("AnyArguments")

LEAST_COLUMNS = 40
"""Columns for which help is printed at least: in a terminal of five columns tyro breaks lines without end."""


def parse(
    arguments: type[AnyArguments], program: str, description: str | None, args: Sequence[str] | None = None
) -> AnyArguments:
    """Parse a command line with tyro; values that ``arguments`` refuses with ValueError end the program with one line.

    Args:
        arguments: a dataclass.
        program: the command without its arguments.
        description: of the program.
        args: in place of the command line.
    """
    with requires_extra("arena"):
        import tyro

    def make(options: Any) -> Any:
        return options

    # With a function tyro leaves errors of the dataclass alone, which it would print as a box of several lines.
    make.__annotations__ = {"options": Annotated[arguments, tyro.conf.arg(name="")]}
    try:
        with _wide_enough():
            options: AnyArguments = tyro.cli(make, prog=program, description=description, args=args)
    except ValueError as error:
        fail(error)
    return options


def refuse_other_game(game: str, args: Sequence[str], options: Collection[str]) -> None:
    """Refuse options of one game where the other is chosen, which would be ignored.

    Args:
        game: the chosen game; options of the spiral game begin with ``--spiral.``.
        args: the command line.
        options: names of the options of Quincunx.

    Raises:
        ValueError: naming the option.
    """
    for arg in args:
        flag = arg.partition("=")[0].replace("_", "-")
        if game != "spiral" and flag.startswith("--spiral."):
            raise ValueError(f"{flag} is an option of the spiral game: add --game spiral")
        if game == "spiral" and flag.startswith("--"):
            name = flag.removeprefix("--").removeprefix("no-").replace("-", "_")
            if name in options:
                raise ValueError(f"{flag} is an option of Quincunx: leave out --game spiral, or the option")


@contextmanager
def _wide_enough() -> Iterator[None]:
    """Let the terminal have at least `LEAST_COLUMNS` columns."""
    columns = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = str(max(LEAST_COLUMNS, shutil.get_terminal_size().columns))
    try:
        yield
    finally:
        del os.environ["COLUMNS"]
        if columns is not None:
            os.environ["COLUMNS"] = columns
