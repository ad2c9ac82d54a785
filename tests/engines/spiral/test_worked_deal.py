"""The worked deal through the reference game, `Game`, `Batch` and PettingZoo alike."""

from dataclasses import astuple
from itertools import product
from typing import Literal

import numpy as np
import pytest

from quincunx_env import spiral_v0
from quincunx_env.spiral import Batch, Deal, Game, Rules, scoring
from quincunx_env.spiral.cards import parse_card
from quincunx_env.spiral.rules import COLUMNS, ROWS
from tests import spiral_reference_scorer as scorer
from tests.engines.spiral.comparison import faces, names
from tests.engines.spiral.worked_deal import WORKED_DEAL, WORKED_GRID, WORKED_PLAYS, renamed, worked_deal
from tests.reference_game import spiral_reference_game
from tests.variants import legal_actions

TOTALS = {("play", False): [27, 43], ("play", True): [41, 63], ("end", False): [29, 22], ("end", True): [55, 30]}
"""Annie's and Benny's points; at the end Annie, the non-dealer, has the rows."""

END = [[2, 2, 6, 4, 15], [4, 3, 6, 3, 6]]
"""Points of the rows and of the columns at the end, without fifteens; and those of fifteens."""
END_FIFTEENS = [[4, 6, 8, 2, 6], [2, 0, 4, 0, 2]]


def test_the_plays_make_the_printed_grid() -> None:
    grid = [line.split() for line in WORKED_GRID.strip().splitlines()]
    assert [grid[row][column] for row, column in scorer.SPIRAL] == [card for card, _, _ in WORKED_PLAYS]
    assert WORKED_DEAL.startswith(grid[2][2])


@pytest.mark.parametrize("fifteens", [False, True])
@pytest.mark.parametrize("scored", ["play", "end"])
def test_the_worked_deal(scored: Literal["play", "end"], fifteens: bool) -> None:
    """As you go: the points of every play. At the end: nothing before the last card, then rows and columns."""
    rules, deal = Rules(scored, fifteens, 1), Deal.parse(WORKED_DEAL)
    game, batch, reference = Game(rules, deal), Batch(rules, 2), spiral_reference_game(rules, [deal])
    batch.reset(seed=0)
    batch.reset(rows=[1], deals=[deal])
    env = spiral_v0.env(scoring=scored, fifteens=fifteens, deals=1, reward="points", mask_in="info")
    env.reset(options={"deal": deal})
    rng, totals = np.random.default_rng(0), TOTALS[scored, fifteens]
    for number, (name, points, more) in enumerate(WORKED_PLAYS):
        mover, card = number % 2, parse_card(name)
        assert (reference.played, reference.cell, reference.mover) == (number, scorer.SPIRAL[number], mover)
        assert game.cell is not None
        assert (divmod(game.cell, 5), game.mover, batch.mover[1]) == (reference.cell, mover, mover)
        assert env.agent_selection == f"player_{mover}"
        assert env.infos[env.agent_selection]["action_mask"][card] == 1
        assert (len(reference.legal), name in reference.legal) == (13 - number // 2, True)
        expected = [0, 0]
        if scored == "play":
            expected[mover] = points + more * fifteens
            score = game.score(card)
            [[row, column]] = batch.value(np.array([card]), np.array([1])).tolist()
            assert (row, column, row + column) == (score.row.points, score.column.points, expected[mover])
        elif number == 23:
            expected = totals
        actions = legal_actions(batch, rng)
        actions[1] = card
        env.step(card)
        assert list(reference.play(name)) == game.step(card) == batch.step(actions)[1].tolist() == expected
        assert [env.rewards[agent] for agent in env.possible_agents] == expected
        if scored == "play":
            assert reference.last is not None
            assert astuple(reference.last) == astuple(score)
            assert reference.last_end is None
    assert reference.over == game.over == batch.over[1] == all(env.terminations.values()) is True
    assert reference.totals == reference.scores == game.totals == game.scores == totals
    assert batch.totals[1].tolist() == batch.scores[1].tolist() == totals
    assert [env.infos[agent]["score"] for agent in env.agents] == totals
    assert game.winners == (int(totals[1] > totals[0]),)
    assert [names(game.hand(seat)) for seat in (0, 1)] == [["4D"], ["4H"]] == list(map(list, reference.hands))
    assert (game.cell, reference.legal) == (None, set())
    if scored == "end":
        assert reference.last is None
        assert reference.last_end is not None
        lines = [
            [scoring.score_hand([game.board[cell] for cell in line], fifteens) for line in side]
            for side in (ROWS, COLUMNS)
        ]
        assert [list(map(astuple, side)) for side in lines] == [list(map(astuple, side)) for side in reference.last_end]
        assert [[hand.points - hand.fifteen for hand in side] for side in lines] == END
        assert [[hand.fifteen for hand in side] for side in lines] == (END_FIFTEENS if fifteens else [[0] * 5] * 2)
        assert reference.last_end == scorer.score_at_end(faces(game.board), fifteens)


@pytest.mark.parametrize(
    ("scored", "totals"),
    [("play", [[27, 43], [70, 70], [97, 113], [140, 140]]), ("end", [[29, 22], [51, 51], [80, 73], [102, 102]])],
)
def test_R15_seat_1_deals_first_and_seats_deal_in_turn(scored: Literal["play", "end"], totals: list[list[int]]) -> None:
    """Four deals, in which the seats are Annie in turn: the non-dealer begins, the dealer has the columns."""
    deals = [worked_deal(number % 2, suits=number) for number in range(4)]
    rules = Rules(scored, deals=4)
    game, batch, reference = Game(rules, deals), Batch(rules, 1), spiral_reference_game(rules, deals)
    batch.reset(deals=[deals])
    for number, (at, (name, points, _)) in product(range(4), enumerate(WORKED_PLAYS)):
        first = number % 2
        mover = first if at % 2 == 0 else 1 - first
        assert (reference.number, game.round, batch.round[0]) == (number, number, number)
        assert (reference.dealer, game.dealer) == (1 - first, 1 - first)
        assert (reference.mover, game.mover, batch.mover[0]) == (mover, mover, mover)
        assert not reference.over
        if at == 0:
            assert reference.scores == game.scores == batch.scores[0].tolist() == [0, 0]
            assert reference.board == faces(game.board) == {(2, 2): renamed("JS", number)}
            assert [set(names(game.hand(seat))) for seat in (0, 1)] == list(reference.hands)
            assert game.hands[first][parse_card(renamed("JH", number))]
        card = renamed(name, number)
        gains = list(reference.play(card))
        assert game.step(parse_card(card)) == batch.step([parse_card(card)])[0].tolist() == gains
        if scored == "play":
            assert (gains[mover], gains[1 - mover]) == (points, 0)
        if at == 23:
            assert reference.totals == game.totals == batch.totals[0].tolist() == totals[number]
    assert reference.over == game.over == batch.over[0] == True  # noqa: E712
    assert [scorer.non_dealer(number) for number in range(4)] == [0, 1, 0, 1]
