"""Hidden cards change no byte of any observation, and `assert_no_leak` finds every leak."""

import random
import re
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from quincunx_env import quincunx_v0, spiral, spiral_v0
from quincunx_env.core.arrays import Bools, Ints
from quincunx_env.core.deal import Deals
from quincunx_env.core.observation import Pieces
from quincunx_env.core.rules import BaseRules
from quincunx_env.envs.batched import BatchedGames
from quincunx_env.envs.solitaire import SolitaireEnv, SolitaireVectorEnv
from quincunx_env.envs.vs_opponents import VsOpponentsEnv
from quincunx_env.quincunx import Rules
from quincunx_env.registry import make_observer, spec_of
from quincunx_env.testing import Observe, assert_no_leak, permute_hidden
from tests.variants import EVERY_GAME, by_name, new_batch, new_game, random_action, slow_unless_covering

SEED = 700

every_game = by_name(EVERY_GAME, slow_unless_covering)


def replayed(rules: BaseRules, deals: Deals, actions: list[int]) -> Any:
    """A game in plain Python after these actions."""
    game = spec_of(rules).Game(rules, deals)
    for action in actions:
        game.step(action)
    return game


# --- Interfaces ------------------------------------------------------------------------------------------------------

Interface = Callable[[Any, bool], Observe]
"""(rules, padded) -> function that plays a game and returns the observation of a seat."""


def options_of(rules: Any, padded: bool) -> dict[str, Any]:
    """The rules and the layout as options of an environment."""
    foreign = ("num_players", "start", "simpleton", "match") if rules.num_players == 1 else ("edge_contact",)
    own = {field.name: getattr(rules, field.name) for field in fields(rules) if field.name not in foreign}
    return own | {"preview": True, "padded": padded}


def numbered(rules: BaseRules, padded: bool) -> Callable[[list[int]], list[int]]:
    """Actions of the engine in the numbering of an interface."""
    observer = make_observer(rules, padded=padded)
    engine = observer.joint.engine(np.arange(observer.joint.num_actions)).tolist()
    numbers = {action: number for number, action in enumerate(engine)}
    return lambda actions: [numbers[action] for action in actions]


def plain_game(rules: BaseRules, padded: bool) -> Observe:
    observer = make_observer(rules, preview=True, padded=padded)

    def look(deals: Deals, actions: list[int], seat: int) -> Any:
        game = replayed(rules, deals, actions)
        mask = observer.mask(game) if seat == game.mover else None
        vectors = [observer.vector(game, seat, by_place) for by_place in (False, True)]
        return observer.observe(game, seat), vectors, mask, spec_of(rules).scene(game, seat).text()

    return look


def batch_engine(rules: BaseRules, padded: bool) -> Observe:
    observer = make_observer(rules, preview=True, padded=padded)

    def look(deals: Deals, actions: list[int], seat: int) -> Any:
        batch = new_batch(rules, 2)
        batch.reset(deals=[deals] * 2)
        for action in actions:
            batch.step([action] * 2)
        mask = observer.mask_batch(batch) if seat == batch.mover[0] else None
        seats = np.full(2, seat)
        vectors = [observer.vector_batch(batch, seats, by_place) for by_place in (False, True)]
        return observer.observe_batch(batch, seats), vectors, mask

    return look


def pettingzoo_aec(rules: BaseRules, padded: bool) -> Observe:
    make = spiral_v0.raw_env if isinstance(rules, spiral.Rules) else quincunx_v0.raw_env
    number = numbered(rules, padded)

    def look(deals: Deals, actions: list[int], seat: int) -> Any:
        env = make(**options_of(rules, padded))
        env.reset(options={"deal": list(deals)})
        for action in number(actions):
            env.step(action)
        agent = env.possible_agents[seat]
        seen = env.observe(agent)
        assert seen.keys() == {"observation", "action_mask"}
        assert seen["action_mask"].all() == (agent != env.agent_selection), "of those who wait it is all 1"
        assert env.observation_space(agent).contains(seen)
        return seen, env.infos[agent], env.last() if agent == env.agent_selection else None

    return look


def batched(rules: BaseRules, padded: bool) -> Observe:
    name = "spiral" if isinstance(rules, spiral.Rules) else "quincunx"
    games = BatchedGames(2, name, observation="pieces", **options_of(rules, padded))
    number = numbered(rules, padded)

    def look(deals: Deals, actions: list[int], seat: int) -> Any:
        turn = games.reset(deals=[deals] * 2)
        for action in number(actions):
            turn = games.step([action] * 2).position
        return turn if seat == turn.mover[0] else None

    return look


def learner(rules: BaseRules, padded: bool) -> Observe:
    name = "spiral" if isinstance(rules, spiral.Rules) else "quincunx"
    number = numbered(rules, padded)

    def look(deals: Deals, actions: list[int], seat: int) -> Any:
        played = [0]

        def replay(observation: Pieces, mask: Bools, rng: np.random.Generator) -> Ints:
            played[0] += 1
            return np.array([actions[played[0] - 1]])

        env = VsOpponentsEnv(game=name, opponents=replay, seat=seat, **options_of(rules, padded))
        own = number(actions)
        try:
            shown: Any = env.reset(options={"deal": list(deals)})
            while played[0] < len(actions):
                played[0] += 1
                shown = env.step(own[played[0] - 1])
        except IndexError:  # it is not the learner's turn after these actions
            return None
        return shown

    return look


def solitaire_env(rules: BaseRules, padded: bool) -> Observe:
    env, number = SolitaireEnv(**options_of(rules, padded)), numbered(rules, padded)

    def look(deals: Deals, actions: list[int], seat: int) -> Any:
        shown: Any = env.reset(options={"deal": deals[0]})
        for action in number(actions):
            shown = env.step(action)
        return shown

    return look


def solitaire_vector_env(rules: BaseRules, padded: bool) -> Observe:
    env, number = SolitaireVectorEnv(2, **options_of(rules, padded)), numbered(rules, padded)

    def look(deals: Deals, actions: list[int], seat: int) -> Any:
        shown: Any = env.reset(options={"deal": [deals[0]] * 2})
        for action in number(actions):
            shown = env.step([action] * 2)
        return shown

    return look


ALONE: list[Interface] = [plain_game, batch_engine, solitaire_env, solitaire_vector_env]
TOGETHER: list[Interface] = [plain_game, batch_engine, pettingzoo_aec, batched, learner]


def at(moments: set[int], look: Observe) -> Observe:
    """The same after so many actions only, since to get there takes time: at other moments there is nothing to see."""
    return lambda deals, actions, seat: look(deals, actions, seat) if len(actions) in moments else None


def length(rules: Any) -> int:
    """Decisions in a game."""
    plays = 24 if isinstance(rules, spiral.Rules) else rules.num_plays * (1 + rules.simpleton)
    return int(plays * rules.num_rounds)


@every_game
def test_a_game_shows_no_seat_what_it_cannot_see(rules: BaseRules) -> None:
    """All along a game, as pieces, vectors and text."""
    compared = assert_no_leak(plain_game(rules, False), rules, seed=SEED, permutations=1)
    assert compared == pytest.approx(length(rules) / 3 * rules.num_players, abs=rules.num_players)


@every_game
def test_no_interface_shows_what_a_seat_cannot_see(rules: BaseRules) -> None:
    """Every interface, padded and not, at the start and at one later moment."""
    number = [*EVERY_GAME.values()].index(rules)
    later = length(rules) * (1 + number % 3) // 24 * 3  # elsewhere in the first half for the next rules
    for padded in (False, True) if spec_of(rules).PaddedObserver else (False,):
        looks = {interface: interface(rules, padded) for interface in (ALONE if rules.num_players == 1 else TOGETHER)}

        def look(deals: Deals, actions: list[int], seat: int, looks: dict[Interface, Observe] = looks) -> Any:
            return {interface.__name__: look(deals, actions, seat) for interface, look in looks.items()}

        assert_no_leak(at({later} if padded else {0, later}, look), rules, seed=SEED, permutations=1)


# --- The helper ------------------------------------------------------------------------------------------------------

Leak = Callable[[Any, int], Any]
"""What a bad observation adds to a good one: of a game in progress, for this seat."""


def top_of_pile(game: Any, seat: int) -> Any:
    return np.array([game.pile[:1]])


def lowest_card_of_another(game: Any, seat: int) -> Any:
    other = (seat + 1) % game.rules.num_players
    return {"hands": [{"low": np.array(game.hand(other)[:1]), "size": len(game.hand(other))}]}


def later_round(game: Any, seat: int) -> Any:
    return np.array(game.deals[-1].cards[0]) if game.round + 1 < len(game.deals) else None


def thirteenth_card(game: Any, seat: int) -> Any:
    """The one that the other player, as it happens, will not play."""
    return game.deals[game.round].hands[1 - seat][12]


def one_bit(game: Any, seat: int) -> Any:
    """Who holds the highest of the cards that one does not see oneself."""
    return {"a": ({"b": np.zeros(3, np.int8)}, {"b": np.array([0, max(game.hand(1 - seat)) & 1, 0], np.int8)})}


def another_dtype(game: Any, seat: int) -> Any:
    return np.zeros(2, np.uint16 if max(game.hand(1 - seat)) & 1 else np.int16)


def another_shape(game: Any, seat: int) -> Any:
    return np.zeros((1, 2) if max(game.hand(1 - seat)) & 1 else (2, 1))


def another_length(game: Any, seat: int) -> Any:
    return [0] * (1 + (max(game.hand(1 - seat)) & 1))


def another_name(game: Any, seat: int) -> Any:
    return {max(game.hand(1 - seat)): 0}


@pytest.mark.parametrize(
    ("rules", "leak", "where"),
    [
        (Rules(), top_of_pile, ""),
        (Rules(3), top_of_pile, ""),
        (Rules(2), lowest_card_of_another, "['hands'][0]['low']"),
        (Rules(4, "open"), lowest_card_of_another, "['hands'][0]['low']"),
        (spiral.Rules(deals=1), lowest_card_of_another, "['hands'][0]['low']"),
        (Rules(2, match=True), later_round, ""),
        (spiral.Rules(deals=4), later_round, ""),
        (spiral.Rules("end", True, 1), thirteenth_card, ""),
        (spiral.Rules(), one_bit, "['a'][1]['b']"),
        (Rules(2), one_bit, "['a'][1]['b']"),
        (spiral.Rules(), another_dtype, ""),
        (spiral.Rules(), another_shape, ""),
        (spiral.Rules(), another_length, ""),
        (spiral.Rules(), another_name, ""),
    ],
)
def test_every_leak_is_found_and_named(rules: Any, leak: Leak, where: str) -> None:
    """At any depth; the error names the seat, the actions so far and the place."""
    observer = make_observer(rules, preview=True)

    def good(deals: Deals, actions: list[int], seat: int) -> Any:
        return {"seen": observer.observe(replayed(rules, deals, actions), seat), "more": None}

    def bad(deals: Deals, actions: list[int], seat: int) -> Any:
        return good(deals, actions, seat) | {"more": leak(replayed(rules, deals, actions), seat)}

    assert assert_no_leak(good, rules) > 0
    place = re.escape(f"observes hidden information in the observation['more']{where} after [")
    with pytest.raises(AssertionError, match=rf"^seat [0-{rules.num_players - 1}] {place}[\d, ]*\]$"):
        assert_no_leak(bad, rules)


def test_a_leak_to_one_seat_at_one_moment_is_found() -> None:
    """And that seat is named; until then and to the others nothing is amiss."""

    def look(deals: Deals, actions: list[int], seat: int) -> Any:
        return deals[0].cards if seat == 2 and len(actions) == 9 else 0

    with pytest.raises(AssertionError, match=r"^seat 2 observes .* in the observation\[\d+\] after \[(\d+, ){8}\d+\]$"):
        assert_no_leak(look, Rules(3))


def test_games_seeds_and_permutations_are_what_was_asked_for() -> None:
    """Other games for other seeds, as many of them, and as many looks at others; always the same ones."""

    def looks(**options: int) -> tuple[int, list[tuple[Deals, tuple[int, ...], int]]]:
        seen: list[tuple[Deals, tuple[int, ...], int]] = []
        compared = assert_no_leak(
            lambda deals, actions, seat: seen.append((deals, tuple(actions), seat)), spiral.Rules(deals=1), **options
        )
        return compared, seen

    compared, seen = looks()
    assert (compared, len(seen)) == (8 * 2 * 2, 8 * 2 * 3)
    assert {len(actions) for _, actions, _ in seen} == set(range(0, 24, 3))
    assert looks() == (compared, seen)
    assert looks(permutations=1)[0] == compared // 2
    twice, more = looks(games=3)
    assert (twice, more[: len(seen)]) == (3 * compared, seen)
    assert {len(actions) for _, actions, _ in more} == set(range(24)), "other games are stopped elsewhere"
    assert seen[0][0] == spiral_deals(0)
    assert looks(seed=4)[1][0][0] == spiral_deals(4)


def spiral_deals(seed: int) -> Deals:
    """The deals of the first game of a seed."""
    return spiral.Game.from_seed(spiral.Rules(deals=1), seed).deals


@every_game
def test_hidden_cards_change_places_and_nothing_else_does(rules: Any) -> None:
    """`hide`: the actions so far are legal, cards that a seat has seen are the same, hidden ones may differ."""
    rng, choice = np.random.default_rng(SEED), random.Random(SEED)
    game = new_game(rules, SEED)
    cards_of_pack, actions, stride = {*rules.deck}, list[int](), 1 + length(rules) // 6
    while not game.over:
        for seat in range(rules.num_players) if len(actions) % stride == 0 else ():
            others = [permute_hidden(game, seat, rng) for _ in range(4)]
            twins = [replayed(rules, deals, actions) for deals in others]
            unseen = cards_of_pack - {*game.hand(seat), *game.board}
            unseen -= {game.pending.card} if getattr(game, "pending", None) else set()
            for deals, twin in zip(others, twins, strict=True):
                assert deals[: game.round] == game.deals[: game.round]
                assert (twin.hand(seat), twin.mover, twin.totals) == (game.hand(seat), game.mover, game.totals)
                assert [*twin.board] == [*game.board]
                moved = zip(deals[game.round].cards, game.deals[game.round].cards, strict=True)
                assert {card for pair in moved for card in pair if pair[0] != pair[1]} <= unseen
                later = zip(deals[game.round + 1 :], game.deals[game.round + 1 :], strict=True)
                assert all(its != own for its, own in later)
            if len(unseen) > 3:
                assert any(deals[game.round] != game.deals[game.round] for deals in others)
                assert len(set(others)) > 1
        actions.append(random_action(game, choice))
        game.step(actions[-1])
