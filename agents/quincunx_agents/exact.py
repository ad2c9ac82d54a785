"""Exact values of the solitaire, by expectimax: of its last plays, and of the whole mini variant (R16).

To the player every order of the pile is equally likely. The value of an information state therefore depends on the grid
and the hand alone: all other cards of the deck are in the pile. After an action each set of as many cards as it draws
is equally likely. The value of the action is thus a mean over these sets. The value of a state is the highest of its
actions (Russell & Norvig, Artificial Intelligence, section on stochastic games). Unlike perfect-information Monte Carlo
this has no strategy fusion: the player chooses without knowing the pile.
"""

from collections.abc import Callable, Iterator
from functools import cache
from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from quincunx_agents.afterstates import Bools, Ints, observer_for
from quincunx_env.core.arrays import ONE, Words, unpack
from quincunx_env.core.policy import Agent, policy_for
from quincunx_env.quincunx.batch import Batch
from quincunx_env.quincunx.rules import Rules
from quincunx_env.quincunx.tables import derived_tables

Values = npt.NDArray[np.float64]

Distribution = Callable[[Batch], Values]
"""Probabilities of the actions of a policy in each game, float64 [B, A]."""

CHUNK = 50_000
"""Approximate number of states that are expanded at a time: 20 MB of games. Larger chunks find more states that are
equal."""


class _Edges(NamedTuple):
    """Actions in states, ordered by state."""

    state: Ints
    action: Ints
    points: Ints
    draws: Ints
    """Cards that the pile can serve."""


PLAYS = 3
"""The most plays left, except in the mini variant. Three take 14 ms of processor time a position, four 0.6 s."""


def action_values(games: Batch, lost_value: float = 0.0, plays: int = PLAYS) -> Values:
    """Return expected final points of each action under optimal play, float64 [B, A].

    Args:
        games: solitaires in progress, all at the same ply. Their piles are not used.
        lost_value: result of a lost round.
        plays: the most plays left, except in the mini variant.

    Returns:
        -inf for illegal actions.

    Raises:
        ValueError: if these are not solitaires, are over, not at the same ply, or have more plays left.
    """
    _check(games, plays)
    values = np.full((games.num_games, games.rules.num_actions), -np.inf)
    edges = _edges(games, games.mask)
    values[edges.state, edges.action] = _edge_values(games, edges, lost_value, None) + games.totals[edges.state, 0]
    return values


def policy_values(games: Batch, policy: Distribution, lost_value: float = 0.0) -> Values:
    """Return expected final points if a policy plays on, float64 [B]. Arguments are as of `action_values`."""
    _check(games, PLAYS)
    return _state_values(games, lost_value, policy) + games.totals[:, 0]


def uniform_distribution(games: Batch) -> Values:
    """Return the uniform policy's probabilities."""
    mask = games.mask
    probabilities: Values = mask / mask.sum(axis=1, keepdims=True)
    return probabilities


def distribution_of(agent: Agent, rules: Rules, seed: int = 0) -> Distribution:
    """Return the distribution of an agent's policy with its random numbers fixed: 1 for the chosen action."""
    policy, observer, rng = policy_for(agent, rules), observer_for(rules), np.random.default_rng(seed)

    def choose(games: Batch) -> Values:
        chosen = policy(observer.observe_batch(games), games.mask, rng)
        return np.equal(np.arange(rules.num_actions), chosen[:, None]).astype(np.float64)

    return choose


def _check(games: Batch, plays: int) -> None:
    rules = games.rules
    if not isinstance(rules, Rules) or rules.num_players != 1:
        raise ValueError(f"games must be solitaires, got {rules}")
    if games.over.any() or len(np.unique(games.ply)) != 1:
        raise ValueError("all games must be in progress and at the same ply")
    if not rules.mini and (left := rules.num_plays - int(games.ply[0])) > plays:
        raise ValueError(f"at most {plays} plays may be left, got {left}: play on, or take the mini variant")


# --- Expectimax ------------------------------------------------------------------------------------------------------


def _state_values(games: Batch, lost_value: float, policy: Distribution | None) -> Values:
    """Return expected points to come in each state, float64 [B]. The actions are a policy's, or else the best ones."""
    probabilities = None if policy is None else policy(games)
    edges = _edges(games, games.mask if probabilities is None else probabilities > 0)
    values = _edge_values(games, edges, lost_value, policy)
    first = np.searchsorted(edges.state, np.arange(games.num_games))
    if probabilities is None:
        best: Values = np.maximum.reduceat(values, first)
        return best
    mean: Values = np.add.reduceat(values * probabilities[edges.state, edges.action], first)
    return mean


def _edges(games: Batch, chosen: Bools) -> _Edges:
    state, action = np.nonzero(chosen)
    cards, cells = np.divmod(action, games.rules.num_cells)
    points, draws = games.value(cards, cells, state, check=False)
    return _Edges(state, action, points, np.minimum(draws, games.rules.pile_size - games.drawn[state]))


def _edge_values(games: Batch, edges: _Edges, lost_value: float, policy: Distribution | None) -> Values:
    """Return points of each action and expected points after it."""
    if games.ply[0] == games.rules.num_plays - 1:
        return edges.points - _penalties(games, edges)
    values = edges.points.astype(np.float64)
    for at, rows, cards in _draws(games, edges):
        values[at] += _child_values(games, edges, rows, cards, lost_value, policy).reshape(len(at), -1).mean(axis=1)
    return values


def _penalties(games: Batch, edges: _Edges) -> Values:
    """Return the expected penalty after the last play: of the cards that stay in the hand, and of the cards drawn."""
    rules = games.rules
    penalty = derived_tables().penalty[: rules.num_cards]
    left, unseen = (unpack(cards[:, None], rules.num_cards) for cards in (games.hands[:, 0], games.unseen))
    mean = unseen @ penalty / np.maximum(unseen.sum(axis=1), 1)
    cards = edges.action // rules.num_cells
    expected: Values = (left @ penalty)[edges.state] - penalty[cards] + edges.draws * mean[edges.state]
    return expected


def _draws(games: Batch, edges: _Edges) -> Iterator[tuple[Ints, Ints, Words]]:
    """Yield actions with their sets of drawn cards.

    Items are indices of actions [n], and for each of their sets the action, [n * S], and the bits, [n * S].
    """
    unseen = games.unseen
    size = np.bitwise_count(unseen)[edges.state].astype(np.int64)
    for cards, draws in np.unique(np.stack([size, edges.draws], axis=1), axis=0).tolist():
        same = np.flatnonzero((size == cards) & (edges.draws == draws))
        sets = _sets(cards, draws)
        for at in np.array_split(same, -(-len(same) * len(sets) // CHUNK)):
            bits = unpack(unseen[edges.state[at]][:, None], games.rules.num_cards)
            each = np.nonzero(bits)[1].reshape(len(at), cards).astype(np.uint64)
            drawn = np.bitwise_or.reduce(ONE << each[:, sets], axis=2, initial=0)
            yield at, np.repeat(at, len(sets)), drawn.astype(np.uint64).reshape(-1)


@cache
def _sets(cards: int, draws: int) -> Ints:
    """Return every set of ``draws`` numbers below ``cards``, int64 [S, draws]."""
    return np.array([*combinations(range(cards), draws)], np.int64).reshape(comb(cards, draws), draws)


def _child_values(
    games: Batch, edges: _Edges, rows: Ints, drawn: Words, lost_value: float, policy: Distribution | None
) -> Values:
    """Return expected points to come after these actions and draws."""
    rules, actions = games.rules, edges.action[rows]
    hands = games.hands[edges.state[rows], 0] & ~(ONE << (actions // rules.num_cells).astype(np.uint64)) | drawn
    children = games.fork(edges.state[rows])
    children.step(actions)
    children.hands[:, 0] = hands
    # Optimal play depends on the grid and the hand, and on the points where a lost round can cost them. A policy may
    # look at anything that it observes.
    left = rules.num_plays - int(games.ply[0]) - 1
    points = np.where((policy is not None) | (np.bitwise_count(hands) < left), children.totals[:, 0], 0)
    seen = [children.board[:, :-1]] if policy is None else [children.board[:, :-1], children.order[:, :-1]]
    keys = np.column_stack([*map(_packed, seen), hands.view(np.int64), points])
    key = keys.view(np.dtype((np.void, keys.shape[1] * 8)))[:, 0]
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    states = children.fork(first)
    values, live = lost_value - states.totals[:, 0].astype(np.float64), ~states.lost
    if live.any():
        values[live] = _state_values(states.fork(live), lost_value, policy)
    return values[inverse]


def _packed(board: npt.NDArray[np.int8]) -> Ints:
    """Convert grids to whole words, int64 [B, W]."""
    padded = np.zeros((len(board), -(-board.shape[1] // 8) * 8), np.int8)
    padded[:, : board.shape[1]] = board
    return padded.view(np.int64)
