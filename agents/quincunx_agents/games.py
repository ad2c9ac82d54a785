"""Parts of each game that agents use, beside its `quincunx_env.core.spec.GameSpec`. Add a new game here."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from quincunx_agents.afterstates import Bools, FeatureModule, Floats, Ints
from quincunx_agents.quincunx import features as quincunx_features
from quincunx_agents.quincunx import forms as quincunx_forms
from quincunx_agents.quincunx import rollout_policy as quincunx_rollout_policy
from quincunx_agents.quincunx.heuristic import action_values as quincunx_action_values
from quincunx_agents.spiral import features as spiral_features
from quincunx_agents.spiral import forms as spiral_forms
from quincunx_agents.spiral import rollout_policy as spiral_rollout_policy
from quincunx_agents.spiral.heuristic import action_values as spiral_action_values
from quincunx_env.core.observation import Pieces
from quincunx_env.core.rules import BaseRules
from quincunx_env.registry import spec_of


class Forms(Protocol):
    """Interface of `quincunx_agents.quincunx.forms` and `quincunx_agents.spiral.forms`."""

    @property
    def VARIANTS(self) -> Mapping[str, BaseRules]:  # noqa: N802  # a constant of the module
        """Rules that a network can learn, by name."""
        ...

    @property
    def SINGLE_ROUND(self) -> Mapping[str, Any]:  # noqa: N802
        """Options of a single round of the same cards, without announcements."""
        ...

    def form_of(self, rules: Any) -> str:
        """Return the name in ``VARIANTS`` of the set-up of these rules. A network must have learned this set-up."""
        ...

    def plays_so_far(self, position: Pieces, counts: Mapping[str, Any], rules: Any) -> tuple[Ints, Ints, Ints]:
        """Return face-up cards, cards played and actions of the round.

        They are read from an observation of one game.
        """
        ...


class RolloutPolicy(Protocol):
    """Interface of `quincunx_agents.quincunx.rollout_policy` and `quincunx_agents.spiral.rollout_policy`.

    Games are a `quincunx_env.core.batch.BaseBatch` of B games at the same stage; all their cards are known.
    """

    def prior(self, rules: Any, observation: Pieces, mask: Bools) -> npt.NDArray[np.floating[Any]]:
        """Return values of all actions before any search, [n, actions]. Illegal actions have -inf."""
        ...

    def step(self, games: Any, actions: Ints) -> None:
        """Take an action in each game, int64 [B]. The announcement that follows it in Simpleton is taken, too."""
        ...

    def plays_left(self, games: Any) -> int:
        """Count the plays until the round of these games ends."""
        ...

    def rollout_actions(self, games: Any) -> Ints:
        """Choose the action of the rollout policy in each game, int64 [B]. Where a game is over, it is any number."""
        ...

    def candidate_actions(self, games: Any, count: int) -> Bools:
        """Return the ``count`` most promising actions of each game, bool [B, A]. A game may have fewer."""
        ...


class AgentSpec(NamedTuple):
    """The parts of a game that agents use."""

    forms: Forms
    features: FeatureModule
    """Features of afterstates, which value networks read."""
    rollout_policy: RolloutPolicy
    heuristic: Callable[[Any, Pieces, Bools], Floats]
    """Values of all actions by the heuristic, from rules, observation and mask."""
    search: Mapping[str, Any]
    """Settings of `quincunx_agents.search.network.NetworkSearch` in the agent ``search`` for several players."""


AGENT_SPECS = {
    "quincunx": AgentSpec(
        forms=quincunx_forms,
        features=quincunx_features,
        rollout_policy=quincunx_rollout_policy,
        heuristic=quincunx_action_values,
        search={"samples": 16, "rounds": 4},
    ),
    "spiral": AgentSpec(
        forms=spiral_forms,
        features=spiral_features,
        rollout_policy=spiral_rollout_policy,
        heuristic=spiral_action_values,
        search={  # every card, played out to the end
            "shortlist": 5,
            "samples": 16,
            "rounds": 2,
            "prior_weight": 0.5,
            "candidates": 0,
            "depth": None,
            "rollout_candidates": 13,
        },
    ),
}
"""The games that the agents play, by their names in `quincunx_env.registry.GAMES`."""

VARIANTS: dict[str, BaseRules] = {
    name: rules for spec in AGENT_SPECS.values() for name, rules in spec.forms.VARIANTS.items()
}
"""The variants of all games that a network can learn, by name."""


def agent_spec_of(rules: BaseRules) -> AgentSpec:
    """Return the parts that agents use, for the game of these rules.

    Raises:
        ValueError: if the agents do not play it.
    """
    game = spec_of(rules).name
    if game not in AGENT_SPECS:
        raise ValueError(f"these agents play {' and '.join(AGENT_SPECS)}, got rules of {game}")
    return AGENT_SPECS[game]


def form_of(rules: BaseRules) -> str:
    """Return the name in `VARIANTS` of the set-up of these rules. A network must have learned this set-up."""
    return agent_spec_of(rules).forms.form_of(rules)


def single_round(rules: BaseRules) -> BaseRules:
    """Return rules of a single round of the same cards, without announcements."""
    changed: BaseRules = replace(rules, **agent_spec_of(rules).forms.SINGLE_ROUND)  # type: ignore[type-var]
    return changed


def with_options(variant: str) -> list[str]:
    """Return all variants that share a variant's set-up. The plain variant is left out."""
    form = form_of(VARIANTS[variant])
    return [name for name, rules in VARIANTS.items() if form_of(rules) == form and name != form]
