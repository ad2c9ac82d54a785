"""Tournaments and evaluations on a Ray cluster: the same games, also when a node is lost."""

import json
import re
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import ray

from quincunx_agents.greedy import greedy
from quincunx_env.arena import Run, evaluate_all, tournament
from quincunx_env.cli import main
from tests.arena.test_tournaments import THREE, files, same, small


@dataclass(frozen=True)
class Seen:
    """Greedy play that takes its time, and leaves a file for the node that it happens on."""

    folder: Path

    def __call__(self, observation: Any, mask: npt.NDArray[Any], rng: np.random.Generator) -> npt.NDArray[np.int64]:
        """Play as greedy does."""
        (self.folder / ray.get_runtime_context().get_node_id()).touch()
        time.sleep(0.02)
        return greedy(observation, mask, rng)


def test_a_cluster_makes_no_difference_even_if_a_node_is_lost(
    cluster: Any, lose: Callable[[], None], tmp_path: Path
) -> None:
    alone = tournament(THREE, **small(out=tmp_path / "alone"))
    seen = tmp_path / "seen"
    seen.mkdir()
    before: list[Path] = []

    def lose_it_in_the_middle(jobs: Iterable[Any]) -> Iterator[Any]:
        for number, job in enumerate(jobs):
            if number == 5:
                before.extend(seen.iterdir())
                lose()
            yield job

    there = tournament(
        THREE | {"greedy": Seen(seen)},
        **small(out=tmp_path / "there", ray=cluster.address, progress=lose_it_in_the_middle),
    )
    assert len(before) == 2, "both nodes had played"
    assert same(there, alone)
    assert there.to_json() == alone.to_json()
    assert not ray.is_initialized(), "the connection was the tournament's own"

    def games(folder: Path) -> dict[str, bytes]:
        """By the names of the files without their digests: one policy is defined in two places."""
        found = {name: content for name, content in files(folder).items() if name.endswith(".npz")}
        return {re.sub(r"\.[0-9a-f]{16}\.", ".", name): content for name, content in found.items()}

    assert games(tmp_path / "there") == games(tmp_path / "alone")


def test_the_command_line_names_a_cluster(cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    command = "evaluate greedy uniform --deals 11 --chunk 3 --out"
    main([*command.split(), "there", "--ray", cluster.address, "--records", "there.npz"])
    main([*command.split(), "here", "--workers", "1", "--records", "here.npz"])
    there, here = (json.loads(Path(folder, "result.json").read_text()) for folder in ("there", "here"))
    assert there["evaluations"] == here["evaluations"]
    assert Path("there.npz").read_bytes() == Path("here.npz").read_bytes()


def test_errors_are_told_as_they_are_without_a_cluster(cluster: Any) -> None:
    with pytest.raises(ValueError, match="has the wrong arguments"):
        evaluate_all(["builtins:len"], 2, run=Run(ray=cluster.address))
    assert not ray.is_initialized()


def test_an_address_that_is_none_is_refused_by_ray() -> None:
    with pytest.raises(ConnectionError, match="no connection to a Ray cluster at nonsense: "):
        evaluate_all(["greedy"], 2, run=Run(ray="nonsense"))
    assert not ray.is_initialized()
