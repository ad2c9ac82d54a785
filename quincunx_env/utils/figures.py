"""Figures of Matplotlib that show names of users."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from quincunx_env.utils.extras import needs_extra


@contextmanager
def plain_text() -> Iterator[None]:
    """Show the text of figures as it is. Matplotlib takes text between two dollar signs for mathematics."""
    with needs_extra("arena", "a figure"):
        from matplotlib import rc_context
    with rc_context({"text.parse_math": False}):
        yield


def drawable(texts: Iterable[str]) -> list[str]:
    r"""Return texts in letters that fonts have, and use these fonts.

    Fonts of the system are searched for letters that the usual one lacks. Letters of no font become escapes, such as
    ``\u7b56``. Call it within `plain_text`, before anything is drawn.
    """
    from matplotlib import rcParams
    from matplotlib.font_manager import FontProperties, findfont, fontManager, get_font

    texts, usual = [*texts], rcParams["font.family"]
    missing = {*"".join(texts)}
    for family in (*usual, *sorted({font.name for font in fontManager.ttflist} - {*usual})):
        if not missing:
            break
        font = get_font(findfont(FontProperties(family=[family])))
        found = {letter for letter in missing if font.get_char_index(ord(letter))}
        if found and not family.startswith("Last Resort"):  # which has a box for every letter
            missing -= found
            rcParams["font.family"] = [*dict.fromkeys((*rcParams["font.family"], family))]
    escapes = {ord(letter): letter.encode("unicode_escape").decode() for letter in missing}
    return [text.translate(escapes) for text in texts]
