"""Figures of Matplotlib that show names of users."""

from collections.abc import Iterator
from contextlib import contextmanager

from quincunx_env.utils.extras import needs_extra


@contextmanager
def plain_text() -> Iterator[None]:
    """Show the text of figures as it is. Matplotlib takes text between two dollar signs for mathematics."""
    with needs_extra("arena", "a figure"):
        from matplotlib import rc_context
    with rc_context({"text.parse_math": False}):
        yield
