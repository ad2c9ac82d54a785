"""Policy networks of Quincunx with NumPy: logits of all actions from one observation, without lookahead.

The same network in PyTorch is `quincunx_agents.torch.networks.PolicyNetwork`, which ``train/ppo.py`` trains with
stable-baselines3 and ``train/rllib.py`` with Ray RLlib; `quincunx_agents.load` reads their weights files without torch.
"""

import dataclasses
import json
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from quincunx_agents import ties
from quincunx_agents.afterstates import Bools, Floats, Ints, observer_for
from quincunx_agents.networks import weights_io
from quincunx_agents.networks.weights_io import WeightsError
from quincunx_env.core.observation import Observer, Pieces
from quincunx_env.core.rules import BaseRules
from quincunx_env.quincunx.cards import CARDS, SUITS
from quincunx_env.quincunx.rules import Rules

POINTS_SCALE = 10.0
"""Divisor of the points in the preview; the size of a usual play."""

COUNT_SCALE_LIMIT = 100.0
"""Largest divisor of a count: rounds do not come near the bound of points, 20,000."""

KIND = "policy"
"""Entry ``network`` of the metadata in the files of these weights."""


@dataclasses.dataclass(frozen=True)
class PolicyWeights:
    """A trained policy network."""

    tensors: Mapping[str, Floats]
    """By the names that `quincunx_agents.torch.networks.PolicyNetwork` gives them."""
    rules: Rules
    """The game it was trained on."""

    @cached_property
    def observer(self) -> Observer:
        """The observer of its observations."""
        return observer_for(self.rules)


def card_features(num_cards: int) -> Floats:
    """Value, rank (one-hot) and suits of each card, float32 [num_cards + 1, F]; the last row is an empty cell."""
    ranks = "A23456789PCX"
    suits = range(len(SUITS))
    rows = [
        [1.0, card.value / 10.0, *(card.rank == rank for rank in ranks), *(card.suits >> bit & 1 for bit in suits)]
        for card in CARDS[:num_cards]
    ]
    return np.array([*rows, [0.0] * len(rows[0])], np.float32)


def count_scale(observer: Observer) -> Floats:
    """Divisors of the counts of an observation: their upper bounds up to `COUNT_SCALE_LIMIT`, float32 [counts]."""
    return np.array([min(high, COUNT_SCALE_LIMIT) for _, _, high in observer.counts.values()], np.float32)


def logits(weights: PolicyWeights, observation: Pieces) -> Floats:
    """Logits of all actions, legal or not, as `PolicyNetwork` computes them: float32 [n, cards * cells]."""
    tensors, rules = weights.tensors, weights.rules
    features = card_features(rules.num_cards)

    def linear(name: str, inputs: Floats) -> Floats:
        outputs: Floats = inputs @ tensors[f"{name}.weight"].T + tensors[f"{name}.bias"]
        return outputs

    board = linear("card_embedding", features)[observation["board"]]  # an empty cell is -1, the last row
    counts = observation["counts"] / count_scale(weights.observer)
    hidden = np.concatenate([board.reshape(len(board), -1), observation["hand"], counts], axis=1, dtype=np.float32)
    for name in ("trunk.0", "trunk.2"):
        hidden = np.maximum(linear(name, hidden), 0)
    keys, queries = linear("card_keys", features[:-1]), linear("cell_queries", hidden).reshape(*board.shape)
    gain = linear("preview_gain", hidden)[:, None, None]
    preview = (gain * observation["preview"] / np.array([POINTS_SCALE, 1], np.float32)).sum(axis=3)
    found: Floats = ((queries @ keys.T).swapaxes(1, 2) + preview).reshape(len(hidden), -1)
    return found


class PolicyNetworkAgent:
    """The greedy policy of a policy network; a `quincunx_env.core.policy.PolicyFactory`."""

    def __init__(self, weights: PolicyWeights) -> None:
        self.weights = weights

    def for_rules(self, rules: BaseRules) -> "GreedyLogitsPolicy":
        """The policy for games whose observations have the shapes that the network was trained on.

        Raises:
            ValueError: for other games.
        """
        own, other = (
            {piece.name: piece.shape for piece in observer.pieces}
            for observer in (self.weights.observer, observer_for(rules))
        )
        if own != other:
            raise ValueError(f"the network has learned {self.weights.rules}, got {rules}")
        return GreedyLogitsPolicy(self.weights)


class GreedyLogitsPolicy:
    """Chooses the legal action of the highest logit; a `quincunx_env.core.policy.Policy`."""

    def __init__(self, weights: PolicyWeights) -> None:
        self.weights = weights

    def __call__(self, observation: Pieces, mask: Bools, rng: np.random.Generator) -> Ints:
        """Choose legal actions, int64 [n]; of equal ones (`quincunx_agents.ties`) the lowest."""
        return ties.best(np.where(mask, logits(self.weights, observation), -np.inf))


# --- Weights files ---------------------------------------------------------------------------------------------------


def save_weights(path: Path, weights: PolicyWeights) -> None:
    """Write weights with the rules of their game and a checksum."""
    rules = dataclasses.asdict(weights.rules)
    weights_io.write(path, weights.tensors, {"network": KIND, "rules": rules}, _signature(rules))


def load_weights(path: Path) -> PolicyWeights:
    """Read weights that `save_weights` wrote.

    Raises:
        WeightsError: if the file is missing, damaged, or holds other tensors than this version of the network has.
    """
    tensors, metadata = weights_io.read(path)
    weights_io.require_metadata(path, metadata, ("network", "rules"))
    try:
        weights = PolicyWeights(tensors, Rules(**metadata["rules"]))
        if weights.rules.simpleton:
            raise ValueError("this network plays without announcements")
        expected = _expected_shapes(weights)
    except (KeyError, RecursionError, TypeError, ValueError) as error:  # what a message quotes may be nested deeply
        raise WeightsError(f"{path} is of another version of this network: {error}") from error
    weights_io.verify_checksum(path, tensors, metadata, _signature(metadata["rules"]))
    if {name: tensor.shape for name, tensor in tensors.items()} != expected:
        raise WeightsError(f"{path} is of another version of this network")
    return weights


def _signature(rules: Mapping[str, Any]) -> str:
    return json.dumps(rules, sort_keys=True)


def _expected_shapes(weights: PolicyWeights) -> dict[str, tuple[int, ...]]:
    """Shapes of all tensors by name: each layer has a weight [out, in] and a bias [out]. Width and depth are free."""
    rules = weights.rules
    width, depth = (len(weights.tensors[f"{layer}.bias"]) for layer in ("trunk.0", "card_embedding"))
    features = card_features(rules.num_cards).shape[1]
    inputs = rules.num_cells * depth + rules.num_cards + len(weights.observer.counts)
    layers = {
        "card_embedding": (depth, features),
        "trunk.0": (width, inputs),
        "trunk.2": (width, width),
        "cell_queries": (rules.num_cells * depth, width),
        "card_keys": (depth, features),
        "preview_gain": (2, width),
        "value": (1, width),
    }
    return {f"{name}.weight": shape for name, shape in layers.items()} | {
        f"{name}.bias": shape[:1] for name, shape in layers.items()
    }
