"""Screenshots of the documentation, which ``make docs`` writes with Chromium."""

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

from docs.pictures import update
from quincunx_env import Rules
from quincunx_env.arena import Deals, Run, evaluate, explain
from quincunx_env.arena.games import Games
from quincunx_env.notation.record import Seeded
from quincunx_env.play.session import Session
from quincunx_env.render.replay_page import replay_page
from tests.web.conftest import VIEWPORTS, Running, chromium

DOCS = Path(__file__).parents[2] / "docs"
GAP = 16


def player(browser: Browser, out: Path) -> None:
    """The replay player in a window, light, and on a phone, dark."""
    with TemporaryDirectory() as folder:
        evaluate("value", Deals(2, first=100_000), run=Run(records=Path(folder, "value.npz")))
        record = Games.read(Path(folder, "value.npz")).record(0)
    content = replay_page([record], values=lambda game: explain("value", game), valued_by="value")
    shots = []
    for size, scheme in (({"width": 960, "height": 980}, "light"), (VIEWPORTS["phone"], "dark")):
        page = browser.new_page(viewport=size, color_scheme=scheme)  # type: ignore[arg-type]
        page.set_content(content)
        for _ in range(7):
            page.keyboard.press("ArrowRight")
        shots.append(Image.open(BytesIO(page.screenshot())))
        page.close()
    _side_by_side(shots, out)


def play(browser: Browser, out: Path) -> None:
    """A game of two after a hint, in a window, light, and on a phone, dark."""
    session = Session(Rules(num_players=2), [None, "heuristic"], Seeded(0), "value")
    while len(session.turns) < 8:
        session.play(next(session.hints()).action)
    shots = []
    with TemporaryDirectory() as folder:
        server = Running(Path(folder))
        address = f"{server.link}game/{server.games.start(session).name}"
        for size, scheme in (({"width": 1180, "height": 812}, "light"), (VIEWPORTS["phone"], "dark")):
            page = browser.new_page(viewport=size, color_scheme=scheme)  # type: ignore[arg-type]
            page.goto(address, wait_until="load")
            page.keyboard.press("h")
            page.locator("#score.candidate").wait_for()
            page.locator("#hints li").nth(4).wait_for()
            page.evaluate("scrollTo(0, 0)")
            shots.append(Image.open(BytesIO(page.screenshot())))
            page.close()
        server.stop()
    _side_by_side(shots, out)


def _side_by_side(shots: Sequence[Image.Image], out: Path) -> None:
    both = Image.new("RGBA", (sum(shot.width for shot in shots) + GAP, max(shot.height for shot in shots)))
    both.paste(shots[0], (0, 0))
    both.paste(shots[1], (shots[0].width + GAP, 0))
    update(out, lambda path: both.save(path, lossless=True, method=6))


def write() -> None:
    """Write all screenshots."""
    with sync_playwright() as playwright:
        running = chromium(playwright)
        player(running, DOCS / "pictures" / "replay.webp")
        play(running, DOCS / "pictures" / "play.webp")
        running.close()
