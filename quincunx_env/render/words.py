r"""Texts for people: names, places as in chess, emblems, minus signs.

>>> players(["human", "Easy", "human", "Easy"])
['Player 1', 'Easy 1', 'Player 2', 'Easy 2']
>>> for_people("seat 1 played 9LK at (0, 3)", players(["human", "Hard"], you=0))
'Hard played 9LK at D1'
>>> minus("-3, 80-99") == "\N{MINUS SIGN}3, 80-99"
True
"""

import html
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache

from quincunx_env.core.scene import Face, Scene, ScoredPlay, place_name
from quincunx_env.notation.record import HUMAN
from quincunx_env.render.svg import MINUS, draw_suit


def minus(text: object) -> str:
    """Return a text whose negative numbers have a minus sign."""
    return re.sub(r"(?<![\w)])-(?=\d)", MINUS, str(text))


def players(names: Sequence[str], you: int | None = None) -> list[str]:
    """Return how players are called, by seat. Those who are called alike are numbered.

    Args:
        names: as in records; an empty one if it is unknown.
        you: the seat of the reader, if it is one of them.
    """
    called = ["You" if seat == you else name for seat, name in enumerate(names)]
    called = ["Player" if name in ("", HUMAN) else name for name in called]
    numbered = {name for name in called if name == "Player" or called.count(name) > 1}
    return [
        f"{name} {called[: seat + 1].count(name)}" if name in numbered else name for seat, name in enumerate(called)
    ]


def for_people(text: str, names: Sequence[str] = ()) -> str:
    """Return a text with places as in chess, and players by ``names``."""
    text = re.sub(r"\((\d), (\d)\)", lambda place: place_name(int(place[1]), int(place[2])), text)
    return re.sub(r"\b[Ss]eat (\d)\b", lambda seat: names[int(seat[1])] if names else seat[0], text)


def play_for_people(play: ScoredPlay, names: Sequence[str] = ()) -> ScoredPlay:
    """Return a play with its title as of `for_people`."""
    return play._replace(title=for_people(play.title, names))


def scene_for_people(scene: Scene, names: Sequence[str] = ()) -> Scene:
    """Return a scene with texts as of `for_people`."""
    last, pending = (play and play_for_people(play, names) for play in (scene.last, scene.pending))
    seats = [seat._replace(name=for_people(seat.name, names)) for seat in scene.seats]
    notes = tuple(for_people(note, names) for note in scene.notes)
    return replace(scene, seats=seats, notes=notes, last=last, pending=pending, lettered=True)


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
