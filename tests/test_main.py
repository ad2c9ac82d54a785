"""``python -m quincunx_env`` describes the installation, and programs name the extra they need."""

import re
import runpy
import sys
from importlib.metadata import EntryPoint, PackageNotFoundError

import gymnasium
import pytest

import quincunx_env
from quincunx_env import __main__ as overview
from quincunx_env.policies import registered_policies


def overview_text(capsys: pytest.CaptureFixture[str]) -> str:
    overview.main()
    text = capsys.readouterr().out
    assert all(len(line) <= 120 for line in text.splitlines())
    return text


def test_the_overview(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        overview,
        "requires",
        lambda package: [
            "numpy>=2.0",
            'numpy; extra == "arena"',
            "numpy; extra == 'play'",
            "none-such; extra == 'play'",
        ],
    )
    text = overview_text(capsys)
    assert all(name in text for name in gymnasium.registry if name.startswith("Quincunx/"))
    assert all(name in text for name in registered_policies())
    assert "  arena     installed\n" in text
    assert '  play      missing none-such: pip install "quincunx_env[play]"\n' in text
    assert all(hasattr(quincunx_env, name) for name in re.findall(r"quincunx_env\.(\w+)[.(]", text))


def test_agents_of_other_packages_are_listed_without_being_imported(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An entry point that cannot be loaded does no harm."""
    broken = EntryPoint("broken", "no_such_package.module:policy", "quincunx_env.policies")
    monkeypatch.setattr(overview, "registered_policies", lambda: registered_policies() | {"broken": broken})
    text = overview_text(capsys)
    assert "  no_such_package: broken\n" in text
    assert "  quincunx_agents: " in text


def test_the_overview_takes_no_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        overview.main(["nonsense"])
    assert end.value.code == 2
    assert "python -m quincunx_env: error: unrecognized arguments: nonsense" in capsys.readouterr().err


def test_the_overview_without_an_installation(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def requires(package: str) -> list[str]:
        raise PackageNotFoundError(package)

    monkeypatch.setattr(overview, "requires", requires)
    monkeypatch.setattr(overview, "registered_policies", dict)
    text = overview_text(capsys)
    assert '"module:attribute"' in text
    assert "the package is not installed: pip install ." in text


@pytest.mark.parametrize("program", ["play", "arena", "oracle"])
def test_programs_without_their_libraries_say_how_to_get_them(
    program: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "tyro", None)
    monkeypatch.delitem(sys.modules, f"quincunx_env.{program}.__main__", raising=False)
    with pytest.raises(SystemExit) as error:
        runpy.run_module(f"quincunx_env.{program}.__main__")
    extra = "play" if program == "play" else "arena"
    assert f'needs tyro: pip install "quincunx_env[{extra}]"' in f"{error.value}{capsys.readouterr().err}"
