"""Commands of the page of Ray are valid, as far as can be tested on one machine."""

import pytest

from tests.docs.test_commands import NAMED, ROOT, programs, run, stop_once_read

COMMANDS = {command for command in NAMED if "rllib" in command.split("ARGS")[0]}


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
