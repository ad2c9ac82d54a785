"""Runs of ``train/rllib.py``: results, checkpoints, several players."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import ray
import tyro
from ray.rllib.core.rl_module.rl_module import RLModule

from quincunx_agents.torch import NetworkPolicy
from quincunx_env.arena import compare, evaluate
from quincunx_env.codec import Codec
from quincunx_env.quincunx.rules import Rules, multiplayer_rules
from train import rllib as training
from train.common.options import CheckpointError, OptionError
from train.rllib import Arguments, main

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
PAIR = TINY | {"rules": multiplayer_rules(2), "num_envs_per_env_runner": 4, "batch_size": 32}


@pytest.fixture(scope="module", autouse=True)
def started() -> Iterator[None]:
    """Ray on this machine, once for all."""
    ray.init("local", num_cpus=2, include_dashboard=False, logging_level="error", log_to_driver=False)
    yield
    ray.shutdown()


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def checkpoints(storage: str = "runs") -> list[Path]:
    """The checkpoints of the run, the earliest first."""
    return sorted(Path(storage, "tiny", "checkpoints").resolve().iterdir())


def weights(algorithm: Any) -> dict[str, Any]:
    """Weights of the network that learns."""
    [found] = algorithm.learner_group.get_weights().values()
    return dict(found)


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether these are the same weights."""
    return one.keys() == other.keys() and all(np.array_equal(one[name], other[name]) for name in one)


def agent_in(checkpoint: Path, module: str, rules: Rules) -> NetworkPolicy:
    """The agent in a checkpoint, as the page says."""
    path = checkpoint / "learner_group" / "learner" / "rl_module" / module
    network: Any = RLModule.from_checkpoint(path)
    codec = Codec(rules, observation="vector", actions="hand", preview=True)
    return NetworkPolicy(lambda vectors: network.network(vectors)[0], codec)


# --- Runs ------------------------------------------------------------------------------------------------------------


def test_a_run_leaves_a_network_in_its_checkpoint_and_continues_from_it() -> None:
    facts = main(Arguments(**TINY))
    assert [path.name for path in checkpoints()] == ["00000002", "00000004"]
    half, steps = (entry["steps"] for entry in facts["validation"])
    assert (2 * 96 <= half < 2 * 104, 4 * 96 <= steps < 4 * 104) == (True, True), "a reset is not a step"
    assert facts["steps"] == steps
    assert json.loads(Path("runs/tiny/tiny.json").read_text())["benchmark"] == facts["benchmark"]
    agent = agent_in(checkpoints()[-1], "default_policy", Rules())
    assert round(evaluate(agent, TINY["test_deals"]).mean, 4) == facts["benchmark"]["solitaire"]["mean"]
    assert list(Path("runs/tiny/tensorboard").iterdir())

    again = main(Arguments(**TINY | {"restore": str(checkpoints()[0]), "total_steps": 500}))
    assert [path.name for path in checkpoints()] == ["00000002", "00000004", "00000006"]
    assert [entry["done"] for entry in again["validation"]] == [4, 6]
    assert again["validation"][0]["steps"] > 2 * 96, "the steps before count"
    main(Arguments(**TINY | {"total_steps": 90}))
    assert Path("runs/tiny-1/tiny.json").exists(), "the earlier run is kept"


@pytest.mark.parametrize("as_uri", [False, True])
def test_weights_are_restored_in_the_learner_and_in_the_env_runners(as_uri: bool, tmp_path: Path) -> None:
    """RLlib itself gives the weights to env runners only if the checkpoint is in a local folder."""
    storage = tmp_path.as_uri() if as_uri else str(tmp_path)
    arguments = Arguments(**TINY | {"storage": storage})
    algorithm = training.make_config(arguments).build_algo()
    algorithm.train()
    path = f"{training.checkpoint_folder(arguments)}/00000001"
    algorithm.save_to_path(path)
    saved = weights(algorithm)
    algorithm.train()
    assert not same(weights(algorithm), saved)
    algorithm.stop()

    again = training.make_config(arguments).build_algo()
    training.restore(again, path)
    assert same(weights(again), saved)
    assert again.iteration == 1
    assert training.steps_of(again) == 96
    played = again.env_runner_group.local_env_runner.module.get_state()
    assert all(np.array_equal(played[name], array) for name, array in saved.items())
    again.train()
    assert training.steps_of(again) == 2 * 96
    again.stop()

    with pytest.raises(CheckpointError, match="holds checkpoints: --restore one of them"):
        main(arguments)


def test_a_checkpoint_that_cannot_be_used_is_refused() -> None:
    algorithm = training.make_config(Arguments(**TINY)).build_algo()
    whole = Path("checkpoint").resolve()
    algorithm.save_to_path(whole)
    with pytest.raises(CheckpointError, match="--restore missing is not a whole checkpoint"):
        training.restore(algorithm, "missing")
    state = whole / "algorithm_state.pkl"
    state.write_bytes(state.read_bytes()[:-1])  # as if killed while it was written
    with pytest.raises(CheckpointError, match="name an earlier one"):
        training.restore(algorithm, "checkpoint")
    algorithm.stop()
    with pytest.raises(CheckpointError, match="--storage must be a folder or a URI"):
        main(Arguments(**TINY | {"storage": "nowhere://bucket"}))


def test_rules_with_announcements_are_refused() -> None:
    with pytest.raises(OptionError, match="--simpleton: the network does not announce points"):
        Arguments(rules=Rules(num_players=2, simpleton=True))


def test_training_continues_when_all_env_runners_are_lost() -> None:
    arguments = Arguments(**TINY | {"num_env_runners": 1})
    algorithm = training.make_config(arguments).build_algo()
    steps = algorithm.train()["num_env_steps_sampled_lifetime"]
    (env_runner,) = algorithm.env_runner_group._worker_manager.actors().values()
    ray.kill(env_runner, no_restart=False)
    end, found = time.monotonic() + 200, steps
    while found == steps and time.monotonic() < end:  # until Ray has started another, there is nothing to learn from
        found = algorithm.train()["num_env_steps_sampled_lifetime"]
    assert found > steps
    algorithm.stop()


# --- Several players -------------------------------------------------------------------------------------------------


def test_two_players_share_the_policy_that_is_trained() -> None:
    facts = main(Arguments(**PAIR))
    assert facts["steps"] == 4 * 48 + 4 * 48
    rules = multiplayer_rules(2)
    agent = agent_in(checkpoints()[-1], "main", rules)
    games = compare([agent, "heuristic"], TINY["test_deals"], rules=rules, names=["trained", "other"])
    assert round(games.win_rate().value, 4) == facts["benchmark"]["2-corners"]["win_rate"]


def test_options_of_the_rules_are_flags() -> None:
    assert tyro.cli(Arguments, args=["--edge-contact", "--flush"]).rules == Rules(edge_contact=True, flush=True)
    flags = ["--num-players", "3", "--start", "open", "--pawns"]
    assert tyro.cli(Arguments, args=flags).rules == multiplayer_rules(3, start="open", pawns=True)
