"""The solitaire as a Gymnasium environment of one game: checks, statistics, rewards, ratings and illegal actions."""

from copy import deepcopy
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers import RecordEpisodeStatistics

from quincunx_env import RATINGS, Deal, card_name
from quincunx_env.envs.solitaire import SolitaireEnv, SolitaireVectorEnv
from tests import reference_scorer as scorer
from tests.envs.solitaire import (
    ID,
    OPTIONS,
    SEED,
    Options,
    choose,
    each,
    make,
    make_vector,
    refused,
    warnings_are_errors,
)
from tests.variants import same

CHECKED: list[Options] = [
    {},
    {"observation": "flat"},
    {"observation": "float32"},
    {"preview": True},
    {"observation": "flat", "preview": True},
    {"actions": "factored"},
    {"actions": "factored", "observation": "flat", "preview": True},
    {"edge_contact": True, "excuse": True, "pawns": True, "flush": True},
]


# --- Gymnasium's own checks ------------------------------------------------------------------------------------------


@warnings_are_errors
@each(CHECKED)
def test_gymnasium_finds_nothing_to_complain_about(options: Options) -> None:
    """`check_env`, whose unmasked actions need ``illegal="lose"``, and the passive checker on masked games."""
    check_env(gymnasium.make(ID, illegal="lose", render_mode="ansi", **options).unwrapped)
    env = gymnasium.make(ID, render_mode="ansi", **options)
    inner = env.unwrapped
    assert isinstance(inner, SolitaireEnv)
    rng = np.random.default_rng(SEED)
    for _ in range(3):
        observation, info = env.reset(seed=SEED)
        done = False
        while not done:
            assert env.observation_space.contains(observation)
            observation, _, done, truncated, info = env.step(choose(inner, rng, info["action_mask"]))
            assert not truncated
            assert isinstance(env.render(), str)
        assert env.observation_space.contains(observation)
    env.close()
    env.close()


@warnings_are_errors
@each(OPTIONS)
def test_masked_samples_of_the_space_are_legal(options: Options) -> None:
    """The mask has the dtype and shape that the action space samples with."""
    env = SolitaireEnv(**options | {"illegal": "raise"})
    env.action_space.seed(SEED)
    _, info = env.reset(seed=SEED)
    while not env.game.over:
        mask = info["action_mask"]
        cards = env.rules.num_cards
        parts: Any = mask if isinstance(env.action_space, spaces.Discrete) else (mask[:cards], mask[cards:])
        info = env.step(env.action_space.sample(parts))[-1]


def test_registered_under_its_id() -> None:
    """By id, by module and id, and batched by the environment of its own."""
    assert isinstance(gymnasium.make(ID).unwrapped, SolitaireEnv)
    assert isinstance(gymnasium.make(f"quincunx_env:{ID}").unwrapped, SolitaireEnv)
    assert isinstance(gymnasium.make_vec(ID, num_envs=2), SolitaireVectorEnv)
    spec = gymnasium.spec(ID)
    assert (spec.max_episode_steps, spec.nondeterministic) == (None, False)


@warnings_are_errors
def test_episode_statistics_of_one_game() -> None:
    """The return that `RecordEpisodeStatistics` counts is the value that the environment states."""
    inner = SolitaireEnv(lost_value=-10)
    env: Any = RecordEpisodeStatistics(inner)
    rng = np.random.default_rng(SEED)
    for _ in range(10):
        env.reset()
        done, length = False, 0
        while not done:
            _, _, done, _, info = env.step(choose(inner, rng))
            length += 1
        assert info["episode"]["r"] == info["value"]
        assert info["episode"]["l"] == length


# --- Rewards and the last info ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("lost_value", [0.0, -50.5, 300.0])
@each([{}, {"edge_contact": True}, {"excuse": True, "pawns": True, "flush": True}, {"pawns": True}, {"excuse": True}])
def test_rounds_are_scored_as_by_the_reference_scorer(options: Options, lost_value: float) -> None:
    """Rewards, draws, end and every entry of the last info, recounted by the scorer written from the rules alone."""
    env, rng = SolitaireEnv(lost_value=lost_value, **options), np.random.default_rng(SEED)
    ends = {True: 0, False: 0}
    for number in range(25):
        env.reset(seed=SEED if number == 0 else None)
        deal = Deal.from_seed(env.rules, SEED, number)
        board = dict(zip([(0, 0), (0, 3), (3, 0), (3, 3)], map(card_name, deal.face_up), strict=True))
        hand, pile = set(map(card_name, deal.hands[0])), list(map(card_name, deal.pile))
        points, rewards, done = 0, 0.0, False
        while not done:
            action = choose(env, rng)
            card, cell = card_name(action // 16), (int(action) % 16 // 4, int(action) % 4)
            _, reward, done, truncated, info = env.step(action)
            score = scorer.score_play(board, cell, card, solitaire=True, pawns=env.rules.pawns, flush=env.rules.flush)
            board[cell] = card
            hand.remove(card)
            hand.update(pile[: score.draw_count])
            del pile[: score.draw_count]
            full = len(board) == 16
            assert (done, truncated) == (full or not hand, False)
            assert isinstance(reward, float)
            points += score.points
            rewards += reward
            if not done:
                assert reward == score.points
                assert set(info) == {"action_mask"}
        lost = not full
        penalty = 0 if lost else sum(map(scorer.penalty, hand))
        points -= penalty
        mask = info.pop("action_mask")
        assert not mask.any()
        expected = {
            "score": points,
            "value": lost_value if lost else float(points),
            "lost": lost,
            "rating": scorer.rating(points, lost),
            "penalty": penalty,
            "seed": SEED,
            "game": number,
        }
        assert info == expected
        assert list(map(type, info.values())) == list(map(type, (expected[key] for key in info)))
        assert rewards == info["value"]
        assert RATINGS[info["rating"]] == RATINGS[0] or not lost
        ends[lost] += 1
    assert min(ends.values()) > 2, "rounds of both kinds should have been played"


def test_ratings_begin_where_the_rules_say() -> None:
    """The rating at and around every limit, for one game and for many."""
    rng, env = np.random.default_rng(SEED), make({})
    many = SolitaireVectorEnv(1, autoreset_mode=AutoresetMode.DISABLED)
    while True:  # to the last play of a round that is not lost
        state, action = env.get_state(), choose(env, rng)
        _, gain, done, _, info = env.step(action)
        if done and not info["lost"]:
            break
        if done:
            env.reset()
    deal = state["game"].deals[0]
    many.reset(options={"deal": [deal]})
    laid = sorted((ply, cell) for cell, ply in enumerate(state["game"].order) if ply > 0)
    for _, cell in laid:
        many.step(np.array([state["game"].board[cell] * 16 + cell]))
    arrays = many.get_state()
    for score in (-1, 0, 79, 80, 81, 99, 100, 119, 120, 149, 150, 151):
        before = score - int(float(gain))
        state["game"].totals[0] = state["game"].scores[0] = before
        env.set_state(state | {"value": float(before)})
        info = env.step(action)[-1]
        assert (info["score"], info["rating"]) == (score, scorer.rating(score, lost=False))
        arrays["scores"][:] = arrays["totals"][:] = before
        many.set_state(arrays)
        info = many.step(np.array([action]))[-1]
        assert (info["score"][0], info["rating"][0]) == (score, scorer.rating(score, lost=False))


@each([{}, {"actions": "factored"}])
@pytest.mark.parametrize("plays", [0, 3])
def test_an_illegal_action_may_lose_the_round(options: Options, plays: int) -> None:
    """With ``illegal="lose"`` it ends the round as lost, with a return of ``lost_value``; the grid stays as it is."""
    options = options | {"illegal": "lose", "lost_value": -7.5}
    env = make(options, plays=plays)
    many = make_vector(options | {"autoreset_mode": AutoresetMode.DISABLED}, plays=plays)
    before = deepcopy(env.game)
    wrong: Any = env.rules.face_up_cells[0]
    if "actions" in options:
        wrong = np.array([env.game.hand(0)[0], wrong])
    observation, reward, terminated, truncated, info = env.step(wrong)
    assert (terminated, truncated) == (True, False)
    assert (info["lost"], info["value"], info["score"]) == (True, -7.5, before.totals[0])
    assert (info["rating"], info["penalty"]) == (0, 0)
    assert before.totals[0] + float(reward) == -7.5
    assert not info["action_mask"].any()
    same(observation, env.observer.observe(before))
    with refused(env, ResetNeeded):
        env.step(wrong)
    # In a batch it ends no round but its own.
    rng = np.random.default_rng(SEED)
    scores = many.batch.scores[:, 0].copy()
    actions = choose(many, rng)
    actions[1] = wrong if "actions" not in options else [0, wrong[1]]
    _, rewards, ended, _, infos = many.step(actions)
    assert ended.tolist() == [False, True, False, False]
    assert infos["lost"].tolist() == [False, True, False, False]
    assert infos["value"][1] == scores[1] + rewards[1] == -7.5
    assert infos["score"][1] == scores[1]
