"""Pages for readers with a screen reader, in both themes: axe-core finds nothing serious."""

import importlib.resources
import json
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from quincunx_env import Record, Rules, spiral
from quincunx_env.notation.record import Seeded
from quincunx_env.play.lessons import lessons
from quincunx_env.play.session import Session
from tests.web.conftest import OpenPage, Running

pytest.importorskip("axe_playwright_python")
pytestmark = pytest.mark.web

RECORDS = Path(__file__).parents[1] / "golden/records"


def findings(page: Page) -> list[str]:
    """Everything that axe-core finds on a page, also what is not serious."""
    script = importlib.resources.files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
    page.evaluate(script)
    found: list[dict[str, Any]] = page.evaluate("axe.run().then(found => found.violations)")
    return [
        f"{each['id']} ({each['impact']}): {json.dumps([node['html'][:160] for node in each['nodes'][:3]])}"
        for each in found
    ]


def test_a_screen_reader_hears_the_grid_and_the_last_play(page: Page, server: Running) -> None:
    table = server.games.start(Session(Rules(), [None], Seeded(0)))
    page.goto(f"{server.link}game/{table.name}")
    grid = page.get_by_role("region", name="Grid")
    first = grid.get_by_role("row").nth(1)
    expect(first).to_have_text(re.compile(r"^1\s*Ace of Knots\s*free\s*free\s*Crown of Leaves$"))
    card = page.get_by_role("button", name="9 of Leaves and Knots")
    card.click()
    expect(first).to_contain_text("free, basic +9")
    table.play(0, table.session.parse("9LK (0, 2)"))
    expect(page.locator("#live")).to_have_text("You played 9 of Leaves and Knots at C1: basic +9.")
    expect(page.locator("#log li").first).to_have_text("9LK C1 +9 (basic +9)")
    expect(page.locator("#log .named").first).to_have_attribute("aria-label", "9 of Leaves and Knots")
    assert {region.get_attribute("aria-label") for region in page.locator("main section").all()} >= {"Grid", "Plays"}


def test_a_screen_reader_hears_the_news_of_a_position_once(page: Page, server: Running) -> None:
    page.goto(server.link)
    page.get_by_role("button", name="Learn Quincunx").click()
    live, sentences = page.locator("#live"), [step.text for step in lessons()["solitaire"].steps]
    for number in (1, 2):
        page.locator("#hand .card:enabled").click()
        expect(live).to_have_text(re.compile(r"^\S+ of [\w ]+ at [A-D][1-4]: [^.]*\.$"))
        page.keyboard.press("Escape")
        expect(live).to_be_empty()
        page.locator("#hand .card:enabled").click()
        page.locator("#board .cell.chosen").click()
        expect(live).to_have_text(re.compile(f"^You played .* at .*{sentences[number][-20:]}$"))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", ["390x664", "1280x800"])
def test_axe_finds_nothing(
    open_page: OpenPage, server: Running, scheme: str, size: str, request: pytest.FixtureRequest
) -> None:
    request.node.expected_problems = ["404"]
    page, found = open_page(size, color_scheme=scheme), dict[str, list[str]]()

    def check(name: str, address: str = "") -> None:
        if address:
            page.goto(f"{server.link}{address}")
            page.wait_for_load_state()
        found[name] = findings(page)

    page.goto(server.link)
    check("start")
    page.get_by_role("button", name="Learn Quincunx").click()
    expect(page.locator("#lesson")).to_contain_text("1 of 8")
    page.wait_for_load_state()  # the style sheet sets the colours
    check("guided game")
    for rules in (Rules(num_players=4, simpleton=True), spiral.Rules()):
        table = server.games.start(Session(rules, [None] * rules.num_players, Seeded(0), "greedy"))
        address = f"game/{table.name}"
        check(f"covered cards, {rules.num_players}", address)
        page.get_by_role("button", name="Show my cards").click()
        expect(page.locator("#hand .card:enabled").first).to_be_visible()
        check(f"first position, {rules.num_players}")
        page.locator("#hand .card:enabled").first.click()
        expect(page.locator("#board")).to_have_class("yours")
        page.keyboard.press("h")
        expect(page.locator("#hints li")).to_have_count(5)
        check(f"hints, {rules.num_players}")
        page.keyboard.press("?")
        expect(page.locator("#rules")).to_be_visible()
        check(f"rules, {rules.num_players}")
    record = Record.read(RECORDS / "solitaire.txt")
    ended = server.games.start(Session.resume(record, [None]))
    check("end", f"game/{ended.name}")
    check("complete rules", f"rules?game={ended.name}")
    check("saved games", ".")
    check("replay", f"game/{ended.name}/replay")
    check("problem", "game/none")
    assert found == {name: [] for name in found}
