"""Games for the fuzz tests: of every kind, at the beginning, in the middle and at the end."""

import random
from typing import Any, NamedTuple

import pytest

from quincunx_env import spiral
from quincunx_env.core.rules import BaseRules
from quincunx_env.quincunx import Rules
from tests.variants import new_game, random_action

RULES: dict[str, BaseRules] = {
    "solitaire": Rules(),
    "solitaire-contact-full": Rules(edge_contact=True, pawns=True, excuse=True, flush=True),
    "2-simpleton-match": Rules(num_players=2, simpleton=True, match=True),
    "3-open-flush": Rules(num_players=3, start="open", flush=True),
    "spiral-1-fifteens": spiral.Rules(deals=1, fifteens=True),
    "spiral-end": spiral.Rules(scoring="end"),
}


class Played(NamedTuple):
    """A game and how it came about."""

    seed: int
    actions: tuple[int, ...]
    game: Any


def played(rules: BaseRules, plies: int, seed: int = 3) -> Played:
    """A random game after some actions, or at its end."""
    game, rng, actions = new_game(rules, seed), random.Random(plies), list[int]()
    while len(actions) < plies and not game.over:
        actions.append(random_action(game, rng))
        game.step(actions[-1])
    return Played(seed, tuple(actions), game)


POSITIONS = {f"{name}-{plies}": played(rules, plies) for name, rules in RULES.items() for plies in (0, 5, 1000)}

by_position = pytest.mark.parametrize("played", POSITIONS.values(), ids=POSITIONS)
"""One test for each of these games."""

by_rules = pytest.mark.parametrize("rules", RULES.values(), ids=RULES)
