"""Records survive printing and parsing; records that break the rules are errors that name the line."""

import random
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest

from quincunx_agents.uniform import uniform
from quincunx_env import spiral
from quincunx_env.core.rules import BaseRules
from quincunx_env.notation.record import Record, RecordError, Seeded
from quincunx_env.notation.text import to_json
from quincunx_env.play.session import Session
from quincunx_env.quincunx import Rules
from quincunx_env.registry import spec_of
from tests.variants import COVERING, EVERY_GAME, by_name, new_game, random_action

GOLDEN = sorted((Path(__file__).parents[1] / "golden" / "records").glob("*.txt"))


def random_record(rules: BaseRules, number: int) -> tuple[Record, Any]:
    """The record of a random game, and the game; every third one stops before the end, every second has its deals."""
    rng = random.Random(f"{rules} {number}")
    seeded = Seeded(number, rng.randrange(100))
    game, actions = new_game(rules, *seeded[:2]), list[int]()
    stop = rng.randrange(20) if number % 3 == 0 else 10_000
    while not game.over and len(actions) < stop:
        actions.append(random_action(game, rng))
        game.step(actions[-1])
    seats = tuple(f"player {seat}" for seat in range(rules.num_players)) if number % 2 else ()
    return Record(rules, seeded if number % 4 < 2 else game.deals, tuple(actions), seats), game


def check(rules: BaseRules, number: int) -> None:
    """Written, read and replayed without a difference."""
    record, game = random_record(rules, number)
    read = Record.parse(str(record))
    assert read == record
    assert str(read) == str(record)
    assert read.game().__getstate__() == game.__getstate__()
    steps = new_game(rules, 0).__class__(rules, read.deals)
    for turn, position in read.replay():
        assert (steps.round, steps.mover) == (turn.round, turn.seat)
        assert steps.step(turn.action) == turn.gains
        assert steps.totals == position.totals
    assert steps.__getstate__() == game.__getstate__()


@by_name({name: EVERY_GAME[name] for name in sorted(COVERING)})
def test_random_games_come_back(rules: BaseRules) -> None:
    for number in range(4):
        check(rules, number)


@pytest.mark.parametrize(
    "rules",
    [Rules(), Rules(num_players=2), Rules(num_players=3, match=True), Rules(num_players=4, start="open")],
    ids=str,
)
def test_penalties_stand_where_a_round_ends(rules: Rules) -> None:
    """In a match and at the end of a game. The points of the play do not contain them."""
    seen = set()
    for number in range(1, 60, 2):
        record, game = random_record(rules, number)
        if getattr(game, "lost", False) or not game.over:
            continue
        for turn in record.turns:
            points = [gain + penalty for gain, penalty in zip(turn.gains, turn.penalties, strict=True)]
            assert turn.score
            assert points == [turn.score.points * (seat == turn.seat) for seat in range(rules.num_players)]
            if any(turn.penalties):
                seen.add(turn.round)
                assert turn.number == len(record.actions) * (turn.round + 1) // rules.num_rounds
                assert min(turn.penalties) >= 0
    assert seen == {*range(rules.num_rounds)}


@pytest.mark.slow
@pytest.mark.parametrize("rules", EVERY_GAME.values(), ids=EVERY_GAME)
def test_ten_thousand_random_games_come_back(rules: BaseRules) -> None:
    for number in range(2, 2 + 10_000 // len(EVERY_GAME) + 1):
        check(rules, number)


# --- Errors ----------------------------------------------------------------------------------------------------------


RECORD = """\
quincunx_env record 1
game quincunx num_players=2
seats ann, greedy
seed 0 game 0 domain play
1. seat 0: AV (0, 1) = 3 0
2. seat 1: AM (0, 2) = 0 28
stopped 3 28
check a1811e73"""


def test_a_record_reads_like_this() -> None:
    assert str(Record.parse(RECORD)) == RECORD
    loose = RECORD.replace(" ", "  ").replace("\n", "  # a remark\n\n")
    assert Record.parse(loose) == Record.parse(RECORD)


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("record 1", "record 2", "a record begins with 'quincunx_env record 1'"),
        (RECORD, "", "a record begins with"),
        ("game quincunx num_players=2", "", "the line 'game ...' is missing"),
        ("seed 0 game 0 domain play", "", "the line 'seed ...' is missing (or 'deal ...')"),
        ("quincunx num", "chess num", "line 2: the game is one of quincunx, spiral, got 'chess'"),
        ("num_players=2", "players=2", "line 2: quincunx has the options num_players, start"),
        ("num_players=2", "num_players=5", "line 2: num_players must be 1, 2, 3 or 4, got 5"),
        ("num_players=2", "num_players=2 flush=maybe", "line 2: flush must be True or False, got 'maybe'"),
        ("ann, greedy", "ann", "these rules have 2 seats, got names for 1"),
        ("seed 0", "seed x", "line 4: a seed must read like 'seed 7 game 0 domain play'"),
        ("seed 0", "seed 9223372036854775808", "seed must be an integer from 0 to 2**63 - 1"),
        ("domain play", "domain work", "domain must be one of play, benchmark, validation, got 'work'"),
        ("seed 0 game 0 domain play", "deal AM | CM", "line 4: a deal is written 'face-up cards | hand"),
        ("seed 0 game 0 domain play", "deal AM | CM | AS", "this deal does not fit the rules; missing:"),
        ("AV (0, 1) =", "AV at 0 =", "line 5: play 1 cannot be read: 'AV at 0' is not a play: write card and"),
        (
            "1. seat 0: AV (0, 1) = 3 0",
            "1. AV",
            "line 5: a play must read like '12. seat 1: 2MK (1, 3) = 7 0', got",
        ),
        (
            "AM (0, 2)",
            "AM (0, 1)",
            "line 6: play 2, AM (0, 1), breaks the rules: AM cannot be played at (0, 1): the cell is taken; legal",
        ),
        ("AM (0, 2)", "AY (0, 2)", "play 2, AY (0, 2), breaks the rules: AY cannot be played at (0, 2): it is not in"),
        ("= 0 28", "= 0 27", "line 6: by the rules play 2 reads '2. seat 1: AM (0, 2) = 0 28', got"),
        ("2. seat 1", "2. seat 0", "by the rules play 2 reads '2. seat 1: AM"),
        ("stopped 3 28", "over 3 28", "line 7: this should read 'stopped 3 28', got 'over 3 28'"),
        ("stopped 3 28\n", "", "line 7: this should read 'stopped 3 28', got 'check"),
        ("\ncheck a1811e73", "", "the record is cut short: 'check a1811e73' is missing"),
        ("check a1811e73", "check a1811e74", "if that is right, write 'check a1811e73'"),
        ("check a1811e73", "check a1811e73\nbye", "line 9: nothing follows the line 'check ...', got 'bye'"),
    ],
)
def test_errors_name_the_line_and_the_way_out(old: str, new: str, complaint: str) -> None:
    assert old in RECORD
    with pytest.raises(RecordError) as error:
        Record.parse(RECORD.replace(old, new))
    assert complaint in str(error.value)


@pytest.mark.parametrize(
    ("old", "form"),
    [
        ("seed 0 game 0", "seed {}"),
        ("1. seat 0: AV (0, 1) = 3 0", "1. {}"),
        ("1. seat 0: AV (0, 1) = 3 0", "1. seat 0: AV (0, 1) = {}"),
        ("stopped 3 28", "{}"),
        ("game quincunx", "game {}"),
        ("num_players=2", "num_players={}"),
        ("num_players=2", "start={}"),
        ("seats ann", "seats {}"),
        ("domain play", "domain {}"),
        ("seed 0 game 0 domain play", "deal {}"),
        ("AV (0, 1)", "{}"),
        ("AV (0, 1)", "announce {}"),
        ("check a1811e73", "check a1811e73\n{}"),
    ],
)
def test_long_lines_are_quoted_in_part(old: str, form: str) -> None:
    assert old in RECORD
    with pytest.raises(RecordError) as error:
        Record.parse(RECORD.replace(old, form.format("7" * 40_000)))
    assert len(str(error.value)) < 1000


def test_a_play_after_the_end_is_refused() -> None:
    record, game = random_record(spiral.Rules(deals=1), 1)
    assert game.over
    with pytest.raises(RecordError, match=r"play 25, 5H, breaks the rules: the game is over"):
        Record(record.rules, record.dealt, (*record.actions, 17))
    with pytest.raises(RecordError, match=r"play 1, 999, breaks the rules: action 999 is out of range"):
        Record(record.rules, record.dealt, (999,))


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("dir/my  net.safetensors", "dir/my%20 net.safetensors"),
        ("a, #b", "a%2C %23b"),
        (" a ", "%20a%20"),
        ("   ", "%20%20%20"),
        ("100 %", "100 %"),
        ("%,%2C%%41", "%%2C%252C%%2541"),
        ("é, ü", "é%2C ü"),
        ("\U0001f408" + "a" * 999, "\U0001f408" + "a" * 999),
    ],
)
def test_names_with_special_characters_are_encoded(name: str, written: str) -> None:
    record = Record(Rules(num_players=2), Seeded(0), seats=("ann", name))
    assert str(record).splitlines()[2] == f"seats ann, {written}"
    assert Record.parse(str(record)) == record


@pytest.mark.parametrize("seats", [5, "ann", None, (5, "b", "c"), (None, "b", "c"), (b"a", "b", "c")], ids=ascii)
def test_seats_and_actions_of_other_types_are_refused(seats: Any) -> None:
    with pytest.raises(RecordError):
        Record(Rules(num_players=3), Seeded(0), seats=seats)
    for actions in (5, None, (33.0,), "33", (None,), (np.bool_(True),)):
        with pytest.raises(RecordError, match="actions must be integers"):
            Record(Rules(), Seeded(0), actions)  # type: ignore[arg-type]


def test_seeds_and_deals_are_kept_in_one_form() -> None:
    class Index:
        def __index__(self) -> int:
            return 3

    seeded = Record(Rules(), Seeded(Index(), np.uint8(2)))  # type: ignore[arg-type]
    assert str(seeded) == str(Record(Rules(), Seeded(3, 2)))
    assert Record.parse(str(seeded)) == seeded
    for deals in (seeded.deals[0], list(seeded.deals)):
        dealt = Record(Rules(), deals)  # type: ignore[arg-type]
        assert Record.parse(str(dealt)) == dealt == Record(Rules(), seeded.deals)


@pytest.mark.parametrize(
    "dealt",
    [None, 5, len, "deal", (), (5,), np.array(None), (3, 0, ["play"]), (3, "x", "play"), (0.5, 0, "play")],
    ids=repr,
)
def test_other_seeds_and_deals_are_refused(dealt: Any) -> None:
    with pytest.raises(RecordError):
        Record(Rules(), Seeded(*dealt) if isinstance(dealt, tuple) and len(dealt) == 3 else dealt)


@pytest.mark.parametrize(
    "mark", "\0\t\n\x0b\x0c\r\x1b\x1c\x1d\x1e\x7f\x85\xa0\u2028\u2029\u202e\ufeff\ud800", ids=ascii
)
def test_names_are_printable_where_they_are_written_and_read(mark: str) -> None:
    refused = "the name of a seat must have 1 to 1000 printable characters, got "
    with pytest.raises(RecordError, match=refused) as error:
        Record(Rules(), Seeded(0), seats=(f"a{mark}b",))
    assert str(error.value).isprintable()
    if mark != "\ud800":
        text = str(Record(Rules(), Seeded(0), seats=("name",))).replace("name", f"a{quote(mark)}b")
        with pytest.raises(RecordError, match=refused) as error:
            Record.parse(text)
        assert str(error.value).isprintable()
    for name in ("", "a" * 1001):
        with pytest.raises(RecordError, match=refused):
            Record(Rules(), Seeded(0), seats=(name,))


@pytest.mark.parametrize("text", [None, 5, RECORD.encode(), [RECORD]], ids=range(4))
def test_a_record_is_text(text: Any) -> None:
    with pytest.raises(RecordError, match="a record is text"):
        Record.parse(text)


# --- Files and pictures ----------------------------------------------------------------------------------------------


def test_files(tmp_path: Path) -> None:
    record, _ = random_record(Rules(num_players=3, match=True), 1)
    path = tmp_path / "deep" / "game.txt"
    record.write(path)
    assert Record.read(path) == record
    assert [*path.parent.iterdir()] == [path], "nothing is left behind"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(RecordError, match=r"game\.txt: "):
        Record.read(path)
    with pytest.raises(FileNotFoundError):
        Record.read(tmp_path / "nothing.txt")


def test_any_position_of_a_record_can_be_shown() -> None:
    record = Record.parse(RECORD)
    assert [to_json(record.game(actions))["totals"] for actions in range(3)] == [[0, 0], [3, 0], [3, 28]]
    assert [record.game(actions).ply for actions in (-1, 2, 99)] == [1, 2, 2]
    assert [(turn.seat, turn.text, str(turn.score)) for turn in record.turns] == [
        (0, "AV (0, 1)", "+3 (basic -2, pair +5)"),
        (1, "AM (0, 2)", "+28 (basic -2, three +30)"),
    ]


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_golden_records(path: Path) -> None:
    """The format does not change unnoticed; remarks in the files are for people."""
    text = path.read_text(encoding="utf-8")
    lines = [line.partition("#")[0].strip() for line in text.splitlines()]
    assert str(Record.parse(text)).splitlines() == [line for line in lines if line]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-be"])
def test_records_saved_by_editors_of_windows_are_read(encoding: str, tmp_path: Path) -> None:
    text = GOLDEN[0].read_text(encoding="utf-8")
    mark = "\ufeff" if encoding.endswith("-be") else ""
    (tmp_path / "game.txt").write_bytes((mark + text.replace("\n", "\r\n")).encode(encoding))
    assert Record.read(tmp_path / "game.txt") == Record.parse(text)


@pytest.mark.parametrize(
    "rules",
    [Rules(2, match=True), Rules(3, "open", match=True, simpleton=True), spiral.Rules(deals=2, scoring="end")],
    ids=str,
)
def test_a_record_shows_the_last_play_of_each_round(rules: BaseRules) -> None:
    """On the full grid, with its score; no seat has won before the last round."""
    session = Session(rules, [uniform] * rules.num_players, Seeded(3))
    while not session.game.over:
        session.play(session.choose())
    record, scene_of = session.record, spec_of(rules).scene
    ends = {turn.round: turn for turn in session.turns}
    assert len(ends) == rules.num_rounds
    for round, turn in ends.items():
        scene, totals = scene_of(record.shown(turn.number)), record.game(turn.number).totals
        last = round + 1 == rules.num_rounds
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
        assert last or len(scene_of(record.shown(turn.number + 1)).board) < len(scene.board)
