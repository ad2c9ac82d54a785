"""Programs of the page of Ray run, and its commands are valid, as far as can be tested on one machine."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.test_commands import NAMED, ROOT, programs, run, stop_once_read

COMMANDS = {command for command in NAMED if "rllib" in command.split("ARGS")[0]}
PAGE = (ROOT / "docs" / "rllib.md").read_text(encoding="utf-8")


SMALL = """
from ray.rllib.algorithms.ppo import PPOConfig

def build_small(config):
    config.env_runners(num_env_runners=0, num_envs_per_env_runner=2)
    config.training(train_batch_size_per_learner=32, minibatch_size=16, num_epochs=1)
    return build(config)

build, PPOConfig.build_algo = PPOConfig.build_algo, build_small
"""


def test_programs_run(tmp_path: Path) -> None:
    """Both trainings with small batches, then the one that reads a checkpoint. Ray runs in another process."""
    from_checkpoint, solitaire, two_players = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(two_players.splitlines()) == 9
    checkpoint = tmp_path / "runs" / "rllib" / "checkpoints" / "00000001"
    saved, checked = f"algorithm.save_to_path({str(checkpoint)!r})", "assert network.actions == 300"
    program = "\n".join((SMALL, solitaire, saved, two_players, checked, from_checkpoint, "print(len(result.scores))"))
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1:] == ["20"], done.stderr


@pytest.mark.filterwarnings("ignore:.*found in sys.modules.*:RuntimeWarning")
@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_commands_that_need_ray_are_understood(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    for module, *arguments in programs(command):
        if module.startswith("train.") and "rllib" in module:
            with monkeypatch.context() as patch:
                stop_once_read(patch)
                run(module, arguments, patch)


def test_commands_that_need_ray_are_found() -> None:
    assert "make train-rllib" in COMMANDS
    assert [command for command in COMMANDS if "--address auto" in command]
