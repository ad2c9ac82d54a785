"""Search targets: values of promising plays by rollouts, and their losses.

After each play the same determinized games are played on. For some plays the network itself plays, then its value
stands for the rest: a policy improvement (Tesauro & Galperin, On-line Policy Improvement using Monte-Carlo Search,
NeurIPS 1996). The other seats may follow another policy, to which the network then learns a better response. A network
that learns these values plays as the search does, without its time: expert iteration (Anthony, Tian & Barber, Thinking
Fast and Slow with Deep Learning and Tree Search, NeurIPS 2017).

While training, the cards that a seat cannot see are known. With ``search_samples=0`` rollouts use them. They are
distributed according to the seat's knowledge, the choices of the other seats included, where a determinization is
uniform.

Axes: n games, k plays of each, d determinizations, P players, K cards, B positions of a minibatch.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from quincunx_agents.afterstates import NUMPY, SEATS, Backend, Floats, Ints
from quincunx_agents.agent_specs import agent_spec_of, rules_of
from quincunx_agents.networks.value import margin_weights
from quincunx_agents.search.network import rollout_values
from quincunx_agents.torch import ValueNetwork
from quincunx_env.core.arrays import as_bits, unpack
from quincunx_env.core.cards import EMPTY
from quincunx_env.core.policy import Policy, policy_for
from quincunx_env.core.rules import BaseRules
from quincunx_env.policies import resolve
from train.common.options import CheckedOptions, Count, CountOrZero, OptionalPolicyName, Share, Valid
from train.common.timer import PhaseTimer
from train.td_lambda.rollout import CandidateTable, Positions, Weights, play_games
from train.td_lambda.workers import Job, opponents_of

SEARCH_SCALE = 10.0
"""Points from which on the loss of a search target is linear; not tuned."""

POLICY_TEMPERATURE = 2.0
"""Temperature of the policy in `policy_loss`, in points; see docs/experiments.md."""


@dataclass
class SearchOptions(CheckedOptions):
    """Options of the search targets."""

    search_share: Share = 0.5
    """share of the network's positions that are searched"""
    search_plays: Annotated[int, Valid("at least 2", lambda value: value >= 2)] = 8
    """plays of such a position that are rolled out, from the highest value on; positions with fewer are left out"""
    search_samples: CountOrZero = 1
    """determinizations in which each play is rolled out; fewer leave time for more positions. 0: one rollout with the
    game's own hidden cards"""
    search_depth: Count = 6
    """length of the rollouts in plays, with --search-opponent in own plays"""
    search_opponent: OptionalPolicyName = None
    """policy of the other seats in the rollouts, a name of the arena; the network if None"""
    search_candidates: Count = 4
    """plays that the network evaluates in each position of its rollouts, the best of the heuristic"""


class SearchTargets(NamedTuple):
    """Plays of n positions, and their values by search."""

    features: npt.NDArray[np.float16]
    """[n, k, size]: features of the afterstates, on the device of the network."""
    points: Floats
    """[n, k]: points that the play scores for the mover."""
    values: Floats
    """[n, k]: to the mover, means over the determinizations; see `search_values`."""
    seats: Ints
    """[n]: number of players."""


# --- Playing and searching -------------------------------------------------------------------------------------------


class Searched(NamedTuple):
    """The result of a share of games."""

    targets: list[SearchTargets]
    seconds: float
    """Processor time."""


def play_and_search(options: SearchOptions, job: Job, backend: Backend = NUMPY) -> list[Searched]:
    """Play the shares of a job and search some positions. The backend is the one of the weights."""
    pool, found = opponents_of(job), []
    for share in job.shares:
        timer, rng = PhaseTimer(), np.random.default_rng(share.randomness)
        searcher, rules = Searcher(options, job.weights, rng), rules_of(share.variant)
        play_games(job.options, rules, share.games, job.weights, pool, share.seed, rng, timer, backend, searcher)
        found.append(Searched(searcher.targets, sum(timer.seconds.values())))
    return found


class Searcher:
    """Search in a share of the learner's positions, a `train.td_lambda.rollout.Watch`.

    ``rng`` chooses positions, and redeals the cards that the seat to move cannot see.

    Attributes:
        targets: found so far.
    """

    def __init__(self, options: SearchOptions, weights: Sequence[Weights], rng: np.random.Generator) -> None:
        self.options = options
        self.weights = weights
        self.rng = rng
        self.targets = list[SearchTargets]()

    def __call__(self, positions: Positions) -> None:
        """Search the best plays of some positions, except before the last play."""
        games, afterstates, options = positions.games, positions.afterstates, self.options
        if agent_spec_of(games.rules).rollout_policy.plays_left(games) <= 1:
            return
        wanted = np.flatnonzero(positions.is_learner & (self.rng.random(games.num_games) < options.search_share))
        rows, plays = best_plays(positions.table, positions.logits, options.search_plays, wanted)
        if not len(rows):
            return
        games, actions = games.fork(rows), afterstates.actions[plays]
        values = search_values(options, self.weights, games, actions, self.rng, afterstates.backend)
        layout = agent_spec_of(games.rules).features.LAYOUT
        features = afterstates.features(layout, plays.ravel()).reshape(*plays.shape, layout.size)
        players = np.full(len(rows), games.rules.num_players)
        self.targets.append(SearchTargets(features, afterstates.points[plays], values, players))


def best_plays(table: CandidateTable, values: Floats, count: int, games: Ints) -> tuple[Ints, Ints]:
    """Choose games with enough plays, [r], and their plays with the highest values, [r, count]."""
    arranged = table.fill(values)[games]
    columns = np.argsort(-arranged, axis=1, kind="stable")[:, :count]
    enough = np.isfinite(arranged).sum(axis=1) >= count
    return games[enough], table.first[games[enough], None] + columns[enough]


def search_values(
    options: SearchOptions,
    weights: Sequence[Weights],
    games: Any,
    actions: Ints,
    rng: np.random.Generator,
    backend: Backend = NUMPY,
) -> Floats:
    """Average the mover's values of plays over d determinizations, float32 [n, k].

    The n ``games`` have the same seat to move at the same stage of a round; none is over. ``actions`` are legal, int64
    [n, k].
    """
    rules, (n, k), samples = games.rules, actions.shape, max(options.search_samples, 1)
    policy, others = agent_spec_of(rules).rollout_policy, None
    left, seat = policy.plays_left(games) - 1, int(games.mover[0])
    dealt = games.fork(np.repeat(np.arange(n), samples))
    if options.search_samples:
        redeal(dealt, rng)
    games = dealt.fork(np.tile(np.arange(n * samples), k))
    policy.step(games, np.repeat(actions.T, samples, axis=1).ravel())
    depth = options.search_depth
    if options.search_opponent is not None:
        others, depth = _policy_named(options.search_opponent, rules), depth * rules.num_players
    found = rollout_values(weights, games, seat, left, min(depth, left), options.search_candidates, others, backend)
    values: Floats = found.reshape(k, n, samples).mean(axis=2).T.astype(np.float32)
    return values


@cache  # a look-up by name reads the entry points of all installed packages
def _policy_named(name: str, rules: BaseRules) -> Policy:
    return policy_for(resolve(name), rules)


def redeal(games: Any, rng: np.random.Generator) -> None:
    """Permute the cards that the seat to move cannot see."""
    rows, cards = np.arange(games.num_games), games.rules.num_cards
    visible = as_bits(games.board, games.board != EMPTY) | games.hands[rows, games.mover]
    hidden = as_bits(np.array([games.rules.deck])) & ~visible
    is_hidden = unpack(hidden[:, None], cards).view(np.bool_)
    # Both orders begin with the hidden cards; the others follow in order, and are mapped to themselves.
    ascending, shuffled = (
        np.where(is_hidden, keys, 1.0 + np.arange(cards)).argsort(axis=1)
        for keys in (np.arange(cards) / cards, rng.random(is_hidden.shape))
    )
    changed = np.empty_like(ascending)
    np.put_along_axis(changed, ascending, shuffled, axis=1)
    state = games.get_state()
    state["decks"][rows, games.round] = np.take_along_axis(changed, games.decks[rows, games.round], axis=1)
    held = unpack(games.hands[:, :, None], cards).view(np.bool_)
    state["hands"] = np.stack([as_bits(changed, held[:, seat]) for seat in range(held.shape[1])], axis=1)
    state["seed"][:] = state["game"][:] = -1  # the decks no longer follow from a seed
    games.set_state(state)


# --- Learning --------------------------------------------------------------------------------------------------------


def outputs_of_plays(network: ValueNetwork, features: Tensor) -> Tensor:
    """Return the network's outputs for plays, [B, k, SEATS + 1], from their features, [B, k, size]."""
    outputs: Tensor = network(features.flatten(0, 1)).unflatten(0, features.shape[:2])
    return outputs


def search_loss(outputs: Tensor, points: Tensor, values: Tensor, seats: Tensor) -> Tensor:
    """Compute the Huber loss of differences between a position's plays.

    The choice depends on these differences alone. ``outputs`` of the network are [B, k, SEATS + 1], ``points`` and
    ``values`` by search [B, k], ``seats`` [B].
    """
    errors = (predicted_values(outputs, points, seats) - values) / SEARCH_SCALE
    errors = errors - errors.mean(dim=1, keepdim=True)
    return nn.functional.smooth_l1_loss(errors, torch.zeros_like(errors))


def policy_loss(outputs: Tensor, points: Tensor, values: Tensor, seats: Tensor) -> Tensor:
    """Compute the negative expected value of a softmax policy.

    It is over the plays of a position, relative to their mean. Its gradient is the policy gradient, summed over all
    plays instead of sampled (Allen, Asadi, Roderick, Mohamed, Konidaris & Littman, Mean Actor-Critic, 2017). Plays of
    nearly equal values, between which `search_loss` hardly distinguishes, count most. Arguments are as in
    `search_loss`.
    """
    policy = (predicted_values(outputs, points, seats) / POLICY_TEMPERATURE).softmax(dim=1)
    relative = (values - values.mean(dim=1, keepdim=True)) / SEARCH_SCALE
    return -(policy * relative).sum(dim=1).mean()


def predicted_values(outputs: Tensor, points: Tensor, seats: Tensor) -> Tensor:
    """Return values of plays to the mover, [B, k]. `quincunx_agents.networks.value.action_values` computes the same."""
    weights = torch.from_numpy(
        np.stack([np.append(margin_weights(number), np.float32(1)) for number in range(SEATS + 1)])
    )
    predicted: Tensor = points + (outputs * weights.to(seats.device)[seats][:, None]).sum(dim=-1)
    return predicted
