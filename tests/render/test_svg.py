"""Scenes as SVG: well-formed, complete, without hidden information."""

from typing import Any
from xml.etree import ElementTree

import pytest

from quincunx_env import Rules
from quincunx_env.registry import spec_of
from quincunx_env.render import svg
from tests.pictures import position
from tests.variants import EVERY_GAME, new_game

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
    ("argument", "message"), [({"theme": "blue"}, "dark, light"), ({"portion": "all"}, "table, grid")]
)
def test_unknown_themes_and_portions_are_refused(argument: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        svg.draw(spec_of(Rules()).scene(new_game(Rules(), 0)), **argument)


def test_colours_may_be_variables_of_a_page() -> None:
    scene = spec_of(Rules(2)).scene(new_game(Rules(2), 0), 0)
    text = svg.draw(scene, theme=svg.Theme(*(f"var(--{name})" for name in svg.Theme._fields)))
    for name, colour in svg.THEMES["dark"]._asdict().items():
        text = text.replace(f"var(--{name})", colour)
    assert text.replace("back-varedge", f"back-{svg.THEMES['dark'].edge[1:]}") == svg.draw(scene)
