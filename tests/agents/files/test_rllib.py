"""Checkpoints of RLlib as policies, without Ray: `tests/rllib` has the tests with it."""

from types import SimpleNamespace

import numpy as np
import pytest

from quincunx_agents.files.encodings import Encoding
from quincunx_agents.files.rllib import Module
from quincunx_env.core.policy import NotFiniteError
from quincunx_env.quincunx.rules import Rules
from quincunx_env.registry import make_observer
from tests.agents.positions import positions, seen


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_a_module_that_computes_nan_is_refused(number: float, monkeypatch: pytest.MonkeyPatch) -> None:
    space = Encoding(make_observer(Rules()), mask="action_mask", vector="observations").space()
    policy = Module(SimpleNamespace(observation_space=space))
    monkeypatch.setattr(policy, "_scores", lambda encoded, mask: np.full(mask.shape, number))
    observation, mask = seen(positions(Rules(), 0, 2))
    with pytest.raises(NotFiniteError, match=r"numbers that are none \(NaN\) or infinite"):
        policy.for_rules(Rules())(observation, mask, np.random.default_rng(0))
