"""The server for play in the browser, without a browser: `tests/web` has the tests with one."""

import html
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from email.message import Message
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock
from urllib.parse import quote, urljoin
from urllib.request import urlopen

import pytest
from markupsafe import escape
from starlette.testclient import TestClient

from quincunx_env import Record, Rules
from quincunx_env.notation.record import Seeded
from quincunx_env.notation.text import print_action
from quincunx_env.play import daily
from quincunx_env.play.daily import today
from quincunx_env.play.lessons import lessons
from quincunx_env.play.result import points_of
from quincunx_env.play.review import exactly, expected
from quincunx_env.play.session import Session
from quincunx_env.play.web import pages, rules_pictures, server
from quincunx_env.play.web.pages import KINDS, View
from quincunx_env.play.web.server import HEADERS, listen, make_app, make_server
from quincunx_env.play.web.tables import Games, OutdatedPosition, Table
from quincunx_env.policies import resolve
from quincunx_env.registry import spec_of
from quincunx_env.render.words import minus
from quincunx_env.spiral.rules import Rules as SpiralRules
from tests.variants import BASES, SOME_SPIRAL, by_name

ROOT = Path(__file__).parents[2]
RECORDS = ROOT / "tests/golden/records"
ORIGIN = {"origin": "http://localhost:8017"}


@pytest.fixture(autouse=True)
def noon(monkeypatch: pytest.MonkeyPatch) -> None:
    """The days of a test do not change while it runs, nor do the deals from day to day."""
    clock = SimpleNamespace(now=lambda zone: datetime(2026, 1, 31, 12, tzinfo=UTC), strptime=datetime.strptime)
    monkeypatch.setattr(daily, "datetime", clock)


@pytest.fixture
def games(tmp_path: Path) -> Games:
    """The games of the server."""
    return Games(tmp_path, pause=0.0)


@pytest.fixture
def client(games: Games) -> TestClient:
    """A browser that has the link."""
    app = make_app(games, "token", ["play.example"])
    return TestClient(app, "http://localhost:8017", headers=ORIGIN, follow_redirects=False)


def wait(condition: Any) -> None:
    """Wait for a thread."""
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


# --- Who may ask -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("host", "origin", "path", "status"),
    [
        ("localhost:8017", None, "/token/", 200),
        ("LOCALHOST", "http://localhost", "/token/", 200),
        ("127.0.0.1:4444", "http://127.0.0.1:4444", "/token/", 200),
        ("[::1]:8017", "http://[::1]:8017", "/token/", 200),
        ("play.example", "https://play.example", "/token/", 200),
        ("evil.example", None, "/token/", 400),
        ("localhost.evil.example", None, "/token/", 400),
        ("localhost@evil.example", None, "/token/", 400),
        ("192.168.1.2:8017", None, "/token/", 400),
        ("[::2]:8017", None, "/token/", 400),
        ("www.play.example", None, "/token/", 400),
        ("evil.example", "http://evil.example", "/token/", 400),
        ("", "http://", "/token/", 400),
        ("localhost:8017", "http://localhost:8018", "/token/", 403),
        ("localhost:8017", "http://evil.example", "/token/", 403),
        ("localhost:8017", "null", "/token/", 403),
        ("localhost:8017", None, "/", 403),
        ("localhost:8017", None, "/toke/", 403),
        ("localhost:8017", None, "/tokens/", 403),
        ("localhost:8017", None, "/token", 404),
        ("localhost:8017", None, "/token/none", 404),
        ("localhost:8017", None, "/token/file/server.py", 404),
        ("localhost:8017", None, "/token/new", 405),
    ],
)
def test_who_is_answered(games: Games, host: str, origin: str | None, path: str, status: int) -> None:
    client = TestClient(make_app(games, "token", ["play.example"]), "http://localhost")
    headers = {"host": host} | ({} if origin is None else {"origin": origin})
    answer = client.get(path, headers=headers)
    assert answer.status_code == status
    assert {name: answer.headers[name] for name in HEADERS} == HEADERS
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["x-frame-options"] == "DENY"


def test_a_change_needs_an_origin(games: Games) -> None:
    client = TestClient(make_app(games, "token"), "http://localhost")
    assert client.post("/token/new", content="kind=solitaire").status_code == 403
    assert not games._tables


# --- A game ----------------------------------------------------------------------------------------------------------


def begin(client: TestClient, form: str = "kind=solitaire") -> str:
    """Start a game and return its address."""
    answer = client.post("/token/new", content=form)
    assert answer.status_code == 303
    return urljoin("/token/new", answer.headers["location"])


def test_play_undo_and_record(client: TestClient, games: Games) -> None:
    address = begin(client)
    (table,) = games._tables.values()
    game = table.session.game
    card, cell = spec_of(game.rules).notation.decode_play(game, table.session.candidates()[0].action)
    shown = client.get(f"{address}/view?card={card}&cell={cell}").text
    assert f'data-card="{card}" data-cell="{cell}"' in shown
    assert re.search(r'data-said="[\w ]+ at [A-D][1-4]: (0|[+\N{MINUS SIGN}]\d+), ', shown), "a screen reader hears it"
    assert client.get(f"{address}/view?have={table.version}").status_code == 204
    answer = client.post(f"{address}/play", content=f"position=0&card={card}&cell={cell}")
    assert answer.status_code == 200
    assert 'data-position="1"' in answer.text
    assert f'href="../game/{table.name}/record">Download' in answer.text
    record = client.get(f"{address}/record")
    assert Record.parse(record.text) == Record.read(table.path) == table.session.record
    assert record.headers["content-disposition"] == f'attachment; filename="{table.name}.txt"'
    assert client.post(f"{address}/play", content=f"position=0&card={card}&cell={cell}").status_code == 409
    assert client.post(f"{address}/play", content=f"position=1&card={card}&cell={cell}").status_code == 400
    assert len(table.session.turns) == 1
    assert client.post(f"{address}/undo", content="position=1").status_code == 200
    assert client.post(f"{address}/undo", content="position=2").status_code == 400
    assert not table.session.turns
    replay = client.get(f"{address}/replay")
    assert replay.headers["content-security-policy"].startswith("sandbox allow-scripts; default-src 'none'")


FORM = "position=1&card=3&cell=1"
"""A form of `play` that names the position of the test below."""

REFUSED: list[tuple[str, str, dict[str, str], int]] = [
    *(("play", FORM, headers, 400) for headers in ({"host": "evil.example", "origin": "http://evil.example"},)),
    *(("play", FORM, {"host": host}, 403) for host in ("evil.example", "127.0.0.1.evil.example", "localhost:1")),
    *(("play", FORM, {"origin": origin}, 403) for origin in ("http://evil.example", "null", "file://", "", "http://")),
    *((f"/{token}/game/a/play", FORM, {}, 403) for token in ("", "toke", "tokens", "TOKEN", "%00", "..%2ftoken")),
    *(
        ("play", f"position=1&card={card}&cell=1", {}, 400)
        for card in (-1, 36, 999_999, 10**9, "x", "1.5", "%D9%A3", "")
    ),
    *(("play", f"position=1&card=3&cell={cell}", {}, 400) for cell in (-1, 16, 10**9, "x", "../../etc/passwd", "")),
    *(
        ("play", form, {}, 400)
        for form in ("position=1&position=1", "position=1&announce=5", "card=3&cell=1", "&" * 500)
    ),
    *(("play", form, {}, 400) for form in ("\0", "\N{SNOWMAN}", "position=1&card=3&cell=%ff", "=&=")),
    ("play", "position=0&card=3&cell=1", {}, 409),
    *((each, "position=0", {}, 409) for each in ("undo", "hint", "next", "show")),
    ("play", f"position={'9' * 300_000}", {}, 413),
    *((path, "", {}, 404) for path in ("delete", "..%2f..%2fetc%2fpasswd", "/token/game/none/play", "/token/none")),
    *((path, "", {}, 405) for path in ("view", "record", "/token/rules")),
]
"""Requests: an action of a game or a path, with form, headers and the status of the answer."""


def test_refused_requests_change_nothing(client: TestClient, games: Games) -> None:
    table = games.start(Session(Rules(), [None], Seeded(0)))
    table.play(0, table.session.candidates()[0].action)
    before, files = str(table.session.record), {path: path.read_bytes() for path in games.folder.iterdir()}
    for path, form, headers, status in REFUSED:
        address = path if path.startswith("/") else f"/token/game/{table.name}/{path}"
        assert client.post(address, content=form, headers=headers).status_code == status, (path, form[:80], headers)
    assert (str(table.session.record), table.position, [*games._tables]) == (before, 1, [table.name])
    assert {path: path.read_bytes() for path in games.folder.iterdir()} == files


@pytest.mark.parametrize(
    "form",
    [
        "",
        "kind=chess",
        "kind=solitaire&num_players=2",
        "kind=solitaire&excuse=maybe",
        "kind=players&num_players=5",
        "kind=players&opponent1=os:system",
        "kind=players&opponent1=../weights.safetensors",
        "kind=players&opponent1=quincunx_agents.search.network:search",
        "kind=players&seat=3",
        "kind=solitaire&kind=solitaire",
        "kind=solitaire&x=%ff",
        "kind",
    ],
)
def test_forms_that_describe_no_game_are_refused(client: TestClient, games: Games, form: str) -> None:
    answer = client.post("/token/new", content=form)
    assert answer.status_code == 400
    assert 'role="alert"' in answer.text
    assert not games._tables


def test_the_number_of_games_is_limited(client: TestClient, games: Games, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quincunx_env.play.web.tables.MOST_GAMES", 3)
    address, record = begin(client), {"record": str(Record(Rules(), Seeded(0), (33,), ("human",)))}
    assert client.post(f"{address}/again", content="").status_code == 303
    assert client.post("/token/open", data=record).status_code == 303
    for path, form in (("/token/new", {"kind": "solitaire"}), (f"{address}/again", {}), ("/token/open", record)):
        answer = client.post(path, data=form)
        assert answer.status_code == 400
        assert "has begun 3 games, which is its limit" in answer.text
    assert (len(games._tables), len([*games.folder.iterdir()])) == (2, 1)


def test_forms_describe_games(client: TestClient, games: Games) -> None:
    begin(client, "kind=players&num_players=3&start=open&excuse=yes&opponent1=greedy&opponent2=human&seat=2")
    begin(client, "kind=spiral&deals=1&fifteens=yes&opponent1=uniform")
    one, other = (table.session for table in games._tables.values())
    assert one.rules == Rules(num_players=3, start="open", excuse=True)
    assert one.names == ("greedy", "human", "human")
    assert other.rules == SpiralRules(deals=1, fifteens=True)


def test_records_are_opened_and_names_are_shown_as_text(client: TestClient, games: Games) -> None:
    session = Session(Rules(), [None], Seeded(0))
    record = Record(session.rules, Seeded(0), (33,), ("<script>alert(1)</script>",))
    answer = client.post("/token/open", data={"record": str(record)})
    assert answer.status_code == 303
    (path,) = games.folder.glob("*.txt")
    assert Record.read(path) == record
    shown = client.get(f"/token/game/{path.stem}")
    assert shown.status_code == 400
    assert "&lt;script&gt;alert(1)" in shown.text
    assert "<script>alert" not in client.get("/token/").text + client.get(f"/token/game/{path.stem}/replay").text
    assert client.post("/token/open", data={"record": "nothing"}).status_code == 400


def test_games_are_listed_and_resumed_after_a_restart(client: TestClient, games: Games) -> None:
    begin(client, "kind=players&opponent1=greedy")
    (table,) = games._tables.values()
    table.play(0, table.session.candidates()[0].action)
    wait(lambda: len(table.session.turns) == 2 and table.path.exists())
    wait(lambda: Record.read(table.path) == table.session.record)
    (games.folder / "notes.txt").write_text("no record")
    again = Games(games.folder)
    (saved,) = again.saved()
    assert (saved.title, saved.players, saved.over) == ("Quincunx, 2 players", "against Easy", False)
    assert again.table(saved.name).session.record == table.session.record
    for name in ("notes", "none", "../notes"):
        with pytest.raises((LookupError, ValueError)):
            again.table(name)


@pytest.mark.parametrize("name", ["os:system", "no such", "./model.safetensors", "Human"])
def test_a_saved_game_is_continued_with_registered_or_named_players_alone(
    name: str, client: TestClient, games: Games, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolved = Mock(return_value=resolve("greedy"))
    monkeypatch.setattr("quincunx_env.play.session.resolve", resolved)
    path = games.folder / "game.txt"
    record = Record(Rules(num_players=2), Seeded(0), (), ("human", name))
    record.write(path)
    answer = client.get("/token/game/game")
    assert answer.status_code == 400
    assert f"quincunx play --resume {path} --opponents {shlex.quote(name)}" in html.unescape(answer.text)
    resolved.assert_not_called()
    assert not games._tables
    named = Games(games.folder, named={name: name})
    assert named.table("game").session.names == ("human", name)


def test_files_may_have_any_name(client: TestClient, games: Games) -> None:
    name = 'a "great" game é?#%'
    Record(Rules(), Seeded(0), (33,), ("human",)).write(games.folder / f"{name}.txt")
    address = f"/token/game/{quote(name)}"
    assert f'href="./game/{quote(name)}"' in client.get("/token/").text
    assert f'data-address="../game/{quote(name)}/"' in client.get(address).text
    assert client.get(f"{address}/record").headers["content-disposition"].endswith('a__great__game_____.txt"')


def test_the_replay_of_a_game_in_progress_hides_the_other_hands() -> None:
    record = Record(Rules(num_players=2), Seeded(0), (), ("greedy", "human"))
    assert pages.replayed_from(record) == 1
    with pytest.raises(ValueError, match="several people"):
        pages.replayed_from(Record(Rules(num_players=2), Seeded(0), (), ("human", "human")))
    assert pages.replayed_from(Record.read(RECORDS / "open.txt")) is None


@pytest.mark.parametrize("name", sorted(path.stem for path in RECORDS.glob("*.txt")))
def test_every_variant_is_shown(name: str, client: TestClient, games: Games) -> None:
    record = Record.read(RECORDS / f"{name}.txt")
    for number in {0, len(record.actions) // 2, len(record.actions)}:
        begun = Record(record.rules, record.dealt, record.actions[:number])
        table = games.start(Session.resume(begun, [None] * record.rules.num_players), games.folder / f"{number}.txt")
        game = table.session.game
        if table.paused:
            table.next_deal(table.position)
        table.show(table.position)
        for play in table.session.candidates()[:1]:
            card, cell = spec_of(record.rules).notation.decode_play(game, play.action)
            view = View(table, card, cell)
            assert (view.card, view.cell, view.play is None) == (card, cell, False)
            assert View(table, card, 99).play is None or len(view.scene.legal) == 1, "an impossible choice is dropped"
        shown = client.get(f"/token/game/{number}").text
        assert '<section id="board" class="" aria-hidden="true"><svg' in shown
        assert shown.count("<li value=") == number
        for turn in table.session.turns:
            assert f'<li value="{turn.number}"><' in shown
            assert f"<b>{pages.with_suits(minus(turn.text), spec_of(record.rules).scene(game))}</b>" in shown
        headline = table.session.ending and minus(table.session.ending.headline)
        [said] = re.findall('data-news="(.*?)"', shown)
        assert (f"<p>{headline}</p>" in shown) == (str(headline) in said) == game.over


def test_the_start_page_offers_the_options_that_go_together() -> None:
    """But for the mini variant, which is for research."""
    offered = {name: [choice.option.name for choice in kind.options] for name, kind in KINDS.items()}
    assert offered["solitaire"][:4] == ["edge_contact", "excuse", "pawns", "flush"]
    assert offered["players"][:7] == ["num_players", "start", "excuse", "pawns", "flush", "simpleton", "match"]
    assert offered["spiral"][:3] == ["scoring", "fifteens", "deals"]
    assert not {"num_players", "start", "simpleton", "match", "mini"} & {*offered["solitaire"]}
    assert not {"edge_contact", "mini"} & {*offered["players"]}
    values = [[*choice.values] for choice in KINDS["players"].options[:3]]
    assert values == [["2", "3", "4"], ["corners", "open"], ["", "yes"]]


def test_numbers_in_forms_are_their_values() -> None:
    options = [option for kind in KINDS.values() for option in kind.options]
    numbers = [each for option in options for each in option.values.items() if each[0].isdigit()]
    assert numbers
    assert numbers == [(text, int(text)) for text, _ in numbers]


def test_agents_of_each_kind_can_play_it() -> None:
    for kind in KINDS:
        names = pages.agents(kind)
        assert "greedy" in names
    assert pages.agents("spiral")[0] == "heuristic"
    for kind in KINDS:
        offered = [name for name, _ in pages.opponents(kind, {})]
        assert offered == ["uniform", "greedy", "heuristic", "value", "search"], "from easy to hard"
        assert {*offered} <= {*pages.agents(kind)}


@by_name({**BASES, **SOME_SPIRAL})
def test_the_pictures_of_the_rules_score_what_they_say(rules: Any, client: TestClient, games: Games) -> None:
    spec = spec_of(rules)
    found = spec.examples(rules)
    assert len(found) == 6
    for example in found:
        scene, play = rules_pictures.scene_of(rules, example)
        assert (play.points, play.draws) == (example.points, example.draws), example.text
        assert {play.cell} | scene.board.keys() >= {cell for part in play.parts for cell in part.cells}
    table = games.start(Session(rules, [None] * rules.num_players, Seeded(0)))
    shown = client.get(f"/token/game/{table.name}").text
    assert all(escape(example.text) in shown for example in found)
    assert all(escape(text) in shown for text in spec.sentences(rules))
    assert ("diagonal" in shown) == (not isinstance(rules, SpiralRules) and rules.num_players > 1)


def test_the_complete_rules_are_a_page_with_a_way_back(client: TestClient) -> None:
    """Its links lead to its headings or to other sites, and its title to the game."""
    page = client.get("/token/rules?game=a%20b").text
    assert 'href="./game/a%20b">Back to the game</a>' in page
    assert "<h1" in page
    assert "**" not in page
    links = {*re.findall(r'<a href="([^"]*)"', page.partition("<main")[2])}
    assert {link[1:] for link in links if link.startswith("#")} <= {*re.findall(r'<h\d id="([^"]*)"', page)}
    assert all(link.startswith(("#", "http")) for link in links)
    assert len(links) > 15


def test_the_cards_of_the_next_person_are_covered(client: TestClient, games: Games) -> None:
    table = games.start(Session(Rules(num_players=3), [None, "greedy", None], Seeded(0)))
    address = f"/token/game/{table.name}"

    def hand() -> int:
        return client.get(address).text.count("data-card=") - 1  # the state has one, too

    assert (hand(), table.covered) == (0, True), "of the first person, too"
    assert client.post(f"{address}/hint", content="position=0").status_code == 400
    assert client.post(f"{address}/show", content="position=0").status_code == 200
    assert hand() == len([*table.session.game.hand(0)])
    table.play(0, table.session.candidates()[0].action)
    wait(lambda: table.session.mover == 2)
    shown = client.get(address).text
    assert "Pass to Player 2." in shown
    assert "Show my cards" in shown
    assert hand() == 0
    table.show(table.position)
    assert hand() > 0
    table.undo(table.position)
    assert (table.session.mover, table.covered) == (0, True), "an undo goes back to the other person"
    alone = games.start(Session(Rules(num_players=2), [None, "greedy"], Seeded(0)))
    assert not alone.covered


def test_opponents_have_the_names_of_their_levels(client: TestClient, games: Games) -> None:
    table = games.start(Session(Rules(num_players=2), [None, "heuristic"], Seeded(0), "value"))
    address = f"/token/game/{table.name}"
    table.ask(0)
    wait(lambda: not table.advising)
    while not table.session.game.over:
        wait(lambda: table.session.human_to_move)
        seen = client.get(address).text
        assert '<b title="heuristic">Medium</b>' in seen
        table.play(table.position, table.session.candidates()[0].action)
        assert re.sub(r'title="[a-z]*"', "", client.get(address).text).count("heuristic") == 0
        wait(lambda: table.session.human_to_move or table.session.game.over)
    wait(lambda: "Hard reached" in client.get(address).text)
    ended = client.get(address).text
    assert re.search("<p>(Medium wins|You win|A draw)", ended)
    assert "against Medium" in client.get("/token/").text
    assert "Medium, deal 0" in client.get(f"{address}/replay").text
    thinking = Table(Session(Rules(num_players=2), ["heuristic", None], Seeded(0)), games.folder / "x.txt", 5.0)
    assert View(thinking).status == "Medium is thinking …"


def play_on(table: Table, until: Callable[[], bool]) -> None:
    """Let all seats take their candidate with the most points."""
    while not until():
        table.play(table.position, table.session.candidates()[0].action)


def test_the_end_of_a_round_stays_until_the_next_deal(client: TestClient, games: Games) -> None:
    table = games.start(Session(Rules(num_players=2, match=True), [None, None], Seeded(0)))
    address = f"/token/game/{table.name}"
    play_on(table, lambda: table.paused)
    last, position = len(table.session.turns), table.position
    for _ in range(2):  # the second time after a restart
        shown = client.get(address).text
        assert table.session.game.ply == 0
        assert all(f'data-cell="{cell}" data-name=' in shown for cell in range(25)), "the grid is full"
        assert "Next deal" in shown
        assert "The end of round 1 of 2." in shown
        penalties = table.game.penalties
        assert f"Left in hand: Player 1 {pages.signed(-penalties[0])}, Player 2 {pages.signed(-penalties[1])}" in shown
        card, cell = next(iter(table.session.game.hand(0))), next(iter(pages.View(table).scene.legal), 1)
        answer = client.post(f"{address}/play", content=f"position={position}&card={card}&cell={cell}")
        assert (answer.status_code, "the next deal has not begun" in answer.text) == (400, True)
        games._tables.clear()
        table = games.table(table.name)
        position = table.position
    assert client.post(f"{address}/next", content=f"position={position}").status_code == 200
    assert not table.paused
    assert client.post(f"{address}/next", content=f"position={position + 1}").status_code == 400
    table.undo(table.position)
    assert len(table.session.turns) == last - 1
    play_on(table, lambda: table.paused)
    assert len(table.session.turns) == last


def test_an_agent_begins_the_next_deal(games: Games) -> None:
    table = games.start(Session(Rules(num_players=2, match=True), [None, "greedy"], Seeded(0)))
    while not table.paused:
        table.play(table.position, table.session.candidates()[0].action)
        wait(lambda: table.session.human_to_move or table.paused)
    turns = len(table.session.turns)
    assert not table.session.human_to_move
    table.next_deal(table.position)
    wait(lambda: table.session.human_to_move)
    assert len(table.session.turns) == turns + 1


def test_points_are_compared_at_the_end(client: TestClient, games: Games) -> None:
    tables = []
    for seed in (0, 1):
        table = games.start(Session(Rules(), [None], Seeded(seed), "value"))
        while not table.session.game.over:
            table.play(table.position, next(table.session.hints()).action)
        wait(lambda table=table: not table.comparing)
        points = table.session.game.totals[0]
        average, reached = table.compared
        table.comparing = True  # the plays are still judged
        assert "plays the same deal" not in client.get(f"/token/game/{table.name}").text
        table.comparing = False
        assert average.startswith("Medium averages 131 points; ")
        assert reached == f"Hard reached {points} on this deal.", "who plays as it advises"
        tables.append(table)
    most = tables[0].session.game.totals[0]
    shown = client.get(f"/token/game/{tables[1].name}").text
    assert all(f"<p>{sentence}</p>" in shown for sentence in tables[1].compared)
    assert "Not counted for your best: hints." in shown
    assert games.best(tables[1].session.record, tables[1].name) is None
    tables[0].session.uncounted = ()
    tables[0].session.save(tables[0].path)
    assert games.best(tables[1].session.record, tables[1].name) == most
    tables[1].session.uncounted = ()
    assert "Your best so far" in client.get(f"/token/game/{tables[1].name}").text


@pytest.mark.parametrize("rules", [Rules(), Rules(num_players=2), SpiralRules(deals=2)], ids=str)
def test_the_end_shows_each_play_beside_the_advisers_best(rules: Any, client: TestClient, games: Games) -> None:
    session = Session(rules, [None, *["greedy"] * (rules.num_players - 1)], Seeded(3), "value")
    while session.mover is not None:
        if not session.human_to_move:
            session.play(session.choose())
        elif rules.num_players == 1:
            session.play(Session.resume(session.record, ["heuristic"]).choose())  # which reaches the end
        else:
            session.play(session.candidates()[-1].action)
    table = games.start(session)
    wait(lambda: not table.comparing)
    assert [each.number for each in table.judged] == [turn.number for turn in session.turns if turn.seat == 0]
    losses = {each.number: each.lost for each in table.judged}
    assert min(losses.values()) >= 0
    for each in table.judged:
        begun = Record(rules, session.record.dealt, session.record.actions[: each.number - 1])
        adviser = Session.resume(begun, ["value"] * rules.num_players)
        estimated = expected(adviser.game, "value", session.turns[each.number - 1].action)
        results = exactly(adviser.game) or estimated
        assert each.lost == max(results.values()) - results[session.turns[each.number - 1].action]
        assert each.best == print_action(adviser.game, max(results, key=results.__getitem__))
    shown = client.get(f"/token/game/{table.name}").text
    exact = range(10, 13) if rules.num_players == 1 else ()
    assert [each.number for each in table.judged if each.exact] == [*exact], "the last three plays of the solitaire"
    assert shown.count("(exact)") == len(exact)
    for number in sorted(losses, key=lambda number: -losses[number])[:3]:
        assert f'replay#{number - 1}">{losses[number]:.0f} points lost at play {number}</a>' in shown
    assert "Best values" in client.get(f"/token/game/{table.name}/replay").text


def test_the_grid_shows_what_the_adviser_expects(client: TestClient, games: Games) -> None:
    table = games.start(Session(Rules(), [None], Seeded(0), "value"))
    address = f"/token/game/{table.name}"
    results = expected(table.session.game, "value")
    for position in (0, 1):
        if position == 0:
            assert client.post(f"{address}/look", content="position=0").status_code == 200
        wait(lambda: table.expected)
        best = f"{max(expected(table.session.game, 'value').values()):.0f}"
        shown = client.get(address).text
        assert f'aria-label="{best}"' in shown, "at every turn"
        assert 'data-act="look" data-key="v"' in shown
        table.play(position, table.session.candidates()[0].action)
    assert client.post(f"{address}/look", content="position=2").status_code == 200
    assert not table.looking
    table.undo(2)
    table.undo(3)
    table.ask(4)
    wait(lambda: not table.advising)
    assert table.hints is not None
    first = results[table.hints[0].action]
    shown = client.get(address).text
    assert f"ends near {first:.0f}" in shown
    assert shown.count("ends near") == len(table.hints) == 5
    assert table.session.uncounted == ("hints", "undo")


def test_a_lost_round_is_called_lost(client: TestClient, games: Games) -> None:
    table = games.start(Session(Rules(), [None], Seeded(0)))
    while not table.session.game.over:
        table.play(table.position, table.session.candidates()[0].action)
    assert points_of(table.session.game, 0) is None
    assert '<span class="result">lost</span>' in client.get("/token/").text


def test_negative_points_have_a_minus_sign(client: TestClient, games: Games) -> None:
    session = Session(Rules(num_players=2), [None, "greedy"], Seeded(1))
    while session.mover is not None:
        session.play(session.candidates()[-1].action if session.human_to_move else session.choose())
    assert session.game.totals[0] < 0
    table = games.start(session)
    session.save(table.path)
    for address in (f"/token/game/{table.name}", "/token/"):
        text = re.sub(r"<svg.*?</svg>|<[^>]*>", " ", client.get(address).text)
        assert "\N{MINUS SIGN}" in text
        assert not re.search(r"(?<![\w-])-\d", text)


@pytest.mark.parametrize("reason", ["hints", "undo", "known deal", "file", "guided game"])
def test_a_game_with_help_is_marked_and_is_not_ones_best(reason: str, client: TestClient, games: Games) -> None:
    def finish(table: Table) -> str:
        play_on(table, lambda: table.session.game.over)
        return client.get(f"/token/game/{table.name}").text

    day = f"kind=solitaire&day={today()}"
    if reason == "guided game":
        table = games.learn(lessons()["solitaire"])
        while table.wanted is not None:
            table.play(table.position, table.wanted)
        ended = finish(table)
        assert f'<input type="hidden" name="day" value="{today()}">' in ended, "it leads to today's deal"
        assert not [*games.folder.iterdir()]
    elif reason == "file":
        finish(own := games.start(Session(Rules(), [None], Seeded(0))))
        own.path.unlink()
        client.post("/token/open", data={"record": str(own.session.record)})
        [saved] = games.saved()
        ended = client.get(f"/token/game/{saved.name}").text
    else:
        begin(client, day)
        [table] = games._tables.values()
        if reason == "hints":
            table.ask(0)
        if reason == "undo":
            table.play(0, table.session.candidates()[0].action)
            table.undo(table.position)
        ended = finish(table)
        if reason == "known deal":
            assert "Not counted" not in ended
            begin(client, day)
            ended = finish([*games._tables.values()][-1])
    assert f"Not counted for your best: {reason}." in ended
    if reason != "guided game":
        assert f"not counted: {reason}</span>" in client.get("/token/").text
        again = Games(games.folder)
        assert again.table(again.saved()[0].name).session.uncounted == (reason,), "after a restart, too"
    assert games.best(Record(Rules(), Seeded(9), (), ("human",)), "") == (
        games.saved()[-1].points if reason == "known deal" else None
    )


def test_todays_deal_is_that_of_the_page(client: TestClient, games: Games, monkeypatch: pytest.MonkeyPatch) -> None:
    """The date is one for everybody, and a page that was open over midnight begins the deal that it names."""
    start = client.get("/token/").text
    assert f"{pages.when(today())} in UTC" in start
    [day] = re.findall(r'name="day" value="([^"]*)"', start)
    for module in (daily, pages, server):
        monkeypatch.setattr(module, "today", lambda: date.fromisoformat(day) + timedelta(days=1))
    begin(client, f"kind=solitaire&day={day}")
    [table] = games._tables.values()
    assert table.session.record.dealt == Seeded(int(day.replace("-", "")))
    for wrong in ("yes", "2024-12-31", "3000-01-01", "20260131x"):
        assert client.post("/token/new", content=f"kind=solitaire&day={wrong}").status_code == 400


def test_todays_deal_has_title_mark_streak_and_a_text_to_share(
    client: TestClient, games: Games, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = Message()
    named["Project-URL"] = "Documentation, https://site.example/"
    monkeypatch.setattr(daily, "metadata", lambda package: named)
    for ago in (2, 1, 0):
        begin(client, f"kind=solitaire&day={today() - timedelta(days=ago)}")
        *_, table = games._tables.values()
        shown = client.get(f"/token/game/{table.name}").text
        assert ("<h1>Today&#39;s deal, " in shown) == (ago == 0)
        assert "<pre>" not in shown
        before = games.streak()
        while not table.session.game.over:
            table.play(table.position, table.session.candidates()[0].action)
        assert (before, games.streak()) == {2: (0, 0), 1: (0, 2), 0: (2, 3)}[ago], "one that is finished counts"
    wait(lambda: len(table.compared) == 2)
    ended, start = client.get(f"/token/game/{table.name}").text, client.get("/token/").text
    assert "3 days in a row." in ended
    assert "3 days in a row." in start
    assert start.count('<span class="day">') == 3
    assert f'<span class="day">Today&#39;s deal, {pages.when(today())}</span>' in start
    [text] = re.findall(r"<pre>(.*?)</pre>", ended, re.DOTALL)
    title, result, reached, *rows, days, link = text.split("\n")
    assert re.fullmatch(r"Hard (reached \d+|lost the round) on this deal\.", reached)
    assert (
        link == f"https://site.example/_static/game.html#deal={today():%Y%m%d}&amp;beat={table.session.game.totals[0]}"
    )
    assert title == f"Quincunx, deal of {pages.when(today())}"
    assert str(table.session.game.totals[0]) in result.replace("\N{MINUS SIGN}", "-") or "lost" in result
    assert [len(row) for row in rows] == [4] * 4
    assert days == "3 days in a row"
    assert not re.search(r"\b[A-Z0-9][MSVLYK]{1,2}\b", text), "it shows no cards"
    other = games.start(Session(Rules(), [None], Seeded(5)))
    assert "<h1>Quincunx, solitaire</h1>" in client.get(f"/token/game/{other.name}").text


def test_the_deal_of_a_day_continues_when_it_is_unfinished(client: TestClient, games: Games) -> None:
    form = f"kind=solitaire&day={today() - timedelta(days=9)}"
    address = begin(client, form)
    [table] = games._tables.values()
    table.play(0, table.session.candidates()[0].action)
    games._tables.clear()  # as after a restart
    assert begin(client, form) == address
    start = client.get("/token/").text
    assert "Today's deal</button>" in start
    assert f'<input type="date" name="day" min="{daily.FIRST}" max="{today()}"' in start
    begin(client, f"kind=solitaire&day={today()}")
    [*_, table] = games._tables.values()
    table.play(0, table.session.candidates()[0].action)
    assert "Continue today's deal</button>" in client.get("/token/").text


def test_opponents_of_the_command_line_are_offered_where_they_can_play(tmp_path: Path) -> None:
    class OnlyTwo:
        def for_rules(self, rules: Any) -> Any:
            if rules != Rules(num_players=2):
                raise ValueError("others")
            return resolve("greedy")

    games = Games(tmp_path, pause=0.0, named={"runs/mine.zip": OnlyTwo(), "human": "human"})
    client = TestClient(make_app(games, "token"), "http://localhost:8017", headers=ORIGIN, follow_redirects=False)
    assert client.get("/token/").text.count('<option value="runs/mine.zip">') == 3, "as any of three opponents"
    begin(client, "kind=players&opponent1=runs/mine.zip")
    (table,) = games._tables.values()
    assert table.session.players[1] is games.named["runs/mine.zip"]
    for form in ("kind=players&num_players=3&opponent1=runs/mine.zip", "kind=players&opponent1=runs/other.zip"):
        assert client.post("/token/new", content=form).status_code == 400


# --- Threads ---------------------------------------------------------------------------------------------------------


def test_an_agent_that_fails_is_reported(tmp_path: Path) -> None:
    def fails(observation: Any, mask: Any, rng: Any) -> Any:
        raise RuntimeError("out of ideas")

    session = Session(Rules(num_players=2), [fails, None], Seeded(0), fails)
    table = Table(session, tmp_path / "game.txt", 0.0)
    wait(lambda: table.problem)
    assert table.problem.startswith("RuntimeError: out of ideas. The game is kept in")
    with pytest.raises(ValueError, match="not your turn"):
        table.ask(0)
    with pytest.raises(OutdatedPosition):
        table.undo(1)


def test_a_game_that_cannot_be_saved_goes_on(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    session = Session(Rules(), [None], Seeded(0))
    table = Table(session, tmp_path / "file/game.txt", 0.0)
    table.play(0, session.candidates()[0].action)
    assert table.problem.startswith("The game cannot be saved")
    assert len(session.turns) == 1


def test_hints_arrive_one_by_one_and_belong_to_a_position(tmp_path: Path) -> None:
    session = Session(Rules(), [None], Seeded(0), "greedy")
    table = Table(session, tmp_path / "game.txt", 0.0)
    table.ask(0)
    wait(lambda: not table.advising)
    assert table.hints is not None
    assert [hint.action for hint in table.hints] == [
        hint.action for hint, _ in zip(session.hints(), range(5), strict=False)
    ]
    table.play(0, table.hints[0].action)
    assert table.hints is None


def test_another_port_is_taken_where_the_default_one_is_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    with listen("127.0.0.1", 0) as first:
        monkeypatch.setattr("quincunx_env.play.web.server.PORT", first.getsockname()[1])
        with listen("127.0.0.1") as second:
            assert second.getsockname()[1] != first.getsockname()[1]
        with pytest.raises(OSError, match="choose another --port"):
            listen("127.0.0.1", first.getsockname()[1])


@pytest.mark.skipif(os.name == "nt", reason="several programs could have the port")
def test_a_port_is_free_as_soon_as_the_program_ends() -> None:
    """The system keeps a connection for a while after the server has closed it."""
    with listen("127.0.0.1", 0) as listening, socket.create_connection(listening.getsockname()) as client:
        address = listening.getsockname()
        listening.accept()[0].close()
        assert not client.recv(1)
    with listen(*address) as again:
        assert again.getsockname() == address


# --- Requests that do not arrive, and the end ------------------------------------------------------------------------


@pytest.fixture
def port(games: Games) -> Iterator[int]:
    """The port of a server that runs in a thread."""
    listening = listen("127.0.0.1", 0)
    running = make_server(games, "token")
    thread = threading.Thread(target=running.run, args=([listening],))
    thread.start()
    yield listening.getsockname()[1]
    running.should_exit = True
    thread.join()
    listening.close()


def head(port: int, length: int) -> bytes:
    """The head of a request with a form."""
    place = f"127.0.0.1:{port}"
    return (
        f"POST /token/new HTTP/1.1\r\nHost: {place}\r\nOrigin: http://{place}\r\nContent-Length: {length}\r\n".encode()
    )


@pytest.mark.parametrize("hosts", [["localhost", "evil.example"], ["evil.example", "localhost"], ["localhost"] * 2, []])
def test_a_request_has_one_host(hosts: list[str], port: int) -> None:
    """A proxy may read another one of several than this program."""
    lines = "".join(f"Host: {host}\r\n" for host in hosts)
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(f"GET /token/ HTTP/1.1\r\n{lines}\r\n".encode())
        assert connection.recv(64).startswith(b"HTTP/1.1 400")


def test_a_client_that_hangs_up_prints_nothing(capfd: pytest.CaptureFixture[str], port: int) -> None:
    for beginning in (head(port, 14), head(port, 14) + b"\r\nkind=so"):
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall(beginning)
            time.sleep(0.2)
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(head(port, 14) + b"\r\nkind=solitaire")
        assert connection.recv(64).startswith(b"HTTP/1.1 303")
    assert capfd.readouterr().err == ""


def test_requests_that_do_not_arrive_make_room(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quincunx_env.play.web.server.PATIENCE", 0.2)
    form = b"\r\nkind=solitaire"
    for sent in (b"", head(port, 14), head(port, 14) + form[:6], head(port, 14) + form + head(port, 14)):
        with socket.create_connection(("127.0.0.1", port), timeout=4) as connection:
            connection.sendall(sent)
            while connection.recv(4096):
                pass


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize(
    ("number", "when"),
    [
        (signal.SIGINT, "coroutine"),
        (signal.SIGTERM, "coroutine"),
        (signal.SIGTERM, "before"),
        (signal.SIGINT, "running"),
    ],
)
def test_signals_end_the_program(number: signal.Signals, when: str, tmp_path: Path) -> None:
    """Also before the server runs, and where uvicorn has made its coroutine and not begun it. The link is answered."""
    patch = f"""import asyncio, os, uvicorn.server as server
place, name = (server, "asyncio_run") if hasattr(server, "asyncio_run") else (asyncio, "run")  # in early versions
run = getattr(place, name)
setattr(place, name, lambda *serving, **options: (os.kill(os.getpid(), {int(number)}), run(*serving, **options)))
"""
    code = f"{patch if when == 'coroutine' else ''}from quincunx_env.cli import main; main()"
    host = "127.0.0.2" if sys.platform == "linux" else "127.0.0.1"
    command = [sys.executable, "-c", code, "play", "--no-browser", "--host", host, "--port", "0"]
    with subprocess.Popen(
        [*command, "--out", str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as program:
        assert program.stdout is not None
        printed = ""
        while "Ctrl-C ends the program" not in printed:
            assert program.poll() is None
            printed += program.stdout.readline()
        if when == "running":
            [link] = re.findall(rf"http://{host}\S+", printed)
            with urlopen(link) as answer:
                assert answer.status == 200
        if when != "coroutine":
            program.send_signal(number)
        _, err = program.communicate(timeout=30)
    assert (program.returncode, err) == {signal.SIGINT: (0, ""), signal.SIGTERM: (143, "terminated\n")}[number]
