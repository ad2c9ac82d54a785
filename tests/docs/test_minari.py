"""The lines of ``docs/libraries.md`` that record a dataset with Minari, as printed there."""

import os
import subprocess
import sys
from pathlib import Path

import gymnasium
import numpy as np
import pytest

minari = pytest.importorskip("minari")
pytest.importorskip("h5py")

PAGE = (Path(__file__).parents[2] / "docs" / "libraries.md").read_text(encoding="utf-8")
RECIPE = PAGE.partition("## Minari\n")[2].partition("```python\n")[2].partition("```")[0]
EPISODES = 8


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the datasets that the recipe records, of a few episodes each, without JAX."""
    folder = tmp_path_factory.mktemp("minari")
    own = {"MINARI_DATASETS_PATH": str(folder / "datasets")}
    program = "import sys; sys.modules['jax'] = None\n" + RECIPE.replace("range(100)", f"range({EPISODES})")
    subprocess.run([sys.executable, "-W", "ignore", "-c", program], env={**os.environ, **own}, check=True)
    return folder / "datasets"


def test_the_recipe_is_short() -> None:
    assert 0 < len([line for line in RECIPE.splitlines() if line]) <= 20


@pytest.mark.parametrize("name", ["SolitaireMasked-v0", "VsOpponentsMasked-v0"])
def test_a_recorded_dataset_has_masks_and_returns(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every action is legal under the mask beside it; the same actions bring the same return in a new environment."""
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(folder))
    dataset = minari.load_dataset(f"quincunx/{name}")
    assert dataset.total_episodes == EPISODES
    env = gymnasium.make(f"quincunx_env:Quincunx/{name}", actions="joint", illegal="raise")
    returns = []
    for episode, metadata in zip(dataset, dataset.storage.get_episode_metadata(range(EPISODES)), strict=True):
        masks, steps = episode.observations["action_mask"], len(episode.actions)
        assert masks[np.arange(steps), episode.actions].all()
        assert not masks[steps].any()
        observation, over = env.reset(seed=metadata["seed"])[0], False
        for step, action in enumerate(episode.actions):
            assert not over
            np.testing.assert_array_equal(masks[step], observation["action_mask"])
            np.testing.assert_array_equal(episode.observations["observation"][step], observation["observation"])
            observation, reward, over, _, info = env.step(action)
            assert (episode.rewards[step], episode.terminations[step]) == (reward, over)
        assert over
        assert episode.rewards.sum() == info["value"]
        returns.append(info["value"])
    assert len({*returns}) > EPISODES / 2
    assert [metadata["seed"] for metadata in dataset.storage.get_episode_metadata(range(EPISODES))] == [
        *range(EPISODES)
    ]
