"""The searches of ``docs/planning.md``, as printed there."""

from doctest import DocTestParser
from pathlib import Path
from typing import Any

import pytest

from quincunx_env import Rules, spiral
from quincunx_env.arena import Deals, compare

PAGE = (Path(__file__).parents[2] / "docs" / "planning.md").read_text(encoding="utf-8")
BLOCKS = ["".join(each.source for each in DocTestParser().get_examples(block)) for block in PAGE.split("```")[1::2]]
FLAT, TREE = BLOCKS[0], BLOCKS[2]


def test_page_and_searches_are_short() -> None:
    assert len(PAGE.split()) <= 950
    assert len(FLAT.splitlines()) <= 35
    assert len(TREE.splitlines()) <= 45


@pytest.mark.slow
@pytest.mark.parametrize(
    ("search", "rules"),
    [
        ("Search", Rules(num_players=2)),
        ("Search", Rules(num_players=3)),
        ("Search", spiral.Rules(deals=1)),
        ("TreeSearch", Rules(num_players=2)),
    ],
    ids=str,
)
def test_the_searches_beat_greedy(search: str, rules: Any) -> None:
    names: dict[str, Any] = {}
    exec(FLAT + TREE.partition("TreeSearch.iterations")[0], names)
    result = compare([names[search](), "greedy"], Deals(40, "validation"), rules=rules)
    assert result.margin().low > 0
