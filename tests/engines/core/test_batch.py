"""Comparison of `Batch`, `Game` and the reference scorer: the same games, bit for bit.

(`test_spiral` compares those of the spiral game; what batches of any game do is tested here for both.)

The comparison runs over every variant: random plays, and games whose deals are stacked and whose players work towards
what happens rarely. Here it is short; the tests marked ``slow`` are the long ones (``-rP`` prints how often each rare
event occurred).
"""

from __future__ import annotations

import copy
import itertools
import pickle
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from quincunx_env.core.batch import BaseBatch, Ints
from quincunx_env.core.game import IllegalAction
from quincunx_env.core.rules import BaseRules
from quincunx_env.quincunx.batch import Batch
from quincunx_env.quincunx.deal import Deal
from quincunx_env.quincunx.game import Game
from quincunx_env.quincunx.rules import Rules
from quincunx_env.quincunx.scoring import rating
from tests import reference_scorer as scorer
from tests.reference_game import NAMES, ReferenceGame, names
from tests.reference_scorer import Cell, ReferenceScore
from tests.variants import (
    BASES,
    COMBINATIONS,
    EVERY_GAME,
    SIMPLETON_AND_MATCH,
    SPIRAL,
    VARIANTS,
    new_batch,
    new_game,
    random_action,
)

AnyBatch = BaseBatch[Any, Any]

# --- The comparison --------------------------------------------------------------------------------------------------


class Comparison:
    """The same games in a batch, one by one and before a referee, compared after every action.

    Row i begins as the seeded game ``seed + i``.
    """

    def __init__(self, rules: Rules, num_games: int, seed: int, count_events: bool = False) -> None:
        self.rules = rules
        self.seed = seed
        self.count_events = count_events
        self.events: Counter[str] = Counter()
        self.plays = 0
        self.batch = Batch(rules, num_games)
        self.games = [Game.from_seed(rules, seed + row) for row in range(num_games)]
        self.referees = [ReferenceGame(rules, game.deals) for game in self.games]
        self._game_numbers = [0] * num_games
        self._places = [divmod(cell, rules.grid.side) for cell in range(rules.num_cells)]
        self._mask: npt.NDArray[np.bool_] | None = None
        self._rng = np.random.default_rng(seed)
        self.batch.reset(seed=seed)
        self.compare()

    def deal(self, rows: Iterable[int], deals: list[tuple[Deal, ...]] | None = None) -> None:
        """Begin new games in these rows: the next seeded ones, or those of the given deals."""
        rows = list(rows)
        self.batch.reset(rows=rows, deals=deals)
        for at, row in enumerate(rows):
            self._game_numbers[row] += 1
            if deals is None:
                self.games[row] = Game.from_seed(self.rules, self.seed + row, self._game_numbers[row])
            else:
                self.games[row] = Game(self.rules, deals[at])
            self.referees[row] = ReferenceGame(self.rules, self.games[row].deals)
        self.compare()

    def step(self, actions: Ints) -> None:
        """Play these actions, which must be legal, everywhere; those of finished games are arbitrary."""
        batch, num_cells = self.batch, self.rules.num_cells
        live = [row for row, game in enumerate(self.games) if not game.over]
        expected = np.zeros((len(self.games), self.rules.num_players), np.int64)
        valued = []
        for row in live:
            game, referee, action = self.games[row], self.referees[row], int(actions[row])
            if referee.pending is None:
                card, cell = divmod(action, num_cells)
                judged = self._judge(row, card, cell)
                valued.append((row, card, cell, judged.points, judged.draw_count))
                lost_draws = referee.lost_draws
                gains = referee.play(NAMES[card], self._places[cell], judged)
            else:
                lost_draws = referee.lost_draws
                gains = referee.announce(action - self.rules.num_plays_encoded - 64)
            if self.count_events and referee.lost_draws > lost_draws:
                self.events[EMPTY_PILE] += 1
            self._same(row, "gains", game.step(action), gains)
            self._compare_with_referee(row)
            expected[row] = gains
        if valued:
            rows, cards, cells, points, draws = np.array(valued).T
            found = batch.value(cards, cells, rows)
            self._same_arrays("points", found[0], points, rows)
            self._same_arrays("draws", found[1], draws, rows)
            self.plays += len(rows)
        if self._rng.random() < 0.5:
            gains_found = batch.step(actions)
        else:  # in two parts, the rows in any order
            order = self._rng.permutation(len(self.games))
            gains_found = np.zeros_like(expected)
            for rows in np.split(order, [len(order) // 3]):
                gains_found[rows] = batch.step(actions[rows], rows)
        self._same_arrays("gains", gains_found, expected)
        self.compare()

    def _judge(self, row: int, card: int, cell: int) -> ReferenceScore:
        """Hold the play's value, its parts and the legal cells against the judge."""
        rules, game, referee, place = self.rules, self.games[row], self.referees[row], self._places[cell]
        judged = referee.score_play(NAMES[card], place)
        score = game.score(card, cell)
        self._same(row, "basic points and draws", (score.basic, score.draws), (judged.basic, judged.draws))
        self._same(row, "threes and straights", (score.threes, score.straights), (judged.threes, judged.straights))
        self._same(row, "pairs and power", (score.pairs, score.power), (judged.pairs, judged.power))
        self._same(row, "flushes", score.flushes, judged.flush_lines + judged.flush_boxes)
        self._same(row, "sum of the parts", score.points, judged.points)
        self._same(row, "points and draws", game.value(card, cell), (judged.points, judged.draw_count))
        assert -36 <= judged.points <= 302, "the range that announcements allow for"
        self._same(row, "legal cells", {self._places[legal] for legal in game.legal_cells()}, referee.legal())
        if self.count_events:
            options = {"solitaire": rules.num_players == 1, "pawns": rules.pawns, "flush": rules.flush}
            self.events.update(scorer.events(referee.board, place, NAMES[card], **options))
        return judged

    def _compare_with_referee(self, row: int) -> None:
        game, referee = self.games[row], self.referees[row]
        self._same(row, "mover and round", (game.mover, game.round), (referee.mover, referee.round))
        self._same(row, "end", (game.over, game.lost), (referee.over, referee.lost))
        self._same(row, "scores and totals", (game.scores, game.totals), (referee.scores, referee.totals))
        hands = [set(names(game.hand(seat))) for seat in range(self.rules.num_players)]
        self._same(row, "hands", hands, referee.hands)
        self._same(row, "pile", names(game.pile), referee.pile)
        board = {self._places[cell]: NAMES[card] for cell, card in enumerate(game.board) if card >= 0}
        self._same(row, "board", board, referee.board)
        pending = game.pending and (NAMES[game.pending.card], self._places[game.pending.cell])
        self._same(row, "pending play", pending, referee.pending and referee.pending[:2])
        if game.over:
            order = {self._places[cell]: ply for cell, ply in enumerate(game.order) if ply >= 0}
            self._same(row, "order", order, referee.order)
            best = max(referee.totals)
            winners = tuple(seat for seat, total in enumerate(referee.totals) if total == best)
            self._same(row, "winners", game.winners, winners)
            costs = [sum(map(scorer.penalty, hand)) for hand in referee.hands]
            self._same(row, "penalties", game.penalties, costs)
            if self.rules.num_players == 1:
                [points] = referee.totals
                self._same(row, "rating", rating(points, game.lost), scorer.rating(points, referee.lost))

    def compare(self) -> None:
        """Every array of the batch against the same array made of the games."""
        rules, batch, games = self.rules, self.batch, self.games
        num_games, num_cells = len(games), rules.num_cells
        for name, dtype in _ATTRIBUTES.items():
            self._same_arrays(name, getattr(batch, name), np.array([getattr(game, name) for game in games], dtype))
        pending = np.array([game.pending or (-1, -1) for game in games])
        self._same_arrays("pending", batch.pending, pending)
        hands = np.unpackbits(batch.hands.view(np.uint8), axis=1, bitorder="little").reshape(num_games, -1, 64)
        self._same_arrays("hands", hands[..., : rules.num_cards], np.array([game.hands for game in games]))
        assert not hands[..., rules.num_cards :].any()
        legal = np.unpackbits(batch.legal.view(np.uint8), axis=1, bitorder="little")[:, :num_cells]
        self._same_arrays("legal", legal, np.array([game.legal for game in games]))
        penalties = np.array([game.penalties for game in games])
        self._same_arrays("penalties", batch.penalties(), penalties)

        cards = self._membership([game.legal_cards() for game in games], rules.num_cards)
        cells = self._membership([game.legal_cells() for game in games], num_cells)
        self._same_arrays("card mask", batch.card_mask(), cards)
        self._same_arrays("cell mask", batch.cell_mask(), cells)
        plays = (cards[:, :, None] & cells[:, None, :]).reshape(num_games, -1)
        announcing = np.zeros((num_games, rules.num_actions - rules.num_plays_encoded), np.bool_)
        announcing[[game.pending is not None for game in games]] = True
        joint = np.concatenate([plays, announcing], axis=1)
        # Overwriting the mask of the step before must leave nothing of it.
        self._mask = batch.mask(self._mask)
        self._same_arrays("mask", self._mask, joint)
        actions = self._rng.integers(-3, rules.num_actions + 3, num_games)
        inside = (actions >= 0) & (actions < rules.num_actions)
        expected = inside & joint[np.arange(num_games), np.where(inside, actions, 0)]
        self._same_arrays("is_legal", batch.is_legal(actions), expected)

    @staticmethod
    def _membership(sets: list[tuple[int, ...]], size: int) -> npt.NDArray[np.bool_]:
        """[len(sets), size]: True at the members of each."""
        member = np.zeros((len(sets), size), np.bool_)
        rows = np.repeat(np.arange(len(sets)), [len(one) for one in sets])
        member[rows, list(itertools.chain.from_iterable(sets))] = True
        return member

    def _same(self, row: int, what: str, found: object, expected: object) -> None:
        if found != expected:
            raise AssertionError(
                f"{what} of row {row}: {found!r}, expected {expected!r}\n{self.rules}\nply {self.games[row].ply} of "
                + " and ".join(map(str, self.games[row].deals))
            )

    def _same_arrays(
        self, what: str, found: npt.NDArray[Any], expected: npt.NDArray[Any], rows: npt.NDArray[Any] | None = None
    ) -> None:
        if found.shape != expected.shape or not (found == expected).all():
            assert found.shape == expected.shape, what
            at = int(np.flatnonzero((found != expected).reshape(len(found), -1).any(axis=1))[0])
            row = at if rows is None else int(rows[at])
            self._same(row, f"{what} in the batch", found[at].tolist(), expected[at].tolist())

    def random_actions(self) -> Ints:
        """A legal action for every game, uniform over its plays; nonsense for finished games."""
        rules, batch, rng = self.rules, self.batch, self._rng
        cards, cells = batch.card_mask(), batch.cell_mask()
        card: Ints = np.where(cards, rng.random(cards.shape), -1).argmax(axis=1)
        cell = np.where(cells, rng.random(cells.shape), -1).argmax(axis=1)
        actions: Ints = card * rules.num_cells + cell
        if rules.simpleton:
            rows = np.flatnonzero(batch.pending[:, 0] >= 0)
            points, _ = batch.value(batch.pending[rows, 0], batch.pending[rows, 1], rows)
            near = points + rng.integers(-3, 4, len(rows))
            wild = rng.integers(-64, 320, len(rows))
            actions[rows] = rules.num_plays_encoded + 64 + np.where(rng.random(len(rows)) < 0.8, near, wild)
        actions[batch.over] = -7
        return actions


_ATTRIBUTES = {"board": np.int8, "order": np.int8, "over": np.bool_, "lost": np.bool_} | dict.fromkeys(
    ("ply", "drawn", "scores", "totals", "mover", "round"), np.int64
)
"""Attributes that batch and game have alike."""


def play_at_random(rules: Rules, num_games: int, plays: int, seed: int) -> None:
    """Compare at least this many random plays."""
    comparison = Comparison(rules, num_games, seed)
    while comparison.plays < plays:
        comparison.step(comparison.random_actions())
        # Finished games wait for each other, so that batches with some of them are stepped too.
        if comparison.batch.over.mean() > 0.25:
            comparison.deal(np.flatnonzero(comparison.batch.over).tolist())


# --- Stacked games ---------------------------------------------------------------------------------------------------

EMPTY_PILE = "draw from an empty pile"
GREEDY = "none in particular"
"""Stacked games that aim at no event: their players take the most points."""


@dataclass(frozen=True)
class Script:
    """A stacked deal and the plays that bring about an event, the last of which is the event."""

    deal: Deal
    plays: tuple[tuple[int, int], ...]
    """(card, cell)."""
    room: frozenset[int]
    """Cells that other plays keep to: in the open start the square that the plays were made for."""


Draft = tuple[list[Cell], list[str], int]
"""Cells, the cards on them, and which of them is played last."""


class Playwright:
    """Makes up scripts for an event by these rules. Drafts that do not work out are thrown away."""

    def __init__(self, rules: Rules, rng: random.Random) -> None:
        self.rules = rules
        self.rng = rng
        self.deck = names(rules.deck)
        self.order = "A23456789PC" if rules.pawns else "A23456789C"
        self.window = 4 if rules.num_players == 1 else 5
        self.steps = ((0, 1), (1, 0)) if rules.num_players == 1 else ((0, 1), (1, 0), (1, 1), (-1, 1))

    def events(self) -> list[str]:
        """The events that can happen by these rules.

        Two runs of three in one line take five cells, the solitaire has four. All its neighbours give 24 draws at most,
        which its pile can serve. Four cards with two suits in common are three cards and a Pawn; without Pawns,
        two suits in a line take five cells.
        """
        rules, solitaire = self.rules, self.rules.num_players == 1
        possible = {
            "straight and three in one line": not solitaire,
            "two straights in one line": not solitaire,
            "flush in two suits": rules.flush and (rules.pawns or not solitaire),
            "pawn inside a straight": rules.pawns,
            "excuse inside a line": rules.excuse,
            EMPTY_PILE: not solitaire,
        }
        return [event for event in (*scorer.EVENTS, EMPTY_PILE) if possible.get(event, True)]

    def write(self, event: str) -> Script:
        """A script for this event."""
        if event in (EMPTY_PILE, GREEDY):
            return Script(self._few_ranks_first(aces_and_crowns=event == EMPTY_PILE), (), frozenset())
        rules = self.rules
        while True:
            cells, cards, last = _DRAFTS[event](self)
            if not cards or len(set(cards)) < len(cards) or not self._inside(cells):
                continue
            plays = [*zip(cells, cards, strict=True)]
            plays.append(plays.pop(last))
            options = {"solitaire": rules.num_players == 1, "pawns": rules.pawns, "flush": rules.flush}
            cell, card = plays[-1]
            if event in scorer.events(dict(plays[:-1]), cell, card, **options) and (script := self._stack(plays)):
                return script

    def _stack(self, plays: list[tuple[Cell, str]]) -> Script | None:
        """Deal the cards of these plays where they are needed, if that is possible."""
        rules, rng = self.rules, self.rng
        corner = (rng.randrange(5), rng.randrange(5)) if rules.start == "open" else (0, 0)
        room = [(corner[0] + row, corner[1] + column) for row in range(self.window) for column in range(self.window)]
        moved = {(corner[0] + row, corner[1] + column): card for (row, column), card in plays}
        *_, last = moved
        if last in rules.setup.face_up:
            return None
        spare = [card for card in self.deck if card not in moved.values()]
        rng.shuffle(spare)
        face_up = [moved.get(place) or spare.pop() for place in rules.setup.face_up]
        hands: list[list[str]] = [[] for _ in range(rules.num_players)]
        turn = rng.randrange(rules.num_players)
        for place, card in moved.items():
            if place not in rules.setup.face_up:
                hands[turn % rules.num_players].append(card)
                turn += 1
        if max(map(len, hands)) > rules.setup.hand:
            return None
        for hand in hands:
            while len(hand) < rules.setup.hand:
                hand.append(spare.pop())
        deal = Deal.parse(f"{' '.join(face_up)} | {' / '.join(map(' '.join, hands))} | {' '.join(spare)}")
        return Script(
            deal,
            tuple((NAMES.index(card), rules.grid.cell(place)) for place, card in moved.items()),
            frozenset(map(rules.grid.cell, room)),
        )

    def _few_ranks_first(self, aces_and_crowns: bool) -> Deal:
        """A deal whose first cards are of few ranks."""
        ranks = "ACP" + self.rng.choice("23456789") if aces_and_crowns else "".join(self.rng.sample(self.order, 4))
        cards = self.rng.sample(self.rules.deck, len(self.rules.deck))
        return Deal.of_cards(self.rules, sorted(cards, key=lambda card: NAMES[card][0] not in ranks))

    # Drafts, in the order of `scorer.EVENTS`. Those that cannot be completed have no cards.

    def straight_and_three(self) -> Draft:
        """3 4 [5] 5 5."""
        low, step = self.rng.randrange(len(self.order)), self.rng.choice((-1, 1))
        return self._line(5), self._of_ranks([low, low + step, low + 2 * step, low + 2 * step, low + 2 * step]), 2

    def two_straights(self) -> Draft:
        """3 4 [5] 4 3."""
        low, step = self.rng.randrange(len(self.order)), self.rng.choice((-1, 1))
        return self._line(5), self._of_ranks([low, low + step, low + 2 * step, low + step, low]), 2

    def two_lines(self) -> Draft:
        """Two runs of three that cross."""
        one, other = self._line(3), self._line(3)
        shared = set(one) & set(other)
        if len(shared) != 1:
            return [], [], 0
        [cell] = shared
        rank = self.rng.randrange(len(self.order))
        ranks: dict[Cell, int] = {}
        for line in (one, other):
            step = self.rng.choice((-1, 0, 1))
            ranks |= {place: rank + step * (at - line.index(cell)) for at, place in enumerate(line)}
        return list(ranks), self._of_ranks(list(ranks.values())), list(ranks).index(cell)

    def three_draws(self) -> Draft:
        """Three neighbours that give a draw each."""
        return self._draws(3)

    def four_draws(self) -> Draft:
        """Four of them."""
        return self._draws(4)

    def pair_across_three(self) -> Draft:
        """A fourth card of the rank beside a three of a kind."""
        line = self._line(3)
        if not self._inside(line):
            return [], [], 0
        last = self.rng.randrange(3)
        beside = self.rng.choice(self._beside(line[last]))
        if beside in line:
            return [], [], 0
        rank = self.rng.choice("AC" if "P" not in self.order else "APC")  # those with four cards
        return [*line, beside], self._of_ranks([self.order.index(rank)] * 4), last

    def two_suits(self) -> Draft:
        """Four cards with two suits in common, in a line or box; or five in a line that share one here, one there."""
        one, other = self.rng.sample("MSVLYK", 2)
        both = [card for card in self.deck if one in card[1:] and other in card[1:]]
        self.rng.shuffle(both)
        if len(both) >= 4 and self.rng.random() < 0.5:
            row, column = self.rng.randrange(self.window - 1), self.rng.randrange(self.window - 1)
            box = [(row, column), (row, column + 1), (row + 1, column), (row + 1, column + 1)]
            return self.rng.choice((box, self._line(4))), both[:4], self.rng.randrange(4)
        ends = [self.rng.choice([card for card in self.deck if suit in card[1:]]) for suit in (one, other)]
        if len(both) < 3 or self.window < 5:
            return [], [], 0
        return self._line(5), [ends[0], *both[:3], ends[1]], self.rng.randrange(1, 4)

    def pawn_inside(self) -> Draft:
        """9 Pawn Crown."""
        nine = self.order.index("9")
        return self._line(3), self._of_ranks([nine, nine + 1, nine + 2]), self.rng.randrange(3)

    def excuse_inside(self) -> Draft:
        """The Excuse between two cards."""
        one, other = self.rng.sample(self.deck, 2)
        return self._line(3), [one, "X", other], self.rng.choice((0, 2))

    def power_play(self) -> Draft:
        """Ace and Crown side by side, and many cards of their suit anywhere."""
        suit = self.rng.choice("MSVLYK")
        partners = [f"A{suit}", f"C{suit}"]
        others = [card for card in self.deck if suit in card[1:] and card not in partners]
        self.rng.shuffle(partners)
        others = self.rng.sample(others, self.rng.randint(6, 8))
        cells = [(row, column) for row in range(self.window) for column in range(self.window)]
        self.rng.shuffle(cells)
        near = self.rng.choice(self._beside(cells[0]))
        free = [cell for cell in cells[1:] if cell != near]
        return [cells[0], near, *free[: len(others)]], partners + others, 0

    def _draws(self, count: int) -> Draft:
        cell = self.rng.randrange(self.window), self.rng.randrange(self.window)
        card, *others = self.rng.sample(self.deck, len(self.deck))
        options = {"solitaire": True, "pawns": self.rules.pawns, "flush": False}
        giving = [other for other in others if scorer.score_play({(0, 1): other}, (0, 0), card, **options).draws]
        near = self._beside(cell)[:count]
        if len(near) < count or len(giving) < count:
            return [], [], 0
        return [cell, *near], [card, *giving[:count]], 0

    def _line(self, length: int) -> list[Cell]:
        """So many cells in line, perhaps not all inside."""
        down, right = self.rng.choice(self.steps)
        row, column = self.rng.randrange(self.window), self.rng.randrange(self.window)
        return [(row + down * at, column + right * at) for at in range(length)]

    def _beside(self, cell: Cell) -> list[Cell]:
        row, column = cell
        near = [(row - 1, column), (row, column - 1), (row, column + 1), (row + 1, column)]
        self.rng.shuffle(near)
        return [place for place in near if self._inside([place])]

    def _inside(self, cells: list[Cell]) -> bool:
        return all(0 <= row < self.window and 0 <= column < self.window for row, column in cells)

    def _of_ranks(self, ranks: list[int]) -> list[str]:
        """A different card of each of these places in the order of ranks, or none at all."""
        cards: list[str] = []
        for rank in ranks:
            letter = self.order[rank] if 0 <= rank < len(self.order) else ""
            fitting = [card for card in self.deck if card[0] == letter and card not in cards]
            if not fitting:
                return []
            cards.append(self.rng.choice(fitting))
        return cards


_DRAFTS: dict[str, Callable[[Playwright], Draft]] = dict(
    zip(
        scorer.EVENTS,
        (
            *(Playwright.straight_and_three, Playwright.two_straights, Playwright.two_lines, Playwright.three_draws),
            *(Playwright.four_draws, Playwright.pair_across_three, Playwright.two_suits, Playwright.pawn_inside),
            *(Playwright.excuse_inside, Playwright.power_play),
        ),
        strict=True,
    )
)


def play_stacked(rules: Rules, games_for_each: int, seed: int) -> Counter[str]:
    """Compare stacked games, so many for each event that these rules allow; returns how often each occurred."""
    rng = random.Random(seed)
    playwright = Playwright(rules, rng)
    events = playwright.events()
    schedule = [event for event in (*events, GREEDY) for _ in range(games_for_each)]
    rng.shuffle(schedule)
    num_games = min(64, len(schedule))
    comparison = Comparison(rules, num_games, seed, count_events=True)
    aims: list[tuple[str, tuple[Script, ...]]] = [(GREEDY, ())] * num_games

    def deal(rows: list[int]) -> None:
        """Stack new games in these rows, as far as the schedule goes."""
        rows = rows[: len(schedule)]
        for row in rows:
            event = schedule.pop()
            aims[row] = event, tuple(playwright.write(event) for _ in range(rules.num_rounds))
        if rows:
            comparison.deal(rows, [tuple(script.deal for script in aims[row][1]) for row in rows])

    deal(list(range(num_games)))
    while not comparison.batch.over.all():
        actions = comparison.random_actions()
        for row, (_, scripts) in enumerate(aims):
            game = comparison.games[row]
            if not game.over and not game.pending and scripts[game.round].plays:
                actions[row] = _follow(game, scripts[game.round], rng)
        _steer(comparison.batch, actions, np.array([event == EMPTY_PILE for event, _ in aims]), draws=True)
        _steer(comparison.batch, actions, np.array([event == GREEDY for event, _ in aims]), draws=False)
        comparison.step(actions)
        over = np.flatnonzero(comparison.batch.over).tolist()
        if len(over) * 4 >= num_games:
            deal(over)
    return Counter({event: comparison.events[event] for event in events})


def _follow(game: Game, script: Script, rng: random.Random) -> int:
    """The next play of the script that can be made, or one out of its way."""
    cards, cells = game.legal_cards(), game.legal_cells()
    ahead = [(card, cell) for card, cell in script.plays if game.board[cell] < 0]
    for card, cell in ahead[:-1] or ahead:
        if card in cards and cell in cells:
            return card * game.rules.num_cells + cell
    wanted_cards, wanted_cells = {card for card, _ in ahead}, {cell for _, cell in ahead}
    card = rng.choice([card for card in cards if card not in wanted_cards] or cards)
    free = [cell for cell in cells if cell not in wanted_cells]
    return card * game.rules.num_cells + rng.choice([cell for cell in free if cell in script.room] or free or cells)


def _steer(batch: Batch, actions: Ints, rows: npt.NDArray[np.bool_], draws: bool) -> None:
    """Replace the actions of these rows by the play that draws or scores most."""
    plays = batch.mask()[:, : batch.rules.num_plays_encoded]
    plays[~rows] = False
    at, legal = np.nonzero(plays)
    worth = np.full(plays.shape, -1000)
    worth[at, legal] = batch.value(*np.divmod(legal, batch.rules.num_cells), at)[draws]
    steered = np.unique(at)
    actions[steered] = worth[steered].argmax(axis=1)


# --- The comparison, at every length ---------------------------------------------------------------------------------


def by_name(variants: Mapping[str, BaseRules]) -> pytest.MarkDecorator:
    """One test for each of these games."""
    return pytest.mark.parametrize("rules", [pytest.param(rules, id=name) for name, rules in variants.items()])


@by_name(VARIANTS)
def test_engines_and_judge_agree_on_random_plays(rules: Rules) -> None:
    play_at_random(rules, num_games=12, plays=300, seed=1)


FEW = {name: rules for name, rules in COMBINATIONS.items() if name in BASES or name.endswith("+excuse+pawns+flush")}
"""Each base with the basic and with the full deck."""

MIXED = FEW | {name: rules for name, rules in VARIANTS.items() if name.endswith("flush+simpleton+match")}
"""The same, and with everything there is."""

SOME_SPIRAL = {name: SPIRAL[name] for name in ("spiral-play-2", "spiral-end+fifteens-4")}
ONE_OF_EACH = {name: EVERY_GAME[name] for name in ("solitaire", "corners-2", "spiral-play-1")}
"""Single rounds, of either game."""


@by_name(MIXED)
def test_engines_and_judge_agree_on_stacked_deals(rules: Rules) -> None:
    counts = play_stacked(rules, games_for_each=-(-4 // rules.num_rounds), seed=2)  # of all rounds, four or more
    print(dict(counts))
    assert min(counts.values()) >= 2, counts


@pytest.mark.slow
@by_name(COMBINATIONS)
def test_long_engines_and_judge_agree_on_100_000_random_plays(rules: Rules) -> None:
    play_at_random(rules, num_games=128, plays=100_000, seed=1_000)


@pytest.mark.slow
@by_name(SIMPLETON_AND_MATCH)
def test_long_engines_and_judge_agree_on_20_000_random_plays(rules: Rules) -> None:
    play_at_random(rules, num_games=128, plays=20_000, seed=2_000)


@pytest.mark.slow
@by_name(COMBINATIONS)
def test_long_stacked_deals_bring_about_every_rare_event_100_times(rules: Rules) -> None:
    counts = play_stacked(rules, games_for_each=150, seed=3_000)
    print(dict(counts))
    assert min(counts.values()) >= 100, counts


# --- Rows are strangers ----------------------------------------------------------------------------------------------


def play_row(batch: AnyBatch, actions: dict[int, int]) -> Ints:
    """Play in these rows only."""
    rows = np.array(list(actions))
    return batch.step(np.array(list(actions.values())), rows)


def state_of(batch: AnyBatch) -> dict[str, npt.NDArray[Any]]:
    """A copy of the whole state."""
    return batch.get_state()


def rows_of(batch: AnyBatch, rows: list[int]) -> dict[str, npt.NDArray[Any]]:
    """The state of some rows."""
    return {name: array[rows] for name, array in batch.get_state().items() if name != "version"}


def same_state(one: dict[str, npt.NDArray[Any]], other: dict[str, npt.NDArray[Any]]) -> bool:
    """Whether two states are the same, dtypes included."""
    return one.keys() == other.keys() and all(
        array.dtype == other[name].dtype and np.array_equal(array, other[name]) for name, array in one.items()
    )


def legal_actions(batch: AnyBatch, rng: np.random.Generator) -> Ints:
    """A random legal action for every row, 0 where a game is over."""
    mask = batch.mask()
    actions: Ints = np.where(mask, rng.random(mask.shape), -1).argmax(axis=1)
    return actions


def in_the_middle(rules: BaseRules, num_games: int = 5, steps: int = 9, seed: int = 11) -> Any:
    """A batch after some random steps."""
    batch, rng = new_batch(rules, num_games), np.random.default_rng(seed)
    batch.reset(seed=seed)
    for _ in range(steps):
        batch.step(legal_actions(batch, rng))
    return batch


@by_name({**MIXED, **SPIRAL})
def test_a_row_does_not_depend_on_its_neighbours(rules: BaseRules) -> None:
    """One game alone, and in the middle of others that are other games, play otherwise and end at other times."""
    rng = np.random.default_rng(3)
    alone, crowd = new_batch(rules, 1), new_batch(rules, 5)
    alone.reset(seed=[77])
    crowd.reset(seed=[5, 6, 77, 0, 8])
    while not alone.over[0]:
        action = legal_actions(alone, rng)
        actions = legal_actions(crowd, rng)
        actions[2] = action[0]
        for name in ("mask", *(("card_mask", "cell_mask") if isinstance(rules, Rules) else ())):
            assert np.array_equal(getattr(crowd, name)()[2], getattr(alone, name)()[0])
        gains = crowd.step(actions)
        assert np.array_equal(gains[2], alone.step(action)[0])
        if rng.random() < 0.1:
            crowd.reset(rows=[1, 4])
        assert same_state(rows_of(alone, [0]), rows_of(crowd, [2]))


@by_name({**FEW, **SOME_SPIRAL})
def test_steps_in_some_rows_leave_the_others_alone(rules: BaseRules) -> None:
    batch = in_the_middle(rules, steps=4)
    before = state_of(batch)
    actions = legal_actions(batch, np.random.default_rng(0))
    gains = play_row(batch, {3: int(actions[3]), 1: int(actions[1])})
    whole = batch.fork(range(5))
    whole.set_state(before)
    assert np.array_equal(whole.step(actions)[[3, 1]], gains)
    assert same_state(rows_of(batch, [1, 3]), rows_of(whole, [1, 3]))
    whole.set_state(before)
    assert same_state(rows_of(batch, [0, 2, 4]), rows_of(whole, [0, 2, 4]))


@by_name({**ONE_OF_EACH, **SOME_SPIRAL})
def test_finished_games_stay_as_they_are(rules: BaseRules) -> None:
    batch = in_the_middle(rules, steps=100)
    assert batch.over.all()
    assert not batch.mask().any()
    if isinstance(rules, Rules):
        assert not batch.card_mask().any()
        assert not batch.cell_mask().any()
    before = state_of(batch)
    assert not batch.step([0, -1, 7, 10**6, 3]).any()
    assert not batch.is_legal([0, -1, 7, 10**6, 3]).any()
    assert same_state(before, state_of(batch))


@by_name(ONE_OF_EACH)
def test_a_new_batch_holds_finished_games(rules: BaseRules) -> None:
    batch = new_batch(rules, 3)
    assert batch.over.all()
    assert not batch.mask().any()
    with pytest.raises(ValueError, match="num_games must be at least 1, got 0"):
        new_batch(rules, 0)


@by_name(FEW)
def test_many_plays_are_valued_at_once(rules: Rules) -> None:
    """Thousands of plays, legal or not, of any game in any order, are worth what they are one by one."""
    batch, rng = in_the_middle(rules, steps=6), np.random.default_rng(0)
    games = [batch.to_game(row) for row in range(5)]
    rows = rng.integers(0, 5, 3000)
    cards = rng.choice(rules.deck, 3000)
    cells = np.where(batch.board[rows, :-1] < 0, rng.random((3000, rules.num_cells)), -1).argmax(axis=1)
    points, draws = batch.value(cards, cells, rows)
    plays = zip(rows.tolist(), cards.tolist(), cells.tolist(), strict=True)
    expected = [games[row].value(card, cell) for row, card, cell in plays]
    assert [*zip(points.tolist(), draws.tolist(), strict=True)] == expected


# --- Illegal actions -------------------------------------------------------------------------------------------------


SIMPLETON = {name: rules for name, rules in SIMPLETON_AND_MATCH.items() if name.endswith("+simpleton")}


@by_name({**FEW, **SIMPLETON, **SOME_SPIRAL})
def test_nothing_changes_on_an_illegal_action(rules: BaseRules) -> None:
    """Every action is tried in the middle of a game: legal as the mask says, else refused as the game refuses it."""
    steps = (0, 3, 6) if rules.num_players == 1 else (0, 7, 16)
    rng = random.Random(0)
    for seed, count in enumerate(steps):
        batch = in_the_middle(rules, num_games=3, steps=count, seed=seed)
        legal = legal_actions(batch, np.random.default_rng(seed))
        before, mask = state_of(batch), batch.mask()[1]
        legal_ones = set(np.flatnonzero(mask).tolist())
        illegal = [action for action in range(-3, rules.num_actions + 3) if action not in legal_ones]
        for action in [*illegal[:3], *rng.sample(illegal, min(60, len(illegal))), *illegal[-3:]]:
            game = batch.to_game(1)
            with pytest.raises(IllegalAction) as plain:
                game.step(action)
            actions = legal.copy()
            actions[1] = action
            with pytest.raises(IllegalAction, match=re.escape(f"game 1: {plain.value}")):
                batch.step(actions)
            assert same_state(before, state_of(batch)), "in no row"
        batch.step(legal)


@by_name(ONE_OF_EACH)
@pytest.mark.parametrize("actions", [[0], [0, 0, 0], [0.0, 0.0], [[0], [0]], [True, False], ["a", "b"]])
def test_what_are_no_actions_is_refused(rules: BaseRules, actions: Any) -> None:
    batch = in_the_middle(rules, num_games=2, steps=1)
    before = state_of(batch)
    with pytest.raises(IllegalAction, match="2 integer actions are needed, got"):
        batch.step(actions)
    assert same_state(before, state_of(batch))


# --- Dealing ---------------------------------------------------------------------------------------------------------


@by_name({**ONE_OF_EACH, **SOME_SPIRAL})
def test_games_of_a_row_follow_each_other(rules: BaseRules) -> None:
    """Without a seed a row goes on to its next game; a seed begins again with game 0."""
    batch = new_batch(rules, 4)
    batch.reset(seed=10)
    batch.reset(rows=[1, 3])
    batch.reset(rows=np.array([False, True, False, False]))
    assert batch.seed.tolist() == [10, 11, 12, 13]
    assert batch.game.tolist() == [0, 2, 0, 1]
    for row, number in enumerate([0, 2, 0, 1]):
        assert batch.deals(row) == new_game(rules, 10 + row, number).deals
    batch.reset(rows=[3], seed=10)
    assert (batch.seed[3], batch.game[3]) == (13, 0)
    batch.reset(rows=[3, 0], seed=[5, 6])
    assert batch.seed.tolist() == [6, 11, 12, 5]
    assert batch.game.tolist() == [0, 2, 0, 0]


@by_name({**MIXED, **SOME_SPIRAL})
@pytest.mark.parametrize("steps", [3, 8, 30, 200])
def test_a_reset_leaves_nothing_of_the_game_before(rules: BaseRules, steps: int) -> None:
    """Whether that one had just begun, waited for an announcement, was in a later round, or over."""
    batch, fresh = in_the_middle(rules, steps=steps), new_batch(rules, 5)
    batch.reset(seed=70)
    fresh.reset(seed=70)
    assert same_state(state_of(batch), state_of(fresh))


def test_without_any_seed_games_differ() -> None:
    one, other = Batch(Rules(), 50), Batch(Rules(), 50)
    one.reset()
    other.reset()
    assert len({*one.seed.tolist(), *other.seed.tolist()}) == 100
    seeds = one.seed.copy()
    numbers = one.game.copy()
    one.reset()
    assert np.array_equal(one.seed, seeds)
    assert np.array_equal(one.game, numbers + 1), "and go on from there"


@by_name({"quincunx": Rules(num_players=2, match=True), "spiral": SPIRAL["spiral-end-2"]})
def test_given_deals_are_played(rules: BaseRules) -> None:
    deals = [new_game(rules, seed).deals[::-1] for seed in (3, 4)]
    batch = new_batch(rules, 3)
    batch.reset(seed=0)
    batch.reset(rows=[2, 0], deals=deals)
    assert (batch.deals(2), batch.deals(0)) == (deals[0], deals[1])
    assert batch.deals(1) == new_game(rules, 1).deals
    assert batch.seed.tolist() == [-1, 1, -1]
    batch.reset(rows=[0])
    assert batch.deals(0) == new_game(rules, 0, 2).deals, "the row keeps its seed, and counts its resets"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seed": -1}, "seed must be an integer from 0 to .* got -1"),
        ({"seed": 2**63 - 2}, "seed must be an integer from 0 to .*"),
        ({"seed": True}, "seed must be an integer from 0 to .* got True"),
        ({"seed": 1.5}, "seed must be an integer from 0 to .* got 1.5"),
        ({"seed": [1, 2, -3]}, "seed must be an integer from 0 to .* got -3"),
        ({"seed": [1, 2]}, "3 games are reset, got 2 seeds"),
        ({"seed": [1, 2, 3], "rows": [0]}, "1 games are reset, got 3 seeds"),
        ({"deals": []}, "3 games are reset and need a deal each"),
        ({"deals": [Deal.from_seed(Rules(), 0)] * 2}, "3 games are reset and need a deal each"),
        ({"deals": [Deal.from_seed(Rules(num_players=2), 0)] * 3}, "this deal does not fit the rules"),
        ({"deals": [[Deal.from_seed(Rules(), 0)] * 2] * 3}, "these rules play 1 rounds .* a deal for each, got 2"),
    ],
)
def test_bad_resets_are_refused_and_change_nothing(options: dict[str, Any], message: str) -> None:
    batch = in_the_middle(Rules(), num_games=3, steps=3)
    before = state_of(batch)
    with pytest.raises(ValueError, match=message):
        batch.reset(**options)
    assert same_state(before, state_of(batch))


# --- State -----------------------------------------------------------------------------------------------------------


def play_on(batch: AnyBatch, seed: int = 4) -> list[list[list[int]]]:
    """Random steps to the end of all games; returns the gains."""
    rng = np.random.default_rng(seed)
    gains = []
    while not batch.over.all():
        gains.append(batch.step(legal_actions(batch, rng)).tolist())
    return gains


@by_name({**MIXED, **SOME_SPIRAL})
@pytest.mark.parametrize("steps", [7, 31])
def test_to_game_is_the_same_game(rules: BaseRules, steps: int) -> None:
    batch = in_the_middle(rules, steps=steps)
    if isinstance(rules, Rules) and rules.simpleton:
        assert (batch.pending[:, 0] >= 0).all()
    games = [batch.to_game(row) for row in range(5)]
    rng = random.Random(1)
    while not batch.over.all():
        actions = [0 if game.over else random_action(game, rng) for game in games]
        gains = batch.step(actions)
        for row, game in enumerate(games):
            if not game.over:
                assert game.step(actions[row]) == gains[row].tolist()
            assert (game.over, game.totals) == (batch.over[row], batch.totals[row].tolist())
            for name in ("board", "order") if isinstance(rules, Rules) else ("board",):
                assert list(getattr(game, name)) == getattr(batch, name)[row].tolist()


@by_name({**MIXED, **SOME_SPIRAL})
def test_copies_go_on_alike_and_apart(rules: BaseRules) -> None:
    """Pickle, deepcopy, fork and saved arrays: each plays on as the original does, and none disturbs another."""
    batch = in_the_middle(rules, steps=7)
    before = state_of(batch)
    loaded = new_batch(rules, 5)
    loaded.set_state(before)
    twins = [pickle.loads(pickle.dumps(batch)), copy.deepcopy(batch), batch.fork(range(5)), loaded]
    expected = play_on(batch)
    for twin in twins:
        assert same_state(before, state_of(twin))
        assert play_on(twin) == expected
        assert same_state(state_of(batch), state_of(twin))
        # The rows go on to the same next games, too.
        twin.reset()
    batch.reset()
    assert all(same_state(state_of(batch), state_of(twin)) for twin in twins)


def test_without_any_seed_the_first_game_is_number_0() -> None:
    batch = Batch(Rules(), 3)
    batch.reset()
    assert batch.game.tolist() == [0, 0, 0]
    assert batch.seed.min() >= 0
    assert len(set(batch.seed.tolist())) == 3
    batch.reset(rows=[1])
    assert batch.game.tolist() == [0, 1, 0]


@by_name(ONE_OF_EACH)
def test_fork_repeats_and_picks_rows(rules: BaseRules) -> None:
    batch = in_the_middle(rules, steps=5)
    fork = batch.fork([4, 1, 4, 4])
    assert fork.num_games == 4
    assert same_state(rows_of(fork, [0, 1, 2, 3]), rows_of(batch, [4, 1, 4, 4]))
    masked = batch.fork([False, True, False, False, True])
    assert same_state(rows_of(masked, [0, 1]), rows_of(batch, [1, 4]))
    before = state_of(batch)
    play_on(fork)
    assert same_state(before, state_of(batch))
    assert batch.fork(2).num_games == 1


@by_name(ONE_OF_EACH)
def test_saved_arrays_are_copied_when_loaded(rules: BaseRules) -> None:
    batch = in_the_middle(rules)
    saved = state_of(batch)
    batch.reset(seed=99)
    batch.set_state(saved)
    batch.board[:] = 3
    assert not (saved["board"] == 3).all()


@pytest.mark.parametrize(
    ("rules", "name"),
    [(rules, name) for rules in (Rules(num_players=2), SPIRAL["spiral-play-2"]) for name in new_batch(rules, 1).STATE],
    ids=str,
)
def test_bad_state_arrays_are_named(rules: BaseRules, name: str) -> None:
    """Missing, of another shape or of another dtype: refused, and nothing has changed."""
    batch = in_the_middle(rules)
    before = state_of(batch)
    other = state_of(in_the_middle(rules, seed=5))
    good = other[name]
    message = re.escape(f"state array '{name}' must be {good.dtype} of shape {good.shape}")
    for bad in (None, good[:-1], good[..., None], good.astype(np.float64)):
        arrays = {key: array for key, array in other.items() if key != name}
        if bad is not None:
            arrays[name] = bad
        with pytest.raises(ValueError, match=message):
            batch.set_state(arrays)
        assert same_state(before, state_of(batch))
