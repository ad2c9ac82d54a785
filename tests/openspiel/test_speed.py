"""Speed beside the engine and the games of OpenSpiel in Python: `make test-openspiel ARGS="-m slow -rP"`."""

import random
from statistics import median
from time import process_time
from typing import Any

import pyspiel
import pytest
from open_spiel.python import games  # noqa: F401  registers them

from quincunx_env import Game, Rules, spiral
from tests.openspiel.test_adapter import draw
from tests.variants import random_action

ROUNDS, SECONDS = 15, 0.2


def engine(make: Any) -> tuple[int, float]:
    """Steps and processor time of random games in the engine."""
    rng, steps, start = random.Random(0), 0, process_time()
    while process_time() - start < SECONDS:
        game = make(steps)
        while not game.over:
            game.step(random_action(game, rng))
            steps += 1
    return steps, process_time() - start


def openspiel(name: str) -> tuple[int, float]:
    """Actions and processor time of random games in OpenSpiel, chance nodes included in the time."""
    rng, steps, game, start = random.Random(0), 0, pyspiel.load_game(name), process_time()
    while process_time() - start < SECONDS:
        state = game.new_initial_state()
        while not state.is_terminal():
            chance = state.is_chance_node()
            state.apply_action(draw(state, rng) if chance else rng.choice(state.legal_actions()))
            steps += not chance
    return steps, process_time() - start


@pytest.mark.slow
def test_speed_of_random_games() -> None:
    two, one_deal = Rules(num_players=2), spiral.Rules(deals=1)
    measured: dict[str, Any] = {
        "Game, Quincunx for two": lambda: engine(lambda seed: Game.from_seed(two, seed)),
        "Game, the spiral game": lambda: engine(lambda seed: spiral.Game.from_seed(one_deal, seed)),
        **{
            name: lambda name=name: openspiel(name)
            for name in (
                *("python_quincunx(num_players=2)", "python_quincunx(num_players=2,chance=cards)"),
                *("python_spiral(deals=1)", "python_spiral(deals=1,chance=cards)"),
                *("python_tic_tac_toe", "python_liars_poker", "python_kuhn_poker", "python_block_dominoes"),
            )
        },
    }
    times: dict[str, list[float]] = {name: [] for name in measured}
    for _ in range(ROUNDS):
        for name, measure in measured.items():
            steps, seconds = measure()
            times[name].append(seconds / steps * 1e6)
    for name, each in times.items():
        low, high = sorted(each)[3], sorted(each)[-4]
        print(f"{name}: {median(each):.1f} µs a step, {low:.1f} to {high:.1f}")
    assert median(times["python_quincunx(num_players=2)"]) < 100 * median(times["Game, Quincunx for two"])
