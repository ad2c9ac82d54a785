"""What the engine tests share: the games they play, a referee, and positions drawn as text."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from quincunx_env import spiral
from quincunx_env.core.cards import EMPTY
from quincunx_env.core.rules import BaseRules
from quincunx_env.quincunx.batch import Batch
from quincunx_env.quincunx.deal import Deal
from quincunx_env.quincunx.game import Game
from quincunx_env.quincunx.rules import ANNOUNCE_MIN, Rules
from quincunx_env.quincunx.scoring import Score
from quincunx_env.registry import spec_of
from tests.reference_game import NAMES, names
from tests.reference_scorer import Cell, ReferenceScore, score_play

# --- The games -------------------------------------------------------------------------------------------------------

BASES: dict[str, Rules] = {
    "solitaire": Rules(),
    "solitaire-contact": Rules(edge_contact=True),
    "corners-2": Rules(num_players=2),
    "corners-3": Rules(num_players=3),
    "corners-4": Rules(num_players=4),
    "open-2": Rules(num_players=2, start="open"),
    "open-3": Rules(num_players=3, start="open"),
    "open-4": Rules(num_players=4, start="open"),
}
"""The games without any variant, by readable names."""

MULTIPLAYER = {name: rules for name, rules in BASES.items() if rules.num_players > 1}


def _combinations() -> dict[str, Rules]:
    combinations = {}
    for base, rules in BASES.items():
        for excuse, pawns, flush in itertools.product((False, True), repeat=3):
            name = base + "+excuse" * excuse + "+pawns" * pawns + "+flush" * flush
            combinations[name] = replace(rules, excuse=excuse, pawns=pawns, flush=flush)
    return combinations


COMBINATIONS = _combinations()
"""Every base with every combination of Excuse, Pawns and flush bonus: 64 games."""


def _with_simpleton_and_match() -> dict[str, Rules]:
    games = {}
    for base, rules in MULTIPLAYER.items():
        for full, extras in itertools.product((False, True), ("simpleton", "match", "simpleton+match")):
            games[f"{base}{'+excuse+pawns+flush' * full}+{extras}"] = replace(
                rules, excuse=full, pawns=full, flush=full, simpleton="simpleton" in extras, match="match" in extras
            )
    return games


SIMPLETON_AND_MATCH = _with_simpleton_and_match()
"""The games of several players with Simpleton, as matches, and both; each with the basic and with the full deck."""

VARIANTS = COMBINATIONS | SIMPLETON_AND_MATCH


def _spiral() -> dict[str, spiral.Rules]:
    scorings: tuple[Literal["play", "end"], ...] = ("play", "end")
    deals: tuple[Literal[1, 2, 4], ...] = (1, 2, 4)
    options = itertools.product(scorings, (False, True), deals)
    return {f"spiral-{chosen[0]}{'+fifteens' * chosen[1]}-{chosen[2]}": spiral.Rules(*chosen) for chosen in options}


SPIRAL = _spiral()
"""Every form of the spiral game: 12 of them."""

EVERY_GAME: dict[str, BaseRules] = {**VARIANTS, **SPIRAL}


def new_game(rules: BaseRules, seed: int, number: int = 0) -> Any:
    """A seeded game in plain Python, whichever the rules are of."""
    return spec_of(rules).Game.from_seed(rules, seed, number)


def new_batch(rules: BaseRules, num_games: int) -> Any:
    """A batch of finished games, likewise."""
    return spec_of(rules).Batch(rules, num_games)


# --- Positions drawn as text -----------------------------------------------------------------------------------------

TABLE_OF_THREE = Rules(num_players=3)
"""The roomiest grid: only its corners are dealt, and a card may go anywhere."""


@dataclass
class Position:
    """A drawn position, reached by legal plays in both engines, and the play in brackets still to come."""

    game: Game
    batch: Batch
    card: int
    cell: int
    offset: Cell
    """Where the drawing's upper left cell lies on the grid."""

    def play(self) -> Score:
        """Make the play in both engines; returns its parts, with places as drawn."""
        score = self.game.score(self.card, self.cell)
        worth = score.points, len(score.draws)
        assert self.game.value(self.card, self.cell) == worth
        points, draws = self.batch.value(np.array([self.card]), np.array([self.cell]))
        assert (points[0], draws[0]) == worth
        mover = self.game.mover
        gains = self.game.play(self.card, self.cell)
        assert gains == [score.points if seat == mover else 0 for seat in range(self.game.rules.num_players)]
        assert self.batch.step([self.card * self.game.rules.num_cells + self.cell]).tolist() == [gains]

        def drawn(place: Cell) -> Cell:
            return place[0] - self.offset[0], place[1] - self.offset[1]

        return replace(
            score,
            basic={drawn(place): points for place, points in score.basic.items()},
            draws=tuple(map(drawn, score.draws)),
            pairs=tuple(map(drawn, score.pairs)),
        )


def stage(picture: str, rules: Rules = TABLE_OF_THREE) -> Position:
    """A position drawn one line per row: ``.`` for an empty cell, the card to be played last in brackets.

    The drawing is put in the middle of the grid. Its cards on face-up cells are dealt there; the other face-up cells
    get cards that do not matter to the last play.
    """
    assert not rules.touching, "cards are laid in the order of the drawing"
    words = [line.split() for line in picture.strip().splitlines()]
    side = rules.grid.side
    offset = (side - len(words)) // 2, (side - max(map(len, words))) // 2
    board: dict[Cell, str] = {}
    last: list[tuple[Cell, str]] = []
    for row, line in enumerate(words, offset[0]):
        for column, word in enumerate(line, offset[1]):
            if word.startswith("["):
                last.append(((row, column), word.strip("[]")))
            elif word != ".":
                board[row, column] = word
    [(cell, card)] = last
    places = rules.setup.face_up
    assert cell not in places
    spare = [name for name in names(rules.deck) if name not in {card, *board.values()}]
    face_up = _harmless(rules, board, cell, card, spare)
    spare = [name for name in spare if name not in face_up]
    plays = [*((place, name) for place, name in board.items() if place not in places), (cell, card)]
    players = rules.num_players
    hands = [[name for _, name in plays[seat::players]] for seat in range(players)]
    for hand in hands:
        missing = rules.setup.hand - len(hand)
        assert missing >= 0, "too many cards for one hand"
        hand += spare[:missing]
        del spare[:missing]
    deal = Deal.parse(f"{' '.join(face_up)} | {' / '.join(map(' '.join, hands))} | {' '.join(spare)}")
    game, batch = Game(rules, deal), Batch(rules, 1)
    batch.reset(deals=[deal])
    for place, name in plays[:-1]:
        action = NAMES.index(name) * rules.num_cells + rules.grid.cell(place)
        game.step(action)
        batch.step([action])
    return Position(game, batch, NAMES.index(card), rules.grid.cell(cell), offset)


def _harmless(rules: Rules, board: dict[Cell, str], cell: Cell, card: str, spare: list[str]) -> list[str]:
    """The face-up cards: those drawn, and elsewhere some that change nothing about the last play."""

    def judged(board: dict[Cell, str]) -> ReferenceScore:
        return score_play(board, cell, card, solitaire=rules.num_players == 1, pawns=rules.pawns, flush=rules.flush)

    rng = random.Random(0)
    for _ in range(1000):
        fillers = iter(rng.sample(spare, len(rules.setup.face_up)))
        face_up = [board.get(place) or next(fillers) for place in rules.setup.face_up]
        if judged({**board, **dict(zip(rules.setup.face_up, face_up, strict=True))}) == judged(board):
            return face_up
    raise AssertionError("no such face-up cards")


# --- Play ------------------------------------------------------------------------------------------------------------


def random_action(game: Game | spiral.Game, rng: random.Random) -> int:
    """A legal action; what is announced is near the true points more often than not."""
    if isinstance(game, spiral.Game):
        return rng.choice(game.legal_cards())
    rules = game.rules
    if game.pending:
        points, _ = game.value(*game.pending)
        announced = rng.choice((points, points + rng.randint(-5, 5), rng.randint(-64, 319)))
        return rules.num_plays_encoded + 64 + announced
    return rng.choice(game.legal_cards()) * rules.num_cells + rng.choice(game.legal_cells())


def empty_cells(game: Game) -> list[int]:
    """Cells that hold no card."""
    return [cell for cell in range(game.rules.num_cells) if game.board[cell] == EMPTY]


def same(one: Any, other: Any, where: str = "") -> None:
    """Assert that two values are the same to the last bit: types, keys, dtypes, shapes and entries."""
    assert type(one) is type(other), f"{where}: {type(one)} against {type(other)}"
    if isinstance(one, dict):
        assert one.keys() == other.keys(), where
        for key in one:
            same(one[key], other[key], f"{where}/{key}")
    elif isinstance(one, list | tuple) or (isinstance(one, np.ndarray) and one.dtype.hasobject):
        assert len(one) == len(other), where
        for index, (mine, its) in enumerate(zip(one, other, strict=True)):
            same(mine, its, f"{where}/{index}")
    elif isinstance(one, np.ndarray):
        assert one.dtype == other.dtype, f"{where}: {one.dtype} against {other.dtype}"
        assert one.shape == other.shape, f"{where}: {one.shape} against {other.shape}"
        assert np.array_equal(one, other), f"{where}: {one} against {other}"
    else:
        assert one == other, f"{where}: {one} against {other}"


def announcement(rules: Rules, points: int) -> int:
    """The joint action that announces these points."""
    return rules.num_plays_encoded + points - ANNOUNCE_MIN


def positions(rules: BaseRules, seed: int) -> Iterator[Any]:
    """The positions of a random game, from the deal to the end."""
    game, rng = new_game(rules, seed), random.Random(seed)
    yield game
    while not game.over:
        game.step(random_action(game, rng))
        yield game
