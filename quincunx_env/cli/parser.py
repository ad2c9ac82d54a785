"""The parser of command lines: options are the fields of a dataclass."""

from collections.abc import Sequence
from dataclasses import is_dataclass, replace
from typing import Annotated, Any, TypeVar

from quincunx_env.utils.errors import fail, requires_extra

Options = TypeVar("Options")


def parse(
    options: type[Options], prog: str, description: str | None, args: Sequence[str] | None = None, default: Any = None
) -> Options:
    """Parse the command line, or ``args``. ``default`` replaces the defaults of ``options``.

    Values that ``options`` refuses with ValueError end the program with one line. So do fields in its attribute
    ``HIDDEN``, which has the way out for each: they are no options.
    """
    with requires_extra("arena", prog):
        import tyro

    hidden = getattr(options, "HIDDEN", {})
    for flag in (word.partition("=")[0] for word in args or () if word.startswith("--")):
        if way_out := hidden.get(flag.removeprefix("--").removeprefix("no-").replace("-", "_")):
            fail(f"{prog} has no {flag}: {way_out}")
    registry, nested = tyro.constructors.ConstructorRegistry(), False

    @registry.struct_rule
    def readable(struct: Any) -> Any:
        """Read the fields of a dataclass as tyro does, but with help in one paragraph and without empty defaults."""
        nonlocal nested
        if nested or not is_dataclass(struct.type):
            return None
        nested = True
        found: Any = registry.get_struct_spec(struct)
        nested = False
        return replace(found, fields=tuple(map(with_help, found.fields)))

    def with_help(field: Any) -> Any:
        required = field.default is tyro.constructors.MISSING_NONPROP
        suppressed = [tyro.conf.Suppress] if field.name in hidden else []

        def default_of(value: str) -> str:
            return "(required)" if required else "" if value in ("", "''", "None") else f"(default: {value})"

        def text() -> str:
            found = field.helptext() if callable(field.helptext) else field.helptext
            return " ".join((found or "").replace("``", "").split())

        hint = tyro.conf.arg(help_behavior_hint=default_of)
        return replace(field, type=Annotated[(field.type, hint, *suppressed)], helptext=text)

    # tyro shows errors of a class as a box, errors of a function it leaves alone.
    def main(chosen: Annotated[options, tyro.conf.arg(name="")]) -> Any:  # type: ignore[valid-type]
        return chosen

    if default is not None:
        main.__defaults__ = (default,)
    described = (description or "").replace("``", "") or None
    try:
        found: Options = tyro.cli(
            main, prog=prog, description=described, args=args, config=(tyro.conf.DisallowNone,), registry=registry
        )
        return found
    except ValueError as error:
        fail(error)
