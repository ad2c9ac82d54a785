"""``actions="hand"``: every environment plays the same games as with cards, in another numbering of its actions."""

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Discrete

from quincunx_agents.greedy import greedy
from quincunx_env import SolitaireEnv, SolitaireVectorEnv, VsOpponentsVectorEnv
from quincunx_env.core.game import IllegalAction
from quincunx_env.quincunx.cards import CARDS
from quincunx_env.spiral.cards import CARDS as SPIRAL_CARDS
from tests.variants import same

SEED = 3
STEPS = 30


def places_of(game: Any) -> list[int]:
    """The cards of the seat to move at their places: by rank, then by id, as many as there are places."""
    spiral = not hasattr(game.rules, "grid")
    ranks = {card: each.rank for card, each in enumerate(SPIRAL_CARDS)}
    ranks = ranks if spiral else {card: "A23456789PCX".index(each.rank) for card, each in enumerate(CARDS)}
    hand = sorted(game.hand(game.mover), key=lambda card: (ranks[card], card))
    return hand[: 13 if spiral else game.rules.hand_size + 2]


def joint_action(game: Any, action: int) -> int:
    """The joint action of an action by place: a card for a place; announcements follow the plays."""
    rules, cells = game.rules, 1 if not hasattr(game.rules, "grid") else game.rules.num_cells
    places = 13 if cells == 1 else rules.hand_size + 2
    place, cell = divmod(action, cells)
    if place >= places:
        return int(action - places * cells + rules.num_cards * cells)
    return int(places_of(game)[place] * cells + cell)


MAKE: dict[str, Callable[..., Any]] = {
    "SolitaireVectorEnv": lambda **options: SolitaireVectorEnv(2, flush=True, **options),
    "extended": lambda **options: SolitaireVectorEnv(2, excuse=True, pawns=True, preview=True, **options),
    "VsOpponentsVectorEnv": lambda **options: VsOpponentsVectorEnv(2, opponents=greedy, num_players=3, **options),
    "spiral": lambda **options: VsOpponentsVectorEnv(2, opponents=greedy, game="spiral", **options),
    "Simpleton": lambda **options: VsOpponentsVectorEnv(2, opponents=greedy, simpleton=True, **options),
}


@pytest.mark.parametrize("make", MAKE.values(), ids=MAKE)
def test_vector_environments_play_the_same_games(make: Callable[..., Any]) -> None:
    """Observations, rewards and ends at every step; masks mark the same plays."""
    envs, other, rng = make(actions="hand"), make(), random.Random(SEED)
    shown, expected = envs.reset(seed=SEED), other.reset(seed=SEED)
    assert envs.single_action_space.n == envs.action_masks().shape[1]
    for _ in range(STEPS):
        same(shown[:-1], expected[:-1])
        masks, joint = envs.action_masks(), other.action_masks()
        chosen, named = [], []
        for row, mask in enumerate(masks):
            legal, game = np.flatnonzero(mask).tolist(), other.to_game(row)
            action = rng.choice(legal)
            chosen.append(action)
            if game.over:
                named.append(0)
                continue
            converted = [joint_action(game, each) for each in legal]
            cells = 1 if not hasattr(game.rules, "grid") else game.rules.num_cells
            plays, played = game.rules.num_cards * cells, places_of(game)
            held = [each for each in np.flatnonzero(joint[row]) if each >= plays or each // cells in played]
            assert sorted(converted) == held
            named.append(joint_action(game, action))
        shown, expected = envs.step(np.array(chosen)), other.step(np.array(named))


def test_one_game_and_illegal_actions() -> None:
    """An empty place and a number out of range are refused, or the next legal action is played."""
    env, other = SolitaireEnv(actions="hand"), SolitaireEnv()
    env.reset(seed=SEED)
    other.reset(seed=SEED)
    assert env.action_space == Discrete(160)
    with pytest.raises(IllegalAction, match="action 150 plays place 9 of the hand, which holds no card to play"):
        env.step(150)
    with pytest.raises(IllegalAction, match=r"action 160 is out of range: an action of Discrete\(160\) is needed"):
        env.step(160)
    with pytest.raises(IllegalAction, match="cell"):
        env.step(0)  # a corner holds a card
    action = int(np.flatnonzero(env.action_masks())[0])
    same(env.step(action)[:3], other.step(joint_action(other.game, action))[:3])
    following = SolitaireEnv(actions="hand", illegal="next")
    following.reset(seed=SEED)
    same(following.step(159)[0], other.reset(seed=SEED) and other.step(joint_action(other.game, action))[0])
    envs = SolitaireVectorEnv(2, actions="hand")
    envs.reset(seed=SEED)
    with pytest.raises(IllegalAction, match="game 1: action 159 plays place 9 of the hand"):
        envs.step([action, 159])
