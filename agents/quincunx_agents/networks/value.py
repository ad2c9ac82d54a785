"""One-ply lookahead with a value network: argmax of points + value.

The network reads the features of an afterstate (`quincunx_agents.quincunx.features`,
`quincunx_agents.spiral.features`). It is a Deep Sets network (Zaheer et al., Deep Sets, NeurIPS 2017). An encoder is
shared by all elements of a set, and its outputs are summed. A trunk reads the sums and the context features. It gives
the points still to come for each seat and a preference, by which an action is preferred beyond its value.

The same network in PyTorch is `quincunx_agents.torch.networks.ValueNetwork`, which ``train.td_lambda`` trains. The
weights that come with the package lie in ``networks/weights``, each with a model card of the run that made them; they
play without torch.
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from functools import cache, cached_property, partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from quincunx_agents import ties
from quincunx_agents.afterstates import (
    SEATS,
    AfterstateFeatures,
    Afterstates,
    Bools,
    FeatureLayout,
    Floats,
)
from quincunx_agents.agent_specs import agent_spec_of, agent_spec_with, agent_specs, base_variant
from quincunx_agents.greedy import GreedyPolicy
from quincunx_agents.networks import weights_io
from quincunx_agents.networks.weights_io import WeightsError as WeightsError
from quincunx_env.core.observation import Pieces
from quincunx_env.core.rules import BaseRules
from quincunx_env.utils.files import package_file

VALUE_SCALE = 30.0
"""Points to one unit of the network's outputs; not tuned."""

WEIGHTS = Path(__file__).parent / "weights"


def layout_of(variants: Sequence[str]) -> FeatureLayout:
    """Return the feature layout of the game of these variants."""
    return agent_spec_with(variants[0]).features.LAYOUT


def widths_of(tensors: Mapping[str, Floats]) -> tuple[int, int]:
    """Return the units of set encoders and of the trunk's first layer."""
    return tensors["set_encoders.0.0.bias"].size, tensors["trunk.0.bias"].size


def shapes_of(layout: FeatureLayout, set_width: int, width: int) -> dict[str, tuple[int, ...]]:
    """Return the shapes of a network's tensors by name. Each layer has a weight [out, in] and a bias [out]."""
    layers = dict[str, tuple[int, int]]()
    for number, (_, features) in enumerate(layout.sets):
        layers |= {f"set_encoders.{number}.0": (set_width, features)}
        layers |= {f"set_encoders.{number}.2": (set_width, set_width)}
    inputs = len(layout.sets) * set_width + layout.context
    layers |= {"trunk.0": (width, inputs), "trunk.2": (width // 2, width), "trunk.4": (SEATS + 1, width // 2)}
    shapes = dict[str, tuple[int, ...]]()
    for layer, shape in layers.items():
        shapes |= {f"{layer}.weight": shape, f"{layer}.bias": shape[:1]}
    return shapes


# --- The network -----------------------------------------------------------------------------------------------------


def value_and_preference(
    members: Sequence[Mapping[str, Floats]], features: AfterstateFeatures
) -> tuple[Floats, Floats]:
    """Evaluate j afterstates.

    Args:
        members: tensors of each network by name; the outputs of all networks are summed.
        features: of the afterstates.

    Returns:
        values: points still to come for each seat from the mover on, float32 [j, SEATS].
        preferences: added to the values of the actions where they are compared, in points too, float32 [j].
    """
    outputs = VALUE_SCALE * sum(_outputs(tensors, features) for tensors in members)
    return outputs[:, :SEATS], outputs[:, SEATS]


def _outputs(tensors: Mapping[str, Floats], features: AfterstateFeatures) -> Any:
    """Return the outputs of one network, float32 [j, SEATS + 1]."""
    weights = tensors["trunk.0.weight"]
    hidden, start = features.context @ weights[:, weights.shape[1] - features.context.shape[1] :].T, 0
    for number, elements in enumerate(features.sets):
        encoded = elements.reshape(-1, elements.shape[2])
        for layer in (f"set_encoders.{number}.0", f"set_encoders.{number}.2"):
            encoded = np.maximum(encoded @ tensors[f"{layer}.weight"].T + tensors[f"{layer}.bias"], 0)
        present = elements[:, None, :, 0]
        summed = (present @ encoded.reshape(*elements.shape[:2], -1))[:, 0]
        hidden += summed @ weights[:, start : start + summed.shape[1]].T
        start += summed.shape[1]
    hidden = np.maximum(hidden + tensors["trunk.0.bias"], 0)
    hidden = np.maximum(hidden @ tensors["trunk.2.weight"].T + tensors["trunk.2.bias"], 0)
    return hidden @ tensors["trunk.4.weight"].T + tensors["trunk.4.bias"]


def evaluate_afterstates(members: Sequence[Mapping[str, Floats]], afterstates: Afterstates) -> tuple[Floats, Floats]:
    """Return values, float32 [m, SEATS], and preferences, float32 [m], of all afterstates.

    Known values stay as they are.
    """
    values, preferences = afterstates.known_values.copy(), np.zeros(len(afterstates.rows), np.float32)
    for at, features in afterstates.chunks:
        values[at], preferences[at] = value_and_preference(members, features)
    return values, preferences


def members_of(tensors: Mapping[str, Floats]) -> tuple[Mapping[str, Floats], ...]:
    """Split an ensemble into its members. Their outputs add up to the ensemble's.

    In an ensemble of n equal networks, stored as one, an n-th of each inner layer's weights can differ from 0.
    Any other network is its only member.
    """
    set_width, width = widths_of(tensors)
    weights, most = _num_weights(tensors), math.gcd(set_width, width // 2)
    for count in range(most, 1, -1):
        if most % count == 0:
            members = tuple(_part(tensors, set_width, number, count) for number in range(count))
            if sum(map(_num_weights, members)) == weights:
                return members
    return (tensors,)


def _num_weights(tensors: Mapping[str, Floats]) -> int:
    """Count the weights that are not 0."""
    return sum(map(np.count_nonzero, tensors.values()))


def _part(tensors: Mapping[str, Floats], set_width: int, number: int, count: int) -> dict[str, Floats]:
    """Return the weights within part ``number`` of ``count``. Part 0 has the bias of the outputs."""

    def part(array: Floats, axis: int) -> Floats:
        return np.split(array, count, axis)[number]

    found = {name: part(array, 0) for name, array in tensors.items() if not name.startswith("trunk.4.")}
    for name in found:
        if name.endswith(".2.weight"):
            found[name] = part(found[name], 1)
    ends = [set_width * (1 + each) for each in range(sum(name.startswith("set_encoders") for name in found) // 4)]
    *sets, context = np.split(found["trunk.0.weight"], ends, axis=1)
    found["trunk.0.weight"] = np.concatenate([*(part(each, 1) for each in sets), context], axis=1)
    bias = tensors["trunk.4.bias"]
    found |= {"trunk.4.weight": part(tensors["trunk.4.weight"], 1), "trunk.4.bias": bias if number == 0 else 0 * bias}
    return {name: np.ascontiguousarray(array) for name, array in found.items()}


@cache
def margin_weights(players: int) -> Floats:
    """Return weights of the seats' points, from the mover on, float32 [SEATS]. The margin is over the others' mean."""
    weights = np.zeros(SEATS, np.float32)
    weights[1:players] = -1 / max(players - 1, 1)
    weights[0] = 1
    return weights


@dataclasses.dataclass(frozen=True)
class ValueWeights:
    """A trained value network."""

    tensors: Mapping[str, Floats]
    """Weights by name."""
    variants: tuple[str, ...]
    """Names of the variants that it was trained on, all of one game."""
    candidates: int
    """Number of actions of a position that are evaluated, the ones that the heuristic prefers; 0 means all."""

    @cached_property
    def members(self) -> tuple[Mapping[str, Floats], ...]:
        """Networks whose outputs are summed; see `members_of`."""
        return members_of(self.tensors)


# --- Policies --------------------------------------------------------------------------------------------------------


class ValueAgent:
    """Agent for the variants that a value network has learned. It is a `quincunx_env.core.policy.PolicyFactory`."""

    def __init__(self, weights: ValueWeights) -> None:
        self.weights = weights

    def for_rules(self, rules: BaseRules) -> GreedyPolicy:
        """Return the policy for a game, with any options.

        The model card of the network lists the options it was trained with.

        Raises:
            ValueError: for a game whose base variant the network has not learned.
        """
        require_learned(self.weights, rules)
        return GreedyPolicy(partial(action_values, self.weights, rules))


def action_values(weights: ValueWeights, rules: BaseRules, observation: Pieces, mask: Bools) -> Floats:
    """Return points + V(afterstate) + preference of every action, float32 [n, A].

    Actions that are illegal or not candidates have -inf.

    V is the margin over the mean of the other seats (`margin_weights`).

    Raises:
        NotFiniteError: if the network overflows.
    """
    module = agent_spec_of(rules).features
    candidates = module.shortlist(rules, observation, mask, weights.candidates)
    afterstates = module.afterstates_of(rules, observation, candidates)
    values, preferences = evaluate_afterstates(weights.members, afterstates)
    table = np.full(mask.shape, -np.inf, np.float32)
    totals = afterstates.points + values @ margin_weights(rules.num_players) + preferences
    ties.require_finite(totals)
    table[afterstates.rows, afterstates.actions] = totals
    return table


def require_learned(weights: ValueWeights, rules: BaseRules) -> None:
    """Check that a network has learned the base variant of a game.

    Raises:
        ValueError: naming the variants that it has learned.
    """
    if not has_learned(weights, rules):
        raise ValueError(f"the network has not learned {base_variant(rules)}: it plays {', '.join(weights.variants)}")


def has_learned(weights: ValueWeights, rules: BaseRules) -> bool:
    """Return whether a network has learned the base variant of a game."""
    spec = agent_spec_of(rules)
    return spec.base_variant(rules) in {
        spec.base_variant(spec.variants[name]) for name in weights.variants if name in spec.variants
    }


# --- Weights files ---------------------------------------------------------------------------------------------------


def save_weights(path: Path, weights: ValueWeights) -> None:
    """Write weights with their variants and a checksum."""
    metadata = {"variants": weights.variants, "candidates": weights.candidates}
    weights_io.write(path, weights.tensors, metadata, _signature(weights))


def load_weights(path: Path) -> ValueWeights:
    """Read weights that `save_weights` wrote.

    Raises:
        WeightsError: if the file is missing, damaged, or holds other tensors than this version of the network has.
    """
    tensors, metadata = weights_io.read(path)
    weights_io.require_metadata(path, metadata, ("variants", "candidates"))
    variants, candidates = metadata["variants"], metadata["candidates"]
    if not _can_learn(variants) or type(candidates) is not int or candidates < 0:
        raise WeightsError(f"{path} is of another version of this network: its variants or candidates are unknown")
    weights = ValueWeights(tensors, tuple(variants), candidates)
    weights_io.verify_checksum(path, tensors, metadata, _signature(weights))
    try:
        shapes = shapes_of(layout_of(variants), *widths_of(tensors))
    except KeyError:
        shapes = {}
    if shapes != {name: tensor.shape for name, tensor in tensors.items()}:
        raise WeightsError(f"{path} is of another version of this network")
    return weights


def _can_learn(variants: object) -> bool:
    """Return whether these are names of variants of one game. One network can learn them."""
    if not isinstance(variants, list) or not variants or not all(isinstance(name, str) for name in variants):
        return False
    try:
        return set(variants) <= agent_spec_with(variants[0]).variants.keys()
    except ValueError:
        return False


def _signature(weights: ValueWeights) -> str:
    return f"{weights.variants} {weights.candidates}"


# --- Shipped networks ------------------------------------------------------------------------------------------------


def shipped() -> tuple[str, ...]:
    """Return the names of the networks in ``networks/weights``."""
    return tuple(name for spec in agent_specs() for name in spec.networks)


@cache
def load(name: str) -> ValueAgent:
    """Load the agent of a shipped network.

    Raises:
        ValueError: if there is none of that name.
    """
    file = f"{name}.safetensors"
    if not files("quincunx_agents.networks").joinpath("weights", file).is_file():
        raise ValueError(f"there is no network {name!r}: the names are {', '.join(shipped())}")
    return ValueAgent(load_weights(package_file("quincunx_agents.networks", "weights", file)))


def shipped_for(rules: BaseRules) -> ValueWeights:
    """Return the shipped network of a game's base variant.

    Raises:
        ValueError: if none has.
    """
    networks = [load(name).weights for name in agent_spec_of(rules).networks]
    for weights in networks:
        if has_learned(weights, rules):
            return weights
    learned = ", ".join(variant for weights in networks for variant in weights.variants)
    raise ValueError(f"no shipped network has learned {base_variant(rules)}: they play {learned}")


@dataclasses.dataclass(frozen=True)
class ShippedValueAgent:
    """Agent of the shipped network for the rules. It is a `quincunx_env.core.policy.PolicyFactory`."""

    def for_rules(self, rules: BaseRules) -> GreedyPolicy:
        """Return the policy for a game; see `ValueAgent.for_rules`.

        Raises:
            ValueError: for a game whose base variant no shipped network has learned.
        """
        return ValueAgent(shipped_for(rules)).for_rules(rules)


value = ShippedValueAgent()
"""The agent ``value``."""
