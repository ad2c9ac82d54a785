"""The pool that a learner meets: how likely its members are drawn, and what is counted."""

import pytest

from train.common.opponents import Member, Pool, Sampling


@pytest.mark.parametrize(
    ("sampling", "expected"),
    [
        ("latest", [0, 0, 1]),
        ("uniform", [1 / 3, 1 / 3, 1 / 3]),
        ("prioritised", [1 / 30, 25 / 30, 4 / 30]),  # (1/6)^2, (5/6)^2, (2/6)^2, made to add up to 1
    ],
)
def test_members_are_drawn_by_what_they_are(sampling: Sampling, expected: list[float]) -> None:
    """Of four games each the learner has won all, none, three; a game won and a game lost are added to them."""
    pool = Pool(sampling, [Member("beaten", None, 4, 4), Member("strong", None, 0, 4), Member("latest", None, 3, 4)])
    assert pool.chances().tolist() == pytest.approx(expected)


def test_who_joins_counts_as_even() -> None:
    pool = Pool("prioritised", [Member("even", None, 5, 10)])
    pool.join("new", None)
    assert pool.chances().tolist() == [0.5, 0.5]
    assert pool.won() == {"even": 0.5}, "nobody has met the other"


@pytest.mark.parametrize("players", [2, 3, 4])
def test_an_even_share_of_the_win_counts_half(players: int) -> None:
    pool = Pool("uniform", [Member("one", None), Member("other", None)])
    for share in (1 / players, 1.0, 0.0):
        pool.count(1, share, players)
    assert pool.won() == {"other": 0.5}
    assert pool.members[0].games == 0
