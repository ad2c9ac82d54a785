"""Observations of the spiral game: pieces and counts by name, the preview, the table and its limits."""

from itertools import combinations_with_replacement, product

import numpy as np

from quincunx_env.spiral import Observer, Rules, scoring
from quincunx_env.spiral.rules import LINE_LIMIT
from quincunx_env.spiral.scoring import POINTS_LIMIT
from tests import spiral_reference_scorer as scorer
from tests.engines.spiral.comparison import Comparison, faces, names
from tests.spiral_reference_scorer import DECK, score_play
from tests.variants import SPIRAL, by_name, positions, same

SEED = 9_000


@by_name(SPIRAL)
def test_observations_are_those_of_a_reference_game(rules: Rules) -> None:
    """Board, hand and every count by name, for both seats."""
    comparison = Comparison(rules, 1, SEED + 50)
    observer = Observer(rules)
    while True:
        for seat, (game, reference) in product((0, 1), zip(comparison.games, comparison.references, strict=True)):
            seen = observer.observe(game, seat)
            counts = dict(zip(observer.counts, seen["counts"].tolist(), strict=True))
            other, begins = 1 - seat, scorer.non_dealer(reference.number)
            expected = {"ply": reference.played, "score_0": reference.scores[seat], "score_1": reference.scores[other]}
            if rules.deals > 1:
                expected |= {
                    "total_0": reference.totals[seat],
                    "total_1": reference.totals[other],
                    "round": reference.number,
                }
            # At the very end the turn goes round once more.
            mover = (begins + reference.played) % 2
            assert counts == expected | {"mover": mover ^ seat, "first": begins ^ seat}
            assert list(counts) == list(observer.counts)
            assert faces(seen["board"]) == reference.board
            assert set(names(np.flatnonzero(seen["hand"]))) == reference.hands[seat]
            assert seen.keys() == {"board", "hand", "counts"}
        if comparison.batch.over.all():
            break
        comparison.step()


@by_name(SPIRAL)
def test_the_preview_is_what_plays_make(rules: Rules) -> None:
    """As you go: what a card brings its player. At the end: what it makes at once, in one's lines and the other's."""
    observer, nonzero = Observer(rules, preview=True), np.zeros(2, np.int64)
    for game in positions(rules, SEED + 1):
        for seat in (0, 1):
            expected = np.zeros((52, 2), np.int16)
            for card in game.legal_cards() if seat == game.mover else ():
                assert game.cell is not None
                if rules.scoring == "play":
                    twin = game.copy()
                    gains = twin.step(card)
                    expected[card] = gains[seat], gains[1 - seat]
                else:
                    scored = score_play(faces(game.board), divmod(game.cell, 5), DECK[card], rules.fifteens)
                    lines = scored.row.points, scored.column.points
                    expected[card] = lines[::-1] if seat == game.dealer else lines
            same(observer.observe(game, seat)["preview"], expected)
            nonzero += np.count_nonzero(expected, axis=0)
    assert (nonzero > 0).tolist() == [True, rules.scoring == "end"], "points should have been seen"


# --- Limits -----


def test_no_line_scores_more_than_the_observation_has_room_for() -> None:
    """All ranks that five cards may have, whichever of them is played; and full lines."""
    most_play = most_hand = 0
    for ranks in combinations_with_replacement(range(13), 5):
        if max(map(ranks.count, ranks)) <= 4:
            cards = [13 * ranks[:at].count(rank) + rank for at, rank in enumerate(ranks)]
            most_play = max(most_play, *(scoring.score_line(cards, at, True).points for at in range(5)))
            most_hand = max(most_hand, scoring.score_hand(cards, True).points)
    assert (most_play, most_hand) == (20, 28)
    assert most_play + 5 <= LINE_LIMIT, "whatever is a flush besides"
    assert 4 * 12 * 2 * LINE_LIMIT <= POINTS_LIMIT
    assert 4 * 5 * (most_hand + 5) <= POINTS_LIMIT
