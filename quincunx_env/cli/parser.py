"""The parser of command lines: options are the fields of a dataclass."""

import dataclasses
import inspect
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from functools import partial
from textwrap import fill
from typing import Annotated, Any, TypeVar

from quincunx_env.utils.errors import fail, requires_extra

AnyArguments = TypeVar("AnyArguments")

LEAST_COLUMNS = 40
"""Columns for which help is printed at least: in a terminal of five columns tyro breaks lines without end."""

DESCRIPTION = "<description>"
"""Place of the description in tyro's output: tyro joins lines, and does not wrap them."""


def parse(
    arguments: type[AnyArguments],
    program: str,
    description: str | None,
    args: Sequence[str] | None = None,
    default: AnyArguments | None = None,
) -> AnyArguments:
    """Parse a command line with tyro.

    Values that ``arguments`` refuses with ValueError end the program with one line. ``args`` stand in place of the
    command line, ``default`` in place of the defaults of the dataclass.
    """
    with requires_extra("arena", program):
        import tyro

    def make(options: Any) -> Any:
        return options

    # With a function tyro leaves errors of the dataclass alone, which it would print as a box of several lines.
    make.__annotations__ = {"options": Annotated[arguments, tyro.conf.arg(name="")]}
    if description and description.startswith(f"{arguments.__name__}("):  # a dataclass's signature, under -OO
        description = None
    make.__defaults__ = None if default is None else (default,)
    try:
        with _wide_enough() as columns, _plain_help():
            output: Any = _Output(sys.stdout, _paragraphs(description or "", columns))
            with redirect_stdout(output):
                options: AnyArguments = tyro.cli(make, prog=program, description=DESCRIPTION, args=args)
    except ValueError as error:
        fail(error)
    return options


class _Output:
    """The output, with the description in its place."""

    def __init__(self, stream: Any, description: str) -> None:
        self.stream, self.description = stream, description

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def write(self, text: str) -> None:
        self.stream.write(text.replace(DESCRIPTION, self.description))


def _plain_help() -> Any:
    """Return a context in which tyro shows docstrings of fields by `_paragraphs`."""
    from tyro.constructors import ConstructorRegistry

    registry, asking = ConstructorRegistry(), False

    @registry.struct_rule
    def rule(info: Any) -> Any:
        nonlocal asking
        if asking:  # the other rules are tried
            return None
        asking = True
        spec: Any = ConstructorRegistry.get_struct_spec(info)
        asking = False
        if spec is None:
            return None
        fields = (dataclasses.replace(each, helptext=partial(_help, each.helptext)) for each in spec.fields)
        return dataclasses.replace(spec, fields=tuple(fields))

    return registry


def _help(text: str | Callable[[], str | None] | None) -> str | None:
    """Return the help of a field. tyro reads docstrings when they are shown."""
    text = text() if callable(text) else text
    return text and _paragraphs(text)


def _paragraphs(text: str, columns: int = sys.maxsize) -> str:
    """Fill the paragraphs of a docstring without its markup. Indented lines stay as they are."""
    parts = re.split(r"\n\s*\n", inspect.cleandoc(text).replace("``", "").replace("`", "'"))
    return "\n\n".join(each if each[:1] == " " else fill(" ".join(each.split()), columns) for each in parts)


@contextmanager
def _wide_enough() -> Iterator[int]:
    """Let the terminal have at least `LEAST_COLUMNS` columns, and yield their number."""
    columns, needed = os.environ.get("COLUMNS"), max(LEAST_COLUMNS, shutil.get_terminal_size().columns)
    os.environ["COLUMNS"] = str(needed)
    try:
        yield needed
    finally:
        del os.environ["COLUMNS"]
        if columns is not None:
            os.environ["COLUMNS"] = columns
