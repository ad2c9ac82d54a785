"""Pages in the system's Chromium, and servers for play. This file is read without Playwright, too."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from quincunx_env.play.web.server import listen, make_server
from quincunx_env.play.web.tables import Games

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page, Playwright

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")

LOCAL = {"127.0.0.1", "localhost", "::1"}
"""Hosts to which a page may send requests."""

VIEWPORTS = {
    "desktop": {"width": 1200, "height": 900},
    "768x1024": {"width": 768, "height": 1024},
    "phone": {"width": 375, "height": 812},
    "320x568": {"width": 320, "height": 568},
    "320x200": {"width": 320, "height": 200},  # 1280x800 at 400 %
    "360x640": {"width": 360, "height": 640},
    "390x664": {"width": 390, "height": 664},  # a phone whose browser shows its bars
    "390x844": {"width": 390, "height": 844},
    "1280x800": {"width": 1280, "height": 800},
    "640x400": {"width": 640, "height": 400},  # the same at 200 %
    "844x390": {"width": 844, "height": 390},  # a phone on its side
}

TIMEOUT = 30_000
"""Milliseconds to wait for what a test expects: computers may be busy."""

OpenPage = Callable[..., "Page"]
"""Arguments: one of `VIEWPORTS`, and options of a context of Playwright, such as ``color_scheme``."""


def program_of_chromium() -> str | None:
    """The path of Chromium; None if there is none."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, PROGRAMS)), None)


def chromium(playwright: Playwright) -> Browser:
    """Chromium, without a window; ends the program if there is none."""
    program = program_of_chromium()
    if program is None:
        pytest.exit("these tests need Chromium: `apt install chromium`, or name the program in CHROMIUM", returncode=1)
    # A container that runs as root has no sandbox for the pages, all of which are ours.
    return playwright.chromium.launch(executable_path=program, chromium_sandbox=False)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The browser of all tests."""
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=TIMEOUT)
    with sync_playwright() as playwright:
        browser = chromium(playwright)
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser: Browser, serve: object, request: pytest.FixtureRequest) -> Iterator[OpenPage]:
    """Opens empty pages, which are closed before servers end. Errors in the console, exceptions of scripts and requests
    to other hosts fail the test, unless they contain one of ``expected_problems``, an attribute of the test.
    """
    contexts: list[BrowserContext] = []
    problems: list[str] = []

    def requested(asked: Any) -> None:
        address = urlsplit(asked.url)
        if address.scheme not in ("file", "data", "blob", "about") and address.hostname not in LOCAL:
            problems.append(f"request to {asked.url}")

    def console(message: Any) -> None:
        if message.type in ("error", "warning"):
            problems.append(f"console: {message.text}")

    def open_one(viewport: str = "desktop", **options: Any) -> Page:
        options = {"reduced_motion": "reduce"} | options  # what moves cannot be clicked meanwhile
        context = browser.new_context(viewport=VIEWPORTS[viewport], **options)  # type: ignore[arg-type]
        context.set_default_timeout(TIMEOUT)
        context.on("request", requested)
        context.on("console", console)
        context.on("weberror", lambda error: problems.append(f"script: {error.error}"))
        contexts.append(context)
        return context.new_page()

    yield open_one
    for context in contexts:
        context.close()
    expected = getattr(request.node, "expected_problems", ())
    problems = [problem for problem in problems if not any(part in problem for part in expected)]
    assert not problems, "\n".join(problems)


# --- Servers ---------------------------------------------------------------------------------------------------------

TOKEN = "token-of-the-tests"


class Running:
    """A server that answers in a thread, behind a proxy if its addresses have a ``prefix``."""

    def __init__(self, folder: Path, port: int = 0, prefix: str = "") -> None:
        self.games = Games(folder, pause=0.0)
        self._listening = listen("127.0.0.1", port)
        self.port: int = self._listening.getsockname()[1]
        self.link = f"http://127.0.0.1:{self.port}{prefix}/{TOKEN}/"
        self._server = make_server(self.games, TOKEN)
        app: Any = self._server.config.app

        async def proxy(scope: Any, *rest: Any) -> None:
            inside = scope["path"].startswith(prefix)
            await app({**scope, "path": scope["path"].removeprefix(prefix) if inside else "/outside"}, *rest)

        self._server.config.app = proxy
        self._thread = threading.Thread(target=self._server.run, args=([self._listening],))
        self._thread.start()

    def stop(self) -> None:
        """End it."""
        self._server.should_exit = True
        self._thread.join()
        self._listening.close()


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Running]]:
    """Starts servers whose games are kept in the folder of the test; the arguments are a port and a prefix."""
    started: list[Running] = []

    def start(port: int = 0, prefix: str = "") -> Running:
        started.append(Running(tmp_path, port, prefix))
        return started[-1]

    yield start
    for server in started:
        server.stop()


@pytest.fixture
def server(serve: Callable[..., Running]) -> Running:
    """A server."""
    return serve()


@pytest.fixture
def page(open_page: OpenPage) -> Page:
    """A page as on a desktop."""
    return open_page()
