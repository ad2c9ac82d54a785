"""Pictures in motion."""

import re
from xml.etree import ElementTree

import pytest

from quincunx_env import Record, render
from quincunx_env.render.animation import animate
from tests.render.test_replay_page import RECORDS

XLINK = re.compile(r'<use href="#(e\d+)"/>')


def expanded(text: str, stored: dict[str, str]) -> str:
    """Text in which the elements that are used by number stand themselves."""
    while XLINK.search(text):
        text = XLINK.sub(lambda found: stored[found[1]], text)
    return text


@pytest.mark.parametrize("name", ["solitaire", "worked_deal"])
def test_every_picture_is_shown_in_its_turn_and_shared_elements_are_stored_once(name: str) -> None:
    record = Record.read(RECORDS / f"{name}.txt")
    pictures = [render.to_svg(record.game(number)) for number in range(len(record.actions) + 1)]
    text = animate(pictures, seconds=2)
    root = ElementTree.fromstring(text)
    stored = dict(re.findall(r'<g id="(e\d+)">(.*?)</g>\n(?=<g id="e|</defs>)', text, re.DOTALL))
    moments = re.findall(
        r'<g class="moment" style="animation-delay:(\d+)s">\n(.*?)\n</g>\n(?=\n<g class="m|</svg>)', text, re.DOTALL
    )
    assert [int(delay) for delay, _ in moments] == [2 * number for number in range(len(pictures))]
    for (_, moment), picture in zip(moments, pictures, strict=True):
        assert expanded(moment, stored) == picture.partition("</defs>\n")[2].removesuffix("\n</svg>\n")
    assert f"moment {2 * len(record.actions) + 5}s step-end infinite" in text
    assert len(text) < sum(map(len, pictures)) / 3
    ids = [element.attrib["id"] for element in root.iter() if "id" in element.attrib]
    assert len(ids) == len(set(ids))
    assert {f"#{name}" for name in ids} == {each.attrib["href"] for each in root.iter() if "href" in each.attrib}


def test_pictures_without_a_common_size_and_times_are_refused() -> None:
    game = Record.read(RECORDS / "solitaire.txt").game()
    with pytest.raises(ValueError, match="at least one"):
        animate([])
    with pytest.raises(ValueError, match="one size"):
        animate([render.to_svg(game), render.to_svg(game, scale=2)])
    for seconds in (0.0, -1.0, float("nan")):
        with pytest.raises(ValueError, match="must be positive"):
            animate([render.to_svg(game)], seconds)
