"""Afterstate features of Quincunx: they agree with the plain functions of scoring, and known values with the engine."""

from collections.abc import Sequence
from itertools import combinations, cycle
from typing import Any

import numpy as np
import pytest

from quincunx_agents.afterstates import Feature, num_features
from quincunx_agents.quincunx.features import (
    CARD_FEATURES,
    CELL_FEATURES,
    CONTEXT_FEATURES,
    DRAW_POINTS,
    LAYOUT,
    MOST_CELLS,
    afterstates_of,
)
from quincunx_agents.quincunx.replies import STEPS, _odds, expected_best
from quincunx_agents.uniform import uniform
from quincunx_env.quincunx import scoring
from quincunx_env.quincunx.rules import Rules
from tests.agents.positions import QUINCUNX_VARIANTS, dealt, in_progress, positions, seen

RNG = np.random.default_rng(0)


def test_layout_follows_from_the_lists() -> None:
    cells, cards = (features for _, features in LAYOUT.sets)
    lists: list[Sequence[Feature[Any]]] = [CELL_FEATURES, CARD_FEATURES, CONTEXT_FEATURES]
    assert [num_features(features) for features in lists] == [cells, cards, LAYOUT.context]
    for features in lists:
        assert len({feature.name for feature in features}) == len(features)
    shipped = LAYOUT._replace(context=LAYOUT.context - LAYOUT.further, further=0)
    assert shipped == (((24, 24), (39, 26)), 115, 0), "the shipped weights are for this layout"


@pytest.mark.parametrize(
    ("rules", "plies"), [*zip(QUINCUNX_VARIANTS.values(), cycle([8, 0, 3]))], ids=QUINCUNX_VARIANTS
)
def test_unseen_cards_in_each_cell_score_as_the_rules_say(rules: Rules, plies: int) -> None:
    """Means over the unseen cards, computed from `scoring.score` for some actions of each position."""
    batch = positions(rules, plies)
    plays = afterstates_of(rules, *seen(batch))
    checked = 0
    for at, described in plays.chunks:
        for number in range(0, len(at), 37):
            row, (card, cell) = plays.rows[at[number]], divmod(int(plays.actions[at[number]]), rules.num_cells)
            board = batch.board[row].tolist()
            board[cell] = card
            hand = batch.hands[row, batch.mover[row]]
            held = {card for card in rules.deck if int(hand) >> card & 1}
            unseen = [card for card in rules.deck if card not in held and card not in board]
            after = batch.fork(np.array([row]))
            after.step(plays.actions[at[number]][None])
            empty = [place for place in range(rules.num_cells) if board[place] == -1]
            if rules.start == "open":
                empty = np.flatnonzero(after.cell_mask[0]).tolist()
            scores = [[scoring.score(rules, board, place, other) for other in unseen] for place in empty]
            mean = [np.mean([score.points for score in of_cell]) for of_cell in scores]
            drawn = [np.mean([len(score.draws) for score in of_cell]) for of_cell in scores]
            cells = described.sets[0][number]
            assert cells[:, 0].tolist() == [1] * len(empty) + [0] * (len(cells) - len(empty))
            assert not cells[len(empty) :].any(), "padding is all zeros"
            cells = cells[: len(empty)]
            assert cells[:, 7] * 5 == pytest.approx(mean, abs=1e-4)
            assert cells[:, 11] / 3 == pytest.approx(drawn, abs=1e-4)
            assert (cells[:, 12:17].sum(axis=1) == 1).all()
            assert len(empty) <= MOST_CELLS
            checked += 1
    assert checked


@pytest.mark.parametrize("rules", QUINCUNX_VARIANTS.values(), ids=QUINCUNX_VARIANTS)
def test_cards_of_the_hand_score_as_the_rules_say(rules: Rules) -> None:
    """Their values in all cells, computed from `scoring.score` for some actions of each position."""
    batch = positions(rules, 4)
    observation, mask = seen(batch)
    plays = afterstates_of(rules, observation, mask)
    for at, described in plays.chunks:
        for number in range(0, len(at), 53):
            row, (card, cell) = plays.rows[at[number]], divmod(int(plays.actions[at[number]]), rules.num_cells)
            board = batch.board[row].tolist()
            board[cell] = card
            hand = [other for other in rules.deck if observation["hand"][row, other] and other != card]
            after = batch.fork(np.array([row]))
            after.step(plays.actions[at[number]][None])
            empty = after.cell_mask[0] if rules.start == "open" else np.array(board[:-1]) == -1
            places = np.flatnonzero(empty).tolist()
            scores = [[scoring.score(rules, board, place, other) for place in places] for other in hand]
            points = np.array([[score.points for score in of_card] for of_card in scores])
            draws = np.array([[len(score.draws) for score in of_card] for of_card in scores])
            values = points + DRAW_POINTS * draws
            cards = described.sets[1][number]
            assert cards[:, 0].tolist() == [1] * len(hand) + [0] * (len(cards) - len(hand))
            assert not cards[len(hand) :].any(), "padding is all zeros"
            cards = cards[: len(hand)]
            assert cards[:, 1:4] * 20 == pytest.approx(-np.sort(-values, axis=1)[:, :3], abs=1e-4)
            assert cards[:, 4] * 20 == pytest.approx(points.max(axis=1), abs=1e-4)
            assert cards[:, 5].tolist() == draws.max(axis=1).tolist()
            assert cards[:, 6] * 4 == pytest.approx((values == values.max(axis=0)).sum(axis=1))
            rest = np.array([np.delete(values, which, axis=0).max(axis=0) for which in range(len(hand))])
            lead = np.maximum(values - np.maximum(rest, 0), 0).sum(axis=1)
            assert cards[:, 7] * 20 == pytest.approx(lead, abs=1e-4)


@pytest.mark.parametrize("held", [1, 3, 9])
def test_expected_best_card_of_a_hand(held: int) -> None:
    """Compared with the mean over all hands, or over many dealt at random."""
    rng = np.random.default_rng(held)
    points, unseen = rng.integers(-20, 60, 12).astype(np.int16), np.ones(12, np.bool_)
    unseen[[2, 5]] = False
    hands = points[np.array(list(combinations(np.flatnonzero(unseen), held)))]
    expected = [np.maximum(hands.max(axis=1) - step, 0).mean() for step in STEPS]
    (found,) = expected_best(points[None], unseen[None], [_odds()[None, 10, held, :12]])
    assert found[0] == pytest.approx(expected, rel=1e-4)


def test_replies_and_options() -> None:
    """What the next seat's hand scores in a cell lies between the means over one and over all unseen cards."""
    rules = QUINCUNX_VARIANTS["3-open-excuse-flush"]
    plays = afterstates_of(rules, *seen(positions(rules, 4)))
    for _, described in plays.chunks:
        cells, context = described.sets[0], described.context
        names = [name for feature in CELL_FEATURES for name in [feature.name] * feature.size]
        gains = cells[..., names.index("unseen_gains")] * 5
        following, others = cells[..., 18] * 15, cells[..., 21] * 15
        assert (following >= gains - 1e-3).all()
        assert (others >= following - 1e-3).all()
        assert (following > gains + 0.1).any()
        assert (others > following + 0.1).any()
        start = num_features(CONTEXT_FEATURES[: [feature.name for feature in CONTEXT_FEATURES].index("reply_next")])
        assert (context[:, start : start + 3] * 20 >= following.max(axis=1)[:, None] * [1, 0, 0] - 1e-3).all()
        assert context[:, start + 12 : start + 16].tolist() == [[1, 0, 1, 0]] * len(context), "the options"


@pytest.mark.parametrize("name", ["2-corners", "3-open-excuse-flush", "4-corners"])
def test_margins_and_the_best_cells_of_the_hand(name: str) -> None:
    """In points; each of the three best cells with the card of the hand that scores most there."""
    rules = QUINCUNX_VARIANTS[name]
    batch = positions(rules, 4)
    plays = afterstates_of(rules, *seen(batch))
    names = [name for feature in CONTEXT_FEATURES for name in [feature.name] * feature.size]
    for at, described in plays.chunks:
        for number in range(0, len(at), 19):
            row, action = plays.rows[at[number]], plays.actions[at[number]]
            mover, points = int(batch.mover[row]), int(plays.points[at[number]])
            scores = np.roll(batch.scores[row], -mover)
            margins = scores[0] + points - scores[1:]
            context = described.context[number]
            start = names.index("margins")
            assert context[start : start + len(margins)] * 50 == pytest.approx(margins)
            after = batch.fork(np.array([row]))
            after.step(action[None])
            card, cell = divmod(int(action), rules.num_cells)
            board = batch.board[row].tolist()
            board[cell] = card
            hand = [other for other in rules.deck if other != card and int(batch.hands[row, mover]) >> other & 1]
            empty = np.flatnonzero(after.cell_mask[0]).tolist()
            best = sorted(max(scoring.score(rules, board, place, other).points for other in hand) for place in empty)
            start = names.index("own_cells")
            assert context[start : start + 3] * 20 == pytest.approx(best[:-4:-1])


def test_known_values() -> None:
    """After the last play only penalties come; a lost round counts 0 in all. There are no features of these."""
    rules = Rules()
    batch = dealt(rules, 60)
    lost = ended = 0
    for rows, live in in_progress(batch):
        observation, mask = seen(live)
        plays = afterstates_of(rules, observation, mask)
        known = ~np.isnan(plays.known_values[:, 0])
        assert known.sum() + sum(len(at) for at, _ in plays.chunks) == len(known)
        actions = uniform({}, mask, RNG)
        chosen = plays.actions == actions[plays.rows]
        before = live.scores[:, 0].copy()
        drawn = live.drawn.copy()
        live.step(actions)
        for row in np.flatnonzero(known[chosen]):
            certain, points = plays.known_values[chosen][row, 0], plays.points[chosen][row]
            if live.lost[row]:
                assert before[row] + points + certain == 0
                lost += 1
            elif live.drawn[row] == drawn[row]:
                assert before[row] + points + certain == live.scores[row, 0]
                ended += 1
        assert (live.over == known[chosen]).all()
        batch.step(actions, rows)
    assert lost
    assert ended


@pytest.mark.parametrize("players", [2, 3, 4])
def test_expected_penalties(players: int) -> None:
    """After the last play: one's own cards are known, what others hold costs what unseen cards cost on average."""
    rules = Rules(num_players=players)
    batch = positions(rules, rules.num_plays - 1, games=40)
    plays = afterstates_of(rules, *seen(batch))
    expected, happened = np.zeros(players), np.zeros(players)
    for number in range(len(plays.rows)):
        after = batch.fork(plays.rows[number : number + 1])
        mover, before = int(after.mover[0]), after.scores[0].copy()
        drawn = int(after.drawn[0])
        after.step(plays.actions[number : number + 1])
        gains = np.roll(after.scores[0] - before, -mover)
        gains[0] -= plays.points[number]
        if drawn == after.drawn[0]:
            assert gains[0] == pytest.approx(plays.known_values[number, 0])
        expected += plays.known_values[number, :players]
        happened += gains
    assert expected == pytest.approx(happened, rel=0.25)
