"""Games of the spiral game as text."""

from typing import Any

import pytest

from quincunx_env.notation.text import to_text
from quincunx_env.spiral import Deal, Game, Rules
from quincunx_env.spiral.cards import card_name, parse_card, print_cards
from tests.engines.spiral.worked_deal import WORKED_DEAL, WORKED_PLAYS


def test_a_game_as_text() -> None:
    """The square with the next cell marked, both hands or one's own, who deals and what each seat has."""
    game = Game(Rules(), [Deal.parse(WORKED_DEAL), Deal.from_seed(Rules(), 0)])
    for name, *_ in WORKED_PLAYS[:7]:
        game.step(parse_card(name))
    square = [
        "     0   1   2   3   4",
        "  0  .   .   .   .   .",
        "  1  .   TH [3S] ()  .",
        "  2  .   JD  JS  JH  .",
        "  3  .   9C  8S  TS  .",
        "  4  .   .   .   .   .",
    ]
    last = ["  last: seat 0 played 3S at (1, 2): 3 points", "    flush +3 (2, 2) (3, 2)"]
    annie, benny = "8S QS 2H 7H AC 3C 5C 7C 4D 8D", "AS 5S 7S 4H 6H 8H 8C KC 6D QD"
    annie = annie.removeprefix("8S ")  # played

    def lines(hands: tuple[str, str]) -> list[str]:
        return [
            *square,
            f"  seat 0 (non-dealer):   11 points, hand: {hands[0]}",
            f"> seat 1 (dealer):    6 points, hand: {hands[1]}",
            *last,
            "  deal 1 of 2",
        ]

    assert to_text(game).splitlines() == lines((annie, benny))
    assert to_text(game, 0).splitlines() == lines((annie, "10 cards"))
    assert to_text(game, 1).splitlines() == lines(("9 cards", benny))
    for name, *_ in WORKED_PLAYS[7:]:
        game.step(parse_card(name))
    assert to_text(game).splitlines()[6:] == [
        f"  seat 0 (dealer):   27 points, hand: {print_cards(game.hand(0))}",
        f"> seat 1 (non-dealer):   43 points, hand: {print_cards(game.hand(1))}",
        "  deal 2 of 2",
        "  deal 1: 27 43 points",
    ]
    assert to_text(game).split("\n")[3] == f"  2  .   .   {card_name(game.deals[1].starter)}  ()  ."


@pytest.mark.parametrize(("plays", "last"), [("play", "  over: won by seat 1"), ("end", "  over: won by seat 0")])
def test_a_finished_game_as_text(plays: Any, last: str) -> None:
    """No next cell, no seat to move, and who has won."""
    game = Game(Rules(plays, deals=1), Deal.parse(WORKED_DEAL))
    for name, *_ in WORKED_PLAYS:
        assert "over" not in to_text(game)
        game.step(parse_card(name))
    text = to_text(game).splitlines()
    assert text[1:6] == [
        *("  0  6D  2H  7S  AC [AS]", "  1  5C  TH  3S  QD  QS", "  2  KC  JD  JS  JH  5S"),
        *("  3  3C  9C  8S  TS  7H", "  4  8C  7C  8H  8D  6H"),
    ]
    assert text[6:8] == [
        f"  seat 0 (non-dealer):   {game.totals[0]} points, hand: 4D",
        f"  seat 1 (dealer):   {game.totals[1]} points, hand: 4H",
    ]
    scored = [": 5 points", "    kinds +2 (0, 3)", "    flush +3 (1, 4) (2, 4)"] if plays == "play" else [""]
    assert text[8:-1] == ["  last: seat 1 played AS at (0, 4)" + scored[0], *scored[1:]]
    assert text[-1] == last
    game.totals[:] = [30, 30]
    assert to_text(game).endswith("over: won by seat 0 and seat 1")
