"""Beam search in one solitaire whose pile is known.

Each step expands all kept states by all legal plays and keeps the ``width`` successors of highest heuristic value.
Transpositions are merged by Zobrist hashing (Zobrist, *A New Hashing Method with Application for Game Playing*, 1970).
The score of the best line found is a lower bound of the optimum with perfect information. Where the beam holds every
reachable state it is the optimum.

Axes: n states, H cards that are in hand or in the pile, E empty cells, K all cards, m plays.
"""

import math
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from quincunx_env.core.arrays import ONE, Floats, Ints, Words, unpack
from quincunx_env.core.cards import EMPTY
from quincunx_env.quincunx import scoring
from quincunx_env.quincunx.cards import CARDS
from quincunx_env.quincunx.game import Game
from quincunx_env.quincunx.rules import Rules
from quincunx_env.quincunx.tables import derived_tables

# --- Heuristic value of a state --------------------------------------------------------------------------------------

STATE_VALUE_WEIGHTS: dict[str, tuple[int, ...]] = {
    "points": (90, 85, 75, 72, 70, 70, 66, 70, 57, 54),
    "hand A": (-360, -270, -20, 210, 360, 530, 570, 530, 390, 270),
    "hand 2": (-100, -90, 40, 230, 470, 620, 700, 580, 530, 470),
    "hand 3": (-140, -170, -90, 90, 290, 510, 570, 580, 470, 370),
    "hand 4": (-100, -100, 60, 280, 500, 590, 520, 400, 260, 170),
    "hand 5": (-200, -170, 0, 210, 410, 520, 550, 480, 310, 170),
    "hand 6": (-210, -180, 30, 200, 380, 520, 560, 530, 350, 250),
    "hand 7": (110, 130, 240, 370, 500, 630, 580, 510, 320, 240),
    "hand 8": (380, 410, 540, 620, 750, 840, 840, 700, 470, 270),
    "hand 9": (470, 500, 600, 640, 650, 760, 730, 570, 310, 120),
    "hand C": (500, 550, 840, 1040, 1260, 1360, 1360, 1250, 910, 710),
    "size 1": (-900, -1100, -1700, -1600, -1600, -1600, -3900, -6100, -8100, -9700),
    "size 2": (0, -200, -600, -1000, -1200, -1500, -1900, -4100, -6100, -7700),
    "size 3": (400, 400, 200, -200, -600, -1000, -1500, -2100, -4100, -5700),
    "size 4": (500, 700, 700, 500, 0, -500, -1000, -1500, -2100, -3700),
    "size 5": (400, 800, 1000, 800, 400, -100, -500, -900, -1300, -1700),
    "size 6": (100, 500, 800, 800, 500, 100, -300, -500, -800, -900),
    "size 7": (-200, 300, 600, 600, 200, 0, -200, -200, -200, -200),
    "size 8": (-800, -400, -100, -100, -400, -600, -600, -300, -100, 100),
    "size 9": (-1600, -800, -200, -300, -800, -1300, -1100, -500, -200, 200),
    "size 10": (-2400, -1100, -400, -400, -1300, -1900, -1700, -800, -300, 200),
}
"""Weights of the linear heuristic value of a state, in hundredths of a point.

They multiply its points, each card of the hand by rank, and a hand of 1, 2, ... 10 or more cards. The columns are for
1, 2, ... 10 or more plays still to come. The weights were fitted by least squares to the final scores that beams of
width 250 reached. The 48,000 states are from 300 deals of the ``play`` domain; lost rounds counted 100. They are
integers, so that equal values are equal on every machine."""


class _ValueWeights(NamedTuple):
    """One column of ``STATE_VALUE_WEIGHTS``, arranged for the cards of one game."""

    points: float
    cards: Floats
    """[H]: weight of each card that is in hand or in the pile."""
    sizes: Floats
    """[H + 1]: weight by the size of the hand; -inf for an empty hand, with which the round is lost."""


def _value_weights(plays_left: int, ranks: list[str]) -> _ValueWeights:
    """Return the weights with ``plays_left`` (at least 1) plays to come. They are for cards of these ranks."""
    column = min(plays_left, 10) - 1
    weights = {name: float(by_left[column]) for name, by_left in STATE_VALUE_WEIGHTS.items()}
    # No weights were fitted to the extensions: the Pawn counts as a 5, a middling card; the Excuse counts nothing.
    weights |= {"hand P": weights["hand 5"], "hand X": 0.0}
    sizes = [weights[f"size {min(size, 10)}"] for size in range(1, len(ranks) + 1)]
    return _ValueWeights(
        weights["points"], np.array([weights[f"hand {rank}"] for rank in ranks]), np.array([-math.inf, *sizes])
    )


# --- The search ------------------------------------------------------------------------------------------------------

_BLOCK_SIZE = 1024
"""States expanded at a time, few enough that the intermediate arrays stay in the processor's cache. Not tuned."""

_FIRST_SELECTION = 3
"""Number of successors compared for transpositions at first, in units of ``width``. About as many contain ``width``
distinct states. It affects speed only."""

_GROWTH = 4
"""Factor by which that number grows where it does not suffice. It affects speed only."""


class LineOfPlay(NamedTuple):
    """Plays that finish a round, and its final score."""

    score: int
    """Points of the whole round, penalties deducted."""
    plays: tuple[tuple[int, int], ...]
    """(card, cell) of each play from the searched position on."""


class _States(NamedTuple):
    """States at the same ply. Cards are numbered by place: first the hand at the root, then the pile from the top."""

    hands: Words
    """[n]: bit set of the cards in hand."""
    cells: Words
    """[n]: bit set of the cells that are still empty."""
    drawn: Ints
    """[n]: cards drawn since the root."""
    points: Ints
    """[n]: points of the round."""
    keys: Words
    """[n]: Zobrist hash of the cards laid, their cells and `drawn`: equal for states that differ in points alone."""
    words: npt.NDArray[np.int32]
    """[n, H * E]: the sum of the words around each play (see `scoring.tables`)."""
    power: npt.NDArray[np.int16]
    """[n, H]: points of a power play of each card."""

    def take(self, rows: Ints | slice) -> "_States":
        """Return the states in these rows."""
        return _States._make(array[rows] for array in self)


class _Successors(NamedTuple):
    """Plays, with points and draws of the states after them."""

    rows: Ints
    """[m]: row of the parent state."""
    cards: Ints
    """[m]: number of the card."""
    cells: Ints
    """[m]: number of the cell among those that were empty at the root."""
    points: Ints
    """[m]: points of the round after the play."""
    drawn: Ints
    """[m]: cards drawn since the root, those that the play earns included."""

    def take(self, which: Ints) -> "_Successors":
        """Return the successors with these indices."""
        return _Successors._make(array[which] for array in self)


class _Search:
    """A root position and the tables that follow from it."""

    def __init__(self, game: Game) -> None:
        self.game = game
        rules, tables = game.rules, derived_tables(game.rules)
        hand = game.hand(0)
        self.hand_size = len(hand)
        self.cards = np.array([*hand, *game.pile])
        self.empty = np.array([cell for cell in range(rules.num_cells) if game.board[cell] == EMPTY])
        self.ranks = [CARDS[card].rank for card in self.cards]
        self.bonus = tables.line_bonus
        self.penalty = tables.penalty[self.cards]
        cards, empty = len(self.cards), len(self.empty)
        # laid[card * E + cell]: contribution of this card, laid there, to the words of all plays.
        self.words = _laid_words(rules)
        self.laid = self.words.laid[np.ix_(self.cards, self.empty, self.cards, self.empty)].reshape(cards * empty, -1)
        self.power_on_grid = tables.power[self.cards]
        self.power = self.power_on_grid[:, self.cards].T.copy()
        # prefix[d]: the bits of all cards that are in the hand at the root, or are the first d of the pile.
        self.prefix = (ONE << np.arange(self.hand_size, cards + 1, dtype=np.uint64)) - ONE
        rng = np.random.default_rng(0)
        self.play_keys = rng.integers(2**64, size=(cards, empty), dtype=np.uint64)
        self.drawn_keys = rng.integers(2**64, size=len(self.prefix), dtype=np.uint64)
        # touching[cell]: bits of the empty cells beside it.
        at = {cell: number for number, cell in enumerate(self.empty.tolist())}
        beside = [[at[near] for near in rules.grid.adjacent[cell] if near in at] for cell in self.empty]
        self.touching = np.array([sum(1 << near for near in cells) for cells in beside], np.uint64)
        self.touched = sum(1 << number for cell, number in at.items() if game.legal[cell])

    def root(self) -> _States:
        """Return the root position as the only state."""
        words = np.full((len(self.cards), len(self.empty)), self.words.nothing, np.int32)
        power = np.zeros(len(self.cards), np.int16)
        for cell, card in enumerate(self.game.board[:-1]):
            if card != EMPTY:
                words += self.words.laid[card, cell][np.ix_(self.cards, self.empty)]
                power += self.power_on_grid[:, card]
        return _States(
            hands=self.prefix[:1],
            cells=np.array([(1 << len(self.empty)) - 1], np.uint64),
            drawn=np.zeros(1, np.int64),
            points=np.array(self.game.scores),
            keys=np.zeros(1, np.uint64),
            words=words.reshape(1, -1),
            power=power[None],
        )

    def expand(self, states: _States) -> _Successors:
        """List every legal play of every state. They are ordered by state, card and cell."""
        count = len(states.hands)
        if count <= _BLOCK_SIZE:
            return self._expand_block(states)
        starts = range(0, count, _BLOCK_SIZE)
        blocks = [self._expand_block(states.take(slice(start, start + _BLOCK_SIZE))) for start in starts]
        for block, start in zip(blocks, starts, strict=True):
            block.rows[:] += start
        return _Successors._make(map(np.concatenate, zip(*blocks, strict=True)))

    def _expand_block(self, states: _States) -> _Successors:
        cards, empty = len(self.cards), len(self.empty)
        held = unpack(states.hands[:, None], cards).view(np.bool_)
        legal = unpack(self._legal_cells(states)[:, None], empty).view(np.bool_)
        at = np.flatnonzero(held[:, :, None] & legal[:, None, :])
        rows, action = np.divmod(at, cards * empty)
        card, cell = np.divmod(action, empty)
        words = states.words.reshape(-1).take(at)
        points = (words & scoring.BASIC_MASK) - 4 * scoring.BASIC_OFFSET + states.points[rows]
        points += self.bonus.take(words >> scoring.CODE_SHIFT)
        powered = np.flatnonzero(words & 1 << scoring.POWER_SHIFT)
        points[powered] += states.power[rows[powered], card[powered]]
        # R3: draws that the pile cannot serve are lost.
        draws = words >> scoring.DRAWS_SHIFT & scoring.DRAWS_MASK
        return _Successors(rows, card, cell, points, np.minimum(states.drawn[rows] + draws, len(self.prefix) - 1))

    def _legal_cells(self, states: _States) -> Words:
        if not self.game.rules.touching:
            return states.cells
        legal = np.full(len(states.cells), self.touched, np.uint64)
        for cell, beside in enumerate(self.touching):
            legal |= np.where(states.cells >> np.uint64(cell) & ONE, np.uint64(0), beside)
        return legal & states.cells

    def heuristic_values(self, states: _States, successors: _Successors, plays_left: int) -> Floats:
        """Return heuristic values of successors, [m], with ``plays_left`` to come. A lost round has -inf."""
        weights = _value_weights(plays_left, self.ranks)
        held = unpack(states.hands[:, None], len(self.cards)).view(np.bool_)
        drawn = np.cumsum(np.append(0.0, weights.cards[self.hand_size :]))
        hand, size = held @ weights.cards - drawn[states.drawn], held.sum(axis=1) - 1 - states.drawn
        values: Floats = np.multiply(weights.points, successors.points)
        values += hand[successors.rows] - weights.cards[successors.cards] + drawn[successors.drawn]
        values += weights.sizes[size[successors.rows] + successors.drawn]
        return values

    def select(
        self, states: _States, successors: _Successors, plays_left: int, width: int
    ) -> tuple[_Successors, Words]:
        """Select the ``width`` distinct successors of highest heuristic value.

        They are returned best first, with their Zobrist keys. Of transpositions (same cards in the same cells, same
        hand) the one with most points is selected; of equals the first.
        """
        values = self.heuristic_values(states, successors, plays_left)
        alive = int(np.count_nonzero(values > -np.inf))
        count = _FIRST_SELECTION * width
        while True:
            if count < alive:
                least = np.partition(values, len(values) - count)[len(values) - count]
                chosen = np.flatnonzero(values >= least)
            else:
                chosen = np.flatnonzero(values > -np.inf)
            chosen = chosen[np.argsort(-values[chosen], kind="stable")]
            keys = self.keys(states, successors.take(chosen))
            distinct = np.sort(np.unique(keys, return_index=True)[1])[:width]
            if len(distinct) == width or count >= alive:
                return successors.take(chosen[distinct]), keys[distinct]
            count *= _GROWTH

    def keys(self, states: _States, successors: _Successors) -> Words:
        """Return the Zobrist key of each successor, [m]."""
        keys = states.keys[successors.rows] ^ self.play_keys[successors.cards, successors.cells]
        keys ^= self.drawn_keys[states.drawn[successors.rows]] ^ self.drawn_keys[successors.drawn]
        return keys

    def advance(self, states: _States, successors: _Successors, keys: Words) -> _States:
        """Return the successors as states."""
        rows = successors.rows
        words, power = states.words[rows], states.power[rows] + self.power[successors.cards]
        laid = successors.cards * len(self.empty) + successors.cells
        for start in range(0, len(rows), _BLOCK_SIZE):
            words[start : start + _BLOCK_SIZE] += self.laid[laid[start : start + _BLOCK_SIZE]]
        hands: Words = states.hands[rows] ^ ONE << successors.cards.astype(np.uint64)
        hands ^= self.prefix[successors.drawn] ^ self.prefix[states.drawn[rows]]
        return _States(
            hands=hands,
            cells=states.cells[rows] ^ ONE << successors.cells.astype(np.uint64),
            drawn=successors.drawn,
            points=successors.points,
            keys=keys,
            words=words,
            power=power,
        )

    def final_scores(self, states: _States, successors: _Successors) -> Ints:
        """Return final scores after each last play of the round, [m]."""
        held = unpack(states.hands[:, None], len(self.cards)) @ self.penalty
        drawn = np.cumsum(np.append(0, self.penalty[self.hand_size :]))
        scores: Ints = successors.points - (held - drawn[states.drawn])[successors.rows]
        scores += self.penalty[successors.cards] - drawn[successors.drawn]
        return scores


def beam_search(game: Game, width: int = 20_000) -> LineOfPlay | None:
    """Search a solitaire whose pile is known for the best line.

    It is the line of play with the highest final score. Ply by ply, all kept states are expanded by all legal plays.
    The ``width`` distinct successors of highest heuristic value (``STATE_VALUE_WEIGHTS``) are kept.

    Args:
        game: the solitaire, at any point before its end; it is not changed.
        width: number of states kept after each play. Time and memory are proportional to it, some 6 KB for each state.

    Returns:
        The best line found; None if all lines that were searched lose the round. The line is optimal where no more
        than ``width`` states can be reached at any ply.

    Raises:
        ValueError: for several players, the flush bonus, a game that is over, or a width below 1.
    """
    if game.rules.num_players != 1 or game.rules.flush:
        raise ValueError(f"beam_search needs the solitaire without the flush bonus, got {game.rules}")
    if game.over:
        raise ValueError("beam_search needs a game in progress, this one is over")
    if width < 1:
        raise ValueError(f"width must be at least 1, got {width}")
    search = _Search(game)
    states, path = search.root(), []
    for plays_left in range(len(search.empty) - 1, 0, -1):
        successors, keys = search.select(states, search.expand(states), plays_left, width)
        if not len(keys):
            return None
        states = search.advance(states, successors, keys)
        path.append(successors)
    last = search.expand(states)
    scores = search.final_scores(states, last)
    best = at = int(scores.argmax())
    line = []
    for step in (last, *reversed(path)):
        line.append((int(search.cards[step.cards[at]]), int(search.empty[step.cells[at]])))
        at = int(step.rows[at])
    return LineOfPlay(int(scores[best]), tuple(reversed(line)))


class _LaidWords(NamedTuple):
    """The words of `scoring.tables`, arranged by the card laid. This card contributes to later plays."""

    nothing: int
    """The word of any play on an empty grid."""
    laid: npt.NDArray[np.int32]
    """[K, C, K, C]: contribution of a card in a cell to the word of another card in another cell."""


@cache
def _laid_words(rules: Rules) -> _LaidWords:
    plain, cells = scoring.tables(rules), range(rules.num_cells)
    words = np.array(plain.words)[: rules.num_cards]
    empty = words[:, :, EMPTY]
    laid = np.zeros((rules.num_cards, rules.num_cells, rules.num_cards, rules.num_cells), np.int32)
    for cell in cells:
        for place, near in enumerate(plain.around[cell]):
            if near in cells:
                laid[:, near, :, cell] += (words[:, place, : rules.num_cards] - empty[:, place, None]).T
    return _LaidWords(nothing=int(empty[0].sum()), laid=laid)
