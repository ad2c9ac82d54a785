"""Scores of a network as a policy."""

from typing import Any

import numpy as np
import pytest

from quincunx_agents.files.encodings import Encoding
from quincunx_env.arena import explain
from quincunx_env.core.policy import NotFiniteError
from quincunx_env.quincunx.rules import Rules
from quincunx_env.registry import make_observer
from tests.variants import new_game

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("padded", [False, True])
def test_legal_actions_of_the_lowest_score_are_told_from_illegal_ones(padded: bool) -> None:
    """A network may give legal actions -inf, but not all of them."""
    observer: Any = make_observer(Rules(), padded=padded)
    game = new_game(Rules(), 1)
    mask = make_observer(Rules()).mask(game)[None].astype(bool)
    pieces = {name: piece[None] for name, piece in make_observer(Rules()).observe(game).items()}
    legal, illegal = np.flatnonzero(mask), np.flatnonzero(~mask)
    assert illegal[0] < legal[0]

    def policy_of(**scores: Any) -> Any:
        table = np.full((1, observer.num_actions), -np.inf, np.float32)
        places = observer._actions if padded else np.arange(observer.num_actions)
        for name, value in scores.items():
            table[0, places[{"illegal": illegal, "last": legal[-1:]}[name]]] = value
        return Encoding(observer).policy(lambda encoded, masks: table)

    with pytest.raises(NotFiniteError):
        policy_of(illegal=9)(pieces, mask, RNG)
    lowest = np.finfo(np.float32).min
    assert policy_of(illegal=9, last=lowest)(pieces, mask, RNG).tolist() == [legal[-1]]
    policy = policy_of(illegal=9, last=3)
    assert policy(pieces, mask, RNG).tolist() == [legal[-1]]
    values = explain(policy, game)
    assert values[divmod(int(legal[-1]), Rules().num_cells)] == 3
    assert np.isfinite(values).sum() == 1, "the others are not considered"
