"""Runs of ``train/rllib.py``: results, resumption, the league."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import ray
import tyro
from ray.rllib.core.rl_module.rl_module import RLModule

from quincunx_agents.torch import NetworkPolicy, PolicyNetwork
from quincunx_env.arena import compare, evaluate
from quincunx_env.quincunx.rules import Rules, multiplayer_rules
from quincunx_env.registry import make_observer
from train import rllib as training
from train.common import checkpoint
from train.common.opponents import LEARNER, Matchmaking, league_module, replaced_place
from train.rllib import Arguments, State, main

TINY: dict[str, Any] = {
    "name": "tiny",
    "num_env_runners": 0,
    "num_envs_per_env_runner": 8,
    "rollout": 12,
    "batch_size": 64,
    "total_steps": 350,
    "epochs": 1,
    "eval_every": 2,
    "eval_deals": 20,
    "test_deals": 20,
    "checkpoint_every": 2,
    "progress": False,
}
DUEL = TINY | {
    "rules": multiplayer_rules(2),
    "num_envs_per_env_runner": 4,
    "batch_size": 32,
    "places": 2,
    "promote_every": 2,
    "promote_deals": 4,
}


@pytest.fixture(scope="module", autouse=True)
def started() -> Iterator[None]:
    """Ray on this machine, once for all."""
    ray.init("local", num_cpus=2, include_dashboard=False, logging_level="error", log_to_driver=False)
    yield
    ray.shutdown()


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def states(name: str = "tiny") -> list[dict[str, Any]]:
    """States in the checkpoints, the earliest first."""
    files = sorted(Path("runs", name, "checkpoints").glob("*/.metadata.json"))
    return [json.loads(file.read_text())["state"] for file in files]


Tensors = dict[str, Any]


def networks(arguments: Arguments, algorithm: Any, names: list[str]) -> list[Tensors]:
    """Weights of some modules' networks."""
    found = []
    for agent in training.agents(arguments, algorithm, names):
        network: Any = agent.logits
        assert isinstance(network.__self__, PolicyNetwork)
        found.append(network.__self__.state_dict())
    return found


def trained(arguments: Arguments, algorithm: Any) -> Tensors:
    """Weights of the network that learns."""
    return networks(arguments, algorithm, [arguments.learner])[0]


def same(one: Tensors, other: Tensors) -> bool:
    """Whether these are the same weights."""
    return one.keys() == other.keys() and all(np.array_equal(one[name], other[name]) for name in one)


def agent_in(checkpoint: Path, module: str, rules: Rules) -> NetworkPolicy:
    """The agent in a checkpoint, as the page says."""
    path = checkpoint.resolve() / "learner_group" / "learner" / "rl_module" / module
    network: Any = RLModule.from_checkpoint(path)
    return NetworkPolicy(network.network.forward_actor, make_observer(rules, preview=True))


# --- Runs ------------------------------------------------------------------------------------------------------------


def test_a_run_leaves_a_network_in_its_checkpoint_and_can_be_resumed() -> None:
    facts = main(Arguments(**TINY))
    assert [state["iteration"] for state in states()] == [2, 4]
    assert states()[-1]["steps"] >= TINY["total_steps"]
    assert json.loads(Path("runs/tiny/tiny.json").read_text())["benchmark"] == facts["benchmark"]
    agent = agent_in(max(Path("runs/tiny/checkpoints").iterdir()), "default_policy", Rules())
    assert round(evaluate(agent, TINY["test_deals"]).mean, 4) == facts["benchmark"]["solitaire"]["mean"]
    assert list(Path("runs/tiny/tensorboard").iterdir())

    main(Arguments(**TINY | {"resume": True, "total_steps": 700, "keep": 1}))
    (state,) = states()
    assert state["iteration"] > 4
    assert state["steps"] >= 700
    assert [entry["done"] for entry in state["history"]][:2] == [2, 4]

    with pytest.raises(checkpoint.CheckpointError, match="was started with gamma"):
        main(Arguments(**TINY | {"resume": True, "gamma": 0.9}))
    main(Arguments(**TINY | {"total_steps": 90}))
    assert Path("runs/tiny-1/tiny.json").exists(), "the earlier run is kept"


def test_weights_and_steps_are_restored_from_complete_checkpoints_only() -> None:
    arguments = Arguments(**TINY)
    state = State(members=[])
    algorithm = training.make_config(arguments, state).build_algo()
    folder = Path("runs/tiny/checkpoints")
    algorithm.train()
    state.iteration, state.steps = 1, 96
    training.save_checkpoint(arguments, algorithm, state)
    saved = trained(arguments, algorithm)
    algorithm.train()
    assert not same(trained(arguments, algorithm), saved)
    for name in ("00000002", "00000003"):
        algorithm.save_to_path((folder / name).absolute())  # as if killed before the metadata
    (folder / "00000003/.metadata.json").touch()  # or while they are written
    algorithm.stop()

    again = training.make_config(arguments, training.last_state(arguments)).build_algo()
    assert training.last_state(arguments) == state
    training.restore_checkpoint(arguments, again)
    assert same(trained(arguments, again), saved)
    played = again.env_runner_group.local_env_runner.module.get_state()
    assert all(np.array_equal(played[f"network.{name}"], array) for name, array in saved.items())
    assert again.train()["num_env_steps_sampled_lifetime"] >= 2 * 96, "the steps before count"
    again.stop()

    with pytest.raises(checkpoint.CheckpointError, match="holds checkpoints"):
        training.refuse_existing(arguments)
    (folder / "00000001/.metadata.json").write_text('{"state": {}}')
    with pytest.raises(checkpoint.CheckpointError, match="another version"):
        training.last_state(arguments)
    with pytest.raises(checkpoint.CheckpointError, match="no checkpoint"):
        training.last_state(Arguments(**TINY | {"name": "missing"}))
    with pytest.raises(checkpoint.CheckpointError, match="--storage must be a folder or a URI"):
        training.last_state(Arguments(**TINY | {"storage": "nowhere://bucket"}))


def test_training_continues_when_all_env_runners_are_lost() -> None:
    arguments = Arguments(**TINY | {"num_env_runners": 1})
    algorithm = training.make_config(arguments, State(members=[])).build_algo()
    steps = algorithm.train()["num_env_steps_sampled_lifetime"]
    (env_runner,) = algorithm.env_runner_group._worker_manager.actors().values()
    ray.kill(env_runner, no_restart=False)
    end, found = time.monotonic() + 200, steps
    while found == steps and time.monotonic() < end:  # until Ray has started another, there is nothing to learn from
        found = algorithm.train()["num_env_steps_sampled_lifetime"]
    assert found > steps
    algorithm.stop()


# --- The league ------------------------------------------------------------------------------------------------------


def test_matchmaking_is_consistent_over_the_seats_of_a_game() -> None:
    matchmaking = Matchmaking(players=3, places=2, self_share=0.4)
    lineups = []
    for number in range(600):
        episode = SimpleNamespace(id_=f"episode {number}")
        lineups.append(tuple(matchmaking(f"player_{seat}", episode) for seat in range(3)))
        assert lineups[-1] == tuple(matchmaking(f"player_{seat}", episode) for seat in range(3))
    alone = [lineup for lineup in lineups if set(lineup) == {LEARNER}]
    assert len(alone) / len(lineups) == pytest.approx(0.4, abs=0.1)
    rest = [lineup for lineup in lineups if lineup not in alone]
    assert all(lineup.count(LEARNER) == 1 and len(set(lineup)) == 2 for lineup in rest)
    assert {lineup.index(LEARNER) for lineup in rest} == {0, 1, 2}
    assert {other for lineup in rest for other in lineup} == {LEARNER, league_module(0), league_module(1)}


def test_the_member_that_is_beaten_most_makes_room() -> None:
    assert replaced_place([0.6, 0.9, 0.7], threshold=0.55) == 1
    assert replaced_place([0.6, 0.9, 0.5], threshold=0.55) is None


def test_a_snapshot_joins_the_league_when_it_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = Arguments(**DUEL)
    state = State(members=["initial"] * 2)
    algorithm = training.make_config(arguments, state).build_algo()
    training.copy_learner(algorithm, range(2))
    names = [LEARNER, league_module(0), league_module(1)]
    learner, *members = networks(arguments, algorithm, names)
    assert all(same(learner, member) for member in members), "all have the initial weights"
    algorithm.train()

    monkeypatch.setattr(training, "normalized_win_rates", lambda *args: [0.5, 0.9])
    assert training.promote(arguments, algorithm, state) == {"league": 0.5}
    assert state.members == ["initial"] * 2, "it must beat every member"
    monkeypatch.setattr(training, "normalized_win_rates", lambda *args: [0.6, 0.9])
    state.iteration = 2
    training.promote(arguments, algorithm, state)
    assert state.members == ["initial", "iteration 2"]

    promoted = trained(arguments, algorithm)
    found = networks(arguments, algorithm, names)
    assert not same(promoted, learner)
    assert [same(network, promoted) for network in found] == [True, False, True]
    assert same(found[1], learner)
    algorithm.train()
    found = networks(arguments, algorithm, names)
    assert not same(found[0], promoted), "the learner keeps learning"
    assert same(found[2], promoted), "the snapshot does not change"
    played = algorithm.env_runner_group.local_env_runner.module[league_module(1)].get_state()
    assert all(np.array_equal(played[f"network.{name}"], array) for name, array in promoted.items())
    algorithm.stop()


def test_two_players_are_trained_evaluated_and_resumed() -> None:
    facts = main(Arguments(**DUEL | {"promote_at": 0.0}))
    assert facts["league"] != ["initial"] * 2
    rules = multiplayer_rules(2)
    agent = agent_in(max(Path("runs/tiny/checkpoints").iterdir()), LEARNER, rules)
    games = compare([agent, "heuristic"], TINY["test_deals"], rules=rules, names=["trained", "other"])
    assert round(games.win_rate().value, 4) == facts["benchmark"]["2-corners"]["win_rate"]
    assert 0 < games.even[0] < 1
    again = main(Arguments(**DUEL | {"promote_at": 0.0, "resume": True, "total_steps": 400}))
    assert len(states()) == 2
    assert again["league"] == states()[-1]["members"]


def test_options_of_the_rules_are_flags() -> None:
    assert tyro.cli(Arguments, args=["--edge-contact", "--flush"]).rules == Rules(edge_contact=True, flush=True)
    flags = ["--num-players", "3", "--start", "open", "--pawns"]
    assert tyro.cli(Arguments, args=flags).rules == multiplayer_rules(3, start="open", pawns=True)
