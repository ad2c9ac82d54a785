"""The opponent pool: sampling probabilities and results."""

import pytest

from train.td_lambda.pool import Member, Pool


def test_sampling_probabilities() -> None:
    """Of four games each the learner has won all, none, three; one win and one loss are added to each."""
    pool = Pool([Member("beaten", {}, 4, 4), Member("strong", {}, 0, 4), Member("latest", {}, 3, 4)])
    expected = [1 / 30, 25 / 30, 4 / 30]  # (1/6)^2, (5/6)^2, (2/6)^2, made to add up to 1
    assert pool.probabilities().tolist() == pytest.approx(expected)


def test_a_new_member_counts_as_even() -> None:
    pool = Pool([Member("even", {}, 5, 10)])
    pool.add("new", {})
    assert pool.probabilities().tolist() == [0.5, 0.5]
    assert pool.win_rates() == {"even": 0.5}, "the other has no games"


@pytest.mark.parametrize("players", [2, 3, 4])
def test_an_even_share_of_the_win_counts_half(players: int) -> None:
    """Shared, and if one game is won and all others are lost."""
    pool = Pool([Member("one", {}), Member("other", {})])
    for share in (1 / players, 1.0, *[0.0] * (players - 1)):
        pool.count(1, share, players)
    assert pool.win_rates() == {"other": 0.5}
    assert pool.members[0].games == 0
