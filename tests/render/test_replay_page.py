"""The replay player: a page that holds everything. `.ci/run web` opens it in a browser."""

import html
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import numpy.typing as npt
import pytest

from quincunx_env import Record, Rules
from quincunx_env.core.game import SomeGame
from quincunx_env.notation.record import Seeded
from quincunx_env.registry import spec_of
from quincunx_env.render import svg
from quincunx_env.render.animation import parts_of
from quincunx_env.render.replay_page import embedded, replay_page
from quincunx_env.render.words import for_people, minus, players, scene_for_people

RECORDS = Path(__file__).parents[1] / "golden" / "records"
NAMES = sorted(path.stem for path in RECORDS.glob("*.txt"))


def data_of(page: str) -> Any:
    """What the script of a page reads."""
    return json.loads(page.partition('id="data">')[2].partition("</script>")[0])


def content_of(element: str) -> str:
    """The page in an element of a notebook."""
    [content] = re.findall('srcdoc="([^"]*)"', element)
    return html.unescape(content)


def markup(data: Any, element: str | int | list[int]) -> str:
    """An element as the script puts it together."""
    if isinstance(element, int):
        return markup(data, data["elements"][element])
    return element if isinstance(element, str) else "\n".join(markup(data, each) for each in element)


def greedy_values(game: SomeGame) -> npt.NDArray[np.float64]:
    """Points of each play; none for cards of a low number."""
    spec, table = spec_of(game.rules), np.full((game.rules.num_cards, game.rules.num_cells), np.nan)
    for action in spec.notation.legal_plays(game):
        card, cell = spec.notation.decode_play(game, action)
        table[card, cell] = spec.candidate(game, card, cell).points if card > 10 else np.nan
    return table


def check_curve(record: Record, curve: str) -> None:
    """A curve for each seat, from 0 to its points at the end, between the lowest and the highest points."""
    high, low = (int(number) for number in re.findall(r"<span[^>]*>(-?\d+)<", curve.replace("\N{MINUS SIGN}", "-")))
    assert low <= 0 <= high
    drawn = [
        [*map(int, point.split(","))] for points in re.findall(r'points="([^"]*)"', curve) for point in points.split()
    ]
    totals = [record.game(number).totals for number in (0, len(record.actions))]
    steps = len(record.actions) + 1
    assert [high - y for _, y in drawn[::steps]] == totals[0]
    assert [high - y for _, y in drawn[steps - 1 :: steps]] == totals[1]
    assert {0, high - low} == {min(y for _, y in drawn), max(y for _, y in drawn)}
    assert all(name in curve for name in players(record.seats))


@pytest.mark.parametrize("name", NAMES)
def test_every_position_is_the_picture_of_the_renderer_with_the_parts_of_the_score(name: str) -> None:
    record = Record.read(RECORDS / f"{name}.txt")
    page = replay_page([record])
    data = data_of(page)
    positions = data["games"][0]["positions"]
    assert len(positions) == len(record.actions) + 1
    for number in (0, 1, 7, len(record.actions)):
        names = players(record.seats or [""] * record.rules.num_players)
        position, game = positions[number], record.shown(number)
        scene = scene_for_people(spec_of(record.rules).scene(game), names)
        drawn = svg.draw(scene).partition("</defs>\n")[2].removesuffix("</svg>\n")
        shown = markup(data, position["picture"])
        for colour, value in svg.THEMES["dark"]._asdict().items():
            shown = shown.replace(f"var(--{colour})", value)
        without_names = re.compile(r"<g aria-label=.*")  # of the game and of the players
        assert {*without_names.sub("", drawn.replace('"', "'")).splitlines()} == {
            *without_names.sub("", shown.replace('"', "'").replace("back-varedge", "back-242d32")).splitlines()
        }
        assert position["caption"].startswith(
            minus(for_people(str(record.turns[number - 1]), names)) if number else "The deal"
        )
        ElementTree.fromstring(f'<svg xmlns="http://www.w3.org/2000/svg">{shown}</svg>')
    check_curve(record, data["games"][0]["curve"])
    used = {*re.findall(r"href=.(#[^'\"]+)", markup(data, data["elements"]))}
    assert used == {f"#{name}" for name in re.findall(r'id="((?:[tp][0-9a-f]+|suit-\w+|back-\w+))"', page)}


def test_a_page_is_small_and_names_no_other_place() -> None:
    page = replay_page([Record.read(RECORDS / "solitaire.txt")])
    assert len(page.encode()) < 110_000
    addresses = re.findall(r"(?:https?:)?//[\w.]+|url\(|@import", page)
    assert not addresses, "the page asks for nothing"
    assert re.findall(r"<(?:link|img|script|iframe)[^>]*(?:src|href)=[\"']([^\"']*)", page) == ["data:,"]
    assert "default-src 'none'" in page


def test_text_of_a_record_cannot_become_markup() -> None:
    name = "</script><script>alert(1)</script>&'\""
    page = replay_page([Record(Rules(2), Seeded(0), (51,), (name, "b"))], values=greedy_values, valued_by=name)
    assert page.count("<script") == 2
    assert name not in page
    assert "alert(1)&lt;/script&gt;&amp;&#x27;&quot;" in page
    assert name in data_of(page)["games"][0]["name"]
    assert content_of(embedded(page)) == page


@pytest.mark.parametrize("mark", "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029", ids=ascii)
def test_a_name_becomes_no_attribute(mark: str) -> None:
    """Records have no such names, but the renderer does not rely on it."""
    name = f"{mark}' onload='x"
    record = Record(Rules(2), Seeded(0), (), ("ann", "b"))
    object.__setattr__(record, "seats", (name, "b"))
    data = data_of(replay_page([record]))
    shown = markup(data, data["games"][0]["positions"][0]["picture"])
    assert f'aria-label="{name}"' in shown
    still = svg.draw(replace(spec_of(record.rules).scene(record.game()), title=name))
    assert [line for line in parts_of(still)[1] if mark in line] == [
        line for line in still.split("\n")[1:] if mark in line
    ]


def test_values_are_shown_as_a_heat_map_with_the_best_plays_and_the_next() -> None:
    record = Record.read(RECORDS / "solitaire.txt")
    data = data_of(replay_page([record], values=greedy_values, valued_by="greedy"))
    for number, position in enumerate(data["games"][0]["positions"]):
        game = record.game(number)
        values = greedy_values(game) if not game.over else np.full(1, np.nan)
        if np.isnan(values).all():
            assert not position["thoughts"]
            continue
        assert position["thoughts"].startswith("Best values: ")
        assert float(position["thoughts"].split()[4].rstrip(",;").replace("\N{MINUS SIGN}", "-")) == np.nanmax(values)
        card, cell = divmod(record.actions[number], game.rules.num_cells)
        following = position["thoughts"].partition("; the next play ")[2]
        value = values[card, cell]
        assert following == ("" if np.isnan(value) else minus(for_people(f"{record.turns[number].text} {value:.1f}")))
        assert position["valued"] != position["picture"]
        assert f"aria-label='{np.nanmax(values):g}'" in markup(data, position["valued"])


def test_a_seat_sees_its_own_hand_alone() -> None:
    record = Record.read(RECORDS / "open.txt")
    data = data_of(replay_page([record], seat=1, values=greedy_values))
    valued = [number for number, each in enumerate(data["games"][0]["positions"]) if "valued" in each]
    assert valued == [number for number in range(len(record.actions)) if record.game(number).mover == 1]
    for number in (0, 5):
        shown = markup(data, data["games"][0]["positions"][number]["picture"])
        assert {*map(int, re.findall(r"data-card='(\d+)'", shown))} == {*record.game(number).hand(1)}
        assert all(
            f"data-name='{spec_of(record.rules).scene(record.game(0)).faces[card].name}'" not in shown
            for card in record.game(number).hand(0)
        )


def test_a_notebook_shows_a_record_as_a_player() -> None:
    record = Record(Rules(), Seeded(0), (33,))
    element = record._repr_html_()
    assert element is not None
    assert 'sandbox="allow-scripts"' in element
    assert content_of(element) == replay_page([record])


def test_long_names_stand_below_the_curve_alone() -> None:
    record = Record(Rules(2), Seeded(0), (51,), ("A very long name of a player", "short"))
    labels = [
        re.findall(
            "aria-label='(A very[^']*|short)'",
            markup(data_of(page), data_of(page)["games"][0]["positions"][0]["picture"]),
        )
        for page in (replay_page([record], seat=1), replay_page([record]), replay_page([record], seat=0))
    ]
    assert labels[0] == ["A very long nam…", "short"]
    assert labels[1:] == [["A very long name of a player", "short"]] * 2


def test_a_replay_shows_a_game() -> None:
    with pytest.raises(ValueError, match="at least one game"):
        replay_page([])


def test_values_of_another_shape_are_refused() -> None:
    with pytest.raises(ValueError, match=r"\[cards, cells\], \[36, 16\], got \[16\]"):
        replay_page([Record(Rules(), Seeded(0))], values=lambda game: np.zeros(game.rules.num_cells))


def test_the_reader_is_called_you_and_finds_the_way_back() -> None:
    record = Record(Rules(num_players=2), Seeded(0), (51,), ("human", "greedy"))
    page = replay_page([record], you=0, back=("/x/game/a%22b", 'All "games"'), when="31 Jan 2026, 18:05")
    assert '<a class="button" href="/x/game/a%22b">All &quot;games&quot;</a>' in page
    assert "<time>31 Jan 2026, 18:05</time>" in page
    (game,) = data_of(page)["games"]
    assert game["name"].startswith("You, greedy, deal 0")
    assert game["positions"][1]["caption"].startswith("1. You ")
    shown = markup(data_of(page), game["positions"][1]["picture"])
    assert "aria-label='You'" in shown
    assert "aria-label='greedy'" in shown
    assert "You played" in shown
    assert "seat 0" not in json.dumps(data_of(page)) + page
    plain = replay_page([record])
    assert "Player 1, greedy, deal 0" in plain
    assert "<time>" not in plain
    assert '<a class="button"' not in plain
