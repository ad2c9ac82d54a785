"""Play in a real browser."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from quincunx_env import Record, Rules, spiral
from quincunx_env.core.rules import BaseRules
from quincunx_env.notation.record import Seeded
from quincunx_env.play.daily import today
from quincunx_env.play.session import Session, adviser_name
from quincunx_env.registry import spec_of
from quincunx_env.render.words import for_people
from tests.web.conftest import OpenPage, Running

pytestmark = pytest.mark.web

RECORDS = Path(__file__).parents[1] / "golden/records"


def begin(page: Page, server: Running, kind: str = "solitaire", **options: str) -> None:
    """Start a game on the start page."""
    page.goto(server.link)
    form = page.locator(f"form.kind:has(input[value={kind}])")
    if options:
        form.locator("summary").click()
    for name, value in options.items():
        field = form.locator(f"[name={name}]")
        if field.first.get_attribute("type") == "radio":
            form.locator(f"label:has([name={name}][value='{value}'])").click()
        elif field.get_attribute("type") == "checkbox":
            field.check()
        else:
            field.select_option(value)
    form.get_by_role("button", name="Play").click()
    expect(page.locator("#hand .card:enabled, [data-act=show]").first).to_be_visible()
    page.wait_for_load_state()  # the script runs


def position(page: Page) -> str:
    """The position that is shown, without what is chosen."""
    text: str = page.locator("#log").inner_text() + page.locator("#seats").inner_text()
    return text


def plays(page: Page) -> int:
    """Number of plays."""
    return page.locator("#log li").count()


def cells(page: Page) -> Locator:
    """The cells in which a card may be played."""
    return page.locator("#board .cell.legal, #board .cell.chosen")


def click_through(page: Page, press: str = "click") -> None:
    """Play to the end with clicks or taps: a card, then a cell; Simpleton's points are 5, and the next deal follows.

    A finger taps the cell twice.
    """
    while True:
        expect(page.locator("#hand .card:enabled, #ending > div, #announce").first).to_be_visible()
        if page.locator("[data-act=next]").count():
            assert page.locator("#board .cell.taken").count() == 25
            page.locator("[data-act=next]").click()
            expect(page.locator("#ending > div")).to_have_count(0)
            continue
        if page.locator("#ending > div").count():
            return
        before = plays(page)
        if page.locator("#announce").count():
            page.locator("#announce input").fill("5")
            page.get_by_role("button", name="Announce").click()
            page.wait_for_function("before => document.querySelectorAll('#log li').length > before", arg=before)
            continue
        getattr(page.locator("#hand .card:enabled").first, press)()
        expect(page.locator("#hand .card").first).to_have_attribute("aria-pressed", "true")
        expect(page.locator("#board")).to_have_class("yours")
        getattr(cells(page).first, press)()
        if press == "tap":
            expect(page.locator("#score")).to_have_class("candidate")
            assert plays(page) == before
            page.locator("#board .cell.chosen").tap()
        page.wait_for_function("before => document.querySelectorAll('#log li').length > before", arg=before)


def test_a_solitaire_by_clicks_and_its_replay(page: Page, server: Running) -> None:
    begin(page, server)
    assert page.locator("#hand .card").count() == 8
    click_through(page)
    assert re.search(r"score|lost", page.locator("#ending").inner_text())
    (path,) = server.games.folder.glob("*.txt")
    record = Record.read(path)
    assert record.game().over
    assert len(record.turns) == plays(page)
    page.locator("#actions").get_by_role("link", name="Replay").click()
    expect(page.locator("#plays button")).to_have_count(len(record.turns) + 1)
    page.keyboard.press("End")
    expect(page.locator("#caption")).to_contain_text(for_people(record.turns[-1].text))
    page.go_back()
    page.get_by_role("button", name="New deal").click()
    expect(page.locator("#hand .card:enabled")).to_have_count(8)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", ["320x568", "360x640", "390x844", "1280x800"])
def test_a_whole_game_by_taps(open_page: OpenPage, server: Running, size: str, scheme: str) -> None:
    page = open_page(size, has_touch=True, is_mobile=size != "1280x800", color_scheme=scheme)
    begin(page, server, "players", opponent1="greedy")
    click_through(page, "tap")
    expect(page.locator("#ending")).to_contain_text(re.compile(r"win|draw"))


@pytest.mark.parametrize(
    ("kind", "options", "seats"),
    [
        ("players", {"num_players": "2"}, 2),
        *(
            pytest.param(*form, marks=pytest.mark.slow)
            for form in (
                ("players", {"num_players": "3"}, 3),
                ("players", {"num_players": "4", "start": "open"}, 4),
                ("players", {"match": "yes"}, 2),
                ("players", {"simpleton": "yes"}, 2),
                ("spiral", {}, 2),
                ("spiral", {"scoring": "end", "deals": "1"}, 2),
            )
        ),
    ],
)
def test_whole_games_of_each_form_by_clicks(
    page: Page, server: Running, kind: str, options: dict[str, str], seats: int
) -> None:
    begin(page, server, kind, **options, **{f"opponent{number}": "greedy" for number in range(1, seats)})
    click_through(page)
    expect(page.locator("#ending")).to_contain_text(re.compile(r"win|draw"))
    (path,) = server.games.folder.glob("*.txt")
    record = Record.read(path)
    assert record.game().over
    assert record.seats == ("human", *["greedy"] * (seats - 1))
    expect(page.locator("#ending")).to_contain_text(re.compile("Hard (reached|lost)"))


@pytest.mark.parametrize("clicks", ["with the pointer", "without it, in older browsers"])
def test_the_spiral_game_by_second_clicks_on_cards(page: Page, server: Running, clicks: str) -> None:
    """There is one cell only, so that a second click on the card plays it."""
    if clicks != "with the pointer":
        page.add_init_script(
            "const { get } = Object.getOwnPropertyDescriptor(PointerEvent.prototype, 'pointerType');"
            "const typed = function () { return this.type === 'click' ? undefined : get.call(this); };"
            "Object.defineProperty(PointerEvent.prototype, 'pointerType', { get: typed });"
        )
    begin(page, server, "spiral", opponent1="greedy", deals="1")
    for _ in range(3):
        before = plays(page)
        for card in (page.locator("#hand .card:enabled").last, page.locator("#hand .card:enabled").first):
            card.click()
            expect(page.locator("#status")).to_contain_text(re.compile(r"^Play "))
            expect(card).to_have_attribute("aria-pressed", "true")
        assert plays(page) == before
        card.click()
        page.wait_for_function("before => document.querySelectorAll('#log li').length > before", arg=before)
        expect(page.locator("#hand .card:enabled").first).to_be_visible()


def test_a_game_by_keyboard(page: Page, server: Running) -> None:
    begin(page, server)
    page.keyboard.press("b")
    expect(page.locator("#hand .card").nth(1)).to_have_attribute("aria-pressed", "true")
    while not page.locator("#ending > div").count():
        before = plays(page)
        page.keyboard.press("a")
        expect(page.locator("#board")).to_have_class("yours")
        page.keyboard.press("ArrowDown")
        expect(page.locator("#board .cell.chosen")).to_have_count(1)
        page.keyboard.press("ArrowLeft")
        expect(page.locator("[data-act=play]")).to_be_enabled()
        page.keyboard.press("Enter")
        page.wait_for_function("before => document.querySelectorAll('#log li').length > before", arg=before)
        expect(page.locator("#hand .card:focus, #ending:focus")).to_have_count(1)
    page.keyboard.press("?")
    expect(page.locator("#rules")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("n")
    expect(page.locator("#hand .card:enabled")).to_have_count(8)


def test_points_draws_and_parts_are_those_of_the_session(page: Page, server: Running) -> None:
    begin(page, server)
    (table,) = server.games._tables.values()
    chosen = page.locator("#hand .card").nth(3)
    card = int(chosen.get_attribute("data-card") or "")
    chosen.click()
    expect(page.locator("#board")).to_have_class("yours")
    for cell, play in table.session.scores(card).items():
        shown = page.locator(f"#board .cell[data-cell='{cell}']")
        labels = shown.locator("[aria-label]").evaluate_all("all => all.map(one => one.getAttribute('aria-label'))")
        draws = [f"{play.draws} draw{'s' * (play.draws > 1)}"] * bool(play.draws)
        assert labels == [f"{play.points:+}" if play.points else "0", *draws]
    cell, play = max(table.session.scores(card).items(), key=lambda one: one[1].points)
    page.locator(f"#board .cell[data-cell='{cell}']").hover()
    expect(page.locator("#score output")).to_have_text(
        f"{play.points:+}".replace("-", "\N{MINUS SIGN}").replace("+0", "0")
    )
    page.locator("[data-act=points]").click()
    expect(page.locator("[data-act=points]")).to_have_attribute("aria-pressed", "false")
    expect(page.locator("#score output")).to_have_count(0)


def test_hints_are_those_of_the_adviser_and_undo_takes_back(page: Page, server: Running) -> None:
    begin(page, server)
    (table,) = server.games._tables.values()
    advised = next(table.session.hints())
    page.keyboard.press("h")
    expect(page.locator("#hints li")).to_have_count(5)
    expect(page.locator("#hints li").first).to_contain_text(for_people(advised.text))
    expect(page.locator("#hints button").first).to_have_attribute("aria-pressed", "true")
    before = position(page)
    page.keyboard.press("Enter")
    expect(page.locator("#log li")).to_have_count(1)
    assert table.session.turns[0].action == advised.action
    page.keyboard.press("u")
    expect(page.locator("#log li")).to_have_count(0)
    assert position(page) == before


def test_reload_restart_and_resume(page: Page, serve: Callable[..., Running], request: pytest.FixtureRequest) -> None:
    request.node.expected_problems = ["ERR_CONNECTION_REFUSED"]
    server = serve()
    begin(page, server, "players", opponent1="greedy")
    page.locator("#hand .card").first.click()
    cells(page).first.click()
    expect(page.locator("#log li")).to_have_count(2)
    before = position(page)
    page.reload()
    assert position(page) == before
    server.stop()
    expect(page.locator("#problem")).to_contain_text("does not answer")
    again = serve(server.port)
    page.goto(again.link)
    page.get_by_role("link", name="Continue").click()
    page.wait_for_load_state()  # with the style, which puts the parts of a seat on lines of their own
    assert position(page) == before
    expect(page.locator("#hand .card:enabled").first).to_be_visible()


def test_two_tabs_show_one_game(page: Page, server: Running, request: pytest.FixtureRequest) -> None:
    request.node.expected_problems = ["409"]
    one, other = page, page.context.new_page()
    begin(one, server)
    other.goto(one.url)
    one.locator("#hand .card").first.click()
    cells(one).first.click()
    expect(other.locator("#log li")).to_have_count(1)
    other.evaluate("state().position = '0'")  # as if it had not heard of it
    other.locator("[data-act=undo]").click()
    expect(other.locator("#problem")).to_contain_text("has gone on")
    assert plays(one) == plays(other) == 1
    other.locator("[data-act=undo]").click()
    expect(one.locator("#log li")).to_have_count(0)


@pytest.mark.parametrize("key", ["B", "\N{CYRILLIC SMALL LETTER I}"])
def test_letters_act_with_caps_lock_on_other_layouts_and_in_browsers_without_popovers(
    page: Page, server: Running, key: str
) -> None:
    page.add_init_script(
        """const { querySelector } = Document.prototype, { supports } = CSS;
        Document.prototype.querySelector = function (selector) {
            if (selector.includes(":popover-open")) throw new DOMException("not a valid selector", "SyntaxError");
            return querySelector.call(this, selector);
        };
        CSS.supports = (text) => !text.includes(":popover-open") && supports.call(CSS, text);"""
    )
    begin(page, server)
    press = "key => document.body.dispatchEvent(new KeyboardEvent('keydown', { key, code: 'KeyB', bubbles: true }))"
    page.evaluate(press, key)
    expect(page.locator("#hand .card").nth(1)).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("Escape")
    expect(page.locator("#hand [aria-pressed=true]")).to_have_count(0)


def test_after_a_play_the_next_card_has_the_focus(page: Page, server: Running) -> None:
    """Also when an agent has answered meanwhile."""
    begin(page, server, "players", opponent1="greedy")
    second, third = page.locator("#hand .card").nth(1), page.locator("#hand .card").nth(2).get_attribute("data-card")
    second.focus()
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowDown")
    expect(page.locator("[data-act=play]")).to_be_enabled()
    page.keyboard.press("Enter")
    expect(page.locator("#log li")).to_have_count(2)
    expect(page.locator("#hand .card:focus")).to_have_attribute("data-card", third or "")


SIZES = ("320x568", "360x640", "390x664", "390x844", "1280x800", "640x400")

HIDDEN = """() => [...document.querySelectorAll(
        '#hand .card, #board .cell, #actions button, #score, #status, .seat, .seat .count')]
    .filter(one => {
        const box = one.getBoundingClientRect();
        const over = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
        return scrollY || box.left < 0 || box.top < 0 || box.right > innerWidth || box.bottom > innerHeight
            || !over || !(one.contains(over) || over.closest('#board') && one.closest('#board'));
    }).map(one => one.outerHTML.slice(0, 200))"""
"""Returns what is not in sight."""


def drawing(cards: int) -> Session:
    """A solitaire with so many cards in the hand, by plays that draw most."""
    session = Session(Rules(), [None], Seeded(3))
    while len(hand := session.game.hand(0)) < cards:
        plays = (play for card in hand for play in session.scores(card).values())
        play = max(plays, key=lambda play: (play.draws, play.points))
        session.play(spec_of(session.rules).notation.encode_play(session.rules, play.card, play.cell))
    return session


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("game", [8, 10, 13, Rules(2), Rules(4), spiral.Rules()], ids=str)
def test_the_whole_hand_the_grid_and_the_buttons_are_in_sight(
    open_page: OpenPage, server: Running, size: str, game: int | BaseRules
) -> None:
    page = open_page(size)
    if isinstance(game, int):
        session = drawing(game)
    else:
        session = Session(game, [None, *["greedy"] * (game.num_players - 1)], Seeded(0))
    page.goto(f"{server.link}game/{server.games.start(session).name}")
    page.wait_for_load_state()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    cards = page.locator("#hand .card").evaluate_all("all => all.map(card => card.getBoundingClientRect().width)")
    width, height = map(int, size.split("x"))
    assert min(cards) >= (40 if min(width, height) >= 390 else 24), "wide enough for a finger"
    assert page.evaluate(HIDDEN) == []
    page.locator("#hand .card:enabled").last.click()
    expect(page.locator("#board")).to_have_class("yours")
    assert page.evaluate(HIDDEN) == []


@pytest.mark.parametrize(("size", "text"), [("320x200", "100%"), ("390x844", "200%"), ("1280x800", "200%")])
def test_large_text_leaves_the_grid_its_size(open_page: OpenPage, server: Running, size: str, text: str) -> None:
    """The page scrolls then: nothing is cut off."""
    page = open_page(size)
    page.goto(f"{server.link}game/{server.games.start(drawing(10)).name}")
    page.wait_for_load_state()
    page.evaluate("size => { document.documentElement.style.fontSize = size; }", text)
    assert page.locator("#board svg").evaluate("board => Math.min(board.clientWidth, board.clientHeight)") > 200
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    scroll = "one.scrollIntoView({ block: 'center' });"
    assert page.evaluate(HIDDEN.replace("scrollY || ", "").replace("const box", f"{scroll} const box")) == []
    page.evaluate("scrollTo(0, 0)")
    page.keyboard.press("k")
    expect(page.locator("#hand [aria-pressed=true]")).to_be_in_viewport()


@pytest.mark.parametrize(("lesson", "steps"), [("Quincunx", 8), ("the spiral game", 3)])
@pytest.mark.parametrize("by", ["keyboard", "touch"])
def test_a_guided_game_to_its_end(open_page: OpenPage, server: Running, lesson: str, steps: int, by: str) -> None:
    page = open_page("390x664", has_touch=by == "touch", is_mobile=by == "touch")
    page.goto(server.link)
    learn = page.get_by_role("button", name=f"Learn {lesson}")
    if by == "touch":
        learn.tap()
    else:
        learn.focus()
        page.keyboard.press("Enter")
    for number in range(1, steps + 1):
        expect(page.locator("#lesson")).to_contain_text(f"{number} of {steps}")
        expect(page.locator("#hand .card:enabled")).to_have_count(1)
        page.wait_for_load_state()  # the style sheet lays the page out
        assert page.evaluate(HIDDEN.replace(", #status", ", #lesson")) == []
        before = plays(page)
        card = page.locator("#hand .card:enabled")
        if by == "touch":
            card.tap()
            expect(page.locator("#score")).to_have_class("candidate")
            page.locator("#board .cell.chosen").tap()
        else:
            while page.evaluate("!document.activeElement.matches('#hand .card:enabled')"):
                page.keyboard.press("Tab")
            page.keyboard.press("Enter")
            expect(page.locator("#score")).to_have_class("candidate")
            page.keyboard.press("Enter")
        page.wait_for_function("before => document.querySelectorAll('#log li').length > before", arg=before)
    expect(page.locator("#lesson")).to_contain_text("You know how to score")
    expect(page.locator("#hand .card:enabled").nth(1)).to_be_visible()
    page.get_by_role("link", name="Leave").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Quincunx")
    assert not [*server.games.folder.iterdir()], "it is not listed among the games"


def test_simpleton_asks_for_the_points(open_page: OpenPage, server: Running) -> None:
    """Which can be negative where the keypad has no minus."""
    page = open_page("360x640", has_touch=True, is_mobile=True)
    begin(page, server, "players", opponent1="greedy", simpleton="yes")
    page.locator("#hand .card").first.tap()
    cells(page).first.tap()
    page.locator("#board .cell.chosen").tap()
    for by in ("5 less", "5 less", "1 less", "5 more", "1 more", "1 more"):
        page.get_by_role("button", name=by).tap()
    buttons = page.locator("#announce button")
    assert buttons.evaluate_all("all => all.every(one => one.scrollWidth <= one.clientWidth)"), "words fit"
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    page.get_by_role("button", name="Announce").tap()
    expect(page.locator("#log")).to_contain_text("announce \N{MINUS SIGN}4")


# --- What people see first -------------------------------------------------------------------------------------------


def at_the_end(server: Running, rules: BaseRules, *opponents: str, seed: int = 0) -> str:
    """The address of a game in which each human has taken the play with the most points."""
    session = Session(rules, [None, *opponents], Seeded(seed), adviser_name(rules))
    while session.mover is not None:
        session.play(session.candidates()[0].action if session.human_to_move else session.choose())
    return f"{server.link}game/{server.games.start(session).name}"


@pytest.mark.parametrize("size", ["360x640", "1280x800"])
def test_the_start_page_has_ones_games_first_and_one_row_of_kinds(
    open_page: OpenPage, server: Running, size: str
) -> None:
    page = open_page(size)
    page.goto(server.link)
    expect(page.get_by_text("They appear here")).to_be_attached()
    begin(page, server)
    page.locator("#hand .card").nth(2).drag_to(cells(page).nth(5))
    expect(page.locator("#log li")).to_have_count(1)
    page.goto(server.link)
    expect(page.get_by_role("heading", name="Quincunx")).to_have_count(1)
    expect(page.get_by_role("link", name="Continue")).to_be_in_viewport(ratio=1)
    places = "all => new Set(all.map(one => one.getBoundingClientRect().%s)).size"
    for part in ("top", "height", "width"):
        assert page.locator(".kind").evaluate_all(places % part) == 1
    assert page.locator(".kind > button").evaluate_all(places % "top") == 1
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_todays_deal_is_copied(open_page: OpenPage, server: Running) -> None:
    page = open_page("390x664", permissions=["clipboard-read", "clipboard-write"])
    page.goto(at_the_end(server, Rules(), seed=int(f"{today():%Y%m%d}")))
    page.get_by_role("button", name="Share").click()
    page.get_by_role("button", name="Copy").click()
    expect(page.locator("[data-copy]")).to_have_text("Copied")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith(f"Quincunx, deal of {today():%d %b %Y}\n")
    page.reload()
    expect(page.locator("pre")).to_contain_text("Hard reached", timeout=30_000)  # afterwards the text stays as it is
    page.evaluate(
        "() => { navigator.clipboard.writeText = () => Promise.reject(new DOMException('no', 'NotAllowedError')); }"
    )
    page.get_by_role("button", name="Share").click()
    page.get_by_role("button", name="Copy").click()
    expect(page.locator("[data-copy]")).to_have_text("Selected")
    assert page.evaluate("getSelection().toString()").split() == page.locator("pre").inner_text().split()


@pytest.mark.parametrize("size", ["390x664", "844x390"])
@pytest.mark.parametrize(("rules", "opponents"), [(Rules(), []), (Rules(4), ["greedy"] * 3)], ids=str)
def test_the_replay_on_a_phone_shows_grid_points_and_suits(
    open_page: OpenPage, server: Running, rules: Rules, opponents: list[str], size: str
) -> None:
    page = open_page(size, has_touch=True, is_mobile=True)
    page.goto(f"{at_the_end(server, rules, *opponents)}/replay")
    for _ in range(100):  # the controls are highest with the values, which the adviser completes
        if page.locator("#valued").is_visible():
            break
        page.wait_for_timeout(100)
        page.reload()
    expect(page.locator("#valued")).to_be_visible()
    page.get_by_role("button", name="Next").tap()
    expect(page.locator("#position")).to_have_value("1")
    controls = page.locator(".controls").bounding_box()
    assert controls is not None
    assert controls["y"] + controls["height"] <= int(size.partition("x")[2])
    for part in (*page.locator("#grid .cell").all(), *page.locator("#points output").all(), page.locator("#caption")):
        box = part.bounding_box()
        assert box is not None
        assert box["y"] >= 0
        assert box["y"] + box["height"] <= controls["y"] + 1
    expect(page.locator("#points output")).to_have_count(rules.num_players)
    expect(page.locator("#caption .named .suit").first).to_be_visible()
    expect(page.locator("#plays .named .suit").first).to_be_visible()


@pytest.mark.parametrize("size", ["390x664", "1280x800"])
def test_the_dialog_of_rules_keeps_its_cross_and_one_size_of_cards(
    open_page: OpenPage, server: Running, size: str
) -> None:
    page = open_page(size, has_touch=size == "390x664", is_mobile=size == "390x664")
    begin(page, server)
    page.keyboard.press("?")
    close = page.get_by_role("button", name="Close")
    for place in (0, 300, 100_000):
        page.locator("#rules").evaluate("(rules, place) => rules.scrollTo(0, place)", place)
        expect(close).to_be_in_viewport(ratio=1)
        box = close.evaluate("close => close.parentElement.getBoundingClientRect().toJSON()")
        for x in (box["left"] + 20, box["right"] - 20):  # no words show beside it
            top = "([x, y]) => document.elementFromPoint(x, y).closest('.bar') !== null"
            assert page.evaluate(top, [x, box["top"] + 4])
    pictures = page.locator(".pictures svg")
    widths = pictures.evaluate_all("all => all.map(one => one.querySelector('.taken').getBoundingClientRect().width)")
    assert len(widths) == 6
    assert max(widths) - min(widths) < 0.1 * max(widths)
    expect(page.locator(".keys")).to_be_visible(visible=size != "390x664")
    pair = page.locator(".pictures li").filter(has_text="pair")
    expect(pair.locator("[class~=cell]")).to_have_count(2)


@pytest.mark.parametrize("size", ["640x400", "844x390"])
def test_no_seat_is_cut_off_at_the_end(open_page: OpenPage, server: Running, size: str) -> None:
    page = open_page(size)
    page.goto(at_the_end(server, Rules(num_players=4), "greedy", "greedy", "greedy"))
    expect(page.locator("#ending")).to_contain_text("Hard reached")
    assert page.locator(".seat").count() == 4
    assert page.evaluate(HIDDEN.replace("#score, #status, ", "")) == []


def test_letters_can_be_switched_off(page: Page, server: Running) -> None:
    begin(page, server)
    page.get_by_role("button", name="Rules").click()
    page.get_by_role("checkbox", name="Letters").uncheck()
    page.keyboard.press("Escape")
    page.reload()
    for key in ("b", "h", "?"):
        page.keyboard.press(key)
    expect(page.locator("#rules")).to_be_hidden()
    expect(page.locator("#hand [aria-pressed=true]")).to_have_count(0)
    page.locator("#hand .card").first.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#hand [aria-pressed=true]")).to_have_count(1)
    assert page.locator("#hints li").count() == 0


def test_a_dear_mistake_leads_to_its_position_with_the_advisers_values(page: Page, server: Running) -> None:
    page.goto(at_the_end(server, Rules(), seed=3))
    mistake = page.locator("#ending a").first
    number = int((mistake.inner_text()).rpartition(" ")[2])
    mistake.click()
    expect(page.locator("#position")).to_have_value(str(number - 1))
    expect(page.locator("#thoughts")).to_contain_text("Best values: ")
    before = f"{number - 1}. You " if number > 1 else "The deal"
    expect(page.locator("#plays [aria-current]")).to_contain_text(before)


@pytest.mark.parametrize("motion", ["", "reduced", "unknown to the browser"])
def test_a_played_card_moves_to_its_cell(open_page: OpenPage, server: Running, motion: str) -> None:
    page = open_page(
        "390x664", has_touch=True, is_mobile=True, reduced_motion="reduce" if motion == "reduced" else "no-preference"
    )
    counted = "function (update) { window.moved += 1; return begin.call(this, update); }"
    page.add_init_script(
        "window.moved = 0; const begin = Document.prototype.startViewTransition;"
        f"Document.prototype.startViewTransition = {'undefined' if motion.startswith('unknown') else counted};"
    )
    begin(page, server)
    click_through(page)
    assert page.evaluate("moved") == (0 if motion else plays(page))
    expect(page.locator("[style*=transition]")).to_have_count(0)


# --- What may be missing ---------------------------------------------------------------------------------------------


def test_a_browser_that_stores_nothing_plays(page: Page, server: Running) -> None:
    denied = "get() { throw new DOMException('denied'); }"
    page.add_init_script(f"Object.defineProperty(window, 'localStorage', {{ {denied} }})")
    begin(page, server)
    page.locator("#hand .card").nth(2).drag_to(cells(page).nth(5))
    expect(page.locator("#log li")).to_have_count(1)


def test_a_page_whose_script_did_not_start_says_so(page: Page, server: Running, request: pytest.FixtureRequest) -> None:
    request.node.expected_problems = ["ERR_FAILED"]
    begin(page, server)
    expect(page.get_by_text("did not start")).to_have_count(0)
    page.route("**/play.js", lambda route: route.abort())
    page.reload()
    expect(page.get_by_text("did not start")).to_be_visible()


def test_behind_a_proxy_with_a_path_prefix(page: Page, serve: Callable[..., Running]) -> None:
    server = serve(prefix="/user/ann/proxy/8017")
    begin(page, server)
    assert page.locator("#board").evaluate("board => getComputedStyle(board).overflow") == "hidden", "it has its style"
    page.locator("#hand .card").nth(2).drag_to(cells(page).nth(5))
    expect(page.locator("#log li")).to_have_count(1)
    page.get_by_role("link", name="Replay").click()
    page.get_by_role("link", name="Back to the game").click()
    page.get_by_role("button", name="Rules").click()
    page.get_by_role("link", name="The complete rules").click()
    page.get_by_role("link", name="Back to the game").click()
    page.get_by_role("link", name="Games").click()
    page.wait_for_load_state()  # until its script listens
    page.locator("#open input[type=file]").set_input_files(RECORDS / "solitaire.txt")
    page.get_by_role("link", name="All games").click()
    page.get_by_role("button", name="Learn Quincunx").click()
    expect(page.locator("#lesson")).to_contain_text("1 of 8")


def test_a_long_game_does_not_make_the_page_longer(open_page: OpenPage, server: Running) -> None:
    page = open_page("1280x800")
    page.goto(at_the_end(server, spiral.Rules(deals=2), "greedy"))
    expect(page.locator("#log li").last).to_be_attached()
    assert page.evaluate("document.documentElement.scrollHeight") == 800
