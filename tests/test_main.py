"""``python -m quincunx_env`` tells the truth about the installation."""

import runpy
import sys
from importlib.metadata import PackageNotFoundError

import gymnasium
import pytest

from quincunx_env import __main__ as welcome
from quincunx_env.policies import registered_policies


def test_the_welcome(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        welcome,
        "requires",
        lambda package: [
            "numpy>=2.0",
            'numpy; extra == "arena"',
            "numpy; extra == 'play'",
            "none-such; extra == 'play'",
        ],
    )
    welcome.main()
    text = capsys.readouterr().out
    assert all(name in text for name in gymnasium.registry if name.startswith("Quincunx/"))
    assert all(name in text for name in registered_policies())
    assert "  arena     installed\n" in text
    assert '  play      lacks none-such: pip install "quincunx_env[play]"\n' in text
    assert "make train" in text
    assert all(len(line) <= 120 for line in text.splitlines())


def test_the_welcome_without_checkout_and_installation(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def requires(package: str) -> list[str]:
        raise PackageNotFoundError(package)

    monkeypatch.setattr(welcome, "requires", requires)
    monkeypatch.setattr(welcome, "registered_policies", dict)
    welcome.main()
    text = capsys.readouterr().out
    assert "any policy is named as module:attribute" in text
    assert "the package itself is not installed: pip install ." in text
    assert "make train" not in text


@pytest.mark.parametrize("program", ["play", "arena"])
def test_programs_without_their_libraries_say_how_to_get_them(program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tyro", None)
    monkeypatch.delitem(sys.modules, f"quincunx_env.{program}.__main__", raising=False)
    with pytest.raises(SystemExit) as error:
        runpy.run_module(f"quincunx_env.{program}.__main__")
    assert f'needs tyro: pip install "quincunx_env[{program}]"' in str(error.value)
