"""Reference pictures: SVG of various positions, and a few as pixels, compared by `tests/render/test_render.py`.

``python -m tests.pictures`` draws them again, after an intended change of appearance.
"""

import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageFilter

from quincunx_env import Deal, Game, Rules, parse_card, render
from quincunx_env.render.raster import rasterise
from tests.variants import EVERY_GAME, new_game, random_action

FOLDER = Path(__file__).parent / "golden" / "pictures"
SHRINK = 2
"""Pixels of a picture, in each direction, per pixel of its reference."""
TOLERANCE = 18
"""Of 255. Another card makes more than 60, another digit at least 20 (a 6 that turns into an 8)."""


def position(name: str) -> Any:
    """A position of a variant, at various stages of the game, after mostly good plays."""
    rules = EVERY_GAME[name]
    number = list(EVERY_GAME).index(name)
    rng = random.Random(number)
    game = new_game(rules, number)
    moves = 3 + (number * 7) % 40
    for _ in range(moves):
        if game.over:
            break
        game.step(_good(game, rng))
    return game


def _good(game: Any, rng: random.Random) -> int:
    actions = [random_action(game, rng) for _ in range(12)]
    if not isinstance(game, Game) or game.pending:
        return actions[0]
    plays = [divmod(action, game.rules.num_cells) for action in actions]
    values = [sum((points, 6 * draws)) for points, draws in (game.value(*play) for play in plays)]
    return actions[values.index(max(values))]


def nearly_everything() -> Game:
    """The play of the rules in which most parts come together (RULES.md 1.4.5)."""
    rows = ("6LK .. 2SY .. 3MV", ".. AS CS CM ..", ".. .. 9VY .. ..", ".. .. 8MS .. ..", "7VY .. .. .. 4MS")
    board = {cell: parse_card(name) for cell, name in enumerate(" ".join(rows).split()) if name != ".."}
    rest = [card for card in range(36) if card not in board.values()]
    corners = tuple(board[cell] for cell in (0, 4, 12, 20, 24))
    laid = [cell for cell in board if cell not in (0, 4, 7, 12, 20, 24)]
    hands = tuple(board[cell] for cell in (*laid, 7)), tuple(rest[:10])
    deal = Deal(corners, ((*hands[0], *rest[10:15]), hands[1]), tuple(rest[15:]))
    plays = [(board[cell], cell) for cell in (*laid, 7)]
    state: dict[str, Any] = {"scores": [50, 0], "totals": [50, 0], "mover": 1, "pending": None}
    state |= {"drawn": 0, "over": False, "lost": False}
    return Game.from_position(Rules(2), [deal], 0, plays, (rest[10:15], rest[:10]), **state)


def _end(name: str) -> Any:
    """The end of a game of random plays."""
    game, rng = new_game(EVERY_GAME[name], 0), random.Random(0)
    while not game.over:
        game.step(random_action(game, rng))
    return game


def _from_a_seat() -> str:
    game = position("corners-3")
    return render.to_svg(game, (game.mover + 1) % 3, theme="light")


def _candidate() -> str:
    game = position("corners-3")
    return render.to_svg(game, game.mover, play=(game.hand(game.mover)[0], game.legal_cells()[0]))


def _candidates() -> str:
    game = position("open-2")
    return render.to_svg(game, game.mover, candidates=game.hand(game.mover)[0], portion="grid", theme="light")


def _values() -> str:
    game = Game.from_seed(Rules(), 5)
    card = game.hand(0)[2]
    values = [game.value(card, cell)[0] if game.legal[cell] else np.nan for cell in range(16)]
    return render.to_svg(game, candidates=card, values=values)


def _of(name: str) -> Callable[[], str]:
    return lambda: render.to_svg(position(name))


PICTURES: dict[str, Callable[[], str]] = {
    **{name: _of(name) for name in ("solitaire", "open-4+excuse+pawns+flush+simpleton", "spiral-play+fifteens-2")},
    "from a seat": _from_a_seat,
    "hand": lambda: render.to_svg(position("spiral-play+fifteens-2"), 0, portion="hand"),
    "a candidate": _candidate,
    "candidates": _candidates,
    "values": _values,
    "nearly everything": lambda: render.to_svg(nearly_everything(), theme="light"),
    "end of a match": lambda: render.to_svg(_end("corners-3+match"), 1),
    "end of the spiral": lambda: render.to_svg(_end("spiral-end-1")),
}
"""SVG of every picture that has a reference."""

RASTERISED = ("from a seat", "nearly everything", "open-4+excuse+pawns+flush+simpleton")
"""Those that have a reference in pixels, too."""


def reference(name: str, suffix: str = ".svg") -> Path:
    """Path of the reference of a picture."""
    return FOLDER / f"{name.replace(' ', '-')}{suffix}"


def without_letters(svg: str) -> str:
    """A picture without the outlines of its letters, which are the same in all of them; the words remain as labels."""
    return re.sub(r'<path id="[tp][0-9a-f]+" d="[^"]*"/>\n', "", svg)


def small(frame: render.Frame) -> Image.Image:
    """A picture in the size of its reference."""
    return Image.fromarray(frame).reduce(SHRINK)


def difference(one: Image.Image, other: Image.Image) -> float:
    """Largest difference between two pictures of one size in a colour of a pixel, of 255, both slightly blurred."""
    first, second = (image.convert("RGB").filter(ImageFilter.BoxBlur(1)) for image in (one, other))
    return float(np.abs(np.asarray(first, np.float64) - np.asarray(second, np.float64)).max())


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, drawn in PICTURES.items():
        reference(name).write_text(without_letters(drawn()), encoding="utf-8")
    for name in RASTERISED:
        few = small(rasterise(PICTURES[name]())).quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
        few.save(reference(name, ".png"), optimize=True)
