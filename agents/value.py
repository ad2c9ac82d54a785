"""One look ahead: the play whose points, and the worth of the position behind it, are most together.

The position *after a play* is what a player can judge: all that is hidden then are the cards to be drawn. A small
network judges it from what every card, in hand or unseen, would score in every empty cell. It reads each empty cell by
itself, all with the same weights, adds up what it read, and joins it to what is said of the position as a whole;
turning or mirroring the grid therefore changes nothing.

It plays with the basic deck from corners: the solitaire, with or without contact, and two players, matches included.
Weights come from ``train/value.py``, lie in ``agents/weights``, each with a card of what made them, and play without
torch.
"""

import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from agents.heuristic import rules_of
from quincunx_env.core.cards import EMPTY
from quincunx_env.core.observation import Pieces
from quincunx_env.quincunx import scoring
from quincunx_env.quincunx.cards import BASIC_DECK, CARDS, SUITS
from quincunx_env.quincunx.rules import Rules

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float32]

K = len(BASIC_DECK)
ACES, CROWNS = slice(0, 6), slice(30, 36)
DRAW_VALUE = 8.0
"""Points that a draw is taken for where one number must say how good a card is in a cell."""
VALUE_SCALE = 30.0
"""Points to one unit of the network's output."""
NOTHING = np.float32(-30.0)
"""Worth of a card that is not there."""
CHUNK = 1024
"""Positions described at once: few enough to stay in the cache."""


WEIGHTS = Path(__file__).parent / "weights"
SHIPPED = {1: "value-solitaire", 2: "value-two-players"}
"""Names of the weights in that folder, by number of players."""

LAYERS = ("cell.0", "cell.2", "whole.0", "whole.2", "whole.4")
"""Names of the network's layers; each has a weight [out, in] and a bias [out]."""


class WeightsError(RuntimeError):
    """Weights that cannot be used; the message says why."""


class _Tables(NamedTuple):
    """Axes: K cards, C cells, an adjacent card or `EMPTY` (-1, the last)."""

    words: npt.NDArray[np.signedinteger]
    """[places, K + 1, K]: what a neighbour adds to the sum of each card (`scoring.tables`)."""
    bonus: tuple[npt.NDArray[np.int16], ...]
    """For each pair of lines, by the codes of both: their bonuses."""
    around: Ints
    """[C, places]: the cells in reach."""
    adjacent: Ints
    """[C, 4]."""
    suits: Floats
    """[K, 6]."""
    ranks: Floats
    """[K, 10]."""
    power: Floats
    """[K + 1, 6]: what a card in the grid adds to a power play in each suit."""
    penalty: Floats
    """[K]."""
    windows: Ints
    """[windows, 3]: the cells of every three in line."""
    joined: Ints
    """[pairs, 2]: cells that share an edge."""
    pair_points: Floats
    """[K, K]: what two adjacent cards score, basic points and pair."""
    pair_draws: Floats
    """[K, K]: what they draw."""


@cache
def _tables(rules: Rules) -> _Tables:
    plain = scoring.tables(rules)
    words = np.array(plain.words, np.int64)[:K]
    words = np.concatenate([words[:, :, :K], words[:, :, -1:]], axis=2).transpose(1, 2, 0)
    bonus = np.array(plain.bonus, np.int16)
    values = np.array([CARDS[card].value for card in BASIC_DECK])
    power = [[scoring.power_points(1 << bit, [card]) for bit in range(len(SUITS))] for card in (*BASIC_DECK, EMPTY)]
    cells = range(rules.num_cells)
    threes = [(cell, *rules.grid.line(cell, line, (1, 2))) for cell in cells for line in range(rules.num_lines)]
    return _Tables(
        words=np.ascontiguousarray(words, np.int32 if words.max() < 2**27 else np.int64),
        bonus=tuple(
            (bonus[line][None, :] + bonus[line + 1][:, None]).reshape(-1) for line in range(0, rules.num_lines, 2)
        ),
        around=np.array(plain.around, np.int64),
        adjacent=np.array(rules.grid.adjacent),
        suits=np.array(
            [[CARDS[card].suits >> bit & 1 for bit in range(len(SUITS))] for card in BASIC_DECK], np.float32
        ),
        ranks=np.eye(10, dtype=np.float32)[values - 1],
        power=np.array(power, np.float32),
        penalty=np.array([scoring.penalty([card]) for card in BASIC_DECK], np.float32),
        windows=np.array([three for three in threes if rules.grid.off not in three]),
        joined=np.array([(cell, near) for cell in cells for near in rules.grid.adjacent[cell] if near < cell]),
        pair_points=np.array(
            [
                [scoring.basic(card, other)[0] + scoring.PAIR_BONUS * scoring.pair(card, other) for other in BASIC_DECK]
                for card in BASIC_DECK
            ],
            np.float32,
        ),
        pair_draws=np.array(
            [[scoring.basic(card, other)[1] for other in BASIC_DECK] for card in BASIC_DECK], np.float32
        ),
    )


class Described(NamedTuple):
    """Positions after a play, j in all, each with e empty cells."""

    cells: Floats
    """[j, e, CELL_FEATURES]."""
    whole: Floats
    """[j, WHOLE_FEATURES]."""


class Plays(NamedTuple):
    """The legal plays of n positions, m in all."""

    rows: Ints
    """[m]: position of each play."""
    actions: Ints
    """[m]: joint action."""
    points: Floats
    """[m]: what it scores."""
    certain: Floats
    """[m]: what is still to come, where that is known: after the last play, or a lost round; otherwise nan."""
    judged: tuple[tuple[Ints, Described], ...]
    """The plays where it is not known, some at a time, and the positions after them."""


CELL_FEATURES, WHOLE_FEATURES = 17, 82
TOUCHING = slice(11, 16)
"""The features of a cell that say how many cards it touches: one of them is 1."""


def plays_of(rules: Rules, observation: Pieces, mask: Bools) -> Plays:
    """Describe the position after every legal play.

    Args:
        rules: which game.
        observation: pieces [n, ...] with the preview.
        mask: bool [n, A].
    """
    tables, num_cells, players = _tables(rules), rules.num_cells, rules.num_players
    n = len(mask)
    rows, actions = np.divmod(np.flatnonzero(mask), rules.num_actions)
    cards, cells = np.divmod(actions, num_cells)
    points, draws = observation["preview"].reshape(n, -1, 2)[rows, actions].T.astype(np.float32)
    counts = observation["counts"].astype(np.float32)
    draws = np.minimum(draws, counts[rows, 0])
    board = np.concatenate([observation["board"], np.full((n, 1), EMPTY, np.int8)], axis=1)
    hand = observation["hand"].astype(np.float32)
    unseen = np.ones((n, K + 1), np.float32)
    np.put_along_axis(unseen, board.astype(np.int64), 0, axis=1)  # EMPTY is the extra, last column
    unseen = unseen[:, :-1] - hand
    hidden = np.maximum(unseen.sum(axis=1), 1)
    left = rules.setup.filled - (board != EMPTY).sum(axis=1) - 1  # plays of all seats after this one
    keeps = hand.sum(axis=1) - 1
    others = counts[:, 2] if players > 1 else np.zeros(n, np.float32)

    penalties = (hand @ tables.penalty)[rows] - tables.penalty[cards]
    average = (unseen @ tables.penalty / hidden)[rows]
    last = left[rows] == 0
    # The cards drawn last, and the other player's, cost what unseen cards cost on average.
    certain = np.where(last, average * (others[rows] - draws) - penalties, np.nan).astype(np.float32)
    if players == 1:
        lost = ~last & (keeps[rows] + draws == 0)
        certain[lost] = -(counts[rows, 2] + points)[lost]  # a lost round is worth nothing in all
    judged = []
    for stage in np.unique(left[left > 0]):
        stage_plays = np.flatnonzero(np.isnan(certain) & (left[rows] == stage))
        for start in range(0, len(stage_plays), CHUNK):
            at = stage_plays[start : start + CHUNK]
            row, each = rows[at], np.arange(len(at))
            after, kept = board[row], hand[row]
            after[each, cells[at]] = cards[at]
            kept[each, cards[at]] = 0
            pile = counts[row, 0] - draws[at]
            judged.append((at, describe(rules, after, kept, unseen[row], draws[at], pile, others[row])))
    return Plays(rows, actions, points, certain, tuple(judged))


def describe(
    rules: Rules,
    board: npt.NDArray[np.int8],
    hand: Floats,
    unseen: Floats,
    draws: Floats,
    pile: Floats,
    others: Floats,
) -> Described:
    """Say of positions after a play what the network reads.

    Args:
        rules: which game.
        board: int8 [j, C + 1], with equally many empty cells.
        hand: 1 for each card kept, [j, K].
        unseen: 1 for each card in the pile or the other hand, [j, K].
        draws: cards to be drawn, [j].
        pile: cards in the pile then, [j].
        others: cards in the other hand, [j].
    """
    tables, num_cells, players = _tables(rules), rules.num_cells, rules.num_players
    j = len(board)
    owner, cell = np.nonzero(board[:, :num_cells] == EMPTY)
    near = board[owner[:, None], tables.around[cell]]
    words = tables.words[0].take(near[:, 0], axis=0, mode="wrap")
    for place in range(1, near.shape[1]):
        words += tables.words[place].take(near[:, place], axis=0, mode="wrap")
    points = ((words & scoring.BASIC_MASK) - 4 * scoring.BASIC_OFFSET).astype(np.float32)
    for number, bonus in enumerate(tables.bonus):
        points += bonus.take(words >> scoring.CODE_SHIFT + 16 * number & 0xFFFF)
    suit_totals = tables.power[board[:, :num_cells]].sum(axis=1)
    for ends in (ACES, CROWNS):
        points[:, ends] += (words[:, ends] >> scoring.POWER_SHIFT & 1) * suit_totals[owner]
    points = points.reshape(j, -1, K)
    drawn = (words >> scoring.DRAWS_SHIFT & scoring.DRAWS_MASK).astype(np.float32).reshape(j, -1, K)
    worth = points + np.float32(DRAW_VALUE) * drawn
    positive = np.maximum(worth, 0)

    # Cards of the hand in slots, so that not every card is looked at; slots first, where NumPy reduces fastest.
    size = hand.sum(axis=1)
    slots = np.argsort(-hand, axis=1, kind="stable")[:, : max(int(size.max()), 2)].T
    filled = np.arange(len(slots))[:, None] < size
    each, gap = np.arange(j)[None, :, None], np.arange(points.shape[1])
    own_draws = drawn[each, gap, slots[:, :, None]] * filled[:, :, None]
    own_worth = np.where(filled[:, :, None], worth[each, gap, slots[:, :, None]], NOTHING)
    own_points = own_worth - np.float32(DRAW_VALUE) * own_draws
    others_worth = own_worth.copy()
    np.put_along_axis(others_worth, own_worth.argmax(axis=0)[None], NOTHING, axis=0)
    share = unseen / np.maximum(unseen.sum(axis=1, keepdims=True), 1)
    likely = share[:, :, None]
    touching = np.zeros((j, points.shape[1]), np.int64)
    for side in tables.adjacent.T:
        touching += (board[owner, side[cell]] != EMPTY).reshape(j, -1)
    edges = (tables.adjacent == num_cells).sum(axis=1)[cell].reshape(j, -1)
    cells = np.stack(
        [
            # the best card of the hand here, and the second best
            own_worth.max(axis=0) / 20,
            others_worth.max(axis=0) / 20,
            # most points and draws that the hand can make here, and all of both
            own_points.max(axis=0) / 20,
            own_draws.max(axis=0),
            np.maximum(own_points, 0).sum(axis=0) / 30,
            own_draws.sum(axis=0) / 2,
            # what an unseen card makes here on average: points, worth, gains, large gains, draws
            (points @ likely)[..., 0] / 5,
            (positive @ likely)[..., 0] / 10,
            (np.maximum(points, 0) @ likely)[..., 0] / 5,
            (np.maximum(points - 15, 0) @ likely)[..., 0] / 5,
            (drawn @ likely)[..., 0] * 3,
            # cards it touches (`TOUCHING`), and sides at the edge of the grid
            *(touching == number for number in range(5)),
            edges,
        ],
        axis=2,
        dtype=np.float32,
    )

    best_worth, most_drawn = worth.max(axis=1) / 20, drawn.max(axis=1)
    own_best = np.where(filled, best_worth[each[..., 0], slots], NOTHING / 20)
    own_best_points = np.where(filled, points.max(axis=1)[each[..., 0], slots] / 20, NOTHING / 20)
    left = np.full(j, cells.shape[1] - (num_cells - rules.setup.filled))
    need = left // players - size - draws
    whole = np.column_stack(
        [
            *_begun(tables, board, hand, unseen),
            # empty cells side by side
            ((board[:, tables.joined] == EMPTY).sum(axis=2) == 2).sum(axis=1) / 10,
            # what the cards of the hand make beside each other, and unseen cards beside them
            (hand @ np.maximum(tables.pair_points, 0) * hand).sum(axis=1) / 50,
            (hand @ tables.pair_draws * hand).sum(axis=1) / 5,
            (share @ np.maximum(tables.pair_points, 0) * hand).sum(axis=1) / 10,
            (share @ tables.pair_draws * hand).sum(axis=1),
            # the stage of the round, and cards for the plays still to come
            draws / 2,
            left / 10,
            size / 5,
            pile / 20,
            others / 10,
            need / 4,
            np.maximum(need, 0) / 3,
            need > 0,
            size == 0,
            size + draws == 1,
            size + draws == 2,
            left == 1,
            left == 2,
            left == 3,
            # what cards would cost at the end
            hand @ tables.penalty / 40,
            share @ tables.penalty / 10,
            # each card of the hand, and each unseen one, in its best cell
            (own_best * filled).sum(axis=0) / 5,
            own_best.max(axis=0),
            (own_best_points * filled).sum(axis=0) / 5,
            (most_drawn * hand).sum(axis=1) / 4,
            ((own_best_points < 0) & filled).sum(axis=0) / 3,
            (share * best_worth).sum(axis=1),
            (share * most_drawn).sum(axis=1),
            (share * np.minimum(best_worth, 1)).sum(axis=1),
            (share * np.maximum(best_worth - 1, 0)).sum(axis=1),
            # Aces and Crowns of one suit
            (hand[:, ACES] * hand[:, CROWNS]).sum(axis=1),
            # ranks and suits
            hand @ tables.ranks,
            hand @ tables.suits / 3,
            share @ tables.ranks * 5,
            # what power plays would make
            suit_totals / 20,
            hand[:, ACES] * suit_totals / 20,
            hand[:, CROWNS] * suit_totals / 20,
        ]
    )
    return Described(cells, whole.astype(np.float32))


def _begun(tables: _Tables, board: npt.NDArray[np.int8], hand: Floats, unseen: Floats) -> tuple[Floats, ...]:
    """Threes in line of which one card lies: how many the hand and the unseen cards could still complete, [j] each.

    First threes of a kind, then straights, by where the two missing cards come from: both the hand, the hand and the
    unseen cards, both the unseen ones. Last how many threes in line are wholly empty.
    """
    j = len(board)
    lying = board[:, tables.windows]
    there = lying != EMPTY
    filled = there.sum(axis=2)
    at, window = np.nonzero(filled == 1)
    place = there[at, window].argmax(axis=1)
    # Two ranks of margin on either side, which nobody holds.
    rank = tables.ranks.argmax(axis=1)[lying[at, window, place]] + 2
    margin = np.zeros((j, 2), np.float32)
    own = np.concatenate([margin, hand @ tables.ranks, margin], axis=1)
    other = np.concatenate([margin, unseen @ tables.ranks, margin], axis=1)
    first = np.array([1, 0, 0])[place] - place
    second = np.array([2, 2, 1])[place] - place

    def count(what: Floats) -> Floats:
        return np.bincount(at, what, j).astype(np.float32)

    held, hidden = own[at, rank], other[at, rank]
    found = [count(held >= 2), count((held >= 1) * hidden) / 2, count(hidden * (hidden - 1)) / 5]
    straights = [np.zeros(j, np.float32) for _ in range(3)]
    for slope in (-1, 1):
        one, two = rank + slope * first, rank + slope * second
        own_one, own_two, other_one, other_two = own[at, one], own[at, two], other[at, one], other[at, two]
        has_one, has_two = own_one > 0, own_two > 0
        straights[0] += count(has_one & has_two)
        straights[1] += count(has_one * other_two + has_two * other_one) / 4
        straights[2] += count(other_one * other_two) / 10
    return (*found, *straights, (filled == 0).sum(axis=1) / np.float32(5))


def judge(weights: Mapping[str, Floats], described: Described) -> Floats:
    """What is still to come, in points: the network, float32 [j]."""
    hidden = described.cells
    for layer in ("cell.0", "cell.2"):
        hidden = np.maximum(hidden @ weights[f"{layer}.weight"].T + weights[f"{layer}.bias"], 0)
    hidden = np.concatenate([hidden.sum(axis=1), described.whole], axis=1)
    for layer in ("whole.0", "whole.2"):
        hidden = np.maximum(hidden @ weights[f"{layer}.weight"].T + weights[f"{layer}.bias"], 0)
    value: Floats = VALUE_SCALE * (hidden @ weights["whole.4.weight"].T + weights["whole.4.bias"])[:, 0]
    return value


def worth_of(weights: Mapping[str, Floats], plays: Plays) -> Floats:
    """What is still to come after each play, in points, float32 [m]."""
    worth = plays.certain.copy()
    for at, described in plays.judged:
        worth[at] = judge(weights, described)
    return worth


class ValueAgent:
    """Plays one look ahead by given weights; a `quincunx_env.core.policy.Policy`.

    Args:
        rules: the game that the weights are for.
        weights: by name, as `load_weights` returns them.
    """

    def __init__(self, rules: Rules, weights: Mapping[str, Floats]) -> None:
        self.rules = rules
        self.weights = weights

    def __call__(self, observation: Pieces, mask: Bools, rng: np.random.Generator) -> Ints:
        """Choose the play with most points and worth behind it together, ties by the lowest action.

        Raises:
            ValueError: if the observation is of another game.
        """
        found = rules_of(observation)
        if (found.num_players, found.start, found.deck) != (self.rules.num_players, "corners", self.rules.deck):
            raise ValueError(f"these weights are for {self.rules}, the observation is of {found}")
        if "pending" in observation:
            raise ValueError("these weights know no Simpleton")
        plays = plays_of(self.rules, observation, mask)
        worth = np.full(mask.shape, -np.inf, np.float32)
        worth[plays.rows, plays.actions] = plays.points + worth_of(self.weights, plays)
        best: Ints = worth.argmax(axis=1)
        return best


def value(observation: Pieces, mask: Bools, rng: np.random.Generator) -> Ints:
    """Play by the weights in ``agents/weights``; see `quincunx_env.core.policy.Policy`.

    Raises:
        ValueError: for a game that there are no weights for.
    """
    players = rules_of(observation).num_players
    if players not in SHIPPED:
        raise ValueError(f"there are weights for {sorted(SHIPPED)} players, not for {players}")
    return _shipped(players)(observation, mask, rng)


@cache
def _shipped(players: int) -> ValueAgent:
    return ValueAgent(*load_weights(WEIGHTS / f"{SHIPPED[players]}.safetensors"))


# --- Files of weights ------------------------------------------------------------------------------------------------


def save_weights(path: Path, rules: Rules, weights: Mapping[str, Floats]) -> None:
    """Write weights, the game they are for, and a checksum that `load_weights` looks at."""
    about = {"num_players": str(rules.num_players), "checksum": _checksum(weights)}
    path.write_bytes(save(dict(weights), about))


def load_weights(path: Path) -> tuple[Rules, dict[str, Floats]]:
    """Read what `save_weights` wrote.

    Raises:
        WeightsError: if the file is missing, damaged or foreign.
    """
    try:
        with safe_open(path, framework="numpy") as file:
            about: dict[str, Any] = file.metadata() or {}
            weights: dict[str, Floats] = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (it is no dict)
    except (OSError, SafetensorError, ValueError) as error:
        raise WeightsError(f"{path} is missing, damaged or no file of weights: {error}") from error
    if set(weights) != {f"{layer}.{part}" for layer in LAYERS for part in ("weight", "bias")}:
        raise WeightsError(f"{path} holds no weights of this network, but {sorted(weights)}")
    if about.get("checksum") != _checksum(weights):
        raise WeightsError(f"{path} is damaged: its checksum is another")
    read, joined = weights["cell.0.weight"].shape[1], weights["whole.0.weight"].shape[1]
    if (read, joined) != (CELL_FEATURES, len(weights["cell.2.bias"]) + WHOLE_FEATURES):
        raise WeightsError(f"{path} is of another version of this network")
    return Rules(num_players=int(about["num_players"])), weights


def _checksum(weights: Mapping[str, Floats]) -> str:
    digest = hashlib.sha256()
    for name in sorted(weights):
        digest.update(name.encode() + np.ascontiguousarray(weights[name], "<f4").tobytes())
    return digest.hexdigest()
