"""The plays of ``worked_plays.txt`` through the reference scorer, `Game` and `Batch` alike."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from dataclasses import astuple
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from quincunx_env.spiral import Batch, Game, Rules, scoring
from quincunx_env.spiral.cards import parse_card, parse_cards
from quincunx_env.spiral.rules import SPIRAL
from tests.spiral_reference_scorer import Cell, Parts, score_line_at_end, score_play

TABLE = Path(__file__).with_name("worked_plays.txt")


class WorkedPlay(NamedTuple):
    """A drawn play, and the parts of its row and its column with fifteens."""

    board: dict[Cell, str]
    cell: Cell
    card: str
    row: Parts
    column: Parts


def drawings() -> Iterator[tuple[str, str, list[Parts]]]:
    """The lines of the table: the rule, the drawing, and the parts of each line scored."""
    rule = ""
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        if line.startswith(" "):
            drawing, scored = line.strip().split(" = ")
            yield (
                rule,
                drawing,
                [
                    Parts(**{name: int(points) for name, points in re.findall(r"(\w+) (\d+)", parts)})
                    for parts in scored.split("; ")
                ],
            )
        elif not line.startswith("#"):
            rule = line


def read(drawing: str, row: Parts, column: Parts) -> WorkedPlay:
    """A play drawn row by row from the upper left."""
    rows = [line.split() for line in drawing.split(" / ")]
    words = {(down, right): word for down, line in enumerate(rows) for right, word in enumerate(line) if word != "."}
    [cell] = [place for place, word in words.items() if word.startswith("[")]
    card = words.pop(cell).strip("[]")
    return WorkedPlay(words, cell, card, row, column)


def transposed(play: WorkedPlay) -> WorkedPlay:
    """The play with rows and columns exchanged."""
    board = {(column, row): card for (row, column), card in play.board.items()}
    return WorkedPlay(board, play.cell[::-1], play.card, play.column, play.row)


def boards(drawing: str, parts: list[Parts]) -> list[WorkedPlay]:
    """The play in all its places: a line as any row and any column, in both directions; a square transposed, too."""
    if "/" in drawing:
        plays = [read(drawing, *parts)]
    else:
        words = drawing.split()
        lines = [" ".join(way) for way in (words, words[::-1])]
        plays = [read(". / " * above + line, parts[0], Parts()) for above, line in product(range(5), lines)]
    return [*plays, *map(transposed, plays)]


PLAYS = {f"{rule}: {drawing}": boards(drawing, parts) for rule, drawing, parts in drawings() if "[" in drawing}
HANDS = {f"{rule}: {drawing}": (drawing, parts[0]) for rule, drawing, parts in drawings() if "[" not in drawing}


def with_option(parts: Parts, fifteens: bool) -> Parts:
    """The parts that count with or without fifteens."""
    return parts if fifteens else Parts(parts.kinds, parts.runs, parts.flush)


@pytest.mark.parametrize("plays", PLAYS.values(), ids=PLAYS)
def test_worked_plays(plays: list[WorkedPlay]) -> None:
    for fifteens in (False, True):
        check_reference_scorer(plays, fifteens)
        check_game_and_batch(plays, fifteens)


def check_reference_scorer(plays: list[WorkedPlay], fifteens: bool) -> None:
    """The parts of row and column, and their sum."""
    for board, cell, card, row, column in plays:
        score = score_play(board, cell, card, fifteens)
        assert (score.row, score.column) == (with_option(row, fifteens), with_option(column, fifteens))
        assert score.points == sum(astuple(score.row)) + sum(astuple(score.column))


def check_game_and_batch(plays: list[WorkedPlay], fifteens: bool) -> None:
    """The board is laid by hand, so that it may be one that the spiral does not lead to."""
    rules = Rules(fifteens=fifteens)
    game, batch = Game.from_seed(rules, 0), Batch(rules, len(plays))
    batch.reset(0)
    expected = []
    for at, (board, cell, card, row, column) in enumerate(plays):
        cards = [parse_card(board[place]) if place in board else -1 for place in product(range(5), repeat=2)]
        game.board[:] = array("b", cards)
        batch.board[at] = cards
        game.ply = batch.ply[at] = SPIRAL.index(cell[0] * 5 + cell[1]) - 1
        score = game.score(parse_card(card))
        assert astuple(score.row) == astuple(with_option(row, fifteens))
        assert astuple(score.column) == astuple(with_option(column, fifteens))
        assert score.points == score.row.points + score.column.points
        expected.append([score.row.points, score.column.points])
    assert batch.value(np.full(len(plays), parse_card(plays[0].card))).tolist() == expected


@pytest.mark.parametrize("fifteens", [False, True], ids=["", "fifteens"])
@pytest.mark.parametrize(("drawing", "parts"), HANDS.values(), ids=HANDS)
def test_full_lines_at_the_end(drawing: str, parts: Parts, fifteens: bool) -> None:
    """Everything that is in a full line, once (2.4)."""
    for way in (drawing.split(), drawing.split()[::-1]):
        assert score_line_at_end(way, fifteens) == with_option(parts, fifteens)
        hand = scoring.score_hand(parse_cards(" ".join(way)), fifteens)
        assert astuple(hand) == astuple(with_option(parts, fifteens))
        assert hand.points == sum(astuple(hand))
