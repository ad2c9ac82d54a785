"""Games of whole rounds, and TD(lambda) targets for their afterstates.

Actions are sampled from a softmax over the values of the afterstates. Targets are lambda-returns in their forward view
(Sutton & Barto, Reinforcement Learning, 2nd edition, chapter 12), for every seat at every play. The predicted cost of
exploration is added to them. This is Q(lambda) with off-policy corrections (Harutyunyan, Bellemare, Stepleton & Munos,
ALT 2016), which learns the values of the greedy policy.

Axes: n games that are not over, m candidate plays of all of them, P players, B afterstates.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from quincunx_agents.afterstates import SEATS, Afterstates, Bools, Floats, Ints
from quincunx_agents.agent_specs import agent_spec_of
from quincunx_agents.networks.value import evaluate_afterstates, margin_weights
from quincunx_env.core.policy import Agent, policy_for
from quincunx_env.core.rules import BaseRules
from quincunx_env.envs.rewards import win_shares
from quincunx_env.registry import make_observer, spec_of
from train.common.options import CheckedOptions, CountOrZero, Positive, Share
from train.common.timer import PhaseTimer
from train.td_lambda.pool import Pool, Weights


@dataclass
class RolloutOptions(CheckedOptions):
    """Options of the games and of the targets computed from them."""

    shortlist: CountOrZero = 6
    """actions of a state that are evaluated while training; 0: all"""
    temperature: Positive = 1.0
    """temperature of the softmax over action values while exploring, in points"""
    pool_share: Share = 0.25
    """share of the games in which a member of the pool has all seats but one"""
    against_share: Share = 0.0
    """share of the games in which the agent of ``--against`` has all seats but one"""
    td_lambda: Share = 0.9
    """lambda of TD(lambda): 0 bootstraps from the next value, 1 is Monte Carlo"""
    greedy_targets: bool = True
    """learn the values of playing greedily, not of exploring: Q(lambda) with off-policy corrections"""


LEARNER, AGAINST = -1, -2
"""Seats of the learner and of the agent of ``--against``, where others have the index of a member of the pool."""

# --- Playing ---------------------------------------------------------------------------------------------------------


class ValueTargets(NamedTuple):
    """Afterstates and the values to be learned, B in all."""

    features: npt.NDArray[np.float16]
    """[B, size], see `quincunx_agents.afterstates.FeatureLayout`; half precision, because the replay holds many."""
    targets: Floats
    """[B, SEATS]: points to come for each seat from the mover on; 0 beyond the seats of the game."""
    seats: Ints
    """[B]: number of players."""


class Transition(NamedTuple):
    """One play in each of n games."""

    games: Ints
    """[n]: index of each game."""
    seats: Ints
    """[n, P]: the seats in order of play, the mover's first."""
    immediate_reward: Floats
    """[n, P], by seat: the points of the play in the preview."""
    further_reward: Floats
    """[n, P], by seat: the rest of the step's reward, such as penalties."""
    value: Floats
    """[n, P], by seat: predicted points to come after the play."""
    expected: Floats
    """[n, P], by seat: predicted points to come before the play, if the learner plays greedily from here on."""
    evaluated: Bools
    """[n]: True where the value was predicted by the network, False where it follows from the rules."""
    features: npt.NDArray[np.float16]
    """[n, size]: the afterstate."""


class Prediction(NamedTuple):
    """Values of m candidate plays, and the policy that follows from them."""

    to_come: Floats
    """[m, SEATS]: points after the play, for each seat from the mover on."""
    logits: Floats
    """[m]: logits of the softmax policy."""


class Result(NamedTuple):
    """Result against a member of the pool, for `train.td_lambda.pool.Pool.count`."""

    member: int
    share: float
    players: int


class CandidateTable:
    """Arrangement of the candidate plays of n states, [m], as a table [n, M].

    Args:
        rows: int64 [m], ascending: state of each play; every state has at least one.
    """

    def __init__(self, rows: Ints) -> None:
        self.rows = rows
        self.first: Ints = np.flatnonzero(np.diff(rows, prepend=-1))
        """[n]: index of the first play of each state."""
        self.columns = np.arange(len(rows)) - self.first[rows]

    def fill(self, values: npt.NDArray[Any], missing: float = -np.inf) -> npt.NDArray[Any]:
        """Return values [m] as a table [n, M], padded with ``missing``."""
        table = np.full((len(self.first), self.columns.max() + 1), missing, values.dtype)
        table[self.rows, self.columns] = values
        return table


def play_games(
    options: RolloutOptions,
    rules: BaseRules,
    games: int,
    weights: Weights,
    pool: Pool,
    seed: int,
    rng: np.random.Generator,
    timer: PhaseTimer,
    against: Agent | None = None,
) -> tuple[ValueTargets, list[Result]]:
    """Play a round of each game; return targets and results.

    The deals are seeded ``seed`` on. The network of ``weights`` also evaluates the plays of opponents. ``rng``
    explores. ``against`` is needed for ``options.against_share``.
    """
    module, observer = agent_spec_of(rules).features, make_observer(rules, preview=True)
    rollout_policy = agent_spec_of(rules).rollout_policy
    batch: Any = spec_of(rules).Batch(rules, games)
    batch.reset(seed=seed)
    players = rules.num_players
    seat_weights = margin_weights(players)
    members = sample_opponents(pool, games, players, options, rng)
    opponent = policy_for(against, rules) if against and (members == AGAINST).any() else None
    history = list[Transition]()
    while not batch.over.all():
        live = np.flatnonzero(~batch.over)
        now = batch.fork(live)
        observation, mask, mover = observer.observe_batch(now), now.mask, now.mover
        timer.add("environment")
        member = members[live, mover]
        tried = rollout_policy.candidate_actions(now, options.shortlist) if options.shortlist else mask
        opposed = np.flatnonzero(member == AGAINST)
        if opponent and len(opposed):
            taken = opponent({name: piece[opposed] for name, piece in observation.items()}, mask[opposed], rng)
            tried = tried.copy()
            tried[opposed] = np.arange(tried.shape[1]) == taken[:, None]  # the only action to evaluate
        afterstates = module.afterstates_of(rules, observation, tried)
        table = CandidateTable(afterstates.rows)
        own = predict(weights, afterstates, seat_weights, options.temperature)
        logits = table.fill(own.logits)
        for number in np.unique(member[member >= 0]):
            other = predict(pool.members[number].weights, afterstates, seat_weights, options.temperature)
            rows = np.flatnonzero(member == number)
            logits[rows] = table.fill(other.logits)[rows]
        # Adding Gumbel noise and taking the maximum samples from the softmax.
        chosen = table.first + (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
        timer.add("acting")
        rewards = batch.step(afterstates.actions[chosen], live).astype(np.float32)
        if players == 1:
            rewards[batch.lost[live]] -= batch.totals[live[batch.lost[live]]]
        timer.add("environment")

        seats = (mover[:, None] + np.arange(players)) % players
        each = np.arange(len(live))
        immediate_reward, predicted, expected = np.zeros((3, len(live), players), np.float32)
        immediate_reward[each, mover] = afterstates.points[chosen]
        predicted[each[:, None], seats] = own.to_come[chosen, :players]
        greedy = table.first + table.fill(own.logits).argmax(axis=1)
        greedy = np.where(options.greedy_targets & (member == LEARNER), greedy, chosen)
        expected[each[:, None], seats] = own.to_come[greedy, :players]
        expected[each, mover] += afterstates.points[greedy]
        evaluated = np.isnan(afterstates.known_values[chosen, 0])
        features = afterstates.features(module.LAYOUT, chosen)
        further_reward = rewards - immediate_reward
        history.append(
            Transition(live, seats, immediate_reward, further_reward, predicted, expected, evaluated, features)
        )
        timer.add("acting")
    return td_lambda_targets(history, games, players, options.td_lambda), results(members, batch)


def predict(weights: Weights, afterstates: Afterstates, seat_weights: Floats, temperature: float) -> Prediction:
    """Evaluate the m afterstates of candidate plays with a value network.

    ``seat_weights`` are the value of a point of each seat to the mover, float32 [SEATS]. The ``temperature`` of the
    softmax is in points.
    """
    to_come = evaluate_afterstates([weights], afterstates)
    logits = (afterstates.points + to_come @ seat_weights) / temperature
    return Prediction(to_come, logits.astype(np.float32, copy=False))


# --- Opponents -------------------------------------------------------------------------------------------------------


def sample_opponents(pool: Pool, games: int, players: int, options: RolloutOptions, rng: np.random.Generator) -> Ints:
    """Assign seats, int64 [games, players]: `LEARNER`, `AGAINST`, or the index of a member of the pool.

    In shares of the games one opponent has all seats but one.
    """
    members = np.full((games, players), LEARNER)
    if players == 1 or not (pool.members or options.against_share):
        return members
    drawn = rng.random(games)
    members[drawn >= 1 - options.against_share] = AGAINST
    if pool.members:
        mixed = np.flatnonzero(drawn < options.pool_share)
        members[mixed] = rng.choice(len(pool.members), len(mixed), p=pool.probabilities())[:, None]
    mixed = np.flatnonzero(members[:, 0] != LEARNER)
    members[mixed, rng.integers(players, size=len(mixed))] = LEARNER
    return members


def results(members: Ints, batch: Any) -> list[Result]:
    """Return the results of finished games against pool ``members``, as `sample_opponents` returned them."""
    against = np.flatnonzero((members >= 0).any(axis=1))
    share = np.where(members == LEARNER, win_shares(batch.totals), 0).sum(axis=1)
    return [Result(int(members[game].max()), float(share[game]), members.shape[1]) for game in against]


# --- Targets ---------------------------------------------------------------------------------------------------------


def td_lambda_targets(history: Sequence[Transition], games: int, players: int, td_lambda: float) -> ValueTargets:
    """Compute the lambda-returns of all seats, from the last play back.

    The return after play t is G_t = r'_t + E_(t+1) + lambda (G_(t+1) - V_(t+1)), undiscounted. r' is the further reward
    and V the value predicted after a play. E is the value predicted before it: immediate reward + V of the greedy play,
    or of the one chosen. Only afterstates that the network evaluated become targets.
    """
    found = []
    following = np.zeros((games, players), np.float32)  # from the next play on, by seat
    for transition in reversed(history):
        live = transition.games
        returns = transition.further_reward + following[live]
        following[live] = transition.expected + td_lambda * (returns - transition.value)
        rows = np.flatnonzero(transition.evaluated)
        targets = np.zeros((len(rows), SEATS), np.float32)
        targets[:, :players] = returns[rows[:, None], transition.seats[rows]]
        found.append(ValueTargets(transition.features[rows], targets, np.full(len(rows), players)))
    return join(found)


def join(parts: Sequence[ValueTargets]) -> ValueTargets:
    """Join targets along their first axis."""
    return ValueTargets(*map(np.concatenate, zip(*parts, strict=True)))
