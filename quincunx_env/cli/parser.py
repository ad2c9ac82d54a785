"""The parser of command lines: options are the fields of a dataclass."""

from collections.abc import Sequence
from typing import Annotated, Any, TypeVar

from quincunx_env.utils.errors import fail, requires_extra

Options = TypeVar("Options")


def parse(
    options: type[Options], prog: str, description: str | None, args: Sequence[str] | None = None, default: Any = None
) -> Options:
    """Parse the command line, or ``args``. ``default`` replaces the defaults of ``options``.

    Values that ``options`` refuses with ValueError end the program with one line.
    """
    with requires_extra("arena", prog):
        import tyro

    # tyro shows errors of a class as a box, errors of a function it leaves alone.
    def main(chosen: Annotated[options, tyro.conf.arg(name="")]) -> Any:  # type: ignore[valid-type]
        return chosen

    if default is not None:
        main.__defaults__ = (default,)
    try:
        found: Options = tyro.cli(main, prog=prog, description=description, args=args)
        return found
    except ValueError as error:
        fail(error)
