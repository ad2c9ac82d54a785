"""The recipes learn.

Illegal actions raise `IllegalAction` here, so that every step that a recipe takes shows that its mask was heeded.
"""

import json
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
from quincunx_env.codec import Codec  # noqa: E402
from quincunx_env.envs.batched import BatchedGames  # noqa: E402
from quincunx_env.envs.rewards import margin  # noqa: E402
from quincunx_env.envs.vector import GamesVectorEnv  # noqa: E402

TINY: dict[str, Any] = {
    "total_steps": 4 * 1024,
    "num_envs": 64,
    "rollout": 16,
    "batch_size": 256,
    "deals": 200,
    "progress": False,
}


SEEDED: dict[str, dict[str, Any]] = {"cleanrl_style": {}, "self_play": {}, "generalisation": {"task": "seats"}}
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
    """Thousands of steps, none of them illegal. The most points at once have a mean of 15."""
    module = recipe("cleanrl_style")
    network, evaluation = module.main(module.Arguments(**TINY))
    assert all(parameter.isfinite().all() for parameter in network.parameters())
    assert isinstance(evaluation, Evaluation)
    assert len(evaluation.scores) == TINY["deals"]
    assert evaluation.mean > 40, "its value loss is its own code"
    assert f"mean {evaluation.mean:.1f}" in capsys.readouterr().out


# --- Seeds -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["train.ppo", *(f"train.recipes.{name}" for name in SEEDED)])
def test_runs_with_successive_seeds_share_no_deals(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Row i of a vector environment seeded s has the seed s + i, so that seeds 0 and 1 would share nearly all."""

    class Reset(Exception):
        """Ends the run."""

    def reset(envs: Any, *, seed: Any = None, options: Any = None) -> None:
        raise Reset(int(np.ravel(seed)[0]))

    for envs in (GamesVectorEnv, BatchedGames):
        monkeypatch.setattr(envs, "reset", reset)
    monkeypatch.chdir(tmp_path)
    module = import_module(name)
    with pytest.raises(Reset, match=f"^{3 * 10**12}$"):
        module.main(module.Arguments(seed=3, progress=False, **SEEDED.get(name.rpartition(".")[2], {})))


# --- Rules that vary -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("task", "options", "name", "trained_on"),
    [
        ("rules-never-met", {"seed": 3}, "training-3", 2),
        ("rules-never-met", {"train_on": "test", "policy": "mlp", "preview": False}, "test-mlp-without-preview-0", 7),
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
    score = found.results[known.test[0].name].score.value
    assert rows[known.test[0].name].score.value == pytest.approx(score, abs=1e-5)  # the file has five decimals


def test_play_network_is_not_trained_without_the_preview() -> None:
    with pytest.raises(ValueError, match="--policy quincunx needs the preview: leave out --no-preview"):
        recipe("generalisation").Arguments("combinations", preview=False)


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


# --- Self-play -------------------------------------------------------------------------------------------------------


def test_self_play_learns_two_players(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Uniform play loses to greedy by 150 points. A network that can only weigh points and draws reaches greedy."""

    class Weights(torch.nn.Module):  # type: ignore[misc, name-defined]  # of a library that may be absent
        """All logits are 0 before learning."""

        def __init__(self, observer: Observer) -> None:
            super().__init__()
            encoder = observer.encoder(by_place=True)
            self.preview = encoder.slices["preview"]
            self.play, self.value = torch.nn.Linear(2, 1), torch.nn.Linear(encoder.size, 1)
            torch.nn.init.zeros_(self.play.weight)

        def forward(self, vectors: Any) -> tuple[Any, Any]:
            plays = vectors[:, self.preview].unflatten(1, (-1, 2))
            return self.play(plays)[..., 0], self.value(vectors)[:, 0]

    module, out = recipe("self_play"), tmp_path / "results.json"
    monkeypatch.setattr(module, "PlayNetwork", Weights)
    options = {"num_envs": 64, "batch_size": 256, "learning_rate": 0.01, "deals": 100, "progress": False}
    _, found = module.main(module.Arguments(total_steps=8_000, out=out, **options))
    assert found["greedy"]["margin"] > -60
    assert "against greedy" in capsys.readouterr().out
    stored = json.loads(out.read_text())
    assert stored["validation"] == {"2-corners": found["heuristic"]}
    assert stored["steps"] == 8_960, "whole games"


@pytest.mark.parametrize("variant", ["2-corners", "2-open", "3-corners", "4-corners", "spiral"])
def test_self_play_rewards_each_seat_with_the_margin_of_its_game(variant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole games; the return of a decision is what the seat makes from there on."""
    module, games, records = recipe("self_play"), 8, list[Any]()
    totals, step, gae = list[Any](), module.BatchedGames.step, module.gae

    def spy_on_steps(envs: Any, actions: Any) -> Any:
        result = step(envs, actions)
        assert result.ended.any() == result.ended.all(), "all games end together"
        totals.extend([result.totals] if result.ended.all() else [])
        return result

    def spy_on_gae(*arrays: Any) -> Any:
        records.append([each.numpy() for each in arrays[:3]])
        return gae(*arrays)

    monkeypatch.setattr(module.BatchedGames, "step", spy_on_steps)
    monkeypatch.setattr(module, "gae", spy_on_gae)
    module.main(module.Arguments(variant=variant, total_steps=600, num_envs=games, deals=2, progress=False))
    assert len(records) == len(totals) >= 2
    for (rewards, values, movers), points in zip(records, totals, strict=True):
        margins = np.stack(margin([*points.T]), axis=1)
        assert module.RETURN_SCALE * rewards.sum(0) == pytest.approx(margins, abs=1e-3)
        returns = values + gae(*map(torch.from_numpy, (rewards, values, movers)), 1.0, 1.0).numpy()
        to_come = np.take_along_axis(rewards[::-1].cumsum(0)[::-1], movers[..., None], axis=2)[..., 0]
        assert returns == pytest.approx(to_come, abs=1e-4)


def test_self_play_estimates_advantages_over_a_seats_own_decisions() -> None:
    """A game of two seats: seat 1 has one decision between two of seat 0."""
    rewards = torch.tensor([[1.0, -1.0], [-2.0, 2.0], [4.0, -4.0]])[:, None]
    values, movers = torch.tensor([[10.0], [20.0], [30.0]]), torch.tensor([[0], [1], [0]])
    found = recipe("self_play").gae(rewards, values, movers, 0.5, 0.1)[:, 0].tolist()
    last = 4 - 30
    assert found == pytest.approx([1 - 2 + 0.5 * 30 - 10 + 0.5 * 0.1 * last, 2 - 4 - 20, last])


def test_self_play_does_not_learn_from_a_past_self(monkeypatch: pytest.MonkeyPatch) -> None:
    module, masked, learned = recipe("self_play"), recipe("self_play").masked, list[int]()

    def spy(logits: Any, mask: Any) -> Any:
        learned.extend([len(mask)] if logits.requires_grad else [])
        return masked(logits, mask)

    monkeypatch.setattr(module, "masked", spy)
    options = {"total_steps": 160, "num_envs": 8, "epochs": 1, "deals": 2, "progress": False}
    module.main(module.Arguments(past=0.5, **options))
    assert sum(learned) == 160 * 3 / 4, "half of the games are learned from one seat of two"


# --- stable-baselines3 -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("start", ["corners", "open"])
@pytest.mark.parametrize("players", [2, 3, 4])
def test_one_network_plays_any_number_of_players(players: int, start: Any) -> None:
    """Through observations of fixed width; another card in hand, or another form of the game, is not lost on it."""
    from quincunx_agents.torch import NetworkPolicy, PlayNetwork
    from quincunx_env.arena import compare
    from quincunx_env.quincunx.padded import PaddedObserver

    torch.manual_seed(0)
    network = PlayNetwork(PaddedObserver(Rules(), preview=True), width=32)  # made for the solitaire
    torch.nn.init.normal_(network.cell_query.weight)
    observer = PaddedObserver(Rules(num_players=players, start=start), preview=True)
    codec = Codec(Rules(), observation="vector", actions="hand", padded=True, preview=True)
    policy = NetworkPolicy(lambda seen: network(seen)[0], codec)
    played = compare([policy, greedy], Deals(4, "validation"), rules=observer.rules, names=["network", "greedy"])
    assert played.games == 4 * players, "and every play was legal"

    game = Game.from_seed(observer.rules, 3)
    seen = torch.from_numpy(observer.vector(game, 0, by_place=True))[None]
    other = seen.clone()
    other[:, network.slices["form"]] = 1.25
    with torch.no_grad():
        assert network(seen)[0].shape == (1, observer.places.num_actions)
        assert (network(seen)[1] != network(other)[1]).all()


def test_one_network_learns_from_games_of_any_number_of_players() -> None:
    """The fixed width makes all of them environments of one model."""
    from sb3_contrib import MaskablePPO

    from quincunx_agents.torch import QuincunxMaskablePolicy
    from quincunx_env.adapters.sb3 import VsOpponentsVecEnv

    options: dict[str, Any] = {"opponents": greedy, "observation": "vector", "preview": True, "actions": "hand"}
    tables = [VsOpponentsVecEnv(4, rules=[Rules(num_players=players)], **options) for players in (2, 3, 4)]
    model = MaskablePPO(
        QuincunxMaskablePolicy,
        tables[0],
        policy_kwargs={"observer": tables[0].envs.observer, "width": 32},
        n_steps=8,
        batch_size=32,
        n_epochs=1,
        seed=0,
        device="cpu",
    )
    gain: Any = model.policy.mlp_extractor.gain
    for env in tables:
        before = gain.weight.clone()
        model.set_env(env)
        model.learn(64)
        assert (gain.weight != before).any()
        assert gain.weight.isfinite().all()
