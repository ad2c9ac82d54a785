"""`Batch`, `Game` and the reference game play the same spiral games bit for bit."""

from typing import Any

import pytest

from quincunx_env.spiral import Rules
from tests.engines.spiral.comparison import play_at_random
from tests.variants import SPIRAL, by_name

SEED = 9_000


@by_name(SPIRAL)
def test_engines_and_reference_agree_on_random_plays(rules: Rules) -> None:
    play_at_random(rules, num_games=5, plays=300, seed=SEED)


@pytest.mark.slow
@pytest.mark.parametrize("fifteens", [False, True])
@pytest.mark.parametrize("scoring_at", ["play", "end"])
def test_long_engines_and_reference_agree_on_100_000_random_plays(scoring_at: Any, fifteens: bool) -> None:
    for deals in (1, 2, 4):
        play_at_random(Rules(scoring_at, fifteens, deals), 250, 34_000, 10_000 * deals)
