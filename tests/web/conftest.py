"""Pages in the system's Chromium."""

import os
import shutil
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Playwright, sync_playwright

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")

LOCAL = {"127.0.0.1", "localhost", "::1"}
"""Hosts to which a page may send requests."""

VIEWPORTS = {"desktop": {"width": 1200, "height": 900}, "phone": {"width": 375, "height": 812}}

OpenPage = Callable[..., Page]
"""Arguments: one of `VIEWPORTS`, and options of a context of Playwright, such as ``color_scheme``."""


def chromium(playwright: Playwright) -> Browser:
    """Chromium, without a window; ends the program if there is none."""
    program = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        pytest.exit("these tests need Chromium: `apt install chromium`, or name the program in CHROMIUM", returncode=1)
    # A container that runs as root has no sandbox for the pages, all of which are ours.
    return playwright.chromium.launch(executable_path=program, chromium_sandbox=False)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The browser of all tests."""
    with sync_playwright() as playwright:
        browser = chromium(playwright)
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser: Browser) -> Iterator[OpenPage]:
    """Opens empty pages. Errors in the console, exceptions of scripts and requests to other hosts fail the test."""
    contexts: list[BrowserContext] = []
    problems: list[str] = []

    def request(asked: Any) -> None:
        address = urlsplit(asked.url)
        if address.scheme not in ("file", "data", "blob", "about") and address.hostname not in LOCAL:
            problems.append(f"request to {asked.url}")

    def console(message: Any) -> None:
        if message.type in ("error", "warning"):
            problems.append(f"console: {message.text}")

    def open_one(viewport: str = "desktop", **options: Any) -> Page:
        context = browser.new_context(viewport=VIEWPORTS[viewport], **options)  # type: ignore[arg-type]
        context.set_default_timeout(10_000)
        context.on("request", request)
        context.on("console", console)
        context.on("weberror", lambda error: problems.append(f"script: {error.error}"))
        contexts.append(context)
        return context.new_page()

    yield open_one
    for context in contexts:
        context.close()
    assert not problems, "\n".join(problems)
