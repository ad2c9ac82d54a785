"""Rendering of games as RGB arrays, in a window and as text. pygame is imported for the first picture.

>>> from quincunx_env import Game, Rules, render
>>> game = Game.from_seed(Rules(), seed=0)
>>> render.frame(game).shape
(680, 1080, 3)
>>> render.layout(game).cell_at(80, 100)  # the cell at this pixel
0
"""

import os
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any, TextIO

import numpy as np
import numpy.typing as npt
from gymnasium.error import DependencyNotInstalled

from quincunx_env.core.game import Game
from quincunx_env.core.integers import check_integer
from quincunx_env.registry import spec_of
from quincunx_env.render import svg
from quincunx_env.render.layout import HEIGHT, WIDTH, TableLayout, layout_scene

__all__ = [
    "HEIGHT",
    "WIDTH",
    "Frame",
    "Renderer",
    "TableLayout",
    "frame",
    "in_colour",
    "layout",
    "svg",
    "text",
    "to_svg",
]

Frame = npt.NDArray[np.uint8]
"""An RGB picture, uint8 [height, width, 3]."""


def frame(
    game: Game,
    seat: int | None = None,
    *,
    play: tuple[int, int] | None = None,
    values: Mapping[int, float] | npt.ArrayLike | None = None,
    scale: float = 1.0,
) -> Frame:
    """Paint a picture of a game: the grid, the last play with its score, the seats, a hand, the pile.

    No display is needed.

    Args:
        game: the game to show.
        seat: the seat from whose point of view the game is shown, the other hands face down. None shows all hands.
        play: (card, cell) of a candidate play, to show with its score in place of the last play.
        values: a number for each cell (NaN for none), or a mapping from some cells. Empty cells show their numbers, and
            a colour on a scale from the lowest to the highest.
        scale: factor of the size; 1 gives ``WIDTH`` x ``HEIGHT`` pixels.

    Returns:
        uint8 [height, width, 3], red, green and blue.

    Raises:
        ValueError: if there is no such seat, card or cell, or the cell of the play is taken.
        DependencyNotInstalled: without pygame.
    """
    surface = picture(game, seat, play=play, values=values, scale=scale)
    import pygame

    return np.ascontiguousarray(pygame.surfarray.array3d(surface).transpose(1, 0, 2))


def picture(
    game: Game,
    seat: int | None = None,
    *,
    play: tuple[int, int] | None = None,
    values: Mapping[int, float] | npt.ArrayLike | None = None,
    scale: float = 1.0,
) -> Any:
    """Paint the picture of `frame`, with the same arguments, as a ``pygame.Surface``."""
    _need_pygame()
    from quincunx_env.render.paint import paint

    spec = spec_of(game.rules)
    scene = spec.scene(game, seat)
    candidate = spec.candidate(game, *play) if play else None
    return paint(scene, layout_scene(scene, scale), candidate, _by_cell(game, values))


def to_svg(
    game: Game,
    seat: int | None = None,
    *,
    play: tuple[int, int] | None = None,
    candidates: int | None = None,
    values: Mapping[int, float] | npt.ArrayLike | None = None,
    portion: svg.Portion = "table",
    theme: svg.ThemeName = "dark",
    scale: float = 1.0,
) -> str:
    """Draw a game as SVG. Needs no library.

    Args:
        game: the game to show.
        seat: the seat from whose point of view the game is shown, the other hands face down. None shows all hands.
        play: (card, cell) of a candidate play, to show with its score in place of the last play.
        candidates: a card, to show its points and draws in every cell where it may be played.
        values: a number for each cell (NaN for none), or a mapping from some cells. Empty cells show their numbers, and
            a colour on a scale from the lowest to the highest.
        portion: the whole ``"table"``, the ``"grid"`` alone or the ``"hand"`` alone.
        theme: ``"dark"`` or ``"light"``.
        scale: factor of the size.

    Returns:
        A complete SVG document without XML declaration. Cells have the attribute ``data-cell``, cards of the hand
        ``data-card``.

    Raises:
        ValueError: if there is no such seat, card, cell, portion or theme, or the cell of the play is taken.
    """
    spec = spec_of(game.rules)
    scene = spec.scene(game, seat)
    return svg.draw(
        scene,
        portion=portion,
        theme=theme,
        play=spec.candidate(game, *play) if play else None,
        candidates=[]
        if candidates is None
        else [spec.candidate(game, candidates, cell) for cell in sorted(scene.legal)],
        values=_by_cell(game, values),
        scale=scale,
    )


def _by_cell(game: Game, values: Mapping[int, float] | npt.ArrayLike | None) -> dict[int, float]:
    if isinstance(values, Mapping):
        last = game.rules.num_cells - 1
        return {check_integer("cell", cell, 0, last): value for cell, value in values.items()}
    if values is None:
        return {}
    return dict(enumerate(np.asarray(values, np.float64).reshape(game.rules.num_cells).tolist()))


def layout(game: Game, seat: int | None = None, *, scale: float = 1.0) -> TableLayout:
    """Lay out the `frame` of a game, seen from this seat."""
    return layout_scene(spec_of(game.rules).scene(game, seat), scale)


def text(game: Game, seat: int | None = None, *, colour: bool | None = None) -> str:
    """Describe a game as text, the suits in colour with ``colour=True``; by default as `in_colour` decides."""
    return spec_of(game.rules).ansi(game, seat, in_colour() if colour is None else colour)


def in_colour(stream: TextIO | None = None) -> bool:
    """Whether to write colours to a stream, standard output by default.

    A terminal gets colours unless ``TERM`` is ``dumb`` or ``NO_COLOR`` is set; with ``FORCE_COLOR`` every stream does.
    """
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return (stream or sys.stdout).isatty() and os.environ.get("TERM") != "dumb"


def _need_pygame() -> None:
    if find_spec("pygame") is None:
        raise DependencyNotInstalled('pictures are painted with pygame: pip install "quincunx_env[render]"')


class Renderer:
    """Implements the ``render_mode`` of an environment.

    Args:
        mode: the ``render_mode``: None, ``"ansi"``, ``"rgb_array"`` or ``"human"``.
        title: title of the window.
        fps: pictures per second in the window.
    """

    def __init__(self, mode: str | None, title: str, fps: float) -> None:
        self.mode = mode
        self.title = title
        self.fps = fps
        self._window: Any = None

    def render(self, game: Game) -> str | Frame | None:
        """Return text or a picture, or show the game in the window and return None."""
        if self.mode == "ansi":
            return text(game, colour=False)
        if self.mode == "rgb_array":
            return frame(game)
        if self.mode == "human":
            self._show(game, wait=False)
        return None

    def moved(self, game: Game) -> None:
        """Update the window after a step; does nothing in other modes."""
        if self.mode == "human":
            self._show(game, wait=True)

    def _show(self, game: Game, wait: bool) -> None:
        if self._window is None:
            _need_pygame()
            from quincunx_env.render.window import Window

            self._window = Window(self.title, self.fps)
        self._window.show(game, wait)

    def close(self) -> None:
        """Close the window, if there is one. May be called repeatedly."""
        if self._window is not None:
            self._window.close()
            self._window = None

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_window": None}  # a copy of an environment opens a window of its own
