"""Training on a cluster, started from the command line, continues when a node is lost, and loses no checkpoint."""

import os
import pickle
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.arena.test_tournaments import files
from tests.rllib.conftest import add_node

ROOT = Path(__file__).parents[2]
GAMES = {"the solitaire": ("--num-players 1", "default_policy"), "two players": ("--num-players 2", "main")}
"""Flags, and the module that learns."""

PATIENCE = 600
"""Timeout in seconds of what takes a few on an idle machine."""


class Run:
    """A run of ``train.rllib`` on a cluster, which writes a checkpoint after every iteration.

    Attributes:
        checkpoints: where they are.
    """

    def __init__(self, cluster: Any, folder: Path, flags: str) -> None:
        self.cluster, self.checkpoints = cluster, folder / "storage" / "rllib" / "checkpoints"
        flags += f" --address {cluster.address} --num-env-runners 3 --storage storage --checkpoint-every 1"
        self._log = folder / "log"
        with self._log.open("w") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "train.rllib", *flags.split(), "--no-progress", "--eval-every", "1000"],
                cwd=folder,
                env=os.environ | {"PYTHONPATH": str(ROOT)},
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    @property
    def written(self) -> list[str]:
        """Complete checkpoints. Their state is written last; the latest may still be written."""
        return sorted(path.parent.name for path in self.checkpoints.glob("*/algorithm_state.pkl"))[:-1]

    @property
    def env_runners(self) -> int:
        """Those that are alive."""
        actors = self.cluster.global_state.actor_table(None).values()
        return sum("EnvRunner" in actor["ActorClassName"] and actor["State"] == "ALIVE" for actor in actors)

    def wait(self, until: Callable[[], bool]) -> None:
        """Wait while the run continues."""
        end = time.monotonic() + PATIENCE
        while not until():
            assert self.process.poll() is None, self._log.read_text()[-5000:]
            assert time.monotonic() < end, f"it takes too long\n{self._log.read_text()[-5000:]}"
            time.sleep(0.05)

    def wait_for_further(self, iterations: int) -> None:
        """Wait for so many more complete checkpoints."""
        enough = len(self.written) + iterations
        self.wait(lambda: len(self.written) >= enough)


@contextmanager
def running(cluster: Any, folder: Path, flags: str) -> Iterator[Run]:
    """Start a run, and end it when the block ends."""
    run = Run(cluster, folder, flags)
    try:
        yield run
        run.process.terminate()  # an interrupt is ignored wherever these tests run in the background of a shell
        run.process.wait(PATIENCE)
    finally:
        run.process.kill()
        run.process.wait()


@pytest.mark.parametrize("game", GAMES)
def test_training_continues_when_a_node_is_lost(
    game: str, cluster: Any, lose: Callable[[], None], tmp_path: Path
) -> None:
    flags, module = GAMES[game]
    with running(cluster, tmp_path, f"{flags} --num-envs-per-env-runner 8 --batch-size 256") as run:
        run.wait_for_further(3)
        assert run.env_runners == 3
        before, kept = run.written, files(run.checkpoints)
        kept = {name: content for name, content in kept.items() if Path(name).parts[0] in before}
        lose()
        run.wait(lambda: run.env_runners == 1)
        run.wait_for_further(3)
    assert kept.items() <= files(run.checkpoints).items(), "no checkpoint is lost or changed"
    learner = Path("learner_group", "learner", "rl_module", module, "module_state.pkl")
    networks = [pickle.loads((run.checkpoints / name / learner).read_bytes()) for name in run.written]
    assert all(np.isfinite(weights).all() for network in networks for weights in network.values())
    assert all((one[name] != other[name]).any() for one, other in pairwise(networks) for name in one)


@pytest.mark.slow
@pytest.mark.parametrize("game", GAMES)
def test_a_node_that_joins_takes_over_the_env_runners(
    game: str, cluster: Any, lose: Callable[[], None], tmp_path: Path
) -> None:
    flags = f"{GAMES[game][0]} --num-envs-per-env-runner 32 --batch-size 768"
    with running(cluster, tmp_path, flags) as run:
        run.wait_for_further(1)  # the first iteration waits for the processes to start
        lose()
        run.wait_for_further(8)
        add_node(cluster)
        run.wait(lambda: run.env_runners == 3)
        run.wait_for_further(8)
