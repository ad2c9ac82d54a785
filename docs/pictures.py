"""Pictures of the documentation: games, a contact sheet, animations."""

from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont, ImageSequence

from quincunx_agents.greedy import greedy
from quincunx_agents.networks.value import value
from quincunx_env import Batch, Rules, render, spiral
from quincunx_env.arena.benchmark import baselines
from quincunx_env.arena.curves import Curve, draw_learning_curves
from quincunx_env.arena.statistics import Estimate
from quincunx_env.core.policy import policy_for
from quincunx_env.core.rules import BaseRules
from quincunx_env.notation.record import Seeded
from quincunx_env.play.session import Session
from quincunx_env.play.web.rules_pictures import scene_of
from quincunx_env.quincunx.rules_card import examples
from quincunx_env.registry import make_observer, spec_of
from quincunx_env.render import svg
from quincunx_env.render.animation import animate
from quincunx_env.utils.files import write_atomically
from tests.pictures import position
from tests.variants import EVERY_GAME
from train.td_lambda.results import stored_runs

HERE = Path(__file__).parent


def update(path: Path, draw: Callable[[Path], object]) -> None:
    """Write a picture, unless the file shows the same: other versions of a library only encode it differently."""
    with TemporaryDirectory() as folder:
        new = Path(folder, path.name)
        draw(new)
        if not (path.exists() and _shown(path) == _shown(new)):
            write_atomically(path, lambda unfinished: unfinished.write_bytes(new.read_bytes()))


def _shown(path: Path) -> list[tuple[object, bytes]]:
    """Return the duration and the pixels of each frame."""
    with Image.open(path) as image:
        frames = ImageSequence.Iterator(image)
        return [(frame.info.get("duration"), frame.convert("RGBA").tobytes()) for frame in frames]


GAMES: dict[str, BaseRules] = {
    "solitaire": Rules(),
    "two-players": Rules(num_players=2),
    "open-start": Rules(num_players=3, start="open"),
    "spiral": spiral.Rules(deals=1),
}
"""By file name in ``docs/pictures``."""


def games() -> dict[Path, str]:
    """Draw a game of the greedy agent for each of `GAMES`, the points of a card, and the rules."""
    rng = np.random.default_rng(0)
    rendered = {}
    for name, rules in GAMES.items():
        observer = make_observer(rules, preview=True)
        batch: Any = spec_of(rules).Batch(rules, 1)
        batch.reset(seed=8)
        shown = [render.to_svg(batch.to_game(0))]
        while not batch.over.all():
            batch.step(greedy(observer.observe_batch(batch), batch.mask, rng))
            shown.append(render.to_svg(batch.to_game(0)))
        rendered[HERE / "pictures" / f"{name}.svg"] = animate(shown)
    game = position("corners-3")
    rendered[HERE / "pictures" / "candidates.svg"] = render.to_svg(
        game, game.mover, candidates=game.hand(game.mover)[-1], theme="light"
    )
    return rendered | {HERE / "pictures" / f"{name}.svg": drawn for name, (drawn, _) in rules_in_pictures().items()}


def rules_in_pictures() -> dict[str, tuple[str, str]]:
    """Return pictures and sentences of the rules, by file name in ``docs/pictures``."""
    rules = Rules()
    shown = [(svg.draw_part(*scene_of(rules, each), svg.THEMES["dark"]), each.text) for each in examples(rules)]
    return {f"rule-{number}": both for number, both in enumerate(shown, 1)}


CURVE = HERE / "learning_curve.png"


def draw_learning_curve(path: Path) -> None:
    """Draw the mean of the runs of ``make train``, and two agents."""
    histories = zip(*(run["validation"] for run in stored_runs("solitaire")), strict=True)
    entries = [
        ([entry["steps"] for entry in at_once], [entry["variants"]["solitaire"]["adjusted_mean"] for entry in at_once])
        for at_once in histories
    ]
    steps = [float(np.mean(each)) for each, _ in entries]
    estimates = zip(*(Estimate.of_mean(np.array(means)) for _, means in entries), strict=True)
    draw_learning_curves(
        path,
        {"make train, three runs": Curve(steps, *map(list, estimates))},
        ylabel="adjusted mean of a round",
        title="Solitaire",
        references={name: baselines()["solitaire", name].score.value for name in ("greedy", "heuristic")},
    )


SHEET = HERE / "contact_sheet.png"
ANIMATION = HERE / "solitaire.webp"
MANY = HERE / "games.webp"
COLUMNS = 8
SECONDS, LAST_SECONDS = 1.8, 6.0
"""Duration of a frame of the animation, and of the last frame."""
MANY_SIDE = (6, 3)
"""Columns and rows of the animation of many games."""


def contact_sheet() -> Image.Image:
    """Draw small pictures of all variants with their names."""
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
    """Render a solitaire game of ``value`` as an animated WebP file."""
    session = Session(Rules(), ["value"], Seeded(1))
    frames = [render.frame(session.game, scale=0.75)]
    while session.mover is not None:
        session.play(session.choose())
        frames.append(render.frame(session.game, scale=0.75))
    return _webp(list(map(Image.fromarray, frames)), SECONDS)


def many_games() -> bytes:
    """Render many solitaire games of ``value`` as an animated WebP."""
    rules, (columns, rows) = Rules(), MANY_SIDE
    batch, observer, policy = Batch(rules, columns * rows), make_observer(rules, preview=True), policy_for(value, rules)
    batch.reset(seed=0)
    frames = [side_by_side(batch)]
    while not batch.over.all():
        playing = np.flatnonzero(~batch.over)
        positions = batch.fork(playing)
        actions = policy(observer.observe_batch(positions), positions.mask, np.random.default_rng(0))
        batch.step(actions, playing)
        frames.append(side_by_side(batch))
    return _webp(frames, SECONDS / 2)


def side_by_side(batch: Batch) -> Image.Image:
    """Draw the grids of all games with their points."""
    columns, rows = MANY_SIDE
    grids = [
        Image.fromarray(render.frame(game, portion="grid", scale=0.3))
        for game in map(batch.to_game, range(len(batch.over)))
    ]
    wide, high = grids[0].size
    label = 22
    sheet = Image.new("RGB", (columns * wide, rows * (high + label)), svg.THEMES["dark"].table)
    draw, font = ImageDraw.Draw(sheet), ImageFont.load_default(15)
    for number, grid in enumerate(grids):
        x, y = number % columns * wide, number // columns * (high + label)
        sheet.paste(grid, (x, y))
        words, colour = f"{batch.totals[number, 0]} points", svg.THEMES["dark"].text
        draw.text((x + wide / 2, y + high + 4), words, colour, font, anchor="ma")
    return sheet


def _webp(frames: list[Image.Image], seconds: float) -> bytes:
    """Return an animated WebP file that shows the last frame longer."""
    first, *rest = frames
    milliseconds = [round(1000 * duration) for duration in (*[seconds] * len(rest), LAST_SECONDS)]
    written = BytesIO()
    first.save(
        written, "WEBP", save_all=True, append_images=rest, duration=milliseconds, loop=0, lossless=True, method=6
    )
    return written.getvalue()
