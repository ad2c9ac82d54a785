"""The replay player, opened from a file as a reader opens it."""

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from playwright.sync_api import Locator, Page, expect

from quincunx_env import Record
from quincunx_env.core.game import SomeGame
from quincunx_env.notation.ending import ending
from quincunx_env.render.replay_page import embedded, replay_page
from quincunx_env.render.words import for_people, minus, players
from tests.web.conftest import OpenPage

pytestmark = pytest.mark.web

RECORDS = Path(__file__).parents[1] / "golden" / "records"


def values(game: SomeGame) -> npt.NDArray[np.float64]:
    """A number for every play."""
    return np.arange(game.rules.num_cards * game.rules.num_cells).reshape(game.rules.num_cards, -1) / 7


@pytest.fixture(scope="module")
def games() -> list[Record]:
    return [Record.read(RECORDS / f"{name}.txt") for name in ("solitaire", "open")]


@pytest.fixture(scope="module")
def address(games: list[Record], tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("player") / "replay.html"
    path.write_text(replay_page(games, values=values, valued_by="numbers"), encoding="utf-8")
    return path.as_uri()


def taken(page: Page) -> Locator:
    """Cells with a card."""
    return page.locator("#grid .cell.taken")


def expect_position(page: Page, record: Record, number: int) -> None:
    names = players(record.seats or [""] * record.rules.num_players)
    caption = minus(for_people(str(record.turns[number - 1]), names)) if number else "The deal"
    end = ending(record.game(), names) if number == len(record.actions) else None
    expect(page.locator("#caption")).to_have_text(f"{caption}. {end.headline}" if end else caption)
    expect(page.locator("#points output")).to_have_text([*map(minus, record.game(number).totals)])
    expect(taken(page)).to_have_count(len([card for card in record.game(number).board if card >= 0]))
    expect(page.locator("#plays [aria-current]")).to_have_text(caption if not end else f"{caption}. {end.headline}")
    assert page.locator("#position").input_value() == str(number)


def test_a_game_by_buttons_keys_slider_and_list(open_page: OpenPage, address: str, games: list[Record]) -> None:
    page, record = open_page(), games[0]
    page.goto(address)
    last = len(record.actions)
    expect_position(page, record, 0)
    for number in range(1, last + 1):
        page.get_by_role("button", name="Next").click()
        expect_position(page, record, number)
    page.get_by_role("button", name="Next").click(force=True)  # stays at the end
    for key, number in (("ArrowLeft", last - 1), ("Home", 0), ("ArrowLeft", 0), ("ArrowRight", 1), ("End", last)):
        page.keyboard.press(key)
        expect_position(page, record, number)
    for name, number in (("Back", last - 1), ("First", 0), ("Last", last)):
        page.get_by_role("button", name=name).click()
        expect_position(page, record, number)
    page.get_by_role("slider").fill("3")
    expect_position(page, record, 3)
    page.get_by_role("slider").press("ArrowRight")
    expect_position(page, record, 4)
    page.get_by_role("list", name="Plays").get_by_role("button").nth(7).click()
    expect_position(page, record, 7)


def test_keys_that_belong_to_a_control_or_to_the_browser_stay_theirs(
    open_page: OpenPage, address: str, games: list[Record]
) -> None:
    page, record = open_page(), games[0]
    page.goto(address)
    page.keyboard.press("Control+ArrowRight")
    page.get_by_role("combobox", name="Speed").press("ArrowRight")
    expect_position(page, record, 0)
    page.get_by_role("button", name="Next").press(" ")
    expect_position(page, record, 1)
    page.get_by_role("checkbox").press(" ")
    expect(page.get_by_role("checkbox")).not_to_be_checked()
    page.get_by_role("checkbox").press("ArrowRight")
    expect_position(page, record, 2)
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()


def test_it_plays_and_stops(open_page: OpenPage, address: str, games: list[Record]) -> None:
    page, record = open_page(), games[0]
    page.goto(address)
    page.get_by_role("combobox", name="Speed").select_option("200")
    page.get_by_role("button", name="Play", exact=True).click()
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()  # at the end it stops
    expect_position(page, record, len(record.actions))
    page.get_by_role("combobox", name="Speed").select_option("1200")
    page.locator("#caption").click()
    page.keyboard.press(" ")  # a single character acts on a button alone
    expect(page.locator("#position")).to_have_value(str(len(record.actions)))
    page.get_by_role("button", name="Play", exact=True).press(" ")  # from the beginning
    expect(page.locator("#position")).to_have_value("1")
    page.get_by_role("button", name="Stop").press(" ")
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()
    stopped = page.locator("#position").input_value()
    page.wait_for_timeout(1500)
    assert page.locator("#position").input_value() == stopped


def test_another_game_and_values_of_an_agent(open_page: OpenPage, address: str, games: list[Record]) -> None:
    page = open_page()
    page.goto(address)
    heat = page.locator("#grid .cell.legal [aria-label]")
    expect(heat).not_to_have_count(0)
    expect(page.locator("#thoughts")).to_contain_text("Best values")
    page.get_by_role("checkbox", name="Values of numbers").uncheck()
    expect(heat).to_have_count(0)
    expect(page.locator("#thoughts")).to_be_hidden()
    page.get_by_role("combobox", name="Game").select_option(index=1)
    expect(page.get_by_role("heading")).to_have_text("Quincunx, 2 players, open start, Excuse, Pawns, flush bonus")
    page.keyboard.press("Escape")
    page.locator("body").press("End")
    expect_position(page, games[1], len(games[1].actions))
    expect(page.locator(".curve polyline")).to_have_count(2)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_phone(scheme: str, open_page: OpenPage, address: str) -> None:
    page = open_page("phone", color_scheme=scheme, has_touch=True)
    page.goto(address)
    for _ in range(5):
        page.get_by_role("button", name="Next").tap()
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= 375, "nothing is wider than the window"
    card = taken(page).first.bounding_box()
    assert card is not None
    assert card["width"] > 60, "cards are as large as a finger"
    grid, panel = page.locator("#grid").bounding_box(), page.locator("#panel").bounding_box()
    assert grid is not None
    assert panel is not None
    assert panel["y"] >= grid["y"] + grid["height"] - 1, "the hand is below the grid"
    buttons = [button.bounding_box() for button in page.locator(".controls button").all()]
    assert len({button["y"] for button in buttons if button}) == 1
    narrow = "[...document.querySelectorAll('button')].filter((each) => each.scrollWidth > each.clientWidth).length"
    assert page.evaluate(narrow) == 0, "no text is wider than its button"
    assert all(button and button["height"] >= 40 and button["y"] + button["height"] <= 812 for button in buttons)
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == {"light": "rgb(236, 234, 227)", "dark": "rgb(36, 45, 50)"}[scheme]


def test_several_records_in_a_notebook_do_not_disturb_each_other(open_page: OpenPage, games: list[Record]) -> None:
    page = open_page()
    page.set_content("".join(embedded(replay_page([record])) for record in games))
    first, second = page.frame_locator("iframe >> nth=0"), page.frame_locator("iframe >> nth=1")
    second.get_by_role("button", name="Last").click()
    expect(second.locator("#caption")).to_contain_text("wins by")
    expect(first.locator("#caption")).to_have_text("The deal")
