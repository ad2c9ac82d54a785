"""The recipes learn, and each library sees the masks of the environment.

Illegal actions raise `IllegalAction` here, so that every step that a recipe takes shows that its mask was heeded; that
the adapter of each library passes them on is tested, too.
"""

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("sb3_contrib")
pytest.importorskip("tyro")
pytestmark = pytest.mark.recipes

from quincunx_agents.greedy import greedy  # noqa: E402
from quincunx_env import Game, IllegalAction, Observer, Rules, quincunx_v0  # noqa: E402
from quincunx_env.arena import Evaluation  # noqa: E402

SEED = 4_000
TINY: dict[str, Any] = {
    "total_steps": 4 * 1024,
    "num_envs": 64,
    "rollout": 16,
    "batch_size": 256,
    "deals": 200,
    "progress": False,
}


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Small networks only get slower by several threads."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def recipe(name: str, library: str) -> Any:
    """The module of a recipe; the test is skipped where its library is missing."""
    pytest.importorskip(library)
    return import_module(f"train.recipes.{name}")


def forbidden(mask: Any) -> int:
    """The first action that a mask forbids."""
    return int(np.asarray(mask).argmin())


# TorchRL warns of parts of itself when it is imported.
in_torchrl = pytest.mark.filterwarnings("ignore:.*WeightUpdaterBase is deprecated:DeprecationWarning")

# TorchRL has tested its wrapper with PettingZoo 1.24.3 alone; this is the test with another.
of_pettingzoo = pytest.mark.filterwarnings("ignore:PettingZoo in TorchRL is tested:UserWarning")


# --- Learning --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "library", "least"),
    [
        ("cleanrl_style", "torch", 60),  # its value loss is its own code
        ("tianshou_ppo", "tianshou", 25),
        pytest.param("torchrl_ppo", "torchrl", 25, marks=in_torchrl),
    ],
)
def test_a_recipe_learns_the_solitaire(
    name: str, library: str, least: float, capsys: pytest.CaptureFixture[str]
) -> None:
    """Thousands of steps, none of them illegal. Learning starts from the uniform policy, whose mean is 7.8."""
    module = recipe(name, library)
    network, evaluation = module.main(module.Arguments(**TINY))
    assert all(parameter.isfinite().all() for parameter in network.parameters())
    assert isinstance(evaluation, Evaluation)
    assert len(evaluation.scores) == TINY["deals"]
    assert evaluation.mean > least
    assert f"mean {evaluation.mean:.1f}" in capsys.readouterr().out


# --- Rules that vary -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("task", "options", "name", "trained_on"),
    [
        ("rules-never-met", {"seed": 3}, "training-3", 2),
        ("rules-never-met", {"train_on": "test", "preview": False}, "test-without-preview-0", 7),
        ("seats", {"rules_in_obs": False}, "training-without-form-0", 2),
    ],
)
def test_a_list_of_rules_is_learned_and_the_result_added(
    task: str, options: dict[str, Any], name: str, trained_on: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from quincunx_env.arena.benchmark import read_results
    from quincunx_env.arena.generalisation import TASKS

    module, made = recipe("generalisation", "torch"), list[Any]()

    def ppo(policy: str, envs: Any, **settings: Any) -> Any:
        made.append(envs.get_attr("rules")[0])
        return MaskablePPO(policy, envs, **settings)

    MaskablePPO = module.MaskablePPO  # noqa: N806  # a class
    monkeypatch.setattr(module, "MaskablePPO", ppo)
    out = tmp_path / "runs" / "results.csv"
    found = module.main(module.Arguments(task, **options, total_steps=6_000, deals=2, out=out, progress=False))
    known = TASKS[task]
    assert [*made[0]] == [each.rules for each in getattr(known, options.get("train_on", "training"))]
    assert len(made[0]) == trained_on
    rows = {each.task.name: each for each in read_results(out)}
    assert {*rows} == {each.name for each in (*known.training, *known.test)}
    assert {each.policy for each in rows.values()} == {f"{task}-{name}"}
    assert rows[known.test[0].name].score.value == pytest.approx(found.results[known.test[0].name].score.value)


# --- DQN -------------------------------------------------------------------------------------------------------------


def test_dqn_learns_the_solitaire(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Legal actions alone, rows that a full ring overwrites, and the files that a run leaves."""
    from quincunx_agents.networks.policy import load_weights

    module = recipe("dqn", "torch")
    monkeypatch.chdir(tmp_path)
    options = {name: TINY[name] for name in ("num_envs", "batch_size", "progress")} | {"test_deals": 50}
    options |= {"total_steps": 64 * 100, "buffer": 64 * 60, "learning_starts": 640, "target_rate": 0.05}
    facts = module.main(module.Arguments(eval_every=64 * 50, eval_deals=200, **options))
    assert [entry["steps"] for entry in facts["validation"]] == [0, 3200, 6400]
    assert facts["validation"][-1]["variants"]["solitaire"]["mean"] > 25, "uniform play makes 8.5"
    assert facts["benchmark"]["solitaire"]["mean"] > facts["baselines"]["greedy"]["mean"]
    assert load_weights(tmp_path / "runs/dqn/dqn.safetensors").tensors["cell_queries.weight"].any()


def test_dqn_gives_illegal_actions_no_value() -> None:
    module = recipe("dqn", "torch")
    network = module.PolicyNetwork(Observer(Rules(), preview=True))
    mask = torch.rand(3, network.latent_dim_pi) < 0.5
    values = module.q_values(network, torch.zeros(3, Observer(Rules(), preview=True).size), mask)
    assert (values.isfinite() == mask).all()


# --- CleanRL style ---------------------------------------------------------------------------------------------------


def test_the_loop_does_not_learn_from_steps_that_only_deal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their masks, and no others, are all 1: such rows occur in rollouts and never in minibatches."""
    module = recipe("cleanrl_style", "torch")
    masked = module.masked
    playing: list[Any] = []
    learning: list[Any] = []

    def spy(logits: Any, mask: Any) -> Any:
        (learning if logits.requires_grad else playing).append(mask.all(dim=1))
        return masked(logits, mask)

    monkeypatch.setattr(module, "masked", spy)
    module.main(module.Arguments(**TINY | {"total_steps": 2048, "epochs": 1, "deals": 2}))
    dealing = int(torch.cat(playing).sum())
    assert dealing > 100
    assert not torch.cat(learning).any()
    assert len(torch.cat(learning)) + dealing == len(torch.cat(playing)) == 2048


def test_the_loops_distribution_is_over_legal_actions() -> None:
    module = recipe("cleanrl_style", "torch")
    mask = torch.tensor([[True, False, True, False], [False, False, False, True]])
    distribution = module.masked(torch.tensor([[0.0, 50.0, 0.0, 0.0], [9.0, 0.0, 0.0, 0.0]]), mask)
    assert distribution.probs.tolist() == [[0.5, 0.0, 0.5, 0.0], [0.0, 0.0, 0.0, 1.0]]
    assert distribution.entropy().tolist() == pytest.approx([np.log(2), 0.0])


# --- stable-baselines3 -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("start", ["corners", "open"])
@pytest.mark.parametrize("players", [2, 3, 4])
def test_one_network_plays_any_number_of_players(players: int, start: Any) -> None:
    """Through observations of fixed width; another card in hand, or another form of the game, is not lost on it."""
    from quincunx_agents.torch import GreedyPolicy, PolicyNetwork
    from quincunx_env.arena import compare
    from quincunx_env.quincunx import PaddedObserver

    torch.manual_seed(0)
    network = PolicyNetwork(PaddedObserver(Rules(), preview=True), width=32, depth=8)  # made for the solitaire
    torch.nn.init.normal_(network.cell_queries.weight)
    observer = PaddedObserver(Rules(num_players=players, start=start), preview=True)
    policy = observer.unpad_policy(GreedyPolicy(network.forward_actor, observer))
    played = compare([policy, greedy], 4, rules=observer.rules, domain="validation", names=["network", "greedy"])
    assert played.games == 4 * players, "and every play was legal"

    game = Game.from_seed(observer.rules, 3)
    seen = torch.from_numpy(observer.observe_flat(game, 0)[None]).float()
    other = seen.clone()
    other[:, observer.slices["form"]] = torch.tensor([5.0] * 8)
    with torch.no_grad():
        assert network(seen)[0].shape == (1, observer.num_actions)
        assert (network(seen)[1] != network(other)[1]).all()


def test_one_network_learns_from_games_of_any_number_of_players() -> None:
    """The fixed width makes all of them environments of one model."""
    from sb3_contrib import MaskablePPO

    from quincunx_agents.torch.networks import PolicyNetwork
    from quincunx_agents.torch.sb3_policy import QuincunxMaskablePolicy
    from quincunx_env.adapters.sb3 import VsOpponentsVecEnv

    options: dict[str, Any] = {"opponents": greedy, "observation": "flat", "preview": True, "padded": True}
    tables = [VsOpponentsVecEnv(4, num_players=players, **options) for players in (2, 3, 4)]
    model = MaskablePPO(
        QuincunxMaskablePolicy,
        tables[0],
        policy_kwargs={"observer": tables[0].envs.observer, "width": 32, "depth": 8},
        n_steps=8,
        batch_size=32,
        n_epochs=1,
        seed=0,
        device="cpu",
    )
    network = model.policy.mlp_extractor
    assert isinstance(network, PolicyNetwork)
    for env in tables:
        before = network.preview_gain.weight.clone()
        model.set_env(env)
        model.learn(64)
        assert (network.preview_gain.weight != before).any()
        assert network.preview_gain.weight.isfinite().all()


def test_the_network_has_no_announcements() -> None:
    from quincunx_agents.torch.networks import PolicyNetwork

    with pytest.raises(ValueError, match="Quincunx without Simpleton"):
        PolicyNetwork(Observer(Rules(num_players=2, simpleton=True), preview=True))


# --- TorchRL ---------------------------------------------------------------------------------------------------------


@in_torchrl
def test_torchrl_sees_the_masks_and_resets_the_games_itself() -> None:
    env = recipe("torchrl_ppo", "torchrl").make_env(3)
    games = env.base_env._env
    env.set_seed(SEED)
    data = env.reset()
    endings = 0
    for _ in range(60):
        assert data["action_mask"].dtype == torch.bool
        np.testing.assert_array_equal(data["action_mask"].numpy(), games.action_masks())
        np.testing.assert_array_equal(env.action_spec.mask.numpy(), games.action_masks())
        step, data = env.step_and_maybe_reset(env.rand_action(data))
        ended = step["next", "done"][:, 0]
        assert not step["next", "action_mask"][ended].any(), "nothing is legal at the end"
        assert data["action_mask"].any(dim=1).all(), "and a new game is dealt before the next action"
        endings += int(ended.sum())
    assert endings > 10
    data["action"] = torch.tensor([forbidden(mask) for mask in data["action_mask"]])
    with pytest.raises(IllegalAction):
        env.step(data)


@in_torchrl
@pytest.mark.parametrize("observation", ["flat", "pieces"])
def test_torchrl_masks_factored_actions_by_the_observation(observation: str) -> None:
    """Its mask of several factors is bool, as in the lines of docs/recipes.md."""
    recipe("torchrl_ppo", "torchrl")
    from torchrl.envs import ActionMask, Compose, DTypeCastTransform, GymWrapper, TransformedEnv

    game = gymnasium.make("Quincunx/Solitaire-v0", actions="factored", mask_in="obs", observation=observation)
    to_bool = DTypeCastTransform(torch.int8, torch.bool, in_keys=["action_mask"])
    env = TransformedEnv(GymWrapper(game, categorical_action_encoding=True), Compose(to_bool, ActionMask()))
    env.set_seed(SEED)
    data, endings = env.reset(), 0
    for _ in range(40):
        np.testing.assert_array_equal(data["action_mask"].numpy(), game.unwrapped.action_masks())  # type: ignore[attr-defined]
        step, data = env.step_and_maybe_reset(env.rand_action(data))
        endings += int(step["next", "done"].sum())
    assert endings > 2


@in_torchrl
@of_pettingzoo
def test_torchrls_pettingzoo_wrapper_sees_the_masks() -> None:
    """Of the player to move; for the other it puts all 1 instead of the environment's all 0, and ``mask`` False."""
    recipe("torchrl_ppo", "torchrl")
    from torchrl.envs.libs.pettingzoo import PettingZooWrapper

    game = quincunx_v0.env()
    env = PettingZooWrapper(game, use_mask=True, seed=SEED)
    for _ in range(3):
        data = env.reset()
        plays = 0
        while not data["done"]:
            for player in game.possible_agents:
                to_move = player == game.agent_selection
                assert data[player, "mask"].tolist() == [to_move]
                expected = game.observe(player)["action_mask"] if to_move else np.ones(game.action_space(player).n)
                np.testing.assert_array_equal(data[player, "action_mask"][0].numpy(), expected.astype(np.bool_))
            data = env.step(env.rand_action(data))["next"]
            plays += 1
        assert plays > 10


# --- Tianshou --------------------------------------------------------------------------------------------------------


def test_tianshou_sees_the_masks() -> None:
    module = recipe("tianshou_ppo", "tianshou")
    from tianshou.env import DummyVectorEnv

    envs = DummyVectorEnv([module.make_env] * 3)
    envs.seed(SEED)
    observations, _ = envs.reset()
    rng = np.random.default_rng(SEED)
    endings = 0
    for _ in range(60):
        masks = np.stack([observation["mask"] for observation in observations])
        assert masks.dtype == np.bool_
        np.testing.assert_array_equal(masks, [action_masks() for action_masks in envs.get_env_attr("action_masks")])
        assert masks.any(axis=1).all()
        actions = np.array([rng.choice(np.flatnonzero(mask)) for mask in masks])
        observations, _, ended, _, _ = envs.step(actions)
        if ended.any():
            observations[ended] = envs.reset(np.flatnonzero(ended))[0]
            endings += int(ended.sum())
    assert endings > 10
    with pytest.raises(IllegalAction):
        envs.step(np.array([forbidden(observation["mask"]) for observation in observations]))


def test_tianshous_actor_policies_leave_masking_to_the_actor() -> None:
    """The recipe's actor masks; the same policy with one that does not soon plays an illegal card."""
    module = recipe("tianshou_ppo", "tianshou")
    from tianshou.algorithm.modelfree.reinforce import DiscreteActorPolicy
    from tianshou.data import Collector, CollectStats
    from tianshou.env import DummyVectorEnv

    from quincunx_agents.torch.networks import PolicyNetwork

    class Unmasked(module.Actor):  # type: ignore[name-defined, misc]  # the module is imported by its name
        def forward(self, obs: Any, state: Any = None, info: Any = None) -> Any:
            return self.network.forward_actor(torch.as_tensor(obs.obs, dtype=torch.float32)), state

    single = module.make_env()
    network = PolicyNetwork(single.unwrapped.observer)
    for actor, heeds in ((module.Actor(network), True), (Unmasked(network), False)):
        policy = DiscreteActorPolicy(actor=actor, action_space=single.action_space)
        collector = Collector[CollectStats](policy, DummyVectorEnv([module.make_env] * 4))
        collector.reset()
        if heeds:
            assert collector.collect(n_step=200).n_collected_steps == 200
        else:
            with pytest.raises(IllegalAction):
                collector.collect(n_step=200)


def test_tianshous_pettingzoo_wrapper_sees_the_masks() -> None:
    recipe("tianshou_ppo", "tianshou")
    from tianshou.env import PettingZooEnv

    game = quincunx_v0.env()
    env = PettingZooEnv(game)
    rng = np.random.default_rng(SEED)
    for number in range(3):
        observation, _ = env.reset(seed=SEED + number)
        ended = False
        while not ended:
            assert observation["agent_id"] == game.agent_selection
            expected = game.observe(game.agent_selection)["action_mask"]
            np.testing.assert_array_equal(observation["mask"], expected.astype(np.bool_))
            observation, _, ended, _, _ = env.step(rng.choice(np.flatnonzero(observation["mask"])))
        assert not any(observation["mask"])
