"""The graphical interface by mouse and keyboard, without a display."""

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pygame
import pytest

from quincunx_agents.uniform import uniform
from quincunx_env import Rules, spiral
from quincunx_env.core.rules import BaseRules
from quincunx_env.notation.record import Record, Seeded
from quincunx_env.play.__main__ import main
from quincunx_env.play.session import Session
from quincunx_env.play.window import PlayWindow, ReplayWindow, SceneWindow

ROOT = Path(__file__).parents[2]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder for games; the window is closed afterwards."""
    yield tmp_path
    pygame.display.quit()


def table(folder: Path, rules: BaseRules, *players: Any, **options: Any) -> PlayWindow:
    """A window with a human at seat 0."""
    session = Session(rules, [None, *players], Seeded(3), **options)
    window = PlayWindow(session, folder / "game.txt", lambda: folder / "other.txt", pause=0)
    assert window.step()
    return window


def mouse(window: SceneWindow, kind: int, x: float, y: float) -> None:
    """Post a mouse event at a pixel of the window."""
    more: dict[str, Any] = {} if kind == pygame.MOUSEMOTION else {"button": 1}
    pygame.event.post(pygame.event.Event(kind, pos=(round(x), round(y)), **more))


def click(window: SceneWindow, x: float, y: float) -> None:
    """Move there, press and release."""
    for kind in (pygame.MOUSEMOTION, pygame.MOUSEBUTTONDOWN, pygame.MOUSEBUTTONUP):
        mouse(window, kind, x, y)
        assert window.step()


def press(window: SceneWindow, label: str) -> None:
    """Click a button."""
    click(
        window, *next(rect.centre for button, rect in window.bar() if label in (button.label, button.label.split()[0]))
    )


def key(window: SceneWindow, *written: str) -> None:
    """Type."""
    for letter in written:
        code = {"\r": pygame.K_RETURN, "\b": pygame.K_BACKSPACE}.get(letter, 0)
        pygame.event.post(pygame.event.Event(pygame.KEYDOWN, key=code, unicode=letter))
    assert window.step()


def in_window(window: PlayWindow, x: float, y: float) -> tuple[float, float]:
    """The pixel of a point of the picture."""
    return window._origin[0] + x * window.scale, window._origin[1] + y * window.scale


def card_at(window: PlayWindow, card: int) -> tuple[float, float]:
    """A pixel of a card in hand that no other card covers."""
    rect = window.where.hand[card]
    return in_window(window, rect.x + 3, rect.centre[1])


def cell_at(window: PlayWindow, cell: int) -> tuple[float, float]:
    return in_window(window, *window.where.cells[cell].centre)


def wait(window: PlayWindow) -> None:
    """Step until a human is to move or the game is over."""
    until = time.monotonic() + 20
    while window.session.mover is not None and not window.session.human_to_move:
        assert window.step()
        assert time.monotonic() < until
    assert window.step()


@pytest.mark.parametrize("rules", [Rules(), Rules(2), Rules(3, "open"), spiral.Rules(deals=1)], ids=str)
def test_a_whole_game_by_clicks(rules: BaseRules, folder: Path) -> None:
    """A card, then a cell; in the spiral game the card twice. The file holds the game."""
    window = table(folder, rules, *[uniform] * (rules.num_players - 1))
    while not window.session.game.over:
        wait(window)
        before = len(window.session.turns)
        card = window.session.game.hand(0)[-1]
        cell = min(window.scene.legal)
        click(window, *card_at(window, card))
        assert window.card == card
        click(window, *(card_at(window, card) if isinstance(rules, spiral.Rules) else cell_at(window, cell)))
        turn = window.session.turns[before]
        assert (turn.seat, window.session.rules) == (0, rules)
        wait(window)
    assert Record.read(folder / "game.txt") == window.session.record


def test_a_card_is_dragged_and_an_undo_takes_it_back(folder: Path) -> None:
    window = table(folder, Rules())
    card, cell = window.session.game.hand(0)[2], 9
    for kind, place in (
        (pygame.MOUSEBUTTONDOWN, card_at(window, card)),
        (pygame.MOUSEMOTION, cell_at(window, cell)),
        (pygame.MOUSEBUTTONUP, cell_at(window, cell)),
    ):
        mouse(window, kind, *place)
    assert window.step()
    assert window.session.game.board[cell] == card
    press(window, "Undo")
    assert window.session.turns == []
    press(window, "Undo")
    assert "nothing to take back" in window.message


def test_a_whole_game_with_announcements(folder: Path) -> None:
    """Typed, or counted with the buttons; the points of the play are hidden unless they are switched on."""
    window = table(folder, Rules(2, simpleton=True), uniform)
    typed = True
    while not window.session.game.over:
        wait(window)
        card, cell = window.session.game.hand(0)[0], min(window.scene.legal)
        click(window, *card_at(window, card))
        mouse(window, pygame.MOUSEMOTION, *cell_at(window, cell))
        window.step()
        candidate = window._candidate()
        assert candidate is not None
        assert not candidate.scored
        click(window, *cell_at(window, cell))
        assert window.announcing
        if typed:
            key(window, "1", "2", "\b", "7", "-")
            assert window.announced == -17
            key(window, "\r")
        else:
            press(window, "+10")
            press(window, "-1")
            assert window.announced == 9
            press(window, "announce")
        mine = [turn.text for turn in window.session.turns if turn.seat == 0]
        assert mine[-1] == ("announce -17" if typed else "announce 9")
        typed = not typed
        wait(window)
    assert Record.read(folder / "game.txt") == window.session.record


def test_hints_and_points(folder: Path) -> None:
    """A hint chooses card and cell and shows the score; all cells show the points of the chosen card on request."""
    window = table(folder, Rules())
    press(window, "Hint")
    until = time.monotonic() + 20
    while window._query and time.monotonic() < until:
        window.step()
    best = window.session.candidates()[0]
    assert window.message == f"hint: {best.text}: {best.score}"
    candidate = window._candidate()
    assert candidate is not None
    assert best.score is not None
    assert candidate.points == best.score.points
    assert window._candidates() == []
    key(window, "p")
    assert {play.cell for play in window._candidates()} == set(window.scene.legal)
    press(window, "Save")
    assert Record.read(folder / "game.txt").actions == ()
    key(window, "n")
    assert window.path == folder / "other.txt"
    assert window.session.record.dealt != Seeded(3)


def test_wrong_clicks_and_keys_do_nothing(folder: Path) -> None:
    """A taken cell, no card chosen, another seat to move, any key."""
    window = table(folder, Rules(2), uniform)
    click(window, *cell_at(window, 6))
    click(window, *cell_at(window, 0))
    click(window, 3, 3)
    key(window, "x", "1", "-", "\r", "\b", "")
    click(window, *card_at(window, window.session.game.hand(0)[0]))
    click(window, *cell_at(window, 0))
    assert window.session.turns == []
    assert window.session.game.board[0] >= 0


def test_an_agent_that_fails_is_named_and_play_can_be_taken_back(folder: Path) -> None:
    def broken(*_: Any) -> Any:
        raise RuntimeError("no idea")

    window = table(folder, Rules(2), broken)
    click(window, *card_at(window, window.session.game.hand(0)[0]))
    click(window, *cell_at(window, 6))
    until = time.monotonic() + 20
    while "no idea" not in window.message and time.monotonic() < until:
        assert window.step()
    assert window.message == "RuntimeError: no idea"
    press(window, "Undo")
    assert window.session.human_to_move


def test_the_window_has_any_size_and_is_closed(folder: Path) -> None:
    window = table(folder, Rules())
    pygame.display.set_mode((900, 500), pygame.RESIZABLE)
    assert window.step()
    click(window, *card_at(window, window.session.game.hand(0)[0]))
    click(window, *cell_at(window, 5))
    assert len(window.session.turns) == 1
    pygame.event.post(pygame.event.Event(pygame.QUIT))
    assert not window.step()
    assert not pygame.display.get_init()


def test_a_game_that_cannot_be_saved_goes_on(folder: Path) -> None:
    window = table(folder, Rules())
    (folder / "file").write_text("")
    window.path = folder / "file" / "game.txt"
    click(window, *card_at(window, window.session.game.hand(0)[0]))
    click(window, *cell_at(window, 5))
    assert len(window.session.turns) == 1
    assert "cannot be saved" in window.message


def strike(window: SceneWindow, code: int) -> None:
    """Press a key without a character."""
    pygame.event.post(pygame.event.Event(pygame.KEYDOWN, key=code, unicode=""))
    assert window.step()


def test_a_record_is_stepped_through(folder: Path) -> None:
    """By keys and buttons, between its ends; every action is shown with its number and score."""
    record = Record.read(ROOT / "tests" / "golden" / "records" / "open.txt")
    window, count = ReplayWindow(record), len(record.actions)
    assert window.step()
    assert window.message == f"After 0 of {count}; all hands"
    for number, (turn, game) in enumerate(record.replay(), 1):
        strike(window, pygame.K_RIGHT)
        assert window.message.startswith(f"After {number} of {count}; all hands. seat {turn.seat}: {turn.text}")
        assert [seat.score for seat in window.scene.seats] == game.totals
        assert window.scene.last is not None
        assert turn.score is not None
        assert (window.scene.last.points, window.scene.last.draws) == (turn.score.points, turn.score.draws)
    assert window.scene.notes[-1].startswith("over")
    assert window.scene.seats[0].name.endswith(f": {record.seats[0]}")
    end = window.scene
    strike(window, pygame.K_RIGHT)
    assert window.scene == end
    for code, number in ((pygame.K_HOME, 0), (pygame.K_LEFT, 0), (pygame.K_END, count), (pygame.K_LEFT, count - 1)):
        strike(window, code)
        assert window.viewer.number == number
    for label, number in (("Start", 0), ("Next", 1), ("Next", 2), ("Back", 1), ("End", count)):
        press(window, label)
        assert window.viewer.number == number
    before = pygame.image.tobytes(window._surface, "RGB")
    press(window, "Back")
    assert pygame.image.tobytes(window._surface, "RGB") != before
    key(window, "v")
    assert "; seat 0. " in window.message
    key(window, "q")
    assert not window.step()
    assert not pygame.display.get_init()


def test_the_program_plays_in_a_window(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A game is started, left, resumed from its file and replayed."""
    plays = []

    def one_play(window: PlayWindow) -> None:
        click(window, *card_at(window, window.session.game.hand(0)[0]))
        click(window, *cell_at(window, min(window.scene.legal)))
        plays.append(len(window.session.turns))
        pygame.event.post(pygame.event.Event(pygame.QUIT))
        assert not window.step()

    monkeypatch.setattr(PlayWindow, "run", one_play)
    main(["--window", "--seed", "3", "--out", str(folder)])
    (path,) = folder.iterdir()
    assert f"--resume {path}" in capsys.readouterr().out
    main(["--window", "--resume", str(path)])
    assert plays == [1, 2]
    assert Record.read(path).dealt == Seeded(3)
    looked = []

    def one_look(window: ReplayWindow) -> None:
        press(window, "End")
        looked.append(window.viewer.number)
        pygame.display.quit()

    capsys.readouterr()
    monkeypatch.setattr(ReplayWindow, "run", one_look)
    main(["--window", "--replay", str(path)])
    assert looked == [2]
    assert not capsys.readouterr().out
    monkeypatch.setenv("SDL_VIDEODRIVER", "nothing")
    for arguments in (["--replay", str(path)], ["--out", str(folder)]):
        with pytest.raises(SystemExit):
            main(["--window", *arguments])
        error = capsys.readouterr().err
        assert re.fullmatch(r"error: no window can be opened here .*: without --window the terminal is used\n", error)
