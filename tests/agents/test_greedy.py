"""`GreedyPolicy`: the choice among scores."""

import numpy as np
import pytest

from quincunx_agents.greedy import GreedyPolicy, greedy, legal_scores
from quincunx_env.core.policy import NotFiniteError
from quincunx_env.quincunx.rules import multiplayer_rules
from quincunx_env.registry import make_observer

RNG = np.random.default_rng(0)
SCORES = np.array([[0.0, 1.0, 1.0 + 1e-6, 9.0]], np.float32)
MASK = np.array([[True, True, True, False]])


def test_of_equal_scores_the_lowest_action_is_chosen_up_to_the_tolerance() -> None:
    for options, expected in (({}, 1), ({"tolerance": 0}, 2)):
        policy = GreedyPolicy(lambda observation, mask: legal_scores(SCORES, mask), **options)
        assert policy({}, MASK, RNG).tolist() == [expected]
        assert policy.action_values({}, MASK, RNG).tolist() == [[*SCORES[0, :3].tolist(), -np.inf]]


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_a_legal_action_needs_a_finite_score(wrong: float) -> None:
    with pytest.raises(NotFiniteError):
        legal_scores(np.full(MASK.shape, wrong), MASK)


def test_true_points_are_announced_unless_announcements_have_scores() -> None:
    observer = make_observer(multiplayer_rules(2, simpleton=True), preview=True)
    batch = observer.make_batch(5)
    batch.reset(seed=0)
    batch.step(greedy(observer.observe_batch(batch), batch.mask, RNG))
    observation, mask = observer.observe_batch(batch), batch.mask
    plays = observation["preview"][..., 0].size // len(mask)
    silent = GreedyPolicy(lambda observation, mask: np.where(mask & (np.arange(mask.shape[1]) < plays), 0, -np.inf))
    assert (silent(observation, mask, RNG) == greedy(observation, mask, RNG)).all()
    speaking = GreedyPolicy(lambda observation, mask: np.where(mask, 0, -np.inf))
    assert (speaking(observation, mask, RNG) == mask.argmax(axis=1)).all()
    batch.step(silent(observation, mask, RNG))
