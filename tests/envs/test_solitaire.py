"""The solitaire as a Gymnasium environment of one game: checks, rewards and ratings."""

import gymnasium
import numpy as np
from gymnasium.utils.env_checker import check_env

from quincunx_env import Deal, card_name
from quincunx_env.envs.solitaire import SolitaireEnv
from quincunx_env.quincunx.scoring import RATINGS
from tests import reference_scorer as scorer
from tests.envs.agents import Options, each
from tests.envs.solitaire import (
    ID,
    SEED,
    choose,
)

CHECKED: list[Options] = [
    {},
    {"observation": "vector", "mask_in": "obs"},
    {"edge_contact": True, "excuse": True, "pawns": True, "flush": True, "mask_in": "obs"},
    {"rules": {"flush": True}, "padded": True},
    {"actions": "hand", "observation": "vector", "preview": True, "mask_in": "obs"},
]


# --- Gymnasium's own checks ------------------------------------------------------------------------------------------


@each(CHECKED)
def test_gymnasium_finds_nothing_to_complain_about(options: Options) -> None:
    """`check_env`, whose unmasked actions need ``illegal="next"``, and the passive checker on masked games."""
    check_env(gymnasium.make(ID, illegal="next", render_mode="ansi", **options).unwrapped)
    env = gymnasium.make(ID, render_mode="ansi", **options)
    inner = env.unwrapped
    assert isinstance(inner, SolitaireEnv)
    rng = np.random.default_rng(SEED)
    for _ in range(3):
        observation, _ = env.reset(seed=SEED)
        done = False
        while not done:
            assert env.observation_space.contains(observation)
            observation, _, done, truncated, _ = env.step(choose(inner, rng))
            assert not truncated
            assert isinstance(env.render(), str)
        assert env.observation_space.contains(observation)
    env.close()
    env.close()


# --- Rewards and the last info ---------------------------------------------------------------------------------------


@each(
    [
        {"lost_value": 0.0, "excuse": True, "pawns": True, "flush": True},
        {"lost_value": -50.5, "edge_contact": True, "pawns": True},
        {"lost_value": 300.0, "excuse": True},
    ]
)
def test_rounds_are_scored_as_by_the_reference_scorer(options: Options) -> None:
    """Rewards, draws, end and every entry of the last info, recounted by the scorer written from the rules alone."""
    env, rng = SolitaireEnv(**options), np.random.default_rng(SEED)
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
            "value": options["lost_value"] if lost else float(points),
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
