"""The option that docs/adding_a_game.md adds: its patch touches few files, and everything that lists options has it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PATCH = ROOT / "docs" / "adding_an_option.patch"

if shutil.which("git") is None:
    pytest.skip("needs git", allow_module_level=True)

LISTS = """
import json
import numpy as np
from quincunx_agents.agent_specs import agent_spec
from quincunx_agents.quincunx.features import LAYOUT
from quincunx_env import Game, Rules, make_observer, rules_card
from quincunx_env.core.policy import policy_for
from quincunx_env.play.web.pages import KINDS
from quincunx_env.policies import resolve
from quincunx_env.registry import spec_of
from tests.variants import EVERY_GAME, in_the_middle, positions

rules, two = Rules(rainbow=True), Rules(2, rainbow=True)
scenes = [spec_of(two).scene(game) for seed in range(40) for game in positions(two, seed)]
parts = [scene.last.parts for scene in scenes if scene.last]
first = {each: make_observer(each, padded=True).observe(Game.from_seed(each, 0)) for each in (rules, two)}
batch = in_the_middle(rules, steps=3)
observation = make_observer(rules, preview=True).observe_batch(batch)
chosen = policy_for(resolve("value"), rules)(observation, batch.mask, np.random.default_rng(0))
print(json.dumps({
    "card": rules_card(rules),
    "title": scenes[0].title,
    "points": [*{sum(part.points for part in each if part.name == "rainbow") for each in parts}],
    "page": {name: [choice.option.name for choice in kind.options] for name, kind in KINDS.items()},
    "variants": [*EVERY_GAME],
    "form": [seen["form"].tolist() for seen in first.values()],
    "agents": [*agent_spec("quincunx").variants],
    "further": LAYOUT.further,
    "legal": bool(batch.mask[np.arange(len(chosen)), chosen].all()),
}))
"""
"""Prints what lists options, and what the option does."""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the packages and their tests with the patch.

    If it does not apply any more: apply it with ``--reject``, and write it with ``git diff -U1``.
    """
    copy = tmp_path_factory.mktemp("tree")
    for name in ("quincunx_env", "agents", "tests"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__", "*.webp"))
    for name in ("conftest.py", "pyproject.toml", "RULES.md"):
        shutil.copy(ROOT / name, copy)
    subprocess.run(["git", "apply", PATCH], cwd=copy, check=True)
    return copy


def run(tree: Path, *arguments: str) -> str:
    """Run Python in the copy, with its packages."""
    path = os.pathsep.join(map(str, (tree, tree / "agents")))
    command, environment = [sys.executable, *arguments], os.environ | {"PYTHONPATH": path, "COLUMNS": "120"}
    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def engines_pass(tree: Path, *arguments: str) -> None:
    """Run tests in the copy."""
    shown = run(tree, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments)
    assert re.search(r"^\d+ passed", shown, re.MULTILINE), shown


def test_an_option_touches_four_files() -> None:
    files = re.findall(r"^diff --git a/(\S+)", PATCH.read_text(encoding="utf-8"), re.MULTILINE)
    engine = [f"quincunx_env/quincunx/{name}.py" for name in ("play_values", "rules", "scoring")]
    assert files == [*engine, "tests/reference_scorer.py"]
    assert PATCH.name in (ROOT / "docs" / "adding_a_game.md").read_text(encoding="utf-8")


def test_whatever_lists_options_has_it(tree: Path) -> None:
    found: dict[str, Any] = json.loads(run(tree, "-c", LISTS))
    sentence = "10 points for each 2x2 box of four cards that shows all six suits"
    assert f"Rainbow: {sentence}." in found["card"].replace("\n", " ")
    assert found["title"] == "Quincunx, 2 players, rainbow"
    assert {0, 10} <= {*found["points"]} <= {0, 10, 20, 30, 40}
    assert ["rainbow" in names for names in found["page"].values()] == [True, True, False]
    assert {"solitaire+rainbow", "open-2+excuse+pawns+flush+rainbow+match"} <= {*found["variants"]}
    assert found["form"] == [[1, 1, 0, 2, 0, 0, 0, 0, 1], [2, 1, 0, 4, 0, 0, 0, 0, 1]]
    assert "2-corners-flush-rainbow" in found["agents"]
    assert (found["further"], found["legal"]) == (1, True), "the networks play without it"
    shown = run(tree, "-m", "quincunx_env", "evaluate", "--help")
    assert "--rainbow" in shown
    assert sentence in " ".join(re.sub(r"\W*\n\W*", " ", shown).split())


def test_both_engines_and_the_reference_scorer_agree(tree: Path) -> None:
    names = ("solitaire+rainbow", "open-2+excuse+pawns+flush+rainbow+match", "corners-3+flush+rainbow")
    played = "tests/engines/quincunx/test_comparison.py::test_engines_and_reference_agree_on_random_plays"
    engines_pass(tree, *(f"{played}[{name}]" for name in names), "tests/engines/core/test_options.py")


@pytest.mark.slow
def test_all_tests_of_the_engines_pass(tree: Path) -> None:
    engines_pass(tree, "tests/engines", "tests/notation")
