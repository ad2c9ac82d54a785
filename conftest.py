"""Configuration of all tests."""

import signal
from importlib.util import find_spec

import pytest

from quincunx_env.envs.common import METADATA

collect_ignore = (
    []
    if find_spec("ray")
    else [
        *("tests/rllib", "quincunx_env/adapters/rllib.py", "agents/quincunx_agents/torch/rllib_module.py"),
    ]
)
"""Without Ray, which has a virtual environment of its own (`make test-rllib`), these are not collected."""

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    # A shell ignores it for programs that it starts in the background; tests of interrupts send it.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def no_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep windows off the screen, and frames from waiting."""
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    monkeypatch.setitem(METADATA, "render_fps", 10_000)
