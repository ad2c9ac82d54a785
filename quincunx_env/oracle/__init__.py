"""What somebody who knew the pile could have scored: a yardstick for every numbered deal of the solitaire.

    python -m quincunx_env.oracle                    # goes on where it was interrupted
    python -m quincunx_env.oracle --width 200000     # searches wider; a yardstick never falls

`beam_search` looks for the best plays of a game whose pile lies open. What it finds is a lower bound of the best score
there is, and it comes with its witness: the plays that reach it. The oracle_scores of benchmark deals 0 to 999 are part of
the package; `oracle_scores` reads them, and `regret` says how far a policy stays behind. No policy can be expected to
reach them, since none may see the pile.

Axes: n states, H cards that are or may come to hand, E empty cells, K all cards, m plays.
"""

import csv
import io
import math
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import starmap
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from quincunx_env.core.atomic_write import write_atomically
from quincunx_env.core.batch import ONE, Ints, Words, unpack
from quincunx_env.core.cards import EMPTY
from quincunx_env.quincunx import scoring
from quincunx_env.quincunx.cards import CARDS, card_name, parse_card
from quincunx_env.quincunx.deal import Deal
from quincunx_env.quincunx.game import Game
from quincunx_env.quincunx.rules import Rules

__all__ = ["Line", "OracleEntry", "Regret", "beam_search", "benchmark_game", "oracle_scores", "read", "regret", "write"]

DEALS = 1000
"""The benchmark deals numbered below this have their yardstick in the package."""

LOST = 0
"""What a deal counts that cannot be finished, as a lost round does. There are some: in benchmark deal 161 the hand and
the first cards of the pile never earn the four draws that twelve plays need."""

DATA = Path(str(resources.files("quincunx_env") / "oracle" / "benchmark.csv"))
"""The package's oracle_scores, as `write` writes them."""

_WAY_OUT = "    python -m quincunx_env.oracle"

Floats = npt.NDArray[np.float64]


# --- The order in which states are kept ------------------------------------------------------------------------------

WEIGHTS: dict[str, tuple[int, ...]] = {
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
"""How promising a state is, in hundredths of a point: the weight of its points, of each card of the hand by its rank,
and of a hand of 1, 2, ... 10 or more cards; with 1, 2, ... 10 or more plays still to come.

Fitted by least squares to what beams of 250 reached from 48,000 states of 300 deals of the ``play`` domain; what they
lost counts 100. Whole numbers, so that states which are equally promising are so on every machine.
"""


class _Order(NamedTuple):
    """One column of ``WEIGHTS`` for one game."""

    points: float
    cards: Floats
    """[H]: of each card that may come to hand."""
    sizes: Floats
    """[H + 1], by the size of the hand; an empty one loses."""


def _order(left: int, ranks: list[str]) -> _Order:
    """The order with so many plays still to come.

    Args:
        left: at least 1.
        ranks: of the cards that may come to hand.
    """
    weights = {name: float(by_left[min(left, len(by_left)) - 1]) for name, by_left in WEIGHTS.items()}
    # The Pawn is taken for a middling card, the Excuse for nothing.
    weights |= {"hand P": weights["hand 5"], "hand X": 0.0}
    sizes = [weights[f"size {min(size, 10)}"] for size in range(1, len(ranks) + 1)]
    return _Order(
        weights["points"], np.array([weights[f"hand {rank}"] for rank in ranks]), np.array([-math.inf, *sizes])
    )


# --- The search ------------------------------------------------------------------------------------------------------

_CHUNK = 1024
"""States that are worked on at once: few enough that what is computed of them stays in the cache."""


class Line(NamedTuple):
    """Plays that end a round, and what they score."""

    score: int
    """Points of the whole round, penalties deducted."""
    plays: tuple[tuple[int, int], ...]
    """(card, cell) of each play from the given position on."""


class _States(NamedTuple):
    """States after equally many plays. A card is told by its place: first the hand, then the pile from the top."""

    hands: Words
    """[n]: bit of each card in hand."""
    cells: Words
    """[n]: bit of each cell that is still empty."""
    drawn: Ints
    """[n]: cards drawn in the search."""
    points: Ints
    """[n]: points of the round."""
    keys: Words
    """[n]: a hash of the cards laid, where they lie, and `drawn`: equal for states that differ in points alone."""
    words: npt.NDArray[np.int32]
    """[n, H * E]: the sum of the words around each play (see `scoring.tables`)."""
    power: npt.NDArray[np.int16]
    """[n, H]: what a power play of each card would score."""

    def take(self, rows: Ints | slice) -> "_States":
        """These states."""
        return _States._make(array[rows] for array in self)


class _Plays(NamedTuple):
    """Plays, or the states after them."""

    rows: Ints
    """[m]: state in which each is made."""
    cards: Ints
    """[m]: place of the card."""
    cells: Ints
    """[m]: number of the cell among those that were empty at first."""
    points: Ints
    """[m]: points of the round after it."""
    drawn: Ints
    """[m]: cards drawn in the search, those it earns included."""

    def take(self, which: Ints) -> "_Plays":
        """These plays."""
        return _Plays._make(array[which] for array in self)


class _Search:
    """One position and the tables that follow from it."""

    def __init__(self, game: Game) -> None:
        self.game = game
        rules, tables = game.rules, _tables(game.rules)
        hand = game.hand(0)
        self.held = len(hand)
        self.cards = np.array([*hand, *game.pile])
        self.empty = np.array([cell for cell in range(rules.num_cells) if game.board[cell] == EMPTY])
        self.ranks = [CARDS[card].rank for card in self.cards]
        self.bonus = tables.bonus
        self.penalty = tables.penalty[self.cards]
        cards, empty = len(self.cards), len(self.empty)
        # laid[card * E + cell]: what laying this card there adds to the words of all plays.
        self.laid = tables.laid[np.ix_(self.cards, self.empty, self.cards, self.empty)].reshape(cards * empty, -1)
        self.power = tables.power[np.ix_(self.cards, self.cards)].T.copy()
        # prefix[d]: the bits of all cards that are in hand at first, or are the first d of the pile.
        self.prefix = (ONE << np.arange(self.held, cards + 1, dtype=np.uint64)) - ONE
        rng = np.random.default_rng(0)
        self.play_keys = rng.integers(2**64, size=(cards, empty), dtype=np.uint64)
        self.drawn_keys = rng.integers(2**64, size=len(self.prefix), dtype=np.uint64)
        # touching[cell]: bits of the empty cells beside it.
        at = {cell: number for number, cell in enumerate(self.empty.tolist())}
        beside = [[at[near] for near in rules.grid.adjacent[cell] if near in at] for cell in self.empty]
        self.touching = np.array([sum(1 << near for near in cells) for cells in beside], np.uint64)
        self.touched = sum(1 << number for cell, number in at.items() if game.legal[cell])

    def start(self) -> _States:
        """The position itself, as the only state."""
        tables, board = _tables(self.game.rules), list(enumerate(self.game.board[:-1]))
        words = np.full((len(self.cards), len(self.empty)), tables.nothing, np.int32)
        power = np.zeros(len(self.cards), np.int16)
        for cell, card in board:
            if card != EMPTY:
                words += tables.laid[card, cell][np.ix_(self.cards, self.empty)]
                power += tables.power[self.cards, card]
        return _States(
            hands=self.prefix[:1],
            cells=np.array([(1 << len(self.empty)) - 1], np.uint64),
            drawn=np.zeros(1, np.int64),
            points=np.array(self.game.scores),
            keys=np.zeros(1, np.uint64),
            words=words.reshape(1, -1),
            power=power[None],
        )

    def plays(self, states: _States) -> _Plays:
        """Every legal play of every state, by state, card and cell."""
        count = len(states.hands)
        if count <= _CHUNK:
            return self._plays(states)
        starts = range(0, count, _CHUNK)
        parts = [self._plays(states.take(slice(start, start + _CHUNK))) for start in starts]
        for part, start in zip(parts, starts, strict=True):
            part.rows[:] += start
        return _Plays._make(map(np.concatenate, zip(*parts, strict=True)))

    def _plays(self, states: _States) -> _Plays:
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
        return _Plays(rows, card, cell, points, np.minimum(states.drawn[rows] + draws, len(self.prefix) - 1))

    def _legal_cells(self, states: _States) -> Words:
        if not self.game.rules.touching:
            return states.cells
        legal = np.full(len(states.cells), self.touched, np.uint64)
        for cell, beside in enumerate(self.touching):
            legal |= np.where(states.cells >> np.uint64(cell) & ONE, np.uint64(0), beside)
        return legal & states.cells

    def promise(self, states: _States, plays: _Plays, left: int) -> Floats:
        """How promising the state after each play is, with ``left`` plays still to come, [m]; -inf if it is lost."""
        order = _order(left, self.ranks)
        held = unpack(states.hands[:, None], len(self.cards)).view(np.bool_)
        drawn = np.cumsum(np.append(0.0, order.cards[self.held :]))
        hand, size = held @ order.cards - drawn[states.drawn], held.sum(axis=1) - 1 - states.drawn
        promise: Floats = np.multiply(order.points, plays.points)
        promise += hand[plays.rows] - order.cards[plays.cards] + drawn[plays.drawn]
        promise += order.sizes[size[plays.rows] + plays.drawn]
        return promise

    def keep(self, states: _States, plays: _Plays, left: int, width: int) -> tuple[_Plays, Words]:
        """The ``width`` most promising plays that lead to different states, and the keys of these states.

        Of plays that lead to the same cards in the same cells and the same hand, the one with most points is kept; of
        equals the first.
        """
        promise = self.promise(states, plays, left)
        alive = int(np.count_nonzero(promise > -np.inf))
        most = 3 * width  # about as many as it takes to find enough different ones
        while True:
            if most < alive:
                least = np.partition(promise, len(promise) - most)[len(promise) - most]
                chosen = np.flatnonzero(promise >= least)
            else:
                chosen = np.flatnonzero(promise > -np.inf)
            chosen = chosen[np.argsort(-promise[chosen], kind="stable")]
            keys = self.keys(states, plays.take(chosen))
            first = np.sort(np.unique(keys, return_index=True)[1])[:width]
            if len(first) == width or most >= alive:
                return plays.take(chosen[first]), keys[first]
            most *= 4

    def keys(self, states: _States, plays: _Plays) -> Words:
        """The key of the state after each play, [m]."""
        keys = states.keys[plays.rows] ^ self.play_keys[plays.cards, plays.cells]
        keys ^= self.drawn_keys[states.drawn[plays.rows]] ^ self.drawn_keys[plays.drawn]
        return keys

    def after(self, states: _States, plays: _Plays, keys: Words) -> _States:
        """The state after each play."""
        rows = plays.rows
        words, power = states.words[rows], states.power[rows] + self.power[plays.cards]
        laid = plays.cards * len(self.empty) + plays.cells
        for start in range(0, len(rows), _CHUNK):
            words[start : start + _CHUNK] += self.laid[laid[start : start + _CHUNK]]
        hands: Words = states.hands[rows] ^ ONE << plays.cards.astype(np.uint64)
        hands ^= self.prefix[plays.drawn] ^ self.prefix[states.drawn[rows]]
        return _States(
            hands=hands,
            cells=states.cells[rows] ^ ONE << plays.cells.astype(np.uint64),
            drawn=plays.drawn,
            points=plays.points,
            keys=keys,
            words=words,
            power=power,
        )

    def final(self, states: _States, plays: _Plays) -> Ints:
        """The score of the round after each of its last plays, [m]."""
        held = unpack(states.hands[:, None], len(self.cards)) @ self.penalty
        drawn = np.cumsum(np.append(0, self.penalty[self.held :]))
        scores: Ints = plays.points - (held - drawn[states.drawn])[plays.rows]
        scores += self.penalty[plays.cards] - drawn[plays.drawn]
        return scores


def beam_search(game: Game, width: int = 20_000) -> Line | None:
    """The best plays that are found for a solitaire whose pile lies open.

    All plays of all states kept are made, step by step; of the states that result the most promising are kept (see
    ``WEIGHTS``). Orders of play that lead to the same state count as one.

    Args:
        game: the solitaire, at any point; it is left as it is.
        width: how many states are kept after each play. The search takes time and memory in proportion, some 6 KB for
            each.

    Returns:
        A line of play from here on; None if every one that was looked at loses the round. Where no more than ``width``
        states can be reached after each play it is the best there is.

    Raises:
        ValueError: if this is no solitaire, or one that is over or has the flush bonus.
    """
    if game.rules.num_players != 1 or game.rules.flush:
        raise ValueError(f"beam_search plays the solitaire without the flush bonus, got {game.rules}")
    if game.over:
        raise ValueError("the game is over: there is nothing left to search")
    if width < 1:
        raise ValueError(f"width must be at least 1, got {width}")
    search = _Search(game)
    states, path = search.start(), []
    for left in range(len(search.empty) - 1, 0, -1):
        plays, keys = search.keep(states, search.plays(states), left, width)
        if not len(keys):
            return None
        states = search.after(states, plays, keys)
        path.append(plays)
    plays = search.plays(states)
    scores = search.final(states, plays)
    best = at = int(scores.argmax())
    line = []
    for step in (plays, *reversed(path)):
        line.append((int(search.cards[step.cards[at]]), int(search.empty[step.cells[at]])))
        at = int(step.rows[at])
    return Line(int(scores[best]), tuple(reversed(line)))


class _Tables(NamedTuple):
    """`scoring.tables`, turned round: what each card adds where it lies, not what each play finds around it."""

    nothing: int
    """The word of any play on an empty grid."""
    laid: npt.NDArray[np.int32]
    """[K, C, K, C]: what a card in a cell adds to the word of another card in another cell."""
    bonus: npt.NDArray[np.int16]
    """By the codes of row and column: their bonuses."""
    power: npt.NDArray[np.int16]
    """[K, K]: what the second card in the grid adds to a power play of the first."""
    penalty: Ints
    """[K]: what a card costs in hand."""


@cache
def _tables(rules: Rules) -> _Tables:
    plain, cards, cells = scoring.tables(rules), range(rules.num_cards), range(rules.num_cells)
    words = np.array(plain.words)[: rules.num_cards]
    empty = words[:, :, EMPTY]
    laid = np.zeros((rules.num_cards, rules.num_cells, rules.num_cards, rules.num_cells), np.int32)
    for cell in cells:
        for place, near in enumerate(plain.around[cell]):
            if near in cells:
                laid[:, near, :, cell] += (words[:, place, : rules.num_cards] - empty[:, place, None]).T
    row, column = np.array(plain.bonus, np.int16)
    return _Tables(
        nothing=int(empty[0].sum()),
        laid=laid,
        bonus=(row[None, :] + column[:, None]).reshape(-1),
        power=np.array(
            [[scoring.power_points(CARDS[card].suits, [other]) for other in cards] for card in cards], np.int16
        ),
        penalty=np.array([scoring.penalty([card]) for card in cards]),
    )


# --- The oracle_scores of the benchmark deals ---------------------------------------------------------------------------


class OracleEntry(NamedTuple):
    """The best line known of one benchmark deal."""

    deal: int
    """Its number."""
    score: int
    """What the line scores; ``LOST`` if no line is known that finishes the round."""
    width: int
    """The widest beam that has searched this deal."""
    plays: tuple[tuple[int, int], ...]
    """The line: (card, cell) of each play; none if none is known."""


def benchmark_game(number: int) -> Game:
    """The benchmark deal of this number, ready to be played: the first game that a batch seeded so deals."""
    return Game(Rules(), Deal.from_seed(Rules(), number, domain="benchmark"))


def read(path: Path | None = None) -> dict[int, OracleEntry]:
    """Yardsticks by deal number.

    Args:
        path: a file that `write` made; the package's own by default. A file that does not exist holds none.

    Raises:
        ValueError: if the file is damaged.
    """
    path = path or DATA
    found = {}
    if path.exists():
        grid = Rules().grid
        with path.open(newline="", encoding="ascii") as file:
            for row in csv.DictReader(file):
                try:
                    plays = [play.split("@") for play in row["plays"].split()]
                    line = tuple((parse_card(card), grid.cell((int(cell[0]), int(cell[1])))) for card, cell in plays)
                    entry = OracleEntry(int(row["deal"]), int(row["score"]), int(row["width"]), line)
                except (KeyError, TypeError, ValueError, IndexError) as error:
                    message = f"{path} is damaged at {row}: fetch it anew, or delete it and run\n{_WAY_OUT}"
                    raise ValueError(message) from error
                found[entry.deal] = entry
    return found


def write(path: Path, found: Iterable[OracleEntry]) -> None:
    """Write oracle_scores, in one stroke: whoever reads the file meanwhile finds the old one whole."""
    grid, text = Rules().grid, io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(OracleEntry._fields)
    for deal, score, width, plays in sorted(found):
        line = " ".join("{}@{}{}".format(card_name(card), *grid.place(cell)) for card, cell in plays)
        rows.writerow([deal, score, width, line])
    write_atomically(path, lambda unfinished: unfinished.write_text(text.getvalue(), encoding="ascii"))


def oracle_scores(first: int = 0, deals: int = DEALS) -> Ints:
    """The oracle_scores of benchmark deals by the default rules, int64 [deals], from number ``first`` on; 0 for deals
    of which no line is known that finishes the round.

    Raises:
        ValueError: if one of them has none.
    """
    found = read()
    missing = [number for number in range(first, first + deals) if number not in found]
    if missing:
        raise ValueError(
            f"{len(missing)} of the benchmark deals {first} to {first + deals - 1} have no yardstick, the first is "
            f"number {missing[0]}; those below {DEALS} come with the package, and more are found by\n"
            f"{_WAY_OUT} --deals {first + deals}"
        )
    return np.array([found[number].score for number in range(first, first + deals)], np.int64)


class Regret(NamedTuple):
    """How far a policy stays behind the oracle_scores."""

    mean: float
    """Mean over the deals of yardstick less value."""
    ci95: tuple[float, float]
    """95 % interval of the mean: 1.96 standard errors to either side, the deal as the unit."""


def regret(values: npt.ArrayLike, first: int = 0) -> Regret:
    """What a policy scored less than the oracle_scores, on average.

    Args:
        values: float64 [deals], what it scored on benchmark deals by the default rules, as in ``Evaluation.values``.
        first: number of the first deal.

    Raises:
        ValueError: if there are fewer than 2 values, or a deal has no yardstick.
    """
    scores = np.asarray(values, np.float64)
    if scores.ndim != 1 or len(scores) < 2:
        raise ValueError(f"an interval needs the values of at least 2 deals, [deals], got shape {scores.shape}")
    behind = oracle_scores(first, len(scores)) - scores
    mean, half = float(behind.mean()), 1.96 * float(behind.std(ddof=1)) / math.sqrt(len(behind))
    return Regret(mean, (mean - half, mean + half))


# --- The command -----------------------------------------------------------------------------------------------------


@dataclass
class Arguments:
    """Which deals, and how thoroughly."""

    deals: int = DEALS
    """benchmark deals 0 to this number less one"""
    width: int = 20_000
    """states kept after each play; deals that as wide a beam has searched are left alone"""
    processes: int = 1
    """deals searched at the same time"""
    path: Path = DATA
    """the file of oracle_scores; it is kept up to date, and a score in it is only ever replaced by a better one"""


def improve(number: int, width: int, known: OracleEntry | None) -> OracleEntry:
    """The yardstick of a benchmark deal after a search, the better of what is found and what was known."""
    line, known = beam_search(benchmark_game(number), width), known or OracleEntry(number, LOST, width, ())
    if line is None or (known.plays and known.score >= line.score):
        return known._replace(width=max(width, known.width))
    return OracleEntry(number, line.score, width, line.plays)


def main(arguments: Arguments) -> None:
    """Find oracle_scores, and say what they are like."""
    from tqdm.auto import tqdm

    known = read(arguments.path)
    due = [
        (number, arguments.width, known.get(number))
        for number in range(arguments.deals)
        if number not in known or known[number].width < arguments.width
    ]
    progress = tqdm(_improved(due, arguments.processes), total=len(due), unit="deal")
    try:
        for done, found in enumerate(progress):
            known[found.deal] = found
            progress.set_postfix(mean=f"{np.mean([one.score for one in known.values()]):.1f}")
            if done % 20 == 19:
                write(arguments.path, known.values())
    finally:
        write(arguments.path, known.values())
    asked = [known[number] for number in range(arguments.deals)]
    scores = np.array([one.score for one in asked])
    print(
        f"{len(asked)} deals, beams of at least {arguments.width}: mean {scores.mean():.1f}, "
        f"median {np.median(scores):.0f}, highest {scores.max()}, 150 or more: {(scores >= 150).mean():.1%}, "
        f"never finished: {sum(not one.plays for one in asked)}"
    )


def _improved(due: list[tuple[int, int, OracleEntry | None]], processes: int) -> Iterator[OracleEntry]:
    if processes == 1 or not due:
        yield from starmap(improve, due)
    else:
        pool = ProcessPoolExecutor(processes)
        try:
            yield from pool.map(improve, *zip(*due, strict=True))
        finally:
            pool.shutdown(cancel_futures=True)


if __name__ == "__main__":
    import tyro

    main(tyro.cli(Arguments, description=__doc__))
