"""Configuration of all tests."""

import signal
from collections import defaultdict
from collections.abc import Generator, Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from quincunx_env.envs.renderer import METADATA

ROOT = Path(__file__).parent

NEEDS = {
    "ray": ("tests/rllib", "quincunx_env/adapters/rllib.py", "agents/quincunx_agents/torch/rllib_module.py"),
    "playwright": ("tests/web", "docs/generate.py"),
    "openenv": ("tests/openenv", "train/recipes/openenv_server.py"),
    "verifiers": ("tests/verifiers", "train/recipes/verifiers_game.py", "train/recipes/verifiers_tasks.py"),
    "pyspiel": ("tests/openspiel", "quincunx_env/adapters/openspiel.py"),
    "sphinx": ("docs/conf.py",),
    "stable_baselines3": (
        "quincunx_env/adapters/sb3.py",
        "agents/quincunx_agents/files/sb3.py",
        "agents/quincunx_agents/torch",
    ),
    "fcntl": (  # of the standard library, not on Windows: signals and process groups
        *("tests/arena/test_processes.py", "tests/utils/test_files.py", "tests/packaging"),
        *("tests/play/test_console.py", "tests/train/test_command_lines.py", "tests/train/test_interruptions.py"),
    ),
}
"""Paths by a library that they import. Other tests name it themselves: `pytest.importorskip`."""

MISSING = {ROOT / path: library for library, paths in NEEDS.items() if find_spec(library) is None for path in paths}

SKIPPED = "quincunx/skipped"
"""Entry of pytest's cache: what the last run skipped."""

collect_ignore = ["docs/quick_start.py"]  # a script, which trains when it is imported

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    # A shell ignores it for programs that it starts in the background; tests of interrupts send it.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def no_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep windows off the screen, and frames from waiting."""
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    monkeypatch.setitem(METADATA, "render_fps", 10_000)


class Unimportable(pytest.File):
    """A module without tests for want of a library."""

    def collect(self) -> Iterable[pytest.Item]:
        """Report the module as skipped."""
        [library] = (MISSING[path] for path in (self.path, *self.path.parents) if path in MISSING)
        pytest.skip(f"{self.path.relative_to(ROOT)} needs {library}")


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> Generator[None, Any, Any]:
    """Report modules as skipped whose libraries are missing."""
    collectors = yield
    if collectors and not MISSING.keys().isdisjoint((file_path, *file_path.parents)):
        named = file_path.name not in ("__init__.py", "conftest.py")
        return [Unimportable.from_parent(parent, path=file_path)] if named else []
    return collectors


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare options; pytest calls this."""
    parser.addoption("--at-most", type=int, metavar="N", help="run at most N sets of parameters of each test function")
    parser.addoption("--skipped", action="store_true", help="run what the last run skipped")


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Keep the names of skipped modules and tests for ``--skipped``."""
    if cache := getattr(config, "cache", None):  # None with -p no:cacheprovider
        cache.set(SKIPPED, sorted({report.nodeid for report in terminalreporter.getreports("skipped")}))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep what was skipped, or sets of parameters in even distances from the first."""
    if config.getoption("--skipped"):
        assert config.cache
        names = {*config.cache.get(SKIPPED, [])}
        items[:] = [item for item in items if names & {item.nodeid, item.nodeid.partition("::")[0]}]
    if limit := config.getoption("--at-most"):
        functions = defaultdict[str, list[pytest.Item]](list)  # shuffled tests do not stand together
        for item in items:
            functions[item.nodeid.partition("[")[0]].append(item)
        items[:] = [test for tests in functions.values() for test in tests[:: -(-len(tests) // limit)]]
