"""The terminal interface by keys and mouse, with Textual's pilot."""

import asyncio
import re
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from textual.geometry import Size
from textual.pilot import Pilot
from textual.widgets import Digits, Input

from quincunx_agents.uniform import uniform
from quincunx_env import spiral
from quincunx_env.core.observation import Pieces
from quincunx_env.core.rules import BaseRules
from quincunx_env.core.scene import ScoredPlay
from quincunx_env.core.scoring import Part
from quincunx_env.notation.record import Record, Seeded
from quincunx_env.notation.text import play_score
from quincunx_env.play.dialogs import AnnounceScreen, HelpScreen, StartScreen
from quincunx_env.play.keys import LABELS
from quincunx_env.play.session import Session
from quincunx_env.play.terminal import NEEDED, PlayScreen, ReplayScreen, Terminal
from quincunx_env.play.viewer import Viewer
from quincunx_env.play.widgets import Board, Hand, styled_points
from quincunx_env.quincunx import Rules
from quincunx_env.registry import spec_of
from tests.play.test_session import drawn

ROOT = Path(__file__).parents[2]
TWO = Rules(num_players=2)


def drive(app: Terminal, script: Callable[[Pilot[None]], Awaitable[None]], size: tuple[int, int] = (90, 28)) -> None:
    """Run the interface without a terminal and let a script press its keys."""

    async def run() -> None:
        async with app.run_test(size=size, notifications=True) as pilot:
            await pilot.pause()
            await script(pilot)

    asyncio.run(run())


def table(session: Session, folder: Path) -> Terminal:
    return Terminal(session, folder)


def shown(pilot: Pilot[None]) -> str:
    """The screen as text."""
    return "\n".join(strip.text.rstrip() for strip in pilot.app.screen._compositor.render_strips())


async def settled(pilot: Pilot[None]) -> None:
    """Wait until no agent runs."""
    await pilot.pause()
    await pilot.app.workers.wait_for_complete()
    await pilot.pause()


async def appears(pilot: Pilot[None], text: str) -> None:
    """Wait until the screen shows a text, 10 s at most: a busy machine lays out a new size late."""
    end = time.monotonic() + 10
    while text not in shown(pilot) and time.monotonic() < end:
        await pilot.pause(0.05)
    assert text in shown(pilot)


@pytest.mark.parametrize(
    "rules",
    [
        spiral.Rules(deals=1),
        *(
            pytest.param(rules, marks=pytest.mark.slow)
            for rules in (
                *(Rules(), Rules(3), Rules(4, "open", excuse=True, pawns=True, flush=True)),
                *(Rules(2, simpleton=True, match=True), spiral.Rules("end")),
            )
        ),
    ],
    ids=str,
)
def test_a_whole_game_by_key_presses(rules: BaseRules, tmp_path: Path) -> None:
    """Enter plays the chosen card into the nearest legal cell; with Simpleton 7 is announced."""
    session = Session(rules, [None, *[drawn] * (rules.num_players - 1)], Seeded(0))

    async def script(pilot: Pilot[None]) -> None:
        while not session.game.over:
            await pilot.press(*("7", "enter") if isinstance(pilot.app.screen, AnnounceScreen) else ("enter",))
            await settled(pilot)
        assert session.ending
        assert session.ending.headline in shown(pilot)
        assert pilot.app.screen.query_one(Digits).value.replace(" ", "") == session.ending.points.replace(" ", "")
        [path] = tmp_path.iterdir()
        assert Record.read(path) == session.record
        if rules.num_players > 1:
            await pilot.press("u")
            assert not session.game.over

    drive(table(session, tmp_path), script)


def test_cards_by_letter_and_tab_cells_by_arrows(tmp_path: Path) -> None:
    session = Session(TWO, [drawn, None], Seeded(0))

    async def script(pilot: Pilot[None]) -> None:
        await settled(pilot)
        board, hand = pilot.app.screen.query_one(Board), pilot.app.screen.query_one(Hand)
        await pilot.press("c")
        assert hand.chosen == hand.cards[2]
        await pilot.press("tab", "tab", "shift+tab")
        assert hand.chosen == hand.cards[3]
        assert board.scene
        board.cursor = 12
        await pilot.press("up", "left", "left", "left", "down")
        assert board.cursor == 10, "the cursor stays on the grid"
        card = hand.chosen
        await pilot.press("enter")
        turn = session.turns[1]
        assert turn.action == card * 25 + 10
        await settled(pilot)
        assert turn.text in shown(pilot), "the log lists the plays with their scores"
        assert str(turn.score) in shown(pilot)

    drive(table(session, tmp_path), script)


def test_cards_and_cells_by_mouse(tmp_path: Path) -> None:
    session = Session(TWO, [None, drawn], Seeded(0))

    async def script(pilot: Pilot[None]) -> None:
        hand = pilot.app.screen.query_one(Hand)
        await pilot.click(Hand, offset=(1 + 2 * Hand.WIDTH + 3, 0))
        assert hand.chosen == hand.cards[2]
        card = hand.chosen
        lines, width = pilot.app.screen.query_one(Board).pitch
        for _ in range(2):
            await pilot.click(Board, offset=(Board.MARGIN + width * 3 + 1, 1 + lines))
        assert session.turns[0].action == card * 25 + 5 + 3
        await settled(pilot)
        await pilot.click(Board, offset=(0, 0))
        await pilot.click(Hand, offset=(80, 0))
        assert len(session.turns) == 2

    drive(table(session, tmp_path), script)


def test_wrong_keys_change_nothing(tmp_path: Path) -> None:
    session = Session(TWO, [None, drawn], Seeded(0))

    async def script(pilot: Pilot[None]) -> None:
        await pilot.press("z", "Z", "0", "exclamation_mark", "f9", "escape", "ctrl+a", "pageup", "delete", "u")
        assert session.turns == []
        assert "nothing to take back" in shown(pilot)
        pilot.app.screen.query_one(Board).cursor = 0
        await pilot.press("enter")
        assert session.turns == []
        assert "the cell is taken; legal cells are" in shown(pilot)
        await pilot.press("question_mark")
        assert isinstance(pilot.app.screen, HelpScreen)
        await pilot.press("z")
        assert isinstance(pilot.app.screen, PlayScreen)

    drive(table(session, tmp_path), script)


def test_help_has_the_keys_and_the_rules(tmp_path: Path) -> None:
    """Of the game that is played; the arrow keys scroll, other keys go back."""
    session = Session(TWO, [None, drawn], Seeded(0))

    async def script(pilot: Pilot[None]) -> None:
        await pilot.press("question_mark")
        await pilot.pause()
        assert str(pilot.app.screen.query_one("#rules").render()).splitlines() == [*spec_of(TWO).rules_card(TWO)]
        assert "hint: the plays that the adviser prefers" in shown(pilot)
        assert "but A 15." not in shown(pilot)
        await pilot.press("end")
        await pilot.pause()
        assert "but A 15." in shown(pilot)
        await pilot.press("question_mark")
        assert isinstance(pilot.app.screen, PlayScreen)

    drive(table(session, tmp_path), script, size=NEEDED)


def test_hints(tmp_path: Path) -> None:
    """In the order of the adviser; h chooses the first, then the next."""

    def adviser(observation: Pieces, mask: npt.NDArray[np.bool_], rng: np.random.Generator) -> npt.NDArray[np.int64]:
        return np.array([888 if mask[0, 888] else mask[0].argmax()])  # CK at (2, 3), then the lowest action

    session = Session(TWO, [None, None], Seeded(0), adviser=adviser)
    session.play(session.parse("AV (0, 1)"))

    async def script(pilot: Pilot[None]) -> None:
        board, hand = pilot.app.screen.query_one(Board), pilot.app.screen.query_one(Hand)
        await pilot.press("h")
        await settled(pilot)
        assert (hand.chosen, board.cursor) == (35, 13)
        title, first, second, *_ = str(pilot.app.screen.query_one("#log").render()).splitlines()
        assert title == "adviser prefers:"
        assert first == f"1. CK (2, 3): {play_score(session.game, 888)}; also (1, 2) (2, 1) (3, 2)"
        hints = [*session.hints()]
        assert second.startswith(f"2. {hints[1]}")
        assert f"Seat 1: {hints[0]}" in shown(pilot)
        await pilot.press("h")
        await pilot.pause()
        assert (hand.chosen, board.cursor) == divmod(hints[1].action, 25)
        assert f"Seat 1: {hints[1]}" in shown(pilot)
        await pilot.press(*"hhhh")
        assert (hand.chosen, board.cursor) == (35, 13), "after the last the first"

    drive(table(session, tmp_path), script, size=(100, 30))


def test_points_and_draws_of_the_chosen_card(tmp_path: Path) -> None:
    session = Session(Rules(), [None], Seeded(0))

    async def script(pilot: Pilot[None]) -> None:
        board, hand = pilot.app.screen.query_one(Board), pilot.app.screen.query_one(Hand)
        await pilot.press("p")
        assert hand.chosen is not None
        points = {cell: session.game.value(hand.chosen, cell) for cell in session.game.legal_cells()}  # type: ignore[attr-defined]
        assert {cell: (play.points, play.draws) for cell, play in board.scores.items()} == points
        row = next(line for line in shown(pilot).splitlines() if line.startswith(" 0"))
        assert row.split()[:5] == ["0", "AK", "+3", "+0d", "CL"], "AV draws beside CL"
        await pilot.press("i")
        assert "+5d" in shown(pilot), "another card"
        board.cursor = 2
        await pilot.press("down", "right")
        assert "Seat 0: CS (1, 3): +5 (pair +5, 1 draw)" in shown(pilot), "the parts of the score in this cell"
        await pilot.press("p")
        assert board.scores == {}

    drive(table(session, tmp_path), script)


def test_the_screen_on_the_page(tmp_path: Path) -> None:
    """docs/play.md shows the screen after p and h, without empty lines."""
    session = Session(Rules(), [None], Seeded(0), adviser="heuristic-v0")

    async def script(pilot: Pilot[None]) -> None:
        await pilot.press("p", "h")
        await settled(pilot)
        *lines, _ = filter(None, shown(pilot).splitlines())  # without the list of keys, which is Textual's
        text = "\n".join(["```text", *lines, "```"])
        assert text in (ROOT / "docs" / "play.md").read_text(encoding="utf-8"), text

    drive(table(session, tmp_path), script, size=(88, 20))


@pytest.mark.parametrize(
    ("points", "draws", "text"), [(5, 0, "+5"), (-12, 2, "-12d2"), (0, 1, "+0d"), (0, 0, "+0"), (110, 4, "+110d4")]
)
def test_points_in_a_cell(points: int, draws: int, text: str) -> None:
    play = ScoredPlay("", 0, 0, (Part("basic", points, ()), Part("basic", 0, (), draws)))
    assert styled_points(play).plain == text


@pytest.mark.parametrize("rules", [Rules(), TWO, Rules(4, "open", pawns=True), spiral.Rules()], ids=str)
def test_the_grid_grows_with_the_window(rules: BaseRules) -> None:
    """It always fits, with names in brackets and points with draws, and leaves room for seats and log."""
    session = Session(rules, [None] * rules.num_players, Seeded(0))
    for _ in range(2):
        session.play(session.candidates()[0].action)
    board, pitches = Board(), []
    board.scene = scene = spec_of(rules).scene(session.game, 0)
    for columns, rows in (58, 11), (58, 13), (78, 17), (108, 28), (138, 38), (198, 53):
        width = board.get_content_width(Size(columns, rows), Size(columns, rows))
        lines, space = board.pitch
        assert width == board.MARGIN + space * len(scene.columns) <= columns - 20
        assert 1 + lines * len(scene.rows) <= rows
        assert space >= max(len(face.name) for face in scene.faces) + 2
        text = board.render().plain.splitlines()
        assert len(text) == 1 + lines * len(scene.rows)
        assert {*map(len, text)} == {width}
        assert all(scene.faces[card].name in "".join(text) for card in scene.board.values())
        pitches.append(board.pitch)
    assert pitches == sorted(pitches)
    assert pitches[-1][0] >= 3 * pitches[0][0]


def test_a_slow_agent_does_not_block_the_screen(tmp_path: Path) -> None:
    """While it runs, help opens and undo works; its action is discarded afterwards."""
    go = threading.Event()

    def slow(observation: Pieces, mask: npt.NDArray[np.bool_], rng: np.random.Generator) -> npt.NDArray[np.int64]:
        assert go.wait(10)
        return drawn(observation, mask, rng)

    session = Session(TWO, [None, slow], Seeded(0))

    async def script(pilot: Pilot[None]) -> None:
        await pilot.press("enter")
        await pilot.pause()
        assert "Seat 1, slow, is thinking" in shown(pilot)
        await pilot.press("question_mark", "x", "enter", "h")
        assert len(session.turns) == 1
        await pilot.press("u")
        assert session.turns == []
        go.set()
        await settled(pilot)
        assert session.turns == [], "it was called for another position"
        await pilot.press("enter")
        await settled(pilot)
        assert len(session.turns) == 2

    drive(table(session, tmp_path), script)


def test_a_failing_agent_does_not_end_the_game(tmp_path: Path) -> None:
    def broken(observation: Pieces, mask: npt.NDArray[np.bool_], rng: np.random.Generator) -> npt.NDArray[np.int64]:
        raise RuntimeError("no idea")

    session = Session(TWO, [None, broken], Seeded(0))

    async def script(pilot: Pilot[None]) -> None:
        await pilot.press("enter")
        await settled(pilot)
        assert "RuntimeError: no idea. The game is kept in" in shown(pilot)
        await pilot.press("u")
        assert session.human_to_move

    drive(table(session, tmp_path), script)


def test_announcements(tmp_path: Path) -> None:
    session = Session(Rules(num_players=2, simpleton=True), [None, None], Seeded(0))

    async def script(pilot: Pilot[None]) -> None:
        await pilot.press("enter")
        await pilot.pause()
        assert isinstance(pilot.app.screen, AnnounceScreen)
        assert session.turns[0].score is None, "the points to announce are hidden"
        await pilot.press("x", "enter", "5", "0", "0", "enter")
        await pilot.pause()
        assert isinstance(pilot.app.screen, AnnounceScreen), "no number, then one that is out of range"
        assert len(session.turns) == 1
        await pilot.press("escape")
        await pilot.pause()
        assert session.turns == [], "the play is taken back"
        await pilot.press("enter")
        await pilot.pause()
        await pilot.press("minus", "3", "enter")
        await pilot.pause()
        assert session.turns[-1].text == "announce -3"
        assert session.turns[-1].score is not None

    drive(table(session, tmp_path), script)


def test_new_game_and_saving(tmp_path: Path) -> None:
    session = Session(TWO, [None, None], Seeded(0))

    async def script(pilot: Pilot[None]) -> None:
        await pilot.press("enter", "s")
        assert "Saved to" in shown(pilot)
        await pilot.press("n")
        await pilot.pause()
        assert isinstance(pilot.app.screen, PlayScreen)
        assert pilot.app.screen.session.turns == []
        await pilot.press("enter")
        assert len([*tmp_path.iterdir()]) == 2, "each game has its own file"

    drive(table(session, tmp_path), script)


def test_where_nothing_can_be_saved_play_goes_on(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    session = Session(TWO, [None, None], Seeded(0))

    async def script(pilot: Pilot[None]) -> None:
        await pilot.press("enter")
        await pilot.pause()
        assert "cannot be saved" in shown(pilot)
        assert len(session.turns) == 1

    drive(table(session, tmp_path / "file" / "folder"), script)


def test_small_terminals_show_the_size_needed(tmp_path: Path) -> None:
    session = Session(TWO, [None, drawn], Seeded(0))

    async def script(pilot: Pilot[None]) -> None:
        for size in (30, 8), (1, 1), (59, 20), (60, 19):
            await pilot.resize_terminal(*size)
            await pilot.press("a", "up", "enter", "n", "u", "question_mark", "x")
        await appears(pilot, "The table needs 60 columns and 20 rows.")
        await pilot.resize_terminal(*NEEDED)
        await appears(pilot, "seat 0 human")
        assert "needs" not in shown(pilot)
        assert not session.turns
        await pilot.press("enter")
        await settled(pilot)
        assert session.turns

    drive(table(session, tmp_path), script)


@pytest.mark.parametrize("rules", [Rules(4), Rules(3, start="open"), spiral.Rules(deals=4)], ids=str)
def test_everything_fits_the_size_needed(rules: Any, tmp_path: Path) -> None:
    """In the middle of a game, with every card of the hand in sight."""
    session = Session(rules, [drawn] * rules.num_players, Seeded(1))
    for _ in range(12):
        session.play(session.choose())
    session = Session.resume(session.record, [None] * rules.num_players)

    async def script(pilot: Pilot[None]) -> None:
        text = shown(pilot)
        assert all(f"{LABELS[number]} " in text for number in range(len(session.game.hand(session.game.mover))))
        assert "Help" in text
        seat, held = session.game.mover, len(session.game.hand(session.game.mover))
        assert re.search(rf"> seat {seat} .* {held}\n", text)
        assert f"{session.turns[-1].number}. seat" in text

    drive(table(session, tmp_path), script, size=NEEDED)


# --- Start screen, replay, command line ------------------------------------------------------------------------------


def test_the_start_screen(tmp_path: Path) -> None:
    async def script(pilot: Pilot[None]) -> None:
        assert isinstance(pilot.app.screen, StartScreen)
        await pilot.press("tab", "down", "down", "down", "enter", "f5")
        assert "simpleton=True needs 2 to 4 players" in str(pilot.app.screen.query_one("#error").render())
        await pilot.press("end", "enter", "f5")
        assert "'Spiral: scored at the end' is no variant of" in str(pilot.app.screen.query_one("#error").render())
        await pilot.press("enter")
        assert pilot.app.screen.query_one("#opponents", Input).placeholder == "none in the solitaire"
        await pilot.press("shift+tab", "enter", "down", "down", "enter")
        await pilot.pause()
        assert "heuristic-v0" in pilot.app.screen.query_one("#opponents", Input).placeholder
        await pilot.press("tab", "tab", *"no-such", "f5")
        assert "unknown policy 'no-such'" in str(pilot.app.screen.query_one("#error").render())
        await pilot.press(*["backspace"] * 7, *"human", "f5")
        await pilot.pause()
        assert isinstance(pilot.app.screen, PlayScreen)
        assert pilot.app.screen.session.rules == Rules(2, simpleton=True)
        assert pilot.app.screen.session.human_seats == (0, 1)

    drive(Terminal(None, tmp_path), script)


def test_replay(tmp_path: Path) -> None:
    record = Record.read(ROOT / "tests" / "golden" / "records" / "open.txt")

    async def script(pilot: Pilot[None]) -> None:
        assert isinstance(pilot.app.screen, ReplayScreen)
        assert "After 0 of 24; all hands" in shown(pilot)
        await pilot.press("right", "right")
        assert record.turns[1].text in shown(pilot)
        assert re.search(r"seat 1 greedy +32 ", shown(pilot))
        await pilot.press("v", "left")
        assert "After 1 of 24; seat 0" in shown(pilot)
        await pilot.press("end", "right")
        assert "Seat 0 (heuristic-v0) wins by" in shown(pilot)
        await pilot.press("home", "left")
        assert "After 0 of 24" in shown(pilot)

    drive(Terminal(record, tmp_path), script)


@pytest.mark.parametrize(
    "rules",
    [Rules(2, match=True), Rules(3, "open", match=True, simpleton=True), spiral.Rules(deals=2, scoring="end")],
    ids=str,
)
def test_a_replay_shows_the_last_play_of_each_round(rules: BaseRules) -> None:
    """On the full grid, with its score; no seat has won before the last round."""
    session = Session(rules, [uniform] * rules.num_players, Seeded(3))
    while not session.game.over:
        session.play(session.choose())
    record = session.record
    ends = {turn.round: turn for turn in session.turns}
    assert len(ends) == rules.num_rounds
    for round, turn in ends.items():
        viewer = Viewer(record)
        viewer.go(turn.number)
        scene, totals, last = viewer.scene, record.game(turn.number).totals, round + 1 == rules.num_rounds
        assert scene.last is not None
        assert scene.last.title.startswith(f"seat {turn.seat} played")
        assert [seat.score for seat in scene.seats] == totals
        assert not any(seat.to_move for seat in scene.seats)
        assert [seat.won for seat in scene.seats] == [last and total == max(totals) for total in totals]
        assert any(note.startswith("over") for note in scene.notes) == last
        assert scene.notes[0].endswith(f"{round + 1} of {rules.num_rounds}")
        if isinstance(rules, spiral.Rules):
            assert len(scene.rows_score) == len(scene.columns_score) == 5
        else:
            assert scene.notes[1].startswith("left in hand")
        viewer.go(1)
        assert viewer.scene.title == scene.title
        assert last or len(viewer.scene.board) < len(scene.board)
