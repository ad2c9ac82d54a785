"""The stable-baselines3 adapter: its conventions, episodes, masks through wrappers, and training."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("stable_baselines3")
pytest.importorskip("sb3_contrib")

import gymnasium  # noqa: E402
from sb3_contrib import MaskablePPO  # noqa: E402
from sb3_contrib.common.maskable.evaluation import evaluate_policy  # noqa: E402
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported  # noqa: E402
from stable_baselines3 import PPO  # noqa: E402
from stable_baselines3.common.callbacks import ConvertCallback  # noqa: E402
from stable_baselines3.common.env_checker import check_env  # noqa: E402
from stable_baselines3.common.evaluation import evaluate_policy as plain_evaluation  # noqa: E402
from stable_baselines3.common.monitor import Monitor  # noqa: E402
from stable_baselines3.common.vec_env import (  # noqa: E402
    DummyVecEnv,
    VecEnv,
    VecMonitor,
)

from quincunx_env import Deal, IllegalAction, Rules  # noqa: E402
from quincunx_env.adapters.sb3 import GamesVecEnv, LearningCurve, SolitaireVecEnv, VsOpponentsVecEnv  # noqa: E402
from quincunx_env.envs.side_by_side import SideBySideVectorEnv  # noqa: E402
from quincunx_env.envs.solitaire import SolitaireEnv, SolitaireVectorEnv  # noqa: E402
from quincunx_env.envs.vs_opponents import VsOpponentsVectorEnv  # noqa: E402
from tests.envs.agents import Options, each  # noqa: E402
from tests.envs.solitaire import ID, OPTIONS, choose  # noqa: E402
from tests.variants import same  # noqa: E402

SEED = 3_000
ROWS = 3
ADDED = {"terminal_observation", "TimeLimit.truncated", "episode", "is_success"}
MASKED: list[Options] = [
    {"observation": "vector", "preview": True},
    {"actions": "hand", "edge_contact": True, "excuse": True, "pawns": True, "flush": True, "lost_value": -20},
]


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Small networks only get slower by several threads, and much so on a busy machine."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def legal(env: VecEnv, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """A random legal action for each game, by the masks that sb3-contrib would use."""
    inner = env.unwrapped
    assert isinstance(inner, SolitaireVecEnv)
    assert isinstance(inner.envs, SolitaireVectorEnv)
    actions: npt.NDArray[np.int64] = choose(inner.envs, rng, get_action_masks(env))
    return actions


@each([{"observation": "vector"}, {"observation": "vector", "preview": True, "actions": "hand"}, {"pawns": True}])
def test_stable_baselines3_finds_nothing_to_complain_about(options: Options) -> None:
    """`check_env` of the single environment, whose unmasked actions need ``illegal="next"``."""
    check_env(gymnasium.make(ID, illegal="next", **options).unwrapped)


def without_time(*steps: Any) -> None:
    """Take the seconds out of the infos, the one thing that is never the same."""
    for *_, infos in steps:
        for info in infos:
            if "episode" in info:
                assert 0 <= info["episode"].pop("t") < 600


def monitored(options: Options) -> list[VecEnv]:
    """The adapter, and stable-baselines3's own vector environment of single games."""
    return [SolitaireVecEnv(ROWS, **options), DummyVecEnv([lambda: Monitor(SolitaireEnv(**options))] * ROWS)]


def plain(observation: Any) -> Any:
    """An observation of `DummyVecEnv` without the order of its pieces."""
    return dict(observation) if isinstance(observation, dict) else observation


@each([*OPTIONS, {"observation": "vector", "mask_in": "obs"}])
def test_rows_are_single_environments_reset_in_the_same_step(options: Options) -> None:
    """All that `DummyVecEnv` returns for single ones; a last info says besides whether the game was a success."""
    env, alone = monitored(options)
    rng, endings = np.random.default_rng(SEED), 0
    assert env.seed(SEED) == alone.seed(SEED) == [SEED, SEED + 1, SEED + 2]
    same(env.reset(), plain(alone.reset()))
    assert env.reset_infos == [{}] * ROWS
    for _ in range(60):
        same(get_action_masks(env), get_action_masks(alone))
        actions = legal(env, rng)
        ours, theirs = env.step(actions), alone.step(actions)
        without_time(ours, theirs)
        for info, done in zip(theirs[-1], theirs[2], strict=True):
            info.pop("action_mask", None)
            if done:
                info["is_success"] = not info["lost"]
            else:
                del info["TimeLimit.truncated"]
        endings += ours[2].sum()
        same(ours, (plain(theirs[0]), *theirs[1:]))
    assert endings > 10


def with_monitor(env: VecEnv) -> VecMonitor:
    """The environment in a wrapper, which is not needed and says so."""
    with pytest.warns(UserWarning, match="already wrapped with a `Monitor`"):
        return VecMonitor(env)


@each(MASKED)
def test_masks_come_through_wrappers(options: Options) -> None:
    """`VecMonitor` passes on the masks of all games or some, and sb3-contrib finds them."""
    inner = SolitaireVecEnv(ROWS, **options)
    env = with_monitor(inner)
    env.reset()
    assert is_masking_supported(env)
    masks: Any = env.env_method("action_masks")
    same(masks, get_action_masks(env))
    same(masks, inner.action_masks())
    for indices in (1, [2, 0]):
        same(env.env_method("action_masks", indices=indices), masks[np.atleast_1d(indices)])


def test_attributes_are_those_of_all_games() -> None:
    """Each game has the same; they can be read but not set."""
    env = with_monitor(SolitaireVecEnv(ROWS, lost_value=-3))
    assert env.has_attr("action_masks")
    assert env.has_attr("lost_value")
    assert not env.has_attr("no_such_thing")
    assert env.get_attr("lost_value") == [-3.0] * ROWS
    assert env.get_attr("render_mode") == [None] * ROWS
    assert env.get_attr("lost_value", indices=[1, 2]) == [-3.0] * 2
    assert env.get_attr("lost_value", indices=0) == [-3.0]
    assert env.get_attr("rules") == [Rules()] * ROWS
    with pytest.raises(AttributeError, match="no_such_thing"):
        env.unwrapped.get_attr("no_such_thing")
    with pytest.raises(AttributeError, match="lost_value cannot be set here"):
        env.set_attr("lost_value", 5)
    env.close()


@each(MASKED)
def test_a_masked_policy_learns_and_is_evaluated_the_same_way(options: Options) -> None:
    """`MaskablePPO` trains for a moment and `evaluate_policy` plays, without a warning or an illegal action.

    The same seeds lead to the same weights and results as with stable-baselines3's own vector environment.
    """
    policy = "MlpPolicy" if options.get("observation", "pieces") != "pieces" else "MultiInputPolicy"
    outcomes = []
    for env in monitored(options):
        model = MaskablePPO(policy, env, n_steps=16, batch_size=32, n_epochs=1, seed=SEED, device="cpu")
        model.learn(128)
        env.seed(SEED)
        rewards, lengths = evaluate_policy(model, env, n_eval_episodes=8, return_episode_rewards=True)
        weights = [parameter.detach().numpy().copy() for parameter in model.policy.parameters()]
        outcomes.append((weights, np.asarray(rewards, np.float64), np.asarray(lengths, np.int64)))
        env.close()
    assert len(outcomes[0][1]) == 8
    for one, other in zip(outcomes[0][0], outcomes[1][0], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)
    same(outcomes[0][1:], outcomes[1][1:])


# --- What stable-baselines3 reads besides ----------------------------------------------------------------------------


@pytest.mark.parametrize("evaluation", [evaluate_policy, plain_evaluation], ids=["masked", "plain"])
def test_evaluations_read_the_episodes_without_a_warning(evaluation: Any) -> None:
    """`env_is_wrapped` is True for ``Monitor`` alone, whose statistics the environment adds itself."""
    env = SolitaireVecEnv(ROWS, observation="vector", illegal="next")
    assert env.env_is_wrapped(Monitor) == [True] * ROWS
    assert env.env_is_wrapped(Monitor, indices=[0]) == [True]
    assert env.env_is_wrapped(gymnasium.wrappers.TimeLimit) == [False] * ROWS
    model = MaskablePPO("MlpPolicy", env, n_steps=16, batch_size=16, seed=SEED, device="cpu")
    rewards, lengths = evaluation(model, env, n_eval_episodes=6, return_episode_rewards=True)
    assert len(rewards) == len(lengths) == 6
    assert all(isinstance(each, float) for each in rewards), "exact, not the sums of float32 rewards"


@pytest.mark.parametrize(
    ("make", "success"),
    [
        (SolitaireVecEnv, lambda info: not info["lost"]),
        (partial(VsOpponentsVecEnv, opponents="uniform"), lambda info: info["win"]),
    ],
    ids=["solitaire", "players"],
)
def test_the_last_info_says_whether_a_game_was_a_success(make: Callable[[int], GamesVecEnv], success: Any) -> None:
    """``EvalCallback`` and training average it as ``success_rate``."""
    env = make(8)
    env.seed(SEED)
    env.reset()
    rng, found = np.random.default_rng(SEED), []
    for _ in range(100):
        actions = np.array([rng.choice(np.flatnonzero(mask)) for mask in env.action_masks()])
        _, _, dones, infos = env.step(actions)
        assert [("is_success" in info) for info in infos] == dones.tolist()
        found += [(info["is_success"], success(info)) for info in infos if info]
    assert [one for one, _ in found] == [other for _, other in found]
    assert len({one for one, _ in found}) > 1


def test_the_learning_curve_is_stored_and_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each point is the mean return of the games since the previous point, two for each row or more."""
    env = SolitaireVecEnv(ROWS, observation="vector", illegal="next")
    model = PPO("MlpPolicy", env, n_steps=16, batch_size=16, n_epochs=1, seed=SEED, device="cpu")
    curve, total = LearningCurve(tmp_path / "curves" / "mine.png", every=90, verbose=1), 16 * ROWS * 10
    played = list[tuple[int, float]]()

    def count(found: dict[str, Any], _: dict[str, Any]) -> bool:
        played.extend((model.num_timesteps, info["episode"]["r"]) for info in found["infos"] if "episode" in info)
        return True

    model.learn(total, callback=[curve, ConvertCallback(count)])
    assert model.num_timesteps == total
    assert (tmp_path / "curves" / "mine.png").read_bytes().startswith(b"\x89PNG")
    header, *rows = (tmp_path / "curves" / "mine.csv").read_text(encoding="utf-8").splitlines()
    assert header == "curve,steps,estimate,low,high"
    steps = [int(row.split(",")[1]) for row in rows]
    expected = [0]
    for step in range(ROWS, total + 1, ROWS):
        games = sum(expected[-1] < at <= step for at, _ in played)
        if games >= 2 * ROWS and (step - expected[-1] >= 90 or step == total):
            expected.append(step)
    assert steps == expected[1:]
    for earlier, row in zip([0, *steps], rows, strict=False):
        _, last, mean, *_ = row.split(",")
        returns = [each for step, each in played if earlier < step <= int(last)]
        assert float(mean) == pytest.approx(np.mean(returns))
    assert capsys.readouterr().out.count("steps: mean return") == len(rows)
    with pytest.raises(ValueError, match="every must be an integer from 1"):
        LearningCurve(every=0)


def test_a_training_without_a_finished_game_has_an_empty_curve(tmp_path: Path) -> None:
    env = SolitaireVecEnv(ROWS, observation="vector")
    model = MaskablePPO("MlpPolicy", env, n_steps=2, batch_size=ROWS, n_epochs=1, seed=SEED, device="cpu")
    model.learn(1, callback=LearningCurve(tmp_path / "mine.png"))
    assert (tmp_path / "mine.csv").read_text(encoding="utf-8") == "curve,steps,estimate,low,high\n"


def test_unmasked_training_is_told_what_to_use() -> None:
    """The first illegal action ends it; the error names the algorithm that heeds masks."""
    with pytest.raises(IllegalAction, match=r"MaskablePPO of sb3-contrib instead of PPO.*illegal='next'"):
        PPO("MlpPolicy", SolitaireVecEnv(2, observation="vector"), n_steps=8, batch_size=16, device="cpu").learn(64)


def test_options_are_used_by_the_next_reset_only() -> None:
    """``set_options`` gives each game a deal, of which `DummyVecEnv` also takes one for all; others are refused."""
    env, given = SolitaireVecEnv(2), [Deal.from_seed(Rules(), 7), Deal.from_seed(Rules(), 8)]

    def played() -> list[Deal]:
        return [env.envs.to_game(row).deals[0] for row in range(2)]

    env.seed(SEED)
    env.set_options([{"deal": deal} for deal in given])
    env.reset()
    assert played() == given
    env.reset()
    assert played() == [Deal.from_seed(Rules(), SEED + row, 1) for row in range(2)]
    env.set_options({"deal": str(given[1])})
    env.reset()
    assert played() == [given[1]] * 2
    wrong: dict[str, Any] = {"got 'deals'": {"deals": given}, "got None": [{"deal": given[0]}, {}]}
    for match, options in wrong.items():
        env.set_options(options)
        with pytest.raises(ValueError, match=match):
            env.reset()
        assert played() == [given[1]] * 2


@pytest.mark.parametrize("mode", ["ansi", "rgb_array", None])
def test_games_are_rendered(mode: str | None) -> None:
    """`render` tiles the pictures; ``env_method("render")`` returns those of single games."""
    env = SolitaireVecEnv(2, render_mode=mode)
    env.reset()
    assert env.metadata["render_fps"] == env.envs.metadata["render_fps"], "of videos"
    assert env.render_mode == mode
    assert env.get_attr("render_mode") == [mode] * 2
    shown = env.env_method("render")
    same(env.env_method("render", indices=1), shown[1:])
    if mode == "rgb_array":
        picture = env.render()
        assert picture is not None
        height, width, _ = shown[0].shape
        assert picture.shape in {(height, 2 * width, 3), (2 * height, width, 3)}
        same(env.get_images(), shown)
    elif mode == "ansi":
        assert all("pile: 24 cards" in text for text in shown)
        assert env.render() is None  # `VecEnv.render` returns pictures only
    else:
        assert shown == [None] * 2
    if mode != "rgb_array":
        assert env.get_images() == [None] * 2


@pytest.mark.parametrize("options", [{"autoreset_mode": "NextStep"}, {"autoreset_mode": "SameStep", "copy": False}])
def test_other_reset_modes_and_reused_arrays_are_refused(options: Options) -> None:
    """stable-baselines3 would learn from steps that only reset, and from observations of a later step."""
    with pytest.raises(ValueError, match="autoreset_mode=SAME_STEP and copy=True, got"):
        GamesVecEnv(SolitaireVectorEnv(2, **options))
    for make in (SolitaireVecEnv, partial(VsOpponentsVecEnv, opponents="greedy")):
        with pytest.raises(ValueError, match="autoreset_mode=SAME_STEP and copy=True, got"):
            make(2, **options)


def test_methods_of_the_vector_environment_can_be_called() -> None:
    """What `has_attr` answers, `env_method` calls, through wrappers, too."""
    env = VsOpponentsVecEnv(2, pool=["greedy"])
    assert with_monitor(env).has_attr("set_pool")
    with_monitor(env).env_method("set_pool", ["greedy", "uniform"])
    assert isinstance(env.envs, VsOpponentsVectorEnv)
    assert len(env.envs.opponents.policies) == 2
    with pytest.raises(AttributeError, match="no_such_thing"):
        env.env_method("no_such_thing")


def test_rows_may_have_several_rules() -> None:
    """Row i plays rules i mod k; the pool of opponents is replaced in all rows."""
    rules = [Rules(), Rules(flush=True)]
    env = SolitaireVecEnv(4, rules=rules, observation="vector", actions="hand")
    assert env.get_attr("rules", 0)[0] == rules
    env.seed(SEED)
    rng, endings = np.random.default_rng(SEED), 0
    observation: Any = env.reset()
    for _ in range(20):
        assert [env.envs.to_game(row).rules for row in range(4)] == rules * 2
        assert env.observation_space.contains(observation[3])
        actions = np.array([rng.choice(np.flatnonzero(mask)) for mask in env.action_masks()])
        observation, _, dones, infos = env.step(actions)
        endings += dones.sum()
        assert [info["rules"] for info in infos if info] == [row % 2 for row in np.flatnonzero(dones)]
    assert endings
    state = env.get_state()
    same(env.set_state(state), observation)
    others = VsOpponentsVecEnv(2, rules=[Rules(2), Rules(3)], pool=["greedy"])
    others.env_method("set_pool", ["greedy", "uniform"])
    assert isinstance(others.envs, SideBySideVectorEnv)
    assert [len(part.opponents.policies) for part in others.envs.envs] == [2, 2]  # type: ignore[attr-defined]


@pytest.mark.parametrize("seed", [-1, 2**63, 2**63 - 1, 1.5])
def test_invalid_seeds_are_refused_at_once(seed: Any) -> None:
    env = SolitaireVecEnv(2)
    assert env.seed(3) == [3, 4]
    with pytest.raises(ValueError, match="seed must be an integer from 0"):
        env.seed(seed)
    assert env._seeds == [3, 4]
