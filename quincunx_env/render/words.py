r"""Texts for people, with emblems of suits and a minus sign.

>>> minus("-3, 80-99") == "\N{MINUS SIGN}3, 80-99"
True
"""

import html
import re
from collections.abc import Iterable
from functools import cache

from quincunx_env.core.scene import Face
from quincunx_env.render.svg import MINUS, draw_suit


def minus(text: object) -> str:
    """Return a text whose negative numbers have a minus sign."""
    return re.sub(r"(?<![\w)])-(?=\d)", MINUS, str(text))


def with_suits(text: str, faces: Iterable[Face]) -> str:
    """Return a text as HTML with emblems for letters. Screen readers read words; the text content stays the same."""
    by_name = {face.name: face for face in faces}
    pieces = re.split(rf"\b({'|'.join(map(re.escape, by_name))})\b", text)
    return "".join(
        "".join(pieces_of(by_name[piece])) if number % 2 else html.escape(piece) for number, piece in enumerate(pieces)
    )


@cache
def pieces_of(face: Face) -> tuple[str, ...]:
    """Return the name of a card as pieces of HTML. Emblems stand alone, so that a page may share them."""
    words, rank, name = (html.escape(text) for text in (face.words, face.rank, face.name))
    attributes = f'class="named" role="img" aria-label="{words}" title="{words}" data-rank="{rank}"'
    return f'<span {attributes}><span class="reader">{name}</span>', *map(draw_suit, face.suits), "</span>"
