"""Identities of policies: equal for equal policies in all processes, different where anything that plays differs."""

import functools
import importlib
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import quincunx_env
from quincunx_agents.greedy import greedy
from quincunx_agents.search.monte_carlo import MonteCarlo
from quincunx_agents.uniform import uniform
from quincunx_env.policies import ChatPolicy, EncodedPolicy, PolicyFile, identity, resolve


class Plain:
    """A policy with attributes."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __call__(self, observation: Any, mask: Any, rng: np.random.Generator) -> Any:
        """Play the first legal action."""
        return mask.argmax(axis=1)


@dataclass
class Fields:
    """A policy with fields, one of which does not play."""

    value: Any
    log: str = field(default="", compare=False)

    __call__ = Plain.__call__


class Cyclic(Plain):
    """A policy that is part of its own state."""

    def __init__(self) -> None:
        super().__init__(self)


def chat(messages: Any) -> str:
    return ""


DIFFERENT = [
    (greedy, uniform),
    (MonteCarlo(samples=2), MonteCarlo(samples=16)),
    (EncodedPolicy(greedy), EncodedPolicy(uniform)),
    (EncodedPolicy(greedy, observation="pieces"), EncodedPolicy(greedy, observation="vector")),
    (ChatPolicy(chat, answers=2), ChatPolicy(chat, answers=3)),
    (functools.partial(Plain.__call__, Plain(1)), functools.partial(Plain.__call__, Plain(2))),
    (Plain(1).__call__, Plain(2).__call__),
    *(
        (kind(one), kind(other))
        for kind in (Plain, Fields)
        for one, other in [
            (1, 2),
            (1, True),
            ([1], (1,)),
            ({"a": Fields(1)}, {"a": Fields(2)}),
            (np.zeros(3), np.ones(3)),
            (np.zeros(3), np.zeros(3, np.float32)),
        ]
    ),
]


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_policies_that_differ_have_different_identities(one: Any, other: Any) -> None:
    assert identity(one) not in (identity(other), None)
    assert identity(other) is not None


def test_what_does_not_play_does_not_count() -> None:
    assert identity(Fields(1, "one")) == identity(Fields(1, "other"))
    equal = "".join(["a", "b"]), "".join(["a", "b"])
    assert identity(Fields([equal[0], equal[0]])) == identity(Fields([*equal])), "nor which values are one object"


@pytest.mark.parametrize(
    "agent",
    [lambda observation, mask, rng: mask.argmax(axis=1), Fields(threading.Lock()), Fields(sys), Cyclic()],
    ids=["lambda", "lock", "module", "cycle"],
)
def test_what_cannot_be_told_apart_has_none(agent: Any) -> None:
    assert identity(agent) is None


# --- Code ------------------------------------------------------------------------------------------------------------

MODULE = """
class Mine:
    def __call__(self, observation, mask, rng):
        return mask.argmax(axis=1)
def policy(observation, mask, rng):
    return mask.argmax(axis=1)
agent = Mine()
"""


@pytest.fixture
def imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModuleType]:
    """Imports a module of a user anew, from a folder whose files the tests write."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # whose times are too coarse for two edits in a second

    def again(name: str) -> ModuleType:
        for each in [each for each in sys.modules if each.startswith("its_")]:
            monkeypatch.delitem(sys.modules, each)
        importlib.invalidate_caches()
        return importlib.import_module(name)

    return again


@pytest.mark.parametrize("name", ["policy", "agent"])
def test_an_edited_module_is_another_policy(name: str, imported: Callable[[str], ModuleType], tmp_path: Path) -> None:
    """Once it is imported again: before, this process plays the old code, and those that it starts the new."""
    path = tmp_path / "its_module.py"
    path.write_text(MODULE)
    agent = getattr(imported("its_module"), name)
    before = identity(agent)
    assert before is not None
    path.write_text(f"{MODULE}\n\ndef helper():\n    return 1\n")
    assert identity(agent) is None
    assert identity(getattr(imported("its_module"), name)) not in (before, None)
    assert identity(agent) is None, "of a module that nobody can import any more"
    path.write_text(MODULE)
    assert identity(getattr(imported("its_module"), name)) == before


@pytest.mark.parametrize("file", ["helper.py", "deep/helper.py", "weights/one.safetensors"])
def test_all_modules_and_weights_of_a_package_count(
    file: str, imported: Callable[[str], ModuleType], tmp_path: Path
) -> None:
    package = tmp_path / "its_package"
    (package / file).parent.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "module.py").write_text(MODULE)
    before = identity(imported("its_package.module").agent)
    (package / file).write_text("# changed")
    assert identity(imported("its_package.module").agent) not in (before, None)


def test_of_an_installed_package_the_module_counts(imported: Callable[[str], ModuleType], tmp_path: Path) -> None:
    package = tmp_path / "site-packages" / "its_package"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "module.py").write_text(MODULE)
    sys.path.insert(0, str(package.parent))  # the fixture restores the path
    before = identity(imported("its_package.module").agent)
    (package / "helper.py").touch()
    assert identity(imported("its_package.module").agent) == before
    (package / "module.py").write_text(MODULE + "# changed")
    assert identity(imported("its_package.module").agent) not in (before, None)


@pytest.mark.parametrize("name", ["value", "search", "heuristic", "greedy"])
def test_the_version_is_part_of_our_own_agents(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = identity(resolve(name))
    monkeypatch.setattr(quincunx_env, "__version__", "99")
    assert identity(resolve(name)) not in (before, None)


def test_of_a_file_the_content_counts(tmp_path: Path) -> None:
    shipped = next((Path(quincunx_env.__file__).parents[1] / "agents").rglob("solitaire.safetensors"), None)
    content = shipped.read_bytes() if shipped else b"weights"
    one, other = tmp_path / "one.safetensors", tmp_path / "other.safetensors"
    one.write_bytes(content)
    other.write_bytes(content)
    assert identity(PolicyFile(str(one))) == identity(PolicyFile(str(other))) is not None
    other.write_bytes(content + b"1")
    assert identity(PolicyFile(str(one))) != identity(PolicyFile(str(other)))


def test_identities_are_equal_in_all_processes(tmp_path: Path) -> None:
    (tmp_path / "its_module.py").write_text(MODULE)
    program = (
        "import its_module; from quincunx_env.policies import identity, resolve\n"
        "print(*(identity(each) for each in (its_module.agent, its_module.policy, resolve('search'))))"
    )
    runs = {
        subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path
        ).stdout.strip()
        for _ in range(2)
    }
    [words] = [run.split() for run in runs]
    assert len(set(words)) == 3
    assert "None" not in words
