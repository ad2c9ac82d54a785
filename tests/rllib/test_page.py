"""Commands and configurations on the pages of Ray are valid, as far as can be tested on one machine."""

import re
import shlex

import pytest
import yaml
from ray.autoscaler._private.util import prepare_config, validate_config

from tests.docs.test_commands import NAMED, ROOT, programs, run, stop_once_read

PAGE = ROOT / "docs" / "ray_clusters.md"
RAYJOB, LAUNCHER = (
    yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
)
COMMANDS = {command for command in NAMED if "rllib" in command.split("ARGS")[0]} | {RAYJOB["spec"]["entrypoint"]}


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
    assert {"make train-rllib", RAYJOB["spec"]["entrypoint"]} < COMMANDS
    assert shlex.split(RAYJOB["spec"]["entrypoint"])[1:3] == ["-m", "train.rllib"]


def test_ray_takes_the_file_for_its_cluster_launcher() -> None:
    validate_config(prepare_config(LAUNCHER))
    with pytest.raises(Exception, match="Additional properties"):
        validate_config(prepare_config(LAUNCHER | {"setup": []}))
