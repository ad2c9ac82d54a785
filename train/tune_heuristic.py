"""Find the weights of the heuristic: policy gradient on its own games.

    python -m train.tune_heuristic                          # the solitaire
    python -m train.tune_heuristic --num-players 2          # two players from corners, against itself

A play is drawn with a probability proportional to the exponential of its worth in units of the weight of ``points``,
and the weights follow the gradient of what is scored from then on: in the solitaire the value of the round, among
several players the margin over the mean of the others. Deals are those of the ``play`` domain. At the end the weights
are divided by that of ``points``, printed as a column of `quincunx_agents.quincunx.heuristic.WEIGHTS`.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import tyro
from quincunx_agents.quincunx.heuristic import FEATURE_NAMES, LOSS_VALUE, action_features
from tqdm.auto import trange

from quincunx_env.quincunx.batch import Batch
from quincunx_env.quincunx.observation import Observer
from quincunx_env.quincunx.rules import Rules

Floats = npt.NDArray[np.float64]


@dataclass
class Arguments:
    """Which game, and how long."""

    num_players: int = 1
    """1 is the solitaire"""
    start: Literal["corners", "open"] = "corners"
    """of several players"""
    edge_contact: bool = False
    """solitaire: a card must touch a card in play"""
    excuse: bool = False
    """add the Excuse to the deck"""
    pawns: bool = False
    """add the Pawns to the deck"""
    iterations: int = 120
    """steps of the gradient"""
    games: int = 200
    """games for each of them"""
    learning_rate: float = 0.15
    """of Adam, in units of a feature's standard deviation; it falls linearly to 0"""
    temperature: float = 8.0
    """points that make a play e times as likely, at the beginning"""
    seed: int = 0
    """of the deals and of the plays drawn"""


def play(rules: Rules, weights: Floats, seed: int, games: int, rng: np.random.Generator) -> tuple[Floats, float]:
    """Play games against oneself; returns the gradient of their value in the weights, and their mean value."""
    batch, observer = Batch(rules, games), Observer(rules, preview=True)
    batch.reset(seed=seed)
    steps = []
    while not batch.over.all():
        live = np.flatnonzero(~batch.over)
        now = batch.fork(live)
        mask = now.mask()
        plays = action_features(rules, observer.observe_batch(now), mask)
        logits = plays.features @ weights + LOSS_VALUE * weights[0] * plays.loses
        first = np.searchsorted(plays.rows, np.arange(len(live)))
        likely = np.exp(logits - np.maximum.reduceat(logits, first)[plays.rows])
        likely /= np.add.reduceat(likely, first)[plays.rows]
        noisy = np.full(mask.shape, -np.inf)
        noisy[plays.rows, plays.actions] = logits + rng.gumbel(size=len(logits))
        actions = noisy.argmax(axis=1)
        chosen = plays.features[plays.actions == actions[plays.rows]]
        surprise = chosen - np.add.reduceat(likely[:, None] * plays.features, first)
        steps.append((live, now.mover, values(rules, now.scores)[np.arange(len(live)), now.mover], surprise))
        batch.step(actions, live)
    final = values(rules, batch.scores)
    final[batch.lost] = 0
    gradient, count = np.zeros(len(weights)), 0
    for live, mover, before, surprise in steps:
        gain = final[live, mover] - before
        gradient += (gain - gain.mean()) @ surprise
        count += len(live)
    return gradient / count, float(final[:, 0].mean())


def values(rules: Rules, scores: npt.NDArray[np.int64]) -> Floats:
    """Points less the mean of the others', float64 [n, P]; the solitaire's points themselves."""
    if rules.num_players == 1:
        return scores.astype(np.float64)
    others = (scores.sum(axis=1, keepdims=True) - scores) / (rules.num_players - 1)
    margins: Floats = scores - others
    return margins


def main(arguments: Arguments) -> None:
    """Find the weights and print them."""
    rules = Rules(
        num_players=arguments.num_players,
        start=arguments.start,
        edge_contact=arguments.edge_contact,
        excuse=arguments.excuse,
        pawns=arguments.pawns,
    )
    rng = np.random.default_rng(arguments.seed)
    batch = Batch(rules, arguments.games)
    batch.reset(seed=10**9 * (arguments.seed + 1))
    features = action_features(rules, Observer(rules, preview=True).observe_batch(batch), batch.mask()).features
    # Features are made alike in size; of those that never vary in the first position the scale is 1.
    scale = features.std(axis=0).astype(np.float64)
    scale = np.where(scale > 0, scale, 1.0)
    weights = np.zeros(len(FEATURE_NAMES))
    weights[0] = 1 / arguments.temperature
    first, second = np.zeros(len(FEATURE_NAMES)), np.zeros(len(FEATURE_NAMES))
    progress = trange(arguments.iterations)
    recent = []
    for iteration in progress:
        seed = 10**9 * (arguments.seed + 1) + iteration * arguments.games
        gradient, value = play(rules, weights, seed, arguments.games, rng)
        recent.append(value)
        gradient *= scale
        first = 0.9 * first + 0.1 * gradient
        second = 0.99 * second + 0.01 * gradient**2
        corrected = (first / (1 - 0.9 ** (iteration + 1))) / np.sqrt(second / (1 - 0.99 ** (iteration + 1)) + 1e-12)
        rate = arguments.learning_rate * (1 - iteration / arguments.iterations)
        weights += rate * corrected / scale
        weights[0] = max(weights[0], 0.01)
        progress.set_postfix(value=f"{np.mean(recent[-10:]):.1f}", temperature=f"{1 / weights[0]:.1f}")
    for name, weight in zip(FEATURE_NAMES, weights / weights[0], strict=True):
        print(f'    "{name}": {weight:.2f},')


if __name__ == "__main__":
    main(tyro.cli(Arguments, description=__doc__))
