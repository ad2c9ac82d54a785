"""Games, deals and records in notebooks, which ask for them by the methods ``_repr_svg_`` and ``_repr_html_``."""

from importlib import import_module


def picture_of(shown: object) -> str | None:
    """Draw a game, a deal or a record as SVG; None if it has no picture.

    The renderer is built on the games; a notebook that asks for a picture imports it.
    """
    picture: str | None = import_module("quincunx_env.render.notebook").picture_of(shown)
    return picture


def player_of(record: object) -> str:
    """A replay player of a record, as an element of a page; it is built on records, and imported likewise."""
    module = import_module("quincunx_env.render.replay_page")
    element: str = module.embedded(module.replay_page([record]))
    return element
