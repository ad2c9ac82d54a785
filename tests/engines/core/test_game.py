"""Arguments of a single game, of either kind: actions, seats, cards and cells are integers of any type."""

from __future__ import annotations

import itertools
import json
import pickle
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from quincunx_env import spiral
from quincunx_env.core.game import IllegalAction
from quincunx_env.core.rules import BaseRules
from quincunx_env.notation.record import Record, RecordError, Seeded, apply_action
from quincunx_env.notation.text import print_action, to_json, to_text
from quincunx_env.quincunx import Rules, scoring
from quincunx_env.registry import make_observer, spec_of
from quincunx_env.spiral.rules import SPIRAL
from tests.variants import EVERY_GAME, by_name, new_game, random_action

GAMES: dict[str, BaseRules] = {
    "solitaire": Rules(),
    "simpleton": Rules(num_players=2, simpleton=True),
    "spiral": spiral.Rules(),
}

KINDS: dict[str, Callable[[int], Any]] = {
    "int64": np.int64,
    "uint16": np.uint16,
    "int8": lambda action: np.int8(action) if action < 128 else np.int16(action),
    "array": np.array,
}
every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)

NO_INTEGERS = [
    np.ma.masked,
    966.5,
    3.0,
    float("nan"),
    "3",
    None,
    True,
    np.True_,
    np.float64(3),
    np.array([3]),
    np.array(3.0),
    (0, 1),
]
no_integer = pytest.mark.parametrize("value", NO_INTEGERS, ids=repr)


def state_of(game: Any) -> str:
    """Everything that a game holds, with the types of its numbers."""
    return repr(game.__getstate__())


def test_rules_are_named_by_what_differs_from_the_default() -> None:
    for text in ("Rules()", "Rules(num_players=3, start='open')"):
        assert repr(eval(text, {"Rules": Rules})) == text
    assert repr(spiral.Rules("end", deals=4)) == "Rules(scoring='end', deals=4)"


@by_name(GAMES)
def test_a_game_introduces_itself(rules: BaseRules) -> None:
    game = new_game(rules, 0)
    assert str(game) == to_text(game)
    assert repr([game]) == f"[<Game of {rules!r}: round 0, ply 0, seat 0 to move, totals {game.totals}>]"
    game.forfeit()
    assert ", over, totals [" in repr(game)
    batch = spec_of(rules).Batch(rules, 3)
    batch.reset(seed=0)
    assert str(batch) == f"<Batch of 3 games of {rules!r}: 0 over>"


# --- Actions ---------------------------------------------------------------------------------------------------------


@by_name(GAMES)
@every_kind
def test_actions_are_integers_of_any_type(rules: BaseRules, kind: Callable[[int], Any]) -> None:
    """The game, its text and its JSON are to the last type those of plain ints."""
    game, plain, rng = new_game(rules, 3), new_game(rules, 3), random.Random(3)
    while not plain.over:
        action = random_action(plain, rng)
        assert print_action(game, kind(action)) == print_action(plain, action)
        gains = game.step(kind(action))
        assert gains == plain.step(action)
        assert {type(number) for number in (*gains, *game.scores, *game.totals)} == {int}
        assert state_of(game) == state_of(plain)
        assert json.dumps(to_json(game)) == json.dumps(to_json(plain))


@by_name(EVERY_GAME)
def test_legal_actions_are_those_of_the_masks(rules: BaseRules) -> None:
    """Of both engines, in every position of a game, whose decisions come in the order of the rules."""
    game, batch, rng = new_game(rules, 5), spec_of(rules).Batch(rules, 1), random.Random(0)
    batch.reset(5)
    decisions = itertools.cycle(rules.decisions)
    while not game.over:
        actions, due = game.legal_actions(), next(decisions)
        assert (game.decision, batch.announcing[0]) == (due, due == "announce")
        assert spec_of(rules).notation.legal_plays(game) == (actions if due == "play" else ())
        assert [*actions] == np.flatnonzero(make_observer(rules).mask(game)).tolist()
        assert [*actions] == np.flatnonzero(batch.mask[0]).tolist()
        action = rng.choice(actions)
        game.step(action)
        batch.step([action])
    assert (game.legal_actions(), game.decision) == ((), "play")


@by_name(GAMES)
@every_kind
def test_records_of_actions_of_any_type_come_back(rules: BaseRules, kind: Callable[[int], Any]) -> None:
    """As `spaces.Discrete.sample` gives them, or of another type."""
    game, observer = new_game(rules, 5), make_observer(rules)
    space = spaces.Discrete(rules.num_actions, seed=0)
    actions: list[Any] = []
    while not game.over:
        sampled = space.sample(observer.mask(game))
        actions.append(sampled if kind is np.int64 else kind(int(sampled)))
        recorded = apply_action(game, len(actions), actions[-1])
        assert type(recorded.action) is int
    record = Record(rules, Seeded(5), tuple(actions))
    assert {type(action) for action in record.actions} == {int}
    assert Record.parse(str(record)) == record
    assert record.game().totals == game.totals


@by_name(GAMES)
@no_integer
def test_other_actions_are_illegal(rules: BaseRules, value: Any) -> None:
    """Also while an announcement is due; nothing changes, and a record of them is an error."""
    game = new_game(rules, 3)
    for _ in range(2):
        before = state_of(game)
        with pytest.raises(IllegalAction, match="an action must be an integer, got"):
            game.step(value)
        assert state_of(game) == before
        game.step(random_action(game, random.Random(0)))
    with pytest.raises(RecordError, match="actions must be integers"):
        Record(rules, Seeded(3), (value,))


# --- The end of a round ----------------------------------------------------------------------------------------------

MATCHES: dict[str, BaseRules] = {
    "match": Rules(num_players=2, match=True),
    "simpleton": Rules(num_players=3, excuse=True, pawns=True, simpleton=True, match=True),
    "spiral": spiral.Rules(deals=4),
}


@by_name(MATCHES)
def test_the_end_of_an_inner_round_stays_visible(rules: BaseRules) -> None:
    """Scores, cards left and penalties of the round before; gains and penalties of each action apart."""
    match, single, rng = new_game(rules, 3), None, random.Random(3)
    earned, number, ends = [0] * rules.num_players, 0, 0
    while not match.over:
        if single is None:  # the same round alone, whose end the engine shows
            single = match.copy()
            single.deals = single.deals[: match.round + 1]
            before = match.previous_round
        note = f"{'deal' if isinstance(rules, spiral.Rules) else 'round'} {match.round}: "
        assert (note in to_text(match)) == (match.round > 0 and match.ply < rules.num_players), "for one turn each"
        round, number, action = match.round, number + 1, random_action(match, rng)
        recorded = apply_action(match, number, action)
        single.step(action)
        earned = [had + gain + cost for had, gain, cost in zip(earned, recorded.gains, recorded.penalties, strict=True)]
        assert match.copy().previous_round == match.previous_round
        if not single.over:
            assert match.previous_round is before
            assert not any(recorded.penalties)
            continue
        hands = [single.hand(seat) for seat in range(rules.num_players)]
        assert recorded.penalties == single.penalties
        assert [had - cost for had, cost in zip(earned, single.penalties, strict=True)] == single.scores
        if not match.over:
            ended = match.previous_round
            assert ended == (round, tuple(single.scores), tuple(hands), tuple(single.penalties))
            shown = to_json(match, seat=1)["previous_round"]
            assert (shown["scores"], shown["penalties"]) == (single.scores, single.penalties)
            assert [hand is None for hand in shown["hands"]] == [seat != 1 for seat in range(rules.num_players)]
            assert f" {round + 1}: {' '.join(map(str, single.scores))} points" in to_text(match)
            ends += 1
        single, earned = None, [0] * rules.num_players
    assert ends == rules.num_rounds - 1
    assert pickle.loads(pickle.dumps(match)).previous_round == match.previous_round
    assert match.previous_round.round == rules.num_rounds - 2


def test_the_first_round_has_none_before_it() -> None:
    game = new_game(Rules(num_players=2), 3)
    while not game.over:
        assert game.previous_round is None
        assert to_json(game)["previous_round"] is None
        game.step(random_action(game, random.Random(0)))
    assert game.previous_round is None


# --- Seats, cards and cells ------------------------------------------------------------------------------------------


@by_name(GAMES)
@pytest.mark.parametrize("seat", [99, -1, 2, "AM", 0.0, True], ids=repr)
def test_seats_that_do_not_exist_are_refused(rules: BaseRules, seat: Any) -> None:
    game, most = new_game(rules, 3), rules.num_players - 1
    for show in (to_text, to_json, lambda game, seat: game.hand(seat)):
        with pytest.raises(ValueError, match=f"seat must be an integer from 0 to {most}, got "):
            show(game, seat)


TWO = Rules(num_players=2)


@no_integer
def test_other_plays_and_announcements_are_illegal(value: Any) -> None:
    game = new_game(Rules(num_players=2, simpleton=True), 3)
    before, card, cell = state_of(game), game.legal_cards()[0], game.legal_cells()[0]
    for play in ((value, cell), (card, value)):
        with pytest.raises(IllegalAction, match="card and cell must be integers, got"):
            game.play(*play)
        assert state_of(game) == before
    game.play(card, cell)
    before = state_of(game)
    with pytest.raises(IllegalAction, match="an announcement must be an integer, got"):
        game.announce(value)
    assert state_of(game) == before


@pytest.mark.parametrize("cell", [-1, 16])
def test_cells_outside_the_grid_are_illegal(cell: int) -> None:
    game = new_game(Rules(), 3)
    with pytest.raises(IllegalAction, match="is out of range: cards run from 0 to 35, cells from 0 to 15"):
        game.play(game.legal_cards()[0], cell)


@pytest.mark.parametrize(
    ("card", "cell", "message"),
    [
        (8, 0, "cell 0 is taken: it holds card"),
        (8, 12, "cell 12 is taken: it holds card"),
        (8, 25, "cell must be an integer from 0 to 24, got 25"),
        (8, -1, "cell must be an integer from 0 to 24, got -1"),
        (36, 1, "card 36 is not in the deck of these rules"),
        (-1, 1, "card -1 is not in the deck of these rules"),
        (41, 1, "card 41 is not in the deck of these rules"),
        ("2MK", 1, "card and cell must be integers, got '2MK' and 1: parse_card returns the id of a card"),
        (8, (0, 1), "the cell at (row, column) is row * 5 + column"),
        (8.0, 1, "card and cell must be integers, got 8.0 and 1"),
    ],
)
def test_plays_that_have_no_value_are_refused(card: Any, cell: Any, message: str) -> None:
    game = new_game(TWO, 0)
    for ask in (game.value, game.score):
        with pytest.raises(ValueError) as error:  # noqa: PT011  the message is compared below
            ask(card, cell)
        assert message in str(error.value)
        assert not isinstance(error.value, IllegalAction)


def test_cards_outside_the_deck_have_no_value() -> None:
    """With the Excuse alone the Pawns have ids, but are not in the deck."""
    game = new_game(Rules(num_players=2, excuse=True), 0)
    assert game.value(40, 1) == (0, 0)
    with pytest.raises(ValueError, match="card 36 is not in the deck"):
        game.value(36, 1)


@pytest.mark.parametrize("card", [-1, 52, "AS", 3.0, None], ids=repr)
def test_the_spiral_game_scores_cards_only(card: Any) -> None:
    with pytest.raises(ValueError, match="card must be an integer from 0 to 51, got"):
        new_game(spiral.Rules(), 0).score(card)


# --- Games that are dealt card by card -------------------------------------------------------------------------------


@by_name({"match": Rules(num_players=2, match=True), "spiral": spiral.Rules()})
def test_a_round_begins_again_from_another_deal(rules: BaseRules) -> None:
    game, other, rng = new_game(rules, 0), new_game(rules, 1), random.Random(0)
    while game.round == 0 or game.ply < 3:
        game.step(random_action(game, rng))
    ended = game.previous_round
    game.redeal(other.deals[1])
    assert (game.round, game.ply, game.mover, game.totals) == (1, 0, 1, [*ended.scores])
    assert game.previous_round == ended
    assert game.deals[1] == other.deals[1]
    assert list(map(game.hand, range(2))) == [tuple(sorted(hand)) for hand in other.deals[1].hands]
    while other.round == 0:
        other.step(random_action(other, rng))
    while not game.over:
        action = random_action(game, rng)
        assert game.step(action) == other.step(action)


@by_name(GAMES)
def test_a_deal_that_does_not_fit_changes_nothing(rules: BaseRules) -> None:
    game = new_game(rules, 0)
    before = state_of(game)
    for wrong in (new_game(Rules(num_players=3), 0).deals[0], None, "AM"):
        with pytest.raises(ValueError, match=r"deal|Deal"):
            game.redeal(wrong)
        assert state_of(game) == before


def test_the_pile_is_put_into_another_order() -> None:
    game, rng = new_game(Rules(num_players=2, match=True), 3), random.Random(0)
    later = game.deals[1:]
    while game.drawn < 2:
        game.step(random_action(game, rng))
    pile = game.pile[::-1]
    for wrong in (pile[1:], (*pile, 0), [pile[0], *pile[:-1]], None, "AM", [1.5]):
        with pytest.raises(ValueError, match="the pile holds"):
            game.stack(wrong)
        assert game.pile == pile[::-1]
    game.stack(np.array(pile))
    assert game.pile == pile
    assert game.deals[0].pile == game.deals[0].pile[: game.drawn] + pile
    assert game.deals[1:] == later
    before = game.drawn
    while game.drawn == before:
        game.step(random_action(game, rng))
    assert game.hands[game.mover - 1][pile[0]]


def test_the_order_of_a_spiral_game_is_that_of_the_spiral() -> None:
    game, rng = new_game(spiral.Rules(deals=1), 0), random.Random(0)
    while not game.over:
        assert [game.order[cell] for cell in SPIRAL] == [*range(game.ply + 1), *[-1] * (24 - game.ply)]
        assert [ply >= 0 for ply in game.order] == [card >= 0 for card in game.board]
        game.step(random_action(game, rng))


@by_name({**GAMES, "mini": Rules(num_players=2, mini=True), "match": Rules(num_players=4, match=True)})
def test_points_lie_within_the_bounds_of_the_rules(rules: BaseRules) -> None:
    least, most = rules.points_range
    for seed in range(10):
        game, rng = new_game(rules, seed), random.Random(seed)
        while not game.over:
            game.step(random_action(game, rng))
            assert least <= min(game.totals) <= max(game.totals) <= most
    low, high = next(limits for name, (_, *limits) in make_observer(rules).counts.items() if name == "score_0")
    assert low <= least < most <= high


@by_name({name: rules for name, rules in EVERY_GAME.items() if isinstance(rules, Rules) and not rules.simpleton})
def test_the_bounds_hold_the_worst_play(rules: Rules) -> None:
    """Every play beside four cards with which its sum is 9, and all cards of the deck in the hand at the end."""
    plays = -(-rules.num_plays // rules.num_players)
    assert rules.points_range[0] <= -rules.num_rounds * (plays * 4 * 9 + scoring.penalty(rules.deck))


@pytest.mark.parametrize("rules", ["quincunx", {"num_players": 2}, None], ids=str)
@pytest.mark.parametrize("function", [spec_of, make_observer])
def test_other_things_than_rules_are_named(function: Any, rules: Any) -> None:
    with pytest.raises(ValueError, match="rules must be Rules of 'quincunx' or 'spiral', got"):
        function(rules)
