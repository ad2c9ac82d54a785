"""Files of games: format, limits, and equal files from every way to play the games."""

import hashlib
import json
import tracemalloc
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from quincunx_env.arena import compare, evaluate, evaluate_all, tournament
from quincunx_env.arena import records as module
from quincunx_env.arena.comparison import Comparison
from quincunx_env.arena.records import Records, most_actions
from quincunx_env.arena.verification import verify
from quincunx_env.notation.record import Record, RecordError, Seeded
from quincunx_env.quincunx.rules import Rules
from quincunx_env.registry import GAMES
from quincunx_env.spiral.rules import Rules as SpiralRules

pytest.importorskip("scipy.stats")
pytest.importorskip("choix")


def seal(header: Any, body: bytes, title: str = "quincunx_env games 1") -> bytes:
    """A file as the documentation describes it, with the right checksum."""
    content = f"{title}\n{header if isinstance(header, str) else json.dumps(header)}\n".encode() + body
    return content + hashlib.sha256(content).digest()


def unseal(content: bytes) -> tuple[dict[str, Any], bytes]:
    """Header and decompressed arrays."""
    _, header, rest = content.split(b"\n", 2)
    return json.loads(header), zlib.decompress(rest[:-32])


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A file of ten games of greedy."""
    path = tmp_path_factory.mktemp("records") / "greedy.games"
    evaluate("greedy", 10, records=path)
    return path.read_bytes()


def test_the_format_is_the_documented_one(content: bytes) -> None:
    header, body = unseal(content)
    records = Records.from_bytes(content)
    assert header["config"] == records.config.to_json()
    (lineup,) = header["lineups"]
    assert (lineup["policies"], lineup["seats"], lineup["games"]) == (["greedy"], [0], 10)
    assert lineup["claims"] == evaluate("greedy", 10).to_json()
    assert header["about"]["policies"] == {"greedy": "quincunx_agents.greedy:greedy"}
    lengths, totals = np.frombuffer(body, "<u2", 10), np.frombuffer(body, "<i4", 10, 20)
    assert totals.tolist() == evaluate("greedy", 10).scores.tolist()
    actions = np.frombuffer(body, "<u2", offset=60)
    assert len(actions) == lengths.sum()
    own = records.lineups[0]
    assert (own.lengths == lengths).all()
    assert (own.totals[:, 0] == totals).all()
    assert (own.actions == actions).all()
    assert records.to_bytes() == content, "what is read is written again as it was"


@pytest.mark.parametrize("players", [1, 3])
def test_a_game_is_a_record_with_its_players(players: int, tmp_path: Path) -> None:
    path = tmp_path / "some.games"
    if players == 1:
        evaluate_all({"a, #b": "uniform", "greedy": "greedy"}, 3, first=5, records=path, domain="validation")
    else:
        compare(["uniform", "greedy", "heuristic"], 2, rules=Rules(3), records=path)
    games = Records.read(path)
    numbers = [(lineup, game) for lineup in games.lineups for game in range(len(lineup.lengths))]
    for number, (lineup, game) in enumerate(numbers):
        record = games.record(number)
        seating = lineup.seatings[game % len(lineup.seatings)]
        assert record.seats == tuple(lineup.policies[each] for each in seating)
        assert Record.parse(str(record)) == record
        assert record.dealt == Seeded(games.config.first + game // len(lineup.seatings), 0, games.config.domain)
        assert record.game().over
        assert record.game().totals == lineup.totals[game].tolist()
    wrong: Any
    for wrong in (-1, len(numbers), 0.5):
        with pytest.raises(ValueError, match=f"game must be an integer from 0 to {len(numbers) - 1}"):
            games.record(wrong)


def test_options_that_were_added_later_have_their_defaults(content: bytes) -> None:
    header, body = unseal(content)
    del header["config"]["rules"]["mini"]
    older = Records.from_bytes(seal(header, zlib.compress(body)))
    assert older.config == Records.from_bytes(content).config


def test_a_game_takes_few_bytes(tmp_path: Path) -> None:
    evaluate("uniform", 1000, records=tmp_path / "uniform.games")
    assert (tmp_path / "uniform.games").stat().st_size < 20 * 1000


def interrupted(jobs: Iterable[Any]) -> Iterator[Any]:
    for number, job in enumerate(jobs):
        if number == 3:
            raise KeyboardInterrupt
        yield job


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_interrupted_runs_end_with_the_same_file(workers: int, tmp_path: Path) -> None:
    run: dict[str, Any] = {"policies": ["uniform", "greedy"], "deals": 6, "chunk": 2}
    evaluate_all(**run, records=tmp_path / "whole.games")
    parts: dict[str, Any] = {"out": tmp_path / "parts", "records": tmp_path / "parts.games", "workers": workers}
    with pytest.raises(KeyboardInterrupt):
        evaluate_all(**run, **parts, progress=interrupted)
    assert not (tmp_path / "parts.games").exists()
    evaluate_all(**run, **parts)
    assert (tmp_path / "parts.games").read_bytes() == (tmp_path / "whole.games").read_bytes()
    parts["records"] = tmp_path / "later.games"
    evaluate_all(**run, **parts, progress=lambda jobs: [] if not list(jobs) else pytest.fail("no game is missing"))
    assert (tmp_path / "later.games").read_bytes() == (tmp_path / "whole.games").read_bytes()


def test_one_policy_and_several_have_the_same_games(tmp_path: Path) -> None:
    evaluate("uniform", 20, chunk=8, records=tmp_path / "one.games")
    evaluate_all(["greedy", "uniform"], 20, chunk=8, records=tmp_path / "two.games")
    one, two = Records.read(tmp_path / "one.games"), Records.read(tmp_path / "two.games")
    assert (one.lineups[0].actions == two.lineups[1].actions).all()


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
    path = tmp_path / "several.games"
    comparison = compare(["greedy", "uniform"], 2, rules=rules, records=path)
    (verified,) = verify(Records.read(path))
    assert verified.to_json() == comparison.to_json()
    assert Records.read(path).lineups[0].lengths.max() <= most_actions(rules)
    held = tournament(["greedy", "uniform", "other=quincunx_agents.uniform:uniform"], 2, rules=rules, records=path)
    results = verify(Records.read(path))
    assert [each.to_json() for each in results] == [each.to_json() for each in held.comparisons.values()]


def test_every_action_fits() -> None:
    for spec in GAMES.values():
        for players in (2, 3, 4) if spec.name == "quincunx" else (2,):
            options = {"num_players": players, "start": "open", "simpleton": True, "pawns": True}
            rules = spec.Rules(**options) if spec.name == "quincunx" else spec.Rules()
            assert rules.num_actions <= 2**16


# --- What cannot be read ---------------------------------------------------------------------------------------------


def test_files_that_cannot_be_read(content: bytes, tmp_path: Path) -> None:
    header, body = unseal(content)
    packed = zlib.compress(body)

    def changed(part: str, **values: Any) -> bytes:
        return seal(header | {part: header[part] | values}, packed)

    def lineup(**values: Any) -> bytes:
        return seal(header | {"lineups": [header["lineups"][0] | values]}, packed)

    rules = header["config"]["rules"]
    cases = {
        b"": "no file of games",
        b"PK\3\4": "no file of games",
        content[:-1]: "damaged or cut short: its checksum is wrong",
        content[:30]: "damaged or cut short: its checksum is wrong",
        content + b"0": "damaged or cut short: its checksum is wrong",
        seal(header, packed, "quincunx_env games 2"): "version 2 of the format, this package reads version 1",
        seal("{", packed): "the header is no JSON",
        seal("[" * 100_000, packed): "the header is no JSON",
        seal("[]", packed): "the header has no 'config' of type dict",
        seal(json.dumps("x" * 2**20), packed): "the header has more than 1048576 bytes",
        changed("config", game="chess"): "the game is one of quincunx, spiral, got 'chess'",
        changed("config", domain="mine"): "the domain is one of play, benchmark, validation, got 'mine'",
        changed("config", deals=True): "the header has no 'deals' of type int",
        changed("config", deals=10**7): "at most 1000000 games, got 10000000 deals",
        changed("config", deals=1): "deals must be an integer of at least 2",
        changed("config", first=2**63): "the number of a deal is at most",
        changed("config", rules=rules | {"jokers": True}): "has other rules than",
        changed("config", rules=rules | {"flush": 1}): "flush must be True or False, got 1",
        lineup(policies=[]): "the seats [0] are not those of the 0 policies",
        lineup(policies=["a\nb"]): "1 to 1000 printable characters",
        lineup(policies=["a" * 1001]): "1 to 1000 printable characters",
        lineup(policies=["a | 200.0"]): "characters without '|'",
        lineup(seats=[1]): "the seats [1] are not those of the 1 policies",
        lineup(seats=[0, 0]): "these rules have 1 seats, got [0, 0]",
        lineup(games=-1): "a lineup has at most 1000000 games, got -1",
        lineup(games=10**7): "a lineup has at most 1000000 games, got 10000000",
        lineup(games=9): "the games are",
        lineup(games=11): "the games are",
        seal(header | {"lineups": []}, packed): "at least one lineup",
        seal(header | {"lineups": [header["lineups"][0] | {"games": 10**6}] * 2}, packed): "at most 1000000 games",
        seal(header, packed[:-9]): "the games are cut short: the compressed part ends early",
        seal(header, b"no zlib"): "the games cannot be decompressed",
        seal(header, packed + b"0"): "there is more in the file than 10 games",
        seal(header, zlib.compress(body[:-2])): "the games are cut short:",
        seal(header, zlib.compress(body[:30])): "the games are cut short: 10 are announced, 30 bytes are there",
        seal(header, zlib.compress(body + b"00")): "the games are followed by something else",
        seal(header, zlib.compress(b"\xff\x00" + bytes(58 + 2 * 255))): "at most 72 actions, got 255",
    }
    path = tmp_path / "damaged.games"
    for damaged, message in cases.items():
        path.write_bytes(damaged)
        with pytest.raises(RecordError) as caught:
            Records.read(path)
        assert str(caught.value).startswith(f"{path}: ")
        assert message in str(caught.value), damaged[:400]


def test_a_small_file_cannot_demand_much_memory(content: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    header, body = unseal(content)
    bomb = zlib.compress(body + bytes(30_000_000), 9)
    assert len(bomb) < 40_000
    many = header | {"lineups": [header["lineups"][0] | {"games": 10**6}]}
    monkeypatch.setattr(module, "MAX_BYTES", 2**20)
    tracemalloc.start()
    try:
        for headers in (header, many):
            with pytest.raises(RecordError, match="there is more in the file than"):
                Records.from_bytes(seal(headers, bomb))
        assert tracemalloc.get_traced_memory()[1] < 8_000_000
    finally:
        tracemalloc.stop()


def test_what_could_not_be_read_is_not_written(tmp_path: Path) -> None:
    for name in ("a\nb", ""):
        with pytest.raises(ValueError, match="printable characters"):
            evaluate_all({name: "greedy"}, 2, records=tmp_path / "none.games")
    with pytest.raises(RecordError, match="JSON"):
        evaluate("greedy", 2, lost_value=float("nan"), records=tmp_path / "none.games")
    assert not list(tmp_path.iterdir())


def test_files_are_named_by_strings_and_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    comparison = compare(["greedy", "uniform"], 4, records="comparison.games")
    (verified,) = verify(Records.read("comparison.games"))
    assert isinstance(verified, Comparison)
    assert verified.win_rate() == comparison.win_rate()
    tournament(["greedy", "uniform"], 4, out="out", records="tournament.games")
    evaluate_all(["greedy", "uniform"], 4, out=Path("out"), records=Path("evaluations.games"))
    assert sorted(path.name for path in tmp_path.glob("*.games")) == [
        *("comparison.games", "evaluations.games", "tournament.games")
    ]


@pytest.mark.parametrize("play", [compare, tournament, evaluate_all])
def test_where_no_games_can_be_written_none_are_played(play: Any, tmp_path: Path) -> None:
    def unused(*arguments: Any) -> Any:
        raise AssertionError("no game is played")

    (tmp_path / "file").write_text("something else")
    for path in (tmp_path, tmp_path / "file", tmp_path / "file" / "games"):
        with pytest.raises(ValueError, match="--records"):
            play({"one": unused, "other": unused} if play is not compare else [unused, "greedy"], 4, records=path)
