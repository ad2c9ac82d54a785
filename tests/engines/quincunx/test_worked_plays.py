"""The plays of ``worked_plays.txt`` through the reference scorer, `Game` and `Batch` alike."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from quincunx_env.core.cards import EMPTY
from quincunx_env.core.scoring import Part
from quincunx_env.quincunx import scoring
from quincunx_env.quincunx.batch import Batch
from quincunx_env.quincunx.game import Game
from quincunx_env.quincunx.rules import Rules
from quincunx_env.quincunx.scoring import Score
from tests.reference_game import NAMES
from tests.reference_scorer import Cell, ReferenceScore, score_play

TABLE = Path(__file__).with_name("worked_plays.txt")

STEPS = {
    **{"above": (-1, 0), "left": (0, -1), "right": (0, 1), "below": (1, 0)},
    **{"upper left": (-1, -1), "upper right": (-1, 1), "lower left": (1, -1), "lower right": (1, 1)},
}
"""Where a neighbour or box lies, as seen from the card played."""
LINES = {"row": (0, 1), "column": (1, 0), "falling": (1, 1), "rising": (-1, 1)}
NAMED = {step: name for name, step in STEPS.items()}
BONUSES = {"three": 30, "straight": 20, "pair": 5, "flush": 10}
"""Points by the word for it in the table (1.4)."""


@dataclass(frozen=True)
class WorkedPlay:
    """A drawn play and what it scores."""

    options: frozenset[str]
    board: dict[Cell, str]
    cell: Cell
    card: str
    size: Cell
    """Rows and columns of the drawing."""
    points: int
    parts: frozenset[str]

    def rules(self, rules: Rules) -> Rules:
        """These rules with the options of the play."""
        excuse, pawns, flush, mini = (option in self.options for option in ("excuse", "pawns", "flush", "mini"))
        return replace(rules, excuse=excuse, pawns=pawns, flush=flush, mini=mini)

    def image(self, flip: bool, flop: bool, turn: bool) -> WorkedPlay:
        """The play on one of the eight images of the grid, which score the same."""
        height, width = self.size

        def turned(step: Cell) -> Cell:
            down, right = -step[0] if flop else step[0], -step[1] if flip else step[1]
            return (right, down) if turn else (down, right)

        def moved(place: Cell) -> Cell:
            row = height - 1 - place[0] if flop else place[0]
            column = width - 1 - place[1] if flip else place[1]
            return (column, row) if turn else (row, column)

        steps = {name: NAMED[turned(step)] for name, step in STEPS.items()}
        lines = {}
        for name, step in LINES.items():
            down, right = turned(step)
            [lines[name]] = (line for line, its in LINES.items() if its in ((down, right), (-down, -right)))
        names = steps | lines
        pattern = re.compile("|".join(sorted(names, key=len, reverse=True)))
        return replace(
            self,
            board={moved(place): card for place, card in self.board.items()},
            cell=moved(self.cell),
            size=(width, height) if turn else self.size,
            parts=frozenset(pattern.sub(lambda found: names[found[0]], part) for part in self.parts),
        )

    def offsets(self, side: int) -> list[Cell]:
        """Where the upper left corner of the drawing may lie in a grid."""
        return [*product(range(side - self.size[0] + 1), range(side - self.size[1] + 1))]


def read(drawing: str, options: frozenset[str], points: str, parts: str) -> WorkedPlay:
    """A line of the table."""
    rows = [row.split() for row in drawing.split(" / ")]
    words = {(row, column): word for row, line in enumerate(rows) for column, word in enumerate(line) if word != "."}
    [cell] = [place for place, word in words.items() if word.startswith("[")]
    card = words.pop(cell).strip("[]")
    size = len(rows), max(map(len, rows))
    return WorkedPlay(options, words, cell, card, size, int(points), frozenset(parts.split(", ") if parts else ()))


def table() -> Iterator[tuple[str, WorkedPlay]]:
    """All worked plays with their names, the rule and the drawing."""
    rule, options = "", frozenset[str]()
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        if line.startswith(" "):
            found = re.fullmatch(r" +(.+) = (-?\d+)(?:: (.+))?", line)
            assert found, line
            drawing, points, parts = found[1], found[2], found[3] or ""
            drawings = [drawing]
            if "[" not in drawing:
                one, other = drawing.split()
                drawings = [f"[{one}] {other}", f"[{other}] {one}"]
            for each in drawings:
                yield f"{rule}: {each}", read(each, options, points, parts)
        elif line and not line.startswith("#"):
            rule, _, given = line.partition("  (")
            options = frozenset(given.rstrip(")").split(", ") if given else ())
            assert options <= {"solitaire", "excuse", "pawns", "flush", "mini"}, line


PLAYS = dict(table())
IMAGES = list(product((False, True), repeat=3))


def described(score: Score | ReferenceScore, cell: Cell) -> set[str]:
    """The parts of a score in the words of the table."""

    def near(place: Cell) -> str:
        return NAMED[place[0] - cell[0], place[1] - cell[1]]

    if isinstance(score, ReferenceScore):
        flushes, powered = score.flush_lines + score.flush_boxes, score.power_play
    else:
        flushes, powered = score.flushes, score.power > 0
    return {
        *(f"{near(place)} {points:+d}" for place, points in score.basic.items()),
        *(f"draw {near(place)}" for place in score.draws),
        *(f"three {line}" for line in score.threes),
        *(f"straight {line}" for line in score.straights),
        *(f"pair {near(place)}" for place in score.pairs),
        *([f"power {score.power}"] if powered else []),
        *(f"flush {name}" for name in flushes),
    }


def points_by_kind(parts: frozenset[str]) -> dict[str, int]:
    """`Score.parts`, from the words of the table."""
    points = dict.fromkeys(("basic", *BONUSES, "power"), 0)
    for part in parts:
        word, _, rest = part.partition(" ")
        if word in BONUSES:
            points[word] += BONUSES[word]
        elif word != "draw":
            points["power" if word == "power" else "basic"] += int(rest)
    return {name: number for name, number in points.items() if number}


def check_reference_scorer(play: WorkedPlay) -> None:
    """The parts and the points, by all images of the play."""
    options = {option: option in play.options for option in ("solitaire", "pawns", "flush", "mini")}
    for image in IMAGES:
        seen = play.image(*image)
        before = dict(seen.board)
        score = score_play(seen.board, seen.cell, seen.card, **options)
        assert described(score, seen.cell) == seen.parts
        assert score.points == play.points == sum(points_by_kind(play.parts).values())
        assert score.draw_count == sum(part.startswith("draw") for part in play.parts)
        assert seen.board == before


def grids(play: WorkedPlay) -> list[Rules]:
    """Rules by which the play can happen, for each size of the grid."""
    if "solitaire" in play.options:
        return [play.rules(Rules())]
    if "mini" in play.options:
        return [play.rules(Rules(num_players=2))]
    return [play.rules(Rules(num_players=3)), play.rules(Rules(num_players=2, start="open"))]


def laid(play: WorkedPlay, rules: Rules, offset: Cell) -> tuple[list[int], Callable[[Cell], int]]:
    """The board of the play with its drawing at this place, and the cell of a place of the drawing."""

    def cell_at(place: Cell) -> int:
        return rules.grid.cell((place[0] + offset[0], place[1] + offset[1]))

    board = [-1] * (rules.num_cells + 1)
    for place, card in play.board.items():
        board[cell_at(place)] = NAMES.index(card)
    return board, cell_at


def check_game(play: WorkedPlay) -> None:
    """The parts and the value, wherever in the grid the drawing lies."""
    draws = sum(part.startswith("draw") for part in play.parts)
    for rules in grids(play):
        game, card = Game.from_seed(rules, 0), NAMES.index(play.card)
        corners = play.offsets(rules.grid.side)
        for row, column in corners if len(corners) <= 25 else corners[:: len(corners) // 12]:
            board, cell_at = laid(play, rules, (row, column))
            game.board = array("b", board)
            score = game.score(card, cell_at(play.cell))
            assert described(score, (play.cell[0] + row, play.cell[1] + column)) == play.parts - {"power 0"}
            assert score.parts == points_by_kind(play.parts)
            assert score.points == play.points
            assert game.value(card, cell_at(play.cell)) == (play.points, draws)


def check_batch(play: WorkedPlay) -> None:
    """The value of all images of the play at every place of the grid."""
    draws = sum(part.startswith("draw") for part in play.parts)
    for rules in grids(play):
        seen = [
            (laid(image, rules, offset), image)
            for image in (play.image(*image) for image in IMAGES)
            for offset in image.offsets(rules.grid.side)
        ]
        batch = Batch(rules, len(seen))
        batch.board[:] = [board for (board, _), _ in seen]
        cells = np.array([cell_at(image.cell) for (_, cell_at), image in seen])
        points, drawn = batch.value(np.full(len(seen), NAMES.index(play.card)), cells)
        assert set(points.tolist()) == {play.points}
        assert set(drawn.tolist()) == {draws}


@pytest.mark.parametrize("play", PLAYS.values(), ids=PLAYS)
def test_worked_plays(play: WorkedPlay) -> None:
    check_reference_scorer(play)
    check_game(play)
    check_batch(play)


def test_the_table_covers_every_ruling_of_scoring() -> None:
    """1.4 with its rulings; R1, R3, R11 and R15 are about other things (`test_rules`)."""
    numbers = {int(found[1]) for name in PLAYS if (found := re.match(r"R(\d+) ", name))}
    assert numbers == {2, 4, 5, 6, 7, 8, 9, 10, 13, 14, 16}


def test_what_scores_nothing_is_no_part() -> None:
    """A neighbour with which the sum is 10, and a power play without another card of the suit."""
    rules = Rules(num_players=2)
    board = [-1] * (rules.num_cells + 1)
    board[1] = NAMES.index("6LK")
    score = scoring.score(rules, board, 0, NAMES.index("4MS"))
    assert (score.basic, score.parts, score.points) == ({}, {}, 0)
    assert scoring.parts(rules, board, 0, NAMES.index("4MS")) == ()
    board[1] = NAMES.index("CM")
    score = scoring.score(rules, board, 0, NAMES.index("AM"))
    assert (score.power, score.parts, score.points, score.draws) == (0, {}, 0, ((0, 1),))
    assert [part.name for part in scoring.parts(rules, board, 0, NAMES.index("AM"))] == ["draw"]


@pytest.mark.parametrize(
    ("row", "at", "cells"),
    [
        ("AV 2VL 4VL 8VL -", 0, (1, 2, 3)),
        ("AV 2VL 4VL 8VL -", 3, (0, 1, 2)),
        ("AV 2VL 4VL 8VL AL", 2, (0, 1, 3)),  # R6: once; of equal runs the first
        ("AM 2VL 4VL 8VL AL", 1, (2, 3, 4)),
        ("AV 7VY 4VL 8VL 2VL", 0, (1, 2, 3, 4)),
    ],
)
def test_a_flush_comes_from_the_cells_of_its_run(row: str, at: int, cells: tuple[int, ...]) -> None:
    rules, names = Rules(num_players=2, flush=True), row.split()
    board = [EMPTY if name == "-" or place == at else NAMES.index(name) for place, name in enumerate(names)]
    board += [EMPTY] * (rules.num_cells + 1 - len(board))
    parts = scoring.parts(rules, board, at, NAMES.index(names[at]))
    assert [part for part in parts if part.name == "flush"] == [Part("flush", 10, cells)]
