"""The end of a game in words."""

import pytest

from quincunx_env import spiral
from quincunx_env.core.game import SomeGame
from quincunx_env.core.rules import BaseRules
from quincunx_env.notation.ending import ending
from quincunx_env.notation.record import Seeded
from quincunx_env.play.session import Session
from quincunx_env.quincunx import Rules
from quincunx_env.quincunx.scoring import RATINGS

NAMES = ("my:agent", "greedy", "b", "c")


def finished(rules: BaseRules, totals: list[int] | None = None) -> SomeGame:
    """A game that greedy has played to its end, with other totals if some are given."""
    session = Session(rules, ["greedy"] * rules.num_players, Seeded(7))
    while not session.game.over:
        session.play(session.choose())
    session.game.totals[:] = totals or session.game.totals
    return session.game


@pytest.mark.parametrize(
    ("totals", "you", "headline"),
    [
        ([30, 16], 0, "You win by 14 points."),
        ([30, 29], None, "my:agent wins by 1 point."),
        ([-3, 16], 0, "greedy wins by 19 points."),
        ([-3, 16, 7], 0, "greedy wins by 9 points; you are 19 points behind."),
        ([5, 5], 0, "A draw: all have 5 points."),
        ([5, 9, 9], 0, "greedy and b share the win; you are 4 points behind."),
        ([9, 5, 9], 2, "You and my:agent share the win."),
        ([9, 5, 12, 11], None, "b wins by 1 point."),
    ],
)
def test_games_of_several(totals: list[int], you: int | None, headline: str) -> None:
    end = ending(finished(Rules(len(totals)), totals), NAMES[: len(totals)], you)
    assert end is not None
    assert end.headline == headline
    assert end.points == " : ".join(map(str, totals))
    [left] = end.notes
    assert left.startswith("left in hand: seat 0 ")


@pytest.mark.parametrize("rating", RATINGS[1:])
def test_the_rating_of_a_solitaire(rating: str) -> None:
    game = finished(Rules())
    least = {"below 80": -3, "150 and more": 150}.get(rating) or int(rating.partition("-")[0])
    game.lost, game.totals[0] = False, least  # type: ignore[attr-defined]
    end = ending(game, ["greedy"])
    assert end is not None
    assert (end.headline, end.points) == (
        f"greedy scores {least} points, class {RATINGS.index(rating)} of 5 ({rating.replace('-', ' to ')}).",
        str(least),
    )
    game.lost = True  # type: ignore[attr-defined]
    lost = ending(game)
    assert lost is not None
    assert lost.headline == "The round is lost: the hand ran out before the grid was full."
    assert lost.points == "", "its points do not count"


def test_the_end_of_a_session_and_of_each_round_in_a_replay() -> None:
    session = Session(spiral.Rules(deals=2), [None, "greedy"], Seeded(3))
    assert session.ending is None
    while not session.game.over:
        session.play(session.candidates()[0].action if session.human_to_move else session.choose())
    assert session.game.winners == (1,)
    assert session.ending == ("52 : 58", "Easy wins by 6 points.", ("deal 2 of 2",))
    record = session.record
    found = {number: ending(record.shown(number), record.seats) for number in range(49)}
    ends = {number: end.headline for number, end in found.items() if end}
    assert ends == {24: "The end of deal 1 of 2.", 48: "greedy wins by 6 points."}


def test_a_forfeit_among_several_names_no_winner() -> None:
    game = Session(Rules(num_players=2), ["greedy", "greedy"], Seeded(7)).game
    game.forfeit()
    found = ending(game)
    assert found is not None
    assert (found.points, found.headline) == ("0 : 0", "The game was forfeited.")


def test_without_names_players_are_seats() -> None:
    end = ending(finished(Rules(2), [30, 29]))
    assert end is not None
    assert end.headline == "Seat 0 wins by 1 point."
