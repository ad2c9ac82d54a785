"""Pictures of the documentation: a game of each environment, a contact sheet, an animation."""

from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from quincunx_agents.greedy import greedy
from quincunx_env import Rules, render, spiral
from quincunx_env.core.rules import BaseRules
from quincunx_env.notation.record import Seeded
from quincunx_env.play.session import Session
from quincunx_env.registry import make_observer, spec_of
from tests.pictures import position
from tests.variants import EVERY_GAME

HERE = Path(__file__).parent

GAMES: dict[str, tuple[BaseRules, int]] = {
    "solitaire": (Rules(), 7),
    "two-players": (Rules(num_players=2), 12),
    "open-start": (Rules(num_players=3, start="open"), 13),
    "spiral": (spiral.Rules(), 12),
}
"""By file name in ``docs/pictures``: rules, and number of actions of the greedy agent."""


def games() -> dict[Path, str]:
    """Draw a game of each of the `GAMES`, and the points of a card, as SVG by path."""
    rng = np.random.default_rng(0)
    rendered = {}
    for name, (rules, actions) in GAMES.items():
        observer = make_observer(rules, preview=True)
        batch: Any = spec_of(rules).Batch(rules, 1)
        batch.reset(seed=8)
        for _ in range(actions):
            batch.step(greedy(observer.observe_batch(batch), batch.mask(), rng))
        rendered[HERE / "pictures" / f"{name}.svg"] = render.to_svg(batch.to_game(0))
    game = position("corners-3")
    rendered[HERE / "pictures" / "candidates.svg"] = render.to_svg(
        game, game.mover, candidates=game.hand(game.mover)[-1], theme="light"
    )
    return rendered


SHEET = HERE / "contact_sheet.png"
ANIMATION = HERE / "solitaire.webp"
COLUMNS = 8
SECONDS, LAST_SECONDS = 1.8, 6.0
"""Duration of a frame of the animation, and of the last frame."""


def contact_sheet() -> Image.Image:
    """Arrange small pictures of all variants on a sheet, each with its name."""
    thumbnails = {name: Image.fromarray(render.frame(position(name), scale=0.4)).reduce(2) for name in EVERY_GAME}
    wide, high = thumbnails["solitaire"].size
    margin, label = 12, 28
    step = wide + margin, high + label + margin
    rows = -(-len(thumbnails) // COLUMNS)
    sheet = Image.new("RGB", (margin + COLUMNS * step[0], margin + rows * step[1]), "white")
    draw, font = ImageDraw.Draw(sheet), ImageFont.load_default(10)
    for number, (name, thumbnail) in enumerate(thumbnails.items()):
        row, column = divmod(number, COLUMNS)
        x, y = margin + column * step[0], margin + row * step[1]
        sheet.paste(thumbnail, (x, y))
        draw.text((x, y + high + 2), "+".join(name.split("+")[:3]), "black", font)
        draw.text((x, y + high + 14), "".join(f"+{option}" for option in name.split("+")[3:]), "black", font)
    return sheet.quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)


def animation() -> bytes:
    """Render a game of the solitaire played by the agent ``value``, as an animated WebP file."""
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
