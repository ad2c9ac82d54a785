"""The ``render_mode`` of environments. What draws is imported when something is drawn."""

from typing import Any

from quincunx_env.core.arrays import Frame
from quincunx_env.core.game import SomeGame

METADATA: dict[str, Any] = {"render_modes": ["ansi", "rgb_array", "human"], "render_fps": 2}
"""Metadata of the environments of one game. The last is pictures per second in the window."""


class Renderer:
    """Implementation of the ``render_mode`` of an environment.

    Args:
        mode: the ``render_mode``: None, ``"ansi"``, ``"rgb_array"`` or ``"human"``.
        title: title of the window.
    """

    def __init__(self, mode: str | None, title: str) -> None:
        self.mode = mode
        self.title = title
        self._window: Any = None

    def render(self, game: SomeGame) -> str | Frame | None:
        """Return text or a picture; with ``"human"`` show the game."""
        from quincunx_env import render

        if self.mode == "ansi":
            return render.text(game, colour=False)
        if self.mode == "rgb_array":
            return render.frame(game)
        if self.mode == "human":
            self._show(game, wait=False)
        return None

    def moved(self, game: SomeGame) -> None:
        """Update the window after a step; does nothing in other modes."""
        if self.mode == "human":
            self._show(game, wait=True)

    def _show(self, game: SomeGame, wait: bool) -> None:
        if self._window is None:
            from quincunx_env import render

            render.need("pygame", "windows are opened by pygame")
            from quincunx_env.render.window import Window

            self._window = Window(self.title, METADATA["render_fps"])
        self._window.show(game, wait)

    def close(self) -> None:
        """Close the window, if there is one; may be called repeatedly."""
        if self._window is not None:
            self._window.close()
            self._window = None

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_window": None}  # a copy of an environment opens another window
