"""Pictures of objects in notebooks and by ``print``. `quincunx_env` sets the painters, which are built on the games."""

from collections.abc import Callable

Painter = Callable[[object], str | None]

PAINTERS: dict[str, Painter] = {}
"""Functions that draw an object, by the format: ``svg``, ``html`` or ``text``."""


def shown_as(form: str, shown: object) -> str | None:
    """Draw an object in a format of `PAINTERS`. Return None if it has no picture."""
    return PAINTERS[form](shown)
