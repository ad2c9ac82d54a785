"""Games to look at: pictures as arrays, a window, text. pygame is loaded when the first picture is painted.

>>> from quincunx_env import Game, Rules, render
>>> game = Game.from_seed(Rules(), seed=0)
>>> render.frame(game).shape
(680, 1080, 3)
>>> render.layout(game).cell_at(80, 100)  # what lies at this pixel
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

from quincunx_env.core.game import BaseGame
from quincunx_env.registry import spec_of
from quincunx_env.render.layout import HEIGHT, WIDTH, Layout
from quincunx_env.render.layout import layout as layout_of

__all__ = ["HEIGHT", "WIDTH", "Layout", "Renderer", "frame", "in_colour", "layout", "text"]

Game = BaseGame[Any, Any]
Frame = npt.NDArray[np.uint8]


def frame(
    game: Game,
    seat: int | None = None,
    *,
    play: tuple[int, int] | None = None,
    values: Mapping[int, float] | npt.ArrayLike | None = None,
    scale: float = 1.0,
) -> Frame:
    """A picture of a game: the grid, the last play and what it scored, the seats, a hand, the pile.

    Nothing is shown on a screen, and none is needed.

    Args:
        game: what to show.
        seat: the seat that looks: the other hands lie face down. None shows all hands.
        play: (card, cell) of a play that might be made, to show with what it would score, in place of the last one.
        values: a number for each cell (NaN for none), or some by cell: the empty ones show theirs, and as a colour
            between the lowest and the highest.
        scale: 1 makes a picture of ``WIDTH`` x ``HEIGHT``.

    Returns:
        uint8 [height, width, 3], red, green and blue.

    Raises:
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
    """`frame` as a ``pygame.Surface``."""
    _need_pygame()
    from quincunx_env.render.paint import paint

    spec = spec_of(game.rules)
    scene = spec.scene(game, seat)
    candidate = spec.candidate(game, *play) if play else None
    if values is not None and not isinstance(values, Mapping):
        values = dict(enumerate(np.asarray(values, np.float64).reshape(game.rules.num_cells).tolist()))
    return paint(scene, layout_of(scene, scale), candidate, values)


def layout(game: Game, seat: int | None = None, *, scale: float = 1.0) -> Layout:
    """Where everything lies in the `frame` of a game that is seen from this seat."""
    return layout_of(spec_of(game.rules).scene(game, seat), scale)


def text(game: Game, seat: int | None = None, *, colour: bool | None = None) -> str:
    """A game as text; the suits in colour if wanted, by default where standard output takes it (`in_colour`)."""
    return spec_of(game.rules).ansi(game, seat, in_colour() if colour is None else colour)


def in_colour(stream: TextIO | None = None) -> bool:
    """Whether to write colours to a stream, standard output by default.

    A terminal gets them unless ``TERM`` is ``dumb`` or ``NO_COLOR`` is set; anything does where ``FORCE_COLOR`` is.
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
    """What an environment shows of its game, in the way that its ``render_mode`` says.

    Args:
        mode: None, ``"ansi"``, ``"rgb_array"`` or ``"human"``.
        title: of the window.
        fps: pictures per second in the window.
    """

    def __init__(self, mode: str | None, title: str, fps: float) -> None:
        self.mode = mode
        self.title = title
        self.fps = fps
        self._window: Any = None

    def render(self, game: Game) -> str | Frame | None:
        """What ``render`` returns: text, a picture, or None after showing the game in the window."""
        if self.mode == "ansi":
            return text(game, colour=False)
        if self.mode == "rgb_array":
            return frame(game)
        if self.mode == "human":
            self._show(game, wait=False)
        return None

    def moved(self, game: Game) -> None:
        """Show in the window, if that is the mode, that something has happened."""
        if self.mode == "human":
            self._show(game, wait=True)

    def _show(self, game: Game, wait: bool) -> None:
        if self._window is None:
            _need_pygame()
            from quincunx_env.render.window import Window

            self._window = Window(self.title, self.fps)
        self._window.show(game, wait)

    def close(self) -> None:
        """Close the window, if there is one; it may be asked for again and again."""
        if self._window is not None:
            self._window.close()
            self._window = None

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_window": None}  # a copy of an environment opens a window of its own
