"""The page that plays without the package: its games are the engine's, and it works by taps, clicks and keys."""

import json
import random
import re
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from playwright.sync_api import Page, expect

from docs.game_page import MIDDLE, NETWORK, RULES, game_page
from quincunx_agents.torch import PlayNetwork
from quincunx_env import Game
from quincunx_env.notation.ending import ending
from quincunx_env.play.daily import deal_of, today
from quincunx_env.play.lessons import lessons
from quincunx_env.quincunx.render import candidate
from quincunx_env.registry import make_observer
from quincunx_env.render.words import minus
from tests.web.conftest import OpenPage
from tests.web.test_accessibility import findings

pytestmark = pytest.mark.web

GAMES = {1: 1500, 2: 600}
"""Games that are compared, by number of players."""

COMPARE = """
text => {
  let compared = 0;
  for (const [players, seed, dealt, plays, end] of JSON.parse(text)) {
    const same = (what, got, expected) => {
      const [one, other] = [JSON.stringify(got), JSON.stringify(expected)];
      if (one !== other) throw `${players} players, deal ${seed}, ${what}: ${one}, not ${other}`;
    };
    deal = { players, seed, beat: null };
    game = new Game(players, seed);
    same("deal", [game.board, game.hands, game.pile], dealt);
    for (const [card, cell, table, parts, gains] of plays) {
      const values = (card) => game.free().flatMap((cell) => [card, cell, ...game.value(card, cell)]);
      same(`values of play ${game.ply}`, game.hands[game.mover].flatMap(values), table);
      compared += table.length / 4;
      const sorted = ({ name, points, draws, cells }) => JSON.stringify([name, points, draws, ascending(cells)]);
      same(`parts of play ${game.ply}`, game.parts(card, cell).map(sorted).sort(), parts);
      same(`gains of play ${game.ply}`, game.play(card, cell), gains);
    }
    same("end", [game.scores, game.board, game.hands, game.pile, game.over, game.lost, headline()], end);
  }
  return compared;
}
"""


def golden(players: int, seed: int, rng: random.Random) -> list[Any]:
    """Play a game with the engine: its deal, plays with the values of all, and its end.

    Two plays of three are the best at once, so that rare parts occur.
    """
    game = Game.from_seed(RULES[players], seed)

    def shown() -> list[Any]:
        return [list(game.board)[:-1], [list(game.hand(seat)) for seat in range(players)], list(game.pile)]

    dealt, plays = shown(), []
    while not game.over:
        table = [(card, cell, *game.value(card, cell)) for card in game.legal_cards() for cell in game.legal_cells()]
        card, cell, *_ = (
            max(table, key=lambda play: play[2] + 8 * play[3]) if rng.random() < 2 / 3 else rng.choice(table)
        )
        found = [[part.name, part.points, part.draws, sorted(part.cells)] for part in candidate(game, card, cell).parts]
        parts = sorted(json.dumps(part, separators=(",", ":")) for part in found)
        plays.append([card, cell, [number for play in table for number in play], parts, game.play(card, cell)])
    result = ending(game, ["You", "Easy"], 0)
    assert result is not None
    board, hands, pile = shown()
    return [
        players,
        str(seed),
        dealt,
        plays,
        [game.totals, board, hands, pile, True, game.lost, re.sub(", class.*", ".", minus(result.headline))],
    ]


@pytest.fixture(scope="module")
def games() -> list[Any]:
    rng = random.Random(0)
    seeds = iter([deal_of(today()).seed, 2**59, *range(sum(GAMES.values()))])
    return [golden(players, next(seeds), rng) for players, count in GAMES.items() for _ in range(count)]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "game.html"
    path.write_text(game_page(), encoding="utf-8")
    return path


def test_games_are_those_of_the_engine(open_page: OpenPage, file: Path, games: list[Any]) -> None:
    page = open_page()
    page.goto(file.as_uri())
    values = sum(page.evaluate(COMPARE, json.dumps(games[start : start + 100])) for start in range(0, len(games), 100))
    plays = [play for _, _, _, plays, _ in games for play in plays]
    print(f"{len(games)} games, {len(plays)} plays, {values} values of plays")
    parts = {json.loads(part)[0] for play in plays for part in play[3]}
    assert parts == {"basic", "draw", "three", "straight", "pair", "power"}


def test_hints_are_the_choices_of_the_network(open_page: OpenPage, file: Path) -> None:
    """Plays of whole games; PyTorch computes the same logits."""
    page, observer = open_page(), make_observer(RULES[1], preview=True)
    page.goto(file.as_uri())
    layers = json.loads(NETWORK.read_text(encoding="utf-8"))["layers"]
    network, state = PlayNetwork(observer), dict[str, torch.Tensor]()
    for name, tensor in network.state_dict().items():
        levels = np.frombuffer(layers[name]["weights"].encode("ascii"), np.uint8).astype(np.float32) - MIDDLE
        state[name] = torch.from_numpy(levels * layers[name]["step"]).view_as(tensor)
    network.load_state_dict(state)
    for seed in range(40):
        positions = page.evaluate(
            """seed => {
                const game = new Game(1, seed), positions = [];
                while (!game.over) {
                  positions.push([logits(game), preferred(game)]);
                  game.play(...preferred(game));
                }
                return positions;
            }""",
            seed,
        )
        game = Game.from_seed(RULES[1], seed)
        for found, (card, cell, _) in positions:
            vector = torch.from_numpy(observer.vector(game, 0, by_place=True))[None]
            with torch.no_grad():
                by_place, mask = network(vector)[0].numpy(), observer.mask(game)[None] == 1
            [expected] = observer.places.to_joint_scores(by_place, mask)
            actions = [16 * card + cell for card, cell, _ in found]
            assert sorted(actions) == np.flatnonzero(observer.mask(game)).tolist()
            np.testing.assert_allclose([logit for _, _, logit in found], expected[actions], atol=1e-3)
            assert expected[16 * card + cell] >= expected[actions].max() - 2e-3
            game.play(card, cell)
        assert game.over


SIZES = [(320, 568), (360, 640), (390, 844), (844, 390), (1280, 800)]

OUT_OF_SIGHT = """
() => [...document.querySelectorAll("#hand .card, .count")].filter((element) => {
  const { left, right, top, bottom } = element.getBoundingClientRect();
  const corners = [[left + 4, top + 4], [right - 4, bottom - 4]].map((corner) => document.elementFromPoint(...corner));
  return !corners.every((found) => element.contains(found) || found?.contains(element) && element.matches(".count"));
}).map((element) => element.outerHTML)
"""
"""Cards of the hand and their number, where they are clipped, covered or outside the window."""

PLAY_ON = """
async (plays) => { // by the network's choices, against Easy by most points
  while (!game.over && turns.length < plays) {
    turn(...advice(game));
    while (!yours() && !game.over) await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
"""

NO_POPOVERS = """
for (const name of ["popover", "showPopover", "hidePopover", "togglePopover"]) delete HTMLElement.prototype[name];
addEventListener("click", (event) => { if (event.target.closest("[popovertarget]")) event.preventDefault(); }, true);
for (const type of [Document, Element]) for (const name of ["querySelector", "querySelectorAll", "matches"]) {
  const asked = type.prototype[name];
  if (asked) type.prototype[name] = function (selector) {
    if (selector.includes(":popover-open")) throw new DOMException("unknown pseudo-class", "SyntaxError");
    return asked.call(this, selector);
  };
}
addEventListener("DOMContentLoaded", () => {
  const style = Object.assign(document.createElement("style"), { textContent: "[popover] { display: block; }" });
  document.head.append(style);
});
"""
"""A browser without popovers, such as Firefox ESR 115."""


@pytest.fixture
def open_game(open_page: OpenPage, file: Path) -> Callable[..., Page]:
    """Opens the page at an address; the arguments are those of `open_page`."""

    def open_one(address: str = "", init: str = "", **options: Any) -> Page:
        page = open_page(bypass_csp=True, **options)
        page.add_init_script(init)
        page.goto(f"{file.as_uri()}{address}")
        return page

    return open_one


def expect_position(page: Page, plays: int) -> None:
    """Wait for the position after some plays."""
    page.wait_for_function("([plays]) => turns.length === plays && (yours() || game.over)", arg=[plays])


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_whole_games_by_taps(open_game: Callable[..., Page], size: tuple[int, int], scheme: str) -> None:
    """A tap asks before it plays. All fits, every card is in sight, axe-core finds nothing."""
    width, height = size
    page = open_game("", has_touch=True, is_mobile=width < 1000, color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": height})
    found, hand, cells = dict[str, list[str]](), page.locator("#hand .card"), page.locator("#grid .cell")

    def check(name: str) -> None:
        found[name] = findings(page)
        expect(page.locator("#undo")).to_be_in_viewport(ratio=1)
        document = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.scrollHeight]")
        assert document == [width, height]

    address = page.url
    for players, plays in ((1, 12), (2, 20)):
        page.goto("about:blank")
        page.goto(f"{address}#deal=11&players={players}&beat=-500")
        expect(page.locator("#status")).to_have_text(minus("Beat -500 on this deal. Choose a card to begin."))
        check(f"{players}, begin")
        for done in range(0, plays, players):
            card, cell = page.evaluate("advice(game)")
            place = page.evaluate("card => game.hands[0].indexOf(card)", card)
            hand.nth(place).tap()
            expect(hand.nth(place)).to_have_attribute("aria-pressed", "true")
            cells.nth(cell).tap()
            expect(page.locator("#grid .chosen")).to_have_count(1)
            assert page.evaluate("turns.length") == done
            assert page.evaluate(OUT_OF_SIGHT) == []
            if done == 6:
                check(f"{players}, candidate")
            cells.nth(cell).tap()
            expect_position(page, done + players)
        expect(page.locator("#review tr[data-act]")).to_have_count(plays // players)
        assert page.evaluate("document.documentElement.scrollWidth") == width
        found[f"{players}, end"] = findings(page)
        points = page.evaluate("game.scores[0]")
        expect(page.locator("#ending")).to_contain_text(minus("You beat -500."))
        if players == 1:
            expect(page.locator("#ending")).to_contain_text(f"The network reached {points} on this deal.")
        page.reload()  # the game goes on where it was
        expect(page.locator("#ending output")).to_contain_text(str(points))
        page.get_by_role("link", name=f"Beat {points}").tap()
        expect(page.locator("#status")).to_have_text(f"Beat {points} on this deal. Choose a card to begin.")
        assert page.url.endswith(f"#deal=11{'&players=2' * (players == 2)}&beat={points}")
    for name in ("New game", "Rules"):
        page.locator("header").get_by_role("button", name=name).tap()
        found[name] = findings(page)
        page.keyboard.press("Escape")
    assert found == {name: [] for name in found}


def test_as_many_cards_as_can_be_drawn_are_in_sight(open_game: Callable[..., Page]) -> None:
    page = open_game("#deal=11")
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        for cards in (10, 16):  # the second is more than any play of these deals draws
            page.evaluate("cards => { game.hands[0] = CARDS.map((_, card) => card).slice(0, cards); show(); }", cards)
            assert page.evaluate(OUT_OF_SIGHT) == [], (width, height, cards)


# --- What it remembers, and its address ------------------------------------------------------------------------------


def test_it_remembers_games_and_results(open_game: Callable[..., Page]) -> None:
    page = open_game("#deal=5")
    new = page.locator("header").get_by_role("button", name="New game")
    page.evaluate(PLAY_ON, 3)
    new.click()
    expect(page.locator("#asking")).to_contain_text("Leave this game?")
    page.get_by_role("button", name="Go on with it").click()
    assert page.evaluate("turns.length") == 3
    new.click()
    page.get_by_role("button", name="Solitaire", exact=True).click()
    expect_position(page, 0)
    expect(page.locator("#hand .card").first).to_be_focused()
    page.go_back()
    expect(page.locator("#title")).to_have_text("Deal 5")
    expect_position(page, 3)
    expect(page.locator("#hand .card").first).to_be_focused()
    page.goto(page.url.partition("#")[0])
    expect(page.locator("#notice")).to_contain_text("Not finished: Deal 5")
    page.get_by_role("button", name="Continue").click()
    expect_position(page, 3)
    page.evaluate(PLAY_ON, 12)
    points = page.evaluate("game.scores[0]")
    expect(page.locator("#ending")).to_contain_text("Your best so far!")
    new.click()
    expect(page.locator("#asking")).to_be_empty()
    expect(page.locator("#memory")).to_contain_text(f"Best: {points} points.")
    expect(page.locator("#memory li")).to_have_text([f"Deal 5: {points} points"])
    page.evaluate("begin(newDeal('5'))")
    expect(page.locator("#status")).to_have_text(f"Before: {points} points. Choose a card to begin.")
    for deal in range(100, 111):
        page.evaluate("deal => begin(newDeal(`${deal}`))", deal)
        page.evaluate(PLAY_ON, 12)
    assert page.locator("#memory li").count() == 10


@pytest.mark.parametrize(
    "entry", ['{"running": 7}', '{"results": [{}]}', '{"running": [{"seed": "3", "players": 1, "plays": [[99]]}]}', "?"]
)
def test_entries_of_another_version_begin_anew(open_game: Callable[..., Page], entry: str) -> None:
    page = open_game("#deal=3", init=f"localStorage.quincunx = {json.dumps(entry)}")
    for state in ({"turns": [{"seat": 0, "card": 99, "cell": 0}], "used": 7}, {"seed": "3", "players": 1, "plays": 7}):
        page.evaluate("state => history.replaceState(state, '')", state)
        page.reload()
        expect_position(page, 0)
        page.evaluate(PLAY_ON, 1)
        expect(page.locator("#score")).to_contain_text("You played")


def test_it_plays_without_storage(open_game: Callable[..., Page]) -> None:
    page = open_game(init="Object.defineProperty(window, 'localStorage', { get() { throw new Error('denied'); } });")
    page.evaluate(PLAY_ON, 12)
    expect(page.locator("#ending")).to_contain_text("The network reached")


def test_todays_deal_stays_todays(open_game: Callable[..., Page]) -> None:
    page = open_game()
    bare = page.url
    for day in (28, 29):
        page.clock.set_fixed_time(f"2026-11-{day}T23:59:59Z")
        page.goto(bare)
        expect(page.locator("#title")).to_have_text(f"Today's deal, {day} Nov 2026")
        assert page.evaluate("deal.seed") == str(deal_of(date(2026, 11, day)).seed)
        page.evaluate(PLAY_ON, 12)
        assert page.url == bare
        assert f"on the deal of {day} Nov 2026" in page.locator("#share pre").inner_text()
        assert f"{bare}#deal=202611{day}&beat=" in page.locator("#share pre").inner_text()
    expect(page.locator("#ending")).to_contain_text("2 days in a row.")
    page.clock.set_fixed_time("2026-11-30T00:00:01Z")
    page.goto(bare)
    expect(page).to_have_title("Today's deal, 30 Nov 2026 · Quincunx")
    page.locator("header").get_by_role("button", name="New game").click()
    expect(page.locator("#deals")).to_contain_text("Days begin at midnight UTC.")
    expect(page.locator("#memory li").first).to_contain_text("29 Nov 2026: ")


@pytest.mark.parametrize(
    "address", ["#deal=9223372036854775808", "#deal=x", "#players=3", "#deal=5&beat=much", "#board"]
)
def test_an_address_that_is_not_understood_is_answered(open_game: Callable[..., Page], address: str) -> None:
    page = open_game(address)
    expect(page.locator("#notice")).to_have_text("This page does not understand its address: here is today's deal.")
    assert page.evaluate("deal.seed") == str(deal_of(today()).seed)


def test_the_greatest_seed_is_read(open_game: Callable[..., Page]) -> None:
    page = open_game(f"#deal={2**63 - 1}")
    expect(page.locator("#title")).to_have_text(f"Deal {2**63 - 1}")
    assert page.evaluate("game.hands[0]") == list(Game.from_seed(RULES[1], 2**63 - 1).hand(0))


# --- For strangers ---------------------------------------------------------------------------------------------------


def test_the_guided_game_is_that_of_the_app(open_game: Callable[..., Page]) -> None:
    lesson, page = lessons()["solitaire"], open_game()
    expect(page.locator("#notice")).to_contain_text("Fill the grid, keep cards in hand, score the most.")
    page.locator("#notice").get_by_role("button", name="Learn").click()
    assert page.url.endswith("#learn")
    expect(page.locator("#title")).to_have_text(lesson.title)
    for number, step in enumerate(lesson.steps, 1):
        expect(page.locator("#notice p")).to_have_text(f"{number} of {len(lesson.steps)} {step.text}")
        assert page.locator("#grid .marked").count() == len(step.cells)
        expect(page.locator("#hand .card:enabled")).to_have_count(1)
        expect(page.locator("#grid .cell:enabled")).to_have_count(1)
        points = page.evaluate("game.scores[0]")
        page.locator("#hand .card:enabled").click()
        page.locator("#grid .cell:enabled").click()
        expect_position(page, number)
        assert page.evaluate("game.scores[0]") - points == step.points
    expect(page.locator("#notice p")).to_have_text(lesson.end)
    page.reload()
    expect_position(page, len(lesson.steps))
    page.evaluate(PLAY_ON, 12)
    expect(page.locator("#ending")).to_contain_text("You score")
    assert page.evaluate("remembered().results") == []


def test_it_warns_of_an_empty_hand(open_game: Callable[..., Page]) -> None:
    page = open_game("#deal=11")
    page.evaluate("game.pile = []; while (game.hands[0].length > 2) turn(game.hands[0][0], game.free()[0])")
    cells = page.evaluate("game.free().length")
    expect(page.locator("#status")).to_have_text(f"2 cards for {cells} cells: draw, with a sum of 11 or 20.")
    page.evaluate("game.hands[0].pop(); game.pile = []; choose({card: game.hands[0][0], cell: game.free()[0]})")
    expect(page.locator("#status")).to_contain_text("empties your hand and loses the round")


def test_plays_are_listed_beside_the_networks(open_game: Callable[..., Page]) -> None:
    page = open_game("#deal=11&beat=50")
    page.evaluate("for (const ply of Array(4)) turn(game.hands[0][0], game.free()[0])")
    page.evaluate(PLAY_ON, 12)
    rows = page.locator("#review tr[data-act]")
    expect(rows).to_have_count(12)
    lost = [int(text.replace("won ", "-")) for text in page.locator("#review td:last-child[class]").all_inner_texts()]
    reached = page.evaluate("networkReaches([]) ?? 0")
    assert sum(lost) == reached - page.evaluate("game.lost ? 0 : game.scores[0]") != 0
    assert lost[4:] == [0] * 8
    expect(rows.nth(7).locator("td").nth(2)).to_have_text("the same")
    rows.nth(2).get_by_role("button").click()
    expect_position(page, 2)
    expect(page.locator("#status")).to_contain_text("The network plays: ")
    page.get_by_role("button", name="Back to the end").click()
    expect_position(page, 12)
    expect(rows).to_have_count(12)
    page.goto("about:blank")
    page.go_back()
    assert "beat=50" in page.url
    text = page.locator("body").inner_text()
    assert not re.search(r"\bbasic\b|class \d|\bparts\b", text)


# --- Hints and links -------------------------------------------------------------------------------------------------


def test_hints_against_easy_are_called_most_points(open_game: Callable[..., Page]) -> None:
    page = open_game("#deal=11&players=2")
    page.get_by_role("button", name="Most points").click()
    assert page.evaluate("[chosen.card, chosen.cell]") == page.evaluate("greedy(game)")
    expect(page.locator("#status")).to_contain_text("Most points: ")


def test_the_link_says_points_and_is_copied_or_sent(open_game: Callable[..., Page]) -> None:
    page = open_game(
        "#deal=5", init="navigator.share = async ({ text }) => { window.sent = text; }", viewport="360x640"
    )
    page.evaluate(PLAY_ON, 12)
    points = page.evaluate("game.scores[0]")
    text = f"Quincunx: {points} points, without hints, on deal 5. Can you beat it?\n{page.url}&beat={points}"
    expect(page.get_by_role("link", name=f"Beat {points} points, without hints")).to_be_visible()
    page.get_by_role("button", name="Share").click()
    expect(page.locator("#share")).to_be_in_viewport(ratio=1)
    page.get_by_role("button", name="Send").click()
    assert page.evaluate("sent") == text
    page.evaluate("void (navigator.clipboard.writeText = async (text) => { window.copied = text; })")
    page.get_by_role("button", name="Copy").click()
    page.get_by_role("button", name="Copied").click()
    assert page.evaluate("copied") == text
    page.evaluate(
        "void (navigator.clipboard.writeText = () => Promise.reject(new DOMException('', 'NotAllowedError')))"
    )
    page.get_by_role("button", name="Copied").click()
    expect(page.get_by_role("button", name="Selected, not copied")).to_be_visible()
    assert page.evaluate("`${getSelection()}`.trim()") == text
    page.keyboard.press("Escape")
    page.locator("#undo").click()
    page.evaluate(PLAY_ON, 12)
    expect(page.locator("#ending a")).to_have_text(f"Beat {points} points")
    assert "without hints" not in page.locator("#share pre").inner_text()


# --- Readers, keys, browsers -----------------------------------------------------------------------------------------


def test_a_whole_game_by_keys_and_back(open_game: Callable[..., Page]) -> None:
    page = open_game("#deal=3")
    page.keyboard.press("B")  # with Caps Lock
    expect(page.locator("#hand .card").nth(1)).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("h")
    page.keyboard.press("Enter")
    plays = 1
    expect_position(page, plays)
    while page.evaluate("!game.over"):
        assert page.evaluate("document.activeElement.matches('#hand .card')")
        for key in ("a", "ArrowDown", "ArrowLeft"):
            page.keyboard.press(key)
        before = page.locator("#grid .chosen").get_attribute("aria-label") or ""
        assert ": free, " in before
        page.keyboard.press("Enter")
        plays += 1
        expect_position(page, plays)
    expect(page.locator("#again")).to_be_focused()
    page.keyboard.press("u")
    expect_position(page, plays - 1)
    expect(page.locator("#ending")).to_be_empty()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="The rules")).to_be_visible()
    page.keyboard.press("Escape")
    page.evaluate("document.dispatchEvent(new KeyboardEvent('keydown', { key: 'ф', code: 'KeyA' }))")
    expect(page.locator("#hand .card").first).to_have_attribute("aria-pressed", "true")
    page.locator("#letters").evaluate("switched => switched.click()")
    page.keyboard.press("u")
    expect_position(page, plays - 1)


def test_the_live_region_says_only_what_is_new(open_game: Callable[..., Page]) -> None:
    page = open_game("#deal=11&players=2", reduced_motion="no-preference")
    page.evaluate("turn(...advice(game))")
    expect(page.locator("#live")).to_have_text(re.compile(r"^You played [^.]*\.$"))
    expect(page.locator("#live")).to_have_text(re.compile(r"^Easy played [^.]*\.$"))


def test_cards_take_clicks_while_a_play_moves(open_game: Callable[..., Page]) -> None:
    page = open_game("#deal=11", reduced_motion="no-preference")
    page.evaluate("turn(...advice(game))")
    page.evaluate("new Promise(requestAnimationFrame).then(() => new Promise(requestAnimationFrame))")
    assert page.evaluate("document.getAnimations().length") > 0
    assert page.evaluate(OUT_OF_SIGHT) == []  # nothing lies over them


@pytest.mark.parametrize(
    ("size", "text"), [((320, 200), 100), ((320, 256), 100), ((390, 844), 200), ((1280, 800), 200)]
)
def test_the_grid_keeps_a_size_and_the_page_scrolls(
    open_game: Callable[..., Page], size: tuple[int, int], text: int
) -> None:
    """400 % of 1280x800 and 1280x1024, and text of 200 %."""
    page = open_game("#deal=11&players=2")
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.add_style_tag(content=f"html {{ font-size: {text}% !important; }}")
    assert page.evaluate("one('#grid').getBoundingClientRect().width") >= 140
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
    for name in ("#title", "#seats", "#hand .card >> nth=9", "#undo"):
        page.locator(name).scroll_into_view_if_needed()
        expect(page.locator(name)).to_be_in_viewport(ratio=0.99)
    page.evaluate("scrollTo(0, 0); hint()")
    expect(page.locator("#hand [aria-pressed=true]")).to_be_in_viewport(ratio=0.99)


def test_keys_and_new_games_without_popovers(open_game: Callable[..., Page]) -> None:
    page = open_game("#deal=11", init=NO_POPOVERS)
    page.keyboard.press("a")
    expect(page.locator("#hand .card").first).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#deals")).to_be_hidden()
    page.locator("header").get_by_role("button", name="New game").click()
    expect(page.locator("#deals")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#deals")).to_be_hidden()
    page.keyboard.press("n")
    page.get_by_role("button", name="Two players, against Easy").click()
    expect(page.locator("#deals")).to_be_hidden()
    expect(page.locator("#hand .card")).to_have_count(10)


def test_clicks_and_the_deals_of_the_app(open_game: Callable[..., Page]) -> None:
    """Cards move, and Easy waits."""
    page = open_game(reduced_motion="no-preference")
    expect(page.locator("#unstarted")).to_have_count(0)
    dealt = Game.from_seed(RULES[1], deal_of(today()).seed)
    hand = [button.get_attribute("aria-label") for button in page.locator("#hand .card").all()]
    assert [page.evaluate("index => CARDS[index].words", card) for card in dealt.legal_cards()] == hand
    page.get_by_role("button", name="New game").click()
    page.get_by_role("button", name="Two players, against Easy").click()
    expect(page.locator("#hand .card")).to_have_count(10)
    page.locator("#hand .card").nth(3).click()
    free = page.locator("#grid .free").nth(5)
    free.hover()
    expect(page.locator("#score")).to_have_class("candidate")
    free.click()
    expect(page.locator("#status")).to_have_text("Easy is thinking \u2026")
    expect_position(page, 2)
    expect(page.locator("#score")).to_contain_text("Easy played")
    page.locator("#undo").click()
    expect_position(page, 0)


def test_it_says_that_its_script_did_not_start(open_game: Callable[..., Page]) -> None:
    page = open_game(java_script_enabled=False)
    expect(page.get_by_role("alert")).to_contain_text("The script of this page did not start")


def test_links_to_it_have_a_title_a_picture_a_colour_and_an_icon(open_game: Callable[..., Page]) -> None:
    page = open_game("#deal=20260131")
    expect(page).to_have_title("31 Jan 2026 · Quincunx")
    for name in ("og:title", "og:description", "og:image"):
        assert page.locator(f'meta[property="{name}"]').get_attribute("content")
    assert page.locator('meta[name="theme-color"]').count() == 2
    assert page.locator('link[rel="icon"]').get_attribute("href")
