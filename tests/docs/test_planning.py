"""The search of ``docs/planning.md``, as printed there."""

from doctest import DocTestParser
from pathlib import Path
from typing import Any

import pytest

from quincunx_env import resolve
from quincunx_env.arena.matches import Deals, MatchConfig, play_matches, seatings
from quincunx_env.arena.statistics import Estimate

PAGE = (Path(__file__).parents[2] / "docs" / "planning.md").read_text(encoding="utf-8")
SEARCH = "".join(example.source for example in DocTestParser().get_examples(PAGE.split("```")[1]))


def test_page_and_search_are_short() -> None:
    assert len(PAGE.split()) <= 600
    assert len(SEARCH.splitlines()) <= 25


@pytest.mark.slow
def test_the_search_beats_greedy_from_both_seats() -> None:
    """The margins of 40 paired deals, over both seats and from each."""
    names: dict[str, Any] = {}
    exec(SEARCH, names)
    config = MatchConfig(names["RULES"], Deals(40, "validation"), chunk=40)
    totals = play_matches([names["search"], resolve("greedy")], seatings([0, 1]), config, 0).totals
    margins = [totals[:, seat, seat] - totals[:, seat, 1 - seat] for seat in range(2)]
    for differences in (*margins, (margins[0] + margins[1]) / 2):
        assert Estimate.of_mean(differences).low > 0
