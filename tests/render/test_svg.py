"""Scenes as SVG: well-formed, complete, without hidden information."""

import random
import re
from typing import Any
from xml.etree import ElementTree

import pytest

from quincunx_env import Rules, render
from quincunx_env.registry import spec_of
from quincunx_env.render import svg
from quincunx_env.render.layout import Rect, layout_scene
from tests.pictures import position
from tests.variants import EVERY_GAME, new_game, random_action

XMLNS = "{http://www.w3.org/2000/svg}"


def elements(text: str, name: str) -> dict[int, ElementTree.Element]:
    """Elements by the number in a data attribute."""
    root = ElementTree.fromstring(text)
    return {int(element.attrib[name]): element for element in root.iter() if name in element.attrib}


@pytest.mark.parametrize("name", list(EVERY_GAME)[::7])
@pytest.mark.parametrize("portion", ["table", "grid", "hand"])
def test_cells_and_cards_have_their_numbers(name: str, portion: svg.Portion) -> None:
    game = position(name)
    seat = game.mover
    scene = spec_of(game.rules).scene(game, seat)
    text = svg.draw(scene, portion=portion)
    cells, cards = elements(text, "data-cell"), elements(text, "data-card")
    shown = {row * scene.side + column for row in scene.rows for column in scene.columns}
    assert set(cells) == (shown if portion != "hand" else set())
    assert set(cards) == (set(game.hand(seat)) if portion != "grid" else set())
    for cell, element in cells.items():
        kind = element.attrib["class"].split()
        assert ("taken" in kind) == (cell in scene.board) or scene.pending
        assert ("legal" in kind) == (cell in scene.legal and not game.over and scene.pending is None)
    used = {element.attrib["href"] for element in ElementTree.fromstring(text).iter(f"{XMLNS}use")}
    assert used == {
        f"#{element.attrib['id']}" for element in ElementTree.fromstring(text).iter() if "id" in element.attrib
    }


@pytest.mark.parametrize(
    "name", ["solitaire+flush", "corners-2+flush", "open-3+pawns", "spiral-play+fifteens-1", "spiral-end-1"]
)
def test_no_mark_covers_a_rank_or_a_value(name: str) -> None:
    """Throughout a game: the chips of a play and of lines lie elsewhere; frames and bars lie outside the cards."""
    rules = EVERY_GAME[name]
    game, rng, chips = new_game(rules, 4), random.Random(4), 0
    while not game.over:
        game.step(random_action(game, rng))
        scene = spec_of(rules).scene(game)
        printed = []
        for cell, rect in layout_scene(scene).cells.items():
            if cell in scene.board:
                face, unit = scene.faces[scene.board[cell]], rect.height / 100
                width = svg.font().width(face.rank, 44, "print")
                printed.append(Rect(rect.x + 8 * unit, rect.y + 11 * unit, width * unit, 32 * unit))
                if face.note and face.suits:
                    printed.append(Rect(rect.x + 55 * unit, rect.y + 12 * unit, 18 * unit, 13 * unit))
        marks = next(e for e in ElementTree.fromstring(svg.draw(scene)).iter() if e.get("class") == "marks")
        for element in marks.iter(f"{XMLNS}rect"):
            if element.attrib["rx"] == "11":
                x, y, width, height = (float(element.attrib[key]) for key in ("x", "y", "width", "height"))
                chips += 1
                for rect in printed:
                    apart = x + width <= rect.x or rect.right <= x or y + height <= rect.y or rect.bottom <= y
                    assert apart, f"{scene.last}: a chip at {x}, {y}"
    assert chips >= 10


def test_places_are_named_as_on_the_page() -> None:
    """In the labels of the grid and in the titles of plays."""
    game = new_game(Rules(), 0)
    card = game.hand(0)[0]
    drawn = render.to_svg(game, play=(card, 1))
    game.step(card * game.rules.num_cells + 1)
    drawn += render.to_svg(game)
    words = re.findall('aria-label="(.*?)"', drawn)
    assert {"A", "B", "C", "D", "1", "2", "3", "4"} <= {*words}
    assert sum(" B1" in word for word in words) == 2
    assert not re.search(r"\(\d, \d\)", drawn)


def test_candidates_show_points_and_draws() -> None:
    game = new_game(Rules(), 0)
    card = game.hand(0)[0]
    plays = [spec_of(game.rules).candidate(game, card, cell) for cell in game.legal_cells()]
    cells = elements(svg.draw(spec_of(game.rules).scene(game), candidates=plays), "data-cell")
    for play in plays:
        words = {element.attrib["aria-label"] for element in cells[play.cell].iter() if "aria-label" in element.attrib}
        expected = {f"{play.points:+}" if play.points else "0"}
        assert words == expected | ({f"{play.draws} draw{'s' * (play.draws > 1)}"} if play.draws else set())
    assert any(play.draws for play in plays)


def test_other_letters_lose_their_accents_and_text_is_escaped() -> None:
    assert svg.font().letters("Ünal ő 漢", "text") == list("Ünal o ?")
    assert svg.font().width("MM", 10) == pytest.approx(2 * svg.font().width("M", 10))


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ({"theme": "blue"}, "theme must be one of dark, light, got 'blue'"),
        ({"theme": ["dark"]}, "theme must be"),
        ({"portion": "all"}, "portion must be one of table, grid, hand, got 'all'"),
        ({"scale": 0}, "scale must be a number from 0.05 to 20, got 0"),
        ({"scale": float("nan")}, "scale must be"),
        ({"scale": "2"}, "scale must be"),
    ],
    ids=str,
)
def test_wrong_options_are_refused(argument: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        svg.draw(spec_of(Rules()).scene(new_game(Rules(), 0)), **argument)
