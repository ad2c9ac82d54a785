"""`Batch`, `Game` and the reference game play the same spiral games bit for bit; the batch is much faster."""

import random
import statistics
import time
from typing import Any

import numpy as np
import pytest

from quincunx_env.spiral import Batch, Game, Rules
from tests.engines.spiral.comparison import play_at_random
from tests.variants import SPIRAL, by_name, legal_actions

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


@pytest.mark.slow
@pytest.mark.parametrize("name", ["spiral-play-2", "spiral-play+fifteens-2", "spiral-end-2", "spiral-end+fifteens-2"])
def test_the_batch_is_much_faster_than_plain_games(name: str) -> None:
    """At 4096 games, per play, 15 times; processor time, medians of runs that take turns."""
    rules, num_games = SPIRAL[name], 4096
    batch, rng = Batch(rules, num_games), np.random.default_rng(0)
    many, single = [], []
    for run in range(5):
        batch.reset(run)
        spent = 0.0
        while not batch.over.all():
            actions = legal_actions(batch, rng)
            start = time.process_time()
            batch.step(actions)
            spent += time.process_time() - start
        many.append(spent / (24 * rules.deals * num_games))
        spent, choice = 0.0, random.Random(run)
        for number in range(60):
            game, script = Game.from_seed(rules, run, number), list[int]()
            again = game.copy()
            while not game.over:
                script.append(choice.choice(game.legal_cards()))
                game.step(script[-1])
            start = time.process_time()
            for card in script:
                again.step(card)
            spent += time.process_time() - start
        single.append(spent / (24 * rules.deals * 60))
    ratio = statistics.median(single) / statistics.median(many)
    print(f"{name}: a play takes {statistics.median(many) * 1e9:.0f} ns in the batch, {ratio:.0f} times as long alone")
    assert ratio >= 15
