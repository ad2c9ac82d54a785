"""`Batch`, `Game` and the reference scorer play the same games bit for bit.

The comparison runs over every variant: random plays, and games whose deals are stacked and whose players work towards
rare events. Here it is short; the tests marked ``slow`` are the long ones (``-rP`` prints how often each rare event
occurred).
"""

from __future__ import annotations

import pytest

from quincunx_env.quincunx.rules import Rules
from tests.engines.quincunx.comparison import play_at_random
from tests.engines.quincunx.stacked import play_stacked
from tests.variants import COMBINATIONS, COVERING, MINI, VARIANTS, WITH_FURTHER_OPTIONS, by_name


@by_name(VARIANTS)
def test_engines_and_reference_agree_on_random_plays(rules: Rules) -> None:
    play_at_random(rules, num_games=4, plays=100, seed=1)


@by_name({name: rules for name, rules in VARIANTS.items() if name in COVERING and name not in MINI})
def test_engines_and_reference_agree_on_stacked_deals(rules: Rules) -> None:
    counts = play_stacked(rules, games_for_each=-(-4 // rules.num_rounds), seed=2)  # of all rounds, four or more
    print(dict(counts))
    assert min(counts.values()) >= 2, counts


@pytest.mark.slow
@by_name(COMBINATIONS)
def test_long_engines_and_reference_agree_on_20_000_random_plays(rules: Rules) -> None:
    play_at_random(rules, num_games=128, plays=20_000, seed=1_000)


@pytest.mark.slow
@by_name(WITH_FURTHER_OPTIONS | MINI)
def test_long_engines_and_reference_agree_with_further_options(rules: Rules) -> None:
    play_at_random(rules, num_games=128, plays=20_000, seed=2_000)


@pytest.mark.slow
@by_name(COMBINATIONS)
def test_long_stacked_deals_bring_about_every_rare_event_30_times(rules: Rules) -> None:
    counts = play_stacked(rules, games_for_each=45, seed=3_000)
    print(dict(counts))
    assert min(counts.values()) >= 30, counts
