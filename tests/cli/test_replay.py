"""``quincunx replay``: a game record as text."""

import errno
import os
import re
import tempfile
from pathlib import Path
from typing import NoReturn

import pytest

from quincunx_env.arena.games import Games
from quincunx_env.cli import main
from quincunx_env.notation.record import Record, Seeded
from quincunx_env.notation.text import to_text
from quincunx_env.play.replay import transcript
from quincunx_env.quincunx import Rules

RECORDS = Path(__file__).parents[1] / "golden" / "records"


@pytest.mark.parametrize("path", sorted(RECORDS.glob("*.txt")), ids=lambda path: path.stem)
def test_every_action_is_printed_with_the_totals_after_it(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = Record.read(path)
    main(["replay", str(path)])
    text = capsys.readouterr().out
    totals = [
        tuple(map(int, found.split())) for found in re.findall(r"^\d+\. .*; total ([-\d ]+)$", text, re.MULTILINE)
    ]
    assert totals == [tuple(record.game(number).totals) for number in range(1, len(record.actions) + 1)]
    for turn in record.turns:
        start = f"{turn.number}. seat {turn.seat} {turn.text}" + (f": {turn.score}" if turn.score else "")
        assert f"\n{start}" in text
    assert text.startswith("game ")
    assert text.count("\nround ") == record.game().round
    over, last = record.game().over, " ".join(map(str, record.game().totals))
    assert text.endswith(f"\n{'over' if over else 'stopped'}: {last}\n")
    assert to_text(record.game()) in text


def test_games_of_an_evaluation_are_chosen_by_number(capsys: pytest.CaptureFixture[str]) -> None:
    path = RECORDS.parents[2] / "docs" / "leaderboard" / "greedy.npz"
    games = Games.read(path)
    main(["replay", str(path), "--game", "3", "17"])
    text = capsys.readouterr().out
    assert text == "".join(f"{line}\n" for number in (3, 17) for line in transcript(games.record(number)))
    main(["replay", str(path)])
    assert capsys.readouterr().out == "".join(f"{line}\n" for line in transcript(games.record(0)))


def test_positions_as_a_seat_sees_them() -> None:
    record = Record.read(RECORDS / "open.txt")
    texts = [*transcript(record, seat=1, positions=True)]
    for number in range(len(record.actions) + 1):
        assert to_text(record.game(number), 1) in texts
    plain = [*transcript(record, seat=1)]
    assert [text for text in texts if text in plain] == plain
    assert len(texts) == len(plain) + len(record.actions) - 1


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["none.txt"], "[Errno 2] No such file or directory: 'none.txt'"),
        (["README.md"], "README.md: a record begins with 'quincunx_env record 1'"),
        (["tests/golden/records/solitaire.txt", "--seat", "1"], "seat must be an integer from 0 to 0, got 1"),
        (
            ["tests/golden/records/solitaire.txt", "--game", "0"],
            "tests/golden/records/solitaire.txt holds a single game",
        ),
        (["tests/golden/records/solitaire.txt", "--values", "value"], "--values needs --html"),
        (["tests/golden/records/solitaire.txt", "--html", "."], "--html must name a file of its own"),
        (["README.md", "--html", "README.md"], "--html must name a file of its own"),
        (
            ["tests/golden/records/solitaire.txt", "--html", "/dev/null/x.html"],
            "/dev/null is a file: choose another folder for the results with --html",
        ),
        (["tests/golden/records/solitaire.txt", "--html", "x", "--positions"], "--html shows every position"),
        (["docs/leaderboard/greedy.npz", "--game", "10000"], "game must be an integer from 0 to 9999, got 10000"),
    ],
)
def test_errors(
    arguments: list[str], complaint: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(RECORDS.parents[2])
    with pytest.raises(SystemExit) as end:
        main(["replay", *arguments])
    assert end.value.code == 2
    out, error = capsys.readouterr()
    assert (out, error.count("\n")) == ("", 1)
    assert error.startswith(f"error: {complaint}")


def test_a_page_that_cannot_be_written(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """It is found out before the game is read, and the message names the option."""

    def refuse(**_: object) -> NoReturn:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), "name")

    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    with pytest.raises(SystemExit) as end:
        main(["replay", "none.txt", "--html", "page.html"])
    assert end.value.code == 2
    error = "error: nothing can be written to . (Read-only file system): choose another folder with --html\n"
    assert capsys.readouterr().err == error


def test_the_command_writes_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = tmp_path / "game.txt", tmp_path / "new" / "replay.html"
    Record(Rules(), Seeded(0), (33,)).write(path)
    main(["replay", str(path), "--seat", "0", "--html", str(out), "--values", "heuristic"])
    assert capsys.readouterr().out == f"wrote {out} ({out.stat().st_size / 1000:.0f} kB): open it in a browser\n"
    assert "Values of heuristic" in out.read_text(encoding="utf-8")
