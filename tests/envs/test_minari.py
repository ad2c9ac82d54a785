"""Datasets of Minari: every mask, games that can be played again, and nothing outside the datasets' folder."""

import json
import sys
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gymnasium
import numpy as np
import pytest

minari = pytest.importorskip("minari")
pytest.importorskip("h5py")

from quincunx_agents.greedy import greedy  # noqa: E402
from quincunx_env import Rules  # noqa: E402
from quincunx_env.adapters import minari as adapter  # noqa: E402
from quincunx_env.adapters.minari import write_dataset  # noqa: E402
from quincunx_env.arena.benchmark import TASKS  # noqa: E402
from quincunx_env.arena.statistics import Estimate  # noqa: E402
from quincunx_env.spiral.rules import Rules as SpiralRules  # noqa: E402

NAME = "quincunx/games-v0"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the datasets, and no other that Minari would choose."""
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "datasets"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "datasets"


def assert_replayed(dataset: Any, players: int = 1) -> None:
    """Play every episode again in the recovered environment: masks, observations and rewards are those stored."""
    seats = [dataset.recover_environment(**({"seat": seat} if players > 1 else {})) for seat in range(players)]
    for episode, metadata in zip(dataset, dataset.storage.get_episode_metadata(range(len(dataset))), strict=True):
        env = seats[episode.id % players]
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


@pytest.mark.parametrize(
    ("options", "margin"),
    [
        ({"rules": {"num_players": 2}}, -174.0975),
        ({"rules": {"num_players": 3, "flush": True}, "observation": "pieces", "preview": False, "seed": 5}, None),
        ({"rules": SpiralRules()}, -43.756),
    ],
    ids=["two", "three", "spiral"],
)
def test_each_seat_has_an_episode(options: dict[str, Any], margin: float | None) -> None:
    """A game's episodes are in the order of the seats; scores are returns against the reference of the benchmark."""
    dataset = write_dataset(NAME, "greedy", 3, **options)
    seats = dataset.recover_environment().unwrapped.rules.num_players
    assert dataset.total_episodes == 3 * seats
    assert_replayed(dataset, seats)
    returns = np.array([episode.rewards.sum() for episode in dataset]).reshape(3, seats)
    np.testing.assert_allclose(returns.sum(axis=1), 0, atol=1e-9)  # margins of one game
    seeds = [metadata["seed"] for metadata in dataset.storage.get_episode_metadata(range(3 * seats))]
    assert seeds == [options.get("seed", 0) + game for game in range(3) for _ in range(seats)]
    if margin is None:
        with pytest.raises(ValueError, match="Reference score not provided"):
            minari.get_normalized_score(dataset, np.array(0.0))
    else:
        np.testing.assert_allclose(minari.get_normalized_score(dataset, np.array([margin, 0.0])), [0, 1])
        assert dataset.recover_environment(eval_env=True).spec.kwargs["opponents"] == "heuristic"


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


def test_scores_are_normalised_as_in_the_benchmark() -> None:
    """0 for uniform play, 1 for the heuristic; a lost round of the stored scores counts 0, here ``lost_value``."""
    stored = TASKS["solitaire"].normalised
    dataset = write_dataset(NAME, "uniform", 2)
    for score in (0.0, 129.552):
        assert minari.get_normalized_score(dataset, np.array(score)) == pytest.approx(stored(Estimate(*[score] * 3))[0])
    assert minari.get_normalized_score(dataset, np.array(129.552)) == pytest.approx(1)
    lost = write_dataset("quincunx/lost-v0", "uniform", 100, lost_value=-100.0)
    returns = np.array([episode.rewards.sum() for episode in lost])
    assert abs(minari.get_normalized_score(lost, returns).mean()) < 4 * returns.std() / 100**0.5 / 190
    other = write_dataset("quincunx/rules-v0", "uniform", 2, rules={"flush": True})
    with pytest.raises(ValueError, match="Reference score not provided"):
        minari.get_normalized_score(other, np.array(0.0))


class MaskAlone(minari.StepDataCallback):  # type: ignore[misc, name-defined]  # Minari comes without types
    """Leaves out the entries that only the last info has."""

    def __call__(self, env: Any, **step: Any) -> Any:
        """Return the data of a step for the recorder."""
        data = super().__call__(env, **step)
        return data | {"info": {"action_mask": data["info"]["action_mask"]}}


def tree_map(function: Any, tree: Any, *others: Any) -> Any:
    """The `tree_map` of JAX, for dictionaries."""
    if not isinstance(tree, dict):
        return function(tree, *others)
    if any(tree.keys() != other.keys() for other in others):
        raise ValueError("different numbers of pytree children")
    return {name: tree_map(function, each, *(other[name] for other in others)) for name, each in tree.items()}


@pytest.mark.filterwarnings("ignore:.*is set to None:UserWarning")
@pytest.mark.parametrize(
    ("callback", "error"), [(minari.StepDataCallback, "different numbers of pytree children"), (MaskAlone, None)]
)
def test_a_recorder_of_infos_keeps_the_mask_alone(
    callback: Any, error: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Minari's own recorder needs the same entries in every info. It uses one function of JAX, which is large."""
    jax = SimpleNamespace(tree_util=SimpleNamespace(tree_map=tree_map))
    monkeypatch.setitem(sys.modules, "jax", jax)
    monkeypatch.setitem(sys.modules, "jax.tree_util", jax.tree_util)
    env = minari.DataCollector(
        gymnasium.make("Quincunx/Solitaire-v0", observation="flat"), step_data_callback=callback, record_infos=True
    )
    masks, folders = [], [env._tmp_dir]  # which Minari leaves to the garbage collector
    with pytest.raises(ValueError, match=error) if error else nullcontext():
        over, info = False, env.reset(seed=0)[1]
        while not over:
            masks.append(info["action_mask"])
            _, _, over, _, info = env.step(masks[-1].argmax())
    if not error:
        [episode] = env.create_dataset("quincunx/infos-v0")
        np.testing.assert_array_equal(episode.infos["action_mask"], [*masks, np.zeros_like(masks[0])])
    for folder in [*folders, env._tmp_dir]:
        folder.cleanup()


def illegal(observation: Any, mask: Any, rng: Any) -> Any:
    """A policy that plays an illegal action."""
    return mask.argmin(axis=1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("quincunx/games", greedy, 2), "dataset_id 'quincunx/games' has no version"),
        (("quincunx games-v0", greedy, 2), "refuses the dataset_id 'quincunx games-v0': it must be like 'name-v0'"),
        (("q/a-v0", greedy, 2), "refuses the dataset_id 'q/a-v0': .* a namespace of at least two"),
        ((NAME, "missing", 2), "missing"),
        ((NAME, greedy, 1), "games must be"),
        ((NAME, illegal, 2), "cannot be played"),
        ((NAME, greedy, 2, Rules(num_players=2), -1.0), "lost_value is an option of the solitaire"),
        ((NAME, greedy, 2, {"num_players": 5}), "num_players"),
        ((NAME, greedy, 2, [Rules()]), "all games of a dataset have the same rules"),
    ],
    ids=[
        "no version",
        "a space",
        "one letter",
        "no agent",
        "one game",
        "illegal",
        "lost value",
        "players",
        "several rules",
    ],
)
def test_failures_leave_no_dataset(arguments: Any, message: str) -> None:
    names = ("dataset_id", "agent", "games", "rules", "lost_value")
    with pytest.raises(ValueError, match=message):
        write_dataset(**dict(zip(names, arguments, strict=False)))
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
