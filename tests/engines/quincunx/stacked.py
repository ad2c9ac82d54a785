"""Stacked deals and players that work towards rare events, for the comparison."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from quincunx_env.core.arrays import Ints
from quincunx_env.quincunx.batch import Batch
from quincunx_env.quincunx.deal import Deal
from quincunx_env.quincunx.game import Game
from quincunx_env.quincunx.rules import Rules
from tests import reference_scorer as scorer
from tests.engines.quincunx.comparison import EMPTY_PILE, Comparison
from tests.reference_game import NAMES, names
from tests.reference_scorer import Cell

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


class ScriptWriter:
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

    # Drafts of the events. Those that cannot be completed have no cards.

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

    def draws(self, count: int) -> Draft:
        """A card beside so many that give a draw each."""
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


_DRAFTS: dict[str, Callable[[ScriptWriter], Draft]] = {
    "straight and three in one line": ScriptWriter.straight_and_three,
    "two straights in one line": ScriptWriter.two_straights,
    "two or more lines": ScriptWriter.two_lines,
    "three draws": lambda writer: writer.draws(3),
    "four draws": lambda writer: writer.draws(4),
    "pair across a three": ScriptWriter.pair_across_three,
    "flush in two suits": ScriptWriter.two_suits,
    "pawn inside a straight": ScriptWriter.pawn_inside,
    "excuse inside a line": ScriptWriter.excuse_inside,
    "power play with many cards": ScriptWriter.power_play,
}


def play_stacked(rules: Rules, games_for_each: int, seed: int) -> Counter[str]:
    """Compare stacked games, so many for each event that these rules allow; returns how often each occurred."""
    rng = random.Random(seed)
    writer = ScriptWriter(rules, rng)
    events = writer.events()
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
            aims[row] = event, tuple(writer.write(event) for _ in range(rules.num_rounds))
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
    plays = batch.mask[:, : batch.rules.num_plays_encoded]
    plays[~rows] = False
    at, legal = np.nonzero(plays)
    value = np.full(plays.shape, -1000)
    value[at, legal] = batch.value(*np.divmod(legal, batch.rules.num_cells), at)[draws]
    steered = np.unique(at)
    actions[steered] = value[steered].argmax(axis=1)
