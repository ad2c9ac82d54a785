"""Pictures in motion, opened from a file."""

from pathlib import Path

import pytest
from playwright.sync_api import Page

from quincunx_env import Record, render
from quincunx_env.render.animation import animate
from tests.web.conftest import OpenPage

pytestmark = pytest.mark.web

RECORDS = Path(__file__).parents[1] / "golden" / "records"


def shown(page: Page, seconds: float) -> list[int]:
    """Numbers of the pictures that are visible at a time of the animation."""
    return page.evaluate(  # type: ignore[no-any-return]
        """(time) => {
            for (const each of document.getAnimations()) { each.pause(); each.currentTime = time; }
            return [...document.querySelectorAll(".moment")].flatMap((each, number) =>
                getComputedStyle(each).visibility === "visible" ? [number] : []);
        }""",
        1000 * seconds,
    )


def test_one_picture_is_shown_at_a_time(open_page: OpenPage, tmp_path: Path) -> None:
    record = Record.read(RECORDS / "solitaire.txt")
    path = tmp_path / "game.svg"
    path.write_text(animate([render.to_svg(record.game(number)) for number in range(13)], seconds=2), encoding="utf-8")
    page = open_page(reduced_motion="no-preference")
    page.goto(path.as_uri())
    times = {0.5: 0, 1.9: 0, 2.1: 1, 13: 6, 23.9: 11, 24.1: 12, 28.9: 12, 29.5: 0, 32: 1, 57: 12}
    assert {time: shown(page, time) for time in times} == {time: [number] for time, number in times.items()}
    still = open_page()  # reduced motion
    still.goto(path.as_uri())
    assert shown(still, 0.5) == [12]
