"""Without the libraries of training, each script ends in one line with the extra that installs them."""

import subprocess
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
RUN = f"""
import runpy, sys
sys.modules.update(dict.fromkeys({LIBRARIES}))  # importing them fails
runpy.run_module(sys.argv.pop(), run_name="__main__")
"""


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_missing_library_is_named_with_its_extra(script: str) -> None:
    done = subprocess.run([sys.executable, "-c", RUN, script], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    library = line.removeprefix("error: this program needs ").partition(":")[0]
    assert library in {KNOWN_AS.get(name, name) for name in LIBRARIES}
    assert line.partition(": pip install ")[2] in {
        f'"quincunx_env[{extra}]"' for extra in ("openspiel", "rllib", "train")
    }


def test_there_are_scripts() -> None:
    assert {"train.ppo", "train.td_lambda", "train.rllib", "train.recipes.self_play"} <= {*SCRIPTS}
