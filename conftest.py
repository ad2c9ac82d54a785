"""Configuration of all tests."""

import signal
from importlib.util import find_spec
from itertools import groupby

import pytest

from quincunx_env.envs.common import METADATA

NEEDS = {
    "ray": ("tests/rllib", "quincunx_env/adapters/rllib.py", "agents/quincunx_agents/torch/rllib_module.py"),
    "playwright": ("tests/web",),
    "openenv": ("tests/openenv", "quincunx_env/adapters/openenv.py"),
    "pyspiel": ("tests/openspiel", "quincunx_env/adapters/openspiel.py"),
    "stable_baselines3": ("quincunx_env/adapters/sb3.py", "agents/quincunx_agents/torch"),
    "fcntl": (  # of the standard library, not on Windows: signals and process groups
        *("tests/arena/test_processes.py", "tests/utils/test_files.py", "tests/packaging"),
        *("tests/play/test_console.py", "tests/train/test_command_lines.py", "tests/train/test_interruptions.py"),
    ),
}
"""Paths by a library that they need."""

collect_ignore = [path for library, paths in NEEDS.items() if find_spec(library) is None for path in paths]
"""Not collected, for want of a library. `make test-rllib`, `make test-text` and `make test-openspiel` have these."""

collect_ignore.append("docs/quick_start.py")  # a script, which trains when it is imported

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    # A shell ignores it for programs that it starts in the background; tests of interrupts send it.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def no_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep windows off the screen, and frames from waiting."""
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    monkeypatch.setitem(METADATA, "render_fps", 10_000)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Called by pytest."""
    parser.addoption("--at-most", type=int, metavar="N", help="run at most N sets of parameters of each test function")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep sets of parameters in even distances, the first among them."""
    if limit := config.getoption("--at-most"):
        functions = [[*tests] for _, tests in groupby(items, key=lambda item: item.nodeid.partition("[")[0])]
        items[:] = [test for tests in functions for test in tests[:: -(-len(tests) // limit)]]
