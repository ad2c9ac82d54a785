"""Write the parts of the documentation that follow from the code: ``make docs``. A test keeps them up to date."""

from io import BytesIO
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from quincunx_env import Observer, Rules, render, spiral
from quincunx_env.core.observation import Observer as AnyObserver
from quincunx_env.play.session import Session
from quincunx_env.quincunx import FixedObserver
from quincunx_env.record import Seeded
from tests.pictures import PICTURES, reference

HERE = Path(__file__).parent

OBSERVATIONS = """\
# Observations

*Written by `make docs` from the observers of the games.*

An observation is a list of named pieces. `pieces` is a dictionary of them; `flat` is one int16 vector in which each
piece has its slice, in C order. `Observer.flatten` and `Observer.unflatten` turn one into the other without loss.
Seats are counted from the observing one: seat 0 is oneself, seat 1 plays next. Rounds, totals and seats are left out
where the rules leave them nothing to say. `env.unwrapped.observer.table()` prints the table of any environment.

Cards are the ids of `quincunx_env.quincunx.cards` and `quincunx_env.spiral.cards`; cells count from the top left, row
by row. `fixed_width=True` pads observations and actions of every form of Quincunx to four seats, 41 cards and the 81
cells of the open start, smaller grids in the middle, so that one network can play them all; `form` tells which it is.
"""

EXAMPLES: dict[str, AnyObserver] = {
    "Solitaire": Observer(Rules()),
    "Solitaire with the preview": Observer(Rules(), preview=True),
    "Solitaire with the extended deck": Observer(Rules(excuse=True, pawns=True)),
    "Two players from corners": Observer(Rules(num_players=2)),
    "Three players, open start, Simpleton, a match": Observer(
        Rules(num_players=3, start="open", simpleton=True, match=True)
    ),
    "Any form of Quincunx with fixed width": FixedObserver(Rules()),
    "The spiral game, two deals": spiral.Observer(spiral.Rules()),
    "The spiral game, a single deal, with the preview": spiral.Observer(spiral.Rules(deals=1), preview=True),
}


def pages() -> dict[Path, str]:
    """The generated pages, by path."""
    tables = (f"\n## {title}\n\n{observer.table()}\n" for title, observer in EXAMPLES.items())
    return {HERE / "observations.md": OBSERVATIONS + "".join(tables)}


SHEET = HERE / "contact_sheet.png"
ANIMATION = HERE / "solitaire.webp"
COLUMNS = 8
SECONDS, LAST_SECONDS = 1.8, 6.0
"""How long the animation shows a play, and the end."""


def contact_sheet() -> Image.Image:
    """The reference pictures of all variants, each with its name."""
    thumbnails: dict[str, Image.Image] = {}
    for name in PICTURES:
        with Image.open(reference(name)) as file:
            thumbnails[name] = file.convert("RGB").reduce(2)
    wide, high = thumbnails["solitaire"].size
    margin, label = 12, 28
    step = wide + margin, high + label + margin
    rows = -(-len(thumbnails) // COLUMNS)
    sheet = Image.new("RGB", (margin + COLUMNS * step[0], margin + rows * step[1]), "white")
    draw, font = ImageDraw.Draw(sheet), ImageFont.load_default(10)
    for number, (name, image) in enumerate(thumbnails.items()):
        row, column = divmod(number, COLUMNS)
        x, y = margin + column * step[0], margin + row * step[1]
        sheet.paste(image, (x, y))
        draw.text((x, y + high + 2), "+".join(name.split("+")[:3]), "black", font)
        draw.text((x, y + high + 14), "".join(f"+{option}" for option in name.split("+")[3:]), "black", font)
    return sheet.quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)


def animation() -> bytes:
    """A game of the solitaire, played by a trained agent of `agents`."""
    session = Session(Rules(), ["value"], Seeded(1))
    frames = [render.frame(session.game, scale=0.75)]
    while session.mover is not None:
        session.play(session.choose())
        frames.append(render.frame(session.game, scale=0.75))
    first, *rest = (Image.fromarray(frame) for frame in frames)
    milliseconds = [round(1000 * seconds) for seconds in (*[SECONDS] * len(rest), LAST_SECONDS)]
    written = BytesIO()
    first.save(
        written, "WEBP", save_all=True, append_images=rest, duration=milliseconds, loop=0, lossless=True, method=6
    )
    return written.getvalue()


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text)
    contact_sheet().save(SHEET, optimize=True)
    ANIMATION.write_bytes(animation())
