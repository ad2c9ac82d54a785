"""Pictures in motion: several pictures as one SVG document.

It needs no library and no script.

>>> from quincunx_env import Game, Rules, render
>>> game = Game.from_seed(Rules(), seed=0)
>>> pictures = [render.to_svg(game)]
>>> gains = game.step(game.legal_cards()[0] * game.rules.num_cells + game.legal_cells()[0])
>>> moving = animate([*pictures, render.to_svg(game)])
>>> moving.count('<g class="moment"')
2
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain

_LEAST = 60
"""Least number of characters of an element that is stored once and used by number, which takes 20 characters."""

LAST = 5.0
"""Seconds for which the last picture of an animation is shown."""

Element = str | tuple[int, ...]
"""A line, or the numbers of a group's first line, its elements and its last line."""


class Shared:
    """Definitions and elements of pictures, each once. An element has a higher number than the ones in it."""

    def __init__(self) -> None:
        self.definitions: dict[str, None] = {}
        self.elements: dict[Element, int] = {}

    def add(self, picture: str) -> list[int]:
        """Take a picture apart, and return the numbers of its elements."""
        definitions, body = parts_of(picture)
        self.definitions |= dict.fromkeys(definitions)
        return [*map(self.number, elements_of(body))]

    def number(self, lines: Sequence[str]) -> int:
        """Return the number of an element, given as its lines."""
        element: Element = lines[0]
        if len(lines) > 1:
            element = tuple(map(self.number, (lines[:1], *elements_of(lines[1:-1]), lines[-1:])))
        return self.elements.setdefault(element, len(self.elements))


def animate(pictures: Sequence[str], seconds: float = 1.5) -> str:
    """Show pictures one after the other, again and again.

    Elements that they share are stored once. The last picture is shown for five seconds. Programs that know no
    animation, and browsers that reduce motion, show it alone.

    Args:
        pictures: SVG documents of one size, drawn by `quincunx_env.render.svg.draw`.
        seconds: how long each of the others is shown.

    Returns:
        An SVG document.

    Raises:
        ValueError: if there are no pictures, they differ in size, or ``seconds`` is not positive.
    """
    if not pictures or len({_size(picture) for picture in pictures}) != 1:
        raise ValueError("an animation needs pictures of one size, at least one")
    if not seconds > 0:
        raise ValueError(f"seconds must be positive, got {seconds}")
    shared = Shared()
    bodies = [*map(shared.add, pictures)]
    stored, texts = _texts(shared, bodies)
    total = seconds * (len(pictures) - 1) + LAST
    moments = [
        f'<g class="moment" style="animation-delay:{number * seconds:g}s">\n'
        + "\n".join(texts[element] for element in body)
        + "\n</g>\n"
        for number, body in enumerate(bodies)
    ]
    style = (
        f".moment{{visibility:hidden;animation:moment {total:g}s step-end infinite}}\n"
        f"@keyframes moment{{0%{{visibility:visible}}{100 * seconds / total:.4g}%{{visibility:hidden}}}}\n"
        ".moment:last-of-type{visibility:visible;animation-name:last;animation-delay:0s!important}\n"
        f"@keyframes last{{0%{{visibility:hidden}}{100 - 100 * LAST / total:.4g}%{{visibility:visible}}}}\n"
        "@media(prefers-reduced-motion:reduce){.moment{animation:none}}\n"
    )
    head = pictures[0].partition("\n")[0]
    return (
        "\n".join([head, f"<style>\n{style}</style>", "<defs>", *shared.definitions, *stored, "</defs>", *moments])
        + "</svg>\n"
    )


def _texts(shared: Shared, bodies: Sequence[Sequence[int]]) -> tuple[list[str], list[str]]:
    """Return definitions of elements that occur repeatedly, and the text of each element."""
    groups = [element for element in shared.elements if isinstance(element, tuple)]
    uses, stored, texts = Counter(chain(*bodies, *groups)), list[str](), list[str]()
    for number, element in enumerate(shared.elements):
        text = element if isinstance(element, str) else "\n".join(texts[part] for part in element)
        if uses[number] > 1 and len(text) >= _LEAST and _is_whole(text):
            stored.append(f'<g id="e{number}">{text}</g>')
            text = f'<use href="#e{number}"/>'
        texts.append(text)
    return stored, texts


def parts_of(picture: str) -> tuple[list[str], list[str]]:
    """Return the lines of a drawn picture's definitions and elements."""
    head, _, body = picture.removesuffix("</svg>\n").partition("</defs>\n")
    # Other characters at which splitlines() divides may stand in a name, in the middle of an attribute.
    return head.partition("<defs>\n")[2].split("\n")[:-1], body.split("\n")[:-1]


def elements_of(lines: Sequence[str]) -> Iterator[Sequence[str]]:
    """Divide lines into elements: single lines and whole groups."""
    start = depth = 0
    for end, line in enumerate(lines, 1):
        depth += line.count("<g") - line.count("</g>")
        if not depth:
            yield lines[start:end]
            start = end


def _is_whole(text: str) -> bool:
    """Return whether groups that begin in a text end in it."""
    return text.count("<g") == text.count("</g>")


def _size(picture: str) -> str:
    return picture.partition(" role=")[0]
