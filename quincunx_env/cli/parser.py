"""The parser of command lines: options are the fields of a dataclass."""

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, TypeVar

from quincunx_env.utils.errors import fail, requires_extra

AnyArguments = TypeVar("AnyArguments")

LEAST_COLUMNS = 40
"""Columns for which help is printed at least: in a terminal of five columns tyro breaks lines without end."""


def parse(
    arguments: type[AnyArguments],
    program: str,
    description: str | None,
    args: Sequence[str] | None = None,
    default: AnyArguments | None = None,
) -> AnyArguments:
    """Parse a command line with tyro.

    Values that ``arguments`` refuses with ValueError end the program with one line.

    Args:
        arguments: a dataclass.
        program: the command without its arguments.
        description: of the program.
        args: in place of the command line.
        default: the arguments without a command line; the defaults of the dataclass if None.
    """
    with requires_extra("arena"):
        import tyro

    def make(options: Any) -> Any:
        return options

    # With a function tyro leaves errors of the dataclass alone, which it would print as a box of several lines.
    make.__annotations__ = {"options": Annotated[arguments, tyro.conf.arg(name="")]}
    if description and description.startswith(f"{arguments.__name__}("):  # a dataclass's signature, under -OO
        description = None
    make.__defaults__ = None if default is None else (default,)
    try:
        with _wide_enough():
            options: AnyArguments = tyro.cli(make, prog=program, description=description, args=args)
    except ValueError as error:
        fail(error)
    return options


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
