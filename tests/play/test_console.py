"""Play in the terminal, line by line."""

import io
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from quincunx_env import spiral
from quincunx_env.cli import main
from quincunx_env.core.observation import Pieces
from quincunx_env.core.rules import BaseRules
from quincunx_env.notation.record import Record, Seeded
from quincunx_env.notation.text import play_score
from quincunx_env.play.console import COMMANDS, Console
from quincunx_env.play.session import Session, adviser_name
from quincunx_env.quincunx import Rules
from quincunx_env.registry import spec_of
from quincunx_env.render.words import for_people, scene_for_people
from tests.play.test_session import drawn, play_on

ROOT = Path(__file__).parents[2]
TWO = Rules(num_players=2)
TypeLines = Callable[..., None]
"""Arguments: the lines of the input."""


@pytest.fixture
def type_lines(monkeypatch: pytest.MonkeyPatch) -> TypeLines:
    """Gives the console these lines as its input, then the end of the input."""
    monkeypatch.setenv("NO_COLOR", "1")
    return lambda *lines: monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))


def played_by_hand(rules: BaseRules) -> tuple[list[str], Session]:
    """The lines of a player who takes the last candidate or announces 7, and the session that they make."""
    session = Session(rules, [None, *[drawn] * (rules.num_players - 1)], Seeded(0))
    play_on(session)
    texts = [turn.text for turn in session.turns if turn.seat == 0]
    return [for_people(text).lower().removeprefix("announce ") for text in texts], session


@pytest.mark.parametrize(
    "rules",
    [
        *(Rules(), TWO, Rules(4, "open", excuse=True, pawns=True, flush=True), Rules(2, simpleton=True, match=True)),
        *(spiral.Rules(deals=1), spiral.Rules("end"), spiral.Rules(deals=2)),
    ],
    ids=str,
)
def test_a_whole_game(
    rules: BaseRules, tmp_path: Path, type_lines: TypeLines, capsys: pytest.CaptureFixture[str]
) -> None:
    """The record is that of the session; every play is printed with its score, at the end the result."""
    lines, expected = played_by_hand(rules)
    type_lines(*lines)
    session = Session(rules, [None, *[drawn] * (rules.num_players - 1)], Seeded(0))
    Console(session, tmp_path / "game.txt").run()
    assert Record.read(tmp_path / "game.txt") == expected.record
    shown = capsys.readouterr().out
    assert spec_of(rules).scene(session.game).title in shown
    called = ["You", "drawn"] if rules.num_players == 2 else ["You", "drawn 1", "drawn 2", "drawn 3"]
    assert scene_for_people(spec_of(rules).scene(expected.record.game(0), 0), called).text() in shown
    for turn in expected.turns:
        assert for_people(f"{turn.number}. seat {turn.seat} {turn.text}", called) in shown
        assert (f": {turn.score}" if turn.score else "") in shown
    assert expected.ending is not None
    assert shown.endswith(f"\n{expected.ending.headline}\n")
    assert "seat" not in shown
    assert not re.search(r"\(\d, \d\)", shown)
    before_the_end = shown[: shown.rindex(f"{len(expected.turns)}. ")]
    assert not re.search(r"drawn.*: .* hand: (?!\d+ cards)\S", before_the_end), "hands of others are hidden"


def test_mistakes_are_a_line_and_change_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    session = Session(TWO, [None, drawn], Seeded(0))
    console = Console(session, tmp_path / "game.txt")
    for line, answer in {
        "AM (0, 1)": "which holds AV AL",
        "AV a1": "the cell is taken; legal cells are [B1, C1",
        "AV (0, 0)": "the cell is taken; legal cells are [B1, C1",
        "AV E9": "E9 is off the grid, which ends at E5; You may play",
        "AV": "is not a play",
        "announce 7": "",
        "undo": "nothing to take back",
        "scores AM": "'AM' is not in the hand, which holds AV AL",
        "\x1b[A\x00": "",
        "scores \udce4": "",
        "help me": "hint ",
        "": None,
    }.items():
        console.answer(line)
        shown = capsys.readouterr().out
        assert shown.count("\n") == (0 if answer is None else len(COMMANDS) if line.startswith("help") else 1)
        assert (answer or "") in shown
    assert not session.turns
    assert not (tmp_path / "game.txt").exists()


def test_hints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In the order of the adviser, with the cells in which they are the same plays."""

    def adviser(observation: Pieces, mask: npt.NDArray[np.bool_], rng: np.random.Generator) -> npt.NDArray[np.int64]:
        return np.array([888 if mask[0, 888] else mask[0].argmax()])  # CK at D3, then the lowest action

    session = Session(TWO, [None, None], Seeded(0), adviser=adviser)
    session.play(session.parse("AV (0, 1)"))
    Console(session, tmp_path / "game.txt").answer("h")
    title, first, second, *more = capsys.readouterr().out.splitlines()
    assert title == "adviser prefers:"
    assert first == f"1. CK D3: {play_score(session.game, 888)}; also C2 B3 C4"
    hints = [*session.hints()]
    assert second.startswith(f"2. {for_people(str(hints[1]))}")
    assert len(more) == 3


def test_hints_say_where_each_play_ends(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also a play that the adviser does not value among the most promising ones."""
    Console(Session(Rules(), [None], Seeded(0), adviser="value"), tmp_path / "game.txt").answer("hint")
    _, *hints = capsys.readouterr().out.splitlines()
    assert len(hints) == 5
    assert all(re.search(r"; ends near \d+$", hint) for hint in hints)


def test_scores_of_a_card_are_those_of_the_session(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    session = Session(Rules(), [None], Seeded(0))
    console = Console(session, tmp_path / "game.txt")
    console.answer("scores")
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(session.game.hand(0))
    console.answer("s cs")
    [line] = capsys.readouterr().out.splitlines()
    assert line in lines
    texts = [text.split(" at ") for text in line.removeprefix("CS: ").split("; ")]
    found = {cell: text for text, cells in texts for cell in cells.split()}
    card = next(card for card in session.game.hand(0) if spec_of(Rules()).notation.card_names([card]) == ["CS"])
    scene = spec_of(Rules()).scene(session.game)
    for cell, play in session.scores(card).items():
        shown = found.pop(for_people(str(scene.place(cell))))
        assert int(shown.split()[0]) == play.points
        assert (f"{play.draws} draw" in shown) == bool(play.draws)
    assert not found
    silent = Console(Session(spiral.Rules("end"), [None, None], Seeded(0)), tmp_path / "game.txt")
    silent.answer("scores")
    assert capsys.readouterr().out == "no play scores now\n"


def test_announcements(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    session = Session(Rules(num_players=2, simpleton=True), [None, None], Seeded(0))
    console = Console(session, tmp_path / "game.txt")
    console.answer("AV (0, 1)")
    assert capsys.readouterr().out == "1. Player 1 AV B1\n", "the points to announce are hidden"
    console.answer("x")
    console.answer("500")
    assert len(session.turns) == 1
    assert capsys.readouterr().out.count("-64 to 319") == 2, "once a mistake"
    console.answer("u")
    assert not session.turns, "the play is taken back"
    console.answer("AV (0, 1)")
    console.answer("-3")
    assert session.turns[-1].text == "announce -3"
    assert str(session.turns[-1].score) in capsys.readouterr().out


def test_rules_and_undo(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    session = Session(TWO, [None, drawn], Seeded(0))
    console = Console(session, tmp_path / "game.txt")
    console.answer("rules")
    assert capsys.readouterr().out.splitlines() == [*spec_of(TWO).rules_card(TWO)]
    console.answer("AV (0, 1)")
    session.play(session.choose())
    console.answer("undo")
    assert not session.turns
    assert not Record.read(tmp_path / "game.txt").actions, "that is saved, too"


@pytest.mark.parametrize("error", [RuntimeError("no idea"), SystemExit("no idea")])
def test_a_failing_agent_does_not_end_the_game(
    error: BaseException, tmp_path: Path, type_lines: TypeLines, capsys: pytest.CaptureFixture[str]
) -> None:
    """And shows nothing of its hand."""

    def broken(observation: Pieces, mask: npt.NDArray[np.bool_], rng: np.random.Generator) -> npt.NDArray[np.int64]:
        raise error

    session = Session(TWO, [None, broken], Seeded(0), broken)
    type_lines("hint", "AV (0, 1)", "AL (0, 2)", "scores", "hint", "undo", "CS (0, 1)", "quit")
    Console(session, tmp_path / "game.txt").run()
    shown = capsys.readouterr().out
    assert shown.count("no idea") == 3
    assert f". The game is kept in {tmp_path / 'game.txt'}." in shown
    assert shown.count("it is not your turn") == 3
    assert [turn.text for turn in session.turns] == ["CS (0, 1)"]


def test_where_nothing_can_be_saved_play_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    session = Session(TWO, [None, None], Seeded(0))
    Console(session, tmp_path / "file" / "game.txt").answer("AV (0, 1)")
    assert "cannot be saved" in capsys.readouterr().out
    assert len(session.turns) == 1


def test_the_game_on_the_page(tmp_path: Path, type_lines: TypeLines, capsys: pytest.CaptureFixture[str]) -> None:
    """docs/play.md shows the beginning of a game, with the lines that are typed."""
    [text] = re.findall(
        r"```text\n(Quincunx, solitaire: .*?)```", (ROOT / "docs/play.md").read_text(encoding="utf-8"), re.DOTALL
    )
    type_lines(*re.findall(r"^You: (.*)$", text, re.MULTILINE))
    Console(Session(Rules(), [None], Seeded(0), adviser_name(Rules())), tmp_path / "game.txt").run()
    assert capsys.readouterr().out.startswith(re.sub(r"^(You: ).*\n", r"\1", text, flags=re.MULTILINE))


# --- The program -----------------------------------------------------------------------------------------------------


def test_a_game_is_ended_and_continued(
    tmp_path: Path, type_lines: TypeLines, capsys: pytest.CaptureFixture[str]
) -> None:
    """The program prints how; without options of a game it is the solitaire."""
    type_lines("cs d2", "QUIT")
    main(["play", "--terminal", "--seed", "0", "--out", str(tmp_path)])
    [path] = tmp_path.iterdir()
    shown = capsys.readouterr().out
    assert shown.startswith("Quincunx, solitaire: You\n")
    assert shown.endswith(
        f"\nContinue or replay this game:\n\n    quincunx play --terminal --resume {path}\n    quincunx replay {path}\n"
    )
    type_lines("AV (0, 1)")
    main(["play", "--terminal", "--resume", str(path)])
    assert [turn.text for turn in Record.read(path).turns] == ["CS (1, 3)", "AV (0, 1)"]
    assert [*tmp_path.iterdir()] == [path]
    assert "Continue" in capsys.readouterr().out
    type_lines()
    main(["play", "--terminal", "--out", str(tmp_path / "new")])
    assert "Continue" not in capsys.readouterr().out, "nothing was played"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_a_signal_ends_the_program_in_order(number: signal.Signals, tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "quincunx_env", "play", "--terminal", "--seed", "0", "--out", str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
    )
    assert process.stdin is not None
    process.stdin.write(b"\xff\xfe\nCS (1, 3)\n")
    process.stdin.flush()
    deadline = time.monotonic() + 60
    while not [*tmp_path.glob("[!.]*.txt")]:  # one that is being written begins with a dot
        assert time.monotonic() < deadline
        time.sleep(0.02)
    time.sleep(0.2)  # it waits for the next line
    process.send_signal(number)
    shown, errors = process.communicate(timeout=60)
    [path] = tmp_path.iterdir()
    assert (process.returncode, errors) == (0, b"")
    assert f"--resume {path}" in shown.decode()
