"""Rules that vary: each game draws its own by its seed, the same in every environment, and is the game it would be."""

from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env

from quincunx_env import BatchedGames, SolitaireEnv, SolitaireVectorEnv, VsOpponentsEnv, VsOpponentsVectorEnv
from quincunx_env.core.deal import draw
from quincunx_env.envs.rewards import end_rewards, step_rewards
from quincunx_env.envs.text import TextEnv
from quincunx_env.quincunx.game import Game
from quincunx_env.quincunx.padded import FORM
from quincunx_env.quincunx.rules import Rules
from quincunx_env.registry import make_observer
from quincunx_env.testing import assert_no_leak
from tests.envs.drivers import SEVERAL, SEVERAL_ALONE
from tests.variants import same

SEED = 40
ROWS = 6
TOGETHER = [*SEVERAL, Rules(2, simpleton=True), Rules(2, mini=True)]
OPPONENTS: dict[str, Any] = {"opponents": "greedy", "rules": TOGETHER}


def test_draws_are_frozen_and_uniform() -> None:
    """They differ by seed, game and domain."""
    seeds, games = np.arange(8), np.zeros(8, np.int64)
    assert draw(5, seeds, games).tolist() == [3, 3, 2, 2, 3, 2, 1, 2]
    assert draw(5, seeds, games + 1).tolist() == [0, 4, 3, 1, 1, 0, 2, 4]
    assert draw(5, seeds, games, "benchmark").tolist() == [1, 2, 4, 0, 1, 0, 1, 1]
    many = draw(5, np.arange(50_000) // 100, np.arange(50_000) % 100)
    assert np.bincount(many) == pytest.approx(10_000, abs=400)


def drawn_game(rules: list[Rules], seed: int, number: int) -> Game:
    """The game that a row of this seed plays, in plain Python."""
    return Game.from_seed(rules[draw(len(rules), np.array([seed]), np.array([number])).item()], seed, number)


ALONE: list[Callable[[], Any]] = [
    partial(SolitaireEnv, rules=SEVERAL_ALONE),
    partial(SolitaireVectorEnv, ROWS, rules=SEVERAL_ALONE),
]
PLAYERS: list[Callable[[], Any]] = [
    partial(VsOpponentsEnv, **OPPONENTS),
    partial(VsOpponentsVectorEnv, ROWS, **OPPONENTS),
    partial(BatchedGames, ROWS, rules=TOGETHER),
]


def games_of(env: Any) -> list[Any]:
    """The games that an environment plays."""
    if isinstance(env, SolitaireEnv | VsOpponentsEnv):
        return [env.game]
    return [env.batch.to_game(row) for row in range(ROWS)]


@pytest.mark.parametrize(("reward", "actions"), [("points", "joint"), ("margin", "hand"), ("outcome", "joint")])
def test_batched_games_are_plain_games(reward: Any, actions: Any) -> None:
    """Play by play, over several games of each row: observations, masks, rewards of all seats, ends."""
    envs = BatchedGames(ROWS, rules=TOGETHER, reward=reward, actions=actions, observation="pieces", preview=True)
    position, rng, numbers = envs.reset(seed=SEED), np.random.default_rng(0), [0] * ROWS
    plain = [drawn_game(TOGETHER, SEED + row, 0) for row in range(ROWS)]
    while min(numbers) < 2:
        chosen = np.array([rng.choice(np.flatnonzero(mask)) for mask in position.mask])
        observers = [make_observer(game.rules, preview=True, padded=True) for game in plain]
        masks = [observer.mask(game)[None].astype(np.bool_) for observer, game in zip(observers, plain, strict=True)]
        found = envs.step(chosen)
        for row, (game, observer, action) in enumerate(zip(plain, observers, chosen, strict=True)):
            assert isinstance(position.observation, dict)
            same({name: piece[row] for name, piece in position.observation.items()}, observer.observe(game, game.mover))
            places, joint = observer.places, np.array([action])
            same(position.mask[row], (places.mask(masks[row]) if actions == "hand" else masks[row])[0])
            joint = places.to_joint(joint, masks[row]) if actions == "hand" else joint
            gains = np.array([game.step(int(observer.to_engine(joint)[0]))])
            rewards = end_rewards(np.array([game.totals])) if reward == "outcome" and game.over else None
            rewards = step_rewards(reward, gains) if rewards is None else rewards
            others = [0.0] * (4 - game.rules.num_players)
            assert found.rewards[row].tolist() == [*rewards[0].tolist(), *others]
            assert found.totals[row].tolist() == [*game.totals, *map(int, others)]
            assert found.ended[row] == game.over
            if game.over:
                numbers[row] += 1
                plain[row] = drawn_game(TOGETHER, SEED + row, numbers[row])
        position = found.position
        assert envs.get_state()["rules_index"].tolist() == [TOGETHER.index(game.rules) for game in plain]


@pytest.mark.parametrize("make", [*ALONE, *PLAYERS])
def test_rules_are_chosen_at_reset(make: Callable[[], Any]) -> None:
    """As they are or as a mapping, for all games or for each, with their deals; the next games draw again."""
    env, rules = make(), SEVERAL_ALONE if make in ALONE else TOGETHER
    rows = 1 if isinstance(env, SolitaireEnv | VsOpponentsEnv) else ROWS

    def reset(**options: Any) -> None:
        if isinstance(env, BatchedGames):
            env.reset(SEED, None, options.get("deal"), options.get("rules"))
        else:
            env.reset(seed=SEED, options=options)

    for chosen in (rules[1], asdict(rules[1]), *([[rules[1]] * rows] if rows > 1 else [])):
        reset(rules=chosen)
        assert [game.deals for game in games_of(env)] == [
            Game.from_seed(rules[1], SEED + row).deals for row in range(rows)
        ]
        assert {game.rules for game in games_of(env)} == {rules[1]}
    deals = list(Game.from_seed(rules[2], 7).deals)
    reset(rules=rules[2], deal=deals if rows == 1 else [deals] * rows)
    assert {game.deals for game in games_of(env)} == {tuple(deals)}
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"rules": Rules(flush=True, excuse=True, pawns=True)}, "make the environment with these rules, too"),
        ({"rules": 3}, "make the environment with these rules, too, to choose them here: 3"),
        ({"rules": [rules[0]] * 7}, "make the env|choose rules for all or for each, got 7"),
        ({"deal": deals if rows == 1 else [deals] * rows}, "a deal needs its rules where games have several"),
        ({"rules": rules[0], "deal": deals if rows == 1 else [deals] * rows}, "deal"),
    ]
    before = env.get_state() if rows > 1 else None
    for options, match in wrong:
        with pytest.raises(ValueError, match=match):
            reset(**options)
        assert {game.deals for game in games_of(env)} == {tuple(deals)}
    if before:
        same(env.get_state(), before)
    env.reset()
    assert [game.rules for game in games_of(env)] == [drawn_game(rules, SEED + row, 1).rules for row in range(rows)]


def test_one_set_of_rules_leaves_no_choice() -> None:
    """The error says how there is one."""
    with pytest.raises(ValueError, match="make BatchedGames with a list of rules"):
        BatchedGames(2).reset(rules=Rules(2))
    with pytest.raises(ValueError, match=r"rules must be one set of rules for prompts"):
        TextEnv(rules=[{}])


@pytest.mark.parametrize("options", [{"rules": SEVERAL_ALONE}, {"padded": True, "flush": True}], ids=str)
def test_observations_may_leave_the_rules_out(options: dict[str, Any]) -> None:
    """The piece ``form``, and nothing else; also of one set of padded rules."""
    shown, hidden = (SolitaireEnv(rules_in_obs=shows, **options) for shows in (True, False))
    seen, without = (env.reset(seed=SEED)[0] for env in (shown, hidden))
    assert isinstance(seen, dict)
    assert seen.pop("form").tolist() == [getattr(shown.game.rules, name) for name in FORM]
    same(seen, without)
    assert hidden.observation_space.contains(without)
    assert hidden.observer.to_unpadded(without)[0].rules == hidden.observer.rules


def test_checkers_accept_rules_that_vary() -> None:
    """Gymnasium's and stable-baselines3's; specs are written as JSON."""
    for name, rules in (("Solitaire", SEVERAL_ALONE), ("VsOpponents", TOGETHER)):
        env = gymnasium.make(f"Quincunx/{name}-v0", rules=[asdict(each) for each in rules], illegal="lose")
        check_env(env.unwrapped, skip_render_check=True)
        assert env.spec
        again: Any = gymnasium.make(EnvSpec.from_json(env.spec.to_json())).unwrapped
        assert list(again.rules) == rules
        flat: Any = gymnasium.make(f"Quincunx/{name}-v0", rules=rules, illegal="lose", observation="flat").unwrapped
        pytest.importorskip("stable_baselines3.common.env_checker").check_env(flat)


@pytest.mark.parametrize("rules", TOGETHER, ids=str)
def test_no_game_shows_what_a_seat_cannot_see(rules: Rules) -> None:
    """Beside a game of other rules, at every fifth play."""
    envs = BatchedGames(2, rules=TOGETHER, observation="pieces", preview=True)
    observer = make_observer(rules, padded=True)
    numbers = {action: number for number, action in enumerate(observer.to_engine(np.arange(observer.num_actions)))}
    other = Game.from_seed(TOGETHER[0], 0).deals

    def look(deals: Any, actions: list[int], seat: int) -> Any:
        if len(actions) % 5:
            return None
        position = envs.reset(deals=[other, deals], rules=[TOGETHER[0], rules])
        for action in actions:
            position = envs.step([position.mask[0].argmax(), numbers[action]]).position
        if position.mover[1] != seat:
            return None
        assert isinstance(position.observation, dict)
        return [piece[1] for piece in position.observation.values()], position.mask[1]

    assert assert_no_leak(look, rules, seed=SEED, permutations=1) > 0
