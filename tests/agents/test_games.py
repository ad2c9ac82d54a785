"""The registry of what agents need of each game."""

import numpy as np
import pytest

from quincunx_agents.games import AGENT_SPECS, VARIANTS, agent_spec_of, form_of, with_options
from quincunx_agents.heuristic import heuristic
from quincunx_env.quincunx.rules import Rules
from quincunx_env.registry import GAMES, make_observer
from tests.variants import EVERY_GAME


def test_agents_know_every_game() -> None:
    assert AGENT_SPECS.keys() == GAMES.keys()
    assert len(VARIANTS) == sum(len(spec.forms.VARIANTS) for spec in AGENT_SPECS.values())


def test_a_game_without_agents_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(AGENT_SPECS, "quincunx")
    with pytest.raises(ValueError, match="these agents play spiral, got rules of quincunx"):
        heuristic.for_rules(Rules())


def test_a_variant_has_the_form_of_its_set_up() -> None:
    assert {form_of(rules) for rules in EVERY_GAME.values()} <= VARIANTS.keys()
    assert with_options("2-open-pawns") == [name for name in VARIANTS if name.startswith("2-open-")]


@pytest.mark.parametrize("name", list(EVERY_GAME)[::9])
def test_the_plays_so_far_are_read_from_an_observation(name: str) -> None:
    rules, rng = EVERY_GAME[name], np.random.default_rng(0)
    observer, forms = make_observer(rules), agent_spec_of(rules).forms
    games = observer.make_batch(1)
    games.reset(seed=5)
    plays, actions = getattr(rules, "num_plays_encoded", rules.num_actions), list[int]()
    for _ in range(5):
        action = int(rng.choice(np.flatnonzero(games.mask[0])))
        if action < plays:  # no announcement
            actions.append(action)
        games.step(np.array([action]))
        if games.mask[0, :plays].any() and not games.over[0]:
            position = {piece: values[0] for piece, values in observer.observe_batch(games).items()}
            _, _, found = forms.plays_so_far(position, observer.named_counts(position), rules)
            assert found.tolist() == actions
