"""Plays what a network likes best at first sight, without looking ahead.

The network is `quincunx_agents.torch.networks.PolicyNetwork`, which PPO trains: by ``train/ppo.py`` with stable-baselines3, by
``train/rllib.py`` with Ray RLlib. Both write files that `agents.load` plays without torch.
"""

import dataclasses
import json
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

import numpy as np

from quincunx_agents.afterstates import Bools, Floats, Ints
from quincunx_agents.networks import weights_io
from quincunx_agents.networks.weights_io import WeightsError
from quincunx_env.core.observation import Observer, Pieces
from quincunx_env.quincunx.cards import CARDS, SUITS
from quincunx_env.quincunx.rules import Rules
from quincunx_env.registry import make_observer

POINTS_SCALE = 10.0
"""Points to one unit of what the network reads in the preview."""

KIND = "play"
"""What a file of weights says it holds."""


@dataclasses.dataclass(frozen=True)
class Network:
    """A trained network, as a file of weights holds it."""

    weights: Mapping[str, Floats]
    """By the names that `quincunx_agents.torch.networks.PolicyNetwork` gives them."""
    rules: Rules
    """Which game it has learned."""

    @cached_property
    def observer(self) -> Observer:
        """Describes what it observes."""
        return make_observer(self.rules, preview=True)


def card_features(num_cards: int) -> Floats:
    """float32 [num_cards + 1, features]: value, rank and suits of each card; the last row is an empty cell."""
    ranks = "A23456789PCX"
    suits = range(len(SUITS))
    rows = [
        [1.0, card.value / 10.0, *(card.rank == rank for rank in ranks), *(card.suits >> bit & 1 for bit in suits)]
        for card in CARDS[:num_cards]
    ]
    return np.array([*rows, [0.0] * len(rows[0])], np.float32)


def count_scale(observer: Observer) -> Floats:
    """What the counts of an observation are divided by, float32 [counts]."""
    return np.array([min(high, 100.0) for _, _, high in observer.counts.values()], np.float32)


def logits(network: Network, observation: Pieces) -> Floats:
    """What `quincunx_agents.torch.networks.PolicyNetwork` says of all plays, legal or not: float32 [n, cards * cells]."""
    weights, rules = network.weights, network.rules
    features = card_features(rules.num_cards)

    def layer(name: str, read: Floats) -> Floats:
        said: Floats = read @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]
        return said

    cards = layer("on_grid", features)[observation["board"]]  # an empty cell is -1, the last row
    counts = observation["counts"] / count_scale(network.observer)
    hidden = np.concatenate([cards.reshape(len(cards), -1), observation["hand"], counts], axis=1, dtype=np.float32)
    for name in ("trunk.0", "trunk.2"):
        hidden = np.maximum(layer(name, hidden), 0)
    offered, wanted = layer("offered", features[:-1]), layer("wanted", hidden).reshape(*cards.shape)
    multiples = layer("multiples", hidden)[:, None, None]
    preview = (multiples * observation["preview"] / np.array([POINTS_SCALE, 1], np.float32)).sum(axis=3)
    liked: Floats = ((wanted @ offered.T).swapaxes(1, 2) + preview).reshape(len(hidden), -1)
    return liked


class PolicyNetworkAgent:
    """Makes the play of the highest logit; a `quincunx_env.core.policy.Policy`."""

    def __init__(self, network: Network) -> None:
        self.network = network

    def __call__(self, observation: Pieces, mask: Bools, rng: np.random.Generator) -> Ints:
        """Choose the first of the legal plays that the network likes best.

        Raises:
            ValueError: for a game that the network has not learned, as far as observations tell.
        """
        shapes = {piece.name: piece.shape for piece in self.network.observer.pieces}
        if {name: piece.shape[1:] for name, piece in observation.items()} != shapes:
            raise ValueError(f"the network has learned {self.network.rules}, the observation is of another game")
        best: Ints = np.where(mask, logits(self.network, observation), -np.inf).argmax(axis=1)
        return best


# --- Files of weights ------------------------------------------------------------------------------------------------


def save_weights(path: Path, network: Network) -> None:
    """Write weights, what they have learned, and a checksum that `load_weights` looks at."""
    rules = dataclasses.asdict(network.rules)
    weights_io.write(path, network.weights, {"network": KIND, "rules": rules}, _learned(network))


def load_weights(path: Path) -> Network:
    """Read what `save_weights` wrote.

    Raises:
        WeightsError: if the file is missing, damaged or foreign.
    """
    weights, about = weights_io.read(path)
    weights_io.known(path, about, ("network", "rules"))
    try:
        network = Network(weights, Rules(**about["rules"]))
        expected = _expected_shapes(network)
    except (KeyError, TypeError, ValueError) as error:
        raise WeightsError(f"{path} is of another version of this network: {error}") from error
    weights_io.check(path, weights, about, _learned(network))
    if {name: array.shape for name, array in weights.items()} != expected:
        raise WeightsError(f"{path} is of another version of this network")
    return network


def _learned(network: Network) -> str:
    return json.dumps(dataclasses.asdict(network.rules), sort_keys=True)


def _expected_shapes(network: Network) -> dict[str, tuple[int, ...]]:
    """The shapes of all layers, by name: each has a weight [out, in] and a bias [out]. Width and depth are free."""
    rules = network.rules
    width, depth = (len(network.weights[f"{layer}.bias"]) for layer in ("trunk.0", "on_grid"))
    features = card_features(rules.num_cards).shape[1]
    joined = rules.num_cells * depth + rules.num_cards + len(network.observer.counts)
    ends = {
        "on_grid": (depth, features),
        "trunk.0": (width, joined),
        "trunk.2": (width, width),
        "wanted": (rules.num_cells * depth, width),
        "offered": (depth, features),
        "multiples": (2, width),
        "value": (1, width),
    }
    return {f"{name}.weight": shape for name, shape in ends.items()} | {
        f"{name}.bias": shape[:1] for name, shape in ends.items()
    }
