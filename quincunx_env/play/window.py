"""Graphical interface: play with the mouse (click a card, then a cell, or drag the card there), or replay a record.

Pictures come from `quincunx_env.render`, the logic from `quincunx_env.play.session` and `quincunx_env.play.viewer`.
Agents run in a worker thread, so that the window stays responsive.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pygame

from quincunx_env.core.game import IllegalAction
from quincunx_env.core.scene import Scene, ScoredPlay
from quincunx_env.notation.record import Record, RecordedAction
from quincunx_env.notation.text import play_score, print_action
from quincunx_env.play.session import Session
from quincunx_env.play.viewer import KEY_STEPS, Viewer
from quincunx_env.registry import spec_of
from quincunx_env.render.layout import HEIGHT, WIDTH, Rect, TableLayout, layout_scene
from quincunx_env.render.raster import rasterise
from quincunx_env.render.svg import INK, MIN_SCALE, THEMES, draw
from quincunx_env.render.window import open_display, surface_of

BAR = 44
"""Height of the line below the picture, with a message and buttons, at scale 1."""
FPS = 30
"""Rate at which the window handles events and is drawn, per second."""


THEME = THEMES["dark"]


class Button(NamedTuple):
    """A button with its keyboard shortcut."""

    key: str
    """Character of the shortcut; empty for none."""
    label: str
    act: Callable[[], None]
    strong: bool = False
    """Whether it is highlighted."""


class _Query(NamedTuple):
    """A call of an agent in the worker thread."""

    number: int
    """Number of actions taken before the call."""
    hint: bool
    """Whether the adviser was called, not the agent to move."""
    future: Future[int | None]


_NEVER = 2**62
"""A time in milliseconds that is not reached: an agent that has failed is not called again for the same position."""


class SceneWindow:
    """A window with the picture of a scene; below it a message and buttons."""

    scene: Scene
    """The scene that is shown; set by subclasses."""

    def __init__(self) -> None:
        self.message = ""
        self._shown: tuple[object, ...] = ()
        instead = "without --window the terminal is used"
        self._surface = open_display("Quincunx", WIDTH, HEIGHT + BAR, instead)
        self._clock = pygame.time.Clock()

    # --- Event loop --------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Run until the window is closed."""
        while self.step():
            self._clock.tick(FPS)

    def step(self) -> bool:
        """Handle the events since the last step and draw; False when the window has been closed."""
        for event in pygame.event.get():
            if event.type == pygame.QUIT:
                self._close()
                return False
            if event.type == pygame.MOUSEMOTION:
                self._move(*event.pos)
            elif event.type == pygame.MOUSEBUTTONDOWN and event.button == 1:
                button = next((button for button, rect in self.bar() if rect.holds(*event.pos)), None)
                if button:
                    button.act()
                else:
                    self._press(*event.pos)
            elif event.type == pygame.MOUSEBUTTONUP and event.button == 1:
                self._release(*event.pos)
            elif event.type == pygame.KEYDOWN:
                self._key(event.key, event.unicode)
        self._update()
        self._show()
        return True

    def _close(self) -> None:
        pygame.display.quit()

    def _update(self) -> None:
        """Handle changes that come without an event; called at every step."""

    # --- Input -------------------------------------------------------------------------------------------------------

    def buttons(self) -> list[Button]:
        """The buttons below the picture, from left to right."""
        raise NotImplementedError

    def _press(self, x: float, y: float) -> None:
        """Handle a mouse button pressed outside the buttons."""

    def _release(self, x: float, y: float) -> None:
        """Handle a mouse button released."""

    def _move(self, x: float, y: float) -> None:
        """Handle a movement of the mouse."""

    def _key(self, key: int, written: str) -> None:
        for button in self.buttons():
            if written and written == button.key:
                button.act()

    # --- Output ------------------------------------------------------------------------------------------------------

    @property
    def scale(self) -> float:
        """Scale of the picture that fits the window."""
        width, height = self._surface.get_size()
        return max(min(width / WIDTH, height / (HEIGHT + BAR)), MIN_SCALE)

    @property
    def where(self) -> TableLayout:
        """Layout of the picture at scale 1, whose upper left corner is at `_origin` in the window."""
        return layout_scene(self.scene)

    def _px(self, units: float) -> int:
        """Convert a length at scale 1 to pixels."""
        return round(units * self.scale)

    def _text(self, words: str, colour: str) -> pygame.Surface:
        if not pygame.font.get_init():  # other users of pygame may end it at any time
            pygame.font.init()
        return pygame.font.Font(None, max(self._px(22), 1)).render(words, True, colour)

    @property
    def _origin(self) -> tuple[int, int]:
        width, height = self._surface.get_size()
        return round((width - WIDTH * self.scale) / 2), round((height - (HEIGHT + BAR) * self.scale) / 2)

    def _inside(self, x: float, y: float) -> tuple[float, float]:
        return (x - self._origin[0]) / self.scale, (y - self._origin[1]) / self.scale

    def bar(self) -> list[tuple[Button, Rect]]:
        """The buttons and their rectangles in the window; placed from the right edge."""
        left, top = self._origin
        placed = []
        x, y = left + self._px(940), top + self._px(HEIGHT + 4)
        for button in reversed(self.buttons()):
            width = self._text(button.label, THEME.text).get_width() + self._px(24)
            x -= width
            placed.append((button, Rect(x, y, width, self._px(30))))
            x -= self._px(8)
        return placed[::-1]

    def _picture(self) -> pygame.Surface:
        return surface_of(rasterise(draw(self.scene, scale=self.scale)))

    def _line(self) -> str:
        """The message below the picture."""
        return self.message

    def _state(self) -> tuple[object, ...]:
        """Values on which the picture depends besides size, scene and message; it is drawn again when they change."""
        return ()

    def _show(self) -> None:
        surface = pygame.display.get_surface()
        assert surface is not None
        if self._shown == (shown := (surface.get_size(), self.scene, self._line(), *self._state())):
            return
        self._shown, self._surface = shown, surface
        surface.fill(THEME.table)
        surface.blit(self._picture(), self._origin)
        for button, rect in self.bar():
            self._button(button, rect)
        line = self._text(self._line(), THEME.quiet)
        left, top = self._origin
        surface.blit(line, (left + self._px(20), top + self._px(HEIGHT + 19) - line.get_height() // 2))
        pygame.display.flip()

    def _button(self, button: Button, rect: Rect) -> None:
        fill, ink = (THEME.accent, INK) if button.strong else (THEME.box, THEME.text)
        pygame.draw.rect(self._surface, fill, pygame.Rect(*map(round, rect)), border_radius=self._px(8))
        words = self._text(button.label, ink)
        x, y = rect.centre
        self._surface.blit(words, (round(x - words.get_width() / 2), round(y - words.get_height() / 2)))


def with_names(scene: Scene, names: Sequence[str]) -> Scene:
    """The scene with names of the players beside their seats; unchanged if ``names`` is empty."""
    if not names:
        return scene
    seats = [seat._replace(name=f"{seat.name}: {name}") for seat, name in zip(scene.seats, names, strict=True)]
    return replace(scene, seats=seats)


def summary(turn: RecordedAction) -> str:
    """An action and its gains in a short line; the picture shows the parts of its score."""
    gains = " ".join(f"{gain:+}" for gain in turn.gains)
    return f"seat {turn.seat}: {turn.text}" + (f", gains {gains}" if any(turn.gains) else "")


class PlayWindow(SceneWindow):
    """A window in which a session is played.

    Args:
        session: the game.
        path: file of the game, saved after every play.
        new_path: makes a path for a further game.
        pause: seconds for which an agent's play is shown before the next agent is called.
    """

    def __init__(self, session: Session, path: Path, new_path: Callable[[], Path], pause: float = 0.8) -> None:
        super().__init__()
        self.session = session
        self.path = path
        self.new_path = new_path
        self.pause = pause
        self.card: int | None = None
        """The chosen card of the hand."""
        self.cell: int | None = None
        """The legal cell under the mouse, or that of a hint."""
        self.points = False
        """Whether all legal cells show the points that the chosen card would score there."""
        self.announced = 0
        """Simpleton: the number entered so far."""
        self._worker = ThreadPoolExecutor(max_workers=1)
        self._query: _Query | None = None
        self._wait_until = 0
        self._changed()

    # --- The course of the game --------------------------------------------------------------------------------------

    def _close(self) -> None:
        self._worker.shutdown(wait=False, cancel_futures=True)
        super()._close()

    def _changed(self) -> None:
        """Show the position after a play, an undo or a new game."""
        game = self.session.game
        self.scene = with_names(spec_of(game.rules).scene(game, self.session.seat), self.session.names)
        self.card = self.cell = None
        self.announced = 0
        self._wait_until = 0

    def _update(self) -> None:
        """Call the agent to move in the worker thread, and apply the action it has chosen."""
        session, number = self.session, len(self.session.turns)
        if self._query and self._query.future.done():
            query, self._query = self._query, None
            if query.number == number:  # otherwise the position has changed meanwhile
                self._handle(query)
        agent = None if session.human_to_move else session.mover
        if agent is not None and self._query is None and pygame.time.get_ticks() >= self._wait_until:
            self.message = f"{session.names[agent]} is thinking ..."
            self._query = _Query(number, False, self._worker.submit(session.choose))

    def _handle(self, query: _Query) -> None:
        try:
            action = query.future.result()
        except Exception as error:  # agents of other packages may raise anything
            self.message = f"{type(error).__name__}: {error}"
            self._wait_until = _NEVER
            return
        if query.hint:
            self._hint(action)
        elif action is not None:
            self._apply_action(action)
            self._wait_until = pygame.time.get_ticks() + round(1000 * self.pause)

    # --- Input -------------------------------------------------------------------------------------------------------

    @property
    def announcing(self) -> bool:
        """Whether a human has to announce points."""
        return self.session.human_to_move and self.scene.pending is not None

    def buttons(self) -> list[Button]:
        """The buttons below the picture: those of an announcement while one is due."""
        if self.announcing:
            steps = [Button("", f"{step:+}", partial(self._count, step)) for step in (-10, -1, 1, 10)]
            return [
                *steps,
                Button("return", f"announce {self.announced}", self._announce, strong=True),
                self._undo_button,
            ]
        return [
            Button("h", "Hint", self._ask_hint),
            Button("p", "Points", self._toggle_points, strong=self.points),
            self._undo_button,
            Button("s", "Save", self._save_with_message),
            Button("n", "New game", self._new),
        ]

    @property
    def _undo_button(self) -> Button:
        return Button("u", "Undo", self._undo)

    def _press(self, x: float, y: float) -> None:
        """Choose a card; with a single legal cell, a second click plays it."""
        card = self.where.card_at(*self._inside(x, y))
        if card is None or not self.session.human_to_move or self.announcing:
            return
        if card == self.card and len(self.scene.legal) == 1:
            self._play(card, *self.scene.legal)
            return
        self.card = card
        self.cell = next(iter(self.scene.legal)) if len(self.scene.legal) == 1 else None

    def _release(self, x: float, y: float) -> None:
        """Play the chosen card into the cell under the mouse, after a click or a drag."""
        cell = self.where.cell_at(*self._inside(x, y))
        if self.card is not None and cell in self.scene.legal and not self.announcing:
            self._play(self.card, cell)

    def _move(self, x: float, y: float) -> None:
        cell = self.where.cell_at(*self._inside(x, y))
        if cell in self.scene.legal:
            self.cell = cell
        elif len(self.scene.legal) > 1:
            self.cell = None

    def _key(self, key: int, written: str) -> None:
        if self.announcing and key == pygame.K_RETURN:
            self._announce()
        elif self.announcing and written.isdigit():
            self.announced = 10 * self.announced + int(written) * (-1 if self.announced < 0 else 1)
        elif self.announcing and written == "-":
            self.announced = -self.announced
        elif self.announcing and key == pygame.K_BACKSPACE:
            self.announced = int(self.announced / 10)
        super()._key(key, written)

    def _play(self, card: int, cell: int) -> None:
        rules = self.session.rules
        self._apply_action(spec_of(rules).notation.encode_play(rules, card, cell))

    def _announce(self) -> None:
        self._apply_text(f"announce {self.announced}")

    def _apply_text(self, words: str) -> None:
        try:
            action = self.session.parse(words)
        except IllegalAction as error:
            self.message = str(error)
        else:
            self._apply_action(action)

    def _apply_action(self, action: int) -> None:
        try:
            turn = self.session.play(action)
        except IllegalAction as error:
            self.message = str(error)
            return
        self.message = summary(turn)
        self._save()
        self._changed()

    def _count(self, step: int) -> None:
        self.announced += step

    def _undo(self) -> None:
        try:
            self.session.undo()
        except ValueError as error:
            self.message = str(error)
            return
        self.message = "taken back"
        self._save()
        self._changed()

    def _toggle_points(self) -> None:
        self.points = not self.points

    def _save(self) -> bool:
        try:
            self.session.save(self.path)
        except OSError as error:
            self.message = f"the game cannot be saved to {self.path}: {error}"
            return False
        return True

    def _save_with_message(self) -> None:
        if self._save():
            self.message = f"saved to {self.path}"

    def _new(self) -> None:
        self.session, self.path = self.session.new_game(), self.new_path()
        self.message = ""
        self._changed()

    # --- Hints -------------------------------------------------------------------------------------------------------

    def _ask_hint(self) -> None:
        if self.session.human_to_move and self._query is None:
            self.message = "thinking about a hint ..."
            self._query = _Query(len(self.session.turns), True, self._worker.submit(self.session.advise))

    def _hint(self, action: int | None) -> None:
        """Show the action of the adviser; without an adviser the play that scores most at once."""
        game = self.session.game
        if action is None:
            candidates = self.session.candidates()
            if not candidates:
                self.message = "there is no adviser"
                return
            action = candidates[0].action
        written = print_action(game, action)
        if self.announcing:
            self.message, self.announced = f"hint: {written}", int(written.split()[-1])
            return
        scores = play_score(game, action)
        self.message = f"hint: {written}" + ("" if scores is None else f": {scores}")
        self.card, self.cell = spec_of(game.rules).notation.decode_play(game, action)

    # --- Output ------------------------------------------------------------------------------------------------------

    def _candidate(self) -> ScoredPlay | None:
        """The chosen card in the cell under the mouse."""
        card, cell, game = self.card, self.cell, self.session.game
        if card is None or cell is None or self.scene.pending:
            return None
        play = spec_of(game.rules).candidate(game, card, cell)
        # With Simpleton players determine the points themselves, unless they switch the points on.
        hidden = getattr(game.rules, "simpleton", False) and not self.points
        return play._replace(parts=(), scored=False) if hidden else play

    def _candidates(self) -> list[ScoredPlay]:
        """The plays of the chosen card, if its points are switched on."""
        game = self.session.game
        if not self.points or self.card is None or self.scene.pending:
            return []
        return [spec_of(game.rules).candidate(game, self.card, cell) for cell in self.scene.legal]

    def _picture(self) -> pygame.Surface:
        drawn = draw(self.scene, scale=self.scale, play=self._candidate(), candidates=self._candidates())
        return surface_of(rasterise(drawn))

    def _state(self) -> tuple[object, ...]:
        return self.card, self.cell, self.points, self.announced

    def _line(self) -> str:
        return self.message or self._prompt()

    def _prompt(self) -> str:
        """The input that is expected now."""
        if self.session.mover is None:
            return "the game is over"
        if self.announcing:
            return "announce the points of your play"
        return "click a card, then a cell" if self.card is None else "click a cell"


class ReplayWindow(SceneWindow):
    """A window in which a record is replayed step by step.

    Args:
        record: the record of the game.
    """

    def __init__(self, record: Record) -> None:
        super().__init__()
        self.viewer = Viewer(record)
        self._changed()

    def buttons(self) -> list[Button]:
        """Buttons for steps, as the arrow keys, Home and End, and for the point of view."""
        labels = {"home": "Start", "left": "Back", "right": "Next", "end": "End"}
        return [
            *(Button("", label, partial(self._go, key)) for key, label in labels.items()),
            Button("v", "Other seat", self._next_view),
            Button("q", "Quit", self._quit),
        ]

    def _key(self, key: int, written: str) -> None:
        name = pygame.key.name(key)
        if name in KEY_STEPS:
            self._go(name)
        super()._key(key, written)

    def _go(self, key: str) -> None:
        self.viewer.go(KEY_STEPS[key])
        self._changed()

    def _next_view(self) -> None:
        self.viewer.next_view()
        self._changed()

    def _quit(self) -> None:
        pygame.event.post(pygame.event.Event(pygame.QUIT))

    def _changed(self) -> None:
        viewer = self.viewer
        self.scene = with_names(viewer.scene, viewer.record.seats)
        self.message = viewer.position + (f". {summary(viewer.turns[-1])}" if viewer.turns else "")
