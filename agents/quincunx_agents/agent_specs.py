"""Parts of each game that agents use, beside its `quincunx_env.core.spec.GameSpec`. Add a new game here."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple, Protocol

from quincunx_agents.afterstates import Bools, FeatureModule, Floats, Ints
from quincunx_env.core.observation import Pieces
from quincunx_env.core.rules import BaseRules
from quincunx_env.registry import spec_of


class RolloutPolicy(Protocol):
    """Interface of the games' modules ``rollout_policy``. The batch has B games at the same stage, all cards known."""

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

    variants: Mapping[str, BaseRules]
    """Rules that a network can learn, by names that no other game has."""
    base_variant: Callable[[Any], str]
    """Name in ``variants`` of rules without further options. A network must have learned their base variant."""
    features: FeatureModule
    """Features of afterstates, which value networks read."""
    rollout_policy: RolloutPolicy
    heuristic: Callable[[Any, Pieces, Bools], Floats]
    """Values of all actions by the heuristic, from rules, observation and mask."""
    networks: tuple[str, ...]
    """Names of the networks that come with the package."""
    search_settings: Callable[[Any], Mapping[str, Any]]
    """Settings of `quincunx_agents.search.network.NetworkSearch` in the agent ``search``, from rules."""


def _quincunx() -> AgentSpec:
    from quincunx_agents.quincunx import features, heuristic, rollout_policy, variants

    return AgentSpec(
        variants=variants.VARIANTS,
        base_variant=variants.base_variant,
        features=features,
        rollout_policy=rollout_policy,
        heuristic=heuristic.action_values,
        networks=("solitaire", "two-players", "three-four-players"),
        search_settings=variants.search_settings,
    )


def _spiral() -> AgentSpec:
    from quincunx_agents.spiral import features, heuristic, rollout_policy, variants

    return AgentSpec(
        variants=variants.VARIANTS,
        base_variant=variants.base_variant,
        features=features,
        rollout_policy=rollout_policy,
        heuristic=heuristic.action_values,
        networks=("spiral", "spiral-end"),
        search_settings=variants.search_settings,
    )


_SPECS = {"quincunx": _quincunx, "spiral": _spiral}
"""Functions that import the agents of a game, by its name in `quincunx_env.registry.GAMES`."""


@cache
def agent_spec(game: str) -> AgentSpec:
    """Return the parts of a game that agents use. The first call imports them.

    Raises:
        ValueError: if the agents do not play it.
    """
    if game not in _SPECS:
        raise ValueError(f"these agents play {' and '.join(_SPECS)}, got rules of {game}")
    return _SPECS[game]()


def agent_spec_of(rules: BaseRules) -> AgentSpec:
    """Return `agent_spec` of the game of these rules."""
    return agent_spec(spec_of(rules).name)


def agent_specs() -> list[AgentSpec]:
    """Return the parts of all games."""
    return list(map(agent_spec, _SPECS))


def agent_spec_with(variant: str) -> AgentSpec:
    """Return the parts of the game that has this variant. Other games are imported only if their name begins it.

    Raises:
        ValueError: if no game has it.
    """
    for game in sorted(_SPECS, key=lambda name: not variant.startswith(name)):
        if variant in (spec := agent_spec(game)).variants:
            return spec
    raise ValueError(f"there is no variant {variant!r}")


def rules_of(variant: str) -> BaseRules:
    """Return the rules of a variant; raises as `agent_spec_with` does."""
    return agent_spec_with(variant).variants[variant]


def base_variant(rules: BaseRules) -> str:
    """Return the name of these rules without further options. A network must have learned this variant."""
    return agent_spec_of(rules).base_variant(rules)


def with_options(variant: str) -> list[str]:
    """Return the variants that are this one with further options."""
    spec = agent_spec_with(variant)
    base = spec.base_variant(spec.variants[variant])
    return [name for name, rules in spec.variants.items() if spec.base_variant(rules) == base and name != base]
