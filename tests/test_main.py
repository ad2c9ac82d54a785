"""The command ``quincunx``."""

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
    overview.main([])
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


def ended(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[object, str, str]:
    """The exit status of a command, and what it prints."""
    with pytest.raises(SystemExit) as end:
        overview.main(arguments)
    return end.value.code, *capsys.readouterr()


def test_an_unknown_command_names_the_nearest_and_all(capsys: pytest.CaptureFixture[str]) -> None:
    known = f"the commands are {', '.join(overview.COMMANDS)}\n"
    assert ended(capsys, "evalaute", "greedy") == (
        *(2, ""),
        f"error: quincunx has no command 'evalaute': did you mean 'evaluate'? {known}",
    )
    assert ended(capsys, "bridge") == (2, "", f"error: quincunx has no command 'bridge': {known}")


def test_options_of_the_command_itself(capsys: pytest.CaptureFixture[str]) -> None:
    assert ended(capsys, "--version") == (0, f"quincunx_env {quincunx_env.__version__}\n", "")
    status, text, _ = ended(capsys, "--help")
    assert status == 0
    assert text.startswith("usage: quincunx [-h] [--version] [command] ...\n")
    for name, command in overview.COMMANDS.items():
        assert re.search(rf"^  {name} +{re.escape(command.summary)}$", text, re.MULTILINE)
    status, _, error = ended(capsys, "--nonsense")
    assert status == 2
    assert error.endswith("quincunx: error: unrecognized arguments: --nonsense\n")


@pytest.mark.parametrize("name", overview.COMMANDS)
def test_every_command_has_its_own_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("tyro")
    status, text, _ = ended(capsys, name, "--help")
    assert status == 0
    assert text.startswith(f"usage: quincunx {name} [-h]")


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
