"""Pictures of objects in notebooks and by ``print``. `quincunx_env` names the painters."""

from pkgutil import resolve_name

PAINTERS: dict[str, str] = {}
"""Functions that draw an object, as ``module:name``, by the format: ``svg``, ``html`` or ``text``."""


def shown_as(form: str, shown: object) -> str | None:
    """Draw an object in a format of `PAINTERS`; None if it has no picture."""
    picture: str | None = resolve_name(PAINTERS[form])(shown)
    return picture
