"""The recipes learn.

Illegal actions raise `IllegalAction` here, so that every step that a recipe takes shows that its mask was heeded.
"""

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("sb3_contrib")
pytest.importorskip("tyro")
pytestmark = pytest.mark.recipes

from quincunx_agents.greedy import greedy  # noqa: E402
from quincunx_env import Game, Observer, Rules  # noqa: E402
from quincunx_env.arena import Deals, Evaluation  # noqa: E402
from quincunx_env.envs.vector import GamesVectorEnv  # noqa: E402

TINY: dict[str, Any] = {
    "total_steps": 4 * 1024,
    "num_envs": 64,
    "rollout": 16,
    "batch_size": 256,
    "deals": 200,
    "progress": False,
}


SEEDED: dict[str, dict[str, Any]] = {"cleanrl_style": {}, "dqn": {}, "generalisation": {"task": "seats"}}
"""Recipes with deals of their own seeds, and options that they need."""


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Small networks only get slower by several threads."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def recipe(name: str) -> Any:
    """The module of a recipe."""
    return import_module(f"train.recipes.{name}")


# --- Learning --------------------------------------------------------------------------------------------------------


def test_the_loop_learns_the_solitaire(capsys: pytest.CaptureFixture[str]) -> None:
    """Thousands of steps, none of them illegal. Learning starts from the uniform policy, whose mean is 7.8."""
    module = recipe("cleanrl_style")
    network, evaluation = module.main(module.Arguments(**TINY))
    assert all(parameter.isfinite().all() for parameter in network.parameters())
    assert isinstance(evaluation, Evaluation)
    assert len(evaluation.scores) == TINY["deals"]
    assert evaluation.mean > 60, "its value loss is its own code"
    assert f"mean {evaluation.mean:.1f}" in capsys.readouterr().out


# --- Seeds -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["train.ppo", *(f"train.recipes.{name}" for name in SEEDED)])
def test_runs_with_successive_seeds_share_no_deals(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Row i of a vector environment seeded s has the seed s + i, so that seeds 0 and 1 would share nearly all."""

    class Reset(Exception):
        """Ends the run."""

    def reset(envs: Any, *, seed: Any = None, options: Any = None) -> None:
        raise Reset(int(np.ravel(seed)[0]))

    monkeypatch.setattr(GamesVectorEnv, "reset", reset)
    monkeypatch.chdir(tmp_path)
    module = import_module(name)
    with pytest.raises(Reset, match=f"^{3 * 10**12}$"):
        module.main(module.Arguments(seed=3, progress=False, **SEEDED.get(name.rpartition(".")[2], {})))


# --- Rules that vary -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("task", "options", "name", "trained_on"),
    [
        ("rules-never-met", {"seed": 3}, "training-3", 2),
        ("rules-never-met", {"train_on": "test", "preview": False}, "test-without-preview-0", 7),
        ("seats", {}, "training-0", 2),
    ],
)
def test_a_list_of_rules_is_learned_and_the_result_added(
    task: str, options: dict[str, Any], name: str, trained_on: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from quincunx_env.arena.benchmark import read_results
    from quincunx_env.arena.generalisation import TASKS

    module, made = recipe("generalisation"), list[Any]()

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
    module = recipe("dqn")
    monkeypatch.chdir(tmp_path)
    options = {name: TINY[name] for name in ("num_envs", "batch_size", "progress")} | {"test_deals": 50}
    options |= {"total_steps": 64 * 100, "buffer": 64 * 60, "learning_starts": 640, "target_rate": 0.05}
    facts = module.main(module.Arguments(eval_every=64 * 50, eval_deals=200, **options))
    assert [entry["steps"] for entry in facts["validation"]] == [0, 3200, 6400]
    assert facts["validation"][-1]["variants"]["solitaire"]["mean"] > 25, "uniform play makes 8.5"
    assert facts["benchmark"]["solitaire"]["mean"] > facts["baselines"]["greedy"]["mean"]
    assert (tmp_path / "runs/dqn/dqn.json").exists()


def test_dqn_gives_illegal_actions_no_value() -> None:
    module = recipe("dqn")
    network = module.PolicyNetwork(Observer(Rules(), preview=True))
    mask = torch.rand(3, network.latent_dim_pi) < 0.5
    values = module.q_values(network, torch.zeros(3, Observer(Rules(), preview=True).encoder().size), mask)
    assert (values.isfinite() == mask).all()


# --- CleanRL style ---------------------------------------------------------------------------------------------------


def test_the_loop_does_not_learn_from_steps_that_only_deal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their masks, and no others, are all 1: such rows occur in rollouts and never in minibatches."""
    module = recipe("cleanrl_style")
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
    module = recipe("cleanrl_style")
    mask = torch.tensor([[True, False, True, False], [False, False, False, True]])
    distribution = module.masked(torch.tensor([[0.0, 50.0, 0.0, 0.0], [9.0, 0.0, 0.0, 0.0]]), mask)
    assert distribution.probs.tolist() == [[0.5, 0.0, 0.5, 0.0], [0.0, 0.0, 0.0, 1.0]]
    assert distribution.entropy().tolist() == pytest.approx([np.log(2), 0.0])


# --- stable-baselines3 -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("start", ["corners", "open"])
@pytest.mark.parametrize("players", [2, 3, 4])
def test_one_network_plays_any_number_of_players(players: int, start: Any) -> None:
    """Through observations of fixed width; another card in hand, or another form of the game, is not lost on it."""
    from quincunx_agents.torch import NetworkPolicy, PolicyNetwork
    from quincunx_env.arena import compare
    from quincunx_env.quincunx.padded import PaddedObserver

    torch.manual_seed(0)
    network = PolicyNetwork(PaddedObserver(Rules(), preview=True), width=32, depth=8)  # made for the solitaire
    torch.nn.init.normal_(network.cell_queries.weight)
    observer = PaddedObserver(Rules(num_players=players, start=start), preview=True)
    policy = observer.unpad_policy(NetworkPolicy(network.forward_actor, observer))
    played = compare([policy, greedy], Deals(4, "validation"), rules=observer.rules, names=["network", "greedy"])
    assert played.games == 4 * players, "and every play was legal"

    game = Game.from_seed(observer.rules, 3)
    seen = torch.from_numpy(observer.vector(game, 0, by_place=False))[None]
    other = seen.clone()
    other[:, observer.encoder().slices["form"]] = 1.25
    with torch.no_grad():
        assert network(seen)[0].shape == (1, observer.num_actions)
        assert (network(seen)[1] != network(other)[1]).all()


def test_one_network_learns_from_games_of_any_number_of_players() -> None:
    """The fixed width makes all of them environments of one model."""
    from sb3_contrib import MaskablePPO

    from quincunx_agents.torch.networks import PolicyNetwork
    from quincunx_agents.torch.sb3_policy import QuincunxMaskablePolicy
    from quincunx_env.adapters.sb3 import VsOpponentsVecEnv

    options: dict[str, Any] = {"opponents": greedy, "observation": "vector", "preview": True}
    tables = [VsOpponentsVecEnv(4, rules=[Rules(num_players=players)], **options) for players in (2, 3, 4)]
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
