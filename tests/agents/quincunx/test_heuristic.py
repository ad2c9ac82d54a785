"""The heuristic: legal in every variant, a function of the observation, and not blind to the obvious."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest

from quincunx_agents.heuristic import heuristic
from quincunx_agents.quincunx.heuristic import (
    FEATURE_NAMES,
    FEATURES,
    WEIGHT_COLUMNS,
    WEIGHTS,
    action_features,
)
from quincunx_agents.quincunx.rollout_policy import ILLEGAL, candidate_actions, immediate_scores, rollout_actions
from quincunx_env.quincunx.batch import Batch
from quincunx_env.quincunx.cards import parse_card, parse_cards
from quincunx_env.quincunx.deal import Deal
from quincunx_env.quincunx.rules import ANNOUNCE_MIN, Rules
from quincunx_env.quincunx.scoring import penalty
from tests.agents.positions import dealt, in_progress, positions, seen
from tests.variants import VARIANTS, by_name, slow_unless_covering

RNG = np.random.default_rng(0)


def deal(rules: Rules, face_up: str, *hands: str) -> Batch:
    """A game with these cards; the pile holds the rest in the order of their ids."""
    known = parse_cards(face_up), tuple(map(parse_cards, hands))
    seen = {*known[0], *(card for hand in known[1] for card in hand)}
    batch = Batch(rules, 1)
    batch.reset(deals=[Deal(*known, tuple(card for card in rules.deck if card not in seen))])
    return batch


def choose(batch: Batch) -> npt.NDArray[np.int64]:
    """What the heuristic does in each game."""
    return heuristic.for_rules(batch.rules)(*seen(batch), RNG)


def play(batch: Batch, *plays: tuple[str, Sequence[int]]) -> None:
    """Play cards, by name, into (row, column)."""
    for card, (row, column) in plays:
        batch.step([parse_card(card) * batch.rules.num_cells + batch.rules.grid.cell((row, column))])


@by_name(VARIANTS, slow_unless_covering)
def test_plays_every_variant_to_its_end(rules: Rules) -> None:
    """The engine refuses illegal plays; announcements are true."""
    batch = dealt(rules, 3, 7)
    for rows, live in in_progress(batch):
        chosen = choose(live)
        announcing = live.pending[:, 0] >= 0
        if announcing.any():
            cards, cells = live.pending[announcing].T
            points, _ = live.value(cards, cells, np.flatnonzero(announcing))
            assert (chosen[announcing] == rules.num_plays_encoded + points - ANNOUNCE_MIN).all()
        batch.step(chosen, rows)


@pytest.mark.parametrize("name", ["solitaire", "corners-2+simpleton", "open-3", "corners-4+excuse+pawns+flush+match"])
def test_positions_are_strangers_to_each_other(name: str) -> None:
    """The choice depends on nothing but the observation: not on the generator, not on the other positions."""
    rules = VARIANTS[name]
    policy = heuristic.for_rules(rules)
    batch = dealt(rules, 8, 3)
    for _ in range(4):
        observation, mask = seen(batch)
        together = policy(observation, mask, np.random.default_rng(1))
        assert policy.action_values(observation, mask, RNG).shape == mask.shape
        for row in range(8):
            one = {key: piece[row : row + 1] for key, piece in observation.items()}
            assert policy(one, mask[row : row + 1], np.random.default_rng(2)) == together[row]
        batch.step(together)


def test_takes_a_three_of_a_kind() -> None:
    """Seat 0 has laid a second seven beside the corner's, and seat 1 holds the third."""
    rules = Rules(num_players=2)
    hands = "7VY 2SY 3SK 4MS 6LK 8VL CY AM 9LK 2MK", "7ML 2VL 3MV 4YK 5ML 6MV 8MS CM CS CV"
    batch = deal(rules, "7SK AS 5SV AV AL", *hands)
    play(batch, ("7VY", (0, 1)))
    assert choose(batch) == parse_card("7ML") * 25 + 2


def test_does_not_run_out_of_cards_while_it_can_draw() -> None:
    """Down to two cards with much to fill: a draw has a higher value than a few points."""
    batch = deal(Rules(), "AS AV AL AK", "2MK 2SY 3MV 3SK 4YK 4MS 5SV 9LK")
    plays = [("2MK", (1, 1)), ("2SY", (1, 2)), ("3MV", (2, 1)), ("3SK", (2, 2)), ("4YK", (0, 2)), ("4MS", (2, 0))]
    for card, place in plays:
        play(batch, (card, place))
    before = int(batch.drawn[0])
    batch.step(choose(batch))
    assert not batch.lost[0]
    assert batch.drawn[0] > before


@pytest.mark.parametrize("name", ["solitaire", "solitaire+excuse+pawns", "corners-2", "open-3"])
def test_the_last_play_is_worth_its_points_less_the_penalties(name: str) -> None:
    """In the last play of a round nothing else counts: a draw costs the mean penalty of the unseen cards.

    The rollout policy takes the mean of the deck for it.
    """
    rules, games = VARIANTS[name], 30
    batch = dealt(rules, games)
    for _ in range(rules.num_plays - 1):
        batch.step(np.where(batch.over, 0, choose(batch)))
    rows = np.flatnonzero(~batch.over)
    batch = batch.fork(rows)
    chosen, rolled, drawing = choose(batch), rollout_actions(batch), 0
    for row in range(len(rows)):
        hand = np.flatnonzero(batch.card_mask[row])
        pile = rules.pile_size - int(batch.drawn[row])
        unseen = {*rules.deck} - {*batch.board[row].tolist()} - {*hand.tolist()}
        for means, action in ((unseen, chosen[row]), (rules.deck, rolled[row])):
            mean = penalty([*means]) / max(len(means), 1)
            plays = np.flatnonzero(batch.mask[row])
            points, draws = batch.value(*np.divmod(plays, rules.num_cells), np.full(len(plays), row))
            values = (
                points + [penalty([int(play) // rules.num_cells]) for play in plays] - mean * np.minimum(draws, pile)
            )
            assert values[plays == action] == pytest.approx(values.max())
            drawing += int(draws[values.argmax()] == 0 < draws.max())
    assert drawing


def test_features_say_what_they_mean() -> None:
    """Two players; 7SK lies at the corner, and seat 0 holds two more sevens."""
    rules = Rules(num_players=2)
    batch = deal(
        rules, "7SK AS 5SV AV AL", "7VY 7ML 2SY 3SK 4MS 6LK 8VL CY AM 9LK", "2MK 2VL 3MV 4YK 5ML 6MV 8MS CM CS CV"
    )
    plays = action_features(rules, *seen(batch))
    beside = np.flatnonzero(plays.actions == parse_card("7VY") * 25 + 1)[0]
    said = dict(zip(FEATURE_NAMES, plays.features[beside].tolist(), strict=True))
    assert said["points"] == 4 + 5
    assert said["draws"] == said["draws_needed"] == 0
    assert said["setups"] == 30, "7ML would complete a three at (0, 2)"
    assert said["setups_unseen"] == 0, "no seven is unseen"
    assert said["empties"] == 2
    assert said["penalty"] == 7
    assert said["best_other_cell"] >= 9
    assert said["keep 7"] > 0
    assert said["keep 8"] == 0


def test_every_feature_has_a_weight_in_every_game() -> None:
    assert tuple(WEIGHTS) == FEATURE_NAMES
    assert all(len(weights) == len(WEIGHT_COLUMNS) for weights in WEIGHTS.values())
    assert set(FEATURES) < set(FEATURE_NAMES)


def test_rollouts_know_what_each_play_scores_and_draws() -> None:
    """A play draws no more than the pile holds."""
    rules, short = Rules(num_players=4), 0
    for plies in range(0, rules.num_plays, 2):
        batch = positions(rules, plies)
        scores = immediate_scores(batch)
        assert scores.left == rules.num_plays - plies - 1
        for row, slot, place in zip(*np.nonzero(scores.points > ILLEGAL / 2), strict=True):
            points, draws = batch.value([scores.cards[row, slot]], [scores.cells[row, place]], [row])
            left = rules.pile_size - int(batch.drawn[row])
            assert (scores.points[row, slot, place], scores.draws[row, slot, place]) == (
                points,
                np.minimum(draws, left),
            )
            short += int(draws[0] > left)
    assert short


@pytest.mark.parametrize("name", ["solitaire", "open-3"])
def test_candidates_are_legal_and_as_many_as_wanted(name: str) -> None:
    batch = positions(VARIANTS[name], 5)
    found = candidate_actions(batch, 9)
    assert (found.sum(axis=1) == 9).all()
    assert not (found & ~batch.mask).any()
