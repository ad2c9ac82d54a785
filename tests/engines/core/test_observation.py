"""Observations: their contents, alike from both engines.

`test_encoding` tests their vectors, `tests.envs.test_leak` tests that they contain nothing that a seat cannot see.
"""

import random
from itertools import product
from typing import Any

import numpy as np
import pytest

from quincunx_env import Deal, Game, Observer, Rules
from quincunx_env.core.rules import BaseRules
from quincunx_env.quincunx.padded import FORM, PaddedObserver
from quincunx_env.quincunx.rules import ANNOUNCE_MAX, ANNOUNCE_MIN, PLAY_POINTS_MAX, PLAY_POINTS_MIN
from quincunx_env.registry import make_observer
from tests.reference_game import NAMES, ReferenceGame
from tests.reference_scorer import EXTENDED_DECK, penalty
from tests.variants import (
    BASES,
    COVERING,
    EVERY_GAME,
    VARIANTS,
    announcement,
    by_name,
    new_batch,
    new_game,
    positions,
    random_action,
    same,
)

ROWS = 2
SEED = 1_000

OBSERVED = {name: rules for name, rules in VARIANTS.items() if name in BASES or name in COVERING}

every_variant = by_name(OBSERVED)
every_game = by_name({name: rules for name, rules in EVERY_GAME.items() if name in {*OBSERVED, *COVERING}})


def expected_pieces(reference: ReferenceGame, seat: int) -> dict[str, Any]:
    """The pieces of an observation by name, the counts by their names, as this seat sees the reference game."""
    rules, grid = reference.rules, reference.rules.grid
    seats = [(seat + ahead) % rules.num_players for ahead in range(rules.num_players)]
    counts = {"pile": len(reference.pile)}
    counts |= {f"hand_size_{ahead}": len(reference.hands[other]) for ahead, other in enumerate(seats)}
    counts |= {f"score_{ahead}": reference.scores[other] for ahead, other in enumerate(seats)}
    if rules.match:
        counts |= {f"total_{ahead}": reference.totals[other] for ahead, other in enumerate(seats)}
        counts["round"] = reference.round
    if rules.num_players > 1:
        counts |= {"mover": seats.index(reference.mover), "first": seats.index(reference.round)}
    places = [grid.place(cell) for cell in range(rules.num_cells)]
    pieces = {
        "board": [NAMES.index(reference.board[place]) if place in reference.board else -1 for place in places],
        "order": [reference.order.get(place, -1) for place in places],
        "hand": [int(name in reference.hands[seat]) for name in NAMES[: rules.num_cards]],
        "counts": counts,
    }
    if rules.simpleton:
        pending = reference.pending
        pieces["pending"] = [NAMES.index(pending[0]), grid.cell(pending[1])] if pending else [-1, -1]
    return pieces


@every_variant
def test_pieces_and_counts_mean_what_they_are_named(rules: Rules) -> None:
    """Board, order, hand, pending play and every count, by name, for every seat, against the reference game."""
    game, rng, observer = Game.from_seed(rules, SEED), random.Random(SEED), Observer(rules)
    reference = ReferenceGame(rules, game.deals)
    while True:
        for seat in range(rules.num_players):
            seen = {piece: values.tolist() for piece, values in observer.observe(game, seat).items()}
            seen["counts"] = observer.named_counts({"counts": np.array(seen["counts"])})
            assert seen == expected_pieces(reference, seat)
        if game.over:
            break
        action = random_action(game, rng)
        game.step(action)
        if reference.pending:
            reference.announce(action - announcement(rules, 0))
        else:
            card, cell = divmod(action, rules.num_cells)
            name, place = NAMES[card], rules.grid.place(cell)
            reference.play(name, place, reference.score_play(name, place))


def test_counts_of_other_rules_have_no_names() -> None:
    pieces = Observer(Rules(2)).observe(Game.from_seed(Rules(2), SEED))
    with pytest.raises(ValueError, match="zip"):
        Observer(Rules(2, match=True)).named_counts(pieces)


@every_game
def test_batch_and_game_make_the_same_observations(rules: BaseRules) -> None:
    """Row by row and to the last bit, for every seat at every step; all within the space."""
    observer, plain, rng = make_observer(rules, preview=True), make_observer(rules), random.Random(SEED)
    dict_space = observer.dict_space()
    games = [new_game(rules, SEED + row) for row in range(ROWS)]
    batch = new_batch(rules, ROWS)
    batch.reset(SEED)
    # Every row looks from the same seat, and once each from one of its own.
    lookouts = [np.full(ROWS, seat) for seat in range(rules.num_players)]
    if rules.num_players > 1:
        lookouts.append(np.arange(1, ROWS + 1) % rules.num_players)
    while True:
        for seats in lookouts:
            rows = observer.observe_batch(batch, seats)
            for row, (game, seat) in enumerate(zip(games, seats.tolist(), strict=True)):
                alone = observer.observe(game, seat)
                same(alone, {piece: values[row] for piece, values in rows.items()}, f"row {row}, seat {seat}")
                assert dict_space.contains(alone)
            state = batch.get_state(copy=False)
            assert not any(np.shares_memory(values, array) for values in rows.values() for array in state.values())
            without = {piece: values for piece, values in rows.items() if piece != "preview"}
            same(plain.observe_batch(batch, seats), without)
            same(plain.observe_batch(batch, seats, copy=False), without)
        movers = np.array([game.mover for game in games])
        same(plain.observe_batch(batch), plain.observe_batch(batch, movers))
        if batch.over.all():
            break
        actions = [0 if game.over else random_action(game, rng) for game in games]
        for game, action in zip(games, actions, strict=True):
            if not game.over:
                game.step(action)
        batch.step(actions)


@every_variant
def test_limits_of_points_hold_whatever_happens(rules: Rules) -> None:
    """Each seat's worst plays, best gifts and all penalties added up lie within the limits of scores and totals."""
    plays = -(-rules.num_plays // rules.num_players) * rules.num_rounds
    worst, best = PLAY_POINTS_MIN, PLAY_POINTS_MAX
    if rules.simpleton:
        worst, best = 2 * worst - ANNOUNCE_MAX, best + (best - ANNOUNCE_MIN)
    worst = plays * worst - rules.num_rounds * sum(map(penalty, EXTENDED_DECK))
    for count, (_, low, high) in Observer(rules).counts.items():
        if count.startswith(("score", "total")):
            assert low <= worst < plays * best <= high


@by_name(EVERY_GAME)
def test_numbers_of_rounds_and_seats_have_their_limits(rules: BaseRules) -> None:
    counts = {name: limits for name, (_, *limits) in make_observer(rules).counts.items()}
    assert counts.get("round", [0, 0]) == [0, rules.num_rounds - 1]
    for name in ("mover", "first"):
        assert counts.get(name, [0, rules.num_players - 1]) == [0, rules.num_players - 1]


@every_variant
def test_preview_is_the_value_of_every_legal_play(rules: Rules) -> None:
    """Points and draws of the mover's legal plays; while announcing, of the pending one for all; elsewhere 0."""
    observer, nonzero = Observer(rules, preview=True), np.zeros(2, np.int64)
    for game in positions(rules, SEED):
        for seat in range(rules.num_players):
            expected = np.zeros((rules.num_cards, rules.num_cells, 2), np.int16)
            if game.pending:
                expected[game.pending] = game.value(*game.pending)
            elif seat == game.mover and not game.over:
                for card, cell in product(game.legal_cards(), game.legal_cells()):
                    expected[card, cell] = game.value(card, cell)
            same(observer.observe(game, seat)["preview"], expected)
            nonzero += np.count_nonzero(expected, axis=(0, 1))
    assert (nonzero > 0).all(), "points and draws should have been seen"


@pytest.mark.parametrize("players", [2, 3, 4])
def test_seats_are_counted_from_the_observing_one(players: int) -> None:
    """A seat sees what seat 0 sees of the same cards dealt from that seat on, but for who begins."""
    rules = Rules(players, simpleton=True)
    observer, deal = Observer(rules), Deal.from_seed(rules, SEED)
    for seat in range(players):
        turned = Deal(deal.face_up, deal.hands[seat:] + deal.hands[:seat], deal.pile)
        theirs, first = observer.observe(Game(rules, deal), seat), observer.observe(Game(rules, turned), 0)
        begins = [list(observer.counts).index(count) for count in ("mover", "first")]
        assert theirs["counts"][begins].tolist() == [-seat % players] * 2
        theirs["counts"][begins] = 0
        same(theirs, first)


# --- The table -------------------------------------------------------------------------------------------------------


@every_game
@pytest.mark.parametrize("preview", [False, True], ids=["plain", "preview"])
def test_table_lists_exactly_the_pieces(rules: BaseRules, preview: bool) -> None:
    """A well-formed Markdown table with a row for each piece, in order, and one for each count."""
    observer = make_observer(rules, preview)
    lines = [line.strip("|").split("|") for line in observer.table().splitlines()]
    cells = [[cell.strip() for cell in line] for line in lines]
    assert {len(line) for line in cells} == {4}
    assert cells[0] == ["piece", "shape, dtype", "meaning", "range"]
    assert cells[1] == ["---"] * 4
    space, counts, listed = observer.dict_space(), list(observer.counts), []
    for piece, shape, meaning, limits in cells[2:]:
        assert meaning
        ends = [tuple(map(int, ends.split(" ... "))) for ends in limits.split(", ")]
        if piece.startswith("`counts["):
            index = int(piece[len("`counts[") : -len("]`")])
            assert counts.pop(0) == shape == list(observer.counts)[index]
            box: Any = space["counts"]
            assert ends == [(box.low[index], box.high[index])]
        else:
            listed.append(piece.strip("`"))
            box = space[listed[-1]]
            assert shape == f"{list(box.shape)} {box.dtype}"
            assert ends == [*dict.fromkeys(zip(box.low.flat, box.high.flat, strict=True))]
    assert not counts
    assert listed == [piece.name for piece in observer.pieces] == list(space)
    assert ("preview" in listed, "pending" in listed) == (preview, getattr(rules, "simpleton", False))


@pytest.mark.parametrize(
    ("padded", "piece", "low", "high"),
    [
        (False, "preview", [PLAY_POINTS_MIN, 0], [PLAY_POINTS_MAX, 4]),
        (False, "pending", [-1, -1], [35, 24]),
        (True, "form", [1, 1, 0, 2, *[0] * (len(FORM) - 4)], [4, 4, 1, 4, *[1] * (len(FORM) - 4)]),
    ],
)
def test_columns_have_their_own_limits(padded: bool, piece: str, low: list[int], high: list[int]) -> None:
    observer = (PaddedObserver if padded else Observer)(Rules(2, simpleton=True), preview=True)
    box: Any = observer.dict_space()[piece]
    assert (np.unique(box.low.reshape(-1, len(low)), axis=0) == [low]).all()
    assert (np.unique(box.high.reshape(-1, len(high)), axis=0) == [high]).all()


@every_game
@pytest.mark.parametrize("by_place", [False, True], ids=["by card", "by place"])
def test_table_of_the_vector_lists_exactly_its_slices(rules: BaseRules, by_place: bool) -> None:
    """A row for each part, in order and without gaps, with the limits of the space."""
    encoder = make_observer(rules, preview=True).encoder(by_place)
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in encoder.table().splitlines()]
    assert cells[:2] == [["vector", "piece", "inputs", "range"], ["---"] * 4]
    space, end = encoder.space(), 0
    for (where, part, inputs, limits), (name, place) in zip(cells[2:], encoder.slices.items(), strict=True):
        assert (where, part, bool(inputs)) == (f"{place.start}:{place.stop}", f"`{name}`", True)
        assert place.start == end < place.stop
        end = place.stop
        ends = zip(space.low[place], space.high[place], strict=True)
        assert {*limits.split(", ")} == {f"{low:.4g} ... {high:.4g}" for low, high in ends}
    assert end == encoder.size == len(space.low)
