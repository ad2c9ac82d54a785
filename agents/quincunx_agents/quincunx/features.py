"""Afterstate features of Quincunx: of cells, cards and the whole position.

An afterstate leaves only the cards to be drawn and the other hands unknown. The set of empty cells describes the scores
of hand and unseen cards in each cell. The set of hand cards describes the scores of each in its best cells. The context
features describe the hand, the grid and the stage of the round. They are invariant under rotations and reflections of
the grid.

All options of the rules are supported. A match is played round by round. Announcements of the Simpleton are not actions
here.

Scales are not tuned: they bring usual values to the order of 1.

Axes: n positions, p of them in a chunk, j afterstates, K cards, C cells of the grid, H slots of the hand, A actions.
An afterstate has e cells. All afterstates of a chunk have w different cells. An element of a set has F features.
"""

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from quincunx_agents import ties
from quincunx_agents.afterstates import (
    SEATS,
    AfterstateFeatures,
    Afterstates,
    Bools,
    Feature,
    FeatureLayout,
    Floats,
    Ints,
    in_chunks,
    num_features,
    observer_for,
    one_hot,
    write_features,
)
from quincunx_agents.quincunx import heuristic
from quincunx_agents.quincunx.cell_values import ABSENT_VALUE, CellValues, cell_values, open_cells
from quincunx_agents.quincunx.replies import STEPS, best_card_odds, expected_best
from quincunx_agents.quincunx.threes import OpenThrees, open_threes
from quincunx_agents.quincunx.variants import OPTIONS
from quincunx_env.core.cards import EMPTY
from quincunx_env.core.observation import Pieces
from quincunx_env.quincunx.cards import CARDS, EXCUSE, PAWNS, SUITS
from quincunx_env.quincunx.rules import Rules
from quincunx_env.quincunx.tables import derived_tables

RANKS = Rules().ranks
"""Ranks with a one-hot feature. Pawns and the Excuse have other features."""

ACES, CROWNS = slice(0, 6), slice(30, 36)

DRAW_POINTS = 8.0
"""Points for a draw in the value of a card in a cell, as in the solitaire's heuristic (`heuristic.DRAW_VALUE`)."""

LARGE_GAIN = 15
"""Points above which a gain is large: a half of a three of a kind. Not tuned."""

FURTHER = len(OPTIONS) - 4
"""Options that the shipped networks do not know."""

MOST_CELLS = 24
"""The most elements of the set of cells. No grid has more empty cells, and in the open start the next card can come to
no more."""

MOST_CARDS = 39
"""The most elements of the set of cards. One of 41 lies face up, and one has been played."""


# --- Inputs of the features ------------------------------------------------------------------------------------------


class _Tables(NamedTuple):
    """Tables of the rules. An axis of K + 1 ends with `EMPTY` (-1)."""

    suits: Floats
    """[K, 6]."""
    ranks: Floats
    """[K, 10]: one-hot among `RANKS`."""
    same_rank: Floats
    """[K, K]: whether two cards have the same of these ranks."""
    power: Floats
    """[K + 1, 6]: points that a card in the grid adds to a power play in each suit."""
    penalty: Floats
    """[K]."""
    joined: Ints
    """[2, 2 * side * (side - 1)]: cells that share an edge."""
    pair_gains: Floats
    """[K, K]: basic points and pair of two adjacent cards, negative ones 0."""
    pair_draws: Floats
    """[K, K]: their draws."""
    players: Bools
    """[SEATS - 1]: whether there are 2, 3 or 4 players."""
    options: Ints
    """[4 + FURTHER]: numbers of the values of `variants.OPTIONS`."""


@cache
def _tables(rules: Rules) -> _Tables:
    derived, cards, cells = derived_tables(), range(rules.num_cards), range(rules.num_cells)
    faces = np.array([CARDS[card].features(RANKS) for card in cards], np.float32)
    ranks, suits = map(np.ascontiguousarray, np.split(faces, [len(RANKS)], axis=1))
    return _Tables(
        suits=suits,
        ranks=ranks,
        same_rank=ranks @ ranks.T,
        power=np.ascontiguousarray(derived.power[ACES][:, [*cards, EMPTY]].T, np.float32),  # an Ace has one suit
        penalty=derived.penalty[: rules.num_cards].astype(np.float32),
        joined=np.array([(cell, near) for cell in cells for near in rules.grid.adjacent[cell] if near < cell]).T,
        pair_gains=np.maximum(derived.points[: rules.num_cards, : rules.num_cards], 0).astype(np.float32),
        pair_draws=derived.draws[: rules.num_cards, : rules.num_cards].astype(np.float32),
        players=np.arange(2, SEATS + 1) == rules.num_players,
        options=np.array([option.number(getattr(rules, option.name)) for option in OPTIONS]),
    )


class _CellInputs(NamedTuple):
    """Scores of all cards in a cell."""

    points: Floats
    """[w, K]."""
    draws: Floats
    """[w, K]."""
    gains: Floats
    """[w, K]: points + `DRAW_POINTS` for each draw, negative ones 0."""
    share: Floats
    """[w, K]: share of each unseen card among all of them."""
    touching: Ints
    """[w]: adjacent cards."""
    edges: Ints
    """[w]: sides at the edge of the grid."""
    next_best: Floats
    """[w, 3]: expected points of the best card of the next seat's hand, where above each of `STEPS`."""
    others_best: Floats
    """[w, 3]: the same of all other hands together."""


class _OwnScores(NamedTuple):
    """Scores of the cards of the hand.

    The cards are in slots, so that not every card is computed. Afterstates are the last axis: it is the longest, and
    NumPy is fastest along it.
    """

    slots: Ints
    """[H, j]: the card in each slot."""
    filled: Bools
    """[H, j]: which slots hold a card."""
    present: Bools
    """[e, j]: False where the column only pads."""
    values: Floats
    """[H, e, j]: points + `DRAW_POINTS` for each draw; `ABSENT_VALUE` where a slot is empty or a column pads."""
    draws: Floats
    """[H, e, j]."""
    points: Floats
    """[H, e, j]."""
    best: Floats
    """[e, j]: value of the best card."""
    second: Floats
    """[e, j]: value of the second best."""


class _ContextInputs(NamedTuple):
    """Description of the position as a whole. Values are points + `DRAW_POINTS` for each draw."""

    rules: Rules
    tables: _Tables
    # Of each card.
    hand: Floats
    """[j, K]: 1 for each card kept."""
    share: Floats
    """[j, K]: share of each unseen card among all of them."""
    best_values: Floats
    """[j, K]: value of each card in its best cell, in units of 20 points."""
    most_draws: Floats
    """[j, K]: most draws of each card."""
    filled: Bools
    """[H, j]: which slots hold a card."""
    own_best_values: Floats
    """[H, j]: ``best_values`` of the cards of the hand."""
    own_best_points: Floats
    """[H, j]: most points of the cards of the hand, in units of 20."""
    # Of the position.
    open_cells: Bools
    """[j, C + 1]: empty cells where a card may still come."""
    threes: OpenThrees
    power: Floats
    """[j, 6]: points of a power play in each suit."""
    size: Floats
    """[j]: cards kept."""
    drawn: Floats
    """[j]: cards to be drawn."""
    pile: Floats
    """[j]: cards in the pile after that."""
    others: Floats
    """[j, SEATS - 1]: cards in the other hands, from the next seat on."""
    margins: Floats
    """[j, SEATS - 1]: lead in points of this round over each other seat."""
    left: Ints
    """[j]: plays of all seats still to come."""
    need: Floats
    """[j]: cards that the hand lacks for its plays still to come."""
    # The replies to come.
    next_best: Floats
    """[j, 3]: expected points of the best card of the next seat's hand in its best cell, where above `STEPS`."""
    others_best: Floats
    """[j, 3]: the same of all other hands together."""
    own_cells: Floats
    """[j, 3]: most points of the hand in the three best cells."""
    next_cells: Floats
    """[j, 3]: expected points of the best card of the next seat's hand in the three best cells."""


# --- The features ----------------------------------------------------------------------------------------------------

HAND_FEATURES: tuple[Feature[_OwnScores], ...] = (
    Feature("present", 1, lambda s: s.present, "1 for a cell, 0 for padding"),
    Feature("best_value", 20, lambda s: s.best, "value of the best card of the hand"),
    Feature("second_value", 20, lambda s: s.second, "value of the second best"),
    Feature("most_points", 20, lambda s: np.max(s.points, axis=0), "most points of a card of the hand"),
    Feature("most_draws", 1, lambda s: np.max(s.draws, axis=0), "most draws of a card of the hand"),
    Feature("all_gains", 30, lambda s: np.maximum(s.points, 0).sum(axis=0), "positive points of the hand, summed"),
    Feature("all_draws", 2, lambda s: s.draws.sum(axis=0), "draws of the hand, summed"),
)
"""Features of a cell that depend on the hand, [e, j] each."""

UNSEEN_FEATURES: tuple[Feature[_CellInputs], ...] = (
    # The average unseen card here.
    Feature("unseen_points", 5, lambda s: _mean(s.points, s.share), "mean points"),
    Feature("unseen_value", 10, lambda s: _mean(s.gains, s.share), "mean of the positive values"),
    Feature("unseen_gains", 5, lambda s: _mean(np.maximum(s.points, 0), s.share), "mean positive points"),
    Feature(
        "unseen_large_gains",
        5,
        lambda s: _mean(np.maximum(s.points - LARGE_GAIN, 0), s.share),
        "mean of the points above `LARGE_GAIN`",
    ),
    Feature("unseen_draws", 1, lambda s: _mean(s.draws, s.share) * 3, "mean draws, times 3"),
    Feature("touching", 1, lambda s: one_hot(s.touching, 0, 5), "number of adjacent cards, one-hot", 5),
    Feature("edges", 1, lambda s: s.edges, "sides at the edge of the grid"),
    # The replies to come.
    Feature("next_best", 15, lambda s: s.next_best, "points of the next seat's best card above `STEPS`", len(STEPS)),
    Feature("others_best", 15, lambda s: s.others_best, "points of the others' best card above `STEPS`", len(STEPS)),
)
"""The other features of a cell, [w] each: the same in all afterstates in which no card was played within reach."""

CELL_FEATURES: tuple[Feature[Any], ...] = (*HAND_FEATURES, *UNSEEN_FEATURES)
"""All features of a cell."""

CONTEXT_FEATURES: tuple[Feature[_ContextInputs], ...] = (
    # Threes in line that can be completed, and room.
    Feature("kind_hand", 1, lambda s: s.threes.kind_hand, "threes of a kind from the hand"),
    Feature("kind_mixed", 2, lambda s: s.threes.kind_mixed, "threes of a kind with an unseen card"),
    Feature("kind_unseen", 5, lambda s: s.threes.kind_unseen, "threes of a kind with two unseen cards"),
    Feature("straight_hand", 1, lambda s: s.threes.straight_hand, "straights from the hand"),
    Feature("straight_mixed", 4, lambda s: s.threes.straight_mixed, "straights with an unseen card"),
    Feature("straight_unseen", 10, lambda s: s.threes.straight_unseen, "straights with two unseen cards"),
    Feature("empty_threes", 5, lambda s: s.threes.empty, "threes in line without a card"),
    Feature(
        "empty_pairs",
        10,
        lambda s: (s.open_cells[:, s.tables.joined[0]] & s.open_cells[:, s.tables.joined[1]]).sum(axis=1),
        "adjacent empty cells",
    ),
    # Cards of the hand beside each other, and beside unseen cards.
    Feature(
        "hand_pair_points",
        50,
        lambda s: (s.hand @ s.tables.pair_gains * s.hand).sum(axis=1),
        "positive points of all pairs of cards of the hand",
    ),
    Feature("hand_pair_draws", 5, lambda s: (s.hand @ s.tables.pair_draws * s.hand).sum(axis=1), "their draws"),
    Feature(
        "unseen_pair_points",
        10,
        lambda s: (s.share @ s.tables.pair_gains * s.hand).sum(axis=1),
        "positive points of the cards of the hand beside the average unseen card",
    ),
    Feature("unseen_pair_draws", 1, lambda s: (s.share @ s.tables.pair_draws * s.hand).sum(axis=1), "their draws"),
    # The stage of the round, and the cards for the plays still to come.
    Feature("drawn", 2, lambda s: s.drawn, "cards to be drawn"),
    Feature("left", 10, lambda s: s.left, "plays of all seats still to come"),
    Feature("size", 5, lambda s: s.size, "cards kept"),
    Feature("pile", 20, lambda s: s.pile, "cards in the pile"),
    Feature("next_hand", 10, lambda s: s.others[:, 0], "cards in the next seat's hand"),
    Feature("need", 4, lambda s: s.need, "cards lacking for the own plays still to come, or -spare ones"),
    Feature("lacking", 3, lambda s: np.maximum(s.need, 0), "cards lacking, at least 0"),
    Feature("lacks", 1, lambda s: s.need > 0, "whether cards lack"),
    Feature("no_card", 1, lambda s: s.size == 0, "whether no card is kept"),
    Feature("one_card", 1, lambda s: s.size + s.drawn == 1, "whether there will be one card"),
    Feature("two_cards", 1, lambda s: s.size + s.drawn == 2, "whether there will be two cards"),
    Feature("last_plays", 1, lambda s: one_hot(s.left, 1, 4), "1, 2 or 3 plays to come, one-hot", 3),
    # Penalties.
    Feature("penalty", 40, lambda s: s.hand @ s.tables.penalty, "penalty for the hand if the round ended"),
    Feature("unseen_penalty", 10, lambda s: s.share @ s.tables.penalty, "penalty for the average unseen card"),
    # Each card in its best cell.
    Feature("best_values", 5, lambda s: (s.own_best_values * s.filled).sum(axis=0), "of the hand, summed"),
    Feature("best_value", 1, lambda s: np.max(s.own_best_values, axis=0), "of the best card of the hand"),
    Feature("best_points", 5, lambda s: (s.own_best_points * s.filled).sum(axis=0), "points of the hand, summed"),
    Feature("best_draws", 4, lambda s: (s.most_draws * s.hand).sum(axis=1), "most draws of the hand, summed"),
    Feature(
        "unplayable", 3, lambda s: ((s.own_best_points < 0) & s.filled).sum(axis=0), "cards that lose points anywhere"
    ),
    Feature("unseen_best_value", 1, lambda s: (s.share * s.best_values).sum(axis=1), "mean of the unseen cards"),
    Feature("unseen_best_draws", 1, lambda s: (s.share * s.most_draws).sum(axis=1), "mean of their most draws"),
    Feature("unseen_small_value", 1, lambda s: (s.share * np.minimum(s.best_values, 1)).sum(axis=1), "up to 20 points"),
    Feature(
        "unseen_large_value", 1, lambda s: (s.share * np.maximum(s.best_values - 1, 0)).sum(axis=1), "above 20 points"
    ),
    # Ranks, suits and power plays.
    Feature(
        "power_pairs", 1, lambda s: (s.hand[:, ACES] * s.hand[:, CROWNS]).sum(axis=1), "Aces and Crowns of one suit"
    ),
    Feature("ranks", 1, lambda s: s.hand @ s.tables.ranks, "cards of the hand by rank", len(RANKS)),
    Feature("suits", 3, lambda s: s.hand @ s.tables.suits, "cards of the hand by suit", len(SUITS)),
    Feature(
        "unseen_ranks", 1, lambda s: s.share @ s.tables.ranks * 5, "share of each rank unseen, times 5", len(RANKS)
    ),
    Feature("power", 20, lambda s: s.power, "points of a power play by suit", len(SUITS)),
    Feature("ace_power", 20, lambda s: s.hand[:, ACES] * s.power, "the same where the hand has the Ace", len(SUITS)),
    Feature(
        "crown_power", 20, lambda s: s.hand[:, CROWNS] * s.power, "the same where the hand has the Crown", len(SUITS)
    ),
    # The variant, the seat of the last play, and the other seats.
    Feature(
        "players",
        1,
        lambda s: s.tables.players,
        "2, 3 or 4 players, one-hot",
        SEATS - 1,
    ),
    Feature("open_start", 1, lambda s: s.rules.start == "open", "whether the start is open"),
    Feature(
        "last_seat",
        1,
        lambda s: one_hot(s.left % s.rules.num_players, 0, SEATS) & (s.rules.num_players > 1),
        "seat of the last play, counted from the mover, one-hot; 0 in the solitaire",
        SEATS,
    ),
    Feature("other_hands", 10, lambda s: s.others[:, 1:], "cards in the hands after the next seat's", SEATS - 2),
    Feature("margins", 50, lambda s: s.margins, "points of this round more than each other seat has", SEATS - 1),
    # The replies to come, and the options.
    Feature("reply_next", 20, lambda s: s.next_best, "points of the next seat's best play above `STEPS`", len(STEPS)),
    Feature("reply_others", 20, lambda s: s.others_best, "points of the others' best play above `STEPS`", len(STEPS)),
    Feature("own_cells", 20, lambda s: s.own_cells, "most points of the hand in the three best cells", 3),
    Feature("next_cells", 20, lambda s: s.next_cells, "points of the next seat's best card in the three best cells", 3),
    Feature(
        "options",
        1,
        lambda s: s.tables.options[:4],
        "whether Excuse, Pawns, flush bonus and contact are played with",
        4,
    ),
    Feature("pawns", 1, lambda s: s.hand[:, PAWNS.start : PAWNS.stop].sum(axis=1), "Pawns kept"),
    Feature("excuse", 1, lambda s: s.hand[:, EXCUSE:].sum(axis=1), "whether the Excuse is kept"),
    Feature(
        "unseen_pawns", 1, lambda s: s.share[:, PAWNS.start : PAWNS.stop].sum(axis=1) * 5, "share of the Pawns unseen"
    ),
    Feature("unseen_excuse", 1, lambda s: s.share[:, EXCUSE:].sum(axis=1) * 20, "share of the Excuse unseen"),
)
"""Features of the position as a whole, [j] or [j, size] each."""

if FURTHER:
    CONTEXT_FEATURES += (Feature("further_options", 1, lambda s: s.tables.options[4:], "other options", FURTHER),)


def _mean(values: Floats, share: Floats) -> Floats:
    """Average values [w, K] by the shares of the cards, float32 [w]."""
    mean: Floats = np.einsum("wk,wk->w", values, share)
    return mean


class _CardInputs(NamedTuple):
    """Scores of a card of the hand."""

    filled: Bools
    """[H, j]: which slots hold a card."""
    values: Floats
    """[H, j, 3]: values in the three best cells, the highest first; `ABSENT_VALUE` where there are fewer."""
    points: Floats
    """[H, j]: most points."""
    draws: Floats
    """[H, j]: most draws."""
    times_best: Ints
    """[H, j]: cells in which no card of the hand has a higher value."""
    lead: Floats
    """[H, j]: positive values beyond every other card of the hand, summed over the cells."""
    ranks: Floats
    """[H, j, 10]."""
    suits: Floats
    """[H, j, 6]."""
    penalty: Floats
    """[H, j]."""
    unseen: Floats
    """[H, j]: unseen cards of the same rank."""


CARD_FEATURES: tuple[Feature[_CardInputs], ...] = (
    Feature("present", 1, lambda s: s.filled, "1 for a card, 0 for padding"),
    Feature("values", 20, lambda s: s.values, "values in the three best cells", 3),
    Feature("points", 20, lambda s: s.points, "most points"),
    Feature("draws", 1, lambda s: s.draws, "most draws"),
    Feature("times_best", 4, lambda s: s.times_best, "cells in which no card of the hand has a higher value"),
    Feature("lead", 20, lambda s: s.lead, "positive values beyond the rest of the hand, summed over the cells"),
    Feature("rank", 1, lambda s: s.ranks, "rank, one-hot", len(RANKS)),
    Feature("suits", 1, lambda s: s.suits, "suits", len(SUITS)),
    Feature("penalty", 10, lambda s: s.penalty, "penalty if the card were left"),
    Feature("unseen", 2, lambda s: s.unseen, "unseen cards of the same rank"),
)
"""Features of a card of the hand, [H, j] or [H, j, size] each."""

LAYOUT = FeatureLayout(
    sets=((MOST_CELLS, num_features(CELL_FEATURES)), (MOST_CARDS, num_features(CARD_FEATURES))),
    context=num_features(CONTEXT_FEATURES),
    further=FURTHER,
)
"""Two sets, the empty cells and the cards of the hand, and the context."""


# --- Afterstates -----------------------------------------------------------------------------------------------------


def afterstates_of(rules: Rules, observation: Pieces, mask: Bools) -> Afterstates:
    """Return the afterstates of all legal actions. Implements `quincunx_agents.afterstates.FeatureModule`."""
    tables, num_cells, players = _tables(rules), rules.num_cells, rules.num_players
    n, encoded = len(mask), rules.num_plays_encoded
    rows, actions = np.divmod(np.flatnonzero(mask[:, :encoded]), encoded)
    cards, cells = np.divmod(actions, num_cells)
    points, draws = observation["preview"].reshape(n, -1, 2)[rows, actions].T.astype(np.float32)
    counts = {name: count.astype(np.float32) for name, count in observer_for(rules).named_counts(observation).items()}
    draws = np.minimum(draws, counts["pile"][rows])
    board = np.concatenate([observation["board"], np.full((n, 1), EMPTY, np.int8)], axis=1)
    hand = observation["hand"].astype(np.float32)
    unseen, hidden = heuristic.unseen_cards(rules, board, hand > 0)
    left = rules.setup.filled - (board != EMPTY).sum(axis=1) - 1  # plays of all seats after this one
    keeps = hand.sum(axis=1) - 1
    others = np.zeros((n, SEATS - 1), np.float32)
    margins = np.zeros((len(rows), SEATS - 1), np.float32)
    for seat in range(1, players):
        others[:, seat - 1] = counts[f"hand_size_{seat}"]
        margins[:, seat - 1] = (counts["score_0"] - counts[f"score_{seat}"])[rows] + points

    penalties = (hand @ tables.penalty)[rows] - tables.penalty[cards]
    average = (unseen @ tables.penalty / hidden)[rows]
    last = left[rows] == 0
    # The cards drawn last, and the other hands, have the expected penalty of as many unseen cards.
    known_values = np.full((len(rows), SEATS), np.nan, np.float32)
    known_values[last, 0] = (-average * draws - penalties)[last]
    known_values[last, 1:] = (-average[:, None] * others[rows])[last]
    if players == 1:
        lost = (left[rows] > 0) & (keeps[rows] + draws == 0)
        known_values[lost] = 0
        known_values[lost, 0] = -(counts["score_0"][rows] + points)[lost]  # a lost round counts 0 in all
    chunks = []
    unknown = np.isnan(known_values[:, 0])
    for stage in np.unique(left[rows[unknown]]):
        of_stage = np.flatnonzero(unknown & (left[rows] == stage))
        for at in in_chunks(of_stage):
            row = rows[at]
            positions, position = np.unique(row, return_inverse=True)
            kept, pile = hand[row], counts["pile"][row] - draws[at]
            kept[np.arange(len(at)), cards[at]] = 0
            plays = _Plays(position, cards[at], cells[at], kept, draws[at], pile, others[row], margins[at])
            chunks.append((at, _features(rules, board[positions], unseen[positions], plays)))
    return Afterstates(rows, actions, points, known_values, tuple(chunks))


def shortlist(rules: Rules, observation: Pieces, mask: Bools, count: int) -> Bools:
    """Return the heuristic's best actions, bool [n, A]; see `quincunx_agents.afterstates.FeatureModule`."""
    if not count:
        return mask
    found = heuristic.action_features(rules, observation, mask)
    preferred = ties.highest_of_rows(heuristic.values_of(rules, found), found.rows, count)
    shortest = np.zeros((len(mask), rules.num_plays_encoded), np.bool_)
    shortest[found.rows[preferred], found.actions[preferred]] = True
    return shortest


class _Plays(NamedTuple):
    """Actions whose afterstates are described."""

    position: Ints
    """[j]: the position before, ascending."""
    card: Ints
    """[j]."""
    cell: Ints
    """[j]."""
    hand: Floats
    """[j, K]: 1 for each card kept."""
    drawn: Floats
    """[j]: cards to be drawn."""
    pile: Floats
    """[j]: cards in the pile after that."""
    others: Floats
    """[j, SEATS - 1]: cards in the other hands, from the next seat on."""
    margins: Floats
    """[j, SEATS - 1]: lead in points of this round over each other seat."""


class _Described(NamedTuple):
    """Afterstates whose features are computed."""

    rules: Rules
    tables: _Tables
    plays: _Plays
    before: npt.NDArray[np.int8]
    """[p, C + 1]: boards of the positions."""
    board: npt.NDArray[np.int8]
    """[j, C + 1]."""
    open_cells: Bools
    """[j, C + 1]: empty cells where a card may still come."""
    unseen: Floats
    """[p, K]: 1 for each card in the pile or another hand."""
    share: Floats
    """[p, K]: share of each unseen card among all of them."""
    scores: CellValues
    """Scores of all cards in the cells."""
    odds: list[Floats]
    """Odds of the best cards of the other hands, [p, K] each; see `best_card_odds`."""
    in_cell: list[Floats]
    """Expected points of these cards in each cell, [w, 3] each; see `expected_best`."""


def _features(rules: Rules, before: npt.NDArray[np.int8], unseen: Floats, plays: _Plays) -> AfterstateFeatures:
    """Compute the features of j afterstates at the same stage.

    Args:
        rules: of the game.
        before: boards of the positions, int8 [p, C + 1].
        unseen: 1 for each card in the pile or another hand, [p, K].
        plays: the actions.
    """
    board = before[plays.position]
    board[np.arange(len(board)), plays.cell] = plays.card
    room, playable = open_cells(rules, board)
    scores = cell_values(rules, before, board, playable, plays.position, plays.card, plays.cell)
    first_play = np.searchsorted(plays.position, np.arange(len(before)))
    hidden, at = unseen > 0, scores.position
    odds = best_card_odds(hidden, plays.others[first_play], rules)  # the same in all afterstates of a position
    in_cell = expected_best(scores.points[:-1], hidden[at], [each[at] for each in odds])
    share = unseen / np.maximum(unseen.sum(axis=1), 1)[:, None]
    of = _Described(rules, _tables(rules), plays, before, board, room, unseen, share, scores, odds, in_cell)
    own = _own_scores(of)
    return AfterstateFeatures((_cell_set(of, own), _card_set(of, own)), _context(of, own))


def _own_scores(of: _Described) -> _OwnScores:
    """Score the cards of the hand in each cell."""
    found, hand = of.scores, of.plays.hand
    size = hand.sum(axis=1)
    slots = np.argsort(-hand, axis=1, stable=True)[:, : max(int(np.max(size)), 2)].T
    numbers = np.arange(len(slots))
    filled = numbers[:, None] < size
    at = found.cells * of.rules.num_cards + slots[:, None]
    points, draws = (scores.take(at).astype(np.float32) for scores in (found.points, found.draws))
    draws *= filled[:, None]
    values = np.where(filled[:, None], points + DRAW_POINTS * draws, ABSENT_VALUE)
    best = values.argmax(axis=0)
    return _OwnScores(
        slots=slots,
        filled=filled,
        present=found.present,
        values=values,
        draws=draws,
        points=values - DRAW_POINTS * draws,
        best=np.max(values, axis=0),
        second=np.max(np.where(numbers[:, None, None] == best, ABSENT_VALUE, values), axis=0),
    )


def _cell_set(of: _Described, own: _OwnScores) -> Floats:
    """Compute features of the cells, float32 [j, e, F]."""
    found = of.scores
    of_hand, of_cell = map(num_features, (HAND_FEATURES, CELL_FEATURES))
    points, draws = (scores[:-1].astype(np.float32) for scores in (found.points, found.draws))
    inputs = _CellInputs(
        points=points,
        draws=draws,
        gains=np.maximum(points + DRAW_POINTS * draws, 0),
        share=of.share[found.position],
        touching=found.touching,
        edges=found.edges,
        next_best=of.in_cell[0],
        others_best=of.in_cell[-1],
    )
    of_unseen = np.zeros((len(found.points), of_cell - of_hand), dtype=np.float32)
    write_features(UNSEEN_FEATURES, inputs, of_unseen[:-1])  # the last row only pads
    num_cells, j = found.cells.shape
    cell_set: Floats = np.empty((j, num_cells, of_cell), dtype=np.float32)
    write_features(HAND_FEATURES, own, np.transpose(cell_set, (1, 0, 2))[..., :of_hand])
    cell_set[..., :of_hand] *= found.present.T[:, :, None]
    cell_set[..., of_hand:] = np.take(of_unseen, found.cells.T.reshape(-1), axis=0).reshape(j, num_cells, -1)
    return cell_set


def _card_set(of: _Described, own: _OwnScores) -> Floats:
    """Compute features of the cards of the hand, float32 [j, H, F]."""
    tables, slots, j = of.tables, own.slots, len(of.board)
    others = np.where(own.values < own.best, own.best, own.second)
    same_rank = (of.unseen @ tables.same_rank)[of.plays.position]
    inputs = _CardInputs(
        filled=own.filled,
        values=_three_best(own.values),
        points=np.max(own.points, axis=1),
        draws=np.max(own.draws, axis=1),
        times_best=((own.values >= others) & own.present).sum(axis=1),
        lead=np.maximum(own.values - np.maximum(others, 0), 0).sum(axis=1),
        ranks=tables.ranks[slots],
        suits=tables.suits[slots],
        penalty=tables.penalty[slots],
        unseen=same_rank.take(slots + of.rules.num_cards * np.arange(j)),
    )
    card_set: Floats = np.empty((j, len(slots), num_features(CARD_FEATURES)), dtype=np.float32)
    write_features(CARD_FEATURES, inputs, np.transpose(card_set, (1, 0, 2)))
    card_set *= own.filled.T[:, :, None]
    return card_set


def _context(of: _Described, own: _OwnScores) -> Floats:
    """Compute features of the position as a whole, float32 [j, G]."""
    rules, plays, tables, position = of.rules, of.plays, of.tables, of.plays.position
    cards = of.before[:, :-1].astype(np.int64)
    size, left, share = plays.hand.sum(axis=1), rules.setup.filled - (of.board != EMPTY).sum(axis=1), of.share[position]
    best_values, most_draws, most_points = _best_cells(of)
    anywhere = expected_best(most_points, (of.unseen > 0)[position], [each[position] for each in of.odds])
    padded = np.concatenate([of.in_cell[0][:, 0], np.zeros(1, dtype=np.float32)])
    inputs = _ContextInputs(
        rules=rules,
        tables=tables,
        hand=plays.hand,
        share=share,
        best_values=best_values.astype(np.float32) / np.float32(20),
        most_draws=most_draws.astype(np.float32),
        filled=own.filled,
        own_best_values=np.max(own.values, axis=1) / 20,
        own_best_points=np.max(own.points, axis=1) / 20,
        open_cells=of.open_cells,
        threes=open_threes(rules, of.board, of.open_cells, plays.hand, of.unseen[position]),
        power=tables.power[cards].sum(axis=1)[position] + tables.power[plays.card],
        size=size,
        drawn=plays.drawn,
        pile=plays.pile,
        others=plays.others,
        margins=plays.margins,
        left=left,
        need=left // rules.num_players - size - plays.drawn,
        next_best=anywhere[0],
        others_best=anywhere[-1],
        own_cells=_three_best(np.max(own.points, axis=0)),
        next_cells=_three_best(padded.take(of.scores.cells)),
    )
    context: Floats = np.empty((len(of.board), LAYOUT.context), dtype=np.float32)
    write_features(CONTEXT_FEATURES, inputs, context)
    return context


def _best_cells(of: _Described) -> list[npt.NDArray[np.int16]]:
    """Return each card's best value, draws and points, int16 [j, K]. Each is in the cell where it is highest."""
    found, num_cards = of.scores, of.rules.num_cards
    kinds = [found.points + int(DRAW_POINTS) * found.draws, found.draws, found.points]
    by_cell = np.concatenate(kinds, axis=1)  # side by side
    best = np.take(by_cell, found.cells[0], axis=0)
    for cells in found.cells[1:]:
        best = np.maximum(best, np.take(by_cell, cells, axis=0))
    return [best[:, start : start + num_cards] for start in range(0, 3 * num_cards, num_cards)]


def _three_best(values: Floats) -> Floats:
    """Return the three highest of values [..., e, j], highest first, [..., j, 3]. Missing values are `ABSENT_VALUE`."""
    best = -np.sort(-values, axis=-2)[..., :3, :]
    missing = [np.full_like(values[..., :1, :], ABSENT_VALUE)] * (3 - best.shape[-2])
    three: Floats = np.moveaxis(np.concatenate([best, *missing], axis=-2), -2, -1)
    return three
