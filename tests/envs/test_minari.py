"""Datasets of Minari: every mask, games that can be played again, cards, and nothing outside the datasets' folder."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

minari = pytest.importorskip("minari")
pytest.importorskip("h5py")

from quincunx_agents.greedy import greedy  # noqa: E402
from quincunx_env import Rules  # noqa: E402
from quincunx_env.adapters import minari as adapter  # noqa: E402
from quincunx_env.adapters.minari import write_dataset  # noqa: E402

NAME = "quincunx/games-v0"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the datasets, and no other that Minari would choose."""
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "datasets"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "datasets"


def assert_replayed(dataset: Any) -> None:
    """Play every episode again in the recovered environment: masks, observations and rewards are those stored."""
    env = dataset.recover_environment()
    for episode, metadata in zip(dataset, dataset.storage.get_episode_metadata(range(len(dataset))), strict=True):
        observation, _ = env.reset(seed=metadata["seed"])
        steps = len(episode.actions)
        assert len(episode.observations["action_mask"]) == steps + 1
        for step in range(steps + 1):
            for name, piece in observation.items():
                stored = episode.observations[name][step]
                assert stored.dtype == piece.dtype
                np.testing.assert_array_equal(stored, piece)
            if step == steps:
                break
            assert observation["action_mask"][episode.actions[step]] == 1
            observation, reward, terminated, truncated, _ = env.step(episode.actions[step])
            stored_end = episode.rewards[step], episode.terminations[step], episode.truncations[step]
            assert stored_end == (reward, terminated, truncated)
        assert terminated
        assert not episode.observations["action_mask"][-1].any()
        assert episode.observations["action_mask"][:-1].any(axis=1).all()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"observation": "pieces", "preview": False, "seed": 5, "lost_value": -1.5, "rules": {"edge_contact": True}},
        {"rules": Rules(excuse=True, pawns=True, flush=True)},
    ],
    ids=["default", "pieces", "rules"],
)
def test_a_dataset_holds_the_agents_games(options: dict[str, Any], folder: Path) -> None:
    """Read again from its files; greedy loses many rounds, which end early."""
    write_dataset(NAME, "greedy", 8, **options)
    dataset = minari.load_dataset(NAME)
    assert dataset.total_episodes == 8
    assert_replayed(dataset)
    assert len({len(episode.actions) for episode in dataset}) > 1, "rounds of several lengths"
    assert dataset.storage.metadata["algorithm_name"] == "greedy"
    seeds = [metadata["seed"] for metadata in dataset.storage.get_episode_metadata(range(8))]
    assert seeds == [options.get("seed", 0) + episode for episode in range(8)]
    assert [*folder.parent.iterdir()] == [folder], "nothing is written elsewhere"


def test_long_datasets_are_written_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The deals are the same; with an agent without chance the games are, too."""
    whole = write_dataset(NAME, greedy, 5, author="A", author_email="b", code_permalink="c")
    monkeypatch.setattr(adapter, "CHUNK", 2)
    parts = write_dataset("quincunx/chunks-v0", greedy, 5)
    assert parts.total_steps == whole.total_steps
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_array_equal(one.actions, other.actions)
        np.testing.assert_array_equal(one.observations["observation"], other.observations["observation"])
    assert whole.storage.metadata["author"] == {"A"}


def test_the_card_states_the_games_of_the_dataset(folder: Path) -> None:
    dataset = write_dataset(NAME, "heuristic", 6)
    returns = [episode.rewards.sum() for episode in dataset]
    path = folder / NAME / "README.md"
    text = path.read_text(encoding="utf-8")
    assert f"| 6 | {dataset.total_steps} | {np.mean(returns):.1f} | " in text
    assert "`preview=True`" in text
    assert "card id by cell" in text, "the layout of the observations"
    assert adapter.dataset_card(minari.load_dataset(NAME)) == text
    data = pytest.importorskip("huggingface_hub").DatasetCard.load(path).data
    assert data.task_categories == ["reinforcement-learning"]
    assert data.size_categories == ["n<1K"]
    assert "minari" in data.tags


def illegal(observation: Any, mask: Any, rng: Any) -> Any:
    """A policy that plays an illegal action."""
    return mask.argmin(axis=1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("quincunx/games", greedy, 2), "dataset_id must be a name with a version"),
        (("quincunx games-v0", greedy, 2), "dataset_id must be a name with a version"),
        ((NAME, "missing", 2), "missing"),
        ((NAME, greedy, 1), "games must be"),
        ((NAME, illegal, 2), "cannot be played"),
    ],
    ids=["no version", "a space", "no agent", "one game", "illegal"],
)
def test_failures_leave_no_dataset(arguments: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        write_dataset(*arguments)
    assert not minari.list_local_datasets()


def failing(observation: Any, mask: Any, rng: Any) -> Any:
    """A policy that fails after the first chunk of games, whose dataset is written then."""
    if minari.list_local_datasets():
        raise RuntimeError("out of ideas")
    return mask.argmax(axis=1)


def test_an_error_of_the_policy_leaves_no_part_of_a_dataset(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter, "CHUNK", 2)
    with pytest.raises(RuntimeError, match="out of ideas"):
        write_dataset(NAME, failing, 4)
    assert not (folder / NAME).exists()


@pytest.mark.parametrize("fails", [False, True])
def test_a_dataset_that_another_process_makes_meanwhile_stays(fails: bool) -> None:
    def slow(observation: Any, mask: Any, rng: Any) -> Any:
        if not minari.list_local_datasets():
            write_dataset(NAME, greedy, 3)
        return (mask.argmin if fails else mask.argmax)(axis=1)

    with pytest.raises(ValueError, match="cannot be played" if fails else "already a dataset quincunx/games-v0"):
        write_dataset(NAME, slow, 2)
    assert minari.load_dataset(NAME).total_episodes == 3


def test_a_dataset_is_never_replaced() -> None:
    first = write_dataset(NAME, greedy, 3)
    with pytest.raises(ValueError, match="already a dataset quincunx/games-v0: choose another version"):
        write_dataset(NAME, "uniform", 2)
    assert minari.load_dataset(NAME).total_steps == first.total_steps
    assert json.loads((Path(first.storage.data_path) / "metadata.json").read_text())["total_episodes"] == 3
