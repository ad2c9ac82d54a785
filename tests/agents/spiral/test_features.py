"""Features of spiral afterstates follow from the rules and from what the seat can see."""

from collections.abc import Iterator
from math import comb

import numpy as np
import pytest

from quincunx_agents.afterstates import AfterstateFeatures, Afterstates
from quincunx_agents.spiral.features import LEVELS, MOST_KEPT, NEXT_CELLS, afterstates_of
from quincunx_env.core.resample import resample
from quincunx_env.spiral import Batch, Observer, Rules
from quincunx_env.spiral.rules import HAND, PLAYS, SPIRAL

RULES = Rules(deals=1)
OBSERVER = Observer(RULES, preview=True)


def positions(num_games: int) -> Iterator[tuple[int, Batch, Afterstates]]:
    """Games at every stage, with the features of their afterstates."""
    rng = np.random.default_rng(0)
    batch = Batch(RULES, num_games)
    batch.reset(seed=0)
    for ply in range(PLAYS):
        mask = batch.mask()
        yield ply, batch, afterstates_of(RULES, OBSERVER.observe_batch(batch), mask)
        batch.step(np.where(mask, rng.random(mask.shape), -1).argmax(axis=1))


def features_of(plays: Afterstates) -> AfterstateFeatures:
    """The features of all afterstates, one array each."""
    assert sum(len(at) for at, _ in plays.chunks) in (0, len(plays.rows))
    parts = [part for _, part in plays.chunks]
    cells, cards = (np.concatenate([part.sets[number] for part in parts]) for number in range(2))
    return AfterstateFeatures((cells, cards), np.concatenate([part.context for part in parts]))


def test_what_cards_would_make_is_what_the_engine_says() -> None:
    for ply, batch, plays in positions(3):
        if ply == PLAYS - 1:
            assert not plays.chunks
            continue
        all_cells, all_cards = features_of(plays).sets
        for play in range(0, len(plays.rows), 5):
            row, card = plays.rows[play], plays.actions[play]
            game = batch.fork([row])
            kept = np.flatnonzero(game.mask()[0] & (np.arange(52) != card))
            unseen = np.setdiff1d(np.arange(52), [*kept, card, *game.board[0]])
            game.board[0, SPIRAL[ply + 1]] = card
            assert all_cards[play, :, 0].tolist() == [1] * len(kept) + [0] * (MOST_KEPT - len(kept))
            for number in range(NEXT_CELLS):
                cell = all_cells[play, number]
                game.ply[:] = ply + 1 + number
                if game.ply[0] >= PLAYS:
                    assert not cell.any()
                    assert not all_cards[play, :, 1 + number].any()
                    continue
                own, others = (game.value(cards, np.zeros_like(cards)).sum(axis=1) for cards in (kept, unseen))
                assert all_cards[play, : len(kept), 1 + number] * 10 == pytest.approx(own)
                assert cell[9 : 9 + min(len(own), 3)] * 15 == pytest.approx(-np.sort(-own)[:3])
                assert expected(others, HAND - (ply + 1) // 2) == pytest.approx(cell[13] * 15, abs=1e-4)


def expected(points: np.ndarray, held: int) -> float:
    """The greatest level that the best of so many cards, chosen by chance, is expected to reach."""
    levels = np.array([max((level for level in (0, *LEVELS) if level <= each), default=0) for each in points])
    best = np.sort(levels)[::-1]
    chances = [comb(len(best) - 1 - place, held - 1) / comb(len(best), held) for place in range(len(best))]
    return float(best @ chances)


def test_nothing_hidden_is_told() -> None:
    for _, batch, plays in positions(2):
        dealt = resample(
            OBSERVER,
            {name: piece[0] for name, piece in OBSERVER.observe_batch(batch).items()},
            np.random.default_rng(1),
        )
        others = afterstates_of(RULES, OBSERVER.observe_batch(dealt), dealt.mask())
        own = plays.rows == 0
        for name in ("actions", "points", "known_values"):
            assert getattr(plays, name)[own] == pytest.approx(getattr(others, name), abs=1e-6, nan_ok=True)
        if plays.chunks:
            one, other = features_of(plays), features_of(others)
            assert one.context[own] == pytest.approx(other.context, abs=1e-6)
            for number in range(2):
                assert one.sets[number][own] == pytest.approx(other.sets[number], abs=1e-6)


def test_only_after_the_last_play_is_it_known_what_is_to_come() -> None:
    for ply, _, plays in positions(2):
        assert (plays.known_values == 0).all() if ply == PLAYS - 1 else np.isnan(plays.known_values).all()


def test_positions_at_different_stages_go_together() -> None:
    batch = Batch(RULES, 2)
    batch.reset(seed=3)
    apart = []
    for row in range(2):
        for _ in range(9 * row):
            batch.step(batch.mask()[[row]].argmax(axis=1), np.array([row]))
        one = batch.fork([row])
        apart.append(afterstates_of(RULES, OBSERVER.observe_batch(one), one.mask()))
    both = afterstates_of(RULES, OBSERVER.observe_batch(batch), batch.mask())
    for together, first, second in zip(both[1:4], apart[0][1:4], apart[1][1:4], strict=True):
        assert together == pytest.approx(np.concatenate([first, second]), abs=1e-6, nan_ok=True)
    whole = np.concatenate([features_of(one).context for one in apart])
    assert features_of(both).context == pytest.approx(whole, abs=1e-6)


def test_the_full_square_is_not_told() -> None:
    rules = Rules(scoring="end", deals=1)
    observer, batch = Observer(rules, preview=True), Batch(rules, 1)
    batch.reset(seed=0)
    with pytest.raises(ValueError, match="'end'"):
        afterstates_of(rules, observer.observe_batch(batch), batch.mask())
