"""Pictures of games, deals and records in notebooks, which ask for them by the method ``_repr_svg_``."""

from importlib import import_module


def picture_of(shown: object) -> str | None:
    """Draw a game, a deal or a record as SVG; None if it has no picture.

    The renderer is built on the games; a notebook that asks for a picture imports it.
    """
    picture: str | None = import_module("quincunx_env.render.notebook").picture_of(shown)
    return picture
