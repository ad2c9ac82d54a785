"""The OpenSpiel adapter: OpenSpiel's own checks, and agreement with the engines."""

import copy
import itertools
import pickle
import random
import subprocess
import sys
import unittest
from collections import Counter
from dataclasses import asdict
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pyspiel
import pytest
from open_spiel.integration_tests import api_test
from open_spiel.python.algorithms.generate_playthrough import playthrough
from open_spiel.python.algorithms.sample_some_states import sample_some_states
from scipy.stats import chisquare

from quincunx_env import Deal, Rules
from quincunx_env.adapters.openspiel import CardGame, CardGameState
from quincunx_env.core.rules import BaseRules
from quincunx_env.registry import make_observer, spec_of
from quincunx_env.spiral import Rules as SpiralRules
from tests.variants import BASES, COVERING, EVERY_GAME, by_name, random_action
from train.exact.tree import write_efg

GAMES = {name: rules for name, rules in EVERY_GAME.items() if name in {*BASES, *COVERING, "mini", "mini-2"}}
"""The base variants, and all options."""

CHANCE = pytest.mark.parametrize("chance", ["number", "cards"])

GAME_AND_CHANCE = pytest.mark.parametrize(
    ("rules", "chance"),
    [
        pytest.param(rules, chance, id=f"{name}-{chance}")
        for number, (name, rules) in enumerate(GAMES.items())
        for kind, chance in enumerate(("number", "cards"))
        if name in BASES or number % 2 == kind
    ],
)
"""The base variants with both kinds of chance nodes, all options with one of them."""

FACE_UP = "python_quincunx(num_players=2,mini=True,chance=cards,face_up=AM CM 4MS 5SV CL)"
"""A game small enough to enumerate its deals."""


def load(rules: BaseRules, **options: Any) -> CardGame:
    """The game of OpenSpiel with these rules."""
    return pyspiel.load_game(f"python_{spec_of(rules).name}", asdict(rules) | options)  # type: ignore[call-overload, no-any-return]


def draw(state: CardGameState, rng: random.Random) -> int:
    """A random outcome of a chance node."""
    outcomes, chances = zip(*state.chance_outcomes(), strict=True)
    assert sum(chances) == pytest.approx(1)
    return int(rng.choices(outcomes, chances)[0])


def play(game: CardGame, rng: random.Random) -> Any:
    """The states of a random game but the first, chance nodes included: one object, which changes."""
    state = game.new_initial_state()
    while not state.is_terminal():
        state.apply_action(draw(state, rng) if state.is_chance_node() else random_action(state.game, rng))
        yield state


def decision(game: CardGame, number: int, seed: int = 0) -> Any:
    """The state in which a random game takes its n-th action."""
    states = (state for state in play(game, random.Random(seed)) if not state.is_chance_node())
    return next(itertools.islice(states, number, None))


@CHANCE
def test_masks_have_the_length_of_their_player(chance: str) -> None:
    """At a chance node no seat has a legal action; a number of a game is not written beyond the end of its mask."""
    game = load(Rules(num_players=2), chance=chance)
    state, rng = game.new_initial_state(), random.Random(0)
    sizes = {-1: game.max_chance_outcomes(), 0: game.num_distinct_actions(), 1: game.num_distinct_actions()}
    while True:
        for player, size in sizes.items():
            expected = np.isin(np.arange(size), state.legal_actions()) & (player == state.current_player())
            assert state.legal_actions_mask(player) == expected.astype(int).tolist()
        if state.is_terminal():
            break
        assert state.legal_actions_mask() == state.legal_actions_mask(state.current_player())
        state.apply_action(draw(state, rng) if state.is_chance_node() else random_action(state.game, rng))


# --- OpenSpiel's own checks ------------------------------------------------------------------------------------------


def run(checks: type[unittest.TestCase], least: int) -> None:
    """Run the tests of a class, of which there are at least so many."""
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(checks).run(result)
    assert result.testsRun >= least
    assert not result.errors + result.failures, (result.errors + result.failures)[0][1]


@GAME_AND_CHANCE
def test_random_games_of_openspiel_with_serialisation(rules: BaseRules, chance: str) -> None:
    pyspiel.random_sim_test(load(rules, chance=chance, games=20), num_sims=1, serialize=True, verbose=False)


@GAME_AND_CHANCE
def test_checks_of_the_interface(rules: BaseRules, chance: str) -> None:
    class Checks(api_test.EnforceAPIOnPartialTreeBase):  # type: ignore[misc]
        game = load(rules, chance=chance, games=2)
        game_name = str(game)

        @classmethod
        def setUpClass(cls) -> None:
            cls.some_states = sample_some_states(cls.game, max_states=25)
            game = [state.clone() for state in play(cls.game, random.Random(0))]
            cls.some_states += [*game[:: 1 + len(game) // 6], game[-1]]
            cls.game_type = cls.game.get_type()

    run(Checks, 5)


def test_checks_of_a_whole_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two deals; it has as many nodes and information sets as the written trees."""
    rules, counts, sets = Rules(num_players=2, mini=True), Counter[str](), list[int]()
    for number in range(2):
        write_efg(tmp_path / "deal.efg", rules, [Deal.from_seed(rules, 0, number)], lambda at, _: sets.append(at))
        counts += Counter(line[0] for line in (tmp_path / "deal.efg").read_text().splitlines()[1:])
    monkeypatch.setitem(api_test.TOTAL_NUM_STATES, "mini", (1, counts["p"], counts["t"]))
    monkeypatch.setitem(api_test.PERFECT_RECALL_NUM_STATES, "mini", len(sets))

    class Checks(api_test.EnforceAPIOnFullTreeBase):  # type: ignore[misc]
        game, game_name = load(rules, games=2), "mini"

    run(Checks, 8)


@GAME_AND_CHANCE
def test_a_playthrough_is_generated(rules: BaseRules, chance: str) -> None:
    game = load(rules, chance=chance, games=2)
    text = playthrough(str(game), None, seed=0)
    assert "IsTerminal() = True" in text
    assert "InformationStateString(0)" in text


# --- Agreement with the engines --------------------------------------------------------------------------------------


def compare(game: CardGame, rng: random.Random) -> None:
    """Play a random game through OpenSpiel, and the same actions in the engine with the same cards."""
    rules, spec, observer = game.rules, game.spec, make_observer(game.rules)
    state = game.new_initial_state()
    cards: list[list[int]] = [[] for _ in range(rules.num_rounds)]
    while not state.is_terminal():
        if state.is_chance_node():
            cards[state.game.round].append(draw(state, rng))
            state.apply_action(cards[state.game.round][-1])
        else:
            state.apply_action(random_action(state.game, rng))
    if game.chance == "number":
        mine = spec.Game.from_seed(rules, game.seed, cards[0][0])
    else:
        rest = [[card for card in rules.deck if card not in known] for known in cards]
        mine = spec.Game(rules, [spec.Deal.of_cards(rules, [*a, *b]) for a, b in zip(cards, rest, strict=True)])
    history, state = state.full_history(), game.new_initial_state()
    for taken in history:
        if taken.player >= 0:
            assert taken.player == state.current_player() == mine.mover
            assert state.legal_actions() == np.flatnonzero(observer.mask(mine)).tolist()
            assert (state.game.board, state.game.hands, state.game.totals) == (mine.board, mine.hands, mine.totals)
            mine.step(taken.action)
        state.apply_action(taken.action)
    assert mine.over
    assert state.is_terminal()
    assert state.game.totals == mine.totals
    points = [0.0] if getattr(mine, "lost", False) else [float(total) for total in mine.totals]
    others = [(sum(points) - own) / (rules.num_players - 1 or 1) for own in points]
    assert state.returns() == pytest.approx([own - other for own, other in zip(points, others, strict=True)])


@GAME_AND_CHANCE
def test_games_agree_with_the_engine(rules: BaseRules, chance: str) -> None:
    rng, game = random.Random(1), load(rules, chance=chance)
    for _ in range(5):
        compare(game, rng)


@pytest.mark.slow
@CHANCE
@by_name(EVERY_GAME)
def test_10_000_games_agree_with_the_engine(rules: BaseRules, chance: str) -> None:
    rng, game = random.Random(2), load(rules, chance=chance, games=10_000)
    for _ in range(-(-10_000 // (2 * len(EVERY_GAME)))):
        compare(game, rng)


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("reward", ["points", "margin", "outcome"])
@by_name({name: GAMES[name] for name in ("solitaire", "corners-3+match", "mini-2+simpleton", "spiral-end-2")})
def test_rewards_add_up_to_returns(rules: BaseRules, reward: str, dense: bool) -> None:
    if reward == "outcome" and (dense or rules.num_players == 1):
        with pytest.raises(ValueError, match="outcome"):
            load(rules, reward=reward, dense=dense)
        return
    game = load(rules, reward=reward, dense=dense, chance="cards")
    kind = game.get_type()
    assert (kind.reward_model == kind.RewardModel.REWARDS) == dense
    assert (kind.utility == kind.Utility.ZERO_SUM) == (reward != "points" and rules.num_players > 1)
    for seed in range(5):
        rewards = np.zeros(rules.num_players)
        for state in play(game, random.Random(seed)):
            if not state.is_chance_node():
                rewards += state.rewards()
                assert state.returns() == pytest.approx(rewards)
        if reward == "outcome":
            assert (rewards == rewards.max()).tolist() == [s in state.game.winners for s in range(rules.num_players)]


def test_actions_are_written_in_our_notation() -> None:
    state = load(EVERY_GAME["corners-2"], chance="cards").new_initial_state()
    assert state.action_to_string(state.legal_actions()[0]) == "AM"
    game = load(EVERY_GAME["mini-2+simpleton"])
    state = decision(game, 1)
    assert state.action_to_string(state.legal_actions()[-1]) == "announce 319"
    for action in state.legal_actions():
        assert state.string_to_action(state.action_to_string(action)) == action


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("python_quincunx(num_players=5)", "num_players must be 1"),
        ("python_quincunx(num_players=2,edge_contact=True)", "edge_contact=True is an option of the solitaire"),
        ("python_quincunx(chance=dice)", "chance must be one of 'number', 'cards'"),
        ("python_quincunx(games=0)", "games must be an integer from 1"),
        ("python_quincunx(face_up=AM)", "face_up needs chance='cards'"),
        ("python_quincunx(chance=cards,face_up=AM AM)", "face_up must hold different cards"),
        ("python_spiral(reward=win)", "reward must be one of 'points', 'margin', 'outcome'"),
        ("python_spiral(reward=outcome,dense=True)", "comes at the end"),
        ("python_spiral(players=3)", "players=3 does not fit a game of 2"),
        ("python_quincunx(players=2,num_players=3)", "players=2 does not fit a game of 3"),
    ],
)
def test_wrong_parameters_are_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pyspiel.load_game(text)


def test_players_is_the_number_of_players_by_another_name() -> None:
    """OpenSpiel's examples pass it; the text of the game makes the same game again."""
    for name, players in {"python_quincunx": 3, "python_spiral": 2, "python_quincunx_mini": 2}.items():
        game = pyspiel.load_game(name, {"players": players})
        assert game.num_players() == game.rules.num_players == players
        assert pyspiel.load_game(str(game)).rules == game.rules
    assert game.rules == Rules(num_players=2, mini=True)
    assert game.get_type().short_name == "python_quincunx_mini"


EXAMPLES = {
    "cfr_example": "--iterations=1",
    "mccfr_example": "--iterations=20 --print_freq=10",
    "cfr_cpp_example": "--iterations=1",
    "get_all_states": "",
    "playthrough": "",
}


@pytest.mark.parametrize("example", EXAMPLES)
def test_examples_of_openspiel_run_with_the_name_of_the_mini_game(example: str, tmp_path: Path) -> None:
    """Once the adapter is imported; they pass a dictionary, with which a name has no options."""
    program = (
        "import quincunx_env.adapters.openspiel, runpy, sys; sys.argv = sys.argv[1:];"
        "runpy.run_module(f'open_spiel.python.examples.{sys.argv[0]}', run_name='__main__')"
    )
    command = [sys.executable, "-c", program, example, "--game=python_quincunx_mini", *EXAMPLES[example].split()]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout + done.stderr


def test_wrong_actions_are_refused_and_change_nothing() -> None:
    state = load(EVERY_GAME["mini-2"], chance="cards").new_initial_state()
    before = str(state)
    for card in (6, 99):  # the first is no card of the mini variant
        with pytest.raises(ValueError, match="cannot come next"):
            state.apply_action(card)
    assert (str(state), state.history()) == (before, [])
    with pytest.raises(ValueError, match="number of a game must be an integer from 0 to 999, got 1000"):
        load(EVERY_GAME["mini-2"]).new_initial_state().apply_action(1000)
    state = decision(load(EVERY_GAME["mini-2"]), 2)
    now = str(state), state.history()
    with pytest.raises(ValueError, match="cannot be played"):
        state.apply_action(next(action for action in range(400) if action not in state.legal_actions()))
    assert (str(state), state.history()) == now


# --- Chance ----------------------------------------------------------------------------------------------------------


def deals(state: CardGameState, chance: float = 1.0) -> Any:
    """Every deal, with its probability."""
    if not state.is_chance_node():
        yield state, chance
        return
    for card, probability in state.chance_outcomes():
        yield from deals(state.child(card), chance * probability)


def test_every_deal_is_one_history_of_the_same_probability() -> None:
    first = pyspiel.load_game(FACE_UP).new_initial_state()
    found = [(tuple(map(state.game.hand, range(2))), chance) for state, chance in deals(first)]
    assert len({hands for hands, _ in found}) == len(found) == comb(7, 2) * comb(5, 2)
    assert [chance for _, chance in found] == pytest.approx([1 / len(found)] * len(found))


def test_drawn_cards_are_outcomes() -> None:
    """Of a play that draws two of three cards."""
    game, rng = pyspiel.load_game(FACE_UP), random.Random(0)
    states = (state for _ in itertools.count() for state in play(game, rng))
    state = next(state for state in states if state.is_chance_node() and state.due == (2,) and state.waiting >= 0)
    pile = {*state.game.pile}
    drawn = {frozenset({*after.game.hand(1 - after.game.mover)} & pile): chance for after, chance in deals(state)}
    assert len(drawn) == comb(len(pile), 2)
    assert {len(cards) for cards in drawn} == {2}
    assert [*drawn.values()] == pytest.approx([1 / len(drawn)] * len(drawn))


# --- Information -----------------------------------------------------------------------------------------------------


@CHANCE
@by_name({name: GAMES[name] for name in ("mini-2+simpleton", "mini-2+flush+match", "corners-2", "spiral-end-2")})
def test_perfect_recall(rules: BaseRules, chance: str) -> None:
    """One information state, one sequence of own information states and actions; as text and as tensor."""
    game = load(rules, chance=chance, games=3)
    sequences: dict[str, Any] = {}
    tensors: dict[bytes, str] = {}
    met = 0
    for seed in range(80 if rules.num_plays < 10 else 10):
        own: list[list[Any]] = [[] for _ in range(rules.num_players)]
        before = game.new_initial_state()
        for state in play(game, random.Random(seed)):
            if not before.is_chance_node():
                seat, taken = before.current_player(), state.history()[-1]
                text = before.information_state_string()
                tensor = np.array(before.information_state_tensor(), np.float32).tobytes()
                met += text in sequences
                assert sequences.setdefault(text, [*own[seat]]) == own[seat]
                assert tensors.setdefault(tensor, text) == text
                own[seat].append((text, taken))
            before = state.clone()
    assert len(tensors) == len(sequences)
    assert met or chance == "cards"


@GAME_AND_CHANCE
def test_resampled_states_look_the_same_to_their_seat(rules: BaseRules, chance: str) -> None:
    rng, game, changed = random.Random(3), load(rules, chance=chance), 0
    states = [state.clone() for state in play(game, rng) if not state.is_chance_node()]
    for state in states[1 : -1 : -(-len(states) // 5)]:
        seat = rng.randrange(rules.num_players)
        other = state.resample_from_infostate(seat, rng.random)
        for shown in ("information_state", "observation"):
            for form in ("string", "tensor"):
                assert getattr(other, f"{shown}_{form}")(seat) == getattr(state, f"{shown}_{form}")(seat)
        assert other.current_player() == state.current_player()
        assert other.rewards() == state.rewards()
        changed += _hidden(other) != _hidden(state)
        if chance == "cards":  # its own history leads to it
            assert str(_replayed(other)) == str(other)
        while not other.is_terminal():
            other.apply_action(draw(other, rng) if other.is_chance_node() else random_action(other.game, rng))
    assert changed or rules.num_plays < 10 or (rules.num_players == 1 and chance == "cards")


@pytest.mark.parametrize("chance", ["number", "cards"])
def test_nothing_is_resampled_before_the_cards_are_dealt(chance: str) -> None:
    state = load(EVERY_GAME["mini-2"], chance=chance).new_initial_state()
    with pytest.raises(ValueError, match="the cards are still being dealt"):
        state.resample_from_infostate(0, random.random)


def _hidden(state: CardGameState) -> tuple[Any, Any]:
    return state.game.hands, state.get_game().chance == "number" and getattr(state.game, "pile", None)


def _replayed(state: CardGameState) -> Any:
    new = state.get_game().new_initial_state()
    for action in state.history():
        new.apply_action(action)
    return new


def test_states_are_resampled_uniformly_from_the_information_set() -> None:
    """Against all histories with these actions, weighted by chance."""
    game, rng = pyspiel.load_game(FACE_UP), random.Random(5)
    states = (state for _ in itertools.count() for state in play(game, rng) if not state.is_chance_node())
    # A position in which the other seat has drawn a card and played one.
    state = next(each for each in states if each.game.ply == 3 and (each.got[0, 1 - each.game.mover] > 1).any())
    seat = state.game.mover
    actions = [taken.action for taken in state.full_history() if taken.player >= 0]
    weights: Counter[str] = Counter()

    def walk(at: Any, left: list[int], chance: float) -> None:
        if at.is_chance_node():
            for card, probability in at.chance_outcomes():
                walk(at.child(card), left, chance * probability)
        elif not left:
            if at.information_state_string(seat) == state.information_state_string(seat):
                weights[at.information_state_string(1 - seat)] += chance  # type: ignore[assignment]
        elif left[0] in at.legal_actions():
            walk(at.child(left[0]), left[1:], chance)

    walk(game.new_initial_state(), actions, 1.0)
    assert len(weights) > 5
    draws = Counter(
        state.resample_from_infostate(seat, rng.random).information_state_string(1 - seat) for _ in range(600)
    )
    assert {*draws} <= {*weights}
    expected = np.array([*weights.values()]) / sum(weights.values()) * draws.total()
    assert chisquare([draws[text] for text in weights], expected).pvalue > 0.001


@pytest.mark.parametrize("rules", [Rules(2, mini=True), SpiralRules()], ids=str)
def test_games_survive_pickle_and_copies(rules: BaseRules) -> None:
    game = load(rules, chance="cards", reward="outcome")
    for found in (pickle.loads(pickle.dumps(game)), copy.deepcopy(game)):
        assert (type(found), str(found), found.rules) == (type(game), str(game), rules)
        assert found.new_initial_state().chance_outcomes() == game.new_initial_state().chance_outcomes()
    # Another process registers the games when it reads the pickle.
    script = f"import pickle; print(pickle.loads({pickle.dumps(game)!r}))"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stdout.strip() == str(game)


def test_pickle_and_copies() -> None:
    game = load(EVERY_GAME["open-3+excuse+pawns+flush"], chance="cards")
    for state in play(game, random.Random(4)):
        for other in (state.clone(), pickle.loads(pickle.dumps(state))):
            assert str(other) == str(state)
            assert other.history() == state.history()
            assert other.is_chance_node() or [*map(other.information_state_string, range(3))] == [
                *map(state.information_state_string, range(3))
            ]
            if not other.is_terminal():
                other.apply_action(other.legal_actions()[0])
