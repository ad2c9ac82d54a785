"""Outlines of the letters in pictures, from the open font Manrope.

With them text looks the same everywhere.

``pip install font-manrope fonttools && python -m docs.glyphs`` writes ``quincunx_env/render/glyphs.json`` and the
licence of the font beside it.
"""

import json
import re
import shutil
from importlib.util import find_spec
from pathlib import Path

from fontTools.misc.transform import Scale
from fontTools.pens.svgPathPen import SVGPathPen
from fontTools.pens.transformPen import TransformPen
from fontTools.ttLib import TTFont

from quincunx_env import render

FOLDER = Path(render.__file__).parent
WEIGHTS = {"text": "Manrope-SemiBold.ttf", "print": "Manrope-ExtraBold.ttf"}
"""The fonts of labels, and of ranks and numbers."""
LETTERS = [chr(code) for code in (*range(0x20, 0x7F), *range(0xC0, 0x100))] + list("\xb7\u2013\u2014\u2019\u2026\u2212")
"""ASCII, the letters of Latin-1, some signs. Other letters lose their accents."""
EM = 1000
"""Units of the outlines per font size."""


def outlines(path: Path) -> dict[str, tuple[int, str]]:
    """Return advance width and outline by letter. The unit is 1 / `EM` of the font size; y points down."""
    font = TTFont(path)
    glyphs, names = font.getGlyphSet(), font.getBestCmap()
    scale = EM / font["head"].unitsPerEm
    table = {}
    for letter in LETTERS:
        name = names[ord(letter)]
        pen = SVGPathPen(glyphs, lambda number: str(round(number)))
        glyphs[name].draw(TransformPen(pen, Scale(scale, -scale)))
        table[letter] = (round(glyphs[name].width * scale), BAR.sub(_with_another_point, pen.getCommands()))
    return table


BAR = re.compile(r"M(?P<x>-?\d+) (?P<y>-?\d+)V(?P<to>-?\d+)H-?\d+V-?\d+Z")


def _with_another_point(bar: re.Match[str]) -> str:
    """Return a rectangle with a further point on its first edge.

    ThorVG rounds plain rectangles to pixels, and thin ones vanish.
    """
    middle = (int(bar["y"]) + int(bar["to"])) // 2
    return bar[0].replace("V", f"V{middle}V", 1)


def font_files() -> Path:
    """Return the folder of the installed font."""
    spec = find_spec("font_manrope")
    if spec is None or spec.origin is None:
        raise ImportError("the font is missing: pip install font-manrope")
    return Path(spec.origin).parent / "files"


def main() -> None:
    """Write the table and the licence."""
    files = font_files()
    font = TTFont(files / next(iter(WEIGHTS.values())))
    capital = round(font["OS/2"].sCapHeight * EM / font["head"].unitsPerEm)
    tables = [
        f'"{weight}": {{\n'
        + ",\n".join(f"{json.dumps(letter)}: {json.dumps(value)}" for letter, value in drawn)
        + "\n}"
        for weight, name in WEIGHTS.items()
        for drawn in [outlines(files / name).items()]
    ]
    about = "Outlines of Manrope (OFL.txt), written by python -m docs.glyphs: width and path by letter"
    head = [f'"about": "{about}"', f'"em": {EM}', f'"capital": {capital}']
    (FOLDER / "glyphs.json").write_text("{\n" + ",\n".join(head + tables) + "\n}\n", encoding="utf-8")
    shutil.copy(files / "OFL.txt", FOLDER / "OFL.txt")


if __name__ == "__main__":
    main()
