"""Write the screenshots of the documentation, ``python -m tests.web.screenshots``, with Chromium."""

from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

from quincunx_env.arena import explain
from quincunx_env.arena.records import Records
from quincunx_env.play.player import replay_page
from tests.web.conftest import VIEWPORTS, chromium

DOCS = Path(__file__).parents[2] / "docs"
GAP = 16


def player(browser: Browser, out: Path) -> None:
    """The replay player in a window, light, and on a phone, dark."""
    record = Records.read(DOCS / "leaderboard" / "value.games").record(0)
    content = replay_page([record], values=lambda game: explain("value", game), valued_by="value")
    shots = []
    for size, scheme in (({"width": 960, "height": 980}, "light"), (VIEWPORTS["phone"], "dark")):
        page = browser.new_page(viewport=size, color_scheme=scheme)  # type: ignore[arg-type]
        page.set_content(content)
        for _ in range(7):
            page.keyboard.press("ArrowRight")
        shots.append(Image.open(BytesIO(page.screenshot())))
        page.close()
    both = Image.new("RGBA", (sum(shot.width for shot in shots) + GAP, max(shot.height for shot in shots)))
    both.paste(shots[0], (0, 0))
    both.paste(shots[1], (shots[0].width + GAP, 0))
    both.save(out, lossless=True, method=6)


if __name__ == "__main__":
    with sync_playwright() as playwright:
        running = chromium(playwright)
        player(running, DOCS / "pictures" / "replay.webp")
        running.close()
