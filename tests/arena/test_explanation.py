"""Values by which policies choose."""

from typing import Any

import numpy as np
import pytest

from quincunx_agents.uniform import uniform
from quincunx_env import Rules, spiral
from quincunx_env.arena import explain, resolve
from quincunx_env.core.policy import policy_for
from quincunx_env.registry import make_observer, spec_of
from tests.variants import new_game


@pytest.mark.parametrize(
    ("name", "rules"),
    [
        ("value", Rules()),
        ("value", Rules(2, "open")),
        ("heuristic", Rules(3, pawns=True)),
        ("monte-carlo", Rules()),
        ("value", spiral.Rules()),
        ("heuristic", spiral.Rules("end")),
        ("greedy", Rules(2, "open", simpleton=True)),
        ("greedy", spiral.Rules()),
    ],
    ids=str,
)
def test_the_play_of_the_highest_value_is_chosen(name: str, rules: Any) -> None:
    game = new_game(rules, 1)
    before = game.copy()
    values = explain(name, game, seed=5)
    assert game.__getstate__() == before.__getstate__()
    assert values.shape == (rules.num_cards, rules.num_cells)
    legal = {spec_of(rules).notation.decode_play(game, action) for action in spec_of(rules).notation.legal_plays(game)}
    assert {(int(card), int(cell)) for card, cell in np.argwhere(np.isfinite(values))} <= legal
    observer = make_observer(rules, preview=True)
    observation = {name: piece[None] for name, piece in observer.observe(game, game.mover).items()}
    mask = observer.mask(game)[None].astype(bool)
    [action] = policy_for(resolve(name), rules)(observation, mask, np.random.default_rng(5))
    assert values[spec_of(rules).notation.decode_play(game, action)] >= np.nanmax(values) - 1e-3


def test_the_values_of_greedy_are_points() -> None:
    game = new_game(Rules(2, simpleton=True), 1)
    values = explain("greedy", game)
    points = {(card, cell): game.value(card, cell)[0] for card in game.legal_cards() for cell in game.legal_cells()}
    assert {place: values[place] for place in zip(*np.nonzero(np.isfinite(values)), strict=True)} == points


def test_the_seed_is_that_of_the_generator() -> None:
    class Drawn:
        def __call__(self, observation: Any, mask: Any, rng: np.random.Generator) -> Any:
            return mask.argmax(axis=1)

        def action_values(self, observation: Any, mask: Any, rng: np.random.Generator) -> Any:
            return np.where(mask, rng.random(), -np.inf)

    assert np.nanmax(explain(Drawn(), new_game(Rules(), 1), seed=5)) == np.random.default_rng(5).random()


def test_what_cannot_be_explained_is_refused() -> None:
    game = new_game(Rules(2, simpleton=True), 0)
    with pytest.raises(ValueError, match="uniform has no values of actions"):
        explain(uniform, game)
    game.step(game.hand(0)[0] * 25 + game.legal_cells()[0])
    with pytest.raises(ValueError, match="must announce the points"):
        explain("heuristic", game)
    with pytest.raises(ValueError, match="unheard-of"):
        explain("unheard-of", new_game(Rules(), 0))
