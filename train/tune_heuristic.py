"""Find the weights of the heuristic by REINFORCE (Williams 1992) on its own games.

    python -m train.tune_heuristic                          # the solitaire
    python -m train.tune_heuristic --num-players 2          # two players from corners, self-play

The policy is a softmax over the heuristic's action values in units of the weight of ``points``, and the weights follow
the policy gradient of the return: in the solitaire the value of the round, with several players the margin over the
mean of the others. Deals are those of the ``play`` domain. At the end the weights are divided by that of ``points`` and
printed as a column of `quincunx_agents.quincunx.heuristic.WEIGHTS`.
"""

from dataclasses import dataclass, field

import numpy as np

from quincunx_agents.quincunx.heuristic import FEATURE_NAMES, LOSS_VALUE, action_features
from quincunx_env.core.arrays import Floats, Ints
from quincunx_env.quincunx.batch import Batch
from quincunx_env.quincunx.observation import Observer
from quincunx_env.quincunx.rules import Rules
from quincunx_env.utils.errors import requires_extra

with requires_extra("train"):
    from tqdm.auto import trange

    from train.common.options import CheckedOptions, Count, EmbeddedRules, Positive, PositiveOrZero, Seed, run_script

FIRST_RATE, SECOND_RATE = 0.1, 0.01
"""1 - beta_1 and 1 - beta_2 of Adam (Kingma & Ba 2015); beta_2 is lower than usual, the runs being short. Not tuned."""

LEAST_POINTS_WEIGHT = 0.01
"""Lower bound of the weight of ``points``, a temperature of 100 points; the other weights are divided by it."""

TUNING_DEALS_APART = 10**9
"""Seeds between the first deals of runs with successive seeds: more than a run can use."""


@dataclass
class Arguments(CheckedOptions):
    """Every option of a run."""

    rules: EmbeddedRules = field(default_factory=Rules)
    iterations: Count = 120
    """gradient steps"""
    games: Count = 200
    """games for each gradient step"""
    learning_rate: PositiveOrZero = 0.15
    """of Adam at the start, in units of a feature's standard deviation; it falls linearly to 0"""
    temperature: Positive = 8.0
    """of the softmax policy at the start, in points"""
    seed: Seed = 0
    """of the deals and of the exploration"""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rules.match or self.rules.simpleton:
            raise ValueError("the heuristic is tuned on single rounds: leave out --match and --simpleton")


def policy_gradient(
    rules: Rules, weights: Floats, seed: int, games: int, rng: np.random.Generator
) -> tuple[Floats, float]:
    """Estimate the policy gradient of the return from games against itself.

    Args:
        rules: of the games.
        weights: float64 [features], of the heuristic.
        seed: of the first deal.
        games: number of games.
        rng: explores.

    Returns:
        The gradient, float64 [features], per action; and the mean return of the first seat.
    """
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
        probabilities = np.exp(logits - np.maximum.reduceat(logits, first)[plays.rows])
        probabilities /= np.add.reduceat(probabilities, first)[plays.rows]
        # Adding Gumbel noise and taking the maximum samples from the softmax.
        noisy = np.full(mask.shape, -np.inf)
        noisy[plays.rows, plays.actions] = logits + rng.gumbel(size=len(logits))
        actions = noisy.argmax(axis=1)
        chosen = plays.features[plays.actions == actions[plays.rows]]
        score_function = chosen - np.add.reduceat(probabilities[:, None] * plays.features, first)
        before = returns(rules, now.scores)[np.arange(len(live)), now.mover]
        steps.append((live, now.mover, before, score_function))
        batch.step(actions, live)
    final = returns(rules, batch.scores)
    final[batch.lost] = 0
    gradient, count = np.zeros(len(weights)), 0
    for live, mover, before, score_function in steps:
        gain = final[live, mover] - before
        gradient += (gain - gain.mean()) @ score_function
        count += len(live)
    return gradient / count, float(final[:, 0].mean())


def returns(rules: Rules, scores: Ints) -> Floats:
    """Return points less the mean of the others', float64 [n, P]; in the solitaire the points themselves."""
    if rules.num_players == 1:
        return scores.astype(np.float64)
    others = (scores.sum(axis=1, keepdims=True) - scores) / (rules.num_players - 1)
    margins: Floats = scores - others
    return margins


def main(arguments: Arguments) -> None:
    """Find the weights and print them."""
    rules = arguments.rules
    rng = np.random.default_rng(arguments.seed)
    batch = Batch(rules, arguments.games)
    first_seed = TUNING_DEALS_APART * (arguments.seed + 1)
    batch.reset(seed=first_seed)
    features = action_features(rules, Observer(rules, preview=True).observe_batch(batch), batch.mask()).features
    # Features are scaled by their standard deviation in the initial states; by 1 where they do not vary there.
    scale = features.std(axis=0).astype(np.float64)
    scale = np.where(scale > 0, scale, 1.0)
    weights = np.zeros(len(FEATURE_NAMES))
    weights[0] = 1 / arguments.temperature
    first, second = np.zeros(len(FEATURE_NAMES)), np.zeros(len(FEATURE_NAMES))
    progress = trange(arguments.iterations)
    recent = []
    for iteration in progress:
        seed = first_seed + iteration * arguments.games
        gradient, mean = policy_gradient(rules, weights, seed, arguments.games, rng)
        recent.append(mean)
        gradient *= scale
        first = (1 - FIRST_RATE) * first + FIRST_RATE * gradient
        second = (1 - SECOND_RATE) * second + SECOND_RATE * gradient**2
        corrected = first / (1 - (1 - FIRST_RATE) ** (iteration + 1))
        corrected /= np.sqrt(second / (1 - (1 - SECOND_RATE) ** (iteration + 1)) + 1e-12)
        rate = arguments.learning_rate * (1 - iteration / arguments.iterations)
        weights += rate * corrected / scale
        weights[0] = max(weights[0], LEAST_POINTS_WEIGHT)
        progress.set_postfix(value=f"{np.mean(recent[-10:]):.1f}", temperature=f"{1 / weights[0]:.1f}")
    for name, weight in zip(FEATURE_NAMES, weights / weights[0], strict=True):
        print(f'    "{name}": {weight:.2f},')


if __name__ == "__main__":
    run_script(main, Arguments, "train.tune_heuristic", __doc__)
