"""Features of spiral afterstates follow from the rules and from what the seat can see."""

from collections.abc import Iterator
from math import comb

import numpy as np
import pytest

from quincunx_agents.afterstates import AfterstateFeatures, Afterstates
from quincunx_agents.spiral.features import (
    LEVELS,
    LEVELS_AT_END,
    LOWEST_AT_END,
    NEXT_CELLS,
    afterstates_of,
)
from quincunx_env.core.cards import EMPTY
from quincunx_env.core.resample import resample
from quincunx_env.spiral import Batch, Observer, Rules, scoring
from quincunx_env.spiral.cards import CARDS
from quincunx_env.spiral.rules import COLUMNS, HAND, LINES, PLAYS, ROWS, SPIRAL

RULES = Rules(deals=1)
OBSERVER = Observer(RULES, preview=True)
FORMS = [Rules(scoring, fifteens, 1) for scoring in ("play", "end") for fifteens in (False, True)]


def positions(rules: Rules, num_games: int) -> Iterator[tuple[int, Batch, Afterstates]]:
    """Games at every stage, with the features of their afterstates."""
    rng = np.random.default_rng(0)
    batch, observer = Batch(rules, num_games), Observer(rules, preview=True)
    batch.reset(seed=0)
    for ply in range(PLAYS):
        mask = batch.mask
        yield ply, batch, afterstates_of(rules, observer.observe_batch(batch), mask)
        batch.step(np.where(mask, rng.random(mask.shape), -1).argmax(axis=1))


def features_of(plays: Afterstates) -> AfterstateFeatures:
    """The features of all afterstates, one array each."""
    assert sum(len(at) for at, _ in plays.chunks) in (0, len(plays.rows))
    parts = [part for _, part in plays.chunks]
    cells, cards = (np.concatenate([part.sets[number] for part in parts]) for number in range(2))
    return AfterstateFeatures((cells, cards), np.concatenate([part.context for part in parts]))


def card_value(rules: Rules, board: list[int], played: int, card: int) -> int:
    """Value of a card in the next cell to the seat whose turn it is, after so many plays."""
    cell = SPIRAL[played + 1]
    if rules.scoring == "play":
        return scoring.score(board, cell, card, rules.fifteens).points
    grown = [card if place == cell else other for place, other in enumerate(board)]
    row, column = (hand(rules, grown, line) - hand(rules, board, line) for line in LINES[cell])
    return column - row if played % 2 else row - column


def hand(rules: Rules, board: list[int], line: tuple[int, ...]) -> int:
    """Points of the cards in a line as a hand."""
    cards = [board[cell] for cell in line]
    there = [at for at, card in enumerate(cards) if card != EMPTY]
    ranks = [CARDS[cards[at]].rank for at in there]
    points = sum(scoring.KINDS[ranks.count(rank)] for rank in {*ranks})
    points += max((scoring.runs(cards, at) for at in there), default=0)
    points += max((scoring.flush(cards, at) for at in there), default=0)
    if rules.fifteens:  # each set is counted at its first card
        points += sum(scoring.fifteens(cards[at:], 0) for at in there)
    return points


@pytest.mark.parametrize("rules", FORMS, ids=str)
def test_values_of_cards_are_what_the_rules_say(rules: Rules) -> None:
    levels, lowest = (LEVELS, 0) if rules.scoring == "play" else (LEVELS_AT_END, LOWEST_AT_END)
    for ply, batch, plays in positions(rules, 1):
        if ply == PLAYS - 1:
            assert not plays.chunks
            continue
        features = features_of(plays)
        all_cells, all_cards = features.sets
        options = [rules.scoring == "end", rules.fifteens]
        for play in range(0, len(plays.rows), 6):
            card = plays.actions[play]
            kept = np.flatnonzero(batch.mask[0] & (np.arange(52) != card))
            unseen = np.setdiff1d(np.arange(52), [*kept, card, *batch.board[0]])
            board = batch.board[0].tolist()
            board[SPIRAL[ply + 1]] = card
            assert all_cards[play, :, 0].tolist() == [1] * len(kept) + [0] * (3 - len(kept))
            assert (all_cards[play, : len(kept), -4:-2] == options).all()
            assert features.context[play, -4:-2].tolist() == options
            sides = (ROWS, COLUMNS) if ply % 2 == 0 else (COLUMNS, ROWS)
            hands = [sum(hand(rules, board, line) for line in side) for side in sides]
            assert features.context[play, -2:] * 30 == pytest.approx(hands if rules.scoring == "end" else [0, 0])
            for number in range(NEXT_CELLS):
                cell, played = all_cells[play, number], ply + 1 + number
                if played >= PLAYS:
                    assert not cell.any()
                    assert not all_cards[play, :, 1 + number].any()
                    continue
                own, others = (
                    [card_value(rules, board, played, int(each)) for each in cards] for cards in (kept, unseen)
                )
                assert all_cards[play, : len(kept), 1 + number] * 10 == pytest.approx(own)
                assert cell[9 : 9 + min(len(own), 3)] * 15 == pytest.approx(sorted(own, reverse=True)[:3])
                best = expected(others, HAND - (ply + 1) // 2, levels, lowest)
                assert cell[13] * 15 == pytest.approx(best, abs=1e-4)
                assert cell[-2:].tolist() == options


def expected(points: list[int], held: int, levels: tuple[int, ...], lowest: int) -> float:
    """The greatest level that the best of so many cards, chosen by chance, is expected to reach."""
    reached = np.array(
        [max((level for level in (lowest, *levels) if level <= each), default=lowest) for each in points]
    )
    best = np.sort(reached)[::-1]
    chances = [comb(len(best) - 1 - place, held - 1) / comb(len(best), held) for place in range(len(best))]
    return float(best @ chances)


@pytest.mark.parametrize("rules", [FORMS[0], FORMS[3]], ids=str)
def test_nothing_hidden_is_told(rules: Rules) -> None:
    observer = Observer(rules, preview=True)
    for _, batch, plays in positions(rules, 2):
        dealt = resample(
            observer,
            {name: piece[0] for name, piece in observer.observe_batch(batch).items()},
            np.random.default_rng(1),
        )
        others = afterstates_of(rules, observer.observe_batch(dealt), dealt.mask)
        own = plays.rows == 0
        for name in ("actions", "points", "known_values"):
            assert getattr(plays, name)[own] == pytest.approx(getattr(others, name), abs=1e-6, nan_ok=True)
        if plays.chunks:
            one, other = features_of(plays), features_of(others)
            assert one.context[own] == pytest.approx(other.context, abs=1e-6)
            for number in range(2):
                assert one.sets[number][own] == pytest.approx(other.sets[number], abs=1e-6)


@pytest.mark.parametrize("rules", FORMS, ids=str)
def test_only_after_the_last_play_is_it_known_what_is_to_come(rules: Rules) -> None:
    for ply, batch, plays in positions(rules, 2):
        if ply < PLAYS - 1:
            assert np.isnan(plays.known_values).all()
            continue
        last = batch.fork(plays.rows)
        gains = last.step(plays.actions)
        mover = batch.mover[plays.rows]
        seats = np.stack([mover, 1 - mover], axis=1)
        points = np.zeros_like(gains)
        points[:, 0] = plays.points
        assert plays.known_values[:, :2] + points == pytest.approx(np.take_along_axis(gains, seats, axis=1))
        assert not plays.known_values[:, 2:].any()


def test_positions_at_different_stages_go_together() -> None:
    batch = Batch(RULES, 2)
    batch.reset(seed=3)
    apart = []
    for row in range(2):
        for _ in range(9 * row):
            batch.step(batch.mask[[row]].argmax(axis=1), np.array([row]))
        one = batch.fork([row])
        apart.append(afterstates_of(RULES, OBSERVER.observe_batch(one), one.mask))
    both = afterstates_of(RULES, OBSERVER.observe_batch(batch), batch.mask)
    for together, first, second in zip(both[1:4], apart[0][1:4], apart[1][1:4], strict=True):
        assert together == pytest.approx(np.concatenate([first, second]), abs=1e-6, nan_ok=True)
    whole = np.concatenate([features_of(one).context for one in apart])
    assert features_of(both).context == pytest.approx(whole, abs=1e-6)
