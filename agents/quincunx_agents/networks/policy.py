"""Policy networks of Quincunx with NumPy: logits from one observation, without lookahead.

The same network in PyTorch is `quincunx_agents.torch.networks.PolicyNetwork`. ``train/ppo.py`` trains it with
stable-baselines3, ``train/rllib.py`` with Ray RLlib. `quincunx_agents.load` reads their weights files without torch.
"""

import dataclasses
import json
import math
from collections.abc import Iterator, Mapping, Sized
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from quincunx_agents import ties
from quincunx_agents.afterstates import Bools, Floats, Ints, observer_for
from quincunx_agents.greedy import HighestValue
from quincunx_agents.networks import weights_io
from quincunx_agents.networks.weights_io import WeightsError
from quincunx_agents.quincunx.symmetries import mean_over_symmetries
from quincunx_env.core.cards import EMPTY
from quincunx_env.core.observation import Observer, Pieces
from quincunx_env.core.rules import BaseRules
from quincunx_env.quincunx.cards import CARDS, SUITS
from quincunx_env.quincunx.grid import grid
from quincunx_env.quincunx.padded import NO_CELL
from quincunx_env.quincunx.rules import Rules

PREVIEW_SCALE = np.array([10, 1], np.float32)
"""Divisors of points and draws in the preview; 10 points are the size of a usual play."""

COUNT_SCALE_LIMIT = 100.0
"""Largest divisor of a count: rounds do not come near the bound of points, 20,000."""

KIND = "policy"
"""Entry ``network`` of the metadata in the files of these weights."""


@dataclasses.dataclass(frozen=True)
class PolicyWeights:
    """A trained policy network."""

    tensors: Mapping[str, Floats]
    """Weights by the names of `quincunx_agents.torch.networks.PolicyNetwork`."""
    rules: Rules
    """The game it was trained on."""

    @cached_property
    def observer(self) -> Observer:
        """The observer of its observations."""
        return observer_for(self.rules)


def card_features(num_cards: int) -> Floats:
    """Return value, rank (one-hot) and suits of cards, float32 [num_cards + 2, F].

    The last feature is 1 for a place off the grid. The last row is an empty cell and the last but one a place off the
    grid, so that `EMPTY` and `NO_CELL` index them.
    """
    ranks = "A23456789PCX"
    suits = range(len(SUITS))
    rows = [
        [1.0, card.value / 10.0, *(card.rank == rank for rank in ranks), *(card.suits >> bit & 1 for bit in suits), 0.0]
        for card in CARDS[:num_cards]
    ]
    nothing = [0.0] * (len(rows[0]) - 1)
    return np.array([*rows, [*nothing, 1.0], [*nothing, 0.0]], np.float32)


def near_cells(num_cells: int) -> Ints:
    """Return the cells one and two away in row and column, int64 [cells, 8]. Places off the grid are ``num_cells``."""
    square = grid(math.isqrt(num_cells))
    distances = (-2, -1, 1, 2)
    return np.array([square.line(cell, 0, distances) + square.line(cell, 1, distances) for cell in range(num_cells)])


def sizes_of(tensors: Mapping[str, Sized]) -> Iterator[int]:
    """Yield ``width``, ``depth`` and ``code`` of the ``PolicyNetwork`` with these weights."""
    return (len(tensors[f"{layer}.bias"]) for layer in ("trunk.0", "card_embedding", "cell_encoder"))


def count_scale(observer: Observer) -> Floats:
    """Return divisors of an observation's counts, float32 [counts]: their bounds up to `COUNT_SCALE_LIMIT`."""
    return np.array([min(high, COUNT_SCALE_LIMIT) for _, _, high in observer.counts.values()], np.float32)


def logits(weights: PolicyWeights, observation: Pieces) -> Floats:
    """Return ``PolicyNetwork``'s logits, float32 [n, cards * cells]. All but hand cards in empty cells have 0."""
    tensors, features = weights.tensors, card_features(weights.rules.num_cards)
    board, hand = observation["board"], observation["hand"]

    def linear(name: str, inputs: Floats) -> Floats:
        outputs: Floats = inputs @ tensors[f"{name}.weight"].T + tensors[f"{name}.bias"]
        return outputs

    def encode(name: str, present: Bools, *inputs: Floats) -> Floats:
        """Encode the present elements of a set, [n, elements, code]; others are 0."""
        codes = np.maximum(linear(name, np.concatenate(inputs, axis=1)), 0)
        spread = np.zeros((*present.shape, codes.shape[1]), np.float32)
        spread[present] = codes
        return spread

    preview = (observation["preview"] / PREVIEW_SCALE).astype(np.float32)
    best_of_cell, best_of_card = _best(preview.swapaxes(1, 2)), _best(preview)
    embedded = linear("card_embedding", features)
    empty, held = board == EMPTY, hand > 0
    near = np.pad(board, ((0, 0), (0, 1)), constant_values=NO_CELL)[:, near_cells(board.shape[1])][empty]
    cells = encode("cell_encoder", empty, embedded[near].reshape(len(near), -1), best_of_cell[empty])
    cards = encode("card_encoder", held, features[held.nonzero()[1]], best_of_card[held])
    table = embedded[board].reshape(len(board), -1), hand, observation["counts"] / count_scale(weights.observer)
    hidden = np.concatenate([*table, cells.sum(axis=1), cards.sum(axis=1)], axis=1, dtype=np.float32)
    for name in ("trunk.0", "trunk.2"):
        hidden = np.maximum(linear(name, hidden), 0)

    queries = linear("state_queries", hidden).reshape(*board.shape, -1) + linear("cell_queries", cells)
    scores = (queries @ linear("card_keys", features[:NO_CELL]).T).swapaxes(1, 2) + linear("card_bias", cards)
    points, draws = np.moveaxis(preview, 3, 0)
    over_cards = points - _of_others(points, best_of_cell[:, None])
    over_cells = points - _of_others(points, best_of_card[:, :, None])
    gained = np.stack([points, draws, over_cards, over_cells], axis=3) * linear("preview_gain", hidden)[:, None, None]
    found: Floats = np.where(held[:, :, None] & empty[:, None], scores + gained.sum(axis=3), np.float32(0))
    return found.reshape(len(board), -1)


def _best(plays: Floats) -> Floats:
    """Return the two most points and the most draws, [..., 3]. Plays are [..., plays, 2]."""
    points, draws = np.moveaxis(plays, -1, 0)
    ascending = np.sort(points, axis=-1)
    return np.stack([ascending[..., -1], ascending[..., -2], draws.max(axis=-1)], axis=-1)


def _of_others(points: Floats, best: Floats) -> Floats:
    """Return the most points of another play. ``best`` has the two most of all plays in the cell, or of the card."""
    return np.where(points == best[..., 0], best[..., 1], best[..., 0])


class PolicyNetworkAgent:
    """Greedy policy of a policy network; a `quincunx_env.core.policy.PolicyFactory`."""

    def __init__(self, weights: PolicyWeights) -> None:
        self.weights = weights

    def for_rules(self, rules: BaseRules) -> HighestValue:
        """Return the policy for games with observations as in training.

        Raises:
            ValueError: for other games.
        """
        own, other = (
            {piece.name: piece.shape for piece in observer.pieces}
            for observer in (self.weights.observer, observer_for(rules))
        )
        if own != other:
            raise ValueError(f"the network has not learned {rules}: it plays {self.weights.rules}")
        return HighestValue(partial(_legal_logits, self.weights))


def _legal_logits(weights: PolicyWeights, observation: Pieces, mask: Bools) -> Floats:
    """Return mean logits over the symmetries of the grid, -inf if illegal.

    See `quincunx_agents.quincunx.symmetries`.

    Raises:
        NotFiniteError: if the network overflows.
    """
    found = mean_over_symmetries(partial(logits, weights), observation)
    ties.require_finite(found[mask])
    return np.where(mask, found, np.float32(-np.inf))


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
    """Return the expected shapes of all tensors by name. Each layer has a weight [out, in] and a bias [out]."""
    rules = weights.rules
    width, depth, code = sizes_of(weights.tensors)
    features = card_features(rules.num_cards).shape[1]
    inputs = rules.num_cells * depth + rules.num_cards + len(weights.observer.counts) + 2 * code
    layers = {
        "card_embedding": (depth, features),
        "cell_encoder": (code, near_cells(rules.num_cells).shape[1] * depth + 3),
        "card_encoder": (code, features + 3),
        "trunk.0": (width, inputs),
        "trunk.2": (width, width),
        "state_queries": (rules.num_cells * depth, width),
        "cell_queries": (depth, code),
        "card_keys": (depth, features),
        "card_bias": (1, code),
        "preview_gain": (4, width),
        "value": (1, width),
    }
    return {f"{name}.weight": shape for name, shape in layers.items()} | {
        f"{name}.bias": shape[:1] for name, shape in layers.items()
    }
