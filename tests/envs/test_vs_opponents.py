"""One learner among opponents: what it gets is all that happened since its last decision, and nothing else."""

from itertools import cycle
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from quincunx_agents.greedy import greedy
from quincunx_agents.uniform import uniform
from quincunx_env.core.observation import Pieces
from quincunx_env.envs.rewards import win_shares
from quincunx_env.envs.vs_opponents import VsOpponentsEnv, VsOpponentsVectorEnv
from quincunx_env.quincunx.deal import Deal
from quincunx_env.quincunx.game import Game
from quincunx_env.quincunx.observation import Observer
from quincunx_env.quincunx.rules import Rules
from quincunx_env.registry import make_observer
from tests.envs.drivers import SEVERAL
from tests.envs.solitaire import row_of
from tests.variants import same

Actions = npt.NDArray[np.int64]
SEED = 21

GAMES: list[dict[str, Any]] = [
    {"num_players": 2},
    {"num_players": 3, "start": "open", "excuse": True},
    {"num_players": 4, "pawns": True, "flush": True, "match": True},
    {"num_players": 2, "start": "open", "simpleton": True, "match": True},
    {"num_players": 3, "simpleton": True},
]
BY_PLACE = {"mini": True, "reward": "outcome", "actions": "hand", "observation": "vector"}
MORE_GAMES = [*GAMES, *({"rules": rules, "padded": True} for rules in SEVERAL)]


def lowest(observation: Pieces, mask: npt.NDArray[np.bool_], rng: np.random.Generator) -> Actions:
    """The lowest legal action."""
    actions: Actions = mask.argmax(axis=1)
    return actions


def highest(observation: Pieces, mask: npt.NDArray[np.bool_], rng: np.random.Generator) -> Actions:
    """The highest legal action."""
    actions: Actions = mask.shape[1] - 1 - mask[:, ::-1].argmax(axis=1)
    return actions


def act(policy: Any, game: Game) -> int:
    """What a policy does in a plain game."""
    observer = Observer(game.rules, preview=True)
    seen = {name: piece[None] for name, piece in observer.observe(game, game.mover).items()}
    return int(policy(seen, Observer(game.rules).mask(game).view(np.bool_)[None], np.random.default_rng(0))[0])


def reward_of(reward: str, gains: list[int], seat: int) -> float:
    """A reward by its definition; ``outcome`` comes at the end."""
    rest = [gain for other, gain in enumerate(gains) if other != seat]
    return {"points": float(gains[seat]), "margin": gains[seat] - sum(rest) / len(rest), "outcome": 0.0}[reward]


def test_a_win_is_shared_by_the_seats_with_most_points() -> None:
    assert win_shares(np.array([[3, 3, 1], [0, 5, 2]])).tolist() == [[0.5, 0.5, 0], [0, 1, 0]]


@pytest.mark.parametrize(("options", "reward"), [*zip(MORE_GAMES, cycle(["outcome", "margin", "points"]))], ids=str)
def test_rewards_hold_all_that_happened_in_between(options: dict[str, Any], reward: Any) -> None:
    """Against games played by hand, over every seat: observations, masks, rewards, the end and the last info."""
    opponents = greedy if reward == "points" else lowest
    env = VsOpponentsEnv(opponents=opponents, reward=reward, observation="vector", **options)
    rng = np.random.default_rng(5)
    for number in range(env.rules.num_players + 1):
        seen, info = env.reset(seed=SEED if number == 0 else None)
        rules = env.game.rules
        players, observer = rules.num_players, make_observer(rules, padded=options.get("padded", False))
        game, seat = Game.from_seed(rules, SEED, number), number % players
        total, waiting, over = 0.0, 0.0, False
        while not over:
            while game.mover != seat:
                waiting += reward_of(reward, game.step(act(opponents, game)), seat)
            same(seen, observer.vector(game, seat, by_place=False))
            same(info["action_mask"], observer.mask(game))
            same(env.action_masks(), observer.mask(game).view(np.bool_))
            action = int(rng.choice(np.flatnonzero(info["action_mask"])))
            seen, got, over, truncated, info = env.step(action)
            waiting += reward_of(reward, game.step(int(observer.joint.engine(np.array([action]))[0])), seat)
            while not game.over and game.mover != seat:
                waiting += reward_of(reward, game.step(act(opponents, game)), seat)
            if game.over and reward == "outcome":
                share = 1 / len(game.winners) if seat in game.winners else 0
                waiting = (players * share - 1) / (players - 1)
            assert got == pytest.approx(waiting)
            assert over == game.over
            assert not truncated
            total, waiting = total + got, 0.0
        assert info["score"] == game.totals[seat]
        assert info["totals"].tolist() == [*game.totals[seat:], *game.totals[:seat]]
        assert info["win"] == (1 / len(game.winners) if seat in game.winners else 0)
        assert (info["seat"], info["seed"], info["game"]) == (seat, SEED, number)
        assert info["value"] == pytest.approx(total)
        if reward == "points":
            assert total == info["score"]
        same(seen, observer.vector(game, seat, by_place=False))
        with pytest.raises(ResetNeeded):
            env.step(0)


@pytest.mark.parametrize(("options", "mode"), [*zip([*GAMES, BY_PLACE], cycle(AutoresetMode))], ids=str)
def test_many_games_are_single_ones_side_by_side(options: dict[str, Any], mode: AutoresetMode) -> None:
    """Key by key as Gymnasium's own vector environment of single ones, whatever the neighbours do."""
    many = VsOpponentsVectorEnv(3, opponents=greedy, autoreset_mode=mode, **options)
    sync = SyncVectorEnv([lambda: VsOpponentsEnv(opponents=greedy, **options)] * 3, autoreset_mode=mode)
    rng = np.random.default_rng(0)
    seen, info = many.reset(seed=SEED)
    its, its_info = sync.reset(seed=SEED)
    same(seen, its)
    same(info, its_info)
    for _ in range(60):
        mask = info["action_mask"].astype(np.bool_)
        mask[~mask.any(axis=1)] = True
        actions = uniform({}, mask, rng)
        seen, rewards, over, truncated, info = many.step(actions)
        its, its_rewards, its_over, its_truncated, its_info = sync.step(actions)
        if mode == AutoresetMode.NEXT_STEP:
            its_info["action_mask"][its_over] = 1  # any action is ignored there
        same(seen, its)
        same(over, its_over)
        same(truncated, its_truncated)
        assert rewards == pytest.approx(its_rewards)
        same(info, its_info)
        if mode == AutoresetMode.DISABLED and over.any():
            seen, info = many.reset(options={"reset_mask": over.copy()})
            its, _ = sync.reset(options={"reset_mask": over.copy()})
            same(seen, its)


SAMPLED: list[dict[str, Any]] = [
    {"opponents": "uniform", "reward": "points", "num_players": 3, "preview": True},
    {"opponents": ["uniform", "greedy"], "reward": "outcome", "num_players": 3, "simpleton": True, "seat": 1},
    {"pool": ["uniform", "greedy", lowest], "reward": "margin", "num_players": 4, "match": True, "actions": "hand"},
    {"pool": ["uniform", highest], "game": "spiral", "observation": "vector", "mask_in": "obs"},
]


@pytest.mark.parametrize("options", SAMPLED, ids=("points", "outcome", "margin", "spiral"))
def test_one_game_is_the_only_row_of_many(options: dict[str, Any]) -> None:
    """Over several games, with opponents and pools that draw random numbers; a snapshot continues identically."""
    env, many = VsOpponentsEnv(**options), VsOpponentsVectorEnv(1, autoreset_mode="Disabled", **options)
    twin, rng = VsOpponentsEnv(**options), np.random.default_rng(SEED)

    def check(one: tuple[Any, ...], row: tuple[Any, ...]) -> None:
        same(one[0], row_of(row[0], 0))
        assert one[1:-1] == tuple(values[0] for values in row[1:-1])
        info = {name: values[0] for name, values in row[-1].items() if not name.startswith("_")}
        assert one[-1].keys() == info.keys()
        for name, value in info.items():
            assert np.array_equal(one[-1][name], value), name

    for number in range(2 * env.rules.num_players):
        seed = SEED if number == 0 else None
        check(env.reset(seed=seed), many.reset(seed=seed))
        over = False
        while not over:
            if rng.random() < 0.3:
                twin.reset(seed=0)
                twin.set_state(env.get_state())
                env, twin = twin, env
            action = int(rng.choice(np.flatnonzero(env.action_masks())))
            shown = env.step(action)
            check(shown, many.step([action]))
            over = shown[2]


def test_each_opponent_plays_the_seat_that_follows() -> None:
    """Of two opponents the first plays next after the learner, wherever that sits."""
    env = VsOpponentsEnv(opponents=[lowest, highest], num_players=3, seat="rotate", reward="points")
    for number in range(3):
        env.reset(seed=SEED if number == 0 else None)
        game, over = Game.from_seed(env.rules, SEED, number), False
        while not over:
            while game.mover != number:
                game.step(act(lowest if game.mover == (number + 1) % 3 else highest, game))
            action = act(greedy, game)
            game.step(action)
            while not game.over and game.mover != number:
                game.step(act(lowest if game.mover == (number + 1) % 3 else highest, game))
            _, _, over, _, info = env.step(action)
        assert info["totals"].tolist() == game.totals[number:] + game.totals[:number]


def test_a_pool_is_sampled_for_each_game() -> None:
    envs = VsOpponentsVectorEnv(400, pool=[lowest, highest, greedy], num_players=3)
    envs.reset(seed=0)
    assert (envs.policy_index == envs.policy_index[:, :1]).all(), "all opponents of a game are the same"
    counts = np.bincount(envs.policy_index[:, 0], minlength=3)
    assert (abs(counts - 400 / 3) < 40).all()
    before = envs.policy_index.copy()
    envs.reset()
    assert (before != envs.policy_index).any()
    envs.reset(seed=0)
    same(before, envs.policy_index)


def test_opponents_and_pools_are_policies_or_their_names() -> None:
    """The names of `quincunx_env.policies`; a policy factory makes its policy for the rules of the environment."""

    class Factory:
        def for_rules(self, rules: Any) -> Any:
            assert rules.num_players == 3
            return greedy

    given: list[Any] = [greedy, "greedy", "quincunx_agents.greedy:greedy", Factory()]
    for opponents in (*given, given[:2]):
        made = VsOpponentsVectorEnv(2, opponents=opponents, num_players=3).opponents
        assert made.policies == VsOpponentsEnv(opponents=opponents, num_players=3).opponents.policies == [greedy] * 2
    envs = VsOpponentsVectorEnv(2, pool=given[:2], num_players=3)
    envs.set_pool(given)
    assert envs.opponents.policies == [greedy] * 4
    assert gymnasium.make("Quincunx/VsOpponents-v0", opponents="heuristic").reset(seed=0)[1]["action_mask"].any()


def test_the_pool_can_change_while_it_plays() -> None:
    """New members are met in games that are dealt afterwards, as likely as is said, and the last info names them."""
    asked: list[int] = []

    def third(observation: Pieces, mask: npt.NDArray[np.bool_], rng: np.random.Generator) -> Actions:
        asked.append(len(mask))
        return lowest(observation, mask, rng)

    envs = VsOpponentsVectorEnv(100, pool=[lowest, highest], num_players=2, autoreset_mode="SameStep")
    rng = np.random.default_rng(0)
    met: list[Actions] = []
    _, info = envs.reset(seed=0)
    before = envs.policy_index[:, 0].copy()
    envs.set_pool([lowest, highest, third], [0.0, 0.25, 0.75])
    assert envs.policy_index[:, 0].tolist() == before.tolist(), "games in progress go on as they were"
    while len(met) < 3:
        _, _, ended, _, info = envs.step(uniform({}, info["action_mask"].view(np.bool_), rng))
        if ended.all():  # two players from corners play equally long
            met.append(info["final_info"]["opponent"])
    assert met[0].tolist() == before.tolist()
    assert asked
    counts = np.bincount(np.concatenate(met[1:]), minlength=3)
    assert counts[0] == 0
    assert abs(counts[2] - 150) < 25


@pytest.mark.parametrize(
    ("policies", "chances", "match"),
    [
        ("greedy", None, "pool must be a sequence of at least one policy, got 'greedy'"),
        ([greedy], None, "may need all 2 policies, got 1"),
        ([greedy, lowest], [1.0], "probabilities must be 2 numbers"),
        ([greedy, lowest], ["1", "0"], "probabilities must be 2 numbers"),
        ([greedy, lowest], [1 + 0j, 0], "probabilities must be 2 numbers"),
        ([greedy, lowest], [[1.0], 0.0], "probabilities must be 2 numbers"),
        ([greedy, lowest], len, "probabilities must be 2 numbers"),
        ([greedy, lowest], [1.5, -0.5], "numbers from 0 on"),
        ([greedy, lowest], [0.5, 0.4], "add up to 1"),
        ([greedy, lowest], [float("nan"), 1.0], "add up to 1"),
    ],
)
def test_wrong_pools_are_refused(policies: Any, chances: Any, match: str) -> None:
    envs = VsOpponentsVectorEnv(2, pool=[lowest, highest])
    with pytest.raises(ValueError, match=match):
        envs.set_pool(policies, chances)
    assert envs.opponents.policies == [lowest, highest]
    with pytest.raises(ValueError, match="made with opponents"):
        VsOpponentsVectorEnv(2, opponents=greedy).set_pool([greedy])


def test_many_games_play_a_list_of_deals() -> None:
    """Matches: a list of one deal for each round; the index of the deals stands in the last info."""
    rules = Rules(num_players=2, match=True)
    matches = [[Deal.from_seed(rules, number, 0, round) for round in range(2)] for number in (7, 8, 9)]
    many = VsOpponentsVectorEnv(2, opponents="uniform", rules=rules, given_deals=matches)
    for game in range(4):
        many.reset()
        assert [list(many.to_game(row).deals) for row in range(2)] == [
            matches[(row + 2 * game) % 3] for row in range(2)
        ]
    over = np.zeros(2, np.bool_)
    while not over.any():
        _, _, over, _, info = many.step(many.action_masks().argmax(axis=1))
    row = int(over.argmax())
    assert (info["seed"][row], info["game"][row]) == (-1, (row + 6) % 3)


def first_action(observation: Pieces, mask: npt.NDArray[np.bool_], rng: np.random.Generator) -> Actions:
    """Action 0, illegal or not."""
    return np.zeros(len(mask), np.int64)


def failing(observation: Pieces, mask: npt.NDArray[np.bool_], rng: np.random.Generator) -> Actions:
    raise OSError("no connection")


@pytest.mark.parametrize("illegal", ["raise", "next"])
@pytest.mark.parametrize(
    ("opponent", "error", "message"),
    [(first_action, RuntimeError, "the opponent first_action is at fault: "), (failing, OSError, "no connection")],
)
def test_after_an_error_of_an_opponent_a_reset_is_needed(
    illegal: Any, opponent: Any, error: type[Exception], message: str
) -> None:
    """The agent's action is taken then, and the cards of the opponent are not shown as the agent's."""
    env = VsOpponentsEnv(opponents=[opponent], seat=0, illegal=illegal)
    env.reset(seed=SEED)
    with pytest.raises(error, match=message):
        env.step(env.action_masks().argmax())
    for use in (env.action_masks, env.get_state, lambda: env.game, lambda: env.step(0)):
        with pytest.raises(ResetNeeded, match="call reset"):
            use()
    envs = VsOpponentsVectorEnv(3, opponents=[opponent], seat=0, illegal=illegal)
    _, info = envs.reset(seed=SEED)
    for _ in range(2):
        with pytest.raises(error, match=message):
            envs.step(info["action_mask"].argmax(axis=1))
        assert not envs.action_masks().any()
        for call in (lambda: envs.step([0, 0, 0]), lambda: envs.to_game(0)):
            with pytest.raises(ResetNeeded, match="call reset"):
                call()
        with pytest.raises(ResetNeeded, match="all rows"):
            envs.reset(options={"reset_mask": np.array([True, False, False])})
        again, info = envs.reset(seed=SEED)
    fresh, _ = VsOpponentsVectorEnv(3, opponents=[greedy], seat=0).reset(seed=SEED)
    same(again, fresh)
