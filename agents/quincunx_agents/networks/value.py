"""One-ply lookahead with a value network: argmax of points + value.

The network reads the features of an afterstate (`quincunx_agents.quincunx.features`,
`quincunx_agents.spiral.features`). It is a Deep Sets network (Zaheer et al., Deep Sets, NeurIPS 2017). An encoder is
shared by all elements of a set, and its outputs are summed. A trunk reads the sums and the context features. It gives
the points still to come for each seat. An ensemble has several members, whose outputs are summed.

The same network in PyTorch is `quincunx_agents.torch.ValueNetwork`, which ``train.td_lambda`` trains. The
weights that come with the package lie in ``networks/weights``, each with a model card of the run that made them; they
play without torch.
"""

import dataclasses
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache, partial
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

LAST_LAYER = "trunk.4"
"""Name of the layer whose outputs `values_of` scales and sums."""

WEIGHTS = Path(__file__).parent / "weights"


def layout_of(variants: Sequence[str]) -> FeatureLayout:
    """Return the feature layout of the game of these variants."""
    return agent_spec_with(variants[0]).features.LAYOUT


def shapes_of(layout: FeatureLayout, set_width: int, width: int) -> dict[str, tuple[int, ...]]:
    """Return the shapes of a network's tensors by name. Each layer has a weight [out, in] and a bias [out].

    ``set_width`` are the units of set encoders, ``width`` of the trunk's first layer.
    """
    layers = dict[str, tuple[int, int]]()
    for number, (_, features) in enumerate(layout.sets):
        layers |= {f"set_encoders.{number}.0": (set_width, features)}
        layers |= {f"set_encoders.{number}.2": (set_width, set_width)}
    inputs = len(layout.sets) * set_width + layout.context
    layers |= {"trunk.0": (width, inputs), "trunk.2": (width // 2, width), LAST_LAYER: (SEATS, width // 2)}
    shapes = dict[str, tuple[int, ...]]()
    for layer, shape in layers.items():
        shapes |= {f"{layer}.weight": shape, f"{layer}.bias": shape[:1]}
    return shapes


# --- The network -----------------------------------------------------------------------------------------------------


def values_of(members: Sequence[Mapping[str, Floats]], features: AfterstateFeatures) -> Floats:
    """Return the points still to come in j afterstates, for each seat from the mover on, float32 [j, SEATS].

    ``members`` are the tensors of each network by name. The outputs of all networks are summed.
    """
    values: Floats = VALUE_SCALE * sum(_outputs(tensors, features) for tensors in members)
    return values


def _outputs(tensors: Mapping[str, Floats], features: AfterstateFeatures) -> Any:
    """Return the outputs of one network, float32 [j, SEATS]."""
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
    return hidden @ tensors[f"{LAST_LAYER}.weight"].T + tensors[f"{LAST_LAYER}.bias"]


def evaluate_afterstates(members: Sequence[Mapping[str, Floats]], afterstates: Afterstates) -> Floats:
    """Return the values of all afterstates, float32 [m, SEATS]. Known values stay as they are."""
    values = afterstates.known_values.copy()
    for at, features in afterstates.chunks:
        values[at] = values_of(members, features)
    return values


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

    members: tuple[Mapping[str, Floats], ...]
    """Tensors of each network by name. The outputs of all networks are summed; see `values_of`."""
    variants: tuple[str, ...]
    """Names of the variants that it was trained on, all of one game."""
    candidates: int
    """Number of actions of a position that are evaluated, the ones that the heuristic prefers; 0 means all."""


# --- Policies --------------------------------------------------------------------------------------------------------


class ValueAgent:
    """Agent for the variants that a value network has learned; a `quincunx_env.core.policy.PolicyFactory`."""

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
    """Return points + V(afterstate) of every action, float32 [n, A].

    Actions that are illegal or not candidates have -inf.

    V is the margin over the mean of the other seats (`margin_weights`).

    Raises:
        NotFiniteError: if the network overflows.
    """
    module = agent_spec_of(rules).features
    candidates = module.shortlist(rules, observation, mask, weights.candidates)
    afterstates = module.afterstates_of(rules, observation, candidates)
    values = evaluate_afterstates(weights.members, afterstates)
    table = np.full(mask.shape, -np.inf, np.float32)
    totals = afterstates.points + values @ margin_weights(rules.num_players)
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
    """Write weights with their variants and a checksum.

    A tensor of member k is stored as its name after ``k.``, such as ``0.trunk.0.weight``.
    """
    metadata = {"variants": weights.variants, "candidates": weights.candidates}
    members = enumerate(weights.members)
    tensors = {f"{number}.{name}": tensor for number, member in members for name, tensor in member.items()}
    weights_io.write(path, tensors, metadata, _signature(weights))


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
    weights = ValueWeights(_members(tensors), tuple(variants), candidates)
    weights_io.verify_checksum(path, tensors, metadata, _signature(weights))
    layout = layout_of(variants)
    weights = dataclasses.replace(weights, members=tuple(_widened(layout, member) for member in weights.members))
    if not weights.members or not all(_fits(layout, member) for member in weights.members):
        raise WeightsError(f"{path} is of another version of this network")
    return weights


def _widened(layout: FeatureLayout, member: Mapping[str, Floats]) -> Mapping[str, Floats]:
    """Give a network weights of 0 for the features that it lacks. See `FeatureLayout.further`."""
    weight, set_width = member.get("trunk.0.weight"), np.size(member.get("set_encoders.0.0.bias", ()))
    if weight is None or weight.ndim != 2:
        return member
    lacking = len(layout.sets) * set_width + layout.context - weight.shape[1]
    if not 0 < lacking <= layout.further:
        return member
    return {**member, "trunk.0.weight": np.pad(weight, ((0, 0), (0, lacking)))}


def _members(tensors: Mapping[str, Floats]) -> tuple[Mapping[str, Floats], ...]:
    """Split the tensors of a file. A member is empty if other names take its place."""
    members = defaultdict[str, dict[str, Floats]](dict)
    for name, tensor in tensors.items():
        number, _, own_name = name.partition(".")
        members[number][own_name] = tensor
    return tuple(members[str(number)] for number in range(len(members)))


def _fits(layout: FeatureLayout, member: Mapping[str, Floats]) -> bool:
    """Return whether a member has a network's tensors, in their shapes."""
    set_bias, bias = member.get("set_encoders.0.0.bias"), member.get("trunk.0.bias")
    if set_bias is None or bias is None:
        return False
    return {name: tensor.shape for name, tensor in member.items()} == shapes_of(layout, set_bias.size, bias.size)


def _can_learn(variants: object) -> bool:
    """Return whether one network can learn these: names of variants of one game."""
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
    """Agent of the shipped network for the rules; a `quincunx_env.core.policy.PolicyFactory`."""

    def for_rules(self, rules: BaseRules) -> GreedyPolicy:
        """Return the policy for a game; see `ValueAgent.for_rules`.

        Raises:
            ValueError: for a game whose base variant no shipped network has learned.
        """
        return ValueAgent(shipped_for(rules)).for_rules(rules)


value = ShippedValueAgent()
"""The agent ``value``."""
