"""The commands in the documentation exist, and their flags are right.

Every ``quincunx ...``, ``python -m ...`` and ``make ...`` on a page is checked: its program parses the command line and
stops. Those of the README are run completely, with a small budget appended where they would take minutes.
"""

import argparse
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    {*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")} - {ROOT / "CHANGELOG.md"}
)  # it names commands of the past
COMMAND = re.compile(
    r"^    ((?:make|python -m|quincunx)(?= |$)(?:.*\\\n)*.*)$"  # indented, a backslash joins lines
    r"|`((?:make|python -m|quincunx) [^`]+)`",
    re.MULTILINE,
)

SMALL = {
    "train.ppo": "--total-steps 128 --num-envs 8 --rollout 16 --batch-size 64 --eval-every 128 --eval-deals 4 "
    "--test-deals 4 --no-progress",
    "train.speed": "--samples 1 --steps 100",
    "train.td_lambda": "--iterations 1 --games 8 --updates 1 --eval-deals 4 --test-deals 4 --workers 0 --no-progress",
    "quincunx_env play": "--help",  # tests/play runs the terminal
}
"""Arguments appended to the command of a program, or of its subcommand, before it is run."""


def commands(page: Path) -> Iterator[str]:
    """The commands on a page, without comments; placeholders in angle brackets are left out."""
    for indented, inline in COMMAND.findall(page.read_text(encoding="utf-8")):
        command = re.sub(r"\s+#.*", "", indented or inline).replace("\\\n", " ")
        if "<" not in command:
            yield " ".join(command.split())


def programs(command: str) -> list[list[str]]:
    """The modules, with their arguments, that a command runs with ``python -m``; for ``make`` from a dry run.

    ``quincunx`` is ``python -m quincunx_env``.
    """
    words = shlex.split(command)
    if words[0] == "quincunx":
        words[:1] = ["python", "-m", "quincunx_env"]
    if words[0] == "make":
        if shutil.which("make") is None:
            pytest.skip("make is not installed")
        # Variables of a `make` that runs these tests, such as its own ARGS, would change the result.
        environment = {name: value for name, value in os.environ.items() if "MAKE" not in name and name != "ARGS"}
        dry_run = subprocess.run(
            ["make", "--dry-run", *words[1:]], cwd=ROOT, env=environment, capture_output=True, text=True
        )
        assert dry_run.returncode == 0, dry_run.stderr
        lines = [shlex.split(line) for line in dry_run.stdout.replace("\\\n", " ").splitlines()]
    else:
        lines = [words]
    return [line[line.index("-m") + 1 :] for line in lines if "-m" in line and line[line.index("-m") - 1] != "pytest"]


def run(module: str, arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a module as ``python -m`` does."""
    monkeypatch.setattr(sys, "argv", [module, *arguments])
    code: str | int | None = 0
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        code = end.code
    assert not code, f"python -m {module} {shlex.join(arguments)}: {code}"


class Understood(SystemExit):
    """The program has read its command line."""


def stop_once_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let tyro and argparse end every program as soon as its command line has been read."""
    import tyro

    def stopping(read: Callable[..., Any]) -> Callable[..., Any]:
        def read_and_stop(*args: Any, **kwargs: Any) -> Any:
            read(*args, **kwargs)
            raise Understood

        return read_and_stop

    readers = (
        (tyro, "cli"),
        (argparse.ArgumentParser, "parse_args"),  # tyro has another
    )
    for place, name in readers:
        monkeypatch.setattr(place, name, stopping(getattr(place, name)))


NAMED = sorted({command for page in PAGES for command in commands(page)})


def test_commands_are_found() -> None:
    """Without commands the tests below would check nothing."""
    assert {"make train", "make test", 'make train ARGS="--resume"', "make train-ppo"} <= {*NAMED}


def test_selected_tests_exist() -> None:
    """The words after ``-k`` occur in names of tests, or of the worked plays."""
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "tests").glob("**/test_*.py")]
    plays = (ROOT / "tests" / "engines" / "quincunx" / "worked_plays.txt").read_text(encoding="utf-8")
    names = " ".join([*re.findall(r"def (test_\w+)", "".join(sources)), plays])
    selected = {word for command in NAMED for word in re.findall(r"-k (\w+)", command)}
    assert selected
    assert not [word for word in selected if word not in names]


@pytest.mark.filterwarnings("ignore:.*found in sys.modules.*:RuntimeWarning")
@pytest.mark.parametrize("command", NAMED)
def test_every_command_is_understood(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for library in ("torch", "sb3_contrib"):
        pytest.importorskip(library)
    monkeypatch.chdir(ROOT)
    for module, *arguments in programs(command):
        if module == "sphinx":
            pytest.importorskip("sphinx")
        spec = find_spec(module)
        assert spec is not None, f"{command} runs {module}, which does not exist"
        if module.startswith("train.") and "rllib" in module:
            pytest.importorskip("ray")  # tests/rllib/test_page.py comes here with it
        if module == "train.exact.equilibrium":
            pytest.importorskip("pyspiel")
        if module.split(".")[0] in {"quincunx_env", "train"}:
            if module != "quincunx_env" and spec.submodule_search_locations:
                spec = find_spec(f"{module}.__main__")
            assert spec is not None, f"{command} runs {module}, which is not a program"
            text = Path(str(spec.origin)).read_text(encoding="utf-8")
            reads = module == "quincunx_env" or any(
                call in text for call in ("tyro", "parse(", "parse_args(", "run_script(")
            )
            assert reads or not arguments, f"{module} takes arguments but would run: see stop_once_read"
            with monkeypatch.context() as patch:
                stop_once_read(patch)
                alone = module == "quincunx_env" and len(arguments) == 1  # the name of a subcommand in a sentence
                run(module, [*arguments, "--help"] if alone else arguments, patch)
        for argument in arguments:
            if argument.startswith("tests/"):
                assert (ROOT / argument).exists(), f"{command} names {argument}, which does not exist"


@pytest.mark.filterwarnings("ignore:.*found in sys.modules.*:RuntimeWarning")
@pytest.mark.parametrize("command", sorted({*commands(ROOT / "README.md")}))
def test_the_commands_of_the_readme_run(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands that run programs of the project, not ``make test`` itself."""
    pytest.importorskip("sb3_contrib")
    runs = programs(command)
    monkeypatch.chdir(tmp_path)
    for module, *arguments in runs:
        if module.split(".")[0] in {"quincunx_env", "train"} or module == "docs.game_page":
            small = SMALL.get(module) or SMALL.get(" ".join([module, *arguments[:1]]), "")
            run(module, [*arguments, *small.split()], monkeypatch)


def test_extras_on_pages_exist() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    named = {
        extra
        for page in [*PAGES, *ROOT.glob("notebooks/*.ipynb")]
        for names in re.findall(r'pip install \\?"(?:\.|quincunx_env)\[([^]]*)\]', page.read_text(encoding="utf-8"))
        for extra in names.split(",")
    }
    assert "arena" in named
    assert named <= {*extras}


@pytest.mark.parametrize("path", sorted((ROOT / "constraints").glob("*.txt")), ids=lambda path: path.stem)
def test_constraints_are_names_with_versions(path: Path) -> None:
    """Pip refuses anything else, such as the folder of an editable installation."""
    title, *lines = path.read_text(encoding="utf-8").splitlines()
    assert title.startswith("# ")
    form = r'[\w.-]+==[\w.]+(; python_version (<|>=) "3\.\d+")?'
    assert [line for line in lines if not re.fullmatch(form, line)] == []


def test_versions_are_the_same_with_ray_but_for_gymnasium() -> None:
    def versions(name: str) -> dict[str, str]:
        lines = (ROOT / "constraints" / f"{name}.txt").read_text(encoding="utf-8").splitlines()[1:]
        pairs = (line.split("==") for line in lines)
        return {re.sub(r"[-_.]+", "-", package).lower(): version for package, version in pairs}

    ours, with_ray = versions("default"), versions("rllib")
    different = {name for name in ours.keys() & with_ray.keys() if ours[name] != with_ray[name]}
    assert different == {"gymnasium"}
