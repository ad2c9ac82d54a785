"""One game: forfeits, illegal actions, and copies."""

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
from tests.variants import VARIANTS, random_action

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
    assert forfeited.winners == (), "the one who leads may be the one who forfeits"
    alone = Game.from_seed(Rules(), 0)
    alone.forfeit()
    assert (alone.lost, alone.winners) == (True, ())


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
    game.forfeit()
    assert (game.decision, game.legal_actions()) == ("play", ()), "no announcement is due any more"


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
