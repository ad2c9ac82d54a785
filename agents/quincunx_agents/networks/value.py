"""One look ahead: the play whose points, and the worth of the position behind it, are most together.

A small network judges the positions after the legal plays (`quincunx_agents.quincunx.features`, `quincunx_agents.spiral.features`). It reads
each cell by itself, all with the same weights, adds up what it read, and joins it to what is said of the position as a
whole. It tells what is still to come for each seat, and how much a play is to be preferred beyond that.

Weights come from ``train/selfplay.py``, lie in ``agents/quincunx_agents/networks/weights``, each with a card of what made them, and play without
torch.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from quincunx_agents.afterstates import SEATS, Bools, Described, Floats, Ints, Plays, Positions
from quincunx_agents.networks import weights_io
from quincunx_agents.networks.weights_io import WeightsError as WeightsError
from quincunx_agents.quincunx import features as quincunx_features
from quincunx_agents.quincunx import heuristic
from quincunx_agents.spiral import features as spiral_features
from quincunx_env.core.observation import Pieces
from quincunx_env.core.rules import BaseRules
from quincunx_env.quincunx.rules import Rules
from quincunx_env.spiral import Rules as SpiralRules

VALUE_SCALE = 30.0
"""Points to one unit of the network's output."""

WEIGHTS = Path(__file__).parent / "weights"

FORMS: dict[str, BaseRules] = {
    "solitaire": Rules(),
    "contact": Rules(edge_contact=True),
    **{
        f"{players}-{start}": Rules(num_players=players, start=start)
        for start in ("corners", "open")
        for players in (2, 3, 4)
    },
    "spiral": SpiralRules(deals=1),
}
"""The forms of both games that a network can learn, by name."""


def feature_module_of(rules: BaseRules) -> Positions:
    """The module that describes the positions of a game."""
    found: Any = quincunx_features if isinstance(rules, Rules) else spiral_features
    return found  # type: ignore[no-any-return]


# --- The network -----------------------------------------------------------------------------------------------------


def judge(weights: Mapping[str, Floats], described: Described) -> tuple[Floats, Floats]:
    """What the network says of positions after a play.

    Returns:
        Points still to come for each seat from the mover on, float32 [j, SEATS]; and how much the play is preferred
        beyond that, in the same points, float32 [j].
    """
    read = []
    for number, things in enumerate(described.sets):
        hidden = things.reshape(-1, things.shape[2])
        for layer in (f"sets.{number}.0", f"sets.{number}.2"):
            hidden = np.maximum(hidden @ weights[f"{layer}.weight"].T + weights[f"{layer}.bias"], 0)
        there = things[:, None, :, 0]
        read.append((there @ hidden.reshape(*things.shape[:2], -1))[:, 0])
    hidden = np.concatenate([*read, described.whole], axis=1)
    for layer in ("whole.0", "whole.2"):
        hidden = np.maximum(hidden @ weights[f"{layer}.weight"].T + weights[f"{layer}.bias"], 0)
    said = np.float32(VALUE_SCALE) * (hidden @ weights["whole.4.weight"].T + weights["whole.4.bias"])
    return said[:, :SEATS], said[:, SEATS]


def judge_plays(weights: Mapping[str, Floats], plays: Plays) -> tuple[Floats, Floats]:
    """What is still to come after each play for each seat, [m, SEATS], and how much it is preferred, [m]."""
    worth, preferred = plays.certain.copy(), np.zeros(len(plays.rows), np.float32)
    for at, described in plays.judged:
        worth[at], preferred[at] = judge(weights, described)
    return worth, preferred


@cache
def shares(players: int) -> Floats:
    """What a point of each seat from the mover on is worth to the mover, float32 [SEATS]: the margin."""
    worth = np.zeros(SEATS, np.float32)
    worth[1:players] = -1 / max(players - 1, 1)
    worth[0] = 1
    return worth


class Network(NamedTuple):
    """A trained network, as a file of weights holds it."""

    weights: Mapping[str, Floats]
    """By name."""
    forms: tuple[str, ...]
    """Names from `FORMS`: what it has learned."""
    candidates: int
    """How many plays of a position it looks at; 0 is all."""


class ValueAgent:
    """Plays one look ahead by a network; a `quincunx_env.core.policy.Policy`."""

    def __init__(self, network: Network) -> None:
        self.network = network

    def __call__(self, observation: Pieces, mask: Bools, rng: np.random.Generator) -> Ints:
        """Choose the play with most points and worth behind it together.

        Mirrored plays are worth the same up to rounding, which then decides.

        Raises:
            ValueError: for a game that the network has not learned.
        """
        rules = known_rules(self.network.forms, observation)
        table = worth(self.network, rules, observation, mask)
        best: Ints = table.argmax(axis=1)
        return best


def worth(network: Network, rules: BaseRules, observation: Pieces, mask: Bools) -> Floats:
    """The worth of every play in points, minus infinity where it is not legal or not looked at, float32 [n, A]."""
    game = feature_module_of(rules)
    plays = game.plays_of(rules, observation, game.shortlist(rules, observation, mask, network.candidates))
    to_come, preferred = judge_plays(network.weights, plays)
    table = np.full(mask.shape, -np.inf, np.float32)
    table[plays.rows, plays.actions] = plays.points + to_come @ shares(rules.num_players) + preferred
    return table


def best_of(plays: Plays, worth: Floats) -> Ints:
    """Of each position the play of most worth, the first of several, as an index into ``plays``, int64 [n]."""
    order = np.lexsort((np.arange(len(worth)), -worth, plays.rows))
    first: Ints = order[np.searchsorted(plays.rows[order], np.unique(plays.rows))]
    return first


def form_of(rules: BaseRules) -> str:
    """Which of `FORMS` these rules are, as far as networks need it: contact and matches make no difference."""
    if not isinstance(rules, Rules):
        plain = isinstance(rules, SpiralRules) and rules.scoring == "play" and not rules.fifteens
        return "spiral" if plain else "spiral with options"
    form = "solitaire" if rules.num_players == 1 else f"{rules.num_players}-{rules.start}"
    return form if not (rules.simpleton or rules.flush or rules.deck != FORMS[form].deck) else f"{form} with options"


def known_rules(forms: Sequence[str], observation: Pieces) -> BaseRules:
    """Which game is played, as far as observations tell.

    Raises:
        ValueError: if it is none of these forms.
    """
    if observation["preview"].ndim == 3:  # an action is a card
        form = "spiral"
    else:
        form = form_of(heuristic.rules_of(observation))
        if "pending" in observation:
            form += " with Simpleton"
    if form not in forms:
        raise ValueError(f"the network has learned {', '.join(forms)}, the observation is of {form}")
    return FORMS[form]


# --- Files of weights ------------------------------------------------------------------------------------------------


def save_weights(path: Path, network: Network) -> None:
    """Write weights, what they have learned, and a checksum that `load_weights` looks at."""
    about = {"forms": network.forms, "candidates": network.candidates}
    weights_io.write(path, network.weights, about, _learned(network))


def load_weights(path: Path) -> Network:
    """Read what `save_weights` wrote.

    Raises:
        WeightsError: if the file is missing, damaged or foreign.
    """
    weights, about = weights_io.read(path)
    weights_io.known(path, about, ("forms", "candidates"))
    network = Network(weights, tuple(about["forms"]), int(about["candidates"]))
    weights_io.check(path, weights, about, _learned(network))
    if not set(network.forms) <= set(FORMS) or _shapes(network) != _expected_shapes(network):
        raise WeightsError(f"{path} is of another version of this network")
    return network


def _shapes(network: Network) -> dict[str, tuple[int, ...]]:
    return {name: array.shape for name, array in network.weights.items()}


def _expected_shapes(network: Network) -> dict[str, tuple[int, ...]]:
    """The shapes of all layers, by name: each has a weight [out, in] and a bias [out]. Widths are free."""
    layout = feature_module_of(FORMS[network.forms[0]]).LAYOUT
    joined, widths = layout.whole, dict[str, tuple[int, int]]()
    for number, (_, numbers) in enumerate(layout.sets):
        width = len(network.weights.get(f"sets.{number}.0.bias", ()))
        joined += width
        widths |= {f"sets.{number}.0": (width, numbers), f"sets.{number}.2": (width, width)}
    width = len(network.weights.get("whole.0.bias", ()))
    widths |= {"whole.0": (width, joined), "whole.2": (width // 2, width), "whole.4": (SEATS + 1, width // 2)}
    shapes: dict[str, tuple[int, ...]] = {}
    for layer, shape in widths.items():
        shapes |= {f"{layer}.weight": shape, f"{layer}.bias": shape[:1]}
    return shapes


def _learned(network: Network) -> str:
    return f"{network.forms} {network.candidates}"


# --- Shipped networks ------------------------------------------------------------------------------------------------

SHIPPED = ("solitaire-v0", "players-v0", "spiral-v0")
"""Names of the weights in ``agents/quincunx_agents/networks/weights``."""


@cache
def load(name: str) -> ValueAgent:
    """A policy that plays by a shipped network.

    Raises:
        ValueError: if there is none of that name.
    """
    if name not in SHIPPED:
        raise ValueError(f"there is no network {name!r}: the names are {', '.join(SHIPPED)}")
    return ValueAgent(load_weights(WEIGHTS / f"{name}.safetensors"))


def shipped_for(rules: BaseRules) -> Network:
    """The network that is shipped for a game.

    Raises:
        ValueError: if there is none.
    """
    form = form_of(rules)
    for name in SHIPPED:
        network = load(name).network
        if form in network.forms:
            return network
    raise ValueError(f"no network that is shipped has learned {form}")


def value(observation: Pieces, mask: Bools, rng: np.random.Generator) -> Ints:
    """Play by the shipped network for the game that is played; see `quincunx_env.core.policy.Policy`.

    Raises:
        ValueError: for a game that there is none for.
    """
    forms = [form for name in SHIPPED for form in load(name).network.forms]
    name = next(name for name in SHIPPED if form_of(known_rules(forms, observation)) in load(name).network.forms)
    return load(name)(observation, mask, rng)
