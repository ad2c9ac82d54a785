"""A window that shows a game, for ``render_mode="human"``."""

import pygame

from quincunx_env.core.game import SomeGame
from quincunx_env.render import frame
from quincunx_env.render.layout import HEIGHT, WIDTH
from quincunx_env.render.svg import MIN_SCALE


class Window:
    """Window that shows games at up to ``fps`` pictures per second. Once it has been closed, `show` does nothing."""

    def __init__(self, title: str, fps: float) -> None:
        self.title = title
        self.fps = fps
        self.closed = False
        self._clock = pygame.time.Clock()

    def show(self, game: SomeGame, wait: bool = True) -> None:
        """Show a game with all hands.

        Args:
            game: the game to show.
            wait: return when 1 / ``fps`` seconds have passed since the last call that waited.

        Raises:
            RuntimeError: where no window can be opened.
        """
        if self.closed:
            return
        surface = (pygame.display.get_surface() if pygame.display.get_init() else None) or self._open()
        for event in pygame.event.get():
            if event.type == pygame.QUIT:
                self.close()
                return
        scale = max(min(surface.get_width() / WIDTH, surface.get_height() / HEIGHT), MIN_SCALE)
        pixels = frame(game, scale=scale)
        shown = pygame.image.frombuffer(pixels.tobytes(), (pixels.shape[1], pixels.shape[0]), "RGB")
        surface.fill(shown.get_at((0, 0)))
        surface.blit(shown, shown.get_rect(center=surface.get_rect().center))
        pygame.display.flip()
        if wait:
            self._clock.tick(self.fps)

    def _open(self) -> pygame.Surface:
        """Open the window of pygame, which has a single one."""
        try:
            pygame.display.init()
            surface = pygame.display.set_mode((WIDTH, HEIGHT), pygame.RESIZABLE)
        except pygame.error as error:
            raise RuntimeError(
                f"no window can be opened here ({error}): use render_mode='rgb_array', which needs no display"
            ) from None
        pygame.display.set_caption(self.title)
        return surface

    def close(self) -> None:
        """Close the window."""
        if not self.closed:
            self.closed = True
            pygame.display.quit()
