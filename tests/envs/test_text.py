"""The text environment: answers with mistakes, games that the engine plays too, and forfeits."""

import copy
import pickle
import random
import re
from collections import Counter
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env

from quincunx_agents.uniform import uniform
from quincunx_env import Deal, IllegalAction, Rules, parse_action, rules_card
from quincunx_env.core.rules import BaseRules
from quincunx_env.envs.solitaire import SolitaireEnv
from quincunx_env.envs.text import TextEnv
from quincunx_env.envs.vs_opponents import VsOpponentsEnv
from quincunx_env.notation.text import print_action, to_json
from quincunx_env.registry import spec_of
from tests.notation.test_prompts import varied
from tests.variants import BASES, EVERY_GAME, random_action

GARBAGE = ("", "pass", "I resign.", "CS", "(1, 3)", "AV (0, 1) or AL (0, 2)", "9Z 1 1", "💥", "seat 3 é", "x" * 5_000)


def options_of(rules: BaseRules) -> dict[str, Any]:
    """Options of `TextEnv` for a game with these rules."""
    return {"rules": rules} | ({} if rules.num_players == 1 else {"game": spec_of(rules).name, "opponents": uniform})


def text_env(**options: Any) -> Any:
    """The environment, without the types of its options and of its game."""
    return TextEnv(**options)


def illegal_play(env: Any, rng: random.Random) -> str:
    """A play of a card that is not in the hand, or into a cell that is taken."""
    notation = spec_of(env.rules).notation
    while True:
        action = rng.randrange(env.rules.num_actions)
        text = notation.print_action(env.rules, action)
        try:
            parse_action(env.game, text)
        except IllegalAction:
            return text


def play(rules: BaseRules, seed: int) -> Counter[str]:
    """Play a game with mistakes, and the same game through the environment of actions; return what occurred."""
    rng, seen = random.Random(seed), Counter[str]()
    env = text_env(**options_of(rules), rules_card=rng.choice(("first", "always", "never")))
    other: Any = SolitaireEnv(rules=rules) if rules.num_players == 1 else VsOpponentsEnv(**options_of(rules))
    text, info = env.reset(seed=seed)
    other.reset(seed=seed)
    total, over = 0.0, False
    while not over:
        assert text in env.observation_space
        action = random_action(env.game, rng)
        answer = print_action(env.game, action)
        mistake = rng.choice(("case", "garbage", "illegal")) if rng.random() < 0.2 else "none"
        seen[mistake] += 1
        if mistake in ("garbage", "illegal"):
            before = to_json(env.game)
            answer = rng.choice(GARBAGE) if mistake == "garbage" else illegal_play(env, rng)
            text, reward, over, _, info = env.step(answer)
            assert (reward, over, info["illegal"], info["action"]) == (0, False, True, "")
            assert to_json(env.game) == before
            assert text.startswith("Illegal: ")
            example = re.search(r"^Legal, for example: (.*)\.$", text, re.MULTILINE)
            assert example
            parse_action(env.game, example[1])
            continue
        text, reward, over, truncated, info = env.step(varied(answer, rng) if mistake == "case" else answer)
        expected = other.step(action)
        total += reward
        assert (reward, over, truncated) == (float(expected[1]), *expected[2:4])
        assert (info["illegal"], info["action"]) == (False, answer)
        assert env.game.totals == other.game.totals
    assert info["mistakes"] == seen["garbage"] + seen["illegal"]
    last = {name: value for name, value in expected[4].items() if name != "action_mask"}
    for name, value in last.items():
        assert np.array_equal(info[name], value), name
    assert info["score"] == env.game.totals[env.seat]
    assert total == pytest.approx(info["value"])
    assert text.endswith("Game over.")
    return seen


@pytest.mark.parametrize("name", ["solitaire", "corners-2+simpleton", "spiral-play-1"])
def test_games_with_mistakes_have_the_scores_of_the_engine(name: str) -> None:
    for seed in range(3):
        play(EVERY_GAME[name], seed)


@pytest.mark.slow
def test_2000_games_with_mistakes_have_the_scores_of_the_engine() -> None:
    """In every variant; a fifth of the answers are mistakes."""
    seen = Counter[str]()
    games = [*EVERY_GAME.values()]
    for seed in range(2_000):
        seen += play(games[seed % len(games)], seed)
    print(f"2000 games, answers: {dict(seen)}")
    assert seen.total() > 20_000
    assert 0.19 < 1 - seen["none"] / seen.total() < 0.21


@pytest.mark.parametrize(
    "options", [{}, {"opponents": "greedy"}, {"opponents": "uniform", "game": "spiral", "max_mistakes": 1}], ids=str
)
def test_the_checker_of_gymnasium(options: dict[str, Any]) -> None:
    check_env(gymnasium.make("Quincunx/Text-v0", **options).unwrapped, skip_render_check=True)


@pytest.mark.parametrize("name", ["solitaire", "corners-2"])
def test_rules_card_and_reports(name: str) -> None:
    rules = BASES[name]
    card = rules_card(rules)
    for mode, expected in {"first": [True, False], "always": [True, True], "never": [False, False]}.items():
        env = text_env(**options_of(rules), rules_card=mode)
        texts = [env.reset(seed=1)[0], env.step(print_action(env.game, random_action(env.game, random.Random(0))))[0]]
        assert [text.startswith(card) for text in texts] == expected
        assert env.step("rules")[0].startswith(card)
        listed, reward, over, truncated, info = env.step("Legal?")
        assert (reward, over, truncated, info["illegal"]) == (0, False, False, False)
        assert listed.startswith(env.names[env.seat] + " may play ")


def test_the_players_have_names() -> None:
    env = text_env(opponents="greedy", num_players=3, names=["Ada", "Ben", "Cy"], seat=1, rules_card="never")
    text, _ = env.reset(seed=3)
    assert text.startswith("Ada: ")
    assert "\nYou, Ben: 0 points, hand: " in text
    over = False
    while not over:
        text, _, over, _, _ = env.step(print_action(env.game, random_action(env.game, random.Random(0))))
        assert text.startswith("You: ")
        assert ("\nCy: " in text) or over
    assert re.search(r"over: won by (Ada|Ben|Cy)", text)
    assert not re.search(r"\bseat|player_", text)


def test_shared_wins_name_all_winners() -> None:
    env = text_env(opponents=uniform, names=["Ada", "Ben"], game="spiral", scoring="end", deals=1, seat=0)
    for seed in range(300):
        env.reset(seed=seed)
        over = False
        while not over:
            text, _, over, _, info = env.step(print_action(env.game, env.game.legal_cards()[0]))
        if info["win"] == 0.5:
            assert "over: won by Ada and Ben\n" in text
            return
    pytest.fail("no shared win")


@pytest.mark.parametrize("allowed", [0, 2])
def test_one_mistake_more_than_allowed_loses(allowed: int) -> None:
    for options, lost in (({}, "lost"), ({"opponents": "greedy", "illegal_reward": -7.0, "reward": "outcome"}, "win")):
        env, plain = text_env(max_mistakes=allowed, **options), text_env(**options)
        for number in range(2):  # each game forgives as many
            text, info = env.reset(seed=5 + number)
            plain.reset(seed=5 + number)
            for count in range(allowed):
                text, reward, over, _, info = env.step("nonsense")
                assert (reward, over, info["mistakes"]) == (0, False, count + 1)
                assert f"Mistake {count + 1} of {allowed} allowed." in text
            answer = print_action(env.game, random_action(env.game, random.Random(0)))
            earned = [env.step(answer)[1], plain.step(answer)[1]]
            assert earned[0] == earned[1]
            text, reward, over, truncated, info = env.step("nonsense")
            assert (over, truncated, info["illegal"], info["mistakes"]) == (True, False, True, allowed + 1)
            assert f"mistake {allowed + 1}, {allowed} were allowed: you forfeit the game" in text
            assert reward == (-7.0 if options else -earned[0])
            assert info[lost] == (not options), "the solitaire is lost, and no forfeited game is won"
            assert "over: won by" not in text
            assert text in env.observation_space
            with pytest.raises(ResetNeeded):
                env.step("legal")


def test_a_forfeit_is_that_of_the_other_environments() -> None:
    env, other = text_env(max_mistakes=0, lost_value=-3), SolitaireEnv(lost_value=-3)
    env.reset(seed=2)
    other.reset(seed=2)
    expected = other.forfeit()
    _, reward, over, _, info = env.step("?")
    assert (reward, over) == (expected[0], True)
    assert {name: info[name] for name in expected[1]} == expected[1]
    assert (info["lost"], info["value"], info["score"]) == (True, -3, 0)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"game": "chess"}, "game must be one of 'quincunx', 'spiral', got 'chess'"),
        ({"game": "spiral"}, "several players need opponents="),
        ({"num_players": 3}, "several players need opponents="),
        ({"rules_card": "once"}, "rules_card must be one of"),
        ({"max_mistakes": -1}, "max_mistakes must be"),
        ({"max_mistakes": 1.5}, "max_mistakes must be"),
        ({"names": "A"}, "names must be 1 different strings"),
        ({"names": ["A", "A"], "opponents": "greedy"}, "names must be 2 different strings"),
        ({"names": ["é"]}, "of 1 to 16 ASCII characters"),
        ({"names": ["a\n"]}, "of 1 to 16 ASCII characters"),
        ({"names": [[]]}, "of 1 to 16 ASCII characters"),
        ({"opponents": "greedy", "pool": ["greedy"]}, "opponents and pool exclude each other"),
        ({"render_mode": "text"}, "render_mode must be one of"),
    ],
    ids=str,
)
def test_wrong_options_are_named(options: dict[str, Any], match: str) -> None:
    with pytest.raises(ValueError, match=re.escape(match)):
        text_env(**options)


def test_other_actions_than_text_are_refused() -> None:
    env = text_env()
    with pytest.raises(ResetNeeded):
        env.step("legal")
    env.reset(seed=0)
    for action in (3, b"CS (1, 3)", {"text": "CS (1, 3)"}, [3], [{"text": None}]):
        with pytest.raises(IllegalAction, match="an action must be a string, or content parts with a text, got "):
            env.step(action)


def test_answers_of_chat_models_are_read() -> None:
    """A list of content parts is their text; no content is an empty answer, a mistake."""
    env, plain = text_env(), text_env()
    prompt, _ = env.reset(seed=0)
    plain.reset(seed=0)
    for empty in (None, [], [{"type": "image"}]):
        answered, _, _, _, info = env.step(empty)
        assert (answered, info) == plain.step("")[::4]
        assert info["illegal"]
    action = print_action(env.game, env.game.legal_actions()[0])
    parts = ["I play: ", {"type": "thinking"}, {"type": "text", "text": action}]
    assert env.step(parts) == plain.step(action)
    assert env.step(parts[0])[0] != prompt


def test_a_refusal_quotes_what_was_written() -> None:
    env = text_env()
    env.reset(seed=0)
    for answer in ("Announcement:  3", "<action>I ANNOUNCE 3.</action>"):
        reply = env.step(answer)[0].splitlines()[0]
        written = " ".join(answer.replace("<action>", "").replace("</action>", "").split())
        assert reply.startswith(f"Illegal: '{written}' is not a play: ")


def test_the_pool_of_a_text_environment_can_change() -> None:
    """Through Gymnasium's wrappers and vectors, too. A single game replaces it likewise."""
    asked: list[int] = []

    def third(observation: Any, mask: Any, rng: Any) -> Any:
        asked.append(len(mask))
        return mask.argmax(axis=1)

    for name in ("Quincunx/Text-v0", "Quincunx/VsOpponents-v0"):
        env = gymnasium.make(name, pool=["greedy"], seat=1)
        env.get_wrapper_attr("set_pool")(["greedy", third], [0.0, 1.0])
        env.reset(seed=0)
        envs = gymnasium.make_vec(name, 2, vectorization_mode="sync", pool=["greedy"], seat=1)
        envs.call("set_pool", ["greedy", third], [0.0, 1.0])  # type: ignore[attr-defined]
        envs.reset(seed=0)
        assert asked.count(1) == len(asked) > 0
        asked.clear()
    with pytest.raises(ValueError, match="the solitaire has no opponents: make the environment with pool="):
        text_env().set_pool(["greedy"])


def test_the_seed_that_was_drawn_repeats_the_prompts() -> None:
    env = text_env(opponents="uniform")
    prompt, _ = env.reset()
    assert text_env(opponents="uniform").reset(seed=env.np_random_seed)[0] == prompt


def test_given_deals_specs_and_copies() -> None:
    deal = Deal.from_seed(Rules(), 9)
    env = gymnasium.make("Quincunx/Text-v0", max_mistakes=3, names=["Ada"], rules=Rules())
    again = gymnasium.make(EnvSpec.from_json(env.spec.to_json()))  # type: ignore[union-attr]
    texts = [each.reset(options={"deal": deal})[0] for each in (env, again, text_env(names=["Ada"]))]
    assert texts[0] == texts[1] == texts[2]
    first: Any = text_env(opponents="greedy", num_players=3, simpleton=True)
    first.reset(seed=4)
    first.step(print_action(first.game, random_action(first.game, random.Random(0))))
    copies = [copy.deepcopy(first), pickle.loads(pickle.dumps(first))]
    steps = [[each.step("announce 3"), each.step("nonsense")] for each in (first, *copies)]
    assert steps[0] == steps[1] == steps[2]


def test_prompts_of_other_processes() -> None:
    """As the docstring says; in shared memory Gymnasium 1.4 returns "aaa..."."""
    options = {"shared_memory": False, "context": "spawn"}  # a fork of a process with threads may hang
    games = gymnasium.make_vec("Quincunx/Text-v0", 2, vectorization_mode="async", vector_kwargs=options)
    prompts, _ = games.reset(seed=0)
    assert prompts == tuple(TextEnv().reset(seed=seed)[0] for seed in (0, 1))
    games.close()


@pytest.mark.parametrize("options", [{}, {"opponents": "uniform", "num_players": 3}], ids=str)
def test_several_answers_start_from_one_turn(options: dict[str, Any]) -> None:
    """In another environment, too; mistakes and the opponents' generator belong to the turn."""
    env, other = (TextEnv(max_mistakes=2, **options) for _ in range(2))
    env.reset(seed=3)
    env.step("nothing")
    for _ in range(4):
        state = env.get_state()
        answer = print_action(env.game, env.game.legal_actions()[-1])
        seen = env.step(answer)
        other.set_state(state)
        assert other.mistakes == 1
        assert other.step(answer) == seen
        other.set_state(state)
        assert other.step("nothing")[4]["mistakes"] == 2
    before = other.get_state()
    for wrong in ({}, state | {"mistakes": -1}, {"mistakes": 0}):
        with pytest.raises(ValueError, match="snapshot"):
            other.set_state(wrong)
        assert other.mistakes == before["mistakes"] == 2
