"""Pictures of objects in notebooks.

`quincunx_env` sets the painters, because pictures are built on the games.
"""

from collections.abc import Callable

Painter = Callable[[object], str | None]

PAINTERS: dict[str, Painter] = {}
"""Functions that draw an object, by the format: ``svg`` or ``html``."""


def shown_as(form: str, shown: object) -> str | None:
    """Draw an object in a format of `PAINTERS`.

    Return None if it has no picture.
    """
    return PAINTERS[form](shown)
