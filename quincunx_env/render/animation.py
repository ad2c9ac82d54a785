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

_LEAST = 60
"""Least number of characters of an element that is stored once and used by number, which takes 20 characters."""


LAST = 5.0
"""Seconds for which the last picture of an animation is shown."""


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
    definitions: dict[str, None] = {}
    bodies = []
    for picture in pictures:
        defined, body = parts_of(picture)
        definitions |= dict.fromkeys(defined)
        bodies.append(body)
    shared = _Shared(bodies)
    total = seconds * (len(pictures) - 1) + LAST
    moments = [
        f'<g class="moment" style="animation-delay:{number * seconds:g}s">\n'
        + "\n".join(shared.emit(body))
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
        "\n".join([head, f"<style>\n{style}</style>", "<defs>", *definitions, *shared.stored, "</defs>", *moments])
        + "</svg>\n"
    )


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


def _size(picture: str) -> str:
    return picture.partition(" role=")[0]


class _Shared:
    """Elements that occur repeatedly in pictures."""

    def __init__(self, bodies: Sequence[Sequence[str]]) -> None:
        self.stored: list[str] = []
        self._counts: Counter[str] = Counter()
        self._names: dict[str, str] = {}
        for body in bodies:
            self._count(body)

    def _count(self, lines: Sequence[str]) -> None:
        for element in elements_of(lines):
            text = "\n".join(element)
            self._counts[text] += 1
            if self._counts[text] == 1:
                self._count(element[1:-1])

    def emit(self, lines: Sequence[str]) -> Iterator[str]:
        """Yield lines in which elements that occur repeatedly are used by number."""
        for element in elements_of(lines):
            text = "\n".join(element)
            if self._counts[text] == 1 or len(text) < _LEAST:
                yield from self._within(element)
                continue
            if text not in self._names:
                content = "\n".join(self._within(element))
                self._names[text] = name = f"e{len(self._names)}"
                self.stored.append(f'<g id="{name}">{content}</g>')
            yield f'<use href="#{self._names[text]}"/>'

    def _within(self, element: Sequence[str]) -> Iterator[str]:
        yield element[0]
        if len(element) > 1:
            yield from self.emit(element[1:-1])
            yield element[-1]
