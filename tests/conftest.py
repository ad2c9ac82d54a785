"""What holds for all tests."""

import pytest

from quincunx_env.envs.common import METADATA


@pytest.fixture(autouse=True)
def no_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test opens a window that somebody could see, or waits to be watched."""
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    monkeypatch.setitem(METADATA, "render_fps", 10_000)
