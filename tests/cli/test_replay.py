"""``quincunx replay``: a game record as text."""

import errno
import json
import os
import re
import tempfile
from pathlib import Path
from typing import NoReturn

import pytest

from quincunx_env.arena import Run, evaluate_all
from quincunx_env.arena.games import Games
from quincunx_env.notation.record import Record, Seeded
from quincunx_env.notation.text import to_text
from quincunx_env.play.replay import transcript
from quincunx_env.quincunx import Rules
from tests.arena.test_games import pack, unpack
from tests.cli.conftest import Command

RECORDS = Path(__file__).parents[1] / "golden" / "records"
SOLITAIRE = "tests/golden/records/solitaire.txt"


@pytest.mark.parametrize("path", sorted(RECORDS.glob("*.txt")), ids=lambda path: path.stem)
def test_every_action_is_printed_with_the_totals_after_it(path: Path, quincunx: Command) -> None:
    record = Record.read(path)
    text = quincunx(["replay", str(path)])
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


def test_games_of_an_evaluation_are_chosen_by_number(tmp_path: Path, quincunx: Command) -> None:
    path = tmp_path / "greedy.npz"
    evaluate_all(["greedy"], 20, run=Run(records=path))
    games = Games.read(path)
    assert quincunx.error(["replay", str(path), "--game", "20"]) == "game must be an integer from 0 to 19, got 20"
    for options, numbers in (["--game", "3", "17"], (3, 17)), ([], (0,)):
        lines = [f"{line}\n" for number in numbers for line in transcript(games.record(number))]
        assert quincunx(["replay", str(path), *options]) == "".join(lines)


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
        ("none.txt", "No such file or directory: 'none.txt'"),
        ("README.md", "README.md: a record begins with 'quincunx_env record 1'"),
        (f"{SOLITAIRE} --seat 1", "seat must be an integer from 0 to 0, got 1"),
        (f"{SOLITAIRE} --game 0", f"{SOLITAIRE} holds a single game"),
        (f"{SOLITAIRE} --values value", "--values needs --html"),
        (f"{SOLITAIRE} --html .", "--html must name a separate file"),
        ("README.md --html README.md", "--html must name a separate file"),
        (
            f"{SOLITAIRE} --html /dev/null/x.html",
            "/dev/null is a file: choose another folder for the results with --html",
        ),
        (f"{SOLITAIRE} --html x --positions", "--html shows every position"),
    ],
)
def test_errors(arguments: str, complaint: str, quincunx: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(RECORDS.parents[2])
    assert quincunx.error(f"replay {arguments}").startswith(complaint)


def test_a_file_of_a_record_is_limited(tmp_path: Path, quincunx: Command) -> None:
    path = tmp_path / "game.txt"
    with path.open("wb") as file:
        file.truncate(10**12)  # it takes no room on the disk, and no memory holds it
    complaint = f"{path}: game.txt has more than 1,048,576 bytes"
    assert quincunx.error(f"replay {path}") == complaint


ESCAPE = "\x1b[2J\x1b]0;x\x07\x9b1m"


@pytest.mark.parametrize(
    "line",
    [
        "",
        f"game {ESCAPE}",
        f"game quincunx {ESCAPE}=1 start={ESCAPE}",
        f"seats {ESCAPE}\ngame quincunx\nseed 0 game 0 domain play",
        f"game quincunx\nseed {ESCAPE}",
        f"game quincunx\ndeal {ESCAPE}",
        f"game quincunx\nseed 0 game 0 domain play\n1. seat 0: AV{ESCAPE} (0, 1) = 3",
    ],
)
def test_text_of_a_record_is_shown_escaped(line: str, tmp_path: Path, quincunx: Command) -> None:
    (tmp_path / "game.txt").write_text(f"quincunx_env record 1\n{line or ESCAPE}", encoding="utf-8")
    assert quincunx.error(f"replay {tmp_path / 'game.txt'}").isprintable()


def test_text_of_a_file_of_games_is_shown_escaped(tmp_path: Path, quincunx: Command) -> None:
    path = tmp_path / "games.npz"
    evaluate_all(["greedy"], 2, run=Run(records=path))
    header, arrays = unpack(path.read_bytes())
    config, [lineup] = header["config"], header["lineups"]
    for change, status in (
        ({"config": config | {"game": ESCAPE}}, 2),
        ({"config": config | {"domain": ESCAPE}}, 2),
        ({"config": config | {"rules": {ESCAPE: 1}}}, 2),
        ({"config": config | {"rules": {"start": ESCAPE}}}, 2),
        ({"lineups": [lineup | {"policies": [ESCAPE]}]}, 2),
        ({"lineups": [lineup | {"seats": [ESCAPE]}]}, 2),
        ({"lineups": [lineup | {"claims": {"lost_value": ESCAPE}}]}, 1),
    ):
        path.write_bytes(pack(json.dumps(header | change), arrays))
        assert quincunx.error(f"verify {path}", status).isprintable()
    path.write_bytes(pack(json.dumps(header | {"about": {ESCAPE: ESCAPE}}), arrays))
    assert all(line.isprintable() for line in quincunx(f"verify {path}").split("\n"))


def test_a_page_that_cannot_be_written(quincunx: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is found out before the game is read, and the message names the option."""

    def refuse(**_: object) -> NoReturn:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), "name")

    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    error = "nothing can be written to . (Read-only file system): choose another folder with --html"
    assert quincunx.error("replay none.txt --html page.html") == error


def test_the_command_writes_a_page(tmp_path: Path, quincunx: Command) -> None:
    path, out = tmp_path / "game.txt", tmp_path / "new" / "replay.html"
    Record(Rules(), Seeded(0), (33,)).write(path)
    printed = quincunx(["replay", str(path), "--seat", "0", "--html", str(out), "--values", "heuristic"])
    assert printed == f"wrote {out} ({out.stat().st_size / 1000:.0f} kB): open it in a browser\n"
    assert "Values of heuristic" in out.read_text(encoding="utf-8")
