"""The documentation site: search, the front page, tables and charts on a desktop and on a phone, light and dark."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from tests.web.conftest import OpenPage

pytestmark = pytest.mark.web

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the pages, with notebooks that were not run."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-q", "-D", "nb_execution_mode=off", "-c", "docs", ".", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class Quiet(SimpleHTTPRequestHandler):
    """Files of a folder, without a log."""

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


@pytest.mark.parametrize(
    ("words", "page"),
    [
        ("mask", "docs/environments/"),
        ("draw", "docs/learn.html"),
        ("play against my model", "docs/play.html"),
        ("cite", "docs/index.html"),
        ("bibtex", "docs/index.html"),
    ],
)
def test_search_ranks_pages_before_attributes(site: str, open_page: OpenPage, words: str, page: str) -> None:
    opened = open_page("1280x800")
    opened.goto(f"{site}/search.html?q={quote(words)}")
    links = opened.locator("ul.search > li > a")
    links.first.wait_for()
    opened.locator(".search-summary", has_text="finished").wait_for()
    found = [str(link.get_attribute("href")) for link in links.all()]
    assert any(page in address for address in found[:2]), found[:5]
    assert not [address for address in found[:5] if "docs/api/" in address]


def test_the_front_page_begins_with_a_game_and_code(site: str, open_page: OpenPage) -> None:
    opened = open_page("1280x800")
    opened.goto(f"{site}/docs/index.html")
    door = opened.get_by_role("link", name="Play the solitaire")
    begin = [door, *(opened.locator("pre", has_text=text) for text in ("pip install", "gymnasium.make"))]
    begin += [opened.locator("article li", has_text=f"{reader}:") for reader in ("Research", "Play", "Teaching")]
    assert all(box and box["y"] + box["height"] < 800 for box in (each.bounding_box() for each in begin))
    assert opened.locator('meta[property="og:image"]').get_attribute("content") == "../_static/preview.png"
    player = opened.frame_locator("iframe.player")
    player.get_by_role("button", name="Next").click()
    player.locator('#position[aria-valuetext="1 of 12"]').wait_for()
    door.click()
    expect(opened.locator("#hand .card:enabled")).to_have_count(8)
    opened.get_by_role("link", name="Quincunx").click()
    expect(door).to_be_visible()


@pytest.mark.parametrize("page", ["index", "learn", "agents", "training", "play", "environments/index"])
def test_pages_fit_a_phone(site: str, open_page: OpenPage, page: str) -> None:
    opened = open_page("390x664")
    opened.goto(f"{site}/docs/{page}.html")
    assert opened.evaluate("document.documentElement.scrollWidth") <= 390
    if page == "agents":
        rows = opened.locator("article table").first.locator("tbody tr")
        assert all(box["height"] < 45 for row in rows.all() if (box := row.bounding_box())), "more than a line"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_charts_have_the_ground_of_the_theme(
    site: str, open_page: OpenPage, scheme: str, request: pytest.FixtureRequest
) -> None:
    opened = open_page("1280x800", color_scheme=scheme)
    request.node.expected_problems = ["ERR_FAILED"]
    for page in ("training", "generalisation", "optimal_play"):
        opened.goto(f"{site}/docs/{page}.html")
        chart = opened.locator('article img[src$=".png"]')
        assert ("invert" in chart.evaluate("image => getComputedStyle(image).filter")) == (scheme == "dark")
    for name, drawing in (("chart.png", False), ("data:image/svg+xml,", True)):  # outputs of notebooks
        output = f'<div class="cell_output"><img src="{name}"></div>'
        opened.route("**/chart.png", lambda route: route.abort())
        opened.locator("article").evaluate(
            "(article, output) => article.insertAdjacentHTML('beforeend', output)", output
        )
        shown = opened.locator(".cell_output img").last.evaluate("image => getComputedStyle(image).filter")
        assert ("invert" in shown) == (scheme == "dark" and not drawing)
