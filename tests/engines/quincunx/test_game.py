"""One game: properties of generated games, illegal actions, and copies."""

from __future__ import annotations

import copy
import pickle
import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quincunx_env.core.cards import EMPTY
from quincunx_env.core.deal import MAX_SEED
from quincunx_env.core.game import IllegalAction
from quincunx_env.notation.text import to_json
from quincunx_env.quincunx.cards import parse_card
from quincunx_env.quincunx.deal import Deal
from quincunx_env.quincunx.game import Game
from quincunx_env.quincunx.rules import Rules
from tests.reference_scorer import Cell
from tests.variants import COMBINATIONS, MULTIPLAYER, SIMPLETON_AND_MATCH, VARIANTS, empty_cells, random_action

generated = settings(max_examples=60, deadline=None, derandomize=True)
"""Always the same games, so that a failure can be found again."""

any_rules = st.sampled_from(list(VARIANTS.values()))
seeds = st.integers(0, MAX_SEED - 1)


def state_of(game: Game) -> dict[str, Any]:
    """A copy of everything that a game holds, but for what never changes."""
    own = game.__getstate__()
    return copy.deepcopy({name: value for name, value in own.items() if name not in ("rules", "deals")})


def play_on(game: Game, seed: int = 0) -> list[list[int]]:
    """Random actions to the end; returns the gains."""
    rng, gains = random.Random(seed), []
    while not game.over:
        gains.append(game.step(random_action(game, rng)))
    return gains


def in_the_middle(rules: Rules, seed: int, steps: int) -> Game:
    """A game after some random actions, or at its end."""
    game, rng = Game.from_seed(rules, seed), random.Random(seed)
    for _ in range(steps):
        if not game.over:
            game.step(random_action(game, rng))
    return game


# --- Properties ------------------------------------------------------------------------------------------------------

Image = Callable[[Cell], Cell]


def image_of(side: int, flip: bool, flop: bool, turn: bool) -> Image:
    """One of the eight ways to lay a square on itself."""

    def image(place: Cell) -> Cell:
        row, column = place
        if flip:
            column = side - 1 - column
        if flop:
            row = side - 1 - row
        return (column, row) if turn else (row, column)

    return image


@generated
@given(st.sampled_from(list(COMBINATIONS.values())), seeds, st.booleans(), st.booleans(), st.booleans())
def test_turning_and_mirroring_the_grid_leaves_scores_alone(
    rules: Rules, seed: int, flip: bool, flop: bool, turn: bool
) -> None:
    """The same game on an image of the grid: legal cells, parts of scores, gains and totals are the images."""
    grid, image = rules.grid, image_of(rules.grid.side, flip, flop, turn)
    game, rng = Game.from_seed(rules, seed), random.Random(seed)
    [deal] = game.deals
    dealt = {image(place): card for place, card in zip(rules.setup.face_up, deal.face_up, strict=True)}
    twin = Game(rules, Deal(tuple(dealt[place] for place in rules.setup.face_up), deal.hands, deal.pile))

    def moved(cell: int) -> int:
        return grid.cell(image(grid.place(cell)))

    while not game.over:
        assert sorted(map(moved, game.legal_cells())) == list(twin.legal_cells())
        # Any card, wherever it may be, and any empty cell: legal or not, it has a value.
        unseen = [card for card in rules.deck if card not in game.board]
        for _ in range(4):
            card, cell = rng.choice(unseen), rng.choice(empty_cells(game))
            assert game.value(card, cell) == twin.value(card, moved(cell))
            assert game.score(card, cell).parts == twin.score(card, moved(cell)).parts
        card, cell = rng.choice(game.legal_cards()), rng.choice(game.legal_cells())
        assert game.play(card, cell) == twin.play(card, moved(cell))
    assert twin.over
    assert (game.lost, game.totals) == (twin.lost, twin.totals)


@generated
@given(st.sampled_from([rules for rules in VARIANTS.values() if rules.start == "open"]), seeds)
def test_every_legal_open_sequence_fills_exactly_a_square(rules: Rules, seed: int) -> None:
    """The grid is full when 25 cards lie in a 5x5 square around the first; not before is there no legal cell."""
    game, rng = Game.from_seed(rules, seed), random.Random(seed)
    while not game.over:
        before, round = list(game.board), game.round
        laid = [rules.grid.place(cell) for cell, card in enumerate(before[:-1]) if card != EMPTY]
        rows, columns = zip(*laid, strict=True)
        assert max(rows) - min(rows) < 5
        assert max(columns) - min(columns) < 5
        assert game.pending or game.legal_cells()
        pending = game.pending
        action = random_action(game, rng)
        cell = pending.cell if pending else action % rules.num_cells
        game.step(action)
        if (game.round != round or game.over) and (pending or not rules.simpleton):  # that was the last of 25 cards
            rows, columns = zip(*laid, rules.grid.place(cell), strict=True)
            assert len({*laid, rules.grid.place(cell)}) == 25
            assert len(set(rows)) == len(set(columns)) == 5
            assert (4, 4) in laid


@generated
@given(st.sampled_from(list((MULTIPLAYER | SIMPLETON_AND_MATCH).values())), seeds, st.booleans())
def test_hands_of_several_players_never_run_out_early(rules: Rules, seed: int, avoid_draws: bool) -> None:
    """Also if all seats avoid drawing: the hands dealt are enough to fill the grid."""
    game, rng = Game.from_seed(rules, seed), random.Random(seed)
    while not game.over:
        if not game.pending:
            assert game.legal_cards()
        if avoid_draws and not game.pending:
            cell = rng.choice(game.legal_cells())
            card = min(game.legal_cards(), key=lambda card: game.value(card, cell)[1])
            game.play(card, cell)
        else:
            game.step(random_action(game, rng))
    assert not game.lost


def test_a_solitaire_is_lost_when_the_hand_runs_out() -> None:
    """1.5: after the play's draws, and before the grid is full. A lost or forfeited round has no winner."""
    lost = finished = 0
    for seed in range(60):
        game, rng = Game.from_seed(Rules(), seed), random.Random(seed)
        while not game.over:
            assert game.hand(0)
            game.step(random_action(game, rng))
        assert game.lost == (game.ply < 12)
        assert not (game.lost and game.hand(0))
        assert game.winners == (() if game.lost else (0,))
        assert to_json(game)["winners"] == [*game.winners]
        lost += game.lost
        finished += not game.lost
    assert min(lost, finished) > 5
    forfeited = Game.from_seed(Rules(), 0)
    forfeited.forfeit()
    assert forfeited.winners == ()


@pytest.mark.parametrize("rules", [Rules(num_players=2), Rules(num_players=2, match=True)], ids=["round", "match"])
def test_a_forfeit_among_several_decides_nothing(rules: Rules) -> None:
    game = Game.from_seed(rules, 0)
    play_on(game, 0)
    assert game.decided
    assert to_json(game)["winners"] == [*game.winners]
    forfeited = Game.from_seed(rules, 0)
    forfeited.step(random_action(forfeited, random.Random(0)))
    forfeited.forfeit()
    assert not forfeited.decided
    assert to_json(forfeited)["winners"] is None


# --- Illegal actions -------------------------------------------------------------------------------------------------


def refused(game: Game, act: Callable[[Game], object]) -> str:
    """The message of an illegal action, which must change nothing."""
    before = state_of(game)
    with pytest.raises(IllegalAction) as error:
        act(game)
    assert state_of(game) == before
    return str(error.value)


def contains(message: str, *parts: str) -> bool:
    """Whether a message contains all of these."""
    return all(part in message for part in parts)


def test_errors_name_what_is_wrong_and_what_would_be_legal() -> None:
    deal = "AM AS 2MK CM CS | 3MV 3SK 3LY 4YK 4MS 4VL 5SV 5ML 5YK 6MV / 6LK 6SY 7SK 7VY 7ML 8YK 8MS 8VL 9VY 9LK | "
    deal += "AV AL AY AK 2SY 2VL 9MS CV CL CY CK"
    game = Game(Rules(num_players=2), Deal.parse(deal))

    def play(card: str, place: Cell) -> str:
        return refused(game, lambda game: game.play(parse_card(card), game.rules.grid.cell(place)))

    for card in ("6LK", "AV"):  # the other seat's, and one in the pile
        message = play(card, (0, 1))
        assert contains(message, f"{card} cannot be played at (0, 1)", "not in the hand of seat 0")
        assert contains(message, "which holds 3MV 3SK 3LY 4YK 4MS 4VL 5SV 5ML 5YK 6MV")
    message = play("3MV", (2, 2))
    assert contains(
        message, "3MV cannot be played at (2, 2)", "taken", "legal cells are [(0, 1), (0, 2), (0, 3), (1, 0),"
    )
    assert "(2, 2)" not in message.partition("legal")[2]
    for number, cell in ((36, 1), (-1, 1), (8, 25), (8, -1)):
        message = refused(game, lambda game, number=number, cell=cell: game.play(number, cell))  # type: ignore[misc]
        assert contains(message, str(number), str(cell), "out of range", "from 0 to 35", "from 0 to 24")
    for action in (-1, 900, 10**9):
        message = refused(game, lambda game, action=action: game.step(action))  # type: ignore[misc]
        assert contains(message, f"action {action} is out of range", "from 0 to 899")
    for points in (0, 500):
        message = refused(game, lambda game, points=points: game.announce(points))  # type: ignore[misc]
        assert contains(message, "no announcement is due", "a card must be played first")


TOUCHING = {"contact": Rules(edge_contact=True), "open": Rules(num_players=2, start="open")}


@pytest.mark.parametrize("name", TOUCHING)
def test_errors_name_the_cells_where_cards_touch(name: str) -> None:
    rules = TOUCHING[name]
    game = Game.from_seed(rules, 0)
    far = next(cell for cell in empty_cells(game) if cell not in game.legal_cells())
    message = refused(game, lambda game: game.play(game.legal_cards()[0], far))
    legal = [rules.grid.place(cell) for cell in game.legal_cells()]
    assert contains(message, str(rules.grid.place(far)), "must touch", f"legal cells are {legal}")


def test_errors_of_announcements() -> None:
    """Announcing without a play, playing while announcing, and announcing out of range."""
    rules = Rules(num_players=2, simpleton=True)
    game = Game.from_seed(rules, 0)
    announcing = rules.num_plays_encoded + 64
    assert contains(refused(game, lambda game: game.step(announcing)), "no announcement is due")
    card, cell = game.legal_cards()[0], game.legal_cells()[0]
    game.play(card, cell)
    assert (game.legal_cards(), game.legal_cells()) == ((), ())
    assert game.board[cell] == EMPTY, "not yet on the grid"
    assert card not in game.hand(0)
    other = game.hand(0)[0] * rules.num_cells + cell
    for act in (lambda game: game.step(other), lambda game: game.play(card, cell)):
        assert contains(refused(game, act), "seat 0", "must announce", "-64 to 319")
    for points in (-65, 320):
        message = refused(game, lambda game, points=points: game.announce(points))  # type: ignore[misc]
        assert contains(message, "between -64 and 319", f"got {points}")
    assert contains(refused(game, lambda game: game.step(rules.num_actions)), "out of range", "from 0 to 1283")
    for points in (-64, 319):
        game.copy().announce(points)


@pytest.mark.parametrize("name", ["solitaire", "corners-2", "open-3+simpleton+match"])
def test_after_the_end_nothing_is_legal(name: str) -> None:
    rules = VARIANTS[name]
    game = Game.from_seed(rules, 5)
    play_on(game)
    assert (game.legal_cards(), game.legal_cells()) == ((), ())
    for act in (
        lambda game: game.play(0, 1),
        lambda game: game.step(0),
        lambda game: game.step(rules.num_plays_encoded - 1),
        lambda game: game.announce(0),
    ):
        assert contains(refused(game, act), "the game is over")
    assert contains(refused(game, lambda game: game.step(rules.num_actions)), "out of range")


# --- Actions and copies ----------------------------------------------------------------------------------------------


@generated
@given(any_rules, seeds, st.integers(0, 40), st.sampled_from(["copy", "deepcopy", "pickle"]))
def test_copies_go_on_alike_and_apart(rules: Rules, seed: int, steps: int, kind: str) -> None:
    """A copy plays on as the original would, with the same cards to come, and does not disturb it."""
    game = in_the_middle(rules, seed, steps)
    before = state_of(game)
    if kind == "copy":
        twin = game.copy()
    elif kind == "deepcopy":
        twin = copy.deepcopy(game)
    else:
        twin = pickle.loads(pickle.dumps(game))
    assert state_of(twin) == before
    assert (twin.rules, twin.deals) == (game.rules, game.deals)
    gains = play_on(twin)
    assert state_of(game) == before
    assert play_on(game) == gains
    assert state_of(game) == state_of(twin)


@generated
@given(any_rules, seeds, st.integers(0, 60))
def test_games_are_restored_from_their_plays(rules: Rules, seed: int, steps: int) -> None:
    game = in_the_middle(rules, seed, steps)
    laid = sorted((ply, cell) for cell, ply in enumerate(game.order) if ply > 0)
    names = ("drawn", "scores", "totals", "mover", "pending", "over", "lost", "previous_round")
    twin = Game.from_position(
        rules,
        game.deals,
        round=game.round,
        plays=[(game.board[cell], cell) for _, cell in laid],
        hands=[game.hand(seat) for seat in range(rules.num_players)],
        **{name: copy.copy(getattr(game, name)) for name in names},
    )
    assert state_of(twin) == state_of(game)
    assert play_on(twin) == play_on(game)
