"""Comparison of `Batch`, `Game` and the reference game of the spiral game after every play."""

from dataclasses import astuple
from typing import Any

import numpy as np
import numpy.typing as npt

from quincunx_env.spiral import Batch, Game, Rules
from tests.reference_game import spiral_reference_game
from tests.spiral_reference_scorer import DECK, Cell, score_play
from tests.variants import legal_actions, same


def names(cards: Any) -> list[str]:
    """The printed names of cards."""
    return [DECK[card] for card in cards]


def faces(board: Any) -> dict[Cell, str]:
    """A board in printed names."""
    return {divmod(cell, 5): DECK[card] for cell, card in enumerate(board) if card >= 0}


class Comparison:
    """The same games in a batch, one by one and as reference games, compared after every play."""

    def __init__(self, rules: Rules, num_games: int, seed: int) -> None:
        self.rules, self.seed, self.plays = rules, seed, 0
        self.rng = np.random.default_rng(seed)
        self.batch = Batch(rules, num_games)
        self.games = [Game.from_seed(rules, seed + row) for row in range(num_games)]
        self.references = [spiral_reference_game(rules, game.deals) for game in self.games]
        self.numbers = [0] * num_games
        self.batch.reset(seed)

    def deal(self) -> None:
        """Go on to the next game where one is over."""
        rows = np.flatnonzero(self.batch.over).tolist()
        self.batch.reset(rows=rows)
        for row in rows:
            self.numbers[row] += 1
            self.games[row] = Game.from_seed(self.rules, self.seed + row, self.numbers[row])
            self.references[row] = spiral_reference_game(self.rules, self.games[row].deals)

    def step(self) -> None:
        """Play a random card everywhere, and nonsense in games that are over."""
        batch, rules = self.batch, self.rules
        actions = np.where(batch.over, -5, legal_actions(batch, self.rng))
        live = np.flatnonzero(~batch.over)
        values = dict(zip(live.tolist(), batch.value(actions[live], live).tolist(), strict=True))
        expected = []
        for row, (game, reference, card) in enumerate(zip(self.games, self.references, actions.tolist(), strict=True)):
            if game.over:
                expected.append([0, 0])
                continue
            cell = reference.cell
            scored = score_play(reference.board, cell, DECK[card], rules.fifteens)
            assert game.cell is not None
            assert divmod(game.cell, 5) == cell
            assert astuple(game.score(card)) == astuple(scored), "row and column, part by part"
            assert values[row] == [scored.row.points, scored.column.points]
            gains = list(reference.play(DECK[card]))
            assert game.step(card) == gains
            expected.append(gains)
            self.plays += 1
        if self.rng.random() < 0.5:
            assert batch.step(actions).tolist() == expected
        else:  # in two parts, the rows in any order
            order = self.rng.permutation(len(actions))
            for rows in np.split(order, [len(order) // 3]):
                assert batch.step(actions[rows], rows).tolist() == [expected[row] for row in rows]
        self.compare()

    def compare(self) -> None:
        """Every array of the batch against the games, and those against the reference."""
        batch, games = self.batch, self.games
        dtypes: dict[str, Any] = {"board": np.int8, "over": np.bool_}
        for name in ("board", "over", "ply", "scores", "totals", "mover", "round", "first"):
            array: npt.NDArray[Any] = np.array([getattr(game, name) for game in games], dtypes.get(name, np.int64))
            same(getattr(batch, name), array, name)
        hands = np.unpackbits(batch.hands.view(np.uint8), axis=1, bitorder="little").reshape(len(games), 2, 64)
        same(hands[..., :52], np.array([game.hands for game in games], np.uint8))
        assert not hands[..., 52:].any()
        mask = batch.mask
        tried = self.rng.integers(-3, 55, len(games))
        known = (tried >= 0) & (tried < 52)
        same(batch.is_legal(tried), known & mask[np.arange(len(games)), np.where(known, tried, 0)])
        for row, (game, reference) in enumerate(zip(games, self.references, strict=True)):
            legal = np.flatnonzero(mask[row]).tolist()
            assert set(names(legal)) == reference.legal
            assert list(game.legal_cards()) == legal
            assert (game.round, game.over, game.ply) == (reference.number, reference.over, reference.played)
            assert game.over or (game.mover, game.dealer) == (reference.mover, reference.dealer)
            assert (game.scores, game.totals) == (reference.scores, reference.totals)
            assert faces(game.board) == reference.board
            assert [set(names(game.hand(seat))) for seat in (0, 1)] == list(reference.hands)
            best = max(reference.totals)
            won = tuple(seat for seat in (0, 1) if reference.totals[seat] == best and reference.over)
            assert game.winners == won


def play_at_random(rules: Rules, num_games: int, plays: int, seed: int) -> None:
    """Compare at least this many random plays."""
    comparison = Comparison(rules, num_games, seed)
    comparison.compare()
    while comparison.plays < plays:
        comparison.step()
        # Finished games wait for each other, so that batches with some of them are stepped too.
        if comparison.batch.over.mean() > 0.25:
            comparison.deal()
            comparison.compare()
