"""Files of games: format, limits, and equal files from every way to play the games."""

import io
import json
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from quincunx_env.arena import Deals, Run, compare, evaluate, evaluate_all, tournament
from quincunx_env.arena import games as module
from quincunx_env.arena.games import DTYPES, Games, most_actions
from quincunx_env.arena.matches import MatchConfig
from quincunx_env.arena.verification import verify
from quincunx_env.notation.record import Record, RecordError, Seeded
from quincunx_env.quincunx.rules import Rules
from quincunx_env.registry import GAMES
from quincunx_env.spiral.rules import Rules as SpiralRules
from quincunx_env.utils import npz

pytest.importorskip("scipy.stats")


def unpack(content: bytes) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """Header and arrays."""
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        arrays = dict(file)
    return json.loads(arrays.pop("header").tobytes()), arrays


def pack(header: Any, arrays: Mapping[str, npt.NDArray[Any]]) -> bytes:
    """A file as the documentation describes it, with the right checksums."""
    text = header if isinstance(header, str) else json.dumps(header)
    return npz.pack({"header": np.frombuffer(text.encode(), np.uint8), **arrays})


def members(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        return {name: file.read(name) for name in file.namelist()}


def zipped(files: Mapping[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A ZIP file of any contents."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", method) as file:
        for name, each in files.items():
            file.writestr(zipfile.ZipInfo(name), each, method, 9)
    return content.getvalue()


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A file of ten games of greedy."""
    path = tmp_path_factory.mktemp("records") / "greedy.npz"
    evaluate("greedy", 10, run=Run(records=path))
    return path.read_bytes()


def test_the_format_is_the_documented_one(content: bytes) -> None:
    header, arrays = unpack(content)
    games = Games.from_bytes(content)
    assert header["version"] == 1
    assert header["config"] == games.config.to_json()
    assert header["part"] is None
    (lineup,) = header["lineups"]
    assert (lineup["policies"], lineup["seats"], lineup["games"]) == (["greedy"], [0], 10)
    evaluation = evaluate("greedy", 10)
    assert lineup["claims"] == evaluation.to_json()
    assert header["about"]["policies"] == {"greedy": "quincunx_agents.greedy:greedy"}
    assert [(name, array.dtype.str) for name, array in arrays.items()] == [*DTYPES.items()][1:]
    assert arrays["totals"].tolist() == [[score] for score in evaluation.scores]
    assert arrays["lost"].tolist() == evaluation.lost.tolist()
    assert len(arrays["actions"]) == arrays["lengths"].sum()
    for name, array in arrays.items():
        assert (getattr(games.lineups[0], name) == array).all()
    assert games.to_bytes() == content, "what is read is written again as it was"


@pytest.mark.parametrize("players", [1, 3])
def test_a_game_is_a_record_with_its_players(players: int, tmp_path: Path) -> None:
    path = tmp_path / "some.npz"
    if players == 1:
        evaluate_all({"a, #b": "uniform", "greedy": "greedy"}, Deals(3, "validation", first=5), run=Run(records=path))
    else:
        compare(["uniform", "greedy", "heuristic"], 2, rules=Rules(3), run=Run(records=path))
    games = Games.read(path)
    numbers = [(lineup, game) for lineup in games.lineups for game in range(len(lineup.lengths))]
    for number, (lineup, game) in enumerate(numbers):
        record = games.record(number)
        seating = lineup.seatings[game % len(lineup.seatings)]
        assert record.seats == tuple(lineup.policies[each] for each in seating)
        assert Record.parse(str(record)) == record
        deals = games.config.deals
        assert record.dealt == Seeded(deals.first + game // len(lineup.seatings), 0, deals.domain)
        assert record.game().over
        assert record.game().totals == lineup.totals[game].tolist()
    wrong: Any
    for wrong in (-1, len(numbers), 0.5):
        with pytest.raises(ValueError, match=f"game must be an integer from 0 to {len(numbers) - 1}"):
            games.record(wrong)


def test_options_that_were_added_later_have_their_defaults(content: bytes) -> None:
    header, arrays = unpack(content)
    del header["config"]["rules"]["mini"]
    older = Games.from_bytes(pack(header, arrays))
    assert older.config == Games.from_bytes(content).config


def test_a_game_takes_few_bytes(tmp_path: Path) -> None:
    evaluate("uniform", 1000, run=Run(records=tmp_path / "uniform.npz"))
    assert (tmp_path / "uniform.npz").stat().st_size < 20 * 1000


def interrupted(jobs: Iterable[Any]) -> Iterator[Any]:
    for number, job in enumerate(jobs):
        if number == 3:
            raise KeyboardInterrupt
        yield job


def none_left(jobs: Iterable[Any]) -> list[Any]:
    return [pytest.fail("no game is missing") for _ in jobs]


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_interrupted_runs_end_with_the_same_file(workers: int, tmp_path: Path) -> None:
    policies, whole = ["uniform", "greedy"], Run(chunk=2, records=tmp_path / "whole.npz")
    evaluate_all(policies, 6, run=whole)
    parts = replace(whole, out=tmp_path / "parts", records=tmp_path / "parts.npz", workers=workers)
    with pytest.raises(KeyboardInterrupt):
        evaluate_all(policies, 6, run=replace(parts, progress=interrupted))
    assert not (tmp_path / "parts.npz").exists()
    evaluate_all(policies, 6, run=parts)
    assert (tmp_path / "parts.npz").read_bytes() == (tmp_path / "whole.npz").read_bytes()
    assert len({path.name for path in (tmp_path / "parts").rglob("*.npz")}) == 2 * 3
    later = replace(parts, records=tmp_path / "later.npz", progress=none_left)
    evaluate_all(policies, 6, run=later)
    assert (tmp_path / "later.npz").read_bytes() == (tmp_path / "whole.npz").read_bytes()


@pytest.mark.parametrize(
    "rules",
    [
        Rules(num_players=2),
        pytest.param(Rules(num_players=3, start="open", simpleton=True, match=True), marks=pytest.mark.slow),
        pytest.param(Rules(num_players=4, excuse=True, pawns=True), marks=pytest.mark.slow),
        SpiralRules(deals=1),
    ],
    ids=str,
)
def test_games_of_several_players(rules: Any, tmp_path: Path) -> None:
    """Comparisons and tournaments are recomputed from their games."""
    path = tmp_path / "several.npz"
    comparison = compare(["greedy", "uniform"], 2, rules=rules, run=Run(records=path))
    (verified,) = verify(Games.read(path))
    assert verified.to_json() == comparison.to_json()
    assert Games.read(path).lineups[0].lengths.max() <= most_actions(rules)
    held = tournament(
        ["greedy", "uniform", "other=quincunx_agents.uniform:uniform"], 2, rules=rules, run=Run(records=path)
    )
    results = verify(Games.read(path))
    assert [each.to_json() for each in results] == [each.to_json() for each in held.comparisons.values()]


def test_every_action_fits() -> None:
    for spec in GAMES.values():
        for players in (2, 3, 4) if spec.name == "quincunx" else (2,):
            options = {"num_players": players, "start": "open", "simpleton": True, "pawns": True}
            rules = spec.Rules(**options) if spec.name == "quincunx" else spec.Rules()
            assert rules.num_actions <= 2**16


# --- What cannot be read ---------------------------------------------------------------------------------------------


def damaged_files(content: bytes) -> dict[bytes, str]:
    """Contents that are refused, and part of the message."""
    header, arrays = unpack(content)
    files = members(content)

    def changed(part: str, **values: Any) -> bytes:
        return pack(header | {part: header[part] | values}, arrays)

    def lineup(**values: Any) -> bytes:
        return pack(header | {"lineups": [header["lineups"][0] | values]}, arrays)

    def other(name: str, array: npt.NDArray[Any]) -> bytes:
        return pack(header, arrays | {name: array})

    def file(name: str, change: Callable[[bytes], bytes]) -> bytes:
        return zipped(files | {name: change(files[name])})

    rules, middle, total = header["config"]["rules"], len(content) // 2, len(arrays["actions"])
    long = np.concatenate([[255], arrays["lengths"][1:]]).astype(np.uint16)
    pickled = io.BytesIO()
    np.lib.format.write_array(pickled, np.array([None] * 10), allow_pickle=True)
    no_games, damaged, announced = "not a file of games", "the file is damaged or cut short", "10 games need"
    return {
        b"": no_games,
        b"PK\3\4": no_games,
        b"quincunx_env games 1\n": no_games,
        zipped({"model.pt": b"weights"}): no_games,
        content[:-1]: damaged,
        content[:middle]: damaged,
        content[:middle] + b"0" + content[middle + 1 :]: damaged,
        content.replace(b"PK\1\2", b"0" * 9 + b"PK\1\2", 1): damaged,
        pack(header | {"version": 2}, arrays): "version 2 of the format, this package reads version 1",
        pack(header | {"version": True}, arrays): "the header has no 'version' of type int",
        pack("{", arrays): "the header is not JSON",
        pack("[" * 100_000, arrays): "the header is not JSON",
        pack("\udcff".encode("utf-8", "surrogatepass").decode("latin-1"), arrays): "the header is not JSON",
        pack({"version": 1}, arrays): "the header has no 'config' of type dict",
        pack(json.dumps("x" * 2**20), arrays): "the header has more than 1048576 bytes",
        changed("config", game="chess"): "the game is one of quincunx, spiral, got 'chess'",
        changed("config", domain="mine"): "the domain is one of play, benchmark, validation, got 'mine'",
        changed("config", deals=True): "the header has no 'deals' of type int",
        changed("config", deals=10**7): "at most 1000000 games, got 10000000 deals",
        changed("config", deals=1): "deals must be an integer of at least 2",
        changed("config", seed=-(10**4000)): "seed must be an integer of at least 0, got -1000",
        changed("config", first=2**63): "the number of a deal is at most",
        changed("config", chunk=60_000): "a chunk has at most 10000 deals of these rules, got 60000: choose a smaller",
        changed("config", rules=rules | {"jokers": True}): "has other rules than",
        changed("config", rules=rules | {"flush": 1}): "flush must be True or False, got 1",
        pack(header | {"part": 1}, arrays): "the number of a chunk is from 0 to 0, got 1",
        pack(header | {"part": "0"}, arrays): "the header has no 'part' of type int",
        lineup(policies=[]): "the seats [0] do not number the 0 policies",
        lineup(policies=["a\nb"]): "1 to 1000 printable characters",
        lineup(policies=["a" * 1001]): "1 to 1000 printable characters",
        lineup(policies=[" "]): "without blanks at its ends",
        lineup(policies=["a | 200.0"]): "characters without '|'",
        lineup(seats=[1]): "the seats [1] do not number the 1 policies",
        lineup(seats=[0, 0]): "these rules have 1 seats, got [0, 0]",
        lineup(games=-1): "a lineup has at most 1000000 games, got -1",
        lineup(games=10**7): "a lineup has at most 1000000 games, got 10000000",
        lineup(games=11): "11 games need lengths of shape (11,), got (10,)",
        pack(header | {"lineups": []}, arrays): "at least one lineup",
        pack(header | {"lineups": [header["lineups"][0] | {"games": 10**6}] * 2}, arrays): "at most 1000000 games",
        other("lengths", arrays["lengths"][:-1]): announced,
        other("totals", arrays["totals"][:, 0]): f"{announced} totals of shape (10, 1), got (10,)",
        other("lost", arrays["lost"][:-1]): announced,
        other("lost", np.array([2, *[0] * 9], np.uint8).view(np.bool_)): "a game is lost or not, got another value",
        other("lengths", long): "at most 72 actions, got 255",
        other("actions", arrays["actions"][:-1]): f"{total} actions are needed, got the shape (",
        other("lost", arrays["lost"].astype(np.uint8)): "lost.npy has the dtype |u1, expected |b1",
        other("actions", arrays["actions"].astype(">u2")): "actions.npy has the dtype >u2, expected <u2",
        other("totals", arrays["totals"].astype(np.float32)): "totals.npy has the dtype <f4, expected <i4",
        other("totals", np.asfortranarray(np.repeat(arrays["totals"], 2, axis=1))): "totals.npy has the dtype <i4",
        zipped(files | {"lost.npy": pickled.getvalue()}): "lost.npy has the dtype |O, expected |b1",
        file("lost.npy", lambda npy: npy[:-1]): "lost.npy is damaged or cut short: the shape (10,) has another size",
        file("lost.npy", lambda npy: npy.replace(b"(10,)", b"(-1,)")): "lost.npy is damaged or cut short",
        file("lost.npy", lambda npy: npy.replace(b"(10,)", b"(9**9")): damaged,
        file("lost.npy", lambda npy: npy[:6] + b"\2" + npy[7:]): "lost.npy is of version (2, 0) of NumPy's format",
        file("lost.npy", lambda npy: npy[:3]): damaged,
        zipped({**files, "more.npy": files["lost.npy"]}): "the file has the arrays header, lengths, totals, lost, ",
        zipped(dict([*files.items()][:-1])): "the file has the arrays header, lengths, totals, lost, expected",
        zipped(dict([*files.items()][:1] + [*files.items()][:0:-1])): "the file has the arrays header, actions, lost",
        zipped(files | {f"{number}.npy": b"" for number in range(200)}): "the file has more than 5 arrays",
        zipped(files, zipfile.ZIP_STORED): "header.npy is not compressed with DEFLATE",
        zipped(files, zipfile.ZIP_BZIP2): "header.npy is not compressed with DEFLATE",
    }  # fmt: skip


def test_files_that_cannot_be_read(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "damaged.npz"
    for damaged, message in damaged_files(content).items():
        path.write_bytes(damaged)
        with pytest.raises(RecordError) as caught:
            Games.read(path)
        assert str(caught.value).startswith(f"{path}: ")
        assert len(str(caught.value)) < 1000
        assert message in str(caught.value), damaged[:400]


def test_two_policies_of_one_name_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "two.npz"
    compare(["greedy", "uniform"], 2, run=Run(records=path))
    header, arrays = unpack(path.read_bytes())
    header["lineups"][0]["policies"] = ["greedy", "greedy"]
    with pytest.raises(RecordError, match="do not number the 2 policies"):
        Games.from_bytes(pack(header, arrays))


@pytest.mark.parametrize(("players", "most"), [(1, 10_000), (2, 5_000), (4, 2_500)])
def test_the_size_of_a_chunk_is_limited(players: int, most: int) -> None:
    """Before a game is played: its games are side by side in memory."""
    rules, deals = Rules(num_players=players), Deals(10**6)
    MatchConfig(rules, deals, 0, most)
    with pytest.raises(ValueError, match=f"a chunk has at most {most} deals of these rules, got {most + 1}: choose a"):
        MatchConfig(rules, deals, 0, most + 1)


def test_a_flipped_bit_is_refused_or_changes_no_game(tmp_path: Path) -> None:
    evaluate("greedy", 4, run=Run(records=tmp_path / "games.npz"))
    content = (tmp_path / "games.npz").read_bytes()
    for bit in range(8 * len(content)):
        flipped = bytearray(content)
        flipped[bit // 8] ^= 1 << bit % 8
        with suppress(RecordError):
            assert Games.from_bytes(bytes(flipped)).to_bytes() == content


def test_a_small_file_cannot_demand_much_memory(content: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither by arrays larger than the games, nor by members larger than the directory says."""
    header, arrays = unpack(content)
    many = np.zeros(15_000_000, np.uint16)
    large = pack(header, arrays | {"actions": many})
    assert len(large) < 40_000
    announced = header | {"lineups": [header["lineups"][0] | {"games": 10**6}]}
    files = members(content)
    actions, hidden = files["actions.npy"], files["actions.npy"] + bytes(30_000_000)
    little = zipped(files | {"actions.npy": hidden})
    for before, after in ((len(hidden), len(actions)), (zlib.crc32(hidden), zlib.crc32(actions))):
        little = little.replace(before.to_bytes(4, "little"), after.to_bytes(4, "little"))
    monkeypatch.setattr(module, "MAX_BYTES", 2**26)
    tracemalloc.start()
    try:
        for damaged, message in (
            (large, "actions are needed, got the shape"),
            (pack(announced, arrays | {"actions": many}), "1000000 games need lengths of shape"),
        ):
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            with pytest.raises(RecordError, match=message):
                Games.from_bytes(damaged)
            assert tracemalloc.get_traced_memory()[1] - before < 8_000_000
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        assert Games.from_bytes(little).to_bytes() == content
        assert tracemalloc.get_traced_memory()[1] - before < 8_000_000
        monkeypatch.setattr(module, "MAX_BYTES", 2**20)
        with pytest.raises(RecordError, match="its members have more than 1,048,576 bytes"):
            Games.from_bytes(large)
        with pytest.raises(RecordError, match="the file has more than 1048576 bytes"):
            Games.from_bytes(content + bytes(2**20))
    finally:
        tracemalloc.stop()


def test_what_could_not_be_read_is_not_written(tmp_path: Path) -> None:
    for name in ("a\nb", ""):
        with pytest.raises(ValueError, match="printable characters"):
            evaluate_all({name: "greedy"}, 2, run=Run(records=tmp_path / "none.npz"))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("play", [compare, tournament, evaluate_all])
def test_where_no_games_can_be_written_none_are_played(play: Any, tmp_path: Path) -> None:
    def unused(*arguments: Any) -> Any:
        raise AssertionError("no game is played")

    (tmp_path / "file").write_text("something else")
    for path in (tmp_path, tmp_path / "file", tmp_path / "file" / "games"):
        with pytest.raises(ValueError, match="--records"):
            play({"one": unused, "other": unused}, 4, run=Run(records=path))
