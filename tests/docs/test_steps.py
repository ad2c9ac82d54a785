"""Every test of the tree runs in a step of ``.ci/run``."""

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path

import pytest

from conftest import NEEDS

ROOT = Path(__file__).parents[2]

MEASUREMENT = "test_a_learner_plays_all_steps"
"""Trains the learners of other libraries for hours, for a table. Their programs run with fewer steps, too."""

MARKS = ("clients", "recipes", "site", "slow", "web", "wheel")
"""Those of pyproject.toml."""

COLLECT = """
import json, sys, pytest

class Plugin:
    def pytest_collection_finish(self, session):
        print(json.dumps([[item.nodeid, [mark.name for mark in item.iter_markers()]] for item in session.items]))

pytest.main(["--collect-only", "--quiet", "--quiet", "--quiet", "-p", "no:cacheprovider", "-m", ""], plugins=[Plugin()])
"""


def steps() -> list[tuple[str, str, list[str]]]:
    """Environment, expression of markers and paths of each call of pytest in ``.ci/run`` and in what it makes."""
    options = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["pytest"]["ini_options"]
    script, makefile = ((ROOT / path).read_text(encoding="utf-8") for path in (".ci/run", "Makefile"))
    run, _, order = script.partition("if [ $# -gt 0 ]")
    named = {*re.findall(r"[a-z]+", " ".join(re.findall(r"one_by_one ([a-z ]+)", order)))}
    functions = re.findall(r"^(\w+)\(\) \{(.*?)^\}", run, re.MULTILINE | re.DOTALL)
    lines = [line for name, body in functions if name in named for line in body.splitlines()]
    made = dict(re.findall(r"^ *make (test[\w-]*)(?: ARGS='(.*?)')?", "\n".join(lines), re.MULTILINE))
    for names, body in re.findall(r"^([\w -]+):.*\n((?:(?:\t|#).*\n)+)", makefile, re.MULTILINE):
        if targets := made.keys() & {*names.split()}:
            lines += [line.replace("$(ARGS)", made[target]) for target in targets for line in body.splitlines()]
    found = []
    for line in lines:
        if (
            call := re.search(r"(?:(\.venv[\w-]*)/bin/python -m|\$\(RUN\)) pytest(.*)", line)
        ) and "--skipped" not in line:
            chosen = [*re.findall(r'-m (?:"(.*?)"|(\w+))', call[2])]
            default = re.findall("-m '(.*?)'", options["addopts"])[0]
            expression = "".join(chosen[-1]) or "True" if chosen else default
            paths = re.findall(r" ((?:tests|docs)[\w/.]*)", call[2]) or options["testpaths"]
            found.append((call[1] or ".venv", expression, paths))
    return found


def selects(expression: str, marks: Iterable[str]) -> bool:
    """Whether an expression selects a test with these marks."""
    return bool(eval(expression, dict.fromkeys(MARKS, False) | dict.fromkeys(marks, True)))


@pytest.mark.slow
def test_every_test_runs_in_a_step() -> None:
    done = subprocess.run([sys.executable, "-c", COLLECT], cwd=ROOT, capture_output=True, text=True)
    items = json.loads(next(line for line in done.stdout.splitlines() if line.startswith('[["')))

    def runs(test: str, marks: list[str]) -> bool:
        return any(test.startswith(tuple(paths)) and selects(expression, marks) for _, expression, paths in steps())

    assert len(items) > 5_000
    assert [test for test, marks in items if not runs(test, marks) and MEASUREMENT not in test] == []


def test_folders_that_need_a_library_run_where_it_is_installed() -> None:
    """They are not even collected elsewhere."""
    others = {"ray", "openenv", "pyspiel", "verifiers"}
    folders = {path for library in others for path in NEEDS[library] if path.startswith("tests/")}
    assert len(folders) == len(others)
    for folder in folders:
        expressions = [expression for place, expression, paths in steps() if place != ".venv" and folder in paths]
        assert all(any(selects(each, marks) for each in expressions) for marks in ([], ["slow"])), folder
