"""Reference pictures: a small PNG of a position of every variant, compared by `tests/render/test_render.py`.

``python -m tests.pictures`` paints them again, after an intended change of appearance.
"""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pygame
from PIL import Image, ImageFilter

from quincunx_env import Deal, Game, Rules, parse_card, render
from tests.variants import EVERY_GAME, new_game, random_action

FOLDER = Path(__file__).parent / "golden" / "pictures"
SHRINK = 3
"""Pixels of a picture, in each direction, per pixel of its reference."""
PAINTED_WITH = "2.5.8"
"""The version of pygame-ce that painted the references."""
SAME_BUILD, OTHER_BUILD = 18, 50
TOLERANCE = SAME_BUILD if pygame.version.ver == PAINTED_WITH else OTHER_BUILD
"""Of 255. Another card makes more than 60, another digit at least 20 (a 6 that turns into an 8). Other builds of pygame
space letters slightly differently, so that only differences between cards are detected reliably."""


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


def _from_a_seat() -> render.Frame:
    game = position("corners-3")
    return render.frame(game, (game.mover + 1) % 3)


def _candidate() -> render.Frame:
    game = position("corners-3")
    return render.frame(game, game.mover, play=(game.hand(game.mover)[0], game.legal_cells()[0]))


def _values() -> render.Frame:
    game = Game.from_seed(Rules(), 5)
    card = game.hand(0)[2]
    return render.frame(game, values=[game.value(card, cell)[0] if game.legal[cell] else np.nan for cell in range(16)])


def _nearly_everything() -> render.Frame:
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
    return render.frame(Game.from_position(Rules(2), [deal], 0, plays, (rest[10:15], rest[:10]), **state))


PICTURES: dict[str, Callable[[], render.Frame]] = {
    **{name: lambda name=name: render.frame(position(name)) for name in EVERY_GAME},  # type: ignore[misc]
    "from a seat": _from_a_seat,
    "a candidate": _candidate,
    "values": _values,
    "nearly everything": _nearly_everything,
}
"""Every picture that has a reference: a position of each variant, then further features."""


def reference(name: str) -> Path:
    """Path of the reference of a picture."""
    return FOLDER / f"{name.replace(' ', '-')}.png"


def small(frame: render.Frame) -> Image.Image:
    """A picture in the size of its reference."""
    return Image.fromarray(frame).reduce(SHRINK)


def difference(one: Image.Image, other: Image.Image) -> float:
    """Largest difference between two pictures of one size in a colour of a pixel, of 255, both slightly blurred."""
    first, second = (image.convert("RGB").filter(ImageFilter.BoxBlur(1)) for image in (one, other))
    return float(np.abs(np.asarray(first, np.float64) - np.asarray(second, np.float64)).max())


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, painted in PICTURES.items():
        few = small(painted()).quantize(256, Image.Quantize.MAXCOVERAGE, kmeans=1, dither=Image.Dither.NONE)
        few.save(reference(name), optimize=True)
