"""The server: who may ask what, and the answers.

Every address begins with a secret token, which only the printed link has. The host of a request must be a loopback name
or an allowed one, and no page of another origin may have sent it. Nothing in a request is a path. A game is named by
one of the names that the server gave, and records are sent as text.
"""

import ipaddress
import os
import re
import secrets
import socket
import sys
import webbrowser
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from importlib.resources import files
from threading import Thread
from typing import Any
from urllib.parse import parse_qsl, quote

import uvicorn
from jinja2 import Environment, PackageLoader
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from quincunx_env.core.game import IllegalAction
from quincunx_env.notation.record import Record
from quincunx_env.play.daily import FIRST, day_of, today
from quincunx_env.play.lessons import lessons
from quincunx_env.play.result import your_seat
from quincunx_env.play.session import DEFAULT_LEVEL
from quincunx_env.play.web import pages
from quincunx_env.play.web.pages import KINDS, View
from quincunx_env.play.web.tables import Games, OutdatedPosition, Table
from quincunx_env.render.replay_page import replay_page
from quincunx_env.utils.errors import Terminated, one_line_errors

PORT = 8017
"""The default port."""

MOST_BYTES = 200_000
"""Largest request body; the record of a long match has 10,000 bytes."""

MOST_CONNECTIONS = 200
"""Limit on connections at a time; a browser opens six."""

PATIENCE = 10.0
"""Seconds after which a connection is closed if no request has arrived whole."""

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    # With no-referrer browsers would send forms with the origin null.
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
"""Headers of every answer that does not set them itself."""

REPLAY_POLICY = (
    "sandbox allow-scripts; default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
)
"""Content security policy of the replay player, which loads nothing."""

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
"""Host names that are always allowed."""

CHANGES = {"undo": Table.undo, "show": Table.show, "next": Table.next_deal, "hint": Table.ask, "look": Table.look}
"""Changes of a game that need nothing but its position, by the last part of the address."""

ASSETS = {"play.js": "text/javascript", "style.css": "text/css", "icon.svg": "image/svg+xml"}


# --- Who may ask -----------------------------------------------------------------------------------------------------


class RequestGuard:
    """Middleware that refuses requests without the token or of other origins.

    The ``token`` is the first part of every address. Every answer gets `HEADERS`.
    """

    def __init__(self, app: ASGIApp, token: str) -> None:
        self.app, self.token = app, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer or refuse a request."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        problem = self._problem(Request(scope))
        answer = self.app if problem is None else PlainTextResponse(f"{problem}\n", 403)
        await answer(scope, receive, send_with_headers)

    def _problem(self, request: Request) -> str | None:
        """Return why a request is refused; None if it is not."""
        origins, host = request.headers.getlist("origin"), request.headers.get("host", "").lower()
        if any(origin.lower() not in (f"http://{host}", f"https://{host}") for origin in origins):
            return "Requests from other pages are refused."
        if request.method == "POST" and not origins:
            return "A request that changes something needs the header Origin, as browsers send it."
        token = request.scope["path"].split("/")[1:2]
        if not token or not secrets.compare_digest(token[0].encode(errors="replace"), self.token.encode()):
            return "The address has no valid token: open the link that the program printed."
        return None


def is_loopback(name: str) -> bool:
    """Return whether a name or an address is a loopback one."""
    try:
        return name == "localhost" or ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


# --- Handlers ------------------------------------------------------------------------------------------------------


class Handlers:
    """Request handlers."""

    def __init__(self, games: Games) -> None:
        self.games = games
        self.templates = Environment(
            loader=PackageLoader("quincunx_env.play.web"), autoescape=True, trim_blocks=True, lstrip_blocks=True
        )
        self.templates.globals |= pages.FUNCTIONS | {"keys": pages.KEYS}

    def routes(self) -> list[Route]:
        """Return the routes below the token."""
        game = "/game/{name}"
        return [
            Route("/", self._answer(self.start)),
            Route("/new", self._answer(self.new), methods=["POST"]),
            Route("/learn", self._answer(self.learn), methods=["POST"]),
            Route("/open", self._answer(self.open), methods=["POST"]),
            Route("/rules", self._answer(self.rules)),
            Route("/file/{name}", self._answer(self.file)),
            Route(game, self._answer(self.game)),
            Route(f"{game}/view", self._answer(self.view)),
            Route(f"{game}/play", self._answer(self.play), methods=["POST"]),
            *(
                Route(f"{game}/{name}", self._answer(partial(self._act, act=act)), methods=["POST"])
                for name, act in CHANGES.items()
            ),
            Route(f"{game}/again", self._answer(self.again), methods=["POST"]),
            Route(f"{game}/record", self._answer(self.record)),
            Route(f"{game}/replay", self._answer(self.replay)),
        ]

    def _answer(self, answer: Callable[..., Response]) -> Callable[..., Any]:
        """Make an endpoint that runs ``answer`` in a thread. Its errors become pages."""

        async def endpoint(request: Request) -> Response:
            try:
                body = await request.body() if request.method == "POST" else request.url.query.encode()
            except ClientDisconnect:
                return Response(status_code=408)
            try:
                return await run_in_threadpool(answer, _fields(body), **request.path_params)
            except (LookupError, ValueError) as error:
                status = 404 if isinstance(error, LookupError) else 400
                root = "../" * (request.url.path.count("/") - 2)
                return self.page("problem.html", status, root, problem=str(error))

        return endpoint

    def page(self, template: str, status: int = 200, root: str = "", **values: Any) -> Response:
        """Render a page, or a part of one.

        ``root`` is the address of the start page relative to the page: a proxy may put any prefix before the token.
        """
        html = self.templates.get_template(template).render(root=root or "./", **values)
        return Response(html, status, media_type="text/html")

    # --- Start -------------------------------------------------------------------------------------------------------

    def start(self, form: Mapping[str, str], problem: str = "") -> Response:
        """Show the start page."""
        return self.page(
            "start.html",
            400 if problem else 200,
            problem=problem,
            kinds=KINDS.values(),
            lessons=lessons(),
            opponents={name: pages.opponents(name, self.games.named) for name in KINDS},
            default=DEFAULT_LEVEL,
            today=today(),
            first=FIRST,
            todays=self.games.of_day(today()),
            streak=self.games.streak(),
            pictures={name: pages.picture(name) for name in KINDS},
            saved=self.games.saved(),
        )

    def new(self, form: Mapping[str, str]) -> Response:
        """Start a game, or continue the deal of a day."""
        try:
            session = pages.session_of(form, self.games.adviser, self.games.named)
        except ValueError as error:
            return self.start({}, str(error))
        day = day_of(session.record)
        if day and (known := self.games.of_day(day)):
            if not known.over:
                return self._go_to(self.games.table(known.name))
            session.not_counted("known deal")
        return self._go_to(self.games.start(session))

    def learn(self, form: Mapping[str, str]) -> Response:
        """Start a guided game."""
        if form.keys() != {"lesson"} or form["lesson"] not in lessons():
            raise ValueError(f"A guided game is one of {', '.join(lessons())}.")
        return self._go_to(self.games.learn(lessons()[form["lesson"]]))

    def open(self, form: Mapping[str, str]) -> Response:
        """Keep a record that was sent as text, and show it."""
        try:
            record = Record.parse(form.get("record", ""))
        except ValueError as error:
            return self.start({}, f"This is not a record of a game: {error}")
        name = self.games.add(record)
        return RedirectResponse(f"game/{name}/replay", 303)

    def _go_to(self, table: Table, root: str = "") -> Response:
        return RedirectResponse(f"{root}game/{table.name}", 303)

    def file(self, form: Mapping[str, str], name: str) -> Response:
        """Send a file that pages need."""
        if name not in ASSETS:
            raise LookupError("There is no such file.")
        text = files("quincunx_env.play.web").joinpath("static", name).read_text(encoding="utf-8")
        if name == "style.css":
            text = pages.colours() + text
        return Response(text, media_type=ASSETS[name], headers={"Cache-Control": "no-cache"})

    def rules(self, form: Mapping[str, str]) -> Response:
        """Show the complete rules, with a link back to a game."""
        return self.page("rules.html", rules=pages.complete_rules(), game=form.get("game", ""))

    # --- A game ------------------------------------------------------------------------------------------------------

    def _show(
        self, template: str, table: Table, form: Mapping[str, str], problem: str = "", status: int = 200
    ) -> Response:
        points = {"": None, "0": False, "1": True}.get(form.get("points", ""))
        with table.lock:
            view = View(table, _number(form, "card"), _number(form, "cell"), points)
            best = self.games.best(table.session.record, table.name) if table.session.game.over else None
            streak = self.games.streak() if table.day and table.session.game.over else 0
            problem = problem or table.problem
            values = {"view": view, "best": best, "streak": streak, "today": today(), "problem": problem}
            return self.page(template, status, "../", **values)

    def game(self, form: Mapping[str, str], name: str) -> Response:
        """Show the page of a game."""
        return self._show("game.html", self.games.table(name), form)

    def view(self, form: Mapping[str, str], name: str, problem: str = "", status: int = 200) -> Response:
        """Send the parts of the page that change, or nothing if the tab has this version."""
        table = self.games.table(name)
        if form.get("have") == table.version:
            return Response(status_code=204)
        return self._show("answer.html", table, form, problem, status)

    def _act(self, form: Mapping[str, str], name: str, act: Callable[[Table, int], object]) -> Response:
        """Change a game and show it; if the change is refused, show the position and the reason."""
        table, position = self.games.table(name), _number(form, "position")
        if position is None:
            raise ValueError("The request must name its position.")
        problem, status = "", 200
        try:
            act(table, position)
        except OutdatedPosition as error:
            problem, status = str(error), 409
        except (IllegalAction, ValueError) as error:
            problem, status = str(error), 400
        return self.view({**form, "have": ""}, name, problem, status)

    def play(self, form: Mapping[str, str], name: str) -> Response:
        """Play a card into a cell, or announce points."""

        def act(table: Table, position: int) -> None:
            announced, card, cell = (_number(form, name) for name in ("announce", "card", "cell"))
            if announced is not None:
                table.announce(position, announced)
            elif card is not None and cell is not None:
                table.lay(position, card, cell)
            else:
                raise ValueError("A play is a card and a cell.")

        return self._act(form, name, act)

    def again(self, form: Mapping[str, str], name: str) -> Response:
        """Start a game with the same players and a new deal."""
        return self._go_to(self.games.start(self.games.table(name).session.new_game()), "../../")

    def record(self, form: Mapping[str, str], name: str) -> Response:
        """Send the record of a game as a file."""
        text = f"{self.games.record(name)}\n"
        plain = re.sub(r"[^\w.-]", "_", name, flags=re.ASCII)
        return PlainTextResponse(text, headers={"Content-Disposition": f'attachment; filename="{plain}.txt"'})

    def replay(self, form: Mapping[str, str], name: str) -> Response:
        """Send a page that replays a game, sandboxed from the other pages."""
        record = pages.with_levels(self.games.record(name))
        here = f"game/{quote(name)}" if self.games.is_open(name) else ""
        seen = self.games.table(name).seen if here else {}
        page = replay_page(
            [record],
            values=(lambda game: seen.get((game.round, game.ply))) if seen else None,
            valued_by="the adviser",
            seat=pages.replayed_from(record),
            you=your_seat(record.seats),
            back=(f"../../{here}", "Back to the game" if here else "All games"),
            when=pages.when(self.games.written(name)),
        )
        return Response(page, media_type="text/html", headers={"Content-Security-Policy": REPLAY_POLICY})


def _fields(body: bytes) -> dict[str, str]:
    """Parse the fields of a form or a query.

    Raises:
        ValueError: if it is not a form, or has a field twice.
    """
    pairs = parse_qsl(
        body.decode("ascii"), keep_blank_values=True, strict_parsing=bool(body), errors="strict", max_num_fields=50
    )
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("A field was sent twice.")
    return fields


def _number(form: Mapping[str, str], name: str) -> int | None:
    text = form.get(name, "")
    if not text:
        return None
    if not re.fullmatch(r"-?[0-9]{1,6}", text, re.ASCII):
        raise ValueError(f"{name} is a number.")
    return int(text)


def make_app(games: Games, token: str, hosts: Collection[str] = ()) -> ASGIApp:
    """Make the application, behind its `RequestGuard`. Besides `LOOPBACK` requests may name the ``hosts``."""

    async def refuse(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return PlainTextResponse(f"{error.detail}\n", error.status_code, error.headers)

    app = Starlette(
        routes=[Mount(f"/{token}", routes=Handlers(games).routes())],
        middleware=[Middleware(TrustedHostMiddleware, [*LOOPBACK, *hosts], www_redirect=False)],
        exception_handlers={HTTPException: refuse},
        max_body_size=MOST_BYTES,
    )
    app.router.redirect_slashes = False
    return RequestGuard(app, token)


# --- Running ---------------------------------------------------------------------------------------------------------


def listen(host: str, port: int | None = None) -> socket.socket:
    """Open a socket that listens.

    Args:
        host: an address of this machine.
        port: 0 is any free one; None is `PORT`, or a free one if another program has it.

    Raises:
        OSError: if nothing can listen there.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    if os.name != "nt":  # where it would let several programs have the port
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, PORT if port is None else port))
        listening.listen()
    except OSError as error:
        listening.close()
        if port is None:
            return listen(host, 0)
        reason = error.strerror or error
        raise OSError(f"nothing can listen on {host}, port {port} ({reason}): choose another --port") from error
    return listening


def offer(games: Games, listening: socket.socket, page: str, hosts: Sequence[str], browser: bool) -> None:
    """Print the link, open it, and answer requests until an interrupt.

    ``page`` is the first page, below the token. Where there is no ``browser`` the link is only printed.
    """
    token = secrets.token_urlsafe(16)
    address, port = listening.getsockname()[:2]
    name = hosts[0] if hosts and not is_loopback(address) else f"[{address}]" if ":" in address else address
    link = f"http://{name}:{port}/{token}/{quote(page)}"
    server = make_server(games, token, [*hosts, name])
    # Signals reach the main thread alone: none can end the server between its parts.
    serving = Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    with one_line_errors():
        try:
            print(f"Play in the browser:\n\n    {link}\n\nCtrl-C ends the program; every play is saved.", flush=True)
            if browser:
                Thread(target=_open, args=(link,), daemon=True).start()
            serving.start()
            while serving.is_alive():
                serving.join(1.0)  # Windows interrupts no longer wait
        except Terminated:
            raise
        except KeyboardInterrupt:
            return
        finally:
            server.should_exit = True
            if serving.is_alive():
                serving.join(3.0)


class Connection(H11Protocol):
    """A connection that does not wait for ever."""

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self.loop.call_later(PATIENCE, self._lose_patience, None)

    def _lose_patience(self, before: object) -> None:
        """Close the connection if its latest request is still the one ``before``, and nothing is being answered."""
        latest = self.cycle
        if latest is before and (latest is None or latest.response_complete or latest.more_body):
            self.transport.close()
        elif not self.transport.is_closing():
            self.loop.call_later(PATIENCE, self._lose_patience, latest)


def make_server(games: Games, token: str, hosts: Collection[str] = ()) -> uvicorn.Server:
    """Make the server; arguments as of `make_app`."""
    config = uvicorn.Config(
        make_app(games, token, hosts),
        http=Connection,  # refuses requests with several hosts
        limit_concurrency=MOST_CONNECTIONS,
        lifespan="off",
        ws="none",
        log_level="error",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=1,
    )
    return uvicorn.Server(config)


def _open(link: str) -> None:
    """Open a link in a graphical browser, if there is one. Others would take the terminal."""
    graphical = sys.platform in ("win32", "darwin") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    if graphical:
        with suppress(webbrowser.Error):
            webbrowser.open(link)
