"""Without its library, each adapter names the extra that installs it."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("adapter", "library"),
    [
        ("minari", "minari"),
        ("openspiel", "pyspiel"),
        ("rllib", "torch"),
        ("sb3", "stable_baselines3"),
    ],
)
def test_a_missing_library_is_named_with_its_extra(adapter: str, library: str) -> None:
    program = f"import sys\nsys.modules[{library!r}] = None\nimport quincunx_env.adapters.{adapter}"
    error = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False).stderr
    module = f"quincunx_env.adapters.{adapter}"
    expected = f'ModuleNotFoundError: {module} needs {library}: pip install "quincunx_env[{adapter}]"'
    assert error.splitlines()[-1] == expected
