"""Pictures of games: SVG, pixels, files, a window; and games as text.

There is one renderer, `quincunx_env.render.svg`, which needs no library. Pixels are rasterised from its SVG.

>>> from quincunx_env import Game, Rules, render
>>> game = Game.from_seed(Rules(), seed=0)
>>> render.to_svg(game, theme="light")[:4]
'<svg'
>>> render.frame(game).shape
(640, 960, 3)
"""

import os
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TypedDict, Unpack

import numpy as np
import numpy.typing as npt
from gymnasium.error import DependencyNotInstalled

from quincunx_env.core.arrays import Frame
from quincunx_env.core.game import SomeGame
from quincunx_env.core.integers import check_integer
from quincunx_env.registry import spec_of
from quincunx_env.render import svg
from quincunx_env.render.animation import animate
from quincunx_env.render.layout import HEIGHT, WIDTH
from quincunx_env.render.words import play_for_people, scene_for_people
from quincunx_env.utils.files import write_atomically

__all__ = ["HEIGHT", "WIDTH", "Frame", "Options", "animate", "frame", "in_colour", "save", "text", "to_svg"]


class Options(TypedDict, total=False):
    """Keyword arguments of `to_svg`, which `frame` and `save` take, too."""

    play: tuple[int, int] | None
    candidates: int | None
    values: Mapping[int, float] | npt.ArrayLike | None
    unit: str
    portion: svg.Portion
    theme: svg.ThemeName
    scale: float


def to_svg(
    game: SomeGame,
    seat: int | None = None,
    *,
    play: tuple[int, int] | None = None,
    candidates: int | None = None,
    values: Mapping[int, float] | npt.ArrayLike | None = None,
    unit: str = "",
    portion: svg.Portion = "table",
    theme: svg.ThemeName = "dark",
    scale: float = 1.0,
) -> str:
    """Draw a game as SVG, without any library. Places are named for people: B3 is column 1, row 2 of an action.

    Args:
        game: the game to show.
        seat: the seat from whose point of view the game is shown, the other hands face down. None shows all hands.
        play: (card, cell) of a candidate play, to show with its score in place of the last play.
        candidates: a card, to show its points and draws in every cell where it may be played.
        values: a number for each cell (NaN for none), or a mapping from some cells. Empty cells show their numbers, and
            a colour on a scale from the lowest to the highest. Of numbers [cards, cells], such as
            ``quincunx_env.arena.explain`` returns, each cell shows the highest and its card; a legal cell without one
            says so.
        unit: of the values, such as ``"points"``, shown in the corner of the grid.
        portion: the whole ``"table"``, the ``"grid"`` alone or the ``"hand"`` alone.
        theme: ``"dark"`` or ``"light"``.
        scale: factor of the size, 0.05 to 20.

    Returns:
        A complete SVG document without XML declaration. Cells have the attribute ``data-cell``, cards of the hand
        ``data-card``.

    Raises:
        ValueError: if there is no such seat, card, cell, portion or theme, the cell of the play is taken, or the scale
            is out of range.
    """
    spec = spec_of(game.rules)
    scene = scene_for_people(spec.scene(game, seat))
    numbers, cards = _by_cell(game, values)
    return svg.draw(
        scene,
        portion=portion,
        theme=theme,
        play=play_for_people(spec.candidate(game, *play)) if play else None,
        candidates=[]
        if candidates is None
        else [spec.candidate(game, candidates, cell) for cell in sorted(scene.legal)],
        values=numbers,
        cards=cards,
        unit=unit,
        scale=scale,
    )


def _by_cell(
    game: SomeGame, values: Mapping[int, float] | npt.ArrayLike | None
) -> tuple[dict[int, float], dict[int, int] | None]:
    """Return values by cell, and their cards if these are given."""
    if isinstance(values, Mapping):
        last = game.rules.num_cells - 1
        return {check_integer("cell", cell, 0, last): value for cell, value in values.items()}, None
    if values is None:
        return {}, None
    table = np.asarray(values, np.float64)
    if table.shape == (game.rules.num_cards, game.rules.num_cells):
        return svg.best_cards(table.tolist())
    return dict(enumerate(table.reshape(game.rules.num_cells).tolist())), None


def frame(game: SomeGame, seat: int | None = None, **options: Unpack[Options]) -> Frame:
    """Rasterise the picture that `to_svg` draws from the same arguments; no display is needed.

    Returns:
        uint8 [height, width, 3], red, green and blue; ``HEIGHT`` x ``WIDTH`` pixels for a whole table at scale 1.

    Raises:
        ValueError: as `to_svg`.
        DependencyNotInstalled: without thorvg-python.
    """
    drawn = to_svg(game, seat, **options)
    need("thorvg_python", "pictures are rasterised by thorvg-python")
    from quincunx_env.render.raster import rasterise

    return rasterise(drawn)


def save(path: Path | str, game: SomeGame, seat: int | None = None, **options: Unpack[Options]) -> None:
    """Write the picture that `to_svg` draws to a file.

    Args:
        path: of a file that ends in ``.svg``, which needs no library, or in ``.png``.
        game: the game to show.
        seat: the seat from whose point of view the game is shown.
        **options: as of `to_svg`.

    Raises:
        ValueError: as `to_svg`, or if the path ends otherwise.
        OSError: if the file cannot be written.
        DependencyNotInstalled: for a PNG file without thorvg-python.
    """
    path = Path(path)
    if path.suffix == ".svg":
        content = to_svg(game, seat, **options).encode()
    elif path.suffix == ".png":
        pixels = frame(game, seat, **options)
        from quincunx_env.render.raster import png

        content = png(pixels)
    else:
        raise ValueError(f"the file of a picture must end in .svg or .png, got {path}")
    write_atomically(path, lambda unfinished: unfinished.write_bytes(content))


def text(game: SomeGame, seat: int | None = None, *, colour: bool | None = None) -> str:
    """Describe a game as text. ``colour=True`` colours the suits; by default `in_colour` decides."""
    return spec_of(game.rules).scene(game, seat).text(in_colour() if colour is None else colour)


def in_colour() -> bool:
    """Return whether to write colours to stdout.

    A terminal gets colours unless ``TERM`` is ``dumb`` or ``NO_COLOR`` is set; with ``FORCE_COLOR`` every output does.
    """
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def need(module: str, reason: str) -> None:
    """Check that a library is installed.

    Raises:
        DependencyNotInstalled: if it is not, with the reason and the way out.
    """
    if find_spec(module) is None:
        raise DependencyNotInstalled(f'{reason}: pip install "quincunx_env[render]"')
