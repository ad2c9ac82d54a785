"""Without its library, each adapter and the networks of PyTorch name the extra that installs it."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("missing", "statement", "error", "extra"),
    [
        *(
            (missing, f"import {module}", f"{module} needs {library}", extra)
            for missing, module, library, extra in (
                ("pyspiel", "quincunx_env.adapters.openspiel", "OpenSpiel", "openspiel"),
                ("torch", "quincunx_env.adapters.rllib", "PyTorch", "rllib"),
                ("stable_baselines3", "quincunx_env.adapters.sb3", "stable-baselines3", "sb3"),
                ("torch", "quincunx_agents.torch", "PyTorch", "train"),
            )
        ),
        (
            *("sb3_contrib", "from quincunx_agents.torch import QuincunxMaskablePolicy"),
            *("QuincunxMaskablePolicy needs sb3-contrib", "sb3"),
        ),
    ],
)
def test_a_missing_library_is_named_with_its_extra(missing: str, statement: str, error: str, extra: str) -> None:
    """People know some libraries by another name than their module's."""
    program = f"import sys\nsys.modules[{missing!r}] = None\n{statement}"
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False).stderr
    assert shown.splitlines()[-1] == f'ModuleNotFoundError: {error}: pip install "quincunx_env[{extra}]"'
