"""Comparison of `Batch`, `Game` and the reference game after every action."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from quincunx_env.core.arrays import Ints
from quincunx_env.quincunx.batch import Batch
from quincunx_env.quincunx.deal import Deal
from quincunx_env.quincunx.game import Game
from quincunx_env.quincunx.play_values import play_values
from quincunx_env.quincunx.rules import Rules
from quincunx_env.quincunx.scoring import rating
from tests import reference_scorer as scorer
from tests.reference_game import NAMES, ReferenceGame, names
from tests.reference_scorer import ReferenceScore

EMPTY_PILE = "draw from an empty pile"
"""An event that the pile decides, besides those of `tests.reference_scorer.EVENTS`."""


class Comparison:
    """The same games in a batch, one by one and as reference games, compared after every action.

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
        self.references = [ReferenceGame(rules, game.deals) for game in self.games]
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
            self.references[row] = ReferenceGame(self.rules, self.games[row].deals)
        self.compare()

    def step(self, actions: Ints) -> None:
        """Play these actions, which must be legal, everywhere; those of finished games are arbitrary."""
        batch, num_cells = self.batch, self.rules.num_cells
        live = [row for row, game in enumerate(self.games) if not game.over]
        expected = np.zeros((len(self.games), self.rules.num_players), np.int64)
        valued = []
        for row in live:
            game, reference, action = self.games[row], self.references[row], int(actions[row])
            if reference.pending is None:
                card, cell = divmod(action, num_cells)
                scored = self._score_play(row, card, cell)
                valued.append((row, card, cell, scored.points, scored.draw_count))
                lost_draws = reference.lost_draws
                gains = reference.play(NAMES[card], self._places[cell], scored)
            else:
                lost_draws = reference.lost_draws
                gains = reference.announce(action - self.rules.num_plays_encoded - 64)
            if self.count_events and reference.lost_draws > lost_draws:
                self.events[EMPTY_PILE] += 1
            self._same(row, "gains", game.step(action), gains)
            self._compare_with_reference(row)
            expected[row] = gains
        if valued:
            rows, cards, cells, points, draws = np.array(valued).T
            found = batch.value(cards, cells, rows)
            self._same_arrays("points", found[0], points, rows)
            self._same_arrays("draws", found[1], draws, rows)
            of_every_card = play_values(self.rules).all_plays(batch.board, rows, cells)
            made = of_every_card[np.arange(len(rows)), cards]
            self._same_arrays("points and draws among those of every card", made, np.stack([points, draws], 1), rows)
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

    def _score_play(self, row: int, card: int, cell: int) -> ReferenceScore:
        """Compare the value and the parts of a play, and the legal cells, with the reference game."""
        rules, game, reference, place = self.rules, self.games[row], self.references[row], self._places[cell]
        scored = reference.score_play(NAMES[card], place)
        score = game.score(card, cell)
        self._same(row, "basic points and draws", (score.basic, score.draws), (scored.basic, scored.draws))
        self._same(row, "threes and straights", (score.threes, score.straights), (scored.threes, scored.straights))
        self._same(row, "pairs and power", (score.pairs, score.power), (scored.pairs, scored.power))
        self._same(row, "flushes", score.flushes, scored.flush_lines + scored.flush_boxes)
        self._same(row, "sum of the parts", score.points, scored.points)
        self._same(row, "points and draws", game.value(card, cell), (scored.points, scored.draw_count))
        assert -36 <= scored.points <= 302, "the range that announcements allow for"
        self._same(row, "legal cells", {self._places[legal] for legal in game.legal_cells()}, reference.legal())
        if self.count_events:
            options = {"solitaire": rules.num_players == 1, "pawns": rules.pawns, "flush": rules.flush}
            found, lines = (
                scorer.events(reference.board, place, NAMES[card], **options),
                scored.threes + scored.straights,
            )
            assert ("two or more lines" in found) == (len(lines) >= 2)
            assert ("pair across a three" in found) == bool(scored.pairs and scored.threes)
            assert ("power play with many cards" in found) == (scored.power_cards >= 6)
            assert ("three draws" in found, "four draws" in found) == (scored.draw_count == 3, scored.draw_count == 4)
            self.events.update(found)
        return scored

    def _compare_with_reference(self, row: int) -> None:
        game, reference = self.games[row], self.references[row]
        self._same(row, "mover and round", (game.mover, game.round), (reference.mover, reference.round))
        self._same(row, "end", (game.over, game.lost), (reference.over, reference.lost))
        self._same(row, "scores and totals", (game.scores, game.totals), (reference.scores, reference.totals))
        hands = [set(names(game.hand(seat))) for seat in range(self.rules.num_players)]
        self._same(row, "hands", hands, reference.hands)
        self._same(row, "pile", names(game.pile), reference.pile)
        board = {self._places[cell]: NAMES[card] for cell, card in enumerate(game.board) if card >= 0}
        self._same(row, "board", board, reference.board)
        pending = game.pending and (NAMES[game.pending.card], self._places[game.pending.cell])
        self._same(row, "pending play", pending, reference.pending and reference.pending[:2])
        if game.over:
            order = {self._places[cell]: ply for cell, ply in enumerate(game.order) if ply >= 0}
            self._same(row, "order", order, reference.order)
            best = max(reference.totals)
            winners = tuple(seat for seat, total in enumerate(reference.totals) if total == best and not reference.lost)
            self._same(row, "winners", game.winners, winners)
            costs = [sum(map(scorer.penalty, hand)) for hand in reference.hands]
            self._same(row, "penalties", game.penalties, costs)
            if self.rules.num_players == 1:
                [points] = reference.totals
                self._same(row, "rating", rating(points, game.lost), scorer.rating(points, reference.lost))

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
        self._same_arrays("card mask", batch.card_mask, cards)
        self._same_arrays("cell mask", batch.cell_mask, cells)
        plays = (cards[:, :, None] & cells[:, None, :]).reshape(num_games, -1)
        announcing = np.zeros((num_games, rules.num_actions - rules.num_plays_encoded), np.bool_)
        announcing[[game.pending is not None for game in games]] = True
        joint = np.concatenate([plays, announcing], axis=1)
        # Overwriting the mask of the step before must leave nothing of it.
        self._mask = batch._mask(self._mask)
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
        cards, cells = batch.card_mask, batch.cell_mask
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
    ("ply", "drawn", "scores", "totals", "mover", "round", "first"), np.int64
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
