"""Search targets: the values of a position's most promising plays by rollouts in determinized games.

After each play the same determinized games are played on, by the game's rollout policy to the end of the round or for
some plays by the network itself, whose value then stands for the rest: a policy improvement of that policy (Tesauro &
Galperin, On-line Policy Improvement using Monte-Carlo Search, NeurIPS 1996). The other seats may follow a policy of
their own, to which the network then learns a better response. A network that learns these values plays as the search
does, without its time: expert iteration (Anthony, Tian & Barber, Thinking Fast and Slow with Deep Learning and Tree
Search, NeurIPS 2017).

While training, the cards that a seat cannot see are known. With ``search_samples=0`` rollouts use them: they are
distributed as what the seat knows says, the choices of the other seats included, where a determinization is uniform.

Axes: n games, k plays of each, d determinizations, P players, K cards.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from quincunx_agents.afterstates import NUMPY, Afterstates, Backend, Floats, Ints
from quincunx_agents.networks.value import feature_module_of
from quincunx_agents.search.determinized import payoffs, rollout_policy_of
from quincunx_agents.search.network import rollout_values
from quincunx_env.core.arrays import as_bits, unpack
from quincunx_env.core.cards import EMPTY
from quincunx_env.core.policy import Policy, policy_for
from quincunx_env.core.rules import BaseRules
from quincunx_env.policies import resolve
from train.common.options import CheckedOptions, Count, CountOrZero, OptionalPolicyName, OptionError, Share, Valid


@dataclass
class SearchOptions(CheckedOptions):
    """Options of the search targets."""

    search_share: Share = 0.0
    """share of the states whose best plays are rolled out, too, for the network to learn their differences"""
    search_plays: Annotated[int, Valid("at least 2", lambda value: value >= 2)] = 8
    """plays of such a state that are rolled out, those of the highest values; states with fewer are left out"""
    search_samples: CountOrZero = 4
    """determinizations in which each of them is rolled out; 0: one rollout with the game's own hidden cards"""
    search_depth: CountOrZero = 0
    """length of the rollouts in plays, which the network chooses and at whose end it evaluates the position; 0: the
    game's rollout policy plays to the end of the round"""
    search_opponent: OptionalPolicyName = None
    """policy of the other seats in the rollouts, a name of the arena; --search-depth then counts the own plays. The
    network, or with --search-depth 0 the rollout policy, if None"""
    search_lambda: Share = 1.0
    """lambda of the lambda-return over the network's values in a rollout; 1: the value at its end alone"""
    search_candidates: Count = 4
    """plays that the network evaluates in each position of its rollouts, the best of the heuristic"""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.search_opponent is not None and not self.search_depth:
            raise OptionError("--search-opponent needs a --search-depth: with 0 the rollout policy has all seats")


class SearchTargets(NamedTuple):
    """Plays of n positions, and their values by search."""

    features: npt.NDArray[np.float16]
    """[n, k, size]: of the afterstates, on the device of the network."""
    points: Floats
    """[n, k]: points that the play scores for the mover."""
    values: Floats
    """[n, k]: to the mover, means over the determinizations; see `search_values`."""
    seats: Ints
    """[n]: number of players."""


def search_targets(
    options: SearchOptions,
    tensors: Mapping[str, Floats],
    games: Any,
    afterstates: Afterstates,
    plays: Ints,
    rng: np.random.Generator,
) -> SearchTargets:
    """Search some plays of each game.

    Args:
        options: see `SearchOptions`.
        tensors: of the network, by name.
        games: with the same seat to move at the same stage of a round, none over, n in all.
        afterstates: of these games and perhaps of others.
        plays: int64 [n, k], indices into the afterstates.
        rng: redeals the cards that the seat to move cannot see.
    """
    values = search_values(options, tensors, games, afterstates.actions[plays], rng, afterstates.backend)
    layout = feature_module_of(games.rules).LAYOUT
    features = afterstates.features(layout, plays.ravel()).reshape(*plays.shape, layout.size)
    players = np.full(games.num_games, games.rules.num_players)
    return SearchTargets(features, afterstates.points[plays], values, players)


def search_values(
    options: SearchOptions,
    tensors: Mapping[str, Floats],
    games: Any,
    actions: Ints,
    rng: np.random.Generator,
    backend: Backend = NUMPY,
) -> Floats:
    """Mean values of plays to the seat to move in d determinizations, float32 [n, k].

    Args:
        options: see `SearchOptions`.
        tensors: of the network, by name.
        games: with the same seat to move at the same stage of a round, none over, n in all.
        actions: int64 [n, k], legal ones.
        rng: redeals the cards that the seat to move cannot see.
        backend: of the tensors.
    """
    rules, (n, k), samples = games.rules, actions.shape, max(options.search_samples, 1)
    policy, others = rollout_policy_of(rules), None
    left, seat = policy.plays_left(games) - 1, int(games.mover[0])
    dealt = games.fork(np.repeat(np.arange(n), samples))
    if options.search_samples:
        redeal(dealt, rng)
    games = dealt.fork(np.tile(np.arange(n * samples), k))
    policy.step(games, np.repeat(actions.T, samples, axis=1).ravel())
    if options.search_depth:
        depth = options.search_depth
        if options.search_opponent is not None:
            others, depth = _policy_named(options.search_opponent, rules), depth * rules.num_players
        found = rollout_values(
            tensors,
            games,
            seat,
            left,
            min(depth, left),
            options.search_candidates,
            others,
            options.search_lambda,
            backend,
        )
    else:
        for _ in range(left):
            policy.step(games, policy.rollout_actions(games))
        found = payoffs(games)[:, seat]
    values: Floats = found.reshape(k, n, samples).mean(axis=2).T.astype(np.float32)
    return values


@cache  # a look-up by name reads the entry points of all installed packages
def _policy_named(name: str, rules: BaseRules) -> Policy:
    return policy_for(resolve(name), rules)


def redeal(games: Any, rng: np.random.Generator) -> None:
    """Permute at random, in each game, the cards of the deck that the seat to move cannot see."""
    rows, cards = np.arange(games.num_games), games.rules.num_cards
    visible = as_bits(games.board, games.board != EMPTY) | games.hands[rows, games.mover]
    hidden = as_bits(np.array([games.rules.deck])) & ~visible
    is_hidden = unpack(hidden[:, None], cards).view(np.bool_)
    # Both orders begin with the hidden cards; the others follow as they are, and are mapped to themselves.
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
    state["seed"][:] = state["game"][:] = -1  # the decks are no longer those of a seed
    games.set_state(state)


Targets = TypeVar("Targets", bound=NamedTuple)


def join(parts: Sequence[Targets], backend: Backend = NUMPY) -> Targets:
    """Join targets along their first axis; the first of their fields are the features, arrays of the backend."""
    features, *others = zip(*parts, strict=True)
    joined: Targets = type(parts[0])(backend.xp.concat(features), *map(np.concatenate, others))
    return joined
