"""Immediate scores of all legal actions, and a fast rollout policy.

The rollout policy approximates `quincunx_agents.quincunx.heuristic` with its weights, without the features that take
longest. ``threat`` and ``opened_value`` are left out, set-ups are computed for the best few actions alone. An action
costs a tenth of a microsecond. The policy may use all cards of a game: search calls it in determinized games.

Axes: n games, K cards, C cells, H slots of the hand to move, e slots of the legal cells, A actions.
"""

from functools import cache
from typing import NamedTuple

import numpy as np

from quincunx_agents.afterstates import Bools, Floats, Ints
from quincunx_agents.quincunx.heuristic import (
    DRAW_VALUE,
    FEATURE_NAMES,
    LOSS_VALUE,
    best_other,
    set_ups,
    weights_for,
)
from quincunx_env.core.cards import EMPTY
from quincunx_env.quincunx.batch import Batch
from quincunx_env.quincunx.cards import CARDS
from quincunx_env.quincunx.rules import ANNOUNCE_MIN, Rules
from quincunx_env.quincunx.tables import derived_tables

ILLEGAL = np.float32(-1e6)
"""Points and value of slots without a card or a cell: less than any real value."""


class ImmediateScores(NamedTuple):
    """Points and draws of all legal actions of n games, for the seats to move."""

    held: Ints
    """int64 [n]: cards in the hand to move; 0 in finished games."""
    cards: Ints
    """int64 [n, H]: the cards of the hand in the first slots, 0 in the others."""
    cells: Ints
    """int64 [n, e]: the legal cells in the first slots."""
    points: Floats
    """float32 [n, H, e]: points, `ILLEGAL` in slots without a card or a cell."""
    draws: Floats
    """float32 [n, H, e]: cards drawn, no more than the pile holds."""
    left: int
    """Plays still to come after this one, of all seats."""


def immediate_scores(batch: Batch) -> ImmediateScores:
    """Score all legal actions of games at the same stage. No game is announcing."""
    rules = batch.rules
    held, cards, card_slots = _slots(batch.card_mask)
    _, cells, cell_slots = _slots(batch.cell_mask)
    (n, hand), places = cards.shape, cells.shape[1]
    rows, slots = card_slots
    # Unchecked: slots without a cell hold cell 0, which may be taken; its scores are replaced below.
    points, draws = batch.value(
        np.repeat(cards[card_slots], places), cells[rows].ravel(), np.repeat(rows, places), check=False
    )
    in_cell = np.zeros(cells.shape, np.bool_)
    in_cell[cell_slots] = True
    dense = np.full((n, hand, places), ILLEGAL)
    dense[rows, slots] = np.where(in_cell[rows], points.reshape(-1, places), ILLEGAL)
    drawn = np.zeros((n, hand, places), np.float32)
    pile = rules.pile_size - batch.drawn
    drawn[rows, slots] = np.minimum(draws.reshape(-1, places), pile[rows, None])
    return ImmediateScores(held, cards, cells, dense, drawn, rules.num_plays - int(batch.ply.max()) - 1)


def _slots(members: Bools) -> tuple[Ints, Ints, tuple[Ints, Ints]]:
    """Convert sets, bool [n, K or C], to lists in slots.

    Returns:
        int64 [n], their sizes; int64 [n, H or e], their members; int64 each, row and slot of each member.
    """
    count = members.sum(axis=1)
    rows, found = members.nonzero()
    slots = np.arange(len(rows)) - (count.cumsum() - count)[rows]
    lists = np.zeros((len(members), max(int(count.max()), 1)), np.int64)
    lists[rows, slots] = found
    return count, lists, (rows, slots)


# --- The rollout policy; see `quincunx_agents.agent_specs.RolloutPolicy` ---------------------------------------------


def step(games: Batch, actions: Ints) -> None:
    """Play a card into a cell in each game, actions int64 [n]. With Simpleton the true points are announced."""
    rules = games.rules
    points = actions
    if rules.simpleton:
        points, _ = games.value(*np.divmod(actions, rules.num_cells), check=False)
    games.step(actions)
    if rules.simpleton:
        games.step(rules.num_plays_encoded + points - ANNOUNCE_MIN)


def plays_left(games: Batch) -> int:
    """Count the plays until the round of these games ends. All games are at the same stage."""
    return games.rules.num_plays - int(games.ply[0])


REFINED = 5
"""Actions of each position for which `rollout_actions` computes set-ups. Not tuned."""


def rollout_actions(games: Batch) -> Ints:
    """Choose the action of the highest approximate value, int64 [n]. Where a game is over, it is any number."""
    rules, scores = games.rules, immediate_scores(games)
    weights = _weights(rules, scores.left)
    values = _approximate_values(games, scores, weights)
    n, _, places = values.shape
    values = values.reshape(n, -1)
    chosen = np.argpartition(values, -min(REFINED, values.shape[1]), axis=1)[:, -REFINED:]
    values = np.take_along_axis(values, chosen, axis=1)
    slot, place = np.divmod(chosen, places)
    every = np.arange(n)
    cards, cells = scores.cards[every[:, None], slot], scores.cells[every[:, None], place]
    by_hand, by_unseen = set_ups(games, np.repeat(every, chosen.shape[1]), cards.ravel(), cells.ravel())
    values += (weights["setups"] * by_hand + weights["setups_unseen"] * by_unseen).reshape(values.shape)
    actions: Ints = (cards * rules.num_cells + cells)[every, values.argmax(axis=1)]
    return actions


def candidate_actions(games: Batch, count: int) -> Bools:
    """Return the ``count`` best legal actions of each game, bool [n, A]. Set-ups are not counted."""
    rules, scores = games.rules, immediate_scores(games)
    values = _approximate_values(games, scores, _weights(rules, scores.left))
    n, _, places = values.shape
    values = values.reshape(n, -1)
    chosen = np.argpartition(values, -min(count, values.shape[1]), axis=1)[:, -count:]
    rows, found = np.nonzero(np.take_along_axis(values, chosen, axis=1) > ILLEGAL / 2)
    slot, place = np.divmod(chosen[rows, found], places)
    best = np.zeros((n, rules.num_actions), np.bool_)
    best[rows, scores.cards[rows, slot] * rules.num_cells + scores.cells[rows, place]] = True
    return best


def _approximate_values(games: Batch, scores: ImmediateScores, weights: dict[str, np.float32]) -> Floats:
    """Return values of all actions without their set-ups, float32 [n, H, e]."""
    tables = _tables(games.rules)
    at_once = scores.points + np.float32(DRAW_VALUE[games.rules.num_players == 1]) * scores.draws
    values = scores.points + weights["draws"] * scores.draws
    values += weights["best_other_cell"] * best_other(at_once, 2) + weights["best_other_card"] * best_other(at_once, 1)
    keep = np.array([weights[f"keep {card.rank}"] for card in CARDS], np.float32)
    values += (weights["penalty"] * tables.penalty[scores.cards] + keep[scores.cards])[:, :, None]
    around = (games.board[:, tables.adjacent] == EMPTY).sum(axis=2) - tables.edges
    empties = np.take_along_axis(around, scores.cells, axis=1).astype(np.float32)[:, None, :]
    if games.rules.num_players == 1 and scores.left:
        others = (scores.held - 1)[:, None, None]
        values += weights["draws_needed"] * np.minimum(scores.draws, np.maximum(scores.left - others, 0))
        values += np.float32(LOSS_VALUE) * (others + scores.draws == 0)
    values += (weights["empties"] + weights["opened_value_unseen"] * tables.average[scores.cards])[:, :, None] * empties
    return values


@cache
def _weights(rules: Rules, left: int) -> dict[str, np.float32]:
    """Return weights of the heuristic by name with ``left`` plays to come.

    Early weights are added in proportion. In the last play of a seat a draw costs the mean penalty of the deck.
    """
    last = left < rules.num_players
    weights = dict(zip(FEATURE_NAMES, weights_for(rules, last), strict=True))
    if last:
        return weights | {"draws": -_tables(rules).penalty[list(rules.deck)].mean()}
    early = np.float32(left / rules.num_plays)
    return {
        name: weight * early if name.startswith("keep") else weight + early * weights.get(f"{name} early", 0)
        for name, weight in weights.items()
    }


class _Tables(NamedTuple):
    average: Floats
    """[K]: mean over the deck of the points beside each card, negative points counted 0."""
    penalty: Floats
    """[K]: for each card left in hand."""
    adjacent: Ints
    """[C, 4]."""
    edges: Ints
    """[C]: sides of a cell at the edge of the grid."""


@cache
def _tables(rules: Rules) -> _Tables:
    grid = rules.grid
    points = derived_tables().points[: rules.num_cards, list(rules.deck)]
    return _Tables(
        average=np.maximum(points, 0).mean(axis=1).astype(np.float32),
        penalty=derived_tables().penalty[: rules.num_cards].astype(np.float32),
        adjacent=np.array(grid.adjacent),
        edges=np.array([adjacent.count(grid.off) for adjacent in grid.adjacent]),
    )
