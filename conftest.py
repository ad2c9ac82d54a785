"""Configuration of all tests."""

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


@pytest.fixture(autouse=True)
def no_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep windows off the screen, and frames from waiting."""
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    monkeypatch.setitem(METADATA, "render_fps", 10_000)
