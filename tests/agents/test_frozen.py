"""Values of the heuristic and of the shipped networks, whose strength is published."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from quincunx_agents.agent_specs import rules_of
from quincunx_env.core.policy import policy_for
from quincunx_env.policies import resolve
from tests.agents.positions import positions, seen

pytest.importorskip("safetensors")

FROZEN = [line.split() for line in (Path(__file__).parents[1] / "golden" / "values.txt").read_text().splitlines()]
"""Policy, variant, plies, and the values of the best actions in six positions."""


@pytest.mark.parametrize("line", FROZEN, ids=lambda line: " ".join(line[:3]))
def test_values_are_frozen(line: list[str]) -> None:
    """Published figures refer to these names: a better policy gets another name or version."""
    name, variant, plies, *values = line
    rules: Any = rules_of(variant)
    policy: Any = policy_for(resolve(name), rules)
    found = policy.action_values(*seen(positions(rules, int(plies))), np.random.default_rng(0)).max(axis=1)
    assert found == pytest.approx([float(value) for value in values], abs=0.02)
