"""The page that plays without the package: its games are the engine's, and it works by taps, clicks and keys."""

import json
import random
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
from quincunx_env.quincunx.render import candidate
from quincunx_env.registry import make_observer
from quincunx_env.render.words import minus
from tests.web.conftest import VIEWPORTS, OpenPage
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
        [game.totals, board, hands, pile, True, game.lost, minus(result.headline)],
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


def expect_position(page: Page, plays: int) -> None:
    """Wait for the position after some plays."""
    page.wait_for_function("([plays]) => turns.length === plays && (yours() || game.over)", arg=[plays])


@pytest.mark.parametrize(("players", "plays"), [(1, 12), (2, 20)])
def test_a_whole_game_by_taps(open_page: OpenPage, file: Path, players: int, plays: int) -> None:
    page = open_page("360x640", has_touch=True, is_mobile=True, bypass_csp=True)
    page.goto(f"{file.as_uri()}#deal=11&players={players}&beat=-500")
    expect(page.locator("#status")).to_have_text(minus("Beat -500 on this deal. Choose a card to begin."))
    for done in range(0, plays, players):
        page.locator("#hint").tap()  # chooses a card and a cell
        cell = page.locator("#grid .chosen")
        label = cell.get_attribute("aria-label") or ""
        cell.tap()
        expect_position(page, done + players)
        assert page.locator("#live").inner_text().count("played") == players
        assert label[:2] in page.locator("#live").inner_text()
    expect(page.locator("#ending")).to_contain_text("Played with hints.")
    expect(page.locator("#ending")).to_contain_text(minus("You beat -500."))
    points = page.evaluate("game.scores[0]")
    if players == 1:
        expect(page.locator("#ending")).to_contain_text(f"The network reached {points} on this deal.")
    page.reload()  # the game goes on where it was
    expect(page.locator("#ending output")).to_contain_text(str(points))
    page.get_by_role("link", name=f"Beat {points} on this deal").tap()
    expect(page.locator("#status")).to_have_text(f"Beat {points} on this deal. Choose a card to begin.")
    assert page.url.endswith(f"#deal=11{'&players=2' * (players == 2)}&beat={points}")


def test_a_whole_game_by_keys_and_back(open_page: OpenPage, file: Path) -> None:
    page = open_page(bypass_csp=True)
    page.goto(f"{file.as_uri()}#deal=3")
    page.keyboard.press("b")
    expect(page.locator("#hand .card").nth(1)).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("h")
    page.keyboard.press("Enter")
    plays = 1
    expect_position(page, plays)
    while page.evaluate("!game.over"):
        for key in ("a", "ArrowDown", "ArrowLeft"):
            page.keyboard.press(key)
        before = page.locator("#grid .chosen").get_attribute("aria-label") or ""
        assert ": free, " in before
        page.keyboard.press("Enter")
        plays += 1
        expect_position(page, plays)
        if plays == 2:  # from the cell that was played
            page.keyboard.press("Tab")
            expect(page.locator("#hand .card").first).to_be_focused()
    page.keyboard.press("u")
    expect_position(page, plays - 1)
    expect(page.locator("#ending")).to_be_empty()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="The rules")).to_be_visible()
    page.keyboard.press("Escape")
    page.locator("#letters").evaluate("switched => switched.click()")
    page.keyboard.press("u")
    expect_position(page, plays - 1)


def test_clicks_and_the_deals_of_the_app(open_page: OpenPage, file: Path) -> None:
    """Cards move, and Easy waits."""
    page = open_page(reduced_motion="no-preference", bypass_csp=True)
    page.goto(file.as_uri())
    expect(page.locator("#title")).to_have_text("Today's deal")
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


def test_it_says_that_its_script_did_not_start(open_page: OpenPage, file: Path) -> None:
    page = open_page(java_script_enabled=False)
    page.goto(file.as_uri())
    expect(page.get_by_role("alert")).to_contain_text("The script of this page did not start")


SIZES = ("360x640", "390x664", "844x390", "768x1024", "1280x800")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_it_fits_and_axe_finds_nothing(open_page: OpenPage, file: Path, size: str, scheme: str) -> None:
    page, found = open_page(size, color_scheme=scheme, bypass_csp=True), dict[str, list[str]]()

    def check(name: str) -> None:
        found[name] = findings(page)
        expect(page.locator("#undo")).to_be_in_viewport(ratio=1)
        document = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.scrollHeight]")
        assert document == [*VIEWPORTS[size].values()], name

    for players, plays in ((1, 12), (2, 20)):
        page.goto("about:blank")
        page.goto(f"{file.as_uri()}#deal=11&players={players}&beat=150")
        check(f"{players}, begin")
        for done in range(0, plays, players):
            page.locator("#hint").click()
            if done == 6:
                check(f"{players}, candidate")
            page.locator("#play").click()
            expect_position(page, done + players)
        check(f"{players}, end")
    for name in ("New game", "Rules"):
        page.locator("header").get_by_role("button", name=name).click()
        found[name] = findings(page)
        page.keyboard.press("Escape")
    assert found == {name: [] for name in found}
