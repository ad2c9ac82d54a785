"""What every legal play of many games brings, as dense arrays: what searching agents are made of.

`quincunx_agents.quincunx.heuristic` describes plays far better, and takes far longer; here a play costs a tenth of a microsecond.

Axes: n games, H slots of the hand to move, E slots of the legal cells.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from quincunx_agents.quincunx.heuristic import DRAW_VALUE, LOST, NAMES, rules_of, set_ups, weights_for, worth
from quincunx_env.core.cards import EMPTY
from quincunx_env.core.observation import Pieces
from quincunx_env.quincunx.batch import Batch
from quincunx_env.quincunx.cards import CARDS
from quincunx_env.quincunx.rules import ANNOUNCE_MIN, Rules
from quincunx_env.quincunx.scoring import PAIR_BONUS, basic, pair, penalty

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float32]

NOTHING = np.float32(-1e6)
"""Points and worth of what cannot be played."""

_FLOOR = np.float32(-20)
"""What a card or a cell is worth at least that is kept for later: it need not be played there."""


class Prices(NamedTuple):
    """The legal plays of n games, each priced for the seat to move."""

    held: Ints
    """[n]: cards in the hand to move; 0 in finished games."""
    cards: Ints
    """[n, H]: the cards of the hand in the first slots, 0 in the others."""
    cells: Ints
    """[n, E]: the legal cells, likewise."""
    points: Floats
    """[n, H, E]: points, `NOTHING` in slots without a card or a cell."""
    draws: Floats
    """[n, H, E]: cards that are really drawn."""
    left: int
    """Plays still to come after this one, of all seats."""


def price(batch: Batch) -> Prices:
    """Price every legal play of games at the same stage of a round, none of them announcing."""
    rules = batch.rules
    held, cards, card_slots = _slots(batch.card_mask())
    _, cells, cell_slots = _slots(batch.cell_mask())
    (n, hand), places = cards.shape, cells.shape[1]
    rows, slots = card_slots
    points, draws = batch.value(np.repeat(cards[card_slots], places), cells[rows].ravel(), np.repeat(rows, places))
    in_cell = np.zeros(cells.shape, np.bool_)
    in_cell[cell_slots] = True
    dense = np.full((n, hand, places), NOTHING)
    dense[rows, slots] = np.where(in_cell[rows], points.reshape(-1, places), NOTHING)
    drawn = np.zeros((n, hand, places), np.float32)
    pile = rules.pile_size - batch.drawn
    drawn[rows, slots] = np.minimum(draws.reshape(-1, places), pile[rows, None])
    return Prices(held, cards, cells, dense, drawn, rules.num_plays - int(batch.ply.max()) - 1)


def _slots(members: Bools) -> tuple[Ints, Ints, tuple[Ints, Ints]]:
    """Sets [n, m] as lists: how many members, [n]; the members in slots, [n, most]; row and slot of each member."""
    count = members.sum(axis=1)
    rows, found = members.nonzero()
    slots = np.arange(len(rows)) - (count.cumsum() - count)[rows]
    lists = np.zeros((len(members), max(int(count.max()), 1)), np.int64)
    lists[rows, slots] = found
    return count, lists, (rows, slots)


def best_other(worth: Floats, axis: int) -> Floats:
    """Along an axis, the largest of all the other entries, but not less than a floor."""
    if worth.shape[axis] == 1:
        return np.full_like(worth, _FLOOR)
    second, first = np.moveaxis(np.partition(worth, (-2, -1), axis=axis), axis, 0)[-2:]
    first, second = np.expand_dims(first, axis), np.expand_dims(second, axis)
    # Where two entries are the largest both, either is the other's.
    best: Floats = np.maximum(np.where(worth == first, second, first), _FLOOR)
    return best


@cache
def penalties(rules: Rules) -> Floats:
    """float32 [K]: what each card costs that is left in hand."""
    return np.array([penalty([card]) for card in range(rules.num_cards)], np.float32)


def play(games: Batch, actions: Ints) -> None:
    """Play a card into a cell in each game; with Simpleton the true points are announced. See `quincunx_agents.search.determinized.Game`."""
    rules = games.rules
    points, _ = games.value(*np.divmod(actions, rules.num_cells)) if rules.simpleton else (actions, actions)
    games.step(actions)
    if rules.simpleton:
        games.step(rules.num_plays_encoded + points - ANNOUNCE_MIN)


def plays_left(games: Batch) -> int:
    """See `quincunx_agents.search.determinized.Game`."""
    return games.rules.num_plays - int(games.ply[0])


def prior(observation: Pieces, mask: Bools) -> Floats:
    """See `quincunx_agents.search.determinized.Game`: the worth of `quincunx_agents.quincunx.heuristic`."""
    return worth(observation, mask, weights_for(rules_of(observation)))


CHOICE = 5
"""How many plays of each position `best` looks at closely."""


def best(games: Batch) -> Ints:
    """See `quincunx_agents.search.determinized.Game`: what is quickly told of `quincunx_agents.quincunx.heuristic.FEATURES`, with the weights found there."""
    rules, prices = games.rules, price(games)
    weights = _weights(rules, prices.left)
    worth = _at_a_glance(games, prices, weights)
    n, _, places = worth.shape
    worth = worth.reshape(n, -1)
    chosen = np.argpartition(worth, -min(CHOICE, worth.shape[1]), axis=1)[:, -CHOICE:]
    worth = np.take_along_axis(worth, chosen, axis=1)
    slot, place = np.divmod(chosen, places)
    every = np.arange(n)
    cards, cells = prices.cards[every[:, None], slot], prices.cells[every[:, None], place]
    by_hand, by_unseen = set_ups(games, np.repeat(every, chosen.shape[1]), cards.ravel(), cells.ravel())
    worth += (weights["setups"] * by_hand + weights["setups_unseen"] * by_unseen).reshape(worth.shape)
    actions: Ints = (cards * rules.num_cells + cells)[every, worth.argmax(axis=1)]
    return actions


def likely(games: Batch, count: int) -> Bools:
    """See `quincunx_agents.search.determinized.Game`: what is told at a glance, with the weights of the heuristic."""
    rules, prices = games.rules, price(games)
    worth = _at_a_glance(games, prices, _weights(rules, prices.left))
    n, _, places = worth.shape
    worth = worth.reshape(n, -1)
    chosen = np.argpartition(worth, -min(count, worth.shape[1]), axis=1)[:, -count:]
    rows, found = np.nonzero(np.take_along_axis(worth, chosen, axis=1) > NOTHING / 2)
    slot, place = np.divmod(chosen[rows, found], places)
    best = np.zeros((n, rules.num_actions), np.bool_)
    best[rows, prices.cards[rows, slot] * rules.num_cells + prices.cells[rows, place]] = True
    return best


def _at_a_glance(games: Batch, prices: Prices, weights: dict[str, np.float32]) -> Floats:
    """PlayScore of every play, without its set-ups, float32 [n, H, E]."""
    tables = _tables(games.rules)
    at_once = prices.points + np.float32(DRAW_VALUE[games.rules.num_players == 1]) * prices.draws
    worth = prices.points + weights["draws"] * prices.draws
    worth += weights["elsewhere"] * best_other(at_once, 2) + weights["instead"] * best_other(at_once, 1)
    keep = np.array([weights[f"keep {card.rank}"] for card in CARDS], np.float32)
    worth += (weights["penalty"] * tables.penalty[prices.cards] + keep[prices.cards])[:, :, None]
    around = (games.board[:, tables.adjacent] == EMPTY).sum(axis=2) - tables.edges
    empties = np.take_along_axis(around, prices.cells, axis=1).astype(np.float32)[:, None, :]
    if games.rules.num_players == 1 and prices.left:
        others = (prices.held - 1)[:, None, None]
        worth += weights["short"] * np.minimum(prices.draws, np.maximum(prices.left - others, 0))
        worth += np.float32(LOST) * (others + prices.draws == 0)
    worth += (weights["empties"] + weights["opens_unseen"] * tables.average[prices.cards])[:, :, None] * empties
    return worth


@cache
def _weights(rules: Rules, left: int) -> dict[str, np.float32]:
    """`heuristic.WEIGHTS` for a game with so many plays still to come."""
    weights = dict(zip(NAMES, weights_for(rules), strict=True))
    early = np.float32(left / rules.num_plays)
    return {
        name: weight * early if name.startswith("keep") else weight + early * weights.get(f"{name} early", 0)
        for name, weight in weights.items()
    }


class _Tables(NamedTuple):
    penalty: Floats
    """[K]: what each card costs that is left in hand."""
    average: Floats
    """[K]: what the cards of the deck score beside each card, on average."""
    adjacent: Ints
    """[C, 4]."""
    edges: Ints
    """[C]: how many sides of a cell lie at the edge of the grid."""


@cache
def _tables(rules: Rules) -> _Tables:
    deck, grid = rules.deck, rules.grid
    return _Tables(
        penalty=penalties(rules),
        average=np.array(
            [
                np.mean([max(basic(card, other)[0] + PAIR_BONUS * pair(card, other), 0) for other in deck])
                for card in range(rules.num_cards)
            ],
            np.float32,
        ),
        adjacent=np.array(grid.adjacent),
        edges=np.array([adjacent.count(grid.off) for adjacent in grid.adjacent]),
    )
