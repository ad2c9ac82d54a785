"""What the engine tests share: the games they play, a referee, and positions drawn as text."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from quincunx_env import spiral
from quincunx_env.core.cards import EMPTY
from quincunx_env.core.rules import BaseRules
from quincunx_env.quincunx.batch import Batch
from quincunx_env.quincunx.deal import Deal
from quincunx_env.quincunx.game import Game
from quincunx_env.quincunx.rules import Rules
from quincunx_env.quincunx.scoring import Score
from quincunx_env.registry import spec_of
from tests import spiral_reference_scorer as spiral_scorer
from tests.reference_scorer import EXTENDED_DECK, Cell, Form, Judgement, judge, legal_cells, penalty, simpleton

NAMES = EXTENDED_DECK
"""The judge's name of a card, by its id."""

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


# --- The referee -----------------------------------------------------------------------------------------------------

# Grid, face-up cells, hand and cards at the end, copied from the table of 1.2.
_FOUR: tuple[Cell, ...] = ((0, 0), (0, 4), (4, 0), (4, 4))
_FIVE: tuple[Cell, ...] = ((0, 0), (0, 4), (2, 2), (4, 0), (4, 4))
_TABLE: dict[tuple[int, str], tuple[int, tuple[Cell, ...], int, int]] = {
    (1, "corners"): (4, ((0, 0), (0, 3), (3, 0), (3, 3)), 8, 16),
    (2, "corners"): (5, _FIVE, 10, 25),
    (3, "corners"): (5, _FOUR, 7, 25),
    (4, "corners"): (5, _FIVE, 6, 25),
    (2, "open"): (9, ((4, 4),), 12, 25),
    (3, "open"): (9, ((4, 4),), 8, 25),
    (4, "open"): (9, ((4, 4),), 6, 25),
}


class Referee:
    """Referees a game by the letter of the rules page, in printed names; `tests.reference_scorer` judges its plays.

    Knows of the engines only the options of `Rules` and the cards of a `Deal`. Its state is plain: ``board`` and
    ``order`` by (row, column), ``hands`` as sets, ``pile`` from the top.
    """

    def __init__(self, rules: Rules, deals: Sequence[Deal]) -> None:
        self.rules = rules
        self.deals = deals
        self.players = rules.num_players
        self.side, self.face_up, self.hand_size, self.full = _TABLE[rules.num_players, rules.start]
        self.form: Form = "open" if rules.start == "open" else "contact" if rules.edge_contact else "any"
        self.rounds = rules.num_players if rules.match else 1
        self.totals = [0] * self.players
        self.lost_draws = 0
        self._begin(0)

    def _begin(self, number: int) -> None:
        deal = self.deals[number]
        self.round = number
        self.board: dict[Cell, str] = dict(zip(self.face_up, names(deal.face_up), strict=True))
        self.order = dict.fromkeys(self.face_up, 0)
        self.hands = [set(names(hand)) for hand in deal.hands]
        assert [len(hand) for hand in self.hands] == [self.hand_size] * self.players
        self.pile = names(deal.pile)
        self.scores = [0] * self.players
        self.mover = number % self.players  # R15
        self.pending: tuple[str, Cell, Judgement] | None = None
        self.over = self.lost = False

    def legal(self) -> set[Cell]:
        """Where a card may go now (1.2, R1)."""
        return legal_cells(self.board, form=self.form, side=self.side)

    def judge(self, card: str, cell: Cell) -> Judgement:
        """What a play would score and draw (1.4)."""
        rules = self.rules
        return judge(self.board, cell, card, solitaire=self.players == 1, pawns=rules.pawns, flush=rules.flush)

    def play(self, card: str, cell: Cell, judged: Judgement) -> list[int]:
        """Play a card (1.3); returns what each seat gains."""
        self.hands[self.mover].remove(card)
        if self.rules.simpleton:
            self.pending = card, cell, judged
            return [0] * self.players
        gains = [0] * self.players
        gains[self.mover] = judged.points
        return self._settle(card, cell, judged, gains)

    def announce(self, announced: int) -> list[int]:
        """Announce the points of the pending play (1.6); returns what each seat gains."""
        assert self.pending is not None
        card, cell, judged = self.pending
        self.pending = None
        gains = [0] * self.players
        own, taken = simpleton(announced, judged.points)
        gains[self.mover] = own
        gains[(self.mover + 1) % self.players] = taken  # R11: the next player in turn order takes it
        return self._settle(card, cell, judged, gains)

    def _settle(self, card: str, cell: Cell, judged: Judgement, gains: list[int]) -> list[int]:
        self.board[cell] = card
        self.order[cell] = max(self.order.values()) + 1
        hand = self.hands[self.mover]
        for _ in range(judged.draw_count):  # R2: only now, and R3: as far as the pile reaches
            if self.pile:
                hand.add(self.pile.pop(0))
            else:
                self.lost_draws += 1
        full = len(self.board) == self.full
        if full:  # 1.5
            gains = [gain - sum(map(penalty, hand)) for gain, hand in zip(gains, self.hands, strict=True)]
        self.scores = [score + gain for score, gain in zip(self.scores, gains, strict=True)]
        self.totals = [total + gain for total, gain in zip(self.totals, gains, strict=True)]
        if full and self.round + 1 < self.rounds:
            self._begin(self.round + 1)
            return gains
        self.lost = self.players == 1 and not full and not hand
        self.over = full or self.lost
        self.mover = (self.mover + 1) % self.players
        return gains


def names(cards: Iterable[int]) -> list[str]:
    """The judge's names of cards."""
    return [NAMES[card] for card in cards]


def spiral_referee(rules: spiral.Rules, deals: Sequence[spiral.Deal]) -> spiral_scorer.SpiralReferee:
    """A referee of the spiral game for these deals; `tests.spiral_reference_scorer` calls a card ``DECK[id]``."""

    def in_names(deal: spiral.Deal) -> spiral_scorer.Deal:
        starter, *dealt = (spiral_scorer.DECK[card] for card in deal.cards)
        return spiral_scorer.Deal(starter, (dealt[:13], dealt[13:]))

    options = {"scoring": rules.scoring, "fifteens": rules.fifteens}
    return spiral_scorer.SpiralReferee(map(in_names, deals), rules.deals, **options)  # type: ignore[arg-type]


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

    def judged(board: dict[Cell, str]) -> Judgement:
        return judge(board, cell, card, solitaire=rules.num_players == 1, pawns=rules.pawns, flush=rules.flush)

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
