"""Without the libraries of training, each script ends in one line with the extra that installs them."""

import runpy
import sys
from pathlib import Path

import pytest

from quincunx_env.utils.extras import KNOWN_AS

ROOT = Path(__file__).parents[2]
LIBRARIES = ("pyspiel", "ray", "sb3_contrib", "stable_baselines3", "torch")
SCRIPTS = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__main__")
    for path in (ROOT / "train").rglob("*.py")
    if '__name__ == "__main__"' in path.read_text(encoding="utf-8")
    and path.stem not in ("regret", "start_value")  # which need none
)


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_missing_library_is_named_with_its_extra(
    script: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for module in [*sys.modules]:
        if module.startswith(("train", "quincunx_agents.torch", "quincunx_env.adapters")):
            monkeypatch.delitem(sys.modules, module)
    for module in {*LIBRARIES, *(each for each in sys.modules if each.partition(".")[0] in LIBRARIES)}:
        monkeypatch.setitem(sys.modules, module, None)  # importing it fails
    with pytest.raises(SystemExit) as end:
        runpy.run_module(script, run_name="__main__")
    assert end.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    library = line.removeprefix("error: this program needs ").partition(":")[0]
    assert library in {KNOWN_AS.get(name, name) for name in LIBRARIES}
    assert line.partition(": pip install ")[2] in {
        f'"quincunx_env[{extra}]"' for extra in ("openspiel", "rllib", "train")
    }


def test_there_are_scripts() -> None:
    assert {"train.ppo", "train.td_lambda", "train.rllib", "train.recipes.self_play"} <= {*SCRIPTS}
