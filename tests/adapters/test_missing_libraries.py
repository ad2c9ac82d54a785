"""Without its library, each adapter names the extra that installs it."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("adapter", "names"),
    [
        ("openspiel", "pyspiel OpenSpiel"),
        ("rllib", "torch PyTorch"),
        ("sb3", "stable_baselines3 stable-baselines3"),
    ],
)
def test_a_missing_library_is_named_with_its_extra(adapter: str, names: str) -> None:
    """People know some libraries by another name than their module's."""
    module_name, library = names.split()
    program = f"import sys\nsys.modules[{module_name!r}] = None\nimport quincunx_env.adapters.{adapter}"
    error = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False).stderr
    module = f"quincunx_env.adapters.{adapter}"
    expected = f'ModuleNotFoundError: {module} needs {library}: pip install "quincunx_env[{adapter}]"'
    assert error.splitlines()[-1] == expected
