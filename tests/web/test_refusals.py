"""Requests that are malformed, or foreign, over a socket: refused, and nothing has changed."""

import random
import socket
import string

import pytest

from quincunx_env import Rules
from quincunx_env.notation.record import Seeded
from quincunx_env.play.session import Session
from tests.web.conftest import TOKEN, Running

pytestmark = pytest.mark.web

COUNT = 2_000
"""Requests."""


def test_malformed_foreign_and_tokenless_requests_change_nothing(server: Running) -> None:
    session = Session(Rules(), [None], Seeded(0))
    table = server.games.start(session)
    table.play(0, session.candidates()[0].action)
    before, files = str(session.record), {path: path.read_bytes() for path in server.games.folder.iterdir()}
    rng = random.Random(0)
    statuses: dict[int, int] = {}
    for number in range(COUNT):
        status = _send(server.port, _request(rng, number, server.port, table.name))
        statuses[status] = statuses.get(status, 0) + 1
    assert statuses.keys() <= {0, 400, 403, 404, 405, 409, 413, 431}, statuses
    assert statuses[403] > COUNT // 3
    assert statuses[400] > COUNT // 10
    assert str(session.record) == before
    assert table.position == 1
    assert {path: path.read_bytes() for path in server.games.folder.iterdir()} == files
    assert _send(server.port, _printed("GET", f"/{TOKEN}/game/{table.name}", {"Host": "localhost"}, "")) == 200


def _request(rng: random.Random, number: int, port: int, name: str) -> bytes:
    """A request that is to be refused; every fourth for another reason."""
    right: dict[str, str | None] = {"Host": f"127.0.0.1:{port}", "Origin": f"http://127.0.0.1:{port}"}
    path, body = f"/{TOKEN}/game/{name}/{rng.choice(['play', 'undo', 'hint', 'again'])}", "position=1&card=3&cell=1"
    match number % 4:
        case 0:  # a foreign host or origin
            wrong: dict[str, str | None] = rng.choice(
                [
                    {
                        "Host": rng.choice(
                            ["evil.example", f"evil.example:{port}", "127.0.0.1.evil.example", "", "[::2]"]
                        )
                    },
                    {
                        "Origin": rng.choice(
                            ["http://evil.example", "null", "https://127.0.0.1:1", "file://", "", "http://"]
                        )
                    },
                    {"Host": f"evil.example:{port}", "Origin": f"http://evil.example:{port}"},
                    {"Origin": None},
                    {"Host": None},
                ]
            )
            return _printed("POST", path, right | wrong, body)
        case 1:  # without the token, or with another
            other = rng.choice(
                ["", "x" * len(TOKEN), TOKEN[:-1], TOKEN + "x", TOKEN.upper(), "%00", "..", f"../{TOKEN}"]
            )
            return _printed(rng.choice(["POST", "GET"]), path.replace(TOKEN, other, 1), right, body)
        case 2:  # a form that is none, or says what is impossible
            wrong_body = rng.choice(
                [
                    "".join(rng.choices(string.printable, k=rng.randrange(200))),
                    f"position=1&card={rng.choice([-1, 36, 999999, 'x', '1.5', '٣', ''])}&cell=1",
                    f"position=1&card=3&cell={rng.choice([-1, 16, 10**9, 'x', '../../etc/passwd'])}",
                    "position=0&card=3&cell=1",
                    "position=1&position=1",
                    "position=1&announce=5",
                    "&" * 500,
                    "position=" + "9" * 300_000,
                ]
            )
            return _printed("POST", path.rpartition("/")[0] + "/play", right, wrong_body)
        case _:  # an address that there is not, or no request at all
            wrong_path = rng.choice(
                [
                    f"/{TOKEN}/game/../../{name}",
                    f"/{TOKEN}/game/..%2f..%2fetc%2fpasswd/record",
                    f"/{TOKEN}/file/..%2fserver.py",
                    f"/{TOKEN}/game/none/view",
                    f"/{TOKEN}/game/{name}/delete",
                    f"/{TOKEN}/new",
                    "*",
                    "\\",
                ]
            )
            noise = bytes(rng.randrange(256) for _ in range(rng.randrange(1, 300)))
            method = rng.choice(["GET", "PUT", "DELETE", "BREW"])
            return rng.choice([_printed(method, wrong_path, right, ""), noise + b"\r\n\r\n"])


def _printed(method: str, path: str, headers: dict[str, str | None], body: str) -> bytes:
    content = body.encode()
    kind = {
        "Content-Type": "application/x-www-form-urlencoded",
        "Content-Length": str(len(content)),
        "Connection": "close",
    }
    lines = [
        f"{method} {path} HTTP/1.1",
        *(f"{name}: {value}" for name, value in (headers | kind).items() if value is not None),
    ]
    return "\r\n".join([*lines, "", ""]).encode("latin-1", "replace") + content


def _send(port: int, request: bytes) -> int:
    """Status of the answer; 0 if the connection was closed without one."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        try:
            connection.sendall(request)
            answer = connection.recv(64)
        except OSError:  # it was closed
            return 0
    return int(answer.split()[1]) if answer else 0
